"""What a traced function sees in the place of SciPy's modules, functions and distributions.

A function that is served is a plain NumPy program of this folder, traced as a function of the
user's is; without traced arguments, and where it has no such program, it is SciPy's own. Nothing
here imports SciPy: there is a name only where the program has imported its module.
"""

import functools
import importlib
import inspect
import sys

from .parts import is_traced, unserved

ALGEBRA = (
    *("solve", "inv", "det", "cholesky", "cho_factor", "cho_solve", "solve_triangular", "expm"),
    *("norm", "eigh", "eigvalsh", "svd", "svdvals", "qr", "toeplitz", "block_diag"),
)
SERVED = {
    "numpy.linalg": ("algebra", ("lstsq",)),
    "scipy.special": ("algebra", ("logsumexp", "softmax", "log_softmax")),
    "scipy.linalg": ("algebra", ALGEBRA),
    "scipy.signal": ("signals", ("convolve", "fftconvolve", "correlate", "convolve2d",
                                 "correlate2d", "lfilter", "detrend")),
    "scipy.ndimage": ("signals", ("correlate1d", "convolve1d", "gaussian_filter1d", "laplace",
                                  "gaussian_filter", "uniform_filter1d", "uniform_filter", "sobel",
                                  "image_correlate", "image_convolve")),
    "scipy.fft": ("signals", ("fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2",
                              "dct")),
    "scipy.integrate": ("signals", ("trapezoid", "cumulative_trapezoid", "simpson")),
    "scipy.spatial.distance": ("signals", ("cdist", "pdist")),
    "scipy.stats": ("distributions", ("zscore", "gmean", "sem")),
}  # fmt: skip
PROGRAMS = {f"{__package__}.{name}" for name, _ in SERVED.values()}
OTHERS = ("scipy", "scipy.spatial")  # through which modules are reached


def served():
    """{id of a function or distribution of SciPy: (it, what serves it)} of the imported modules."""
    return _served(tuple(name for name in (*SERVED, *OTHERS) if name in sys.modules))


@functools.lru_cache(16)
def _served(names):
    found = {}
    for name in names:
        module = sys.modules[name]
        found[id(module)] = module, SciPyModule
        if name in OTHERS:
            continue
        programs = importlib.import_module(f"{__package__}.{SERVED[name][0]}")
        for each in SERVED[name][1]:
            original = getattr(module, each.removeprefix("image_"))
            found[id(original)] = original, getattr(programs, each)
        if name == "scipy.stats":
            kinds = dict.fromkeys(programs.DENSITIES, programs.Distribution)
            for each, kind in {**kinds, "multivariate_normal": programs.Normals}.items():
                original = getattr(module, each)
                found[id(original)] = original, kind(each, original)
    return found


class SciPyModule:
    """A module of SciPy."""

    def __init__(self, build, module):
        self.__dict__.update(build=build, module=module)

    def __getattr__(self, name):
        return self.build.seen(vars(self.module), name, getattr(self.module, name))


def standing(build, original, ours):
    """What stands for an object of SciPy in the trace of `build`."""
    if ours is SciPyModule:
        return SciPyModule(build, original)
    if not inspect.isfunction(ours):
        return ours
    program, signature = build.function(ours), inspect.signature(ours)

    @functools.wraps(original)
    def called(*args, **kwargs):
        if not is_traced(args, kwargs):
            return original(*args, **kwargs)
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            unserved(f"{original.__module__}.{original.__name__} with such arguments")
        return program(*args, **kwargs)

    return called
