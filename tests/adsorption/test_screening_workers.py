# SPDX-License-Identifier: BSD-3-Clause
"""Several structures at a time, in the threads of a process and in several processes."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest
from commands import COMMAND, summary_of
from machine import on_gpu
from processes import run, start, until
from screenings import OPTIONS, results, rows, screened, two_frameworks, write

from manymove.adsorption import TRAPPE_ZEO, screen
from manymove.adsorption.replica import Replica
from manymove.adsorption.screening import aif, crew, structure
from manymove.adsorption.screening.job import Job
from manymove.adsorption.screening.settings import screening_of
from manymove.jobs import folder_lock
from manymove.jobs import replica as replicas
from manymove.jobs.world import World

# The few atoms of the frameworks have few bonds.
pytestmark = pytest.mark.filterwarnings("ignore:.*too few bonded neighbors:UserWarning")


@pytest.fixture
def cifs(tmp_path) -> Path:
    """A folder of four frameworks, one of which is refused."""
    folder = two_frameworks(tmp_path / "cifs")
    write(folder, "middle", 9.2)
    (folder / "bad.cif").write_text("hello")
    return folder


@pytest.fixture(autouse=True)
def released():
    yield
    folder_lock.release()


def table(output: Path) -> bytes:
    return (output / "screen.csv").read_bytes()


def test_structures_that_run_at_the_same_time_have_the_same_table(cifs, tmp_path):
    assert screened(cifs, tmp_path / "one") == 0
    assert screened(cifs, tmp_path / "two", "--threads", "2", "--at-once", "3") == 0
    assert table(tmp_path / "two") == table(tmp_path / "one")
    assert "too few bonded neighbors" in rows(tmp_path / "two")[-1]["framework_warnings"]


def test_processes_with_the_same_folder_share_the_structures(cifs, tmp_path):
    words = [*COMMAND, "screen", cifs, *OPTIONS, "--output", tmp_path / "shared"]
    two = [start(words) for _ in range(2)]
    for process in two:
        printed, _ = process.communicate(timeout=300)
        assert process.returncode == 0, printed
    assert screened(cifs, tmp_path / "one") == 0
    assert table(tmp_path / "shared") == table(tmp_path / "one")
    assert summary_of(tmp_path / "shared")["complete"] is True
    assert not [*(tmp_path / "shared").rglob("manymove.lock")]


def test_another_process_takes_over_the_structure_of_a_killed_one(cifs, tmp_path):
    """The killed process loses the work since its last checkpoint."""
    both = [cifs / "narrow.cif", cifs / "wide.cif"]
    words = [*COMMAND, "screen", *both, *OPTIONS, "--output"]
    output = tmp_path / "cut"
    killed = start([*words, output, "--checkpoint-every", "0"])
    until(lambda: [*output.glob("structures/narrow/pressure_1/checkpoint-0.state")], killed)
    killed.send_signal(signal.SIGSTOP)  # it keeps its lock
    other = start([*words, output])
    until(lambda: (output / "structures/wide/isotherm.aif").is_file(), other, seconds=100)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    printed, _ = other.communicate(timeout=300)
    assert other.returncode == 0, printed
    assert results(output, "narrow")["state"] == "done"
    assert run([*words, tmp_path / "whole"], timeout=300).returncode == 0
    assert table(output) == table(tmp_path / "whole")


def test_ranks_share_the_structures(cifs, tmp_path, mpiexec):
    words = [*COMMAND, "screen", cifs, *OPTIONS, "--overwrite", "--output", tmp_path / "ranks"]
    words.remove("--quiet")
    done = run([*mpiexec, *words], timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("results in") == 1
    assert screened(cifs, tmp_path / "one") == 0
    assert table(tmp_path / "ranks") == table(tmp_path / "one")


def test_the_results_of_a_running_process_are_not_overwritten(cifs, tmp_path, capsys):
    options = " ".join(OPTIONS).replace("--steps 100", "--steps 10000000")
    options = options.replace("--target-error 0.5", "--target-error 1e-6").split()
    output = tmp_path / "out"
    words = ["screen", cifs / "wide.cif", *options, "--output", output]
    process = start([*COMMAND, *words], stderr=subprocess.PIPE)
    until(lambda: (output / "options.json").is_file(), process)
    assert screened(cifs / "wide.cif", output, "--overwrite") == 2
    assert f"{output} is in use by process {process.pid}" in capsys.readouterr().err
    assert screened(cifs / "wide.cif", output, "--seed", "2") == 2
    assert "has --seed 1, not 2" in capsys.readouterr().err
    # Both would write the tables, and the last one would win.
    assert screened(cifs / "wide.cif", output, "--rank-by", "henry") == 2
    assert "has --rank-by loading, not henry" in capsys.readouterr().err
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) and process.returncode == 130


def test_a_refused_overwrite_keeps_the_results_with_their_options(cifs, tmp_path, capsys):
    output = tmp_path / "out"
    assert screened(cifs, output) == 0
    script = "import sys, time; from pathlib import Path; from manymove.jobs import folder_lock\n"
    script += "folder_lock.hold(Path(sys.argv[1])); print('held', flush=True); time.sleep(300)"
    holder = start([sys.executable, "-c", script, output / "structures/wide"])
    assert holder.stdout.readline() == "held\n"
    try:
        assert screened(cifs, output, "--overwrite", "--seed", "2") == 2
        assert f"structures/wide is in use by process {holder.pid}" in capsys.readouterr().err
    finally:
        holder.kill()
        holder.communicate()
    assert screened(cifs, output, "--seed", "2") == 2
    assert "has --seed 1, not 2" in capsys.readouterr().err
    assert screened(cifs, output, "--overwrite", "--seed", "2") == 0


def test_a_refused_overwrite_releases_the_folder(cifs, tmp_path):
    """Another process has a structure, so that nothing is removed, and this one tries again."""
    output = tmp_path / "out"
    (output / "structures/wide").mkdir(parents=True)
    script = "import sys, time; from pathlib import Path; from manymove.jobs import folder_lock\n"
    script += "folder_lock.hold(Path(sys.argv[1])); print('held', flush=True); time.sleep(300)"
    holder = start([sys.executable, "-c", script, output / "structures/wide"])
    assert holder.stdout.readline() == "held\n"
    given = dict(output=output, adsorbates="CH4", force_field="TraPPE-zeo", device="cpu")
    job = Job(cifs, screening_of({**given, "overwrite": True}, {}))
    try:
        with pytest.raises(folder_lock.FolderInUse, match="structures/wide"), job._folder():
            pass
    finally:
        holder.kill()
        holder.communicate()
    with job._folder():
        assert job.counts == {"pending": 4}


def test_a_structure_without_enough_memory_is_tried_again_when_the_others_have_ended(
    cifs, tmp_path, monkeypatch
):
    """Other processes do not take it for a failed one, and may have it in the meantime."""
    original, calls, written = structure.insert_into_framework, [], []
    hold, held = folder_lock.hold, []
    output = tmp_path / "two"

    def failing(framework, *given, **options):
        calls.append(framework.name)
        if framework.name == "narrow":
            written.append((output / "structures/narrow/structure.json").exists())
            if calls.count("narrow") == 1:
                raise MemoryError
        return original(framework, *given, **options)

    def in_use(folder, **options):
        held.append(folder.name)
        if folder.name == "narrow" and held.count("narrow") == 2:
            raise folder_lock.FolderInUse("narrow is in use")
        hold(folder, **options)

    monkeypatch.setattr(structure, "insert_into_framework", failing)
    monkeypatch.setattr(folder_lock, "hold", in_use)
    assert screened(cifs, output, "--at-once", "2", "--threads", "2") == 0
    assert calls[-1] == "narrow" and calls.count("narrow") == 2
    assert written == [False, False]
    assert results(output, "narrow")["state"] == "done"
    assert summary_of(output)["complete"] is True


def test_generators_of_a_process_share_the_structures(cifs, tmp_path, monkeypatch):
    original, measured = structure.Task.measured, []

    def counted(self, stop):
        measured.append(self.structure.name)
        return original(self, stop)

    monkeypatch.setattr(structure.Task, "measured", counted)
    options = dict(
        output=tmp_path / "out", adsorbates="CH4", force_field="TraPPE-zeo", cutoff=4.0,
        grid_spacing=0.25, device="cpu", threads=2, systems=10, steps=100, equilibrate=10,
        target_error=0.5, isotherm=(1.0, 10.0), insertions=50, samples=20,
    )  # fmt: skip
    one, other = screen(cifs, **options), screen(cifs, **options)
    found = [[next(one)], [next(other)]]
    found[0] += one  # the first generator releases the folder
    found[1] += other
    assert sorted(measured) == ["bad", "middle", "narrow", "wide"]
    for each in found:
        assert sorted(one["structure"] for one in each) == sorted(measured)
    assert summary_of(tmp_path / "out")["complete"] is True
    assert not list((tmp_path / "out").rglob(folder_lock.LOCK_FILE))


def test_the_last_table_has_the_results_of_all_processes(cifs, tmp_path):
    output = tmp_path / "out"
    settings = screening_of(
        dict(output=output, adsorbates="CH4", force_field="TraPPE-zeo", device="cpu"), {}
    )
    job = Job(cifs, settings)
    with job._folder():
        assert job.counts == {"pending": 4}
        bad = next(task for task in job._tasks if task.structure.name == "bad")
        bad.folder.mkdir(parents=True)
        bad.write({**bad.check(), "points": []})  # as another process does
        job._write(final=True)
    assert job.counts == {"pending": 3, "refused": 1}
    assert rows(output)[0]["structure"] == "bad" and rows(output)[0]["status"] == "refused"


def test_one_process_writes_the_tables_at_a_time(cifs, tmp_path):
    output, written = tmp_path / "out", []
    settings = screening_of(
        dict(output=output, adsorbates="CH4", force_field="TraPPE-zeo", device="cpu"), {}
    )
    job = Job(cifs, settings)
    with job._folder():
        with folder_lock.turn(output / "structures"):
            writer = Thread(target=lambda: written.append(job._write(final=True)))
            writer.start()
            writer.join(1.0)
            assert writer.is_alive() and not (output / "screen.csv").exists()
        writer.join(60.0)
    assert written == [None] and (output / "screen.csv").is_file()


def test_a_stop_is_not_lost_when_a_structure_ends_at_the_same_time(cifs, tmp_path, monkeypatch):
    original, asked = crew.Crew.results, []

    def results_and_a_signal(self):
        for one in original(self):
            if one is not None and not asked:
                asked.append(one)
                signal.raise_signal(signal.SIGINT)
            yield one

    monkeypatch.setattr(crew.Crew, "results", results_and_a_signal)
    assert screened(cifs, tmp_path / "out", "--at-once", "1") == 130
    summary = summary_of(tmp_path / "out")
    assert summary["complete"] is False and summary["states"]["refused"] == 1


def test_a_structure_whose_isotherm_could_not_be_written_is_not_finished(
    cifs, tmp_path, monkeypatch, capsys
):
    def full(*given):
        raise OSError("no space left")

    output = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(aif, "write_files", full)
        assert screened(cifs / "wide.cif", output) == 2
    assert "no space left" in capsys.readouterr().err
    assert screened(cifs / "wide.cif", output) == 0
    assert (output / "structures/wide/isotherm.aif").is_file()


def test_an_error_of_a_thread_ends_the_screening(cifs, tmp_path, monkeypatch, capsys):
    def full(self, results):
        raise OSError("no space left")

    monkeypatch.setattr(structure.Task, "write", full)
    assert screened(cifs, tmp_path / "out", "--at-once", "2") == 2
    assert "no space left" in capsys.readouterr().err
    assert not [*(tmp_path / "out").rglob("manymove.lock")]


def of(**options):
    return screening_of({"force_field": TRAPPE_ZEO, "adsorbates": "CH4", **options}, {})


def test_structures_on_a_cpu_share_its_threads():
    places = crew.places_of(of(device="cpu", threads=5), World(), 2)
    assert [(place.device, place.threads) for place in places] == [("cpu", 3), ("cpu", 2)]
    places = crew.places_of(of(device="cpu", threads=2, at_once=3), World(), 10)
    assert [place.threads for place in places] == [1, 1, 1]
    assert len(crew.places_of(of(device="cpu", threads=1000), World(), 1000)) == 32


def test_structures_run_on_several_gpus(monkeypatch):
    monkeypatch.setattr(crew, "filling_systems", lambda *given: 200)
    places = crew.places_of(of(device="cuda:0,2", threads=16), World(), 100)
    assert [place.device for place in places] == ["cuda:0", "cuda:2"] * 7
    assert sum(place.threads for place in places) == 16
    assert len(crew.places_of(of(device="cuda:1", systems=10), World(), 100)) == 20


@on_gpu
def test_structures_that_share_a_gpu_have_the_states_of_a_cpu(cifs, tmp_path):
    words = ("--adsorbates", "CO2", "--framework-charges", "zero", "--trial-positions", "auto")
    for device in ("cpu", "cuda"):
        output = tmp_path / device
        assert screened(cifs, output, *words, "--device", device, "--at-once", "2") == 0
    for name in ("narrow", "wide"):
        one, other = (results(tmp_path / device, name)["points"] for device in ("cpu", "cuda"))
        assert len(one) == 2
        for point, same in zip(one, other, strict=True):
            assert point["state_hash"] == same["state_hash"] is not None
            assert point["loading_molecules"] == same["loading_molecules"]
            assert point["pilots"] == same["pilots"]


def test_the_points_of_an_isotherm_share_the_grid_of_the_henry_coefficient(
    cifs, tmp_path, monkeypatch
):
    """While a grid is computed the program asks whether it was interrupted. Each point has an
    engine of its own here, as after an interruption."""
    load = structure.Adsorption.load
    monkeypatch.setattr(Replica, "_ended", lambda self, state: load(state, "cpu", 1))
    asked = []
    original = replicas.interruptible
    monkeypatch.setattr(
        replicas, "interruptible", lambda f: original(lambda: bool(asked.append(1)) or f())
    )
    assert screened(cifs / "wide.cif", tmp_path / "out") == 0
    assert not asked
    monkeypatch.setattr(structure.Adsorption, "kept_grid", lambda self: None)
    gc.collect()  # engines in reference cycles, which share their grid
    assert screened(cifs / "wide.cif", tmp_path / "other") == 0
    assert asked
    assert table(tmp_path / "other") == table(tmp_path / "out")


def test_the_process_waits_as_before_after_the_last_of_several_crews(monkeypatch):
    calls, before = [], sys.getswitchinterval()
    monkeypatch.setattr(crew._core, "prepare_for_threads", lambda *given: calls.append(given))
    waits, one, other = crew.Waits(), object(), object()
    waits.begin(one, ["cuda:0", "cpu"])
    waits.begin(other, ["cuda:0", "cuda:1"])
    assert sorted(calls) == [(0, True), (1, True)]
    waits.end(one)
    waits.end(one)
    assert len(calls) == 2 and sys.getswitchinterval() == pytest.approx(crew._SWITCH)
    waits.end(other)
    assert sorted(calls[2:]) == [(0, False), (1, False)]
    assert sys.getswitchinterval() == before
