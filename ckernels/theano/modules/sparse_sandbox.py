"""theano.sparse.sandbox: random sparse matrices (sp2), convolutions by sparse products (sp)."""

from ..base.names import absent_of as _absent_of

__getattr__ = _absent_of("theano.sparse.sandbox")
