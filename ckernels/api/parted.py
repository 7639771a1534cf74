"""Parted: a handle on several tensors at once, as sparse matrices are. K.function, K.grad and K.dot
ask these for what they need of them and know no kind of them."""

_foreign = []


class Parted:
    """A handle on several tensors.

    data   the tensor among them that has a gradient, which is that of the handle
    """

    def with_data(self, data):
        """The same with another tensor in the place of that one."""
        raise NotImplementedError

    def function_of_parts(self, build, inputs, outputs, options):
        """The callable for a function with such handles among what it is made of; build: K.function
        for their tensors; options: the other arguments of that, by name."""
        raise NotImplementedError

    def dot(self, other):
        """The product with another operand of K.dot."""
        raise NotImplementedError

    def __rmatmul__(self, other):
        """The product of another operand of K.dot with this one."""
        raise NotImplementedError


def register_parted(is_one, make):
    """Have `make` make a handle of what `is_one` says of that it is one: a library's matrix."""
    _foreign.append((is_one, make))


def as_parted(x):
    """The handle that a matrix of another library makes; all else as it is."""
    return next((make(x) for is_one, make in _foreign if is_one(x)), x)


def first_parted(*given):
    """The first Parted among these tensors, lists, pairs or dicts; None without one."""
    for one in given:
        if isinstance(one, Parted):
            return one
        if isinstance(one, dict):
            one = [*one.items()]
        if isinstance(one, (list, tuple)):
            found = first_parted(*one)
            if found is not None:
                return found
    return None
