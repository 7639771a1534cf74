"""A stand-in of natural_bm on ckernels: `install()` and `python -m ckernels.compat.natural_bm`.

natural_bm is on no package index, so a stand-in of its structure is written here: a backend
package that reads ~/.natural_bm/natural_bm.json, keeps its settings in `common` and takes all names
of `theano_backend`, and modules that import what Python 3.10 removed.
"""

import json
import subprocess
import sys

import pytest

LIBRARY = {
    "__init__.py": "",
    "backend/__init__.py": """
import json, os, sys
from .common import (cast_to_floatx, epsilon, floatx, intx, set_epsilon, set_floatx, set_intx)

path = os.path.join(os.path.expanduser("~"), ".natural_bm", "natural_bm.json")
_BACKEND = "theano"
if os.path.exists(path):
    known = json.load(open(path))
    set_floatx(known.get("floatx", floatx()))
    set_epsilon(known.get("epsilon", epsilon()))
    _BACKEND = known.get("backend", _BACKEND)
else:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(json.dumps({"floatx": floatx(), "epsilon": epsilon(), "backend": _BACKEND}))
_BACKEND = os.environ.get("NATURAL_BM_BACKEND", _BACKEND)
if _BACKEND == "theano":
    sys.stderr.write("Using Theano backend.\\n")
    from .theano_backend import *
else:
    from .numpy_backend import *


def backend():
    return _BACKEND
""",
    "backend/common.py": """
import numpy as np
_VALUES = {"floatx": "float32", "intx": "int32", "epsilon": np.finfo("float32").eps}
def floatx(): return _VALUES["floatx"]
def intx(): return _VALUES["intx"]
def epsilon(): return _VALUES["epsilon"]
def set_floatx(floatx): _VALUES["floatx"] = str(floatx)
def set_intx(intx): _VALUES["intx"] = str(intx)
def set_epsilon(e): _VALUES["epsilon"] = e
def cast_to_floatx(x): return np.asarray(x, dtype=floatx())
""",
    "backend/theano_backend.py": "import theano\n",
    "backend/numpy_backend.py": "raise ImportError('the NumPy backend was asked for')\n",
    "layers.py": """
from collections import Iterable, OrderedDict
import inspect
import h5py
import numpy as np
from scipy.misc import logsumexp
import natural_bm.backend as B
from natural_bm.backend import theano_backend as BTH
from natural_bm.backend import common

def arguments(function):
    return inspect.getargspec(function).args

class Layer:
    def __init__(self, W, activation=B.sigmoid):
        self.W, self.activation = B.variable(W, name="h0-1_W"), activation
    def output(self, v):
        return self.activation(B.dot(v, self.W))
    def save(self, path):
        with h5py.File(path, "w") as f:
            f.attrs["weight_names"] = [self.W.name.encode("utf8")]
            f.create_dataset(self.W.name.encode("utf8"), data=self.W.get_value())
    def load(self, path):
        with h5py.File(path, "r") as f:
            for name in [n.decode("utf8") for n in f.attrs["weight_names"]]:
                B.set_value(self.W, f[name][()])
""",
}  # fmt: skip
PROGRAM = """
import sys
import numpy as np
from natural_bm.layers import B, BTH, Iterable, Layer, arguments, common
import ckernels.compat.natural_bm as ours

assert B.backend() == "theano" and BTH.dot is ours.dot and issubclass(list, Iterable)
assert arguments(Layer.output) == ["self", "v"]
print(B.floatx(), B.intx(), B.epsilon(), ours.floatx(), ours.epsilon(), sys.argv)
for settings in (B, common, ours):
    assert settings.floatx() == "float64" and settings.epsilon() == 1e-5
common.set_intx("int64")
assert B.intx() == ours.intx() == "int64"
B.set_floatx("float32")
assert common.floatx() == ours.floatx() == "float32"
assert common.cast_to_floatx([1]).dtype == "float32"
layer = Layer(np.zeros((3, 2)))
v = B.placeholder(shape=(None, 3))
f = B.function([v], layer.output(v))
assert f(np.ones((4, 3))).tolist() == [[0.5, 0.5]] * 4
layer.save("weights.h5")
B.set_value(layer.W, np.ones((3, 2)))
layer.load("weights.h5")
assert not layer.W.get_value().any()
import scipy.misc, scipy.special
assert scipy.misc.logsumexp is scipy.special.logsumexp
print("ran")
"""


@pytest.fixture
def library(tmp_path):
    """A folder with the stand-in and a natural_bm.json that asks for float64 and for NumPy."""
    for name, text in LIBRARY.items():
        path = tmp_path / "natural_bm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / ".natural_bm").mkdir()
    asked = {"floatx": "float64", "epsilon": 1e-5, "backend": "numpy"}
    (tmp_path / ".natural_bm" / "natural_bm.json").write_text(json.dumps(asked))
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def python(folder, *arguments):
    path = ":".join([*sys.path, str(folder)])
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_as_a_command(library):
    pytest.importorskip("h5py")
    done = python(library, "-m", "ckernels.compat.natural_bm", "train.py", "--now")
    assert done.returncode == 0, done.stderr
    assert "ckernels.compat.natural_bm in its place" in done.stderr
    said = "float64 int32 1e-05 float64 1e-05 ['train.py', '--now']"
    assert done.stdout.splitlines() == [said, "ran"]


def test_a_first_start_writes_the_settings(library):
    path = library / ".natural_bm" / "natural_bm.json"
    path.unlink()
    program = "import ckernels.compat.natural_bm as B; B.install(); import natural_bm.backend"
    program += ", urllib; urllib.request.urlretrieve"  # as its datasets write it
    done = python(library, "-c", program)
    assert done.returncode == 0, done.stderr
    found = json.loads(path.read_text())
    assert found == {"floatx": "float32", "epsilon": 2.0**-23, "backend": "theano"}


def test_install_comes_first(library):
    program = (
        "import sys, types; sys.modules['natural_bm'] = types.ModuleType('natural_bm')\n"
        "import ckernels.compat.natural_bm as B\n"
        "try: B.install()\n"
        "except TypeError as error: print(error)\n"
    )
    done = python(library, "-c", program)
    said = "natural_bm was imported already; ckernels.compat.natural_bm comes first"
    assert done.stdout.splitlines()[0] == said, done.stderr


def test_install_twice_is_once(library):
    pytest.importorskip("h5py")
    program = (
        "import ckernels.compat.natural_bm as B\n"
        "B.install(); B.install()\n"
        "import natural_bm.layers as L, sys\n"
        "assert L.B.dot is B.dot\n"
        "print(sum('theano_backend' in getattr(f, 'place', '') for f in sys.meta_path))\n"
    )
    done = python(library, "-c", program)
    assert done.stdout.strip() == "1", done.stderr


def test_what_a_command_needs():
    done = subprocess.run(
        [sys.executable, "-m", "ckernels.compat.natural_bm"],
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "usage: python -m ckernels.compat.natural_bm program.py" in done.stderr
