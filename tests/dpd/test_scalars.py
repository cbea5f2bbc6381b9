"""pair_style manymove/edpd and manymove/tdpd: particles with temperatures and concentrations."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dpd_comparisons import assert_restart_continues
from dpd_scripts import END, STAYS, assert_close, assert_stays, pick, resident
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

SCALARS = {"edpd": "c_s", "tdpd": "c_s c_u"}


def atoms(kind: str, masses: str, before: str = "", size: int = 8) -> str:
    species = " 2" if kind == "tdpd" else ""
    return f"""
units lj
boundary p p p
neighbor 0.3 bin
neigh_modify every 1 delay 0 check yes
{before}
atom_style {kind}{species}
atom_modify map array
comm_modify vel yes
region box block 0 {size} 0 {size} 0 {size}
create_box 2 box
create_atoms 1 random {3 * size**3} 276438 NULL
set type 1 type/fraction 2 0.4 1234
{masses}
pair_style zero 1.5
pair_coeff * *
reset_atoms id sort yes
"""


# LAMMPS draws other random numbers. Its noise vanishes beside the other forces and fluxes where
# masses and coefficients of forces are large, or heat capacities are large and kappa is small.
HEAVY = 1e52
QUIET_EDPD = (
    atoms("edpd", f"mass 1 {HEAVY}\nmass 2 {HEAVY}")
    + f"""
variable t atom 1.0+0.3*sin(x)*cos(y)+0.1*z/8
variable c atom 1.0e26*(1.5+0.5*cos(z))
set atom * edpd/temp v_t edpd/cv v_c
velocity all create {HEAVY} 432982 loop geom
timestep 0.01
fix i all mvv/edpd
compute s all edpd/temp/atom
pair_style edpd 1.2 9872598
"""
)
# LAMMPS keeps the series of the last command alone.
LAWS_OF_EDPD = {
    "series": f"""
pair_coeff * * {18.75 * HEAVY} {4.5 * HEAVY} 0.41 1.2 1.45e-25 2.0 1.2 &
  power 10.54 -3.66 3.44 -4.1 kappa -0.44 -3.21 5.04 0.1
""",
    "types": f"""
pair_coeff 1 1 {18.75 * HEAVY} {4.5 * HEAVY} 0.41 1.2 1.45e-25 2.0 1.2
pair_coeff 1 2 {25.0 * HEAVY} {3.5 * HEAVY} 0.8 1.0 2.45e-25 1.5 1.0
pair_coeff 2 2 {12.0 * HEAVY} {6.5 * HEAVY} 2.0 1.1 0.45e-25 1.0 1.1
""",
}

SOURCES = """
region upper block 1 7 4 7 1 7
group first type 1
fix up all {0}source {1} region upper 0.02
fix down first {0}source {2} cuboid 4.0 2.5 4.0 6.0 3.0 5.0 -0.03
"""

QUIET_TDPD = (
    atoms("tdpd", "mass * 1.0")
    + """
variable c atom 1.0+0.3*sin(x)*cos(y)+0.1*z/8
variable d atom 2.0+0.5*cos(z)
set atom * cc 1 v_c cc 2 v_d
velocity all create 1.0 432982 loop geom
timestep 0.01
fix i all mvv/tdpd
compute s all tdpd/cc/atom 1
compute u all tdpd/cc/atom 2
pair_style tdpd 0.0 1.2 9872598
pair_coeff 1 1 18.75 4.5 0.41 1.2 1.1 1.0 0.0 2.0 3.0 0.0 1.5
pair_coeff 1 2 25.0 3.5 0.8 1.0 1.0 2.0 0.0 1.5 0.0 0.0 2.0
pair_coeff 2 2 12.0 6.5 2.0 1.1 0.9 0.5 0.0 1.0 1.0 0.0 1.0
"""
)
QUIET = {
    "edpd series": QUIET_EDPD + LAWS_OF_EDPD["series"],
    "edpd types": QUIET_EDPD + LAWS_OF_EDPD["types"],
    "edpd sources": QUIET_EDPD + LAWS_OF_EDPD["types"] + SOURCES.format("edpd/", "", ""),
    "tdpd": QUIET_TDPD,
    "tdpd sources": QUIET_TDPD + SOURCES.format("tdpd/", "1", "2"),
}


def kind_of(script: str) -> str:
    return "tdpd" if "atom_style tdpd" in script else "edpd"


def end_of(script: str) -> str:
    return END.replace("fz modify", f"fz {SCALARS[kind_of(script)]} modify")


def ours(script: str, precision: str = "double") -> str:
    """The script with the pair style of this package."""
    style = rf"pair_style \g<1>/manymove\g<2> precision {precision}"
    return re.sub(r"pair_style (edpd|tdpd)\b(.*)", style, script)


def assert_equal(run, reference, tolerance: float) -> None:
    kind = "tdpd" if "c_u" in reference.dump("end") else "edpd"
    for names in (
        ("xu", "yu", "zu"),
        ("vx", "vy", "vz"),
        ("fx", "fy", "fz"),
        SCALARS[kind].split(),
    ):
        assert_close(pick(run, *names), pick(reference, *names), tolerance)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("name", QUIET)
def test_steps_are_those_of_lammps(name, ranks, device, tmp_path):
    """Forces and exchange without noise agree to 12 digits."""
    end = THERMO + "thermo 1\nrun 3\nrun 2\n" + end_of(QUIET[name])
    host = run_lammps(QUIET[name] + end, tmp_path, ranks)
    run = run_lammps(ours(QUIET[name]) + resident(device) + end, tmp_path, ranks)
    assert_stays(run)
    assert_equal(run, host, 2e-12)
    for column in ("E_pair", "PotEng", "Press", "Pxy"):
        if column in host.thermo():
            expected = host.thermo()[column]
            scale = abs(host.thermo()["Press"]).max()
            assert run.thermo()[column] == pytest.approx(expected, rel=1e-11, abs=1e-12 * scale)


OTHER_FIXES = {
    "evaporate": "region low block INF INF INF INF 0 3\nfix e all evaporate 3 2 low 49\n",
    "momentum": "fix m all momentum 2 linear 1 1 1\n",
    "press": "fix p all press/berendsen iso {0} {0} 0.1 modulus {0}\n",
}


@pytest.mark.parametrize("fix", OTHER_FIXES)
@pytest.mark.parametrize("name", ["edpd types", "tdpd"])
def test_scalars_go_on_with_other_fixes(name, fix, device, tmp_path):
    """Also where the host makes steps, where velocities change, and where the box does."""
    more = OTHER_FIXES[fix].format(20 * HEAVY if name == "edpd types" else 20)
    script = QUIET[name].replace("map array", "map array sort 0 0.0") + more
    end = THERMO.replace("press", "press vol") + "thermo 1\nrun 5\nrun 2\n" + end_of(script)
    host = run_lammps(script + end, tmp_path)
    run = run_lammps(ours(script) + resident(device) + end, tmp_path)
    assert_stays(run)
    assert_equal(run, host, 1e-11)
    assert run.thermo()["Volume"] == pytest.approx(host.thermo()["Volume"], rel=1e-11)


@pytest.mark.parametrize("name", ["edpd series", "tdpd"])
def test_the_host_computes_the_same_pairs(name, tmp_path):
    end = "thermo 1\nrun 5\n" + end_of(QUIET[name])
    host = run_lammps(QUIET[name] + end, tmp_path)
    assert_equal(run_lammps(ours(QUIET[name]) + end, tmp_path), host, 2e-12)


# ---- noise ----

NOISY_EDPD = (
    atoms("edpd", "mass * 1.0")
    + """
set atom * edpd/temp 1.0 edpd/cv 200.0
velocity all create 1.0 432982 loop geom
timestep 0.01
pair_style edpd 1.2 9872598
pair_coeff * * 18.75 4.5 0.41 1.2 1.0e-3 2.0 1.2
fix i all mvv/edpd
compute s all edpd/temp/atom
"""
)
NOISY_TDPD = (
    atoms("tdpd", "mass * 1.0")
    + """
set atom * cc 1 1.0 cc 2 2.0
velocity all create 1.0 432982 loop geom
timestep 0.01
pair_style tdpd 1.0 1.2 9872598
pair_coeff * * 18.75 4.5 0.41 1.2 1.2 0.0 0.01 2.0 1.0 0.02 1.0
fix i all mvv/tdpd
compute s all tdpd/cc/atom 1
compute u all tdpd/cc/atom 2
"""
)
NOISY = {"edpd": NOISY_EDPD, "tdpd": NOISY_TDPD}
PRECISIONS = pytest.mark.parametrize("precision", ["mixed", "double"])


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("kind", NOISY)
def test_mixed_precision_makes_the_steps_of_double_precision(kind, ranks, device, tmp_path):
    """Both draw the same random numbers. After five steps, near collisions have made the rounding
    of single precision some hundred times larger."""
    end = THERMO + "thermo 1\nrun 5\n" + end_of(NOISY[kind])
    mixed, double = (
        run_lammps(ours(NOISY[kind], precision) + resident(device) + end, tmp_path, ranks)
        for precision in ("mixed", "double")
    )
    assert_stays(mixed)
    assert_equal(mixed, double, 2e-4)
    assert (pick(mixed, "fx") != pick(double, "fx")).any()
    start = {"edpd": 1, "tdpd": (1, 2)}[kind]
    changes = [pick(run, *SCALARS[kind].split()) - start for run in (mixed, double)]
    assert_close(*changes, 1e-3)
    for column in ("PotEng", "Press", "Pxy"):
        scale = abs(double.thermo()["Press"]).max()
        assert mixed.thermo()[column] == pytest.approx(double.thermo()[column], abs=1e-4 * scale)


@pytest.mark.parametrize("kind", NOISY)
def test_momentum_is_conserved_in_mixed_precision(kind, device, tmp_path):
    script = ours(NOISY[kind], "mixed") + "velocity all zero linear\n" + resident(device)
    run = run_lammps(script + "run 200\n" + end_of(NOISY[kind]), tmp_path)
    assert_stays(run)
    momentum = pick(run, "vx", "vy", "vz").sum(axis=0)
    assert abs(momentum).max() < 2e-4  # 1,536 float32 of size 1, each rounded 400 times


@PRECISIONS
def test_temperatures_fluctuate_as_in_equilibrium(precision, device, tmp_path):
    """The variance of a temperature is T^2 / C, in units of k_B: 8 independent records of 1,536
    particles have a standard deviation of sqrt(2 / 12,288) = 1.3 %."""
    script = ours(NOISY_EDPD, precision) + resident(device)
    script += "thermo_style custom step temp\nthermo 20\n"
    run = run_lammps(script + "run 400\ndump d all custom 100 dump id c_s\nrun 800\n", tmp_path)
    assert_stays(run)
    frames = np.array([run.dump(frame=k)["c_s"] for k in range(1, 9)])
    assert frames.mean() == pytest.approx(1, abs=2e-3)
    assert frames.var(axis=1).mean() == pytest.approx(1 / 200, rel=0.07)
    assert run.thermo()["Temp"].mean() == pytest.approx(1, abs=0.03)


@PRECISIONS
def test_kinetic_and_internal_energy_are_exchanged(precision, device, tmp_path):
    """With C = 1 the equations of LAMMPS conserve the sum of both; what a particle receives from
    friction and noise is then half of what the pair loses."""
    script = NOISY_EDPD.replace("edpd/temp 1.0 edpd/cv 200.0", "edpd/temp 4.0 edpd/cv 1.0")
    script = script.replace("18.75 4.5", "0.0 4.5").replace("1.0e-3 2.0", "0.0 2.0")
    script = ours(script, precision).replace("timestep 0.01", "timestep 1e-4") + resident(device)
    script += (
        "compute t all reduce sum c_s\nthermo_style custom step ke c_t\n"
        "thermo_modify norm no format float %.16g\nthermo 20\nrun 20\n"
    )
    run = run_lammps(script, tmp_path)
    assert_stays(run)
    kinetic, internal = (np.diff(run.thermo()[name])[0] for name in ("KinEng", "c_t"))
    assert kinetic > 60
    assert abs(kinetic + internal) < 0.05 * kinetic


@PRECISIONS
def test_species_are_conserved_and_fluctuate_as_in_lammps(precision, device, tmp_path):
    """Each variance of 1,536 concentrations has a standard deviation of 3.6 %."""
    end = "run 50\n" + end_of(NOISY_TDPD)
    host = run_lammps(NOISY_TDPD + end, tmp_path)
    run = run_lammps(ours(NOISY_TDPD, precision) + resident(device) + end, tmp_path)
    assert_stays(run)
    for name, mean in (("c_s", 1.0), ("c_u", 2.0)):
        found, expected = pick(run, name), pick(host, name)
        assert found.sum() == pytest.approx(1536 * mean, rel=1e-12)
        assert found.var() == pytest.approx(expected.var(), rel=0.25)
    fluctuations = pick(run, "c_s", "c_u") - pick(run, "c_s", "c_u").mean(axis=0)
    assert abs(np.corrcoef(fluctuations.T)[0, 1]) < 0.13  # five standard deviations


@PRECISIONS
@pytest.mark.parametrize("kind", NOISY)
def test_sources_and_time_steps_are_double_precision(kind, precision, device, tmp_path):
    """A source of 0.1 acts for 39.5 steps of 0.01 without exchange. LAMMPS' sources begin in the
    second half of the first step. Scalars of mixed precision are rounded to multiples of 2^-48
    twice in a step; as float32, rate and time step would lose 3e-8 of the change."""
    old, new = {"edpd": ("1.0e-3 2.0", "0.0 2.0"), "tdpd": ("0.01 2.0 1.0 0.02", "0 2.0 0 0")}[kind]
    assert NOISY[kind].count(old) == 1
    script = ours(NOISY[kind], precision).replace(old, new).replace("18.75 4.5", "18.75 0.0")
    source = {"edpd": "edpd/source", "tdpd": "tdpd/source 1"}[kind]
    script += f"fix q all {source} cuboid 4 4 4 9 9 9 0.1\n" + resident(device)
    run = run_lammps(script + "run 40\n" + end_of(script), tmp_path)
    assert_stays(run)
    assert abs(pick(run, "c_s") - 1.0395).max() < 80 * 2.0**-49


def test_images_of_a_particle_have_noise_of_their_own(tmp_path):
    """In a box narrower than twice the cutoff, which the host alone serves, sums are conserved."""
    script = ours(NOISY_TDPD).replace("region box block 0 8", "region box block 0 2")
    run = run_lammps(script.replace(" 1536 ", " 384 ") + "run 20\n" + end_of(NOISY_TDPD), tmp_path)
    assert pick(run, "c_s").sum() == pytest.approx(384, rel=1e-12)
    assert pick(run, "c_s").var() > 1e-6


# ---- the same on any machine ----


# Two ranks share the box along x. Within 15 steps, particles with a velocity of 1 cross half of the
# skin, so that lists are built and particles go to the ranks where they are.
ALONG_X = ("boundary p p p\n", "boundary p p p\nprocessors * 1 1\n")
PLACES = "dump places all custom 15 places id x\ndump_modify places sort id format float %.17g\n"


def changes_of_rank(run) -> int:
    """Particles that are in another half of the box after 15 steps than before the first one."""
    before, after = (run.dump("places", frame)["x"] % 8 < 4 for frame in (0, 1))
    return int((before != after).sum())


@PRECISIONS
@pytest.mark.parametrize("kind", NOISY)
def test_ranks_and_threads_do_not_count(kind, precision, device, tmp_path):
    """Threads change no bit. On two ranks sums have another order: in mixed precision, rounding of
    1e-7 becomes 2e-4 within 30 steps, because of near collisions."""
    script = ours(NOISY[kind], precision).replace(*ALONG_X)
    end = PLACES + THERMO + "thermo 10\nrun 20\nrun 10\n" + end_of(NOISY[kind])
    one, many, two = (
        run_lammps(script + resident(place, more) + end, tmp_path, ranks)
        for place, more, ranks in (("cpu", "", 1), ("cpu", "threads 3", 1), (device, "", 2))
    )
    names = ("vx", "fx", *SCALARS[kind].split())
    assert (pick(many, *names) == pick(one, *names)).all()
    assert STAYS in two.output
    assert changes_of_rank(two) > 20
    if precision == "double":
        assert_equal(two, one, 1e-9)
    else:
        # Arithmetic of pairs in mixed precision differs between CPUs and GPUs.
        alone = one if device == "cpu" else run_lammps(script + resident(device) + end, tmp_path)
        assert_equal(two, alone, 2e-3)


@PRECISIONS
@pytest.mark.parametrize("kind", NOISY)
def test_scalars_are_conserved_where_particles_change_ranks(kind, precision, device, tmp_path):
    """Without friction heat is conserved, and all heat capacities are the same."""
    script = ours(NOISY[kind], precision).replace(*ALONG_X).replace("18.75 4.5", "18.75 0.0")
    run = run_lammps(script + resident(device) + PLACES + "run 30\n" + end_of(script), tmp_path, 2)
    assert_stays(run)
    assert changes_of_rank(run) > 20
    for name, mean in zip(SCALARS[kind].split(), (1, 2), strict=False):
        assert pick(run, name).var() > 1e-4
        assert pick(run, name).sum() == pytest.approx(1536 * mean, rel=1e-12)


@pytest.mark.parametrize("kind", NOISY)
def test_threads_of_the_pair_style_change_no_bit(kind, tmp_path):
    """Where LAMMPS moves the particles, threads compute the pairs; 6,144 are several blocks."""
    runs = [
        run_lammps(
            ours(NOISY[kind]).replace(" 9872598", f" 9872598 {threads}")
            + "replicate 2 2 1\n"
            + THERMO
            + "thermo 1\nrun 3\n"
            + end_of(NOISY[kind]),
            tmp_path,
        )
        for threads in ("", "threads 3")
    ]
    names = ("xu", "vx", "fx", *SCALARS[kind].split())
    assert (pick(runs[1], *names) == pick(runs[0], *names)).all()
    assert (runs[1].thermo()["PotEng"] == runs[0].thermo()["PotEng"]).all()


@PRECISIONS
@pytest.mark.parametrize("kind", NOISY)
def test_a_restart_continues(kind, precision, device, tmp_path):
    rest = "".join(
        line + "\n" for line in NOISY[kind].splitlines() if line.startswith(("fix", "compute"))
    )
    assert_restart_continues(ours(NOISY[kind], precision), rest, device, tmp_path)


@PRECISIONS
@pytest.mark.parametrize("kind", NOISY)
def test_scalars_continue_after_restarts_and_changes(kind, precision, device, tmp_path):
    """A restart file has the scalars, and a command between runs may change them."""
    change = {"edpd": "set type 2 edpd/temp 1.2\n", "tdpd": "set type 2 cc 1 1.3\n"}[kind]
    script = ours(NOISY[kind], precision) + resident(device) + "run 8\n"
    rest = "".join(
        line + "\n" for line in NOISY[kind].splitlines() if line.startswith(("fix", "compute"))
    )
    end = change + "run 8\n" + end_of(NOISY[kind])
    whole = run_lammps(script + "write_restart half\n" + end, tmp_path)
    resumed = run_lammps(
        f"read_restart {whole.directory / 'half'}\ncomm_modify vel yes\nneigh_modify every 1 "
        f"delay 0 check yes\ntimestep 0.01\n{rest}{resident(device)}{end}",
        tmp_path,
    )
    assert_stays(resumed)
    assert_equal(resumed, whole, 1e-9)


@pytest.mark.parametrize("name", ["edpd series", "edpd types", "tdpd"])
def test_a_data_file_has_the_coefficients(name, tmp_path):
    """Without noise, the forces and the flux of its atoms are those of the first system."""
    script, kind = ours(QUIET[name]), kind_of(QUIET[name])
    run = "run 0\nrun 1\n" + end_of(script)
    whole = run_lammps(script + "write_data half pair ij\n" + run, tmp_path)
    temperature = "" if kind == "edpd" else "0.0 "
    again = run_lammps(
        f"units lj\natom_style {kind}{'' if kind == 'edpd' else ' 2'}\ncomm_modify vel yes\n"
        f"pair_style {kind}/manymove {temperature}1.2 9872598 precision double\n"
        f"read_data {whole.directory / 'half'}\ntimestep 0.01\nneighbor 0.3 bin\n"
        + "".join(
            line + "\n" for line in script.splitlines() if line.startswith(("fix", "compute"))
        )
        + run,
        tmp_path,
    )
    for names in (("fx", "fy", "fz"), SCALARS[kind].split()):
        assert_close(pick(again, *names), pick(whole, *names), 1e-11)


@on_gpu
@pytest.mark.parametrize("kind", NOISY)
def test_cpu_and_gpu_have_the_same_bits(kind, tmp_path):
    script = ours(NOISY[kind]) + SOURCES.format(
        f"{kind}/", *(("", "") if kind == "edpd" else ("1", "2"))
    )
    end = THERMO + "run 200\n" + end_of(script)
    cpu, cuda = (run_lammps(script + resident(d) + end, tmp_path) for d in ("cpu", "cuda"))
    assert_stays(cuda)
    names = ("xu", "vx", "fx", *SCALARS[kind].split())
    assert (pick(cuda, *names) == pick(cpu, *names)).all()
    for column in ("PotEng", "Pxx", "Pxy"):
        assert cuda.thermo()[column] == pytest.approx(cpu.thermo()[column], rel=1e-11, abs=1e-11)


def test_stresses_of_particles_leave_the_scalars_as_they_are(device, tmp_path):
    script = ours(QUIET["edpd series"]) + resident(device)
    tail = "thermo 2\nrun 4\nrun 3\n" + end_of(QUIET_EDPD)
    per_atom = (
        "compute p all stress/atom NULL virial\ncompute sum all reduce sum c_p[1]\n"
        "compute v all pressure NULL virial\nthermo_style custom step c_v[1] c_sum vol\n"
        "thermo_modify format float %.16g norm no\n"
    )
    plain, tallied = (run_lammps(script + more + tail, tmp_path) for more in ("", per_atom))
    assert_stays(tallied)
    assert_equal(tallied, plain, 1e-12)
    table = tallied.thermo()
    expected = -table["c_sum"] / table["Volume"]
    assert table["c_v[1]"] == pytest.approx(expected, rel=1e-9)


# ---- examples of LAMMPS ----


def profile(run, name: str) -> np.ndarray:
    """The values of each bin in the last average of fix ave/chunk, without numbers and places."""
    rows = [line.split() for line in (run.directory / name).read_text().splitlines()]
    return np.array([[float(w) for w in row[3:]] for row in rows if len(row) > 3 and row[0] != "#"])


def example(kind: str, size: str, source: str, value: float, columns: str) -> str:
    """Half of the box is heated and the other half is cooled, as in the examples of LAMMPS'
    DPD-MESO, in a smaller box."""
    start = atoms(kind, "mass * 1.0").replace("block 0 8 0 8 0 8", size).replace("1536", "1200")
    ours_only = {
        "edpd": "set atom * edpd/temp 1.0 edpd/cv 1.0e5\npair_style edpd 1.58 98\npair_coeff * * "
        "18.75 4.5 0.41 1.58 1.41e-5 2.0 1.58 power 10.54 -3.66 3.44 -4.1 &\n"
        "  kappa -0.44 -3.21 5.04 0.0\n",
        "tdpd": "set atom * cc 1 1.0 cc 2 1.0\npair_style tdpd 1.0 1.58 98\npair_coeff * * 18.75 "
        "4.5 0.41 1.58 1.58 1.0 1.0e-5 2.0 3.0 1.0e-5 2.0\n",
    }[kind]
    return (
        f"{start}{ours_only}velocity all create 1.0 432982 loop geom\ntimestep 0.01\n"
        "region upper block INF INF 0 5 INF INF\nregion lower block INF INF -5 0 INF INF\n"
        f"fix i all mvv/{kind}\nfix up all {source} region upper {value}\n"
        f"fix down all {source} region lower {-value}\n{columns}"
        "compute bins all chunk/atom bin/1d y -5.0 1.0\n"
    )


@pytest.mark.parametrize(
    ("kind", "value", "columns", "names"),
    [
        ("edpd", 0.04, "compute s all edpd/temp/atom\n", "c_s"),
        (
            "tdpd",
            0.04,
            "compute s all tdpd/cc/atom 1\ncompute u all tdpd/cc/atom 2\n",
            "c_s c_u",
        ),
    ],
)
@PRECISIONS
def test_profiles_of_the_examples_are_those_of_lammps(
    kind, value, columns, names, precision, device, tmp_path
):
    source = "edpd/source" if kind == "edpd" else "tdpd/source 1"
    script = example(kind, "block 0 8 -5 5 0 5", source, value, columns)
    end = f"run 250\nfix p all ave/chunk 5 50 250 bins {names} norm sample file profile\nrun 250\n"
    host = profile(run_lammps(script + end, tmp_path), "profile")
    run = run_lammps(ours(script, precision) + resident(device) + end, tmp_path)
    assert_stays(run)
    found = profile(run, "profile")
    assert found.shape == host.shape == (10, len(names.split()))
    assert np.ptp(host[:, 0]) > 0.05
    assert abs(found - host).max() < 0.01


# ---- what is refused ----


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            NOISY_EDPD.replace("mvv/edpd", "nve"),
            "manymove/edpd with another integrator than fix mvv",
        ),
        (
            NOISY_TDPD.replace("mvv/tdpd", "mvv/tdpd 0.6"),
            "mvv/tdpd with another parameter than 0.5",
        ),
        (
            NOISY_EDPD + "fix q all edpd/source sphere 4.0 4.0 4.0 2.0 0.1\n",
            "edpd/source that is neither a cuboid nor a fixed block",
        ),
        (
            NOISY_TDPD + "region b sphere 4 4 4 2\nfix q all tdpd/source 1 region b 0.1\n",
            "tdpd/source that is neither a cuboid nor a fixed block",
        ),
        *(
            (
                NOISY_TDPD + f"group g empty\nfix q g tdpd/source {k} cuboid 4 4 4 2 2 2 0.1\n",
                "tdpd/source of a species that atoms do not have",
            )
            for k in (0, 3)
        ),
        (
            NOISY_TDPD
            + "fix p all press/berendsen iso 20 20 1.0 modulus 20\n"
            + "fix q all tdpd/source 1 cuboid 4 4 4 2 2 2 0.1\n",
            "cannot be combined with shear, charges, walls, surfaces or regions",
        ),
        (
            NOISY_EDPD.replace("mvv/edpd", "npt temp 1.0 1.0 0.2 iso 20.0 20.0 0.5"),
            "manymove/edpd with another integrator than fix mvv",
        ),
    ],
)
def test_what_stays_with_the_host_is_named(script, reason, tmp_path):
    host = run_lammps(ours(script) + "run 4\n" + end_of(script), tmp_path)
    run = run_lammps(ours(script) + resident("cpu") + "run 4\n" + end_of(script), tmp_path)
    (warning,) = (line for line in run.output.splitlines() if "cannot keep" in line)
    assert reason in warning and "goes through the host" in warning
    assert_equal(run, host, 1e-10)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2.0 1.2\n", "2.0 1.3\n", "cutoff 1.3 of the exchange of types 1 1 must not be larger"),
        ("4.5 0.41", "-4.5 0.41", "gamma -4.5 must not be negative"),
        ("1.0e-3 2.0 1.2", "-1.0e-3 2.0 1.2", "kappa -1.0e-3 must not be negative"),
        ("2.0 1.2\n", "2.0 1.2 power 1 2 3\n", "pair_coeff (manymove/edpd) power"),
        ("2.0 1.2\n", "2.0 1.2 cooling 1 2 3 4\n", "unexpected argument cooling"),
        ("9872598", "9872598 weight_exponent 1", "unknown keyword weight_exponent"),
        ("9872598", "9872598 threads 2 seed 1", "unknown keyword seed"),
        ("9872598", "9872598 precision single", "precision single must be mixed or double"),
        ("9872598", "9872598 threads 0", "threads 0 must be positive"),
        ("9872598", "0", "seed 0 must be positive"),
        ("1.0e-3 2.0 1.2", "1.0e-3", "cutoff kappa power_T cutoff_T"),
    ],
)
def test_bad_coefficients_are_errors(old, new, message, tmp_path):
    assert NOISY_EDPD.count(old) == 1
    script = ours(NOISY_EDPD).replace(old, new) + "run 0\n"
    assert message in run_lammps(script, tmp_path, fails=True).output


def test_other_atoms_are_errors(tmp_path):
    script = ours(NOISY_EDPD).replace("atom_style edpd", "atom_style atomic")
    script = "\n".join(
        line for line in script.splitlines() if not line.startswith(("set atom", "fix", "compute"))
    )
    output = run_lammps(script + "\nrun 0\n", tmp_path, fails=True).output
    assert "Pair style manymove/edpd needs atom_style edpd" in output
    many = (
        ours(NOISY_TDPD)
        .replace("tdpd 2\n", "tdpd 4\n")
        .replace("0.02 1.0\n", "0.02 1.0 0 0 1 0 0 1\n")
    )
    output = run_lammps(many + "run 0\n", tmp_path, fails=True).output
    assert "at most 3 species, not 4" in output


def test_coefficients_of_species_need_atoms_that_have_them(tmp_path):
    script = ours(NOISY_TDPD).replace("tdpd 2\n", "atomic\n").replace("set atom", "#")
    script = script.replace("atom_style tdpd", "atom_style")
    output = run_lammps(script, tmp_path, fails=True).output
    assert "Pair style manymove/tdpd needs atom_style tdpd" in output


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ("edpd/temp 0.0 edpd/cv 200.0", "temperature 0 and the heat capacity 200"),
        ("edpd/temp 1.0 edpd/cv 0.0", "temperature 1 and the heat capacity 0"),
    ],
)
def test_temperatures_and_heat_capacities_must_be_positive(values, named, device, tmp_path):
    script = ours(NOISY_EDPD) + f"set atom 7 {values}\n" + resident(device) + "run 4\n"
    output = run_lammps(script, tmp_path, fails=True).output
    assert f"the {named} of particle 7 must be positive" in output


@pytest.mark.parametrize(
    ("kind", "values", "named"),
    [
        ("edpd", "edpd/cv 2.0e19", "the heat capacity 2e+19"),
        ("edpd", "edpd/cv 1.0e-20", "the heat capacity 1e-20"),
        ("edpd", "edpd/temp 1.0e19", "the temperature 1e+19"),
        ("edpd", "edpd/temp 1.0e-46", "the temperature 1e-46"),
        ("tdpd", "cc 1 1.0e39", "the concentration 1e+39"),
        ("tdpd", "cc 2 2.0e38", "the concentration 2e+38"),
    ],
)
def test_scalars_beyond_mixed_precision_are_named(kind, values, named, device, tmp_path):
    script = ours(NOISY[kind], "mixed") + f"set atom 7 {values}\n" + resident(device) + "run 1\n"
    output = run_lammps(script, tmp_path, fails=True).output
    assert f"{named} of particle 7 is not between" in output
    assert "use precision double" in output


@pytest.mark.parametrize(("kind", "values"), [("edpd", "edpd/cv 1e30"), ("tdpd", "cc 1 1e39")])
def test_double_precision_takes_large_scalars(kind, values, device, tmp_path):
    script = ours(NOISY[kind].replace("1.0e-3 2.0 1.2", "1.0e-33 2.0 1.2"))
    script += f"set atom * {values}\n" + resident(device)
    run = run_lammps(script + "run 4\n" + end_of(script), tmp_path)
    assert_stays(run)
    assert (pick(run, "c_s") > 0).all()


@pytest.mark.parametrize(
    ("kind", "old", "new", "named"),
    [
        ("edpd", "18.75", "1.0e39", "a 1e+39"),
        ("edpd", "4.5 0.41", "1.0e39 0.41", "gamma 1e+39"),
        ("edpd", "1.0e-3 2.0 1.2", "1.0e39 2.0 1.2", "kappa 1e+39"),
        ("edpd", "1.0e-3 2.0 1.2", "1.0e-40 2.0 1.2", "kappa 1e-40"),
        ("edpd", "2.0 1.2\n", "2.0 1.2 kappa 0 1.0e39 0 0\n", "the coefficient of kappa 1e+39"),
        ("tdpd", "0.02 1.0\n", "1.0e39 1.0\n", "epsilon over the root of the time step 1e+40"),
    ],
)
def test_coefficients_beyond_mixed_precision_stay_with_the_host(kind, old, new, named, tmp_path):
    """The host computes in double precision."""
    assert NOISY[kind].count(old) == 1
    script, end = NOISY[kind].replace(old, new), resident("cpu") + "run 0\n"
    output = run_lammps(ours(script, "mixed") + end, tmp_path).output
    (warning,) = (line for line in output.splitlines() if "cannot keep" in line)
    assert f"{named} of types 1 and 1 is beyond the range of mixed precision" in warning
    assert "use precision double" in warning
    assert "cannot keep" not in run_lammps(ours(script) + end, tmp_path).output


def test_walls_reflect_velocities(device, tmp_path):
    """Free particles, of which LAMMPS' fix mvv/tdpd restores the velocities."""
    script = ours(NOISY_TDPD).replace("boundary p p p", "boundary p p f")
    script = script.replace("18.75 4.5 0.41", "0.0 0.0 0.41") + resident(device)
    script += (
        "fix w all wall/reflect zlo EDGE zhi EDGE\ndump d all custom 20 dump id z vz\n"
        "dump_modify d sort id format float %.17g\nrun 20\n"
    )
    run = run_lammps(script, tmp_path)
    assert_stays(run)
    before, after = run.dump(frame=0), run.dump(frame=1)
    free = before["z"] + 0.2 * before["vz"]
    reflected = (free < 0) | (free > 8)
    assert reflected.sum() > 20
    assert_close(after["vz"], np.where(reflected, -before["vz"], before["vz"]), 1e-12)


def test_a_negative_temperature_ends_the_run(tmp_path):
    script = ours(NOISY_EDPD) + "fix q all edpd/source cuboid 4 4 4 9 9 9 -30.0\n"
    output = run_lammps(script + resident("cpu") + "run 40\n", tmp_path, fails=True).output
    assert "Lost atoms: particle" in output and "its temperature is not positive" in output
