"""What `HardDisks` promises: runs, interruptions, checkpoints, input and its errors, invariants."""

from __future__ import annotations

import inspect
import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import closest_distance, lattice, limits_address_space

from manymove import HardDisks, _core
from manymove.harddisk import OverlapError, hexagonal_packing, random_packing, square_packing


@pytest.fixture
def fluid():
    return random_packing(400, 0.6, seed=1)


def make(start, device="cpu", **settings):
    positions, box = start
    return HardDisks(positions, box, device=device, **{"seed": 1, "threads": 1, **settings})


def assert_valid(disks):
    """Every disk once, in the box, and no overlap, by a check of its own."""
    positions = disks.positions
    half = np.array(disks.box) / 2
    assert positions.shape == (disks.N, 2)
    assert (positions >= -half).all() and (positions < half).all()
    closest = closest_distance(positions, disks.box) / disks.diameter
    assert closest >= 1 - 1e-6
    assert disks.max_overlap() == pytest.approx(max(0.0, 1 - closest), abs=1e-12)
    ids = np.sort(disks._engine.snapshot()["ids"])
    assert np.array_equal(ids[-disks.N :], np.arange(disks.N))
    assert (ids[: -disks.N] == -1).all()


# ---- invariants --------------------------------------------------------------------------------


def test_a_long_run_of_a_dense_system_loses_no_disk_and_makes_no_overlap(device):
    """1024 disks at packing fraction 0.72, 20,000 sweeps: 2e7 trial moves."""
    disks = make(random_packing(1024, 0.72, seed=1), device, threads=2)
    disks.run(20_000)
    assert disks.sweeps >= 19_990
    assert_valid(disks)
    assert 0.2 < disks.acceptance < 0.8


@pytest.mark.parametrize(
    ("start", "max_displacement"),
    [
        (lambda: hexagonal_packing(1056, 0.9), 0.01),
        (lambda: hexagonal_packing(480, 0.9068), 1e-4),
        (lambda: square_packing(1024, 0.784), 1e-3),
    ],
)
def test_near_close_packing_nothing_is_lost_either(device, start, max_displacement):
    for cell_width in (1.0, 1.41):
        disks = make(start(), device, max_displacement=max_displacement, cell_width=cell_width)
        before = disks.positions
        disks.run(1000)
        assert not np.array_equal(disks.positions, before)
        assert_valid(disks)


def test_wide_cells_never_hold_a_fifth_disk(device):
    """Whatever the box, cells stay below sqrt(2) diameters: five disks cannot share one. In a box
    of 5.5 diameters three cells of 1.4 and more would be 1.83 wide."""
    for edge in np.arange(3.0, 9.0, 0.25):
        positions, box = random_packing(int(0.5 * edge**2), 0.35, seed=1)
        scale = edge / box[0]
        if scale < 1:
            continue
        disks = make(
            (positions * scale, (edge, edge)), device, cell_width=1.41, max_displacement=0.5
        )
        assert all(1 <= w < math.sqrt(2) for w in disks._engine.grid["cell_width"])
        disks.run_cycles(500)
        assert_valid(disks)


def test_a_disk_keeps_its_index_and_its_step(device, fluid):
    """With one trial move per cycle at most, row i of `positions` moves by max_displacement at most
    along an axis; within any cycle by less than a cell."""
    disks = make(fluid, device, moves_per_cell=1, rounds=1, max_displacement=0.1)
    many = make(fluid, device, moves_per_cell=8, rounds=4, max_displacement=0.3)
    start = fluid[0]
    for engine, reach in ((disks, disks.max_displacement), (many, many._grid["cell_width"])):
        assert np.abs(engine.positions - start).max() < 2e-6
        for _ in range(30):
            before = engine.positions
            engine.run_cycles(1)
            step = engine.positions - before
            step -= np.rint(step / engine.box) * engine.box
            assert (np.abs(step) <= np.array(reach) + 2e-6).all()


@pytest.mark.parametrize("diameter", [1e-9, 0.37, 1.0, 2e6])
def test_the_unit_of_length_is_arbitrary(device, fluid, diameter):
    positions, box = fluid
    disks = make(
        (positions * diameter, (box[0] * diameter, box[1] * diameter)), device, diameter=diameter
    )
    disks.run(50)
    assert_valid(disks)
    assert disks.packing_fraction == pytest.approx(0.6, rel=1e-9)
    assert disks.max_displacement / diameter == pytest.approx(0.16, rel=2**-7)


# ---- running -----------------------------------------------------------------------------------


def test_run_stops_at_the_cycle_nearest_to_the_sweeps_asked_for(device, fluid):
    disks = make(fluid, device)
    disks.run(0)
    assert disks.cycle == 0
    goal = 0
    for sweeps in (50, 5, 100.5, 3):
        disks.run(sweeps)
        goal += sweeps
        assert abs(disks.sweeps - goal) <= 0.6 * disks.sweeps / disks.cycle
    assert disks.sweeps == disks.trial_moves / disks.N
    assert 0 < disks.accepted_moves < disks.trial_moves
    assert disks.acceptance == disks.accepted_moves / disks.trial_moves
    assert disks.seconds > 0


def test_many_short_runs_add_up(device, fluid):
    disks = make(fluid, device)
    for _ in range(1000):
        disks.run(0.3)
    assert disks.sweeps == pytest.approx(300, abs=disks.sweeps / disks.cycle)


def test_run_until_counts_from_the_start_and_never_goes_back(device, fluid):
    disks = make(fluid, device)
    disks.run_until(100)
    reached = disks.trial_moves
    assert disks.sweeps == pytest.approx(100, abs=disks.sweeps / disks.cycle)
    disks.run_until(50)
    assert disks.trial_moves == reached
    disks.run(5)  # from where it is
    assert disks.sweeps == pytest.approx(105, abs=disks.sweeps / disks.cycle)


def test_run_cycles_runs_just_as_many(device, fluid):
    disks = make(fluid, device)
    disks.run_cycles(0)
    assert disks.cycle == 0
    disks.run_cycles(7)
    assert disks.cycle == 7
    with pytest.raises(ValueError, match="cycles must not be negative, got -1"):
        disks.run_cycles(-1)


@pytest.mark.parametrize("sweeps", [-1, -1e-9, math.nan, math.inf])
def test_run_refuses_sweeps_that_are_none(fluid, sweeps):
    disks = make(fluid)
    with pytest.raises(ValueError, match="sweeps must be finite and not negative"):
        disks.run(sweeps)
    if not math.isfinite(sweeps):
        with pytest.raises(ValueError, match="sweeps must be finite"):
            disks.run_until(sweeps)
    assert disks.cycle == 0


def test_the_callback_sees_the_run_go_on_and_leaves_no_trace(device, fluid):
    disks, alone = make(fluid, device), make(fluid, device)
    seen = []
    started = time.perf_counter()
    disks.run(20_000, callback=lambda d: seen.append((d.sweeps, time.perf_counter())))
    elapsed = time.perf_counter() - started
    alone.run(20_000)
    assert alone.state_hash == disks.state_hash
    sweeps, times = np.array(seen).T
    assert (np.diff(sweeps) > 0).all()
    assert sweeps[-1] == disks.sweeps
    assert len(seen) >= elapsed / 0.5
    assert np.diff(times).max() < 1.0


@pytest.mark.parametrize("exception", [KeyboardInterrupt, RuntimeError])
def test_an_exception_in_the_callback_leaves_a_valid_state(device, fluid, exception):
    disks = make(fluid, device)

    def interrupt(d):
        if d.sweeps > 10:
            raise exception("enough")

    with pytest.raises(exception, match="enough"):
        disks.run(1e9, callback=interrupt)
    assert_valid(disks)
    stopped = disks.sweeps
    assert stopped < 1e8
    alone = make(fluid, device)
    alone.run_cycles(disks.cycle)
    assert alone.state_hash == disks.state_hash
    disks.run(5)  # the rest of the interrupted run is forgotten
    assert disks.sweeps - stopped == pytest.approx(5, abs=2 * stopped / alone.cycle)


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
from manymove import HardDisks
from manymove.harddisk import random_packing
positions, box = random_packing(int(sys.argv[2]), 0.65, seed=1)
disks = HardDisks(positions, box, seed=1, device=sys.argv[1], threads=2)
disks.run(1)
print("running", flush=True)
try:
    disks.run(1e12)
except KeyboardInterrupt:
    print("stopped", flush=True)
    print(disks.cycle, disks.state_hash, disks.max_overlap(), disks.sweeps > 1, flush=True)
    disks.run(1)
    print("went on", flush=True)
"""


@pytest.mark.parametrize("N", [10, 100_000])
def test_ctrl_c_stops_a_run_within_a_second(device, N):
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, device, str(N)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline().strip() == "running", child.stderr.read()
        time.sleep(0.5)
        sent = time.perf_counter()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline().strip() == "stopped", child.stderr.read()
        assert time.perf_counter() - sent < 1.0
        cycle, state_hash, overlap, moved = child.stdout.readline().split()
        assert child.stdout.readline().strip() == "went on"
        assert child.wait(timeout=30) == 0
    finally:
        child.kill()
        child.communicate()
    assert moved == "True"
    assert float(overlap) < 1e-6
    if N == 10:
        return  # too many cycles to repeat
    disks = make(random_packing(N, 0.65, seed=1), device, threads=2)
    disks.run_cycles(int(cycle))
    assert disks.state_hash == state_hash


# ---- checkpoints -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {
            "max_displacement": 0.2,
            "moves_per_cell": 3,
            "rounds": 2,
            "tile": 9,
            "cell_width": 1.2,
            "seed": 2**64 - 1,
            "shuffle_particles": False,
            "shuffle_sets": False,
        },
    ],
)
def test_a_loaded_checkpoint_goes_on_bit_for_bit(device, fluid, tmp_path, settings):
    """With other threads and, where there is a GPU, from one device to the other."""
    disks = make(fluid, device, **settings)
    disks.run(33.3)
    disks.save(tmp_path / "state")
    saved = disks.state_hash
    for _ in range(3):
        disks.run(11.1)
    others = [("cpu", 1), ("cpu", 3)] + [("cuda", None)] * (device == "cuda")
    for other, threads in others:
        loaded = HardDisks.load(tmp_path / "state", device=other, threads=threads)
        assert loaded.state_hash == saved
        assert (loaded.N, loaded.box, loaded.seed) == (disks.N, disks.box, disks.seed)
        for name in ("max_displacement", "moves_per_cell", "rounds", "tile", "cells"):
            assert getattr(loaded, name) == getattr(disks, name)
        for _ in range(3):
            loaded.run(11.1)
        assert loaded.state_hash == disks.state_hash
        assert np.array_equal(loaded.positions, disks.positions)
        assert (loaded.trial_moves, loaded.accepted_moves, loaded.cycle) == (
            disks.trial_moves,
            disks.accepted_moves,
            disks.cycle,
        )


def test_checkpoints_hold_the_settings_that_the_defaults_became(fluid, tmp_path):
    """So that a later version with other defaults goes on with these."""
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


def test_pressure_records_go_on_after_a_checkpoint(device, fluid, tmp_path):
    """Rows of the resumed run are the last rows of the uninterrupted one; the record during which
    the checkpoint was written is left out."""
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
        assert (each._sampling.every, each._sampling.samples) == (3, 4)
    expected = disks.pressure_records
    assert len(expected) == 16  # ends of records: cycles 24 to 204
    # the same counts; sums of other numbers of rows may round otherwise
    assert interrupted.pressure_records == pytest.approx(expected[:8], rel=1e-12)  # to cycle 108
    assert resumed.pressure_records == pytest.approx(expected[9:], rel=1e-12)  # from cycle 132
    assert resumed.pressure_sweeps[-1] == disks.pressure_sweeps[-1]


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


def change(path, edit):
    """Rewrite a checkpoint after edit(arrays, header)."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays["header"]))
    edit(arrays, header)
    if "header" in arrays:
        arrays["header"] = json.dumps(header)
    with open(path, "wb") as file:
        np.savez(file, **arrays)


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
        (lambda a, h: h.update(particles=10**9), "cannot hold 1000000000 disks"),
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
    change(tmp_path / "state", edit)
    with pytest.raises(ValueError, match=message):
        HardDisks.load(tmp_path / "state", device="cpu")


def test_a_file_cut_short_or_with_a_flipped_bit_is_never_another_state(tmp_path):
    disks = make((lattice(5, 5, (9.0, 9.0)), (9.0, 9.0)))
    disks.save(tmp_path / "state")
    whole = (tmp_path / "state").read_bytes()
    damaged = tmp_path / "damaged"
    for length in range(0, len(whole), 101):
        damaged.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is no checkpoint of hard disks"):
            HardDisks.load(damaged, device="cpu", threads=1)
    generator = np.random.default_rng(1)
    refused = 0
    for _ in range(200):
        bits = bytearray(whole)
        bits[generator.integers(len(bits))] ^= 1 << int(generator.integers(8))
        damaged.write_bytes(bits)
        try:  # a few bits of a zip file mean nothing
            assert HardDisks.load(damaged, device="cpu", threads=1).state_hash == disks.state_hash
        except ValueError:
            refused += 1
    assert refused > 150


def test_what_is_no_checkpoint_is_refused(fluid, tmp_path):
    (tmp_path / "text").write_text("not a checkpoint")
    np.save(tmp_path / "array.npy", np.zeros(3))
    for name in ("text", "array.npy"):
        with pytest.raises(ValueError, match=f"{name} is no checkpoint of hard disks"):
            HardDisks.load(tmp_path / name, device="cpu")
    with pytest.raises(FileNotFoundError):
        HardDisks.load(tmp_path / "nothing", device="cpu")
    make(fluid).save(tmp_path / "state")
    with pytest.raises(ValueError, match='unknown device "gpu"'):
        HardDisks.load(tmp_path / "state", device="gpu")
    with pytest.raises(ValueError, match="threads must be positive"):
        HardDisks.load(tmp_path / "state", device="cpu", threads=0)


# ---- input -------------------------------------------------------------------------------------


class DLPackOnly:
    """An array of some other library: nothing but the DLPack protocol."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **arguments):
        known = inspect.signature(self._array.__dlpack__).parameters if arguments else {}
        return self._array.__dlpack__(**{k: v for k, v in arguments.items() if k in known})

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack_and_read_only_arrays_are_as_good_as_numpy(device, fluid):
    positions, box = fluid
    read_only = positions.copy()
    read_only.flags.writeable = False
    expected = make((positions, box), device).state_hash
    for given in (DLPackOnly(positions), read_only, memoryview(positions)):
        assert make((given, box), device).state_hash == expected


def test_the_input_is_not_changed(device, fluid):
    positions, box = fluid
    before = positions.copy()
    make((positions, box), device).run(5)
    assert np.array_equal(positions, before)


@pytest.mark.skipif(_core.cuda_compiled, reason="this build has CUDA")
def test_without_cuda_a_cuda_array_is_refused_by_name():
    class OnDevice:
        __cuda_array_interface__ = {  # noqa: RUF012
            "shape": (3, 2),
            "typestr": "<f8",
            "data": (0xDEAD0000, False),
            "version": 3,
        }

    with pytest.raises(RuntimeError, match="a CUDA array, but this build of manymove has no CUDA"):
        make((OnDevice(), (9.0, 9.0)))


@pytest.mark.parametrize(
    ("face", "message"),
    [
        ({"shape": (3,)}, r"shape \(N, 2\)"),
        ({"shape": (3, 3)}, r"shape \(N, 2\)"),
        ({"typestr": "<i8"}, "float32 or float64"),
        ({"strides": (8, 24)}, "C-contiguous"),
    ],
)
def test_cuda_arrays_are_checked_before_they_are_read(face, message):
    class OnDevice:
        __cuda_array_interface__ = {  # noqa: RUF012
            "shape": (3, 2),
            "typestr": "<f8",
            "data": (0xDEAD0000, False),
            "version": 3,
            **face,
        }

    with pytest.raises((ValueError, TypeError), match=message):
        make((OnDevice(), (9.0, 9.0)))


THREE = np.array([[-3.0, 0.0], [0.0, 0.0], [3.0, 3.0]])


@pytest.mark.parametrize(
    ("positions", "error", "message"),
    [
        (THREE.tolist(), TypeError, "positions must be an array"),
        ("disks", TypeError, "positions must be an array"),
        (None, TypeError, "."),
        (THREE.astype(int), TypeError, "float32 or float64"),
        (THREE.astype(complex), TypeError, "float32 or float64"),
        (THREE.astype(np.float16), TypeError, "float32 or float64"),
        (THREE.astype(">f8"), TypeError, "positions must be"),
        (np.asfortranarray(THREE), ValueError, "C-contiguous; numpy.ascontiguousarray"),
        (THREE[::-1], ValueError, "C-contiguous"),
        (np.repeat(THREE, 2, axis=0)[::2], ValueError, "C-contiguous"),
        (THREE.ravel(), ValueError, r"shape \(N, 2\)"),
        (THREE[None], ValueError, r"shape \(N, 2\)"),
        (np.zeros((2, 3)), ValueError, r"shape \(N, 2\)"),
        (np.zeros((0, 2)), ValueError, "at least one disk"),
        (np.array([[0.0, 0.0], [math.nan, 2.0]]), ValueError, "disk 1 is not finite"),
        (np.array([[0.0, math.inf], [2.0, 2.0]]), ValueError, "disk 0 is not finite"),
        (
            np.array([[0.0, 0.0], [2.0, -4.6]]),
            ValueError,
            r"disk 1 is outside the box: y = -4.6, the edge is at 4.5",
        ),
        (np.zeros((100, 2)) + 0.1, ValueError, "packing fraction 0.969.* is above .* 0.9069"),
    ],
)
def test_bad_positions_are_refused(device, positions, error, message):
    with pytest.raises(error, match=message):
        make((positions, (9.0, 9.0)), device)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (
            (2.999, 9.0),
            "box too small for the checkerboard: edge x is 2.999, three",
        ),
        ((9.0, 1.0), "box too small for the checkerboard: edge y is 1,"),
        (9.0, "box must be two edges"),
        ((9.0, 9.0, 0.0), "box must be two edges"),
        ((0.0, 9.0), "box must be positive and finite"),
        ((9.0, -9.0), "box must be positive and finite"),
        ((math.nan, 9.0), "box must be positive and finite"),
        ((math.inf, 9.0), "box must be positive and finite"),
        ((1e6, 9.0), "box edge x holds more than 30000 cells"),
        ((9.0,), "."),
        ((9.0, 9.0, 9.0), "."),
    ],
)
def test_bad_boxes_are_refused(device, box, message):
    with pytest.raises(ValueError, match=message):
        make((np.zeros((1, 2)), box), device)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"diameter": 0}, ValueError, "diameter must be positive and finite, got 0"),
        ({"diameter": -1.0}, ValueError, "diameter must be positive"),
        ({"diameter": math.nan}, ValueError, "diameter must be positive"),
        ({"diameter": math.inf}, ValueError, "diameter must be positive"),
        ({"diameter": 3.5}, ValueError, "box too small"),
        ({"cell_width": 0}, ValueError, "cell_width must be positive"),
        ({"cell_width": 0.99}, ValueError, r"cell_width .* below sqrt\(2\) diameters, got 0.99"),
        ({"cell_width": 1.4143}, ValueError, "cell_width .*, got 1.4143"),
        ({"cell_width": math.nan}, ValueError, "cell_width"),
        ({"tile": 2}, ValueError, "tile must be from 3 to 41 cells, got 2"),
        ({"tile": 42}, ValueError, "tile must be from 3 to 41 cells, got 42"),
        ({"tile": 4.5}, TypeError, "tile must be an integer, got 4.5"),
        ({"rounds": 0}, ValueError, "rounds must be positive"),
        ({"rounds": 17}, ValueError, "rounds must be from 1 to 16, got 17"),
        ({"rounds": math.nan}, TypeError, "rounds must be an integer"),
        ({"moves_per_cell": -3}, ValueError, "moves_per_cell must be positive"),
        ({"moves_per_cell": 1025}, ValueError, "moves_per_cell must be from 1 to 1024, got 1025"),
        ({"moves_per_cell": 10**12}, ValueError, "moves_per_cell must be positive and below"),
        ({"moves_per_cell": 2.5}, TypeError, "moves_per_cell must be an integer, got 2.5"),
        ({"max_displacement": 0}, ValueError, "max_displacement must be positive"),
        ({"max_displacement": -0.1}, ValueError, "max_displacement must be positive"),
        ({"max_displacement": 1.01}, ValueError, "max_displacement .* at most the cell width 1,"),
        ({"max_displacement": math.nan}, ValueError, "max_displacement must be positive"),
        ({"threads": 0}, ValueError, "threads must be positive"),
        ({"threads": -2}, ValueError, "threads must be positive"),
        ({"threads": 1.5}, TypeError, "threads must be an integer, got 1.5"),
        ({"seed": -1}, ValueError, r"seed must be in \[0, 2\*\*64\), got -1"),
        ({"seed": 2**64}, ValueError, r"seed must be in \[0, 2\*\*64\)"),
        ({"seed": 1.0}, TypeError, "seed must be an integer, got 1.0"),
        ({"seed": None}, TypeError, "seed must be an integer, got None"),
        ({"repair_depth": -1e-4}, ValueError, "repair_depth must not be negative"),
        ({"repair_depth": math.nan}, ValueError, "repair_depth must not be negative"),
    ],
)
def test_bad_settings_are_refused(device, settings, error, message):
    with pytest.raises(error, match=message):
        make((np.zeros((1, 2)), (9.0, 9.0)), device, **settings)


@pytest.mark.parametrize(
    ("device", "error", "message"),
    [
        ("gpu", ValueError, 'unknown device "gpu": expected "auto", "cpu", "cuda" or '),
        ("", ValueError, 'unknown device ""'),
        ("cpu:0", ValueError, 'unknown device "cpu:0"'),
        ("cuda:", ValueError, 'unknown device "cuda:"'),
        ("cuda:-1", ValueError, 'unknown device "cuda:-1"'),
        ("cuda:x", ValueError, 'unknown device "cuda:x"'),
        ("cuda:99", ValueError, 'device "cuda:99" does not exist|has no CUDA engine'),
        (None, TypeError, "device must be a string, got None"),
        (0, TypeError, "device must be a string, got 0"),
    ],
)
def test_unknown_devices_are_refused(device, error, message):
    with pytest.raises(error, match=message):
        make((np.zeros((1, 2)), (9.0, 9.0)), device)


@pytest.mark.skipif(bool(_core.cuda_devices()), reason="there is a CUDA device")
def test_without_a_gpu_auto_means_cpu_and_cuda_is_refused():
    assert make((np.zeros((1, 2)), (9.0, 9.0)), "auto").device == "cpu"
    with pytest.raises(ValueError, match=r"no CUDA device found|has no CUDA engine"):
        make((np.zeros((1, 2)), (9.0, 9.0)), "cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not _core.cuda_devices(), reason="no CUDA device")
def test_with_a_gpu_auto_means_the_first():
    disks = make((np.zeros((1, 2)), (9.0, 9.0)), "auto")
    assert disks.device == "cuda:0"
    assert disks.device_name == _core.cuda_devices()[0]["name"]
    assert disks.threads == 1


def test_the_densest_packing_that_exists_is_the_limit(device):
    """Of 480 disks, at 0.9068 and above 0.9069."""
    disks = make(hexagonal_packing(480, 0.9068), device, max_displacement=1e-4)
    assert disks.packing_fraction == pytest.approx(0.9068, rel=1e-9)
    positions, box = hexagonal_packing(480, 0.9068)
    with pytest.raises(ValueError, match=r"packing fraction 0\.90[67].* is above"):
        make((positions, (box[0], box[1] * 0.9997)), device)


# ---- overlaps ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "depth"),
    [((3.2, 3.4), 0.5), ((3.1999, 4.0), 0.0001 + 4e-6), ((2.2, 3.4), 0.5), ((2.7, 3.4), 1.0)],
)
def test_an_overlapping_start_names_the_pair_and_its_depth(device, second, depth):
    """Also across the boundary of the box, and of disks on the same spot."""
    box = (9.0, 9.0)
    positions = lattice(5, 5, box)
    first = np.array([2.7, 3.4])
    second = np.array(second)
    if depth not in (0.5, 1.0):
        first, second = np.array([-4.5 + 0.4, 0.0]), np.array([4.5 - (0.6 - depth), 0.0])
    positions = np.concatenate([positions[:1] * 0, [[2.7, -3.0]], [first], [second]])
    with pytest.raises(OverlapError, match=r"disks 2 and 3 overlap by .* diameters") as caught:
        make((positions, box), device, repair_depth=1e-5)
    assert isinstance(caught.value, ValueError)
    found = float(str(caught.value).split("overlap by ")[1].split()[0])
    assert found == pytest.approx(depth, abs=2e-6)


def test_many_disks_on_one_spot_are_refused(device):
    with pytest.raises(OverlapError, match=r"disks [0-9]+ and [0-9]+ overlap by 1 diameters"):
        make((np.zeros((50, 2)), (9.0, 9.0)), device, repair_depth=0.5)


def test_the_worst_pair_is_the_one_named(device):
    positions = np.array([[0.0, 0.0], [0.9, 0.0], [3.0, 0.0], [3.0, 0.7], [-3.0, -3.0]])
    with pytest.raises(OverlapError, match=r"disks 2 and 3 overlap by 0.3"):
        make((positions, (12.0, 12.0)), device)


def test_a_float32_file_is_repaired_and_reported(device):
    """Pairs that almost touch, in a box of 300 diameters: float32 makes some overlap by 1e-5."""
    box = (300.0, 300.0)
    angles = np.random.default_rng(1).uniform(0, 2 * np.pi, 2500)
    ends = lattice(50, 50, box)
    half = 0.5 * (1 + 3e-6) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    positions = np.stack([ends - half, ends + half], axis=1).reshape(-1, 2)
    assert make((positions, box), device).repaired["count"] == 0
    single = positions.astype(np.float32)
    depths = 1 - np.linalg.norm(np.diff(single.astype(float).reshape(-1, 2, 2), axis=1), axis=2)
    assert (depths > 1e-6).sum() > 200
    disks = make((single, box), device)
    assert disks.repaired["count"] == pytest.approx((depths > 0).sum(), rel=0.3)
    assert disks.repaired["depth"] == pytest.approx(depths.max(), rel=0.2)
    assert disks.max_overlap() == 0
    moved = disks.positions - positions
    moved -= np.rint(moved / np.array(box)) * np.array(box)
    assert np.abs(moved).max() < 5e-5
    with pytest.raises(OverlapError):
        make((single, box), device, repair_depth=0)


def test_nothing_is_repaired_where_nothing_overlaps(device, fluid):
    disks = make(fluid, device)
    assert disks.repaired == {"count": 0, "depth": 0.0}
    assert np.abs(disks.positions - fluid[0]).max() < 2e-6


def test_overlaps_that_cannot_be_mended_are_refused(device):
    """Three disks in a row in a box of three diameters, slightly too close: there is no room."""
    positions = lattice(3, 3, (3.0, 3.0))
    positions[4, 0] += 5e-5
    with pytest.raises(OverlapError, match="could not be pushed apart"):
        make((positions, (3.0, 3.0)), device)


def test_disks_that_touch_do_not_overlap(device):
    disks = make((lattice(3, 3, (3.0, 3.0)), (3.0, 3.0)), device)
    assert disks.repaired["count"] == 0
    disks.run_cycles(100)
    assert disks.accepted_moves == 0
    assert disks.max_overlap() < 1e-12


def test_max_overlap_finds_the_closest_pair(device, fluid):
    disks = make(fluid, device)
    assert disks.max_overlap() == 0
    assert closest_distance(disks.positions, disks.box) >= 1
    assert make((np.zeros((1, 2)), (9.0, 9.0)), device).max_overlap() == 0


# ---- resources ---------------------------------------------------------------------------------

LIMITED = """
import resource, sys
import numpy as np
from manymove import HardDisks
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
try:
    HardDisks(np.zeros((1, 2)), ({edge}, {edge}), seed=1, device="cpu", threads={threads})
except {error} as error:
    print("refused", error)
disks = HardDisks(np.zeros((1, 2)), (9.0, 9.0), seed=1, device="cpu", threads=1)
disks.run(10)
print("went on")
"""


@limits_address_space
@pytest.mark.parametrize(
    ("edge", "threads", "error"), [(9000.0, 1, "MemoryError"), (9.0, 5000, "RuntimeError")]
)
def test_when_memory_or_threads_run_out_the_process_goes_on(edge, threads, error):
    code = LIMITED.format(edge=edge, threads=threads, error=error)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=True,
    )
    assert "refused" in done.stdout
    assert "went on" in done.stdout


def test_engines_can_be_made_and_dropped_many_times(device, fluid):
    for _ in range(50):
        make(fluid, device, threads=3).run_cycles(1)


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_a_host_program_gets_positions_and_images(real):
    """Arrays as HOOMD-blue has them, in any order, in a box of four cells. Single precision has
    no other test."""
    box, N = (4.5, 4.7), 8
    rng = np.random.default_rng(1)
    positions = np.array([(1.1 * i - 1.7, y) for y in (-1.5, 1.0) for i in range(4)])
    disks = HardDisks(positions, box, seed=3, device="cpu", threads=1)
    tag = rng.permutation(N).astype(np.uint32)
    index = np.argsort(tag).astype(np.uint32)
    theirs = np.full((N, 4), 7.0, dtype=real)
    theirs[index, :2] = positions
    image = np.zeros((N, 3), dtype=np.int32)
    where = (theirs.ctypes.data, real == np.float64, image.ctypes.data, index.ctypes.data)
    engine = disks._engine
    engine.write_positions(*where, tag.ctypes.data)
    unwrapped = theirs[index, :2] + image[index, :2] * np.array(box)
    for _ in range(300):
        assert engine.same_positions(*where, tag.ctypes.data)
        engine.enqueue(engine.cycles_between_writes, *where, tag.ctypes.data)
        np.testing.assert_allclose(theirs[index, :2], disks.positions, atol=5e-7)
        now = theirs[index, :2] + image[index, :2] * np.array(box)
        assert (np.abs(now - unwrapped) < np.array(box) / 2).all()
        unwrapped = now
    assert np.abs(image[:, :2]).max() > 0 and (image[:, 2] == 0).all()
    assert (theirs[:, 2:] == 7).all()
    theirs[3, 1] = np.nextafter(theirs[3, 1], real(0))
    assert not engine.same_positions(*where, tag.ctypes.data)
