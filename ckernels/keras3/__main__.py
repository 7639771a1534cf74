"""`python -m ckernels.keras3 program.py arguments`: a Keras 3 program on ckernels."""

import os
import runpy
import sys


def main():
    if len(sys.argv) < 2:
        raise SystemExit("usage: python -m ckernels.keras3 program.py [arguments]")
    os.environ["KERAS_BACKEND"] = "ckernels"
    from . import activate  # start-up: it reads the environment

    activate()
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
