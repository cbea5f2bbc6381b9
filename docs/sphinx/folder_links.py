"""Links to folders, which a code host shows, lead to the folder's README or become plain text.

docs/README.md is what a code host shows of the root document, and a link to it one to that.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\(([^()#:\s]+)\)")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", follow)
    return {"parallel_read_safe": True}


def follow(app: Sphinx, document: str, text: list[str]) -> None:
    folder = Path(app.env.doc2path(document)).parent
    root = Path(app.env.doc2path(app.config.root_doc))

    def page(link: re.Match[str]) -> str:
        label, target = link.groups()
        path = (folder / target).resolve()
        is_folder = path.is_dir()
        if is_folder:
            path /= "README.md"
        if path == root.with_name("README.md"):
            path = root
        elif not is_folder:
            return link.group()
        if app.project.path2doc(path) not in app.env.found_docs:
            return label
        return f"[{label}]({os.path.relpath(path, folder)})"

    text[0] = LINK.sub(page, text[0])
