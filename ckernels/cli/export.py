"""`ckernels export program.py:function FOLDER`: runs a program and writes its function as C.

The program is run as by `python program.py`, but its `__name__` is not "__main__". After the colon
comes a name of its top level, whose value is a function or {name: function}.
"""

from .output import human
from .programs import loaded


def main(arguments):
    """The command: 0 when the files were written."""
    import ckernels  # start-up

    value, _, _ = loaded(arguments.program)
    report = ckernels.export(
        value,
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
