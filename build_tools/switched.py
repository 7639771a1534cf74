"""The C runtime with many mutants in it, one of which a switch turns on: one build for a sample.

An expression that a change touches becomes `(ck_at(7) ? (changed) : (as it was))`; what `ck_at` was
asked, `ck_reached` has.
"""

import os
import re
import shutil
import subprocess
import sys

from build_tools.warm import MARKS

HEADER = """extern int ck_mutant;
extern unsigned char ck_reached[];
static inline int ck_at(int k) { ck_reached[k] = 1; return ck_mutant == k; }
"""
DEFINED = f"""
__attribute__((visibility("default"))) int ck_mutant;
__attribute__((visibility("default"))) unsigned char ck_reached[{MARKS}];
"""
NO_CODE = (
    re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S),
    re.compile(r"^[ \t]*#[ \t]*(?:include|if|elif|pragma|error)(?:.*\\\n)*.*$", re.M),
)
BEFORE, BEHIND = "([{,;?:", ")]},;?:"  # what an operand of `?:` or `=` stands between


def without(patterns, text):
    """The text with `_` for all that the patterns match, line by line."""
    for pattern in patterns:
        text = pattern.sub(lambda m: re.sub(r"[^\n]", "_", m[0]), text)
    return text


def expression(plain, start, end):
    """(the first place, the one behind the last) of the operand of `?:` or `=` around a change."""
    depth, low = 0, start
    while low > 0:
        c = plain[low - 1]
        if not depth and (c in BEFORE or assigns(plain, low - 1) or plain[:low].endswith("return")):
            break
        depth += (c in ")]}") - (c in "([{")
        low -= 1
    depth, high = 0, end
    while depth or plain[high] not in BEHIND:
        depth += (plain[high] in "([{") - (plain[high] in ")]}")
        high += 1
    return low, high


def assigns(plain, k):
    """Whether an assignment ends at place k."""
    if plain[k] != "=" or plain[k + 1] == "=":
        return False
    return plain[k - 1] not in "=!<>" or plain[k - 2 : k] in ("<<", ">>")


def switched(source, numbered):
    """(a file with those of its changes, {number: change}, that do not overlap, their numbers)."""
    text = source.decode("latin-1")  # a character a byte: places are those of bytes
    plain = without(NO_CODE, text)
    parts = []
    for number, change in numbered.items():
        low, high = expression(plain, change.start, change.end)
        if "#" not in plain[low:high] and not any(low < b and a < high for a, b, *_ in parts):
            was, new = text[low:high], change.text
            new = text[low : change.start] + new + text[change.end : high]
            parts.append((low, high, f"(ck_at({number}) ? ({new}) : ({was}))", number))
    for low, high, new, _ in sorted(parts, reverse=True):
        text = text[:low] + new + text[high:]
    return text.encode("latin-1"), {number for *_, number in parts}


def build(root, folder, chosen):
    """Build the runtime of the tree at `root` with {number: (path, change)} in a folder: (its file,
    the numbers that are in it)."""
    left_out = shutil.ignore_patterns("*.so", "__pycache__")
    for name in ("ckernels", "build_tools"):
        shutil.copytree(root / name, folder / name, ignore=left_out, dirs_exist_ok=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(root / name, folder / name)
    (folder / "switch.h").write_text(HEADER)
    there = set()
    for path in {path for path, _ in chosen.values()}:
        numbered = {k: change for k, (file, change) in chosen.items() if file == path}
        text, numbers = switched(path.read_bytes(), numbered)
        (folder / path.relative_to(root)).write_bytes(text)
        there |= numbers
    with open(folder / "ckernels/src/memory/arena.c", "a") as file:
        file.write(DEFINED)
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    flags = f"{os.environ.get('CFLAGS', '')} -include {folder / 'switch.h'} -w"
    env = {**os.environ, "CKERNELS_REQUIRE_RUNTIME": "1", "CFLAGS": flags}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the runtime with mutants was not built:\n{done.stderr}")
    (runtime,) = (folder / "ckernels").glob("_runtime*.so")
    return runtime, there
