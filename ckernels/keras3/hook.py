"""Keras 3 learns the name of the backend as its modules are loaded; no file on disk is changed.

Five modules of Keras choose a backend by comparing names; a sixth asks `.shape[0]`, which may be
open, for a size; a seventh takes the number of rows for that of steps; an eighth looks for
optimisers in torch's backend; a ninth loads TensorFlow to seed it, a tenth JAX to mend it. A finder
in front of Python's gives them their own source with a branch changed: that of a backend which this
process does not use becomes ours (in the sixth `ops.shape` is asked, in the seventh for the second
size, in the eighth Keras, in the last two what was imported), line by line, so that tracebacks keep
their numbers. Of two layouts of Keras (3.15, and the coming one for backends of other packages) a
module's own lines tell which it is.
"""

import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import sys

from ..base.errors import UsageError

SUPPORTED = ("3.15", "3.16")  # the second: Keras's coming layout for backends of other packages
HERE = "ckernels.keras3"
_NAME = ('backend() == "numpy"', 'backend() == "ckernels"')
_TRAINER = f"from {HERE}.trainer import Trainer as Trainer"
_LAYER = f"from {HERE}.layer import Layer as BackendLayer"
_ARCHIVE = "ExportArchive as"
_EXPORT = (  # of a Model, in as many lines: Keras lists the formats it knows
    "        from keras.src.export import export_litert\n"
    "        from keras.src.export import export_onnx\n",
    '        if format == "c": return self.export_c(filepath, input_signature, verbose, **kwargs)\n'
    "        from keras.src.export import export_litert, export_onnx\n",
)
_MIXED = (  # arrays of strings are no tensors of ours, and may stand beside arrays that are
    "elif any(is_backend_tensor_or_symbolic(x) for x in flat_values):",
    "elif any(is_backend_tensor_or_symbolic(x) for x in flat_values)"
    ' and not all(hasattr(x, "__array_interface__") for x in flat_values):',
)
_COMING = [('backend() == "mlx"', 'backend() == "ckernels"')]
# {module: changes, those of each layout: (what stands there, what takes its place)}
CHANGES = {
    "keras.src.backend": [
        [
            _NAME,
            ("from keras.src.backend.numpy import *", f"from {HERE}.backend import *"),
            (
                "from keras.src.backend.numpy.core import Variable as BackendVariable",
                f"from {HERE}.variable import StoredVariable as BackendVariable",
            ),
        ],
        [*_COMING, ("from keras_mlx.src import *", f"from {HERE}.src import *")],
    ],
    "keras.src.models.model": [
        [
            _NAME,
            ("from keras.src.backend.numpy.trainer import NumpyTrainer as Trainer", _TRAINER),
            _EXPORT,
        ],
        [
            *_COMING,
            ("from keras_mlx.src.trainer import MLXTrainer as Trainer", _TRAINER),
            _EXPORT,
        ],
    ],
    "keras.src.layers.layer": [
        [
            _NAME,
            ("from keras.src.backend.numpy.layer import NumpyLayer as BackendLayer", _LAYER),
            _MIXED,
        ],
        [*_COMING, ("from keras_mlx.src.layer import MLXLayer as BackendLayer", _LAYER)],
    ],
    "keras.src.export.saved_model": [
        [
            _NAME,
            ("keras.src.backend.numpy.export", f"{HERE}.layer"),
            ("NumpyExportArchive as", _ARCHIVE),
        ],
        [
            *_COMING,
            ("keras_mlx.src.export", f"{HERE}.layer"),
            ("MlxExportArchive as", _ARCHIVE),
        ],
    ],
    # The losses of several outputs are averaged by the sizes of batches, which may be open; a
    # Keras that does it otherwise is left as it is.
    "keras.src.trainers.compile_utils": [
        [],
        [("tree.flatten(y_p)[0].shape[0]", "ops.shape(tree.flatten(y_p)[0])[0]")],
    ],
    # Keras takes as many steps as the batch has rows where the number of steps is open.
    "keras.src.layers.rnn.time_distributed": [
        [],
        [
            (
                "step_function, ops.arange(input_shape[0])",
                "step_function, ops.arange(input_shape[1])",
            )
        ],
    ],
    # Optimisers in files of torch's backend have a module of it, which only torch can import; and
    # no object is TensorFlow's before somebody imported it, which takes 2 s and 400 MB.
    "keras.src.saving.serialization_lib": [
        [],
        [
            ("import inspect\n", "import inspect, sys\n"),
            ("if tf.available and", 'if "tensorflow" in sys.modules and'),
            (
                "mod = importlib.import_module(module)",
                'mod = importlib.import_module("keras.optimizers" if module.startswith('
                '"keras.src.backend.torch.optimizers.") else module)',
            ),
        ],
    ],
    # JAXs before 0.5 are mended for Orbax, which asks for 0.6: nobody needs a JAX for that, which
    # takes 0.5 s and 115 MB.
    "keras.src.callbacks.orbax_checkpoint": [
        [],
        [
            ("    import jax\n", '    jax = __import__("sys").modules.get("jax")\n'),
            ("if not hasattr(jax.monitoring", "if jax and not hasattr(jax.monitoring"),
        ],
    ],
    # Seeds of a TensorFlow that nobody imported are set when somebody does (`_Seeded`).
    "keras.src.utils.rng_utils": [
        [],
        [
            ("import random\n", "import random, sys\n"),
            ("if tf.available:", 'if "tensorflow" in sys.modules and tf.available:'),
        ],
    ],
    "keras.src.utils.backend_utils": [
        [
            ('"numpy", "openvino")', '"numpy", "openvino", "ckernels")'),
            ('self._backend == "numpy"', 'self._backend in ("numpy", "ckernels")'),
            ('backend_module.backend() == "numpy"', "backend_module.backend() == self._backend"),
        ],
        [
            ('            "mlx",', '            "ckernels",'),
            ('self._backend == "mlx"', 'self._backend == "ckernels"'),
            ("keras_mlx.src", f"{HERE}.src"),
        ],
    ],
}


class OtherKeras(UsageError, ImportError):
    """The Keras that is installed is none that the backend knows; an ImportError, for programs
    that try one backend after another."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads one of the modules, changed; nothing is written to Keras's folder of bytecode."""

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        source = changed(fullname, importlib.util.decode_source(self.get_data(path)))
        return self.source_to_code(source, path)


class _Seeded(importlib.machinery.SourceFileLoader):
    """Loads TensorFlow, which then draws by the seed that Keras was given before."""

    def exec_module(self, module):
        super().exec_module(module)
        seeds = sys.modules.get("keras.src.utils.rng_utils")
        if seeds is not None and seeds.get_random_seed() is not None:
            module.random.set_seed(seeds.get_random_seed())


class _Loaded(importlib.abc.Loader):
    """Gives a module that Keras has loaded while it was looked for."""

    def __init__(self, spec):
        self.spec = spec

    def create_module(self, spec):
        return sys.modules[spec.name]

    def exec_module(self, module):
        module.__spec__ = self.spec


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname.startswith(f"{HERE}.") and "keras" not in sys.modules:
            # A module of ours that needs Keras, which loads its backend, which needs the module.
            if fullname.rpartition(".")[2] not in ("hook", "start", "__main__"):
                import keras  # noqa: F401  start-up

                if module := sys.modules.get(fullname):  # whose own is what importlib takes then
                    loader = _Loaded(module.__spec__)
                    module.__spec__ = importlib.machinery.ModuleSpec(fullname, loader)
                    return module.__spec__
            return None
        if fullname not in CHANGES and fullname != "tensorflow":
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            loader = _Loader if fullname in CHANGES else _Seeded
            spec.loader = loader(fullname, spec.loader.path)
        return spec


def changed(name, source):
    """The source of a module with our branch; OtherKeras where it has the lines of no layout."""
    layouts = CHANGES[name]
    fitting = [c for c in reversed(layouts) if all(old in source for old, _ in c)]
    if not fitting:
        raise OtherKeras(
            f"the module {name} of Keras {_version()} is not as in Keras {SUPPORTED[0]}: the "
            f"ckernels backend needs keras=={SUPPORTED[0]}.*"
        )
    for old, new in fitting[0]:
        source = source.replace(old, new)
    return source


def _version():
    try:
        return importlib.metadata.version("keras")
    except importlib.metadata.PackageNotFoundError:
        return "that is not installed"


def activate():
    """Make `import keras` use ckernels, where KERAS_BACKEND says so or says nothing.

    UsageError where Keras was imported before with another backend; OtherKeras, an ImportError
    too, for versions of Keras that are not supported.
    """
    asked = os.environ.setdefault("KERAS_BACKEND", "ckernels")
    if asked != "ckernels":
        return
    loaded = sys.modules.get("keras.src.backend.config") or sys.modules.get("keras.src.backend")
    if loaded is not None and loaded.backend() != "ckernels":
        raise UsageError(
            "Keras was imported before with another backend: import ckernels.keras3 first, or set "
            "KERAS_BACKEND=ckernels before the program starts"
        )
    version = _version()
    if version.startswith(("0.", "1.", "2.")):
        raise OtherKeras(
            f"the ckernels backend is one of Keras 3, and Keras {version} is installed; for Keras "
            "2 set KERAS_BACKEND=ckernels.compat.keras2 (or `backend` in keras.json), for Keras 1 "
            "run python -m ckernels.compat.keras1 program.py"
        )
    if not version.startswith(SUPPORTED):
        raise OtherKeras(
            f"the ckernels backend is one of Keras {' and '.join(SUPPORTED)} and found a Keras "
            f"{version}: pip install 'keras=={SUPPORTED[0]}.*'"
        )
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
