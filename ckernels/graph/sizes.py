"""Sizes that remember where they came from: a present value and an expression over the sizes of a
function's inputs.

A plan made with them serves a whole class of shapes. Arithmetic builds expressions; a comparison
answers for the present value and is noted as an assumption of the plan, unless it holds for every
shape of the class. Where an int is taken out of a size, the plan assumes that the size is always
that int: this is never wrong, but the plan serves fewer shapes. The runtime evaluates expressions
and assumptions for other shapes (sizes.c).
"""

import operator
from typing import NamedTuple

LEAST = 2  # by default of a symbol: sizes of 0 and 1 need other plans and stay plain ints
(CONSTANT, SYMBOL, ADD, MULTIPLY, FLOOR_DIVIDE, MODULO, GREATEST, SMALLEST, SCRATCH) = range(
    9
)  # operations of a class as written for the runtime: the enum of sizes.c
SAME, OTHER, AT_LEAST = range(3)  # what is assumed of a size beside 0
SIGNS = {SAME: "==", OTHER: "!=", AT_LEAST: ">="}


class Assumption(NamedTuple):
    """`size` is SAME as 0, OTHER than 0 or AT_LEAST 0; line: see ShapeClass."""

    kind: int
    size: "Size"
    line: tuple = None
    taken: bool = False  # an int was taken out: the plan is for this value alone

    def __str__(self):
        left, right = self.size.sides()
        return f"{left} {SIGNS[self.kind]} {right}"


class Size:
    """An integer in a plan while it is made. Made by a ShapeClass and by arithmetic on its sizes.

    Equal expressions of one class are one object. A Size is no int: int(size) gives one, and notes
    the assumption that the size is always that int.

    An axis whose size may be another in each call counts as one of a size other than 1, and that is
    no assumption: it is not dropped, and not broadcast. What is made so is right for a size of 1
    too. An op that needs a 1 (squeeze) raises, and then a plan is made for plain numbers.
    """

    __slots__ = ("value", "terms", "of", "low", "high", "axis")
    __array_ufunc__ = None  # NumPy numbers leave arithmetic to us
    __hash__ = object.__hash__

    def __init__(self, of, terms, value):
        self.of, self.terms, self.value = of, terms, value
        self.low, self.high = of.bounds(terms)
        ((monomial, c), *rest) = terms
        self.axis = not rest and c == 1 and all(map(of.is_symbol, monomial))  # or several in one

    # ---- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other):
        return self.of.combine("+", self, other, _add)

    __radd__ = __add__

    def __sub__(self, other):
        return self.of.combine("-", self, other, _subtract)

    def __rsub__(self, other):
        return self.of.combine("r-", self, other, lambda a, b: _subtract(b, a))

    def __mul__(self, other):
        return self.of.combine("*", self, other, _multiply)

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __pos__(self):
        return self

    def __abs__(self):
        return self if self >= 0 else -self

    def __floordiv__(self, other):
        return self.of.divide(FLOOR_DIVIDE, self, other)

    def __rfloordiv__(self, other):
        return self.of.divide(FLOOR_DIVIDE, other, self)

    def __mod__(self, other):
        return self.of.divide(MODULO, self, other)

    def __rmod__(self, other):
        return self.of.divide(MODULO, other, self)

    def __divmod__(self, other):
        return self // other, self % other

    def __pow__(self, exponent):
        if type(exponent) is not int or not 0 <= exponent <= 8:
            return int(self) ** exponent
        result = 1
        for _ in range(exponent):
            result = result * self
        return result

    def __truediv__(self, other):
        return int(self) / other

    def __rtruediv__(self, other):
        return other / int(self)

    # ---- questions ------------------------------------------------------------------------------

    def __eq__(self, other):
        if self is other:
            return True
        if type(other) is int and self.low is not None:
            if other < self.low or other == 1 and self.axis:
                return False  # `n == 1`, the most frequent comparison
        return self.of.ask_same(self, other)

    def __ne__(self, other):
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    def __lt__(self, other):
        if type(other) is int and self.low is not None and other <= self.low:
            return False
        return self.of.ask_less(self, other)

    def __gt__(self, other):
        if type(other) is int and self.low is not None and other < self.low:
            return True
        return self.of.ask_less(other, self)

    def __le__(self, other):
        found = self.of.ask_less(other, self)
        return found if found is NotImplemented else not found

    def __ge__(self, other):
        found = self.of.ask_less(self, other)
        return found if found is NotImplemented else not found

    def __bool__(self):
        return self != 0

    def __index__(self):
        self.of.take(self)
        return self.value

    __int__ = __trunc__ = __index__

    def __float__(self):
        return float(self.__index__())

    def __str__(self):
        return str(self.__index__())

    def __format__(self, spec):
        return format(self.__index__(), spec)

    def __repr__(self):  # without an assumption: messages show the shapes of this call
        return str(self.value)

    def __reduce__(self):
        return int, (self.__index__(),)

    def __deepcopy__(self, memo):
        return self

    def __copy__(self):
        return self

    # ---- text -----------------------------------------------------------------------------------

    def expression(self):
        """The size in the names of the inputs' sizes, for people."""
        return " + ".join(self.of.shown(m, c) for m, c in self.terms).replace("+ -", "- ")

    def sides(self):
        """The texts of an equation or inequality with 0, with negative terms on the right."""
        left = [self.of.shown(m, c) for m, c in self.terms if c > 0]
        right = [self.of.shown(m, -c) for m, c in self.terms if c < 0]
        return " + ".join(left) or "0", " + ".join(right) or "0"


def _add(a, b):
    total = dict(a)
    for monomial, c in b:
        total[monomial] = total.get(monomial, 0) + c
    return total


def _subtract(a, b):
    return _add(a, [(m, -c) for m, c in b])


def _multiply(a, b):
    total = {}
    for m, c in a:
        for k, d in b:
            product = tuple(sorted(m + k))
            total[product] = total.get(product, 0) + c * d
    return total


class ShapeClass:
    """The sizes of one plan while it is made, and what was assumed of them.

    line() gives the user's line that is being planned; assumptions keep it for messages.
    """

    def __init__(self, line=lambda: None):
        self.line = line
        self.assumed = {}  # {(kind, id of the size): Assumption}
        self.sizes = {}  # {terms: Size}
        self.memo = {}  # {(operation, a, b): result}
        # (what, low, high), what: (SYMBOL, number, name), (operation, a, b) or (SCRATCH, dims)
        self.atoms = []
        self.origins = []  # of the symbols, in their order
        self.merged = {}  # {atom: the atom it is equal to, or (the number it is equal to,)}

    # ---- making ---------------------------------------------------------------------------------

    def symbol(self, origin, name, value, least=LEAST):
        """The size `value` of an input, which may be another in later calls.

        origin: a tuple that tells the caller which size it is; name: for messages; least: the least
        value it may have, or None.
        """
        number = len(self.origins)
        self.origins.append(origin)
        return self.atom((SYMBOL, number, name), value, least, None)

    def atom(self, what, value, low, high):
        key = ("atom", *what)
        found = self.memo.get(key)
        if found is None:
            self.atoms.append((what, low, high))
            found = self.memo[key] = self.make({(len(self.atoms) - 1,): 1}, value)
        return found

    def make(self, terms, value):
        """The size with these terms {monomial: coefficient}; an int where it is constant."""
        terms = tuple(sorted((m, c) for m, c in terms.items() if c))
        if not terms:
            return 0
        if len(terms) == 1 and terms[0][0] == ():
            return terms[0][1]
        found = self.sizes.get(terms)
        if found is None:
            found = self.sizes[terms] = Size(self, terms, value)
        return found

    def combine(self, name, a, b, rule):
        if type(b) is not Size:
            if type(b) is not int:
                b = _plain(b)
                if b is None:
                    return NotImplemented
            key = name, a, b
            found = self.memo.get(key)
            if found is None:
                found = self.memo[key] = self.combined(name, a, b, (((), b),) if b else (), rule)
            return found
        key = name, a, b
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self.combined(name, a, b.value, b.terms, rule)
        return found

    def combined(self, name, a, b, terms, rule):
        b = b.value if type(b) is Size else b
        value = (
            a.value + b
            if name == "+"
            else a.value * b
            if name == "*"
            else a.value - b
            if name == "-"
            else b - a.value
        )
        return self.make(rule(a.terms, terms), value)

    def bounds(self, terms):
        """(least, greatest) value of an expression, as far as is known; None: unknown."""
        low = high = 0
        for monomial, c in terms:
            least = most = c
            for atom in monomial:
                _, a, b = self.atoms[atom]
                if c > 0:
                    least = None if least is None or a is None or a < 0 else least * a
                    most = None if most is None or b is None or a is None or a < 0 else most * b
                else:
                    most = None if most is None or a is None or a < 0 else most * a
                    least = None if least is None or b is None or a is None or a < 0 else least * b
            low = None if low is None or least is None else low + least
            high = None if high is None or most is None else high + most
        if low is None and high is None and len(terms) > 1:
            return self.shifted_bounds(terms)
        return low, high

    def shifted_bounds(self, terms):
        """The same, atoms split into least value and rest: n * m - n is >= 2 for n, m >= 2."""
        lows = {a: self.atoms[a][1] for m, _ in terms for a in m}
        if None in lows.values() or max(len(m) for m, _ in terms) > 4:
            return None, None
        total = {}
        for monomial, c in terms:
            part = {(): c}
            for atom in monomial:
                part = _multiply(part.items(), (((), lows[atom]), ((atom,), 1)))
            total = _add(total, part.items())
        constant = total.pop((), 0)
        return (
            constant if all(c >= 0 for c in total.values()) else None,
            constant if all(c <= 0 for c in total.values()) else None,
        )

    def divide(self, operation, a, b):
        """a // b or a % b; assumes that b is not 0, unless that is known."""
        a, b = _operand(a), _operand(b)
        if a is None or b is None:
            return NotImplemented
        key = operation, a, b
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self.divided(operation, a, b)
        return found

    def divided(self, operation, a, b):
        if not value_of(b):
            raise ZeroDivisionError("integer division or modulo by zero")
        a, b = self.reduced(a), self.reduced(b)
        if (
            type(b) is Size
            and b.low is None
            and b.high is None
            or (type(b) is Size and (b.low or 0) <= 0 <= (0 if b.high is None else b.high))
        ):
            b != 0  # noqa: B015  a question: other shapes may divide by zero
        quotient = self.exact(a, b)
        if quotient is not None:
            return quotient if operation == FLOOR_DIVIDE else 0
        if self.within(a, b):
            return 0 if operation == FLOOR_DIVIDE else a
        if operation == MODULO:
            return self.remainder(a, b)
        value = value_of(a) // value_of(b)
        low = high = None
        (a_low, a_high), (b_low, b_high) = bounds_of(a), bounds_of(b)
        if b_low is not None and b_low > 0:
            if a_low is not None and a_low >= 0:
                low = a_low // b_high if b_high else 0
            elif a_low is not None:
                low = a_low // b_low
            if a_high is not None:
                high = (
                    a_high // b_low if a_high >= 0 else -1 if b_high is None else a_high // b_high
                )
        return self.atom((operation, a, b), value, low, high)

    @staticmethod
    def within(a, b):
        """Whether 0 <= a < b for all shapes."""
        low, above = bounds_of(a)[0], bounds_of(b - a)[0]
        return low is not None and low >= 0 and above is not None and above > 0

    def remainder(self, a, b):
        value = value_of(a) % value_of(b)
        low, high = bounds_of(b)
        if low is not None and low > 0:
            return self.atom((MODULO, a, b), value, 0, None if high is None else high - 1)
        return self.atom((MODULO, a, b), value, None, None)

    def exact(self, a, b):
        """a / b where b has one term that divides every term of a, or b is a; else None."""
        divisor = b.terms if type(b) is Size else (((), b),)
        terms = a.terms if type(a) is Size else (((), a),)
        if len(divisor) != 1:
            return 1 if a is b else None
        (below, by), found = divisor[0], {}
        for monomial, c in terms:
            rest = list(monomial)
            for atom in below:
                if atom not in rest:
                    return None
                rest.remove(atom)
            if c % by:
                return None
            found[tuple(rest)] = c // by
        return self.make(found, value_of(a) // value_of(b))

    # ---- asking ---------------------------------------------------------------------------------

    def ask_same(self, a, b):
        b = _operand(b)
        if b is None:
            return NotImplemented
        d = self.reduced(a - b)
        if type(d) is int:
            return d == 0
        if (d.low is not None and d.low > 0) or (d.high is not None and d.high < 0):
            return False
        self.note(SAME if d.value == 0 else OTHER, d)
        if d.value == 0:
            self.merge(d)
        return d.value == 0

    def ask_less(self, a, b):
        a, b = _operand(a), _operand(b)
        if a is None or b is None:
            return NotImplemented
        d = self.reduced(b - a)
        if type(d) is int:
            return d > 0
        if d.low is not None and d.low > 0:
            return True
        if d.high is not None and d.high <= 0:
            return False
        if d.value > 0:
            self.note(AT_LEAST, d - 1)
            return True
        self.note(AT_LEAST, -d)
        return False

    def merge(self, d):
        """Remember where d == 0 says that a size of an input equals another one, or a number."""
        if len(d.terms) == 2:
            (m, c), (k, e) = d.terms
            if not m and len(k) == 1 and self.is_symbol(k[0]):
                if -c // e != 1:  # never 1: such axes count as of another size throughout
                    self.merged[k[0]] = (-c // e,)
            elif c == -e and len(m) == len(k) == 1 and all(map(self.is_symbol, m + k)):
                self.merged[max(m[0], k[0])] = min(m[0], k[0])

    def is_symbol(self, atom):
        return self.atoms[atom][0][0] == SYMBOL

    def reduced(self, size):
        """`size` in which the first of equal symbols stands for all of them."""
        if not self.merged or type(size) is int:
            return size
        total = {}
        for monomial, c in size.terms:
            rest = []
            for atom in monomial:
                atom = self.first(atom)
                if type(atom) is tuple:
                    c *= atom[0]
                else:
                    rest.append(atom)
            rest = tuple(sorted(rest))
            total[rest] = total.get(rest, 0) + c
        return self.make(total, size.value)

    def first(self, atom):
        while atom in self.merged:
            atom = self.merged[atom]
        return atom

    def note(self, kind, size, taken=False):
        """Assume what holds of `size` now. Of a == 0 and -a == 0 one form is noted."""
        if kind != AT_LEAST and size.terms[0][1] < 0:
            size = -size
        key = kind, size
        if key not in self.assumed:
            self.assumed[key] = Assumption(kind, size, self.line(), taken)
        return kind

    def take(self, size):
        """Assume that `size` is always its present value, as an int is taken out of it."""
        left = size - size.value
        if type(left) is not int:
            self.note(SAME, left, True)

    def greatest(self, a, b):
        """max(a, b) as a size; nothing is assumed."""
        return self.choice(GREATEST, max, a, b)

    def smallest(self, a, b):
        """min(a, b) as a size; nothing is assumed."""
        return self.choice(SMALLEST, min, a, b)

    def choice(self, operation, rule, a, b):
        d = a - b
        if type(d) is int:
            return a if (d > 0) == (operation == GREATEST) else b
        if d.low is not None and d.low >= 0:
            return a if operation == GREATEST else b
        if d.high is not None and d.high <= 0:
            return b if operation == GREATEST else a
        (al, ah), (bl, bh) = bounds_of(a), bounds_of(b)
        known = [x for x in (al, bl) if x is not None]
        tops = [x for x in (ah, bh) if x is not None]
        both = len(known) == 2, len(tops) == 2
        if operation == GREATEST:
            low, high = max(known, default=None), max(tops) if both[1] else None
        else:
            low, high = min(known) if both[0] else None, min(tops, default=None)
        return self.atom((operation, a, b), rule(value_of(a), value_of(b)), low, high)

    def scratch(self, dims, value):
        """Bytes of scratch of a native instruction with these dims, as a size of any shape."""
        return self.atom((SCRATCH, tuple(dims)), value, 0, None)

    # ---- telling --------------------------------------------------------------------------------

    def shown(self, monomial, c):
        """One term as text."""
        names = [self.name(atom) for atom in monomial]
        if not names:
            return str(c)
        return " * ".join(([] if c == 1 else [str(c)]) + names)

    def name(self, atom):
        what = self.atoms[atom][0]
        if what[0] == SYMBOL:
            return what[2]
        if what[0] == SCRATCH:
            return "scratch(...)"
        a, b = (x.expression() if type(x) is Size else repr(x) for x in what[1:])
        if what[0] in (GREATEST, SMALLEST):
            return f"{'max' if what[0] == GREATEST else 'min'}({a}, {b})"
        return f"(({a}) {'//' if what[0] == FLOOR_DIVIDE else '%'} ({b}))"


def _plain(x):
    """The int that `x` is (NumPy's too), else None."""
    if type(x) is float or x is None or isinstance(x, (float, str, tuple, list)):
        return None
    try:
        return operator.index(x)
    except TypeError:
        return None


def _operand(x):
    return x if type(x) is Size or type(x) is int else _plain(x)


def value_of(x):
    """The present value of a size or an int; nothing is assumed: only for estimates."""
    return x.value if type(x) is Size else x


def estimate(*sizes):
    """The present product of sizes and numbers as a float; nothing is assumed: for costs.

    >>> estimate(2, 3)
    6.0
    """
    total = 1.0
    for x in sizes:
        total *= value_of(x)
    return total


def bounds_of(x):
    return (x.low, x.high) if type(x) is Size else (x, x)


def greatest(a, b):
    """max(a, b) of sizes or ints, as a size where it depends on the shapes.

    >>> greatest(3, 5)
    5
    """
    of = a.of if type(a) is Size else b.of if type(b) is Size else None
    return max(a, b) if of is None else of.greatest(a, b)


def smallest(a, b):
    """min(a, b) of sizes or ints, as a size where it depends on the shapes.

    >>> smallest(3, 5)
    3
    """
    of = a.of if type(a) is Size else b.of if type(b) is Size else None
    return min(a, b) if of is None else of.smallest(a, b)


def reaches(size, threshold):
    """Whether it is worth it to move `size` elements in another way, from a threshold on.

    For copies alone, of which every way gives the same bits. Near the threshold both ways take
    about as long, so a plan made below it serves sizes up to its double, and one made above it
    sizes down to its half: sizes near it share a plan. What computes asks `size >= threshold`, for
    which a plan follows from the sizes of a call and not from those that came before.

    >>> reaches(7, 8), reaches(8, 8)
    (False, True)
    """
    if type(size) is not Size:
        return size >= threshold
    return size >= (ceil_divide(threshold, 2) if size.value >= threshold else 2 * threshold)


def less(a, b):
    """Whether a < b, of sizes that only differ where an axis has another size than 1.

    Like `a < b`, noted where it does not hold for every shape of the class; but n < n * m is no
    question. For m == 1 the two are equal, and axes of size 1 may stand in any order.

    >>> less(3, 4), less(4, 4)
    (True, False)
    """
    difference = b - a
    if type(difference) is Size:
        if difference.low is not None and difference.low >= 0:
            return True
        if difference.high is not None and difference.high <= 0:
            return False
    return difference > 0


class Longest:
    """A key by which sizes are sorted, the longest first, whatever their sign; equal ones stay in
    their order. Squares are compared where a sign is not known: it is no question then."""

    __slots__ = ("size",)

    def __init__(self, size):
        self.size = size

    def __lt__(self, other):
        mine, others = self.size, other.size
        if all(type(x) is int or x.low is not None and x.low >= 0 for x in (mine, others)):
            return less(abs(others), abs(mine))
        return less(others * others, mine * mine)


def surely(a, b):
    """Whether two sizes are equal for all shapes of the class; nothing is assumed.

    >>> surely(3, 3), surely((2, 3), (2, 3))
    (True, True)
    """
    if a is b:
        return True
    if type(a) is tuple or type(a) is list:
        return len(a) == len(b) and all(map(surely, a, b))
    size = a if type(a) is Size else b
    if type(size) is not Size:
        return a == b
    if not size.of.merged or a is None or b is None:
        return False
    d = size.of.reduced(a - b)
    return type(d) is int and d == 0


def ceil_divide(a, b):
    """How many parts of `b` cover `a`.

    >>> ceil_divide(7, 3)
    3
    """
    return -(-a // b)


def sizes_in(x):
    """All sizes in nested tuples, lists and dictionaries."""
    if type(x) is Size:
        yield x
    elif isinstance(x, (tuple, list)):
        for item in x:
            yield from sizes_in(item)
    elif isinstance(x, dict):
        for item in x.values():
            yield from sizes_in(item)


def bare(x):
    """`x` with plain ints in the place of its sizes, each of which is assumed never to change."""
    if type(x) is Size:
        return int(x)
    if type(x) in (tuple, list):
        return type(x)(bare(item) for item in x)
    return x


def present(x):
    """`x` with the present values of its sizes; nothing is assumed: for this call alone."""
    if type(x) is Size:
        return x.value
    if type(x) in (tuple, list):
        return type(x)(present(item) for item in x)
    return x


class SizeRange(NamedTuple):
    """The places start, start + step, .. of an axis, `count` of them: a range of sizes."""

    start: object
    count: object
    step: int = 1

    @property
    def stop(self):
        """One step beyond the last place."""
        return self.start + self.count * self.step

    @property
    def low(self):
        return self.start if self.step > 0 else self.stop - self.step

    @property
    def end(self):
        """One above the highest place."""
        return (self.stop - self.step if self.step > 0 else self.start) + 1

    def moved(self, by):
        return self._replace(start=self.start + by)

    def within(self, bounds):
        """The places that the slice `bounds` of these takes."""
        inner = indices(bounds, self.count)
        return SizeRange(self.start + inner.start * self.step, inner.count, self.step * inner.step)

    def bounds(self, size):
        """The (start, stop, step) that takes these places out of an axis of `size`."""
        if self.step == 1 and surely(self.count, size) and surely(self.start, 0):
            return (None, None, 1)
        if self.count == 0:
            return (0, 0, 1)
        stop = self.stop
        return (self.start, stop if self.step > 0 or stop >= 0 else None, self.step)


def indices(bounds, n):
    """The SizeRange that the slice (start, stop, step) takes of an axis of n elements.

    >>> indices((None, None, -1), 4), indices((-9, 2, None), 4)
    (SizeRange(start=3, count=4, step=-1), SizeRange(start=0, count=2, step=1))
    """
    start, stop, step = bounds
    step = 1 if step is None else int(step)
    if type(n) is not Size and not any(type(x) is Size for x in (start, stop)):
        line = range(n)[slice(start, stop, step)]
        return SizeRange(line.start, len(line), step)
    if step > 0:
        first = _clip(start, n, 0, n) if start is not None else 0
        end = _clip(stop, n, 0, n) if stop is not None else n
        span = end - first
    else:
        first = _clip(start, n, -1, n - 1) if start is not None else n - 1
        end = _clip(stop, n, -1, n - 1) if stop is not None else -1
        span = first - end
    if span <= 0:
        return SizeRange(first, 0, step)
    return SizeRange(first, ceil_divide(span, abs(step)), step)


def _clip(at, n, low, high):
    """A bound of a slice counted from the front and kept within [low, high]."""
    if at < 0:
        at = at + n
        return low if at < low else at
    return high if at > high else at


class Written:
    """A class of shapes as numbers for the runtime: `code`, where each entry computes a size from
    earlier ones, and `assumed`. `number(x)` gives the entry of a size or an int, added when new.
    """

    def __init__(self, of):
        self.of = of
        self.code, self.args, self.rows = [], [], {}
        self.assumed = [(a.kind, self.number(a.size)) for a in of.assumed.values()]

    def row(self, *term):
        found = self.rows.get(term)
        if found is None:
            found = self.rows[term] = len(self.code)
            self.code.append(term)
        return found

    def number(self, x):
        if type(x) is not Size:
            return self.row(CONSTANT, int(x), 0)
        found = self.rows.get(x)
        if found is None:
            total = None
            for monomial, c in x.terms:
                part = self.term(monomial, c)
                total = part if total is None else self.row(ADD, total, part)
            found = self.rows[x] = total
        return found

    def term(self, monomial, c):
        if not monomial:
            return self.row(CONSTANT, c, 0)
        part = None
        for atom in monomial:
            factor = self.atom(atom)
            part = factor if part is None else self.row(MULTIPLY, part, factor)
        return part if c == 1 else self.row(MULTIPLY, part, self.row(CONSTANT, c, 0))

    def atom(self, number):
        what = self.of.atoms[number][0]
        if what[0] == SYMBOL:
            return self.row(SYMBOL, what[1], 0)
        if what[0] == SCRATCH:
            dims = [self.number(d) for d in what[1]]
            self.args.extend(dims)
            return self.row(SCRATCH, len(self.args) - len(dims), len(dims))
        return self.row(what[0], self.number(what[1]), self.number(what[2]))
