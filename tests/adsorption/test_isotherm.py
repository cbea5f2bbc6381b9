"""Gas phases, units of loadings, and the command for isotherms.

Comparisons of numbers with errors are at five standard errors (see `agrees`). Seeds are fixed, so
that a test that passes once always passes; the rates of false alarms hold for other seeds.
"""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest
from adsorption_model import GAS, agrees, make

from manymove import Adsorption, cli
from manymove.adsorption import CH4, CO2, ETHANE, N2, Adsorbate, GasPhase
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
    """The equations of state that NIST recommends, at 298.15 K and for methane at 300 K."""
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
        (([CO2], 1e-300, 300.0), "CO2: no fugacity at 1e-300 bar .* from 1e-100 to 10000 bar"),
        (([CO2], 1e5, 300.0), r"CO2: no fugacity at 100000 bar .* \(1 bar is 10\^5 Pa\)"),
        (([GAS], 1.0, 300.0), "Ar has no critical constants"),
        (([CO2, N2], 1.0, 300.0, None, {("CO2", "Xe"): 0.1}), 'interactions has "Xe"'),
        (([CO2, N2], 1.0, 300.0, None, {("CO2", "CO2"): 0.1}), "no parameter"),
    ],
)
def test_gases_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        GasPhase(*arguments)


@pytest.mark.parametrize("gases", [[], CO2, ["CO2"], [CO2, None]])
def test_gases_are_a_list_of_molecules(gases):
    with pytest.raises(TypeError, match="gases must be a list of Adsorbate, Molecule or Chain"):
        GasPhase(gases, 1.0, 300.0)


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
    with pytest.raises(ValueError, match="species must be from 0 to 1, got 2"):
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


# ---- the command ---------------------------------------------------------------------------------

MIXTURE = [
    "adsorption", "--framework", "LTA", "--adsorbates", "CH4,C2H6", "--force-field", "TraPPE-zeo",
    "--isotherm", "2", "--mole-fractions", "0.8,0.2", "--systems", "4", "--steps", "300",
    "--equilibrate", "20", "--grid-spacing", "0.5", "--device", "cpu", "--threads", "2", "--quiet",
]  # fmt: skip


@pytest.mark.pictures
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
        (["--mole-fractions", "0.5,0.6"], "--mole-fractions must be positive"),
        (["--unit", "kg"], "--unit must be"),
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
