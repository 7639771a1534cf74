"""Parted: a handle on several tensors at once, as sparse matrices are. K.function and K.grad ask
these for what they need of them and know no kind of them."""


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
