# SPDX-License-Identifier: BSD-3-Clause
"""The structure of the Python package: imports point one way, and old names still work."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter

import pytest
from documents import ROOT

PACKAGE = ROOT / "plugins" / "manymove"
COMPILED = "manymove._core"


def modules():
    return {
        ".".join(("manymove", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
    }


def imports(name, path, known):
    """The modules of the package that a file names in imports, wherever these stand in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found = {part if part in known else node.module for part in parts - {COMPILED}}
        elif isinstance(node, ast.Import):
            found = {alias.name for alias in node.names}
        else:
            continue
        for module in found & known:
            yield module
            # Importing a module runs the packages that it is in; those around us run already.
            while "." in module:
                module = module.rpartition(".")[0]
                if not f"{name}.".startswith(f"{module}."):
                    yield module


def test_no_modules_import_each_other():
    files = modules()
    graph = {name: set(imports(name, path, files.keys())) for name, path in files.items()}
    assert len(graph) > 50 and graph["manymove.hard_particles.simulation"]
    try:
        TopologicalSorter({name: found - {name} for name, found in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))
