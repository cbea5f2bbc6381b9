"""Gas phases, units of loadings, pores: exact limits and published numbers.

Comparisons of numbers with errors are at five standard errors (see `agrees`). Seeds are fixed, so
that a test that passes once always passes; the rates of false alarms are those of other seeds.
"""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest
from adsorption_model import GAS, agrees, make, small_framework

from manymove import Adsorption, cli
from manymove.adsorption import (
    CH4,
    CO2,
    ETHANE,
    HELIUM,
    N2,
    TRAPPE_ZEO,
    Adsorbate,
    DensityMap,
    Framework,
    GasPhase,
    helium_void_fraction,
    pore_volume,
    surface_area,
    write_structure,
)
from manymove.adsorption.averages import Pooled
from manymove.adsorption.gas import AVOGADRO, GAS_CONSTANT
from manymove.adsorption.loadings import MOLAR_VOLUME, UNITS
from manymove.analysis.notation import Estimate

# ---- gas phases ----------------------------------------------------------------------------------


def test_mixture_is_that_of_raspas_manual():
    """docs/manual/examples_nonbasic.md of RASPA3, example 1: Peng and Robinson's coefficients of a
    quarter of CO2 in methane at 10 bar and 300 K, with the same critical constants."""
    gas = GasPhase([CO2, CH4], 10.0, 300.0, [0.25, 0.75])
    assert gas.fugacity_coefficients == pytest.approx([0.9503504709382861, 0.9790119493565772])
    assert gas.compressibility == pytest.approx(0.9714389724700717)
    assert gas.fugacities == pytest.approx([2.375876177345715, 7.342589620174329])


@pytest.mark.parametrize(
    ("gas", "pressure", "coefficient", "tolerance"),
    [(CO2, 1.0, 0.99504, 6e-4), (CO2, 10.0, 0.95074, 6e-3), (CO2, 50.0, 0.75724, 0.025),
     (CH4, 50.0, 0.92055, 0.025), (N2, 50.0, 0.99301, 0.03), (ETHANE, 20.0, 0.85333, 0.02)],
)  # fmt: skip
def test_coefficients_are_near_those_of_reference_equations(gas, pressure, coefficient, tolerance):
    """Of the equations of state that NIST recommends, at 298.15 K and for methane at 300 K."""
    temperature = 300.0 if gas is CH4 else 298.15
    assert gas.fugacity_coefficient(pressure, temperature) == pytest.approx(
        coefficient, rel=tolerance
    )


def test_a_gas_at_low_pressure_is_ideal():
    gas = GasPhase([CO2, N2, ETHANE], 1e-6, 300.0, [0.2, 0.3, 0.5])
    assert gas.fugacity_coefficients == pytest.approx([1, 1, 1], abs=1e-7)
    assert gas.density == pytest.approx(0.1 / (GAS_CONSTANT * 300.0), rel=1e-7)
    assert sum(gas.densities) == pytest.approx(gas.density)


def test_a_species_divided_in_two_has_its_own_fugacity():
    half = GasPhase([CO2, CO2], 30.0, 280.0, [0.3, 0.7])
    whole = GasPhase([CO2], 30.0, 280.0)
    assert half.fugacity_coefficients == pytest.approx(2 * whole.fugacity_coefficients)
    assert whole.fugacity_coefficients[0] == CO2.fugacity_coefficient(30.0, 280.0)


@pytest.mark.parametrize("k", [0.0, 0.1])
def test_coefficients_follow_from_the_volume_of_the_mixture(k):
    """d ln(p) residuals: sum_i x_i ln phi_i = integral of (z - 1) dp / p, at constant x."""

    def gas(p: float) -> GasPhase:
        return GasPhase([CO2, ETHANE], p, 320.0, [0.4, 0.6], {("CO2", "C2H6"): k})  # fmt: skip

    nodes, weights = np.polynomial.legendre.leggauss(20)
    pressures = 20.0 * (nodes + 1)
    integral = sum(
        w * 20.0 * (gas(p).compressibility - 1) / p for p, w in zip(pressures, weights, strict=True)
    )
    end = gas(40.0)
    mean = np.dot(end.mole_fractions, np.log(end.fugacity_coefficients))
    assert mean == pytest.approx(integral, rel=1e-9)


def test_of_two_phases_the_stable_one_is_taken():
    """Below the vapor pressure at 290 K (53.2 bar) CO2 is a gas, above it a liquid."""
    assert GasPhase([CO2], 50.0, 290.0).compressibility > 0.5
    assert GasPhase([CO2], 57.0, 290.0).compressibility < 0.3
    assert not GasPhase([CO2], 50.0, 290.0).is_liquid and GasPhase([CO2], 57.0, 290.0).is_liquid
    assert not GasPhase([CO2], 200.0, 310.0).is_liquid  # supercritical
    assert GasPhase([CO2, N2], 57.0, 220.0, [0.9, 0.1]).is_liquid


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([CO2, N2], 1.0, 300.0, [0.5]), "one number for each of 2 species"),
        (([CO2, N2], 1.0, 300.0, [0.5, 0.6]), "positive with the sum 1"),
        (([CO2, N2], 1.0, 300.0, [1.0, 0.0]), "positive with the sum 1"),
        (([CO2], 0.0, 300.0), "CO2: no fugacity at 0 bar"),
        (([CO2], 1e5, 300.0), r"CO2: no fugacity at 100000 bar .* \(1 bar is 10\^5 Pa\)"),
        (([GAS], 1.0, 300.0), "Ar has no critical constants"),
        (([CO2, N2], 1.0, 300.0, None, {("CO2", "Xe"): 0.1}), 'interactions has "Xe"'),
        (([CO2, N2], 1.0, 300.0, None, {("CO2", "CO2"): 0.1}), "no parameter"),
    ],
)
def test_gases_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        GasPhase(*arguments)


def test_a_critical_pressure_in_pascals_is_refused():
    with pytest.raises(ValueError, match=r"critical_pressure is 4.863e\+06 bar, which no species"):
        Adsorbate("Ar", 120.0, 3.4, {"O": None}, 150.7, 4_863_000.0, 0.0)


# ---- units ---------------------------------------------------------------------------------------

NOTHING = Adsorbate("ideal", 0.0, 3.0, {"O": None, "Si": None}, 304.0, 73.0, 0.2, molar_mass=44.0)


def ideal(fugacity=100.0, **settings) -> Adsorption:
    a = make("plj", 3, adsorbates=NOTHING, fugacity=fugacity, systems=64, **settings)
    a.run(2000)
    return a


def test_units_follow_from_the_number_of_molecules():
    a = ideal(cells=(1, 2, 1))
    n, mass, volume = a.loading[0].value, 2 * 92.0, 2 * 8.5 * 9.0 * 10.0
    expected = {
        "molecules": n,
        "molecules/uc": n / 2,
        "mol/kg": 1000 * n / mass,
        "mg/g": 1000 * n * 44.0 / mass,
        "cm3(STP)/g": n / mass * 22413.969545,
        "cm3(STP)/cm3": n / (volume * 1e-24 * AVOGADRO) * 22413.969545,
    }
    assert expected.keys() == UNITS.keys() and pytest.approx(22413.9695, rel=1e-8) == MOLAR_VOLUME
    for unit, value in expected.items():
        (found,) = a.loading_in(unit)
        assert found.value == pytest.approx(value, rel=1e-9)
        assert found.error / found.value == pytest.approx(a.loading[0].error / n)
    assert a.loading_mol_per_kg == a.loading_in("mol/kg")
    assert Pooled([a.snapshot]).loading_in("mg/g") == a.loading_in("mg/g")


def test_an_ideal_gas_has_no_excess_in_an_open_framework():
    """With the density of the ideal gas and a void fraction of 1 the excess is zero."""
    a = ideal()
    gas = GasPhase([NOTHING], 1e-6, 300.0)
    gas.densities = [100e5 / (GAS_CONSTANT * 300.0)]  # mol/m^3 at 100 bar
    (excess,) = a.excess_loading_in("mol/kg", 1.0, gas)
    assert agrees(excess.value, excess.error, 0.0)
    (half,) = a.excess_loading_in("molecules", Estimate(0.5, 0.01), gas)
    full = gas.densities[0] * AVOGADRO * 8.5 * 9.0 * 10.0 * 1e-30
    assert half.value == pytest.approx(a.loading[0].value - 0.5 * full)
    assert half.error == pytest.approx(math.hypot(a.loading[0].error, 0.01 * full))


def test_selectivity_of_ideal_gases_is_one():
    other = Adsorbate("other", 0.0, 3.0, NOTHING.framework)
    a = make("plj", [2, 2], adsorbates=[NOTHING, other], fugacity=[300.0, 100.0], systems=64)
    a.equilibrate(2000)
    a.run(4000)
    ratio = a.selectivity(0, 1, [0.75, 0.25])
    assert ratio.error < 0.1 and agrees(ratio.value, ratio.error, 1.0)
    inverse = a.selectivity(1, 0, [0.75, 0.25])
    assert inverse.value == pytest.approx(1 / ratio.value)
    with pytest.raises(ValueError, match="no species 2"):
        a.selectivity(0, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: a.loading_in("kg"), "unit must be"),
        (lambda a: a.excess_loading_in("mol/kg", -0.5, GasPhase([CO2], 1, 300)), "at least 0"),
        (lambda a: a.excess_loading_in("mol/kg", 0.5, GasPhase([CO2], 1, 310)), "310 K, not 300"),
        (lambda a: a.excess_loading_in("mol/kg", 1, GasPhase([CO2, N2], 1, 300)), "2 species, no"),
    ],
)
def test_bad_questions_about_loadings_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(ideal())


def test_mg_per_g_needs_a_molar_mass():
    a = make("plj", 1, fugacity=10.0, systems=2)
    a.run(10)
    with pytest.raises(ValueError, match="Ar has no molar_mass"):
        a.loading_in("mg/g")


def test_masses_of_molecules_come_from_raspas_force_field(tmp_path):
    atoms = [{"name": "C_x", "mass": 12.0, "charge": 0.6}, {"name": "O_x", "mass": 16.0,
             "charge": -0.3}]  # fmt: skip
    laws = [{"name": a["name"], "type": "lennard-jones", "parameters": [50, 3.0]} for a in atoms]
    (tmp_path / "force_field.json").write_text(
        json.dumps({"PseudoAtoms": atoms, "SelfInteractions": laws})
    )
    places = [["O_x", [0, 0, 1.1]], ["C_x", [0, 0, 0]], ["O_x", [0, 0, -1.1]]]
    (tmp_path / "x.json").write_text(json.dumps({"pseudoAtoms": places, "Type": "rigid"}))
    from manymove.adsorption import ForceField, read_molecule

    field = ForceField.read(tmp_path / "force_field.json")
    assert read_molecule(tmp_path / "x.json", field).molar_mass == 44.0


# ---- pores ---------------------------------------------------------------------------------------


def test_helium_fills_an_empty_box():
    fraction = helium_void_fraction(None, box=(30, 30, 30), insertions=10, device="cpu")
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
    helium = Adsorption(frame, 1, adsorbates=HELIUM, force_field=field, temperature=298.15,
                        cutoff=4.0, barrier=None, systems=1, method="plj", seed=1,
                        device="cpu")  # fmt: skip
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


def test_surface_in_a_skewed_cell_is_that_of_the_crystal():
    """A cubic crystal in a cell with the edges a, b + a and c."""
    skewed = Framework("skewed", (6.0,) * 3, np.array([[0.1, 0.2, 0.3]]), ("O",), 16.0,
                       tilt=(6.0, 0.0, 0.0))  # fmt: skip
    one, other = (
        surface_area(f, {"O": 4.0}, probe=3.0, samples=500, seed=3) for f in (skewed, cubic(6.0))
    )
    assert one.per_cell.value == pytest.approx(other.per_cell.value)


def test_atoms_without_interaction_have_no_surface():
    from manymove.adsorption import ForceField

    assert surface_area(small_framework(), ForceField({"O": (1.0, 2.0), "Si": None}), probe=0.0,
                        samples=10).per_cell.value == pytest.approx(4 * 4 * math.pi)  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(diameters={"Si": 3.0}), "diameters has neither O nor O"),
        (dict(diameters={"O": -3.0}), "diameter of O must be positive"),
        (dict(diameters={"O": 3.0}, probe=-1.0), "probe must be at least 0"),
        (dict(diameters={"O": 3.0}, samples=0), "samples"),
        (dict(diameters=TRAPPE_ZEO, probe=math.nan), "probe must be at least 0"),
    ],
)
def test_bad_surfaces_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        surface_area(cubic(9.0), **arguments)


# ---- the command ---------------------------------------------------------------------------------

MIXTURE = [
    "adsorption", "--framework", "LTA", "--adsorbates", "CH4,C2H6", "--force-field", "TraPPE-zeo",
    "--isotherm", "2", "--mole-fractions", "0.8,0.2", "--systems", "4", "--steps", "300",
    "--equilibrate", "20", "--grid-spacing", "0.5", "--device", "cpu", "--threads", "2", "--quiet",
]  # fmt: skip


def test_isotherm_of_a_mixture(tmp_path):
    pytest.importorskip("matplotlib")
    table = tmp_path / "someone_2001.csv"
    table.write_text("# x\npressure_bar,loading,loading_error,adsorbate\n1,20,1,CH4\n2,3,1,B\n")
    output = tmp_path / "out"
    more = ["--void-fraction", "0.4", "--unit", "cm3(STP)/g", "--literature", str(table)]
    assert cli.run([*MIXTURE, *more, "--output", str(output)]) == 0
    s = json.loads((output / "summary.json").read_text())
    (point,) = s["runs"]
    gas = GasPhase([CH4, ETHANE], 2.0, 300.0, [0.8, 0.2])
    assert point["fugacity_bar"] == gas.fugacities and point["mole_fractions"] == [0.8, 0.2]
    assert s["unit"] == "cm3(STP)/g" and s["loading_cm3_STP_per_g"] == [
        point["loading_cm3_STP_per_g"]
    ]
    n, moles = point["loading_molecules"], point["loading_mol_per_kg"]
    volume = math.prod(point["box_angstrom"]) * 1e-30
    for k in range(2):
        less = 0.4 * gas.densities[k] * AVOGADRO * volume
        assert point["excess_loading_molecules"][k] == pytest.approx(n[k] - less)
        assert point["loading_cm3_STP_per_g"][k] == pytest.approx(moles[k] * MOLAR_VOLUME / 1000)
    assert point["selectivity"] == pytest.approx([n[0] / n[1] * 0.25])
    rows = list(csv.DictReader((output / "isotherm.csv").open()))
    assert [row["adsorbate"] for row in rows] == ["CH4", "C2H6"]
    assert float(rows[0]["selectivity"]) == pytest.approx(point["selectivity"][0])
    assert float(rows[1]["mole_fraction"]) == 0.2 and int(rows[0]["steps"]) == 300
    assert int(rows[0]["equilibration_steps"]) >= 20 and rows[0]["status"]
    assert [float(row["temperature_K"]) for row in rows] == 2 * [point["temperature_K"]]
    assert (output / "isotherm.png").stat().st_size > 5000
    assert cli.run(["adsorption", "--resume", "--output", str(output), "--quiet"]) == 0
    assert json.loads((output / "summary.json").read_text())["runs"][0]["N"] == point["N"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mole-fractions", "0.5,0.6"], "--mole-fractions: mole_fractions must be positive"),
        (["--unit", "kg"], "--unit: unit must be"),
        (["--void-fraction", "2"], 'must be "helium" or from 0 to 1'),
        (["--literature", "none.csv"], "--literature: "),
        (["--isotherm", "1e5"], "--isotherm: CH4, C2H6: no fugacity at 100000 bar and"),
        (["--isotherm", "1.0000001,1.0000002"], "pressures whose folder would be pressure_1:"),
    ],
)
def test_bad_options_of_isotherms_are_refused(words, message, tmp_path, capsys):
    assert cli.run([*MIXTURE, *words, "--output", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words", [["--mole-fractions", "1"], ["--void-fraction", "0.1"], ["--unit", "kg"]]
)
def test_options_of_isotherms_need_one(words, tmp_path, capsys):
    assert cli.run(["adsorption", *words, "--output", str(tmp_path / "out")]) == 2
    assert "is for --isotherm" in capsys.readouterr().err


def test_a_table_of_loadings_needs_its_columns(tmp_path):
    from manymove.adsorption.plots import published

    for text in ("", "pressure,loading\n1,2\n", "pressure_bar,loading\n1,x\n", "loading\n1\n",
                 "pressure_bar,loading\n", "pressure_bar,loading\n1\n"):  # fmt: skip
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(ValueError, match="is not a table with the columns"):
            published(tmp_path / "t.csv")


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
        "LTA", [1, 1], adsorbates=[CH4, ETHANE], force_field=TRAPPE_ZEO, method="plj", systems=8,
        temperature=300.0, grid_spacing=0.4, seed=1, device="cpu",
    )  # fmt: skip
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
        (["henry", "--barrier", "off"], "not a valid number; it may also be auto or none"),
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
        (["iast", "--isotherms", "none.csv"], "--isotherms: [Errno 2]"),
        (["iast"], "isotherms of at least two gases"),
    ],
)
def test_bad_options_of_small_commands_are_refused(words, message, capsys):
    assert cli.run(words) == 2
    assert message in capsys.readouterr().err


def langmuir(k: float) -> tuple[list[float], list[float]]:
    p = np.geomspace(1e-3, 1e4, 400)
    return p.tolist(), (3.0 * k * p / (1 + k * p)).tolist()


def test_iast_of_langmuir_isotherms_is_langmuirs():
    """With equal capacities IAST is the Langmuir isotherm of the mixture."""
    pytest.importorskip("pygaps")
    from manymove.adsorption.iast import iast

    found = iast([langmuir(2.0), langmuir(0.1)], 5.0, [0.15, 0.85])
    assert found == pytest.approx([3 * n / (1 + 1.5 + 0.425) for n in (1.5, 0.425)], rel=2e-3)
    with pytest.raises(ValueError, match="isotherms that end at 10000, 1 bar"):
        iast([langmuir(2.0), ([0.5, 1.0], [0.1, 0.2])], 500.0)


@pytest.mark.parametrize(
    ("isotherms", "pressure", "message"),
    [
        ([([1, 2], [1, 2])], 1.0, "at least two species"),
        ([([1, 2], [1, 2]), ([2, 1], [1, 2])], 1.0, "pressures of isotherm 1 do not increase"),
        ([([1, 2], [2, 1]), ([1, 2], [1, 2])], 1.0, "may be statistical noise"),
        ([([1, 2], [1, 2]), ([1, 2], [1])], 1.0, "isotherm 1 needs at least two"),
        ([([1, 2], [1, 2]), ([0, 2], [1, 2])], 1.0, "negative or not finite"),
        ([([1, 2], [1, 2])] * 2, -1.0, "pressure must be positive"),
    ],
)
def test_bad_isotherms_are_refused(isotherms, pressure, message):
    from manymove.adsorption.iast import iast

    with pytest.raises(ValueError, match=message):
        iast(isotherms, pressure)


def test_iast_reads_isotherms(tmp_path, capsys, monkeypatch):
    from manymove.adsorption.iast import read_isotherm

    for name, k in (("A", 2.0), ("B", 0.1)):
        rows = [f"{p:.8g},{name},{n:.8g}" for p, n in zip(*langmuir(k), strict=True)]
        lines = ["pressure_bar,adsorbate,loading_mol_per_kg", *reversed(rows)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    name, p, n = read_isotherm(tmp_path / "A.csv")
    assert name == "A" and p == sorted(p) and n == sorted(n)
    words = ["iast", "--isotherms", f"{tmp_path}/A.csv,{tmp_path}/B.csv", "--pressures", "5"]
    try:
        import pygaps  # noqa: F401
    except ImportError:
        assert cli.run(words) == 2
        assert "IAST needs pyGAPS: pip install 'manymove[iast]'" in capsys.readouterr().err
        return
    assert cli.run([*words, "--mole-fractions", "0.15,0.85", "--json", str(tmp_path / "j")]) == 0
    (point,) = json.loads((tmp_path / "j").read_text())["points"]
    assert point["selectivity"] == pytest.approx([20.0], rel=5e-3)
    assert "selectivity" in capsys.readouterr().out


def test_isotherms_that_do_not_belong_together_are_refused(tmp_path, capsys):
    def written(name: str, gas: str, temperature: float | str) -> str:
        rows = [f"{p},{gas},{p / (1 + p)},{temperature},{status}" for p, status in
                ((0.1, "not equilibrated"), (1, "ok"), (90, "ok"))]  # fmt: skip
        head = "pressure_bar,adsorbate,loading_mol_per_kg,temperature_K,status"
        (tmp_path / name).write_text("\n".join([head, *rows]))
        return str(tmp_path / name)

    a, b = written("a.csv", "CO2", 313), written("b.csv", "N2", 300)
    assert cli.run(["iast", "--isotherms", f"{a},{b}"]) == 2
    assert "a.csv is at 313 K, " in (message := capsys.readouterr().err)
    assert "b.csv is at 300 K: IAST needs isotherms of one temperature" in message
    assert cli.run(["iast", "--isotherms", f"{a},{written('c.csv', 'CO2', '313.00')}"]) == 2
    assert "give one isotherm of each gas, got those of CO2, CO2" in capsys.readouterr().err
    pytest.importorskip("pygaps")
    assert cli.run(["iast", "--isotherms", f"{a},{written('b.csv', 'N2', 313)}"]) == 0
    assert 'a.csv: the status of the points at 0.1 bar is not "ok"' in capsys.readouterr().out


def test_isotherms_of_others_are_refused(tmp_path):
    from manymove.adsorption.iast import read_isotherm

    for text, message in (
        ("a,b\n1,2\n", "is not an isotherm.csv"),
        ("pressure_bar,adsorbate,loading_mol_per_kg\n1,A,1\n1,B,1\n", "has 2 species"),
    ):
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(ValueError, match=message):
            read_isotherm(tmp_path / "x.csv")


# ---- maps and structures -------------------------------------------------------------------------


def test_density_map_counts_molecules_in_the_unit_cell():
    """Positions are given; two boxes of 1 x 2 x 1 cells with three molecules each."""
    places = np.array([[0.6, 0.3, 9.9], [0.6, 9.3, 0.1], [8.4, 0.1, 5.0]])
    a = make("plj", 3, systems=2, cells=(1, 2, 1), positions=np.stack([places, places]))
    for axis, bins in (("z", [(1, 0, 2), (16, 0, 1)]), ("y", [(1, 19, 1), (1, 0, 1), (16, 10, 1)])):
        density = DensityMap(a, axis, 20 if axis == "y" else 17)
        with pytest.raises(RuntimeError, match="nothing sampled"):
            density.molecules  # noqa: B018
        density.sample()
        density.sample()
        expected = np.zeros((density.bins,) * 2)
        for row, column, count in bins:
            column = round(column * density.bins / 20)
            row = row if axis == "z" else int([0.6, 8.4][row > 1] / 8.5 * 20)
            expected[row, column] += count / 2
        assert np.allclose(density.molecules[0], expected)
        edges = density.corners[-1, 0] - density.corners[0, 0]
        assert np.allclose(edges, [8.5, 0])
    assert density.molecules.sum() == pytest.approx(1.5)


def test_density_map_of_a_skewed_cell_has_its_corners():
    from manymove.adsorption.density import corners_of

    corners = corners_of(np.array([[4.0, 0, 0], [1.0, 3.0, 0]]), 2)
    assert np.allclose(corners[2, 2], [5.0, 3.0]) and np.allclose(corners[0, 2], [1.0, 3.0])


def test_maps_that_cannot_be_are_refused():
    a = make("plj", 1, systems=1)
    for words, message in ((dict(axis="w"), "axis must be"), (dict(bins=0), "bins")):
        with pytest.raises(ValueError, match=message):
            DensityMap(a, **words)


CELL = dict(cells=(1, 1, 1), cutoff=4.0, systems=2, grid_spacing=1.0, seed=1, device="cpu")


def test_structures_have_the_atoms_and_the_molecules(tmp_path):
    gemmi = pytest.importorskip("gemmi")
    a = Adsorption("MFI", [2, 1], adsorbates=[CO2, N2], force_field=TRAPPE_ZEO, method="plj",
                   **CELL)  # fmt: skip
    for system in (0, 1):
        write_structure(tmp_path / "s.cif", a, system)
        write_structure(tmp_path / "s.pdb", a, system)
        cif = gemmi.read_small_structure(str(tmp_path / "s.cif"))
        assert len(cif.sites) == 288 + 2 * 3 + 2
        assert [site.element.name for site in cif.sites[288:]] == ["O", "C", "O"] * 2 + ["N"] * 2
        whole = a.site_positions(0)[system].reshape(-1, 3)
        for site, place in zip(cif.sites[288:294], whole, strict=True):
            difference = np.array(site.fract.tolist()) - place / a.box
            assert np.abs(difference - np.rint(difference)).max() < 1e-7
        pdb = gemmi.read_structure(str(tmp_path / "s.pdb"))[0]
        assert [len(chain) for chain in pdb] == [1, 3]
        found = [atom.pos.tolist() for residue in pdb["B"] for atom in residue]
        assert np.abs(np.array(found[:6]) - whole).max() < 1e-3
    charges = [float(x) for x in gemmi.cif.read(str(tmp_path / "s.cif")).sole_block().find_values(
        "_atom_site_charge")]  # fmt: skip
    assert charges[288:294] == pytest.approx([-0.35, 0.7, -0.35] * 2)
    assert sum(charges[:288]) == pytest.approx(0)


def test_structures_that_cannot_be_written_are_refused(tmp_path):
    a = make("plj", 1, systems=2)
    with pytest.raises(ValueError, match=r"the suffix must be \.cif or \.pdb"):
        write_structure(tmp_path / "s.xyz", a)
    with pytest.raises(IndexError, match="no system 2, only 2"):
        write_structure(tmp_path / "s.cif", a, 2)
    large = make("plj", 1, systems=1, cells=(28, 28, 28))
    with pytest.raises(ValueError, match="more than a PDB file can have"):
        write_structure(tmp_path / "s.pdb", large)


@pytest.mark.parametrize(
    ("label", "element"),
    [("O_co2", "O"), ("CH4_sp3", "C"), ("N_com", None), ("Si12", "Si"), ("Xx", None),
     ("H_spce", "H"), ("Co3", "Co"), ("CO", "C"), ("12", None), ("", None)],
)  # fmt: skip
def test_labels_begin_with_elements(label, element):
    from manymove.adsorption.structures import element_of

    assert element_of(label) == element


MAP = [
    "adsorption", "--framework", "LTA", "--molecules", "4", "--method", "plj", "--systems", "6",
    "--steps", "400", "--equilibrate", "50", "--grid-spacing", "0.8", "--device", "cpu",
    "--threads", "2", "--density-map", "z", "--bins", "12", "--structures", "cif,pdb", "--quiet",
]  # fmt: skip


def test_command_leaves_maps_and_structures(tmp_path):
    pytest.importorskip("matplotlib")
    assert cli.run([*MAP, "--output", str(tmp_path)]) == 0
    table = np.loadtxt(tmp_path / "density.csv", delimiter=",", skiprows=1)
    from manymove.adsorption import read_framework

    cells = math.prod(read_framework("LTA").cells_for(12.0))
    assert table.shape == (12, 12) and table.sum() == pytest.approx(4 / cells)
    for name in ("density.png", "structure.cif", "structure.pdb"):
        assert (tmp_path / name).stat().st_size > 1000
    # A longer run continues the map: it is that of one run.
    assert cli.run(["adsorption", "--resume", "--steps", "800", "--output", str(tmp_path)]) == 0
    once = tmp_path / "once"
    assert cli.run([*MAP, "--steps", "800", "--output", str(once)]) == 0
    longer, other = (
        np.loadtxt(p / "density.csv", delimiter=",", skiprows=1) for p in (tmp_path, once)
    )
    assert longer.sum() == pytest.approx(other.sum())
    # The records of both runs end at the same steps: every second one of the first 400 is left out.
    assert (tmp_path / "energy.csv").read_text() == (once / "energy.csv").read_text()
    # 200 samples of 400 steps, and 100 more that count twice, because they are twice as far apart.
    found = [json.loads((p / "summary.json").read_text()) for p in (tmp_path, once)]
    assert [one["density_samples"] for one in found] == [400 * 6, 200 * 6]
    assert found[0]["relaxation_time"] == found[1]["relaxation_time"]


def test_an_interrupted_density_map_is_that_of_a_whole_run(tmp_path, monkeypatch):
    """The run stops after half of the steps and is resumed with the same spacing of records."""
    pytest.importorskip("matplotlib")
    from manymove.adsorption.replica import Replica
    from manymove.jobs.progress import Interrupted

    once, part = tmp_path / "once", tmp_path / "part"
    assert cli.run([*MAP, "--output", str(once)]) == 0
    pause = Replica._pause

    def stop(self, a):
        if a.samples >= 200:
            raise Interrupted
        pause(self, a)

    with monkeypatch.context() as patched:
        patched.setattr(Replica, "_pause", stop)
        cli.run([*MAP, "--output", str(part)])
    assert json.loads((part / "summary.json").read_text())["density_samples"] < 200 * 6
    assert cli.run(["adsorption", "--resume", "--output", str(part)]) == 0
    both = [np.loadtxt(p / "density.csv", delimiter=",", skiprows=1) for p in (once, part)]
    assert np.array_equal(*both)
    summaries = [json.loads((p / "summary.json").read_text()) for p in (once, part)]
    assert [s["density_samples"] for s in summaries] == [200 * 6] * 2


def test_records_of_a_longer_run_without_earlier_ones_are_those_of_other_ranks(
    tmp_path, monkeypatch
):
    """Interrupted before the first record, while another rank may have some: both have to go on
    with the same steps."""
    from manymove.adsorption.replica import Replica
    from manymove.jobs.progress import Interrupted

    def stop(self, a):
        raise Interrupted

    few = [*MAP[: MAP.index("--density-map")], "--quiet", "--output", str(tmp_path)]
    with monkeypatch.context() as patched:
        patched.setattr(Replica, "_pause", stop)
        cli.run([*few, "--steps", "800"])  # a record of 4 steps
    assert cli.run(["adsorption", "--resume", "--steps", "1000", "--output", str(tmp_path)]) == 0
    steps = np.loadtxt(tmp_path / "energy.csv", delimiter=",", skiprows=1)[:, 0]
    assert steps[0] == 4 and (np.diff(steps) == 4).all()


def test_pdb_files_that_are_too_large_are_refused_before_the_run(tmp_path, capsys, monkeypatch):
    from manymove.adsorption import structures

    monkeypatch.setattr(structures, "_MOST", 100)
    output = tmp_path / "out"
    assert cli.run([*MAP, "--output", str(output)]) == 2
    assert "more than a PDB file can have, 100" in capsys.readouterr().err
    assert not (output / "summary.json").exists()


def test_a_map_whose_records_are_of_another_step_says_that_it_starts_again(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from manymove import checkpoint

    assert cli.run([*MAP, "--output", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.records")
    records, about = checkpoint.read_records(path, columns=3)
    about["density"][0] -= 1
    checkpoint.write_records(path, records, **about)
    capsys.readouterr()
    assert cli.run(["adsorption", "--resume", "--steps", "800", "--output", str(tmp_path)]) == 0
    assert "the density map starts at step 400" in capsys.readouterr().err
    assert json.loads((tmp_path / "summary.json").read_text())["density_samples"] == 100 * 6


def test_helium_of_an_excess_loading_has_the_barrier_and_the_grid_of_the_run(monkeypatch, tmp_path):
    from manymove.adsorption import job

    class Stop(Exception):
        pass

    seen = {}

    def probe(*arguments, **options):
        seen.update(options)
        raise Stop

    monkeypatch.setattr(job, "helium_void_fraction", probe)
    words = ["--void-fraction", "helium", "--barrier", "4000", "--output", str(tmp_path / "out")]
    with pytest.raises(Stop):
        cli.run([*MIXTURE, *words])
    assert (seen["barrier"], seen["grid_spacing"], seen["interpolation"]) == (4000.0, 0.5, "cubic")


def test_a_void_fraction_above_one_gives_an_excess():
    """<exp(-U / T)> of helium exceeds 1 where helium is attracted."""
    a, gas = ideal(), GasPhase([NOTHING], 1.0, 300.0)
    (one,), (more,) = (a.excess_loading_in("molecules", phi, gas) for phi in (1.0, 1.2))
    n = a.loading[0].value
    assert n - more.value == pytest.approx(1.2 * (n - one.value))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--density-map", "w"], "must be x, y or z"),
        (["--structures", "xyz"], "cif, pdb or cif,pdb"),
    ],
)
def test_bad_maps_and_structures_are_refused(words, message, tmp_path, capsys):
    assert cli.run([*MAP, *words, "--output", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
