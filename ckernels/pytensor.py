"""PyTensor and PyMC on ckernels: `import ckernels.pytensor`, then `mode="CKERNELS"`.

>>> import ckernels.pytensor                                           # doctest: +SKIP
>>> f = pytensor.function([x], y, mode="CKERNELS")                     # doctest: +SKIP
>>> pm.sample(backend="ckernels")                                      # doctest: +SKIP

`python -m ckernels.pytensor program.py` runs a program as it is, with this mode as its default.
Needs PyTensor: `pip install ckernels[pytensor]`.
"""

from .bridges.pytensor import CKERNELS, CKernelsLinker
from .bridges.pytensor.raw import address
from .bridges.pytensor.report import report

__all__ = ["CKERNELS", "CKernelsLinker", "address", "compile_pymc_model", "report"]


def compile_pymc_model(model, **options):
    """A PyMC model for `nutpie.sample`: see `ckernels.bridges.nutpie.compile_pymc_model`."""
    from .bridges.nutpie import compile_pymc_model as compile_  # start-up: nutpie is optional

    return compile_(model, **options)


if __name__ == "__main__":
    from .bridges.pytensor.program import main

    raise SystemExit(main())
