# SPDX-License-Identifier: BSD-3-Clause
"""Pages at former addresses, which forward the reader to the present ones (`redirects`)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("redirects", {}, "html")
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True}


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(former page, variables of the template, template) of each redirect.

    Raises:
        ValueError: a former page exists, or the present one does not.
    """
    for former, present in app.config.redirects.items():
        if former in app.env.found_docs or present not in app.env.found_docs:
            raise ValueError(f"redirects: {former} must not be a page, and {present} must be one")
        target = posixpath.relpath(present + ".html", posixpath.dirname(former) or ".")
        yield former, {"target": target}, "redirect.html"
