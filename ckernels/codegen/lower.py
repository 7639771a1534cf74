"""From a fused Group and the layouts of its operands to a Kernel and the numbers of its launch.

Chooses the form of the nest (flat, tile, rows, columns, chunks), collapses axes that all operands
walk alike, classifies strides and writes values in order. ir.py says what values mean. Sizes and
strides are not part of a kernel: they are numbers of its launch.
"""

from dataclasses import dataclass, field, replace

from ..base import dtypes
from ..base.machine import IN_CACHE, LANES, NS_BYTE, NS_COST, VECTOR
from ..graph.op import REGISTRY, having
from ..graph.shapes import product
from ..graph.sizes import Longest, Size, bounds_of, less, surely, value_of
from ..schedule import cost
from ..schedule.gathers import KINDS, gather_of
from ..schedule.group import GENERATORS
from ..schedule.parameters import is_number
from . import passes
from .contraction import LEAST_OUTPUTS, PART, WHOLE, why_not
from .dims import LaunchDims
from .forms.columns import HELD_ROWS, STRIP
from .forms.flat import TILE
from .forms.rows import ROW_SCRATCH
from .ir import COLUMNS, IN_MEMORY, REDUCTIONS, Kernel, Operand, Value, numeral
from .laid import REPEAT, REPEATED, in_bundles, laid
from .layout import collapse, contiguous_strides

JUMPS, PICKS = having("jumps"), having("picks")
LEAST_TILED = LANES  # least rows and columns for tiles: below, all tiles are cut off at an edge
SHORT_ROW = LANES  # elements: shorter rows go side by side
HALF_ROW = LANES // 2  # but from here on not those that are stored, after little work
SIDE_BY_SIDE = 4  # of them at least: logsumexp over the middle of (32, n, rows) floats, us, as
# rows and as columns: (15, 3) 10.5 and 7.2, (8, 8) 22 and 9.5, (15, 8) 28 and 17
SHORT_BYTES = VECTOR  # the same of bytes
SHORT_PLACES = 3 * LANES  # and where the place of an extremum is looked for
LONG_ROW = 16 * LANES  # elements from which prefetching the next row is worth it
AS_ONE_ROW = {"sum", "prod", "any", "all", "max", "min"}  # taken of short rows in one loop
WIDE = 8 * LANES  # columns per chunk at least: narrower ones read memory in small pieces


@dataclass
class Launch:
    """A kernel with all the executor needs: pointers as (buffer, byte offset), dims, range.

    n: units of the range, dealt out in multiples of `block`; work: picoseconds of all (cost.py).
    """

    kernel: Kernel
    pointers: list
    dims: list
    n: int
    block: int
    work: int
    reads: list
    writes: list
    inplace: list = field(default_factory=list)  # (result, operand) buffers that may be one
    least: int = 1  # units for one thread, whatever they take


def is_literal(node, group):
    """Whether the C of a loop has the value of `node` in its text."""
    return is_number(node) and node.uid not in group.numbers


def loaded(group):
    """The nodes whose memory a loop reads, in the order it reads them."""
    for node in group.nodes:
        if node.op.name in GENERATORS:
            yield from node.inputs
            continue
        if node.op.name in KINDS:
            yield from (operand for operand, *_ in group.reads[node.uid])
            continue
        for operand, _, source, _ in group.reads[node.uid]:
            x = source if source.op.name == "constant" else operand
            if source.uid not in group.maps and not is_literal(x, group):
                yield x


class _Ref:
    """One operand before collapsing: where it lies and its stride along each domain axis."""

    def __init__(self, role, dtype, strides, buffer=None, offset=0, loose=False):
        self.role, self.dtype, self.strides = role, dtype, strides
        self.buffer, self.offset, self.loose = buffer, offset, loose
        self.picks = ()  # size and stride of each axis that an index picks from
        self.walk = strides  # the strides if each index were that of the loop

    def kind(self):
        return self.role, self.dtype

    def moves(self):
        """All but where it lies."""
        return self.role, self.dtype, self.strides, self.picks, self.walk, self.loose


class Lowering:
    """Lower one group. layouts: {uid: Layout} of what it reads; stores: [(node, Layout)].

    built: {loop: its Launch} of loops lowered for the same plan. Loops that only differ in their
    buffers, as those of equal layers do, share one.
    """

    def __init__(self, group, layouts, stores, built=None):
        self.group, self.layouts, self.stores = group, layouts, stores
        self.built = {} if built is None else built
        self.refs, self.values, self.of = [], [], {}
        self.made = {}  # {(op, operands, ...): the value}
        self.reduced = set(group.reduced)

    def run(self):
        for node in self.group.nodes:
            self.of[node.uid] = self.member(node)
        out = []
        for node, layout in self.stores:
            ref = self.add_ref("out", node.dtype, layout, self.group.maps[node.uid])
            if node.op.name == "partial":
                self.refs[ref].strides = (0,) * len(self.group.domain)
            out.append((ref, self.of[node.uid]))
        for axis in self.reduced:
            self.run_forwards(axis)
        return self.shared(out)

    def run_forwards(self, axis):
        """Let a reduced axis along which all operands run backwards be walked from its other end.

        GCC reverses no vectors where a loop has elements of two widths, as sums of floats in double
        and maxima with their flags of NaN have: of 262,144 doubles 145 us, 40 forwards.
        """
        n = self.group.domain[axis]
        moving = [r for r in self.refs if r.strides[axis] != 0]
        if not (bounds_of(n)[0] and all(is_backwards(r, axis) for r in moving)):
            return
        if 0 not in self.group.domain:  # what is empty has no other end in its buffer
            for r in moving:
                step = r.strides[axis]
                r.offset += step * (n - 1)
                r.strides = (*r.strides[:axis], -step, *r.strides[axis + 1 :])

    def shared(self, stores):
        """The Launch of a loop that was built before, with the buffers of this one; or a new one.

        The key holds all that `build` reads; sizes in it are equal if their expressions are.
        """
        group, numbers = self.group, {}
        refs = tuple(
            [(*r.moves(), r.offset, numbers.setdefault(r.buffer, len(numbers))) for r in self.refs]
        )
        chunks = tuple([n.attrs["chunks"] for n, _ in self.stores if n.op.name == "partial"])
        key = (
            tuple(group.domain),
            group.reduced,
            group.partial,
            refs,
            tuple(self.values),
            tuple(stores),
            chunks,
        )
        found = self.built.get(key)
        if found is None:
            made = self.build(stores)
            pairs = [(numbers[a], numbers[b]) for a, b in made.inplace]
            self.built[key] = made, pairs
            return made
        made, pairs = found
        buffers = list(numbers)
        return replace(
            made,
            dims=list(made.dims),
            pointers=self.pointers(),
            reads=self.buffers("in"),
            writes=self.buffers("out"),
            inplace=[(buffers[a], buffers[b]) for a, b in pairs],
        )

    def pointers(self):
        return [
            (r.buffer, r.offset * dtypes.ITEMSIZE[r.dtype]) for r in self.refs if r.role != "index"
        ]

    def buffers(self, role):
        return [r.buffer for r in self.refs if r.role == role]

    # ---- values -------------------------------------------------------------------------------

    def add_ref(self, role, dtype, layout, amap):
        strides = [0] * len(self.group.domain)
        for k, axis in enumerate(amap):
            if axis is not None:
                strides[axis] += layout.strides[k]
        self.refs.append(
            _Ref(role, dtype, tuple(strides), layout.buffer, layout.offset, layout.loose)
        )
        return len(self.refs) - 1

    def value(self, op, dtype, args=(), attrs=(), operand=-1, cost=0.0):
        """A new value: its place in `values`."""
        if operand >= 0:
            run = any(self.refs[operand].strides[a] != 0 for a in self.reduced)
            run = run or any(self.values[a].run for a in args)
            made = Value(op, dtype, args, attrs, operand, True, 0, cost, run)
        else:
            made = passes.derived(self.values, op, dtype, args, attrs, cost)
        self.values.append(made)
        return len(self.values) - 1

    def once(self, op, dtype, args=(), attrs=()):
        """A value; the same one when it was asked for before."""
        key = (op, dtype, args, attrs)
        if key not in self.made:
            self.made[key] = self.value(op, dtype, args, attrs)
        return self.made[key]

    def load(self, node, amap, base):
        """The value of an operand, a view of `base`, that lies in memory (or is a literal)."""
        if is_literal(node, self.group):
            return self.literal(node.dtype, node.value.reshape(()))
        key = (node.uid, amap)
        if key not in self.made:
            ref = self.add_ref("in", node.dtype, self.layouts[node.uid], amap)
            attrs = (("made", base.op.name),) if base.op.name in passes.TOLD else ()
            self.made[key] = self.value("load", node.dtype, attrs=attrs, operand=ref)
        return self.made[key]

    def fetch(self, node):
        """The value of a tensor at indices, all of which lie in memory."""
        reads = self.group.reads[node.uid]
        (x, want, _, _), layout = reads[0], self.layouts[node.inputs[0].uid]
        args = tuple([self.load(index, amap, base) for index, amap, base, _ in reads[1:]])
        ref = self.refs[at := self.add_ref("in", x.dtype, layout, want)]  # behind its indices
        walk = list(ref.strides)
        for arg, (_, _, axis, width) in zip(args, gather_of(node).picks):
            size, step = layout.shape[axis] - width + 1, layout.strides[axis]
            ref.picks += (size, step)
            for a, far in enumerate(self.refs[self.values[arg].operand].strides):
                walk[a] += far * step
        ref.walk = tuple(walk)
        return self.value("fetch", node.dtype, args, operand=at, cost=1)

    def literal(self, dtype, number):
        return self.once("literal", dtype, attrs=(("number", numeral(dtype, number)),))

    def index(self, strides, dtype):
        """A running index with the given strides along the domain axes."""
        key = ("index", strides, dtype)
        if key not in self.made:
            self.refs.append(_Ref("index", dtype, strides))
            self.made[key] = self.value("index", dtype, operand=len(self.refs) - 1)
        return self.made[key]

    def member(self, node):
        name, amap = node.op.name, self.group.maps[node.uid]
        if name == "partial":
            return self.partial(node)
        if name == "iota":
            strides = [0] * len(self.group.domain)
            if amap[node.attrs["axis"]] is not None:
                strides[amap[node.attrs["axis"]]] = 1
            index = self.index(tuple(strides), "int64")
            return self.convert(index, node.dtype)
        if name in GENERATORS:
            return self.random(node, amap)
        if name in KINDS:
            return self.fetch(node)
        args = [self.operand(*read) for read in self.group.reads[node.uid]]
        if name in JUMPS or node.dtype not in dtypes.C_STORED:
            args = [self.rounded(a) for a in args]
        if node.op.kind == "reduce":
            return self.reduce(node, name, args[0], node.inputs[0], node.attrs["axes"])
        if node.op.commutative:  # operands come in order of creation: no part of a kernel
            args.sort()
        wide = dtypes.ITEMSIZE[node.inputs[-1].dtype] / 4
        return self.value(
            name, node.dtype, args, tuple(sorted(node.attrs.items())), cost=node.op.cost * wide
        )

    def rounded(self, i):
        """A value as it would be read from memory: halves are floats in a loop, of which 0.9999 is
        1 as float16, and 1e-9 is 0."""
        if self.values[i].dtype not in dtypes.C_STORED or self.is_half(i):
            return i
        key = ("rounded", i)
        if key not in self.made:
            half = self.values[i].dtype
            attrs = (("dtype", half),)
            self.made[key] = self.value("cast", half, (i,), attrs, cost=REGISTRY["cast"].cost)
        return self.made[key]

    def is_half(self, i):
        """Whether a value of a dtype of halves certainly is one."""
        v = self.values[i]
        if v.dtype not in dtypes.C_STORED:
            return v.dtype == "bool"
        return not (v.computed or v.reduces) or v.op == "cast" or v.op in PICKS and all(
            map(self.is_half, v.args)
        )  # fmt: skip

    def operand(self, node, amap, base, want):
        """The value of `node` read with `amap`, where it is `base` read with `want`."""
        if base.uid in self.of:
            return self.of[base.uid]
        if base.op.name == "constant":  # its views are not laid out: see loaded
            node, amap = base, want
        return self.load(node, amap, base)

    def convert(self, value, dtype):
        if self.values[value].dtype == dtype:
            return value
        return self.value("convert", dtype, (value,), cost=1)

    def random(self, node, amap):
        """random_bits/uniform/normal: element i of the draw, from state = (seed, stream, call)."""
        state = node.inputs[0]
        strides = [0] * len(self.group.domain)
        for axis, step in zip(amap, contiguous_strides(node.shape)):
            if axis is not None:
                strides[axis] = step
        args = [self.index(tuple(strides), "int64")]
        layout = self.layouts[state.uid]
        for k in range(3):
            key = ("state", state.uid, k)
            if key not in self.made:
                ref = _Ref(
                    "in",
                    "int64",
                    (0,) * len(self.group.domain),
                    layout.buffer,
                    layout.offset + k * layout.strides[0],
                    layout.loose,
                )
                self.refs.append(ref)
                self.made[key] = self.value("load", "int64", operand=len(self.refs) - 1)
            args.append(self.made[key])
        return self.value(node.op.name, node.dtype, args, cost=15)

    def reduce(self, node, name, arg, x, axes):
        """A reduction value; argmax and argmin become max or min and the first index with it."""
        if all(x.shape[a] == 1 for a in axes):
            return arg if name[:3] != "arg" else self.literal("int64", 0)
        if name not in ("argmax", "argmin"):
            return self.once(name, node.dtype, (arg,))
        best = self.once(name[3:], x.dtype, (arg,))
        strides = [0] * len(self.group.domain)
        steps = contiguous_strides([x.shape[a] for a in axes])
        wide = [(a, s) for a, s in zip(axes, steps) if x.shape[a] != 1]
        for axis, (_, step) in zip(self.group.reduced, wide):
            strides[axis] = step
        turned = any(is_backwards(r, a) for r in self.refs for a in self.group.reduced)
        narrow = not turned or dtypes.ITEMSIZE[x.dtype] < 8  # as wide as what run_forwards leaves
        kind = "int32" if narrow and product(x.shape[a] for a in axes) < 2**31 else "int64"
        index = self.index(tuple(strides), kind)
        first = self.value(
            "index_of", kind, (arg, best, index), (("float", dtypes.is_float(x.dtype)),), cost=2
        )
        return self.convert(self.value("first", kind, (first,)), "int64")

    def partial(self, node):
        x = node.inputs[0]
        arg = self.operand(*self.group.reads[node.uid][0])
        kind = node.attrs["kind"]
        if kind == "count":
            return self.value("count", "float64")
        if kind == "moment2":
            return self.moment2(arg, x.dtype)
        return self.reduce(node, kind, arg, x, node.attrs["axes"])

    def moment2(self, arg, dtype):
        """Squared deviations of a chunk from its own mean; `count` is how many it has."""
        total = self.once("sum", "float64", (arg,))
        count = self.value("count", "float64")
        mean = self.value("true_div", "float64", (total, count), cost=1)
        off = self.value("sub", dtype, (arg, self.convert(mean, dtype)), cost=1)
        return self.once("sum", "float64", (self.value("square", dtype, (off,), cost=1),))

    # ---- nest ---------------------------------------------------------------------------------

    def build(self, stores):
        group = self.group
        sizes = group.domain
        outer = [a for a in range(len(sizes)) if sizes[a] != 1 and a not in self.reduced]
        inner = [a for a in group.reduced if sizes[a] != 1]
        lead = self.leading_ref()
        by_out = self.refs[stores[0][0]].strides
        if not group.partial:  # the results of chunks are written one after the other
            outer.sort(key=lambda a: Longest(lead.walk[a]))
        if not inner:
            outer.sort(key=lambda a: Longest(by_out[a]))
        inner.sort(key=lambda a: Longest(lead.walk[a]))
        o_sizes, o_rows = collapse(
            [sizes[a] for a in outer], [[r.strides[a] for a in outer] for r in self.refs]
        )
        r_sizes, r_rows = collapse(
            [sizes[a] for a in inner], [[r.strides[a] for a in inner] for r in self.refs]
        )
        if not inner:
            return self.flat(stores, o_sizes, o_rows)
        found = self.contraction(stores, outer, r_sizes, r_rows)
        if found is not None:
            return found
        bundled = self.in_bundles(o_rows, r_sizes, r_rows)
        if bundled:
            return self.bundles(stores, o_sizes, o_rows, r_sizes, r_rows, bundled)
        column = bool(o_sizes) and (
            group.partial
            or self.is_column(lead, outer, inner)
            or self.are_short(lead, stores, o_sizes, r_sizes)
        )
        across = self.in_steps(outer, inner, column)
        if across is not None:
            outer.append(outer.pop(outer.index(across)))
            o_sizes, o_rows = collapse(
                [sizes[a] for a in outer], [[r.strides[a] for a in outer] for r in self.refs]
            )
        if column or across is not None:
            return self.columns(stores, o_sizes, o_rows, r_sizes, r_rows)
        return self.rows(stores, o_sizes, o_rows, r_sizes, r_rows)

    def in_steps(self, outer, inner, column):
        """The outer axis along which all operands are walked in steps of 1, or stay, where some are
        not along the axis that vectors would run along; None elsewhere.

        Columns of which the largest operand has but one gather the others, and short rows leave
        most of a vector empty. logsumexp over the middle of (32, n, 1) plus (n, n) floats, a step
        of a chain of states, us: of 20 states 50 as rows, 25 as columns of these; of 128 520 as
        columns of the batch, 245 as columns of states (one core of Zen 4). Long rows are gathered
        as fast as columns end: of 500 and 31 columns 0.65 ns an element, 2.5 as columns.

        Windows that overlap step by 1 along both axes, and columns of them need nothing added up
        across a vector: a mean of 7 x 7 floats of an image takes 13 ns as rows, 1.8 as columns, an
        element of a window of 24 0.40 and 0.05, of 1,000 0.14 and 0.04 (AVX2).
        """
        if self.group.partial or self.fetches():
            return None
        sizes, along = self.group.domain, outer[-1] if column else inner[-1]
        wide = [a for a in outer if all(in_step(r, a) for r in self.refs)]
        read = [r.strides for r in self.refs if r.role == "in"]
        windows = not column and any(
            stride_class(s[along]) == 1 == stride_class(s[a]) for s in read for a in wide
        )
        if not windows:
            if all(in_step(r, along) for r in self.refs):
                return None
            if not column and product(sizes[a] for a in inner) >= 2 * LANES:
                return None
        least = 2 * LANES if column else LANES
        return next((a for a in wide if sizes[a] >= least), None)

    def in_bundles(self, o_rows, r_sizes, r_rows):
        """How operands lie where the innermost reduced axis is a short bundle beside others, with
        more to reduce around it; () elsewhere."""
        if self.group.partial or len(r_sizes) < 2 or not o_rows[0] or self.fetches():
            return ()
        walks = [(o[-1], r[-1], moves(r[:-1])) for o, r in zip(o_rows, r_rows)]
        return in_bundles(r_sizes[-1], walks, [ref.role for ref in self.refs], STRIP)

    def fetches(self):
        """Whether anything is read at indices: such is not laid out anew."""
        return any(ref.picks for ref in self.refs)

    def leading_ref(self):
        """The operand whose memory order the nest follows: the one with most elements to read, or a
        result of more, as where small ones are spread: logsumexp of 318 x 50 sums of a row and a
        column, which are stored, took twice the time by columns of the rows (AVX2)."""
        found, most = None, None
        for ref in sorted(self.refs, key=lambda r: r.role != "in"):
            elements = product(n for s, n in zip(ref.walk, self.group.domain) if s != 0)
            if found is None or less(most, elements):
                found, most = ref, elements
        return found

    @staticmethod
    def is_column(lead, outer, inner):
        near, far = (
            sorted(Longest(lead.walk[a]) for a in axes if lead.walk[a] != 0)[-1:]
            for axes in (inner, outer)
        )
        return bool(far) and (not near or near[0] < far[0])

    def are_short(self, lead, stores, o_sizes, r_sizes):
        """Whether rows are shorter than a vector, so that each lane takes one row.

        Softmax of 20000 rows of 10, two threads of Zen 5: 0.1 ms as columns, 0.6 as rows, one
        element after the other; of 16 it is 0.17 and 0.15. A length that only a call knows is
        asked too, as the plan's assumption: argmax of a million rows of 3 takes 0.9 ms as columns,
        38 as rows (one core of Zen 4). So are rows of bytes that a vector of bytes would hold, if
        nothing is stored along them: maxima of a million bytes in rows of 20 take 0.22 ms instead
        of 1.24, of 63 0.22 and 0.50, argmax of these 0.48 and 1.39. Places of maxima are found
        row by row by a call each: of 262,144 floats in rows of 16, 31, 48 244, 140, 94 us, as
        columns 76, 83, 90, of int64 284, 226, 142 and 120, 123, 140 (AVX2).
        """
        rows, n = o_sizes[-1], product(r_sizes)
        stored = any(self.refs[ref].strides[a] != 0 for ref, _ in stores for a in self.reduced)
        places = any(v.op == "first" for v in self.values) and not stored
        if n < (SHORT_PLACES if places else SHORT_ROW):
            if type(rows) is not Size and rows < SIDE_BY_SIDE:
                return False
            return not (stored and self.is_light(lead) and n >= HALF_ROW)
        narrow = dtypes.ITEMSIZE[lead.dtype] == 1 and not stored
        return narrow and n < SHORT_BYTES and rows >= SHORT_ROW

    def is_light(self, lead):
        """Whether arithmetic and one sum are all there is: half a vector of it is walked along its
        row if that is stored, since each element would be stored by itself by columns, which step
        over rows.

        r = z - sum(x * y), x * r and y * r of 2,000 rows of doubles take 0.3 of the time as rows
        where they have 8 or more, of floats 0.8 of 8 and 0.5 of 10; x - mean(x) 0.6 to 0.5 and 0.8
        (AVX2). With a root per row it is 1.3 to 2.7 times the time, softmax of 10 doubles 1.9.
        """
        words = dtypes.ITEMSIZE[lead.dtype] // dtypes.ITEMSIZE["float32"]
        sums = [v.op for v in self.values if v.reduces]
        return words > 0 and sums == ["sum"] and all(v.cost <= words for v in self.values)

    def flat(self, stores, sizes, rows):
        if not sizes:
            sizes, rows = (1,), [(0,) for _ in self.refs]
        crossed = self.tile_axis(sizes, rows)
        if crossed:
            return self.launch(
                "tile",
                stores,
                sizes[1],
                (sizes[0],),
                (),
                [(r[1], (r[0],), ()) for r in rows],
                sizes[0],
                TILE,
            )
        return self.launch(
            "flat",
            stores,
            sizes[-1],
            sizes[:-1],
            (),
            [(r[-1], r[:-1], ()) for r in rows],
            product(sizes),
            64,
            ways=() if self.fetches() else laid(sizes, rows, [ref.kind() for ref in self.refs]),
        )

    def tile_axis(self, sizes, rows):
        """Whether a 2-D loop has operands contiguous along the outer axis and so wants tiles."""
        if len(sizes) != 2:
            return False
        real = [r for r, ref in zip(rows, self.refs) if ref.role != "index"]
        return any(r[0] in (1, -1) and r[1] not in (0, 1, -1) for r in real) and all(
            n >= LEAST_TILED for n in sizes
        )

    def contraction(self, stores, outer, r_sizes, r_rows):
        """The Launch of a contraction; None where the reduction is none.

        Its outputs lie along vectors, so that the axis of these is the one they are contiguous in,
        unless that is shorter than a vector: squared distances of 20,000 points of 16 floats and
        8 centres take 0.36 ms so, 1.62 as rows, of 3 centres 0.74 (AVX2).
        """
        if len(r_sizes) != 1 or len(outer) < 2 or self.group.partial:
            return None
        by_out = self.refs[stores[0][0]].strides
        outer = sorted(outer, key=lambda a: Longest(by_out[a]))
        sizes, rows = collapse(
            [self.group.domain[a] for a in outer],
            [[r.strides[a] for a in outer] for r in self.refs],
        )
        if len(sizes) < 2:
            return None
        walks = [
            frozenset(axis for axis, step in zip("ABQ", (*o[-2:], *r)) if step != 0)
            for o, r in zip(rows, r_rows)
        ]
        along, across = LEAST_OUTPUTS
        if why_not(self.values, walks, stores):
            return None
        part = WHOLE
        if sizes[-1] < along:  # few centres of many points: these lie along vectors, in parts
            sizes, part = (*sizes[:-2], sizes[-1], sizes[-2]), PART
            rows = [(*o[:-2], o[-1], o[-2]) for o in rows]
        if sizes[-1] < along or sizes[-2] < across:
            return None
        strides = [(o[-1], o[:-1], r) for o, r in zip(rows, r_rows)]
        parts = 1 if part == WHOLE else sizes[-1] // part + 1
        count = product(sizes[:-1]) * parts
        return self.launch(
            "contraction", stores, sizes[-1], sizes[:-1], r_sizes, strides, count, 8, part
        )

    def rows(self, stores, o_sizes, o_rows, r_sizes, r_rows):
        strides = [(r[-1], o, r[:-1]) for o, r in zip(o_rows, r_rows)]
        n, runs = r_sizes[-1], r_sizes[:-1]
        if self.group.partial:
            count = product(runs) if runs else n
            ways = self.as_one_row(r_sizes, r_rows)
            return self.chunked("chunks", stores, n, (), runs, strides, count, ways)
        return self.launch("rows", stores, n, o_sizes, runs, strides, product(o_sizes), 1)

    def as_one_row(self, sizes, rows):
        """How each operand lies where all of the short rows are reduced in one loop; () where they
        are not.

        100,000 floats in rows of 12 less those of one row, squared and added up, take 18 us so and
        72 row by row, with a number per row besides 30 and 72. Where elements have one size, rows
        of vectors are better: doubles in rows of 48 21 us and 27, with a number per row 38 and 89
        in rows of 12. Of a choice by truth values a vector has 32: doubles 96 us and 529 (AVX2).
        """
        found = [(v.op, v.level) for v in self.values if v.reduces]
        alike = all(op in AS_ONE_ROW and level == 0 for op, level in found)
        if len(sizes) != 2 or not alike or self.fetches():
            return ()
        refs = [ref.kind() for ref in self.refs]
        if any(role == "index" for role, _ in refs):
            return ()
        still = [all(surely(step, 0) for step in row) for row in rows]
        refs = [("in", dtype) if one else (role, dtype) for one, (role, dtype) in zip(still, refs)]
        found = laid(sizes, rows, refs)
        sizes_of = {dtypes.ITEMSIZE[dtype] for one, (_, dtype) in zip(still, refs) if not one}
        if found and len(sizes_of) == 1:
            (size,) = sizes_of
            most = 4 * VECTOR if REPEAT not in found else REPEATED - 1 if size < 8 else 0
            return () if sizes[-1] * size > most else found
        return found

    def columns(self, stores, o_sizes, o_rows, r_sizes, r_rows):
        strides = [(o[-1], o[:-1], r) for o, r in zip(o_rows, r_rows)]
        if self.group.partial:
            return self.chunked(
                "column_chunks",
                stores,
                o_sizes[-1],
                o_sizes[:-1],
                r_sizes,
                strides,
                product(r_sizes),
            )
        total = product(o_sizes)
        return self.launch(
            "columns",
            stores,
            o_sizes[-1],
            o_sizes[:-1],
            r_sizes,
            strides,
            total,
            WIDE if value_of(total) >= 2 * WIDE else 16,
        )

    def bundles(self, stores, o_sizes, o_rows, r_sizes, r_rows, ways):
        strides = [
            (o[-1] if way == REPEAT else r[-1], o[:-1], r[:-1])
            for o, r, way in zip(o_rows, r_rows, ways)
        ]
        n, outer, count = o_sizes[-1], o_sizes[:-1], product(o_sizes)
        return self.launch(
            "bundles",
            stores,
            n,
            outer,
            r_sizes[:-1],
            strides,
            count,
            8,
            chunk=r_sizes[-1],
            ways=ways,
        )

    def streams(self, n, values, stores):
        """Whether cheap loops store rows of n elements that are long and leave a core's caches."""
        cheap = all(v.cost <= passes.RECOMPUTE_COST for v in values if v.run)
        if not cheap or not any(values[v].run for _, v in stores):
            return False
        return product(self.group.domain) >= IN_CACHE and n >= LONG_ROW

    def chunked(self, form, stores, n, outer, runs, strides, count, ways=()):
        """A partial reduction: `count` runs or elements dealt to the chunks the shape asked for."""
        chunks = next(n for n, _ in self.stores if n.op.name == "partial").attrs["chunks"]
        return self.launch(
            form, stores, n, outer, runs, strides, chunks, 1, -(-count // chunks), ways
        )

    def launch(self, form, stores, n, outer, runs, strides, count, block, chunk=None, ways=()):
        operands = []
        for ref, (step, far, run), way in zip(self.refs, strides, ways or [""] * len(strides)):
            cross = stride_class(far[-1]) if form in ("tile", "contraction") else "n"
            classes = stride_class(step), moves(far), moves(run), cross
            picks = len(ref.picks) // 2
            beside = self.beside(len(operands), strides) if form == "flat" and not any(ways) else ()
            operands.append(Operand(ref.role, ref.dtype, *classes, way, picks, ref.loose, beside))
        steps = [(*way, ref.picks) for ref, way in zip(self.refs, strides)]
        dims = LaunchDims(n, tuple(outer), tuple(runs), chunk, steps).words(operands)
        values, stores = passes.rewrite(form, self.settle(form, operands), stores)
        spill = again(values) and (
            n <= ROW_SCRATCH
            if form == "rows" and not runs
            else form == "columns" and lie_apart(operands, values) and product(runs) < HELD_ROWS
        )
        kernel = Kernel(
            form,
            len(outer),
            len(runs),
            tuple(operands),
            values,
            stores,
            spill,
            spill and form == "rows" and self.streams(n, values, stores),
        )
        ns, total = self.element_ns(values), product(self.group.domain)
        return Launch(
            kernel,
            self.pointers(),
            dims,
            count,
            block,
            cost.work(ns, total),
            self.buffers("in"),
            self.buffers("out"),
            self.inplace() if form == "flat" else [],
            cost.least_for_elements(count, total),
        )

    def beside(self, i, strides):
        """(another operand, elements between them) if operand i lies in the gaps of one before it.

        GCC then reads and stores vectors of both and sorts them: the rotation of 262,144 pairs of
        floats takes 90 us, 186 where each number is stored by itself; three bytes 41 and 420.
        """
        ref, step = self.refs[i], stride_class(strides[i][0])
        if ref.role == "index" or ref.picks or step not in (2, 3, 4):
            return ()
        for k, other in enumerate(self.refs[:i]):
            alike = (ref.buffer, *ref.moves()) == (other.buffer, *other.moves())
            if alike and strides[k] == strides[i]:
                gap = ref.offset - other.offset
                if type(gap) is int and 0 < abs(gap) < step:
                    return k, gap
        return ()

    def inplace(self):
        """Pairs (result, operand) that are walked alike, so that one may overwrite the other.

        Each element is visited once: one number that every row reads again must outlive the loop.
        """
        loads = {}
        for ref in self.refs:
            if ref.role == "in":
                loads.setdefault(ref.buffer, []).append(ref)

        def once(ref):
            return all(s != 0 for s, n in zip(ref.strides, self.group.domain) if n != 1)

        def same_walk(a, b):
            return (
                dtypes.ITEMSIZE[a.dtype] == dtypes.ITEMSIZE[b.dtype]
                and a.strides == b.strides
                and a.offset == b.offset
                and not a.picks
            )

        return [
            (out.buffer, buffer)
            for out in self.refs
            if out.role == "out" and once(out)
            for buffer, refs in loads.items()
            if all(same_walk(ref, out) for ref in refs)
        ]

    def element_ns(self, values):
        """Estimated ns per point of the domain on one core."""
        total = sum(1 if v.reduces else v.cost for v in values) * NS_COST
        moved = sum(
            dtypes.ITEMSIZE[ref.dtype]
            for ref in self.refs
            if ref.role != "index" and moves(ref.walk)
        )
        return total + moved * NS_BYTE

    def settle(self, form, operands):
        """Mark each value as varying along the vector loop or not."""
        out = []
        for v in self.values:
            if v.op in IN_MEMORY:
                vec = operands[v.operand].inner != 0 or any(out[a].vec for a in v.args)
                if form in ("rows", "chunks"):
                    vec = v.run
                elif form == "tile":
                    vec = vec or moves(self.refs[v.operand].strides)
            elif v.op in REDUCTIONS:
                vec = form in COLUMNS
            else:
                vec = any(out[a].vec for a in v.args)
            out.append(v if vec == v.vec else v._replace(vec=vec))
        return out


def stride_class(step):
    """What a kernel knows of a stride: the number, if it is small, or "n".

    GCC reads steps of 2, 3 and 4 as vectors that it sorts: adding every second of uint8 takes 20 us
    for 262,144 elements, 148 with a step that only the call knows; of floats 60 and 80.
    """
    return step if type(step) is int and -1 <= step <= 4 else "n"


def in_step(ref, axis):
    """Whether vectors along an axis are loaded as they lie, or hold one number."""
    return ref.role == "index" or stride_class(ref.strides[axis]) in (0, 1)


def is_backwards(ref, axis):
    """Whether an operand in memory runs backwards along an axis, whatever the sizes are."""
    high = bounds_of(ref.strides[axis])[1]
    return ref.role != "index" and high is not None and high < 0


def moves(strides):
    """Whether any stride is not 0."""
    return any(s != 0 for s in strides)


def lie_apart(operands, values):
    """Whether columns are rows of memory, side by side, and nothing is looked for in them.

    What is dear or read in steps is made once for all loops over them then.
    """
    return not any(v.op == "first" for v in values) and any(
        op.role == "in" and op.run and op.inner not in (0, 1) for op in operands
    )


def again(values):
    """Whether a row is walked more than once, so that keeping parts of it may serve."""
    return any(v.level > 0 and (v.run or v.reduces) for v in values)
