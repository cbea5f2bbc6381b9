"""Pictures of hard particles: axes, types, means with bands, and colors for the color-blind."""

from __future__ import annotations

import numpy as np
import pictures
import pytest

pytest.importorskip("matplotlib")
from manymove import Estimate
from manymove.hard_particles import plots

BOX = (6.0, 6.0, 6.0)
# Severe deficiency in linear RGB: Machado, Oliveira and Fernandes, IEEE TVCG 15, 1291 (2009).
SEEN = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


@pytest.fixture
def drawn(monkeypatch):
    """The figures and axes of all pictures that are drawn."""
    return pictures.watch(plots, monkeypatch)


def points(N: int, dimensions: int = 3) -> np.ndarray:
    return np.random.default_rng(1).uniform(-3, 3, (N, dimensions))


def test_a_mixture_has_a_legend_of_its_types(drawn, tmp_path):
    """Types of one diameter, which contacts that are not additive allow, are told apart."""
    types = np.arange(300) % 3
    diameters = np.array([1.0, 1.0, 1.4])[types]
    plots.slice_of(tmp_path / "a.png", points(300), BOX, diameters, types)
    axes = drawn[0][1]
    assert axes.get_legend_handles_labels()[1] == ["1, 0.333", "1, 0.333", "1.4, 0.333"]
    assert axes.get_legend().get_title().get_text() == "diameter, fraction"
    (disks,) = axes.collections
    assert len(np.unique(disks.get_facecolor(), axis=0)) == 3
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y") and len(axes.get_xticks()) > 2


def test_many_diameters_have_a_color_bar(drawn, tmp_path):
    plots.slice_of(tmp_path / "a.png", points(50, 2), BOX[:2], np.linspace(0.5, 1, 50))
    figure, axes = drawn[0]
    assert axes.get_legend() is None
    assert [other.get_ylabel() for other in figure.axes[1:]] == ["diameter"]


def test_equal_spheres_need_no_legend(drawn, tmp_path):
    plots.slice_of(tmp_path / "a.png", points(50), BOX, np.ones(50))
    figure, axes = drawn[0]
    assert axes.get_legend() is None and len(figure.axes) == 1
    assert axes.get_title() == "50 hard spheres, cut at z = 0"


def test_records_have_their_mean_and_its_error(drawn, tmp_path):
    rng = np.random.default_rng(1)
    series = [(np.arange(200.0), rng.normal(9, 0.5, 200)) for _ in range(3)]
    estimate = Estimate(9.0, 0.02)
    plots.records_against_sweeps(tmp_path / "a.png", series, estimate, "", "P", Estimate(9.1, 0.01))
    axes = drawn[0][1]
    assert axes.get_legend_handles_labels()[1] == [
        "records", "running mean", "standard error", "mean 9.00(2)", "literature 9.10(1)"
    ]  # fmt: skip
    (band,) = axes.patches
    assert (band.get_y(), band.get_height()) == pytest.approx((8.98, 0.04))
    assert len(axes.get_lines()) == 2 * 3 + 2


def lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b* (D65), in which a distance of 2.3 is just noticeable."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.clip(linear, 0, 1) @ np.transpose(to_xyz) / (0.9505, 1.0, 1.089)
    x, y, z = np.moveaxis(np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 4 / 29), -1, 0)
    return np.stack((116 * y - 16, 500 * (x - y), 200 * (y - z)), axis=-1)


@pytest.mark.parametrize("eye", SEEN)
def test_the_color_blind_tell_the_phases_apart(eye):
    """Any two of eight phases, and steps of about equal size around the wheel. The hues of HSV
    have pairs at 3 and 5 for the color-blind, and steps in a ratio of 7 to 35."""
    phases = np.exp(2j * np.pi * np.arange(8) / 8)
    rgb = plots._psi6_colors(phases)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = lab(linear @ np.transpose(SEEN[eye]))
    distances = np.linalg.norm(seen[:, None] - seen, axis=-1)
    assert distances[~np.eye(8, dtype=bool)].min() > 20
    steps = np.linalg.norm(seen - np.roll(seen, 1, axis=0), axis=-1)
    assert steps.max() / steps.min() < 2


def test_disorder_is_gray():
    assert np.ptp(plots._psi6_colors(np.array([0j]))) < 0.01
