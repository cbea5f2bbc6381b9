"""Pores, Henry coefficients and ideal adsorbed solutions: functions and commands.

Comparisons of numbers with errors are at five standard errors (see `agrees`). Seeds are fixed, so
that a test that passes once always passes; the rates of false alarms hold for other seeds.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from adsorption_model import agrees, small_framework

from manymove import Adsorption, EnergyGrid, Interactions, _core, cli
from manymove.adsorption import (
    CH4,
    ETHANE,
    HELIUM,
    TRAPPE_ZEO,
    Framework,
    helium_void_fraction,
    pore_volume,
    pores,
    read_framework,
    surface_area,
)
from manymove.adsorption.gas import AVOGADRO, GAS_CONSTANT
from manymove.analysis.notation import Estimate

# ---- pores ---------------------------------------------------------------------------------------


def test_helium_fills_an_empty_box():
    fraction = helium_void_fraction((30, 30, 30), insertions=10, device="cpu")
    assert fraction == Estimate(1.0, 0.0)


def test_helium_void_fraction_is_the_mean_boltzmann_factor(device):
    """Against a sum over a lattice of places, which is converged to 1e-4."""
    field = dict(parameters={"O": (300.0, 3.0), "Si": None}, potential="truncated")
    from manymove.adsorption import ForceField

    field = ForceField(**field)
    frame = small_framework()
    found = helium_void_fraction(
        frame, field, cutoff=4.0, insertions=4000, barrier=None, grid_spacing=0.2, device=device
    )
    helium = Adsorption(
        frame,
        1,
        adsorbates=HELIUM,
        interactions=Interactions(cutoff=4.0, force_field=field, grid=EnergyGrid(barrier=None)),
        temperature=298.15,
        systems=1,
        method="plj",
        seed=1,
        device="cpu",
    )
    u = (np.arange(60) + 0.5) / 60
    places = np.stack(np.meshgrid(u, u, u, indexing="ij"), -1).reshape(-1, 3) * helium.box
    energies = helium._engine.framework_energies(np.ascontiguousarray(places), 0, True)
    exact = np.exp(-energies / 298.15).mean()
    assert 0.2 < exact < 1.5 and found.error < 0.01 * exact
    assert agrees(found.value, found.error, exact, 1e-3 * exact)
    assert pore_volume(frame, 0.5).value == pytest.approx(0.5 * 765e-24 * AVOGADRO / 92.0)


def cubic(edge: float) -> Framework:
    return Framework("cubic", (edge,) * 3, np.array([[0.1, 0.2, 0.3]]), ("O",), 16.0)


def test_surface_of_spheres_that_do_not_meet():
    area = surface_area(cubic(10.0), {"O": 4.0}, probe=3.0, samples=10)
    assert area.per_cell.value == pytest.approx(4 * math.pi * 3.5**2) and area.per_cell.error == 0
    assert area.per_volume.value == pytest.approx(area.per_cell.value / 1000 * 1e4)
    assert area.per_mass.value == pytest.approx(area.per_cell.value * 1e-20 * AVOGADRO / 16.0)


@pytest.mark.parametrize("edges", [(6.0, 6.0, 6.0), (12.0, 6.0, 6.0)])
def test_surface_of_spheres_that_overlap(edges):
    """Each of six neighbors cuts off a cap of the height r - a / 2."""
    doubled = edges[0] == 12.0
    fractional = np.array([[0.1, 0.2, 0.3], [0.6, 0.2, 0.3]][: 1 + doubled])
    framework = Framework("cubic", edges, fractional, ("O", "O")[: 1 + doubled], 16.0)
    r = 3.5
    exact = (4 * math.pi * r**2 - 6 * 2 * math.pi * r * (r - 3.0)) * (1 + doubled)
    area = surface_area(framework, {"O": 4.0}, probe=3.0, samples=20000, seed=3).per_cell
    assert 0 < area.error < 0.01 * exact and agrees(area.value, area.error, exact)


@pytest.mark.parametrize("probe", [10.0, 368.0, 1e9])
def test_a_probe_that_fits_nowhere_has_no_surface(probe):
    """Also one in picometers, whose spheres would have billions of neighbors."""
    assert surface_area(cubic(6.0), {"O": 4.0}, probe=probe, samples=10).per_cell.value == 0


def test_surface_in_a_skewed_cell_is_that_of_the_crystal():
    """A cubic crystal in a cell with the edges a, b + a and c."""
    skewed = Framework("skewed", (6.0,) * 3, np.array([[0.1, 0.2, 0.3]]), ("O",), 16.0,
                       tilt=(6.0, 0.0, 0.0))  # fmt: skip
    one, other = (
        surface_area(f, {"O": 4.0}, probe=3.0, samples=500, seed=3) for f in (skewed, cubic(6.0))
    )
    assert one.per_cell.value == pytest.approx(other.per_cell.value)


def test_cells_of_a_framework_do_not_change_its_surface(monkeypatch):
    """Atoms in many cells, and all in one, where each atom meets each other atom."""
    random = np.random.default_rng(8)
    frame = Framework("random", (30.0, 35.0, 40.0), random.uniform(-1, 1, (60, 3)), ("O",) * 60,
                      960.0, tilt=(6.0, -3.0, 4.0))  # fmt: skip
    whole = surface_area(frame, {"O": 5.0}, probe=2.0, samples=200, seed=5)
    assert 0.5 < whole.per_cell.value / (60 * math.pi * 7.0**2) < 0.95
    monkeypatch.setattr(pores, "_cells_of", lambda *_: [(np.arange(60), np.arange(0))])
    assert surface_area(frame, {"O": 5.0}, probe=2.0, samples=200, seed=5) == whole


@pytest.mark.parametrize("at_once", [1, 2000])
def test_pieces_of_points_do_not_change_the_surface(at_once, monkeypatch):
    """The points that are treated at a time: each alone, and some."""
    frame = read_framework("MFI")
    whole = surface_area(frame, TRAPPE_ZEO, samples=40)
    assert whole.per_cell.value > 0
    monkeypatch.setattr(pores, "_AT_ONCE", at_once)
    assert surface_area(frame, TRAPPE_ZEO, samples=40) == whole


def test_the_closest_atoms_are_found():
    frame = read_framework("MFI")
    closest = _core.closest_pair(frame.fractional, frame.edges)
    assert closest[2] == pytest.approx(1.5676399421845248)
    places = np.vstack((frame.fractional, frame.fractional[0] + [0.1 / frame.cell[0], 0, 0]))
    with pytest.raises(ValueError, match=r"atoms 0 \(Si\) and 288 \(O\) overlap, 0.1 angstrom"):
        Framework("twice", frame.cell, places, (*frame.elements, "O"), 1.0)


def test_atoms_without_interaction_have_no_surface():
    from manymove.adsorption import ForceField

    assert surface_area(small_framework(), ForceField({"O": (1.0, 2.0), "Si": None}), probe=0.0,
                        samples=10).per_cell.value == pytest.approx(4 * 4 * math.pi)  # fmt: skip


def test_pores_of_a_framework_by_its_name():
    mfi = read_framework("MFI")
    area = surface_area("MFI", TRAPPE_ZEO, samples=10)
    assert area == surface_area(mfi, TRAPPE_ZEO, samples=10)
    assert pore_volume("MFI", 0.3) == pore_volume(mfi, 0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(diameters={"Si": 3.0}), "diameters has neither O nor O"),
        (dict(diameters={"O": -3.0}), "diameter of O must be positive"),
        (dict(diameters={"O": 3.0}, probe=-1.0), "probe must be at least 0"),
        (dict(diameters={"O": 3.0}, samples=0), "samples"),
        (dict(diameters={"O": 3.0}, seed=-1), "seed must be in"),
        (dict(diameters=TRAPPE_ZEO, probe=math.nan), "probe must be at least 0"),
    ],
)
def test_bad_surfaces_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        surface_area(cubic(9.0), **arguments)


# ---- the commands --------------------------------------------------------------------------------

SILICA = ["--force-field", "TraPPE-zeo"]
HENRY = [
    "henry", "--framework", "LTA", "--adsorbates", "CH4,C2H6", "--force-field", "TraPPE-zeo",
    "--insertions", "300", "--systems", "8", "--grid-spacing", "0.4", "--device", "cpu",
]  # fmt: skip


def test_henry_prints_what_test_molecules_give(tmp_path, capsys):
    path = tmp_path / "henry.json"
    assert cli.run([*HENRY, "--json", str(path)]) == 0
    one, other = json.loads(path.read_text())["species"]
    a = Adsorption(
        "LTA",
        [1, 1],
        adsorbates=[CH4, ETHANE],
        interactions=Interactions(force_field=TRAPPE_ZEO, grid=EnergyGrid(spacing=0.4)),
        method="plj",
        systems=8,
        temperature=300.0,
        seed=1,
        device="cpu",
    )
    k, heat = a.henry(300)
    assert one["henry_mol_per_kg_Pa"] == k.value and one["heat_kJ_per_mol"] == heat.value
    volume = math.prod(a.box) * 1e-30 / (a.framework.mass * math.prod(a.cells) / AVOGADRO * 1e-3)
    factor = k.value * GAS_CONSTANT * 300.0 / volume
    mu = -GAS_CONSTANT * 0.3 * math.log(factor)
    assert one["chemical_potential_kJ_per_mol"] == pytest.approx(mu)
    ratio = k.value / other["henry_mol_per_kg_Pa"]
    assert one["selectivity"] == pytest.approx(ratio) and "selectivity" not in other
    out = capsys.readouterr().out
    assert "selectivity over C2H6" in out and "warning" not in out
    assert cli.run([*HENRY, "--grid-spacing", "0.8"]) == 0
    out = capsys.readouterr().out
    assert "warning" in out and "coarse energy grid: interpolation changes the energy" in out


def test_henry_warns_of_few_insertions_that_dominate(tmp_path, capsys):
    """The Boltzmann factors of methane at 60 K: their mean is that of the deepest places."""
    path = tmp_path / "henry.json"
    words = [*HENRY, "--adsorbates", "CH4", "--temperature", "60", "--json", str(path)]
    assert cli.run([*words, "--insertions", "20", "--systems", "4"]) == 0
    (found,) = json.loads(path.read_text())["warnings"]
    assert found in capsys.readouterr().out
    assert "CH4: the Henry coefficient has an error of " in found and "--insertions" in found


def test_henry_warns_of_an_unknown_error(capsys):
    """A single system has no error."""
    words = [*HENRY, "--adsorbates", "CH4", "--insertions", "20", "--systems", "1"]
    assert cli.run(words) == 0
    assert "CH4: the Henry coefficient has an unknown error. " in capsys.readouterr().out


def test_pores_prints_what_the_functions_give(tmp_path, capsys):
    path = tmp_path / "pores.json"
    words = ["pores", "--framework", "LTA", "--samples", "20", "--insertions", "50", "--device",
             "cpu", "--grid-spacing", "0.4", *SILICA]  # fmt: skip
    assert cli.run([*words, "--json", str(path)]) == 0
    from manymove.adsorption import read_framework

    found, frame = json.loads(path.read_text()), read_framework("LTA")
    void = helium_void_fraction(frame, TRAPPE_ZEO, insertions=50, grid_spacing=0.4, device="cpu")
    assert found["void_fraction"] == void.value and 0.3 < void.value < 0.6
    assert found["pore_volume_cm3_per_g"] == pore_volume(frame, void).value
    area = surface_area(frame, TRAPPE_ZEO, samples=20)
    assert found["surface_area_m2_per_g"] == area.per_mass.value > 0
    assert "cm3/g" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pores"], "give a --force-field"),
        (["pores", "--framework", "none.cif", *SILICA], "no framework none.cif"),
        (["pores", "--force-field", "none"], "--force-field: no force field none"),
        (["pores", "--samples", "0", *SILICA], "samples"),
        (["henry", "--adsorbates", "CO3"], "--adsorbates: no molecule CO3"),
        (["henry", "--insertions", "0", "--grid-spacing", "1"], "insertions"),
        (["henry", "--barrier", "off"], "--barrier is 'off'; it must be a number, auto or none"),
        (
            [
                "pores",
                "--framework",
                "LTA",
                "--samples",
                "1",
                "--insertions",
                "10",
                "--grid-spacing",
                "0.8",
                *SILICA,
            ],
            "coarse energy grid: interpolation changes the",
        ),
    ],
)
def test_bad_options_of_small_commands_are_refused(words, message, capsys):
    assert cli.run(words) == 2
    assert message in capsys.readouterr().err
