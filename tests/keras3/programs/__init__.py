"""Programs of the kind of keras.io's examples, in short forms: what `test_programs.py` runs.

Each is a function that trains something small and returns its losses. Weights start from NumPy's
generator, so that the losses are those of any other backend of Keras but where a program draws.
`python -m tests.keras3.programs` prints the losses as JSON, with the backend KERAS_BACKEND names.
"""

import ckernels.keras3  # noqa: F401, I001 (before Keras is; another backend is left alone)
import keras
import numpy as np

PROGRAMS = {}  # {name: (function, whether it draws random numbers)}


def program(function=None, draws=False):
    """Register a program under its name."""
    if function is None:
        return lambda f: program(f, draws)
    PROGRAMS[function.__name__] = (function, draws)
    return function


def rng(seed=0):
    return np.random.default_rng(seed)


def normal(*shape, seed=0):
    return rng(seed).normal(size=shape).astype("float32")


def uniform(*shape, seed=0):
    return rng(seed).uniform(size=shape).astype("float32")


def integers(high, *shape, seed=0):
    return rng(seed).integers(0, high, shape).astype("int32")


def pictures(n=12, side=8, channels=1, seed=0):
    """(pictures with a bright side, the side): 0 left, 1 right."""
    x, y = uniform(n, side, side, channels, seed=seed), integers(2, n, seed=seed)
    for picture, right in zip(x, y):
        picture[:, side // 2 :] *= 0.3 + 0.7 * right
    return x, y


def fixed(model):
    """The model with weights from NumPy's generator where they are drawn, and in matrices."""
    for i, weight in enumerate(model.trainable_weights):
        shape = tuple(weight.shape)
        if len(shape) > 1 or weight.name == "scale":  # of attention: drawn, too
            fan = max(1, int(np.prod(shape[:-1])))
            weight.assign(normal(*shape, seed=i) / np.sqrt(fan))
    return model


def trained(model, x, y, epochs=3, batch_size=5, optimizer="adam", loss="mse", **more):
    """Losses of a few epochs; the last batch is smaller than the others."""
    options = {k: more.pop(k) for k in ("metrics", "loss_weights") if k in more}
    if optimizer is not None:
        model.compile(optimizer=optimizer, loss=loss, **options)
    history = model.fit(
        x, y, epochs=epochs, batch_size=batch_size, shuffle=False, verbose=0, **more
    )
    return [value for values in history.history.values() for value in values]


def values_of(history):
    return [v for values in history.history.values() for v in values]


def transforms():
    """(value_and_grad, jit) of the backend that runs."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.value_and_grad, jax.jit
    from ckernels.keras3 import jit, value_and_grad

    return value_and_grad, jit


from . import (  # noqa: E402, F401 (they register)
    generative,
    graphs,
    learners,
    methods,
    odd,
    practice,
    rare,
    recipes,
    seeing,
    sequences,
    series,
    studies,
    text,
    vision,
    workshop,
)
