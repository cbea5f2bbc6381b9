# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of electrolytes: labels with units, the state in the title, g(r) up to its error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pictures
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


@pytest.fixture
def drawn(monkeypatch):
    """The figures and axes of all pictures that are drawn."""
    return pictures.watch(plots, monkeypatch)


def test_the_contact_peak_is_shown_with_its_error(drawn, tmp_path):
    """Ten pairs in a bin in which 0.2 are expected; one pair in another bin is no peak."""
    found = measured(100)
    counts, ideal = found.counts.copy(), found.ideal.copy()
    counts[1, 16], ideal[1, 16] = 10, 0.2
    counts[0, 17], ideal[0, 17] = 1, 0.001
    plots.pair_correlations(
        tmp_path / "g.png", replace(found, counts=counts, ideal=ideal, g=counts / ideal), ""
    )
    ((_, axes),) = drawn
    line = axes.get_lines()[1]
    assert line.get_ydata()[16] == 50
    assert 50 + 50 / np.sqrt(10) < axes.get_ylim()[1] < 100
    bands = [band.get_paths()[0].vertices for band in axes.collections]
    assert len(bands) == 3
    assert bands[1][:, 1].max() == pytest.approx(50 + 50 / np.sqrt(10))


def test_the_energy_has_its_mean_and_error(drawn, tmp_path):
    energies = [np.random.default_rng(k).normal(size=100) for k in range(2)]
    plots.energy(tmp_path / "a.png", energies, "", (0.01, 0.07))
    labels = drawn[0][1].get_legend_handles_labels()[1]
    assert labels == ["records", "running mean", "standard error", "mean 0.01(7) kT"]
    (band,) = drawn[0][1].patches
    assert band.get_extents().bounds  # drawn
    assert (band.get_y(), band.get_height()) == pytest.approx((-0.06, 0.14))


def test_the_correlation_of_replicas_has_an_error(drawn, tmp_path):
    energies = [np.random.default_rng(k).normal(size=100) for k in range(3)]
    plots.autocorrelation(tmp_path / "a.png", energies, "")
    plots.autocorrelation(tmp_path / "b.png", energies[:1], "")
    assert [len(axes.collections) for _, axes in drawn] == [1, 0]


def test_labels_have_units_and_the_title_has_the_state(drawn, tmp_path):
    energies = [np.random.default_rng(SEED).normal(size=100)]
    plots.energy(tmp_path / "a.png", energies, "512 ions")
    plots.autocorrelation(tmp_path / "b.png", energies, "512 ions")
    plots.pair_correlations(tmp_path / "c.png", measured(100), "512 ions")
    units = {"energy per ion (kT)", "lag n (sweeps)", "distance r (Å)"}
    assert units <= {text for _, axes in drawn for text in (axes.get_xlabel(), axes.get_ylabel())}
    assert all(axes.get_title() == "512 ions" for _, axes in drawn)
    assert drawn[2][1].get_xlim()[1] < 60  # of 100 angstrom
