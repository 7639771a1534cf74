"""What is true of ops in general: views, effects, signs, zeros, indices. One table per property.

A new op says its properties here, or by Op(properties={...}); `having(property)` of graph/op.py is
what other rooms ask. tests/ops/test_properties.py checks that each op named here exists, and that
each op has every rule or a reason to have none.
"""

from ..graph.op import REGISTRY, having

__all__ = []

RESHAPES = ("expand", "squeeze", "reshape")
GATHERS = ("take", "advanced_take", "dynamic_slice", "take_along_axis")

TABLES = {
    # the same elements in the same order, in another shape
    "reshapes": RESHAPES,
    # elements of the operand shown elsewhere, or again: stride arithmetic
    "view": (*RESHAPES, "transpose", "broadcast_to", "slice"),
    # views of whole axes: what a loop nest can follow by moving its indices
    "axis_view": ("expand", "squeeze", "transpose", "broadcast_to"),
    # the first operand's elements at the positions that the others say
    "gathers": GATHERS,
    # no operand but a shape: elements follow from their index
    "generator": ("iota", "random_uniform", "random_normal", "random_bits"),
    # more happens than its value: it is neither folded nor left out, nor run in fewer steps
    "effect": ("print", "check"),
    # results that are compared: two loop nests must not round what they compare differently
    "compares": ("eq", "ne", "lt", "le", "gt", "ge", "argmax", "argmin"),
    # floats of floats that jump: a half is rounded before, as one that is compared or cast is
    "jumps": ("floor", "ceil", "round", "trunc", "sign", "floor_div", "mod", "fmod", "nextafter"),
    # halves of what are halves: these need no rounding
    "picks": ("neg", "abs", "maximum", "minimum", "where", "max", "min", "floor", "ceil", "round",
              "trunc", "sign", "relu", "identity", "stop_gradient", "zero_grad", "masked"),
    # gradients that know of complex numbers; those of other ops are of analytic functions
    "knows_complex": ("real", "imag", "complex_of", "conj", "angle", "abs", "cast", "py_op",
                      "c_op", "fft", "rfft_half", "irfft_half", "item"),
    # signs of floats: above 0 for all operands; at least 0; of the sign of the operand
    "positive": ("exp", "exp2", "sigmoid", "softmax", "softplus", "cosh"),
    "not_negative": ("square", "abs", "relu"),
    "keeps_sign": ("sqrt", "square", "abs", "reciprocal", "rsqrt", "sum", "mean", "prod", "max",
                   "min", "transpose", "broadcast_to", "slice", *GATHERS, *RESHAPES),
    # the operand's elements, each once, in another shape or order
    "moves": (*RESHAPES, "transpose"),
    # reductions of which one of another is one over all axes, and one of a single element is it
    "nests": ("sum", "prod", "max", "min", "any", "all"),
    # of these a divisor may be 0 for finite operands: exp(-1000)
    "vanishes": ("sigmoid", "softmax", "exp"),
    # sums of large numbers of both signs: the error is relative to the operands, not the result
    "cancels": ("add", "sub", "mean", "var", "cumsum"),
}  # fmt: skip
VALUES = {
    # zero when "any" operand is, when "all" are, or when the "first" is
    "zero_when": {
        **dict.fromkeys(("mul", "matmul", "matmul_of_bytes"), "any"),
        **dict.fromkeys(("add", "sub", "concatenate", "maximum", "minimum"), "all"),
        **dict.fromkeys(("neg", "cast", "transpose", *RESHAPES, "slice", "broadcast_to",
                         "broadcast_like", "unbroadcast", "sum", "true_div", "item"), "first")},
    # of how many operands the values are read; of the others only the shape
    "reads": {"broadcast_like": 1, "first_equal": 1, "unbroadcast": 1, "shape": 0, "count": 0,
              "irfft_half": 1},
    # (first, end) of the operands that are integer indices
    "indices": {"first_equal": (0, 1), "take": (1, None), "take_along_axis": (1, None),
                "advanced_take": (1, None),
                "scatter_add": (1, 2), "put_along_axis_add": (1, 2), "advanced_set": (2, None),
                "advanced_inc": (2, None), "advanced_combine": (2, None)},
    # the first of the operands, to the last, that say the shape
    "sized_by": {"reshape": 1, "broadcast_to": 1, "arange": 0, "dynamic_slice": 1,
                 "scan_steps": 0, "random_uniform": 1, "random_normal": 1, "random_bits": 1,
                 "nonzero": 0, "mask_indices": 0, "repeat_index": 1, "convolve": 2},
    # (operands that may hold padding behind the numbers of a sparse matrix, those of them that pad
    # the result too); others are in sparse.py and sparseproduct.py
    "padding": {"take": ((1,), (1,)), "broadcast_like": ((1,), (1,))},
    # attributes that decide neither values nor shapes nor a plan: names in messages
    "inert": {"scan": ("name",), "scan_debug": ("name",)},
    # attributes that are closed graphs
    "bodies": {"scan": ("body",), "scan_debug": ("body",), "ifelse": ("then", "other")},
}  # fmt: skip


def declare():
    """Say the properties of all ops; after they were declared themselves."""
    for name, ops in TABLES.items():
        having(name).update(dict.fromkeys(ops, True))
    for name, values in VALUES.items():
        having(name).update(values)
    missing = {op for table in (*TABLES.values(), *VALUES.values()) for op in table} - set(REGISTRY)
    assert not missing, f"properties of ops that do not exist: {sorted(missing)}"


NO_FLOATS = "its results are no floats: nothing flows back"
COMPLEX = "of complex numbers, which rewrites turn into pairs"
LATE = "made by rewrites, when gradients have been taken and graphs batched"
RAGGED = "data decides its size, or it is one: a batch of them would be ragged"
STATES = "each stream has a state of its own; a batch of draws is one larger draw"
OF_USERS = "the user says what it does, and nothing more"
SPECIAL = "a special function that is evaluated in NumPy, in float64"
GONE = "rewrites take it away before graphs are planned, or data decides its shape"
LAPACK = "LAPACK inside NumPy computes it"

# Why an op has no rule for a transformation: {transformation: {op: reason}}.
WITHOUT = {
    "gradient": {
        **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
                         "logical_xor", "logical_not", "bit_and", "bit_or", "bit_xor", "bit_not",
                         "left_shift", "right_shift", "isnan", "isinf", "isfinite", "any", "all",
                         "argmax", "argmin", "signbit", "exponent", "gcd", "bit_count",
                         "matmul_of_bytes"), NO_FLOATS),
        **dict.fromkeys(("moment2", "ifelse", "either", "first_equal", "attention",
                         "attention_grad", "attention_values_grad", "real_part", "imag_part",
                         "zero_part"), LATE),
        **dict.fromkeys(("qr_full", "eig"),
                        "its full or complex factors are not differentiable in general"),
        "lu": "PyTensor, for which it is, has the gradient as a graph",
        "unknown_slope": "it stands for a derivative that has no formula",
        "iota": "its elements follow from their index"},
    "batch": {
        **dict.fromkeys(("pack", "arange", "scan_steps", "scan_count", "mask_indices", "nonzero",
                         "repeat_index"), RAGGED),
        **dict.fromkeys(("mrg_uniform", "mrg_choice"), STATES),
        **dict.fromkeys(("csr_dot", "csr_sample", "csr_dense", "csr_take", "csr_rows", "csr_order",
                         "csr_interleave", "csr_merge", "csr_held", "csr_counts", "csr_places",
                         "csr_product"), "there is no batch of sparse matrices"),
        **dict.fromkeys(("ctc", "ctc_collapse", "ctc_beam"), "it is over a batch already"),
        **dict.fromkeys(("searchsorted", "equal_bins", "ravel_multi_index", "unravel_index"),
                        "integers by tables: rows would need tables of their own"),
        **dict.fromkeys(("py_op", "c_op"), OF_USERS), "lstsq": "LAPACK takes one system at a time",
        **dict.fromkeys(("ifelse", "either", "fitted_mask", "first_equal", "attention",
                         "attention_grad", "attention_values_grad", "real_part", "imag_part",
                         "complex_of"), LATE)},
    "lowering": {
        **dict.fromkeys(("cofactors", "cofactors_along", "det", "eigh", "svd", "pinv", "svd_full",
                         "svdvals", "lstsq", "slogdet", "eig", "eigvalsh"), LAPACK),
        **dict.fromkeys(("ravel_multi_index", "unravel_index"), "NumPy counts"),
        "py_op": OF_USERS, "either": "NumPy copies the side whose size is found at run time",
        **dict.fromkeys(("print", "check"), "its effect is Python's"),
        **dict.fromkeys(("shape", "item", "choose", "checkpoint", "scan_steps", "dynamic_slice",
                         "dynamic_write", "arange", "nonzero", "mask_indices", "repeat_index"),
                        GONE),
        "csr_merge": "NumPy sorts",
        **dict.fromkeys(("numpy_argsort", "numpy_partition"),
                        "the order of equal elements is that of NumPy's own algorithm"),
        "advanced_last": "rare: the gradient of a gradient of an assignment",
        "diagonal_place": "rare: the gradient of a diagonal",
        "scan_debug": "it runs step by step in NumPy, by definition"},
    "c": {
        **dict.fromkeys(("real", "imag", "conj", "angle"), COMPLEX),
        **dict.fromkeys(("iota", "random_bits", "random_uniform", "random_normal"),
                        "made from the index of an element: codegen writes it"),
        **dict.fromkeys(("trigamma", "polygamma", "unknown_slope", "gammainc", "gammaincc",
                         "betainc", "owens_t", "ive", "kve"), SPECIAL)},
}  # fmt: skip
