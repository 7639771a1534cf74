"""The translations, by subject. Importing this room fills the registry."""

from . import (  # noqa: F401
    control,
    convolution,
    elemwise,
    joining,
    linalg,
    movement,
    order,
    products,
    scalar,
    scan,
    special,
    subtensor,
)
