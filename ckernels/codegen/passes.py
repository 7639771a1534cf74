"""Passes over the kernel IR: rules (pattern, condition, replacement, why), and properties of a
kernel that forms ask for (which maximum is found together with its index, how sums accumulate).

Each rule states the measurement that justifies it, and has a near miss in its test. Nothing here
knows loops or C. A pattern is a variable (the same value wherever it stands), (op, *patterns),
Bound(name, pattern) or Either(patterns).
"""

from typing import NamedTuple

from ..base import dtypes
from ..graph.op import REGISTRY
from .ir import COLUMNS, REDUCTIONS, Value

RECOMPUTE_COST = 4.0  # a value cheaper than this is computed again rather than kept in a row
COMMUTATIVE = ("add", "mul", "maximum", "minimum")
TOLD = ("sqrt",)  # a load says so where its operand is the result of one of these


class Bound(NamedTuple):
    """A pattern whose value gets a name too."""

    name: str
    pattern: object


class Either(NamedTuple):
    """Any one of some patterns."""

    patterns: tuple


class KernelRule(NamedTuple):
    """`pattern` becomes `replacement` where when(form, values, stores, found, i) holds.

    A replacement is a variable or (op, *replacements). cost: of the value that is replaced (None:
    what it was). shared: values made for several replacements are computed once. why: what the rule
    gains, measured, and why it is right.
    """

    name: str
    pattern: object
    replacement: object
    when: object
    cost: object
    shared: bool
    why: str


def matches(pattern, i, values, found):
    """All {name: value} that extend `found` so that value i is of `pattern`."""
    if isinstance(pattern, str):
        if found.setdefault(pattern, i) == i:
            yield found
    elif isinstance(pattern, Either):
        for one in pattern.patterns:
            yield from matches(one, i, values, dict(found))
    elif isinstance(pattern, Bound):
        if found.get(pattern.name, i) == i:
            yield from matches(pattern.pattern, i, values, {**found, pattern.name: i})
    elif pattern[0] == values[i].op and len(pattern) - 1 == len(values[i].args):
        args = values[i].args
        for order in (args, args[::-1]) if pattern[0] in COMMUTATIVE else (args,):
            yield from _all(pattern[1:], order, values, dict(found))


def _all(patterns, args, values, found):
    if not patterns:
        yield found
        return
    for more in matches(patterns[0], args[0], values, dict(found)):
        yield from _all(patterns[1:], args[1:], values, more)


def has_root(values, i):
    """Whether value i is a square root, computed here or loaded."""
    return values[i].op == "sqrt" or ("made", "sqrt") in values[i].attrs


def stays(form, values, i, j):
    """Whether value i varies along the vector loop (or down a strip) and value j does not."""
    v = values[j]
    return values[i].vec and (not v.vec or form in COLUMNS and not v.run)


TERMS = ("add", "sub", "mul", "square", "neg", "where", "convert")  # on the way to a sum


def only_summed(values, stores, i):
    """Whether the float i comes to nothing but sums, by arithmetic on the way."""
    seen = {i}
    for k in range(i + 1, len(values)):
        v = values[k]
        if v.op == "sum" or seen.isdisjoint(v.args):
            continue
        if v.op not in TERMS or not dtypes.is_float(v.dtype):
            return False
        seen.add(k)
    return seen.isdisjoint(value for _, value in stores)


def is_lowest(values, found):
    """Whether a maximum is taken as it is, or at least the lowest number."""
    if "lowest" not in found:
        return True
    lowest = values[found["lowest"]]
    return lowest.number == dtypes.finfo(lowest.dtype).min


def is_limit(form, values, stores, found, i):
    """Whether an extremum of floats is with a number that is no NaN."""
    limit = values[found["limit"]]
    number = limit.number
    return dtypes.is_float(limit.dtype) and number is not None and number == number


SIGNS = 8  # operations deep that signs are looked for


def has_sign(values, i, sign, depth=SIGNS):
    """Whether value i is, whatever it is made of, 0 or of this sign (1 or -1), or NaN."""
    v = values[i]
    if v.number is not None:
        return v.number * sign >= 0
    if not depth or not dtypes.is_float(v.dtype):
        return False

    def of(k, sign):
        return has_sign(values, v.args[k], sign, depth - 1)

    if v.op in ("square", "abs", "exp", "exp_below", "sqrt"):
        return sign > 0
    if v.op == "neg":
        return of(0, -sign)
    if v.op == "add":
        return of(0, sign) and of(1, sign)
    if v.op == "sub":
        return of(0, sign) and of(1, -sign)
    if v.op == "mul":
        turns = [values[a].op == "neg" for a in v.args]
        ends = {values[a].args[0] if turn else a for a, turn in zip(v.args, turns)}
        if len(ends) == 1:  # a number by itself, or by its negative
            return sign == (1 if turns[0] == turns[1] else -1)
    if v.op == "mul" or v.op == "true_div" and values[v.args[1]].number:  # 1 / -0.0 is below 0
        return any(of(0, one) and of(1, one * sign) for one in (1, -1))
    if v.op in ("sum", "max", "min", "convert"):
        return dtypes.is_float(values[v.args[0]].dtype) and of(0, sign)
    return False


TOP = Bound("top", Either((("max", "x"), ("maximum", ("max", "x"), "lowest"))))
BELOW = Bound("d", ("sub", "x", TOP))
SUMMED = Bound("e", ("exp", BELOW))
TOTAL = ("where", ("isfinite", "top"), ("add", ("log", ("sum", SUMMED)), "top"), "top")
HIGHEST = ("neg", "lowest")


def _ops(pattern):
    """The ops that values have to be of for a pattern to be found at all."""
    if isinstance(pattern, (str, Either)):
        return frozenset()
    if isinstance(pattern, Bound):
        return _ops(pattern.pattern)
    return frozenset([pattern[0]]).union(*map(_ops, pattern[1:]))


RULES = (
    KernelRule("softmax's row sum",
         ("true_div", "z", Bound("s", ("sum", ("exp", BELOW)))),
         ("mul", "z", ("reciprocal", "s")),
         lambda form, values, stores, found, i: (
             is_lowest(values, found) and not values[found["z"]].reduces),
         1, False,
         "One division per row instead of one per element: softmax of 1000 columns 0.35 ns an "
         "element against 0.49. The sum is at least 1, since x - max(x) is 0 somewhere, so that "
         "its reciprocal is normal and the product within 1.5 ulp of the quotient. Where all are "
         "-inf it is 0, and all are NaN."),
    KernelRule("logsumexp's exponentials",
         ("exp", ("sub", "x", Bound("y", ("maximum", TOTAL, "lowest")))),
         ("mul", "e", ("exp", ("sub", ("minimum", "top", HIGHEST), ("minimum", "y", HIGHEST)))),
         lambda form, values, stores, found, i: is_lowest(values, found), 1, False,
         "A logsumexp's gradient needs no exponential per element beyond those it summed. top <= y "
         "<= top + log(n), so that exp(top - y) is between 1/n and 1; where all are -inf both are "
         "the lowest number, and beside an inf both are inf, so that the factor is 1."),
    KernelRule("exponentials below a maximum",
         ("exp", BELOW),
         ("exp_shifted", "d"),
         lambda form, values, stores, found, i: True, None, True,
         "x - max(x) is at most 0 or NaN and has been rounded, so that an exponential may do with "
         "one scale, no upper end and 1.05 ulp: 0.34 ns an element in cache instead of 0.61. So is "
         "x less anything above its maximum."),
    KernelRule("exponentials of what is never positive",
         ("exp", "x"),
         ("exp_below", "x"),
         lambda form, values, stores, found, i: has_sign(values, found["x"], -1), None, True,
         "One scale and no upper end, with all digits of other exponentials: exp(-x * x / 2) in "
         "cache 0.32 ns an element instead of 0.44, of doubles 0.86 instead of 1.04."),
    KernelRule("quotients by a root",
         ("true_div", "a", "root"),
         ("mul", "a", ("reciprocal", "root")),
         lambda form, values, stores, found, i: (
             has_root(values, found["root"]) and stays(form, values, i, found["root"])),
         None, True,
         "The reciprocal of a root is never subnormal, and 0 and infinite only where the root is "
         "infinite and 0, so that the product is within 1.5 ulp of the quotient. A layer norm and "
         "its gradient divide three times per element: 1.6 ms of 4096 x 768 on one core, 2.3 "
         "before."),
    KernelRule("quotients in sums",
         ("true_div", "a", "s"),
         ("mul", "a", ("reciprocal", "s")),
         lambda form, values, stores, found, i: (
             stays(form, values, i, found["s"]) and only_summed(values, stores, i)),
         1, True,
         "A division of four doubles takes as long as ten products. A term is within 1.5 ulp then, "
         "less than what adding it to others rounds: the log-density of 5,000 numbers with two "
         "scales 4.4 us, 2.3 with their reciprocals. Where that is subnormal or infinite digits "
         "are lost, as the guide says."),
    KernelRule("a lower limit", ("maximum", "x", "limit"), ("at_least", "x", "limit"),
         is_limit, 1, False,
         "A number that is no NaN need not be asked for it, and where x is one the comparison is "
         "false and x stays: one comparison and one choice instead of two of each. A clip of "
         "floats in cache took 2.1 times NumPy's time before."),
    KernelRule("an upper limit", ("minimum", "x", "limit"), ("at_most", "x", "limit"),
         is_limit, 1, False, "As a lower limit."),
)  # fmt: skip
ROWS_OF = {}
for _rule in RULES:
    ROWS_OF.setdefault(_rule.pattern[0], []).append((_rule, _ops(_rule.pattern)))


def rewrite(form, values, stores):
    """(values, stores) after RULES: values that a replacement needs come right before it."""
    hits, ops = {}, {v.op for v in values}
    if not ops.isdisjoint(ROWS_OF):
        for i, v in enumerate(values):
            if v.op in ROWS_OF:
                hit = next(_found(form, values, stores, i, ops), None)
                if hit is not None:
                    hits[i] = hit
    if not hits:
        return tuple(values), tuple(stores)
    made, at, shared = [], [], {}
    for i, v in enumerate(values):
        new = v._replace(args=tuple(at[a] for a in v.args)) if v.args else v
        if i in hits:
            rule, found = hits[i]
            op, *args = rule.replacement
            memo = shared if rule.shared else {}
            args = tuple(_make(made, a, found, at, v.dtype, memo) for a in args)
            cost = v.cost if rule.cost is None else rule.cost
            new = new._replace(op=op, args=args, attrs=(), cost=cost)
        at.append(len(made))
        made.append(new)
    return tuple(made), tuple((operand, at[value]) for operand, value in stores)


def _found(form, values, stores, i, ops):
    """(rule, {name: value}) for each way a rule applies to value i of values of these ops."""
    for rule, asked in ROWS_OF[values[i].op]:
        if not asked <= ops:
            continue
        for found in matches(rule.pattern, i, values, {}):
            if rule.when(form, values, stores, found, i):
                yield rule, found


def _make(made, replacement, found, at, dtype, memo):
    """The place in `made` of a replacement, whose values are appended as needed."""
    if isinstance(replacement, str):
        return at[found[replacement]]
    op, *args = replacement
    args = tuple(_make(made, a, found, at, dtype, memo) for a in args)
    if (op, args) not in memo:
        memo[op, args] = len(made)
        made.append(derived(made, op, dtype, args, cost=REGISTRY["exp"].cost if op == "exp" else 1))
    return memo[op, args]


def derived(values, op, dtype, args, attrs=(), cost=0.0):
    """The Value of an op of other `values`: where it is ready and along what it varies."""
    level, vec, run = 0, False, False
    for a in args:
        v = values[a]
        reduces = v.op in REDUCTIONS
        level = max(level, v.level + reduces)
        vec, run = vec or v.vec, run or v.run and not reduces
    return Value(op, dtype, tuple(args), attrs, -1, vec, level, cost, run)


# ---- maxima and their places --------------------------------------------------------------------

PLACE = ("first", ("index_of", "x", Bound("best", Either((("max", "x"), ("min", "x")))), "at"))


def places(kernel):
    """{maximum or minimum: the first index with it} where only that asks for the index.

    Such a pair is found in one pass. Not where the reduced axes do not lie as one, since rows are
    then not walked in the order of their indices.
    """
    values, found = kernel.values, {}
    if kernel.runs > (kernel.form in COLUMNS) or not any(v.op == "first" for v in values):
        return found
    users = [a for v in values for a in v.args] + [v for _, v in kernel.stores]
    for i, v in enumerate(values):
        for names in matches(PLACE, i, values, {}):
            if users.count(v.args[0]) == 1:
                found[names["best"]] = i
    return found


# ---- accumulators -------------------------------------------------------------------------------


class Accumulator(NamedTuple):
    """What a reduction runs in: a dtype, or "flag" for a C int, and whether a maximum or minimum
    keeps apart that it met NaN."""

    dtype: str
    nan: bool


def accumulators(kernel):
    """{reduction: its Accumulator}.

    Floats are summed in double (error independent of the length). Sums and products of ints run
    unsigned, where overflow is defined and wraps as NumPy's does. A maximum that is found together
    with its place down a strip of columns sees NaN there. Truth values are as wide as what they are
    of, for vectors of two widths are taken apart and put together: any of 262,144 bytes takes 3 us
    so, 11 by way of ints; down a strip they are bytes.
    """
    together = places(kernel) if kernel.form in COLUMNS else {}
    return {
        i: Accumulator(
            _runs_in(kernel, i, v),
            v.op in ("max", "min") and dtypes.is_float(v.dtype) and i not in together,
        )
        for i, v in enumerate(kernel.values)
        if v.reduces
    }


def _runs_in(kernel, i, v):
    if v.op in ("any", "all"):
        return "uint8" if kernel.form in COLUMNS else flag_of(_widest(kernel, i))
    if v.op in ("sum", "prod"):
        if dtypes.is_float(v.dtype):
            return "float64"
        return "u" + v.dtype if v.dtype in dtypes.SIGNED else v.dtype
    return "uint8" if v.dtype == "bool" else dtypes.computed(v.dtype)


def flag_of(size):
    """The accumulator of a flag beside values of so many bytes."""
    return {1: "uint8", 8: "int64"}.get(size, "flag")


def _widest(kernel, i):
    """Bytes of the widest of the values that vary with what reduction i takes."""
    roots = kernel.values[i].args
    found = [kernel.values[k].dtype for k in [*roots, *needed(kernel, roots)]]
    return max(dtypes.ITEMSIZE[dtypes.computed(dtype)] for dtype in found)


def needed(kernel, roots, stop=()):
    """Values that vary along a run under `roots`, in order; those in `stop` are not looked into."""
    seen, stack = set(), list(roots)
    while stack:
        i = stack.pop()
        v = kernel.values[i]
        if i in seen or v.fixed or v.reduces or not v.run:
            continue
        seen.add(i)
        if i not in stop:
            stack.extend(v.args)
    return sorted(seen)


def cone_cost(kernel, i, kept=()):
    """The cost of computing value i when those in `kept` are available."""
    return sum(kernel.values[j].cost for j in needed(kernel, [i], kept) if j not in kept)


def in_blocks(kernel, i, cached=False):
    """Whether reduction i sums blocks in float, and the sums of blocks in double.

    Such are sums that do not wait for memory: of expensive values, and of a row that several loops
    read (`cached`). Cheap sums wait for memory and stay in double throughout, which is exact to the
    last bit.
    """
    v = kernel.values[i]
    narrow = dtypes.computed(kernel.values[v.args[0]].dtype) == "float32"
    cheap = not cached and cone_cost(kernel, v.args[0]) <= RECOMPUTE_COST
    return v.op == "sum" and narrow and not cheap


# ---- ciphers ------------------------------------------------------------------------------------


def interleave(kernel):
    """How many vectors of random numbers a flat loop computes at a time; 0 for loops without.

    A cipher is a chain of 60 dependent operations: one vector after the other leaves most of the
    core idle. Measured on Zen 5, uniform float32: 0.75 ns an element alone, 0.37 by eights; normal
    float32: 2.1, by fours 0.9. Without early scheduling, unrolling gains nothing. A loop that
    stores bytes takes four vectors of floats at a time already: 2.0 by eights, 0.37 by twos.
    """
    draws = [v.op for v in kernel.values if v.op.startswith("random_")]
    if kernel.form != "flat" or not draws:
        return 0
    narrow = min(dtypes.ITEMSIZE[kernel.operands[operand].dtype] for operand, _ in kernel.stores)
    vectors = 4 if len(draws) > 1 or draws[0] == "random_normal" else 8
    return max(1, vectors * min(narrow, 4) // 4)


PERIODIC = ("sin", "cos", "tan")
QUOTIENTS = ("mod", "floor_div", "fmod")
NEAR_FLOATS = ((0, 5e5), (0.01, 1e30))  # known numbers of a float quotient that ck_near_* takes
LOGARITHMS = ("log", "log2", "log10", "pow")
FEW_VALUES = 6


def is_near(kernel, v):
    """Whether a value takes less where its operands are small: sines of floats, which do without
    libm then, quotients of int64, which are those of doubles then, and of floats by what is not
    tiny. Quotients of integers by a power of two are shifts. Or where they are normal and above 0:
    logarithms of what was read, which then are no special cases."""
    if v.op in LOGARITHMS:
        x = kernel.values[v.args[0]]
        read = x.op == "load" and x.vec and x.dtype == v.dtype
        few = len(kernel.values) <= FEW_VALUES and not part_rows(kernel)
        return read and few and v.dtype in ("float32", "float64")
    if v.op not in QUOTIENTS or v.dtype not in ("int64", "float32", "float64"):
        return v.op in PERIODIC
    if v.dtype != "int64":
        x = [kernel.values[i] for i in v.args]
        return all(
            not w.fixed or (w.number is not None and low <= abs(w.number) < high)
            for w, (low, high) in zip(x, NEAR_FLOATS)
        )
    a, b = (kernel.values[i].number for i in v.args)
    shifts = b is not None and b > 0 and b & (b - 1) == 0
    return not shifts and all(n is None or abs(n) < 2**51 for n in (a, b))


def asked_ahead(kernel):
    """The values of which a flat loop takes sines, quotients or logarithms, where it may ask of a
    block beforehand whether all of them are "small" or "normal"; [] where it computes expensive
    values to know them.
    """
    values = kernel.values
    found = set()
    for v in values:
        if is_near(kernel, v) and v.vec:
            if v.op in LOGARITHMS:
                found.add((v.args[0], "normal"))
            else:
                second = "divisor" if v.op in QUOTIENTS and v.dtype != "int64" else "small"
                asked = zip(v.args, ("small", second))
                found.update((a, question) for a, question in asked if not values[a].fixed)
    if kernel.form != "flat":
        return []
    cost = sum(values[i].cost for i in varying(kernel, {i for i, _ in found}))
    return sorted(found) if cost <= RECOMPUTE_COST else []


def varying(kernel, roots):
    """The values under `roots` that vary along the vector loop, in order."""
    seen, stack = set(), list(roots)
    while stack:
        i = stack.pop()
        v = kernel.values[i]
        if i not in seen and v.vec and not v.fixed:
            seen.add(i)
            stack.extend(v.args)
    return sorted(seen)


def turned_first(kernel):
    """Operands that run backwards in a flat loop over elements of several widths."""
    varying = [v for v in kernel.values if v.vec]
    widths = {dtypes.ITEMSIZE[dtypes.computed(v.dtype)] for v in varying}
    widths |= {dtypes.ITEMSIZE[o.dtype] for o in kernel.operands if o.role != "index" and o.inner}
    if kernel.form != "flat" or len(widths) == 1:
        return []
    read = {v.operand for v in varying if v.op == "load"}
    return [i for i, o in enumerate(kernel.operands) if o.inner == -1 and i in read]


def bytes_apart(kernel):
    """Operands of bytes of which a loop over rows reads a strip of columns with steps."""
    if kernel.form not in ("columns", "column_chunks") or kernel.runs != 1:
        return []
    read = {v.operand for v in kernel.values if v.op == "load"}
    return [
        i
        for i, o in enumerate(kernel.operands)
        if i in read and o.role == "in" and o.run and o.inner not in (0, 1) and not o.beside
        if dtypes.ITEMSIZE[o.dtype] == 1
    ]


def moves_rows(kernel):
    """Whether a flat loop does nothing but move rows as they are from one place to another."""
    both = [o for o in kernel.operands if o.role != "index"]
    return (
        kernel.form == "flat"
        and kernel.outer > 0
        and len(kernel.values) == len(kernel.stores) == 1
        and kernel.values[0].op == "load"
        and len(both) == 2
        and all(o.inner == 1 and o.outer and o.dtype == both[0].dtype for o in both)
    )


def narrow_rows(kernel):
    """Whether rows of a flat loop are cut into vectors of 16 elements behind those of 64."""
    widths = [dtypes.ITEMSIZE[o.dtype] for o in kernel.operands if o.role != "index" and o.inner]
    return (
        kernel.form == "flat"
        and kernel.outer > 0
        and min(widths, default=0) == 1
        and all(v.cost <= RECOMPUTE_COST for v in kernel.values if v.vec)
    )


TRUTHS = ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "logical_and",
          "logical_or", "logical_xor", "logical_not", "bit_and", "bit_or", "bit_xor",
          "bit_not")  # fmt: skip
WORDS = ("float64", "int64", "uint64")


def truths_of_words(kernel):
    """Whether a flat loop makes nothing but truth values, of numbers of 8 bytes."""

    def is_truth(v):
        return v.dtype == "bool" and v.op in TRUTHS

    varying, kept = [v for v in kernel.values if v.vec], [v for _, v in kernel.stores]
    return (
        kernel.form == "flat"
        and all(o.role != "index" and o.inner in (0, 1) for o in kernel.operands)
        and all(v.dtype in WORDS if v.op == "load" else is_truth(v) for v in varying)
        and all(kernel.values[i].vec and is_truth(kernel.values[i]) for i in kept)
    )


DEAR = 3 * RECOMPUTE_COST  # two functions or more


def part_rows(kernel):
    """Whether what is left of each row of a flat loop behind the last vector is one vector, too."""
    moving = [o for o in kernel.operands if o.inner != 0]
    varying = [v for v in kernel.values if v.vec]
    return (
        kernel.form == "flat"
        and kernel.outer > 0
        and all(o.role != "index" and o.dtype == "float32" and o.inner == 1 for o in moving)
        and all(v.dtype in ("float32", "bool") for v in varying)
        and sum(v.cost for v in varying) >= DEAR
    )
