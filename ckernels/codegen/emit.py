"""From a kernel to C99 text: one function of the fixed kernel signature.

Kernels of the IR go through the form and the printer, RawKernels through their template in
templates/*.c.in. Every name is a number, so nothing a user wrote can reach the compiler.
"""

import functools
import hashlib
import os
from string import Template

from . import mathlib
from .forms.columns import ColumnChunks, Columns
from .forms.flat import Flat, Tile
from .forms.rows import Chunks, Rows
from .forms.steps import Steps
from .passes import interleave
from .print_c import APART, SCHEDULED, Printer
from .tidy import tidy_body

FORMS = {"flat": Flat, "tile": Tile, "rows": Rows, "chunks": Chunks, "columns": Columns,
         "column_chunks": ColumnChunks, "steps": Steps}  # fmt: skip
_TEMPLATES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "templates")


@functools.lru_cache(None)
def template(name):
    """The template `templates/<name>.c.in`."""
    with open(os.path.join(_TEMPLATES, name + ".c.in")) as f:
        return Template(f.read())


def emit(kernel):
    """(name, text, snippets) of the C function for `kernel`; equal kernels give equal text."""
    text = written(kernel) if kernel.form in FORMS else kernel.filled(template(kernel.form))
    name = "k_" + hashlib.sha256(text.encode()).hexdigest()[:16]
    text = text.replace("$name", name)
    return name, text, mathlib.snippets(text)


def written(kernel):
    """The text of a kernel of the IR, called $name."""
    form, loop = FORMS[kernel.form], getattr(kernel, "kernel", kernel)
    printer = Printer(loop)
    form(kernel, printer).write()
    attribute = ""
    if kernel.form != "steps" and mathlib.snippets("\n".join(printer.lines)):
        attribute = APART
    if kernel.form == "flat" and interleave(kernel):
        attribute = SCHEDULED
    return template("kernel").substitute(
        name="$name",
        form=form.note,
        attribute=attribute,
        pointers="\n".join(printer.pointers()),
        body="\n".join(tidy_body(printer.lines)),
    )
