"""What becomes of a loop over a row: where it stops, blocks, prefetches, vectors side by side, and
its rest as a vector. `CHANGES` has a row for each."""

from ...base import dtypes
from ...base.machine import LANES
from .. import passes
from .loops import Loop, LoopChange

SOUGHT = 16 * LANES  # elements of a block in which a maximum is sought, of bytes four times,
SOUGHT_AT_ONCE = 4096  # and bytes where the numbers just lie there
KNOWN = 1024  # elements after which truth values of a row are asked whether more can matter,
AT_ONCE = 16  # and the first time
BLOCK = 512  # floats summed in float before they join the double
AHEAD = 2  # operands prefetched at a time
SHORT_RUN = 64  # elements of a run in which vectors as wide as those of bytes are not filled
REST = LANES  # elements of the vector that ends with the row
AWAY = 2048  # elements between what is summed side by side and what is prefetched
LONG = 2048  # floats of a row at least that are summed side by side
APART = ("index", "fetch")  # values that are not read one after the other
SAYS = {  # what a comparison of a place with a number says, and that of a number with a place
    "lt": ("last", "before"), "le": ("after", "first"), "gt": ("before", "last"),
    "ge": ("first", "after"),
}  # fmt: skip


# ---- maxima and their places --------------------------------------------------------------------


def seeks(rows, loop):
    """Whether a loop only looks for the maximum of a row and the next one for its place."""
    best, stores = rows.loops.get(loop.level, ([], []))
    found = rows.loops.get(loop.level + 1, ([], []))
    return bool(
        len(best) == 1
        and not stores
        and best[0] in rows.places
        and found == ([rows.places[best[0]]], [])
    )


def lies_in_memory(rows, i):
    """The operand that reduction i reads, if it is just its numbers, one after the other."""
    v = rows.k.values[rows.k.values[i].args[0]]
    if v.op != "load" or v.dtype in dtypes.COMPUTED or rows.k.values[i].args[0] in rows.spills:
        return None
    operand = rows.k.operands[v.operand]
    plain = operand.inner == 1 and operand.dtype == v.dtype and not operand.loose
    return v.operand if plain and v.operand not in rows.turned else None


def is_best_in_memory(rows, loop):
    reductions, stores = rows.loops[loop.level]
    alone = len(reductions) == 1 and not stores and not rows.k.runs
    v = rows.k.values[reductions[0]] if alone else None
    wide = alone and v.op in ("max", "min") and dtypes.ITEMSIZE[v.dtype] >= 4
    return bool(wide) and lies_in_memory(rows, reductions[0]) is not None


def best_in_memory(rows, loop, rest):
    """The maximum of a row that just lies there."""
    c, ((i, accumulator, flag),) = rows.c, loop.taken
    with c.if_(f"{loop.begin} < {loop.end}"):
        place = rows.place(lies_in_memory(rows, i), loop.read, loop.begin)
        c.best_of(i, place, f"{loop.end} - {loop.begin}")
        c.accumulate(i, accumulator, flag, f"p_{i}")


def seek_block(rows, loop, rest):
    """The maximum (or minimum) of a row, and w, where the first block begins that has it, or its
    place, where numbers of four bytes or more just lie there."""
    c, (i,) = rows.c, loop.reductions
    read, size = lies_in_memory(rows, i), dtypes.ITEMSIZE[rows.k.values[i].dtype]
    c.var(**{f"w_{i}": "0"})
    if read is not None and size >= 4:
        with c.if_("n > 0"):
            c.best_of(i, rows.place(read, loop.read, "0"), "n", f"w_{i}")
            c.accumulate(i, f"a_{i}", f"bad_{i}", f"p_{i}")
        return
    block = SOUGHT * max(1, 4 // size)
    some = f"n < {4 * block} ? {SOUGHT // 2} : {block}"
    c.let(**{f"part_{i}": some if read is None else SOUGHT_AT_ONCE // size})
    with c.blocks("b", "e", "0", "n", f"part_{i}"):
        if read is not None:
            c.best_of(i, rows.place(read, loop.read, "b"), "e - b")
        else:
            c.accumulator(i, f"p_{i}")
            if c.accumulators[i].nan:
                c.flag(f"q_{i}", i)
            rows.print_plainly(loop.over("b", "e", taken=((i, f"p_{i}", f"q_{i}"),)))
        c.better_block(i)


def follows_seek(rows, loop):
    return seeks(rows, Loop(loop.level - 1))


def search_block(rows, loop, rest):
    """The first place in the block at w that holds what `seek_block` found there."""
    c, (best,), (i,) = rows.c, rows.loops[loop.level - 1][0], loop.reductions
    begin, end, read = f"w_{best}", f"e_{i}", lies_in_memory(rows, best)
    wide = dtypes.ITEMSIZE[rows.k.values[best].dtype] >= 4
    if read is None or not wide:
        c.let(**{end: f"{begin} + part_{best} < n ? {begin} + part_{best} : n"})
    if read is None:
        rows.print_plainly(loop.over(begin, end))
        return
    with c.if_(f"{begin} < {'n' if wide else end}"):
        if wide:
            c.let(**{f"j_{i}": begin})
        else:
            at = rows.place(read, loop.read, begin)
            c.place_of(best, f"j_{i}", at, f"{end} - {begin}", begin)
        index = rows.k.values[rows.k.values[i].args[0]].args[2]
        rows.define(index, loop.read, f"j_{i}")
        c.assign(f"a_{i}", c.name(index))


# ---- sums of what lies between two places ------------------------------------------------------


def ends_of(rows, loop):
    """{(end, value)}: the places of a row that only a call knows before which ("first") or from
    which on ("last") a loop sums zeros; ("after", value): from the place behind it on."""
    k, (reductions, stores) = rows.k, rows.loops[loop.level]
    if k.form not in ("rows", "chunks") or k.runs or stores or loop.begin != "0":
        return set()
    if any(k.values[i].op != "sum" for i in reductions) or loop.level in rows.spills.values():
        return set()
    found = [zero_beyond(k, k.values[i].args[0]) for i in reductions]
    return set.intersection(*found) if found else set()


def zero_beyond(k, i):
    """The ends of `ends_of` for value i."""
    v = k.values[i]
    if v.op == "where":
        test, x, other = v.args
        return within(k, test) | zero_beyond(k, x) if k.values[other].number == 0 else set()
    if v.op in ("convert", "square", "neg", "abs"):
        return zero_beyond(k, v.args[0])
    if v.op in ("mul", "add", "sub"):  # of a product both, for 0 * inf is NaN
        return zero_beyond(k, v.args[0]) & zero_beyond(k, v.args[1])
    return set()


def within(k, i):
    """The same of a truth value, which does not hold beyond."""
    v = k.values[i]
    if v.op == "logical_and":
        return within(k, v.args[0]) | within(k, v.args[1])
    if v.op not in SAYS:
        return set()
    for (a, b), end in zip((v.args, v.args[::-1]), SAYS[v.op]):
        bound = k.values[b]
        if counts(k, a) and bound.dtype == "int64" and not bound.vec and not bound.run:
            return {(end, b)}
    return set()


def counts(k, i):
    """Whether value i is the place in the row."""
    v = k.values[i]
    if v.op != "index" or v.dtype != "int64":
        return False
    operand = k.operands[v.operand]
    return operand.inner == 1 and not operand.outer and operand.dtype == "int64"


def has_ends(rows, loop):
    return bool(ends_of(rows, loop))


def between_ends(rows, loop, rest):
    """Sum from the first place to the last one."""
    c, level, n = rows.c, loop.level, loop.end
    begin, end = "0", n
    for kind, i in sorted(ends_of(rows, loop)):
        at, name = c.name(i), f"{kind}{level}_{i}"
        if rows.k.form == "chunks":
            c.let(**{f"at{level}_{i}": f"{at} < first ? -1 : {at} - first"})
            at = f"at{level}_{i}"
        if kind in ("first", "before"):
            beyond = f"{at} + 1" if kind == "before" else at
            c.let(**{name: f"{at} < {n} ? {at} < {begin} ? {begin} : {beyond} : {n}"})
            begin = name
        else:
            beyond = f"{at} + 1" if kind == "after" else at
            c.let(**{name: f"{at} < {end} ? {beyond} : {end}"})
            end = name
    with c.if_(f"{begin} < {end}"):
        rest(loop.over(begin, end))


# ---- runs, blocks -------------------------------------------------------------------------------


def has_runs(rows, loop):
    return bool(rows.k.runs)


def run_by_run(rows, loop, rest):
    with rows.c.loop("q", loop.begin, loop.end):
        rows.shift(rows.unravel("q", rows.run_sizes(), "q_"), "b")
        rows.held = held(rows, loop)
        for i in rows.held:
            rows.define(i, "b", "0")
        rest(loop.over("0", "n", read="b", written="b"))
        rows.held = ()
        if asks(rows, loop):
            rows.c.stop_when_known(loop.reductions)


def held(rows, loop):
    """What a loop computes anew for each run, but not for each element of one."""
    k, found = rows.k, []
    for i in rows.needed(rows.wanted(loop.level), rows.kept_before(loop.level)):
        v = k.values[i]
        if v.op == "load":
            again = k.operands[v.operand].inner == 0
        else:
            again = v.computed and all(a in found or not k.values[a].run for a in v.args)
        if again and i not in rows.spills:
            found.append(i)
    return found


def asks(rows, loop):
    """Whether a loop only asks for any or all of what it meets, and keeps nothing for later."""
    reductions, stores = rows.loops[loop.level]
    asked = all(rows.k.values[i].op in ("any", "all") for i in reductions)
    left = stores or loop.level in rows.spills.values()
    return bool(reductions) and asked and not left


def mixes_widths(rows, loop):
    """Whether runs are reduced of which operands have elements of several widths."""
    k, read = rows.k, loads(rows, loop.level)
    sizes = {dtypes.ITEMSIZE[k.operands[i].dtype] for i in read}
    extreme = any(rows.c.accumulators[i].nan for i in loop.reductions)
    return bool(k.runs and loop.taken and not extreme and len(sizes) > 1)


def short_runs_apart(rows, loop, rest):
    """Short runs in vectors of the widest elements, others as they come."""
    sizes = [dtypes.ITEMSIZE[rows.k.operands[i].dtype] for i in loads(rows, loop.level)]
    with rows.c.if_(f"{loop.end} < {SHORT_RUN}"):
        rest(loop._replace(lanes=f"CK_LANES * 4 / {max(sizes)}"))
    with rows.c.if_(f"{loop.end} >= {SHORT_RUN}"):
        rest(loop)


def settles(rows, loop):
    """The same where a row is long enough to stop at the first block that decides."""
    return asks(rows, loop) and not ahead(rows, loop)


def until_known(rows, loop, rest):
    with rows.c.blocks_after_one("b", "e", loop.begin, loop.end, AT_ONCE, KNOWN):
        rest(loop.over("b", "e"))
        rows.c.stop_when_known(loop.reductions)


def has_blocks(rows, loop):
    return sums_blocks(rows, loop) or bool(ahead(rows, loop))


def block_by_block(rows, loop, rest):
    with rows.c.blocks("b", "e", loop.begin, loop.end, BLOCK):
        rest(loop.over("b", "e"))


def ahead(rows, loop):
    """[(operand, how far, whether it is stored)] to prefetch in the second loop over a row.

    Two operands at most: softmax of 4096 x 1000 with its gradient, two threads of Zen 5, takes 1.21
    ms with both that are read, 1.36 with the two that are stored besides, 1.38 with none. A cheap
    loop over rows that are stored prefetches only where they come from memory: layer norms of 64 x
    768 and of 100000 x 10 took 1.1 and 1.4 times as long.
    """
    k, loops = rows.k, rows.loops
    if k.runs or list(loops)[1:2] != [loop.level] or not (k.form == "chunks" or k.spill):
        return []
    if k.outer != (k.form == "rows"):
        return []
    first = next_row(rows, loads(rows, min(loops)))
    costly = any(passes.cone_cost(k, i) > passes.RECOMPUTE_COST for i in rows.wanted(loop.level))
    if k.outer and (costly or k.stream):
        return (first + later(rows, loop.level))[:AHEAD]
    return [] if costly or any(stores for _, stores in loops.values()) else first


def loads(rows, level):
    """The contiguous operands that a loop reads."""
    values = [rows.k.values[i] for i in rows.needed(rows.wanted(level))]
    found = dict.fromkeys(v.operand for v in values if v.op == "load")
    return [i for i in found if rows.k.operands[i].inner == 1]


def next_row(rows, operands):
    k = rows.k
    operands = [i for i in operands if k.operands[i].outer or not k.outer]
    return [(i, rows.strides[i][1][0] if k.outer else "n", False) for i in operands]


def later(rows, level):
    """What loops after this one read and store of the row, and no loop so far."""
    operands = rows.k.operands
    read = {i for l in rows.loops if l <= level for i in loads(rows, l)}
    rest = [l for l in rows.loops if l > level]
    unread = dict.fromkeys(i for l in rest for i in loads(rows, l) if i not in read)
    stores = [o for l in rest for o, _ in rows.loops[l][1] if operands[o].inner == 1]
    return [(i, "0", False) for i in unread if operands[i].outer] + [
        (i, "0", True) for i in stores if operands[i].outer
    ]


def prefetched(rows, loop, rest):
    """Prefetch the part of rows, or of the next chunk, that lies below this block."""
    c, wanted = rows.c, ahead(rows, loop)
    step = 64 // max(dtypes.ITEMSIZE[rows.k.operands[i].dtype] for i, _, _ in wanted)
    with c.loop("j", loop.begin, loop.end, step):
        for i, by, stored in wanted:
            c.prefetch(i, "j" if by == "0" else f"{by} + j", stored)
    rest(loop)


def sums_blocks(rows, loop):
    return not rows.blocks.isdisjoint(rows.loops[loop.level][0])


def summed_apart(rows, loop, rest):
    """Sums of one block, which then join those of the row."""
    c, blocks = rows.c, [i for i in loop.reductions if i in rows.blocks]
    for i in blocks:
        c.partial_sum(f"p_{i}")
    rest(loop._replace(taken=tuple(
        (i, f"p_{i}" if i in blocks else a, flag) for i, a, flag in loop.taken
    )))  # fmt: skip
    for i in blocks:
        c.update(f"a_{i} += p_{i}")


# ---- sums of several vectors side by side -------------------------------------------------------


def may_sum_side_by_side(rows, loop):
    """Whether a loop only sums or multiplies, in double, what it reads or computes at next to no
    cost."""
    k, (reductions, stores) = rows.k, rows.loops[loop.level]
    roots = rows.wanted(loop.level)
    values = rows.needed(roots)
    floats = len(loads(rows, loop.level)) == 1
    return (
        not (k.runs or stores or rows.blocks)
        and not ahead(rows, loop)
        and (floats or is_wide(rows, loop))
        and all(k.values[i].op in ("sum", "prod") for i in reductions)
        and all(is_plain(rows, i) for i in values)
        and all(passes.cone_cost(k, i) <= passes.RECOMPUTE_COST for i in roots)
    )


def is_wide(rows, loop):
    return any(rows.k.values[i].dtype == "float64" for i in rows.needed(rows.wanted(loop.level)))


def is_plain(rows, i):
    """Whether value i is a float of 4 or 8 bytes, and no part of a row on the stack; if it is read,
    one after the other or always the same."""
    v = rows.k.values[i]
    if v.dtype not in ("float32", "float64") or v.op in APART or i in rows.spills:
        return False
    return v.op != "load" or rows.k.operands[v.operand].inner in (0, 1)


def block_of(rows, loop):
    """How many elements are four vectors of the numbers in which a loop sums."""
    return f"{2 if is_wide(rows, loop) else 4} * CK_LANES"


def let_side_by_side(rows):
    """How many elements of a row each loop sums so that may do it at all."""
    for loop in map(Loop, rows.loops):
        if may_sum_side_by_side(rows, loop):
            wide, block = is_wide(rows, loop), block_of(rows, loop)
            long = rows.k.form == "rows" and not wide
            least = LONG if long else f"{4 if wide else 8} * CK_LANES"
            rows.c.let(**{f"s{loop.level}": f"CK_SIDE_BY_SIDE(n, {block}, {least})"})


def sum_side_by_side(rows, loop, rest):
    """Sum blocks of four vectors into the accumulators; what is behind them is left."""
    c, k = rows.c, rows.k
    values = rows.needed(rows.wanted(loop.level))
    begin, wide, block = f"s{loop.level}", is_wide(rows, loop), block_of(rows, loop)
    lanes = "CK_LANES / 2" if wide else "CK_LANES"
    with c.if_(f"{begin} > 0"):
        for i in loop.reductions:
            c.lanes(i, f"s_{i}", block)
        with c.loop("b", "0", begin, block):
            if not wide:
                with c.unrolled("q", "b", f"b + {block}", 64 // dtypes.ITEMSIZE["float32"]):
                    c.prefetch(*loads(rows, loop.level), f"q + {AWAY}")
            with c.unrolled("q", "0", block, lanes), c.vector("u", "q", f"q + {lanes}"):
                for i in values:
                    rows.define(i, "a", "b + u")
                for i in loop.reductions:
                    c.accumulate(i, f"s_{i}[u]", None, c.name(k.values[i].args[0]))
        with c.vector("q", "0", block, loop.taken):
            for i, accumulator, _ in loop.taken:
                c.accumulate(i, accumulator, None, f"s_{i}[q]")
    rest(loop.over(begin, loop.end, is_left=True))


# ---- the rest -----------------------------------------------------------------------------------


def has_rest(rows, loop):
    """Whether the elements of a row after the last whole vector are computed as a vector too."""
    k, (reductions, _) = rows.k, rows.loops[loop.level]
    earlier = rows.kept_before(loop.level)
    return k.form == "rows" and (
        any(k.values[i].op in ("max", "min") for i in reductions)
        or any(
            passes.cone_cost(k, i, earlier) > passes.RECOMPUTE_COST for i in rows.wanted(loop.level)
        )
    )


def rest_as_vector(rows, loop, rest):
    c, begin, end, whole = rows.c, loop.begin, loop.end, f"m{loop.level}"
    size = end if begin == "0" else f"({end} - {begin})"
    c.let(**{whole: f"{end} < {REST} ? {end} : {end} - {size} % {REST}"})
    rest(loop.over(begin, whole))
    with c.if_(f"{whole} < {end}"):
        rest(loop.over(f"{end} - {REST}", end, new=f"j >= {whole}", is_left=False))


CHANGES = (
    LoopChange("seek", seeks, seek_block,
           "Argmax of 4096 x 4096 waits for memory only: 2.0 ms on one core, 2.9 where the search "
           "for the place looks at the row up to it. Of 512 rows of 512 floats in cache it takes "
           "41 us with blocks of 512, 34 and 28 with 256 and 128; of longer rows blocks of 256 "
           "take least, of bytes those of 1,024: the end of a block costs more than four vectors. "
           "What lies in memory is looked through by the functions of math_rows.h.in: the ends of "
           "loops cost more than a short row (rows of 100 doubles 25 ns instead of 57)."),
    LoopChange("in memory", is_best_in_memory, best_in_memory,
           "One vector of maxima waits for each next one: of 300,000 doubles 53 us, with four 35; "
           "int64, which a comparison and a choice take, 79 and 38. Of bytes 32 at once do."),
    LoopChange("search", follows_seek, search_block,
           "The place lies in the first block that has the maximum."),
    LoopChange("between ends", has_ends, between_ends,
           "Sums of x[:i], whose length a step of a scan knows, are sums of x where its places are "
           "below i, else of zeros: 0.3 us a step of 3000 elements, half as many on average."),
    LoopChange("runs", has_runs, run_by_run,
           "Reduced axes that do not lie as one are walked run by run. What a run has once is read "
           "before it: a mask of 1,000 rows of 10 doubles took 53 us, in vectors as wide as those "
           "of bytes, 7 so."),
    LoopChange("short runs", mixes_widths, short_runs_apart,
           "A compiler takes as many elements at once as fill a vector of the narrowest: 32 of "
           "bytes and doubles with AVX2, so that runs of 12 are computed one by one. With 4 at "
           "once 3,770 such runs of six operands, a mask among them, take 91 us, not 203; runs of "
           "30 take 80 instead of 134. Of 1,200 the wide ones take 47, four at once 81."),
    LoopChange("until known", settles, until_known,
           "`any` of 262,144 truth values takes 2 us where most are true, 11 to the end of all."),
    LoopChange("blocks", has_blocks, block_by_block,
           "What is summed apart or prefetched is so by blocks that stay in L1."),
    LoopChange("prefetch", lambda rows, loop: bool(ahead(rows, loop)), prefetched,
           "A second loop finds its row in cache, and memory would idle: it prefetches the next "
           "row, and what later loops read and store of this one. On one core, ms: mean and "
           "variance of 4096 x 4096 2.4 instead of 2.8, softmax of 4096 x 1000 3.5 instead of 4.6, "
           "layer norm of 4096 x 768 2.3 instead of 3.1 (the next row alone gains nothing)."),
    LoopChange("sums of blocks", sums_blocks, summed_apart,
           "Layer norm of 4096 x 768 takes 0.24 ms instead of 0.29 on two threads of Zen 5: a "
           "block is summed in float, the sums of blocks in double."),
    LoopChange("side by side", may_sum_side_by_side, sum_side_by_side,
           "Each addition to one vector of sums waits for the one before; four vectors do not "
           "wait. Doubles in the second-level cache take 0.032 ns each instead of 0.061 with "
           "AVX-512, 0.035 instead of 0.12 with AVX2 (one core of Zen 5). Floats gain by the "
           "prefetch that comes with it: 4 million in the third-level cache take 90 us instead of "
           "109 on two cores, 149 instead of 179 with AVX2; by rows of 2048, 89 instead of 101. "
           "A product of 262,144 doubles 31 us instead of 73 on Zen 3. "
           "Floats of several operands gain nothing, and rows of 256 took 1.4 times as long."),
    LoopChange("rest", has_rest, rest_as_vector,
           "The vector that ends with the row overlaps the one before: stores repeat the same "
           "numbers, maxima do not change, and sums leave out elements they already have. Computed "
           "one by one, the last eight exponentials of a row of 1000 take a tenth of its time."),
)  # fmt: skip
