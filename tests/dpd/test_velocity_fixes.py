"""Fixes that change velocities at every step, with `run_style manymove/verlet`. The engine does
what thermostats that scale velocities and `fix momentum linear` do, and takes over the velocities
of others. It keeps its particles, bonds and neighbor lists."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dpd_comparisons import assert_threads_do_not_count
from dpd_scripts import (
    END,
    SCRIPTS,
    assert_close,
    assert_stays,
    compare,
    fluid,
    one_type,
    resident,
    state,
    system,
)
from lammps_host import THERMO, Run, needs_lammps, run_lammps
from laws import each_once
from machine import on_gpu

pytestmark = needs_lammps

FIXES = {
    "momentum": "fix v all momentum 1 linear 1 1 1\n",
    "angular momentum": "fix v all momentum 1 linear 1 1 1 angular\n",
    "rescale": "fix v all temp/rescale 1 1.3 0.9 0.001 0.7\n",
    "rescale, within the window": "fix v all temp/rescale 1 1.3 0.9 10.0 0.7\n",
    "berendsen": "fix v all temp/berendsen 1.3 0.9 0.5\n",
    "momentum, energy kept": "fix v all momentum 2 linear 1 0 1 rescale\n",
    "parts": "group some id 1:300\nfix v some temp/berendsen 1.3 1.3 0.2\ncompute t all temp\n"
    "fix_modify v temp t\nvariable t equal 1+0.1*step\nfix w all temp/rescale 2 v_t 1 0.01 0.8\n",
    # A compute of positions: the thermostat may need them.
    "profile": "compute p all temp/profile 1 1 1 xyz 2 2 2\nfix v all temp/rescale 1 1 1 0.01 0.7\n"
    "fix_modify v temp p\n",
    "several": "fix v all momentum 1 linear 1 1 1\nfix w all temp/berendsen 1.3 0.9 0.5\n"
    "fix a all ave/time 4 1 4 c_thermo_temp file average\n",
    # The average is of the velocities before the thermostat.
    "in another order": "compute t all temp\nfix a all ave/time 1 1 1 c_t file average\n"
    "fix v all temp/berendsen 1.3 0.9 0.05\n",
}


def builds(run: Run) -> int:
    return int(re.findall(r"Neighbor list builds = (\d+)", run.output)[-1])


@pytest.mark.parametrize(
    ("fix", "name"), each_once(FIXES, ["bonds", "walls and body forces", "triclinic"])
)
def test_a_few_steps_are_those_of_the_host(fix, name, device, tmp_path):
    more = FIXES[fix] + THERMO + "thermo 3\nrun 8\n" + END
    ours, host = compare(SCRIPTS[name], more, device, tmp_path)
    assert_close(state(ours), state(host), 1e-9)
    for column, expected in host.thermo().items():
        assert ours.thermo()[column] == pytest.approx(expected, rel=1e-8, abs=1e-8), column


@pytest.mark.parametrize("fix", ["berendsen", "rescale"])
def test_the_energy_of_a_thermostat_is_that_of_the_host(fix, device, tmp_path):
    more = FIXES[fix] + "thermo_style custom step temp f_v\nthermo_modify format float %.12g\n"
    more += "thermo 3\nrun 7\nrun 4\n" + END
    ours, host = compare(SCRIPTS["several types"], more, device, tmp_path)
    assert abs(host.thermo()["f_v"][-1]) > 0.1
    assert ours.thermo()["f_v"] == pytest.approx(host.thermo()["f_v"], rel=1e-8)


@pytest.mark.parametrize("device", ["cpu"])
def test_a_thermostat_after_an_average_acts_on_the_host(device, tmp_path):
    more = FIXES["in another order"] + "run 5\n" + END
    averages = []
    for start in (resident(device), ""):
        done = run_lammps(SCRIPTS["several types"] + start + more, tmp_path)
        averages.append(np.loadtxt(done.directory / "average"))
    assert averages[0] == pytest.approx(averages[1], rel=1e-9)


@pytest.mark.parametrize("fix", ["momentum", "rescale", "berendsen", "several"])
@pytest.mark.parametrize("name", ["several types", "bonds"])
def test_lists_are_kept(fix, name, device, tmp_path):
    script = SCRIPTS[name] + FIXES[fix] + resident(device)
    run = run_lammps(script + "run 40\nrun 100 pre no\n", tmp_path)
    assert_stays(run)
    assert builds(run) < 60


def test_fixes_and_output_at_other_intervals_do_not_change_the_trajectory(device, tmp_path):
    start = SCRIPTS["walls and body forces"] + FIXES["berendsen"] + resident(device)
    looks = [
        "",
        "thermo 1\n",
        "dump s all custom 3 s id x\n",
        "compute s all stress/atom NULL\nfix s all ave/atom 1 1 1 c_s[1]\n",
    ]
    runs = [run_lammps(start + look + "run 30\n" + END, tmp_path) for look in looks]
    for run in runs:
        assert_stays(run)
        assert (state(run) == state(runs[0])).all()


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_threads_give_the_same_bits(precision, tmp_path):
    script = SCRIPTS["bonds"].replace("precision double", f"precision {precision}")
    assert_threads_do_not_count(script + FIXES["several"], tmp_path)


@pytest.mark.parametrize("fix", ["angular momentum", "several"])
def test_several_ranks_are_those_of_the_host(fix, device, tmp_path):
    more = FIXES[fix] + THERMO + "thermo 3\nrun 12\n"
    ours, host = compare(SCRIPTS["bonds"], more, device, tmp_path, ranks=2)
    assert_close(state(ours), state(host), 1e-9)


@pytest.mark.parametrize("device", ["cpu"])
def test_groups_of_fixes_within_a_step_come_first(device, tmp_path):
    # The engine knows seven groups; without one for the thermostat, LAMMPS does its work.
    more = "".join(
        f"group g{k} id {k}:{200 + k}\nfix f{k} g{k} addforce 0.{k} 0 0\n" for k in range(1, 7)
    )
    more = "group h id 1:500\nfix v h temp/berendsen 1.3 0.9 0.5\n" + more + "run 6\n" + END
    ours, host = compare(SCRIPTS["several types"], more, device, tmp_path)
    assert_stays(ours)
    assert_close(state(ours), state(host), 1e-9)


def test_a_run_that_a_fix_ends_leaves_all_arrays_current(device, tmp_path):
    # Momentum is removed at every step, and fix halt ends the run at one of them.
    more = FIXES["momentum"] + "variable s equal step\nfix h all halt 5 v_s >= 5 error continue\n"
    ours, host = compare(SCRIPTS["bonds"], more + "run 20\n" + END, device, tmp_path)
    assert "for 5 steps" in ours.output
    assert_close(state(ours), state(host), 1e-9)


@pytest.mark.parametrize("device", ["cpu"])
def test_velocities_change_where_targets_are_computed_ahead_again(device, tmp_path):
    """The targets of a ramp are computed for 4096 steps; the particles never meet."""
    create = "".join(f"create_atoms 1 single {2 * k + 1} {2 * k + 1} 4\n" for k in range(4))
    create += "".join(f"set atom {k + 1} vz {v}\n" for k, v in enumerate((1.2, -0.9, 0.4, -0.7)))
    script = one_type(create) + "fix v all temp/rescale 4096 1.3 0.9 0.001 1.0\n"
    ours, host = compare(script, THERMO + "thermo 10000\nrun 4100\n", device, tmp_path)
    assert_close(state(ours), state(host), 1e-9)
    assert ours.thermo()["Temp"][-1] == pytest.approx(1.3 - 0.4 * 4096 / 4100)


def test_a_velocity_that_is_not_finite_is_an_error(device, tmp_path):
    script = system() + fluid() + "group one id 7\ncompute t one temp\n"
    script += "compute_modify t extra/dof 0\nfix r one temp/berendsen 1e308 1e308 1e-10\n"
    script += "fix_modify r temp t\n" + resident(device) + "run 4\n"
    for ranks in (1, 2):
        run = run_lammps(script, tmp_path, fails=True, ranks=ranks)
        text = "a velocity change has the factor inf, which is not finite"
        assert text in run.output and "rank 0 of" not in run.output, run.output


def test_a_thermostat_of_particles_at_rest_is_an_error(device, tmp_path):
    script = one_type("create_atoms 1 single 2 2 2\ncreate_atoms 1 single 6 6 6\n")
    script += "fix r all temp/rescale 1 1 1 0.01 1\n" + resident(device) + "run 4\n"
    for ranks in (1, 2):
        run = run_lammps(script, tmp_path, fails=True, ranks=ranks)
        text = "the temperature of a thermostat's particles is 0, or too low for the time step"
        assert text in run.output and "rank 0 of" not in run.output, run.output


@on_gpu
@pytest.mark.parametrize(
    ("fix", "bytes_per_step"),
    # The engine acts; else velocities down and up, positions (24) and images (12) down.
    [("rescale", 0), ("berendsen", 0), ("momentum", 0), ("angular momentum", 84)],
)
def test_only_what_is_needed_is_copied(fix, bytes_per_step, tmp_path):
    script = SCRIPTS["bonds"] + FIXES[fix] + resident("cuda")
    run = run_lammps(script + "thermo 0\nrun 100\nrun 400 pre no\n", tmp_path)
    found = re.findall(
        r"verlet: (\d+) bytes between host and device in (\d+) steps, (\d+) for", run.output
    )
    in_steps, steps, for_others = np.array(found, dtype=int)[-1]
    assert steps == 400
    assert in_steps < 1000 * steps
    # The end of the run is read in any case.
    assert for_others == pytest.approx(400 * 1028 * bytes_per_step, rel=0.1, abs=2 * 1028 * 84)
