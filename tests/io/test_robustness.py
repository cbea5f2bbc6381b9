"""Bad input over Python and files: one clear error each, and nothing else.

Here: 35 bad arguments, 35 checkpoints that are consistent but wrong, and some 1,700 damaged files
(checkpoints, records, GSD, CIF). The command line is in cli/test_bad_options.py, LAMMPS in
lammps/test_robustness.py with 74 commands and 66 files, killed runs in
parallel/test_killed_runs.py. Some 350 other bad inputs are in */test_contract.py, test_gsd.py,
hard_particles/test_input.py, hard_particles/test_packing.py, dpd/*.py and lammps/*.py.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from adsorption_model import GAS, cif
from adsorption_model import make as make_adsorption
from commands import SMALL
from damage import change_checkpoint, damaged, damaged_words
from flat_settings import of_electrolytes

from manymove import Adsorption, Electrolyte, HardDisks, Ions, Sphere, Start, checkpoint, cli
from manymove.adsorption.adsorbates import METHANE, Adsorbate
from manymove.adsorption.force_field import ForceField
from manymove.adsorption.frameworks import Framework, read_framework
from manymove.adsorption.molecule_files import read_species
from manymove.analysis.ions import Salt, Species
from manymove.hard_particles.packing import random_packing
from manymove.io import FrameWriter, make_frame, read_frame

MEMORY = 4 << 30  # bytes of address space beyond the present, where a file might ask for more

# ---- Python ------------------------------------------------------------------------------------

APART = np.array([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]])
PAIR = (Species(1, 4.0), Species(-1, 4.0))


def disks(positions=((0.0, 0.0),), box=(9.0, 9.0), **settings):
    settings = {"seed": 1, "device": "cpu", "threads": 1} | settings
    return HardDisks(np.array(positions), box, **settings)


def ions(types=(0, 1), species=PAIR, **settings):
    settings = {"radius": 20.0, "seed": 1, "device": "cpu", "threads": 1} | settings
    return Electrolyte(APART, ions=Ions(np.array(types), species), **of_electrolytes(**settings))


BAD_ARGUMENTS = {
    "complex disks": (lambda: disks([[1j, 0]]), TypeError, "float32 or float64"),
    "a NaN depth": (lambda: disks(start=Start(repair_depth=np.nan)), ValueError, "repair_depth"),
    "a device of numbers": (lambda: disks(device=0), TypeError, "device must be a string"),
    "NaN sweeps": (lambda: disks().run(np.nan), ValueError, "sweeps must be finite"),
    "a NaN radius": (lambda: ions(radius=np.nan), ValueError, "radius must be positive"),
    "a flat box": (lambda: ions(radius=None, box=(30, 30, 1e-9)), ValueError, "too short beside"),
    "a NaN Bjerrum length": (lambda: ions(bjerrum_length=np.nan), ValueError, "bjerrum_length"),
    "a NaN share": (
        lambda: ions(short_displacement=1.0, short_fraction=np.nan),
        ValueError,
        "short_fraction must be from 0 to 1",
    ),
    "types of two dimensions": (lambda: ions(types=((0, 1),)), ValueError, r"shape \(N,\)"),
    "negative types": (lambda: ions(types=(-1, 0)), ValueError, "types must be from 0 to 1"),
    "species that are none": (lambda: ions(species=(1, -1)), AttributeError, "valence"),
    "a valence float32 cannot hold": (
        lambda: ions(species=(Species(0.1, 4.0), Species(-0.1, 4.0))),
        ValueError,
        "float32 cannot hold",
    ),
    "a NaN bin": (
        lambda: ions().sample_pair_correlations(1, bin_width=np.nan),
        ValueError,
        "bin_width must be positive",
    ),
    "no adsorbates": (lambda: make_adsorption(adsorbates=[]), ValueError, "at least one adsorbate"),
    "five adsorbates": (
        lambda: make_adsorption(molecules=[1] * 5, adsorbates=[GAS] * 5),
        ValueError,
        "the number of species must be from 1 to 4",
    ),
    "half a molecule": (lambda: make_adsorption(molecules=0.5), TypeError, "must be an integer"),
    "a NaN temperature": (
        lambda: make_adsorption(temperature=np.nan),
        ValueError,
        "temperature must be positive",
    ),
    "a NaN fugacity": (
        lambda: make_adsorption("plj", fugacity=np.nan),
        ValueError,
        "fugacity must be positive",
    ),
    "two spacings": (
        lambda: make_adsorption(grid_spacing=[0.2, 0.2]),
        ValueError,
        "grid_spacing must be positive",
    ),
    "a NaN law between species": (
        lambda: make_adsorption(
            molecules=[1, 1],
            adsorbates=[GAS, Adsorbate("B", 1.0, 3.0, GAS.framework)],
            cross={("Ar", "B"): (np.nan, 3.0)},
        ),
        ValueError,
        "Lennard-Jones parameters must be finite",
    ),
    "a NaN epsilon": (
        lambda: Adsorbate("A", np.nan, 3.0, {}),
        ValueError,
        "A: epsilon must be at least 0",
    ),
    "a critical constant of words": (
        lambda: Adsorbate("A", 1.0, 3.0, {}, critical_temperature="cold"),
        TypeError,
        "'<' not supported",
    ),
    "a NaN critical constant": (
        lambda: Adsorbate("A", 1.0, 3.0, {}, critical_pressure=np.nan),
        ValueError,
        "A: critical_pressure must be positive",
    ),
    "a name that is none": (lambda: Adsorbate(5, 1.0, 3.0, {}), TypeError, "must be a string"),
    "a NaN pressure": (
        lambda: METHANE.fugacity_coefficient(np.nan, 300.0),
        ValueError,
        "no fugacity at nan bar",
    ),
    "a NaN atom": (
        lambda: Framework("A", (9.0,) * 3, np.full((1, 3), np.nan), ("O",), 16.0),
        ValueError,
        "a coordinate of atom .* is not finite",
    ),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments_are_named(case):
    call, error, message = BAD_ARGUMENTS[case]
    with pytest.raises(error, match=message):
        call()


# ---- checkpoints -------------------------------------------------------------------------------


def make_disks():
    made = HardDisks(*random_packing(60, 0.5, seed=1), seed=1, device="cpu", threads=1)
    made.run(3)
    return made


def make_ions():
    made = Electrolyte.random(
        Salt.of(40, (3, -1), (7.5, 7.5)), box=Sphere(60.0), seed=1, device="cpu", threads=1
    )
    _ = made.energy
    made.sample_pair_correlations(1, bin_width=5.0)
    made.run(5)
    return made


def make_gas():
    made = make_adsorption("mdp", 2, systems=4, profile="z", bins=4)
    made.run(5)
    return made


def all_of(made):
    """Everything that results are made of."""
    if isinstance(made, HardDisks):
        return made.state_hash, made.sweeps, made._goal
    if isinstance(made, Electrolyte):
        found = made.pair_correlations
        return made.state_hash, made.energy, found.counts.tobytes(), found.blocks.tobytes()
    sums = made._engine.snapshot()
    return (
        made.state_hash,
        made.max_displacement,
        made.acceptance_counts,
        *(sums[name].tobytes() for name in ("energies", "sums", "profile")),
    )


CLASSES = {
    "disks": (HardDisks, make_disks, "no checkpoint of hard disks|checkpoint: |checkpoint has"),
    "electrolyte": (Electrolyte, make_ions, "no checkpoint of an electrolyte|checkpoint: "),
    "adsorption": (Adsorption, make_gas, "no checkpoint of adsorption|checkpoint: "),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A checkpoint of each class: the path, and what is in it."""
    folder = tmp_path_factory.mktemp("saved")
    result = {}
    for name, (kind, make, _) in CLASSES.items():
        make().save(folder / name)
        result[name] = folder / name, all_of(kind.load(folder / name, device="cpu", threads=1))
    return result


@contextmanager
def short_files():
    """A limit of the size of files, which refuses a write as a full disk does. Pytest reports
    after it has ended, perhaps into a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", CLASSES)
def test_a_file_that_does_not_fit_is_an_error_that_names_it(name, tmp_path):
    (tmp_path / "state").write_text("the old one")
    with short_files(), pytest.raises(OSError, match=r"File too large: '.*/state'"):
        CLASSES[name][1]().save(tmp_path / "state")
    assert [p.name for p in tmp_path.iterdir()] == ["state"]
    assert (tmp_path / "state").read_text() == "the old one"


@pytest.fixture
def little_memory():
    """Address space for little more than there is: what asks for more gets a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("name", CLASSES)
def test_a_damaged_checkpoint_is_refused_or_the_same(name, saved, tmp_path, little_memory):
    kind, _, message = CLASSES[name]
    path, expected = saved[name]
    seen = Counter()
    for label, data in damaged(path.read_bytes(), 280, seed=5):
        (tmp_path / "state").write_bytes(data)
        try:
            found = all_of(kind.load(tmp_path / "state", device="cpu", threads=1))
        except ValueError as error:
            assert str(error) and "\n" not in str(error), label
            seen["refused"] += 1
        else:
            assert found == expected, label  # a few bytes of an archive mean nothing
            seen["the same"] += 1
    assert seen["refused"] > 250, message


@pytest.mark.parametrize("one, other", list(itertools.permutations(CLASSES, 2)))
def test_a_checkpoint_of_another_class_is_refused(one, other, saved):
    held = json.loads(str(np.load(saved[other][0])["header"]))["kind"]
    with pytest.raises(ValueError, match=f"{other} is no checkpoint of .*: it holds {held}"):
        CLASSES[one][0].load(saved[other][0], device="cpu")


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_no_checkpoint_is_refused(name, tmp_path):
    kind, _, _ = CLASSES[name]
    np.save(tmp_path / "array.npy", np.zeros(3))
    np.savez(tmp_path / "others.npz", a=np.zeros(3))
    (tmp_path / "nothing").write_bytes(b"")
    checkpoint.write_records(tmp_path / "records", np.zeros(3))
    for file in tmp_path.iterdir():
        with pytest.raises(ValueError, match=f"{file.name} is no checkpoint of"):
            kind.load(file, device="cpu")
    with pytest.raises(IsADirectoryError):
        kind.load(tmp_path, device="cpu")


def header(**changes):
    return lambda a, h: h.update(changes)


def parameters(**changes):
    return lambda a, h: h["parameters"].update(changes)


def array(name, change):
    return lambda a, h: a.update({name: change(a[name])})


WRONG = [
    ("disks", header(goal=float("nan")), "goal is nan"),
    ("disks", header(format=2), "format 2, expected 1"),
    ("disks", array("cells", lambda x: x.astype(float)), "cells is of float64, expected float32"),
    ("disks", array("ids", lambda x: x.astype(np.int64)), "ids is of int64, expected int32"),
    ("disks", array("cells", lambda x: x.astype(object)), "Object arrays|allow_pickle"),
    ("disks", parameters(diameter=float("nan")), "diameter must be positive"),
    ("disks", parameters(seed=-1), "wrong type or shape"),
    ("electrolyte", header(format=0), "format 0, expected 1"),
    ("electrolyte", lambda a, h: h.pop("species"), "'species' is missing"),
    ("electrolyte", lambda a, h: h["parameters"].pop("radius"), "a value is missing"),
    ("electrolyte", parameters(seed="one"), "wrong type or shape"),
    ("electrolyte", parameters(precision="half"), "precision must be"),
    ("electrolyte", parameters(radius=float("nan")), "radius must be positive"),
    ("electrolyte", header(start_energy=float("nan")), "start_energy must be finite, got nan"),
    ("electrolyte", header(counters=[1, 2, 3]), "wrong type or shape"),
    ("electrolyte", header(species=[[3, 7.5]]), "types must be from 0 to 0"),
    ("electrolyte", header(species=[[3, 7.5], [-2, 7.5]]), "not neutral"),
    ("electrolyte", header(species=[[3, 70.5], [-1, 70.5]]), "overlaps|does not fit"),
    ("electrolyte", array("types", lambda x: x[:-1]), "not neutral|coordinates for 39 ions"),
    ("electrolyte", array("positions", lambda x: x[::-1].copy() * np.nan), "has the coordinate"),
    ("electrolyte", array("positions", lambda x: np.zeros_like(x)), "overlaps with another"),
    ("electrolyte", array("pair_counts", lambda x: x[:-1]), "pair_counts has shape"),
    ("electrolyte", array("pair_samples", lambda x: x.astype(float)), "pair_samples is of float64"),
    ("electrolyte", lambda a, h: h["sampling"].update(every="x"), "sampling of pairs has"),
    ("electrolyte", lambda a, h: h["sampling"].update(bin_width=-1), "sampling of pairs has"),
    ("electrolyte", lambda a, h: a.pop("pair_products"), "'pair_products' is missing"),
    ("adsorption", header(format="1"), "format 1, expected 1"),
    ("adsorption", lambda a, h: h["about"].pop("framework"), "'framework' is missing"),
    ("adsorption", lambda a, h: h["parameters"].pop("seed"), "a value is missing"),
    ("adsorption", header(max_displacement=float("nan")), "max_displacement must be positive"),
    ("adsorption", array("sites", lambda x: x.astype(np.int32)), "sites is of int32"),
    ("adsorption", array("counts", lambda x: x - 1), "number of molecules is out of range"),
    ("adsorption", array("energies", lambda x: x * np.nan), "one of the energies is not finite"),
    ("adsorption", array("sums", lambda x: x[1:].copy()), "do not fit the parameters"),
    ("adsorption", parameters(method="mcmc"), 'unknown method "mcmc"'),
]


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda k: f"{k} {WRONG[k][0]}")
def test_a_checkpoint_that_is_consistent_but_wrong_is_refused(number, saved, tmp_path):
    name, edit, message = WRONG[number]
    change_checkpoint(saved[name][0], edit, tmp_path / "state")
    with pytest.raises(ValueError, match=message):
        CLASSES[name][0].load(tmp_path / "state", device="cpu", threads=1)


def test_a_compressed_file_is_no_checkpoint(saved, tmp_path):
    """So no small file unpacks to a large one."""
    with np.load(saved["disks"][0]) as file, open(tmp_path / "state", "wb") as out:
        np.savez_compressed(out, **file)
    with pytest.raises(ValueError, match="header is compressed"):
        HardDisks.load(tmp_path / "state", device="cpu")


def test_an_array_that_is_longer_than_it_says_is_refused(saved, tmp_path):
    """Its checksum is of all bytes; NumPy would read some and compare nothing."""
    with np.load(saved["disks"][0]) as file:
        count = file["ids"].size
    data = saved["disks"][0].read_bytes()
    shape, shorter = (f"'shape': ({n},)".encode() for n in (count, count - 4))
    assert data.count(shape) == 1 and len(shape) == len(shorter)
    (tmp_path / "state").write_bytes(data.replace(shape, shorter))
    with pytest.raises(ValueError, match=r"is no checkpoint of hard disks: .*ids"):
        HardDisks.load(tmp_path / "state", device="cpu")


RESUMED = {
    "disks": ["--particles", "64", "--sweeps", "100", "--equilibrate", "10"],
    "electrolyte": ["--ions", "64", "--sweeps", "10", "--equilibrate", "5"],
    "adsorption": [*SMALL["adsorption"].split(), "--steps", "50"],
}


@pytest.mark.parametrize("name", RESUMED)
def test_damaged_records_are_refused_by_resume(name, tmp_path, capfd):
    options = [name, *RESUMED[name], "--device", "cpu", "--quiet", "--output", str(tmp_path)]
    assert cli.run(options) == 0
    path = tmp_path / "checkpoint-0.records"
    whole = path.read_bytes()
    array = np.load(path)["records"]
    bad = [whole[:100], whole.replace(array.tobytes()[8:16], b"\x01" * 8, 1), b""]
    checkpoint.write_records(tmp_path / "other", np.zeros((3, 7)))
    bad.append((tmp_path / "other").read_bytes())
    capfd.readouterr()
    for data in bad:
        path.write_bytes(data)
        assert cli.run([*options, "--resume"]) == 2
        error = capfd.readouterr().err
        assert "checkpoint-0.records is no checkpoint of records" in error
        assert error.count("\n") == 1
    path.unlink()
    assert cli.run([*options, "--resume"]) == 2
    assert "checkpoint-0.records" in capfd.readouterr().err
    path.write_bytes(whole)
    assert cli.run([*options, "--resume"]) == 0


# ---- GSD and CIF -------------------------------------------------------------------------------


def test_a_damaged_gsd_file_is_a_frame_or_one_error(tmp_path, little_memory):
    """GSD has no checksums: a flipped bit of a coordinate is another coordinate, inside the box."""
    positions, box = random_packing(30, 0.5, seed=1)
    with FrameWriter(tmp_path / "whole.gsd") as trajectory:
        trajectory.write(make_frame(positions, box, 1))
        trajectory.write(make_frame(positions, box, 2))
    path = tmp_path / "damaged.gsd"
    seen = Counter()
    for label, data in damaged((tmp_path / "whole.gsd").read_bytes(), 400, seed=3):
        path.write_bytes(data)
        try:
            frame = read_frame(path)
        except ValueError as error:
            assert str(error).startswith(str(path)), label
            seen["refused"] += 1
        else:
            half = np.array(frame.box) / 2
            assert (np.abs(frame.positions) <= half).all() and frame.diameter > 0, label
            seen["read"] += 1
    assert min(seen.values()) > 100


def test_a_damaged_trajectory_cannot_be_continued(tmp_path):
    path = tmp_path / "trajectory.gsd"
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"trajectory\.gsd: not a readable GSD file"):
        FrameWriter(path, resume=True)


CIF = cif(
    "O1 O 0.25 0.5 0.75 1\nSi1 Si 0 0 0 1",
    (9, 9, 10),
    symmetry="_symmetry_space_group_name_H-M 'P m m m'\n"
    "loop_\n_symmetry_equiv_pos_as_xyz\n'x,y,z'\n'-x,-y,z'\n",
)


def test_a_damaged_cif_file_is_a_framework_or_one_error(tmp_path, little_memory):
    path = tmp_path / "damaged.cif"
    texts = [(label, data.decode("latin-1")) for label, data in damaged(CIF.encode(), 210, seed=1)]
    seen = Counter()
    for label, text in [*texts, *damaged_words(CIF, 210, seed=1)]:
        path.write_text(text, encoding="latin-1")
        try:
            framework = read_framework(path)
        except ValueError as error:
            assert "damaged" in str(error), (label, error)
            seen["refused"] += 1
        else:
            assert np.isfinite(framework.fractional).all() and np.isfinite(framework.mass), label
            assert all(1 < edge < np.inf for edge in framework.cell), label
            seen["read"] += 1
    assert seen["refused"] > 250 and seen["read"] > 20


MOLECULES = {
    "damaged.def": "304.1\n7377300.0\n0.22\n3\n1\n# group\nrigid\n3\n0 O 0 0 1.16\n1 C 0 0 0\n"
    "2 O 0 0 -1.16\n",
    "damaged.json": '{"CriticalTemperature": 304.1, "CriticalPressure": 7377300, "Type": "rigid", '
    '"AcentricFactor": 0.22, "pseudoAtoms": [["O", [0, 0, 1.16]], ["C", [0, 0, 0]], '
    '["O", [0, 0, -1.16]]], "Bonds": [[0, 1], [1, 2]]}',
    "damaged_sites.json": '[{"name": "a", "sites": [{"label": "O", "position": [0, 0, 1], '
    '"charge": 0.5}, {"label": "C", "position": [0, 0, -1], "charge": -0.5, "epsilon": 2, '
    '"sigma": 3}]}]',
}
LABELS = ForceField({"O": (79.0, 3.05), "C": (27.0, 2.8)}, {"O": -0.35, "C": 0.7})


@pytest.mark.parametrize("name", MOLECULES)
def test_a_damaged_file_of_molecules_is_a_molecule_or_one_error(name, tmp_path, little_memory):
    path, seen = tmp_path / name, Counter()
    data = MOLECULES[name].encode()
    texts = [(label, changed.decode("latin-1")) for label, changed in damaged(data, 150, seed=2)]
    for label, text in [*texts, *damaged_words(MOLECULES[name], 150, seed=2)]:
        path.write_text(text, encoding="latin-1")
        try:
            (molecule,) = read_species(path, LABELS)
        except ValueError as error:
            assert "damaged" in str(error), (label, error)
            seen["refused"] += 1
        else:
            assert np.isfinite(molecule.positions).all(), label
            seen["read"] += 1
    assert seen["refused"] > 30 and seen["read"] > 10


FORCE_FIELD = {
    "PseudoAtoms": [{"name": "O", "charge": -0.5}, {"name": "C", "charge": 0}],
    "SelfInteractions": [{"name": "O", "type": "lennard-jones", "parameters": [79.0, 3.05]}],
    "BinaryInteractions": [{"names": ["O", "C"], "parameters": [20.0, 3.0]}],
    "MixingRule": "Lorentz-Berthelot", "TruncationMethod": "truncated", "TailCorrections": True,
}  # fmt: skip


def test_a_damaged_force_field_is_read_or_one_error(tmp_path, little_memory):
    path, text, seen = tmp_path / "damaged.json", json.dumps(FORCE_FIELD), Counter()
    texts = [(k, changed.decode("latin-1")) for k, changed in damaged(text.encode(), 150, seed=2)]
    for label, changed in [*texts, *damaged_words(text, 150, seed=2)]:
        path.write_text(changed, encoding="latin-1")
        try:
            field = ForceField.read(path)
        except ValueError as error:
            assert "damaged" in str(error), (label, error)
            seen["refused"] += 1
        else:
            assert all(np.isfinite(law).all() for law in field.parameters.values() if law), label
            seen["read"] += 1
    assert seen["refused"] > 30 and seen["read"] > 10
