"""`manymove dpd`: a deck, a run, a summary."""

from __future__ import annotations

import json

import pytest
from lammps_host import needs_lammps

from manymove.dpd import fluid as dpd


@needs_lammps
@pytest.mark.parametrize(("ranks", "threads"), [(1, 1), (2, 1), (1, 2)])
def test_run_writes_what_it_found(device, ranks, threads, tmp_path):
    fluid = dpd.Fluid(
        particles=1500,
        steps=600,
        equilibrate=300,
        seed=3,
        device=device,
        ranks=ranks,
        threads=threads,
    )
    summary = dpd.run(fluid, tmp_path / "out", quiet=True)
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["device"] == device and summary["device_name"]
    assert summary["complete"] and summary["equilibration_steps"] == 300
    assert summary.keys() >= {"seconds", "seed", "threads", "ranks", "version", "date"}
    assert summary["temperature"] == pytest.approx(1, abs=0.05)
    assert summary["pressure"] == pytest.approx(23.7, abs=1)
    assert summary["pressure_error"] < 0.5
    assert summary["million_particle_steps_per_second"] > 0
    assert summary["box"][0] ** 3 * 3 == pytest.approx(1500)
    for name in ("in.dpd", "log.lammps", "thermo.csv", "final.data"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    log = (tmp_path / "out" / "log.lammps").read_text()
    assert ("the particles are on cpu" in log) == (ranks == 1 and device == "cpu")
    text = dpd.table(summary)
    assert f"on {ranks} rank" in text and "pressure" in text
    assert f"{device} ({summary['device_name']})" in text


@needs_lammps
def test_without_a_gpu_auto_is_the_cpu(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    few = {"particles": 300, "steps": 20, "equilibrate": 20, "seed": 3}
    for ranks in (1, 2):
        cpu = dpd.run(dpd.Fluid(**few, ranks=ranks, device="cpu"), tmp_path / f"cpu{ranks}", True)
        auto = dpd.run(dpd.Fluid(**few, ranks=ranks), tmp_path / f"auto{ranks}", True)
        assert auto["device"] == "cpu" and auto["pressure"] == cpu["pressure"]
        for out in (f"cpu{ranks}", f"auto{ranks}"):
            log = (tmp_path / out / "log.lammps").read_text()
            assert ("the particles are on cpu" in log) == (ranks == 1)
    threads = dpd.run(dpd.Fluid(**few, threads=2), tmp_path / "threads", quiet=True)
    one = dpd.run(dpd.Fluid(**few), tmp_path / "one", quiet=True)
    assert threads["pressure"] == one["pressure"]
    with pytest.raises(RuntimeError, match="device cuda is not there"):
        dpd.run(dpd.Fluid(**few, device="cuda"), tmp_path / "cuda", quiet=True)


@needs_lammps
def test_the_deck_keeps_its_particles_on_the_device(tmp_path, monkeypatch):
    """With the engine that does on threads what the GPU's does."""
    few = {"particles": 600, "steps": 20, "equilibrate": 20, "precision": "double"}
    monkeypatch.setattr(dpd, "run_style", lambda *_: "verlet")
    host = dpd.run(dpd.Fluid(**few, device="cpu"), tmp_path / "host", quiet=True)
    monkeypatch.setattr(dpd, "run_style", lambda *_: "manymove/verlet device cpu")
    kept = dpd.run(dpd.Fluid(**few, device="cuda"), tmp_path / "kept", quiet=True)
    assert "the particles are on cpu" in (tmp_path / "kept" / "log.lammps").read_text()
    assert kept["device"] == "cpu"
    for name in ("temperature", "pressure", "potential_energy"):
        assert kept[name] == pytest.approx(host[name], rel=1e-6)


@pytest.mark.parametrize(("steps", "every"), [(2, 1), (50, 5), (1000, 10), (10**6, 1000)])
def test_records_are_some_steps_apart(steps, every):
    assert f"fix records all print {every} " in dpd.deck(dpd.Fluid(particles=300, steps=steps))


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
        dpd.Fluid(**wrong)


@needs_lammps
def test_an_error_of_lammps_is_passed_on(tmp_path):
    # Nothing in a box of this size holds together at such a step.
    fluid = dpd.Fluid(particles=300, timestep=50.0, steps=200, equilibrate=200, device="cpu")
    with pytest.raises(RuntimeError, match="ERROR"):
        dpd.run(fluid, tmp_path, quiet=True)


def test_what_is_missing_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr("manymove.lammps.plugin_path", lambda: None)
    with pytest.raises(RuntimeError, match=r"pip install \. \./lammps_ext"):
        dpd.run(dpd.Fluid(particles=300), tmp_path)


@needs_lammps
def test_every_record_after_the_equilibration_counts(tmp_path):
    """Records are at multiples of their interval, whenever the equilibration ends."""
    few = {"particles": 300, "steps": 20, "equilibrate": 5, "seed": 3, "device": "cpu"}
    summary = dpd.run(dpd.Fluid(**few), tmp_path, quiet=True)
    rows = [line.split(",") for line in (tmp_path / "thermo.csv").read_text().splitlines()[1:]]
    counted = [float(pressure) for step, _, pressure, _ in rows if int(step) > 5]
    assert len(counted) >= 10
    assert summary["pressure"] == pytest.approx(sum(counted) / len(counted))
