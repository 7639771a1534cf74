"""Keras 3 on ckernels: `import ckernels.keras3` before `import keras`, or KERAS_BACKEND=ckernels.

`python -m ckernels.keras3 program.py` runs a program so. Beside what Keras has: `jit` makes a
function of arrays one compiled call, `value_and_grad` gives gradients within it, and
`training_function` makes the step of a model what trainers on many machines take.
"""

from .hook import activate

activate()

__all__ = ["activate", "gradients", "jit", "training_function", "value_and_grad"]


# What needs Keras is loaded when it is asked for: Keras itself imports this package.
LATER = {
    "gradients": ("tracing", "gradients"),
    "jit": ("tracing", "Step"),
    "training_function": ("machines", "training_function"),
    "value_and_grad": ("tracing", "value_and_grad"),
}


def __getattr__(name):
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # start-up, as Keras is

    import keras  # noqa: F401  first: it loads its backend, which loads ours

    module, its = LATER[name]
    return getattr(importlib.import_module(f".{module}", __name__), its)
