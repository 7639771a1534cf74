"""Pages of the API reference, in Markdown: a signature and a docstring for every public name.

Docstrings are plain text: paragraphs, sessions of `>>>`, and lists "name   what it is" in columns.
Here they become Markdown; nothing else is written about a function than what `help` shows.
"""

import importlib
import inspect
import re

COLUMNS = re.compile(r"(\S(?:\S| (?! ))*)(  +)(\S.*)")
TOPICS = (  # of the K functions: title, files of ckernels/api
    ("Functions of graphs", "function gradients draw split export"),
    ("Variables and constants", "variables shared updates tensor"),
    ("Elementwise functions and reductions", "math special"),
    ("Shapes", "shape"),
    ("Indexing", "indexing"),
    ("Linear algebra", "linalg decompositions matrices"),
    ("Neural networks", "nn losses conv pool ctc attention"),
    ("Order", "sorting"),
    ("Random tensors", "random randomstreams"),
    ("Scans, branches, checks", "scan scan_step rnn learning_phase control"),
    ("Operations of the user", "own"),
    ("Fourier transforms", "fourier"),
    ("Settings", "config"),
    ("Expressions as text", "expression"),
)
MODULES = (  # title, module, what it is
    ("jit", "ckernels.jit", "`ck.jit` is the decorator, after `import ckernels as ck`."),
    ("Sparse tensors", "ckernels.sparse", "`K.sparse`: functions of sparse matrices."),
    ("Exceptions", "ckernels.errors", "What `except` takes."),
    ("Types", "ckernels.typing", "For annotations."),
    ("Dask", "ckernels.dask", "Needs `pip install ckernels[dask]`."),
    ("MPI", "ckernels.mpi", "Needs `pip install ckernels[mpi]`."),
    ("PyTensor and PyMC", "ckernels.pytensor", "Needs `pip install ckernels[pytensor]`."),
    ("Keras 2", "ckernels.compat.keras2", "The backend of Keras 2, as its document has it."),
    ("Keras 1", "ckernels.compat.keras1", "The backend of Keras 1."),
    ("natural_bm", "ckernels.compat.natural_bm", "The backend of natural_bm."),
    ("numexpr", "ckernels.compat.numexpr", "numexpr's functions."),
)  # fmt: skip


def public(module):
    """The public names of a module: its `__all__`, or what is written in it."""
    named = getattr(module, "__all__", None)
    return named or [
        n for n, v in vars(module).items()
        if n[0] != "_" and getattr(v, "__module__", None) == module.__name__
    ]  # fmt: skip


def topic_of(name, value):
    """Which file of ckernels/api a public name is from."""
    module = getattr(value, "__module__", "")
    if module.endswith("api.elementwise"):  # made there, named in one of these
        math = importlib.import_module("ckernels.api.math")
        return "math" if getattr(math, name, None) is value else "special"
    if "export" in module:
        return "export"
    if "expression" in module:
        return "expression"
    return {"printing": "draw"}.get(module.rpartition(".")[2], module.rpartition(".")[2])


def blocks(text):
    """The paragraphs of a docstring, cleaned."""
    return [b for b in re.split(r"\n\s*\n", inspect.cleandoc(text or "")) if b.strip()]


def escaped(text):
    """Text of a docstring as Markdown: code in backticks as it is, elsewhere no markup."""
    parts = re.split(r"(`[^`]+`)", text)
    parts[::2] = [re.sub(r"([*_\[\]<>$\\])", r"\\\1", p) for p in parts[::2]]
    return "".join(parts)


def session(block):
    return f"```pycon\n{block}\n```"


def rows(block):
    """[(name, text)] of a list in columns with continuation lines, or None if it is none."""
    found = []
    for line in block.split("\n"):
        match = COLUMNS.fullmatch(line)
        if match and line[0] != " ":
            found.append([match[1], match[3]])
        elif line.startswith("  ") and found:
            found[-1][1] += " " + line.strip()
        else:
            return None
    return found


def listed(found):
    """A list in columns as a definition list."""
    return "\n\n".join(f"`{name}`\n: {escaped(text)}" for name, text in found)


def paragraph(block):
    if block.lstrip().startswith(">>>"):
        return session(block)
    found = rows(block)
    if found:
        return listed(found)
    if re.search(r"\S   +\S|^ {2,}", block, re.M):  # columns of another kind
        return f"```text\n{block}\n```"
    return escaped(block)


HEADING = re.compile(r"(Parameters|Returns|Raises|Warns|Notes|Examples)\n-+\n")


def sections(text):
    """[(heading, text)] of a docstring in NumPy's style; what stands before the first is of ""."""
    parts = HEADING.split(inspect.cleandoc(text or ""))
    return [("", parts[0].strip()), *zip(parts[1::2], (p.strip("\n") for p in parts[2::2]))]


def items(text):
    """[(names, type, text)] of a section that lists parameters, results or errors."""
    found = []
    for line in text.split("\n"):
        if line[:1] not in ("", " "):
            names, _, kind = line.partition(" : ")
            found.append([names, kind, ""])
        elif line.strip():
            found[-1][2] += " " + line.strip()
    return [(names, kind, said.strip()) for names, kind, said in found]


def section(heading, text):
    """A section as Markdown: lists of names are definition lists, all else is text."""
    if heading in ("", "Notes", "Examples"):
        said = "\n\n".join(paragraph(block) for block in blocks(text))
    else:
        said = "\n\n".join(
            f"`{names}`{f' ({escaped(kind)})' if kind else ''}\n: {escaped(text) or '…'}"
            for names, kind, text in items(text)
        )
    return f"**{heading}**\n\n{said}" if heading else said


def body(text):
    """A docstring as Markdown."""
    return "\n\n".join(section(*pair) for pair in sections(text) if any(pair))


def signature(value):
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return "()"


def methods(cls):
    """Markdown of the methods that a class documents; those of `Function` are of what runs."""
    if cls.__name__ == "Function":
        cls = importlib.import_module("ckernels.runtime.common").FunctionBase
    for name in sorted(n for n in dir(cls) if n[0] != "_"):
        value = inspect.getattr_static(cls, name)
        said = inspect.getdoc(value)
        if isinstance(value, property):
            yield f"```{{py:attribute}} {name}\n\n{body(said)}\n```" if said else ""
        elif callable(getattr(cls, name)) and said:
            yield f"````{{py:method}} {name}{signature(getattr(cls, name))}\n\n{body(said)}\n````"


def entry(prefix, name, value):
    """Markdown of one public name."""
    said = inspect.getdoc(value) or ""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return f"````{{py:exception}} {prefix}.{name}\n\n{body(said)}\n````\n"
    if inspect.isclass(value):
        inner = "\n\n".join(filter(None, methods(value)))
        return f"`````{{py:class}} {prefix}.{name}\n\n{body(said)}\n\n{inner}\n`````\n"
    if callable(value):
        return f"````{{py:function}} {prefix}.{name}{signature(value)}\n\n{body(said)}\n````\n"
    return f"````{{py:data}} {prefix}.{name}\n````\n"


def topics():
    """{file name: text} of the pages of K functions; ValueError where a name has no topic."""
    import ckernels

    of = {}
    for name in sorted([*ckernels.__all__, "evaluate", "evaluate_grad", "re_evaluate"]):
        value = getattr(ckernels, name)
        if callable(value):
            of.setdefault(topic_of(name, value), []).append((name, value))
    found = {}
    for title, files in TOPICS:
        entries = [pair for file in files.split() for pair in of.pop(file, ())]
        page = "-".join(re.findall(r"\w+", title.lower()))
        text = "\n".join(entry("ckernels", name, value) for name, value in entries)
        found[f"{page}.md"] = f"# {title}\n\n{text}"
    if of:
        raise ValueError(f"build_tools/reference.py has no topic for the names of {sorted(of)}")
    return found


def modules():
    """{file name: text} of the pages of other modules that are installed here."""
    found = {}
    for title, name, said in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            module = getattr(importlib.import_module("ckernels"), name.rpartition(".")[2], None)
        if module is None:
            continue
        entries = [(n, getattr(module, n)) for n in sorted(public(module))]
        text = "\n".join(entry(name, n, value) for n, value in entries)
        found[f"{name.replace('.', '-')}.md"] = f"# {title}\n\n{said}\n\n{text}"
    return found
