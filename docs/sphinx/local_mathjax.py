# SPDX-License-Identifier: BSD-3-Clause
"""MathJax from the package sphinx-mathjax-offline, so that equations need no network.

The package's own extension copies all of MathJax at each build; this one copies what the pages
load: the TeX input with HTML output, its extensions and its fonts.
"""

from __future__ import annotations

from importlib.metadata import files
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.fileutil import copy_asset

PARTS = ("tex-chtml.js", "input/tex", "output/chtml/fonts", "ui", "a11y")


def setup(app: Sphinx) -> dict[str, bool]:
    app.config.mathjax_path = "mathjax/tex-chtml.js"  # relative to _static
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True}


def folder() -> Path:
    """The folder of MathJax in the installed package."""
    (entry,) = (f for f in files("sphinx-mathjax-offline") if f.name == "tex-chtml.js")
    return Path(entry.locate()).parent


def copy(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        target = Path(app.outdir) / "_static/mathjax"
        for part in PARTS:
            source = folder() / part
            copy_asset(source, target / part if source.is_dir() else target)
