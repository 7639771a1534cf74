"""The examples of Theano's manual, taken from its text and run; not a test by itself.

The manual is not part of this repository. `examples(path)` reads it as Markdown, where the fenced
blocks of a chapter are one program, or as the folder of its sources, a program a file: `>>>`
examples, and testcode with testoutput. What is printed is compared by value: numbers within
rounding, other words as they are.
"""

import ast
import contextlib
import doctest
import io
import os
import re
import textwrap
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])|\bnan\b|\binf\b")
WRAPPED = re.compile(r"\n[↪→]\s*|\n↪\s*")  # how its pages break long lines


class Example(NamedTuple):
    """One `>>>` example or one block of a program: where, what, what it prints (None: unknown)."""

    line: int
    chapter: str
    source: str
    want: object


class Outcome(NamedTuple):
    """kind: same, value, text (printed words differ), silent (nothing to compare), error, wrong."""

    example: Example
    kind: str
    got: str


def sources():
    """The folder of the manual's sources, which `make theano` fetches; None where it is not."""
    root = Path(__file__).resolve().parents[3]
    path = Path(os.environ.get("THEANO_DOC", root / "build" / "Theano-1.0.5" / "doc"))
    return path if path.is_dir() else None


def manual():
    """The path of the manual as Markdown, or None where it is not at hand."""
    root = Path(__file__).resolve().parents[3]
    given = os.environ.get("THEANO_MANUAL", "../shared/spec/theano-1.0-manual.md")
    path = root / given
    return path if path.exists() else None


def blocks(text):
    """(line, "text", text) of the fenced blocks: chapters build on each other, so they are one."""
    chapter, inside, start, held = "text", False, 0, []
    for k, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if inside:
                yield start, chapter, WRAPPED.sub("", "\n".join(held) + "\n")
            inside, start, held = not inside, k + 1, []
        elif inside:
            held.append(line)


def examples(path):
    """The Examples of the manual, in order: of a Markdown file, or of a folder of sources."""
    path = Path(path)
    if path.is_dir():
        return [e for file in sorted(path.rglob("*.txt")) for e in of_source(file, path)]
    return of_markdown(path)


DIRECTIVE = re.compile(r"( *)\.\. (testsetup|testcode|testoutput|doctest|testcleanup)::\s*(\S.*)?$")


def of_source(path, root):
    """The Examples of one source file, in order; the chapter is the file and the group."""
    parser, found = doctest.DocTestParser(), []
    common = []
    lines, name = path.read_text(encoding="utf-8").split("\n"), path.relative_to(root).as_posix()
    k = 0
    while k < len(lines):
        match, prompt = DIRECTIVE.match(lines[k]), re.match(r" *>>> ", lines[k])
        if prompt and match is None:
            end = k
            while end < len(lines) and lines[end].strip():
                end += 1
            kind, group, body, start = "doctest", "default", lines[k:end], k
        elif match:
            indent, kind, group = len(match[1]), match[2], (match[3] or "default").strip()
            start = end = k + 1
            while end < len(lines) and (
                not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent
            ):
                end += 1
            body = [x for x in lines[start:end] if not re.match(r" *:\w+:", x)]
        else:
            k += 1
            continue
        k = end
        text = textwrap.dedent("\n".join(body)) + "\n"
        if group == "*":  # for all groups of the file: what stands before them
            common.append(text)
            continue
        chapter = f"{name} {group.partition(',')[0].strip()}"
        if kind == "doctest" or ">>>" in text:
            for one in parser.get_examples(text):
                if one.options.get(doctest.SKIP):
                    continue
                found.append(Example(start + one.lineno + 1, chapter, one.source, one.want))
        elif kind == "testoutput":
            if found:
                found[-1] = found[-1]._replace(want=text.strip("\n") + "\n")
        else:
            found.append(Example(start + 1, chapter, text, None))
    groups = list(dict.fromkeys(e.chapter for e in found))
    return [Example(0, g, text, None) for g in groups for text in common] + found


def of_markdown(path):
    """The Examples of a Markdown file, in order."""
    parser, found, pending = doctest.DocTestParser(), [], None
    for line, chapter, text in blocks(Path(path).read_text(encoding="utf-8")):
        if ">>>" in text:
            pending = None
            try:
                pieces = parser.get_examples(re.sub(r"(?m)^(>>>|\.\.\.)(?=\S)", r"\1 ", text))
            except ValueError:
                continue
            for one in pieces:
                found.append(Example(line + one.lineno, chapter, one.source, one.want))
            continue
        whole = pending is not None and parses(pending[2] + text)  # a program over two pages
        if whole and pending[3]:
            found[-1] = Example(*pending[:2], pending[2] + text, None)
            pending = *pending[:2], pending[2] + text, True
        elif whole or program(text):
            start = pending[:3] if whole else (line, chapter, "")
            found.append(Example(*start[:2], start[2] + text, None))
            pending = *start[:2], start[2] + text, True
        elif re.match(r"\s*(import|from|def|class|@)\b", text):
            pending = line, chapter, text, False
        else:
            pending = None
    return found


def parses(text):
    """Whether a text is Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True


def program(text):
    """Whether a block is Python that does something, not a signature or what was printed."""
    if not parses(text):
        return False
    return any(
        isinstance(
            n,
            (
                ast.Import,
                ast.ImportFrom,
                ast.FunctionDef,
                ast.ClassDef,
                ast.Assign,
                ast.Call,
                ast.Assert,
            ),
        )  # fmt: skip
        for n in ast.walk(ast.parse(text))
    )


def outcomes(found):
    """The Outcomes of Examples, each chapter in a namespace of its own."""
    import theano

    time.clock = time.perf_counter  # gone since Python 3.8
    spaces, done = {}, []
    for one in found:
        if one.chapter not in spaces:
            theano.config.compute_test_value, theano.config.floatX = "off", "float64"
            spaces[one.chapter] = {"__name__": "__main__", "theano": theano, "numpy": np, "np": np}
        try:
            done.append(run(one, spaces[one.chapter]))
        except SystemExit:
            done.append(Outcome(one, "error", "SystemExit"))
    return done


def single(source):
    """Whether a source is one statement, whose value is printed."""
    try:
        compile(source, "<example>", "single")
    except SyntaxError:
        return False
    return len(ast.parse(source).body) == 1


def run(example, namespace):
    """The Outcome of an example, run in a namespace."""
    printed = io.StringIO()
    try:
        mode = "single" if example.want is not None and single(example.source) else "exec"
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(example.source, f"<manual:{example.line}>", mode), namespace)
    except BaseException as problem:
        if isinstance(problem, (KeyboardInterrupt, SystemExit)):
            raise
        words = f"{type(problem).__name__}: {problem}"
        expected = re.search(
            r"(?m)^(\w+(?:\.\w+)*(?:Error|Exception|Interrupt))", example.want or ""
        )
        if "Traceback" in (example.want or "") and expected:
            kinds = [kind.__name__ for kind in type(problem).__mro__]  # ours are Theano's as well
            same = expected[1].rpartition(".")[2] in kinds
            return Outcome(example, "same" if same else "error", words)
        return Outcome(example, "error", words)
    got = printed.getvalue().replace("ckernels.theano.modules", "theano")
    if not example.want:
        return Outcome(example, "silent", got)
    return Outcome(example, compared(example.want, got), got)


def compared(want, got):
    """same, value, text or wrong: how what was printed compares with the manual."""
    if doctest.OutputChecker().check_output(want, got, FLAGS):
        return "same"
    here, there = NUMBER.findall(got), NUMBER.findall(want)
    words = re.sub(r"\s|[\[\](),]|dtype=\w+", "", NUMBER.sub("", want))
    other = re.sub(r"\s|[\[\](),]|dtype=\w+", "", NUMBER.sub("", got))
    if there and len(here) == len(there) and words == other:
        return "value" if all(map(close, here, there)) else "wrong"
    return "text"


def close(a, b):
    """Whether two printed numbers are equal up to rounding."""
    a, b = float(a), float(b)
    return a == b or a != a and b != b or abs(a - b) <= 1e-6 + 2e-3 * max(abs(a), abs(b))


def main(path):
    """Print the outcome of each example as a line of JSON: test_manual.py starts this."""
    import json
    import sys

    import ckernels.compat.theano

    ckernels.compat.theano.install()
    real = sys.stdout
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        seen = outcomes(examples(path))
    for kind, got, one in ((o.kind, o.got, o.example) for o in seen):
        row = {"kind": kind, "chapter": one.chapter, "line": one.line, "source": one.source}
        real.write(json.dumps({**row, "got": got[:300], "want": (one.want or "")[:300]}) + "\n")


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
