# SPDX-License-Identifier: BSD-3-Clause
"""The scripts of the guide to HOOMD-blue can be run again in the same folder."""

import pytest
from documents import ROOT, blocks

pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
SCRIPTS = [
    block.text
    for block in blocks(ROOT / "docs/guides/hoomd_scripts.md")
    if block.language == "python" and "gsd" in block.text
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_that_writes_files_runs_twice(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert SCRIPTS and "run(500)" in script
    for _ in range(2):
        exec(script.replace("simulation.run(500)", "simulation.run(2)"), {})
