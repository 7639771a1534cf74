"""Flags: one table, read once and lazily, from four places.

Precedence: a value set in code > CKERNELS_FLAGS (`mode=debug,cc.cflags=-g`, right-most wins)
> ~/.ckernelsrc (an ini file, `[global]` and sections) > keras.json (floatx, epsilon and
image_data_format only) > the default. No file is ever written, and nothing is read before the first
flag is asked for. What a flag does belongs to the room that reads it, not here.
"""

import contextlib
import os
import re
import warnings
from collections.abc import Mapping
from typing import NamedTuple

from . import locks
from .errors import CKernelsWarning, ConfigError, did_you_mean

ENVIRONMENT = "CKERNELS_FLAGS"


class UnknownFlag(ConfigError, AttributeError):
    """No such flag. An AttributeError too, so that `hasattr(config, name)` works."""

    def __init__(self, *args):
        super().__init__(*args)
        self.obj = None  # else Python 3.12 and later append a guess to the message


UnknownFlag.__module__ = "ckernels.config"  # where users find it


class Flag(NamedTuple):
    name: str
    parse: object  # str -> value; raises ValueError
    default: object
    meaning: str


def boolean(text):
    words = {"true": True, "yes": True, "on": True, "1": True}
    words.update({"false": False, "no": False, "off": False, "0": False})
    try:
        return words[str(text).strip().lower()]
    except KeyError:
        raise ValueError("true or false") from None


def integer(text):
    try:
        return int(str(text))
    except ValueError:
        raise ValueError("an integer") from None


def optional_integer(text):
    return None if str(text).strip().lower() in ("", "none") else integer(text)


def count(text):
    try:
        if (value := integer(text)) >= 0:
            return value
    except ValueError:
        pass
    raise ValueError("an integer, 0 or more")


def number(text):
    try:
        if (value := float(text)) >= 0:  # false for NaN
            return value
    except (TypeError, ValueError):
        pass
    raise ValueError("a number, 0 or more")


def byte_size(text):
    """'512M', '2 GiB', '100000': bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", str(text).lower())
    if not match:
        raise ValueError("a size such as 512M or 2G")
    size = float(match[1]) * 1024 ** " kmgt".index(match[2] or " ")
    if size >= 2**63:
        raise ValueError("a size such as 512M or 2G")
    return int(size)


def path(text):
    return os.path.expanduser(str(text).strip())


def text(value):
    return str(value).strip()


def one_of(*choices, **aliases):
    """A parser for a closed set of words; aliases are names other systems use for one of them."""
    words = {choice.lower(): choice for choice in choices}
    words.update({alias.lower(): choice for alias, choice in aliases.items()})

    def parse(value):
        try:
            return words[str(value).strip().lower()]
        except KeyError:
            import difflib  # start-up

            near = difflib.get_close_matches(str(value).strip(), choices, n=1)
            hint = f" (did you mean `{near[0]}`?)" if near else ""
            raise ValueError("one of " + ", ".join(choices) + hint) from None

    return parse


def float_name(value):
    """The name of a float dtype; bfloat16 only with the package ml_dtypes."""
    plain = ("float16", "float32", "float64")
    if str(value).strip().lower() != "bfloat16":
        return one_of(*plain, "bfloat16")(value)
    try:
        import ml_dtypes  # noqa: F401 (it registers its dtypes)
    except ImportError:
        raise ValueError(
            f"one of {', '.join(plain)}; bfloat16 needs the package ml_dtypes "
            "(pip install 'ckernels[bf16]')"
        ) from None
    return "bfloat16"


FLAGS = [
    # name, parser, default, meaning
    Flag("mode", one_of("compiled", "fast_compile", "reference", "debug", FAST_RUN="compiled",
                        DebugMode="debug", DEBUG_MODE="debug"),
         "compiled", "how K.function runs: compiled, fast_compile, reference (NumPy), debug"),
    Flag("floatX", float_name, "float32",
         "the default float dtype: float16, bfloat16, float32, float64"),
    Flag("intX", one_of("int32", "int64"), "int64", "the default integer dtype"),
    Flag("epsilon", number, 1e-7, "the fuzz factor of the K functions"),
    Flag("image_data_format", one_of("channels_last", "channels_first"), "channels_last",
         "where images keep their channels"),
    Flag("cast_policy", one_of("standard", "keep_float", custom="standard",
                               **{"numpy+floatX": "keep_float"}),
         "standard", "int32 with float32: float64 (standard) or float32 (keep_float)"),
    Flag("warn_float64", one_of("ignore", "warn", "raise", pdb="raise"), "ignore",
         "what to do when an operation makes a float64 of narrower inputs"),
    Flag("seed", optional_integer, None, "seed of random numbers; none takes one from the system"),
    Flag("on_unused_input", one_of("raise", "warn", "ignore"), "ignore",
         "what K.function does with an input that no output needs"),
    Flag("on_compile_error", one_of("fallback", "raise"), "fallback",
         "when the C compiler fails: run through NumPy, or raise"),
    Flag("exception_verbosity", one_of("low", "high"), "low",
         "high: errors also print the tree of the expression they are about"),
    Flag("check", one_of("none", "nan", NanGuardMode="nan"), "none",
         "nan: look for NaN and inf in what each function computes, and name their origin"),
    Flag("profile", boolean, False, "profile every function and print the tables at exit"),
    Flag("print_progress", boolean, False,
         "print the phases of building a function as they finish, on stderr"),
    Flag("optimizer", one_of("fast_run", "fast_compile", "none"), "fast_run",
         "which rewrites run"),
    Flag("optimizer_including", text, "",
         "rewrites to add to optimizer=fast_compile or none: rules or families, colons between"),
    Flag("optimizer_excluding", text, "",
         "rewrites to leave out: rules or families, colons between"),
    Flag("cc", text, "", "the C compiler; empty looks for CKERNELS_CC, CC, cc, gcc, clang"),
    Flag("cc.cflags", text, "", "flags added after ours; they are part of every key"),
    Flag("cc.timeout", number, 300.0, "seconds one run of the compiler may take; 0: any"),
    Flag("arch", one_of("native", "x86-64-v2", "x86-64-v3", "x86-64-v4", "generic"), "native",
         "instructions the kernels may use"),
    Flag("compiledir", path, "", "the directory of compiled kernels; overrides the next two"),
    Flag("base_compiledir", path, "", "where compiledirs are; empty: the user's cache directory"),
    Flag("compiledir_format", text, "{system}-{machine}",
         "name below base_compiledir; knows {system} {platform} {machine} {processor} {hostname} "
         "{user} {abi} {python_version}"),
    Flag("cache", one_of("on", "readonly", "off", true="on", false="off"), "on",
         "use the compiledir: on, readonly, off"),
    Flag("cache.max_size", byte_size, 1 << 30, "bytes the compiledir may hold"),
    Flag("cache.max_files", count, 20_000, "files the compiledir may hold"),
    Flag("cache.patience", number, 10.0,
         "seconds to wait for kernels that another process builds; 0: build them here as well"),
    Flag("cache.path", text, "", "read-only compiledirs to look in first, separated as in PATH"),
    Flag("openmp", boolean, True, "use more than one thread"),
    Flag("openmp_elemwise_minsize", count, 0,
         "elements below which a kernel stays on one thread; 0 lets the cost model decide"),
    Flag("pool", byte_size, 512 << 20,
         "bytes of freed arrays of 1 MB and more that are kept for the next results; 0: none"),
    Flag("lazy_from", count, 1 << 15,
         "elements from which arrays of ckernels.numpy compute late, compiled; NumPy has the rest"),
    Flag("blas", text, "", "BLAS: empty looks for one, `builtin`, or the path of a library"),
]  # fmt: skip
ALIASES = {"floatx": "floatX", "intx": "intX", "fuzz_factor": "epsilon",
           "cxx": "cc", "gcc.cxxflags": "cc.cflags", "compile.timeout": "cc.timeout",
           "random.seed": "seed"}  # fmt: skip
TABLE = {flag.name: flag for flag in FLAGS}


def lookup(name):
    """The Flag called `name`, or UnknownFlag that says which one may have been meant."""
    if not isinstance(name, str):
        raise UnknownFlag(f"the name of a flag is a string, not {name!r:.80}")
    name = name.strip()
    flag = TABLE.get(ALIASES.get(name, name))
    if flag is None:
        raise UnknownFlag(f"ckernels has no flag `{name}`{did_you_mean(name, TABLE)}")
    return flag


def parsed(flag, value, origin):
    """`value` as the flag's type; ConfigError names flag, value and the place it came from."""
    try:
        return flag.default if value is None else flag.parse(value)
    except ValueError as error:
        where = f" (from {origin})" if origin else ""
        raise ConfigError(f"flag `{flag.name}` takes {error}, not {value!r}{where}") from None


def from_environment(flags):
    """Items of CKERNELS_FLAGS. A comma ends a value only where another `name=` follows it."""
    for item in re.split(r",(?=\s*[A-Za-z_][\w.]*\s*=)", flags.strip().rstrip(",")):
        if item.strip():
            name, sign, value = item.partition("=")
            if not sign:
                raise ConfigError(f"{ENVIRONMENT}: `{item}` is not of the form name=value")
            yield name, value


def from_ini(filename):
    """Items of ~/.ckernelsrc: names of `[global]` as they are, of `[section]` as section.name."""
    if not os.path.isfile(filename):
        return
    import configparser  # start-up

    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    try:
        parser.read(filename, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise ConfigError(f"{filename} is not a valid ini file: {error}") from None
    for section in parser.sections():
        for name, value in parser.items(section):
            yield (name if section == "global" else f"{section}.{name}"), value


def from_keras(filename):
    """The three settings shared with Keras. The file is Keras's: a bad one gives just a warning."""
    if not os.path.isfile(filename):
        return
    import json  # start-up

    try:
        with open(filename, encoding="utf-8") as stream:
            settings = json.load(stream)
        orderings = {"th": "channels_first", "tf": "channels_last"}
        ordering = orderings.get(settings.get("image_dim_ordering"))
        for name, value in (
            ("floatX", settings.get("floatx")),
            ("epsilon", settings.get("epsilon")),
            ("image_data_format", settings.get("image_data_format", ordering)),
        ):
            if value is not None:
                TABLE[name].parse(value)
                yield name, value
    except (OSError, ValueError, AttributeError) as error:
        warnings.warn(f"ignoring {filename}: {error}", CKernelsWarning, stacklevel=2)


class Section(str):
    """Value of a flag that has flags below it: `config.cc` is a string, `config.cc.cflags` too."""

    def __new__(cls, value, owner, prefix):
        self = super().__new__(cls, value)
        self.__dict__.update(_owner=owner, _prefix=prefix)
        return self

    def __getattr__(self, name):
        return self._owner[f"{self._prefix}.{name}"]

    def __setattr__(self, name, value):
        self._owner[f"{self._prefix}.{name}"] = value


SECTIONS = {name.split(".")[0] for name in TABLE if "." in name}


class Config:
    """All flags, as attributes and as items. `version` grows with each change, for caches."""

    def __init__(self):
        self.__dict__.update(_values=None, _lock=locks.rlock(), version=0)

    def _read(self):
        """Read every source once; a ConfigError is raised again at each use until it is fixed."""
        with self._lock:
            if self._values is None:
                home = os.path.expanduser("~")
                if not os.path.isabs(home):  # no home: no file of the working directory
                    home = os.devnull
                rc = os.path.join(home, ".ckernelsrc")
                keras = os.environ.get("KERAS_HOME") or os.path.join(home, ".keras")
                keras = os.path.join(keras, "keras.json")
                values = {flag.name: (flag.default, "default") for flag in FLAGS}
                sources = [
                    (keras, from_keras(keras)),
                    (rc, from_ini(rc)),
                    (ENVIRONMENT, from_environment(os.environ.get(ENVIRONMENT, ""))),
                ]
                for origin, items in sources:
                    for name, value in items:
                        flag = self._lookup(name, origin)
                        values[flag.name] = (parsed(flag, value, origin), origin)
                self.__dict__["_values"] = values
        return self._values

    @staticmethod
    def _lookup(name, origin):
        try:
            return lookup(name)
        except UnknownFlag as error:
            raise UnknownFlag(f"{error.args[0]} (from {origin})") from None

    def __getitem__(self, name):
        values = self._values or self._read()
        entry = values.get(name) if isinstance(name, str) else None
        value = entry[0] if entry else values[lookup(name).name][0]
        return Section(value, self, name) if name in SECTIONS else value

    def __setitem__(self, name, value):
        flag = lookup(name)
        value = parsed(flag, value, "")
        with self._lock:
            self._read()[flag.name] = (value, "code")
            self.__dict__["version"] += 1

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name, value):
        self[name] = value

    def __iter__(self):
        return iter(TABLE)

    def __len__(self):
        return len(TABLE)

    def __dir__(self):
        return sorted([*super().__dir__(), *(name for name in TABLE if "." not in name)])

    def origin(self, name):
        """Where the value came from: "default", "code", CKERNELS_FLAGS, or a file name."""
        return self._read()[lookup(name).name][1]

    @contextlib.contextmanager
    def change(self, flags=None, **more):
        """Set flags for the length of a `with` block: `with config.change(mode="debug"): ...`"""
        if not isinstance(flags, (Mapping, type(None))):
            raise ConfigError(f"change takes a dict of flags, or keywords, not {flags!r:.80}")
        wanted = {lookup(name).name: value for name, value in {**(flags or {}), **more}.items()}
        saved = {name: self._read()[name] for name in wanted}
        try:
            for name, value in wanted.items():
                self[name] = value
            yield self
        finally:
            with self._lock:
                self._read().update(saved)
                self.__dict__["version"] += 1

    def __str__(self):
        return "\n".join(
            f"{flag.name} = {_shown(value)}\n    {flag.meaning}\n"
            f"    default: {_shown(flag.default)}; from: {origin}"
            for flag in FLAGS
            for value, origin in [self._read()[flag.name]]
        )

    def __repr__(self):
        return f"<ckernels config, {len(FLAGS)} flags; print(config) lists them>"


def _shown(value):
    """A value as one would write it in CKERNELS_FLAGS; '' where it is empty."""
    return str(value) if str(value) else "''"


config = Config()
