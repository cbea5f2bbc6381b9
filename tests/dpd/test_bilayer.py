"""The bilayer example: its start, its input script, and what it makes of tensions and heights."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
from documents import ROOT, module_of
from lammps_host import needs_lammps

HERE = ROOT / "examples" / "bilayer"
if not HERE.exists():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)


@pytest.fixture
def bilayer(monkeypatch):
    """The module of the example."""
    pytest.importorskip("matplotlib")
    return module_of(HERE / "bilayer.py", monkeypatch)


def test_the_start_is_two_leaflets_of_heads_and_tails(bilayer):
    positions, lipids = bilayer.start(8.0, 14.0, 1.25, 1)
    assert lipids == round(64 / 1.25)
    assert len(positions) == (3 * 64 * 14)
    upper, lower = positions[: 2 * lipids * bilayer.BEADS].reshape(2, lipids, bilayer.BEADS, 3)
    assert (upper[..., 2] > 7).all() and (lower[..., 2] < 7).all()
    assert upper[:, :3, 2].min() > upper[:, 3:, 2].max()
    for first, second in bilayer.BONDS:
        distance = np.linalg.norm(upper[:, first] - upper[:, second], axis=1)
        assert (distance < 0.7).all()
    # Each tail is straight, and begins at a head of its own.
    assert bilayer.BONDS[2] == (1, 3) and bilayer.BONDS[6] == (2, 7)
    assert bilayer.ANGLES[:3] == [(1, 3, 4), (3, 4, 5), (4, 5, 6)]
    assert len(bilayer.BONDS) == 10 and len(bilayer.ANGLES) == 6
    water = positions[2 * lipids * bilayer.BEADS :]
    assert (np.abs(water[:, 2] - 7) > 2).all()


def options(tmp_path, style="manymove/dpd"):
    return argparse.Namespace(
        output=tmp_path, height=12.0, seed=3, settle=100, ranks=1, style=style
    )


@needs_lammps
@pytest.mark.pictures
def test_a_short_run(bilayer, tmp_path):
    result = bilayer.run(options(tmp_path), 1.25, 6.0, 4, 1600)
    assert result["lipids"] == 2 * round(36 / 1.25)
    assert result["temperature"][0] == pytest.approx(1, abs=0.1)
    assert 3 < result["thickness"] < 5
    assert "the particles are on" in (tmp_path / "spectrum_1.25.log").read_text()
    table = bilayer.stress(tmp_path / "spectrum_1.25.log")
    assert table.shape == (6, 6)
    assert (table[:, 3:] > 5).all()
    report = {"runs": [result], "line": None, "large": None}
    figure = bilayer.draw(report, tmp_path / "bilayer.dump")
    assert len(figure.axes) == 3
    assert len(figure.axes[0].collections[0].get_offsets()) > 100


@needs_lammps
def test_the_script_runs_with_the_style_of_lammps(bilayer, tmp_path):
    result = bilayer.run(options(tmp_path, "dpd"), 1.25, 5.0, 0, 100)
    log = (tmp_path / "area_1.25.log").read_text()
    assert "pair dpd, perpetual" in log and "manymove/dpd" not in log.split("read_data")[1]
    assert result["temperature"][0] == pytest.approx(1, abs=0.1)


def test_the_spectrum_of_a_known_membrane(bilayer):
    edge, bins, frames, tension, rigidity = 30.0, 12, 4000, 0.4, 5.0
    rng = np.random.default_rng(5)
    q = 2 * np.pi * np.fft.fftfreq(bins, edge / bins)
    squared = np.add.outer(q**2, q**2)
    squared[0, 0] = 1
    damping = np.outer(np.sinc(q * edge / bins / 2 / np.pi), np.sinc(q * edge / bins / 2 / np.pi))
    amplitude = damping / edge / np.sqrt(tension * squared + rigidity * squared**2)
    amplitude[0, 0] = 0
    # White noise has modes of variance 1 / bins^2.
    modes = np.fft.fft2(rng.normal(size=(frames, bins, bins))) / bins * amplitude
    field = np.fft.ifft2(modes * bins**2).real
    found = bilayer.spectrum(field, edge)
    assert found["tension"] == pytest.approx(tension, abs=4 * found["tension_error"])
    assert found["rigidity"] == pytest.approx(rigidity, abs=4 * found["rigidity_error"])
    assert found["rigidity_error"] < 0.5


def test_a_line_through_tensions(bilayer):
    runs = [{"area": a, "tension": 20 * (a / 1.25 - 1), "tension_error": 0.1} for a in (1.2, 1.3)]
    found = bilayer.line(runs)
    assert found["free_area"] == pytest.approx(1.25)
    assert found["modulus"] == pytest.approx(20)
    assert found["modulus_error"] == pytest.approx(0.1 * np.sqrt(1.2**2 + 1.3**2) / 0.1, rel=0.2)
