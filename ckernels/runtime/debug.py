"""Functions that check what they compute: mode="debug", and check="nan".

DebugFunction compares every call with NumPy, node by node, and the rewritten graph with the written
one. CheckedFunction runs the kernels as they are, looks at the results before any variable changes,
and only when it finds NaN or inf walks through the graph to the node where they began.
"""

import warnings
from typing import NamedTuple

import numpy as np

from ..base import dtypes
from ..base.errors import CKernelsWarning, DebugModeError, NonFiniteError, with_line
from ..graph.node import placeholder
from ..graph.shapes import show
from ..graph.walk import rebuild, toposort
from ..ops import reference
from ..ops.scan import in_step, is_scan, walk
from .common import FunctionBase, apply_updates, finish, updating
from .compare import Opinions, evaluated, widened
from .state import snapshot

PYTHON_NAMES = {"placeholder": "the input", "variable": "the variable", "constant": "a constant"}


def title(node):
    """'exp of float32 (4, 3)', 'the input x': a node in an error."""
    if node.op.kind == "leaf":
        return f"{PYTHON_NAMES[node.op.name]} {node.name or ''}".rstrip()
    return f"`{node.op.name}`" + (f" ({node.name})" if node.name else "")


def parts(node, value):
    """[(dtype, array)] of a node's value, one or several."""
    return list(zip([d for d, _ in node.outs], value)) if node.outs else [(node.dtype, value)]


class Guarded(FunctionBase):
    """Computes outputs and new values without updating, has them checked, then updates.

    The variables are read once per call and handed over as inputs, so that all computations of one
    call see the same values whatever other threads do.
    """

    def __init__(self, spec):
        super().__init__(spec)
        self.roots = spec.outputs + [new for _, new in spec.updates]
        self.stores = [n.attrs["store"] for n in spec.cells]
        self.function = self.prepared()

    def __call__(self, *args, **kwargs):
        spec = self.spec
        arrays = spec.arrange(args, kwargs)
        with updating:
            values = self.checked(arrays)
            count = len(spec.outputs)
            apply_updates(spec.updates, values[count:])
        return finish(values[:count], spec)

    def stats(self):
        return self.function.stats()

    def source(self):
        return self.function.source()

    def steps(self):
        return self.function.steps()

    def assumptions(self):
        return self.function.assumptions()

    def explain(self, rewrites=False):
        return self.function.explain(rewrites)

    def profile_table(self):
        return self.function.profile_table()

    def timeline(self):
        return self.function.timeline()


# ---- mode="debug" ------------------------------------------------------------------------------


class DebugFunction(Guarded):
    """The compiled function, compared with NumPy at every call.

    Beside the function itself a second one is compiled whose outputs are all nodes of the graph:
    the first that differs is named, with its line. The rewritten graph is evaluated in NumPy too.
    """

    def prepared(self):
        spec, stand_ins = self.spec, {}
        self.warned = set()
        for n in spec.cells:
            stand_ins[n] = placeholder(n.dtype, n.shape, n.name, line=n.line)
        self.inputs_of_all = spec.inputs + list(stand_ins.values())
        self.written = rebuild(self.roots, stand_ins)
        silent = rebuild(self.written, step=without_messages)
        self.silent = silent
        self.nodes = [n for n in toposort(silent) if n.op.kind != "leaf" and n.outs is None]
        whole = dict(mode="compiled", inputs=self.inputs_of_all, downcast=True)
        self.every = spec.plain(self.nodes, **whole).callable()
        self.rewritten = spec.plain(silent, **whole)
        return spec.plain(self.written, profile=spec.profile, **whole).callable()

    def checked(self, arrays):
        arrays = arrays + snapshot(self.stores)
        results = [np.asarray(r) for r in self.function(*arrays)]
        self.check_kernels()
        env = dict(zip(self.inputs_of_all, arrays))
        known = evaluated(self.silent, env)
        wide = evaluated(self.silent, env, widened)
        rewritten = self.check_rewrites(arrays, known, wide)
        opinions = Opinions(known, wide, rewritten)
        self.check_nodes(arrays, opinions)
        for written, root, got in zip(self.roots, self.silent, results):
            if not opinions.accept(root, got):
                raise with_line(
                    DebugModeError(
                        f"in {self.spec.title()} {title(written)} is wrong only where it is fused "
                        f"with other operations; {opinions.difference(root, got)}"
                    ),
                    written,
                )
        if self.spec.check == "nan":
            Origin(self.roots, dict(zip(self.spec.inputs + self.spec.cells, arrays))).check(results)
        return results

    def check_spec(self, roots):
        """A rewritten graph of known shapes keeps to the spec of such graphs."""
        from ..rewrite import spec  # start-up

        try:
            _ = spec.concrete(roots) and spec.check(roots)
        except AssertionError as problem:
            raise DebugModeError(
                f"rewrites of {self.spec.title()} left what they should not: {problem}"
            ) from problem

    def check_kernels(self):
        """Every kernel that was made for the function keeps to the spec of kernels."""
        program = getattr(getattr(self.function, "info", None), "program", None)
        for record in list(program.kernels.records.values()) if program else ():
            check = getattr(record.kernel, "check", None)  # those of stored plans are C alone
            try:
                _ = check and check()
            except AssertionError as problem:
                raise DebugModeError(
                    f"{self.spec.title()} has a malformed kernel, {record.name}: {problem}"
                ) from problem

    def check_rewrites(self, arrays, known, wide):
        """NumPy's values of the rewritten roots; they must be those of the graph as written."""
        program = self.rewritten.program()
        leaves, roots = program.interpreted(program.shapes_of(arrays))
        self.check_spec(roots)
        values = reference.evaluate(roots, dict(zip(leaves, arrays)))
        opinions = Opinions(known, wide, {})
        for root, value in zip(self.silent, values):
            fine = opinions.near(root, value)
            if dtypes.is_inexact(value.dtype.name):  # stable forms are right where naive ones
                stable = ~fine & ~np.isfinite(known[root.uid]) & ~np.isfinite(wide[root.uid])
                self.warn_of(root, int(stable.sum()))
                fine = fine | stable
            if not fine.all():
                raise with_line(
                    DebugModeError(
                        f"the rewrites of {self.spec.title()} changed {title(root)}: "
                        f"{opinions.difference(root, value)}"
                    ),
                    root,
                )
        return dict(zip((root.uid for root in self.silent), values))

    def warn_of(self, root, count):
        """Warn, once for each root, that `count` of its numbers differ by rewriting alone."""
        if not count or root.uid in self.warned:
            return
        self.warned.add(root.uid)
        line = root.line or ("ckernels", 0, "")
        warnings.warn_explicit(
            f"{title(root)} of {self.spec.title()} is NaN or inf as written in {count} of its "
            "elements, and something else as rewritten; docs/guide/rewriting.md has the rules",
            CKernelsWarning,
            line[0],
            line[1],
        )

    def check_nodes(self, arrays, opinions):
        """The first node, in order of computation, whose compiled value differs from NumPy's."""
        values = dict(zip((n.uid for n in self.nodes), self.every(*arrays)))
        values.update((n.uid, a) for n, a in zip(self.inputs_of_all, arrays))
        for node in self.nodes:
            got = np.asarray(values[node.uid])
            if opinions.accept(node, got) or opinions.accept_local(node, got, values):
                continue
            operands = [i for i in node.inputs if i.outs is None]
            raise with_line(
                DebugModeError(
                    f"{title(node)} of {self.spec.title()} differs from NumPy; "
                    f"{opinions.difference(node, got)}"
                ),
                node,
                operands,
            )


def without_messages(node):
    """`node` without its message: a comparison must not print."""
    return node.inputs[0] if node.op.name == "print" else node


# ---- check="nan" -------------------------------------------------------------------------------


class CheckedFunction(Guarded):
    """The function with its outputs and new values scanned for NaN and inf before it updates."""

    def prepared(self):
        return self.spec.plain(self.roots, profile=self.spec.profile).callable()

    def checked(self, arrays):
        before = snapshot(self.stores)
        results = [np.asarray(r) for r in self.function(*arrays)]
        if not all(map(is_finite, results)):
            program = self.spec.program()
            leaves, roots = program.interpreted(program.shapes_of(arrays))
            Origin(roots, dict(zip(leaves, arrays + before)), self.roots).check(results)
        return results


def is_finite(array):
    """Whether there is no NaN and no inf in it; what is no float never has any."""
    if not dtypes.is_inexact(array.dtype.name) or not array.size:
        return True
    with np.errstate(all="ignore"):  # cheap first: any NaN or inf shows in the sum
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


class Bad(NamedTuple):
    """What is wrong with an array, as text, or ""."""

    nans: int
    infs: int

    def __str__(self):
        counts = [(self.nans, "NaN"), (self.infs, "inf")]
        return " and ".join(f"{count} {name}" for count, name in counts if count)


def bad(array):
    if not dtypes.is_inexact(np.asarray(array).dtype.name):
        return Bad(0, 0)
    return Bad(int(np.isnan(array).sum()), int(np.isinf(array).sum()))


class Origin:
    """Finds where NaN and inf in `roots` began; env: {leaf: array}; written: roots in errors."""

    def __init__(self, roots, env, written=None):
        self.roots, self.env, self.written = roots, env, written or roots

    def check(self, results):
        """Raise NonFiniteError for the first of `results` that is not finite."""
        for k, (root, result) in enumerate(zip(self.written, results)):
            if not is_finite(result):
                raise self.error(self.roots[k], root, result)

    def error(self, root, written, result):
        values = evaluated([root], self.env)
        node, operands = self.first(root, values)
        if node is None:
            return with_line(
                NonFiniteError(
                    f"{title(written)} has {bad(result)}, though NumPy finds none: the order of "
                    "operations decides here (numbers at the edge of their range)"
                ),
                written,
            )
        if node.op.kind == "leaf":
            return with_line(
                NonFiniteError(
                    f"{title(node)} has {bad(values[node.uid])} and reaches {title(written)}"
                    + of_labels(root, node, values)
                ),
                node,
            )
        if is_scan(node):
            inner = self.in_step(node, [values[i.uid] for i in node.inputs])
            if inner is not None:
                return inner
        found = Bad(*map(sum, zip(*(bad(v) for _, v in parts(node, values[node.uid])))))
        seen = "; ".join(
            f"{i.op.name if i.op.kind != 'leaf' else title(i)} {span(v)}" for i, v in operands[:4]
        )
        return with_line(
            NonFiniteError(
                f"{title(node)} computed {found} from finite numbers: {seen or 'no operands'}"
            ),
            node,
        )

    @staticmethod
    def in_step(node, arrays):
        """The error about the first step of a scan that makes bad numbers of finite ones."""
        body = node.attrs["body"]
        for t, inputs, new in walk(node.attrs, arrays):
            for output, result in zip(body.outputs, new):
                if not is_finite(result):
                    found = Origin([output], dict(zip(body.inputs, inputs)))
                    return in_step(found.error(output, node, result), t, node.attrs)
        return None

    def first(self, root, values):
        """(the node where the bad numbers of `root` began, its operands with their arrays).

        Only bad numbers that reach the root count: an inf that a `where` leaves out is harmless.
        """

        def broken(node):
            return any(not is_finite(np.asarray(v)) for _, v in parts(node, values[node.uid]))

        if not broken(root):
            return None, []
        node = root
        while True:
            worse = [i for i in node.inputs if broken(i)]
            if not worse:
                return node, [(i, values[i.uid]) for i in node.inputs if i.outs is None]
            node = worse[0]


def of_labels(root, leaf, values):
    """Which labels are no classes, where the NaN `leaf` is the loss of such; else ""."""
    for node in toposort([root]):
        if node.op.name != "where" or node.inputs[2] is not leaf:
            continue
        inside = node.inputs[0]
        if [i.op.name for i in inside.inputs] != ["ge", "lt"]:
            continue
        label, count = (values[i.uid] for i in inside.inputs[1].inputs)
        wrong = np.argwhere(~np.asarray(values[inside.uid]))
        if len(wrong):
            at = tuple(wrong[0].tolist())
            many = f"{len(wrong)} labels are" if len(wrong) > 1 else "one label is"
            return (
                f": {many} no class from 0 to {int(count) - 1}, the first "
                f"{int(np.asarray(label)[at])} at {at}"
            )
    return ""


def span(array):
    """'float32 (3, 4) from -2 to 5': what an operand looked like."""
    array = np.asarray(array)
    text = f"{array.dtype.name} {show(array.shape)}"
    if not array.size or array.dtype.kind == "c":
        return text
    return f"{text} from {array.min():.6g} to {array.max():.6g}"
