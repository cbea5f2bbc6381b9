# SPDX-License-Identifier: BSD-3-Clause
"""Frameworks from Atoms objects of ASE."""

from __future__ import annotations

import sqlite3
import sys
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pytest
from commands import MPIEXEC, summary_of
from processes import on_ranks, run, run_together
from screenings import OPTIONS, results, rows, screened

from manymove import Adsorption, EnergyGrid, Interactions, cli
from manymove.adsorption import CO2, UFF, Framework, read_framework
from manymove.adsorption.screening.collection import structures_of

ase = pytest.importorskip("ase", reason="ase is not installed")

EDGES = np.array([[8.0, 0.0, 0.0], [1.5, 9.0, 0.0], [-0.7, 2.1, 10.0]])
FRACTIONS = np.array([[0.1, 0.2, 0.3], [0.6, 0.7, 0.1], [0.4, 0.3, 0.8]])
CHARGES = [0.4, -0.2, -0.2]


def atoms(edges=EDGES, charges=CHARGES, symbols="ZnOC", **settings):
    found = ase.Atoms(symbols, scaled_positions=FRACTIONS, cell=edges, **{"pbc": True, **settings})
    if charges is not None:
        found.set_initial_charges(charges)
    return found


def distances(framework: Framework) -> np.ndarray:
    """Distances of all pairs of atoms and nearest images, sorted."""
    n = np.stack(np.meshgrid(*3 * [np.arange(-1, 2)], indexing="ij"), axis=-1).reshape(-1, 3)
    d = framework.fractional[:, None] - framework.fractional
    return np.sort(np.linalg.norm((d[:, :, None] + n) @ framework.edges, axis=-1).ravel())


def test_cell_positions_elements_charges_and_mass_are_those_of_the_atoms():
    f = Framework.from_ase(atoms())
    assert (f.name, f.formula) == ("ZnOC", "C1 O1 Zn1")
    assert np.allclose(f.edges, EDGES) and np.allclose(f.fractional, FRACTIONS)
    assert f.labels == f.elements == ("Zn", "O", "C")
    assert f.charges.tolist() == CHARGES
    assert f.mass == pytest.approx(65.38 + 15.999 + 12.011, abs=0.01)
    assert Framework.from_ase(atoms(charges=None), "other").charges is None


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2)])
def test_a_turned_or_left_handed_cell_is_the_same_crystal(order):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    plain = Framework.from_ase(atoms())
    a = atoms(EDGES @ turn)
    a = ase.Atoms(a.symbols, positions=a.positions, cell=a.cell[list(order)], pbc=True)
    found = Framework.from_ase(a)
    assert np.all(np.diag(found.edges) > 0) and not np.triu(found.edges, 1).any()
    assert np.linalg.det(found.edges) == pytest.approx(np.linalg.det(plain.edges))
    # Another order of the edges has other nearest images, so that the shortest ones are compared.
    assert np.allclose(distances(found)[:12], distances(plain)[:12])


def test_a_file_read_by_ase_has_the_energies_of_the_file():
    """LTA, and its primitive cell, which is replaced by the cubic one."""
    from ase.build import make_supercell
    from ase.io import read

    with as_file(files("manymove") / "data" / "LTA.cif") as path:
        found = Framework.from_ase(read(path), "LTA")
    plain = read_framework("LTA")
    assert found.formula == plain.formula and found.cell == pytest.approx(plain.cell)
    assert found.mass == pytest.approx(plain.mass, rel=1e-4)
    sums = []
    for framework in (plain, found):
        a = Adsorption(
            framework, 1, adsorbates=CO2, systems=64, seed=1, method="plj", device="cpu",
            interactions=Interactions(
                12.0, UFF, framework_charges={"O": -0.5, "Si": 1.0},
                grid=EnergyGrid(0.4, barrier=None),
            ),
        )  # fmt: skip
        sums.append(a.henry(2000)[0].value)
    assert sums[1] == pytest.approx(sums[0], rel=1e-4)
    skewed = make_supercell(atoms(np.diag([8.0, 9.0, 10.0])), [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    assert Framework.from_ase(skewed).cell == pytest.approx((8.0, 9.0, 10.0))
    assert any(Framework.from_ase(skewed, right_angles=False).tilt)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            dict(pbc=(True, True, False)),
            r"must be periodic along three edges, got pbc \[True, True,",
        ),
        (dict(edges=np.zeros((3, 3))), "a cell of 0 cubic angstrom"),
        (dict(symbols="ZnOX"), r"element of atom 2 is not known \(X\)"),
        (dict(info={"occupancy": {"0": {"Zn": 0.5}}}), "site 0 is occupied by Zn 0.5; choose"),
        (dict(info={"occupancy": {"1": {"O": 0.5, "N": 0.5}}}), "occupied by O 0.5, N 0.5"),
    ],
)
def test_atoms_that_are_no_crystal_are_refused(change, message):
    change = {**change}
    edges = change.pop("edges", EDGES)
    if not edges.any():
        a = ase.Atoms("Zn", positions=[[0, 0, 0]], pbc=True)
    else:
        a = atoms(edges, **change)
    with pytest.raises(ValueError, match=message):
        Framework.from_ase(a)


def test_full_occupancies_are_accepted():
    info = {"occupancy": {"0": {"Zn": 1.0}, "1": {"O": 1}}}
    assert Framework.from_ase(atoms(info=info)).formula == "C1 O1 Zn1"


def test_something_else_is_refused_by_its_type():
    with pytest.raises(TypeError, match=r"atoms must be an ase.Atoms object, got str"):
        Framework.from_ase("LTA.cif")


# ---- databases -----------------------------------------------------------------------------------


def database(path: Path) -> Path:
    """A zeolite with a name, a framework without one, and a layer, which is no framework."""
    from ase.db import connect

    place = np.array([[0.1, 0.1, 0.1], [0.28, 0.1, 0.1], [0.1, 0.28, 0.1]])
    zeolite = ase.Atoms("SiO2", scaled_positions=place, cell=[10, 10, 10], pbc=True)
    with connect(path) as table:
        table.write(zeolite, name="zeolite")
        table.write(atoms())
        table.write(atoms(pbc=(True, True, False)), name="layer")
    return path


@pytest.mark.parametrize("suffix", [".db", ".json"])
def test_rows_of_a_database_are_a_collection(suffix, tmp_path):
    path = database(tmp_path / f"some{suffix}")
    found = structures_of([path])
    assert [one.name for one in found] == ["zeolite", "some-2", "layer"]
    assert len({one.digest for one in found}) == 3 and None not in {one.digest for one in found}
    assert found[0].source == f"{path}@id=1"
    (tmp_path / "list.txt").write_text(f"{path.name}@id=2\n{path.name}@id=1\nLTA\n")
    second, first, _ = structures_of([tmp_path / "list.txt"])
    assert [first.name, second.name] == ["zeolite", "some-2"]
    assert [first.digest, second.digest] == [found[0].digest, found[1].digest]
    assert structures_of([f"{path}@id=1"]) == found[:1]
    f = read_framework(found[1].source)
    assert (f.name, f.formula, f.charges.tolist()) == ("some-2", "C1 O1 Zn1", CHARGES)


def test_a_screening_of_a_database_is_continued_and_notices_a_changed_row(tmp_path):
    from ase.db import connect

    path = database(tmp_path / "some.db")
    assert screened(path, tmp_path) == 0
    found = results(tmp_path, "layer")
    assert results(tmp_path, "zeolite")["state"] == "done" and found["state"] == "refused"
    assert "must be periodic along three edges" in found["reason"]
    before = rows(tmp_path)
    kept = tmp_path / "structures" / "zeolite" / "structure.json"
    time = kept.stat().st_mtime_ns
    assert screened(path, tmp_path) == 0
    assert kept.stat().st_mtime_ns == time and rows(tmp_path) == before
    wider = connect(path).get(1).toatoms()
    wider.set_cell([11, 11, 11], scale_atoms=True)
    with connect(path) as table:
        table.update(1, atoms=wider)
    assert screened(path, tmp_path) == 0
    assert kept.stat().st_mtime_ns != time and rows(tmp_path) != before


def test_a_run_of_a_row_is_continued(tmp_path):
    source = f"{database(tmp_path / 'some.db')}@id=2"
    words = [
        "adsorption", "--framework", source, "--adsorbates", "CH4", "--force-field", "UFF",
        "--temperature", "300", "--molecules", "2", "--systems", "4", "--equilibrate", "10",
        "--cutoff", "4", "--grid-spacing", "0.4", "--device", "cpu", "--quiet",
    ]  # fmt: skip

    def summary(output, *more) -> dict:
        assert cli.run([*words, "--output", str(tmp_path / output), *more]) == 0
        return summary_of(tmp_path / output)

    whole = summary("whole", "--steps", "40")
    summary("parts", "--steps", "20")
    parts = summary("parts", "--steps", "40", "--resume")
    assert parts["framework"] == source and parts["state_hash"] == whole["state_hash"]


@pytest.mark.parametrize(
    ("make", "source", "message"),
    [
        (lambda p: p.write_bytes(b"hello" * 500), None, "some.db is not a database of ASE: "),
        (lambda p: p.write_text(""), None, "has no rows|is not a database of ASE"),
        (lambda p: database(p), "@id=9", "has no row with the id 9"),
        (lambda p: None, "@id=1", "no database .*some.db"),
        (lambda p: database(p), "", "is a database: name a row, such as .*some.db@id=1"),
        (lambda p: None, "", "expected .*, or FILE.db@id=ID of a database of ASE"),
    ],
)
def test_databases_that_are_none_are_refused(make, source, message, tmp_path):
    path = tmp_path / "some.db"
    make(path)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        structures_of([path]) if source is None else read_framework(f"{path}{source}")


def test_a_name_that_is_no_name_of_a_folder_is_not_used(tmp_path):
    from ase.db import connect

    with connect(tmp_path / "some.db") as table:
        for name in ("../a", "x" * 300, "a\nb"):
            table.write(atoms(), name=name)
    found = [one.name for one in structures_of([tmp_path / "some.db"])]
    assert found == ["some-1", "some-2", "some-3"]


def test_another_database_of_sqlite_is_not_changed(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (number INTEGER)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is not a database of ASE: it has no table of systems"):
        structures_of([path])
    assert path.read_bytes() == before


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
def test_each_rank_reads_its_own_row(tmp_path):
    path = database(tmp_path / "some.db")
    program = (
        "from mpi4py import MPI\n"
        "from manymove.adsorption import read_framework\n"
        "rank = MPI.COMM_WORLD.rank\n"
        f"found = read_framework(f'{path}@id={{rank + 1}}')\n"
        "assert found.name == ('zeolite', 'some-2')[rank], found.name\n"
    )
    done = run([*on_ranks(2), sys.executable, "-c", program])
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
def test_a_screening_of_a_database_on_two_ranks_has_the_table_of_one(tmp_path):
    path = database(tmp_path / "some.db")
    assert screened(path, tmp_path / "one") == 0
    words = ["screen", path, *OPTIONS, "--output", tmp_path / "two"]
    assert run_together(2, [words]) == [(0, "")]
    assert rows(tmp_path / "two") == rows(tmp_path / "one")


def test_occupancies_in_the_data_of_a_row_are_read(tmp_path):
    from ase.db import connect

    connect(tmp_path / "some.db").write(atoms(), data={"occupancy": {"0": {"Zn": 0.5}}})
    with pytest.raises(ValueError, match=r"site 0 is occupied by Zn 0\.5"):
        read_framework(f"{tmp_path / 'some.db'}@id=1")


def test_a_database_without_ase_says_how_to_install_it(tmp_path, monkeypatch):
    path = database(tmp_path / "some.db")
    monkeypatch.setitem(sys.modules, "ase", None)
    with pytest.raises(ImportError, match=r"the database .*some.db needs ase: pip install ase"):
        structures_of([path])
