"""The rewrite engine: rules indexed by root op, patterns as expressions, one driver.

A rule takes a node whose inputs are already rewritten and returns an equal node, or None. It is a
function, or formulas: (pattern, replacement). The driver knows nothing of mathematics; it keeps
dtype, shape and the user's line, remembers what it did, and stops at a bound whatever the rules do.
"""

from functools import wraps
from itertools import permutations

import numpy as np

from ..graph.node import constant, make, making, sizes_constant
from ..graph.op import REGISTRY, having
from ..graph.printing import location
from ..graph.sizes import surely
from ..graph.walk import toposort, toposort_cut

STEPS_PER_NODE = 20  # rule applications allowed per node of the graph before the driver stops
LEAST_STEPS = 1000  # and beside these


# --- helpers that rules share -------------------------------------------------------------------


def shape_vector(shape):
    """The constant int64 vector node of a concrete shape."""
    return sizes_constant(shape, (len(shape),))


def number(node):
    """The value of a constant of one element, else None.

    None for floats made from sizes too: a rule that uses one would bake it into a kernel.
    """
    if node.op.name != "constant":
        return None
    literal = node.attrs["value"]
    if literal.sized and (node.dtype.startswith("float") or literal.array.dtype == object):
        return None
    return literal.array.item() if literal.array.size == 1 else None


def scalar(value, dtype):
    """A 0-d constant of `dtype`."""
    with np.errstate(all="ignore"):
        return constant(np.asarray(value, dtype=dtype))


def fit(node, shape):
    """`node` broadcast to `shape`; itself when it has it already."""
    return node if surely(node.shape, shape) else make("broadcast_to", (node, shape_vector(shape)))


# --- views on the way -----------------------------------------------------------------------------

VIEWS, GATHERS, GENERATORS = having("view"), having("gathers"), having("generator")


def behind_views(node):
    """(the node whose elements `node` shows, the views and gathers on the way, outermost first)."""
    chain = []
    while node.op.name in VIEWS or node.op.name in GATHERS:
        chain.append(node)
        node = node.inputs[0]
    return node, chain


def seen_by(chain, node):
    """`node` through views and gathers, as behind_views gives them."""
    for view in reversed(chain):
        node = make(view.op, (node,) + view.inputs[1:], view.attrs)
    return node


def opened(node, op):
    """f(view(x)) for a `node` that is view(f(x)), where f is `op` and elementwise; else `node`.

    A pattern meets f that way wherever the view stands. Operands that were broadcast keep the view
    out, but for numbers.
    """
    if node.op.name == op or not (node.op.name in VIEWS or node.op.name in GATHERS):
        return node
    base, chain = behind_views(node)
    if base.op.name != op or base.op.kind != "elementwise" or op in GENERATORS:
        return node
    if not all(i.ndim == 0 or surely(i.shape, base.shape) for i in base.inputs):
        return node
    return make(base.op, [seen_by(chain, i) if i.ndim else i for i in base.inputs], base.attrs)


def through_views(run):
    """A rule of functions f(x) that finds x behind views and gathers: f(view(x)) is view(f(x))."""

    @wraps(run)
    def seen(node):
        result = run(node)
        if result is not None or len(node.inputs) != 1:
            return result
        base, chain = behind_views(node.inputs[0])
        if not chain or node.op.kind != "elementwise":
            return None
        result = run(make(node.op, (base,), node.attrs))
        if result is not None:
            result = settle(base, result) if result.dtype == node.dtype else None
        return None if result is None else seen_by(chain, result)

    return seen


# --- patterns -----------------------------------------------------------------------------------


class Pattern:
    """An op applied to patterns, with attributes to be equal (or bound, where they are Var).

    On the right side an attribute may be a function of what is bound, and an operand a function of
    numbers that are: x * (lambda c: 1 / c). The names of a function's arguments say what it is of.
    """

    __slots__ = ("op", "args", "attrs")

    def __init__(self, op, args, attrs=None):
        self.op, self.attrs = op, attrs or {}
        self.args = tuple(pattern_of(a) for a in args)

    def __repr__(self):
        inner = [repr(a) for a in self.args] + [f"{k}={told(v)}" for k, v in self.attrs.items()]
        return f"{self.op}({', '.join(inner)})"


class Var(Pattern):
    """Any node (that `when(node)` accepts), the same wherever its name stands. op: of all those."""

    __slots__ = ("name", "when")

    def __init__(self, name, when=None, op=None):
        super().__init__(op, ())
        self.name, self.when = name, when

    def __repr__(self):
        return self.name


def a_number(name, when=lambda node: number(node) is not None):
    """A Var for constants of one element."""
    return Var(name, when, "constant")


class Number(Pattern):
    """A constant of one element with this value."""

    __slots__ = ("value",)

    def __init__(self, value):
        super().__init__("constant", ())
        self.value = value

    def __repr__(self):
        return repr(self.value)


class Computed(Pattern):
    """A number made of numbers that are bound, by their names; where it is None nothing is made."""

    __slots__ = ("function", "names")

    def __init__(self, function):
        super().__init__(None, ())
        self.function, self.names = function, names_of(function)

    def __repr__(self):
        return f"a number of {', '.join(self.names)}"

    def build(self, bound, dtype):
        with np.errstate(all="ignore"):
            value = self.function(*(bound[name].value for name in self.names))
        return None if value is None else scalar(value, dtype)


def told(value):
    """An attribute in words that are the same in every process: not where a function lies."""
    return f"a function of {', '.join(names_of(value))}" if callable(value) else repr(value)


def names_of(function):
    """The names of its arguments."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def pattern_of(x):
    """`x`, or the pattern of a number or of a function of numbers."""
    if isinstance(x, Pattern):
        return x
    return Computed(x) if callable(x) else Number(x)


class _Forms:
    """forms.exp(x) is the pattern of op exp on x; keywords are attributes."""

    def __getattr__(self, name):
        if name.startswith("__"):  # asked for by tools that look at modules
            raise AttributeError(name)
        op = name.rstrip("_")
        assert op in REGISTRY, f"no op {op}"

        def form(*args, **attrs):
            return Pattern(op, args, attrs)

        return form


def _attach(dunder, name):
    setattr(Pattern, f"__{dunder}__", lambda a, b: Pattern(name, (a, b)))
    setattr(Pattern, f"__r{dunder}__", lambda a, b: Pattern(name, (b, a)))


for _dunder, _name in (
    ("add", "add"),
    ("sub", "sub"),
    ("mul", "mul"),
    ("truediv", "true_div"),
    ("pow", "pow"),
):
    _attach(_dunder, _name)
Pattern.__neg__ = lambda a: Pattern("neg", (a,))
forms = _Forms()


def match(pattern, node, bound, views=True):
    """Each way in which `node` has the form of `pattern`, as a dict of bindings extending `bound`.

    views: those on the way, and gathers, are taken of what a function is of: see opened.
    """
    kind = type(pattern)
    if kind is Var:
        known = bound.get(pattern.name)
        if known is node:
            yield bound
        elif known is None and (pattern.when is None or pattern.when(node)):
            yield {**bound, pattern.name: node}
        return
    if kind is Number:
        if number(node) == pattern.value:
            yield bound
        return
    if views:
        node = opened(node, pattern.op)
    if node.op.name != pattern.op:
        return
    if pattern.attrs and not has_attributes(pattern, node, bound):
        return
    args = pattern.args
    for order in permutations(args) if node.op.commutative else (args,):
        yield from _match_all(order, node.inputs, bound, views)


def has_attributes(pattern, node, bound):
    """Whether `node` has those of the pattern; what they are is added to `bound`."""
    for key, want in pattern.attrs.items():
        have = node.attrs.get(key)
        if type(want) is Var:
            if bound.setdefault(want.name, have) != have:
                return False
        elif want != have:
            return False
    return True


def _match_all(patterns, nodes, bound, views):
    if len(patterns) == 1:
        yield from match(patterns[0], nodes[0], dict(bound), views)
        return
    for found in match(patterns[0], nodes[0], dict(bound), views):
        yield from _match_all(patterns[1:], nodes[1:], found, views)


def build(pattern, bound, dtype):
    """The node that `pattern` stands for under the bindings; numbers take `dtype`. None where a
    Computed one is."""
    kind = type(pattern)
    if kind is Var:
        return bound[pattern.name]
    if kind is Number:
        return scalar(pattern.value, dtype)
    if kind is Computed:
        return pattern.build(bound, dtype)
    args = [build(a, bound, dtype) for a in pattern.args]
    if any(a is None for a in args):
        return None
    attrs = {key: attribute(value, bound) for key, value in pattern.attrs.items()}
    return make(pattern.op, args, attrs)


def attribute(value, bound):
    """An attribute of the right side: as given, bound on the left, or a function of what is."""
    if type(value) is Var:
        return bound[value.name]
    return given(value, bound) if callable(value) else value


def given(function, bound):
    """The value of a function of what is bound, by the names of its arguments."""
    return function(*map(bound.__getitem__, names_of(function)))


# --- rules --------------------------------------------------------------------------------------


def is_real(dtype):
    """Whether a formula of real numbers holds for it, but for rounding. (Not bfloat16: its graphs
    are rewritten before they are computed in float32.)"""
    return dtype[0] == "f"


class Formula:
    """left, a pattern, is right: a pattern too, or a function of what is bound -> Node.

    when: a further condition, a function of what is bound. takes(dtype): which dtypes it holds for;
    numbers on the right take that of the root. views: see match. What is bound: nodes and
    attributes by their names on the left, and `node`, the root that matched.
    """

    __slots__ = ("left", "right", "when", "takes", "views", "wanted", "same", "plain")

    def __init__(self, left, right, when=None, takes=is_real, views=True):
        self.left, self.when, self.takes, self.views = left, when, takes, views
        self.right = right if callable(right) else pattern_of(right)
        self.wanted = frozenset(a.op for a in left.args if a.op is not None)
        names = [a.name if type(a) is Var else None for a in left.args]
        twice = [[k for k, n in enumerate(names) if n == name] for name in names if name]
        self.same = next((tuple(at) for at in twice if len(at) == 2), None)
        plain = all(type(a) is Var and a.when is a.op is None for a in left.args)
        one_order = plain and len(set(names)) == len(names) and not REGISTRY[left.op].commutative
        self.plain = names if one_order else None  # the operands may be any: no need to match them

    def __repr__(self):
        right = self.right if isinstance(self.right, Pattern) else "what a function makes of it"
        return f"{self.left} -> {right}"

    def run(self, node):
        """What `node`, the operands of which are of the wanted ops, is by this formula, or None."""
        if self.same and node.inputs[self.same[0]] is not node.inputs[self.same[1]]:
            return None
        if not self.takes(node.dtype):
            return None
        if self.plain is None:
            ways = match(self.left, node, {}, self.views)
        else:
            bound = dict(zip(self.plain, node.inputs))
            fits = not self.left.attrs or has_attributes(self.left, node, bound)
            ways = (bound,) if fits else ()
        for bound in ways:
            bound["node"] = node
            if self.when is None or given(self.when, bound):
                if isinstance(self.right, Pattern):
                    return build(self.right, bound, node.dtype)
                return given(self.right, bound)
        return None


class Rule:
    """name, family (its table), ops: names of the root ops it can apply to, run(node) -> Node or
    None. formulas: those it consists of; none where it is code.

    `ops` may also name a kind of op in brackets: "[elementwise]".
    """

    __slots__ = ("name", "family", "ops", "run", "formulas", "doc")

    def __init__(self, name, family, ops, run, formulas=(), doc=""):
        self.name, self.family, self.ops, self.run = name, family, tuple(ops), run
        self.formulas, self.doc = tuple(formulas), doc

    def __repr__(self):
        return f"<rule {self.family}.{self.name}>"


class Family(list):
    """The rules of one file, in the order in which they are tried."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def rule(self, *ops, name=None):
        """Decorator: a function node -> Node or None becomes a rule on these root ops."""

        def add(run):
            self.append(Rule(name or run.__name__, self.name, ops, run, doc=run.__doc__ or ""))
            return run

        return add

    def formula(self, name, left, right, doc="", **how):
        """A rule given by one formula."""
        self.formulas(name, Formula(left, right, **how), doc=doc)

    def formulas(self, name, *formulas, doc=""):
        """A rule given by formulas, tried in their order; its function node -> Node or None."""
        by_op, (views,) = {}, {formula.views for formula in formulas}
        for formula in formulas:
            by_op.setdefault(formula.left.op, []).append(formula)
        # Most nodes are of no formula by the ops of their operands alone.
        needed = {
            op: frozenset().union(*(f.wanted for f in found))
            for op, found in by_op.items()
            if all(f.wanted for f in found)
        }

        def first(node):
            op, inputs = node.op.name, node.inputs
            if views:
                inputs = [behind_views(i)[0] for i in inputs]
            if op in needed:
                ops = needed[op]
                for i in inputs:
                    if i.op.name in ops:
                        break
                else:
                    return None
            have = [i.op.name for i in inputs]
            for formula in by_op[op]:
                if formula.wanted.issubset(have):
                    result = formula.run(node)
                    if result is not None:
                        return result
            return None

        run = through_views(first) if views else first
        self.append(Rule(name, self.name, by_op, run, formulas, doc))
        return run


class Matcher:
    """Rules ready for the driver: looked up once per op name, then a dictionary access."""

    def __init__(self, rules):
        self.rules = tuple(rules)
        self.by_op = {}
        self.claims = {}
        for rule in self.rules:
            for op in rule.ops:
                self.claims.setdefault(op, set()).add(rule)

    def of(self, op, before=None):
        """The rules for nodes of `op`, in order; without those of the Matcher `before`."""
        found = self.by_op.get((op.name, before))
        if found is None:
            mine = self.claims.get(op.name, set()) | self.claims.get(f"[{op.kind}]", set())
            known = frozenset(before.rules) if before else frozenset()
            found = self.by_op[op.name, before] = tuple(
                r for r in self.rules if r in mine and r not in known
            )
        return found


# --- driver -------------------------------------------------------------------------------------


def settle(node, result):
    """`result` in the shape of `node`; None when it cannot stand for it."""
    if result.dtype != node.dtype or len(result.shape) > len(node.shape):
        return None
    return fit(result, node.shape)


def rewrite(roots, matcher, trace=None, normal=None):
    """`roots` with the rules of `matcher` applied bottom-up until none applies.

    Every node is visited once its inputs are final; a result is visited like any other node. trace:
    a list that receives (rule name, node before, node after). normal: {uid: the Matcher none of
    whose rules changed that node}, read and added to; such a node meets other rules only. Two
    sweeps of three over 8,000 nodes then take half as long.
    """
    return _Driver(matcher, trace, {} if normal is None else normal)(roots)


def remembered(matcher):
    """A function like `rewrite` with this matcher that remembers what each node became: roots that
    share most of a graph cost little more than one of them."""
    return _Driver(matcher, None, {})


class _Driver:
    def __init__(self, matcher, trace, normal):
        self.matcher, self.trace, self.normal = matcher, trace, normal
        self.final = {}  # uid -> the node it became
        self.becomes = {}  # uid -> a result that is being rewritten itself
        self.alive = []  # the table of nodes is weak: what `final` names must stay
        self.stopped = False

    def __call__(self, roots):
        context = making
        before = getattr(context, "line", None)
        try:
            return self.run(roots, context)
        finally:
            context.line = before

    def run(self, roots, context):
        final, normal, matcher = self.final, self.normal, self.matcher
        self.roots, self.steps, self.budget = roots, 0, LEAST_STEPS
        for node in toposort_cut(roots, final):
            uid = node.uid
            if uid in final:
                continue
            for i in node.inputs:
                if final[i.uid] is not i:
                    break
            else:  # most nodes of a later sweep are what they were, and met its rules before
                if not matcher.of(node.op, normal.get(uid)):
                    final[uid] = node
                    normal[uid] = matcher
                    continue
            self.finish(node, context)
        return [final[n.uid] for n in roots]

    def finish(self, node, context):
        """Rewrite a node whose inputs are final, and what it becomes, until no rule applies."""
        final, becomes, alive = self.final, self.becomes, self.alive
        stack = [node]
        while stack:
            node = stack[-1]
            uid = node.uid
            if uid in final:
                stack.pop()
                continue
            if uid in becomes:
                stack.pop()
                result = becomes.pop(uid)
                final[uid] = final.get(result.uid, result)
                continue
            waiting = [i for i in node.inputs if i.uid not in final]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            context.line = node.line
            result = self.step(node)
            if result is node or result.uid in final:
                stack.pop()
                final[uid] = final.get(result.uid, result)
            else:
                becomes[uid] = result
                stack.append(result)
            alive.append(node)
            alive.append(result)

    def step(self, node):
        """`node` on final inputs, or what one rule makes of it."""
        final = self.final
        changed = False
        inputs = []
        for i in node.inputs:
            new = final[i.uid]
            inputs.append(new)
            changed = changed or new is not i
        if changed:
            node = make(node.op, inputs, node.attrs, like=node)
            if node.uid in final or node.uid in self.becomes:
                return node
        for rule in self.matcher.of(node.op, self.normal.get(node.uid)):
            result = rule.run(node)
            if result is None or result is node:
                continue
            result = settle(node, result)
            if result is None or result.uid in self.becomes:
                continue
            if self.steps >= self.budget and not self.more():
                self.stop(rule, node)
                continue
            self.steps += 1
            if self.trace is not None:
                self.trace.append((rule.name, node, result))
            return result
        final[node.uid] = node
        self.normal[node.uid] = self.matcher
        return node

    def more(self):
        """Whether the bound is not reached: the nodes are counted when LEAST_STEPS are."""
        if self.roots is not None:
            self.budget += STEPS_PER_NODE * len(toposort(self.roots))
            self.roots = None
        return self.steps < self.budget

    def stop(self, rule, node):
        """Say once that the bound was reached; the graph stays as it is by now, which is right."""
        if self.stopped:
            return
        self.stopped = True
        import logging  # start-up

        logging.getLogger("ckernels.rewrite").warning(
            "rewriting stopped after %d steps, more than %d for each node of the graph: the rule "
            "%s and others go on changing %s%s; results are right, but may be slower. "
            "optimizer_excluding=%s leaves the rule out",
            self.steps,
            STEPS_PER_NODE,
            rule.name,
            node.op.name,
            f" ({location(node.line)})" if node.line else "",
            rule.name,
        )
