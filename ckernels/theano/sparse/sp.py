"""Convolution and max pooling of images in rows, as products with a sparse matrix of patches.

An image, or a stack of them, is a row in raster order. Sizes are numbers, no variables. Other names
that Theano has here are those of theano.sparse.
"""

import numpy as np

from ...api.sparsetensor import scipy_sparse
from ...base.errors import ArgumentError
from ..base.names import absent_of as _absent_of
from ..classes.op import Op
from ..graph.apply import Apply
from ..handles.constructors import ivector, lvector
from ..handles.variables import as_tensor_variable
from ..tensor.joining import stack
from ..tensor.products import dot
from .functions import (  # noqa: F401
    CSM,
    clean,
    col_scale,
    diag,
    ensure_sorted_indices,
    remove0,
    row_scale,
    sp_sum,
    square_diagonal,
    structured_dot,
)


class ConvolutionIndices(Op):
    """Where the ones of the matrix stand that makes patches of an image in a row.

    Row ((y * width + x) * features + feature) * taps + tap of it, times an image, is what the tap
    of a kernel meets in the output pixel (y, x).
    """

    __props__ = ()

    @staticmethod
    def conv_eval(inshp, kshp, strides=(1, 1), mode="valid"):
        """`evaluate` with weights that all output pixels share."""
        return convolution_indices.evaluate(inshp, kshp, strides, mode=mode)

    @staticmethod
    def evaluate(inshp, kshp, strides=(1, 1), nkern=1, mode="valid", ws=True):
        """(indices, indptr, shape of the matrix, 'csc', (height, width) of the output).

        inshp    (height, width) of an image, or (features, height, width)
        kshp     (height, width) of the kernels
        strides  (dx, dy): columns, then rows, between output pixels
        mode     'valid', or 'full': with zeros around the image
        ValueError: the kernel does not fit, or an option is none of these.
        """
        if not ws or nkern != 1:
            raise ArgumentError("kernels share the patches of an image: ws is True and nkern is 1")
        if mode not in ("valid", "full"):
            raise ArgumentError(f"mode is 'valid' or 'full', not {mode!r}")
        features, image = _sizes(inshp)
        kernel, steps = np.array(kshp), np.array(strides[::-1])
        if len(kernel) != 2 or (kernel < 1).any() or (steps < 1).any():
            raise ArgumentError(f"a kernel of shape {kshp} with strides {strides} makes no patches")
        margin = kernel - 1 if mode == "full" else 0 * kernel
        out = -(-(image + 2 * margin - kernel + 1) // steps)
        if (out < 1).any():
            raise ArgumentError(
                f"a kernel of shape {tuple(kshp)} with strides {tuple(strides)} (columns, rows) "
                f"does not fit in images of shape {tuple(image.tolist())}"
            )
        tall, wide = image.tolist()
        y, x, feature, ky, kx = np.ogrid[: out[0], : out[1], :features, : kernel[0], : kernel[1]]
        iy, ix = y * steps[0] + ky - margin[0], x * steps[1] + kx - margin[1]
        inside = (iy >= 0) & (iy < tall) & (ix >= 0) & (ix < wide) & (feature >= 0)
        rows = np.arange(inside.size).reshape(inside.shape)[inside]
        columns = ((feature * tall + iy) * wide + ix)[inside]
        shape = inside.size, features * tall * wide
        made = scipy_sparse().csc_matrix((np.ones(len(rows)), (rows, columns)), shape)
        made.sort_indices()
        return made.indices, made.indptr, shape, "csc", out

    def make_node(self, inshp, kshp):
        given = [as_tensor_variable(x) for x in (inshp, kshp)]
        return Apply(self, given, [ivector(), ivector(), lvector()])

    def perform(self, node, inputs, outputs):
        indices, indptr, shape, *_ = self.evaluate(*(tuple(x.tolist()) for x in inputs))
        outputs[0][0], outputs[1][0] = indices.astype("int32"), indptr.astype("int32")
        outputs[2][0] = np.array(shape, dtype="int64")


convolution_indices = ConvolutionIndices()


def _sizes(shape):
    """(features, array of height and width) of such a shape."""
    shape = [int(d) for d in shape]
    if len(shape) not in (2, 3):
        raise ArgumentError(
            f"an image has the shape (height, width) or (features, height, width), not {shape}"
        )
    return (shape[0] if len(shape) == 3 else 1), np.array(shape[-2:])


def _patches(images, imgshp, kshp, strides, mode):
    """(patches, a row for each image; (height, width) of the output)."""
    indices, indptr, shape, kind, out = convolution_indices.conv_eval(imgshp, kshp, strides, mode)
    ones = np.ones(len(indices))
    matrix = CSM(kind)(*map(as_tensor_variable, (ones, indices, indptr, np.array(shape))))
    return structured_dot(matrix, images.T).T, out


def convolve(kerns, kshp, nkern, images, imgshp, step=(1, 1), bias=None, mode="valid",
             flatten=True):  # fmt: skip
    """(each image by each kernel, (nkern, height, width) of the output); kernels are not turned.

    kerns    matrix (nkern, features * height * width of kshp)
    images   matrix (batch, features * height * width of imgshp)
    step     (dx, dy): columns, then rows, between output pixels
    bias     vector of a number for each kernel
    flatten  True: the output is a matrix (batch, nkern * height * width), else a tensor
             (batch, nkern, height * width)
    ValueError: as ConvolutionIndices.evaluate.
    """
    kerns, images = as_tensor_variable(kerns), as_tensor_variable(images)
    features, _ = _sizes(imgshp)
    patches, out = _patches(images, imgshp, kshp, step, mode)
    pixels = int(np.prod(out))
    rows = patches.reshape(stack([images.shape[0] * pixels, features * int(np.prod(kshp))]), ndim=2)
    found = dot(rows, kerns.T)
    if bias is not None:
        found = found + bias
    found = found.reshape(stack([images.shape[0], pixels, nkern]), ndim=3).dimshuffle(0, 2, 1)
    return (found.flatten(2) if flatten else found), np.hstack((nkern, out))


def max_pool(images, imgshp, maxpoolshp):
    """(the largest number of each area of each image, (height, width) of the output).

    Areas of maxpoolshp (height, width) lie side by side; what is left at the ends is not used.
    images and the result are matrices (batch, features * height * width).
    """
    images = as_tensor_variable(images)
    features, _ = _sizes(imgshp)
    patches, out = _patches(images, imgshp, maxpoolshp, tuple(maxpoolshp)[::-1], "valid")
    pixels = int(np.prod(out))
    sizes = stack([images.shape[0], pixels, features, int(np.prod(maxpoolshp))])
    found = patches.reshape(sizes, ndim=4).max(axis=3)
    return found.dimshuffle(0, 2, 1).flatten(2), out


__getattr__ = _absent_of("theano.sparse.sandbox.sp")
