"""`make release`: what goes with the files in dist/: SHA-256 sums, a bill of materials, the notes.

Reads the files as they are; nothing is uploaded. The version stands in base/version.py only,
and a release has a section of that name in CHANGELOG.md.
"""

import argparse
import hashlib
import json
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def version():
    with open(os.path.join(ROOT, "ckernels", "base", "version.py"), encoding="utf-8") as stream:
        return re.search(r'^VERSION = "([^"]+)"$', stream.read(), re.M)[1]


def section(text, name):
    """What CHANGELOG.md says of a version; SystemExit where it says nothing."""
    found = re.search(rf"^## {re.escape(name)}\b[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not found or not found[1].strip():
        raise SystemExit(f"CHANGELOG.md has no section for {name}")
    return found[1].strip() + "\n"


def sums(folder, names):
    """Lines as sha256sum writes them, by name."""
    lines = []
    for name in sorted(names):
        with open(os.path.join(folder, name), "rb") as stream:
            lines.append(f"{hashlib.sha256(stream.read()).hexdigest()}  {name}\n")
    return "".join(lines)


def bill(requires, name, names):
    """An SBOM (CycloneDX 1.5) of a release: what it is, and what it asks for at run time."""
    component = {"type": "library", "name": "ckernels", "version": name}
    asked = [re.match(r"[\w.-]+", row)[0] for row in requires]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component, "purl": f"pkg:pypi/ckernels@{name}"}},
        "components": [
            *(
                {"type": "library", "name": other, "purl": f"pkg:pypi/{other}", "description": row}
                for other, row in zip(asked, requires)
            ),
            {
                "type": "library",
                "name": "dagre",
                "description": "in the pages of K.draw: ckernels/pictures",
                "licenses": [{"license": {"id": "MIT"}}],
            },
            *({"type": "file", "name": file} for file in sorted(names)),
        ],
    }


def dependencies():
    with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as stream:
        return json.loads(re.search(r"^dependencies = (\[.*?\])$", stream.read(), re.M | re.S)[1])


def write(folder):
    name = version()
    files = archives(folder)
    wrong = [n for n in files if not n.startswith(f"ckernels-{name}")]
    if wrong or not any(n.endswith(".tar.gz") for n in files):
        raise SystemExit(
            f"{folder} is to hold the sdist and wheels of {name}, not {wrong or files}"
        )
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as stream:
        notes = section(stream.read(), name)
    made = {
        "SHA256SUMS": sums(folder, files),
        "sbom.json": json.dumps(bill(dependencies(), name, files), indent=1) + "\n",
        "NOTES.md": notes,
    }
    for file, text in made.items():
        with open(os.path.join(folder, file), "w", encoding="utf-8") as stream:
            stream.write(text)
    print(f"ckernels {name}: {len(files)} files, {', '.join(made)}")


def archives(folder):
    """Names of the sdist and the wheels in a folder."""
    return sorted(
        n for n in os.listdir(folder) if n.startswith("ckernels-") and n.endswith((".whl", ".gz"))
    )


def compare(folder, other):
    """SystemExit where what was built twice is not the same bytes, file by file."""
    names = archives(other)
    if not names:
        raise SystemExit(f"{other} holds nothing to compare")
    missing = [name for name in names if name not in archives(folder)]
    there = [name for name in names if name not in missing]
    pairs = zip(sums(folder, there).splitlines(), sums(other, there).splitlines())
    differ = [first.split()[1] for first, second in pairs if first != second]
    if missing or differ:
        raise SystemExit(
            f"built again, these differ: {differ}; these are not in {folder}: {missing}"
        )
    print(f"{len(names)} files built again: the same bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=os.path.join(ROOT, "dist"))
    parser.add_argument("--same", metavar="OTHER", help="only compare with what is in that folder")
    options = parser.parse_args()
    if options.same:
        compare(options.folder, options.same)
    else:
        write(options.folder)
