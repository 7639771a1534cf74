"""A PyTensor graph as compiled pieces with Python calls between them; mostly it is one piece.

A call stands between pieces where its operands or results are no tensors (random generators, lists,
sparse matrices), or where PyTensor cannot say the shape of its result. Each apply node has a level:
how many such calls come one after the other before it. One compiled function computes all of a
level that later levels or the caller need. A slot is the number of a value in the list that `run`
hands from level to level.
"""

import copy

from ...base import dtypes
from ...graph.node import Node
from ...graph.walk import leaves
from ...ops import to_node
from ...runtime.function import make_function
from .convert import Converter, is_tensor, on_behalf_of_user, placeholder
from .perform import Call, Raised, call_of
from .registry import Untranslated, is_a


class Level:
    """What one level computes. wanted: {node: slot}, compiled; calls: in Python, after that."""

    def __init__(self):
        self.wanted, self.calls = {}, []


class Pieces:
    """The pieces of a FunctionGraph. `call(*inputs)` gives the list of its outputs.

    performed: the apply nodes that run in Python, inside of plans or between them. lazy: take it
    that both sides of a choice have one shape, so that only the side that is taken is computed.
    known: {input: its value}, for inputs that are taken to have this value in every call.
    mistaken: ops whose infer_shape was wrong; what is found so is added.
    """

    def __init__(self, fgraph, lazy=True, known=(), mistaken=None):
        self.fgraph, self.converter = fgraph, Converter(lazy, mistaken)
        self.known, self.inputs = dict(known), {}
        self.levels, self.count = [Level()], 0
        self.values, self.level, self.slots, self.stand_ins = {}, {}, {}, {}
        self.sources = {}  # {placeholder: slot}
        self.outside = []  # apply nodes that run between plans
        with on_behalf_of_user():
            self.take()
            self.outputs = [self.output(v) for v in fgraph.outputs]
        self.repeated = repeats([x if kind == "slot" else None for kind, x in self.outputs])
        self.functions = [self.compiled(level) for level in self.levels]
        self.start, self.steps, self.results = self.in_order()

    @property
    def performed(self):
        return self.outside + self.converter.performed

    # ---- translation --------------------------------------------------------------------------

    def take(self):
        for variable in self.fgraph.inputs:
            self.arrives(variable, 0)
            self.inputs[variable] = self.values.get(variable)
            if variable in self.known:
                self.values[variable] = to_node(self.known[variable])
        for node in self.fgraph.toposort():
            level = max([self.level.get(v, 0) for v in node.inputs], default=0)
            try:
                inputs = [self.value(v, level) for v in node.inputs]
                found = self.converter.outputs(node, inputs)
            except Untranslated:
                self.between(node, level)
                continue
            self.values.update(zip(node.outputs, found))
            self.level.update(dict.fromkeys(node.outputs, level))

    def arrives(self, variable, level):
        """`variable` is an input or the result of a call in Python: it has a slot."""
        slot = self.slots[variable] = self.new_slot()
        self.level[variable] = level
        if is_tensor(variable):
            owner, shape = variable.owner, variable.type.shape
            if owner is not None and owner.op in self.converter.mistaken:
                shape = [None] * len(shape)
            node = self.values[variable] = placeholder(variable, shape)
            self.sources[node] = slot

    def new_slot(self):
        self.count += 1
        return self.count - 1

    def value(self, variable, level):
        """The value of `variable` for a node of this level."""
        if hasattr(variable, "data"):
            return self.converter.constant(variable)
        if variable not in self.values:
            raise Untranslated(f"{variable.type} is no tensor")
        found = self.values[variable]
        if self.level[variable] == level or not isinstance(found, Node) or free(found):
            return found
        if variable not in self.stand_ins:
            node = self.stand_ins[variable] = placeholder(variable, found.shape)
            self.sources[node] = self.computed(variable)
        return self.stand_ins[variable]

    def computed(self, variable):
        """The slot in which the level of `variable` leaves its value.

        Of a value that a plan holds in parts (a sparse matrix), later levels need the whole: the
        apply node that made it runs in Python too.
        """
        if variable in self.slots:
            return self.slots[variable]
        node, wanted = self.values[variable], self.levels[self.level[variable]].wanted
        if not isinstance(node, Node):
            self.between(variable.owner, self.level[variable])
            return self.slots[variable]
        if node not in wanted:
            wanted[node] = self.new_slot()
        return wanted[node]

    def between(self, node, level):
        """`node` runs in Python after the pieces of its level."""
        self.outside.append(node)
        sources = [
            ("constant", v.data) if hasattr(v, "data") else ("slot", self.computed(v))
            for v in node.inputs
        ]
        level = max([level] + [self.level[v] for v in node.inputs if v in self.slots])
        if level + 1 == len(self.levels):
            self.levels.append(Level())
        for variable in node.outputs:
            self.arrives(variable, level + 1)
        self.levels[level].calls.append(
            (
                _between(node, self.converter.mistaken),
                sources,
                [self.slots[v] for v in node.outputs],
            )
        )

    def output(self, variable):
        if hasattr(variable, "data"):
            if not is_tensor(variable):
                return ("constant", variable.data)
            node = self.values[variable] = self.converter.constant(variable)
            self.level[variable] = 0
            return ("slot", self.levels[0].wanted.setdefault(node, None) or self.fresh(node))
        if self.level[variable] == 0 and variable in self.slots and is_tensor(variable):
            node = self.values[variable]  # an input: its copy is the result
            return ("slot", self.levels[0].wanted.get(node) or self.fresh(node))
        return ("slot", self.computed(variable))

    def fresh(self, node):
        slot = self.levels[0].wanted[node] = self.new_slot()
        return slot

    # ---- compilation --------------------------------------------------------------------------

    def compiled(self, level):
        """(function, slots of its arguments, large constants, slots of its results), or None."""
        roots = list(level.wanted)
        if not roots:
            return None
        large = self.converter.large
        inputs = list(dict.fromkeys(leaves(roots, "placeholder")))
        if len(self.levels) == 1:  # in the order of the caller, unused ones too
            own = [self.inputs[v] for v in self.fgraph.inputs if is_tensor(v)]
            inputs = own + [n for n in inputs if n in large]
        arrays = [n for n in inputs if n in large]
        inputs = [n for n in inputs if n not in large] + arrays
        function = make_function(inputs, roots, positional_only=True, downcast=True)
        return (
            function,
            [self.sources[n] for n in inputs if n not in large],
            [large[n] for n in arrays],
            list(level.wanted.values()),
        )

    def in_order(self):
        """(the list of values before a run, steps, slots of the outputs): what `run` does.

        A step is (function, slots of its arguments, slots of its results). Constants have slots
        after those of the graph.
        """
        start, steps = [None] * self.count, []

        def constant(value):
            start.append(value)
            return len(start) - 1

        def places(sources):
            return [x if kind == "slot" else constant(x) for kind, x in sources]

        for level, compiled in zip(self.levels, self.functions):
            if compiled is not None:
                function, sources, arrays, slots = compiled
                steps.append((function, sources + [constant(x) for x in arrays], slots))
            steps += [(call, places(sources), slots) for call, sources, slots in level.calls]
        return start, steps, places(self.outputs)

    def callable(self):
        """The function of the values of the inputs: the compiled one where that is `whole`."""
        return self.single() if self.whole else self.run

    @property
    def whole(self):
        """Whether one compiled function takes all inputs as they are and gives all results."""
        inputs = self.fgraph.inputs
        return len(self.levels) == 1 and not self.outside and all(map(is_tensor, inputs))

    @property
    def directly(self):
        """(compiled function, arrays after its inputs) that gives all results as they are,
        or None."""
        function, _, arrays, slots = (self.whole and self.functions[0]) or [None] * 4
        whole = hasattr(function, "through") and [s for _, s in self.outputs] == slots
        return (function, arrays) if whole else None

    def single(self):
        if self.functions[0] is None:
            return lambda *inputs: []
        function, _, arrays, slots = self.functions[0]
        wanted = [s for _, s in self.outputs]
        if arrays:
            run, extra = function, tuple(arrays)

            def function(*inputs):
                return run(*inputs, *extra)

        if wanted == slots:
            return function
        places = [slots.index(s) for s in wanted]
        repeated = repeats(places)

        def rearranged(*inputs):
            found = function(*inputs)
            return own([found[k] for k in places], repeated)

        return rearranged

    def run(self, *inputs):
        env = self.start.copy()
        env[: len(inputs)] = inputs
        for function, sources, slots in self.steps:
            for slot, value in zip(slots, function(*[env[s] for s in sources])):
                env[slot] = value
        return own([env[s] for s in self.results], self.repeated)


class Inside(Call):
    """An OpFromGraph between plans, of operands that are no tensors: its graph in pieces."""

    def prepare(self):
        with self.lock:
            if not self.ready:
                made = Pieces(self.node.op.fgraph, lazy=False, mistaken=self.mistaken)
                self.run = made.callable()
                self.ready = True

    def __call__(self, *values):
        try:
            if not self.ready:
                self.prepare()
            return self.run(*values)
        except Raised as problem:
            raise Raised(problem.error, self.node) from problem


def _between(node, mistaken):
    """The call of an apply node that runs between plans."""
    return Inside(node, mistaken) if is_a(node.op, "OpFromGraph") else call_of(node)


def repeats(places):
    """The indices of `places` that occur earlier too; None is no place."""
    return [k for k, place in enumerate(places) if place is not None and place in places[:k]]


def own(results, repeated):
    """`results`, of which those `repeated` become copies: two variables never share one array."""
    for k in repeated:
        results[k] = copy.deepcopy(results[k])
    return results


def free(node):
    """Whether a later piece may compute `node` once more: leaves, and the arithmetic of sizes."""
    return node.op.kind == "leaf" or (
        node.ndim < 2
        and dtypes.is_discrete(node.dtype)
        and node.size is not None
        and node.size <= 16
        and node.op.kind != "reduce"
    )
