"""`pair_style manymove/dpd/ext`, `/tstat` and `/ext/tstat`: their laws against LAMMPS' own styles,
on the host and in the engines."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dpd_scripts import (
    BONDS,
    END,
    WARNING,
    assert_close,
    assert_same_steps,
    assert_stays,
    compare,
    pick,
    resident,
    state,
    system,
    two_types,
)
from lammps_host import DUMP, THERMO, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

STRESSES = ("Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz")
# Of dpd/ext: a, gamma, gamma_perp, ws, wsT, and perhaps a cutoff; of thermostats without a.
EXT = (
    ("1 1", "25.0", "4.5", "3.0", "0.53 0.8", ""),
    ("1 2", "40.0", "3.0", "2.0", "1.0 1.0", "1.2"),
    ("2 2", "15.0", "6.0", "4.5", "1.7 0.4", "0.9"),
)


def law(style: str, temperature: float, tail: str = "", ours: bool = True) -> str:
    """The pair style under our name or LAMMPS', at one temperature."""
    thermostat, across = style.endswith("tstat"), "ext" in style
    name = ("manymove/" if ours else "") + style
    temperatures = f"{temperature} {temperature}" if thermostat else f"{temperature}"
    lines = [f"pair_style {name} {temperatures} 1.0 4711 {tail if ours else ''}"]
    for types, a, gamma, gamma_across, exponents, cutoff in EXT:
        values = [] if thermostat else [a]
        values += [gamma, gamma_across, exponents, cutoff] if across else [gamma, cutoff]
        lines.append(" ".join(["pair_coeff", types, *values]))
    return "\n".join(lines) + "\n"


STYLES = ("dpd/tstat", "dpd/ext", "dpd/ext/tstat")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("box", ["block 0 4 0 5 0 4", "prism 0 4 0 5 0 4 1 0.5 -0.5"])
def test_without_noise_it_is_lammps_style(style, box, device, tmp_path):
    more = two_types(box, 300) + "special_bonds lj 0.2 0.5 1.0\n"
    theirs = run_lammps(more + law(style, 0.0, ours=False) + THERMO + DUMP + "run 0\n", tmp_path)
    ours = more + law(style, 0.0, "precision double") + THERMO
    host = run_lammps(ours + DUMP + "run 0\n", tmp_path)
    # A step that moves nothing.
    still = "timestep 1e-30\nfix still all nve\n" + resident(device) + "run 1\n" + END
    engine = run_lammps(ours + still, tmp_path)
    assert_stays(engine)
    for run, file in ((host, "dump"), (engine, "end")):
        assert_close(pick(run, "fx", "fy", "fz", file=file), theirs.forces(), 1e-12)
        a, b = (np.array([r.thermo()[n][-1] for n in STRESSES]) for r in (run, theirs))
        assert_close(a, b, 1e-12)
        energies = (r.thermo()["PotEng"][-1] for r in (run, theirs))
        assert next(energies) == pytest.approx(next(energies), rel=1e-12)


@pytest.mark.parametrize("style", STYLES)
def test_friction_and_noise_have_the_moments_of_the_law(style, tmp_path):
    # Two particles that no fix moves, in 10,000 draws: the means of the force are friction; the
    # covariances and a fourth moment those of the noise along and across the line of centers; the
    # other particle feels the reverse. Bounds of five standard errors (of a fourth moment: a normal
    # variable's 96 / n), for 23 numbers in all: the three styles fail a right program once in some
    # 50,000 seeds.
    draws, r = 10000, np.array([0.3, -0.2, 0.4])
    velocity = np.array([1.5, -0.7, 0.4])  # of the first particle; the other one has the reverse
    gamma, gamma_across = 4.5, 0.0 if style == "dpd/tstat" else 2.0
    temperature, exponent, exponent_across = 1.3, 0.5, 2.0
    name, thermostat = f"manymove/{style}", style.endswith("tstat")
    pair = f"{temperature} {temperature}" if thermostat else f"{temperature}"
    coefficients = "" if thermostat else "0.0 "
    coefficients += f"{gamma} "
    if "ext" in style:
        coefficients += f"{gamma_across} {exponent} {exponent_across}"
    else:
        coefficients += f"1.0 weight_exponent {exponent}"
    script = f"""
units lj
atom_modify map yes
comm_modify vel yes
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 single 2 2 2
create_atoms 1 single {" ".join(f"{x:.17g}" for x in 2 + r)}
mass 1 1.0
set atom 1 vx {velocity[0]} vy {velocity[1]} vz {velocity[2]}
set atom 2 vx {-velocity[0]} vy {-velocity[1]} vz {-velocity[2]}
pair_style {name} {pair} 1.0 99 precision double
pair_coeff * * {coefficients}
timestep 0.01
variable f1 equal fx[1]
variable f2 equal fy[1]
variable f3 equal fz[1]
variable g1 equal fx[2]
variable g2 equal fy[2]
variable g3 equal fz[2]
fix out all print 1 "FORCES $(v_f1:%.10g) $(v_f2:%.10g) $(v_f3:%.10g) $(v_g1:%.10g) &
$(v_g2:%.10g) $(v_g3:%.10g)" screen yes
thermo 100000
run {draws}
"""
    output = run_lammps(script, tmp_path).output
    values = np.array([line.split()[1:] for line in re.findall("^FORCES .*", output, re.M)], float)
    assert len(values) >= draws
    force, other = values[:, :3], values[:, 3:]
    assert np.abs(force + other).max() < 1e-7
    distance = np.linalg.norm(r)
    e = -r / distance  # towards the first particle
    first = np.cross(e, [1.0, 0.0, 0.0])
    first /= np.linalg.norm(first)
    frame = np.stack([e, first, np.cross(e, first)], axis=1)
    w = 1 - distance
    across = gamma_across * w ** (2 * exponent_across)
    frictions = np.array([gamma * w ** (2 * exponent), across, across])
    noise = np.sqrt(2 * temperature * frictions / 0.01)
    rest = force @ frame + frictions * (2 * velocity @ frame)
    if gamma_across == 0:
        assert np.abs(rest[:, 1:]).max() < 1e-8
        rest, noise = rest[:, :1], noise[:1]
    xi = rest / noise
    n, unit = len(xi), np.eye(len(noise))
    assert np.all(np.abs(xi.mean(axis=0)) < 5 / np.sqrt(n))
    assert np.all(np.abs(xi.T @ xi / n - unit) < 5 * np.sqrt((1 + unit) / n))
    assert abs((xi[:, -1] ** 4).mean() - 3) < 5 * np.sqrt(96 / n)
    # Friction itself is seen: its force is many errors of the mean.
    assert np.all(np.abs(frictions[:1] * (2 * velocity @ frame)[:1]) > 10 * noise[0] / np.sqrt(n))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_the_engine_does_what_the_host_does(style, precision, device, tmp_path):
    script = system(atoms=600, box="block 0 5 0 6 0 7") + law(style, 1.3, f"precision {precision}")
    ours, host = compare(script + BONDS + THERMO, "run 6\n", device, tmp_path)
    assert_same_steps(ours, host, {"double": 1e-10, "mixed": 3e-5}[precision])


PLAIN = """
units lj
comm_modify vel yes
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 random 648 5 NULL
mass 1 1.0
velocity all create 1.0 6 loop all
fix nve all nve
timestep 0.01
"""


@on_gpu
@pytest.mark.parametrize("lanes", [648, 60000])
def test_cpu_and_gpu_have_the_same_bits_in_double_precision(lanes, tmp_path):
    edge = (lanes / 3) ** (1 / 3)
    plain = PLAIN.replace("0 6 0 6 0 6", " ".join(3 * [f"0 {edge:.10g}"]))
    plain = plain.replace("648", str(lanes))
    script = plain + (
        "pair_style manymove/dpd/ext 1.0 1.0 3 precision double\npair_coeff * * 25 4.5 3 1 0.5\n"
    )
    runs = [run_lammps(script + resident(d) + "run 10\n" + END, tmp_path) for d in ("cpu", "cuda")]
    assert np.array_equal(state(runs[0]), state(runs[1]))


def test_mixed_precision_of_plain_fluids(device, tmp_path):
    # Kernels of their own on a GPU: one type, exponents 1.
    script = PLAIN + (
        "pair_style manymove/dpd/ext 1.0 1.0 3 precision mixed\npair_coeff * * 25 4.5 3 1 1\n"
    )
    ours, host = compare(script + THERMO, "run 6\n", device, tmp_path)
    assert_same_steps(ours, host, 3e-5)


@pytest.mark.parametrize("style", ["dpd/tstat", "dpd/ext/tstat"])
@pytest.mark.parametrize("types", [1, 2])
def test_the_temperature_changes_during_a_run(style, types, device, tmp_path):
    script = system(atoms=600, box="block 0 5 0 6 0 7")
    if types == 1:
        script = script.replace("create_atoms 2", "create_atoms 1")
    ramp = law(style, 1.0, "precision double").replace("1.0 1.0 1.0 4711", "0.4 2.5 1.0 4711", 1)
    ours, host = compare(script + ramp + THERMO, "run 8\n", device, tmp_path)
    assert_same_steps(ours, host, 1e-10)
    constant = run_lammps(
        script + law(style, 2.5, "precision double") + resident(device) + "run 8\n" + END, tmp_path
    )
    assert not np.allclose(state(constant), state(ours), rtol=1e-3)
    # With positions on the host, pairs alone are computed by the engine.
    pairs = run_lammps(
        script + ramp + "fix hold all spring/self 1e-12\n" + resident(device) + "run 8\n" + END,
        tmp_path,
    )
    assert WARNING in pairs.output
    assert_close(state(pairs), state(host), 1e-9)


def test_the_fluid_is_that_of_lammps(tmp_path):
    # Temperature and pressure of a small fluid, by 20 blocks of 1.5 time units. Five standard
    # errors of the difference (Student's t of 38 degrees): one false alarm in 35,000 seeds.
    plain = PLAIN.replace("0 6 0 6 0 6", "0 5 0 5 0 5").replace("648", "375")
    script = plain.replace("0.01", "0.02") + (
        "{}pair_coeff * * 25 4.5 3.0 0.53 0.53\n"
        "thermo_style custom step temp press\nthermo 5\n{}run 300\nrun 1500\n"
    )
    means = []
    for style in ("dpd/ext 1.0 1.0 11", "manymove/dpd/ext 1.0 1.0 12"):
        more = resident("cpu") if "manymove" in style else ""
        thermo = run_lammps(script.format(f"pair_style {style}\n", more), tmp_path).thermo(1)
        values = np.stack([thermo["Temp"][1:], thermo["Press"][1:]], axis=1)
        blocks = values.reshape(20, -1, 2).mean(axis=1)
        means.append((blocks.mean(axis=0), blocks.std(axis=0, ddof=1) / np.sqrt(20)))
    (theirs, e), (ours, f) = means
    assert np.all(np.abs(ours - theirs) < 5 * np.hypot(e, f)), (ours, theirs, e, f)


@pytest.mark.parametrize("style", ["dpd/ext", "dpd/tstat"])
def test_on_two_ranks_it_is_the_same(style, device, tmp_path):
    # On a host of two ranks, which finds atoms on one rank, with their IDs; and in the engine.
    start = tmp_path / "start"
    run_lammps(system(atoms=600, box="block 0 5 0 6 0 7") + f"write_restart {start}\n", tmp_path)
    script = (
        f"comm_modify vel yes\nread_restart {start}\ncomm_modify vel yes\ntimestep 0.01\n"
        "fix nve all nve\n" + law(style, 1.3, "precision double")
    )
    one = run_lammps(script + "run 6\n" + END, tmp_path)
    for more in ("", resident(device)):
        two = run_lammps(script + more + "run 6\n" + END, tmp_path, ranks=2)
        assert_close(state(two), state(one), 1e-10)
    assert_stays(two)


@pytest.mark.parametrize("exponent", ["1 1", "0.5 2"])
def test_four_ranks_in_mixed_precision(exponent, device, tmp_path):
    script = PLAIN.replace("0 6 0 6 0 6", "0 6 0 12 0 12").replace("648", "2592")
    script += "pair_style manymove/dpd/ext 1.0 1.0 3 precision mixed\n"
    script += f"pair_coeff * * 25 4.5 3 {exponent}\n"
    start = tmp_path / "start"
    run_lammps(script + f"write_restart {start}\n", tmp_path)
    again = f"comm_modify vel yes\nread_restart {start}\ncomm_modify vel yes\n"
    again += "timestep 0.01\nfix nve all nve\n" + resident(device) + THERMO + "run 5\n" + END
    one, four = (
        run_lammps(again, tmp_path),
        run_lammps("processors 1 2 2\n" + again, tmp_path, ranks=4),
    )
    assert_stays(four)
    assert_same_steps(four, one, 3e-5)


@pytest.mark.parametrize("style", STYLES)
def test_restart_continues(style, tmp_path):
    script = system(atoms=600, box="block 0 5 0 6 0 7") + law(style, 1.3, "precision double")
    if style.endswith("tstat"):
        script = script.replace("1.3 1.3 1.0 4711", "0.5 1.3 1.0 4711")
    through = run_lammps(script + "run 3 stop 6\nrun 3 start 0\n" + END, tmp_path)
    half = tmp_path / "half"
    run_lammps(script + f"run 3 stop 6\nwrite_restart {half}\n", tmp_path)
    again = run_lammps(
        f"comm_modify vel yes\nread_restart {half}\ncomm_modify vel yes\n"
        "fix nve all nve\nrun 3 start 0\n" + END,
        tmp_path,
    )
    assert_close(state(again), state(through), 1e-9)


def test_data_files_have_the_coefficients(tmp_path):
    script = two_types("block 0 4 0 5 0 4", 200)
    run = run_lammps(script + law("dpd/ext", 0.0) + "run 0\nwrite_data out pair ij\n", tmp_path)
    lines = (run.directory / "out").read_text().split("PairIJ Coeffs")[1].splitlines()[2:5]
    assert [line.split() for line in lines] == [
        ["1", "1", "25", "4.5", "3", "0.53", "0.8", "1"],
        ["1", "2", "40", "3", "2", "1", "1", "1.2"],
        ["2", "2", "15", "6", "4.5", "1.7", "0.4", "0.9"],
    ]


@pytest.mark.parametrize("style", ["dpd/tstat", "dpd/ext/tstat"])
def test_as_a_thermostat_of_another_model(style, device, tmp_path):
    base = system(atoms=300, box="block 0 5 0 6 0 7")

    def script(ours: bool) -> str:
        own = law(style, 0.0, "precision double", ours)
        name = ("manymove/" if ours else "") + style
        own = own.replace("pair_style ", "pair_style hybrid/overlay gauss 1.0 ")
        own = re.sub(r"pair_coeff (\d) (\d)", rf"pair_coeff \1 \2 {name}", own)
        return base + own + "pair_coeff * * gauss 10.0 2.0\n" + THERMO

    theirs = run_lammps(script(False) + "run 5\n" + END, tmp_path)
    ours = run_lammps(script(True) + resident(device) + "run 5\n" + END, tmp_path)
    assert_same_steps(ours, theirs, 1e-10)
    assert "Pair forces are computed on" in ours.output


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ("pair_style manymove/dpd/tstat 1.0 1.0 1.0", "missing argument"),
        ("pair_style manymove/dpd/tstat 1.0 -1.0 1.0 5", "temperature -1.0 must not be negative"),
        ("pair_style manymove/dpd/ext 1.0 1.0 5 weight_exponent 2", "unknown keyword"),
        ("pair_style manymove/dpd/ext 1.0 1.0 5\npair_coeff * * 25 4.5 3 1", "missing argument"),
        (
            "pair_style manymove/dpd/ext 1.0 1.0 5\npair_coeff * * 25 4.5 -3 1 1",
            "gamma_perp -3 must not be negative",
        ),
        (
            "pair_style manymove/dpd/ext 1.0 1.0 5\npair_coeff * * 25 4.5 3 1 -1",
            "wsT -1 must not be negative",
        ),
        (
            "pair_style manymove/dpd/ext 1.0 1.0 5\npair_coeff * * 25 4.5 3 -1 1",
            "weight_exponent -1 must not be negative",
        ),
        (
            "pair_style manymove/dpd/ext/tstat 1 1 1.0 5\npair_coeff * * 4.5 3 1 1 1.0 7",
            "unexpected argument 7",
        ),
    ],
)
def test_bad_input(commands, message, tmp_path):
    run = run_lammps(two_types(atoms=20) + commands + "\n", tmp_path, fails=True)
    assert message in run.output.lower() or message in run.output
