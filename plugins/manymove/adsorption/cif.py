"""Reading of CIF files, with errors or warnings where their contents are ambiguous."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from manymove.warned import warn

_BOND = 1.25  # times the sum of the covalent radii: closer atoms are bonded
_OXO = 1.85  # angstrom: the only oxygen of a metal is not water if it is closer
_FEWEST_BONDS = {"Si": 4, "Al": 4, "Ge": 4, "C": 2}  # bonded neighbors in a complete crystal
_METRIC = 0.02  # change of the cell's metric, in units of its edges: files have rounded cells
_MOST_NAMED = 5  # number of sites that a message names


def structure_of(text: str, source: str) -> Any:
    """The only structure with atoms of a CIF file as an object of gemmi, with its symmetry.

    Raises:
        ValueError: the file cannot be parsed, does not have exactly one block with atoms, or is
            ambiguous.
    """
    import gemmi

    document = _parsed(text, source)
    _check_columns(document, source)
    try:
        found = [gemmi.make_small_structure_from_block(block) for block in document]
    except (ValueError, RuntimeError) as error:  # gemmi raises both
        raise ValueError(f"{source} is no CIF file: {error}") from None
    if any(_is_cartesian(block) for block in document):
        raise ValueError(
            f"{source} has Cartesian coordinates (_atom_site_Cartn_x): write fractional ones "
            "(_atom_site_fract_x), relative to the edges of the cell"
        )
    structures = [s for s in found if len(s.sites)]
    if len(structures) != 1:
        several = f"{len(structures)} blocks with atoms, expected one"
        raise ValueError(f"{source} has {several if structures else _no_atoms(document)}")
    structure = structures[0]
    _check_sites(structure, source)
    _check_occupancies(document, source)
    _settle_symmetry(structure, source)
    _check_operations(structure, source)
    _tell_bonds(structure, source)
    return structure


def charges_of(text: str, source: str, structure: Any) -> list[float] | None:
    """The charges (_atom_site_charge) of the sites of a structure; None if the file has none.

    Raises:
        ValueError: a charge is missing or is not a number.
    """
    if "_atom_site_charge" not in text.lower():
        return None
    charges: list[float] = []
    for block in _parsed(text, source):
        if not len(block.find_values("_atom_site_fract_x")):
            continue  # not the block of the structure
        for label, value in block.find(["_atom_site_label", "_atom_site_charge"]):
            charge = _number(value)
            if not math.isfinite(charge):
                raise ValueError(f"{source}: site {label} has the charge {value}, not a number")
            charges.append(charge)
    if not charges:
        return None
    if len(charges) != len(structure.sites):
        raise ValueError(
            f"{source} has {len(charges)} charges of {len(structure.sites)} sites: give all or none"
        )
    return charges


# ---- text ----------------------------------------------------------------------------------------


def _parsed(text: str, source: str) -> Any:
    """gemmi's document. Some programs write a comma after a quoted string at the end of a line, for
    example after authors; where gemmi fails because of it, that comma is left out."""
    import gemmi

    try:
        return gemmi.cif.read_string(text)
    except (ValueError, RuntimeError) as error:
        repaired, lines = _without_commas(text)
        try:
            if not lines:
                raise error
            document = gemmi.cif.read_string(repaired)
        except (ValueError, RuntimeError):
            raise ValueError(f"{source} is no CIF file: {error}") from None
    numbers = _some([str(n) for n in lines])
    _warn(f"{source}: a comma after a quoted string is not CIF and was ignored (line {numbers})")
    return document


def _without_commas(text: str) -> tuple[str, list[int]]:
    """The text without commas between a quoted string and the end of a line, and the numbers of
    these lines. Text fields between lines with semicolons are left as they are."""
    lines, changed, in_field = text.splitlines(), [], False
    for k, line in enumerate(lines):
        if line.startswith(";"):
            in_field = not in_field
        elif not in_field and (found := re.search(r"""(?:^|\s)(['"]).*\1(\s*,)\s*$""", line)):
            lines[k] = line[: found.start(2)]
            changed.append(k + 1)
    return "\n".join(lines) + "\n", changed


def _is_cartesian(block: Any) -> bool:
    cartesian, fractional = (
        len(block.find_values(f"_atom_site_{kind}_x")) for kind in ("Cartn", "fract")
    )
    return cartesian > 0 and fractional == 0


# ---- sites ---------------------------------------------------------------------------------------


_PLACES = tuple(f"_atom_site_fract_{axis}" for axis in "xyz")
_EDGES = tuple(f"_cell_length_{edge}" for edge in "abc")
_ANGLES = tuple(f"_cell_angle_{angle}" for angle in ("alpha", "beta", "gamma"))


def _check_columns(document: Any, source: str) -> None:
    """Refuse a block with atoms whose cell or coordinates are missing or are not numbers, because
    gemmi reads some of them as zero."""
    for block in document:
        if not len(block.find_values(_PLACES[0])):
            continue
        for tags, most, what in (
            (_EDGES, math.inf, "a length above 1 angstrom"),
            (_ANGLES, 180.0, "an angle from 1 to 179 degrees"),
        ):
            for tag in tags:
                text = block.find_value(tag)
                if text is None:
                    raise ValueError(f"{source} has no {tag}, which the unit cell needs")
                if not 1 < _number(text) < most - 1:
                    raise ValueError(f"{source}: {tag} is {text}; it must be {what}")
        for tag in _PLACES[1:]:
            if not len(block.find_values(tag)):
                raise ValueError(f"{source} has no {tag}, which its atoms need")
        for label, *places in block.find(["_atom_site_label", *_PLACES]):
            for tag, text in zip(_PLACES, places, strict=True):
                if text not in "?." and not math.isfinite(_number(text)):
                    raise ValueError(
                        f"{source}: {tag} of the site {label} is {text}; it must be a number"
                    )


def _no_atoms(document: Any) -> str:
    tags = ("_atom_site_label", *_PLACES)
    missing = [tag for tag in tags if not any(len(block.find_values(tag)) for block in document)]
    return f"no atoms, because it has no rows with {', '.join(missing or tags)}"


def _check_sites(structure: Any, source: str) -> None:
    """Refuse missing coordinates and atoms that exclude each other."""
    unknown = [s.label for s in structure.sites if not np.isfinite(s.fract.tolist()).all()]
    if unknown:
        raise ValueError(
            f"{source}: site {_some(unknown)} has no coordinates ('?' or '.'): give them, or "
            "delete the site if it is not part of the framework"
        )
    disordered = [s for s in structure.sites if s.disorder_group != 0]
    groups = sorted({s.disorder_group for s in disordered})
    labels = _some([s.label for s in disordered])
    if len(groups) > 1 or any(group < 0 for group in groups):
        raise ValueError(
            f"{source}: sites of the disorder groups {', '.join(map(str, groups))} exclude each "
            f"other (site {labels}): keep one group in the file"
        )
    if disordered:
        _warn(f"{source}: disorder group {groups[0]} (site {labels}) is part of the framework here")


def _check_occupancies(document: Any, source: str) -> None:
    """Refuse occupancies above 1, and those that are not numbers, because gemmi reads them as 1."""
    for block in document:
        for label, text in block.find(["_atom_site_label", "_atom_site_occupancy"]):
            if text not in "?." and not _number(text) <= 1 + 1e-6:
                raise ValueError(f"{source}: site {label} has the occupancy {text}: it must be 1")


def _number(text: str) -> float:
    """A number of a CIF file, which may have an error in parentheses; NaN if it is not a number."""
    try:
        return float(re.sub(r"\(\d+\)$", "", text))
    except ValueError:
        return math.nan


def _tell_bonds(structure: Any, source: str) -> None:
    """Warn of water and of atoms with too few bonds, whose neighbors the file may lack. Water is
    oxygen that is bonded to at most one metal and otherwise only to hydrogen."""
    import gemmi

    radii = [site.element.covalent_r for site in structure.sites]
    search = gemmi.NeighborSearch(structure, 2 * _BOND * max(radii)).populate()
    water, lonely = [], []
    for site in structure.sites:
        name = site.element.name
        if name != "O" and name not in _FEWEST_BONDS:
            continue
        place = structure.cell.orthogonalize(site.fract)
        neighbors = [
            (search.dist(place, mark.pos), mark.element)
            for mark in search.find_site_neighbors(site, min_dist=0.1)
        ]
        bonds = [
            (distance, element)
            for distance, element in neighbors
            if distance < _BOND * (site.element.covalent_r + element.covalent_r)
        ]
        if name == "O" and _is_water(bonds):
            water.append(site.label)
        elif len(bonds) < _FEWEST_BONDS.get(name, 0):
            lonely.append(f"{site.label} ({len(bonds)} of {_FEWEST_BONDS[name]})")
    if water:
        _warn(
            f"{source}: site {_some(water)} looks like water, and is part of the framework here: "
            "delete it from the file if the framework is dry"
        )
    if lonely:
        _warn(
            f"{source}: site {_some(list(dict.fromkeys(lonely)))} has too few bonded neighbors: "
            "atoms or symmetry operations may be missing from the file, or the unit of the cell "
            "may not be angstrom"
        )


def _is_water(bonds: list[tuple[float, Any]]) -> bool:
    bonded = [(distance, element) for distance, element in bonds if not element.is_hydrogen]
    if len(bonded) == 1:
        distance, element = bonded[0]
        return element.is_metal and distance > _OXO
    return not bonded


# ---- symmetry ------------------------------------------------------------------------------------

_WANTED = "give its operations (_space_group_symop_operation_xyz)"


def _settle_symmetry(structure: Any, source: str) -> None:
    """Derive the symmetry operations if a file has only the number of its space group, and refuse
    ambiguous files."""
    if structure.spacegroup is not None or structure.symops:
        return
    for name in (structure.spacegroup_hm, structure.spacegroup_hall):
        if name.strip(" ?.\"'"):
            raise ValueError(f"{source}: there is no space group {name!r}: {_WANTED}")
    number = structure.spacegroup_number
    if not 1 <= number <= 230:
        _warn(f"{source} has no symmetry: it is taken to list all of its atoms (P 1)")
        return
    structure.spacegroup = _standard_setting(structure, number, source)
    structure.setup_cell_images()
    if number > 1:
        _warn(
            f"{source} has only the number of its space group, {number}: the operations are those "
            f"of the standard setting, {structure.spacegroup.xhm()}"
        )


def _check_operations(structure: Any, source: str) -> None:
    """Refuse operations that gemmi would leave out, that are not a group or that do not fit the
    cell, and warn if they do not belong to the group that the file names."""
    import gemmi

    operations = []
    for triplet in structure.symops:
        try:
            operations.append(gemmi.Op(triplet).wrap())
        except (ValueError, RuntimeError) as error:
            raise ValueError(
                f"{source}: the symmetry operation {triplet!r} cannot be read ({error}): write it "
                "as '-x+1/2,y,z', with quotes and translations in multiples of 1/24"
            ) from None
    if operations and structure.spacegroup is None:
        _check_group({op.triplet() for op in operations}, structure, source)
    if structure.spacegroup is not None:
        operations = list(structure.spacegroup.operations().sym_ops)
    lattice = np.array(structure.cell.orth.mat.tolist())
    metric = lattice.T @ lattice
    edges = np.sqrt(np.diag(metric))
    for op in operations:
        rotation = np.array(op.rot) / op.DEN
        change = (rotation.T @ metric @ rotation - metric) / np.outer(edges, edges)
        if np.abs(change).max() > _METRIC:
            raise ValueError(
                f"{source}: the cell does not have the symmetry operation {op.triplet()}: check "
                "its edges and angles, and the space group"
            )
    if structure.symops and "differs" in structure.check_spacegroup():
        name = structure.spacegroup_hm or structure.spacegroup_number
        found = structure.spacegroup.xhm() if structure.spacegroup else "another group"
        _warn(
            f"{source} names the space group {name}, but its operations belong to {found}: the "
            "operations are used"
        )


def _check_group(triplets: set[str], structure: Any, source: str) -> None:
    """Refuse operations that belong to no known setting if some of their products are missing."""
    import gemmi

    if len(structure.symops) > len(triplets) and len(triplets) > 1:
        raise ValueError(f"{source}: some symmetry operations are listed twice: give each once")
    ops = [gemmi.Op(triplet) for triplet in triplets]
    missing = next(
        (t for a in ops for b in ops if (t := (a * b).wrap().triplet()) not in triplets), None
    )
    if missing is not None or len(structure.cell.images) + 1 != len(triplets):
        raise ValueError(
            f"{source}: the {len(triplets)} symmetry operations are not a group"
            + (f", {missing} is missing" if missing else "")
            + ": give all of them, or the symbol of the space group alone"
        )


def _standard_setting(structure: Any, number: int, source: str) -> Any:
    import gemmi

    settings = [g for g in gemmi.spacegroup_table() if g.number == number]
    if len({g.ext for g in settings} & {"1", "2"}) > 1:
        raise ValueError(
            f"{source} has only the number of its space group, {number}, of which there are two "
            f"choices of the origin: {_WANTED}"
        )
    for group in settings:  # rhombohedral groups have hexagonal axes, or those of their own
        if group.is_reference_setting() or group.ext == "R":
            if structure.cell.is_compatible_with_spacegroup(group):
                return group
    raise ValueError(
        f"{source} has only the number of its space group, {number}, with whose standard setting "
        f"the cell does not agree: {_WANTED}"
    )


# ---- messages ------------------------------------------------------------------------------------


def _some(names: list[str]) -> str:
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _warn(text: str) -> None:
    warn(text, stacklevel=3)
