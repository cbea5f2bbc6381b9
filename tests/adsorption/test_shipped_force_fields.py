# SPDX-License-Identifier: BSD-3-Clause
"""Force fields of the package: their numbers, their rules, and Henry coefficients in a
metal-organic framework against direct sums in NumPy."""

from __future__ import annotations

import json
from importlib.resources import files

import adsorption_model
import numpy as np
import pytest

from manymove import Adsorption, EnergyGrid, Interactions, cli
from manymove.adsorption import (
    CH4,
    CO2,
    CO2_GARCIA_SANCHEZ,
    DREIDING_UFF,
    GARCIA_SANCHEZ,
    HELIUM,
    TRAPPE_ZEO,
    UFF,
    ForceField,
    Framework,
    Molecule,
    Site,
    read_framework,
)
from manymove.adsorption.labels import framework_atoms, lines_of
from manymove.adsorption.rigid import settled

KCAL = 4184 / 8.31446261815324  # kelvin
# A. K. Rappe et al., J. Am. Chem. Soc. 114, 10024 (1992), Table I: x in angstrom, D in kcal/mol.
PAPER = {
    "H": (2.886, 0.044), "C": (3.851, 0.105), "N": (3.660, 0.069), "O": (3.500, 0.060),
    "Al": (4.499, 0.505), "Ca": (3.399, 0.238), "Cu": (3.495, 0.005), "Zn": (2.763, 0.124),
    "Zr": (3.124, 0.069), "I": (4.500, 0.339), "Yb": (3.355, 0.228), "U": (3.395, 0.022),
}  # fmt: skip
# The same in kelvin and angstrom, as RASPA2's example for metal-organic frameworks has it.
RASPA2 = {"Zn": (62.3992, 2.46155), "Cu": (2.5161, 3.11369), "Zr": (34.7221, 2.78317)}
# S. L. Mayo et al., J. Phys. Chem. 94, 8897 (1990), in RASPA2's example.
DREIDING = {
    "H": (7.64893, 2.84642), "B": (47.8058, 3.58141), "C": (47.8562, 3.47299),
    "N": (38.9492, 3.26256), "O": (48.1581, 3.03315), "F": (36.4834, 3.0932),
    "Al": (155.998, 3.91105), "Si": (155.998, 3.80414), "P": (161.03, 3.69723),
    "S": (173.107, 3.59032), "Cl": (142.562, 3.51932), "Br": (186.191, 3.51905),
}  # fmt: skip


def one_atom(label: str, element: str, charge: float | None = None) -> Framework:
    charges = None if charge is None else np.array([charge])
    return Framework("atom", 3 * (25.0,), np.zeros((1, 3)), (element,), 1.0, labels=(label,),
                     charges=charges)  # fmt: skip


@pytest.mark.parametrize("element", PAPER)
def test_uff_has_the_numbers_of_its_paper(element):
    x, depth = PAPER[element]
    epsilon, sigma = UFF.law_of_atom(element, element)
    assert epsilon == pytest.approx(depth * KCAL)
    assert 2 ** (1 / 6) * sigma == pytest.approx(x)


def test_uff_has_all_elements_up_to_lawrencium():
    gemmi = pytest.importorskip("gemmi")
    for number in range(1, 104):
        element = gemmi.Element(number).name
        epsilon, sigma = UFF.law_of_atom(element, element)
        assert 2 < epsilon < 350 and 2 < sigma < 4.5, element
    assert UFF.law_of_atom("D1", "D") == UFF.law_of_atom("H1", "H")
    with pytest.raises(ValueError, match=r"no parameters for Rf1 \(Rf\) of the framework: choose"):
        UFF.law_of_atom("Rf1", "Rf")


@pytest.mark.parametrize("element", [*RASPA2, *DREIDING])
def test_tables_agree_with_those_of_raspa2(element):
    law = DREIDING_UFF.law_of_atom(element, element)
    assert law == pytest.approx({**RASPA2, **DREIDING}[element], rel=2e-5)


def test_names_are_those_of_the_command_and_of_python():
    for name, field in {"UFF": UFF, "Dreiding-UFF": DREIDING_UFF, "TraPPE-zeo": TRAPPE_ZEO,
                        "Garcia-Sanchez": GARCIA_SANCHEZ}.items():  # fmt: skip
        assert ForceField.read(name) is field
    with pytest.raises(FileNotFoundError, match="expected TraPPE-zeo, UFF, Dreiding-UFF, Garcia-S"):
        ForceField.read("uff")


@pytest.mark.parametrize(("label", "element"), [("Cs1", "C"), ("CO2", "C"), ("X7", "Zn"),
                                                ("Oa_3", "O"), ("1H", "H")])  # fmt: skip
def test_labels_do_not_change_the_element_of_uff(label, element):
    """Cs1 is carbon, and not cesium, if the file says so."""
    assert UFF.law_of_atom(label, element) == UFF.law_of_atom(element, element)
    assert UFF.names_of(label, element) == [element]


def test_uff_leaves_molecules_as_they_are():
    """The label of helium's site, and of a site that has the name of an element."""
    oxygen = Molecule("oxygen", (Site("O", (0, 0, 0), 50.0, 3.0, 0.0),))
    field = ForceField(UFF.parameters, {"O": -0.5}, matching="elements")
    for molecule in (HELIUM, oxygen):
        site = molecule.sites[0]
        assert field.law_of_site(site.label) is None and field.charge_of_site(site.label) is None
        ((law,),) = settled(one_atom("O1", "O"), [molecule], {}, field, None, 9.0)["with_framework"]
        of_atom = UFF.law_of_atom("O1", "O")
        expected = ((site.epsilon * of_atom[0]) ** 0.5, (site.sigma + of_atom[1]) / 2)
        assert law == pytest.approx(expected)


# ---- Garcia-Sanchez ------------------------------------------------------------------------------


def test_pairs_of_garcia_sanchez_apply_to_numbered_labels():
    for label, element, law in (
        ("O12", "O", [(78.98, 3.237), (37.595, 3.511)]),
        ("Oa3", "O", [(78.98, 3.237), (37.595, 3.511)]),
        ("Na1", "Na", [(200.831, 2.758), (362.292, 3.32)]),
        ("Si1", "Si", [(0.0, 1.0), (0.0, 1.0)]),
    ):
        atom = one_atom(label, element)
        found = settled(atom, [CO2_GARCIA_SANCHEZ], {}, GARCIA_SANCHEZ, None, 9.0,
                        framework_charges="zero")  # fmt: skip
        assert [t["with_framework"][0] for t in found["rigid"]["types"]] == law
        rows = framework_atoms([label], [element], [CO2_GARCIA_SANCHEZ], GARCIA_SANCHEZ, None)
        if law[0][0]:
            told = ", ".join(f"{e:g} K, {s:g} angstrom with {site}" for (e, s), site in
                             zip(law, ("O_co2_gs", "C_co2_gs"), strict=True))  # fmt: skip
            assert lines_of(rows) == [f"{label} (1 atom): {told}"]


def test_charges_of_garcia_sanchez_are_neutral_with_and_without_aluminum():
    q = GARCIA_SANCHEZ.charges
    assert q["Si"] + 2 * q["O"] == pytest.approx(0)
    assert q["Al"] + q["Na"] + 4 * q["Oa"] - q["Si"] - 4 * q["O"] == pytest.approx(0)
    assert sum(site.charge for site in CO2_GARCIA_SANCHEZ.sites) == pytest.approx(0)


def test_other_molecules_are_refused_by_garcia_sanchez():
    with pytest.raises(ValueError, match=r"\(O\) of the framework other than pairs with C_co2_gs"):
        settled(one_atom("O1", "O"), [CO2], {}, GARCIA_SANCHEZ, None, 9.0, framework_charges="zero")


# ---- Henry coefficients --------------------------------------------------------------------------

# IRMOF-1: M. Eddaoudi et al., Science 295, 469 (2002).
IRMOF_1 = """Zn1 Zn 0.2934 0.2066 0.2066 1.275
O1 O 0.25 0.25 0.25 -1.5
O2 O 0.2819 0.2181 0.134 -0.6
C1 C 0.25 0.25 0.1113 0.475
C2 C 0.25 0.25 0.0538 0.125
C3 C 0.2829 0.2171 0.0269 -0.15
H1 H 0.3049 0.1951 0.0448 0.15
"""


@pytest.fixture(scope="module")
def irmof(tmp_path_factory):
    symmetry = "_symmetry_space_group_name_H-M 'F m -3 m'\n"
    text = adsorption_model.cif(IRMOF_1, 3 * (25.832,), symmetry=symmetry)
    path = tmp_path_factory.mktemp("irmof") / "IRMOF-1.cif"
    path.write_text(text.replace("_occupancy", "_charge"))
    return path


@pytest.mark.parametrize(("gas", "temperature"), [(CH4, 298.15), (CO2, 600.0)])
def test_henry_coefficients_in_irmof_1_are_those_of_direct_sums(gas, temperature, irmof):
    """To 1 %: the joint standard error is below 0.5 %. CO2 is warmer, where fewer poses suffice."""
    pytest.importorskip("scipy")
    import direct_henry

    framework = read_framework(irmof)
    assert framework.formula == "C192 H96 O104 Zn32"
    a = Adsorption(
        framework, 1, adsorbates=gas, method="plj", temperature=temperature, systems=64, seed=1,
        interactions=Interactions(12.0, UFF, grid=EnergyGrid(barrier=None)), device="cpu",
    )  # fmt: skip
    found, _ = a.henry(40_000)
    assert found.error < 0.002 * found.value
    table = json.loads((files("manymove") / "data" / "UFF.json").read_text())["parameters"]
    laws = {e: (depth * KCAL, x / 2 ** (1 / 6)) for e, (x, depth) in table.items()}
    solid = direct_henry.Solid(
        framework.edges, framework.fractional, framework.elements, framework.charges, framework.mass
    )
    guest = direct_henry.Guest(
        gas.positions,
        np.array([(site.epsilon, site.sigma) for site in gas.sites]),
        np.array([site.charge for site in gas.sites]),
    )
    energy = direct_henry.Energy(solid, guest, laws, 12.0, "tail")
    direct, error = direct_henry.henry(energy, temperature, error=0.004, poses=10_000, voxels=1500)
    assert error < 0.005
    assert found.value == pytest.approx(direct, rel=0.01)


def test_henry_coefficients_in_narrow_pores_are_those_of_a_sum_over_a_mesh():
    """Methane in a skewed lattice whose energy is positive everywhere, without statistical errors:
    the direct energies of the engine and of the direct sum agree, and what is left of a coarse grid
    is the error by interpolation, which decreases with the spacing."""
    pytest.importorskip("scipy")
    import direct_henry

    edge, temperature = 4.0, 298.15
    framework = Framework(
        "narrow", 3 * (edge,), np.zeros((1, 3)), ("O",), 16.0, (0.4, -0.3, 0.2), labels=("O1",)
    )
    site = CH4.sites[0]
    guest = direct_henry.Guest(
        CH4.positions, np.array([(site.epsilon, site.sigma)]), np.array([0.0])
    )
    laws = {"O": (PAPER["O"][1] * KCAL, PAPER["O"][0] / 2 ** (1 / 6))}
    solid = direct_henry.Solid(
        framework.edges, framework.fractional, framework.elements, np.zeros(1), framework.mass
    )
    energy = direct_henry.Energy(solid, guest, laws, 12.0, "tail")
    exact = direct_henry.quadrature(energy, temperature, 0.1)
    assert direct_henry.quadrature(energy, temperature, 0.06) == pytest.approx(exact, rel=1e-6)
    unit = solid.volume * 1e-30 / (direct_henry.BOLTZMANN * temperature * solid.mass * 1e-3)
    mesh = [np.arange(36) / 36] * 3
    xyz = np.stack(np.meshgrid(*mesh, indexing="ij"), -1).reshape(-1, 3) @ framework.edges

    def coefficient(a: Adsorption, direct: bool) -> float:
        energies = a._engine.framework_energies(np.ascontiguousarray(xyz), 0, direct) + energy.tail
        return float(np.exp(-energies / temperature).mean() * unit)

    errors = []
    for spacing in (0.4, 0.2, 0.1):
        a = Adsorption(
            framework, 1, adsorbates=CH4, method="plj", temperature=temperature, systems=32,
            seed=1, interactions=Interactions(12.0, UFF, grid=EnergyGrid(spacing, barrier=None)),
            device="cpu",
        )  # fmt: skip
        assert coefficient(a, True) == pytest.approx(exact, rel=1e-6)
        errors.append(abs(coefficient(a, False) / exact - 1))
        found, _ = a.henry(20_000)
        assert found.error < 0.02 * found.value
        assert abs(found.value - coefficient(a, False)) < 4 * found.error
    assert errors[2] < 1e-3
    assert errors[0] > 4 * errors[1] > 16 * errors[2]


def test_the_command_takes_uff_by_its_name(irmof, capsys):
    options = ["henry", "--framework", str(irmof), "--adsorbates", "CH4,He", "--force-field", "UFF",
               "--insertions", "200", "--systems", "4", "--device", "cpu"]  # fmt: skip
    assert cli.run(options) == 0
    out = capsys.readouterr().out
    assert "Zn1 (32 atoms): 62.3992 K and 2.46155 angstrom by the rule Zn" in out
