"""Sphinx's settings for the site: `make site`. What its pages are is in build_tools/site.py."""

import re
from pathlib import Path

from ckernels.base.version import VERSION

project, author, release = "ckernels", "The ckernels authors", VERSION
copyright = "The ckernels authors"
extensions = [
    "myst_parser",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
# Pages begin where their subject does; README's first heading is the name of the project.
suppress_warnings = ["myst.header"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
html_theme = "furo"
html_title = f"ckernels {VERSION}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "friendly", "github-dark"
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
# The gallery's programs run when the site is built; one that fails ends it.
sphinx_gallery_conf = {
    "examples_dirs": str(Path(__file__).parents[2] / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
    "matplotlib_animations": (True, "jshtml"),
    "show_signature": False,
    "capture_repr": ("_repr_html_",),
    "show_memory": False,
    "write_computation_times": False,  # its page asks other hosts for its scripts
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "nested_sections": False,
    "within_subsection_order": "FileNameSortKey",
}


def without_hosts(app, page, source):
    """Films ask another host for the font of their buttons, which site.css draws."""
    source[0] = re.sub(r"<link [^>]*font-awesome[^>]*>", "", source[0])


def setup(app):
    """Sphinx calls this."""
    app.connect("source-read", without_hosts)
