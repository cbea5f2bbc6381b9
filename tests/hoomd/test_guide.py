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


def test_an_updater_runs_in_a_simulation_with_an_integrator_of_hpmc(capsys):
    pytest.importorskip("hoomd.hpmc", reason="HOOMD-blue without HPMC")
    (script,) = (
        block.text
        for block in blocks(ROOT / "docs/guides/from_hpmc.md")
        if block.language == "python" and "HardDisksUpdater" in block.text
    )
    found = {}
    exec(script, found)
    assert found["mc"].translate_moves[0] > 0 and found["mc"].overlaps == 0
    assert sum(found["disks"].translate_moves) > 0
    both = []
    for _ in range(60):
        found["simulation"].run(10)
        both.append((found["sdf"].betaP, found["disks"].betaP))
    theirs, ours = zip(*both, strict=True)
    assert sum(theirs) == pytest.approx(sum(ours), rel=0.1)
    assert len(capsys.readouterr().out.split()) == 5


def test_the_script_with_insertions_runs(capsys):
    pytest.importorskip("hoomd.manymove")
    hoomd_spheres = pytest.importorskip("hoomd_spheres")
    scripts = [
        block.text
        for block in blocks(ROOT / "docs/guides/from_hpmc.md")
        if block.language == "python" and ("scale_solver" in block.text or "MuVT" in block.text)
    ]
    simulation = hoomd_spheres.simulation_of(hoomd_spheres.lattice(3, 6, 1.5))
    found = {"hoomd": hoomd_spheres.hoomd, "simulation": simulation}
    for script in scripts:
        exec(script.replace("run(1000)", "run(10)"), found)
    assert len(scripts) == 2 and len(found["logger"].log()["manymove"]) == 2
    assert int(capsys.readouterr().out) == simulation.state.N_particles != 216
