# SPDX-License-Identifier: BSD-3-Clause
"""The structure of the Python package: imports point one way, and old names still work."""

from __future__ import annotations

import ast
import importlib
import sys
from graphlib import CycleError, TopologicalSorter

import pytest
from documents import ROOT
from processes import run

from manymove import _renamed

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


@pytest.mark.parametrize("old", sorted(_renamed.MODULES))
def test_an_old_module_is_the_new_one(old):
    sys.modules.pop(old, None)
    with pytest.warns(
        DeprecationWarning, match=f"^{old} has been renamed to {_renamed.MODULES[old]};"
    ):
        found = importlib.import_module(old)
    assert found is importlib.import_module(_renamed.MODULES[old])


@pytest.mark.parametrize(
    "line", ["from manymove.packing import random_packing", "import manymove.packing",
             "from manymove import packing", "manymove.packing.random_packing"]
)  # fmt: skip
def test_a_script_is_warned_of_its_own_lines(line):
    """Without further options, Python shows such warnings only of the script itself."""
    done = run([sys.executable, "-c", f"import manymove\n{line}"])
    assert done.returncode == 0, done.stderr
    warning = "<string>:2: DeprecationWarning: manymove.packing has been renamed to"
    assert warning in done.stderr
