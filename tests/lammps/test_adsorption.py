"""fix manymove/wrmc: adsorbates of a LAMMPS simulation among fixed atoms, on any ranks."""

from __future__ import annotations

import numpy as np
import pytest
from adsorption_model import agrees, make, nearest, pair_energy
from adsorption_scripts import BOX, script
from lammps_host import needs_lammps, run_lammps
from machine import GPU

pytestmark = needs_lammps


def test_energy_and_profile_are_those_of_the_engine_alone(tmp_path):
    """Five joint standard errors; LAMMPS' from blocks of a thousand steps."""
    text = script("profile z 10", steps=1000)
    text += 'run 48\nprint "sum $(f_w[1][2]+f_w[2][2]+f_w[5][2]) $(f_w[10][1])"\n'
    run = run_lammps(text, tmp_path)
    first = next(x for x in run.output.splitlines() if x.startswith("sum")).split()
    assert 0 < float(first[1]) < 1 and float(first[2]) == pytest.approx(9.5)
    blocks = np.diff(run.thermo()["f_w"] * np.arange(49))[8:]
    alone = make("mdp", 3, systems=128, barrier=6000.0)
    alone.equilibrate(500)
    alone.run(1000)
    error = np.std(blocks, ddof=1) / np.sqrt(len(blocks))
    assert agrees(blocks.mean(), error, alone.energy_average.value, alone.energy_average.error)


@pytest.mark.parametrize(
    ("method", "ranks", "device"),
    [
        ("plj", 3, "cpu"),
        ("mup", 2, "cpu"),
        ("mdp", 4, "cpu"),
        pytest.param("mup", 2, "cuda:0", marks=GPU),
    ],
)
def test_ranks_make_the_same_moves_and_lose_no_atom(method, ranks, device, tmp_path):
    text = script(f"method {method} device {device}") + "run 12\n"
    one, many = (run_lammps(text, tmp_path, ranks=n) for n in (1, ranks))
    for frame in range(13):
        a, b = one.dump(frame=frame), many.dump(frame=frame)
        assert all(np.array_equal(a[name], b[name]) for name in a)
    assert (many.thermo()["Atoms"] == 8).all()


def test_only_the_group_moves_and_the_energy_is_that_of_its_positions(tmp_path):
    run = run_lammps(script() + "run 20\n", tmp_path)
    first, last = run.dump(frame=0), run.dump(frame=-1)
    at = [np.stack([d[c] for c in "xyz"], axis=-1) for d in (first, last)]
    gas = first["type"] == 3
    assert np.array_equal(at[0][~gas], at[1][~gas])
    assert (np.abs(at[1] - at[0])[gas].max(axis=1) > 0.1).all()
    field = make(grid_spacing=0.1)._engine.framework_energies(at[1][gas], 0, True).sum()
    i, j = np.triu_indices(3, 1)
    pairs = pair_energy(nearest(at[1][gas][i] - at[1][gas][j], tuple(BOX))).sum()
    assert run.thermo()["f_w[6]"][-1] == pytest.approx(field + pairs, abs=15)


def test_images_follow_and_averages_go_on_over_runs(tmp_path):
    run = run_lammps(
        script("method plj max_displacement 1.0", steps=1) + "run 200\nrun 100\n", tmp_path
    )
    frames = [run.dump(frame=k) for k in range(300)]
    unwrapped = np.array([[f["xu"], f["yu"], f["zu"]] for f in frames])
    wrapped = np.array([[f["x"], f["y"], f["z"]] for f in frames])
    assert (np.abs(np.diff(unwrapped, axis=0)) <= BOX[:, None] / 2 + 1e-9).all()
    assert (np.abs(unwrapped - wrapped) > 1).any()
    assert run.thermo()["f_w[5]"][-1] == 300  # steps


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("inert 2 ", ""), "of type 2 is outside the group"),
        (("framework 1", "framework 9"), "no atom type 9"),
        (("spacing 0.25", "spacing 0"), "spacing 0 must be positive"),
        (("spacing 0.25", "method mcmc"), "unknown method mcmc"),
        (("spacing 0.25", "proposals 40"), "power of two"),
        (("spacing 0.25", "profile w 10"), "profile along w"),
        (("spacing 0.25", "max_displacement 9.0"), "below half the box"),
        (("spacing 0.25", "colour red"), "unknown keyword colour"),
        (("spacing 0.25", "trial_positions 4"), "trial_positions is for manymove.Adsorption"),
        (("wrmc 1 100 7", "wrmc 0 100 7"), "N 0 must be positive"),
        (("wrmc 1 100 7", "wrmc 1 100 -7"), "seed -7 must be positive"),
        (("300.0 4.0", "300.0 6.0"), "less than twice the cutoff"),
        (("group gas type 3", "group gas type 2"), "of type 3 is outside the group"),
        (("atom_style atomic", "boundary p p f\natom_style atomic"), "periodic along x, y and z"),
    ],
)
def test_mistakes_are_named(change, message, tmp_path):
    text = script() + "run 1\n"
    assert change[0] in text
    assert message in run_lammps(text.replace(*change), tmp_path, fails=True).output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("spacing 0.25", "spacing 0.5"), "spacing 0.5 is large for a smallest sigma of 2.6"),
        (("framework 1 160.0", "framework 1 16000.0"), "epsilon 16000 is 53.3 kT; give it in the"),
        (("units lj", "units lj"), None),
    ],
)
def test_parameters_that_are_hardly_meant_are_warnings(change, message, tmp_path):
    text = script() + "run 0\n"
    assert change[0] in text
    output = " ".join(run_lammps(text.replace(*change), tmp_path).output.split())
    assert message in output if message else "kT" not in output


def test_framework_that_moves_is_refused(tmp_path):
    text = script() + "velocity all set 0.1 0 0\nfix n all nve\nrun 5\n"
    assert "must be rigid" in run_lammps(text, tmp_path, fails=True).output


def test_more_than_three_ranks_along_an_axis_are_refused(tmp_path):
    text = script().replace("units lj", "units lj\nprocessors 4 1 1") + "run 1\n"
    assert "4 processors along x" in run_lammps(text, tmp_path, ranks=4, fails=True).output
