"""`fix adapt` with `run_style manymove/verlet`: the engine gets coefficients ahead of the steps if
variables are functions of the step, and else before each step with new ones. It keeps its
particles and neighbor lists."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dpd_scripts import (
    BONDS,
    END,
    SCRIPTS,
    assert_close,
    assert_stays,
    compare,
    fluid,
    resident,
    state,
    system,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

RAMP = "variable f equal 20+0.5*step\nfix a all adapt {} pair manymove/dpd a {} v_f\n"
# With it, variables may depend on the particles, and LAMMPS stops at the steps of the fix.
OF_PARTICLES = "variable of_particles equal c_thermo_temp\n"
# The force of the adapted coefficient at half the cutoff.
WRITE = "pair_write 1 1 2 r 0.5 0.9 table soft\n"
ADAPTED = {
    "one type": SCRIPTS["one type"] + RAMP.format(1, "* *"),
    "several types": SCRIPTS["several types"] + RAMP.format(2, "1 2"),
    "friction": SCRIPTS["several types"] + RAMP.format(3, "* *").replace("dpd a", "dpd gamma"),
    "exponent": SCRIPTS["one type"]
    + RAMP.format(3, "* *").replace("dpd a", "dpd weight_exponent").replace("20+0.5", "1+0.05"),
    "bonds": system()
    + fluid()
    + BONDS.replace("manymove/harmonic", "harmonic")
    + RAMP.format(2, "1 1")
    + "fix b all adapt 3 bond harmonic k 1 v_f\n",
    "thermostat": SCRIPTS["bonds"]
    + RAMP.format(2, "1 1")
    + "fix v all temp/berendsen 1.3 0.9 0.5\n",
}


@pytest.mark.parametrize("name", ADAPTED)
def test_coefficients_known_ahead_are_those_of_each_step(name, device, tmp_path):
    run = THERMO + "thermo 5\nrun 12\nrun 7\n" + END
    ahead, each = (
        run_lammps(ADAPTED[name] + resident(device) + more + run, tmp_path)
        for more in ("", OF_PARTICLES)
    )
    for done in (ahead, each):
        assert_stays(done)
    assert (state(ahead) == state(each)).all()
    for column, values in each.thermo().items():
        assert ahead.thermo()[column] == pytest.approx(values, rel=1e-12, abs=1e-12), column


@pytest.mark.parametrize(("name", "ranks"), [("exponent", 1), ("thermostat", 1), ("bonds", 2)])
def test_adapted_steps_are_those_of_the_host(name, ranks, device, tmp_path):
    ours, host = compare(ADAPTED[name], THERMO + "thermo 3\nrun 8\n", device, tmp_path, ranks)
    assert_close(state(ours), state(host), 1e-9)
    for column, expected in host.thermo().items():
        assert ours.thermo()[column] == pytest.approx(expected, rel=1e-8, abs=1e-8), column


def test_lists_are_kept_where_coefficients_change(device, tmp_path):
    for more in ("", OF_PARTICLES):
        run = run_lammps(ADAPTED["one type"] + resident(device) + more + "run 60\n", tmp_path)
        assert_stays(run)
        assert int(re.findall(r"Neighbor list builds = (\d+)", run.output)[-1]) < 40


def assert_coefficient(run, expected):
    (row,) = (
        line.split()
        for line in (run.directory / "table").read_text().splitlines()
        if line.split()[:2] == ["1", "0.5"]
    )
    assert float(row[3]) == pytest.approx(0.5 * expected, rel=1e-9)


def test_an_ended_run_leaves_the_coefficients_of_its_last_step(device, tmp_path):
    script = ADAPTED["one type"] + resident(device) + "timer timeout 0:00:01\nrun 100000000\n"
    script += 'variable reached equal step\nprint "reached ${reached}"\n'
    run = run_lammps(script + WRITE, tmp_path)
    (reached,) = map(int, re.findall(r"reached (\d+)", run.output))
    assert 0 < reached < 100000000
    assert_coefficient(run, 20 + 0.5 * reached)


@pytest.mark.parametrize(("how", "expected"), [("start 0", 7), ("pre no", 0)])
def test_before_its_first_step_an_ended_run_leaves_the_coefficients_of_the_setup(
    how, expected, device, tmp_path
):
    script = ADAPTED["one type"].replace("adapt 1 ", "adapt 100000000 ") + resident(device)
    script += f"run 7\ntimer timeout 0:00:01\nrun 1000000000 {how}\n"
    run = run_lammps(script + WRITE, tmp_path)
    assert_stays(run)
    assert_coefficient(run, 20 + 0.5 * expected)


def test_coefficients_out_of_range_are_an_error(device, tmp_path):
    script = (
        SCRIPTS["one type"] + "variable f equal 1/(step-5)^2\nfix a all adapt 5 pair manymove/dpd "
    )
    script += "gamma * * v_g\nvariable g equal 3-step\n" + resident(device)
    run = run_lammps(script + "run 8\n", tmp_path, fails=True)
    assert "coefficients of types 1 and 1 are out of range" in run.output, run.output


@on_gpu
@pytest.mark.parametrize("every", [1, 50])
def test_particles_are_not_copied(every, tmp_path):
    script = SCRIPTS["one type"] + RAMP.format(every, "* *") + resident("cuda")
    run = run_lammps(script + "thermo 0\nrun 100\nrun 400 pre no\n", tmp_path)
    found = re.findall(
        r"verlet: (\d+) bytes between host and device in (\d+) steps, (\d+) for", run.output
    )
    in_steps, steps, for_others = np.array(found, dtype=int)[-1]
    assert steps == 400
    assert in_steps < 1000 * steps / every + 20000
    assert for_others <= 2 * 1028 * 84  # the end of the run
