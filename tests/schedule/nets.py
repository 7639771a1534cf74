"""Deep graphs for the scheduler: residual layers with batch norm, blocks of attention, chains."""

from codegen.planned import leaf

from ckernels import ops
from ckernels.autodiff.reverse import grad
from ckernels.graph.walk import rebuild
from ckernels.rewrite import optimise
from ckernels.schedule.chunks import in_chunks


def residual(layers, rows=8, width=16):
    """(leaves, roots): a loss and the steps of SGD for `layers` layers with batch norm."""
    x, leaves, weights = leaf((rows, width)), [], []
    h = x
    for _ in range(layers):
        w, scale, shift = leaf((width, width)), leaf((width,)), leaf((width,))
        weights += [w, scale, shift]
        y = ops.matmul(h, w)
        off = ops.sub(y, ops.mean(y, 0))
        h = ops.relu(off * ops.rsqrt(ops.var(y, 0) + 1e-3) * scale + shift + h)
    leaves = [x, *weights]
    loss = ops.mean(ops.square(h))
    return leaves, [loss, *(w - 0.01 * g for w, g in zip(weights, grad(loss, weights)))]


def batch_norm(rows, width=70):
    """(leaves, roots): a batch norm and its gradients, whose loops over chunks are cut in two."""
    leaves = x, scale, shift, g = (
        leaf((rows, width)),
        leaf((width,)),
        leaf((width,)),
        leaf((rows, width)),
    )
    y = ops.sub(x, ops.mean(x, 0)) * ops.rsqrt(ops.var(x, 0) + 1e-5) * scale + shift
    return leaves, [y, *grad(ops.sum(ops.mul(y, g)), [x, scale, shift])]


def attention(blocks, rows=6, width=8):
    """(leaves, roots): blocks of layer norm, softmax and residuals, and all their gradients."""
    x, weights = leaf((2, rows, width)), []
    h = x
    for _ in range(blocks):
        q, k, v, o = (leaf((width, width)) for _ in range(4))
        weights += [q, k, v, o]
        off = ops.sub(h, ops.mean(h, -1, keepdims=True))
        n = off * ops.rsqrt(ops.var(h, -1, keepdims=True) + 1e-5)
        scores = ops.matmul(ops.matmul(n, q), ops.swapaxes(ops.matmul(n, k), -1, -2))
        h = h + ops.matmul(ops.matmul(ops.softmax(scores, -1), ops.matmul(n, v)), o)
    loss = ops.mean(ops.square(h))
    return [x, *weights], [loss, *grad(loss, weights)]


def chain(length, size=50):
    """(leaves, roots): `length` elementwise operations and their gradient."""
    x = leaf((size,))
    h = x
    for _ in range(length // 2):
        h = ops.tanh(h) * 1.01
    total = ops.sum(h)
    return [x], [total, grad(total, [x])[0]]


def sines(terms, size=50):
    """(leaves, roots): a sum of sines that all read one tensor."""
    x = leaf((size,))
    total = ops.sin(x)
    for k in range(2, terms + 1):
        total = total + ops.sin(x * float(k))
    return [x], [total]


def adam(tensors):
    """(leaves, roots): many tensors updated with one step size, a scalar all of them compute."""
    t = leaf(())
    step = 0.001 * ops.sqrt(1 - ops.pow(0.999, t)) / (1 - ops.pow(0.9, t))
    weights = [leaf((k % 7 + 2, 3)) for k in range(tensors)]
    return [t, *weights], [w - step * ops.square(w) for w in weights]


def prepared(roots):
    """Concrete `roots` as the scheduler gets them."""
    return rebuild(optimise(roots), step=in_chunks)
