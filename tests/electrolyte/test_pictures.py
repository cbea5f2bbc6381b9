# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of electrolytes: labels with units, the state in the title, g(r) up to its error."""

from __future__ import annotations

import numpy as np
import pytest

from manymove.analysis.pair_correlations import PairCorrelations

pytest.importorskip("matplotlib")
from manymove.electrolyte import plots

DECAY, WIDTH, SEED = 10.0, 0.25, 1


def measured(pairs_per_bin: float) -> PairCorrelations:
    """Noisy counts for g = 0 in the core, and 1 plus or minus an exponential beyond."""
    r = (np.arange(400) + 0.5) * WIDTH
    tail = np.where(r < 4, -1.0, np.exp(-r / DECAY))
    exact = np.array([1 - np.abs(tail), 1 + tail, 1 - np.abs(tail)])
    ideal = np.broadcast_to(pairs_per_bin * (r / 50) ** 2, exact.shape)
    counts = np.random.default_rng(SEED).poisson(exact * ideal).astype(np.uint64)
    return PairCorrelations(
        r=r, g=counts / ideal, pairs=[(0, 0), (0, 1), (1, 1)], counts=counts, ideal=ideal,
        densities=np.full(2, 1e-4), interior=np.full(2, 1e4), valences=(1, -1),
        blocks=np.empty((0, 3, 400)),
    )  # fmt: skip


def test_g_ends_where_its_error_reaches_its_signal():
    """Eight bins with n pairs each have an error of 1 / sqrt(8 n), which the exponential reaches at
    about 10 ln(sqrt(8 n)) angstrom."""
    ends = []
    for pairs in (100, 10_000):
        found = measured(pairs)
        ends.append(found.r[plots.signal_end(found) - 1])
        assert 0.6 < ends[-1] / (DECAY * np.log(np.sqrt(8 * pairs))) < 1.3
    assert ends[0] < ends[1]


def test_labels_have_units_and_the_title_has_the_state(tmp_path, monkeypatch):
    drawn = []
    original = plots.new_figure

    def new_figure(*size):
        figure, axes = original(*size)
        drawn.append(axes)
        return figure, axes

    monkeypatch.setattr(plots, "new_figure", new_figure)
    energies = [np.random.default_rng(SEED).normal(size=100)]
    plots.energy(tmp_path / "a.png", energies, "512 ions")
    plots.autocorrelation(tmp_path / "b.png", energies, "512 ions")
    plots.pair_correlations(tmp_path / "c.png", measured(100), "512 ions")
    units = {"energy per ion (kT)", "lag n (sweeps)", "distance r (Å)"}
    assert units <= {text for axes in drawn for text in (axes.get_xlabel(), axes.get_ylabel())}
    assert all(axes.get_title() == "512 ions" for axes in drawn)
    assert drawn[2].get_xlim()[1] < 60  # of 100 angstrom
