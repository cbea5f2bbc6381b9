"""Tables whose first column is "members": each name is a link to its description on the page."""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", link)
    return {"parallel_read_safe": True}


def link(app: Sphinx, page: nodes.document) -> None:
    described = {
        anchor.rpartition(".")[2]: anchor
        for signature in page.findall(addnodes.desc_signature)
        for anchor in signature["ids"]
    }
    for table in page.findall(nodes.table):
        if next(table.findall(nodes.entry)).astext() != "members":
            continue
        for name in list(table.findall(nodes.literal)):
            anchor = described.get(name.astext())
            if anchor is not None:
                reference = nodes.reference("", "", name.deepcopy(), refid=anchor, internal=True)
                name.replace_self(reference)
