"""CIF files that are read, with a warning or without, and those that are refused."""

from __future__ import annotations

import math
import sys
import warnings
from importlib.resources import files

import adsorption_model
import numpy as np
import pytest

from manymove.adsorption.frameworks import Framework, read_framework

ATOMS = """loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
"""
PLAIN = "O1 O 0.1 0.2 0.3\nTi1 Ti 0.2 0.2 0.3\n"


def cif(
    symmetry: str = "",
    atoms: str = PLAIN,
    a: float = 9,
    b: float = 10,
    c: float = 12,
    gamma: float = 90,
) -> str:
    edges, angles = (a, b, c), (90, 90, gamma)
    return adsorption_model.cif(atoms, edges, angles, symmetry, occupancy=False)


@pytest.fixture
def read(tmp_path):
    def reading(text: str) -> Framework:
        path = tmp_path / "test.cif"
        path.write_text(text)
        return read_framework(path)

    return reading


@pytest.fixture
def quietly(read):
    def reading(text: str) -> Framework:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return read(text)

    return reading


P1 = "_symmetry_space_group_name_H-M 'P 1'\n"
OPERATIONS = "loop_\n_symmetry_equiv_pos_as_xyz\n'x,y,z'\n'-x,-y,-z'\n"


def test_what_is_in_order_is_read_without_a_word(quietly):
    assert quietly(cif(P1)).formula == "O1 Ti1"
    assert quietly("\ufeff" + cif(P1)).formula == "O1 Ti1"  # as editors on Windows save it
    assert quietly(cif(OPERATIONS)).formula == "O2 Ti2"
    assert quietly(cif("_symmetry_Int_Tables_number 1\n")).formula == "O1 Ti1"
    for name in ("MFI", "LTA"):
        read_framework(name)


# ---- symmetry ------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["_symmetry_Int_Tables_number", "_space_group_IT_number"])
def test_operations_are_derived_from_the_number_of_the_group(tag, read, quietly):
    with pytest.warns(UserWarning, match="standard setting, P n m a"):
        derived = read(cif(f"{tag} 62\n"))
    named = quietly(cif("_symmetry_space_group_name_H-M 'P n m a'\n"))
    assert derived.formula == "O8 Ti8"
    assert np.allclose(derived.fractional, named.fractional)


@pytest.mark.parametrize(
    ("symmetry", "cell", "message"),
    [
        ("_space_group_IT_number 227\n", dict(a=9, b=9, c=9), "two choices of the origin"),
        ("_space_group_IT_number 225\n", {}, "with whose standard setting the cell does not agree"),
        ("_symmetry_space_group_name_H-M 'Q 7'\n", {}, "there is no space group 'Q 7'"),
    ],
)
def test_symmetry_is_not_guessed(symmetry, cell, message, read):
    with pytest.raises(ValueError, match=message):
        read(cif(symmetry, **cell))


@pytest.mark.parametrize(
    ("operations", "cell", "message"),
    [
        ("'-x,-y,w'", {}, r"operation '-x,-y,w' cannot be read .*quotes and translations in"),
        ("-x, -y, -z", {}, "the symmetry operation '-x,' cannot be read"),
        ("'-x+1/7,-y,-z'", {}, r"operation '-x\+1/7,-y,-z' cannot be read .Wrong denominator 7"),
        ("'x+1/3,y,z'", {}, r"the 2 symmetry operations are not a group, x\+2/3,y,z is missing"),
        ("'-x,-y,z'\n'-x,y,-z'", {}, "the 3 symmetry operations are not a group, .* is missing"),
        ("'-y,x,z'\n'-x,-y,z'\n'y,-x,z'", {}, "cell does not have the symmetry operation -y,x,z"),
        ("'-x,-y,z'\n'-x,y,-z'\n'x,-y,-z'", dict(gamma=95), "check its edges and angles"),
        ("'-y,x,z'\n'-x,-y,z'\n'y,-x,z'", dict(b=10, c=90), "cell does not have .* -y,x,z"),
        ("'-x+1/4,-y,-z'\n'-x+1/4,-y,-z'", {}, "some symmetry operations are listed twice"),
    ],
)
def test_operations_that_would_be_left_out_or_do_not_fit_are_refused(
    operations, cell, message, read
):
    with pytest.raises(ValueError, match=message):
        read(cif(f"loop_\n_symmetry_equiv_pos_as_xyz\n'x,y,z'\n{operations}\n", **cell))


def test_operations_of_an_unusual_setting_are_used(quietly):
    shifted = "loop_\n_symmetry_equiv_pos_as_xyz\n'x,y,z'\n'-x+1/4,-y+1/3,-z'\n"
    fractional = quietly(cif(shifted)).fractional
    assert len(fractional) == 4
    assert np.allclose(fractional[:2].sum(axis=0) % 1, [1 / 4, 1 / 3, 0])


def test_a_group_whose_operations_are_others_is_told(read):
    with pytest.warns(UserWarning, match=r"names the space group P n m a, but .* belong to P -1: "):
        assert read(cif("_symmetry_space_group_name_H-M 'P n m a'\n" + OPERATIONS)).formula
    with pytest.warns(UserWarning, match="names the space group 14, but its operations"):
        assert read(cif("_symmetry_Int_Tables_number 14\n" + OPERATIONS)).formula


def test_rhombohedral_groups_have_hexagonal_axes_where_the_cell_does(read):
    with pytest.warns(UserWarning, match="R -3 m:H"):
        f = read(cif("_space_group_IT_number 166\n", "Ti1 Ti 0 0 0.1\n", a=9, b=9, gamma=120))
    assert f.formula == "Ti12"  # 6 in a hexagonal cell, two of which have right angles


def test_no_symmetry_is_told(read):
    with pytest.warns(UserWarning, match=r"has no symmetry: .* list all of its atoms"):
        assert read(cif()).formula == "O1 Ti1"


# ---- sites ---------------------------------------------------------------------------------------

GROUPS = ATOMS + "_atom_site_disorder_group\n"


def test_sites_without_coordinates_are_named(read):
    with pytest.raises(ValueError, match="site O9 has no coordinates"):
        read(cif(P1, PLAIN + "O9 O ? ? ?\n"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("_cell_length_a 9", "_cell_length_a foo", "_cell_length_a is foo; it must be a length ab"),
        ("_cell_length_a 9\n", "", "has no _cell_length_a, which the unit cell needs"),
        ("_cell_angle_beta 90", "_cell_angle_beta 0", "_cell_angle_beta is 0; it must be an"),
        ("_cell_angle_beta 90", "_cell_angle_beta ?", r"_cell_angle_beta is \?; it must be an"),
        ("fract_y", "fract_b", "has no _atom_site_fract_y, which its atoms need"),
        ("O1 O 0", "O1 O x", "_atom_site_fract_x of the site O1 is x; it must be a number"),
        ("_atom_site_label", "_atom_site_name", "has no rows with _atom_site_label$"),
        ("O1 O 0", "O1 Qq 0", r"element of site O1 is not known \(Qq\)"),
    ],
)
def test_an_error_of_a_cif_file_names_its_cause(old, new, message, tmp_path):
    text = cif(atoms="O1 O 0 0.5 0\nO2 O 0.3 0 0\n")
    assert old in text
    (tmp_path / "a.cif").write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        read_framework(tmp_path / "a.cif")


@pytest.mark.parametrize(
    "change",
    [{"cell": (9.0, 9.0, -9.0)}, {"cell": (9.0, 9.0)}, {"mass": 0.0}, {"tilt": (1.0,)},
     {"tilt": (0.0, 0.0, math.nan)}],
)  # fmt: skip
def test_a_unit_cell_without_a_volume_or_a_mass_is_refused(change):
    given = {"cell": (9.0, 9.0, 9.0), "mass": 16.0, "tilt": (0.0, 0.0, 0.0), **change}
    with pytest.raises(ValueError, match="framework X: cell and mass must be positive"):
        Framework("X", fractional=np.zeros((1, 3)), elements=("O",), **given)


def test_cartesian_coordinates_are_refused_as_such(read):
    with pytest.raises(ValueError, match="has Cartesian coordinates"):
        read(cif(P1).replace("_fract_", "_Cartn_"))


@pytest.mark.parametrize(
    ("x", "message"),
    [("0.1", r"atoms 0 \(O1\) and 2 \(O9\) are at the same place, 0 angstrom apart: .* twice"),
     ("0.12", r"atoms 0 \(O1\) and 2 \(O9\) overlap, 0.18 angstrom apart")],
)  # fmt: skip
def test_a_site_that_is_there_twice_is_named(x, message, read):
    with pytest.raises(ValueError, match=message):
        read(cif(P1, PLAIN + f"O9 O {x} 0.2 0.3\n"))


@pytest.mark.parametrize("groups", ["12", "-."])
def test_disorder_groups_that_exclude_each_other_are_refused(groups, read):
    first, second = ("-1" if g == "-" else g for g in groups)
    atoms = f"O1 O 0.1 0.2 0.3 {first}\nO2 O 0.3 0.2 0.3 {second}\n"
    with pytest.raises(ValueError, match=r"exclude each other \(site O1.*: keep one group"):
        read(cif(P1, atoms).replace(ATOMS, GROUPS))


def test_one_disorder_group_is_told(read):
    atoms = "O1 O 0.1 0.2 0.3 1\nTi2 Ti 0.2 0.2 0.3 .\n"
    with pytest.warns(UserWarning, match="disorder group 1"):
        assert read(cif(P1, atoms).replace(ATOMS, GROUPS)).formula == "O1 Ti1"


@pytest.mark.parametrize("water", ["Ow O 0.6 0.6 0.6\n", "Ow O 0.1 0.41 0.8\n",
                                   "Ow O 0.6 0.6 0.6\nH1 H 0.7 0.6 0.6\n"])  # fmt: skip
def test_water_is_told(water, read):
    """Alone, at a metal, and with hydrogen."""
    atoms = PLAIN + "Zn1 Zn 0.1 0.2 0.8\n" + water
    with pytest.warns(UserWarning, match="site Ow looks like water"):
        read(cif(P1, atoms))


def test_other_oxygen_is_no_water(quietly):
    """Between silicon and a metal, of a silanol, of a vanadyl group, between two metals."""
    quietly(cif(P1, "Ti1 Ti 0.2 0.2 0.3\nO1 O 0.37 0.2 0.3\nH1 H 0.45 0.2 0.3\n"))
    quietly(cif(P1, "V1 V 0.2 0.2 0.3\nO1 O 0.375 0.2 0.3\n"))
    quietly(cif(P1, "Zn1 Zn 0.2 0.2 0.3\nO1 O 0.42 0.2 0.3\nZn2 Zn 0.64 0.2 0.3\n"))


# ---- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("author", ["'O. Yaghi',", '"O. Yaghi", ', "'M. O'Keeffe, and O. Yaghi',"])
def test_a_comma_after_an_author_is_ignored(author, read):
    text = cif(f"_citation_author_name  {author}\n_citation_year 2002\n" + P1)
    with pytest.warns(UserWarning, match=r"comma after a quoted string .* \(line 8\)"):
        assert read(text).formula == "O1 Ti1"


def test_text_fields_keep_their_commas(read):
    field = "_publ_section_comment\n;\n'not a string',\n;\n"
    with pytest.raises(ValueError, match="no CIF file"):
        read(cif(field + "_citation_title 'unfinished\n" + P1))
    with pytest.warns(UserWarning, match=r"\(line 12\)"):
        read(cif(field + "_citation_author_name 'O. Yaghi',\n" + P1))


CHARGED = """loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_charge
"""


def test_charges_are_those_of_the_sites(read):
    """Labels may occur twice, with different charges; each atom has the charge of its row."""
    text = adsorption_model.cif("", (9, 10, 12), (90, 90, 90), OPERATIONS, occupancy=False)
    head = text.partition("loop_\n_atom_site_label")[0]
    rows = "O1 O 0.1 0.2 0.3 -0.25\nO1 O 0.3 0.2 0.3 -0.75\nTi1 Ti 0.2 0.2 0.3 1.0\n"
    f = read(head + CHARGED.replace("_atom_site_c", "_Atom_site_C") + rows)  # the case is free
    assert f.labels == ("O1",) * 4 + ("Ti1",) * 2
    assert np.array_equal(f.charges, [-0.25, -0.25, -0.75, -0.75, 1, 1])


@pytest.mark.parametrize("charge", ["?", "nan", "1.0e"])
def test_charges_that_are_no_numbers_are_refused(charge, read):
    text = cif(P1).replace("fract_z\n", "fract_z\n_atom_site_charge\n")
    with pytest.raises(ValueError, match=r"site Ti1 has the charge .*, not a number"):
        read(
            text.replace("O1 O 0.1 0.2 0.3", "O1 O 0.1 0.2 0.3 0").replace(
                "Ti 0.2 0.2 0.3", f"Ti 0.2 0.2 0.3 {charge}"
            )
        )


@pytest.mark.parametrize("occupancy", ["50%", "1.2", "nan", "half"])
def test_occupancies_that_would_be_taken_for_one_are_refused(occupancy, read, quietly):
    def with_occupancy(value: str) -> str:
        text = cif(P1).replace("fract_z\n", "fract_z\n_atom_site_occupancy\n")
        return text.replace("0.2 0.3\n", f"0.2 0.3 {value}\n")

    with pytest.raises(ValueError, match=f"site O1 has the occupancy {occupancy}: it must be 1"):
        read(with_occupancy(occupancy))
    for value in ("1", "1.0000(3)", "?", "."):
        assert quietly(with_occupancy(value)).formula == "O1 Ti1"


# ---- bonds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [dict(), dict(edge=46.4), dict(symmetry="'x,y,z'")])
def test_atoms_with_too_few_bonds_are_told(cell, tmp_path):
    """The asymmetric unit of LTA as a whole crystal, and a cell in bohr."""
    text = (files("manymove") / "data" / "LTA.cif").read_text()
    before, after = text.split("'x,y,z'")[0], text[text.index("loop_\n_atom_site_label") :]
    path = tmp_path / "lta.cif"
    if "symmetry" in cell:
        text = f"{before}{cell['symmetry']}\n{after}"
    path.write_text(text.replace("24.555", str(cell.get("edge", 24.555))))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read_framework(path)
    told = [str(w.message) for w in found if "has too few bonded neighbors: " in str(w.message)]
    assert len(told) == bool(cell)
    assert all("Si1 (" in text and "unit of the cell may not be angstrom" in text for text in told)


def test_a_missing_ase_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ase", None)
    with pytest.raises(ImportError, match=r"Framework\.from_ase needs ase: pip install ase"):
        Framework.from_ase(object())
