"""Functions that are told twice, on K's tensors and on Theano's variables, with one signature.

`like` gives a function the arguments and defaults of another. What a function does with them is
its own affair; a wrapper that only calls another function needs none of this.
"""

import functools
import inspect

from ...base.errors import UsageError


def like(model, **renamed):
    """A decorator: the function takes what `model` takes, and gets each argument by its name.

    renamed: {name in `model`: name here}.
    """
    told = inspect.signature(model)
    names = [p.replace(name=renamed.get(p.name, p.name)) for p in told.parameters.values()]
    told = told.replace(parameters=names)

    def decorate(made):
        @functools.wraps(made)
        def called(*args, **kwargs):
            try:
                bound = told.bind(*args, **kwargs)
            except TypeError as problem:
                raise UsageError(f"{made.__name__}: {problem}") from None
            bound.apply_defaults()
            named = dict(bound.arguments)
            for p in names:
                if p.kind is p.VAR_KEYWORD:
                    named.update(named.pop(p.name))
            return made(**named)

        called.__signature__ = told
        return called

    return decorate
