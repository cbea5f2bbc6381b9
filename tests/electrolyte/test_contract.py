"""What manymove.Electrolyte promises: errors, checkpoints, counters, callbacks."""

from __future__ import annotations

import math
import os
import signal
import threading
import time

import numpy as np
import pytest
from damage import change_checkpoint
from electrolytes import dense, trivalent
from flat_settings import of_electrolytes
from processes import SOON

from manymove import Electrolyte, Ions, Sphere
from manymove.analysis.ions import Salt, Species, random_box, random_sphere
from manymove.electrolyte import IonOverlapError

PAIR = [Species(1, 4.0), Species(-1, 4.0)]
APART = np.array([[0, 0, 0], [6.0, 0, 0]])


def make(positions=APART, types=(0, 1), species=PAIR, **options):
    options = {"radius": 20.0, "seed": 1, "device": "cpu"} | options
    return Electrolyte(positions, ions=Ions(np.array(types), species), **of_electrolytes(**options))


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"types": (0, 0)}, ValueError, "not neutral: valences sum to 2"),
        (
            {"positions": np.array([[0, 0, 0], [3.0, 0, 0]])},
            IonOverlapError,
            "ions 0 and 1 overlap",
        ),
        ({"positions": np.array([[0, 0, 0], [21.0, 0, 0]])}, ValueError, "ion 1 is outside"),
        ({"positions": np.array([[0, 0, 0], [np.nan, 0, 0]])}, ValueError, "not finite"),
        ({"positions": APART[:, :2].copy()}, ValueError, r"shape \(N, 3\)"),
        ({"positions": APART.astype(int)}, TypeError, "float32 or float64"),
        ({"positions": APART[:1], "types": (0,)}, ValueError, "two ions or more"),
        ({"types": (0, 2)}, ValueError, "types must be from 0 to 1"),
        ({"types": (0.0, 1.0)}, ValueError, "types must be integers"),
        ({"types": (0, 1, 1)}, ValueError, "as many as positions"),
        ({"radius": 0.0}, ValueError, "radius must be positive"),
        ({"radius": None, "box": (20, 20)}, ValueError, "three edges"),
        ({"radius": None, "box": (7, 7, 7)}, ValueError, "does not fit"),
        ({"radius": None, "box": (11, 20, 20)}, ValueError, "ion 1 is outside the box"),
        ({"bjerrum_length": 0.0}, ValueError, "bjerrum_length must be positive"),
        ({"max_displacement": -1.0}, ValueError, "max_displacement must be positive"),
        ({"max_displacement": 30.0}, ValueError, "max_displacement must be positive and at most"),
        ({"short_displacement": 1.0, "short_fraction": 1.5}, ValueError, "from 0 to 1"),
        ({"precision": "single"}, ValueError, '"mixed" or "double"'),
        ({"method": "ewald"}, ValueError, 'must be "brush"'),
        ({"threads_per_particle": 3}, ValueError, "1, 2, 4, 8 or 16"),
        ({"seed": -1}, ValueError, "seed must be in"),
        ({"seed": 1.5}, TypeError, "seed must be an integer"),
        ({"device": "tpu"}, ValueError, "unknown device"),
        ({"device": "cuda:0,"}, ValueError, "unknown device"),
        ({"device": "cuda:0,x"}, ValueError, "unknown device"),
        ({"threads": 0}, ValueError, "threads must be positive"),
    ],
)
def test_bad_input_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        make(**options)


@pytest.mark.parametrize(
    "valence, diameter, message", [(0, 4.0, "finite and not 0"), (1, 0.0, "must be positive")]
)
def test_bad_species_are_refused(valence, diameter, message):
    with pytest.raises(ValueError, match=message):
        Species(valence, diameter)


def test_too_dense_a_start_is_refused():
    with pytest.raises(ValueError, match="too dense"):
        random_sphere(1000, 10.0, 2.2, seed=1)
    with pytest.raises(ValueError, match="too dense"):
        random_box(1000, (20.0, 20.0, 20.0), 2.5, seed=1)


@pytest.mark.parametrize("ions, valences", [(10, (3, -1)), (7, (1, -1)), (8, (1, 1))])
def test_a_salt_that_is_not_neutral_is_refused(ions, valences):
    with pytest.raises(ValueError, match=r"not neutral|one must be"):
        Salt.of(ions, valences, (4.0, 4.0))


@pytest.mark.parametrize(
    "ions, valences, error, message",
    [
        (0, (1, -1), ValueError, "ions must be from 1 to 1073741824, got 0"),
        (2**31, (1, -1), ValueError, "ions must be from 1 to 1073741824"),
        (8.0, (1, -1), TypeError, r"ions must be an integer, got 8\.0"),
        (8, (1.5, -1), TypeError, r"valences must be an integer, got 1\.5"),
    ],
)
def test_numbers_of_ions_and_valences_are_integers(ions, valences, error, message):
    with pytest.raises(error, match=message):
        Salt.of(ions, valences, (4.0, 4.0))


def test_what_is_no_pair_and_no_box_is_named():
    with pytest.raises(ValueError, match="diameters must be a pair, one for each species, got 4"):
        Salt.of(8, (1, -1), 4.0)
    with pytest.raises(ValueError, match=r"box must be three edges \(Lx, Ly, Lz\), got 50"):
        Electrolyte.random(Salt.of(8, (1, -1), (4.0, 4.0)), 50.0, seed=1)
    with pytest.raises(TypeError, match=r"salt must be a manymove\.Salt, got 8"):
        Electrolyte.random(8, (50.0, 50.0, 50.0), seed=1)
    with pytest.raises(TypeError, match=r"ions must be a manymove\.Ions, got 8"):
        Electrolyte(np.zeros((8, 3)), (50.0, 50.0, 50.0), 8, seed=1)


@pytest.mark.parametrize("length", [0.0, -3.0, math.inf])
def test_a_density_needs_positive_lengths_and_concentrations(length):
    salt = Salt.of(8, (1, -1), (4.0, 4.0))
    with pytest.raises(ValueError, match="debye_length must be positive and finite"):
        salt.density(length, 7.0)
    with pytest.raises(ValueError, match="bjerrum_length must be positive and finite"):
        salt.density(10.0, length)
    with pytest.raises(ValueError, match="concentration must be positive and finite"):
        salt.density_at(length)


def test_starts_reach_a_packing_fraction_of_a_half():
    """pi / 6 * 1000 * 8 / (4 pi / 3 * (radius + 1)^3) = 0.5, hard cores included."""
    radius = (2 * 1000) ** (1 / 3) - 1 + 0.35
    points = random_sphere(1000, radius, 2.0, seed=2)
    ions = Electrolyte(
        points,
        ions=Ions(np.arange(1000) % 2, [Species(1, 2.0), Species(-1, 2.0)]),
        box=Sphere(radius),
        seed=1,
        device="cpu",
    )
    ions.run(1)
    assert ions.max_overlap() == 0


def test_short_moves_are_rounded_as_the_others_are():
    steps = {"max_displacement": 1.2345, "short_displacement": 1.2345, "short_fraction": 0.5}
    ions = make(**steps)
    assert ions.core.short_displacement == ions.max_displacement == pytest.approx(1.2345, abs=1e-5)


def test_touching_ions_are_accepted_after_rounding():
    """Rounding to the grid pushes some pairs at contact closer; they are moved by a few units."""
    random = np.random.default_rng(3)
    centers = (np.stack(np.meshgrid(*3 * [np.arange(-3, 4)]), -1).reshape(-1, 3) * 20.0)[:300]
    directions = random.normal(size=(300, 3))
    directions *= 2 * (1 + 1e-12) / np.linalg.norm(directions, axis=1)[:, None]
    positions = np.concatenate((centers + directions, centers - directions))
    ions = make(positions, np.arange(600) // 300, radius=120.0, max_displacement=1.0)
    assert ions.max_overlap() == 0
    assert np.abs(ions.positions - positions).max() < 5 * 120 / 2**23


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("build", [trivalent, dense])
def test_a_resumed_run_is_the_same_run(device, tmp_path, build, precision):
    whole = build(200, device=device, precision=precision)
    whole.sample_pair_correlations(2, bin_width=1.0)
    whole.run(7)
    assert whole.energy < 0
    whole.save(tmp_path / "state")
    whole.run(6)
    resumed = Electrolyte.load(tmp_path / "state", device=device)
    resumed.run(6)
    assert resumed.state_hash == whole.state_hash
    assert resumed.energy == whole.energy
    assert resumed.accepted_moves == whole.accepted_moves
    assert (resumed.pair_correlations.counts == whole.pair_correlations.counts).all()


def test_chunks_of_a_run_leave_no_trace(device):
    whole, parts = trivalent(100, device=device), trivalent(100, device=device)
    whole.run(9)
    for _ in range(3):
        parts.run(3)
    assert parts.state_hash == whole.state_hash


def test_positions_in_float32_and_float64_give_the_same_ions():
    start = trivalent(100, device="cpu").positions
    copies = [
        Electrolyte(
            start.astype(kind),
            ions=Ions(np.repeat([0, 1], [25, 75]), [Species(3, 7.5), Species(-1, 7.5)]),
            box=Sphere(200.0),
            seed=1,
            device="cpu",
        )
        for kind in (np.float32, np.float64)
    ]
    assert np.abs(copies[0].positions - copies[1].positions).max() < 1e-4


def test_counters_and_callback(device):
    ions = trivalent(100, device=device)
    seen = []
    ions.run(5, [(2, lambda one: seen.append(one.sweeps))])
    assert seen == [2, 4] and ions.sweeps == 5
    assert ions.trial_moves == 500
    assert 0 < ions.accepted_moves <= ions.evaluated_moves <= ions.trial_moves
    assert ions.acceptance == ions.accepted_moves / 500
    assert ions.seconds > 0


@pytest.mark.parametrize("sweeps, error", [(-1, ValueError), (1.5, TypeError)])
def test_bad_sweeps_are_refused(sweeps, error):
    with pytest.raises(error, match="sweeps must"):
        make().run(sweeps)


@pytest.mark.parametrize("method", ["brush", "tree"])
def test_ctrl_c_stops_between_sweeps(method):
    ions = trivalent(1000, method=method, device="cpu")
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ions.run(100_000)
    assert time.monotonic() - began < SOON
    ions.run(1)
    whole = trivalent(1000, method=method, device="cpu")
    whole.run(ions.sweeps)
    assert ions.state_hash == whole.state_hash


def test_new_positions_are_taken_or_refused_whole(device):
    ions = trivalent(100, device=device)
    ions.run(2)
    before, hash_before = ions.positions, ions.state_hash
    bad = before.copy()
    bad[1] = bad[0]
    with pytest.raises(IonOverlapError):
        ions.set_positions(bad)
    assert ions.state_hash == hash_before
    ions.set_positions(before)
    assert ions.state_hash == hash_before
    with pytest.raises(ValueError, match="number of ions"):
        ions.set_positions(before[:50])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"every": 0}, "every must be positive"),
        ({"every": 1, "bin_width": -1.0}, "bin_width"),
        ({"every": 1, "farthest": 100.0}, "farthest"),
        ({"every": 1, "margin": 20.0}, "margin"),
    ],
)
def test_bad_sampling_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make().sample_pair_correlations(**arguments)


def test_nothing_sampled_is_an_error():
    ions = make()
    with pytest.raises(RuntimeError, match="nothing sampled"):
        _ = ions.pair_correlations
    ions.sample_pair_correlations(5, bin_width=1.0)
    with pytest.raises(RuntimeError, match="run longer"):
        _ = ions.pair_correlations
    ions.run(10)
    with pytest.raises(ValueError, match="there are no species 0 and 5: the pairs are"):
        ions.pair_correlations.of(0, 5)


def test_a_sample_does_not_copy_the_earlier_ones():
    ions = make()
    ions.sample_pair_correlations(1, bin_width=4.0, margin=0)
    ions.run(1)
    first = ions.pair_sampling.arrays["pair_counts"]
    ions.run(9)
    assert np.shares_memory(first, ions.pair_sampling.arrays["pair_counts"])


def test_blocks_of_samples_merge_and_average_to_the_whole():
    ions = make()
    ions.sample_pair_correlations(1, bin_width=4.0, margin=0)
    ions.run(128)
    result = ions.pair_correlations
    assert len(result.blocks) == 64
    filled = result.ideal > 0
    mean = result.blocks.mean(axis=0)
    assert mean[filled] == pytest.approx(result.g[filled])


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "state"
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="no checkpoint of an electrolyte"):
        Electrolyte.load(path)
    ions = make()
    ions.save(path)
    change_checkpoint(path, lambda arrays, _: arrays.update(positions=arrays["positions"] + 0.5))
    with pytest.raises(ValueError, match="coordinate"):
        Electrolyte.load(path, device="cpu")
    with pytest.raises(FileNotFoundError):
        Electrolyte.load(tmp_path / "absent")


def test_serial_runs_on_the_cpu_only():
    with pytest.raises(ValueError, match=r"serial runs on the CPU only|no CUDA engine"):
        make(method="serial", device="cuda:0")


def test_a_gsd_file_without_charges_needs_species(tmp_path):
    pytest.importorskip("gsd")
    from manymove.io import FrameWriter, make_frame

    path = tmp_path / "neutral.gsd"
    with FrameWriter(path) as file:
        file.write(make_frame(np.array([[0.0, 0, 0], [6, 0, 0]]), (40.0, 40.0, 40.0), 0))
    with pytest.raises(ValueError, match=r"neutral.gsd: not all particles have a charge: give sp"):
        Electrolyte.from_gsd(path, seed=1, device="cpu")
