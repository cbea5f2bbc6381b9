"""Density maps, and structures with their molecules."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from adsorption_model import make, molecules_in

from manymove import cli
from manymove.adsorption import CO2, N2, TRAPPE_ZEO, DensityMap, write_structure

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
    a = molecules_in("MFI", [2, 1], [CO2, N2], force_field=TRAPPE_ZEO, method="plj", **CELL)
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
    with pytest.raises(ValueError, match="system must be from 0 to 1, got 2"):
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


@pytest.mark.pictures
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


@pytest.mark.parametrize("reason", ["they were made without one", "the records and the checkpoint"])
def test_a_map_that_the_records_do_not_have_says_that_it_starts_again(reason, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    from manymove import checkpoint

    assert cli.run([*MAP, "--output", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.records")
    records, about = checkpoint.read_records(path, columns=3)
    if "without" in reason:
        del about["density"]
    else:
        about["density"][0] -= 1
    checkpoint.write_records(path, records, **about)
    capsys.readouterr()
    assert cli.run(["adsorption", "--resume", "--steps", "800", "--output", str(tmp_path)]) == 0
    told = f"the density map starts at step 400 of the averages, because {reason}"
    assert told in capsys.readouterr().err
    assert json.loads((tmp_path / "summary.json").read_text())["density_samples"] == 100 * 6


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
