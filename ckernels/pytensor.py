"""PyTensor and PyMC on ckernels: `import ckernels.pytensor`, then `mode="CKERNELS"`.

>>> import ckernels.pytensor                                           # doctest: +SKIP
>>> f = pytensor.function([x], y, mode="CKERNELS")                     # doctest: +SKIP
>>> pm.sample(backend="ckernels")                                      # doctest: +SKIP

`python -m ckernels.pytensor program.py` runs a program as it is, with this mode as its default.
Needs PyTensor: `pip install ckernels[pytensor]`.
"""
from .bridges.pytensor import CKERNELS, CKernelsLinker
from .bridges.pytensor.report import report

__all__ = ["CKERNELS", "CKernelsLinker", "report"]

if __name__ == "__main__":
    from .bridges.pytensor.program import main
    main()
