"""Mode: how a function runs, by the names of Theano's linkers and optimizers.

A Mode holds two words and tags; what they come to here is one of the engine's ways: compiled, few
rewrites, or the NumPy interpreter. `DebugMode`, `NanGuardMode` and `MonitorMode` are modes with
something to watch.
"""

import sys

from ...base.errors import ArgumentError, CKernelsError
from ..base.config import config
from ..base.exceptions import (  # noqa: F401
    BadDestroyMap,
    BadOptimization,
    BadThunkOutput,
    BadViewMap,
    DebugModeError,
    InvalidValueError,
    RefusedError,
    StochasticOrder,
)
from ..base.names import absent_of as _absent_of
from .printing import debugprint

BELOW = __package__.rpartition(".")[0]  # the front end
LINKERS = {"cvm", "c|py", "py", "c", "c|py_nogc", "vm", "vm_nogc", "cvm_nogc"}
OPTIMIZERS = {None: "none", "None": "none", "merge": "none", "o4": "fast_run", "o3": "fast_run",
              "o2": "fast_run", "o1": "fast_compile", "unsafe": "fast_run", "fast_run": "fast_run",
              "fast_run_stable": "fast_run", "fast_compile": "fast_compile",
              "stabilize": "fast_compile"}  # fmt: skip
predefined_linkers = {name: name for name in sorted(LINKERS)}


class _Optimizers(dict):
    """{name: what a user registered}; of Theano's own names, whose value is None, the Query."""

    def __getitem__(self, name):
        found = dict.__getitem__(self, name)
        return Mode("vm", name).query() if found is None else found


predefined_optimizers = _Optimizers.fromkeys(OPTIMIZERS)


def _empty(rewrites):
    """Whether a SeqOptimizer holds nothing, its own SeqOptimizers included."""
    return all(isinstance(r, list) and _empty(r) for r in rewrites)


class Mode:
    """A linker and an optimizer, with tags of rewrites to add or to leave out."""

    def __init__(self, linker=None, optimizer="default", tags=None):
        linker = config.linker if linker is None else linker
        optimizer = config.optimizer if optimizer == "default" else optimizer
        self.__setstate__((linker, optimizer))
        self.tags = tuple(tags or ())

    def __getstate__(self):
        return self.provided_linker, self.provided_optimizer

    def __setstate__(self, state):
        linker, optimizer = state
        self.provided_linker, self.provided_optimizer = linker, optimizer
        if isinstance(linker, str) and linker not in LINKERS:
            raise CKernelsError(f"Linker {linker!r} is unknown; known are {sorted(LINKERS)}")
        if isinstance(optimizer, str) and optimizer not in OPTIMIZERS:
            raise CKernelsError(f"Optimizer {optimizer!r} is unknown")
        self.linker, self._optimizer, self.tags = linker, optimizer, ()
        self.call_time = self.fn_time = 0

    @property
    def optimizer(self):
        """The rewrites of users that this mode applies, as one Optimizer."""
        from ..rewrites.opt import Optimizer, SeqOptimizer  # start-up: 1.5 ms

        given = self._optimizer
        if not isinstance(given, str) and given is not None and not hasattr(given, "include"):
            return given
        found = predefined_optimizers.get(given) if isinstance(given, str) else None
        if isinstance(found, Optimizer):
            return found
        from ..rewrites.optdb import optdb  # start-up: 2 ms

        return optdb.query(self.query()) or SeqOptimizer()

    def query(self):
        """The Query of this mode: what its optimizer includes, with its tags."""
        from ..rewrites.optdb import Query  # start-up: 2 ms

        given = self._optimizer
        if hasattr(given, "include"):
            found = given
        else:
            word = OPTIMIZERS.get(given, "fast_run")
            include = {"none": [], "fast_compile": ["fast_compile"]}.get(word, ["fast_run"])
            found = Query([*include, given] if isinstance(given, str) else include)
        for tag in self.tags:
            if not isinstance(tag, str):
                found = found.register(tag)
            elif tag[0] == "-":
                found = found.excluding(tag[1:])
            else:
                found = found.requiring(tag[1:]) if tag[0] == "&" else found.including(tag)
        return found

    def rewrites(self):
        """The Optimizer to apply to the graph as written, or None: nobody registered any."""
        given = self._optimizer
        plain = given is None or isinstance(given, str) and predefined_optimizers.get(given) is None
        if plain and f"{BELOW}.rewrites.optdb" not in sys.modules:
            return None
        found = self.optimizer
        return None if isinstance(found, list) and _empty(found) else found

    @property
    def by_python(self):
        """Whether all nodes, Ops of users too, are to run in Python."""
        return getattr(self.linker, "way", self.linker) == "py"

    def way_of_ops(self):
        """How Ops of users run: "py" by `perform`, "debug" looked at, None as they can."""
        return "py" if self.by_python else None

    def engine(self):
        """The word of the engine: compiled, fast_compile or reference."""
        if self.by_python or not config.cxx:
            return "reference"
        named = isinstance(self._optimizer, str) or self._optimizer is None
        rewrites = OPTIMIZERS.get(self._optimizer, "fast_run") if named else "fast_run"
        return "compiled" if rewrites == "fast_run" else "fast_compile"

    def watch(self):
        """None, or what makes the callable of a Spec that this mode watches."""
        if hasattr(self.linker, "wrapper"):
            from .watched import Wrapped  # start-up: 1.2 ms

            return lambda spec: Wrapped(spec, self)
        return None

    def _with(self, *tags):
        made = self.clone()
        made.tags = self.tags + tags
        return made

    def including(self, *tags):
        """This mode with more rewrites."""
        return self._with(*tags)

    def excluding(self, *tags):
        """This mode with fewer rewrites."""
        return self._with(*("-" + t for t in tags))

    def requiring(self, *tags):
        """This mode with rewrites that have all these tags."""
        return self._with(*("&" + t for t in tags))

    def register(self, *optimizations):
        """This mode with rewrites of one's own, pairs (rewrite, position)."""
        return self._with(*optimizations)

    def clone(self, link_kwargs=None, optimizer="", **kwargs):
        """A copy, with another optimizer where one is given."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        if optimizer != "":
            made._optimizer = made.provided_optimizer = optimizer
        return made

    def __str__(self):
        return f"Mode(linker = {self.provided_linker}, optimizer = {self.provided_optimizer})"

    def __repr__(self):
        return f"{type(self).__name__}(linker={self.linker!r}, optimizer={self._optimizer!r})"


class DebugMode(Mode):
    """Each node compiled and interpreted, and the results compared."""

    def __init__(
        self,
        optimizer="fast_run",
        stability_patience=None,
        check_c_code=None,
        check_py_code=None,
        check_isfinite=None,
        check_preallocated_output=None,
        require_matching_strides=None,
        linker=None,
    ):
        Mode.__init__(self, "cvm", optimizer)

    def way_of_ops(self):
        return "debug"

    def engine(self):
        return "debug"


class NanGuardMode(Mode):
    """Floats that are NaN, infinite or above 1e10 are errors, as the three switches say.

    Looked at are inputs, outputs and new values, before any variable changes; the error names the
    node they began at. Such numbers in between that leave no trace in a result are no error here:
    the function runs compiled. The flag NanGuardMode.action says what an error does.
    """

    def __init__(
        self,
        nan_is_error=None,
        inf_is_error=None,
        big_is_error=None,
        optimizer="default",
        linker=None,
    ):
        get = config._get
        given = {
            "nan_is_error": nan_is_error,
            "inf_is_error": inf_is_error,
            "big_is_error": big_is_error,
        }
        switches = {k: get(f"NanGuardMode.{k}") if v is None else v for k, v in given.items()}
        if not any(switches.values()):
            raise RefusedError("NanGuardMode with all three switches off looks at nothing")
        Mode.__init__(self, linker or "cvm", optimizer)
        self.__dict__.update(switches)

    def __getstate__(self):
        return *Mode.__getstate__(self), self.nan_is_error, self.inf_is_error, self.big_is_error

    def __setstate__(self, state):
        Mode.__setstate__(self, state[:2])
        if len(state) > 2:
            self.nan_is_error, self.inf_is_error, self.big_is_error = state[2:]

    def watch(self):
        from .watched import NanGuard  # start-up: 1.2 ms

        return lambda spec: NanGuard(spec, self)


class MonitorMode(Mode):
    """Functions called before and after each node: `pre_func(i, node, fn)`, `post_func(i, node,
    fn)`; fn.inputs and fn.outputs are lists of one-element lists of arrays.

    With one of them the function runs in NumPy, node by node, without rewrites.
    """

    def __init__(self, pre_func=None, post_func=None, optimizer="default", linker=None):
        if linker is not None:
            raise CKernelsError("MonitorMode takes no linker: it brings one of its own", linker)
        Mode.__init__(self, "vm", optimizer)
        self.pre_func, self.post_func = pre_func, post_func

    def __getstate__(self):
        return *Mode.__getstate__(self), self.pre_func, self.post_func

    def __setstate__(self, state):
        Mode.__setstate__(self, state[:2])
        if len(state) > 2:
            self.pre_func, self.post_func = state[2:]

    def watch(self):
        if self.pre_func is None and self.post_func is None:
            return None
        from .watched import Monitored  # start-up: 1.2 ms

        return lambda spec: Monitored(spec, self)


def detect_nan(i, node, fn):
    """A post_func for MonitorMode: prints the first nodes whose results hold NaN."""
    import numpy as np  # no name of this module

    for output in fn.outputs:
        if output[0].dtype.kind in "fc" and np.isnan(output[0]).any():
            print("*** NaN detected ***")
            debugprint(node)
            print(f"Inputs : {[x[0] for x in fn.inputs]}")
            print(f"Outputs: {[x[0] for x in fn.outputs]}")
            break


FAST_COMPILE = Mode("vm", "fast_compile")
FAST_RUN = Mode("cvm", "fast_run")
predefined_modes = {"FAST_COMPILE": FAST_COMPILE, "FAST_RUN": FAST_RUN}
_default = {}


def get_mode(orig):
    """A Mode from a Mode, the name of one, or None for that of the flag `mode`."""
    found = config.mode if orig is None else orig
    if not isinstance(found, str):
        return found
    if found == "Mode":
        key = config.linker, config.optimizer
        if key not in _default:
            _default[key] = Mode(*key)
        return _default[key]
    if found in ("DebugMode", "DEBUG_MODE"):
        return DebugMode()
    if found == "NanGuardMode":
        return NanGuardMode()
    if found == "MonitorMode":
        return MonitorMode()
    if found not in predefined_modes:
        raise CKernelsError(f"no mode is called {found!r}; known are {sorted(predefined_modes)}")
    return predefined_modes[found]


def get_default_mode():
    """The Mode of the flag `mode`."""
    return get_mode(None)


default_mode = "Mode"


def register_mode(name, mode):
    """Give a Mode a name that `function(mode=name)` knows."""
    if name in predefined_modes:
        raise ArgumentError(f"there is a mode {name!r} already: choose another name")
    predefined_modes[name] = mode


def register_linker(name, linker):
    """Give a linker a name."""
    if name in LINKERS:
        raise ArgumentError(f"there is a linker {name!r} already: choose another name")
    LINKERS.add(name)


def register_optimizer(name, opt):
    """Give an optimizer a name."""
    if name in OPTIMIZERS:
        raise ArgumentError(f"there is an optimizer {name!r} already: choose another name")
    OPTIMIZERS[name], predefined_optimizers[name] = "fast_run", opt


def __getattr__(name):
    if name == "optdb":
        from ..rewrites.optdb import optdb  # start-up: 2 ms

        return optdb
    return _absent_of("theano.compile.mode")(name)
