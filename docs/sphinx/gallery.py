"""`{gallery}`: each folder of examples with its title, first paragraph and a picture.

The picture is the first of the folder's README, or else docs/images/<...folder...>.png.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True}


class Gallery(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir)
        here = (root / self.env.docname).parent
        readmes = sorted(root.glob("examples/*/README.md"))
        for readme in readmes:
            self.env.note_dependency(str(readme))
        text = "\n".join(entry for readme in readmes for entry in entries(root, here, readme))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def entries(root: Path, here: Path, readme: Path) -> Iterator[str]:
    text = readme.read_text()
    title = re.search(r"^# (.+)$", text, re.MULTILINE).group(1)
    link = os.path.relpath(readme, here)
    yield f"## [{title}]({link})\n"
    picture = picture_of(root, readme, text)
    if picture is not None:
        yield f"[![{title}]({os.path.relpath(picture, here)})]({link})\n"
    # What comes before a table, code or a heading.
    first = [part for part in text.split("\n\n")[1:3] if re.match(r"\w", part)][:1]
    for part in first:
        yield re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r":$", ".", part)) + "\n"
    files = (path.name for path in sorted(readme.parent.iterdir()) if path.is_file())
    yield "Files: " + ", ".join(f"`{name}`" for name in files if name != "README.md") + "\n"


def picture_of(root: Path, readme: Path, text: str) -> Path | None:
    shown = re.search(r"!\[[^\]]*\]\(([^)]+)\)", text)
    if shown:
        return (readme.parent / shown.group(1)).resolve()
    return next(iter(sorted(root.glob(f"docs/images/*{readme.parent.name}*.png"))), None)
