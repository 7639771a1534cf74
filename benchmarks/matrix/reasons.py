"""Why cells are behind: the first row of REASONS that fits a cell gives what is known of its cause.

A row is (operations, layouts, dtypes, reason), patterns with | between. What fits no row was not
looked into, and the page says so. Nothing is measured here.
"""

import fnmatch

FUNCTIONS = (
    "sin|cos|tan|arc*|sinh|cosh|tanh|exp*|log|log1p|log2|log10|pow|logaddexp|softmax|logsumexp"
)
MOVED = "copy|reverse|transpose|concatenate*|stack|roll|slice|cast*|repeat*|tile"
PLAIN = (
    "add*|sub|mul|true_div|neg|abs|square|ceil|floor|trunc|round|sign|maximum*|minimum*|clip|where|"
    "equal|not_equal|less*|greater*|logical*|is*|deg2rad|rad2deg"
)
SUPPOSED = "Supposed, not measured: "
REASONS = (
    ("sort|cumsum|transpose", "unaligned", "*", "What is no loop of "
     "its own reads aligned elements: such an operand is copied first."),
    ("pow", "*", "float*", "Ours is within 3.2 ulp of floats, 0.8 of doubles, with a logarithm in "
     "two numbers and a quotient; NumPy's on AVX-512, of SVML, takes logarithms from a table. Of "
     "floats a logarithm in doubles takes longer: 1.3 ns an element for 1.1."),
    (FUNCTIONS, "*", "float*", "Our functions are within 0.5 to 3.3 ulp; NumPy's on AVX-512 are "
     "those of SVML, within 4."),
    ("argmax 0|argmin 0", "last axis *", "*", "Of few columns over many rows the place is kept "
     "beside each maximum in a wider type, column by column: rows of 3 or 7 fill no vector."),
    ("argmax*|argmin*", "*", "uint8", SUPPOSED + "the place is sought in each of 16 chunks, though "
     "one of them has it."),
    ("argmax*|argmin*", "*", "*", SUPPOSED + "the extremum is sought in blocks, and a branch says "
     "which one has it, where processors guess wrong once or twice a row. Selects instead take "
     "longer, which was measured: 45 us for 39 of int64."),
    ("max*|min*", "*", "float64", SUPPOSED + "NaN is kept apart from the maximum, one more "
     "comparison for each vector."),
    ("sort", "*", "*", "NumPy's sorts, called row by row; the rest is one copy beside them."),
    ("transpose|reverse|concatenate*", "*", "uint8|bool", "Every second byte, and rows of 3 to 15 "
     "bytes that are turned, are moved one by one."),
    ("is*", "every second*", "float64", "Not looked into."),
    (f"{MOVED}|{PLAIN}|sum*|prod*|mean*|max*|min*", "*", "*", SUPPOSED + "both wait for memory or "
     "for fresh pages: such cells change sides from run to run."),
)  # fmt: skip
UNKNOWN = "Not looked into."


def reason(cell):
    """What is known of why a cell (operation, layout, dtype) is behind."""
    for *patterns, found in REASONS:
        if all(fits(name, pattern) for name, pattern in zip(cell, patterns)):
            return found
    return UNKNOWN


def fits(name, pattern):
    return any(fnmatch.fnmatchcase(name, one) for one in pattern.split("|"))
