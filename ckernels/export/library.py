"""A shared library of an exported model, and a module that loads it with NumPy and ctypes alone."""

import subprocess
from pathlib import Path
from string import Template

from ..base.errors import CompileError
from ..graph.shapes import product
from ..graph.sizes import Size
from .hosted import FLAGS
from .model import arguments, spoken, takes_state

HERE = Path(__file__).parent / "c"
LIMIT = 600  # seconds for one run of the compiler


def flags():
    """(compiler, flags of kernels) of the engine."""
    from ..compiler import current_toolchain  # start-up

    tools = current_toolchain()
    return tools.command, tools.flags


def compile_library(made, folder):
    """Compile all sources in `folder` to libPREFIX.so; CompileError with the compiler's words."""
    command, own = flags()
    api = f'-D{made.prefix.upper()}_API=__attribute__((visibility("default")))'
    objects = []
    for source in [folder / f"{made.prefix}.c", *sorted((folder / "runtime").glob("*.c"))]:
        objects.append(source.with_suffix(".o"))
        run(
            [
                *command,
                *(FLAGS if source.parent != folder else own),
                "-fPIC",
                "-fvisibility=hidden",
                api,
                "-c",
                source,
                "-o",
                objects[-1],
            ]
        )
    library = folder / f"lib{made.prefix}.so"
    run([*command, "-shared", *objects, "-lm", "-o", library])
    for path in objects:
        path.unlink()
    return library


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=LIMIT)
    if done.returncode:
        first = (done.stderr.strip() or "it said nothing").split("\n")[0]
        raise CompileError(f"the C compiler refused the exported model: {first}")


def sizes_text(shape, quote="'"):
    """A shape as Python; sizes that follow from n in quotes."""
    sizes = [f"{quote}{x.expression()}{quote}" if type(x) is Size else str(x) for x in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def shape_text(r, k):
    """The shape of an output by n, as Python."""
    *others, (_, usual) = r.sizes_of(k)
    parts = [f"{sizes_text(shape, '')} if {spoken(fits)} else " for fits, shape in others]
    return "".join(parts) + sizes_text(usual, "")


def loader(made):
    """The text of PREFIX.py."""
    functions, methods = [], []
    for r in made.routines:
        names = [name for _, name in arguments(made, r)][: len(r.inputs)]
        inputs = [
            f"({name!r}, {dtype!r}, {sizes_text(shape)})"
            for name, (dtype, shape) in zip(names, r.inputs)
        ]
        outputs = [
            f"({dtype!r}, lambda n: {shape_text(r, k)})" for k, (dtype, _) in enumerate(r.outputs)
        ]
        functions.append(
            f"    {r.name!r}: ([{', '.join(inputs)}],\n        [{', '.join(outputs)}], "
            f"{takes_state(made, r)}, {r.batch}),\n"
        )
        given = ", ".join(names)
        methods.append(
            f"    def {r.name}(self{', ' if given else ''}{given}):\n"
            f"        return self._call({r.name!r}{', ' if given else ''}{given})\n"
        )
    state, offset = {}, 0
    for node, value in zip(made.variables, made.initial):
        offset = -(-offset // value.itemsize) * value.itemsize
        state[made.members[id(node)]] = (offset, value.dtype.name, value.shape)
        offset += max(1, product(value.shape)) * value.itemsize
    first = made.routines[0].name
    return Template((HERE / "loader.py.in").read_text(encoding="utf-8")).substitute(
        names=", ".join(r.name for r in made.routines),
        prefix=made.prefix,
        example=f"model.{first}(...)",
        functions="".join(functions),
        state=repr(state),
        arena=made.arena,
        state_bytes=-(-offset // 8) * 8,
        methods="\n".join(methods).rstrip() + "\n",
    )
