"""`manymove dpd`: an input script, a run, a summary."""

from __future__ import annotations

import json
import re
import resource

import pytest
from lammps_host import needs_lammps

from manymove import cli
from manymove.dpd import job, messages, model
from manymove.dpd.replica import Settings, input_script


@needs_lammps
@pytest.mark.parametrize(("ranks", "threads"), [(1, 1), (2, 1), (1, 2)])
@pytest.mark.pictures
def test_run_writes_what_it_found(device, ranks, threads, tmp_path):
    fluid = Settings(
        particles=1500,
        steps=600,
        equilibrate=300,
        seed=3,
        device=device,
        ranks=ranks,
        threads=threads,
    )
    summary = job.run(fluid, tmp_path / "out", quiet=True)
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["device"] == device and summary["device_name"]
    assert summary["complete"] and summary["equilibration_steps"] == 300
    assert summary.keys() >= {"seconds", "seed", "threads", "ranks", "version", "date"}
    assert summary["temperature"] == pytest.approx(1, abs=0.05)
    assert summary["pressure"] == pytest.approx(23.7, abs=1)
    assert summary["pressure_error"] < 0.5
    assert summary["million_particle_steps_per_second"] > 0
    assert summary["box"][0] ** 3 * 3 == pytest.approx(1500)
    for name in ("in.dpd", "log.lammps", "thermo.csv", "thermo.png", "final.data"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    log = (tmp_path / "out" / "log.lammps").read_text()
    assert ("the particles are on cpu" in log) == (device == "cpu")
    text = job.table(summary)
    assert f"on {ranks} rank" in text and "pressure" in text
    assert f"{device} ({summary['device_name']})" in text


@needs_lammps
def test_without_a_gpu_auto_is_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    few = {"particles": 300, "steps": 20, "equilibrate": 20, "seed": 3}
    for ranks in (1, 2):
        cpu = job.run(Settings(**few, ranks=ranks, device="cpu"), tmp_path / f"cpu{ranks}", True)
        auto = job.run(Settings(**few, ranks=ranks), tmp_path / f"auto{ranks}", True)
        assert auto["device"] == "cpu" and auto["pressure"] == cpu["pressure"]
        for out in (f"cpu{ranks}", f"auto{ranks}"):
            log = (tmp_path / out / "log.lammps").read_text()
            assert "the particles are on cpu" in log
        more = job.run(Settings(**few, ranks=ranks, threads=4), tmp_path / f"more{ranks}", True)
        assert more["pressure"] == cpu["pressure"]
    with pytest.raises(RuntimeError, match="device cuda is not available"):
        job.run(Settings(**few, device="cuda"), tmp_path / "cuda", quiet=True)
    assert not (tmp_path / "cuda").exists()


@needs_lammps
def test_the_script_keeps_its_particles_on_the_device(tmp_path, monkeypatch):
    """With the engine that does on threads what the GPU's does."""
    few = {"particles": 600, "steps": 20, "equilibrate": 20, "precision": "double"}
    monkeypatch.setattr(model, "run_style", lambda *_: "verlet")
    host = job.run(Settings(**few, device="cpu"), tmp_path / "host", quiet=True)
    monkeypatch.setattr(model, "run_style", lambda *_: "manymove/verlet device cpu")
    monkeypatch.setattr(job._core, "cuda_devices", lambda: [{}])
    kept = job.run(Settings(**few, device="cuda"), tmp_path / "kept", quiet=True)
    assert "the particles are on cpu" in (tmp_path / "kept" / "log.lammps").read_text()
    assert kept["device"] == "cpu"
    for name in ("temperature", "pressure", "potential_energy"):
        assert kept[name] == pytest.approx(host[name], rel=1e-6)


@pytest.mark.parametrize(("steps", "every"), [(2, 1), (50, 5), (1000, 10), (10**6, 1000)])
def test_records_are_some_steps_apart(steps, every):
    assert f"fix records all print {every} " in input_script(Settings(particles=300, steps=steps))


@needs_lammps
def test_a_longer_run_has_the_records_of_one_run(tmp_path):
    """Its records are farther apart than those of the run that it resumes."""
    few = {"particles": 300, "equilibrate": 20, "precision": "double", "device": "cpu"}
    few |= {"checkpoint_steps": 50, "threads": 1}
    once, parts = tmp_path / "once", tmp_path / "parts"
    job.run(Settings(**few, steps=400), once, quiet=True)
    for steps in (50, 400):
        job.run(Settings(**few, steps=steps), parts, quiet=True, resume=steps > 50)
    with pytest.raises(ValueError, match=r"--steps is 50, but the run in .* has made 400 steps"):
        job.run(Settings(**few, steps=50), parts, quiet=True, resume=True)
    table = (once / "thermo.csv").read_text()
    assert len(table.splitlines()) == 1 + 400 // 10 + 1
    assert (parts / "thermo.csv").read_text() == table


@needs_lammps
def test_files_that_are_missing_or_damaged_are_named(tmp_path):
    few = {"particles": 300, "equilibrate": 10, "device": "cpu", "checkpoint_steps": 10}
    job.run(Settings(**few, steps=20), tmp_path, quiet=True)
    (newest,) = tmp_path.glob("checkpoint-30.restart")
    newest.write_bytes(newest.read_bytes()[:300])
    longer = Settings(**few, steps=40)
    with pytest.raises(RuntimeError, match=r"checkpoint-30.restart: (?!ERROR).*\. Remove this"):
        job.run(longer, tmp_path, quiet=True, resume=True)
    (tmp_path / "thermo.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"thermo.csv, the records of the run, is missing"):
        job.run(longer, tmp_path, quiet=True, resume=True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"particles": 0}, "particles must be positive"),
        ({"threads": 0}, "threads must be positive"),
        ({"density": -1.0}, "density must be positive"),
        ({"gamma": -1.0}, "gamma must not be negative"),
        ({"temperature": float("nan")}, "temperature must not be negative"),
        ({"precision": "half"}, 'precision must be "mixed" or "double"'),
        ({"device": "cuda:1"}, 'device must be "auto", "cpu" or "cuda"'),
        ({"particles": 10}, "less than twice the cutoff"),
    ],
)
def test_bad_settings_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Settings(**wrong)


def test_more_ranks_than_cores_are_a_warning(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("manymove.devices.usable_cores", lambda: frozenset({0, 1}))
    monkeypatch.setattr("manymove.lammps.plugin_path", lambda: None)  # nothing starts
    for ranks in (2, 3):
        words = ["dpd", "--ranks", str(ranks), "--device", "cpu", "--output", str(tmp_path)]
        assert cli.run(words) == 2
        warned = "3 ranks share 2 core(s), so that they wait for each other: --ranks 2 is faster"
        assert (warned in capsys.readouterr().err) == (ranks == 3)


@needs_lammps
def test_an_error_of_lammps_is_passed_on(tmp_path):
    # Nothing in a box of this size holds together at such a step.
    fluid = Settings(particles=300, timestep=50.0, steps=200, equilibrate=200, device="cpu")
    with pytest.raises(RuntimeError, match="LAMMPS has stopped: particle") as caught:
        job.run(fluid, tmp_path, quiet=True)
    assert re.search(r"^[^()]*: use a shorter time step, or weaker forces$", str(caught.value))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (
            "ERROR: Run style manymove/verlet on cpu: Lost atoms: particle 7 was lost before step "
            "2: it left the box (src/mpi_communicator.cpp:18)\nLast input line: run 2\n",
            "particle 7 was lost before step 2 because it left the box: use a shorter time step, "
            "or weaker forces",
        ),
        (
            "ERROR: Lost atoms: original 3000 current 0\nFor more information see (src/a.cpp:1)",
            "particles have been lost, 0 of 3000 are left: use a shorter time step, or weaker "
            "forces",
        ),
        (
            "ERROR on proc 1: Neighbor list overflow, boost neigh_modify one (src/a.cpp:12)",
            "a particle has more neighbors than LAMMPS' lists can hold, 2000: use a shorter cutoff "
            "or a lower density",
        ),
        (
            "ERROR: Run style manymove/verlet: device cuda is not available: this build has no "
            "CUDA; use device cpu (src/resident/resident_verlet.cpp:94)",
            "device cuda is not available: this build has no CUDA; use device cpu",
        ),
    ],
    ids=["lost", "all lost", "neighbors", "other"],
)
def test_an_error_of_lammps_is_one_sentence(theirs, ours):
    assert messages.is_error(theirs) and messages.sentence(theirs) == ours


@needs_lammps
def test_a_full_disk_is_named(tmp_path):
    """LAMMPS ends by a signal if a file becomes too large, without a message."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        with pytest.raises(RuntimeError, match=r"LAMMPS stopped.*: check the free space"):
            job.run(Settings(particles=3000, steps=500, device="cpu"), tmp_path, quiet=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr("manymove.lammps.plugin_path", lambda: None)
    with pytest.raises(RuntimeError, match=r"pip install \. \./lammps_ext"):
        job.run(Settings(particles=300), tmp_path)


@needs_lammps
def test_every_record_after_the_equilibration_counts(tmp_path):
    """Records are at multiples of their interval, whenever the equilibration ends."""
    few = {"particles": 300, "steps": 20, "equilibrate": 5, "seed": 3, "device": "cpu"}
    summary = job.run(Settings(**few), tmp_path, quiet=True)
    rows = [line.split(",") for line in (tmp_path / "thermo.csv").read_text().splitlines()[1:]]
    counted = [float(pressure) for step, _, pressure, _ in rows if int(step) > 5]
    assert len(counted) >= 10
    assert summary["pressure"] == pytest.approx(sum(counted) / len(counted))
