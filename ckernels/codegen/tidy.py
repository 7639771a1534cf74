"""Makes generated C pleasant to read: drops names nothing uses, aliases and needless parentheses.

Works on the text of one function body in the emitter's own style (one statement per line); it knows
nothing of kernels, and what it leaves out changes no machine code.
"""

import re
from collections import Counter
from functools import lru_cache

_CONSTANT = re.compile(r"\s*(?:const \w+(?: \*const)?|\w+ \*const) (\w+) = ([^;,]+);$")
_ALIAS = re.compile(r"(?:0|[xyab]\d+\w*)$")
_MOVED = re.compile(r"\b[ab]\d+\w*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PLUS_NOTHING = re.compile(r"(?<![\w.])0 \+ ")
_AROUND_NAME = re.compile(r"(?<!\w)\((v\d+\w*|s\d+\[c\]|count)\)")
_DOUBLED = re.compile(r"(?<!\w)\((\((?:[^()]|\([^()]*\))*\))\)")


def tidy_body(lines):
    """`lines` without aliases of pointers and indices and without constants that nothing reads."""
    return _without_unused(_without_aliases(lines))


def _without_aliases(lines):
    """Names declared as another name (or 0) give way to it: `b3 = a3`, `a1 = x1`."""
    found = [_CONSTANT.match(line) for line in lines]
    meanings = {}
    for match in filter(None, found):
        meanings.setdefault(match[1], set()).add(match[2])
    alias = {}
    for name, values in meanings.items():  # in order: the meaning of a name is declared before it
        value = next(iter(values))
        if len(values) == 1 and _MOVED.fullmatch(name) and _ALIAS.match(value):
            alias[name] = alias.get(value, value)
    if not alias:
        return lines
    text = "\n".join(
        line for line, match in zip(lines, found) if not match or match[1] not in alias
    )
    text = _MOVED.sub(lambda m: alias.get(m[0], m[0]), text)
    return _PLUS_NOTHING.sub("", text).split("\n")


def _without_unused(lines):
    """Lines without constants that nothing reads, looked for from the end: a constant that only
    an unread one reads comes before it."""
    words = [_WORD.findall(line) for line in lines]
    count = Counter(w for line in words for w in line)
    kept = []
    for line, used in zip(reversed(lines), reversed(words)):
        match = _CONSTANT.match(line)
        if match and count[match[1]] == 1:
            count.subtract(used)
        else:
            kept.append(line)
    return kept[::-1]


@lru_cache(4096)
def tidy_expression(text):
    """`text` without parentheses around single names, doubled ones and the outermost pair."""
    text = _AROUND_NAME.sub(r"\1", _DOUBLED.sub(r"\1", text))
    while _outer(text):
        text = text[1:-1]
    return text


def _outer(text):
    """Whether the first parenthesis closes with the last character."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if not depth:
            return k == len(text) - 1
    return False
