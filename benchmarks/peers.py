"""How each peer runs a workload, in its best honest form.

Every peer gets arrays of its own kind, made before the clock runs, and returns a fresh result.
NumPy may reuse its temporaries (`out=`), torch runs without autograd where no gradient is asked,
torch.compile gets forward and backward in one graph, JAX is jitted and waited for, PyTensor trusts
its inputs. Threads are equal for all.
"""

import functools
import os

import numpy as np


def as_list(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


class Peer:
    """A way to run workloads: `prepare` returns the call to be timed."""

    module = ""  # what has to be importable
    hook = ""  # the name workloads use for it

    def __init__(self, threads):
        self.threads = threads
        self.start()

    def start(self):
        """Imports the library and sets the number of threads."""

    def version(self):
        return __import__(self.module).__version__

    def formula(self, workload):
        return getattr(workload, self.hook, None) or workload.formula

    def prepare(self, workload, arrays, params):
        stateful = getattr(workload, self.hook + "_call", None)
        if stateful:
            return stateful(self, *arrays, **params)
        return self.stateless(workload, arrays, params)

    def stateless(self, workload, arrays, params):
        raise NotImplementedError

    def to_numpy(self, result):
        return [np.asarray(r) for r in as_list(result)]

    def stats(self):
        return {}


class Numpy(Peer):
    module = hook = "numpy"

    def stateless(self, workload, arrays, params):
        return functools.partial(self.formula(workload), np, *arrays, **params)


class Numexpr(Peer):
    module = hook = "numexpr"

    def start(self):
        import numexpr

        self.ne = numexpr
        numexpr.set_num_threads(self.threads)

    def prepare(self, workload, arrays, params):
        text = workload.numexpr
        if callable(text):
            text = text(**params)
        if text is None:
            raise NotImplementedError("not expressible")
        names = {**dict(zip(workload.names, arrays)), **workload.constants}
        self.ne.evaluate(text, local_dict=names)
        return functools.partial(self.ne.re_evaluate, local_dict=names)


class Torch(Peer):
    module = hook = "torch"
    compiled = False

    def start(self):
        import torch

        self.lib = torch
        torch.set_num_threads(self.threads)

    def compile(self, function):
        return self.lib.compile(function, dynamic=False) if self.compiled else function

    def tensors(self, arrays):
        return [self.lib.from_numpy(a) for a in arrays]

    def stateless(self, workload, arrays, params):
        torch, formula = self.lib, self.formula(workload)
        tensors = self.tensors(arrays)

        def forward(*tensors):
            return formula(torch, *tensors, **params)

        if workload.gradient:
            *inputs, cotangent = tensors
            return self.forward_and_backward(forward, inputs, workload.wrt, cotangent)
        return self.without_autograd(functools.partial(self.compile(forward), *tensors))

    def without_autograd(self, call):
        self.lib.set_grad_enabled(False)
        return call

    def forward_and_backward(self, forward, inputs, wrt, cotangent):
        """The call that returns y = forward(*inputs) and the products of the cotangent with its
        derivatives by inputs[i], i in `wrt`; compiled it is one graph."""
        torch = self.lib
        torch.set_grad_enabled(not self.compiled)
        chosen = [inputs[i] for i in wrt]

        def of_chosen(*values):
            full = list(inputs)
            for i, value in zip(wrt, values):
                full[i] = value
            return forward(*full)

        def whole(cotangent, *chosen):
            y, pull = torch.func.vjp(of_chosen, *chosen)
            return (y, *pull(cotangent))

        def eager():
            y = forward(*inputs)
            return (y, *torch.autograd.grad(y, chosen, cotangent))

        if self.compiled:
            return functools.partial(self.compile(whole), cotangent, *chosen)
        for tensor in chosen:
            tensor.requires_grad_()
        return eager

    def to_numpy(self, result):
        return [r.detach().numpy() for r in as_list(result)]


class TorchCompile(Torch):
    compiled = True


class Jax(Peer):
    module = hook = "jax"

    def start(self):
        import jax

        jax.config.update("jax_enable_x64", True)
        self.lib, self.np = jax, jax.numpy

    def stateless(self, workload, arrays, params):
        jax, formula = self.lib, self.formula(workload)

        def forward(*arrays):
            return formula(jax.numpy, *arrays, **params)

        def with_gradient(*arrays):
            *inputs, cotangent = arrays

            def of_wrt(*wrt):
                full = list(inputs)
                for i, value in zip(workload.wrt, wrt):
                    full[i] = value
                return forward(*full)

            y, pull = jax.vjp(of_wrt, *(inputs[i] for i in workload.wrt))
            return (y, *pull(cotangent))

        jitted = jax.jit(with_gradient if workload.gradient else forward)
        inputs = [jax.device_put(a) for a in arrays]
        return lambda: jax.block_until_ready(jitted(*inputs))


class Pytensor(Peer):
    module = hook = "pytensor"
    mode = "NUMBA"

    def start(self):
        import pytensor
        import pytensor.tensor

        self.lib, self.np = pytensor, pytensor.tensor
        if self.mode == "CVM":
            pytensor.config.openmp = True

    def function(self, inputs, outputs, **options):
        f = self.lib.function(inputs, outputs, mode=self.mode, **options)
        f.trust_input = True
        return f

    def symbol(self, array):
        # length-1 axes are known to broadcast, as a user of PyTensor would declare them
        return self.np.tensor(
            dtype=array.dtype.name, shape=tuple(1 if n == 1 else None for n in array.shape)
        )

    def stateless(self, workload, arrays, params):
        symbols = [self.symbol(a) for a in arrays]
        if workload.gradient:
            *inputs, cotangent = symbols
            y = self.formula(workload)(self.np, *inputs, **params)
            wrt = [inputs[i] for i in workload.wrt]
            loss = (y * cotangent).sum()
            outputs = [y, *self.lib.grad(loss, wrt)]
        else:
            outputs = self.formula(workload)(self.np, *symbols, **params)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else outputs
        return functools.partial(self.function(symbols, outputs), *arrays)


class PytensorC(Pytensor):
    mode = "CVM"


class Ckernels(Peer):
    module = hook = "ckernels"

    def start(self):
        import ckernels

        self.lib = self.np = ckernels
        ckernels.set_num_threads(self.threads)
        self.functions = []

    def function(self, inputs, outputs, **options):
        f = self.lib.function(inputs, outputs, **options)
        self.functions = [f]
        return f

    def symbol(self, array):
        # the batch size is left open, as Keras layers do
        shape = array.shape if 1 in array.shape[:1] else (None, *array.shape[1:])
        return self.lib.placeholder(shape=shape if array.ndim else (), dtype=array.dtype.name)

    def stateless(self, workload, arrays, params):
        K = self.lib
        symbols = [self.symbol(a) for a in arrays]
        if workload.gradient:
            *inputs, cotangent = symbols
            y = self.formula(workload)(K, *inputs, **params)
            outputs = [y, *K.gradients(K.sum(y * cotangent), [inputs[i] for i in workload.wrt])]
        else:
            outputs = self.formula(workload)(K, *symbols, **params)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else outputs
        return functools.partial(self.function(symbols, outputs), *arrays)

    def stats(self):
        stats = self.functions[0].stats() if self.functions else {}
        kept = {k: stats.get(k) for k in ("nodes", "instructions", "built", "compile_seconds")}
        return {**kept, "kernels": len(stats.get("kernels", ()))}


class Limit(Peer):
    """Hand-written C, or the bare BLAS: what the hardware allows for this traffic."""

    module = "benchmarks.limits"
    hook = "limit"

    def start(self):
        from benchmarks import limits

        self.c = limits.Limits(self.threads)

    def version(self):
        return self.c.compiler

    def prepare(self, workload, arrays, params):
        call = workload.limit(self.c, *arrays, **params)
        if call is None:
            raise NotImplementedError("no limit known")
        return call


PEERS = {
    "numpy": Numpy,
    "numexpr": Numexpr,
    "torch": Torch,
    "torch-compile": TorchCompile,
    "jax": Jax,
    "pytensor-numba": Pytensor,
    "pytensor-c": PytensorC,
    "ckernels": Ckernels,
    "limit": Limit,
}  # fmt: skip


def environment(name, threads, scratch):
    """Variables a worker of this peer starts with."""
    count = str(threads)
    env = dict(os.environ)
    env.update(
        OMP_NUM_THREADS=count,
        MKL_NUM_THREADS=count,
        OPENBLAS_NUM_THREADS=count,
        NUMEXPR_NUM_THREADS=count,
        NUMEXPR_MAX_THREADS=count,
        NUMBA_NUM_THREADS=count,
        JAX_PLATFORMS="cpu",
        TORCHINDUCTOR_CACHE_DIR=os.path.join(scratch, "inductor"),
        PYTENSOR_FLAGS=f"base_compiledir={scratch}/{name}",
    )
    for tuned in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        env.pop(tuned, None)  # every OpenBLAS picks its kernels for this processor
    return env
