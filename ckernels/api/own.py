"""Operations of the user's own in a graph: a Python function, or a body of C.

Both behave like any other operation: they have shapes and gradients, run in scans and updates, and
errors name the line that made them. What they mean to the engine is in ops/own.py.
"""

import re
from functools import partial

import numpy as np

from .. import ops
from ..base import dtypes, given
from ..base.errors import (
    ArgumentError,
    CompileError,
    CompilerMissing,
    DTypeError,
    OwnCodeError,
    ShapeError,
    UsageError,
)
from ..graph.node import Node, item
from ..graph.shapes import show
from ..ops.own import Own, own_op
from .operands import node_of, static_shape
from .tensor import Tensor

C_WORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while asm typeof lo hi p d".split()
)


# --- a Python function ------------------------------------------------------------------------


def py_op(function, inputs, outputs, infer_shape=None, gradient=None, name=None):
    """The result of a Python function of arrays, as a tensor; of several results, a tuple.

    Parameters
    ----------
    function : callable
        Called with a copy of each input as an array; returns an array, or a tuple of them. The same
        arrays must give the same result: equal operations are computed once, unused ones not at
        all.
    inputs : tensor, array, number or list of them
        What it is called with.
    outputs : Tensor, tuple, str or list of them
        What one result is: a tensor of `inputs` (same dtype and shape), or (dtype, shape) with None
        for unknown sizes, or a dtype for a scalar; a list of these for several results.
    infer_shape : callable, optional
        infer_shape(*shapes of the inputs) -> the shape, or shapes, of the results. Sizes are
        integers, None while unknown. With neither this nor full shapes in `outputs`, functions with
        the operation run in pieces.
    gradient : callable, optional
        gradient(inputs, outputs, cotangents) -> for each input a tensor, the gradient of a cost by
        it, or None where there is none. All three are lists of tensors; a cotangent is the gradient
        of the cost by that output. It builds a graph: it is not called with arrays.
    name : str, optional
        For messages; that of `function` by default.

    Returns
    -------
    Tensor or tuple of Tensor
        As `outputs` says.

    Raises
    ------
    DTypeError, ShapeError
        Where a result is not as it was declared. What `function` raises, a call raises.

    Examples
    --------
    >>> x = K.placeholder((None,), dtype="float64")
    >>> y = K.py_op(np.sinc, [x], x, gradient=lambda i, o, g: [
    ...     g[0] * (K.cos(np.pi * i[0]) - o[0]) / i[0]])
    >>> f = K.function([x], [y, K.grad(K.sum(y), x)])
    >>> [v.round(3) for v in f([[0.5, 1.0]])]
    [array([0.637, 0.   ]), array([-1.273, -1.   ])]
    """
    if not callable(function):
        raise UsageError(f"py_op needs a function, not {function!r}")
    nodes = _nodes(inputs)
    types, several = _types(outputs, inputs, nodes)
    code = getattr(function, "__code__", None)
    where = (code.co_filename, code.co_firstlineno) if code else None
    own = Own(
        given.name(name) or getattr(function, "__name__", "py_op"),
        function,
        types,
        several,
        infer_shape,
        _slopes(gradient),
        where,
    )
    return _handles(own_op("py_op", own, nodes))


# --- a body of C ------------------------------------------------------------------------------


def c_op(
    body,
    inputs,
    outputs,
    infer_shape=None,
    gradient=None,
    name="c_op",
    support="",
    errors=None,
    function=None,
    parallel=False,
):
    """The result of a body of C, as a tensor; of several results, a tuple.

    Parameters
    ----------
    body : str
        C99 statements, compiled now. An operand called x is `x`, a pointer to its first element
        (const for inputs; bool is uint8_t), `x_shape` and `x_strides`, int64_t[ndim], strides in
        elements. Inputs may have any strides, 0 and negative ones too; outputs are contiguous and
        not filled. `return` of a number that is not 0 fails the call.
    inputs : list of Tensor or dict
        Tensors, a list (called x0, x1, ...) or {name: tensor}.
    outputs : Tensor, pair, list or dict
        As for `py_op`, one (called y), a list (y, or y0, y1, ...) or {name: output}; their sizes
        must follow from the inputs' sizes.
    infer_shape, gradient : callable, optional
        As for `py_op`.
    name : str, default "c_op"
        For messages: letters, digits and spaces.
    support : str, default ""
        C before the function: includes, helpers (static).
    errors : dict, optional
        {number: sentence} for what the body may return.
    function : callable, optional
        The same in NumPy: it runs where there is no C compiler, and mode="debug" compares with it.
    parallel : bool, default False
        The body computes the range [lo, hi) of the first axis of the first output, and several
        threads may run it at once.

    Returns
    -------
    Tensor or tuple of Tensor
        Of the shapes and dtypes that `outputs` and `infer_shape` say.

    Raises
    ------
    OwnCodeError
        For C that the compiler refuses, with its line.
    CompilerMissing
        Without a compiler and a `function`.
    ArgumentError
        For a name of other characters.

    Examples
    --------
    >>> x = K.placeholder((None,), dtype="float64")
    >>> y = K.c_op("for (int64_t i = 0; i < x_shape[0]; i++) y[i] = 2 * x[i * x_strides[0]];",
    ...            {"x": x}, {"y": x}, gradient=lambda i, o, g: [2 * g[0]], name="double")
    >>> K.function([x], y)([[1.0, 2.0]])
    array([2., 4.])
    """
    names, nodes = _named(inputs, "x", _nodes)
    labels, listed = _named(outputs, "y", lambda given: given)
    types, several = _types(listed, inputs, nodes)
    _check_names(names + labels)
    given.text(body, "the body of a c_op")
    if not re.fullmatch(r"[A-Za-z_][\w ]*", given.text(name, "the name of a c_op")):
        raise ArgumentError(f"the name of a c_op is letters, digits and spaces, not {name!r}")
    for node, label in zip(nodes, names):
        _check_c(label, node.dtype)
    from ..codegen.own import own_kernel  # start-up: programs without one never load the emitter

    operands = [(label, n.dtype, n.ndim) for label, n in zip(names, nodes)]
    results = []
    for label, (dtype, shape) in zip(labels, types):
        _check_c(label, dtype)
        shape = nodes[shape].shape if type(shape) is int else shape
        results.append((label, dtype, len(shape)))
    _check_sizes(name, types, labels, infer_shape)
    if parallel and not results[0][2]:
        raise ArgumentError(
            f"c_op {name} is parallel over the first axis of its first output, which has none"
        )
    kernel = own_kernel(name, body, _support(name, support), operands, results, bool(parallel))
    run = OwnC(name, kernel, errors or {}, body, support)
    try:
        run.address()
    except CompilerMissing:
        if function is None:
            raise
        kernel = None
    own = Own(name, function or run, types, several, infer_shape, _slopes(gradient), kernel=kernel)
    own.run = run.fitted(own) if function is None else function
    return _handles(own_op("c_op", own, nodes))


class OwnC:
    """Runs the kernel of a body of C on arrays: the oracle of the operation."""

    def __init__(self, name, kernel, errors, body, support):
        self.name, self.kernel, self.errors = name, kernel, errors
        self.texts = {"": body, " support": support}

    def address(self):
        """The address of the machine code; OwnCodeError has the compiler's message and line."""
        from .. import compiler  # start-up
        from ..codegen.emit import emit  # start-up

        name, text, snippets = emit(self.kernel)
        source = compiler.KernelSource(name, text, snippets, meta={"form": "own"}, alone=True)
        try:
            return compiler.build([source]).addresses[0]
        except CompileError as problem:
            raise OwnCodeError(self.complaint(str(problem)), problem.source) from None

    def complaint(self, text):
        """The message of the error for what the compiler said."""
        words = text.splitlines()[0].partition(": ")[2] or text
        absent = re.search(r"undefined symbol: (\w+)", words)
        if absent:
            return (
                f"c_op {self.name} calls {absent[1]}, which no loaded library has: load its own "
                "first, ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)"
            )
        found = re.search(re.escape(self.name) + r"( support)?:(\d+):(?:\d+:)? *(.*)", words)
        if not found:
            return f"the C of c_op {self.name} does not compile: {words}"
        part, line, said = found[1] or "", int(found[2]), found[3]
        lines = self.texts[part].split("\n")
        shown = f"\n    {lines[line - 1].strip()}" if 0 < line <= len(lines) else ""
        where = "support code" if part else "body"
        return f"the {where} of c_op {self.name} does not compile, line {line}: {said}{shown}"

    def fitted(self, own):
        """A function of arrays that gives the results of `own`."""
        return partial(self.run, own)

    def run(self, own, *arrays):
        """The results of `own` for arrays."""
        shapes = own.shapes([a.shape for a in arrays])
        results = [np.empty(shape, dtype) for (dtype, _), shape in zip(own.types, shapes)]
        if any(r.size for r in results):
            self.call([*arrays, *results], shapes[0][0] if self.kernel.parallel else 1)
        return tuple(results) if own.several else results[0]

    def call(self, arrays, units):
        """Run the kernel; ArgumentError in the user's words where it returns a number."""
        import ctypes  # start-up

        dims = [n for a in arrays for n in (*a.shape, *(s // a.itemsize for s in a.strides))]
        pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        sizes = (ctypes.c_int64 * max(len(dims), 1))(*dims)
        kind = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
        )
        code = kind(int(self.address()))(pointers, sizes, 0, units)
        if code:
            number = code - 100
            text = self.errors.get(number, f"its body returned {number}")
            raise ArgumentError(f"c_op {self.name}: {text}")


def _support(name, support):
    given.text(support, "the support of a c_op")
    return f'#line 1 "{name} support"\n{support}' if support.strip() else ""


def _check_names(names):
    wrong = [
        n
        for n in names
        if not re.fullmatch(r"[A-Za-z]\w*", n) or n in C_WORDS or n.lower().startswith("ck_")
    ]
    if wrong or len(set(names)) != len(names):
        raise ArgumentError(
            f"the operands of a c_op need different names that C takes for "
            f"variables, got {', '.join(wrong or names)}"
        )


def _check_c(label, dtype):
    if dtypes.is_complex(dtype) or dtype in ("float16", "bfloat16"):
        raise DTypeError(
            f"operand {label} of a c_op is {dtype}, which C has no type for; K.cast "
            "it to another dtype"
        )


def _check_sizes(name, types, labels, infer_shape):
    for label, (_, shape) in zip(labels, types):
        if infer_shape is None and type(shape) is not int and None in shape:
            raise ShapeError(
                f"the size of output {label} of c_op {name} is unknown, {show(shape)}: give "
                "infer_shape, or an input that it has the shape of"
            )


# --- common -----------------------------------------------------------------------------------


def _nodes(inputs):
    listed = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    return [node_of(i, "an input of the operation") for i in listed]


def _named(given, letter, convert):
    """(names, values) of what is given as {name: value}, a list, or alone."""
    if isinstance(given, dict):
        values = list(given.values())
        return list(map(str, given)), convert(values[0] if len(values) == 1 else values)
    count = len(given) if isinstance(given, list) else 1
    names = [letter] if letter == "y" and count == 1 else [f"{letter}{k}" for k in range(count)]
    return names, convert(given)


def _types(outputs, inputs, nodes):
    """([(dtype, shape or number of the input of the same shape)], whether there are several)."""
    inputs = list(inputs.values()) if isinstance(inputs, dict) else inputs
    listed = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    several = isinstance(outputs, list)
    types = [_type(o, listed, nodes) for o in (outputs if several else [outputs])]
    if not types:
        raise ArgumentError("an operation needs at least one output")
    return types, several


def _type(output, inputs, nodes):
    for k, (source, node) in enumerate(zip(inputs, nodes)):
        if output is source and isinstance(source, (Tensor, Node)):
            return node.dtype, k
    if isinstance(output, Tensor):
        return output.dtype, output.node.shape
    if isinstance(output, tuple) and len(output) == 2 and not isinstance(output[1], str):
        return dtypes.name_of(output[0]), static_shape(output[1], "the shape of an output")
    if isinstance(output, (str, np.dtype, type)):
        return dtypes.name_of(output), ()
    raise UsageError(f"an output is one of the inputs, (dtype, shape) or a dtype, not {output!r}")


def _slopes(gradient):
    """`gradient`, a function of tensors, as a function of nodes; None for None."""
    return None if gradient is None else Slopes(gradient)


class Slopes:
    """`gradient`, a function of tensors, as one of nodes; a class, as closures have no pickle."""

    def __init__(self, gradient):
        self.gradient = gradient

    def __call__(self, node, cotangents):
        several = node.attrs["own"].several
        outs = [item(node, k) for k in range(len(node.outs))] if several else [node]
        given = [
            ops.zeros_like(o) if g is None and dtypes.is_inexact(o.dtype) else g
            for o, g in zip(outs, cotangents)
        ]
        found = self.gradient(
            [Tensor(i) for i in node.inputs],
            [Tensor(o) for o in outs],
            [None if g is None else Tensor(g) for g in given],
        )
        found = [found] if isinstance(found, Tensor) else found
        if not isinstance(found, (list, tuple)) or len(found) != len(node.inputs):
            raise ArgumentError(
                f"the gradient of {node.attrs['own']} must be a list of "
                f"{len(node.inputs)} tensors or None, one for each input, not "
                f"{found!r}"
            )
        return [None if part is None else node_of(part) for part in found]


def _handles(nodes):
    return tuple(map(Tensor, nodes)) if isinstance(nodes, tuple) else Tensor(nodes)
