# SPDX-License-Identifier: BSD-3-Clause
"""The power is cut, or a system call fails, at every call of a save: there is a whole file."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os

import gsd.hoomd
import numpy as np
import pytest
from commands import summary_of
from flat_settings import of_adsorption
from laws import another
from power_cuts import Recorder, image_of, materialize

from manymove import Adsorption, Electrolyte, HardDisks, Sphere, checkpoint, cli, files, runs
from manymove.analysis.ions import Salt
from manymove.hard_particles.packing import random_packing
from manymove.io import FrameWriter, make_frame
from manymove.jobs import figures, report
from manymove.jobs import replica as job

# ---- one file ----------------------------------------------------------------------------------


def disks():
    return HardDisks(*random_packing(60, 0.5, seed=1), seed=1, device="cpu", threads=1)


def ions():
    salt = Salt.of(40, (3, -1), (7.5, 7.5))
    return Electrolyte.random(salt, box=Sphere(60.0), seed=1, device="cpu", threads=1)


def gas():
    return Adsorption(
        **of_adsorption(
            framework="LTA",
            molecules=2,
            method="mdp",
            systems=4,
            cells=(1, 1, 1),
            cutoff=11.0,
            temperature=300.0,
            interpolation="cubic",
            grid_spacing=0.8,
            seed=1,
            device="cpu",
            threads=1,
        )
    )


class Figure:
    def savefig(self, file, format, dpi):
        file.write(json.dumps([format, dpi]).encode())


def saving(make):
    """Saves and loads states of one engine, which moves in between."""

    def save(path, number, **keep):
        engine = make()
        engine.run(1 + number)
        engine.save(path, **keep)
        return engine.state_hash

    def load(path):
        kind = {disks: HardDisks, ions: Electrolyte, gas: Adsorption}[make]
        return kind.load(path, device="cpu", threads=1).state_hash

    return save, load


def save_records(path, number, **keep):
    checkpoint.write_records(path, np.full(2000, float(number)), about=number, **keep)
    return number


def load_records(path):
    records, about = checkpoint.read_records(path)
    assert (records == about["about"]).all()
    return about["about"]


def save_json(path, number):
    report.write_json(path, {"value": number, "more": list(range(3000))})
    return number


def save_csv(path, number):
    report.write_csv(path, "a,b", np.full((2000, 2), number), ["%d", "%d"])
    return f"a,b\n{f'{number},{number}' + chr(10)}" + f"{number},{number}\n" * 1999


def save_picture(path, number):
    figures.write_picture(path, Figure(), dpi=number)
    return number


def save_trajectory(path, number):
    with FrameWriter(path, overwrite=True) as trajectory:
        mark = trajectory.sync()
    assert mark["frames"] == 0
    return 0


def load_trajectory(path):
    with gsd.hoomd.open(str(path), "r") as file:
        return len(file)


SAVES = {
    "disks": (*saving(disks), "state"),
    "electrolyte": (*saving(ions), "state"),
    "adsorption": (*saving(gas), "state"),
    "records": (save_records, load_records, "state"),
    "json": (save_json, lambda path: json.loads(path.read_text())["value"], "summary.json"),
    "csv": (save_csv, lambda path: path.read_text(), "table.csv"),
    "picture": (save_picture, lambda path: json.loads(path.read_text())[1], "a.png"),
    "trajectory": (save_trajectory, load_trajectory, "a.gsd"),
}
KEEPING = ("disks", "electrolyte", "adsorption", "records")


@pytest.mark.parametrize(
    ("name", "keep", "links"),
    [(name, False, True) for name in SAVES]
    + [(name, True, links) for name in KEEPING for links in (True, False)],
)
def test_a_power_cut_at_any_call_of_a_save_leaves_a_whole_file(
    name, keep, links, tmp_path, monkeypatch
):
    """The file is the old one or the new one; where it is kept, the one before is there too."""
    save, load, file = SAVES[name]
    options = {"keep_previous": True} if keep else {}
    root = tmp_path / "root"
    root.mkdir()
    older = save(root / file, 1, **options)
    old = save(root / file, 2, **options)
    if not links:
        monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    with Recorder(root, monkeypatch, library=(".gsd",)) as recorder:
        new = save(root / file, 3, **options)
    assert recorder.image == image_of(root), "something was written that was not recorded"
    assert sum(call[0] == "write" for call in recorder.calls) >= 1
    random = np.random.default_rng(1)
    seen = {}
    for calls in range(len(recorder.calls) + 1):
        for image in recorder.cut(calls).images(random, torn=3):
            key = image.get(file), image.get(f"{file}.previous")
            if key not in seen:
                folder = tmp_path / str(len(seen))
                materialize(image, folder)
                kept = folder / f"{file}.previous"
                seen[key] = load(folder / file), load(kept) if kept.exists() else None
            assert seen[key][0] in (old, new), f"{calls} calls: {recorder.calls[:calls][-3:]}"
            assert seen[key][1] in ((older, old) if keep else (None,)), calls
            if calls == len(recorder.calls):
                assert seen[key] == (new, old if keep else None)
    assert {one for one, _ in seen.values()} == {old, new}


def refuse(number):
    def call(*_, **__):
        raise OSError(number, os.strerror(number))

    return call


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "full"), OSError(errno.EIO, "broken"), KeyboardInterrupt()]
)
@pytest.mark.parametrize("name", ["records", "json", "csv", "picture", "trajectory"])
def test_whatever_call_fails_there_is_a_whole_file_and_no_other(name, error, tmp_path, monkeypatch):
    save, load, file = SAVES[name]
    options = {"keep_previous": True} if name in KEEPING else {}
    failed = 0
    while True:
        root = tmp_path / str(failed)
        root.mkdir()
        save(root / file, 1, **options)
        old = save(root / file, 2, **options)
        made = []

        def fail(call, made=made, failed=failed):
            made.append(call)
            if len(made) == failed + 1:
                raise error

        with Recorder(root, monkeypatch, library=(".gsd",)) as recorder:
            recorder.fail = fail
            try:
                new = save(root / file, 3, **options)
            except OSError as raised:
                assert str(raised) == f"[Errno {error.errno}] {error.strerror}: '{root / file}'"
            except KeyboardInterrupt:
                assert isinstance(error, KeyboardInterrupt)
        whole = {file, f"{file}.previous"} if options else {file}
        assert {path.name for path in root.iterdir()} == whole, made[failed]
        if len(made) == failed:
            break
        assert load(root / file) == old or made[failed] in ("fsync", "unlink", "link"), made
        failed += 1
    assert load(root / file) == new
    assert failed >= 5


def test_errors_name_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"directory: '.*/none/state'"):
        disks().save(tmp_path / "none" / "state")
    (tmp_path / "folder").mkdir()
    for keep in (False, True):
        with pytest.raises(IsADirectoryError, match=r"directory: '.*/folder'"):
            disks().save(tmp_path / "folder", keep_previous=keep)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_system_that_syncs_no_folders_is_no_error(tmp_path, monkeypatch):
    with Recorder(tmp_path, monkeypatch) as recorder:
        sync = os.fsync

        def fsync(descriptor):
            if os.path.isdir(f"/proc/self/fd/{descriptor}"):
                raise OSError(errno.EINVAL, "no")
            sync(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)
        save_records(tmp_path / "records", 1)
    assert load_records(tmp_path / "records") == 1
    assert sum(call[0] == "sync" for call in recorder.calls) == 1


# ---- trajectories ------------------------------------------------------------------------------


def test_a_trajectory_is_put_back_to_its_last_synced_frame(tmp_path, monkeypatch):
    """Also if later changes, in which gsd moves its index to another place, were lost in part."""
    root = tmp_path / "root"
    root.mkdir()
    random = np.random.default_rng(2)
    positions = random.uniform(-2, 2, (9, 50, 2))
    box = (5.0, 5.0)
    trajectory = FrameWriter(root / "a.gsd")
    for step, frame in enumerate(positions[:3]):
        trajectory.write(make_frame(frame, box, step, log={"psi6": 0.1}))
    mark = json.loads(json.dumps(trajectory.sync()))
    synced = (root / "a.gsd").read_bytes()
    with Recorder(root, monkeypatch, library=(".gsd",)) as recorder:
        for step in range(3, 40):
            trajectory.write(make_frame(positions[step % 9], box, step, log={"psi6": 0.1}))
            if step % 4 == 0:
                files.make_folder(root / str(step))  # calls, at which the recorder looks
    trajectory.close()
    assert recorder.image == image_of(root)
    refused = 0
    for calls in range(0, len(recorder.calls) + 1, 29):
        for image in recorder.cut(calls).images(random, torn=2):
            path = tmp_path / "b.gsd"
            path.write_bytes(image["a.gsd"])
            different = image["a.gsd"] != synced
            try:
                gsd.hoomd.open(str(path), "r").close()
            except Exception:
                refused += 1
            with FrameWriter(path, mark=mark) as again:
                assert again.shortened == different
                assert again.last_step == 2
            assert path.read_bytes() == synced
    assert refused, "gsd reads everything: the test is too weak"
    with FrameWriter(path, mark=mark) as again:
        again.write(make_frame(positions[3], box, 3, log={"psi6": 0.1}))
    with gsd.hoomd.open(str(path), "r") as file:
        assert [frame.configuration.step for frame in file] == [0, 1, 2, 3]


def test_another_trajectory_than_that_of_the_mark_is_left_alone(tmp_path):
    box = (5.0, 5.0)
    with FrameWriter(tmp_path / "a.gsd") as trajectory:
        trajectory.write(make_frame(np.zeros((1, 2)), box, 7))
        trajectory.write(make_frame(np.ones((1, 2)), box, 8))
        mark = trajectory.sync()
    with FrameWriter(tmp_path / "b.gsd") as trajectory:
        trajectory.write(make_frame(np.zeros((1, 2)), box, 7))
    data = (tmp_path / "b.gsd").read_bytes()
    for other in (data, data + bytes(10_000), b""):
        (tmp_path / "b.gsd").write_bytes(other)
        with pytest.raises(ValueError, match=r"b\.gsd: not the trajectory"):
            FrameWriter(tmp_path / "b.gsd", mark=mark)
        assert (tmp_path / "b.gsd").read_bytes() == other
    with FrameWriter(tmp_path / "c.gsd", mark=mark) as trajectory:  # moved away
        assert trajectory.last_step == 8


# ---- runs --------------------------------------------------------------------------------------

RUNS = {
    "disks": "--particles 256 --sweeps 150 --equilibrate 40 --frames 6",
    "electrolyte": "--ions 64 --sweeps 12 --equilibrate 4",
    "adsorption": "--framework LTA --molecules 2 --systems 4 --steps 12 --equilibrate 4 "
    "--interpolation cubic --grid-spacing 0.8",
}
SAME = ("state_hash", "psi6", "trial_moves", "accepted_moves", "energy_K")


@pytest.fixture
def command(monkeypatch):
    """Runs a command with a checkpoint after every cycle, sweep or step."""
    monkeypatch.setattr(runs, "_PIECE", 0)

    def run(name, output, *more):
        options = [*RUNS[name].split(), "--device", "cpu", "--threads", "1", "--quiet"]
        return cli.run(
            [name, *options, "--checkpoint-every", "1e-9", "--output", str(output), *more]
        )

    return run


def same(one, other):
    """The runs have the same results."""
    for key in SAME:
        assert summary_of(one).get(key) == summary_of(other).get(key), key
    if "energy_per_ion_kT" in summary_of(one):  # a resumed engine sums the energy in another order
        energies = [summary_of(run)["energy_per_ion_kT"] for run in (one, other)]
        assert energies[0] == pytest.approx(energies[1], rel=1e-12)
    if (one / "trajectory.gsd").exists():
        assert steps_of(one) == steps_of(other)


def steps_of(folder):
    with gsd.hoomd.open(str(folder / "trajectory.gsd"), "r") as file:
        return [(f.configuration.step, f.particles.position.tobytes()) for f in file]


@pytest.mark.parametrize("name", [another("disks"), "electrolyte", another("adsorption")])
def test_a_run_whose_power_is_cut_anywhere_ends_the_same(name, command, tmp_path, capfd):
    root = tmp_path / "root"
    root.mkdir()
    with pytest.MonkeyPatch.context() as patch, Recorder(root, patch, (".gsd",)) as recorder:
        assert command(name, root / "new" / "folder") == 0
    assert recorder.image == image_of(root), "something was written that was not recorded"
    whole = root / "new" / "folder"
    last = len(recorder.calls)
    first = saved_after(recorder.calls, "checkpoint-0.state")
    assert first < last / 4
    random = np.random.default_rng(5)
    for number, calls in enumerate([first, last, *random.integers(first, last, 10)]):
        cut = tmp_path / str(number)
        materialize(recorder.cut(calls).random_image(random), cut)
        assert command(name, cut / "new" / "folder", "--resume") == 0, capfd.readouterr().err
        same(whole, cut / "new" / "folder")
    for calls in random.choice(first, 5, replace=False):  # perhaps there is one
        cut = tmp_path / f"early {calls}"
        materialize(recorder.cut(calls).random_image(random), cut)
        if command(name, cut / "new" / "folder", "--resume") == 2:
            assert "--resume: no checkpoint" in capfd.readouterr().err
        else:
            same(whole, cut / "new" / "folder")


def saved_after(calls, name):
    """The number of calls after which a file is certainly there."""
    for k, (kind, folder, *more) in enumerate(calls):
        if kind == "names" and any(path.endswith(name) for path in more[0]):
            return next(n for n in range(k, len(calls)) if calls[n] == ("sync", folder)) + 1
    raise AssertionError(f"{name} was never written")


@pytest.fixture
def broken_off(command, tmp_path, monkeypatch):
    """Runs a command until its eighth checkpoint: the folder, in which the one before is kept."""

    def run(name, *more):
        count = itertools.count(1)
        save = job.Replica.save

        def counted(replica, engine):
            save(replica, engine)
            if next(count) == 8:
                raise OSError("the test ends the run here")

        with monkeypatch.context() as patch:
            patch.setattr(job.Replica, "save", counted)
            assert command(name, tmp_path / "cut", *more) == 2
        return tmp_path / "cut"

    return run


@pytest.mark.parametrize("name", [another("disks"), "electrolyte", another("adsorption")])
def test_a_damaged_checkpoint_is_replaced_by_the_one_before(
    name, command, broken_off, tmp_path, capfd
):
    assert command(name, tmp_path / "whole") == 0
    image = image_of(broken_off(name))
    both = ("state", "records")
    cases = [(("state",), how) for how in (blank, shorter, flipped, None)]
    cases += [(("records",), flipped), (("records",), None), (both, flipped)]
    for number, (what, how) in enumerate(cases):
        folder = tmp_path / str(number)
        materialize(image, folder)
        damaged = [folder / f"checkpoint-0.{one}" for one in what]
        for path in damaged:
            path.unlink() if how is None else path.write_bytes(how(path.read_bytes()))
        capfd.readouterr()
        assert command(name, folder, "--resume") == 0
        told = capfd.readouterr().err.splitlines()[0]
        assert told.endswith(f"; continuing from {folder / 'checkpoint-0.state.previous'}")
        assert all(str(path) in told for path in damaged)
        same(tmp_path / "whole", folder)


def test_if_both_checkpoints_are_damaged_the_error_names_both(command, broken_off, capfd):
    folder = broken_off("electrolyte")
    paths = [folder / name for name in ("checkpoint-0.state", "checkpoint-0.state.previous")]
    for path in paths:
        path.write_bytes(shorter(path.read_bytes()))
    capfd.readouterr()
    assert command("electrolyte", folder, "--resume") == 2
    error = capfd.readouterr().err
    assert all(f"{path} is damaged" in error for path in paths)
    assert error.count("\n") == 1


def blank(data):
    return bytes(len(data))


def shorter(data):
    return data[: len(data) // 2]


def flipped(data):
    """Flips one bit of the longest array."""
    with np.load(io.BytesIO(data)) as file:
        longest = max((file[name].tobytes() for name in file.files), key=len)
    changed = bytearray(data)
    changed[data.index(longest) + len(longest) // 2] ^= 4
    return bytes(changed)


def test_a_damaged_checkpoint_does_not_push_out_the_good_one(command, broken_off, monkeypatch):
    """The next save replaces it."""
    state = broken_off("electrolyte") / "checkpoint-0.state"
    state.write_bytes(flipped(state.read_bytes()))
    seen = []
    write = checkpoint.write

    def watched(path, *args, **more):
        write(path, *args, **more)
        seen.append(checkpoint.damage(files.previous(state)))

    monkeypatch.setattr(checkpoint, "write", watched)
    assert command("electrolyte", state.parent, "--resume") == 0
    assert seen and not any(seen)


def test_a_new_run_does_not_mix_with_the_checkpoints_of_an_earlier_one(command, tmp_path):
    assert command("electrolyte", tmp_path, "--seed", "1") == 0
    options = [*RUNS["electrolyte"].split(), "--device", "cpu", "--quiet", "--seed", "2"]
    options += ["--overwrite", "--output", str(tmp_path)]
    assert cli.run(["electrolyte", *options]) == 0  # saved once
    assert sorted(path.name for path in tmp_path.glob("checkpoint*")) == [
        "checkpoint-0.records",
        "checkpoint-0.state",
    ]


def test_a_frame_that_does_not_fit_is_an_error_that_names_the_file(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "a.gsd"
    trajectory = FrameWriter(path)
    trajectory.write(make_frame(np.zeros((10, 2)), (5.0, 5.0), 1))
    mark = trajectory.sync()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100, before[1]))
    try:
        with pytest.raises(OSError, match=r"a\.gsd"):
            trajectory.write(make_frame(np.ones((1000, 2)), (5.0, 5.0), 2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with FrameWriter(path, mark=mark) as again:
        again.write(make_frame(np.ones((10, 2)), (5.0, 5.0), 2))
    with gsd.hoomd.open(str(path), "r") as file:
        assert [frame.configuration.step for frame in file] == [1, 2]
