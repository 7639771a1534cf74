"""The C runtime with many mutants in it, one of which a switch turns on: one build for a sample.

An expression that a change touches becomes `(ck_at(7) ? (changed) : (as it was))`. The switch is a
file that every library of these sources maps, the runtime and what tests build for themselves, in
every process: the number that is on, and a mark for each that was asked for.
"""

import os
import re
import struct
import subprocess
import sys

MARKS = 1000  # mutants that one build may have
HEADER = """#ifndef CK_SWITCH
#define CK_SWITCH
extern unsigned char *ck_switch;
static inline int ck_at(int k) { return ck_switch[4 + k] = 1, *(int *)ck_switch == k; }
#endif
"""
DEFINED = """
#include "%s"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
unsigned char *ck_switch;
__attribute__((constructor)) static void ck_map_switch(void)
{
    int file = open("%s", O_RDWR);
    ck_switch = mmap(0, %d, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
}
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


class Switch:
    """The file that says which mutant is on, and which were asked for."""

    def __init__(self, path):
        self.path = path

    def turn(self, number):
        """Turn a mutant on, 0: none; no mark is left. Who maps the file never meets it empty."""
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o666)
        os.write(file, struct.pack("i", number) + bytes(MARKS))
        os.close(file)

    def reached(self):
        marks = self.path.read_bytes()[4:]
        return [k for k, mark in enumerate(marks) if mark]


def defined(folder):
    """C for one of the files of a library: it maps the switch in a folder."""
    return DEFINED % (folder / "switch.h", folder / "switch", 4 + MARKS)


def build(tree, chosen):
    """Build the runtime of a copy of the tree with {number: (path in it, change)}: the numbers that
    are in it."""
    Switch(tree / "switch").turn(0)
    (tree / "switch.h").write_text(HEADER)
    there = set()
    for path in {path for path, _ in chosen.values()}:
        numbered = {k: change for k, (file, change) in chosen.items() if file == path}
        text, numbers = switched(path.read_bytes(), numbered)
        path.write_bytes(f'#include "{tree / "switch.h"}"\n'.encode() + text)
        there |= numbers
    with open(tree / "ckernels/src/memory/arena.c", "a") as file:
        file.write(defined(tree))
    native = tree / "tests/src/native.py"  # of the tests' own library
    native.write_text(native.read_text().replace('"-Werror"', '"-w"'))
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    flags = f"{os.environ.get('CFLAGS', '')} -w"
    env = {**os.environ, "CKERNELS_REQUIRE_RUNTIME": "1", "CFLAGS": flags}
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the runtime with mutants was not built:\n{done.stderr}")
    return there
