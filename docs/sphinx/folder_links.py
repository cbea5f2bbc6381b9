"""Links to folders, which a code host shows, lead to the folder's README or become plain text."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\(([^()#:\s]+)\)")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", follow)
    return {"parallel_read_safe": True}


def follow(app: Sphinx, document: str, text: list[str]) -> None:
    page = Path(app.env.doc2path(document))

    def readme(link: re.Match[str]) -> str:
        label, target = link.groups()
        if not (page.parent / target).is_dir():
            return link.group()
        inside = f"{target.rstrip('/')}/README.md"
        is_page = app.project.path2doc((page.parent / inside).resolve()) in app.env.found_docs
        return f"[{label}]({inside})" if is_page else label

    text[0] = LINK.sub(readme, text[0])
