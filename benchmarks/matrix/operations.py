"""The operations of the matrix: what a user of ckernels writes, and what a user of NumPy writes.

`peer` gets the namespace (numpy, torch or jax.numpy), so that one row serves all of them; where it
has no such function the cell has no such peer. What a peer computes is checked against ours.
"""

from typing import NamedTuple

import ckernels as K

FLOATS, INTS = ("float32", "float64"), ("int32", "int64", "uint8")
NUMBERS, ALL = FLOATS + INTS, FLOATS + INTS + ("bool",)
SIGNED = FLOATS + ("int32", "int64")


class Operation(NamedTuple):
    """name; ours and peer: functions of tensors, and of a namespace and arrays; operands: how many
    of the dtype; least: axes they must have at least; alike: they must have one shape."""

    name: str
    ours: object
    peer: object
    operands: int = 1
    dtypes: tuple = FLOATS
    least: int = 0
    alike: bool = False


def unary(names, dtypes):
    """Functions of one operand: `ours` or `ours=theirs`."""
    for pair in names.split():
        ours, _, theirs = pair.partition("=")
        yield Operation(
            ours,
            lambda x, f=ours: getattr(K, f)(x),
            lambda xp, x, f=theirs or ours: getattr(xp, f)(x),
            1,
            dtypes,
        )


def binary(names, dtypes):
    for pair in names.split():
        ours, _, theirs = pair.partition("=")
        yield Operation(
            ours,
            lambda x, y, f=ours: getattr(K, f)(x, y),
            lambda xp, x, y, f=theirs or ours: getattr(xp, f)(x, y),
            2,
            dtypes,
        )


def reductions(names, dtypes):
    """Over the last axis, the first, and all."""
    for name in names.split():
        for axis in (-1, 0, None):
            yield Operation(
                f"{name} {'all' if axis is None else axis}",
                lambda x, f=name, axis=axis: getattr(K, f)(x, axis=axis),
                lambda xp, x, f=name, axis=axis: getattr(xp, f)(x, axis=axis),
                1,
                dtypes,
                1,
            )


def softmax(xp, x):
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def logsumexp(xp, x):
    top = xp.max(x, axis=-1, keepdims=True)
    return xp.log(xp.sum(xp.exp(x - top), axis=-1)) + top[..., 0]


OPERATIONS = {
    op.name: op
    for op in (
        *unary("abs square", NUMBERS),
        *unary("sign floor ceil trunc round sqrt exp expm1 exp2 log log1p log2 log10", FLOATS),
        *unary("sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh", FLOATS),
        *unary("isnan isinf isfinite deg2rad rad2deg", FLOATS),
        *unary("logical_not", ALL),
        *binary("maximum minimum equal not_equal less less_equal greater greater_equal", ALL),
        *binary("logical_and logical_or logical_xor", ALL),
        *binary("arctan2 logaddexp", FLOATS),
        Operation("add", lambda x, y: x + y, lambda xp, x, y: x + y, 2, NUMBERS),
        Operation("sub", lambda x, y: x - y, lambda xp, x, y: x - y, 2, NUMBERS),
        Operation("mul", lambda x, y: x * y, lambda xp, x, y: x * y, 2, NUMBERS),
        Operation("true_div", lambda x, y: x / y, lambda xp, x, y: x / y, 2, FLOATS),
        Operation("floor_div", lambda x, y: x // y, lambda xp, x, y: x // y, 2, NUMBERS),
        Operation("mod", lambda x, y: x % y, lambda xp, x, y: x % y, 2, NUMBERS),
        Operation("pow", lambda x, y: x**y, lambda xp, x, y: x**y, 2, FLOATS),
        Operation("neg", lambda x: -x, lambda xp, x: -x, 1, SIGNED),
        Operation("add a number", lambda x: x + 2, lambda xp, x: x + 2, 1, NUMBERS),
        Operation(
            "maximum of a number",
            lambda x: K.maximum(x, 1),
            lambda xp, x: xp.maximum(x, x.dtype.type(1)),
            1,
            NUMBERS,
        ),
        Operation("clip", lambda x: K.clip(x, 1, 3), lambda xp, x: xp.clip(x, 1, 3), 1, NUMBERS),
        Operation(
            "where",
            lambda x, y: K.where(x > y, x, y),
            lambda xp, x, y: xp.where(x > y, x, y),
            2,
            ALL,
        ),
        *(
            Operation(
                f"cast to {t}",
                lambda x, t=t: K.cast(x, t),
                lambda xp, x, t=t: x.astype(t),
                1,
                tuple(d for d in ALL if d != t),
            )
            for t in ("float32", "float64", "int32", "uint8", "bool")
        ),
        *reductions("sum prod max min", NUMBERS),
        *reductions("mean", FLOATS + INTS),
        *reductions("any all", ALL),
        *reductions("var std", FLOATS),
        *reductions("argmax argmin", NUMBERS),
        Operation("softmax", K.softmax, softmax, 1, FLOATS, 1),
        Operation("logsumexp", lambda x: K.logsumexp(x, axis=-1), logsumexp, 1, FLOATS, 1),
        Operation(
            "norm",
            lambda x: K.sqrt(K.sum(K.square(x), axis=-1)),
            lambda xp, x: xp.sqrt(xp.sum(xp.square(x), axis=-1)),
            1,
            FLOATS,
            1,
        ),
        Operation("copy", lambda x: K.identity(x), lambda xp, x: x.copy(), 1, ALL),
        Operation(
            "slice", lambda x: x[1:-1] + 0, lambda xp, x: x[1:-1] + x.dtype.type(0), 1, NUMBERS, 1
        ),
        Operation("transpose", K.transpose, lambda xp, x: x.T.copy(), 1, ALL, 1),
        Operation("reverse", lambda x: x[..., ::-1], lambda xp, x: x[..., ::-1].copy(), 1, ALL, 1),
        Operation(
            "concatenate 0",
            lambda x, y: K.concatenate([x, y], 0),
            lambda xp, x, y: xp.concatenate([x, y], 0),
            2,
            ALL,
            1,
            True,
        ),
        Operation(
            "concatenate -1",
            lambda x, y: K.concatenate([x, y], -1),
            lambda xp, x, y: xp.concatenate([x, y], -1),
            2,
            ALL,
            1,
            True,
        ),
        Operation(
            "stack",
            lambda x, y: K.stack([x, y]),
            lambda xp, x, y: xp.stack([x, y]),
            2,
            ALL,
            0,
            True,
        ),
        Operation(
            "repeat 0",
            lambda x: K.repeat_elements(x, 3, 0),
            lambda xp, x: xp.repeat(x, 3, 0),
            1,
            ALL,
            1,
        ),
        Operation(
            "repeat -1",
            lambda x: K.repeat_elements(x, 3, x.ndim - 1),
            lambda xp, x: xp.repeat(x, 3, x.ndim - 1),
            1,
            ALL,
            1,
        ),
        Operation(
            "tile",
            lambda x: K.tile(x, (2,) * x.ndim),
            lambda xp, x: xp.tile(x, (2,) * x.ndim),
            1,
            ALL,
            1,
        ),
        Operation("roll", lambda x: K.roll(x, 1, 0), lambda xp, x: xp.roll(x, 1, 0), 1, ALL, 1),
        Operation(
            "cumsum", lambda x: K.cumsum(x, -1), lambda xp, x: xp.cumsum(x, -1), 1, NUMBERS, 1
        ),
        Operation("sort", lambda x: K.sort(x, -1), lambda xp, x: xp.sort(x, -1), 1, NUMBERS, 1),
    )
}
