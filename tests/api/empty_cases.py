"""One call or more of every public K function that takes tensors, with letters for sizes.

`CASES` has (name, build, shapes, dtypes, NumPy's function or None); a shape is a string of letters
and digits, equal letters are equal sizes: "nk km" is a product of matrices.
"""

import numpy as np

import ckernels as K

CASES = []
FLOAT, INT, BOOL = "float32", "int32", "bool"


def case(name, build, shapes, dtypes=FLOAT, like=None):
    shapes = [s.strip("_") for s in shapes.split()]
    dtypes = dtypes.split() if " " in dtypes else [dtypes] * len(shapes)
    CASES.append((name, build, shapes, dtypes, like))


for _name in (
    "abs arccos arcsin arctan ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p log2 "
    "logical_not round rsqrt sigmoid sign sin sinh softplus softsign sqrt square tan tanh isinf "
    "isnan hard_sigmoid elu relu stop_gradient identity ones_like zeros_like to_dense"
).split():
    case(
        _name,
        getattr(K, _name),
        "nm",
        BOOL if _name == "logical_not" else FLOAT,
        getattr(np, _name, None) if _name not in ("round", "log", "sqrt", "identity") else None,
    )

for _name in "equal greater greater_equal less less_equal not_equal maximum minimum pow".split():
    case(_name, getattr(K, _name), "nm nm", like=getattr(np, _name, None))
    case(_name, getattr(K, _name), "nm m", like=getattr(np, _name, None))
    case(_name, getattr(K, _name), "n1 1m", like=getattr(np, _name, None))
for _name in ("logical_and", "logical_or"):
    case(_name, getattr(K, _name), "nm nm", BOOL, getattr(np, _name))
case("logdiffexp", K.logdiffexp, "nm m")
case("allclose", K.allclose, "nm nm", like=np.allclose)

for _name in "sum prod mean max min any all var std logsumexp argmax argmin".split():
    for _axis in (None, 0, 1, -1, (0, 1)):
        if isinstance(_axis, tuple) and _name.startswith("arg"):
            continue
        _np = getattr(np, _name, None)
        case(
            _name,
            lambda x, name=_name, a=_axis: getattr(K, name)(x, axis=a),
            "nm",
            FLOAT,
            _np and (lambda x, f=_np, a=_axis: f(x, axis=a)),
        )
    case(_name, lambda x, name=_name: getattr(K, name)(x[:, ::-1], axis=0), "nm")
    case(_name, lambda x, name=_name: getattr(K, name)(x * 2.0 + 1.0, axis=-1), "nmk")
    case(_name, lambda x, name=_name: getattr(K, name)(K.transpose(x), axis=0), "nm")
for _name in ("cumsum", "cumprod"):
    for _axis in (0, 1):
        case(
            _name,
            lambda x, name=_name, a=_axis: getattr(K, name)(x, a),
            "nm",
            FLOAT,
            lambda x, name=_name, a=_axis: getattr(np, name)(x, a),
        )
for _name in ("softmax", "log_softmax"):
    case(_name, getattr(K, _name), "nm")
    case(_name, lambda x, name=_name: getattr(K, name)(x + 1.0), "nmk")
# fmt: off
case("scaled_dot_product_attention", K.scaled_dot_product_attention, "ank amk aml")
case("l2_normalize", lambda x: K.l2_normalize(x, 1), "nm")
case("clip", lambda x: K.clip(x, -0.5, 0.5), "nm", like=lambda x: np.clip(x, -0.5, 0.5))

case("dot", K.dot, "nk km", like=np.dot)
case("dot", K.dot, "ank km", like=np.dot)
case("dot", K.dot, "k km", like=np.dot)
case("dot", K.dot, "nk k", like=np.dot)
case("dot", K.dot, "k k", like=np.dot)
case("dot", lambda x, w, b: K.relu(K.dot(x, w) + b), "nk km m")
case("dot", lambda x, w: K.sum(K.square(K.dot(x, w)), axis=0), "nk km")
case("matmul", K.matmul, "nk km", like=np.matmul)
case("matmul", K.matmul, "ank akm", like=np.matmul)
case("matmul", K.matmul, "ank km", like=np.matmul)
case("batch_dot", lambda x, y: K.batch_dot(x, y, axes=(2, 1)), "ank akm", like=np.matmul)
case("batch_dot", lambda x, y: K.batch_dot(x, y, axes=1), "nk nk")
case("inverse", K.inverse, "nn", like=np.linalg.inv)
case("det", K.det, "nn", like=np.linalg.det)
case("solve", K.solve, "nn nm", like=np.linalg.solve)
case("svd", lambda x: K.svd(x)[1], "nm")
case("transpose", K.transpose, "nmk", like=np.transpose)
case("permute_dimensions", lambda x: K.permute_dimensions(x, (1, 2, 0)) + 1.0, "nmk")
case("diag", K.diag, "n", like=np.diag)
case("diag", K.diag, "nm", like=np.diag)
case("fill_diagonal", lambda x: K.fill_diagonal(x, 2.0), "nm")

case("gather", K.gather, "nm k", "float32 int32")
case("gather", K.gather, "n kj", "float32 int32")
case("one_hot", lambda i: K.one_hot(i, 3), "nm", INT)
case("take", lambda x, i: K.take(x, i, axis=1), "nm k", "float32 int32")
case("nonzero", lambda x: K.stack(list(K.nonzero(x))), "nm")
case("in_top_k", lambda p, t: K.in_top_k(p, t, 1), "nm n", "float32 int32")
case("concatenate", lambda x, y: K.concatenate([x, y], 0), "nm km",
     like=lambda x, y: np.concatenate([x, y], 0))
case("concatenate", lambda x, y: K.concatenate([x * 2.0, y], -1), "nm nk")
case("stack", lambda x, y: K.stack([x, y], 1), "nm nm", like=lambda x, y: np.stack([x, y], 1))
case("tile", lambda x: K.tile(x, (2, 3)), "nm", like=lambda x: np.tile(x, (2, 3)))
case("repeat", lambda x: K.repeat(x, 3), "nm")
case("repeat_elements", lambda x: K.repeat_elements(x, 2, 1), "nm", like=lambda x: x.repeat(2, 1))
case("reverse", lambda x: K.reverse(x, 1), "nm", like=lambda x: x[:, ::-1])
case("flatten", K.flatten, "nmk", like=np.ravel)
case("batch_flatten", K.batch_flatten, "nmk")
case("reshape", lambda x: K.reshape(x, (-1, 6)), "n23", like=lambda x: x.reshape(-1, 6))
case("expand_dims", lambda x: K.expand_dims(x, 1), "nm", like=lambda x: x[:, None])
case("squeeze", lambda x: K.squeeze(x, 1), "n1m", like=lambda x: x[:, 0])
case("shape", K.shape, "nm", like=np.shape)
case("where", lambda c, x, y: K.where(c, x, y), "nm nm nm", "bool float32 float32", np.where)
case("switch", lambda x, y: K.switch(K.sum(x) > 1.0, x, y), "nm nm")
case("ifelse", lambda x, y: K.ifelse(K.sum(x) > 1.0, x, y), "nm nm")
case("set_subtensor", lambda x, y: K.set_subtensor(x[:, 1:], y), "n3 n2")
case("inc_subtensor", lambda x, y: K.inc_subtensor(x[::-1], y), "nm nm")
case("inc_subtensor", lambda x, y, i: K.inc_subtensor(x[i], y), "nm km k", "float32 float32 int32")
case("temporal_padding", K.temporal_padding, "nmk")
case("spatial_2d_padding", K.spatial_2d_padding, "nhwc")
case("spatial_3d_padding", K.spatial_3d_padding, "nhwdc")
case("resize_images", lambda x: K.resize_images(x, 2, 2, "channels_last"), "nhwc")
case("resize_volumes", lambda x: K.resize_volumes(x, 2, 1, 2, "channels_last"), "nhwdc")

case("conv1d", lambda x, w: K.conv1d(x, w, padding="same"), "nhc 2co")
case("conv2d", lambda x, w: K.conv2d(x, w, padding="same"), "nhwc 22co")
case("conv2d", lambda x, w: K.conv2d(x, w), "n44c 22co")
case("conv3d", lambda x, w: K.conv3d(x, w, padding="same"), "n333c 222co")
case("conv", lambda x, w: K.conv(x, w, padding="same"), "nhwc 22co")
case("depthwise_conv2d", lambda x, w: K.depthwise_conv2d(x, w), "n33c 22c2")
case("separable_conv1d", lambda x, d, p: K.separable_conv1d(x, d, p), "n3c 2c1 co")
case("separable_conv2d", lambda x, d, p: K.separable_conv2d(x, d, p), "n33c 22c1 co")
case("conv2d_transpose", lambda x, w: K.conv2d_transpose(x, w, (K.shape(x)[0], 4, 4, 2)),
     "n33c 222c")
case("conv3d_transpose", lambda x, w: K.conv3d_transpose(x, w, (K.shape(x)[0], 3, 3, 3, 2)),
     "n222c 2222c")
case("conv_transpose", lambda x, w: K.conv_transpose(x, w, (K.shape(x)[0], 4, 4, 2)), "n33c 222c")
case("local_conv1d", lambda x, w: K.local_conv1d(x, w, (2,), (1,)), "n4c 3do")
case("local_conv2d", lambda x, w: K.local_conv2d(x, w, (2, 2), (1, 1), (2, 2)), "n33c 4do")
# fmt: on
for _mode in ("max", "avg"):
    case("pool2d", lambda x, m=_mode: K.pool2d(x, (2, 2), pool_mode=m), "n44c")
    case("pool2d", lambda x, m=_mode: K.pool2d(x, (2, 2), padding="same", pool_mode=m), "nhwc")
    case("pool3d", lambda x, m=_mode: K.pool3d(x, (2, 2, 2), pool_mode=m), "n444c")
    case("pool", lambda x, m=_mode: K.pool(x, (2,), pool_mode=m), "n4c")
# fmt: off
case("bias_add", K.bias_add, "nm m")
case("bias_add", K.bias_add, "nhwc c")

case("batch_normalization", lambda x, m, v: K.batch_normalization(x, m, v, m, v), "nm m m")
case("normalize_batch_in_training",
     lambda x, g: K.normalize_batch_in_training(x, g, g, [0])[0], "nm m")
case("dropout", lambda x: K.dropout(x, 0.5, seed=1), "nm")
case("binary_crossentropy", K.binary_crossentropy, "nm nm")
case("categorical_crossentropy", K.categorical_crossentropy, "nm nm")
case("sparse_categorical_crossentropy", lambda t, x: K.sparse_categorical_crossentropy(x, t),
     "n nm", "int32 float32")
case("in_train_phase", lambda x, y: K.in_train_phase(x, y, training=1), "nm nm")
case("in_test_phase", lambda x, y: K.in_test_phase(x, y, training=1), "nm nm")
case("cast", lambda x: K.cast(x, "int32"), "nm", like=lambda x: x.astype("int32"))
# fmt: on

for _name in ("random_uniform", "random_normal", "random_binomial", "truncated_normal"):
    case(_name, lambda x, name=_name: getattr(K, name)(K.shape(x), seed=1), "nm")
# fmt: off
case("arange", lambda x: K.arange(K.shape(x)[0]) * 2, "nm")

case("cumsum", lambda x: K.scan(lambda r, s: r + s, x, [K.zeros_like(x[0])])[0], "2m")
case("scan", lambda x: K.scan(lambda r: K.sum(r) + r, x)[0], "nm")
case("scan", lambda x, y: K.scan(lambda r, s: s * 0.5 + K.dot(r, y), x, [K.sum(y, axis=0)])[0],
     "nm mm")
case("map_fn", lambda x: K.map_fn(lambda r: r * 2.0, x), "nm")
case("foldl", lambda x: K.foldl(lambda s, r: s + K.sum(r), x, initializer=K.constant(1.0)), "nm")
case("foldr", lambda x: K.foldr(lambda s, r: s + K.sum(r), x, initializer=K.constant(1.0)), "nm")
case("rnn", lambda x, h: K.rnn(lambda r, s: (r + s[0], [r + s[0]]), x, [h])[0], "n3m nm")
case("rnn", lambda x, h: K.rnn(lambda r, s: (r + s[0], [r + s[0]]), x, [h])[1], "ntm nm")

case("ctc_batch_cost", K.ctc_batch_cost, "nl ntc n1 n1", "int32 float32 int32 int32")
case("ctc_decode", lambda y, t: K.ctc_decode(y, t)[0][0], "ntc n", "float32 int32")
case("ctc", lambda x, y, t: K.ctc(x, y, t), "tnc nl n", "float32 int32 int32")

case("gradients", lambda x: K.gradients(K.sum(K.square(x)), [x])[0], "nm")
case("jacobian", lambda x: K.jacobian(K.sum(K.square(x), axis=1), x), "nm")
case("hessian", lambda x: K.hessian(K.sum(x ** 3), x), "n")
case("Rop", lambda x, v: K.Rop(K.tanh(x), x, v), "nm nm")
case("Lop", lambda x, v: K.Lop(K.tanh(x), x, v), "nm nm")
# fmt: on

for _name in (
    "angle arccosh arcsinh arctanh conj deg2rad erfcinv erfcx erfinv gamma gammaln i0 i0e i1 i1e "
    "imag isfinite j0 j1 log1mexp log_ndtr ndtr ndtri_exp psi rad2deg real tri_gamma "
    "trunc zero_grad"
).split():
    case(_name, getattr(K, _name), "nm")
for _name in "arctan2 logaddexp betaln chi2sf gammainc gammaincc ive kve owens_t".split():
    case(_name, getattr(K, _name), "nm nm")
    case(_name, getattr(K, _name), "nm m")
case("betainc", K.betainc, "nm nm nm")
case("isclose", K.isclose, "nm nm", like=np.isclose)
case("logical_xor", K.logical_xor, "nm nm", BOOL, np.logical_xor)
case("grad_clip", lambda x: K.grad_clip(x, -1.0, 1.0), "nm")
case("grad_scale", lambda x: K.grad_scale(x, 2.0), "nm")
case("check", lambda x: K.check(x, K.all(K.isfinite(x))), "nm")
for _name in ("tril", "triu"):
    case(
        _name,
        lambda x, name=_name: getattr(K, name)(x, 1),
        "nm",
        like=lambda x, name=_name: getattr(np, name)(x, 1),
    )
# fmt: off
case("tri", lambda x: K.tri(K.shape(x)[0], K.shape(x)[1]) + 0 * x, "nm")
case("trace", K.trace, "nm", like=np.trace)
case("diagonal", lambda x: K.diagonal(x, 1), "nmk", like=lambda x: np.diagonal(x, 1))
case("fill_diagonal_offset", lambda x: K.fill_diagonal_offset(x, 2.0, 1), "nm")
case("moveaxis", lambda x: K.moveaxis(x, 0, 2), "nmk", like=lambda x: np.moveaxis(x, 0, 2))
case("swapaxes", lambda x: K.swapaxes(x, 0, 1), "nm", like=lambda x: np.swapaxes(x, 0, 1))
case("roll", lambda x: K.roll(x, 1, 0), "nm", like=lambda x: np.roll(x, 1, 0))
case("split", lambda x: K.split(x, 2, axis=1), "n4")
case("broadcast_to", lambda x: K.broadcast_to(x, (K.shape(x)[0], 5)), "n1")
case("outer", K.outer, "n m", like=np.outer)
case("tensordot", lambda x, y: K.tensordot(x, y, 1), "nk km",
     like=lambda x, y: np.tensordot(x, y, 1))
case("kron", K.kron, "nm kj", like=np.kron)
case("matrix_dot", K.matrix_dot, "nk km ml")
case("matrix_power", lambda x: K.matrix_power(x, 3), "nn")
case("expm", K.expm, "nn")
case("slogdet", lambda x: K.slogdet(x)[1], "nn")
case("cholesky", lambda x: K.cholesky(K.dot(K.transpose(x), x) + 9.0), "nn")
case("cho_solve", K.cho_solve, "nn nm")
case("solve_triangular", K.solve_triangular, "nn nm")
case("qr", lambda x: K.qr(K.stop_gradient(x))[1], "nm")
case("pinv", K.pinv, "nm")
case("eig", lambda x: K.eig(x)[0], "nn")
case("eigh", lambda x: K.eigh(x)[0], "nn")
case("eigvalsh", K.eigvalsh, "nn")
case("lstsq", lambda a, b: K.lstsq(a, b)[0], "nm nk")
case("tensorinv", lambda x: K.tensorinv(x, 1), "nn")
case("tensorsolve", K.tensorsolve, "nn n")
case("rfft", K.rfft, "nm")
case("irfft", K.irfft, "nm2")
case("sort", lambda x: K.sort(x, 0), "nm", like=lambda x: np.sort(x, 0))
case("argsort", lambda x: K.argsort(x, 0), "nm", like=lambda x: np.argsort(x, 0))
case("top_k", lambda x: K.top_k(x, 1)[0], "nm")
case("partition", lambda x: K.partition(x, 1), "n3", like=lambda x: np.sort(x))
case("median", lambda x: K.median(x, 1), "n3", like=lambda x: np.median(x, 1))
case("quantile", lambda x: K.quantile(x, 0.3, 1), "n3", like=lambda x: np.quantile(x, 0.3, 1))
case("percentile", lambda x: K.percentile(x, [9, 50], 1), "n3")
case("searchsorted", K.searchsorted, "n k", like=np.searchsorted)
case("unique", K.unique, "n", like=np.unique)
case("bincount", K.bincount, "n", INT)
case("diff", lambda x: K.diff(x, 1, 0), "nm", like=lambda x: np.diff(x, 1, 0))
case("cov", K.cov, "nm")
case("choose", lambda i, x, y: K.choose(i, [x, y], mode="wrap"), "n n n", "int32 float32 float32")
case("compress", lambda c, x: K.compress(c, x, axis=0), "n nm", "bool float32")
case("flatnonzero", K.flatnonzero, "nm")
case("take_along_axis", lambda x, i: K.take_along_axis(x, i, 0), "nm km", "float32 int32")
case("ravel_multi_index", lambda i: K.ravel_multi_index((i % 2, i % 3), (2, 3)), "n", INT)
case("unravel_index", lambda i: K.unravel_index(i % 6, (2, 3))[0], "n", INT)
case("categorical", lambda p: K.categorical(p, seed=1), "n3")
case("multinomial", lambda p: K.multinomial(p / K.sum(p, -1, keepdims=True), seed=1), "n3")
case("permutation", lambda x: K.permutation(K.shape(x)[0], seed=1), "nm")
case("bartlett", lambda x: K.bartlett(K.shape(x)[0]), "nm")
case("py_op", lambda x: K.py_op(np.tanh, [x], x, gradient=lambda i, o, g: [g[0]]), "nm",
     like=np.tanh)
# fmt: on
DOUBLED = """for (int64_t i = 0; i < x_shape[0]; i++)
    for (int64_t j = 0; j < x_shape[1]; j++)
        y[i * x_shape[1] + j] = 2 * x[i * x_strides[0] + j * x_strides[1]];"""
case(
    "c_op",
    lambda x: K.c_op(DOUBLED, {"x": x}, {"y": x}, gradient=lambda i, o, g: [2 * g[0]]),
    "nm",
    like=lambda x: 2 * x,
)

# Names of settings, values, classes and rooms: they compute nothing of tensors.
NO_TENSORS = set(
    "In Out RandomStreams Split Tensor Variable backend batch_get_value batch_set_value "
    "blas_info cast_to_floatx checkpoint clear_session compat config constant count_params "
    "ctc_label_dense_to_sparse debugprint draw dtype epsilon errors eval explain export eye "
    "floatx function get_num_threads get_uid get_value get_variable_shape grad jit "
    "image_data_format image_dim_ordering int_shape intx is_keras_tensor is_placeholder "
    "is_sparse is_tensor is_variable learning_phase manual_variable_initialization "
    "moving_average_update ndim numpy ones placeholder pp print_tensor random_normal_variable "
    "random_uniform_variable reset_uids set_epsilon set_floatx set_image_data_format "
    "set_image_dim_ordering set_intx set_learning_phase set_num_threads set_random_seed "
    "set_value shared sparse split_updates threads_info until update update_add update_sub "
    "variable zeros".split()
)
