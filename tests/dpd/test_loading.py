# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of `manymove.DPDFluid` that are damaged or crafted: one documented error, no command
of theirs in LAMMPS, and no hang."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from lammps_host import needs_lammps

from manymove import DPDFluid, Forces
from manymove.dpd.model import Quoted, line

N = 81  # in a box of edge 3
WORDS = (None, "", "7", [], {}, True, 1.5, -1, 0, 2**31, 2**63, 10**400, 1e300, -1e300, math.nan)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The members of a checkpoint."""
    path = tmp_path_factory.mktemp("saved") / "fluid.npz"
    fluid = DPDFluid.random(N, 3.0, seed=7, device="cpu", threads=1)
    fluid.run(20)
    fluid.save(path)
    return dict(np.load(path))


def write(path, saved, change=None, **arrays):
    """A checkpoint with right checksums whose header a function has changed."""
    header = json.loads(str(saved["header"]))
    if change is not None:
        change(header)
    with open(path, "wb") as file:
        np.savez(file, **{**saved, "header": json.dumps(header), **arrays})
    return path


def places(value, path=()):
    """The keys that lead to each value of a header, except the kind, the format and the settings of
    the class, which `replace` gives to the class and its checks."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        if path or key not in ("kind", "format", "settings"):
            yield (*path, key)
            if isinstance(inner, (dict, list)):
                yield from places(inner, (*path, key))


def setting(keys, value):
    def change(header):
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


def refused(path) -> str:
    with pytest.raises(ValueError, match="no checkpoint of a fluid of dissipative") as caught:
        DPDFluid.load(path, device="cpu", threads=1)
    return str(caught.value)


@needs_lammps
def test_no_value_of_a_header_runs_a_command(saved, tmp_path, monkeypatch):
    """Each value in turn continues LAMMPS' input with a command of the shell."""
    monkeypatch.chdir(tmp_path)
    header = json.loads(str(saved["header"]))
    found = list(places(header))
    assert ("parameters", "record_every") in found and len(found) > 20
    for keys in found:
        for text in ('10\nshell touch planted\n#"', '10 "1" &\nscreen no\nshell touch planted\n#'):
            refused(write(tmp_path / "crafted", saved, setting(keys, text)))
    assert not (tmp_path / "planted").exists()


@needs_lammps
def test_wrong_values_of_a_header_are_refused_or_load(saved, tmp_path):
    """Each value in turn: a documented error, or a fluid."""
    loaded = 0
    for keys in places(json.loads(str(saved["header"]))):
        for word in WORDS:
            path = write(tmp_path / "wrong", saved, setting(keys, word))
            try:
                DPDFluid.load(path, device="cpu", threads=1)
                loaded += 1
            except ValueError as error:
                assert "no checkpoint of a fluid of dissipative particles: " in str(error)
    assert 0 < loaded < 100


@needs_lammps
def test_a_missing_parameter_is_not_a_default(saved, tmp_path):
    for name in json.loads(str(saved["header"]))["parameters"]:
        refused(write(tmp_path / "less", saved, lambda header, n=name: header["parameters"].pop(n)))


def changed(array, index, value):
    array = array.copy()
    array[index] = value
    return array


@needs_lammps
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("positions", lambda a: changed(a, (3, 0), np.nan), "positions must be finite.*particle 3"),
        ("velocities", lambda a: changed(a, (4, 1), np.nan), "velocities must be finite.* 4"),
        ("forces", lambda a: changed(a, (5, 2), np.inf), "forces must be finite.*particle 5"),
        # LAMMPS moves such a particle by one edge after the other.
        ("positions", lambda a: changed(a, (3, 0), 1e99), "positions are far outside the box"),
        ("positions", lambda a: changed(a, (3, 0), -1e9), "positions are far outside the box"),
        ("positions", lambda a: a[1:], "80 positions for 81 particles"),
        ("velocities", lambda a: a.ravel(), r"velocities must have shape \(N, 3\)"),
        ("forces", lambda a: a.T, r"forces must have shape \(N, 3\)"),
        ("tags", lambda a: a[:, None], "tags of the particles have gaps"),
        ("tags", lambda a: changed(a, 0, 2), "tags of the particles have gaps"),
        ("records", lambda a: a[:, :3], "records of shape"),
        ("records", lambda a: changed(a, (0, 1), np.nan), "records .* not below"),
        ("records", lambda a: changed(a, (0, 1), -1e300), "records .* not below"),
        ("velocities", lambda a: changed(a, (4, 1), 1e300), "velocities must be below 1e"),
    ],
)  # fmt: skip
def test_wrong_arrays_are_named(saved, name, change, message, tmp_path):
    path = write(tmp_path / "wrong", saved, **{name: change(saved[name])})
    with pytest.raises(ValueError, match=f"no checkpoint of a fluid of dissip.*{message}"):
        DPDFluid.load(path, device="cpu", threads=1)


@needs_lammps
def test_a_particle_that_has_just_left_the_box_is_loaded(saved, tmp_path):
    fluid = DPDFluid.load(write(tmp_path / "left", saved), device="cpu", threads=1)
    edge = fluid.box[0]
    moved = changed(saved["positions"], (3, 0), saved["positions"][3, 0] + edge)
    again = DPDFluid.load(write(tmp_path / "left", saved, positions=moved), "cpu", 1)
    assert again.positions == pytest.approx(fluid.positions, abs=1e-12)


@pytest.mark.parametrize(
    "word",
    ["10\nshell date", "10 # text", "$(step)", "a;b", 'a "b', "", " 1", "a  b", "1\t", "x&",
     math.nan, math.inf, Quoted('a" b'), Quoted("a\nb"), Quoted("")],
)  # fmt: skip
def test_lines_for_lammps_hold_names_and_numbers_only(word):
    with pytest.raises(ValueError, match="LAMMPS"):
        line("run", word)


def test_a_line_for_lammps():
    words = ("fix a all print", np.int64(10), True, np.float64(0.1), Quoted("/a b/$c"))
    assert line(*words) == 'fix a all print 10 1 0.10000000000000001 "/a b/$c"\n'
    with pytest.raises(TypeError, match="must be a number"):
        line("run", [7])


@needs_lammps
def test_a_folder_of_temporary_files_may_have_any_name(tmp_path, monkeypatch):
    folder = tmp_path / "a b $c"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    fluid = DPDFluid.random(N, 3.0, seed=7, device="cpu", threads=1)
    fluid.run(20)
    assert len(fluid.records) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"N": 24000, "forces": Forces(cutoff=5.0)},
            "cutoff 5 is too long for 24000 particles .* neighbors",
        ),
        ({"N": 64, "density": 1e-9}, "cutoff 1 is too short for 64 particles .* cells"),
        ({"N": 24000, "forces": Forces(cutoff=1000.0)}, "at least twice the cutoff 1000"),
    ],
)
def test_a_cutoff_that_does_not_fit_the_particles_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        DPDFluid.random(**{"density": 3.0, "seed": 1, "device": "cpu", **settings})
