"""hoomd.manymove.DPD beside the engine in LAMMPS, and its guide."""

import pytest
from documents import ROOT, blocks

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytest.importorskip("hoomd.manymove.dpd", reason="the component is not installed")


def test_the_script_of_the_guide_runs(capsys):
    (script,) = (
        block.text
        for block in blocks(ROOT / "docs/guides/from_md_pair_dpd.md")
        if block.language == "python"
    )
    found = {}
    exec(script, found)
    assert found["dpd"].kinetic_temperature == pytest.approx(1.0, abs=0.15)
    assert found["simulation"].timestep == 500
    printed = capsys.readouterr().out.splitlines()[-1]
    assert float(printed.split()[0]) == found["dpd"].kinetic_temperature


@pytest.mark.parametrize("word", ["params", "r_cut", "buffer", "exclusions", "filter", "forces"])
def test_the_guide_names_the_settings_that_exist(word):
    text = (ROOT / "docs/guides/from_md_pair_dpd.md").read_text()
    dpd = hoomd.manymove.DPD(0.01, 1.0)
    assert f"{word}" in text and hasattr(dpd, word)
