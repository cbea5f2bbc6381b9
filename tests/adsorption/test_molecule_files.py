# SPDX-License-Identifier: BSD-3-Clause
"""Molecules of RASPA2 and RASPA3 and of this package, and charges of frameworks by label."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from adsorption_model import molecules_in, small_framework

from manymove import Adsorption, EnergyGrid, Interactions
from manymove.adsorption import (
    CO2,
    ETHANE,
    WATER,
    Adsorbate,
    ForceField,
    Framework,
    read_molecule,
)
from manymove.adsorption.charges import (
    charges_of_framework,
    charges_of_option,
    read_charges,
    tell_bare_charges,
)
from manymove.adsorption.molecule_files import read_species
from manymove.adsorption.plots import published
from manymove.adsorption.rigid import settled

FIELD = ForceField(
    {"O_co2": (79.0, 3.05), "C_co2": (27.0, 2.80), "CH4": (148.0, 3.73), "O": (90.0, 2.6),
     "Si": (60.0, 2.4)},
    {"O_co2": -0.35, "C_co2": 0.7, "O": -0.1, "Si": 0.4},
    uncharged=("CH4",),
)  # fmt: skip
RASPA3 = {
    "CriticalTemperature": 304.1282, "CriticalPressure": 7377300.0, "AcentricFactor": 0.22394,
    "Type": "rigid",
    "pseudoAtoms": [["O_co2", [1, 2, 4.16]], ["C_co2", [1, 2, 3]], ["O_co2", [1, 2, 1.84]]],
    "Bonds": [[0, 1], [1, 2]],
}  # fmt: skip
RASPA2 = """# critical constants: Temperature [T], Pressure [Pa], and Acentric factor [-]
304.1282
7377300.0
0.22394
# Number Of Atoms
3
# Number of groups
1
# CO2-group
rigid
# number of atoms
3
# atomic positions
0 O_co2 0.0 0.0 1.16
1 C_co2 0.0 0.0 0.0   // carbon
2 O_co2 0.0 0.0 -1.16
# Chiral centers Bond
 0 2
0 1 RIGID_BOND
"""


def written(folder, name, contents):
    path = folder / name
    path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
    return path


def test_molecules_of_raspa_are_those_of_the_package(tmp_path):
    for name, contents in (("CO2.json", RASPA3), ("CO2.def", RASPA2)):
        found = read_molecule(written(tmp_path, name, contents), FIELD)
        assert [s.label for s in found.sites] == [s.label for s in CO2.sites]
        assert found.positions == pytest.approx(CO2.positions, abs=1e-12)
        assert [(s.epsilon, s.sigma, s.charge) for s in found.sites] == [
            (s.epsilon, s.sigma, s.charge) for s in CO2.sites
        ]
        assert found.name == "CO2" and found.critical_pressure == pytest.approx(73.773)
        assert found.fugacity_coefficient(10, 300) == pytest.approx(
            CO2.fugacity_coefficient(10, 300)
        )
    assert read_molecule("H2O") is WATER


def test_files_may_begin_with_a_byte_order_mark(tmp_path):
    """Notepad and Excel write it."""
    for name, contents in (("CO2.json", json.dumps(RASPA3)), ("CO2.def", RASPA2)):
        marked = written(tmp_path, name, "\ufeff" + contents)
        assert read_molecule(marked, FIELD).positions == pytest.approx(CO2.positions, abs=1e-12)
    table = written(tmp_path, "table.csv", "\ufeffpressure_bar,loading\n1,2\n")
    assert published(table)["loading"] == [2.0]
    settings = written(tmp_path, "field.json", "\ufeff{}")
    assert ForceField.read(settings).parameters == {}


def test_a_single_site_of_raspa_may_be_without_a_position(tmp_path):
    text = "190.5\n4599200.0\n0.01\n1\n1\nflexible\n1\n0 CH4\n"
    (site,) = read_molecule(written(tmp_path, "methane.def", text), FIELD).sites
    assert (site.position, site.epsilon, site.charge) == ((0, 0, 0), 148.0, 0.0)


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("a.json", {**RASPA3, "Type": "flexible"}, 'a.json: the molecule is flexible \\("Type" is'),
        ("a.json", {"pseudoAtoms": RASPA3["pseudoAtoms"], "Bends": [[[0, 1, 2], "HARMONIC", [1]]]},
         'flexible \\(it has "bends"'),
        ("a.json", {"pseudoAtoms": RASPA3["pseudoAtoms"], "Bonds": [[[0, 1], "HARMONIC", [1, 2]]]},
         "flexible \\(it has bonds of the kind HARMONIC"),
        ("a.json", {"pseudoAtoms": [["O_co2", [0, 0]]]}, "a label and three coordinates"),
        ("a.json", {"pseudoAtoms": [["X", [0, 0, 0]]]}, "has no parameters for the site X"),
        ("a.json", {"pseudoAtoms": [["O_co2", [0, 0, 0]]]}, "a has a net charge of -0.35 e"),
        ("a.json", {"pseudoAtoms": 9 * [["CH4", [0, 0, 0]]]}, "from 1 to 8 sites, got 9"),
        ("a.json", {"name": "a", "sites": [{"label": "q", "position": [0, 0, 0]}]},
         'site q: "epsilon" is missing'),
        ("a.json", {"name": "a", "sites": [{"label": "CH4", "place": [0, 0, 0]}]}, 'own "place"'),
        ("a.json", "{", "does not list adsorbates"),
        ("a.json", {"pseudoAtoms": RASPA3["pseudoAtoms"], "Bonds": [[]]},
         "does not list adsorbates"),
        ("a.def", RASPA2.replace("rigid", "flexible", 1), "flexible \\(its group is \"flexible\""),
        ("a.def", RASPA2.replace("groups\n1", "groups\n2"), "flexible \\(it has 2 groups"),
        ("a.def", RASPA2.replace("0.0 1.16", "0.0"), "atom 0 has 2 coordinates"),
        ("a.def", RASPA2.replace("1 C_co2", "7 C_co2"), "atom 1 has the number 7"),
        ("a.def", RASPA2.replace("atoms\n3", "atoms\n2"), "3 atoms, and 2 in the group"),
        ("a.def", "304\n", "not a molecule file of RASPA2"),
    ],
)  # fmt: skip
def test_what_is_no_rigid_molecule_is_refused_by_name(name, contents, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_molecule(written(tmp_path, name, contents), FIELD)


def test_molecules_of_raspa_need_a_force_field(tmp_path):
    path = written(tmp_path, "CO2.json", RASPA3)
    with pytest.raises(ValueError, match=r"CO2\.json has neither Lennard-Jones parameters nor"):
        read_molecule(path)
    with pytest.raises(FileNotFoundError, match="no molecule CO3: expected CO2, N2, CH4, C2H6, H2"):
        read_molecule("CO3")


def test_a_file_of_the_package_has_molecules_and_adsorbates(tmp_path):
    sites = [
        {"label": s.label, "position": s.position, "epsilon": s.epsilon, "sigma": s.sigma,
         "charge": s.charge}
        for s in CO2.sites
    ]  # fmt: skip
    single = {"name": "Ar", "epsilon": 120.0, "sigma": 3.4, "framework": {"O": None}}
    path = written(tmp_path, "two.json", [{"name": "CO2", "sites": sites}, single])
    first, second = read_species(path)
    assert first.sites == CO2.sites and isinstance(second, Adsorbate)
    with pytest.raises(ValueError, match="does not have exactly one molecule"):
        read_molecule(path)


def test_names_and_paths_are_adsorbates(tmp_path):
    def energy(given, **more):
        return molecules_in(
            (25.0, 25.0, 25.0), (2, 1), given, systems=2, threads=1, **more
        ).energies.tolist()

    path = written(tmp_path, "CO2.json", RASPA3)
    assert energy([path, "H2O"], force_field=FIELD) == energy([CO2, WATER], force_field=FIELD)
    assert energy(["CO2", "H2O"]) == energy([CO2, WATER])


# ---- charges of frameworks -----------------------------------------------------------------------


def test_charges_of_a_framework_are_looked_up_in_order(tmp_path):
    small = small_framework()
    own = np.array([-0.2, -0.2, -0.2, -0.2, 0.8])
    charged = Framework(
        "small", small.cell, small.fractional, small.elements, 92.0, charges=own,
        labels=("O1", "O2", "O3", "O4", "Si1"),
    )  # fmt: skip
    assert charges_of_framework(charged, ForceField()) == own.tolist()
    with pytest.warns(UserWarning, match="O1 has the charge -0.1 of the force field, not the -0.2"):
        assert charges_of_framework(charged, FIELD) == [-0.1, -0.1, -0.1, -0.1, 0.4]
    assert charges_of_framework(charged, FIELD, "cif") == own.tolist()
    path = written(tmp_path, "charges.txt", "# by hand\nO -0.3\nO4 -0.6 # another\n\nSi1 1.5\n")
    assert charges_of_framework(charged, FIELD, path) == [-0.3, -0.3, -0.3, -0.6, 1.5]
    assert charges_of_framework(charged, FIELD, read_charges(path))[3] == -0.6
    # A file of RASPA lists atoms without a charge: they keep that of the CIF file.
    listed = ForceField(charges={"Si": 0.4}, uncharged=("O",))
    with pytest.warns(UserWarning, match='Si1 .* 0.4 .* framework_charges="cif" \\('):
        assert charges_of_framework(charged, listed) == [-0.2, -0.2, -0.2, -0.2, 0.4]
    assert charges_of_framework(small, listed) == [0, 0, 0, 0, 0.4]
    assert charges_of_framework(small, ForceField(uncharged=("O", "Si"))) is None


@pytest.mark.parametrize(("parameters", "told"), [(None, True), ((30.0, 2.6), False)])
def test_charges_without_a_core_are_told(parameters, told):
    """A cation between oxygen atoms 2.4 angstrom away does not repel oxygen without a core of its
    own, whereas the silicon of a zeolite is hidden by its oxygen."""
    x = np.array([[0, 0, 0], [2.4, 0, 0], [-2.4, 0, 0], [6, 6, 6], [7.6, 6, 6], [6, 7.6, 6.0],
                  [6, 6, 7.6], [4.4, 6, 6]])  # fmt: skip
    crystal = Framework(
        "salt", (14.0, 14.0, 14.0), x / 14 % 1, ("Na", *2 * "O", "Si", *4 * "O"), 200.0
    )
    field = ForceField(
        {"O": (53.0, 3.3), "Si": None, "Na": parameters}, {"O": -0.5, "Si": 2.0, "Na": 1.0}
    )

    def build(species):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            Adsorption(
                crystal,
                1,
                adsorbates=species,
                interactions=Interactions(
                    cutoff=6.0, force_field=field, grid=EnergyGrid(barrier=None)
                ),
                seed=1,
                device="cpu",
            )
        return [str(w.message) for w in found]

    assert build(CO2) == told * [
        "framework salt: O_co2 and Na have opposite charges but no Lennard-Jones interaction, so "
        "that molecules fall into these atoms: give the force field parameters for them"
    ]
    assert any("O_spce and Na have" in text for text in build(WATER)) == told
    # The charge of TIP4P beside the oxygen: that of the crystal keeps it away from silicon.
    oxygen, hydrogen = WATER.sites[:2]
    middle = replace(hydrogen, label="M", position=(0.0, 0.0, 0.15), charge=oxygen.charge)
    water = replace(WATER, sites=(replace(oxygen, charge=0.0), *WATER.sites[1:], middle))
    assert not any("M and Si" in text for text in build(water))
    assert any("M and Na" in text for text in build(water)) == told


def test_molecules_fall_into_no_atoms_of_an_empty_box():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        charge = {"label": "A", "charge": 1.0}
        tell_bare_charges(None, [], [], [charge], [[]], [[(0, (0.0, 0.0, 0.0))]])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("cif", 'framework_charges is "cif", but small has no charges'),
        ({"O": -0.1}, "no charge of Si"),
        ({"O": -0.1, "Si": 0.4, "Al": 1.0}, "has Al, which is not in small"),
        ({"O": float("nan"), "Si": 0.4}, "charge of O must be finite"),
        ({"O": -0.1, "Si": 0.5}, "net charge of 0.1 e per unit cell"),
    ],
)
def test_bad_charges_of_a_framework_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Adsorption(
            small_framework(),
            1,
            adsorbates=CO2,
            interactions=Interactions(cutoff=4.0, force_field=FIELD, framework_charges=given),
            seed=1,
            device="cpu",
        )


ZEROS = replace(small_framework(), charges=np.zeros(5))


@pytest.mark.parametrize(
    ("field", "given", "message"),
    [
        (ForceField(FIELD.parameters), None, "charges that are all zero, but CO2 has charges"),
        (ForceField(FIELD.parameters), "cif", 'is "cif", but small has charges that are all zero'),
        (ForceField(FIELD.parameters, uncharged=("O", "Si")), None, "charges that are all zero"),
    ],
)
def test_charges_that_are_all_zero_are_no_charges(field, given, message):
    with pytest.raises(ValueError, match=message):
        settled(ZEROS, [CO2], {}, field, None, 4.0, framework_charges=given)
    assert "rigid" in settled(ZEROS, [ETHANE], {}, field, None, 4.0)  # it has no charges


@pytest.mark.parametrize("charges", [np.zeros(5), None, [-0.2, -0.2, -0.2, -0.2, 0.8]])
def test_zero_neglects_the_charges_of_a_framework(charges):
    """As explicit zeros by label do, whatever the file has."""
    frame = replace(small_framework(), charges=charges)
    field = ForceField(FIELD.parameters)
    explicit = {"O": 0.0, "Si": 0.0}
    found = [
        settled(frame, [CO2], {}, laws, None, 4.0, framework_charges=given)
        for laws, given in (
            (field, "zero"), (field, explicit), (replace(field, charges=explicit), None),
        )
        if given is not None or charges is None or not np.any(charges)
    ]  # fmt: skip
    assert all(each == found[0] for each in found)
    assert found[0]["rigid"]["framework_charge"] == 5 * [0.0]
    assert found[0]["framework_atoms"][0]["charge_e"] == 0.0


@pytest.mark.parametrize("method", ["qeq", "EQeq", "DDEC6"])
def test_methods_that_compute_charges_are_refused_by_name(method, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = f"charges by {method} are not computed here: .* _atom_site_charge, or a text file"
    with pytest.raises(ValueError, match=message):
        charges_of_option(method)
    with pytest.raises(ValueError, match=message):
        charges_of_framework(small_framework(), ForceField(), method)
    written(tmp_path, method, "O -0.3\n")  # a file of this name
    assert charges_of_option(method) == {"O": -0.3}


def test_bad_files_of_charges_are_refused(tmp_path):
    for text, message in (
        ("O", 'the line "O" is not a label and its charge'),
        ("O x", "is not a label"),
        ("O -1\nO -2", "O has two charges"),
        ("# none\n", "has no charges"),
    ):
        with pytest.raises(ValueError, match=message):
            read_charges(written(tmp_path, "charges.txt", text))


def test_charges_without_effect_are_refused():
    with pytest.raises(ValueError, match="framework_charges has no effect: the molecules have"):
        Adsorption(
            small_framework(),
            1,
            adsorbates="CH4",
            interactions=Interactions(
                cutoff=4.0,
                force_field=ForceField({"O": (90.0, 2.6), "Si": None}),
                framework_charges={"O": 0.0},
            ),
            seed=1,
            device="cpu",
        )


def test_an_ewald_sum_without_charges_is_refused():
    with pytest.raises(ValueError, match="ewald has no effect: the molecules have no charges"):
        molecules_in((25.0, 25.0, 25.0), 2, "C2H6", ewald=(0.3, 2.0), systems=1)


def test_an_ewald_sum_without_waves_is_refused():
    with pytest.raises(ValueError, match=r"k_max is 0\.2 / angstrom, below the smallest"):
        molecules_in((25.0, 25.0, 25.0), 1, CO2, ewald=(0.3, 0.2), systems=1)
