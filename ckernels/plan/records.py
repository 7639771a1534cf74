"""The dims of gemm and native instructions, word by word: the structs of src/plan/records.h in
Python. Generated from there by `python -m build_tools.records`; see words() of instructions.py.
"""

from .record import DimsRecord

(
    CONV,
    CONV_INPUT_GRAD,
    CONV_WEIGHT_GRAD,
    DEPTHWISE,
    DEPTHWISE_INPUT_GRAD,
    DEPTHWISE_WEIGHT_GRAD,
    POOL_MAX,
    POOL_SUM,
    POOL_SUM_GRAD,
    POOL_MAX_GRAD,
    POOL_MAX_TAKE,
    TRANSPOSE,
    PLANES,
    PLANES_INPUT_GRAD,
    PLANES_WEIGHT_GRAD,
    ORDER,
    ATTENTION,
    ATTENTION_GRAD,
    REPEAT,
) = range(19)  # native instructions


class GemmDims(DimsRecord):
    """C = alpha * op(A) @ op(B) + beta * C, row-major; strides are in elements."""

    FIELDS = (
        "dtype",  # 0 float32, 1 float64
        "m",
        "n",
        "k",
        "trans_a",  # 0 or 1
        "trans_b",  # 0 or 1
        "lda",
        "ldb",
        "ldc",
        "alpha",  # bits of a double
        "beta",  # bits of a double
        "batch",  # how many matrices
        "step_a",  # from one to the next; 0 allowed for A and B
        "step_b",  # from one to the next; 0 allowed for A and B
        "step_c",  # from one to the next; 0 allowed for A and B
        "unit",  # range of the epilogue for a row
    )
    WORDS = 16


class AxisDims(DimsRecord):
    """One axis of an image and of the windows over it."""

    FIELDS = (
        "size",
        "result",
        "kernel",
        "stride",
        "dilation",
        "low",  # padding before the first element
    )
    WORDS = 6


class WindowDims(DimsRecord):
    """The native instructions of images. Images are (n, d, h, w, c), kernels (d, h, w, c, o);
    strides are in elements.
    """

    FIELDS = (
        "op",
        "dtype",  # 0 float32, 1 float64
        "batch",
        "channels",
        "out",
        "groups",
        "axes",
        "first",  # strides of the first operand
        "second",  # of the second: a kernel or a result
        "slots",  # threads that have scratch of their own
        "unit",  # range of the epilogue for a pixel
    )
    NESTED = {"axes": (3, AxisDims), "first": (5, None), "second": (5, None)}
    WORDS = 36


class TransposeDims(DimsRecord):
    """A batch of matrices whose rows become columns: three sizes of the batch, rows and columns of
    the result, whose columns are contiguous. Repeat has columns 0 or 1 apart in the operand.
    """

    FIELDS = (
        "op",
        "dtype",  # 0 elements of 1 byte, 1 of 2, 2 of 4, 3 of 8
        "sizes",  # near: strides of the operand, far: of the result
        "near",  # near: strides of the operand, far: of the result
        "far",  # near: strides of the operand, far: of the result
        "none",  # native instructions are of one length
    )
    NESTED = {"sizes": (5, None), "near": (5, None), "far": (5, None), "none": (19, None)}
    WORDS = 36


class OrderDims(DimsRecord):
    """Rows in order, along an axis of `length` elements `step` apart; the rows lie by three sizes
    and strides. There are `count` results of each row, `apart`.
    """

    FIELDS = (
        "op",
        "width",  # 0 elements of 1 byte, 1 of 2, 2 of 4, 3 of 8
        "kind",  # 0 unsigned, 1 signed, 2 float16, 3 bfloat16, 4 float
        "what",  # 0 values, 1 places, 2 first places of equal indices
        "falling",  # 1: places in falling order
        "length",
        "count",
        "size",  # of the axis that indices point to; otherwise 0
        "step",
        "apart",
        "sizes",  # near: strides of the operand, far: of the result
        "near",  # near: strides of the operand, far: of the result
        "far",  # near: strides of the operand, far: of the result
        "slots",  # threads that have scratch of their own
        "none",  # native instructions are of one length
    )
    NESTED = {"sizes": (3, None), "near": (3, None), "far": (3, None), "none": (16, None)}
    WORDS = 36


class AttentionDims(DimsRecord):
    """softmax(q @ k.T + bias, hidden scores set to `fill`) @ v. Strides are in elements: of two
    sizes of the batch, of rows, and of keys where there are four.
    """

    FIELDS = (
        "op",
        "dtype",  # 0 float32, 1 float64
        "outer",  # sizes of the batch
        "inner",  # sizes of the batch
        "rows",  # width: numbers of a query and a key; values: of a value
        "keys",  # width: numbers of a query and a key; values: of a value
        "width",  # width: numbers of a query and a key; values: of a value
        "values",  # width: numbers of a query and a key; values: of a value
        "q",
        "k",
        "v",
        "bias",
        "mask",
        "has",  # 1: a bias, 2: a mask (bool), 4: weights are drawn
        "causal",  # row r sees keys up to r + causal
        "fill",  # bits of a double
        "zero",  # 1: a row that sees no key gives 0
        "keep",  # of 2^24 draws so many keep a weight
        "only",  # 1: the gradient by values alone
        "none",  # native instructions are of one length
    )
    NESTED = {
        "q": (3, None),
        "k": (3, None),
        "v": (3, None),
        "bias": (4, None),
        "mask": (4, None),
        "none": (5, None),
    }
    WORDS = 36
