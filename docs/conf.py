"""The documentation site: `make docs`.

The source directory is the repository, so that the Markdown pages of all folders are used as they
are, with the links between them that a code host follows too.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.util.inspect import stringify_signature

import manymove

sys.path.insert(0, str(Path(__file__).parent / "sphinx"))

project = "manymove"
author = "The manymove developers"
copyright = "2026, the manymove developers"
version = release = installed("manymove")
# The public address of the repository, which there is not yet; the only place that names it.
address = os.environ.get("MANYMOVE_ADDRESS", "")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    # docs/sphinx:
    "hoomd_stand_in",
    "folder_links",
    "commands",
    "gallery",
    "lammps_messages",
    "members",
    "local_mathjax",
    "notebooks",
    "redirects",
]

root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "NOTICES.md",
    "CODE_OF_CONDUCT.md",
    "docs/**.md",
    "docs/notebooks/*.ipynb",
    "examples/*/README.md",
    "hoomd_ext/README.md",
    "lammps_ext/README.md",
    "lammps_ext/doc/*.md",
]
# Anything with a dot in front and what builds leave; docs/README.md is for who reads the folder.
exclude_patterns = [".*", "**/.*", "build*", "out", "docs/README.md", "docs/benchmarks/results"]

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4

default_role = "name"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72  # longer ones have one argument a line

nitpicky = True
# No inventory of another project is read, since that takes the network. Full names in docstrings
# (the role below) are links where the object is on a page.
nitpick_ignore_regex = [
    ("py:obj", ".*"),
    ("py:(class|exc|data|attr)", r"(?!manymove|hoomd\.manymove).*"),
    ("py:(class|exc|data|attr)", r"manymove\.(_core\..*|simulation\.(S|Simulation))"),
    ("py:(class|exc|data|attr)", r"manymove\.(hard_particles\.(shared|particles)\.P|replicas\.T)"),
]

smartquotes = False  # -- begins options
html_theme = "furo"
if address:
    html_theme_options = {
        "source_repository": address,
        "source_branch": "main",
        "source_directory": "",
    }
html_title = f"manymove {version}"
redirects = {"index": "docs/index"}
templates_path = ["sphinx/templates"]
html_static_path = ["sphinx/static"]
html_css_files = ["pages.css"]
html_use_index = False
html_copy_source = False
html_show_sourcelink = False


class Name(PyXRefRole):
    """Single backticks in docstrings: a full name is a link, anything else is code."""

    def run(self) -> Any:
        if self.text.startswith(("manymove.", "hoomd.manymove.")):
            self.name = "py:obj"
            return super().run()
        return [nodes.literal(self.rawtext, self.text)], []


TYPE = re.compile(r"(\w+(\[.*?\])?|\(.*?\)): ")


def keep_text(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list) -> None:
    """Docstrings are meant as they read: |x| is a magnitude, no substitution, and what stands
    before a colon in a property's first line is its type only where it looks like one."""
    lines[:] = [line if "`" in line else line.replace("|", "\\|") for line in lines]
    if what == "property" and lines and not TYPE.match(lines[0]):
        lines[:0] = ["..", ""]  # an empty comment


def own_arguments(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, arguments: str, returns: str
) -> tuple[str, str] | None:
    """Arguments of the classes whose metaclass notes what an object was given."""
    if what != "class" or not (arguments or "").startswith("(*given"):
        return None
    signature = inspect.signature(thing)
    words = stringify_signature(
        signature.replace(parameters=[by_name(each) for each in signature.parameters.values()]),
        show_return_annotation=False,
        unqualified_typehints=True,
    )
    return words, returns


def by_name(parameter: inspect.Parameter) -> inspect.Parameter:
    """Show the default METHANE by its name instead of its value."""
    if parameter.default is not manymove.METHANE:
        return parameter
    return parameter.replace(default=Constant("METHANE"))


class Constant(str):
    """A name that is shown without quotes."""

    __repr__ = str.__str__


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-signature", own_arguments)
    app.connect("autodoc-process-docstring", keep_text, priority=400)
    app.add_lexer("lammps", TextLexer)
    app.add_role("name", Name())
