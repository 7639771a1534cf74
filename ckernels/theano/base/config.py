"""`theano.config`: the flags of Theano 1.0, read from .theanorc and THEANO_FLAGS.

The values are the facade's own: `floatX` here is float64 unless told otherwise, whatever the
`floatX` of K is. Rows and effects are in flags.py. The few flags that mean something to the engine
(the compiledir, the compiler) are handed on when they were given.
"""

import contextlib
import functools
import os
import shlex

from ...base.config import config as engine
from ...base.errors import ArgumentError, CKernelsError, UsageError
from .exceptions import RefusedError
from .flags import FIXED, ROWS

TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
HANDED_ON = {"base_compiledir": "base_compiledir", "compiledir": "compiledir",
             "gcc.cxxflags": "cc.cflags", "compile.timeout": "cc.timeout"}  # fmt: skip


def flags_of(text):
    """{name: value} from the text of THEANO_FLAGS: `a=1,b=2`, with quotes around commas."""
    if not text:
        return {}
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = ",", "", True
    found = {}
    for item in filter(None, (i.strip() for i in lexer)):
        name, sign, value = item.partition("=")
        if not sign:
            raise ArgumentError(f"THEANO_FLAGS: {item!r} is not of the form name=value")
        found.setdefault(name.strip(), value.strip())
    return found


def files():
    """The files of THEANORC, else .theanorc (and .theanorc.txt) in the home directory."""
    given = os.environ.get("THEANORC")
    return (
        [os.path.expanduser(p) for p in given.split(os.pathsep)]
        if given
        else [os.path.expanduser("~/.theanorc"), os.path.expanduser("~/.theanorc.txt")]
    )


def rows_of_files():
    """{name: value} of the files: `[global]` holds plain names, `[section]` section.name."""
    there = [path for path in files() if os.path.exists(path)]
    if not there:
        return {}
    import configparser  # start-up: 1.7 ms

    parser = configparser.RawConfigParser()
    parser.optionxform = str
    parser.read(there)
    found = {}
    for section in parser.sections():
        for name, value in parser.items(section):
            found[name if section == "global" else f"{section}.{name}"] = value
    return found


class ConfigParam:
    """One flag: its name, default, documentation and the words or the type it takes."""

    def __init__(self, default, kind=str, name="", doc="", filter=None, allow_override=True):
        self.default, self.kind, self.fullname, self.doc = default, kind, name, doc
        self.filter, self.allow_override = filter, allow_override
        self.name = name.rpartition(".")[2]

    def __get__(self, owner, kind=None):
        """The value, as programs that go over _config_var_list ask for it."""
        return config._get(self.fullname)

    def __set__(self, owner, value):
        config._set(self.fullname, value)

    def parse(self, value):
        """`value` as the flag's type; ValueError that names the flag."""
        kind, value = self.kind, value() if callable(value) and self.kind is str else value
        if self.filter is not None:
            return self.filter(value)
        if kind is bool:
            word = str(value).lower()
            if word not in TRUE + FALSE:
                raise ArgumentError(f"the flag {self.fullname!r} is True or False, not {value!r}")
            return word in TRUE
        if isinstance(kind, tuple):
            if self.fullname == "mode" and not isinstance(value, str):
                return value
            word = str(value)
            if word not in kind:
                raise ArgumentError(f"the flag {self.fullname!r} is one of {kind}, not {word!r}")
            return word
        return kind(value)


def EnumStr(default, *options, **kwargs):  # noqa: N802 (Theano's name)
    """A flag that is one of several words."""
    return ConfigParam(default, (default, *options))


def BoolParam(default, **kwargs):  # noqa: N802
    """A flag that is True or False."""
    return ConfigParam(default, bool)


def IntParam(default, is_valid=None, **kwargs):  # noqa: N802
    """A flag that is an int."""
    return ConfigParam(default, int)


def FloatParam(default, is_valid=None, **kwargs):  # noqa: N802
    """A flag that is a float."""
    return ConfigParam(default, float)


def StrParam(default, is_valid=None, **kwargs):  # noqa: N802
    """A flag that is text."""
    return ConfigParam(default, str)


def _dotted(name):
    """A flag's name: Theano-PyMC has gcc__cxxflags for gcc.cxxflags."""
    return name.replace("__", ".")


class Section:
    """A group of flags: `config.scan.debug`; `config` itself is the outermost."""

    def __init__(self, owner=None, prefix=""):
        self.__dict__.update(_owner=owner or self, _prefix=prefix)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._owner._get(self._prefix + _dotted(name))

    def __setattr__(self, name, value):
        self._owner._set(self._prefix + _dotted(name), value)

    def __hasattr__(self, name):
        return self._prefix + name in self._owner._params

    def __dir__(self):
        count = len(self._prefix)
        return sorted(
            {n[count:].split(".")[0] for n in self._owner._params if n.startswith(self._prefix)}
        )


_config_var_list = []  # all flags, under Theano's name


class Config(Section):
    """All flags. Reading an unknown one is an AttributeError, setting one too."""

    def __init__(self):
        super().__init__()
        self.__dict__.update(_params={}, _values={}, _given=None)
        for name, kind, default, doc in ROWS:
            self._add(name, ConfigParam(default, kind, name, doc, None, name not in FIXED))

    def _sources(self):
        if self._given is None:
            given = {**rows_of_files(), **flags_of(os.environ.get("THEANO_FLAGS", ""))}
            self.__dict__["_given"] = given
            for name, own in HANDED_ON.items():
                if given.get(name):
                    engine[own] = given[name]
        return self._given

    def _add(self, name, param):
        if name in self._params:
            raise AttributeError(f"the flag {name!r} exists already")
        param.fullname, param.name = name, name.rpartition(".")[2]
        self._params[name] = param
        _config_var_list.append(param)

    def _get(self, name):
        if name in self._values:
            return self._values[name]
        param = self._params.get(name)
        if param is None:
            if any(n.startswith(name + ".") for n in self._params):
                return Section(self, name + ".")
            raise AttributeError(f"Theano's configuration has no flag {name!r}")
        value = param.parse(self._sources().get(name, param.default))
        if name == "device" and value != "cpu":
            raise ArgumentError("device is cpu: there is no GPU back-end here")
        self._values[name] = value
        return value

    def _set(self, name, value):
        param = self._params.get(name)
        if param is None:
            raise AttributeError(f"Theano's configuration has no flag {name!r}")
        if not param.allow_override:
            raise CKernelsError(
                f"the flag {name} is fixed from the start: set it in THEANO_FLAGS or .theanorc"
            )
        self._values[name] = param.parse(value)

    def change_flags(self, args=(), **flags):
        """`change_flags` as a method."""
        return change_flags(args, **flags)

    def __str__(self):
        return "\n".join(
            f"{name} ({param.kind if isinstance(param.kind, tuple) else param.kind.__name__})\n"
            f"    Doc: {param.doc or 'accepted, without effect'}\n    Value: {self._get(name)}\n"
            for name, param in sorted(self._params.items())
        )


config = Config()


def local_bitwidth():
    """The bits of a pointer."""
    return 64


python_int_bitwidth = local_bitwidth


def AddConfigVar(name, doc, configparam, root=config, in_c_key=True):  # noqa: N802
    """Declare a flag of one's own; it may be in THEANO_FLAGS already."""
    configparam.doc = doc
    root._add(name, configparam)
    root._get(name)


class change_flags(contextlib.ContextDecorator):  # noqa: N801
    """Flags for the length of a `with` block or a call: `change_flags(floatX='float32')`.

    Flags below others are given as keywords through a dict: `change_flags(**{'scan.debug': True})`.
    """

    def __init__(self, args=(), **flags):
        try:
            self.flags = {_dotted(k): v for k, v in {**dict(args), **flags}.items()}
        except (TypeError, ValueError):
            raise UsageError(f"flags are {{name: value}} or pairs of these, not {args!r}") from None
        for name in self.flags:
            if name not in config._params:
                raise RefusedError(f"Theano's configuration has no flag {name!r}")

    def _recreate_cm(self):
        return change_flags(**self.flags)

    def __enter__(self):
        self.before = {name: config._get(name) for name in self.flags}
        try:
            for name, value in self.flags.items():
                config._values[name] = config._params[name].parse(value)
        except Exception:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        config._values.update(self.before)

    def __call__(self, f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            with self._recreate_cm():
                return f(*args, **kwargs)

        return inner
