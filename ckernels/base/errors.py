"""The exceptions and warnings of ckernels; their messages name lines of the user's program.

Each class also derives from the built-in that a NumPy user would expect, so `except ValueError`
around a shape error works. A message names the line that was running when the error was raised, and
the line that made the tensor it is about where that is another one (`with_line`). This file imports
nothing of ckernels.
"""

import contextlib
import functools
import os
import sys

import numpy as np
from numpy.linalg import LinAlgError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_API = os.path.join(_PACKAGE, "api", "")
SHOWN = 160  # most characters of a list of operands, or of a source line, in a message
WIDE, LONG = 600, 10  # most characters of a line, and most lines, of a message
_trees = None  # the function that register_trees was given
# Beginnings of the names of files that are not the user's: a cached property runs in functools, and
# NumPy asks tensors for arrays.
_NUMPY = os.path.join(os.path.dirname(np.__file__), "")
_foreign = (_PACKAGE, "<frozen", functools.__file__, contextlib.__file__, _NUMPY)
_owners = {}  # {name of a file: whose it is}: a cache, since each node asks for a dozen frames
_doing = str  # () -> what a library that calls ckernels is doing, "" for nothing


def register_trees(lines_of):
    """Let errors print lines_of(node, operands), the tree of an expression, by graph.printing.

    It gives [] unless the flag exception_verbosity is high.
    """
    global _trees
    _trees = lines_of


def add_library(directory, doing):
    """Do not count files in `directory`, of a library that calls ckernels, as the user's.

    doing() says what the library is doing (which layer it builds); messages print it at lines.
    """
    global _foreign, _doing
    directory = os.path.join(directory, "")
    _foreign, _doing = tuple(dict.fromkeys((*_foreign, directory))), doing
    _owners.clear()


def _whose(name):
    """Whose file this is: "ckernels", "user", or "library" for one that calls ckernels."""
    if name.startswith(_PACKAGE):
        return "ckernels"
    return "library" if name.startswith(_foreign) else "user"


def is_ours(name):
    """Whether a file is one of ckernels itself."""
    return _whose(name) == "ckernels"


def user_frame():
    """(the innermost frame of user code, or None; the frame of ckernels that other code called)."""
    inner, frame, inside = None, sys._getframe(1), True
    while frame is not None:
        name = frame.f_code.co_filename
        whose = _owners.get(name)
        if whose is None:
            if len(_owners) > 1000:  # each cell of a notebook is a file
                _owners.clear()
            whose = _owners[name] = _whose(name)
        if whose == "user":
            return frame, inner
        inside = inside and whose == "ckernels"
        inner = frame if inside else inner
        frame = frame.f_back
    return None, inner


def user_line():
    """(file, line number, function) of the innermost frame outside ckernels, or None.

    A fourth item says what a library was doing, if one was (`add_library`).
    """
    return _line_of(user_frame()[0])


def of_signal(problem):
    """Whether the handler of a signal raised an exception: it is not of the code that was running,
    which may go on only if its caller says so."""
    if type(problem).__module__.startswith("ckernels."):  # these no handler raises: most of a trace
        return False
    import signal  # start-up

    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {getattr(h, "__code__", getattr(type(h).__call__, "__code__", None)) for h in handlers}
    frame, codes = problem.__traceback__, codes - {None}
    while frame is not None and frame.tb_frame.f_code not in codes:
        frame = frame.tb_next
    return frame is not None


def line_at(code, instruction):
    """The line, as `user_line` has it, of an instruction (a frame's f_lasti) of the user's `code`;
    None for code of ckernels or of a library."""
    if _whose(code.co_filename) != "user":
        return None
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            return code.co_filename, number, code.co_name
    return code.co_filename, code.co_firstlineno, code.co_name


def _line_of(frame):
    if frame is None:
        return None
    line, what = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name), _doing()
    return (*line, what) if what else line


class CKernelsError(Exception):
    """Base of every error ckernels raises on purpose.

    line      (file, line number, function) of the user's code that was running
    made      the same of the code that made the tensor the error is about, or None
    scans     the same of the scans that hold the tensor of `made`, innermost first
    operands  the tensors that the K function at `line` was given, as text, or ""
    tree      with exception_verbosity=high: the lines of the expression the error is about
    """

    about_programs = True  # False: about the machine, so no line of the program is noted

    def __init__(self, *args):
        super().__init__(*args)
        self.line = self.made = None
        self.operands, self.tree, self.scans = "", [], []
        if self.about_programs:
            self.locate(*user_frame())

    def locate(self, frame, inner):
        """Note the line of the user's `frame`, and the tensors that `inner` was called with."""
        self.line = _line_of(frame)
        self.operands = _operands(inner)

    def __str__(self):
        lines = _short(super().__str__())
        if self.operands:
            lines.append(f"  with {self.operands}")
        if self.made:
            lines.append(f"  made at {_place(self.made)}")
        lines += [f"  in the scan made at {_place(line)}" for line in self.scans]
        if self.line and (self.made is None or self.made[:2] != self.line[:2]):
            lines.append(f"  {'while running' if self.made else 'at'} {_place(self.line)}")
        lines += self.tree
        return "\n".join(lines)


class ShapeError(CKernelsError, ValueError):
    """Shapes that do not fit together."""


class KeyShapeError(ShapeError, IndexError):
    """A mask or key that does not fit the tensor it indexes; an IndexError, as in NumPy."""


class DTypeError(CKernelsError, TypeError):
    """dtypes that do not fit together, or that an operation does not know."""


class ArgumentError(CKernelsError, ValueError):
    """An argument that is none of the words or numbers a function takes, or is missing."""


class UsageError(CKernelsError, TypeError):
    """A tensor or a function used in a way it cannot be: as a number, in an `if`, ..."""


class MissingName(CKernelsError, AttributeError):
    """A name that a tensor, a function or a module does not have, and which was meant.

    sought: the name; known: a list of names, or the class whose names they are. Libraries try
    names all day (hasattr), so likenesses are looked for when the message is printed.
    """

    def __init__(self, sentence, sought="", known=()):
        super().__init__(sentence)
        self.sought, self.known = sought, known

    def locate(self, frame, inner):
        """Only the line: to describe operands means to ask them for names they may not have."""
        self.line = _line_of(frame)

    def __str__(self):
        known, self.known = self.known, ()
        if known:
            names = [n for n in dir(known) if n[0] != "_"] if isinstance(known, type) else known
            self.args = (self.args[0] + did_you_mean(self.sought, names),)
        return super().__str__()


class NotSupported(CKernelsError, NotImplementedError):
    """What ckernels does not do, with the way around it."""


class DisconnectedError(CKernelsError, ValueError):
    """A gradient was asked for with respect to something the cost does not depend on."""


class IndexOutOfBounds(CKernelsError, IndexError):
    """An index beyond the end of its axis."""


class DebugModeError(CKernelsError, AssertionError):
    """In mode="debug": a kernel or a rewrite computes something else than NumPy does."""


class NonFiniteError(CKernelsError, ArithmeticError):
    """With check="nan": a function computed NaN or inf from finite numbers, or was given them."""


class LinearAlgebraError(CKernelsError, LinAlgError):
    """A singular matrix to invert, a decomposition that does not exist or did not converge."""


class OutOfMemory(CKernelsError, MemoryError):
    """There was not enough memory for a result of a call, or for an intermediate value."""


class ConfigError(CKernelsError, ValueError):
    """An unknown flag, or a value a flag does not take."""


class CacheError(CKernelsError):
    """The compiledir cannot be used as asked. Raised by tools only, never by a computation."""

    about_programs = False


class CompileError(CKernelsError):
    """The C compiler refused generated code, or did not finish; `source` is the kept file,
    `complaint` what the compiler said first."""

    about_programs = False

    def __init__(self, message, source=None, complaint=None):
        super().__init__(message)
        self.source, self.complaint = source, complaint


class OwnCodeError(CompileError):
    """C that the user wrote (K.c_op) does not compile."""

    about_programs = True


class CompilerMissing(CKernelsError):
    """There is no C compiler that works; `install` says how to get one."""

    about_programs = False

    def __init__(self, message, install=""):
        super().__init__(f"{message}\n{install}" if install else message)
        self.install = install


class KernelsMissing(CompilerMissing):
    """There is no C compiler, and kernels of a plan (their keys) did not come with ckernels."""

    def __init__(self, message, install="", kernels=()):
        super().__init__(message, install)
        self.kernels = frozenset(kernels)


def did_you_mean(name, known):
    """'; did you mean `softmax`?' for the most similar of the `known` names, or ''."""
    import difflib  # start-up

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""


def options_of(function):
    """What a function takes by name, in its order."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class CKernelsWarning(UserWarning):
    """Warnings of ckernels, so that they can be filtered as one."""


SCANS = ("scan", "scan_debug")


def with_line(error, node, operands=()):
    """`error` with the user's line that made `node`; returns the error.

    operands: nodes or arrays whose dtypes and shapes help to see what went wrong. An error that
    has the line of a node already keeps it; a scan around that node is noted too. Errors of other
    classes get the line appended to their message.
    """
    line = getattr(node, "line", None)
    about = _trees(node, operands) if _trees is not None else []
    if isinstance(error, CKernelsError):
        error.tree = error.tree or about
        if error.made is None and line is not None:
            error.made = line
            error.operands = "; ".join(filter(None, map(_described, operands[:6])))
        elif (
            line
            and getattr(getattr(node, "op", None), "name", "") in SCANS
            and all(line[:2] != known[:2] for known in (error.made, *error.scans))
        ):
            error.scans.append(line)
    elif line is not None and "made at " not in str(error):
        sentence = error.args[0] if error.args else ""
        text = "\n".join([f"{sentence}\n  made at {_place(line)}", *about])
        error.args = (text, *error.args[1:])
    return error


def _short(sentence):
    """The lines of a message, cut where it quotes a large array."""
    lines = sentence.split("\n")
    lines = [line if len(line) <= WIDE else line[:WIDE] + " ..." for line in lines]
    return lines if len(lines) <= LONG else [*lines[:LONG], "  ..."]


def file_shown(name):
    """A file as its user knows it: `In [3]` for a cell of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cells = getattr(getattr(shell, "compile", None), "_filename_map", None) or {}
    return f"In [{cells[name]}]" if name in cells else name


def _place(line):
    """'model.py:12   h = K.dot(x, w)': where, the text there, and what a library did."""
    import linecache  # start-up

    text = linecache.getline(line[0], line[1]).strip()[:SHOWN]
    place = f"{file_shown(line[0])}:{line[1]}" + (f"   {text}" if text else "")
    return f"{place}   (in {line[3]})" if len(line) > 3 else place


def _operands(frame):
    """The tensors and arrays among the arguments of a K function: 'x float32 (2, 3), ...'."""
    if frame is None or not frame.f_code.co_filename.startswith(_API):
        return ""
    names = {"self": "the tensor", "other": "the operand"}
    code = frame.f_code
    arguments = code.co_varnames[: code.co_argcount]
    shown = []
    for name in arguments:
        value = frame.f_locals.get(name)
        items = list(value[:6]) if isinstance(value, (list, tuple)) else [value]
        for k, item in enumerate(items):
            text = _described(item)
            label = names.get(name, name) if item is value else f"{name}[{k}]"
            if text:
                shown.append(f"{getattr(item, 'name', None) or label}: {text}")
    text = "; ".join(shown)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _described(value):
    """'float32 (?, 3)' for a handle, a node or an array; '' for anything else."""
    if hasattr(type(value), "node") and "node" not in vars(value):
        return ""  # made when it is first asked for, and an error of making it may ask
    value = getattr(value, "node", value)
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or not isinstance(shape, tuple):
        return ""
    sizes = ", ".join("?" if d is None else str(d) for d in shape)
    return f"{dtype} ({sizes},)" if len(shape) == 1 else f"{dtype} ({sizes})"


for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, (CKernelsError, CKernelsWarning)):
        _class.__module__ = "ckernels.errors"  # as tracebacks and pickles name them
