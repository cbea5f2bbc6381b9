"""Jupyter notebooks as pages: the cells and their stored outputs become Markdown for MyST."""

from __future__ import annotations

import json
from collections.abc import Iterator

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True}


class NotebookParser(MystParser):
    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        super().parse("\n\n".join(parts(json.loads(inputstring))), document)


def parts(notebook: dict) -> Iterator[str]:
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
            continue
        yield f"```python\n{source}\n```"
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                yield f"![picture](data:image/png;base64,{''.join(data['image/png']).strip()})"
            elif text := "".join(output.get("text", data.get("text/plain", ""))).rstrip():
                yield f"```text\n{text}\n```"
