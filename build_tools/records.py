"""Writes plan/records.py from src/plan/records.h of ckernels: `python -m build_tools.records`.

The header is the only place that says which word of an instruction's dims is what. The module is
kept in the repository, so that importing it parses nothing; a test compares the two.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "ckernels" / "src" / "plan" / "records.h"
MODULE = ROOT / "ckernels" / "plan" / "records.py"
HEAD = '''\
"""The dims of gemm and native instructions, word by word: the structs of src/plan/records.h in
Python. Generated from there by `python -m build_tools.records`; see words() of instructions.py.
"""

from .record import DimsRecord

'''
STRUCT = re.compile(r"/\* ([^/]*?) \*/\s*typedef struct \{(.*?)\} ck_(\w+)_dims;", re.S)
MEMBER = re.compile(r"(int64_t|ck_(\w+)_dims) ([^;]+);(?:\s*/\* (.*?) \*/)?", re.S)


def class_name(name):
    return name.title().replace("_", "") + "Dims"


def fields(body):
    """(name, how many, struct of each or None, comment) of the members of a struct."""
    for _, struct, names, comment in MEMBER.findall(body):
        for declared in names.split(","):
            name, count = re.fullmatch(r"\s*(\w+)(?:\[(\d+)\])?", declared).groups()
            yield name, int(count) if count else None, struct or None, comment


def record(name, what, members, words):
    """The class of one struct, and how many words it has; `words`: of the structs before it."""
    lines, nested, total = [], [], 0
    for member, count, struct, comment in members:
        each = words[struct] if struct else 1
        total += each * (count or 1)
        if count:
            nested.append(f'"{member}": ({count}, {class_name(struct) if struct else None})')
        note = f"  # {' '.join(comment.split())}" if comment else ""
        lines.append(f'        "{member}",{note}')
    what = re.sub(r"\s+", " ", what)
    doc = f'    """{what}"""'
    if len(doc) > 100:
        at = what.rindex(" ", 0, 93)
        doc = f'    """{what[:at]}\n    {what[at + 1 :]}\n    """'
    text = [f"class {class_name(name)}(DimsRecord):", doc, "", "    FIELDS = (", *lines, "    )"]
    table = f"    NESTED = {{{', '.join(nested)}}}"
    if len(table) > 100:
        table = "\n".join(["    NESTED = {", *(f"        {row}," for row in nested), "    }"])
    text += [table] if nested else []
    text += [f"    WORDS = {total}"]
    return "\n".join(text), total


def generate(header):
    """The text of the module for the text of the header."""
    text = re.search(r"enum \{\s*(CK_CONV\b.*?), CK_NATIVES\s*\}", header, re.S)[1]
    names = [name.removeprefix("CK_") for name in re.findall(r"\w+", text)]
    ops = "".join(f"    {name},\n" for name in names)
    parts, words = [f"(\n{ops}) = range({len(names)})  # native instructions"], {}
    for what, body, name in STRUCT.findall(header):
        part, words[name] = record(name, what, fields(body), words)
        parts.append(part)
    return HEAD + "\n\n\n".join(parts) + "\n"


if __name__ == "__main__":
    MODULE.write_text(generate(HEADER.read_text()))
