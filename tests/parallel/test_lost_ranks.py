"""A rank that dies or fails ends the whole job within a minute, and others can go on.

Disks that ranks share are in hard_particles/test_ranks.py.
"""

from __future__ import annotations

import signal

import processes
import pytest
from commands import COMMAND, arguments, summary_of
from dpd_scripts import fluid, resident, system
from lammps_host import needs_lammps, start_lammps
from processes import Job

LONG = {
    "disks": "--particles 300 --sweeps 100000000 --equilibrate 5 --frames 1",
    "electrolyte": "--ions 64 --debye-length 28.53 --sweeps 5000000 --equilibrate 5",
    "adsorption": "--molecules 2 --systems 4 --steps 50000000 --equilibrate 5 --grid-spacing 0.5 "
    "--method pmc",
}
SHORT = {
    "disks": "--particles 300 --sweeps 400 --equilibrate 5 --frames 1 --replicas 2",
    "electrolyte": "--ions 64 --debye-length 28.53 --sweeps 60 --equilibrate 5 --replicas 2 "
    "--precision double",
    "adsorption": "--molecules 2 --systems 5 --steps 600 --equilibrate 50 --grid-spacing 0.5 "
    "--method pmc",
}


@pytest.mark.parametrize("command", LONG)
def test_a_killed_rank_ends_the_job(command, mpiexec, tmp_path):
    words = [*arguments(command, LONG[command], tmp_path), "--checkpoint-every", "0.1"]
    job = Job([*mpiexec, *COMMAND, *words])
    job.until(lambda: len(list(tmp_path.glob("checkpoint-*.state"))) == 2)
    job.send(signal.SIGKILL, last_only=True)
    job.failure()


@needs_lammps
@pytest.mark.parametrize("more", ["", resident("cpu")], ids=["pair style", "resident"])
def test_a_killed_rank_ends_lammps(more, tmp_path):
    script = system("block 0 6 0 6 0 6", 600) + fluid("mixed") + more
    script += "thermo 1\nthermo_modify flush yes\nrun 1000000\n"
    job = start_lammps(script, tmp_path, 2, 5)
    job.send(signal.SIGKILL, last_only=True)
    job.failure()


@pytest.mark.parametrize("command", LONG)
def test_an_error_on_one_rank_ends_the_others_soon(command, mpiexec, tmp_path):
    """Not only when they have done their own, which is long here."""
    (tmp_path / "checkpoint-1.state").mkdir()  # rank 1 cannot write there
    words = [*arguments(command, LONG[command], tmp_path), "--checkpoint-every", "0.1"]
    said = Job([*mpiexec, *COMMAND, *words]).failure()
    assert "manymove: error:" in said and "checkpoint-1" in said
    assert (tmp_path / "checkpoint-0.state").is_file()


@pytest.mark.parametrize("command", SHORT)
def test_checkpoints_of_two_ranks_go_on_in_one_process(command, mpiexec, tmp_path):
    options = SHORT[command]

    def run(folder: str, launcher: list[str], options: str) -> dict:
        words = arguments(command, options, tmp_path / folder)
        done = processes.run([*launcher, *COMMAND, *words])
        assert done.returncode == 0, done.stderr
        return summary_of(tmp_path / folder)

    whole = run("whole", mpiexec, options)
    for more in ("400", "60", "600"):
        options = options.replace(f"s {more} ", f"s {int(more) // 2} ", 1)
    run("cut", mpiexec, options)
    resumed = run("cut", [], f"{SHORT[command]} --resume")
    assert (whole["ranks"], resumed["ranks"]) == (2, 1)
    for key in {"state_hash", "pressure", "energy_per_ion_kT", "energy_K"} & whole.keys():
        expected = whole[key]
        if isinstance(expected, float):
            expected = pytest.approx(expected, rel=1e-12)
        assert resumed[key] == expected
