"""Tables of wrong programs, and what is checked of the message each one gets.

A program is a function. A comment `# !` marks the line its message must name; `# made` the line
that made the tensor an error is about.
"""

import inspect

import pytest

from ckernels.base.errors import CKernelsError


class Programs(list):
    """Wrong programs for pytest's parametrize."""

    def wrong(self, error, *words):
        """Register a program: the class it raises and the words its message holds."""

        def register(program):
            self.append(pytest.param(program, error, words, id=program.__name__))
            return program

        return register


def marked(program, mark):
    """'file:line' of the line of `program` that ends with the comment `# mark`; '' if none does."""
    lines, first = inspect.getsourcelines(program)
    found = [first + k for k, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
    assert len(found) <= 1, program
    return f"{inspect.getsourcefile(program)}:{found[0]}" if found else ""


def check(program, error, words):
    """Run `program`: it raises `error`, in at most 15 lines with its lines and `words`."""
    with pytest.raises(error) as caught:
        program()
    assert isinstance(caught.value, CKernelsError), type(caught.value)
    text = str(caught.value)
    assert len(text.splitlines()) <= 15, text
    assert marked(program, "!") in text and marked(program, "made") in text, text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
