"""C functions of PyTensor's functions: C function pointers, shared variables bound to values."""

from ...base.errors import NotSupported


def address(function, signature, *arrays):
    """A CFunction of a function that `pytensor.function(..., mode="CKERNELS")` returned.

    signature: one of `ckernels.runtime.cfunction.SIGNATURES`; arrays: examples of the inputs, for
    their shapes (none are needed where the types have static shapes). Shared variables keep the
    values they have now. Raises NotSupported where a part of the function runs in Python.

    >>> x = pt.dscalar("x")                                                # doctest: +SKIP
    >>> f = pytensor.function([x], pt.sin(x) ** 2, mode="CKERNELS")        # doctest: +SKIP
    >>> scipy.integrate.quad(address(f, "double (double, void *)").scipy(), 0, 1)  # doctest: +SKIP
    """
    linker = function.maker.linker
    if getattr(linker, "current", None) is not None:
        linker.current()
    pieces = getattr(linker, "pieces", None)
    if pieces is None or not pieces.whole or pieces.functions[0] is None:
        raise NotSupported(
            "this function has no C function: it was not compiled by ckernels, or "
            "runs in pieces with Python between them (ckernels.pytensor.report)"
        )
    compiled, _, large, slots = pieces.functions[0]
    if [s for _, s in pieces.outputs] != slots:
        raise NotSupported("this function has no C function: some of its results are the same")
    bound = {}
    for k, (given, store) in enumerate(zip(function.maker.inputs, function.input_storage)):
        if given.shared:
            bound[k] = store.data
    count = len(pieces.fgraph.inputs)
    bound.update({count + k: array for k, array in enumerate(large)})
    return compiled.address(signature, *arrays, bound=bound)
