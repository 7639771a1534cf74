"""Convolutions of signals: Convolve1d and Convolve2d, in batches by Blockwise."""

import math

from .... import ops
from ..registry import Untranslated, translates

LARGE = 512  # elements of a kernel of two axes; larger ones are left to SciPy, which has an FFT


@translates("Convolve1d", "Convolve2d")
def convolve(context, op, node, inputs):
    """numpy.convolve(x, y) by ops.conv, which does not turn the kernel around: `y` is flipped."""
    dtype = node.outputs[0].type.dtype
    x, y = [ops.cast(i, dtype) for i in inputs[:2]]
    mode = inputs[2].value
    if mode is None or not dtype.startswith("float"):
        raise Untranslated("a mode that is known in the call only, or integers")
    sizes = x.shape, y.shape
    if 0 in x.shape + y.shape:
        raise Untranslated("nothing to convolve")
    if getattr(op, "method", "direct") != "direct":
        if None in y.shape or math.prod(y.shape) > LARGE or op.method == "fft":
            raise Untranslated("a kernel for which an FFT may be faster")
    if not mode:
        if any(None in shape for shape in sizes):
            raise Untranslated("the smaller one of two unknown sizes")
        larger = [m >= n for m, n in zip(*sizes)]
        if not any(larger):
            x, y = y, x
        elif not all(larger):
            raise Untranslated("neither fits into the other")
    images, kernel = ops.expand(x, (0, x.ndim + 1)), ops.expand(ops.flip(y), (y.ndim, y.ndim + 1))
    out = ops.conv(images, kernel, padding="full" if mode else "valid")
    return ops.squeeze(out, (0, out.ndim - 1))
