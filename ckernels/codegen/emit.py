"""From a kernel to C99 text: one function of the fixed kernel signature.

Kernels of the IR go through the form and the printer, RawKernels through their template in
templates/*.c.in. Every name is a number, so nothing a user wrote can reach the compiler.
"""

import functools
import hashlib
import os
from string import Template

from . import mathlib
from .forms.bands import BandedChunks
from .forms.bundles import Bundles
from .forms.columns import ColumnChunks, Columns
from .forms.contraction import Contraction
from .forms.flat import Flat, Moved, Tile
from .forms.rows import Chunks, Rows
from .forms.short import ShortChunks, ShortRows
from .passes import interleave, moves_rows, truths_of_words
from .print_c import APART, SCHEDULED, Printer
from .tidy import tidy_body

FORMS = {"flat": Flat, "tile": Tile, "rows": Rows, "chunks": Chunks, "columns": Columns,
         "bundles": Bundles, "column_chunks": ColumnChunks, "contraction": Contraction,
         "bands": BandedChunks}  # fmt: skip
SHORT = {"flat": ShortRows, "chunks": ShortChunks}  # where operands are laid out
HEAD = "int $name(void *const *p, const int64_t *d, int64_t lo, int64_t hi)"
ROWS_HEAD = "static " + HEAD.replace("$name", "$name_rows")
COLUMNS_HEAD = (
    "static "
    + HEAD.replace("$name", "$name_columns")[:-1]
    + ",\n                          void *const *rows_p, const int64_t *rows_d)"
)
_TEMPLATES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "templates")


@functools.lru_cache(None)
def template(name):
    """The template `templates/<name>.c.in`."""
    with open(os.path.join(_TEMPLATES, name + ".c.in")) as f:
        return Template(f.read())


def emit(kernel):
    """(name, text, snippets) of the C function for `kernel`; equal kernels give equal text."""
    if kernel.form == "bands":
        text = both(kernel)
    else:
        text = written(kernel) if kernel.form in FORMS else kernel.filled(template(kernel.form))
    name = "k_" + hashlib.sha256(text.encode()).hexdigest()[:16]
    text = text.replace("$name", name)
    return name, text, mathlib.snippets(text)


def both(bands):
    """The text of two loops as one kernel: a function of each; $name calls the second."""
    parts = [(bands.rows, ROWS_HEAD), (bands, COLUMNS_HEAD)]
    texts = [written(kernel).replace(HEAD, head) for kernel, head in parts]
    pointers = sum(o.role != "index" for o in bands.rows.operands)
    call = f"    return $name_columns(p + {pointers}, d + {bands.dims}, lo, hi, p, d);\n}}\n"
    return "\n".join([*texts, HEAD + " {\n" + call])


def form_of(kernel):
    """The class that writes a kernel."""
    if moves_rows(kernel):
        return Moved
    forms = SHORT if any(op.laid for op in kernel.operands) else FORMS
    return forms.get(kernel.form) or FORMS[kernel.form]


def written(kernel):
    """The text of a kernel of the IR, called $name."""
    printer = Printer(getattr(kernel, "kernel", kernel))  # of two loops the second
    form = form_of(kernel)(kernel, printer)
    form.write()
    attribute, whole = "", mathlib.OF_ROWS  # no conditions to merge: they are asked of whole rows
    if mathlib.snippets(whole.sub("", "\n".join(printer.lines))) and not truths_of_words(printer.k):
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
