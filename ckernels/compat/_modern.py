"""What Keras of 2017-2019 needs on a current Python, NumPy, h5py, PyYAML and scikit-learn.

`supply()` runs when Keras takes a module of `ckernels.compat` as its backend, and only then. It
adds the removed names that Keras and its programs use (never replacing one that exists), gives text
attributes in .h5 files their `decode` back, and mends Keras itself: Lambda's output shape, which it
infers for the backends it knows, kernels of Theano's files, bytecode, YAML, histories, metrics that
ask for TensorFlow, and the estimators for scikit-learn.
"""

import collections
import collections.abc
import importlib.abc
import importlib.util
import inspect
import re
import sys
import types

import numpy as np

from ..base.errors import ArgumentError
from . import _values

ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")
_supplied = False


def supply():
    """Make the present Python fit for Keras; twice is once."""
    global _supplied
    if _supplied:
        return
    _supplied = True
    put_back()
    for name, mend in AFTER.items():
        when_imported(name, mend)


def lacking():
    """[(module, name, value)]: what Keras and its programs use and this Python or NumPy removed."""
    wanted = [
        (
            collections,
            {
                n: getattr(collections.abc, n)
                for n in ("Container", "Iterable", "Mapping", "Sequence")
            },
        ),
        (inspect, {"getargspec": getargspec, "ArgSpec": ArgSpec}),
        (
            np,
            {
                "bool": bool,
                "int": int,
                "float": float,
                "complex": complex,
                "object": object,
                "str": str,
                "Inf": np.inf,
                "string_": np.bytes_,
                "unicode_": np.str_,
            },
        ),
    ]
    return [
        (module, name, value)
        for module, names in wanted
        for name, value in names.items()
        if name not in vars(module)
    ]  # hasattr would warn


def put_back():
    """Add the names of `lacking` to their modules."""
    for module, name, value in lacking():
        setattr(module, name, value)


def _add(module, name, value):
    if not hasattr(module, name):
        setattr(module, name, value)


def stand_in(name, **names):
    """A module with the names that Keras programs use of it, where there is none of that name."""
    try:
        found = name in sys.modules or importlib.util.find_spec(name)
    except ImportError:
        found = None
    if not found:
        sys.modules[name] = types.ModuleType(name, f"The names of `{name}` that Keras uses.")
        vars(sys.modules[name]).update(names)


def parse_version(text):
    """The numbers of a version, to be compared as pkg_resources does: (2, 3, 1) of "2.3.1rc0"."""
    return tuple(int(part) for part in re.findall(r"(?:^|\.)(\d+)", text))


def getargspec(function):
    """inspect.getargspec as it was until Python 3.10."""
    return ArgSpec(*inspect.getfullargspec(function)[:4])


# --- files ------------------------------------------------------------------------------------


class Text(str):
    """Text of an attribute in an .h5 file: a str that also decodes, as the bytes of h5py 2 did."""

    __slots__ = ()

    def decode(self, encoding="utf-8", errors="strict"):
        """The text itself."""
        return str(self)


def _as_before(value):
    if type(value) is str:
        return Text(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return np.array([_as_before(v) for v in value.flat], object).reshape(value.shape)
    return value


def mend_h5py(h5py):
    """Attributes as h5py 2 read and wrote them, files in memory without a mode, and File.fid.

    Text that is read decodes; a list or tuple of bytes is written with a fixed width, so that files
    are the same as before and the Keras of then can read them.
    """
    read, open_file = h5py.AttributeManager.__getitem__, h5py.File.__init__
    write = h5py.AttributeManager.__setitem__

    def getitem(self, name):
        value = read(self, name)
        if name == "weight_names" and np.size(value) == 0:
            return np.zeros(0, "S1")  # an array of no floats, which has no truth value any more
        return _as_before(value)

    def setitem(self, name, value):
        many = isinstance(value, (list, tuple)) and value
        fixed = many and all(isinstance(v, bytes) for v in value)
        write(self, name, np.asarray(value) if fixed else value)

    def init(self, name, mode=None, driver=None, **kwargs):
        if mode is None and driver == "core" and not kwargs.get("backing_store", True):
            mode = "a"  # h5py 3 would look for a file to read
        open_file(self, name, mode or "r", driver, **kwargs)

    for new, old in ((getitem, read), (setitem, write), (init, open_file)):
        new.__doc__ = old.__doc__
    h5py.AttributeManager.__getitem__, h5py.AttributeManager.__setitem__ = getitem, setitem
    h5py.File.__init__ = init
    _add(h5py.File, "fid", property(lambda file: file.id, doc="The low-level identifier."))


def mend_yaml(saving):
    """model_from_yaml reads with the FullLoader, as Keras 2.3 asks for; yaml.load is left alone."""
    yaml = saving.yaml
    if yaml is not None:
        load = lambda text, Loader=yaml.FullLoader: yaml.load(text, Loader)  # noqa: N803
        saving.yaml = types.SimpleNamespace(load=load, FullLoader=yaml.FullLoader)


def mend_yaml_of_keras1(models):
    """The same for Keras 1, which imports PyYAML where it reads."""
    if models.model_from_yaml.__module__ != models.__name__:
        return

    def model_from_yaml(yaml_string, custom_objects=None):
        import yaml
        from keras.utils.layer_utils import layer_from_config

        config = yaml.load(yaml_string, yaml.FullLoader)
        return layer_from_config(config, custom_objects=custom_objects)

    model_from_yaml.__doc__ = models.model_from_yaml.__doc__
    models.model_from_yaml = model_from_yaml


# --- Keras itself -----------------------------------------------------------------------------


def mend_lambda(core):
    """A Lambda without output_shape finds it by calling its function, as under TensorFlow."""
    name = "compute_output_shape"
    name = name if hasattr(core.Lambda, name) else "get_output_shape_for"  # Keras 1
    known = getattr(core.Lambda, name)

    def compute_output_shape(self, input_shape):
        if self._output_shape is not None:
            return known(self, input_shape)
        K = core.K
        many = isinstance(input_shape, list)
        dtypes = getattr(self, "_input_dtypes", None) or K.floatx()
        dtypes = dtypes if isinstance(dtypes, list) else [dtypes] * len(input_shape)
        xs = [
            K.placeholder(shape=s, dtype=d)
            for s, d in zip(input_shape if many else [input_shape], dtypes)
        ]
        y = self.call(xs if many else xs[0])
        return [K.int_shape(part) for part in y] if isinstance(y, list) else K.int_shape(y)

    compute_output_shape.__doc__ = known.__doc__
    setattr(core.Lambda, name, compute_output_shape)


def mend_kernels(layer_utils):
    """Turn Theano's kernels around by a tuple of slices; the Keras of then indexed with lists."""
    home = sys.modules[layer_utils.convert_kernel.__module__]
    first = home.__name__.endswith("np_utils")  # Keras 1, where 'th' keeps the channels first

    def convert_kernel(kernel, dim_ordering=None):
        kernel = np.asarray(kernel)
        if not 3 <= kernel.ndim <= 5:
            raise ValueError(f"Invalid kernel shape: {kernel.shape}")
        turned = (slice(None, None, -1),) * (kernel.ndim - 2)
        th = first and (dim_ordering or home.K.image_dim_ordering()) == "th"
        return kernel[(slice(None),) * 2 + turned if th else turned].copy()

    convert_kernel.__doc__ = layer_utils.convert_kernel.__doc__
    layer_utils.convert_kernel = home.convert_kernel = convert_kernel


def mend_bytecode(utils):
    """Functions that were saved as bytecode of another Python are refused instead of run.

    The bytecode of Python 3.x is marked by x characters at its end, which Keras's reader ignores.
    """
    dump, load = utils.func_dump, utils.func_load

    def func_dump(func):
        code, defaults, closure = dump(func)
        return code + "~" * sys.version_info[1], defaults, closure

    def func_load(code, defaults=None, closure=None, globs=None):
        text = code[0] if isinstance(code, (tuple, list)) else code
        made = len(text) - len(text.rstrip("~"))
        try:
            if made in (0, sys.version_info[1]):
                return load(code, defaults, closure, globs)
        except Exception as problem:
            raise _other_python("an older Python") from problem
        raise _other_python(f"Python 3.{made}")

    func_dump.__doc__, func_load.__doc__ = dump.__doc__, load.__doc__
    utils.func_dump, utils.func_load = func_dump, func_load


def _other_python(name):
    return ArgumentError(
        f"a Lambda of this model was saved as bytecode of {name}, which Python "
        f"{sys.version_info[0]}.{sys.version_info[1]} cannot run; build the model from its code "
        "and load only the weights (model.load_weights), or replace the Lambda by a function "
        "with a name and pass custom_objects"
    )


def mend_wrappers(wrappers):
    """scikit-learn asks an estimator for its tags since 1.6; before, it made them up itself."""

    def tags(kind):
        def __sklearn_tags__(self):  # noqa: N807
            from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

            return Tags(
                estimator_type=kind,
                target_tags=TargetTags(required=True),
                classifier_tags=ClassifierTags() if kind == "classifier" else None,
                regressor_tags=RegressorTags() if kind == "regressor" else None,
            )

        return __sklearn_tags__

    for name, kind in (("KerasClassifier", "classifier"), ("KerasRegressor", "regressor")):
        _add(getattr(wrappers, name), "__sklearn_tags__", tags(kind))


def mend_histories(callbacks):
    """What callbacks see of an epoch, and histories, are Python floats, which JSON takes.

    A float32 times an int was a float64 until NumPy 2, so averages were; they are again.
    """
    logger, history = callbacks.BaseLogger, callbacks.History
    add, average, record = logger.on_batch_end, logger.on_epoch_end, history.on_epoch_end

    def on_batch_end(self, batch, logs=None):
        add(self, batch, _values.plain(logs or {}))

    def after_averages(self, epoch, logs=None):
        average(self, epoch, logs)
        if logs:
            logs.update(_values.plain(logs))

    def on_epoch_end(self, epoch, logs=None):
        record(self, epoch, _values.plain(logs or {}))

    logger.on_batch_end, logger.on_epoch_end = on_batch_end, after_averages
    history.on_epoch_end = on_epoch_end


def mend_evaluation(arrays):
    """The loop of model.evaluate adds up in float64, as Keras 2.3 has it itself: what it returned
    until NumPy 2, where a Python float and a float32 make a float64 no more."""
    arrays.test_loop = _with_doubles(arrays.test_loop)


def mend_evaluation_of_keras1(training):
    """The same for Keras 1, where the loop is a method."""
    if hasattr(training.Model, "_test_loop"):
        training.Model._test_loop = _with_doubles(training.Model._test_loop)


def _with_doubles(loop):
    def test_loop(model, function, *args, **kwargs):
        return loop(model, lambda inputs: _values.doubles(function(inputs)), *args, **kwargs)

    test_loop.__doc__ = loop.__doc__
    return test_loop


class _RaggedNumpy:
    """NumPy for a module of texts: lists of different lengths become arrays of objects, and .npz
    files may hold such arrays, as both did until NumPy 1.24 and 1.16."""

    def __getattr__(self, name):
        return getattr(np, name)

    def array(self, values, *args, **kwargs):
        """np.array, or an array of the objects in `values`."""
        try:
            return np.array(values, *args, **kwargs)
        except ValueError:
            found = np.empty(len(values), object)
            found[:] = values
            return found

    def load(self, file, **kwargs):
        """np.load that reads objects: the file is Keras's own, its digest was compared."""
        return np.load(file, **{"allow_pickle": True, **kwargs})


def mend_texts(dataset):
    """keras.datasets.imdb and reuters hold sequences of different lengths."""
    dataset.np = _RaggedNumpy()


def mend_metrics(metrics):
    """See `_metrics`, which is loaded with keras.metrics."""
    from . import _metrics  # start-up

    _metrics.mend(metrics)


AFTER = {
    "h5py": mend_h5py,
    "keras.callbacks": mend_histories,
    "keras.datasets.imdb": mend_texts,
    "keras.datasets.reuters": mend_texts,
    "keras.engine.saving": mend_yaml,
    "keras.engine.training": mend_evaluation_of_keras1,
    "keras.engine.training_arrays": mend_evaluation,
    "keras.metrics": mend_metrics,
    "keras.models": mend_yaml_of_keras1,
    "keras.utils.generic_utils": mend_bytecode,
    "keras.utils.layer_utils": mend_kernels,
    "keras.layers.core": mend_lambda,
    "keras.wrappers.scikit_learn": mend_wrappers,
}  # fmt: skip


def mend_scipy_misc(add):
    """add(scipy.misc) once that is imported; a SciPy that has no such module gets one."""
    if not importlib.util.find_spec("scipy"):
        return
    if importlib.util.find_spec("scipy.misc"):
        when_imported("scipy.misc", add)
    else:
        import scipy

        scipy.misc = sys.modules["scipy.misc"] = types.ModuleType("scipy.misc")
        add(scipy.misc)


def when_imported(name, mend):
    """mend(module) now, or as soon as the module has been imported."""
    if name in sys.modules:
        mend(sys.modules[name])
    else:
        _Finder.waiting[name] = mend
        if not any(isinstance(f, _Finder) for f in sys.meta_path):
            sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that wait to be mended, with a loader that does it; gone when all are."""

    waiting = {}

    def find_spec(self, name, path, target=None):
        mend = self.waiting.pop(name, None)
        if mend is None:
            return None
        if not self.waiting:
            sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module):
                run(module)
                mend(module)

            spec.loader.exec_module = exec_module
        return spec
