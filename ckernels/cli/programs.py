"""`ckernels explain`, `draw`, `bench` PROGRAM.py:NAME: a function of a program, looked at or timed.

The program is run as by `python program.py`, but its `__name__` is not "__main__", and what it
prints goes to stderr. A K function that the program has not called is called once, with random
inputs of its declared shapes; one of plain NumPy goes under jit, and is called with the arguments
that `--arguments` names. What is timed here is a first impression; `benchmarks/` is the
instrument.
"""

import contextlib
import difflib
import os
import runpy
import statistics
import sys
import time

import numpy as np

from ..base.errors import ArgumentError, CKernelsError, NotSupported
from .output import as_json, table

BUDGET = 1.0  # seconds of calls for each row
ROUNDS = 7


def loaded(text):
    """(value, name, all names of its top level) for program.py:NAME; the program is run."""
    path, _, name = (text, "", "") if os.path.isfile(text) else text.rpartition(":")
    if not path or name and not name.isidentifier():
        raise ArgumentError(f"say program.py:function, not {text!r}")
    if not os.path.isfile(path):
        raise ArgumentError(f"there is no file {path}")
    space = run(path)
    if not name:
        there = functions(space)
        example = f"{path}:{(there or ['f'])[0]}"
        raise ArgumentError(f"say which function, as in {example}; it has {listed(there)}")
    if name not in space:
        near = difflib.get_close_matches(name, space, 1)
        hint = f"; did you mean {near[0]}?" if near else f", but {listed(functions(space))}"
        raise ArgumentError(f"{path} has no {name} at its top level{hint}")
    return space[name], name, space


def run(path):
    """The names at the top level of a program after it ran, without arguments."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    given, sys.argv = sys.argv, [path]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return runpy.run_path(path, run_name="__looked_at__")
    except SystemExit as end:
        code = "" if end.code is None else repr(end.code)
        raise ArgumentError(
            f"{path} ended by sys.exit({code}) before its last line; put what only a run of the "
            'program is to do under if __name__ == "__main__":'
        ) from None
    finally:
        sys.argv = given


def compiled(value):
    """Whether a value is what K.function gives."""
    return hasattr(value, "explain") and hasattr(value, "inputs")


def functions(space):
    """Names of the functions of a program: those of K, then those it defines."""
    shown = {name: value for name, value in space.items() if name[0] != "_" and callable(value)}
    made = [name for name, value in shown.items() if compiled(value)]
    return made + [n for n, v in shown.items() if getattr(v, "__module__", 0) == "__looked_at__"]


def listed(names):
    """Names as a sentence has them."""
    return f"the functions {', '.join(names)}" if names[1:] else (names or ["no function"])[0]


def looked_at(arguments):
    """(function, its name) of program.py:NAME after a call: a K function, or one under jit."""
    value, name, space = loaded(arguments.program)
    if compiled(value):
        return called(value, arguments), name
    if not callable(value):
        raise ArgumentError(f"{name} is no function, but {type(value).__name__}")
    function = of_numpy(value)["ckernels"] if not hasattr(value, "report") else value
    if arguments.arguments or not function.report()["traces"]:
        given = arguments_of(name, arguments.arguments, space)
        try:
            function(*fresh(given))
        except Exception as problem:
            raise reworded(problem) from problem
    return function, name


def inputs_of(function, batch, shapes):
    """Random arrays for the inputs: of their declared shapes, `batch` where a size is open."""
    rng, arrays = np.random.default_rng(0), []
    unknown = set(shapes) - {node.name for node in function.inputs}
    if unknown:
        raise ArgumentError(f"the function has no input named {', '.join(sorted(unknown))}")
    for node in function.inputs:
        shape = shapes.get(node.name, [batch if n is None else n for n in node.shape])
        kind = np.dtype(node.dtype if node.dtype != "bfloat16" else "float32").kind
        if kind == "f" or kind == "c":
            arrays.append(rng.normal(size=shape).astype(node.dtype))
        else:
            arrays.append(rng.integers(0, 2, shape).astype(node.dtype))
    return arrays


def called(function, arguments):
    """The function after a call, its own or one with random inputs."""
    if not function.steps():
        function(*inputs_of(function, arguments.batch, dict(arguments.shape)))
    return function


def explain(arguments):
    """`ckernels explain`: what each instruction computes, and why it does not do more."""
    function, name = looked_at(arguments)
    text = function.explain()
    if arguments.json:
        steps = [line for line in text.split("\n") if line[:1].isdigit()]
        as_json({"function": name, "steps": steps, "explanation": text})
    else:
        print(text)
    return 0


def draw(arguments):
    """`ckernels draw`: a page with the graph, before and after rewriting, and the kernels."""
    import ckernels  # start-up

    function, name = looked_at(arguments)
    file = arguments.file or f"{name}.html"
    try:
        ckernels.draw(function, file)
    except OSError as problem:
        raise ArgumentError(f"{file} cannot be written: {problem.strerror}") from problem
    if arguments.json:
        as_json({"function": name, "file": file})
    else:
        print(file)
    return 0


def bench(arguments):
    """`ckernels bench`: a call, in turns with NumPy and with what else is installed."""
    value, name, space = loaded(arguments.program)
    if compiled(value):
        given = inputs_of(value, arguments.batch, dict(arguments.shape))
        calls = {"ckernels": value.copy(), "NumPy": in_numpy(value)}
    elif callable(value):
        given = arguments_of(name, arguments.arguments, space)
        calls = of_numpy(value)
    else:
        raise ArgumentError(f"{name} is no function, but {type(value).__name__}")
    rows, refused = in_turns(calls, given)
    if arguments.json:
        as_json({"function": name, "rows": rows, "refused": refused})
        return 0
    last = max(r["seconds"] for r in rows)
    table(
        ("who", "a call", "first call", "speed"),
        [(r["who"], took(r["seconds"]), took(r["first"]), f"{last / r['seconds']:.1f}x")
         for r in rows],
        right=(1, 2, 3),
    )  # fmt: skip
    for who, why in refused.items():
        print(f"{who}: {why}", file=sys.stderr)
    return 0


def in_numpy(function):
    """The same graph run by NumPy, operation by operation."""
    import ckernels  # start-up

    spec = function.copy().spec
    return ckernels.function(
        [ckernels.Tensor(n) for n in spec.inputs],
        [ckernels.Tensor(n) for n in spec.outputs],
        mode="reference",
        on_unused_input="ignore",
    )


def arguments_of(name, wanted, space):
    """The tuple of arguments of a NumPy function, by its name at the program's top level."""
    if not wanted or wanted not in space:
        missing = f"the program has no {wanted} at its top level. " if wanted else ""
        raise ArgumentError(
            f"{missing}{name} is a NumPy function: say with --arguments NAME which tuple at the "
            "top level of the program it is called with"
        )
    value = space[wanted]
    return value if isinstance(value, tuple) else (value,)


def of_numpy(function):
    """{who: call} for a function of plain NumPy: itself, `ck.jit`, numba where it is installed."""
    import ckernels  # start-up

    plain = getattr(function, "__wrapped__", function)
    calls = {"ckernels": ckernels.jit(plain), "NumPy": plain}
    try:
        import numba
    except ImportError:
        return calls
    return {**calls, "numba": numba.njit(plain)}


def in_turns(calls, given):
    """(rows of who, seconds of a call, seconds of the first; {who: why not}), the fastest first."""
    first, refused = {}, {}
    for who, call in calls.items():
        start = time.perf_counter()
        try:
            call(*fresh(given))
        except Exception as problem:
            if who == "ckernels":
                raise reworded(problem) from problem
            refused[who] = str(problem).partition("\n")[0]
            continue
        first[who] = time.perf_counter() - start
    taken = {who: [] for who in first}
    for _ in range(ROUNDS):
        for who in taken:
            taken[who].append(chunk(calls[who], given, BUDGET / ROUNDS))
    rows = [
        {"who": who, "seconds": statistics.median(times), "first": first[who]}
        for who, times in taken.items()
    ]
    return sorted(rows, key=lambda r: r["seconds"]), refused


def reworded(problem):
    """An error of a call, as one that the command prints."""
    if isinstance(problem, CKernelsError):
        return problem
    return NotSupported(f"a call failed: {type(problem).__name__}: {problem}")


def fresh(given):
    """Copies of the arrays: functions may write into their arguments."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in given]


def chunk(call, given, budget):
    """Seconds of a call: the mean of those that fit into the budget, at least one."""
    copies, count, start = fresh(given), 0, time.perf_counter()
    while True:
        call(*copies)
        count += 1
        spent = time.perf_counter() - start
        if spent >= budget:
            return spent / count


def took(seconds):
    """A time as people say it: 3.2 us."""
    for unit, length in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
