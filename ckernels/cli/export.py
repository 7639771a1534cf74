"""`ckernels export program.py:function FOLDER`: runs a program and writes its function as C.

The program is run as by `python program.py`, but its `__name__` is not "__main__". After the colon
comes a name of its top level, whose value is a function or {name: function}.
"""

import os
import runpy
import sys

from ..base.errors import ArgumentError
from .output import human


def main(arguments):
    """The command: 0 when the files were written."""
    import ckernels  # start-up

    path, _, name = arguments.program.rpartition(":")
    if not path or not name.isidentifier():
        raise ArgumentError(f"say program.py:function, not {arguments.program!r}")
    if not os.path.isfile(path):
        raise ArgumentError(f"there is no file {path}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    space = runpy.run_path(path, run_name="__exported__")
    if name not in space:
        raise ArgumentError(f"{path} has no {name} at its top level")
    report = ckernels.export(
        space[name],
        arguments.folder,
        shapes=dict(arguments.shape),
        target=arguments.target,
        prefix=arguments.prefix,
        weights=arguments.weights,
        dtype=arguments.dtype,
        batch=arguments.batch,
    )
    print(f"flash      {human(report.constants + report.tables)} and code")
    print(f"memory     {human(report.arena)} for a call, {human(report.state)} of state")
    for function, count in report.multiplied.items():
        print(f"{function:10} {count} multiply-adds")
    return 0
