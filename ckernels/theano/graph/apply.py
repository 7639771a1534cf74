"""The graph as it was written: Variable, Apply, Constant, and the walks over them.

An Apply holds the very variables an operation was given, so two equal expressions are two
variables, and the order of inputs is the user's. Below, each tensor variable has a node of the
engine, where equal expressions are one; only `walks.py` and the handles know about those.
"""

import itertools
from collections import deque
from copy import copy

from ...base.errors import ArgumentError, NotSupported, UsageError
from ..base import utils
from ..base.exceptions import MissingInputError
from ..base.hooks import hook as _hook
from ..base.names import absent_of as _absent_of

# What a FunctionGraph that has taken a node in knows of it, and what is made anew.
NOT_KEPT = {"_fn_cache", "fgraph", "clients", "deps"}


def number():
    """The next number that names a variable without a name."""
    return next(Variable.__count__)


class Node(utils.object2):
    """What Variable and Apply share: a way to the parents."""

    def get_parents(self):
        raise NotImplementedError

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k not in NOT_KEPT}


class Variable(Node):
    """A value of a graph: of `type`, made by `owner` as its output `index`, or by nobody.

    tag: a place for notes of any kind. auto_name: "auto_" and a number, in the order of making.
    """

    owner = index = name = None
    __count__ = itertools.count()

    def __init__(self, type, owner=None, index=None, name=None):
        self.type, self.owner, self.name = type, owner, name
        if owner is not None and not isinstance(owner, Apply):
            raise UsageError(
                "only an Apply owns a variable; leave owner out where none made it", owner
            )
        if index is not None and not isinstance(index, int):
            raise UsageError("index must be an int", index)
        if name is not None and not isinstance(name, str):
            raise UsageError("name must be a string", name)
        self.index, self._number = index, number()

    @property
    def auto_name(self):
        """A name no other variable has."""
        return f"auto_{self._number}"

    @auto_name.setter
    def auto_name(self, name):
        self._number = int(name.rpartition("_")[2])

    @property
    def tag(self):
        """Notes on this variable; `tag.test_value` is what compute_test_value reads."""
        found = self.__dict__.get("_tag")
        if found is None:
            found = self.__dict__["_tag"] = utils.scratchpad()
        return found

    @tag.setter
    def tag(self, value):
        self.__dict__["_tag"] = value

    def __str__(self):
        if self.name is not None:
            return self.name
        if self.owner is not None:
            if self.index == self.owner.op.default_output:
                return f"{self.owner.op}.out"
            return f"{self.owner.op}.{self.index}"
        return f"<{self.type}>"

    def __repr__(self, firstPass=True):
        from ..base.config import config  # programs would see the name here

        text = str(self)
        value = getattr(self.tag, "test_value", None) if config.print_test_value else None
        return text if value is None else f"{text}\n{value!r}"

    def clone(self):
        """A variable of the same type and name that nobody made."""
        twin = self.type(name=self.name)
        twin.tag = copy(self.tag)
        return twin

    def get_parents(self):
        return [] if self.owner is None else [self.owner]

    def eval(self, inputs_to_values=None):
        """The value, given values of inputs; the function is compiled once and kept."""
        given = inputs_to_values or {}
        cache = self.__dict__.setdefault("_fn_cache", {})
        key = tuple(sorted(given, key=id))
        if key not in cache:
            cache[key] = _hook("function")(list(key), self)
        return cache[key](*[given[k] for k in key])

    def __lt__(self, other):
        raise NotSupported("this class of variables has no __lt__; define it", type(self))

    def __le__(self, other):
        raise NotSupported("this class of variables has no __le__; define it", type(self))

    def __gt__(self, other):
        raise NotSupported("this class of variables has no __gt__; define it", type(self))

    def __ge__(self, other):
        raise NotSupported("this class of variables has no __ge__; define it", type(self))

    def __copy__(self):
        return self

    def get_test_value(self):
        """What `tag.test_value` holds, or the value of a constant or shared variable."""
        return _hook("test_value")(self)


class Constant(Variable):
    """A variable with a value of its own, `data`, that never changes."""

    def __init__(self, type, data, name=None):
        Variable.__init__(self, type, None, None, name)
        self.data = type.filter(data)
        utils.add_tag_trace(self)

    def get_test_value(self):
        return self.data

    def equals(self, other):
        """Whether `other` is a constant of the same type and value."""
        return isinstance(other, Constant) and self.signature() == other.signature()

    def signature(self):
        """What equal constants have in common."""
        return self.type, self.data

    def merge_signature(self):
        return self.signature()

    def __str__(self):
        if self.name is not None:
            return self.name
        text = str(self.data)
        if len(text) > 20:
            text = text[:10].split("\n")[0] + "..." + text[-10:].split("\n")[-1]
        return f"{type(self).__name__}{{{text}}}"

    def clone(self):
        twin = type(self)(self.type, self.data, self.name)
        twin.tag = copy(self.tag)
        return twin

    @property
    def value(self):
        """The value, under its old name."""
        return self.data


class AtomicVariable(Variable):
    """A variable that no operation makes."""


class Apply(Node):
    """The application of `op` to `inputs`, with the `outputs` it made."""

    def __init__(self, op, inputs, outputs):
        self.op, self.inputs, self.outputs = op, [], []
        if not isinstance(inputs, (list, tuple)):
            raise UsageError(f"Apply takes a list or tuple of inputs, not {type(inputs).__name__}")
        if not isinstance(outputs, (list, tuple)):
            raise UsageError(
                f"Apply takes a list or tuple of outputs, not {type(outputs).__name__}"
            )
        for x in inputs:
            if not isinstance(x, Variable):
                raise UsageError(
                    f"Apply got the input {x}, which is no Variable; wrap it first, "
                    "e.g. with as_tensor_variable"
                )
            self.inputs.append(x)
        for i, x in enumerate(outputs):
            if not isinstance(x, Variable):
                raise UsageError(
                    f"Apply got the output {x}, which is no Variable; call a type to make a new one"
                )
            if x.owner is None:
                x.owner, x.index = self, i
            elif x.owner is not self or x.index != i:
                raise ArgumentError(
                    f"output {i} of Apply, {x}, has another owner or place already; "
                    "make a new variable for it"
                )
            self.outputs.append(x)
        lower = getattr(op, "_lower", None)  # `lower` is an option of Theano's ops
        if lower is not None:
            lower(self)

    @classmethod
    def made(cls, op, inputs, outputs):
        """An Apply of variables that are known to be right and have their nodes."""
        self = object.__new__(cls)
        self.op, self.inputs, self.outputs = op, inputs, outputs
        for i, x in enumerate(outputs):
            x._owner, x.index = self, i
        return self

    @property
    def tag(self):
        """Notes on this application; `tag.trace` says where it was made."""
        found = self.__dict__.get("_tag")
        if found is None:
            found = self.__dict__["_tag"] = utils.scratchpad()
            utils.add_tag_trace(self)
        return found

    @tag.setter
    def tag(self, value):
        self.__dict__["_tag"] = value

    def default_output(self):
        """The output an expression stands for: the only one, or op.default_output."""
        do = self.op.default_output
        if do is None:
            if len(self.outputs) == 1:
                return self.outputs[0]
            raise ArgumentError(
                f"{self.op} made {len(self.outputs)} outputs: take one of them, or let "
                "default_output of the op say which one stands for all"
            )
        if not isinstance(do, int):
            raise AttributeError(f"default_output of {self.op} must count outputs, not be {do!r}")
        if not 0 <= do < len(self.outputs):
            raise AttributeError(
                f"default_output of {self.op} is {do}, but there are only "
                f"{len(self.outputs)} outputs, counted from 0"
            )
        return self.outputs[do]

    out = property(default_output, doc="The default output.")

    def run_context(self):
        return None

    def params_type(self):
        return getattr(self.op, "params_type", None)

    def run_params(self):
        """What `op.get_params` gives for this node; NoParams without params_type."""
        get = getattr(self.op, "get_params", None)
        return get(self) if get is not None and self.params_type() is not None else None

    def __str__(self):
        return op_as_string(self.inputs, self)

    __repr__ = __str__

    def clone(self):
        """The same op on the same inputs, with outputs of its own."""
        return self._on(self.inputs, [o.clone() for o in self.outputs])

    def _on(self, inputs, outputs):
        made = object.__new__(type(self))
        made.op, made.inputs, made.outputs = self.op, list(inputs), list(outputs)
        for i, (new, old) in enumerate(zip(outputs, self.outputs)):
            new.owner, new.index = made, i
            if getattr(old, "node", None) is not None:
                new.node = old.node
        if "_tag" in self.__dict__:
            made.tag = self.tag
        return made

    def clone_with_new_inputs(self, inputs, strict=True):
        """The same op on other inputs, which must have the types of these.

        strict=False: other types are tried, and the op's make_node decides.
        """
        inputs, remake = list(inputs), False
        for i, (old, new) in enumerate(zip(self.inputs, inputs)):
            if old.type != new.type:
                if strict:
                    new = inputs[i] = old.type.filter_variable(new)
                if old.type != new.type:
                    remake = True
            if getattr(old, "node", None) is not getattr(new, "node", None):
                remake = True
        if not remake:
            return self._on(inputs, [o.clone() for o in self.outputs])
        made = self.op.make_node(*inputs)
        if "_tag" in self.__dict__:
            made.tag = copy(self.tag)
        for old, new in zip(self.outputs, made.outputs):
            new.name = new.name if new.name is not None else old.name
        return made

    def get_parents(self):
        return list(self.inputs)

    @property
    def nin(self):
        """The number of inputs."""
        return len(self.inputs)

    @property
    def nout(self):
        """The number of outputs."""
        return len(self.outputs)


# --- walks ------------------------------------------------------------------------------------


def stack_search(start, expand, mode="bfs", build_inv=False):
    """All that `expand` leads to from the deque `start`, breadth ('bfs') or depth ('dfs') first."""
    if mode not in ("bfs", "dfs"):
        raise ArgumentError("mode should be bfs or dfs", mode)
    seen, found, users, todo = set(), [], {}, deque(start)
    while todo:
        x = todo.popleft() if mode == "bfs" else todo.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        found.append(x)
        for y in expand(x) or ():
            if build_inv:
                users.setdefault(y, []).append(x)
            todo.append(y)
    return (found, users) if build_inv else found


def walk(nodes, expand, bfs=True, return_children=False, hash_fn=id):
    """Each of `nodes`, and of what `expand` leads to, once: Theano-PyMC's `stack_search`.

    return_children: pairs of it and what expand gave. Those of one `hash_fn` are one.
    """
    todo, seen = deque(nodes), set()
    while todo:
        x = todo.popleft() if bfs else todo.pop()
        if hash_fn(x) in seen:
            continue
        seen.add(hash_fn(x))
        children = expand(x)
        yield (x, children) if return_children else x
        todo.extend(children or ())


def ancestors(variable_list, blockers=None):
    """The variables that contribute to those of the list, these included."""

    def expand(v):
        if v.owner and (not blockers or v not in blockers):
            return reversed(v.owner.inputs)

    return stack_search(deque(variable_list), expand, "dfs")


def inputs(variable_list, blockers=None):
    """The variables nobody made that contribute to those of the list (or iterator), in Theano's
    order: those of its last variable first, within one in the order written."""
    return [v for v in ancestors(variable_list, blockers) if v.owner is None]


graph_inputs = inputs  # its name in Theano-PyMC


def io_connection_pattern(inputs, outputs):
    """Whether a gradient of each output reaches each input: a list of bools for each input.

    An op whose `connection_pattern` says nothing connects all it takes with all it makes.
    """
    reached = {id(x): {k} for k, x in enumerate(inputs)}
    for apply in apply_order(outputs, set(map(id, inputs))):
        pattern = None
        if hasattr(apply.op, "connection_pattern"):
            pattern = apply.op.connection_pattern(apply)
        for k, made in enumerate(apply.outputs):
            reached[id(made)] = set().union(
                *(
                    reached.get(id(x), ())
                    for j, x in enumerate(apply.inputs)
                    if pattern is None or pattern[j][k]
                )
            )
    return [[k in reached.get(id(o), ()) for o in outputs] for k in range(len(inputs))]


def variables_and_orphans(i, o):
    """(the variables between inputs `i` and outputs `o`, those that neither are nor need `i`)."""

    def expand(v):
        if v.owner and v not in i:
            return list(v.owner.inputs) + list(v.owner.outputs)

    variables = stack_search(deque(o), expand, "dfs")
    return variables, [v for v in variables if v.owner is None and v not in i]


def ops(i, o):
    """The Apply nodes between inputs `i` and outputs `o`."""
    return {v.owner for v in variables_and_orphans(i, o)[0] if v not in i and v.owner is not None}


def variables(i, o):
    """The variables between inputs `i` and outputs `o`, both included."""
    return variables_and_orphans(i, o)[0]


def orphans(i, o):
    """The variables that `o` needs and that are not made from `i`: shared ones and constants."""
    return variables_and_orphans(i, o)[1]


def clone(i, o, copy_inputs=True, copy_orphans=None):
    """(inputs, outputs) of a copy of the graph between `i` and `o`."""
    equiv = clone_get_equiv(
        i, o, copy_inputs, copy_inputs if copy_orphans is None else copy_orphans
    )
    return [equiv[x] for x in i], [equiv[x] for x in o]


def clone_get_equiv(inputs, outputs, copy_inputs=True, copy_orphans=True, memo=None):
    """{variable or Apply: its copy} for the graph between `inputs` and `outputs`."""
    memo = {} if memo is None else memo
    for x in inputs:
        if x not in memo:
            if copy_inputs:
                twin = memo[x] = x.clone()
                twin.owner = twin.index = None
            else:
                memo[x] = x
    for apply in io_toposort(inputs, outputs):
        for x in apply.inputs:
            if x not in memo:
                memo[x] = x.clone() if copy_orphans else x
        made = apply.clone_with_new_inputs([memo[x] for x in apply.inputs], strict=False)
        memo.setdefault(apply, made)
        for old, new in zip(apply.outputs, made.outputs):
            memo.setdefault(old, new)
    for x in outputs:
        if x not in memo:
            memo[x] = x.clone()
    return memo


def apply_order(outputs, stop=(), last_first=False):
    """The Apply nodes that `outputs` need, inputs first, not going behind the ids in `stop`.

    last_first: of an op's inputs the last is computed first.
    """
    order, done = [], set()
    stack = [
        (v.owner, False)
        for v in reversed(list(outputs))
        if id(v) not in stop and v.owner is not None
    ]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            order.append(node)
            continue
        stack.append((node, True))
        for v in node.inputs if last_first else reversed(node.inputs):
            if id(v) not in stop and v.owner is not None and id(v.owner) not in done:
                stack.append((v.owner, False))
    return order


def general_toposort(
    outputs, deps, debug_print=False, compute_deps_cache=None, deps_cache=None, clients=None
):
    """What `deps` leads to from `outputs`, those it depends on first, in Theano's order."""
    held = {} if deps_cache is None else deps_cache

    def expand(x):
        if x not in held:
            found = (deps or compute_deps_cache)(x)
            held[x] = list(found) if found else found
        return held[x]

    reachable, users = stack_search(deque(outputs), expand, "dfs", True)
    if clients is not None:
        clients.update(users)
    missing = {x: len({id(d) for d in held[x] or ()}) for x in reachable}
    order = []
    todo = deque(x for x in reachable if not missing[x])
    while todo:
        x = todo.popleft()
        order.append(x)
        for user in dict.fromkeys(users.get(x, ())):
            missing[user] -= 1
            if not missing[user]:
                todo.append(user)
    if len(order) != len(reachable):
        raise ArgumentError("graph contains cycles")
    return order


def io_toposort(inputs, outputs, orderings=None, clients=None):
    """The Apply nodes between inputs and outputs, in Theano's order: of an op's inputs the last is
    computed first."""
    return apply_order(outputs, {id(v) for v in inputs}, True)


def sort_apply_nodes(inputs, outputs, cmps):
    """`io_toposort`, under the name that takes comparisons."""
    return io_toposort(inputs, outputs)


def list_of_nodes(inputs, outputs):
    """The Apply nodes between inputs and outputs, in any order."""
    return io_toposort(inputs, outputs)


def is_in_ancestors(l_apply, f_node):
    """Whether the Apply `f_node` is among the ancestors of the Apply `l_apply`."""
    return any(node is f_node for node in apply_order(l_apply.outputs))


def nodes_constructed():
    raise MissingInputError("no observer counts nodes here")


def view_roots(r):
    """The variables `r` is a view of; without views, itself."""
    return [r]


def equal_computations(xs, ys, in_xs=None, in_ys=None):
    """Whether the graphs of `xs` and `ys` compute the same, `in_xs` standing for `in_ys`."""
    if len(xs) != len(ys):
        raise ArgumentError("The number of graphs in each argument must match.")
    same = dict(zip(in_xs or (), in_ys or ()))
    seen = {}

    def equal(x, y):
        stack = [(x, y)]
        while stack:
            a, b = stack.pop()
            key = id(a), id(b)
            if key in seen:
                continue
            seen[key] = a, b
            if a in same or (in_ys and any(b is v for v in in_ys)):
                if same.get(a) is not b:
                    return False
            elif a is b:
                continue
            elif isinstance(a, Constant) and isinstance(b, Constant):
                if not a.equals(b):
                    return False
            elif a.type != b.type or a.owner is None or b.owner is None or a.index != b.index:
                return False
            elif a.owner.op != b.owner.op or len(a.owner.inputs) != len(b.owner.inputs):
                return False
            else:
                stack.extend(zip(a.owner.inputs, b.owner.inputs))
        return True

    return all(equal(x, y) for x, y in zip(xs, ys))


def inline_clone_graph(i, o, copy_orphans=True):
    return clone(i, o, True, copy_orphans)


# --- text -------------------------------------------------------------------------------------


def default_leaf_formatter(leaf):
    return str(leaf)


def default_node_formatter(op, argstrings):
    return f"{op.op}({', '.join(argstrings)})"


def op_as_string(
    i, op, leaf_formatter=default_leaf_formatter, node_formatter=default_node_formatter
):
    """An Apply as text: its op on the text of its inputs."""
    strs = as_string(i, op.inputs, leaf_formatter, node_formatter)
    return node_formatter(op, strs)


def as_string(i, o, leaf_formatter=default_leaf_formatter, node_formatter=default_node_formatter):
    """The graph between `i` and `o` as text; what is used several times is written once, as *1."""
    i = set(i)
    orphan = set(orphans(i, o))
    multi, seen = [], set()
    order = apply_order(o, {id(v) for v in i})
    for x in (*o, *(x for node in order for x in node.inputs)):
        if x.owner is not None and x not in i and x not in orphan:
            if x in seen and x not in multi:
                multi.append(x)
            seen.add(x)
    done = set()

    def describe(r):
        if r.owner is None or r in i or r in orphan:
            return leaf_formatter(r)
        op = r.owner
        idx = (
            ""
            if op.op.default_output is not None or len(op.outputs) == 1
            else f"::{op.outputs.index(r)}"
        )
        if r in multi:
            number = multi.index(r) + 1
            if r in done:
                return f"*{number}{idx}"
            done.add(r)
            return f"*{number} -> {node_formatter(op, [describe(x) for x in op.inputs])}{idx}"
        return f"{node_formatter(op, [describe(x) for x in op.inputs])}{idx}"

    return [describe(x) for x in o]


def view_tree_set(fgraph, v, treeset):
    treeset.add(v)


__getattr__ = _absent_of("theano.gof.graph", {"graph.walks": "is_same_graph"})
