# SPDX-License-Identifier: BSD-3-Clause
"""The notebooks run, agree with the literature by their own checks, and print what they show."""

from __future__ import annotations

import ast
import importlib
import json

import pytest
from documents import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def printed(cells):
    """The text below each cell that prints one; pictures are left out. The kernel cuts a text in
    pieces as it likes."""
    texts = (
        "".join(
            "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))
            for output in cell["outputs"]
            if "image/png" not in output.get("data", {})
        )
        for cell in cells
        if cell["cell_type"] == "code"
    )
    return [*filter(None, texts)]


@EACH
def test_a_notebook_prints_the_numbers_that_it_shows(path, tmp_path):
    """Cells with `assert` compare with published numbers. All digits are the same on all CPUs."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for module in ("ipykernel", "matplotlib", "freud", "pandas", "gemmi"):
        pytest.importorskip(module)
    notebook = nbformat.read(path, 4)
    shown = printed(notebook.cells)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()
    assert printed(notebook.cells) == shown and len(shown) >= 3


@EACH
def test_notebooks_use_public_names(path):
    cells = json.loads(path.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    imports = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module.startswith("manymove")]
    assert ours
    for node in ours:
        public = importlib.import_module(node.module).__all__
        assert {name.name for name in node.names} <= set(public)
    assert "._" not in code
    assert "assert " in code
