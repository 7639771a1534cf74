"""What a compiled PyTensor function leaves to Python."""

from collections import Counter


def report(function):
    """A list of (op as text, how often) of the apply nodes of `function` that run in Python.

    function: what `pytensor.function(..., mode="CKERNELS")` returned. An empty list says that all
    of it is machine code (ckernels' own ops may still run in NumPy: `function.vm.jit_fn` tells).
    """
    linker = function.maker.linker
    calls = getattr(linker, "python_calls", None)
    if calls is None:
        raise TypeError(
            f"{function} was compiled by {type(linker).__name__}, not by ckernels: "
            'pass mode="CKERNELS" to pytensor.function'
        )
    return sorted(Counter(str(node.op) for node in calls).items())
