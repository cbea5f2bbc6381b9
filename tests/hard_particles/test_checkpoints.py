"""Checkpoints of `HardDisks`; files damaged at random are in io/test_robustness.py, and checkpoints
of all hard particles in test_spheres.py."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from damage import change_checkpoint
from hard_disks import make

from manymove import HardDisks, HardSpheres


def test_checkpoints_hold_the_settings_that_the_defaults_became(fluid, tmp_path):
    """So that a later version with other defaults continues with these."""
    disks = make(fluid)
    disks.save(tmp_path / "state")
    with np.load(tmp_path / "state") as file:
        parameters = json.loads(str(file["header"]))["parameters"]
    assert parameters["moves_per_cell"] == disks.moves_per_cell
    assert parameters["rounds"] == disks.rounds
    assert parameters["tile"] == disks.tile
    assert parameters["max_displacement"] == disks.max_displacement
    assert parameters["cell_width"] == 1.0


def test_a_checkpoint_of_the_largest_displacement_can_be_loaded(tmp_path):
    """The realised displacement is rounded, here to more than the width of a cell."""
    disks = make((np.zeros((1, 2)), (9.0, 9.0)), max_displacement=1.0)
    assert disks.max_displacement > 1
    disks.save(tmp_path / "state")
    loaded = HardDisks.load(tmp_path / "state", device="cpu")
    assert loaded.max_displacement == disks.max_displacement


def test_runs_of_a_checkpoint_end_where_those_of_its_object_do(device, fluid, tmp_path):
    """Also at constant pressure, where the grid has changed, and after tuning."""
    disks = make(fluid, device, pressure=1.0)
    disks.run(300)
    disks.tune_volume(100)
    disks.run(0.4 * disks.sweeps_per_cycle)
    disks.save(tmp_path / "state")
    resumed = HardDisks.load(tmp_path / "state", device=device, threads=2)
    assert resumed.sweeps_per_cycle == disks.sweeps_per_cycle
    for each in (disks, resumed):
        each.run(0.4 * disks.sweeps_per_cycle)
    assert resumed.state_hash == disks.state_hash


@pytest.mark.parametrize("goal", [None, 1e299, 0.0])
def test_a_run_after_a_checkpoint_of_a_callback_has_the_sweeps_asked_for(
    goal, fluid, tmp_path, monkeypatch
):
    """Whatever the file says about the end of the run during which it was written."""
    disks, path = make(fluid), tmp_path / "state"
    disks.run_cycles(3)

    def save(_):
        if goal is not None:
            monkeypatch.setattr(disks, "_goal", goal)
        if not path.exists():
            disks.save(path)

    disks.run(1000, callbacks=[(1, save)])
    loaded = HardDisks.load(path, device="cpu")
    before = loaded.cycles
    loaded.run(5 * loaded.sweeps_per_cycle)
    assert loaded.cycles == before + 5


def test_a_checkpoint_of_an_earlier_version_counts_the_sweeps_that_were_made(
    fluid, tmp_path, monkeypatch
):
    disks = make(fluid)
    disks.run(200)
    contents = HardDisks._contents

    def earlier(self, state):
        header, arrays = contents(self, state)
        del header["sweeps_per_cycle"]
        moves = self.trial_moves / self.cycles
        return header | {"goal": self.sweeps, "per_cycle": moves, "last_cycle": 0}, arrays

    monkeypatch.setattr(HardDisks, "_contents", earlier)
    disks.save(tmp_path / "state")
    loaded = HardDisks.load(tmp_path / "state", device="cpu")
    assert loaded.state_hash == disks.state_hash
    assert loaded.sweeps_per_cycle == disks.sweeps / disks.cycles
    loaded.run(100)
    assert loaded.sweeps == pytest.approx(disks.sweeps + 100, abs=loaded.sweeps_per_cycle)


def test_pressure_records_go_on_after_a_checkpoint(device, fluid, tmp_path):
    """Rows of the resumed run are the last rows of the uninterrupted one. The record during which
    the checkpoint was written is left out, because `sample_pressure` begins the sampling again."""
    disks, interrupted = make(fluid, device), make(fluid, device)
    for each in (disks, interrupted):
        each.run_cycles(10)
    per_cycle = disks.sweeps / 10
    interval = {"every": 3 * per_cycle, "record": 12 * per_cycle}
    for each in (disks, interrupted):
        each.sample_pressure(**interval)
    disks.run_cycles(200)
    interrupted.run_cycles(100)  # 110 is not a multiple of 12
    interrupted.save(tmp_path / "state")
    resumed = HardDisks.load(tmp_path / "state", device=device, threads=2)
    resumed.sample_pressure(**interval)
    resumed.run_cycles(100)
    for each in (disks, resumed):
        assert each._sampling.settings == {"every": 3, "samples": 4, "bins": 1024}
    expected = disks.pressure_records
    assert len(expected) == 16  # ends of records: cycles 24 to 204
    # the same counts; sums of other numbers of rows may round otherwise
    assert interrupted.pressure_records == pytest.approx(expected[:8], rel=1e-12)  # to cycle 108
    assert resumed.pressure_records == pytest.approx(expected[9:], rel=1e-12)  # from cycle 132
    assert resumed.pressure_sweeps[-1] == disks.pressure_sweeps[-1]


def test_counts_of_an_earlier_version_with_wider_bins_are_left_out(tmp_path):
    """The record that the checkpoint interrupts is left out, because its bins are not known."""
    spheres = HardSpheres.fcc(108, 0.72, seed=1, device="cpu", threads=1, max_displacement=0.003)
    spheres.sample_pressure(every=1, record=40 * spheres.sweeps_per_cycle)
    spheres.run_cycles(50)
    spheres.save(tmp_path / "state")

    def earlier(arrays, header):
        del header["pressure_sampling"]["bins"]
        assert arrays["pressure_open"].sum() > 0
        arrays["pressure_open"] *= 9

    change_checkpoint(tmp_path / "state", earlier)
    resumed = HardSpheres.load(tmp_path / "state", device="cpu", threads=1)
    assert not resumed.pair_histogram.any()
    for each in (spheres, resumed):
        each.run_cycles(110)
    assert len(spheres.pressure_records) == 4
    assert np.array_equal(resumed.pressure_records, spheres.pressure_records[[0, 2, 3]])


def test_a_write_that_fails_leaves_the_old_checkpoint(fluid, tmp_path, monkeypatch):
    disks = make(fluid)
    path = tmp_path / "state"
    disks.save(path)
    saved = disks.state_hash
    disks.run(10)

    def disk_full(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", disk_full)
    with pytest.raises(OSError, match="no space left"):
        disks.save(path)
    assert HardDisks.load(path, device="cpu").state_hash == saved
    monkeypatch.undo()
    disks.save(path)
    assert HardDisks.load(path, device="cpu").state_hash == disks.state_hash
    assert [file.name for file in tmp_path.iterdir()] == ["state"]


def occupied(arrays):
    return np.flatnonzero(arrays["ids"] >= 0)


def duplicate(arrays, header):
    first, second = occupied(arrays)[:2]
    arrays["ids"][first] = arrays["ids"][second]


def overlap(arrays, header):
    """One disk of a pair near the other, in the same cell."""
    ids, cells = arrays["ids"].reshape(-1, 4), arrays["cells"].reshape(-1, 4, 2)
    crowded = np.flatnonzero(ids[:, 1] >= 0)[0]
    cells[crowded, 1] = cells[crowded, 0]


def displace(value):
    def edit(arrays, header):
        arrays["cells"][2 * occupied(arrays)[0]] += value

    return edit


def remove(arrays, header):
    ids = arrays["ids"].reshape(-1, 4)
    last = ids[:, 0].argmax()
    ids[last] = -1
    arrays["cells"].reshape(-1, 4, 2)[last] = 1e15


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda a, h: a.pop("cells"), "is no checkpoint of hard disks: .*cells"),
        (lambda a, h: a.pop("header"), "is no checkpoint of hard disks: .*header"),
        (lambda a, h: h.pop("format"), "is no checkpoint of hard disks: .*format"),
        (lambda a, h: h.update(format=99), "format 99, expected"),
        (lambda a, h: h.pop("goal"), "is no checkpoint of hard disks: .*goal"),
        (lambda a, h: h.update(goal="far"), "is no checkpoint of hard disks"),
        (lambda a, h: h.update(particles=-5), "particles must be positive"),
        (lambda a, h: h.update(particles=399), "there twice"),
        (lambda a, h: h.update(particles=401), "holds 400 disks, expected 401"),
        (lambda a, h: h.update(particles=10**9), "holds 400 disks, expected 1000000000"),
        (lambda a, h: h.update(origin=[-2, 0]), "origin is not in the box"),
        (lambda a, h: h.update(origin=[1, 0]), "origin is not in the box"),
        (lambda a, h: h.update(origin=[0]), "wrong type or shape"),
        (lambda a, h: h.update(counters=[0, -1, 0]), "wrong type or shape"),
        (lambda a, h: h["parameters"].pop("diameter"), "a value is missing"),
        (lambda a, h: h["parameters"].update(diameter="x"), "wrong type or shape"),
        (lambda a, h: h["parameters"].update(box=[9.0, 9.0]), "slots, this grid has"),
        (lambda a, h: h["parameters"].update(box=[1.0, 9.0]), "box too small"),
        (lambda a, h: a.update(cells=a["cells"][:-2]), "slots, this grid has"),
        (lambda a, h: a.update(cells=a["cells"].reshape(-1, 2)), "wrong type or shape"),
        (lambda a, h: a.update(ids=a["ids"][::-1].copy()), "checkpoint: "),
        (duplicate, "disk [0-9]+ is unknown or there twice"),
        (lambda a, h: a["ids"].__setitem__(occupied(a)[0], 400), "disk 400 is unknown"),
        (overlap, "disks [0-9]+ and [0-9]+ overlap"),
        (displace(1), "not on the grid of its cell"),
        (displace(math.nan), "not on the grid of its cell"),
        (displace(1e7), "not on the grid of its cell"),
        (remove, "holds 39[0-9] disks, expected 400"),
    ],
)
def test_a_damaged_checkpoint_is_refused(fluid, tmp_path, edit, message):
    disks = make(fluid)
    disks.run(5)
    disks.save(tmp_path / "state")
    change_checkpoint(tmp_path / "state", edit)
    with pytest.raises(ValueError, match=message):
        HardDisks.load(tmp_path / "state", device="cpu")


def test_devices_and_threads_are_checked_when_a_checkpoint_is_loaded(fluid, tmp_path):
    make(fluid).save(tmp_path / "state")
    with pytest.raises(ValueError, match='unknown device "gpu"'):
        HardDisks.load(tmp_path / "state", device="gpu")
    with pytest.raises(ValueError, match="threads must be positive"):
        HardDisks.load(tmp_path / "state", device="cpu", threads=0)
