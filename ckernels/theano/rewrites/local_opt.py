"""Local rewrites: of one Apply each, functions or patterns; and the traces they hand on."""

import inspect
import sys

from ...base.errors import ArgumentError, CKernelsError, NotSupported, UsageError
from ...base.warned import warn_user
from ..classes.op import Op
from ..graph.apply import Constant, Variable


def _number(count=[0]):  # noqa: B006 (it counts)
    count[0] += 1
    return count[0]


class Rewrite:
    """What rewrites of one Apply and of a whole graph share: each is itself alone."""

    name = None

    def __hash__(self):
        if not hasattr(self, "_optimizer_idx"):
            self._optimizer_idx = _number()
        return self._optimizer_idx

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):  # of a list too
        return self is not other


class LocalOptimizer(Rewrite):
    """A rewrite of one Apply: `transform(node)` -> False, or a list of what stands for its outputs,
    or a dict {variable: variable}."""

    def tracks(self):
        """The ops, or classes of ops, it looks at; None: all."""
        return None

    def transform(self, node):
        raise NotSupported(f"{type(self).__name__} has no transform(node): define it")

    def add_requirements(self, fgraph):
        """Add the features that `transform` needs."""

    def print_summary(self, stream=sys.stdout, level=0, depth=-1):
        """Print the name, indented."""
        print(f"{' ' * level}{type(self).__name__} id={id(self)}", file=stream)


class FromFunctionLocalOptimizer(LocalOptimizer):
    """A function of a node as a local rewrite."""

    def __init__(self, fn, tracks=None, requirements=()):
        self.transform, self._tracks, self.requirements = fn, tracks, requirements

    def tracks(self):
        return self._tracks

    def add_requirements(self, fgraph):
        for requirement in self.requirements:
            requirement(fgraph)

    def __call__(self, *args, **kwargs):
        return self.transform(*args, **kwargs)

    def __str__(self):
        return getattr(self, "__name__", "<FromFunctionLocalOptimizer>")

    __repr__ = __str__


def local_optimizer(tracks, inplace=False, requirements=()):
    """A decorator that makes a function of a node a local rewrite.

    tracks: the ops, or classes of ops, whose nodes it is given; None for all.

    >>> import ckernels.compat.theano as theano, ckernels.compat.theano.tensor as T
    >>> @theano.gof.local_optimizer([T.exp])
    ... def exp_of_log(node):
    ...     x = node.inputs[0]
    ...     if node.op == T.exp and x.owner and x.owner.op == T.log:
    ...         return [x.owner.inputs[0]]
    >>> v = T.dvector("v")
    >>> graph = theano.gof.FunctionGraph([v], [T.exp(T.log(v))])
    >>> _ = theano.gof.TopoOptimizer(exp_of_log).optimize(graph)
    >>> graph
    [v]
    """

    def decorator(f):
        if tracks is not None:
            if not tracks:
                raise ArgumentError(
                    "tracks names at least one op; None stands for all", f.__module__
                )
            for one in tracks:
                if not isinstance(one, Op) and not (
                    inspect.isclass(one) and issubclass(one, Op) or callable(one)
                ):
                    raise ArgumentError("tracks holds ops and classes of ops", one)
        made = FromFunctionLocalOptimizer(f, tracks, requirements)
        made.__name__ = made.name = f.__name__
        made.__doc__, made.__module__ = f.__doc__, f.__module__
        return made

    return decorator


def is_one_of(ops, op):
    """Whether an op is one of `ops`, or of a class among them."""
    return any(isinstance(op, t) if inspect.isclass(t) else op == t for t in ops)


def is_tracked(rewrite, node):
    """Whether a local rewrite looks at a node."""
    tracks = rewrite.tracks()
    return not tracks or is_one_of(tracks, node.op)


class LocalOptGroup(LocalOptimizer):
    """Local rewrites as one: the first that applies, or all in turn (apply_all_opts)."""

    def __init__(self, *optimizers, **kwargs):
        if len(optimizers) == 1 and isinstance(optimizers[0], (list, tuple)):
            optimizers = tuple(optimizers[0])
        self.opts, self.apply_all_opts = optimizers, kwargs.get("apply_all_opts", False)

    def __str__(self):
        return getattr(self, "__name__", f"LocalOptGroup({','.join(map(str, self.opts))})")

    def tracks(self):
        found = []
        for one in self.opts:
            tracked = one.tracks()
            if tracked is None:
                return None
            found += tracked
        return found

    def transform(self, node):
        done = False
        for one in self.opts:
            found = is_tracked(one, node) and one.transform(node)
            if not found:
                continue
            if not self.apply_all_opts or isinstance(found, dict):
                return found
            done = found
            if len(found) != len(node.outputs) or found[0] is None or found[0].owner is None:
                break
            node = found[0].owner
        return done

    def add_requirements(self, fgraph):
        for one in self.opts:
            one.add_requirements(fgraph)


class OpSub(LocalOptimizer):
    """Nodes of op1 become nodes of op2 on the same inputs."""

    retains_inputs = True

    def __init__(self, op1, op2, transfer_tags=True):
        self.op1, self.op2, self.transfer_tags = op1, op2, transfer_tags

    def op_key(self):
        return self.op1

    def tracks(self):
        return [self.op1]

    def transform(self, node):
        if node.op != self.op1:
            return False
        made = self.op2.make_node(*node.inputs)
        if self.transfer_tags:
            made.tag = node.tag
            for old, new in zip(node.outputs, made.outputs):
                new.tag = old.tag
        return made.outputs

    def __str__(self):
        return f"{self.op1} -> {self.op2}"


class OpRemove(LocalOptimizer):
    """Nodes of an op go: each output becomes the input of its place."""

    reentrant = False

    def __init__(self, op):
        self.op = op

    def op_key(self):
        return self.op

    def tracks(self):
        return [self.op]

    def transform(self, node):
        if node.op != self.op:
            return False
        if len(node.inputs) != len(node.outputs):
            raise ArgumentError(
                f"{self.op} has {len(node.inputs)} inputs and {len(node.outputs)} outputs here, so "
                "that none stands for another"
            )
        return list(node.inputs)

    def __str__(self):
        return f"{self.op}(x) -> x"


class PatternSub(LocalOptimizer):
    """A pattern that is replaced by another.

    A pattern is (op, pattern, ...), a name (a string: anything, the same wherever the name is),
    {"pattern": ..., "constraint": a function of the variable}, a number or a constant, or a
    variable. The second pattern may also be a function of the matches, {name: variable}.

    tracks, get_nodes: start at nodes of another op inside; then get_nodes(node) gives those to try.
    """

    def __init__(self, in_pattern, out_pattern, allow_multiple_clients=False,
                 skip_identities_fn=None, name=None, pdb=False, tracks=(), get_nodes=None,
                 values_eq_approx=None):  # fmt: skip
        if not isinstance(in_pattern, (list, tuple, dict)):
            raise UsageError("the pattern to look for begins with an op", in_pattern)
        self.in_pattern, self.out_pattern = in_pattern, out_pattern
        self.op = in_pattern["pattern"][0] if isinstance(in_pattern, dict) else in_pattern[0]
        self.__doc__ = f"{type(self).__name__}: {in_pattern} -> {out_pattern}"
        self.allow_multiple_clients = allow_multiple_clients
        self.skip_identities_fn, self.values_eq_approx = skip_identities_fn, values_eq_approx
        self._tracks, self.get_nodes = tracks, get_nodes
        if tracks and get_nodes is None:
            raise UsageError("tracks without get_nodes does not say which nodes to try")
        if name:
            self.__name__ = self.name = name

    def op_key(self):
        return self.op

    def tracks(self):
        return list(self._tracks) or [self.op]

    def transform(self, node, get_nodes=True):
        if get_nodes and self.get_nodes is not None:
            for one in self.get_nodes(node):
                if one == "output":
                    continue
                found = self.transform(one, get_nodes=False)
                if found:
                    return dict(zip(one.outputs, found))
            return False
        if node.op != self.op or len(node.outputs) != 1:
            return False
        found = self._match(self.in_pattern, node.out, {}, True)
        if found is None:
            return False
        made = self._build(self.out_pattern, found)
        if made.type != node.outputs[0].type and not _fits(node.outputs[0].type, made.type):
            return False
        return [made]

    def _match(self, pattern, v, found, first=False):
        """`found` with what names of the pattern stand for at `v`, or None."""
        if isinstance(pattern, dict):
            inner, constraint = pattern["pattern"], pattern.get("constraint")
            if constraint is not None and not constraint(v):
                return None
            return self._match(inner, v, found, first)
        if isinstance(pattern, (list, tuple)):
            node = v.owner
            if node is None or node.op != pattern[0] or len(node.inputs) != len(pattern) - 1:
                return None
            if not first and not self.allow_multiple_clients and len(_clients(v)) > 1:
                return None
            for part, x in zip(pattern[1:], node.inputs):
                found = self._match(part, x, found)
                if found is None:
                    return None
            return found
        if self.skip_identities_fn is not None:
            v = self._skipped(v)
        if isinstance(pattern, str):
            if pattern not in found:
                return {**found, pattern: v}
            return found if _same(found[pattern], v) else None
        if isinstance(pattern, Variable) and not isinstance(pattern, Constant):
            return found if pattern is v else None
        return found if _is_constant(v, pattern) else None

    def _skipped(self, v):
        while v.owner is not None:
            inner = self.skip_identities_fn(v)
            if not inner:
                return v
            v = inner
        return v

    def _build(self, pattern, found):
        """The variable of the second pattern."""
        if isinstance(pattern, (list, tuple)):
            return pattern[0](*[self._build(p, found) for p in pattern[1:]])
        if isinstance(pattern, str):
            return found[pattern]
        if isinstance(pattern, (int, float)) or isinstance(pattern, Variable):
            return pattern
        if callable(pattern):
            return pattern(found)
        return pattern.clone()

    def __str__(self):
        def shown(pattern):
            if isinstance(pattern, (list, tuple)):
                return f"{pattern[0]}({', '.join(map(shown, pattern[1:]))})"
            if isinstance(pattern, dict):
                return f"{shown(pattern['pattern'])} subject to {pattern.get('constraint')}"
            return str(pattern)

        named = getattr(self, "__name__", None)
        return named or f"{shown(self.in_pattern)} -> {shown(self.out_pattern)}"

    __repr__ = __str__


PatternSubstitution = PatternSub


def _clients(v):
    return getattr(v, "clients", ())


def _same(a, b):
    return a is b or isinstance(a, Constant) and isinstance(b, Constant) and a.equals(b)


def _is_constant(v, number):
    """Whether a variable is a constant with the value of a number (or of a constant)."""
    if not isinstance(v, Constant):
        return False
    if isinstance(number, Constant):
        return number.equals(v)
    import numpy as np  # no name of this module

    data = np.asarray(v.data)
    return data.dtype != object and data.size == 1 and bool(data.reshape(()) == number)


def _fits(old, new):
    return getattr(old, "is_super", lambda t: False)(new) or getattr(
        old, "in_same_class", lambda t: False
    )(new)


# ---- traces ----------------------------------------------------------------------------------


def copy_stack_trace(from_var, to_var):
    """Note where `from_var` was made on `to_var`, too; `to_var` comes back."""
    given = from_var if isinstance(from_var, (list, tuple)) else [from_var]
    traces = [t for v in given for t in getattr(v.tag, "trace", ())]
    for v in to_var if isinstance(to_var, (list, tuple)) else [to_var]:
        v.tag.trace = [*getattr(v.tag, "trace", ()), *traces]
    return to_var


class inherit_stack_trace:  # noqa: N801 (Theano's name)
    """A context in which new variables are noted as made where `from_var` was."""

    def __init__(self, from_var):
        self.from_var = from_var

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None


def check_stack_trace(f_or_fgraph, ops_to_check="last", bug_print="raise"):
    """Whether it is known where nodes of a function or of its graph were made.

    ops_to_check: 'last' (those that make the outputs), 'all', an op or a class of ops, a list of
    them, or a function of a node. bug_print: what to do where none is one of these: 'raise', 'warn'
    or 'ignore'.
    """
    graph = f_or_fgraph.maker.fgraph if hasattr(f_or_fgraph, "maker") else f_or_fgraph
    if ops_to_check == "last":
        nodes = [o.owner for o in graph.outputs if o.owner is not None]
    elif ops_to_check == "all":
        nodes = graph.toposort()
    elif isinstance(ops_to_check, Op) or inspect.isclass(ops_to_check):
        nodes = [n for n in graph.toposort() if is_one_of([ops_to_check], n.op)]
    elif isinstance(ops_to_check, (list, tuple)):
        nodes = [n for n in graph.toposort() if is_one_of(ops_to_check, n.op)]
    elif callable(ops_to_check):
        nodes = [n for n in graph.toposort() if ops_to_check(n)]
    else:
        raise ArgumentError(f"ops_to_check is 'last', 'all', ops or a function: {ops_to_check!r}")
    if bug_print not in ("raise", "warn", "ignore"):
        raise ArgumentError(f"bug_print is 'raise', 'warn' or 'ignore', not {bug_print!r}")
    if not nodes and bug_print == "raise":
        raise CKernelsError("ops_to_check: none of these is in the graph")
    if not nodes and bug_print == "warn":
        warn_user("ops_to_check: none of these is in the graph")
    return all(_traced(n) or all(map(_traced, n.outputs)) for n in nodes)


def _traced(thing):
    return bool(getattr(thing.tag, "trace", None))
