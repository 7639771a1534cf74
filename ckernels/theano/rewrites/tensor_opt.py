"""The ops that theano.tensor.opt defines, and where users register rewrites of tensors.

Theano's own rewrites are the engine's affair; these come before it, over the graph as written.
"""

from ..base.exceptions import NotScalarConstantError
from ..base.names import absent_of as _absent_of
from ..handles.constants import get_scalar_constant_value  # noqa: F401
from ..tensor.indexing import get_canonical_form_slice  # noqa: F401
from ..tensor.joining import MakeVector, make_vector  # noqa: F401
from ..tensor.raise_op import Assert, assert_, assert_op  # noqa: F401
from ..tensor.shaping import Shape_i, shape_i  # noqa: F401
from . import opt as _opt
from .canonizer import (  # noqa: F401
    Canonizer,
    add_calculate,
    add_canonizer,
    local_add_canonizer,
    local_mul_canonizer,
    mul_calculate,
    mul_canonizer,
)
from .opt import copy_stack_trace, in2out, local_optimizer, out2in  # noqa: F401
from .optdb import parts as _parts


def _registers(part):
    def register(lopt, *tags, **kwargs):
        if isinstance(lopt, str):  # @register_...("tag"): a decorator with more tags

            def decorator(inner):
                return register(inner, lopt, *tags, **kwargs)

            return decorator
        name = kwargs.pop("name", None) or getattr(lopt, "__name__", type(lopt).__name__)
        _parts[part].register(name, lopt, "fast_run", *tags, **kwargs)
        return lopt

    register.__name__ = f"register_{part}"
    register.__doc__ = (
        f"Put a local rewrite among those of `{part}`; a decorator, with more tags if wanted."
    )
    return register


register_canonicalize = _registers("canonicalize")
register_stabilize = _registers("stabilize")
register_specialize = _registers("specialize")
register_uncanonicalize = _registers("uncanonicalize")
register_useless = _registers("canonicalize")
register_specialize_device = _registers("specialize")


def __getattr__(name):
    if name == "NotScalarConstantError":
        return NotScalarConstantError
    if hasattr(_opt, name) and not name.startswith("_"):
        return getattr(_opt, name)
    return _absent_of("theano.tensor.opt")(name)
