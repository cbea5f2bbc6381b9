"""Tables whose first column is "members": each row becomes a group with a line for each member, a
link to its description on the page and the first sentence of it. Members that no row names come
last."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

SENTENCE = re.compile(r"(.*?)(?:(?<!Eq)[.;:](?:\s|$)|$)", re.DOTALL)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", group)
    return {"parallel_read_safe": True}


def group(app: Sphinx, page: nodes.document) -> None:
    described = {
        anchor.rpartition(".")[2]: (anchor, purpose(description))
        for description in page.findall(addnodes.desc)
        if description["objtype"] != "class"
        for signature in description.findall(addnodes.desc_signature)
        for anchor in signature["ids"]
    }
    for table in page.findall(nodes.table):
        if next(table.findall(nodes.entry)).astext() != "members":
            continue
        table["classes"].append("members")
        (body,) = table.findall(nodes.tbody)
        groups = {}
        for row in list(body):
            names, title = row
            groups[title.astext()] = [name.astext() for name in names.findall(nodes.literal)]
        named = {name for names in groups.values() for name in names}
        groups["further members"] = [name for name in described if name not in named]
        body.clear()
        for title, names in groups.items():
            if not names:
                continue
            body += nodes.row("", nodes.entry("", text(nodes.strong("", title)), morecols=1))
            body += [line(name, *described[name]) for name in names]


def purpose(description: addnodes.desc) -> str:
    """The first sentence of a description."""
    first = next(description.findall(nodes.paragraph), None)
    return SENTENCE.match(first.astext())[1] if first is not None else ""


def line(name: str, anchor: str, purpose: str) -> nodes.row:
    link = nodes.reference("", "", nodes.literal("", name), refid=anchor, internal=True)
    return nodes.row("", nodes.entry("", text(link)), nodes.entry("", text(nodes.Text(purpose))))


def text(content: nodes.Node) -> nodes.paragraph:
    return nodes.paragraph("", "", content)
