"""theano.sandbox.cuda, the GPU back-end before Theano 1.0: it imports and says that there is none.

Libraries of those years import its names without asking. A name is a class here that nothing is an
instance of and that cannot be made.
"""

from ...base.errors import NotSupported
from ..base.names import absent_of as _absent_of

cuda_available = cuda_enabled = False
cuda_ndarray = None


def use(device, *args, **kwargs):
    """NotImplementedError: there is no GPU back-end."""
    raise NotSupported(f"there is no GPU back-end: {device} cannot be used; the device is the CPU")


def unuse():
    """Nothing is in use."""


def dnn_available():
    """False: there is no GPU back-end."""
    return False


dnn_available.msg = "there is no GPU back-end"


def _refused(self, *args, **kwargs):
    raise NotSupported(f"{type(self).__name__} needs a GPU, and there is no GPU back-end")


for _name in """
    CudaNdarray CudaNdarrayConstant CudaNdarraySharedVariable CudaNdarrayType
    CudaNdarrayVariable CURAND_RandomStreams GpuAlloc GpuConv GpuCorrMM GpuCorrMM_gradInputs
    GpuCorrMM_gradWeights GpuDimShuffle GpuDnnConv GpuDnnConvDesc GpuDnnConvGradI
    GpuDnnConvGradW GpuDnnPool GpuDnnPoolDesc GpuDnnPoolGrad GpuDnnSoftmax GpuElemwise
    GpuFromHost GpuGemm GpuJoin GpuOp GpuReshape GpuSubtensor HostFromGpu NVCC_compiler
    as_cuda_array as_cuda_ndarray_variable dnn_batch_normalization_test
    dnn_batch_normalization_train dnn_conv dnn_conv3d dnn_pool float32_shared_constructor
    gpu_alloc_empty gpu_contiguous gpu_from_host gpu_optimizer gpu_seqopt host_from_gpu
    local_gpu_multinomial register_opt
""".split():
    globals()[_name] = type(_name, (), {"__init__": _refused, "__module__": __name__})

__getattr__ = _absent_of("theano.sandbox.cuda")
