"""What lower files of the front end call and higher ones define, each by one name.

A file that defines one says so when it loads: `register_hook("function", function)`. The table
names them all, with the file that registers each: this is the list of what goes up, everything else
goes down by imports. What nobody has loaded yet is loaded when it is asked for.
"""

import importlib

from ...base.errors import ArgumentError

ROOT = __package__.rpartition(".")[0]
HOOKS = {  # name: (file below ckernels.theano that registers it, what it is)
    "function": (
        "compile.function",
        "theano.function: `eval` and pickles make functions",
    ),
    "maker": ("compile.maker", "what f.maker is"),
    "functions": (
        "tensor.methods",
        "{file: module} of the functions that variables have as methods",
    ),
    "stack": ("tensor.methods", "a list that holds variables as a variable"),
    "patternbroadcast": ("tensor.methods", "a variable with the pattern of a type"),
    "node_op": ("classes.op", "an op of the engine as programs see it"),
    "TensorVariable": ("handles.variables", "the class of variables of a TensorType"),
    "TensorConstant": ("handles.variables", "that of constants"),
    "TensorSharedVariable": ("handles.sharedvar", "that of shared variables"),
    "constant_handle": ("handles.variables", "the handle on a constant node"),
    "wrap": ("handles.variables", "a handle on any node"),
    "test_value": ("handles.test_values", "the test value of a variable"),
    "compute_test_value": ("handles.test_values", "compute the test values of an Apply"),
    "lower": ("user_ops.perform", "give the outputs of an Apply of a user's Op their nodes"),
    "way_of": ("user_ops.perform", "what computes an Apply of a user's Op"),
    "interpret": ("user_ops.perform", "an op's values on arrays, through the engine's interpreter"),
    "sparse_shared": ("sparse.functions", "a shared sparse matrix"),
    "random_state_shared": ("tensor.raw_random", "a shared state of a generator"),
}
_known = {}


def register_hook(name, value):
    """Say what the hook `name` of the table is."""
    if name not in HOOKS:
        raise ArgumentError(f"no hook is called {name!r}: {', '.join(HOOKS)}")
    _known[name] = value
    return value


def hook(name):
    """What was registered as `name`."""
    try:
        return _known[name]
    except KeyError:
        importlib.import_module(f"{ROOT}.{HOOKS[name][0]}")
    return _known[name]
