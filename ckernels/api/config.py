"""Settings the K functions share: float type, epsilon, image layout, identifiers, threads.

The values live in `base/config.py`; these are their documented names.
"""

import collections

from ..base import dtypes, given, locks
from ..base.config import config
from ..base.errors import ArgumentError
from ..base.native import runtime
from .operands import as_array, converted, integer

_uids = collections.Counter()
_lock = locks.lock()
_manual_initialization = False


class _NumPyOnly:
    """Stands for the C runtime where that is missing: NumPy computes, in one thread."""

    set_num_threads = staticmethod(lambda n: None)
    get_num_threads = staticmethod(lambda: 1)
    threads_info = staticmethod(lambda: {"threads": 1, "rule": "the C runtime was not built"})
    blas_info = staticmethod(lambda: {"name": "NumPy's", "builtin": "not built"})


_RUNTIME = runtime or _NumPyOnly


def backend():
    """The name of this backend.

    Returns
    -------
    str
        'ckernels'.

    Examples
    --------
    >>> K.backend()
    'ckernels'
    """
    return "ckernels"


def epsilon():
    """The fuzz factor of numeric expressions.

    Returns
    -------
    float
        What `set_epsilon` set, 1e-07 at first.

    Examples
    --------
    >>> K.epsilon()
    1e-07
    """
    return config.epsilon


def set_epsilon(e):
    """Set the fuzz factor, `epsilon()`.

    Parameters
    ----------
    e : float
        0 or more.

    Returns
    -------
    None
        It holds for what is built from now on.

    Raises
    ------
    ConfigError
        For anything else; it is a ValueError.

    Examples
    --------
    >>> before = K.epsilon()
    >>> K.set_epsilon(1e-5)
    >>> K.epsilon()
    1e-05
    >>> K.set_epsilon(before)
    """
    config.epsilon = e


def floatx():
    """The default float dtype.

    Returns
    -------
    str
        'float16', 'float32' or 'float64'.

    Examples
    --------
    >>> K.floatx()
    'float32'
    """
    return config.floatX


def set_floatx(floatx):
    """Set the default float dtype.

    Parameters
    ----------
    floatx : {"float16", "float32", "float64", "bfloat16"}
        Of what is made without a dtype from now on.

    Returns
    -------
    None
        `floatx()` says which it is.

    Raises
    ------
    ConfigError
        For anything else; it is a ValueError.

    Examples
    --------
    >>> K.set_floatx("float64")
    >>> K.dtype(K.zeros((2,)))
    'float64'
    >>> K.set_floatx("float32")
    """
    config.floatX = floatx


def intx():
    """The default integer dtype.

    Returns
    -------
    str
        'int64' at first.

    Examples
    --------
    >>> K.intx()
    'int64'
    """
    return config.intX


def set_intx(intx):
    """Set the default integer dtype.

    Parameters
    ----------
    intx : {"int32", "int64"}
        What the flag `intX` takes.

    Returns
    -------
    None
        `intx()` says which it is.

    Raises
    ------
    ConfigError
        For anything else; it is a ValueError.

    Examples
    --------
    >>> before = K.intx()
    >>> K.set_intx("int64")
    >>> K.intx()
    'int64'
    >>> K.set_intx(before)
    """
    config.intX = intx


def cast_to_floatx(x):
    """The NumPy array `x` (or number, or list) in the default float dtype.

    Parameters
    ----------
    x : array, number or list
        No tensor.

    Returns
    -------
    ndarray
        Of the shape of `x` and of dtype floatx().

    Raises
    ------
    DTypeError
        For text.
    UsageError
        For a tensor, which has no value before a function runs.

    Examples
    --------
    >>> K.cast_to_floatx([1, 2])
    array([1., 2.], dtype=float32)
    """
    return converted(as_array(x, "the argument of cast_to_floatx"), floatx())


def image_data_format():
    """The default layout of images.

    Returns
    -------
    str
        'channels_first' or 'channels_last'.

    Examples
    --------
    >>> K.image_data_format()
    'channels_last'
    """
    return config.image_data_format


def set_image_data_format(data_format):
    """Set the image layout.

    Parameters
    ----------
    data_format : {"channels_last", "channels_first"}
        Of images where no other layout is said.

    Returns
    -------
    None
        `image_data_format()` says which it is.

    Raises
    ------
    ConfigError
        For anything else; it is a ValueError.

    Examples
    --------
    >>> K.set_image_data_format("channels_first")
    >>> K.int_shape(K.pool2d(K.ones((1, 3, 4, 4)), (2, 2), (2, 2)))
    (1, 3, 2, 2)
    >>> K.set_image_data_format("channels_last")
    """
    config.image_data_format = data_format


def set_image_dim_ordering(dim_ordering):
    """Set the image layout by its old name, 'tf' or 'th'.

    Parameters
    ----------
    dim_ordering : {"tf", "th"}
        "tf" is "channels_last", "th" is "channels_first".

    Returns
    -------
    None
        `image_dim_ordering()` says which it is.

    Raises
    ------
    ArgumentError
        For anything else; it is a ValueError.

    Examples
    --------
    >>> K.set_image_dim_ordering("th")
    >>> K.image_data_format()
    'channels_first'
    >>> K.set_image_dim_ordering("tf")
    """
    layouts = {"tf": "channels_last", "th": "channels_first"}
    given.word(dim_ordering, layouts, "dim_ordering")
    set_image_data_format(layouts[dim_ordering])


def image_dim_ordering():
    """The old name of the image layout.

    Returns
    -------
    str
        'th' for channels_first, 'tf' for channels_last.

    Examples
    --------
    >>> K.image_dim_ordering()
    'tf'
    """
    return "th" if image_data_format() == "channels_first" else "tf"


def data_format_of(data_format):
    """`data_format`, or the default for None; ValueError unless it is one of the two layouts."""
    if data_format is None:
        return image_data_format()
    return given.word(data_format, ("channels_first", "channels_last"), "data_format")


def float_dtype(dtype):
    """The name of `dtype`, or floatx() for None."""
    return floatx() if dtype is None else dtypes.name_of(dtype)


def get_uid(prefix=""):
    """1, 2, 3 ... for each prefix: identifiers for names.

    Parameters
    ----------
    prefix : str, default ""
        Each has its own count.

    Returns
    -------
    int
        One more than the last time.

    Raises
    ------
    UsageError
        For a prefix that is no string.

    Examples
    --------
    >>> K.reset_uids()
    >>> K.get_uid("dense"), K.get_uid("dense"), K.get_uid("conv")
    (1, 2, 1)
    """
    prefix = given.text(prefix, "the prefix of get_uid")
    with _lock:
        _uids[prefix] += 1
        return _uids[prefix]


def reset_uids():
    """Start the identifiers of `get_uid` again at 1.

    Returns
    -------
    None
        For every prefix.

    Examples
    --------
    >>> _ = K.get_uid("dense")
    >>> K.reset_uids()
    >>> K.get_uid("dense")
    1
    """
    with _lock:
        _uids.clear()


_resets = []


def register_reset(reset):
    """Let `clear_session` call `reset` too: for files that hold state of a session."""
    _resets.append(reset)


def clear_session():
    """Forget identifiers and the learning phase; variables and functions live on.

    Returns
    -------
    None
        `get_uid` counts from 1 again.

    Examples
    --------
    >>> first = K.get_uid("dense")
    >>> K.clear_session()
    >>> K.get_uid("dense")
    1
    """
    reset_uids()
    for reset in _resets:
        reset()


def manual_variable_initialization(value):
    """Kept for old programs, without effect: variables have their value from the start.

    Parameters
    ----------
    value : bool
        Not needed.

    Returns
    -------
    None
        Nothing changes.

    Examples
    --------
    >>> K.manual_variable_initialization(True)
    >>> K.get_value(K.variable(2.0))
    array(2., dtype=float32)
    """
    global _manual_initialization
    _manual_initialization = given.flag(value, "the value")


def set_num_threads(n):
    """Use `n` threads from now on.

    Parameters
    ----------
    n : int or None
        At least 1; None: as many as the environment gives.

    Returns
    -------
    None
        `get_num_threads()` says how many there are.

    Raises
    ------
    ArgumentError
        For less than 1.
    UsageError
        For what is no integer.

    Examples
    --------
    >>> K.set_num_threads(2)
    >>> K.get_num_threads()
    2
    >>> K.set_num_threads(None)
    """
    if n is not None and integer(n, "the number of threads") < 1:
        raise ArgumentError(f"the number of threads must be at least 1, not {n!r}")
    _RUNTIME.set_num_threads(n)


def get_num_threads():
    """The number of threads large kernels use.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> K.get_num_threads() >= 1
    True
    """
    return _RUNTIME.get_num_threads()


def threads_info():
    """How many threads are used, and what decided it.

    Returns
    -------
    dict
        "threads", a number, and "rule", a text.

    Examples
    --------
    >>> K.set_num_threads(2)
    >>> K.threads_info()
    {'threads': 2, 'rule': 'set_num_threads (2)'}
    >>> K.set_num_threads(None)
    """
    return _RUNTIME.threads_info()


def blas_info():
    """Which BLAS multiplies matrices and where it was found.

    Returns
    -------
    dict
        'name' of what multiplies large matrices, and 'builtin', the kernels of the runtime's own;
        texts.

    Examples
    --------
    >>> sorted(K.blas_info())
    ['builtin', 'name']
    """
    return _RUNTIME.blas_info()
