"""How K functions of one or two operands are made of ops: the wrapper, its name and its docstring.

Nothing here computes. The functions themselves are in math.py and special.py.
"""

from ..graph.node import Node
from .operands import node_of, operand
from .tensor import Tensor

ONE = """{doc}

    Parameters
    ----------
    x : tensor, array or number
        Of any shape; elements are taken one by one.

    Returns
    -------
    Tensor
        Of the shape of x.

    Examples
    --------
    >>> K.{name}({call}).eval(){plain}.tolist()
    {gives}
    """
TWO = """{doc}

    Parameters
    ----------
    x, y : tensor, array or number
        Of any shapes that broadcast; elements are taken pair by pair. A Python number takes the
        dtype of the other.

    Returns
    -------
    Tensor
        Of the shape that both broadcast to.

    Raises
    ------
    ShapeError
        Where the shapes do not broadcast.

    Examples
    --------
    >>> K.{name}({call}).eval(){plain}.tolist()
    {gives}
    """


def named(function, name, doc, call, gives, template=ONE):
    """`function` under its public name, with an example that the tests run."""
    function.__name__ = function.__qualname__ = name
    plain = "" if "True" in gives or "False" in gives else ".round(3)"
    function.__doc__ = template.format(doc=doc, name=name, call=call, plain=plain, gives=gives)
    return function


def unary(build, name, doc, given, gives):
    """The K function `name` of one operand by the build function `build` of an op.

    doc: its first sentence; given, gives: the example, as text.
    """
    return named(lambda x: Tensor(build(operand(x))), name, doc, f"np.array({given})", gives)


def binary(build, name, doc, left, right, gives):
    """The same for two operands."""
    right = f"np.array({right})" if right.startswith("[") else right
    call = f"np.array({left}), {right}"
    return named(lambda x, y: Tensor(build(*pair(x, y))), name, doc, call, gives, TWO)


def pair(x, y):
    """Two operands, at least one of them a node, so that Python numbers stay weak."""
    x, y = operand(x), operand(y)
    return (x, y) if isinstance(x, Node) or isinstance(y, Node) else (node_of(x), y)


def examples(names):
    """{name: docstring} of the functions made here among `names`, as the `__test__` of a module:
    doctest looks for functions where they were written, not where they are used."""
    return {
        name: f.__doc__
        for name, f in names.items()
        if callable(f)
        and getattr(f, "__globals__", None) is globals()
        and f.__doc__
        and ">>>" in f.__doc__
    }
