"""Sphinx's settings for the documentation site, which scripts/build-site builds."""

import sys
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

# scripts/build-site names the repository; Sphinx's folder of sources is a copy of docs/.
_REPOSITORY = Path(__file__).resolve().parents[1]
# The Python reference imports the lab. Its packages come last, so that Sphinx finds its own first.
sys.path.insert(0, str(_REPOSITORY / "lab/src"))
sys.path += [str(path) for path in _REPOSITORY.glob(".venv/lib/python3*/site-packages")]

project = "Windlass"
copyright = "the Windlass authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# The anchors of a forge, for links between pages.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "attrs_block"]
# A page may begin with its second level: SUMMARY.md has three of the first.
suppress_warnings = ["myst.header"]
highlight_language = "text"
# Two hyphens are an option, not a dash.
smartquotes = False

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "inherited-members": False}

html_theme = "furo"
html_title = "Windlass"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def remove_empty_heads(_app: Sphinx, doctree: nodes.document) -> None:
    """Leave out the heads of tables that have none: Markdown has no table without."""
    for head in list(doctree.findall(nodes.thead)):
        if not head.astext().strip():
            head.parent.remove(head)


def setup(app: Sphinx) -> None:
    """Show dumps of packets as they are."""
    app.add_lexer("hex", TextLexer)
    app.connect("doctree-read", remove_empty_heads)
