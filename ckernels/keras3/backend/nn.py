"""keras.ops.nn: activations, windows, losses and CTC, from the files by subject."""

from .activations import *  # noqa: F403
from .ctc import ctc_decode, ctc_loss  # noqa: F401
from .losses import *  # noqa: F403
from .windows import *  # noqa: F403
