"""Types of ckernels.compat.theano. Written by `python -m build_tools.stubs`.

What functions and classes of the front end are is read from their sources; its modules, whose
names are made when they are asked for, are Any.
"""

from typing import Any

from ..theano.modules import FAST_COMPILE as FAST_COMPILE
from ..theano.modules import FAST_RUN as FAST_RUN
from ..theano.modules import Apply as Apply
from ..theano.modules import Constant as Constant
from ..theano.modules import In as In
from ..theano.modules import Mode as Mode
from ..theano.modules import Op as Op
from ..theano.modules import Out as Out
from ..theano.modules import Param as Param
from ..theano.modules import Type as Type
from ..theano.modules import Variable as Variable
from ..theano.modules import function as function
from ..theano.modules import install as install
from ..theano.modules import shared as shared

__version__: str

def __getattr__(name: str) -> Any: ...

def grad(
    cost: Any,
    wrt: Any,
    consider_constant: Any = ...,
    disconnected_inputs: Any = ...,
    add_names: Any = ...,
    known_grads: Any = ...,
    return_disconnected: Any = ...,
    null_gradients: Any = ...,
) -> Any: ...

def Rop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    disconnected_outputs: Any = ...,
    return_disconnected: Any = ...,
) -> Any: ...

def Lop(
    f: Any,
    wrt: Any,
    eval_points: Any,
    consider_constant: Any = ...,
    disconnected_inputs: Any = ...,
) -> Any: ...

def scan(
    fn: Any,
    sequences: Any = ...,
    outputs_info: Any = ...,
    non_sequences: Any = ...,
    n_steps: Any = ...,
    truncate_gradient: Any = ...,
    go_backwards: Any = ...,
    mode: Any = ...,
    name: Any = ...,
    profile: Any = ...,
    allow_gc: Any = ...,
    strict: Any = ...,
    return_list: Any = ...,
) -> tuple[Any, Any]: ...

def map(
    fn: Any,
    sequences: Any,
    non_sequences: Any = ...,
    truncate_gradient: Any = ...,
    go_backwards: Any = ...,
    mode: Any = ...,
    name: Any = ...,
) -> tuple[Any, Any]: ...

def reduce(
    fn: Any,
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = ...,
    go_backwards: Any = ...,
    mode: Any = ...,
    name: Any = ...,
) -> tuple[Any, Any]: ...

def foldl(
    fn: Any,
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = ...,
    mode: Any = ...,
    name: Any = ...,
) -> tuple[Any, Any]: ...

def foldr(
    fn: Any,
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = ...,
    mode: Any = ...,
    name: Any = ...,
) -> tuple[Any, Any]: ...
