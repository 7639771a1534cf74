"""A plan as plain C: functions of K.function as source files that need no Python.

`export` plans each function for shapes that never change (routine.py), writes its instructions as
calls (calls.py) of kernels in C99 (portable.py), of products, convolutions and pools in C99
(natives.py, c/), and puts several functions over one state into one file (model.py) with a test of
recorded values (recorded.py) and a report (report.py). See docs/guide/export.md.
"""

import os
import re
from pathlib import Path

from ..base import given
from ..base.errors import ArgumentError

TARGETS = ("c99", "native", "shared")
MOST = 4096  # of `batch`: plans are checked for each n up to it


def export(
    f,
    folder,
    shapes=None,
    target="c99",
    prefix=None,
    weights="const",
    dtype=None,
    batch=None,
    examples=None,
    calls=2,
    ulps=64,
):
    """Write `f` as C to `folder`: PREFIX.h, PREFIX.c, PREFIX_test.c and README.md.

    The functions and their variables do not change.

    Parameters
    ----------
    f : function or dict
        What K.function returned, or {name: function} for several over one state.
    folder : str or path
        Where to write.
    shapes : dict or list, optional
        {input or its name: shape} for inputs whose shape is not declared in full, or a list with a
        shape for each in their order.
    target : {"c99", "native", "shared"}, default "c99"
        "c99" for any compiler and machine; "native" for gcc and clang, with the runtime's own
        sources: the same bits as the engine's, as fast on one thread; "shared" the same compiled to
        libPREFIX.so, with PREFIX.py to load it where ckernels is not installed.
    prefix : str, optional
        Of all names in C, by default the name of the folder.
    weights : {"const", "extern"}, default "const"
        "const" for arrays in the source, "extern" for a file PREFIX.bin that the caller loads.
    dtype : str, optional
        "float32" refuses wider floats.
    batch : int, optional
        The largest value of sizes that neither declarations nor `shapes` give; the C functions take
        these sizes as one argument `n`.
    examples : list, optional
        [(name, arrays)] to call for the test, by default each function with random numbers, at
        least once for each of its plans.
    calls : int, default 2
        How often the test calls each function without `examples`.
    ulps : int, default 64
        How far results of the test may be off, in units of the last place of the largest one.

    Returns
    -------
    Report
        What it takes: flash, memory, multiply-adds.

    Raises
    ------
    NotSupported
        With the user's line, where something runs in NumPy.
    ArgumentError
        For a target that does not exist, and a prefix that cannot begin names in C.
    ShapeError
        For an input whose sizes neither its declaration nor `shapes` nor `batch` gives.

    Examples
    --------
    >>> import os, tempfile
    >>> x = K.placeholder((2,), name="x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = K.export(K.function([x], x * 2), folder, prefix="twice")
    ...     print(len(os.listdir(folder)))
    4
    """
    from .model import header, model, rehearsal, source  # start-up
    from .model import weights as packed  # start-up
    from .recorded import record, test_source  # start-up
    from .report import Report  # start-up
    from .routine import asked, routine  # start-up

    given.word(target, TARGETS, "target")
    given.word(weights, ("const", "extern"), "weights")
    if batch is not None and (type(batch) is not int or not 2 <= batch <= MOST):
        raise ArgumentError(f"batch is the largest size n, from 2 to {MOST}, not {batch!r}")
    folder = Path(given.path(folder, "folder"))
    prefix = prefix or re.sub(r"\W", "_", folder.resolve().name) or "model"
    if not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.A):
        raise ArgumentError(f"{prefix!r} cannot begin names in C; say prefix=")
    if re.match(r"ck(_|$)", prefix):
        raise ArgumentError(
            f"{prefix!r} begins the names of the export's own functions; say prefix="
        )
    functions = f if isinstance(f, dict) else {getattr(f, "name", None) or "run": f}
    for name in functions:
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.A) or name in ("reset", "state"):
            raise ArgumentError(f"a function of an export cannot be called {name!r}")
        if f"{name}_in" in functions:
            raise ArgumentError(
                f"{name!r} and '{name}_in' cannot be in one export: the second is "
                "the name of the first where it is given its memory"
            )
    hosted = target != "c99"
    if target == "shared" and weights == "extern":
        raise ArgumentError("a shared library holds its weights: leave out weights='extern'")
    sizes = asked(functions, shapes)
    made = model(
        prefix,
        [
            routine(name, g, sizes[name], dtype, hosted, batch, rehearsal(hosted))
            for name, g in functions.items()
        ],
        weights == "extern",
        hosted,
    )
    recorded = record(functions, made, examples, calls)
    report = Report(made, target, ulps)
    files = {
        f"{prefix}.h": header(made),
        f"{prefix}.c": source(made),
        f"{prefix}_test.c": test_source(made, recorded, ulps),
        "README.md": report.text(),
    }
    if hosted:
        from .hosted import runtime_files  # start-up

        files.update(runtime_files(made.library))
    if target == "shared":
        from .library import compile_library, loader  # start-up

        files[f"{prefix}.py"] = loader(made)
    for name, text in files.items():
        os.makedirs((folder / name).parent, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if made.extern:
        (folder / f"{prefix}.bin").write_bytes(packed(made))
    if target == "shared":
        compile_library(made, folder)
    return report
