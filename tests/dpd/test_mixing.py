"""The example of two liquids that do not mix: its input script, what it reads, and its formula."""

from __future__ import annotations

import numpy as np
import pytest
from documents import ROOT, module_of
from lammps_host import needs_lammps, run_lammps

HERE = ROOT / "examples" / "mixing"
if not HERE.exists():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)


@pytest.fixture
def mixing(monkeypatch):
    """The module of the example."""
    pytest.importorskip("matplotlib")
    return module_of(HERE / "mixing.py", monkeypatch)


@needs_lammps
@pytest.mark.pictures
def test_a_short_run(mixing, tmp_path):
    script = (HERE / "in.mixing").read_text()
    for name, value in (("settle", 300), ("steps", 800), ("blocks", 4), ("more", 9.0)):
        script = f"variable {name} index {value}\n" + script
    run = run_lammps(script, tmp_path)
    assert "the particles are on" in run.output
    result = mixing.evaluate(run.directory / "profile")
    assert len(result["z"]) == 40
    both = np.array(result["both"])
    assert both.mean() == pytest.approx(3.0, rel=1e-5)
    assert both[[0, 19, 20, 39]].mean() < 2.95 < 3.0 < result["density"] < 3.1  # interfaces
    x = result["fraction"]
    assert 0 < x < 0.15
    assert result["chi"] * result["density"] / 3 == pytest.approx(np.log(1 / x - 1) / (1 - 2 * x))
    assert result["chi_error"] > 0
    figure = mixing.draw({"more": [9.0], "runs": [result]}, run.directory / "profile.dump")
    assert len(figure.axes) == 3


def test_fractions_of_known_profiles(mixing):
    z = np.arange(0.25, 20, 0.5)
    first = np.where(z < 10, 2.7, 0.3) * np.ones((3, 1))
    x, density = mixing.in_the_middle(z, first, np.full((3, 40), 3.0))
    np.testing.assert_allclose(x, 0.1)
    np.testing.assert_allclose(density, 3.0)
    assert mixing.parameter(0.1) == pytest.approx(np.log(9) / 0.8)
