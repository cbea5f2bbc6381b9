# SPDX-License-Identifier: BSD-3-Clause
"""Which rule of a force field counts for a label: by the source code of RASPA2 (potentials.c,
ReadForceFieldDefinitionsMixingRules; framework.c, ReadFrameworkDefinitionCIF) and of RASPA3
(cif_reader.cpp, forcefield.cpp)."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from adsorption_model import cif, small_framework

from manymove import Adsorption, Interactions, cli
from manymove.adsorption import CO2, TRAPPE_ZEO, ForceField, Framework, Molecule, Site
from manymove.adsorption.charges import charges_of_framework
from manymove.adsorption.labels import framework_atoms, lines_of, tell_rules
from manymove.adsorption.molecule_files import read_molecule
from manymove.adsorption.rigid import settled

# As in RASPA2's ExampleMOFsForceField: short wildcards first, united atoms at the end.
LINES = ("O_ lennard-jones 48 3.0", "C_ lennard-jones 47 3.4", "Cu_ lennard-jones 2.5 3.1",
         "C_co2 LENNARD_JONES 29 2.7", "O_co2 lennard-jones 85 3.1", "N_com none",
         "C lennard-jones 0.8 6.3")  # fmt: skip
ATOMS = (("C_co2", 12.0, 0.65), ("O_co2", 16.0, -0.325), ("N_com", 0.0, 0.8), ("C", 12.0, 0.1))


def raspa2(folder, lines=LINES, atoms=ATOMS, pairs="", rule="Lorentz-Berthelot", **options):
    folder.mkdir(exist_ok=True)
    (folder / "force_field_mixing_rules.def").write_text(
        f"# shifted or truncated\nshifted\n# tail\nno\n# number\n{len(lines)}\n# type\n"
        + "\n".join(lines) + f"\n# general mixing rule\n{rule}\n"
    )  # fmt: skip
    rows = [f"{name} yes X X 0 {mass} {charge} 0" for name, mass, charge in atoms]
    text = f"# number\n{len(rows)}\n# type\n" + "\n".join(rows)
    (folder / "pseudo_atoms.def").write_text(text + "\n")
    if pairs:
        (folder / "force_field.def").write_text(pairs)
    return ForceField.read(folder, **options)


def framework(labels, elements, charges=None) -> Framework:
    places = np.linspace(0.05, 0.85, len(labels))[:, None] * np.ones(3)
    return Framework("atoms", 3 * (25.0,), places, tuple(elements), 100.0, labels=tuple(labels),
                     charges=charges)  # fmt: skip


# ---- RASPA2 --------------------------------------------------------------------------------------


def test_a_bead_of_a_later_line_does_not_replace_a_wildcard(tmp_path):
    field = raspa2(tmp_path / "field")
    assert field.law_of_atom("C1", "C") == (47.0, 3.4)
    assert field.law_of_atom("C", "C") == (0.8, 6.3)
    assert field.law_of_atom("Cu1", "Cu") == (2.5, 3.1)
    assert field.law_of_atom("c12", "C") == (47.0, 3.4)
    assert field.law_of_site("O_co2") == (85.0, 3.1)
    assert field.law_of_site("N_COM") == (0.0, 1.0)
    assert field.law_of_site("O_n2o") is None  # only a wildcard: it keeps its own parameters


def test_the_last_line_that_matches_counts(tmp_path):
    field = raspa2(tmp_path / "field", (LINES[2], LINES[4], *LINES[:2], "O_ lennard-jones 9 2.9"))
    assert field.law_of_atom("Cu1", "Cu") == (47.0, 3.4)
    assert field.law_of_site("O_co2") == (9.0, 2.9)


def test_labels_without_their_numbers_are_those_of_raspa2(tmp_path):
    field = raspa2(tmp_path / "field", remove_atom_number_code=True)
    assert field.law_of_atom("C1", "C") == (0.8, 6.3)
    assert field.law_of_atom("C_r12", "C") == (0.8, 6.3)
    assert field.law_of_atom("O7B", "O") == (48.0, 3.0)
    plus = raspa2(tmp_path / "field", (*LINES, "Cu2+ lennard-jones 7 2.0"),
                  remove_atom_number_code=True)  # fmt: skip
    assert plus.law_of_atom("Cu2+_1", "Cu") == (7.0, 2.0)
    assert plus.law_of_atom("Cu2", "Cu") == (2.5, 3.1)
    with pytest.raises(ValueError, match="is for a folder of RASPA2, not for TraPPE-zeo"):
        ForceField.read("TraPPE-zeo", remove_atom_number_code=True)


def test_a_label_that_no_line_matches_is_looked_up_without_its_number(tmp_path):
    lines = ("Si lennard-jones 22 2.3", "O lennard-jones 53 3.3")
    field = raspa2(tmp_path / "field", lines, [("Si", 28.0, 1.5), ("O", 16.0, -0.75)])
    assert field.law_of_atom("O12", "O") == (53.0, 3.3)
    assert field.charge_of_atom("Si1", "Si") == 1.5
    with pytest.raises(ValueError, match=r"no parameters for Al1 \(Al\)"):
        field.law_of_atom("Al1", "Al")


def test_pairs_have_wildcards_and_mixing_rules_of_their_own(tmp_path):
    pairs = (
        "# rules\n0\n# interactions\n3\n# types\nC_co2 O_ lennard-jones 10 2.5\n"
        "C_co2 O2 none\nO_co2 C_ lennard-jones 30 3.5\n# mixing rules\n1\nO_co2 Cu1 "
        "Lorentz_Berthelot\n"
    )
    field = raspa2(tmp_path / "field", pairs=pairs, rule="Jorgensen")
    atoms = framework(("O1", "O2", "Cu1", "Cu2"), ("O", "O", "Cu", "Cu"))
    laws = settled(atoms, [CO2], {}, field, None, 9.0, framework_charges=dict(O=0, Cu=0))
    oxygen, carbon = (laws["labels"].index(label) for label in ("O_co2", "C_co2"))
    types = laws["rigid"]["types"]
    assert types[carbon]["with_framework"][2:] == [(10.0, 2.5), (0.0, 1.0)]  # Cu1, Cu2, O1, O2
    # "C_" matches copper as well, but the mixing rule of the pair comes later.
    assert types[oxygen]["with_framework"][:2] == [
        (pytest.approx(math.sqrt(85 * 2.5)), pytest.approx(3.1)), (30.0, 3.5)]  # fmt: skip
    assert types[oxygen]["with_framework"][2] == (
        pytest.approx(math.sqrt(85 * 48)), pytest.approx(math.sqrt(3.1 * 3.0)))  # fmt: skip


def test_a_molecule_of_raspa2_follows_the_lines(tmp_path):
    field = raspa2(tmp_path / "field", atoms=(*ATOMS, ("O_x", 16.0, 0.0)))
    (tmp_path / "one.def").write_text("0\n0\n0\n1\n1\nrigid\n1\n0 O_x 0 0 0\n")
    (site,) = read_molecule(tmp_path / "one.def", field).sites
    assert (site.epsilon, site.sigma) == (48.0, 3.0)


def test_charges_follow_the_label_that_has_the_parameters(tmp_path):
    """C1 is not the bead C, whose charge is 0.1 e."""
    charges = np.array([0.3, -0.3])
    atoms = framework(("C1", "O1"), ("C", "O"), charges)
    assert charges_of_framework(atoms, raspa2(tmp_path / "field")) == [0.3, -0.3]
    other = raspa2(tmp_path / "field", remove_atom_number_code=True)
    with pytest.warns(UserWarning, match="C1 has the charge 0.1 of the force field"):
        assert charges_of_framework(atoms, other) == [0.1, -0.3]
    exact = framework(("C", "O1"), ("C", "O"), charges)
    with pytest.warns(UserWarning, match="C has the charge 0.1 of the force field"):
        assert charges_of_framework(exact, raspa2(tmp_path / "field")) == [0.1, -0.3]


@pytest.mark.parametrize(
    ("lines", "labels", "elements", "told"),
    [
        (LINES, ("O1", "Cu1"), ("O", "Cu"), None),
        (LINES, ("C1", "C2"), ("C", "C"),
         r"C_ \(47 K, 3.4 angstrom\) applies to C1, C2; without the number of the label the rule "
         r"C \(0.8 K, 6.3 angstrom\) would apply, as in RASPA2 with RemoveAtomNumberCodeFromLabel"),
        (LINES, ("C",), ("C",), r"C \(0.8 K, 6.3 angstrom\) applies to C because it is the last "
         r"one that matches; C_ \(47 K, 3.4 angstrom\) matches as well"),
        (LINES, ("Cs1",), ("Cs",), "C_ .* applies to Cs1, although the element is Cs"),
        ((*LINES[:3], "C_ lennard-jones 1 2"), ("Cu1",), ("Cu",), "C_ .* applies to Cu1 because"),
        ((LINES[4], *LINES[:4]), ("O1",), ("O",),
         "O_ .* applies to the site O_co2 because its line comes after O_co2 itself"),
    ],
)  # fmt: skip
def test_rules_that_could_be_others_are_told(lines, labels, elements, told, tmp_path):
    field = raspa2(tmp_path / "field", lines)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tell_rules(framework(labels, elements), [CO2], field)
    assert len(found) == bool(told)
    if told:
        with pytest.warns(UserWarning, match=f"^framework atoms: the rule {told}"):
            tell_rules(framework(labels, elements), [CO2], field)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("shifted\n", "other\n", '"other" is neither shifted nor truncated'),
        ("tail\nno", "tail\nperhaps", '"perhaps" is neither yes nor no'),
        ("Lorentz-Berthelot", "Waldman", 'unknown mixing rule "Waldman"'),
    ],
)
def test_words_that_raspa2_would_take_for_something_else_are_refused(old, new, message, tmp_path):
    raspa2(tmp_path / "field")
    path = tmp_path / "field" / "force_field_mixing_rules.def"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ValueError, match=message):
        ForceField.read(tmp_path / "field")


# ---- RASPA3 --------------------------------------------------------------------------------------

RASPA3 = {
    "pseudoAtoms": [
        {"name": "O", "framework": True, "charge": -0.5, "mass": 16.0},
        {"name": "O2", "framework": True, "charge": -0.4},
        {"name": "C", "framework": False, "charge": 0.0},
        {"name": "O", "framework": True, "charge": 9.0, "mass": 99.0},
    ],
    "SelfInteractions": [
        {"name": "O", "parameters": [53.0, 3.3]},
        {"name": "O2", "type": "lennard-jones", "parameters": [60.0, 3.0]},
        {"name": "C", "parameters": [0.8, 6.3]},
    ],
    "binaryinteractions": [{"names": ["S", "O"], "parameters": [11.0, 2.0]},
                           {"names": ["S", "C"], "type": "none"}],
    "mixingRule": "Jorgensen", "TruncationMethod": "shifted",
}  # fmt: skip


def raspa3(folder, **changes) -> ForceField:
    (folder / "field.json").write_text(json.dumps({**RASPA3, **changes}))
    return ForceField.read(folder / "field.json")


def test_labels_and_keys_are_those_of_raspa3(tmp_path):
    field = raspa3(tmp_path)
    assert (field.mixing, field.potential) == ("geometric", "shifted")
    assert field.law_of_atom("O12", "O") == field.law_of_atom("O1A", "O") == (53.0, 3.3)
    assert field.law_of_atom("O2", "O") == (60.0, 3.0)
    assert field.charge_of_atom("O2", "O") == -0.4
    assert field.charge_of_atom("O12", "O") == -0.5  # the first of two entries
    assert field.masses["O"] == 16.0
    # S and O are another pair than S and O2, which is another pseudo-atom.
    assert field.given_with_atom("S", "O12", "O") == (11.0, 2.0)
    assert field.given_with_atom("S", "O2", "O") is None
    assert field.given_with_atom("S", "C1", "C") == (0.0, 1.0)
    missing = {key: value for key, value in RASPA3.items() if key != "TruncationMethod"}
    (tmp_path / "field.json").write_text(json.dumps(missing))
    assert ForceField.read(tmp_path / "field.json").potential == "truncated"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"TruncationMethod": "smoothed"}, '"smoothed" is neither shifted nor truncated'),
        ({"ShiftedPotentialPairs": [["O", "C"]]}, "potentials by pair .shiftedpotentialpairs"),
        ({"NoTailCorrectionPairs": [["O", "C"]]}, "potentials by pair .notailcorrectionpairs"),
        ({"ChargeMethod": "Wolf"}, 'ChargeMethod is "Wolf"; only Ewald is supported'),
        ({"CutOffFrameworkVDW": 12.0, "CutOffMoleculeVDW": 14}, r"several cutoffs \(12, 14 angst"),
    ],
)
def test_conventions_of_raspa3_that_would_be_ignored_are_refused(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        raspa3(tmp_path, **changes)


def test_a_bead_of_raspa3_in_a_framework_and_another_cutoff_are_told(tmp_path):
    atoms = framework(("C1", "O2"), ("C", "O"))
    one = [Molecule("one", (Site("S", (0, 0, 0), 50.0, 3.0),))]
    with pytest.warns(UserWarning) as found:
        settled(atoms, one, {}, raspa3(tmp_path, CutOffVDW=12.0), None, 9.0)
    assert [str(w.message) for w in found] == [
        "framework atoms: the rule C (0.8 K, 6.3 angstrom) applies to C1, although the file marks "
        "it as not part of a framework",
        "the file of the force field has the cutoff 12 angstrom, but the run has the cutoff 9",
    ]


# ---- what is printed -----------------------------------------------------------------------------


def test_the_parameters_and_charges_of_each_label_are_told():
    atoms = framework(("Si1", "Si2", "O1", "Al1"), ("Si", "Si", "O", "Al"))
    field = ForceField({**TRAPPE_ZEO.parameters, "Al": None})
    rows = framework_atoms(atoms.labels, atoms.elements, [CO2], field, [1.0, 1.5, -0.75, 2.0])
    assert rows[0] == {"label": "Si1", "element": "Si", "atoms": 1, "rule": "Si",
                       "epsilon_K": 22.0, "sigma_angstrom": 2.3, "charge_e": 1.0}  # fmt: skip
    assert lines_of(rows) == [
        "Si1, Si2 (2 atoms): 22 K and 2.3 angstrom by the rule Si, 1 to 1.5 e",
        "O1 (1 atom): 53 K and 3.3 angstrom by the rule O, -0.75 e",
        "Al1 (1 atom): no interaction by the rule Al, 2 e",
    ]


def test_an_object_and_its_checkpoint_have_the_atoms_of_the_framework(tmp_path):
    a = Adsorption(
        small_framework(),
        1,
        interactions=Interactions(cutoff=4.0),
        systems=2,
        seed=1,
        device="cpu",
        threads=1,
    )
    found = {row["label"]: (row["atoms"], row["epsilon_K"]) for row in a.framework_atoms}
    assert found == {"O": (4, 115.0), "Si": (1, None)}
    assert lines_of(a.framework_atoms)[1] == "Si (1 atom): no interaction with CH4"
    a.save(tmp_path / "state")
    assert Adsorption.load(tmp_path / "state", device="cpu").framework_atoms == a.framework_atoms


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_commands_print_the_rule_of_each_label(tmp_path, capfd):
    """The option holds for a resumed run as well."""
    raspa2(tmp_path / "field")
    rows = "C1 C 0.1 0.1 0.1 1 0.4\nO1 O 0.4 0.4 0.4 1 -0.4"
    column = "_atom_site_occupancy\n"
    text = cif(rows, (10, 10, 10)).replace(column, column + "_atom_site_charge\n")
    (tmp_path / "mof.cif").write_text(text)
    options = ["--framework", tmp_path / "mof.cif", "--force-field", tmp_path / "field",
               "--adsorbates", "CO2", "--cutoff", "5", "--systems", "2", "--device", "cpu",
               "--threads", "1", "--grid-spacing", "1", "--barrier", "none"]  # fmt: skip

    def run(*more):
        code = cli.run([*map(str, more)])
        return code, *capfd.readouterr()

    code, out, _ = run("henry", *options, "--insertions", "10", "--json", tmp_path / "h.json")
    assert code == 0
    assert "C1 (1 atom): 47 K and 3.4 angstrom by the rule C_, 0.4 e" in out
    found = json.loads((tmp_path / "h.json").read_text())["framework_atoms"]
    assert [row["rule"] for row in found] == ["C_", "O_"]
    code, out, _ = run(
        "pores",
        *options[:4],
        "--cutoff",
        "5",
        "--grid-spacing",
        "0.3",
        "--insertions",
        "10",
        "--samples",
        "5",
        "--remove-atom-number-code",
    )
    assert code == 0 and "C1 (1 atom): 0.8 K and 6.3 angstrom by the rule C\n" in out
    job = ["adsorption", *options, "--remove-atom-number-code", "--molecules", "1",
           "--equilibrate", "0", "--output", tmp_path / "out"]  # fmt: skip
    assert run(*job, "--framework-charges", "C=0.4,O=-0.4", "--steps", "5")[0] == 0
    found = json.loads((tmp_path / "out" / "summary.json").read_text())["framework_atoms"]
    assert [(row["rule"], row["charge_e"]) for row in found] == [("C", 0.4), ("O_", -0.4)]
    code, _, err = run("adsorption", "--resume", "--steps", "9", "--output", tmp_path / "out")
    assert code == 0, err
