"""What `HardDisks` promises: invariants, runs, interruptions, resources."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from hard_disks import closest_distance, lattice, make
from machine import limits_address_space
from processes import SOON, run, start

from manymove import HardDisks, HardSpheres
from manymove.hard_particles import hexagonal_packing, random_packing, square_packing


def assert_valid(disks):
    """Every disk once, in the box, and no overlap, by a check of its own."""
    positions = disks.positions
    half = np.array(disks.box) / 2
    assert positions.shape == (disks.N, 2)
    assert (positions >= -half).all() and (positions < half).all()
    closest = closest_distance(positions, disks.box) / disks.diameter
    assert closest >= 1 - 1e-6
    assert disks.max_overlap() == pytest.approx(max(0.0, 1 - closest), abs=1e-12)
    ids = np.sort(disks.core.snapshot()["ids"])
    assert np.array_equal(ids[-disks.N :], np.arange(disks.N))
    assert (ids[: -disks.N] == -1).all()


# ---- invariants --------------------------------------------------------------------------------


def test_a_long_run_of_a_dense_system_loses_no_disk_and_makes_no_overlap(device):
    """1024 disks at packing fraction 0.72, 20,000 sweeps: 2e7 trial moves."""
    disks = make(random_packing(1024, 0.72, seed=1), device, threads=2)
    disks.run(20_000)
    assert disks.sweeps > 19_000
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
        assert all(1 <= w < math.sqrt(2) for w in disks.core.grid["cell_width"])
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


@pytest.mark.parametrize("kind, N", [(HardDisks, 400), (HardSpheres, 300)])
def test_run_stops_at_the_cycle_nearest_to_the_sweeps_asked_for(device, kind, N):
    disks = kind.random(N, 0.5, seed=1, device=device, threads=1)
    disks.run(0)
    assert disks.cycles == 0
    goal = 0
    for sweeps in (50, 5, 100.5, 3):
        disks.run(sweeps)
        goal += sweeps
        assert abs(disks.sweeps - goal) <= 0.6 * disks.sweeps / disks.cycles
    assert disks.sweeps == disks.trial_moves / disks.N
    assert 0 < disks.accepted_moves < disks.trial_moves
    assert disks.acceptance == disks.accepted_moves / disks.trial_moves
    assert disks.seconds > 0


def test_many_short_runs_add_up(device, fluid):
    disks = make(fluid, device)
    for _ in range(1000):
        disks.run(0.3)
    assert disks.sweeps == pytest.approx(300, abs=disks.sweeps / disks.cycles)


def test_where_a_run_ends_does_not_depend_on_the_configuration(device):
    """A fluid and a square lattice, whose cells are occupied in other shares. The states of runs
    that end at a number of trial moves are biased."""
    N, box = 64, (10.0, 10.0)
    ends = []
    for positions in (lattice(8, 8, box), random_packing(N, N * math.pi / 400, seed=1)[0]):
        disks = make((positions, box), device)
        disks.run(1000)
        disks.run(0.4 * disks.sweeps_per_cycle)
        disks.run(0.4 * disks.sweeps_per_cycle)
        ends.append((disks.cycles, disks.sweeps_per_cycle))
    assert ends[0] == ends[1]
    cycles, per_cycle = ends[0]
    assert cycles == round(1000 / per_cycle + 0.8)
    assert disks.sweeps == pytest.approx(1000, rel=0.02)


def test_run_until_counts_from_the_start_and_never_goes_back(device, fluid):
    disks = make(fluid, device)
    disks.run_until(100)
    reached = disks.trial_moves
    assert disks.sweeps == pytest.approx(100, abs=disks.sweeps / disks.cycles)
    disks.run_until(50)
    assert disks.trial_moves == reached
    disks.run(5)  # from where it is
    assert disks.sweeps == pytest.approx(105, abs=disks.sweeps / disks.cycles)


def test_run_cycles_runs_just_as_many(device, fluid):
    disks = make(fluid, device)
    disks.run_cycles(0)
    assert disks.cycles == 0
    disks.run_cycles(7)
    assert disks.cycles == 7
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
    for endless in (1e300, 1e16):
        with pytest.raises(ValueError, match=r"sweeps must be at most 10\*\*15, got 1e"):
            disks.run(endless)
    assert disks.cycles == 0
    disks.run_cycles(np.array(2))  # an integer as arrays return it
    assert disks.cycles == 2


def test_the_callback_sees_the_run_go_on_and_leaves_no_trace(device, fluid):
    disks, alone = make(fluid, device), make(fluid, device)
    seen = []
    disks.run_cycles(3)
    disks.run_cycles(50, [(7, lambda d: seen.append(d.cycles)), (50, lambda d: seen.append(-1))])
    alone.run_cycles(53)
    assert alone.state_hash == disks.state_hash
    assert seen == [7, 14, 21, 28, 35, 42, 49, -1]  # multiples of the counter


@pytest.mark.parametrize("exception", [KeyboardInterrupt, RuntimeError])
def test_an_exception_in_the_callback_leaves_a_valid_state(device, fluid, exception):
    disks = make(fluid, device)

    def interrupt(d):
        if d.sweeps > 10:
            raise exception("enough")

    with pytest.raises(exception, match="enough"):
        disks.run(1e9, callbacks=[(1, interrupt)])
    assert_valid(disks)
    stopped = disks.sweeps
    assert stopped < 1e8
    alone = make(fluid, device)
    alone.run_cycles(disks.cycles)
    assert alone.state_hash == disks.state_hash
    disks.run(5)  # the rest of the interrupted run is forgotten
    assert disks.sweeps - stopped == pytest.approx(5, abs=2 * stopped / alone.cycles)


INTERRUPTED = """
import sys
from manymove import HardDisks, HardSpheres
particles = {made}
particles.run(1)
print("running", flush=True)
try:
    particles.run(1e12)
except KeyboardInterrupt:
    print("stopped", flush=True)
    print(particles.cycles, particles.state_hash, particles.max_overlap(), particles.sweeps > 1,
          flush=True)
    particles.run(1)
    print("continued", flush=True)
"""


SYSTEMS = (
    "HardDisks.random(10, 0.6",
    "HardDisks.random(100_000, 0.6",
    "HardSpheres.fcc(32_000, 0.4",
)


@pytest.mark.parametrize("system", SYSTEMS)
def test_ctrl_c_stops_a_run_that_would_take_days(device, system):
    made = f"{system}, seed=1, device={device!r}, threads=2)"
    code = INTERRUPTED.format(made=made)
    child = start([sys.executable, "-c", code], stderr=subprocess.PIPE)
    try:
        assert child.stdout.readline().strip() == "running", child.stderr.read()
        time.sleep(0.5)
        sent = time.perf_counter()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline().strip() == "stopped", child.stderr.read()
        assert time.perf_counter() - sent < SOON  # 0.6 s on an idle machine
        cycle, state_hash, overlap, moved = child.stdout.readline().split()
        assert child.stdout.readline().strip() == "continued"
        assert child.wait(timeout=30) == 0
    finally:
        child.kill()
        child.communicate()
    assert moved == "True"
    assert float(overlap) < 1e-6
    if "(10," in made:
        return  # too many cycles to repeat
    particles = eval(made, {"HardDisks": HardDisks, "HardSpheres": HardSpheres})
    particles.run_cycles(int(cycle))
    assert particles.state_hash == state_hash


# ---- resources ---------------------------------------------------------------------------------

LIMITED = """
import resource, sys
import numpy as np
from manymove import HardDisks
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
along = np.arange(-0.5 * {edge}, 0.49 * {edge}, 30)  # a disk for less than a thousand cells
try:
    positions = np.stack(np.meshgrid(along, along), -1).reshape(-1, 2)
    HardDisks(positions, ({edge}, {edge}), seed=1, device="cpu", threads={threads})
except {error} as error:
    print("refused", error)
disks = HardDisks(np.zeros((1, 2)), (9.0, 9.0), seed=1, device="cpu", threads=1)
disks.run(10)
print("went on")
"""


@limits_address_space
@pytest.mark.parametrize(
    ("edge", "threads", "error"), [(9000.0, 1, "MemoryError"), (9.0, 4000, "RuntimeError")]
)
def test_when_memory_or_threads_run_out_the_process_goes_on(edge, threads, error):
    code = LIMITED.format(edge=edge, threads=threads, error=error)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = run([sys.executable, "-c", code], env=environment, check=True)
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
