"""`ckernels export program.py:function FOLDER`: runs a program and writes its function as C.

The program is run as by `python program.py`, but its `__name__` is not "__main__". After the colon
comes a name of its top level, whose value is a function or {name: function}.
"""

from ..base.errors import ArgumentError, ShapeError, with_line
from ..graph.shapes import show
from .output import as_json, human
from .programs import loaded


def main(arguments):
    """The command: 0 when the files were written."""
    import ckernels  # start-up

    value, name, _ = loaded(arguments.program)
    check(value, name, dict(arguments.shape), arguments.batch)
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
    if arguments.json:
        sizes = ("constants", "tables", "arena", "state", "multiplied")
        as_json({"folder": arguments.folder, **{name: getattr(report, name) for name in sizes}})
        return 0
    print(f"flash      {human(report.constants + report.tables)} and code")
    print(f"memory     {human(report.arena)} for a call, {human(report.state)} of state")
    for function, count in report.multiplied.items():
        print(f"{function:10} {count} multiply-adds")
    return 0


def check(value, name, shapes, batch):
    """Raise, in words of this command, where an input is unknown, or has sizes that are open."""
    from ..export.routine import labels, open_input, spec_of  # start-up

    functions = value if isinstance(value, dict) else {name: value}
    specs = {name: spec_of(f) for name, f in functions.items()}
    named = {node.name for spec in specs.values() for node in spec.inputs}
    unknown = next((key for key in shapes if key not in named), None)
    if unknown is not None:
        there = "; ".join(f"{name} has {labels(spec)}" for name, spec in specs.items())
        raise ArgumentError(f"--shape {unknown}=...: there is no input of that name: {there}")
    for name, spec in specs.items():
        given = {node: shapes[node.name] for node in spec.inputs if node.name in shapes}
        left = open_input(spec, given)
        if left is None or batch is not None:
            continue
        k, node = left
        sizes = ",".join("N" if size is None else str(size) for size in node.shape)
        how = (
            f"say its sizes with --shape {node.name}={sizes}"
            if node.name
            else "give it a name, K.placeholder(..., name=), and say its sizes with --shape"
        )
        raise with_line(
            ShapeError(
                f"{name}: the input {node.name or k} has shape {show(node.shape)}; {how}, or the "
                "largest one that is an argument of the C function with --batch N"
            ),
            node,
        )
