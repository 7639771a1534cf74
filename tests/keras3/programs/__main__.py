"""`python -m tests.keras3.programs [names]`: losses as JSON, with the backend of KERAS_BACKEND."""

import json
import sys
import traceback

import keras

from . import PROGRAMS

found = {}
for name in sys.argv[1:] or PROGRAMS:
    keras.utils.clear_session()
    keras.utils.set_random_seed(0)
    try:
        found[name] = [float(value) for value in PROGRAMS[name][0]()]
        print(name, found[name][:4], file=sys.stderr, flush=True)
    except Exception:
        found[name] = None
        print(name, "failed", traceback.format_exc(), file=sys.stderr, flush=True)
json.dump(found, sys.stdout)
