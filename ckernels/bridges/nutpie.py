"""nutpie on ckernels: a compiled model whose log-density, gradient and trace are C functions.

nutpie samples in threads and calls C function pointers, in its own models those of numba's cfuncs.
All around them (initial points, names, dimensions) is left to nutpie. This file uses private names
of nutpie: in `compile_pymc_model`, and in `_make_model`, which hands over the addresses.
"""

import ctypes
import dataclasses
import warnings

import numpy as np

from ..base.errors import CKernelsWarning, NotSupported
from .pytensor.raw import address
from .pytensor.report import report

LOGP = "int64_t (uint64_t, double *, double *, double *, void *)"
EXPAND = "int64_t (uint64_t, uint64_t, double *, double *, void *)"


class Interpreted:
    """Takes the place of a CFunction where a function calls Python: a callback with the GIL."""

    user_data = 0

    def __init__(self, function, call, parameters):
        self.function = function
        kinds = [ctypes.c_void_p] * (parameters - 2)
        self.callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *kinds, ctypes.c_void_p)(
            call
        )
        self.address = ctypes.cast(self.callback, ctypes.c_void_p).value


def _doubles(pointer, n):
    return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_double)), (n,))


def logp_entry(function):
    """The log-density as an object with address and user_data."""
    try:
        return address(function, LOGP)
    except NotSupported:
        _say("log-density", function)

    def call(n, x, gradient, logp, _):
        try:
            value, slope = function(_doubles(x, n).copy())
        except Exception:  # nutpie expects an error code, and tries another point
            return 1
        _doubles(logp, 1)[0], _doubles(gradient, n)[:] = value, slope
        return 0 if np.isfinite(value) and np.isfinite(slope).all() else 4

    return Interpreted(function, call, 5)


def expand_entry(function, n_expanded):
    """The function from a point to what the trace keeps of it, as by `logp_entry`."""
    try:
        return address(function, EXPAND)
    except NotSupported:
        _say("trace", function)

    def call(n, kept, x, result, _):
        try:
            _doubles(result, n_expanded)[:] = function(_doubles(x, n).copy())[0]
        except Exception:
            return -2
        return 0

    return Interpreted(function, call, 5)


def _say(what, function):
    calls = ", ".join(op for op, _ in report(function)) or "a shape that is data"
    warnings.warn(
        f"the {what} of this model calls Python for {calls}: nutpie's threads take turns there",
        CKernelsWarning,
        stacklevel=4,
    )


def compile_pymc_model(
    model,
    var_names=None,
    initial_points=None,
    default_initialization_strategy="support_point",
    jitter_rvs=None,
):
    """A model for `nutpie.sample`, compiled by ckernels.

    model: of PyMC; var_names: what the trace keeps; initial_points, default_initialization_strategy
    and jitter_rvs as in `nutpie.compile_pymc_model`. Data (`pm.Data`) have their present
    values; `with_data` of the result replaces them.

    >>> compiled = ckernels.pytensor.compile_pymc_model(model)             # doctest: +SKIP
    >>> trace = nutpie.sample(compiled, chains=4)                          # doctest: +SKIP
    """
    from nutpie import compile_pymc as inside
    from pymc.initial_point import make_initial_point_fn

    if default_initialization_strategy == "support_point" and jitter_rvs is None:
        jitter_rvs = set(model.free_RVs)
    start = inside._wrap_with_lock(
        make_initial_point_fn(
            model=model,
            overrides=initial_points,
            default_strategy=default_initialization_strategy,
            jitter_rvs=jitter_rvs,
            return_transformed=True,
        )
    )
    n_dim, n_expanded, logp, expand, start, shapes, *names = inside._make_functions(
        model,
        mode="CKERNELS",
        compute_grad=True,
        join_expanded=True,
        pymc_initial_point_fn=start,
        var_names=var_names,
    )
    dims, coords = inside._prepare_dims_and_coords(model, shapes, *names)
    later = {"shared_var_keys": {}, "reparameterized_names": names[0]} if names else {}
    return _model_class()(
        _n_dim=n_dim,
        dims=dims,
        _coords=coords,
        _shapes={name: tuple(shape) for name, _, shape in zip(*shapes)},
        compiled_logp_func=logp_entry(logp),
        compiled_expand_func=expand_entry(expand, n_expanded),
        initial_point_func=start,
        shared_data={},
        user_data=np.zeros(()),
        n_expanded=n_expanded,
        shape_info=shapes,
        logp_func=logp,
        expand_func=expand,
        **later,  # fields since nutpie 0.16.11; PyMC 5 comes with an earlier one
    )


def _model_class():
    """nutpie's class of compiled models, each of whose two functions has its own user_data."""
    from nutpie import _lib
    from nutpie.compile_pymc import CompiledPyMCModel

    class CompiledModel(CompiledPyMCModel):
        """A PyMC model compiled by ckernels."""

        def with_data(self, **updates):
            for function in (self.logp_func, self.expand_func):
                for variable in function.get_shared():
                    if variable.name in updates:
                        variable.set_value(np.asarray(updates[variable.name], variable.type.dtype))
            known = {v.name for f in (self.logp_func, self.expand_func) for v in f.get_shared()}
            if unknown := set(updates) - known:
                raise KeyError(f"Unknown shared variable: {', '.join(sorted(unknown))}")
            return dataclasses.replace(
                self,
                compiled_logp_func=logp_entry(self.logp_func),
                compiled_expand_func=expand_entry(self.expand_func, self.n_expanded),
            )

        def _make_model(self, init_mean):
            """As nutpie's own, but for the two addresses and their data."""
            logp, expand = self.compiled_logp_func, self.compiled_expand_func
            names, _, shapes = self.shape_info
            coords = dict(self._coords or {})
            sizes = {name: len(values) for name, values in coords.items()}
            variables = _lib.PyVariable.new_variables(
                names, ["float64"] * len(names), shapes, sizes, dict(self.dims or {})
            )
            options = self._transform_adapt_args or {}

            def adapter(*args, **kwargs):
                from nutpie.transform_adapter import make_transform_adapter

                return make_transform_adapter(**options)(*args, **kwargs, logp_fn=None)

            return _lib.PyMcModel(
                _lib.LogpFunc(logp.address, logp.user_data, self),
                _lib.ExpandFunc(
                    self.n_dim, self.n_expanded, expand.address, expand.user_data, self
                ),
                variables,
                self.n_dim,
                sizes,
                coords,
                self.initial_point_func,
                adapter,
            )

    return CompiledModel
