"""Names that Theano 1.0 has and ckernels does not, so that an error can say which it is."""

ABSENT = {      # module: {name: what to use instead}
    "theano": {"gpuarray": "there is no GPU back-end"},
    "theano.tensor": {},
}


def missing(module, name):
    """The AttributeError for a name that is not here: whether Theano 1.0 had it."""
    why = ABSENT.get(module, {}).get(name)
    if why is not None:
        return AttributeError(f"{module}.{name} is a name of Theano 1.0 that ckernels does not "
                              f"have: {why}")
    return AttributeError(f"module {module!r} has no attribute {name!r}, neither here nor in "
                          "Theano 1.0")
