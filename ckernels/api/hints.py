"""What people type who come from NumPy, PyTorch, TensorFlow or JAX, and what it is called here.

Only for messages: nothing here works as in those libraries.
"""

from ..base.errors import MissingName

_VALUE = "it is symbolic: K.eval(x), or a function of its inputs, K.function([...], x), computes it"
_GRADIENT = "K.grad(x, [w]) gives gradients as tensors; there is no tape and nothing to switch on"
_UPDATE = "w.set_value(2) changes a variable now, K.function(..., updates=[(w, 2)]) at each call"
_CAST = 'x.astype("float32") and K.cast change the dtype; everything runs on the CPU'
_SHAPE = "K.int_shape(x) is what is known of its shape, x.shape[0] a size as a tensor"
_GROUPS = {
    _VALUE: "numpy item tolist tobytes value data values cpu_numpy block_until_ready result",
    _GRADIENT: "backward grad requires_grad requires_grad_ retain_grad is_leaf grad_fn gradient",
    "K.stop_gradient(x) is x without a gradient": "detach stop_gradient detach_",
    _UPDATE: "assign assign_add assign_sub load initialized_value read_value copy_ add_ sub_ mul_ "
    "zero_ fill_ zero initializer",
    _CAST: "cpu cuda to float double half long int bool device type type_as",
    _SHAPE: "set_shape rank dim nelement numel shape_as_list",
    "x.reshape(...) gives another shape": "view resize resize_ reshape_as unfold",
    "x.transpose(...) and K.permute_dimensions order the axes": "permute moveaxis t movedim",
    "K.expand_dims(x, axis) adds an axis, x.squeeze(axis) drops one": "unsqueeze expand expand_as",
    "K.set_subtensor(x[index], value) gives a new tensor": "at index_put index_put_ scatter_ "
    "masked_fill masked_fill_ itemset put",
    "K.equal(x, y), or x == y as an operand, compares elements": "eq ne equal not_equal",
}  # fmt: skip
TENSOR = {name: hint for hint, names in _GROUPS.items() for name in names.split()}
MODULE = {
    "reduce_sum": "sum", "reduce_mean": "mean", "reduce_max": "max", "reduce_min": "min",
    "reduce_prod": "prod", "reduce_any": "any", "reduce_all": "all", "reduce_logsumexp":
    "logsumexp", "tensor": "constant", "array": "constant", "asarray": "constant",
    "convert_to_tensor": "constant", "Parameter": "variable", "mm": "dot",
    "bmm": "batch_dot",
    "cat": "concatenate", "concat": "concatenate", "add": "+", "subtract": "-", "multiply": "*",
    "divide": "/", "power": "pow", "absolute": "abs", "einsum": "dot, K.batch_dot or K.tensordot",
    "gradient": "grad", "compile": "function", "no_grad": "stop_gradient",
    "matrix": "placeholder", "vector": "placeholder", "scalar": "placeholder", "ivector":
    "placeholder", "cond": "switch or K.ifelse", "while_loop": "scan", "fori_loop": "scan",
    "reshape_like": "reshape", "unsqueeze": "expand_dims", "relu6": "clip", "gelu": "erf",
    "GradientTape": "gradients", "jacfwd": "jacobian", "jacrev": "jacobian",
    "manual_seed": "set_random_seed", "PRNGKey": "set_random_seed", "profile":
    "function(..., profile=True)",
}  # fmt: skip
_WAYS = {
    "K.jit(f) compiles functions of NumPy, their loops over `range` too": "njit prange vectorize "
    "guvectorize stencil numba",
    "K.jit.{name}(f) takes functions of NumPy; K.grad, K.jacobian, K.Rop and K.Lop take tensors":
    "value_and_grad vmap jvp vjp",
    "layers and optimizers are those of Keras, over import ckernels.keras3; without it a training "
    "step is K.function(inputs, loss, updates=[K.update_sub(w, rate * g)])": "nn optim Module "
    "Sequential Model Linear Dense layers optimizers Adam SGD minimize",
    "f = K.function([x], [y]), then f(array), is what a session runs": "Session session run",
    'K.set_floatx("float64") sets the default dtype, dtype="float64" that of one tensor': "float64 "
    "float32 set_default_dtype set_default_tensor_type enable_x64",
    "np.savez of K.get_value(w) keeps weights, pickle a whole function": "save load load_model "
    "save_model save_weights",
    "scipy.optimize.check_grad(f, g, x0) compares a gradient with differences": "verify_grad "
    "check_grad gradcheck check_gradient",
    "everything runs on the CPU": "device cuda to_device is_available",
}  # fmt: skip
WAYS = {name: hint for hint, names in _WAYS.items() for name in names.split()}


def missing_of_tensor(x, name):
    """The AttributeError for a name that tensors do not have."""
    sentence = f"a {type(x).__name__} has no attribute {name!r}"
    if name in TENSOR:
        return MissingName(f"{sentence}: {TENSOR[name]}")
    return MissingName(sentence, name, type(x))


def missing_of_module(name, names):
    """The AttributeError for a name that is none of the public `names`."""
    sentence = f"module 'ckernels' has no attribute {name!r}"
    if name in MODULE:
        same = MODULE[name]
        return MissingName(f"{sentence}; use {'K.' if same[0].isalpha() else ''}{same}")
    if name in WAYS:
        return MissingName(f"{sentence}: {WAYS[name].format(name=name)}")
    return MissingName(sentence, name, names)
