"""Launches on small matrices: Cholesky, LU and QR factors, substitution, whole systems of
equations, exponentials. A unit is one matrix.

Small matrices are what counts: calling LAPACK through NumPy takes 5 to 20 us before the first
number. A few rows of strips of two vectors stay in registers, a single column is a vector;
larger matrices than MOST are left to the oracles, whose blocked LAPACK is faster there.
"""

import numpy as np

from ...base.machine import NS_SOLVED, NS_SYSTEM
from ...codegen.layout import contiguous_strides
from ...codegen.lower import Launch
from ...codegen.raw import Dims, RawKernel, block, moved, unravel
from ...graph.shapes import product
from ...graph.sizes import greatest, smallest
from ...ops.matrixfunctions import PADE, PADE_REACH
from ...schedule.cost import work
from .movement import spread

MOST = 512  # rows
MOST_FACTORS = 128  # rows and columns of LU and QR factors
TILES = (6, 3)  # rows by two vectors that are solved in registers
MOST_WHOLE = 32  # rows of a system that is solved in one go, without blocks
TYPES = {"float32": ("float", "f", "4"), "float64": ("double", "", "8")}
RAISE = "return CK_EVALUE;"  # the oracle says which error it is
NANS = 'for (int64_t c = 0; c < {count}; c++) {to}[c] = __builtin_nan("");'


def cholesky(plan, node):
    """The lower factor; of a matrix that has none NaN, or an error."""
    nans = NANS.format(count="n * n", to="u") + " continue;"
    fields = {
        "note": "lower Cholesky factors: one matrix per unit of the range",
        "indefinite": nans if node.attrs.get("nan") else RAISE,
    }
    return factors(plan, node, "cholesky", fields, NS_SOLVED / 3)


def lu(plan, node):
    """Both factors with rows exchanged, NaN where a pivot is 0, and the exchanges below."""
    if node.shape[-1] > MOST_FACTORS:
        return False
    fields = {
        "note": "LU factors: one matrix per unit of the range",
        "nans": ";" if node.attrs.get("plain") else NANS.format(count="n * n", to="u"),
    }
    return factors(plan, node, "lu", fields, NS_SOLVED)


def expm(plan, node):
    """The same approximant as the oracle's, in double precision."""
    if node.shape[-1] > MOST_WHOLE:
        return False
    squares = ("x2", "x", "x"), ("x4", "x2", "x2"), ("x6", "x2", "x4")
    fields = {
        "note": "exponentials of matrices: one of them per unit of the range",
        "pade": ", ".join(repr(x) for x in PADE),
        "reach": repr(PADE_REACH),
        "most": str(MOST_WHOLE),
        "squares": block([line for each in squares for line in product_of(*each)], 2),
        "high": block(product_of("w", "x6", "u"), 3),
        "odd": block(product_of("v", "x", "w"), 4),
        "again": block(product_of("u", "v", "v"), 3),
    }
    return factors(plan, node, "expm", fields, 12 * NS_SOLVED)


def sylvester(plan, node):
    """Both matrices in Schur form, whose system is solved element by element from a corner."""
    a, b, c = node.inputs
    m, n = node.shape[-2:]
    if a.dtype not in TYPES or m > MOST_WHOLE or n > MOST_WHOLE:
        return False
    (out,) = results(plan, node)
    if not product(out[0].shape):
        return True
    batch = node.shape[:-2]
    ins = [spread(plan.layout(x), batch + x.shape[-2:]) for x in (a, b, c)]
    dims = Dims()
    for number in (m, n, *(s for lay in ins for s in lay.strides[-2:])):
        dims.put(number)
    lines, rows = unravel("row", batch, dims)
    kind, suffix, _ = TYPES[a.dtype]
    turned, basis = rotated(kind, "h", "g", across=True), rotated(kind, "ur", "ui", across=True)
    fields = {
        "note": "Sylvester equations: one of them per unit of the range",
        "type": kind,
        "most": str(MOST_WHOLE),
        "abs": f"__builtin_fabs{suffix}",
        "sqrt": f"__builtin_sqrt{suffix}",
        "eps": repr(float(np.finfo(a.dtype).eps)),
        "tiny": repr(float(np.finfo(a.dtype).tiny)),
        "steep": repr(2.0**-40 / float(np.finfo(a.dtype).tiny)),
        "nans": NANS.format(count="m * n", to="x") + " continue;",
        **{f"{name}_row": moved(rows, lay.strides[:-2], dims) for name, lay in zip("abc", ins)},
        "angle": block(angle(kind, suffix), 5),
        "left": block(rotated(kind, "h", "g"), 5),
        "turned": block(turned, 5),
        "basis": block(basis, 5),
    }
    fields["sizes"], fields["unravel"] = block(dims.lines, 1), block(lines, 2)
    took = work(24 * NS_SOLVED, product(batch), (m + n) ** 3) + work(NS_SYSTEM, product(batch))
    add(plan, node, "sylvester", fields, dims, ins, [out], took, product(batch))
    return True


def angle(kind, suffix):
    """C for the rotation of rows k and k + 1 after which the second has 0 in column j."""
    top, low = (f"h[{i}] * h[{i}] + g[{i}] * g[{i}]" for i in ("top", "low"))
    root = f"__builtin_sqrt{suffix}"
    return [
        "const int64_t top = k * size + j, low = top + size;",
        f"const {kind} one = {root}({top}), two = {root}({low});",
        f"const {kind} both = {root}(one * one + two * two);",
        "if (two == 0) cs[k] = 1, sr[k] = si[k] = 0;",
        "else if (one == 0) cs[k] = 0, sr[k] = h[low] / two, si[k] = -g[low] / two;",
        "else {",
        "    cs[k] = one / both;",
        "    sr[k] = (h[top] * h[low] + g[top] * g[low]) / one / both;",
        "    si[k] = (g[top] * h[low] - h[top] * g[low]) / one / both;",
        "}",
    ]


def rotated(kind, real, imag, across=False):
    """C that rotates rows k and k + 1 in columns first to last; `across`: the same columns by the
    conjugate, in these rows."""
    at, other = ("e * size + k", "1") if across else ("k * size + e", "size")
    plus, minus = "-+" if across else "+-"
    return [
        "for (int64_t e = first; e < last; e++) {",
        f"    const int64_t i = {at}, j1 = i + {other};",
        f"    const {kind} p0 = {real}[i], p1 = {imag}[i], q0 = {real}[j1], q1 = {imag}[j1];",
        f"    {real}[i] = cs[k] * p0 + sr[k] * q0 {minus} si[k] * q1;",
        f"    {imag}[i] = cs[k] * p1 + sr[k] * q1 {plus} si[k] * q0;",
        f"    {real}[j1] = cs[k] * q0 - sr[k] * p0 {minus} si[k] * p1;",
        f"    {imag}[j1] = cs[k] * q1 - sr[k] * p1 {plus} si[k] * p0;",
        "}",
    ]


def product_of(to, left, right):
    """C for the product of two matrices of n rows without gaps."""
    return [
        "for (int64_t r = 0; r < n; r++) {",
        f"    double *const to = {to} + r * n;",
        "    for (int64_t c = 0; c < n; c++) to[c] = 0;",
        "    for (int64_t k = 0; k < n; k++) {",
        f"        const double f = {left}[r * n + k];",
        "        #pragma GCC ivdep",
        f"        for (int64_t c = 0; c < n; c++) to[c] += f * {right}[k * n + c];",
        "    }",
        "}",
    ]


def factors(plan, node, form, fields, cost):
    """A launch on each matrix of the operand by the template `form`."""
    (x,) = node.inputs
    n = x.shape[-1]
    if x.dtype not in TYPES or n > MOST:
        return False
    layout, (out,) = plan.layout(x), results(plan, node)
    if not product(out[0].shape):
        return True
    dims = Dims()
    for number in (n, *layout.strides[-2:]):
        dims.put(number)
    lines, rows = unravel("row", x.shape[:-2], dims)
    kind, suffix, align = TYPES[x.dtype]
    fields = {
        **fields,
        "type": kind,
        "a_row": moved(rows, layout.strides[:-2], dims),
        "sizes": block(dims.lines, 1),
        "unravel": block(lines, 2),
    }
    if form == "cholesky":
        fields.update(suffix=suffix, align=align)
    took = work(cost, product(x.shape), n) + work(NS_SYSTEM, product(x.shape[:-1]))
    units = product(x.shape[:-2])
    add(plan, node, form, fields, dims, [layout], [out], took, units)
    return True


def qr(plan, node):
    """Reflections as LAPACK's geqrf chooses them, beside a copy of the matrix."""
    (x,) = node.inputs
    m, n = x.shape[-2:]
    if x.dtype not in TYPES or m > MOST_FACTORS or n > MOST_FACTORS or not product(x.shape):
        return False
    layout, outs = plan.layout(x), results(plan, node)
    wide, high = outs[0][0].shape[-1], outs[1][0].shape[-2]
    each = m * n + smallest(m, n) + greatest(n, wide)
    room = plan.temp((*x.shape[:-2], each), x.dtype)
    dims = Dims()
    for number in (m, n, wide, high, *layout.strides[-2:], each):
        dims.put(number)
    lines, rows = unravel("row", x.shape[:-2], dims)
    kind, suffix, _ = TYPES[x.dtype]
    fields = {
        "note": "QR factors: one matrix per unit of the range",
        "type": kind,
        "suffix": suffix,
        "a_row": moved(rows, layout.strides[:-2], dims),
        "sizes": block(dims.lines, 1),
        "unravel": block(lines, 2),
    }
    took = work(3 * NS_SOLVED, product(x.shape), n) + work(NS_SYSTEM, product(x.shape[:-1]))
    units = product(x.shape[:-2])
    add(plan, node, "qr", fields, dims, [layout], [*outs, (room, room)], took, units)
    return True


def solve_triangular(plan, node):
    """Substitution in place of a copy of the right side."""
    a, b = node.inputs
    attrs, n = node.attrs, a.shape[-1]
    if a.dtype not in TYPES or n > MOST:
        return False
    if attrs["vector"] and b.ndim != 1:
        return False
    ((target, made),) = results(plan, node)
    if not product(target.shape):
        return True
    width = 1 if attrs["vector"] else 2  # axes of a right side
    batch = target.shape[:-width]
    over = spread(plan.layout(a), batch + a.shape[-2:])
    right = spread(plan.layout(b), batch + b.shape[-width:])
    along = right.strides[-width]
    if width == 2 and b.shape[-1] == 1:
        width = 1
    down, across = over.strides[-2:][:: -1 if attrs["trans"] else 1]
    lower = attrs["lower"] != attrs["trans"]
    dims = Dims()
    for number in (n, b.shape[-1], down, across, *right.strides[-2:]) if width == 2 else (
        n, down, across, along):  # fmt: skip
        dims.put(number)
    lines, rows = unravel("row", batch, dims)
    kind, _, align = TYPES[a.dtype]
    every = "n * m" if width == 2 else "n"
    nans = NANS.format(count=every, to=f"(y + row * {every})") + " continue;"
    lead = len(batch)
    fields = {
        "note": "triangular systems of equations: one of them per unit of the range",
        "type": kind,
        "align": align,
        "a_row": moved(rows, over.strides[:lead], dims),
        "b_row": moved(rows, right.strides[:lead], dims),
        "sizes": block(dims.lines, 1),
        "unravel": block(lines, 2),
        "unit": str(int(attrs["unit"])),
        "singular": nans if attrs.get("nan") else RAISE,
    }
    if width == 2:
        form = "triangular"
        tiles = [line for rows in TILES for line in tile(kind, rows, attrs["unit"])]
        fields.update(upper=str(int(not lower)), most=str(MOST), tiles=block(tiles, 3))
    else:
        form = "triangular_vector"
        fields.update(one_by_one(kind, lower, attrs["unit"], across == 1, down == 1))
    took = work(NS_SOLVED, product(target.shape), n) + work(NS_SYSTEM, product(batch + (n,)))
    units = product(batch)
    add(plan, node, form, fields, dims, [over, right], [(target, made)], took, units)
    return True


def tile(kind, rows, unit):
    """C that solves as many rows of a strip as there are tiles of `rows`.

    Twelve sums in registers keep the multipliers busy, eight wait for their own: 300 rows of 300
    doubles take 0.9 ms by six rows, 1.6 by four (AVX2, one core).
    """
    each = range(rows)
    sums = [f"s{r}{h}" for r in each for h in "ab"]
    places = [f"*(vec *)(to + {r} * WIDE{h})" for r in each for h in ("", " + LANES")]

    def take_off(r, left, right):
        return f"s{r}a -= t{r}[k * right] * {left}; s{r}b -= t{r}[k * right] * {right};"

    lines = [f"for (; i + {rows} <= n; i += {rows}) {{"]
    body = [f"const {kind} *const t{r} = t + (i + {r}) * down;" for r in each]
    body += [f"{kind} *const to = strip + i * WIDE;", "int64_t k = 0;"]
    body += [f"vec {s} = {place};" for s, place in zip(sums, places)]
    body.append("for (; k < i; k++) {")
    body.append("    const vec xa = *(const vec *)(strip + k * WIDE);")
    body.append("    const vec xb = *(const vec *)(strip + k * WIDE + LANES);")
    body += ["    " + take_off(r, "xa", "xb") for r in each]
    body.append("}")
    for q in each:
        if not unit:
            body.append(f"s{q}a *= 1 / t{q}[k * right], s{q}b *= 1 / t{q}[k * right];")
        body += [take_off(r, f"s{q}a", f"s{q}b") for r in each[q + 1 :]]
        if q + 1 < rows:
            body.append("k++;")
    body += [f"{place} = {s};" for s, place in zip(sums, places)]
    return [*lines, *("    " + line for line in body), "}"]


def solve(plan, node):
    """Elimination with rows exchanged, beside a copy of the right side."""
    a, b = node.inputs
    width = 1 if node.attrs["vector"] else 2  # axes of a right side
    if b.shape[-width] != a.shape[-1]:
        return False
    return whole(plan, node, a, b, width)


def inverse(plan, node):
    """Elimination beside the identity matrix."""
    return whole(plan, node, node.inputs[0], None, 2)


def whole(plan, node, a, b, width):
    """A launch on each system; b: None for the identity matrix."""
    n = a.shape[-1]
    if a.dtype not in TYPES or n > MOST_WHOLE:
        return False
    ((target, made),) = results(plan, node)
    if not product(target.shape):
        return True
    batch = target.shape[:-width]
    over = spread(plan.layout(a), batch + a.shape[-2:])
    m = 1 if width == 1 else target.shape[-1]
    nan = node.attrs.get("nan")  # then what is left to do keeps it
    dims = Dims()
    for number in (n, m, *over.strides[-2:]):
        dims.put(number)
    ins, lead = [over], len(batch)
    if b is None:
        begin = ["for (int64_t c = 0; c < n * n; c++) x[c] = c / n == c % n;"]
        lines, rows = unravel("row", batch, dims)
    else:
        side = spread(plan.layout(b), batch + b.shape[-width:])
        ins.append(side)
        along, across = dims.put(side.strides[-width]), dims.put(side.strides[-1])
        lines, rows = unravel("row", batch, dims)
        place = moved(rows, side.strides[:lead], dims)
        begin = [
            f"const {TYPES[a.dtype][0]} *const side = b + {place};",
            "for (int64_t r = 0; r < n; r++)",
            f"    for (int64_t c = 0; c < m; c++) x[r * m + c] = side[r * {along} + c * {across}];",
        ]
    fields = {
        "note": "systems of equations: one of them per unit of the range",
        "type": TYPES[a.dtype][0],
        "most": str(MOST_WHOLE),
        "second": str(len(ins) - 1),
        "last": str(len(ins)),
        "a_row": moved(rows, over.strides[:lead], dims),
        "sizes": block(dims.lines, 1),
        "unravel": block(lines, 2),
        "begin": block(begin, 2),
        "singular": NANS.format(count="n * m", to="x") + " break;" if nan else RAISE,
    }
    took = work(NS_SOLVED, product(target.shape) + product(a.shape), n)
    took += work(NS_SYSTEM, product(batch + (n,)))
    add(plan, node, "system", fields, dims, ins, [(target, made)], took, product(batch))
    return True


def one_by_one(kind, lower, unit, rows, columns):
    """The holes of a system with one right side: by dot products where rows have no gaps, else
    each number that is found is taken off from all others (columns: they have no gaps)."""
    divisor = "" if unit else " / t[i * (d[1] + d[2])]"
    behind, ahead = (("0", "i"), ("i + 1", "n"))[:: 1 if lower else -1]
    if rows:
        solve = [
            f"const {kind} *const f = t + i * d[1];",
            f"{kind} part[8] = {{0}}, s = x[i];",
            "int64_t k = first;",
            "for (; k + 8 <= last; k += 8)",
            "    for (int64_t c = 0; c < 8; c++) part[c] += f[k + c] * x[k + c];",
            "for (; k < last; k++) s -= f[k] * x[k];",
            "s -= ((part[0] + part[4]) + (part[1] + part[5]))",
            "     + ((part[2] + part[6]) + (part[3] + part[7]));",
            f"x[i] = s{divisor};",
        ]
    else:
        place = "k" if columns else "k * d[1]"
        solve = [
            f"const {kind} found = x[i]{divisor};",
            "x[i] = found;",
            "#pragma GCC ivdep",
            f"for (int64_t k = first; k < last; k++) x[k] -= t[{place} + i * d[2]] * found;",
        ]
    first, last = behind if rows else ahead
    return {
        "order": "step" if lower else "n - 1 - step",
        "first": first,
        "last": last,
        "solve": block(solve, 3),
    }


def results(plan, node):
    """For each result of `node` (where it belongs, where the kernel writes: there, or in a place
    without gaps beside it)."""
    return [
        (target, target)
        if target.strides == contiguous_strides(target.shape)
        else (target, plan.temp(target.shape, target.dtype))
        for target in plan.places(node)
    ]


def add(plan, node, form, fields, dims, ins, outs, took, units):
    """The launch, and copies where its results belong elsewhere."""
    made = [one for _, one in outs]
    kernel = RawKernel(
        form,
        tuple(fields.items()),
        tuple(("in", lay.dtype) for lay in ins) + tuple(("out", lay.dtype) for lay in made),
    )
    plan.launch(
        Launch(
            kernel,
            [lay.pointer for lay in (*ins, *made)],
            dims.values,
            units,
            1,
            took,
            [lay.buffer for lay in ins],
            [lay.buffer for lay in made],
        ),
        [node],
    )
    for target, one in outs:
        if one is not target:
            plan.copy(one, target)
