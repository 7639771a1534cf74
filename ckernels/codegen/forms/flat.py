"""Elementwise nests: a flat range of rows, rows that move, tiles for transposed operands."""

from contextlib import contextmanager

from ...base.machine import LANES, VECTOR
from .. import passes
from .loops import Loop, LoopChange
from .nest import Nest

TURNED = 16 * LANES  # elements of a reversed operand that are turned at a time
ASKED = 16 * LANES  # elements of which a loop asks at a time whether a sine of them needs no libm
BYTES, FEW = VECTOR, VECTOR // 4  # elements of a vector of bytes, of the shortest ones
WORD, WORDS = 8, 4  # truth values of a word, words of a block: see ck_put_truths
TILE = 2 * LANES  # transposed operands: square tiles stay in L1 (3x over untiled)


class Flat(Nest):
    """One range over all elements, cut where a row ends."""

    note = "elementwise over a flat range"

    def write(self):
        if not self.k.outer:
            self.row("x", "y", "lo", "hi")
            return
        self.c.let(n=self.dims.n)
        with self.rows_in_range("n", self.outer_sizes()):
            self.row("a", "a", "j", "end")

    @contextmanager
    def rows_in_range(self, n, sizes):
        """Once for each row of n elements, counted by `sizes`, of which the range has [j, end)."""
        c, rows = self.c, [f"r{i}" for i in range(len(sizes))]
        c.var(row=f"lo / {n}", j=f"lo % {n}")
        if len(sizes) > 1:
            c.var_digits(rows, sizes, "row")
        with c.while_("lo < hi"):
            c.let(end=f"{n} - j < hi - lo ? {n} : j + hi - lo")
            if len(sizes) == 1:
                c.let(r0="row")
            self.shift(rows, "a")
            yield
            if len(sizes) > 1:  # two divisions per row cost as much as 20 additions of floats
                c.update("lo += end - j", "j = 0")
                c.count_on(rows, sizes)
            else:
                c.update("lo += end - j", "row++", "j = 0")

    def row(self, read, written, first, last):
        self.fixed_values(read)
        stores = tuple(self.k.stores)
        self.print_loop(Loop(0, (), stores, first, last, read, written))

    def print_plainly(self, loop):
        unroll = passes.interleave(self.k)
        with self.c.vector("i", loop.begin, loop.end, unroll=unroll):
            self.element(loop)

    def element(self, loop):
        self.varying_values(loop.read, "i")
        self.put_all(loop.stores, loop.written, "i")

    def put_all(self, stores, pointer, j):
        for operand, value in stores:
            self.store(operand, pointer, j, self.c.name(value))

    # ---- changes of its loop --------------------------------------------------------------------

    def stores_apart(self):
        """(stores of one number to one place, other stores)."""
        apart = [], []
        for operand, value in self.k.stores:
            moves = self.k.operands[operand].inner != 0 or self.k.values[value].vec
            apart[moves].append((operand, value))
        return apart

    def stores_both(self, loop):
        return all(self.stores_apart())

    def one_number_first(self, loop, rest):
        still, moving = self.stores_apart()
        with self.c.if_(f"{loop.begin} < {loop.end}"):
            self.put_all(still, loop.written, "0")
        rest(loop._replace(stores=tuple(moving)))

    def turns(self, loop):
        return bool(passes.turned_first(self.k))

    def turned_blocks(self, loop, rest):
        c, turned = self.c, passes.turned_first(self.k)
        for i in turned:
            c.copy_on_stack(f"t{i}", self.k.operands[i].dtype, TURNED)
        with c.blocks("b", "e", loop.begin, loop.end, TURNED):
            for i in turned:
                with c.vector("i", "b", "e"):
                    c.assign(f"t{i}[i - b]", self.place(i, loop.read, "i"))
            self.turned = {i: f"t{i}[i - b]" for i in turned}
            rest(loop.over("b", "e"))
            self.turned = {}

    def may_ask(self, loop):
        return bool(passes.asked_ahead(self.k))

    def asked_blocks(self, loop, rest):
        """Blocks in which no function meets a large or an unusual number, and others."""
        c, asked = self.c, passes.asked_ahead(self.k)
        with c.blocks("g", "h", loop.begin, loop.end, ASKED):
            c.raised("large")
            with c.vector_flag("i", "g", "h", "large"):
                for i in passes.varying(self.k, [i for i, _ in asked]):
                    self.define(i, loop.read, "i")
                c.ask_large("large", asked)
            with c.if_("large"):
                self.print_plainly(loop.over("g", "h"))
            with c.near(), c.if_("!large"):
                self.print_plainly(loop.over("g", "h"))

    def are_truths(self, loop):
        return passes.truths_of_words(self.k)

    def truths_by_bytes(self, loop, rest):
        """Blocks of 32, element 4 * u + l of which is byte u of the word l."""
        c, kept = self.c, [operand for operand, _ in loop.stores]
        c.let(words=f"ck_whole_truths({loop.begin}, {loop.end})")
        with c.loop("b", loop.begin, "words", WORD * WORDS):
            for operand in kept:
                c.words_on_stack(f"w{operand}", WORDS)
            with c.vector("l", "0", WORDS):
                for operand in kept:
                    c.word(f"t{operand}")
                with c.unrolled("u", "0", WORD, 1, turns=WORD):
                    c.let(i=f"b + {WORDS} * u + l")
                    self.varying_values(loop.read, "i")
                    for operand, value in loop.stores:
                        c.truth_into(f"t{operand}", "u", c.name(value))
                for operand in kept:
                    c.assign(f"w{operand}[l]", f"t{operand}")
            for operand in kept:
                c.put_truths(f"&{self.place(operand, loop.written, 'b')}", f"w{operand}")
        rest(loop.over("words", loop.end))

    def is_narrow(self, loop):
        return passes.narrow_rows(self.k)

    def short_vectors(self, loop, rest):
        c, first, last = self.c, loop.begin, loop.end
        c.let(whole=f"{last} - ({last} - {first}) % {BYTES}")
        with c.vector("i", first, "whole"):
            self.element(loop)
        with c.if_(f"whole < {last}"):
            c.var(q="whole")
            with c.whole_blocks("q", last, FEW), c.vector("i", "q", f"q + {FEW}"):
                self.element(loop)
            with c.loop("i", "q", last):
                self.element(loop)

    def has_part(self, loop):
        return passes.part_rows(self.k)

    def part_as_vector(self, loop, rest):
        c, last = self.c, loop.end
        c.let(whole=f"{last} - ({last} - {loop.begin}) % CK_LANES")
        rest(loop.over(loop.begin, "whole"))
        with c.if_(f"whole < {last}"):
            self.part(loop.over("whole", last))

    def part(self, loop):
        """Fewer elements than a vector has, as one."""
        c, count = self.c, f"{loop.end} - {loop.begin}"
        loads = {v.operand for v in self.k.values if v.vec and v.op == "load"}
        kept = {operand for operand, _ in loop.stores}
        for i in sorted(loads | kept):
            c.copy_on_stack(f"t{i}", self.k.operands[i].dtype, "CK_LANES")
        for i in sorted(loads):
            c.part(f"t{i}", f"&{self.place(i, loop.read, loop.begin)}", count)
        self.turned = {i: f"t{i}[u]" for i in loads | kept}
        with c.vector("u", "0", "CK_LANES"):
            self.element(loop)
        self.turned = {}
        for i in sorted(kept):
            c.keep_part(f"&{self.place(i, loop.written, loop.begin)}", f"t{i}", count)

    changes = (
        LoopChange("one number first", stores_both, one_number_first,
               "GCC makes no vectors of a loop that stores one number at one place each time: the "
               "covariances of a Gaussian process of 100 points, with exp of two scalars kept for "
               "its gradient, took twice as long."),
        LoopChange("turned", turns, turned_blocks,
               "GCC makes no vectors of a loop over elements of several widths that reads one of "
               "its operands backwards, and of one that only turns it it does: isnan of 262,144 "
               "reversed floats takes 144 us alone, 28 where 256 of them at a time are turned "
               "first."),
        LoopChange("asked", may_ask, asked_blocks,
               "Sines of large numbers go through libm, number by number, and the question alone "
               "takes longer than a sine: of 262,144 floats in cache 385 us with it, 165 where "
               "blocks of 256 are asked first. Quotients of int64 are those of doubles below 2^51: "
               "of 262,144 600 us singly, 160 so. Logarithms and powers of normal floats above 0 "
               "are no special cases: log2 of 16,384 floats in cache takes 5.4 us, 3.7 without "
               "them; powers 24.8 and 17.8 (Zen 4)."),
        LoopChange("truths by bytes", are_truths, truths_by_bytes,
               "GCC narrows masks of 8 bytes to truth values by halves, each time in the order of "
               "the elements: 55 instructions for 32 of them with AVX2, where each becomes a byte "
               "of a word at once and the words are turned at the end. isnan of 262,144 doubles in "
               "cache 52 us, 34 so; two comparisons of 10,000 4.3 and 2.4. Elsewhere no block is "
               "whole."),
        LoopChange("short vectors", is_narrow, short_vectors,
               "GCC takes 64 elements at a time where some are bytes, and what is left of a row "
               "singly: `and` of 262,144 truth values in rows of 32 takes 250 us, 38 with vectors "
               "of 16 behind those of 64; of 100 elements 93 and 26."),
        LoopChange("part", has_part, part_as_vector,
               "GCC takes the elements behind the last whole vector singly: the gates of a GRU of "
               "24 units, 8 rows of 4 functions each, take 2.0 us so and 0.75 as a vector of which "
               "a part is there (Zen 4)."),
    )  # fmt: skip


class Moved(Flat):
    """Rows that are moved as they are.

    Rows shorter than a vector are two words, which may overlap, not element by element: 32,768 rows
    of 7 bytes beside 7 others take 47 us, 390 byte by byte; of 7 floats 77 and 254 (AVX2).
    """

    note = "rows moved as they are"

    def write(self):
        c, sizes = self.c, self.outer_sizes()
        to, source = self.k.stores[0][0], self.k.values[0].operand
        steps = [self.strides[i][1][-1] for i in (to, source)]
        c.let(n=self.dims.n, length=f"n * {sizes[-1]}")
        with self.rows_in_range("length", sizes[:-1]):
            c.move_rows(f"a{to}", f"a{source}", "n", steps, "j", "end")


class Tile(Nest):
    """Tiles of a matrix of which operands lie along the other axis."""

    note = f"elementwise over {TILE} x {TILE} tiles"

    def write(self):
        c = self.c
        c.let(n=self.dims.n)
        self.fixed_values("x")
        with c.loop("r0", "lo", "hi", TILE):
            c.let(r1=f"r0 + {TILE} < hi ? r0 + {TILE} : hi")
            with c.loop("c0", "0", "n", TILE):
                c.let(c1=f"c0 + {TILE} < n ? c0 + {TILE} : n")
                with c.loop("r", "r0", "r1"):
                    self.shift(["r"], "a")
                    with c.vector("i", "c0", "c1"):
                        self.varying_values("a", "i")
                        for operand, value in self.k.stores:
                            self.store(operand, "a", "i", c.name(value))
