"""`{lammps-messages}`: every error and warning of the LAMMPS plugin, from its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

CALL = re.compile(r"error->(?:all|one|warning)\(\s*FLERR,\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)")
TEXT = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
STYLE = re.compile(r"manymove/\w+")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("lammps-messages", Messages)
    return {"parallel_read_safe": True}


class Messages(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        sources = Path(self.env.srcdir) / "lammps_ext/src"
        text = "\n".join(lines(sources))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def messages(sources: Path) -> list[str]:
    """All of them, as the sources have them: {} stands for what is inserted."""
    found = set()
    for path in sorted(sources.rglob("*.cpp")):
        for literals in CALL.findall(path.read_text()):
            text = "".join(TEXT.findall(literals)).replace('\\"', '"')
            # The styles that are derived from manymove/dpd give its messages with their own names.
            found.add(re.sub(r"^(Pair style|Pair coeff) {}", r"\1 manymove/dpd", text))
    return sorted(found)


def lines(sources: Path) -> Iterator[str]:
    by_style: dict[str, list[str]] = {}
    for message in messages(sources):
        style = STYLE.search(message)
        by_style.setdefault(style.group() if style else "", []).append(message)
    for style, texts in sorted(by_style.items(), key=lambda item: (not item[0], item[0])):
        yield f"## {style or 'Others'}\n"
        yield from (f"- `{text}`" for text in texts)
        yield ""
