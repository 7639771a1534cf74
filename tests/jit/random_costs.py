"""Costs made at random, as NumPy programs of a matrix x and a vector w: orders, running results,
interpolation, linear algebra, stores into copies and views, choices of data, loops over rows and
elements, lists that grow. test_random_costs.py differentiates them, twice."""

import random

import numpy as np

from .beside import written

# Of a matrix a, a vector b of one of its rows, and another matrix c: a matrix like a.
MATRICES = [
    "np.sin({a}) * {b}", "np.tanh({a} + {b})", "np.exp({a} * 0.2)", "np.square({a}) * 0.3",
    "np.sqrt(1 + {a} ** 2)", "np.log1p({a} ** 2)", "np.arctan2({a}, 2 + {b} ** 2)", "{a} - {c}",
    "{a} / (1 + {c} ** 2)", "{a} * {c}", "np.hypot({a}, {c} + 3)", "np.logaddexp({a}, {b})",
    "np.abs({a}) * 0.5", "np.cbrt(2 + np.sin({a}))", "np.power(1.5 + np.sin({a}), {b} * 0.3)",
    "np.where({a} > {b}, {a} * {c}, np.sin({a}))", "np.maximum({a}, {b})", "np.fmin({a}, {c})",
    "np.clip({a}, -0.7, 0.9) + 0.1 * {a}", "np.clip({a}, -np.exp({b}), {c} ** 2)",
    "np.select([{a} > 0.5, {c} > {b}], [{a} ** 2, {c}], {b})", "np.nan_to_num({a})",
    "np.piecewise({a}, [{a} > 0], [np.sin, np.cos])", "{a}[::-1]", "np.fmax({a}[:, ::-1], {c})",
    "np.roll({a}, 1, 0)", "np.concatenate([{a}[1:], {a}[:1] * 2])", "{a}[np.arange(len(x)) // 2]",
    "np.take({a}, np.arange(x.shape[1])[::-1] // 2, 1)", "{a}[np.argsort({a}[:, 0])]",
    "np.take_along_axis({a}, np.argsort({c}, 0), 0)", "np.pad({a}, 1, mode='edge')[1:-1, :-2]",
    "np.sort({a}, 0)", "np.sort({a}, axis=None).reshape({a}.shape)", "np.tril({a}) + {c}",
    "np.sort({a}, 1)[:, ::-1] * {b}", "np.cumsum({a}, {axis})", "np.cumprod(1 + {a} * 0.2, {axis})",
    "np.maximum.accumulate({a}, {axis})", "np.minimum.accumulate({a} * {b}, {axis})",
    "np.add.accumulate({a} * {c}, {axis})", "np.multiply.accumulate(1 + {a} * 0.2, {axis})",
    "np.interp({a}, np.linspace(-2, 2, 5), np.arange(5.0) ** 2 / 8)",
    "np.interp({a}, np.cumsum(np.exp({b})) - 2, np.sin({b}))", "np.gradient({a}, axis={axis})",
    "np.interp({a}, np.linspace(-1, 1, len({b})), {b}, left=0.5)", "np.outer({a}[:, 0], {b})",
    "np.abs(np.fft.fft({a}, axis={axis})) ** 2 * 0.1", "np.fft.ifft({a} + 1j * {c}, axis=0).real",
    "{a} @ ({a}.T @ {c}) * 0.1", "np.einsum('ij,kj,kl->il', {a}, {c}, {a}) * 0.1",
    "np.linalg.solve({a} @ {a}.T + 3 * np.eye(len(x)), {c})",
    "np.linalg.inv({a} @ {a}.T + 3 * np.eye(len(x))) @ {c}",
    "np.linalg.cholesky({a} @ {a}.T + 3 * np.eye(len(x))) @ {c}",
    "{a} - np.linalg.qr(np.vstack([{a}, 2 * np.eye({a}.shape[1])]))[1].diagonal() ** 2",
    "np.linalg.eigvalsh({a} @ {a}.T + np.diag(np.arange(len(x))))[:, None] * {b}",
    "np.repeat({a}, 2, 1)[:, ::2] * {b}", "np.kron({a}, np.sin({b}[:1])[None])",
    "np.broadcast_to({b}, {a}.shape) * {c}", "np.vander({b}, len({b}))[:1] * 0.1 + {a}",
    "np.add.reduceat({a}, [0], {axis}) * {c}", "np.multiply.outer({a}[:, 0], {b})",
]  # fmt: skip
# A vector of one of its rows.
VECTORS = [
    "np.sum({a} * {c}, 0)", "{a}.mean(0)", "{a}.var(0)", "np.std({a}, 0) * {b}", "{a}.max(0)",
    "np.median({a}, 0)", "np.quantile({a}, 0.3, 0)", "np.min({a}, 0) * {b}", "{a}[0] + {b}",
    "np.linalg.norm({a} + 4, axis=0)", "np.logaddexp.reduce({a}, 0)", "np.ptp({a}, 0)",
    "np.trapezoid({a}, axis=0)", "np.partition({a}, 0, 0)[0] * {b}", "np.sort({b}) * 2",
    "np.partition(np.sort({a}, 0), len(x) // 2, 0)[len(x) // 2]", "np.cumsum({b})[::-1]",
    "np.convolve({b}, {b}, 'same') * 0.5", "np.polyval({b}, {b} * 0.5)", "np.prod({b}) * {a}[-1]",
    "np.average({a}, 0, weights=np.exp({a}[:, 0]))", "np.linalg.solve({a}.T @ {a} + 3 * "
    "np.eye(len({b})), {b})", "np.diff({b}, prepend=0.5)", "np.einsum('ij,ij->j', {a}, {c})",
    "np.interp({b}, np.arange(-2.0, 3), np.array([0, 1, 1.5, 2.5, 2]))", "np.prod({a} + 1.5, 0)",
    "np.maximum.reduce({a} * {c}, 0)", "np.nansum(np.where({a} > 0, {a}, np.nan), 0)",
    "np.linalg.slogdet({a} @ {a}.T + 3 * np.eye(len(x)))[1] * {b}", "np.cov({a}.T)[0] + {b}",
    "np.trace({a} @ {a}.T) * {b} * 0.1", "np.hypot.reduce({a} + 3, 0)",
]  # fmt: skip
STORES = [
    "{v}[0] = {b} * 2", "{v}[:, 0] += {v}[:, -1] * 0.5", "{v}[{v} > {b}] *= 0.5", "{v} *= {b}",
    "{v}[1:] = {v}[:-1] * 0.5", "{v}[::-1] -= {a}", "np.maximum({v}, {b}, out={v})",
    "np.add.at({v}, [0, 0, -1], {b})", "np.copyto({v}, {a}, where={v} > 0.5)", "{v}.sort(0)",
    "np.putmask({v}, {v} > 1, {a})", "np.fill_diagonal({v}, {b}[0])", "{v}.T[0] *= {v}.T[-1]",
    "np.put_along_axis({v}, np.argsort({v}, 0), {a}, 0)", "{v}.reshape(-1)[1:] += {v}[0, 0]",
    "{v}[0], {v}[-1] = {v}[-1].copy(), {v}[0].copy()", "{v}[[0, -1]] += {b}",
    "np.multiply({v}, {a}, out={v}, where={v} < {b})", "{v}[{v} < 0] = np.sin({a}[{v} < 0])",
]  # fmt: skip
STEPS = ["{h} = np.tanh({h} + row)", "{h} = {h} * 0.5 + row",
         "{h} = np.where(row > {h}, row * {h}, {h} - row)",
         "{h} = np.sort({h} + row)", "{h}[i % len({h})] = {h}[0] * 0.5 + row[-1]",
         "{h} = np.sin({h}) - row * np.sum({h})", "{t} = {t} * 0.5 + row @ {h}",
         "{t} = max({t}, row[0] * {h}[0])", "{h} = np.maximum({h}, row) * 0.9",
         "if {h}[0] > row[0]:\n    {t} += {h}[-1]", "{h} = np.cumsum({h} * 0.5) + row",
         "{t} = np.sin({t}) + row[i % len(row)]", "{h} = np.interp({h} * 0.5, np.linspace(-1, 1, "
         "len(row)), row)"]  # fmt: skip
GROWN = ["{h} * 1.0", "{h} + row", "{t} * row", "np.sort(row * {h})"]
ELEMENTS = ["{t} = {t} * 0.5 + {a}[i, j] * {b}[j]", "{t} = np.sin({t}) - {a}[i, j]",
            "{v}[i, j] = {t}", "{v}[i, j] += {v}[i - 1, j] * 0.3", "{t} = max({t} - 1, {v}[i, j])",
            "if {a}[i, j] > {b}[j]:\n    {t} += {a}[i, j] ** 2", "{v}[i, -1] -= {v}[i, j] * {t}",
            "if {v}[i, j] > 2:\n    break", "{t} = {v}[i, j] if {t} > 1 else {t} + {b}[j]",
            "if j == 1:\n    continue"]  # fmt: skip


class Cost:
    """source: of the function f(x, w); x, w: where it is differentiated."""

    def __init__(self, seed):
        self.draw, self.made = random.Random(seed), 0
        rng = np.random.default_rng(seed)
        n, m = rng.choice([1, 2, 3, 5, 6]), rng.choice([1, 2, 4])
        self.x, self.w = rng.normal(size=(n, m)), rng.normal(size=m)
        self.matrices, self.vectors, self.numbers = ["x"], ["w"], []
        lines, goal = [], self.draw.randint(1, 4)
        for _ in range(30):
            names = [x[:] for x in (self.matrices, self.vectors, self.numbers)]
            new = self.statement()
            if self.sound(lines + new):
                lines += new
                goal -= 1
                if not goal:
                    break
            else:
                self.matrices, self.vectors, self.numbers = names
        self.source = self.text(lines)

    def fill(self, text, **more):
        pick = self.draw.choice
        return text.format(
            a=pick(self.matrices[-3:]), c=pick(self.matrices), b=pick(self.vectors),
            axis=pick([0, 1]), **more,
        )  # fmt: skip

    def name(self, letter, names):
        self.made += 1
        names.append(f"{letter}{self.made}")
        return names[-1]

    def block(self, some, depth, **names):
        chosen = self.draw.sample(some, self.draw.randint(1, 3))
        lines = [line for one in chosen for line in self.fill(one, **names).split("\n")]
        return ["    " * depth + line for line in lines]

    def statement(self):
        way, pick = self.draw.random(), self.draw.choice
        if way < 0.4:
            text = self.fill(pick(MATRICES))
            return [f"{self.name('m', self.matrices)} = {text}"]
        if way < 0.6:
            text = self.fill(pick(VECTORS))
            return [f"{self.name('v', self.vectors)} = {text}"]
        if way < 0.75:
            first = self.fill("{a} * 1.0")
            v = self.name("m", self.matrices)
            stores = self.draw.sample(STORES, self.draw.randint(1, 2))
            return [f"{v} = {first}", *(self.fill(one, v=v) for one in stores)]
        first, start = self.fill("{a}"), self.fill("{b} * 1.0")
        t = self.name("t", self.numbers)
        if way < 0.9:
            h = self.name("h", self.vectors)
            body = self.block(STEPS, 1, h=h, t=t)
            before, after = [f"{h}, {t} = {start}, 0.0"], []
            if self.draw.random() < 0.5:
                grown, more = f"g{self.made}", pick(GROWN).format(h=h, t=t)
                before.append(f"{grown} = []")
                body.append(f"    {grown}.append({more})")
                joined = pick(["np.array({})", "np.stack({})", "np.vstack({})"]).format(grown)
                after = [f"{self.name('m', self.matrices)} = {joined}"]
            if self.draw.random() < 0.15:
                body += [f"    if {h}[0] > 1:", "        break"] if not after else []
            return [*before, f"for i, row in enumerate({first}):", *body, *after]
        v = self.name("m", self.matrices)
        return [
            f"{v}, {t} = {first} * 1.0, 0.0", "for i in range(len(x)):",
            f"    for j in range({pick(['len(w)', 'min(i + 1, len(w))'])}):",
            *self.block(ELEMENTS, 2, v=v, t=t),
        ]  # fmt: skip

    def text(self, lines):
        a, b = self.matrices[-1], self.vectors[-1]
        total = f"np.sum({a} * np.sin({a} + 0.3)) + np.sum({b} ** 2) * 0.5"
        total = " + ".join([total, *(f"np.sin({t})" for t in self.numbers)])
        body = "".join(f"    {line}\n" for line in lines)
        return f"import numpy as np\n\n\ndef f(x, w):\n{body}    return {total}\n"

    def sound(self, lines):
        """Whether NumPy runs this, numbers stay moderate, arrays have the shape of their kind."""
        found = {}
        names = ", ".join([*self.matrices, *self.vectors])
        text = self.text([*lines, f"seen[:] = [{names}]"])
        try:
            with np.errstate(all="ignore"):
                seen = found["seen"] = []
                exec(text, found)
                size = abs(found["f"](self.x.copy(), self.w.copy()))
        except Exception:
            return False
        shapes = [self.x.shape] * len(self.matrices) + [self.w.shape] * len(self.vectors)
        largest = max(np.max(np.abs(x)) for x in seen)
        return bool(size < 1e3) and largest < 50 and [np.shape(x) for x in seen] == shapes

    def function(self, name, folder):
        return written(self.source, name, folder)
