# SPDX-License-Identifier: BSD-3-Clause
"""What `HardDisks`, `Electrolyte` and `Adsorption` have in common, by one body for all three."""

from __future__ import annotations

import copy
import math
import pickle
import sys

import numpy as np
import pytest
from flat_settings import of_adsorption

from manymove import (
    Adsorbate,
    Adsorption,
    Electrolyte,
    Estimate,
    Framework,
    HardDisks,
    Ions,
    Salt,
    Sphere,
    random_packing,
)
from manymove.analysis import autocorrelation_time, estimate
from manymove.arguments import positions as converted

CPU = {"seed": 1, "device": "cpu", "threads": 1}
CELL = Framework("small", (9.0, 9.0, 9.0), np.array([[0.1, 0.2, 0.3]]), ("O",), 16.0)
ARGON = Adsorbate("Ar", epsilon=120.0, sigma=3.0, framework={"O": (160.0, 2.6)})
COARSE = {"adsorbates": ARGON, "cutoff": 4.0, "systems": 8, "grid_spacing": 0.5, "barrier": None}


def disks():
    return HardDisks.random(64, 0.5, **CPU)


def ions():
    salt = Salt.of(64, (1, -1), (4.0, 4.0))
    return Electrolyte.random(salt, box=(50.0, 50.0, 60.0), **CPU)


def gas(**options):
    return Adsorption.random(
        **of_adsorption(
            framework=CELL, molecules=2, **{**COARSE, **CPU, "method": "plj", **options}
        )
    )


def open_gas():
    return gas(fugacity=50.0)


ALL = pytest.mark.parametrize("make", [disks, ions, gas])
COUNTERS = {disks: "cycles", ions: "sweeps", gas: "steps"}


@ALL
def test_elapsed_is_the_counter_of_the_class(make):
    one = make()
    assert one.elapsed == getattr(one, COUNTERS[make]) == 0
    one.run(40)
    assert one.elapsed == getattr(one, COUNTERS[make]) > 0


def test_the_number_of_particles():
    assert (disks().N, ions().N, gas().N) == (64, 64, 8 * 2)
    one = open_gas()
    assert one.N == 16
    one.run(200)
    assert one.N == one.counts.sum() != 16


@ALL
def test_it_shows_what_it_is(make):
    one = make()
    place = {
        disks: f"box = {one.box[0]:.6g} x ",
        ions: "box = 50 x 50 x 60",
        gas: "framework = small",
    }
    text = repr(one)
    assert text.startswith(f"<{type(one).__name__}: N = {one.N}, {place[make]}")
    assert text.endswith(f"{COUNTERS[make]} = 0, device = cpu>")
    one.run(40)
    assert f"{COUNTERS[make]} = {one.elapsed}, " in repr(one)
    table = one._repr_html_()
    assert table.startswith("<table>") and table.endswith("</table>")
    assert f"<th>N</th><td>{one.N}</td>" in table and one.device_name in table


def test_a_spherical_cell_is_shown_by_its_radius():
    one = Electrolyte.random(Salt.of(8, (1, -1), (4.0, 4.0)), box=Sphere(30.0), **CPU)
    assert ", radius = 30, " in repr(one)


@ALL
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused_with_the_remedy(make, duplicate):
    with pytest.raises(TypeError, match=r"cannot be copied or pickled: use save\(\) and load\(\)"):
        duplicate(make())


RUNS = [
    (disks, "run", 100, "cycles"),
    (disks, "run_until", 100, "cycles"),
    (disks, "run_cycles", 10, "cycles"),
    (ions, "run", 20, "sweeps"),
    (gas, "run", 20, "steps"),
    (gas, "equilibrate", 20, "steps"),
    (open_gas, "equilibrate_loading", 100, "steps"),
]


@pytest.mark.parametrize(("make", "method", "length", "unit"), RUNS)
def test_progress_is_shown_and_leaves_no_trace(make, method, length, unit, capsys):
    expected, one, seen = make(), make(), []
    getattr(expected, method)(length)
    assert capsys.readouterr().err == ""
    getattr(one, method)(length, [(1, seen.append)], progress=True)
    bar = capsys.readouterr().err
    total = one.cycles if unit == "cycles" else length
    assert type(one).__name__ in bar and f"{unit}/s" in bar and f"/{total}" in bar
    assert one.state_hash == expected.state_hash
    assert seen and all(each is one for each in seen)


# ---- energies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ions, gas])
def test_energies_are_of_one_kind(make):
    one = make()
    assert type(one.energy) is float
    with pytest.raises(RuntimeError, match="nothing measured yet"):
        _ = one.energy_average
    one.run(200)
    average = one.energy_average
    assert isinstance(average, Estimate)
    assert 0 < average.error < abs(average.value) and float(average) == average.value
    assert type(one.energy_drift()) is float and abs(one.energy_drift()) < 1e-3 * abs(one.energy)


def test_the_average_energy_of_ions_is_over_the_sweeps_and_its_error_by_blocking():
    one = ions()
    one.run(300)
    energies = one.energy_records
    assert one.energy_average == estimate(energies)
    one.reset_averages()
    with pytest.raises(RuntimeError, match="nothing measured yet"):
        _ = one.energy_average
    one.run(1)
    assert one.energy_average.value == pytest.approx(one.energy, rel=1e-12)
    assert math.isnan(one.energy_average.error)


def test_the_energy_of_adsorbates_is_the_mean_over_systems():
    one = gas()
    one.run(50)
    assert one.energy == one.energies.mean()
    assert one.energy_average == one.energy_plain


# ---- positions -----------------------------------------------------------------------------------


def of_disks(positions, box):
    return HardDisks(positions, box, **CPU)


def of_ions(positions, box):
    types = np.arange(len(positions)) % 2
    return Electrolyte(
        positions, ions=Ions(types, Salt.of(2, (1, -1), (4.0, 4.0)).species), box=box, **CPU
    )


def of_gas(positions, box):
    points = np.array(positions).reshape(8, 2, 3) + np.array(box) / 2
    given = points.tolist() if isinstance(positions, list) else points
    if isinstance(positions, np.ndarray) and not positions.flags.c_contiguous:
        given = np.asfortranarray(points)
    return Adsorption(
        **of_adsorption(framework=CELL, molecules=2, positions=given, **COARSE, **CPU)
    )


def points_in(box, spacing):
    """Sixteen points of a square lattice around the origin, exact in float32."""
    line = (np.arange(4) - 1.5) * spacing
    x, y = (each.ravel() for each in np.meshgrid(line, line))
    return np.column_stack((x, y, *([np.full(16, 0.25)] * (len(box) - 2))))


STARTS = [
    pytest.param(of_disks, (12.0, 12.0), 2.0, id="disks"),
    pytest.param(of_ions, (40.0, 40.0, 40.0), 8.0, id="ions"),
    pytest.param(of_gas, (9.0, 9.0, 9.0), 2.0, id="gas"),
]
GIVEN = {
    "list": lambda a: a.tolist(),
    "float32 list": lambda a: list(a.astype(np.float32)),
    "Fortran order": np.asfortranarray,
    "float32, Fortran order": lambda a: np.asfortranarray(a, dtype=np.float32),
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "columns of a wider array": lambda a: np.hstack((a, a))[:, : a.shape[1]],
}


@pytest.mark.parametrize(("make", "box", "spacing"), STARTS)
@pytest.mark.parametrize("given", GIVEN)
def test_positions_of_any_layout_are_the_same(make, box, spacing, given):
    points = points_in(box, spacing)
    assert make(GIVEN[given](points), box).state_hash == make(points, box).state_hash


def test_new_positions_of_ions_may_be_a_list():
    one, other = ions(), ions()
    one.set_positions((0.9 * one.positions).tolist())
    other.set_positions(np.asfortranarray(0.9 * other.positions))
    assert one.state_hash == other.state_hash != ions().state_hash


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_contiguous_arrays_are_not_copied(dtype):
    points = np.zeros((16, 2), dtype)
    assert converted(points) is points
    view = memoryview(points)
    assert converted(view) is view


@pytest.mark.parametrize("bad", [[[0.0, 0.0], [1.0]], [["a", "b"]], [{}, {}]])
def test_lists_of_anything_but_points_are_refused(bad):
    with pytest.raises(ValueError, match="positions must be a list of points"):
        of_disks(bad, (12.0, 12.0))


@pytest.mark.parametrize(("make", "box", "spacing"), STARTS[:2])
def test_coordinates_from_0_to_the_edge_are_refused_with_the_remedy(make, box, spacing):
    points, half = points_in(box, spacing), np.array(box) / 2
    with pytest.raises(ValueError, match=r"outside the box.*: subtract box / 2$"):
        make(points + half, box)
    assert make(points + half - half, box).state_hash == make(points, box).state_hash
    points[3, 0] = box[0]  # some are outside, but not for this reason
    with pytest.raises(ValueError, match=r"3 is outside the box: x = [\d.]+, .*edge is.* [\d.]+$"):
        make(points, box)


# ---- starts --------------------------------------------------------------------------------------


def test_random_disks_are_a_random_packing():
    positions, box = random_packing(64, 0.6, seed=3, diameter=0.5, aspect_ratios=(1.0, 2.0))
    settings = {"max_displacement": 0.05, "device": "cpu", "threads": 1}
    one = HardDisks.random(64, 0.6, seed=3, diameter=0.5, aspect_ratios=(1.0, 2.0), **settings)
    assert (one.box, one.diameter, one.seed) == (box, 0.5, 3)
    assert one.packing_fraction == pytest.approx(0.6, rel=1e-12)
    assert one.state_hash == HardDisks(positions, box, 0.5, seed=3, **settings).state_hash


def test_random_adsorbates_are_those_without_positions():
    options = {**COARSE, **CPU}
    assert (
        Adsorption.random(**of_adsorption(framework=CELL, molecules=2, **options)).state_hash
        == Adsorption(**of_adsorption(framework=CELL, molecules=2, **options)).state_hash
    )
    with pytest.raises(TypeError, match="positions"):  # the former name
        Adsorption.random(CELL, 2, positions=np.zeros((8, 2, 3)), seed=1)


# ---- autocorrelation -----------------------------------------------------------------------------


@pytest.mark.parametrize("every_lag", [False, True])
@pytest.mark.parametrize("size", [10, 12, 100, 5000])
@pytest.mark.parametrize("memory", [-0.5, 0.0, 0.9])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_autocorrelation_times_are_those_of_pymbar(every_lag, size, memory, kind):
    timeseries = pytest.importorskip("pymbar.timeseries")
    random = np.random.default_rng(5)
    parts = random.normal(3.0, size=(1 if kind == "real" else 2, size))
    for k in range(1, size):
        parts[:, k] += memory * parts[:, k - 1]
    series = parts[0] if kind == "real" else parts[0] + 1j * parts[1]
    g = timeseries.statistical_inefficiency_multiple(list(parts), fast=not every_lag)
    found = autocorrelation_time(series, 2.0, every_lag=every_lag)
    assert found == pytest.approx(g - 1, rel=1e-9, abs=1e-12)


def test_tuning_needs_no_other_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymbar", None)
    one = disks()
    best, *others = one.tune([0.1, 0.2], [4], sweeps=200)
    assert len(others) == 1 and best.autocorrelation_sweeps > 0
    assert one.max_displacement == best.max_displacement
