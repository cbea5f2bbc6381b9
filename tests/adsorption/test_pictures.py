"""The picture of the energy of adsorbates."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from manymove.adsorption import plots

SUMMARY = {
    "energy_K": 100.0, "energy_error_K": 2.0, "energy_wrmc_K": 100.0, "molecules": [2],
    "adsorbates": ["CH4"], "fugacity_bar": None, "framework": "LTA", "temperature_K": 300.0,
}  # fmt: skip


def test_neither_of_two_equal_series_is_hidden(tmp_path, monkeypatch):
    """Waste-recycled energies are rings, in which the points of the plain ones are seen."""
    drawn = []
    original = plots.new_figure
    monkeypatch.setattr(plots, "new_figure", lambda *s: drawn.append(original(*s)) or drawn[-1])
    steps = np.arange(50.0)
    values = np.random.default_rng(1).normal(100, 5, 50)
    plots.energy(tmp_path / "a.png", np.column_stack((steps, values, values)), SUMMARY)
    axes = drawn[0][1]
    rings, points, *_ = axes.get_lines()
    assert rings.get_markerfacecolor() == "none"
    assert rings.get_markersize() > points.get_markersize()
    assert axes.get_legend_handles_labels()[1] == [
        "records, waste-recycled", "records", "running mean", "standard error", "mean 100(2) K"
    ]  # fmt: skip
