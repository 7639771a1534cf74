"""The parts of the guide that say how Theano's own tests and the libraries fared, from the files
that their runs write: `python -m tests.clients.theano_libraries.page` writes them anew."""

import pathlib
import re
from collections import Counter
from datetime import date

from ..theano_suite import run as suite
from . import run
from .tables import LIBRARIES

GUIDE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guide" / "from-theano.md"
SHOWN = {"DeepLearningTutorials": "Deep Learning Tutorials", "pylearn2": "pylearn2's layers",
         "Theano-Tutorials": "Newmu's Theano-Tutorials",
         "theano_exercises": "Goodfellow's Theano exercises, their solutions",
         "sklearn-theano": "sklearn-theano, without its pretrained networks",
         **{name: f"{name}, on Keras 2.2.4" for name in ("keras-contrib", "keras-rl", "keras-vis",
                                                         "hyperas")},
         "pymc3": "PyMC3 3.8", "pymc3-3.11": "PyMC3 3.11",
         "Lasagne": "Lasagne, with its MNIST and recurrent examples"}  # fmt: skip


def days(rows):
    """When rows were written, in words."""
    dates = sorted({row[0] for row in rows})
    said = [f"{date.fromisoformat(d):%-d %B %Y}" for d in (dates[0], dates[-1])]
    return said[0] if said[0] == said[1] else f"{said[0]} to {said[1]}"


def of_suite():
    """What Theano's own tests gave."""
    rows = suite.recorded()
    passed, failed, good, functions, inside, all_inside = (
        sum(int(row[k]) for row in rows.values()) for k in range(1, 7)
    )
    return (
        f"In runs of {days(rows.values())} over all {len(rows)} files, with `linker=py`, {good:,} "
        f"of the {functions:,}\nfunctions that ask for behaviour passed in all their tests, and "
        f"{inside} of the {all_inside} that look into graphs or memory\n({passed:,} tests passed, "
        f"{failed} failed, each of them listed)."
    )


def of_libraries():
    """The table of the libraries."""
    rows, known = suite.recorded(run.RESULTS), run.known()
    lines = ["| library | run | passed | failed | why |", "|---|---|---|---|---|"]
    for name in LIBRARIES:
        if name not in rows:
            continue
        when, passed, failed, _ = rows[name]
        reasons = Counter(
            reason.removesuffix(run.SOMETIMES)
            for test, reason in known.items()
            if test.split()[0] == name
        )
        said = "; ".join(f"{r} ({n})" if n > 1 else r for r, n in reasons.most_common())
        shown = SHOWN.get(name, name.replace("keras-", "Keras "))
        lines.append(
            f"| {shown} | {when} | {int(passed):,} | {failed} | {said if int(failed) else ''} |"
        )
    return "\n".join(lines)


PARTS = {"suite": of_suite, "libraries": of_libraries}


def written(text):
    """The guide with its parts as the files have them."""
    for name, part in PARTS.items():
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
        text, count = block.subn(lambda m, part=part: m[1] + part() + "\n" + m[2], text)
        if count != 1:
            raise SystemExit(f"{GUIDE.name} needs one part <!-- {name} --> ... <!-- end -->")
    return text


if __name__ == "__main__":
    GUIDE.write_text(written(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
