"""K.function: checks everything a user hands over, then gives the engine one closed graph.

Closed means: `givens` substituted, default updates collected, placeholders that have a default
filled in, every input a placeholder. Wrong arguments raise errors here, with the user's line; the
engine (`ckernels.runtime.function`) gets only graphs that make sense.
"""

from collections.abc import Mapping

import numpy as np

from ..base import given
from ..base.config import config, lookup, parsed
from ..base.errors import (
    ArgumentError,
    CKernelsWarning,
    DTypeError,
    ShapeError,
    UsageError,
    did_you_mean,
    file_shown,
    options_of,
    with_line,
)
from ..base.warned import warn_user
from ..graph.node import Node, constant
from ..graph.shapes import show
from ..graph.walk import rebuild, toposort
from ..ops.scan_ends import scan_updates
from .operands import as_array, converted, fitting, operand, update_value
from .parted import first_parted
from .tensor import (
    Tensor,
    Variable,
    need_tensor,
    need_variable,
    placeholder_node,
    register_function,
)
from .updates import Update


class In:
    """An input with options.

    Parameters
    ----------
    variable : Tensor
        A placeholder, or any other tensor, which is then not computed.
    name : str, optional
        The name of its keyword; that of the tensor by default.
    value : array, number or variable, optional
        What the input is where a call gives nothing.
    borrow, mutable : bool, optional
        Accepted and not needed: functions never write to their arguments.
    strict : bool, default False
        Whether arrays of other dtypes are refused instead of converted.
    allow_downcast : bool, optional
        Whether a wider dtype may be rounded to that of the input.

    Examples
    --------
    >>> x = K.placeholder((), name="x")
    >>> f = K.function([K.In(x, value=2.0)], x * x)
    >>> f(), f(3.0)
    (array(4., dtype=float32), array(9., dtype=float32))
    """

    def __init__(
        self,
        variable,
        name=None,
        value=None,
        borrow=None,
        mutable=None,
        strict=False,
        allow_downcast=None,
    ):
        self.variable = need_tensor(variable, "the variable of In")
        self.name, self.value = name, value
        self.borrow, self.mutable = borrow, mutable
        self.strict, self.allow_downcast = strict, allow_downcast


class Out:
    """An output of a function, with options.

    Parameters
    ----------
    variable : Tensor
        What is computed.
    borrow : bool, default False
        Accepted and not needed: results are fresh arrays.

    Raises
    ------
    DTypeError
        Where `variable` is no tensor.

    Examples
    --------
    >>> x = K.placeholder((None,))
    >>> K.function([x], K.Out(x * 2, borrow=True))(np.array([1.0, 2.0]))
    array([2., 4.], dtype=float32)
    """

    def __init__(self, variable, borrow=False):
        self.variable, self.borrow = need_tensor(variable, "the variable of Out"), borrow


def function(
    inputs,
    outputs,
    updates=None,
    givens=None,
    name=None,
    mode=None,
    on_unused_input=None,
    allow_input_downcast=None,
    no_default_updates=False,
    check=None,
    profile=None,
    **kwargs,
):
    """A callable that computes `outputs` from `inputs` and then applies `updates`.

    Parameters
    ----------
    inputs : list of Tensor or In
        Placeholders; any other tensor may be an input too and is then not computed. Sparse inputs
        take SciPy matrices of any format.
    outputs : Tensor or list of Tensor
        With one tensor a call returns an array, with a list, which may be empty, a list. Sparse
        outputs are SciPy matrices.
    updates : pairs, dict, or list of results of `update`, `update_add`, ..., optional
        Variables and their new values. All are computed from the old values, and applied together
        after the outputs.
    givens : pairs or dict, optional
        Tensors and what stands for them in this function only.
    name : str, optional
        What messages and profiles call it.
    mode : {"compiled", "fast_compile", "reference", "debug"}, optional
        By default what the flag `mode` says.
    on_unused_input : {"ignore", "warn", "raise"}, optional
        By default what the flag says.
    allow_input_downcast : bool, optional
        None: floats round to narrower floats and integers become floats, of others nothing may be
        lost; True: any dtype is converted; False: nothing may be lost.
    no_default_updates : bool or list of Variable, default False
        True, or the variables whose default updates are left out.
    check : {"nan", "none"}, optional
        "nan": NaN and inf in outputs and updates are errors that name where they began, and no
        variable changes. By default what the flag says.
    profile : bool, optional
        Measure each instruction: `print(f.profile_table())`, `print(f.timeline())`. By default what
        the flag says.
    **kwargs : dict
        None is known: each is refused in a sentence that names those above.

    Returns
    -------
    ckernels.typing.Function
        Call it with arrays, f(a, b), with one list, f([a, b]), or with keywords named as the
        inputs.

    Raises
    ------
    ArgumentError
        For options that do not exist, and outputs that need an input nobody gives.
    ConfigError
        For a `mode` or `check` that does not exist.
    ShapeError, DTypeError
        Where an update cannot become the value of its variable, or is of what is no variable.

    Notes
    -----
    Nothing is compiled before the first call. The semantics of `updates`, `givens` and default
    updates are those of Theano 1.0.

    Examples
    --------
    >>> x, total = K.placeholder((None,), name="x"), K.variable(0.0)
    >>> f = K.function([x], [K.sum(x), x * 2], updates=[K.update_add(total, K.sum(x))])
    >>> f([np.array([1.0, 2.0])])
    [array(3., dtype=float32), array([2., 4.], dtype=float32)]
    >>> K.get_value(total)
    array(3., dtype=float32)
    """
    for key in kwargs:
        known = options_of(function)
        hint = did_you_mean(key, known) or ";"
        raise ArgumentError(
            f"K.function has no option {key!r}{hint} it knows {', '.join(known[2:])}"
        )
    several = isinstance(inputs, (list, tuple))
    parted = first_parted(inputs, outputs, updates, givens) if several else None
    if parted is not None:
        return parted.function_of_parts(
            function,
            inputs,
            outputs,
            dict(
                updates=updates,
                givens=givens,
                name=name,
                mode=mode,
                on_unused_input=on_unused_input,
                allow_input_downcast=allow_input_downcast,
                no_default_updates=no_default_updates,
                check=check,
                profile=profile,
            ),
        )
    ins = _inputs(inputs)
    single, outs = _outputs(outputs)
    pairs = _updates(updates)
    graph = _Graph(ins, outs, pairs, _givens(givens))
    graph.add_default_updates(no_default_updates)
    graph.close()
    graph.check_inputs(on_unused_input or config.on_unused_input)
    mode = None if mode is None else parsed(lookup("mode"), mode, "")
    from ..runtime.function import make_function  # start-up: programs that only build graphs

    return make_function(
        inputs=graph.inputs,
        outputs=graph.outputs,
        updates=graph.updates,
        single=single,
        name=name,
        mode=mode,
        defaults=_defaults(ins),
        downcast=allow_input_downcast,
        positional_only=False,
        check=None if check is None else parsed(lookup("check"), check, ""),
        profile=profile,
        order=graph.order(),
    )


def _inputs(inputs):
    """A list of In, checked."""
    if isinstance(inputs, (Tensor, In)) or not isinstance(inputs, (list, tuple)):
        raise UsageError(
            f"the inputs of a function must be a list of tensors, not "
            f"{type(inputs).__name__}; write [x] for one input"
        )
    ins, seen, defaulted = [], {}, None
    for i, one in enumerate(inputs):
        one = one if isinstance(one, In) else In(need_tensor(one, f"input {i} of the function"))
        x = one.variable
        if x.node.op.name == "constant":
            raise DTypeError(
                f"input {i} of the function is the constant {x!r}; inputs are placeholders"
            )
        if x.node.op.name == "variable":
            raise DTypeError(
                f"input {i} of the function is the variable {x!r}, which has a value of its "
                "own; use a placeholder, and `givens` to put one in its place"
            )
        if x.node.uid in seen:
            raise ArgumentError(
                f"the inputs {seen[x.node.uid]} and {i} of the function are the same tensor, {x!r}"
            )
        seen[x.node.uid] = i
        if one.value is not None:
            defaulted = i
        elif defaulted is not None and "default" not in x.node.attrs:
            raise ArgumentError(
                f"input {i} of the function, {x!r}, has no default value but follows input "
                f"{defaulted}, which has one; put inputs with a default last"
            )
        ins.append(one)
    return ins


def _defaults(ins):
    """{input index: array} for the inputs that may be left out of a call."""
    defaults, last = {}, True
    for i, one in reversed(list(enumerate(ins))):
        node, what = one.variable.node, f"the default of input {i}, {one.variable!r},"
        if one.value is not None:
            value = one.value.get_value() if isinstance(one.value, Variable) else one.value
            array = converted(as_array(value, what), node.dtype, what)
            if array.ndim != node.ndim:
                raise ShapeError(
                    f"{what} has shape {show(array.shape)}, but the input has shape "
                    f"{show(node.shape)}"
                )
            defaults[i] = array
        elif last and "default" in node.attrs:
            defaults[i] = node.attrs["default"].array
        else:
            last = False
    return defaults


def _outputs(outputs):
    """(whether it is one tensor, list of nodes)."""
    if outputs is None:
        return False, []
    single = not isinstance(outputs, (list, tuple))
    nodes = []
    for i, one in enumerate([outputs] if single else outputs):
        one = one.variable if isinstance(one, Out) else one
        what = "the output of the function" if single else f"output {i} of the function"
        nodes.append(need_tensor(one, what).node)
    return single, nodes


def _pairs(what, given):
    """A list of pairs from a dict, a list or tuple of pairs, or None."""
    if given is None:
        return []
    if isinstance(given, Update):
        return [given]
    if not isinstance(given, (list, tuple, Mapping)):
        raise UsageError(f"{what} must be a list of pairs or a dict, not {type(given).__name__}")
    pairs = list(given.items()) if isinstance(given, Mapping) else list(given)
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise UsageError(
                f"{what}[{i}] must be a pair of a tensor and what replaces it, not {pair!r}"
            )
    return [tuple(pair) for pair in pairs]


def _updates(updates):
    """{variable: node}, in order, checked."""
    checked = {}
    for i, (x, value) in enumerate(_pairs("updates", updates)):
        need_variable(x, f"the first of updates[{i}]")
        node = update_value(x, value)
        if checked.get(x.node, node) is not node:
            raise ArgumentError(
                f"{x!r} is updated twice in one function, the second time by updates[{i}]; "
                "combine both into one update"
            )
        checked[x.node] = node
    return checked


def _givens(givens):
    """{node: node}, checked: each pair agrees in dtype, rank and known sizes."""
    checked = {}
    for i, (old, new) in enumerate(_pairs("givens", givens)):
        old = need_tensor(old, f"the first of givens[{i}]")
        what = f"the replacement of {old!r} in givens[{i}]"
        node = operand(new, what)
        if (
            isinstance(node, Node)
            and node.dtype != old.dtype
            and not np.can_cast(node.dtype, old.dtype, "safe")
        ):
            raise with_line(
                DTypeError(
                    f"{what} has dtype {node.dtype}, but it stands for {old.dtype}; use "
                    f"K.cast(x, {old.dtype!r})"
                ),
                node,
            )
        node = fitting(node, old.dtype, what)
        a, b = old.node.shape, node.shape
        if len(a) != len(b) or any(
            p is not None and q is not None and p != q for p, q in zip(a, b)
        ):
            raise with_line(
                ShapeError(f"{what} has shape {show(b)}, but it stands for shape {show(a)}"), node
            )
        if checked.get(old.node, node) is not node:
            raise ArgumentError(f"givens replaces {old!r} twice, the second time in givens[{i}]")
        checked[old.node] = node
    return checked


class _Graph:
    """The graph of one function on its way to the engine."""

    def __init__(self, ins, outs, updates, givens):
        self.ins = ins
        self.inputs, cuts = [], {}
        for one in ins:
            node, fresh = one.variable.node, self._input_node(one)
            self.inputs.append(fresh)
            if fresh is not node:
                cuts[node] = fresh
        self.cuts, self.givens = cuts, givens
        self.outputs = self._substituted(outs)
        values = self._substituted(list(updates.values()))
        self.updates = list(zip(updates, values))
        self.sorted = None, None

    def order(self):
        """All nodes of the graph, inputs before users; walked again only when it has changed."""
        roots = self.outputs + [value for _, value in self.updates]
        if self.sorted[0] != roots:
            self.sorted = roots, toposort(roots)
        return self.sorted[1]

    def placeholders(self):
        return [n for n in self.order() if n.op.name == "placeholder"]

    @staticmethod
    def _input_node(one):
        """The placeholder for an input: itself, or a new one (for another name or tensor)."""
        node = one.variable.node
        name = one.name or one.variable.name
        if node.op.name == "placeholder" and name == node.name:
            return node
        return placeholder_node(node.dtype, node.shape, name)

    def _substituted(self, nodes):
        """`nodes` with all givens substituted at once, in no order, and then the inputs."""
        if self.givens:
            nodes = rebuild(nodes, {**self.cuts, **self.givens})
        return rebuild(nodes, self.cuts) if self.cuts else nodes

    def add_default_updates(self, excluded):
        """Collect the default updates of all variables in use, and of those that updates use."""
        if excluded is True:
            return
        some = () if excluded is None or excluded is False else excluded
        some = given.sequence(some, "no_default_updates")
        skip = {need_variable(v, "no_default_updates").node for v in some}
        updated = {variable for variable, _ in self.updates}
        order = self.order()
        while order:
            found = [
                v
                for v in order
                if v.op.name == "variable"
                and default_of(v) is not None
                and v not in updated
                and v not in skip
            ]
            updated.update(found)
            looped = scan_updates(order) if found else {}
            todo = [
                looped[v] if v in looped else self._substituted([default_of(v)])[0] for v in found
            ]
            self.updates.extend(zip(found, todo))
            order = toposort(todo)

    def close(self):
        """Fill placeholders that have a default and are no inputs."""
        placeholders = self.placeholders()
        self.outputs, self.updates = with_defaults(
            placeholders, self.inputs, self.outputs, self.updates
        )

    def check_inputs(self, on_unused):
        """ArgumentError for a placeholder that is no input; on_unused: see `function`."""
        used = self.placeholders()
        for node in used:
            if node not in self.inputs:
                what, inputs = _called(node), ", ".join(map(_called_input, self.ins))
                ways = (
                    f"its inputs ({inputs}); add it to them, or replace it with givens"
                    if inputs
                    else f"its inputs (none): K.function([{what}], y) makes one that takes it, "
                    f"y.eval({{{what}: array}}) computes y at once"
                )
                raise with_line(
                    ArgumentError(f"the function needs the value of {what}, which is not among "
                                  f"{ways}"), node,
                )  # fmt: skip
        used = set(used)
        unused = [n for n in self.inputs if n not in used]
        if unused and on_unused not in ("ignore", "warn", "raise"):
            raise ArgumentError(
                f"on_unused_input is 'ignore', 'warn' or 'raise', not {on_unused!r}"
            )
        if unused and on_unused != "ignore":
            text = (
                f"no output or update needs the input {', '.join(map(_called, unused))}; "
                "on_unused_input='ignore' accepts that"
            )
            if on_unused == "raise":
                raise ArgumentError(text)
            warn_user(text, CKernelsWarning)


def with_defaults(placeholders, inputs, outputs, updates):
    """(outputs, updates) with the values of those placeholders that have a default and are no
    inputs."""
    fill = {
        n: constant(n.attrs["default"].array)
        for n in placeholders
        if "default" in n.attrs and n not in inputs
    }
    if not fill:
        return outputs, updates
    roots = rebuild([*outputs, *(new for _, new in updates)], fill)
    return roots[: len(outputs)], [(v, new) for (v, _), new in zip(updates, roots[len(outputs) :])]


def default_of(variable):
    """The default update of a variable node, or None."""
    return variable.attrs["store"].default_update


def _called(node):
    return node.name or f"<placeholder {node.dtype} {show(node.shape)}>"


def _called_input(one):
    """An input, as sentences name it; where it was made if it is computed from others."""
    x = one.variable
    if one.name or x.node.op.name == "placeholder":
        return one.name or _called(x.node)
    line = x.node.line
    return f"{x!r}, computed" + (f" at {file_shown(line[0])}:{line[1]}" if line else "")


register_function(function)
