"""How ops are declared: `elementwise` and `reduction` make an Op and return its build function.

Build functions take Nodes, handles, NumPy arrays and Python numbers, promote dtypes (Python numbers
are weak, NumPy scalars are not), insert casts and return a Node. Ops live in the sibling files.
"""

import functools
import warnings

import numpy as np

from ..base import dtypes
from ..base.config import config
from ..base.errors import ArgumentError, CKernelsWarning, DTypeError, ShapeError, user_line
from ..base.given import flag
from ..graph.folding import of_sizes
from ..graph.node import Node, as_node, constant, make, rebuilding
from ..graph.op import Op
from ..graph.shapes import axes_of, broadcast, show
from ..graph.sizes import Size

__all__ = ["cast", "expand", "operands", "to_node", "unbroadcast", "broadcast_like", "full_like",
           "zeros_like", "ones_like", "from_copies"]  # fmt: skip

KIND_NAMES = {"b": "bool", "i": "signed integer", "u": "unsigned integer", "f": "float",
              "c": "complex"}  # fmt: skip


def from_copies(oracle):
    """The oracle, of copies of integers: NumPy looks at all indices, then reads them once more, and
    another thread may have changed them in between."""

    @functools.wraps(oracle)
    def run(attrs, *arrays):
        return oracle(attrs, *[np.array(a) if a.dtype.kind in "iu" else a for a in arrays])

    return run


def is_weak(x):
    """Whether `x` is a Python number: it adopts the dtype of the tensors it meets."""
    if type(x) is Node:
        return False
    return isinstance(x, (bool, int, float, complex, Size)) and not isinstance(x, np.generic)


def weak_kind(x):
    """bool, int, float or complex: the Python type that `x` counts as."""
    return next((t for t in (bool, int, float, complex) if isinstance(x, t)), int)


def refuse_mask(x, what):
    """ArgumentError for a masked array of which something is masked, and for a list with one."""
    if type(x) in (list, tuple):
        for part in x if dtypes.masked_arrays() in set(map(type, x)) else ():
            refuse_mask(part, what)
    elif dtypes.is_masked(x):
        raise ArgumentError(
            f"{what} is a masked array, and {int(np.ma.count_masked(x))} of its {x.size} elements "
            "are masked, which tensors cannot express; pass x.filled(value), and the mask as a "
            "tensor of its own where it matters"
        )


def to_node(x, name="an operation"):
    """`x` as a Node; DTypeError in words for what is no tensor at all."""
    if type(x) is Node and x.outs is None:
        return x
    if isinstance(x, Node) or isinstance(getattr(x, "node", None), Node):
        node = as_node(x)
        if node.outs is not None:
            raise DTypeError(f"{name} got a node with several outputs; take one of them first")
        return node
    if x is None or isinstance(x, (str, bytes, dict, set)) or callable(x):
        raise DTypeError(f"{name} got {x!r}, which is neither a tensor, an array nor a number")
    if isinstance(x, (list, tuple)) and _holds_tensors(x):
        raise DTypeError(f"{name} got a {type(x).__name__} of tensors; stack them first")
    if isinstance(x, np.generic):
        x = np.asarray(x)
    elif isinstance(x, (list, tuple)) and _holds_python_floats(x):
        return as_node(x, dtypes.floatx())  # [0.5, 2] must not turn a float32 graph into float64
    return as_node(x)


def _holds_tensors(items):
    return any(
        isinstance(i, Node)
        or isinstance(getattr(i, "node", None), Node)
        or (isinstance(i, (list, tuple)) and _holds_tensors(i))
        for i in items
    )


def _holds_python_floats(items):
    """Whether nested lists hold real Python numbers only, some of them floats."""
    flat = []
    todo = list(items)
    while todo:
        item = todo.pop()
        if isinstance(item, (list, tuple)):
            todo.extend(item)
        else:
            flat.append(item)
    return all(is_weak(v) and not isinstance(v, complex) for v in flat) and any(
        isinstance(v, float) for v in flat
    )


def fits(value, dtype):
    """Whether the Python int `value` is representable in `dtype` (any float takes any size)."""
    if dtype == "bool":
        return value in (0, 1)
    if dtypes.is_inexact(dtype):
        return True
    info = np.iinfo(dtype)
    return info.min <= value <= info.max


def scalar(value, dtype, name="an operation"):
    """A constant of a Python number in `dtype`; DTypeError when an int does not fit."""
    if type(value) is Size:
        return cast(constant(value), dtype)
    if isinstance(value, int) and not fits(value, dtype):
        info = np.iinfo(dtype)
        raise DTypeError(
            f"{name}: the Python int {value} does not fit in {dtype} "
            f"({info.min} to {info.max}); cast the tensor to a wider dtype first"
        )
    if type(value) in (int, float) and -6e4 < value < 6e4:  # all floats can hold it
        return constant(np.asarray(value, dtype=dtype), dtype)
    with np.errstate(all="ignore"):
        try:
            return constant(np.asarray(value, dtype=dtype), dtype)
        except TypeError as problem:
            raise DTypeError(f"{name}: the number {value!r} does not fit in {dtype}") from problem
        except OverflowError as problem:
            raise DTypeError(
                f"{name}: a Python int of {len(str(value))} digits is too large for {dtype}"
            ) from problem


def note_float64(name, found):
    """Do what the flag warn_float64 says about a float64 made of tensors of the dtypes `found`."""
    policy = config.warn_float64
    if policy == "ignore" or "float64" in found or not found or rebuilding():
        return
    text = (
        f"{name} of {' and '.join(dict.fromkeys(found))} makes a float64; K.cast one of them, "
        "or set the flag cast_policy to keep_float"
    )
    if policy == "raise":
        raise DTypeError(text)
    place = user_line() or ("ckernels", 0, "")
    warnings.warn_explicit(text, CKernelsWarning, place[0], place[1])


def operands(args, name="an operation", widen=False):
    """Nodes of one common dtype for `args` (Python numbers weak), as a list.

    widen: a Python int that does not fit makes the common dtype int64 instead of an error.
    """
    nodes = [a if is_weak(a) else to_node(a, name) for a in args]
    strong = [n.dtype for n in nodes if type(n) is Node]
    if len(strong) == len(nodes) and strong and strong.count(strong[0]) == len(strong):
        return nodes  # as most are
    weak = [n for n in nodes if type(n) is not Node]
    common = dtypes.promote(strong, [weak_kind(n) for n in weak])
    if widen and any(isinstance(n, int) and not fits(n, common) for n in weak):
        common = dtypes.promote([common, "int64"])
    if common == "float64":
        note_float64(name, strong)
    return [cast(n, common) if isinstance(n, Node) else scalar(n, common, name) for n in nodes]


def cast(x, dtype):
    """`x` with another dtype; itself when it has it already."""
    if type(x) is Node and type(dtype) is str and x.dtype == dtype and x.outs is None:
        return x
    x, dtype = to_node(x, "cast"), dtypes.name_of(dtype)
    if x.dtype == dtype:
        return x
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype) and dtype != "bool":
        raise DTypeError(f"cannot cast {x.dtype} to {dtype}: take real, imag, abs or angle of it")
    if x.value is not None and x.value.size <= 64 and not of_sizes(x):
        with np.errstate(all="ignore"):
            return constant(x.value.astype(dtype))
    return make("cast", (x,), {"dtype": dtype})


def unbroadcast(g, like):
    """`g` summed over the axes along which `like` was broadcast: the shape of `like`."""
    if g.shape == like.shape and None not in g.shape:
        return g
    if like.ndim == 0 and g.ndim == 0:
        return g
    return make("unbroadcast", (g, like))


def broadcast_like(x, like):
    """`x` broadcast to the shape of `like` (whose values are not read)."""
    x, like = to_node(x, "broadcast_like"), to_node(like, "broadcast_like")
    if x.shape == like.shape and None not in x.shape:
        return x
    return make("broadcast_like", (x, like))


def full_like(x, value, dtype=None):
    """The number `value` in the shape (and dtype, unless given) of `x`."""
    x = to_node(x, "full_like")
    return broadcast_like(scalar(value, dtypes.name_of(dtype or x.dtype), "full_like"), x)


def zeros_like(x, dtype=None):
    """Zeros in the shape (and dtype, unless given) of `x`."""
    return full_like(x, 0, dtype)


def ones_like(x, dtype=None):
    """Ones in the shape (and dtype, unless given) of `x`."""
    return full_like(x, 1, dtype)


def check_kind(name, dtype, takes):
    """DTypeError unless the kind letter of `dtype` (b i u f c) is in `takes`."""
    if dtypes.kind(dtype) not in takes:
        raise DTypeError(
            f"{name} does not take {dtype} tensors: it takes "
            + ", ".join(KIND_NAMES[k] for k in takes)
        )


def elementwise_op(
    name, c, oracle, grad=None, out=None, takes="biuf", wide=False, conditions=0, misfit=None,
    **declared
):  # fmt: skip
    """Declare an elementwise Op (see `elementwise`).

    conditions: leading operands that are bool; misfit: what shapes that do not fit mean, or "", of
    the operands.
    """

    def result_dtype(dtype):
        return out(dtype) if callable(out) else out or dtype

    made = {}  # {dtype that it takes: that of its result}

    def infer(attrs, *inputs):
        dtype = inputs[-1].dtype
        for n in inputs[conditions:]:
            if n.dtype != dtype:
                raise DTypeError(
                    f"{name} needs operands of one dtype, got "
                    + " and ".join([n.dtype for n in inputs[conditions:]])
                )
        if dtype not in made:
            check_kind(name, dtype, takes)
            made[dtype] = result_dtype(dtype)
        shape = inputs[-1].shape
        for n in inputs:
            if n.shape is not shape:
                try:
                    shape = broadcast(name, *[n.shape for n in inputs])
                except ShapeError as problem:
                    if misfit is None or not misfit(*inputs):
                        raise
                    raise ShapeError(misfit(*inputs)) from problem
                break
        return made[dtype], shape

    def run(attrs, *arrays):
        dtype = dtypes.numpy_name(arrays[-1].dtype)
        compute = dtypes.computed(dtype)
        compute = "float64" if wide and compute == "float32" else compute
        typed = [a.astype(compute, copy=False) for a in arrays[conditions:]]
        with np.errstate(all="ignore"):
            y = np.asarray(oracle(*arrays[:conditions], *typed))
            return y.astype(result_dtype(dtype), copy=False)

    def node_grad(node, g):
        result = grad(*node.inputs, node, g)
        result = result if isinstance(result, (tuple, list)) else (result,)
        return [None if r is None else unbroadcast(r, i) for r, i in zip(result, node.inputs)]

    def scalar_c(attrs, dtype):
        if dtypes.is_complex(dtype):
            return None
        return c(attrs, dtype) if callable(c) else c

    return Op(
        name,
        "elementwise",
        infer,
        run,
        node_grad if grad else None,
        None if c is None else scalar_c,
        **declared,
    )


def elementwise(name, c, oracle, grad=None, rule="same", out=None, widen=False, **declared):
    """Declare an elementwise op and return its build function.

    c: see `Op.c`; complex dtypes never get C. oracle(*arrays) -> array; float16
    and bfloat16 come as float32.
    grad(*inputs, y, g) -> cotangent or tuple of them (None: no gradient to that input); summing
    over broadcast axes is done here. rule: "same" promotes the operands to a common dtype; "number"
    also turns bool into int8; "float" makes it a float (see dtypes.to_float); "bool" casts to bool.
    out: dtype of the result when it is not the operands' ("bool", or a callable dtype -> name).
    takes: letters of the dtype kinds it accepts (NumPy's b i u f c), default all but complex.
    wide: float32 comes to the oracle as float64. widen: see `operands`.
    """
    op = elementwise_op(name, c, oracle, grad, out, **declared)

    def build(*args):
        nodes = operands(args, name, widen)
        dtype = nodes[0].dtype
        if rule == "float":
            dtype = (
                dtypes.floatx()
                if all(map(is_weak, args)) and not dtypes.is_complex(dtype)
                else dtypes.to_float(dtype)
            )
            if dtype == "float64":
                note_float64(name, [n.dtype for n in nodes])
        elif rule == "number" and dtype == "bool":
            dtype = "int8"
        elif rule == "bool":
            dtype = "bool"
        return make(op, [cast(n, dtype) for n in nodes])

    build.__name__ = build.__qualname__ = name
    build.__doc__ = declared.get("doc") or f"Elementwise {name}."
    return build


def reduction(
    name, oracle, grad=None, accumulate=None, out=None, takes="biuf", empty=True, **declared
):
    """Declare a reduction over attrs["axes"] and return its build function (x, axis, keepdims).

    oracle(array, axes) -> array; float16 and bfloat16 come as float32. grad(x, y, g, axes) ->
    cotangent of x, where y and g come with the reduced axes kept as size 1. accumulate: dtype ->
    dtype the operand is cast to first. empty: whether a reduction over no elements has a value.
    """

    def result_dtype(dtype):
        return out(dtype) if callable(out) else out or dtype

    def check_empty(x, axes):
        if not empty and any(x.shape[a] == 0 for a in axes):
            raise ShapeError(
                f"{name} over axes {axes} of a tensor of shape {show(x.shape)} "
                f"has no elements to choose from"
            )

    def infer(attrs, x):
        check_kind(name, x.dtype, takes)
        axes = attrs["axes"]
        check_empty(x, axes)
        return result_dtype(x.dtype), tuple(d for i, d in enumerate(x.shape) if i not in axes)

    def run(attrs, x):
        dtype = dtypes.numpy_name(x.dtype)
        check_empty(x, attrs["axes"])
        with np.errstate(all="ignore"):
            y = oracle(x.astype(dtypes.computed(dtype), copy=False), attrs["axes"])
            return np.asarray(y).astype(result_dtype(dtype), copy=False)

    def node_grad(node, g):
        axes = node.attrs["axes"]
        return (grad(node.inputs[0], expand(node, axes), expand(g, axes), axes),)

    op = Op(name, "reduce", infer, run, node_grad if grad else None, **declared)

    def build(x, axis=None, keepdims=False):
        x = to_node(x, name)
        axes = axes_of(axis, x.ndim)
        if accumulate:
            x = cast(x, accumulate(x.dtype))
        y = make(op, (x,), {"axes": axes}) if axes or name.startswith("arg") else x
        return expand(y, axes) if flag(keepdims, "keepdims") else y

    build.__name__ = build.__qualname__ = name
    build.__doc__ = declared.get("doc") or f"Reduction {name}."
    return build


def expand(x, axes):
    """`x` with size-1 axes inserted so that they are at the positions `axes` of the result."""
    axes = tuple(sorted(axes))
    return make("expand", (as_node(x),), {"axes": axes}) if axes else as_node(x)
