"""Keras 3 on ckernels: `import ckernels.keras3` before `import keras`, or KERAS_BACKEND=ckernels.

`python -m ckernels.keras3 program.py` runs a program so. Beside what Keras has: `jit` makes a
function of arrays one compiled call, `value_and_grad` gives gradients within it, and
`training_function` makes the step of a model what trainers on many machines take.
"""

from .hook import activate

activate()

__all__ = ["activate", "gradients", "jit", "training_function", "value_and_grad"]


def __getattr__(name):
    """What needs Keras is loaded when it is asked for: Keras itself imports this package."""
    if name in ("gradients", "value_and_grad"):
        from . import tracing  # start-up: it needs Keras, which may be loading

        return getattr(tracing, name)
    if name == "training_function":
        from .machines import training_function  # start-up: as above

        return training_function
    if name == "jit":
        from .tracing import Step  # start-up: as above

        return Step
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
