"""`make site`: the documentation as a site in build/site/html, offline; a warning is an error.

The pages are README, docs/, CHANGELOG, CONTRIBUTING and the benchmarks as they are, laid out in
build/site/source as they lie here, so that their links hold, with the API reference beside them.
The order of the guide is that of README's links.
"""

import re
import shutil
import sys
from pathlib import Path

from build_tools import reference

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "site"
PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE")
KEPT = ("benchmarks", "examples")  # folders that pages link to, without
LEFT = ("__pycache__", "README.md", "gallery")
SECTION = re.compile(r"^([A-Z][^\n]*):\n((?:\[.*?\]\(.*?\)[ ·\n]*)+)", re.M)
LINK = re.compile(r"\[.*?\]\((.*?)\)", re.S)


def sections(readme):
    """[(title, pages)] of the guide, as README lists them."""
    guide = readme[readme.index("## Guide") : readme.index("## Installing")]
    return [(title, LINK.findall(links)) for title, links in SECTION.findall(guide)]


def tree(title, pages, depth=1):
    """A toctree directive, hidden: it fills the side bar."""
    listed = "\n".join(re.sub(r"\.md$", "", page) for page in pages)
    return f"```{{toctree}}\n:caption: {title}\n:hidden:\n:maxdepth: {depth}\n\n{listed}\n```\n"


def index(readme, references):
    """The first page: README, and the order of all others."""
    named = sections(readme)
    trees = [tree(title, pages) for title, pages in named]
    trees.append(tree("Gallery", ["gallery/index"]))
    trees.append(tree("API reference", ["reference/index"], 2))
    rest = ["docs/life-of-a-call", "docs/rooms", "CONTRIBUTING", "CHANGELOG", "benchmarks/RESULTS",
            "benchmarks/deep/RESULTS", "benchmarks/breadth/RESULTS", "benchmarks/keras3/RESULTS",
            "benchmarks/numpy_programs/RESULTS", "benchmarks/npbench/RESULTS",
            "benchmarks/expressions/RESULTS",
            "benchmarks/pymc_catalogue/RESULTS",
            "benchmarks/matrix/results-1"]  # fmt: skip
    known = {re.sub(r"\.md$", "", p) for _, pages in named for p in pages}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        name = page.relative_to(ROOT).as_posix().removesuffix(".md")
        if name not in known and name not in rest:
            rest.append(name)
    return f"{readme}\n{''.join(trees)}{tree('Project', rest)}"


def write_sources(folder):
    """All pages under `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("site"))
    for name in KEPT:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*LEFT))
    for name in PAGES:
        shutil.copy(ROOT / name, folder / name)
    pages = {**reference.topics(), **reference.modules()}
    (folder / "reference").mkdir()
    for name, text in pages.items():
        (folder / "reference" / name).write_text(text)
    contents = "# API reference\n\n" + tree("All names", pages).replace(":hidden:\n", "")
    (folder / "reference" / "index.md").write_text(contents)
    readme = (ROOT / "README.md").read_text()
    (folder / "index.md").write_text(index(readme, pages))


def main(arguments):
    """Build the site; the exit status is Sphinx's. arguments: `--no-pictures` leaves out to run the
    programs of the gallery."""
    from sphinx.cmd.build import main as build  # of the extra `site`

    write_sources(BUILT / "source")
    shutil.rmtree(BUILT / "html", ignore_errors=True)
    pictures = f"plot_gallery={int('--no-pictures' not in arguments)}"
    return build(
        ["-W", "--keep-going", "-q", "-D", pictures, "-c", str(ROOT / "docs" / "site"), "-d",
         str(BUILT / "doctrees"), str(BUILT / "source"), str(BUILT / "html")]
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
