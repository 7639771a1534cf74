"""dump and load: pickles of objects with arrays, in one zip file."""

import io
import os
import pickle
import zipfile

import numpy as np

from ...base import given
from ...base.errors import ArgumentError, UsageError
from ..base.names import absent_of as _absent_of


def function_dump(filename, inputs, outputs=None, **options):
    """Write what `function` is asked for to a file, which another process may load and make.

    >>> import pickle, tempfile, ckernels.compat.theano as theano
    >>> x = theano.tensor.dvector("x")
    >>> with tempfile.NamedTemporaryFile(suffix=".pkl") as file:
    ...     theano.function_dump(file.name, [x], x + 1)
    ...     asked = pickle.load(open(file.name, "rb"))
    >>> theano.function(**asked)([1, 2]).tolist()
    [2.0, 3.0]
    """
    options.pop("extra_tag_to_remove", None)
    with open(given.path(filename, "filename"), "wb") as file:
        pickle.dump({"inputs": inputs, "outputs": outputs, **options}, file)


class StripPickler(pickle.Pickler):
    """A pickler that leaves the traces of variables out, as all pickles here do."""

    def __init__(self, file, protocol=0, extra_tag_to_remove=None):
        super().__init__(file, max(protocol, 2))


CompatUnpickler = pickle.Unpickler


class _Pickler(pickle.Pickler):
    def __init__(self, file, archive, protocol):
        super().__init__(file, protocol)
        self.archive, self.count, self.named, self.used = archive, 0, {}, {}

    def reducer_override(self, thing):
        """Notes the names of shared variables, after which their arrays are called."""
        if getattr(thing, "name", None) and hasattr(thing, "container"):
            self.named.setdefault(id(thing.container), thing.name)
        held = getattr(thing, "container", None)
        if held is not None and not hasattr(thing, "type") and id(held) in self.named:
            self.next = self.named[id(held)]
        return NotImplemented

    next = None

    def name_of(self):
        """The name of the next array: its shared variable's, numbered from the second on."""
        if self.next is None:
            self.count += 1
            return f"array_{self.count - 1}"
        name, self.next = self.next, None
        self.used[name] = self.used.get(name, 0) + 1
        return name if self.used[name] == 1 else f"{name}_{self.used[name]}"

    def persistent_id(self, thing):
        if type(thing) is not np.ndarray or thing.dtype == object:
            return None
        name = self.name_of()
        out = io.BytesIO()
        np.lib.format.write_array(out, np.ascontiguousarray(thing).reshape(thing.shape))
        self.archive.writestr(name, out.getvalue())
        return name


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, archive):
        super().__init__(file)
        self.archive = archive

    def persistent_load(self, name):
        return np.lib.format.read_array(io.BytesIO(self.archive.read(name)))


def dump(obj, file_handler, protocol=pickle.HIGHEST_PROTOCOL, persistent_id=None):
    """Pickle `obj` to a file as a zip archive in which each array is a file of NumPy's format."""
    file = _file(file_handler, "write")
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        out = io.BytesIO()
        _Pickler(out, archive, protocol).dump(obj)
        archive.writestr("pkl", out.getvalue())


def load(f, persistent_load=None):
    """What `dump` wrote."""
    try:
        opened = zipfile.ZipFile(_file(f, "read"), "r")
    except zipfile.BadZipFile:
        raise ArgumentError(f"{f!r} holds nothing that dump wrote") from None
    with opened as archive:
        return _Unpickler(io.BytesIO(archive.read("pkl")), archive).load()


def _file(file, does):
    """`file`, a path or what has a method `does`."""
    if not isinstance(file, (str, os.PathLike)) and not callable(getattr(file, does, None)):
        raise UsageError(f"a path or a file to {does} is needed, not {type(file).__name__}")
    return file


__getattr__ = _absent_of("theano.misc.pkl_utils")
