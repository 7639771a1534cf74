"""`python -m ckernels.keras3 program.py arguments`: a Keras 3 program on ckernels."""

import os

from ..base.runner import run_program


def install():
    os.environ["KERAS_BACKEND"] = "ckernels"
    from . import activate  # start-up: it reads the environment

    activate()


if __name__ == "__main__":
    raise SystemExit(run_program("ckernels.keras3", install))
