"""`run_style manymove/verlet`: particles that stay with an engine, in LAMMPS."""

from __future__ import annotations

import re

import numpy as np
import pytest
from lammps_host import DUMP, THERMO, Run, needs_lammps, run_lammps

pytestmark = needs_lammps

STAYS = "the particles are on"
WARNING = "cannot keep the particles on the device"


def system(
    box: str = "block 0 7 0 7 0 7", atoms: int = 1028, before: str = "", skin: float = 0.3
) -> str:
    """A random configuration of two types with thermal velocities, and fix nve."""
    return f"""
units lj
atom_style bond
comm_modify vel yes
{before}
region box {box}
create_box 2 box bond/types 2 extra/bond/per/atom 10 extra/special/per/atom 100
create_atoms 1 random {atoms // 2} 11 NULL
create_atoms 2 random {atoms - atoms // 2} 12 NULL
mass 1 1.0
mass 2 2.0
velocity all create 1.3 13 loop all
timestep 0.01
neighbor {skin} bin
fix nve all nve
"""


def fluid(precision: str = "double", temperature: float = 1.0) -> str:
    return f"""
pair_style manymove/dpd {temperature} 1.0 4711 precision {precision}
pair_coeff 1 1 25.0 4.5
pair_coeff 1 2 40.0 3.0 1.2 weight_exponent 0.5
pair_coeff 2 2 15.0 6.0 0.9 weight_exponent 1.7
"""


BONDS = """
bond_style manymove/harmonic
bond_coeff 1 20.0 0.5
bond_coeff 2 40.0 0.4
special_bonds lj 0 1 1
create_bonds many all all 1 0.1 0.22
create_bonds many all all 2 0.22 0.25
special_bonds lj 0.0 0.5 1.0
"""

WALLS = """
fix walls all manymove/wall xlo EDGE xhi EDGE zlo 0.02 zhi 6.97
"""

FORCES = """
region lower block INF INF 1 6 INF 3.5
region upper block INF INF 2 5 3.5 INF
group first type 1
fix down first addforce 0.3 0.0 0.1 region lower
fix up all addforce -0.3 0.0 0.0 region upper
fix all all addforce 0.0 0.02 0.0
"""

DECKS = {
    "several types": system() + fluid(),
    "one type": system().replace("create_atoms 2", "create_atoms 1")
    + fluid().replace("1 1 25.0 4.5", "* * 25.0 4.5"),
    "triclinic": system("prism 0 7 0 7.5 0 7 2 1 -1.5") + fluid(),
    "bonds": system() + fluid() + BONDS,
    "walls and body forces": system(before="boundary f p f") + fluid() + BONDS + WALLS + FORCES,
    "small box": system("block 0 4 0 5 0 6", 360) + fluid(),
    "frozen particles": system() + fluid() + "unfix nve\ngroup some id <= 700\nfix nve some nve\n",
    "newton off": system(before="newton off") + fluid() + BONDS,
    "two dimensions": system("block 0 9 0 8 -0.5 0.5", 300, "dimension 2")
    + fluid()
    + "set group all z 0.0\nvelocity all set NULL NULL 0.0\nfix flat all enforce2d\n"
    + "fix push all addforce 0.2 -0.1 0.0\n",
}

# Positions unwrapped: when they are wrapped is the run style's affair.
END = """
write_dump all custom end id type xu yu zu vx vy vz fx fy fz modify sort id format float %.17g
"""

TOLERANCE = {"double": 1e-10, "mixed": 1e-5}


def resident(device: str, more: str = "") -> str:
    return f"run_style manymove/verlet device {device} {more}\n"


def pick(run: Run, *names: str, file: str = "end", frame: int = -1) -> np.ndarray:
    columns = run.dump(file, frame)
    return np.stack([columns[name] for name in names], axis=-1)


def state(run: Run) -> np.ndarray:
    return pick(run, "xu", "yu", "zu", "vx", "vy", "vz", "fx", "fy", "fz")


def assert_close(a: np.ndarray, b: np.ndarray, tolerance: float) -> None:
    scale = np.abs(b).max()
    assert scale > 0
    assert np.abs(a - b).max() <= tolerance * scale, np.abs(a - b).max() / scale


def assert_stays(run: Run) -> None:
    """The particles stayed with the engine, and nobody complained."""
    assert STAYS in run.output
    assert "manymove" not in "".join(re.findall("WARNING.*", run.output)), run.output


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("deck", DECKS)
def test_a_few_steps_are_those_of_the_host(deck, precision, device, tmp_path):
    # Forces, energies and pressures after steps long enough to build lists anew.
    start = DECKS[deck].replace("precision double", f"precision {precision}")
    end = THERMO + "thermo 3\nrun 6\n" + END
    host = run_lammps(start + end, tmp_path)
    ours = run_lammps(start + resident(device) + end, tmp_path)
    assert_stays(ours)
    tolerance = TOLERANCE[precision]
    for names in (("xu", "yu", "zu"), ("vx", "vy", "vz"), ("fx", "fy", "fz")):
        assert_close(pick(ours, *names), pick(host, *names), tolerance)
    scale = abs(host.thermo()["Press"]).max()
    for name, expected in host.thermo().items():
        assert ours.thermo()[name] == pytest.approx(
            expected, rel=10 * tolerance, abs=10 * tolerance * scale
        ), name


LOOKS = [
    "",
    "thermo 1\n",
    "thermo 7\n",
    "compute rdf all rdf 20\nfix look all ave/time 3 1 3 c_rdf[*] mode vector file rdf\n",
    "thermo 4\ncompute s all stress/atom NULL\ndump s all custom 5 s id c_s[1]\n",
]
# In triclinic boxes LAMMPS wants bins in reduced units, for which it rounds positions.
CHUNKS = """
compute c all chunk/atom bin/1d x lower 0.7 units box
fix c all ave/chunk 1 1 2 c vx density/number file chunks
"""


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("deck", ["several types", "triclinic", "walls and body forces"])
def test_looking_does_not_change_the_trajectory(deck, precision, device, tmp_path):
    start = DECKS[deck].replace("precision double", f"precision {precision}") + resident(device)
    looks = LOOKS + ([] if deck == "triclinic" else [CHUNKS])
    results = []
    for look in looks:
        run = run_lammps(start + look + "run 40\n" + END, tmp_path)
        assert_stays(run)
        results.append(state(run))
    for other in results[1:]:
        assert (other == results[0]).all()


def test_the_number_of_threads_does_not_change_a_bit(tmp_path):
    deck = DECKS["walls and body forces"] + THERMO
    one, two = (
        run_lammps(deck + resident("cpu", f"threads {n}") + "run 30\n" + END, tmp_path)
        for n in (1, 2)
    )
    assert (state(one) == state(two)).all()
    assert (one.thermo()["Press"] == two.thermo()["Press"]).all()


def test_the_same_deck_gives_the_same_bits(device, tmp_path):
    deck = DECKS["walls and body forces"] + THERMO + resident(device) + "run 30\n" + END
    one, two = (run_lammps(deck, tmp_path) for _ in range(2))
    assert (state(one) == state(two)).all()
    assert (one.thermo()["Press"] == two.thermo()["Press"]).all()


VESICLE = """
units lj
atom_style bond
comm_modify vel yes
boundary f f f
region box block 0 7 0 7 0 7
create_box 2 box bond/types 1 extra/bond/per/atom 2 extra/special/per/atom 6
create_atoms 1 random 1000 5 NULL
mass * 1.0
velocity all create 1.0 5 loop all
neighbor 0.3 bin
timestep 0.01
bond_style manymove/harmonic
bond_coeff 1 40.0 0.38
pair_style manymove/dpd 1.0 1.0 99 weight_exponent 0.5
pair_coeff * * 15.0 4.5
pair_coeff 1 2 120.0 4.5
special_bonds lj 0 1 1
create_bonds many all all 1 0.1 0.2
special_bonds lj 1 1 1
fix nve all nve
fix walls all manymove/wall xlo EDGE xhi EDGE ylo EDGE yhi EDGE zlo EDGE zhi EDGE
"""


def test_a_vesicle_deck_is_served(device, tmp_path):
    deck = VESICLE + THERMO + resident(device) + "thermo 50\nrun 100\n" + END
    run = run_lammps(deck, tmp_path)
    assert_stays(run)
    positions = pick(run, "xu", "yu", "zu")
    assert len(positions) == 1000
    assert positions.min() >= 0 and positions.max() <= 7
    assert int(re.search(r"Neighbor list builds = (\d+)", run.output)[1]) > 5
    assert "Dangerous builds = 0" in run.output


def test_momentum_is_conserved(device, tmp_path):
    deck = system() + fluid("mixed") + BONDS + resident(device)
    momentum = "variable p equal vcm(all,x)*mass(all)\nthermo_style custom step temp v_p\n"
    run = run_lammps(
        deck + "velocity all zero linear\n" + momentum + "thermo 200\nrun 400\n", tmp_path
    )
    assert_stays(run)
    # In float32 each of 1028 particles rounds its velocity by 1e-7 per step, at random.
    assert abs(run.thermo()["v_p"]).max() < 1e-7 * np.sqrt(1028 * 400) * 10


# ---- who reads ----


def compare(deck: str, more: str, device: str, tmp_path) -> tuple[Run, Run]:
    """The same on the host and with the engine, for a few steps: not yet chaotic."""
    host = run_lammps(deck + more + END, tmp_path)
    ours = run_lammps(deck + resident(device) + more + END, tmp_path)
    assert_stays(ours)
    return ours, host


def table(run: Run, name: str) -> np.ndarray:
    lines = (run.directory / name).read_text().splitlines()
    return np.array(
        [[float(w) for w in line.split()] for line in lines if line and line[0] != "#"],
        dtype=object,
    )


def test_fixes_at_the_end_of_a_step(device, tmp_path):
    more = """
fix m all momentum 3 linear 1 1 1
fix t all temp/rescale 4 1.3 1.0 0.0 0.7
fix a all ave/time 2 1 2 c_thermo_temp c_thermo_press file averages format " %.16g"
variable t equal temp
fix p all print 5 "here ${t}" file printed
thermo 6
run 12
"""
    ours, host = compare(DECKS["bonds"] + THERMO, more, device, tmp_path)
    for name in ("averages", "printed"):
        a, b = ((r.directory / name).read_text().replace("here", "").split() for r in (ours, host))
        numbers = [(float(x), float(y)) for x, y in zip(a, b, strict=True) if x[0].isdigit()]
        assert len(numbers) > 2
        for x, y in numbers:
            assert x == pytest.approx(y, rel=1e-5 if name == "printed" else 1e-9)
    assert_close(state(ours), state(host), 1e-9)


def test_a_fix_that_changes_the_time_step(device, tmp_path):
    more = "fix dt all dt/reset 3 0.001 0.02 0.02\n" + THERMO + "run 9\n"
    ours, host = compare(DECKS["bonds"], more, device, tmp_path)
    assert_close(state(ours), state(host), 1e-9)


def test_a_fix_that_stops_the_run(device, tmp_path):
    more = "variable s equal step\nfix h all halt 1 v_s >= 5 error continue\nrun 9\n"
    ours, host = compare(DECKS["bonds"], more, device, tmp_path)
    assert "for 5 steps" in host.output and "for 5 steps" in ours.output
    assert_close(state(ours), state(host), 1e-10)


def test_dumps_on_odd_steps(device, tmp_path):
    more = """
dump d all custom 7 dump id type x y z vx vy vz fx fy fz ix iy iz
dump_modify d sort id format float %.17g
thermo 5
run 21
"""
    ours, host = compare(system() + fluid(), more, device, tmp_path)

    def columns(run: Run, frame: int, names: str) -> np.ndarray:
        return pick(run, *names.split(), file="dump", frame=frame)

    for frame in range(4):
        for names in ("vx vy vz", "fx fy fz"):
            assert_close(columns(ours, frame, names), columns(host, frame, names), 1e-8)
        unwrapped = [
            columns(r, frame, "x y z") + 7 * columns(r, frame, "ix iy iz") for r in (ours, host)
        ]
        assert_close(*unwrapped, 1e-9)
        wrapped = columns(ours, frame, "x y z")
        assert wrapped.min() >= 0 and wrapped.max() < 7


def test_computes_that_need_neighbours_and_values_by_particle(device, tmp_path):
    more = """
compute rdf all rdf 20
compute stress all stress/atom NULL
compute energy all pe/atom
compute sums all reduce sum c_energy c_stress[1] c_stress[4]
compute pairs all pair/local dist eng force
compute most all reduce sum c_pairs[1] c_pairs[2] c_pairs[3] inputs local
compute bonds all bond/local dist engpot
compute longest all reduce sum c_bonds[1] c_bonds[2] inputs local
fix rdf all ave/time 5 1 5 c_rdf[*] mode vector file rdf
thermo_style custom step pe press c_sums[1] c_sums[2] c_sums[3] c_most[1] c_most[2] c_most[3] &
  c_longest[1] c_longest[2]
thermo_modify format float %.16g norm no
thermo 3
dump d all custom 7 dump id c_energy c_stress[1] c_stress[2] c_stress[6]
dump_modify d sort id format float %.17g
run 15
"""
    # LAMMPS' rdf takes the pairs of the present list, which reaches its last bins when it is new.
    deck = DECKS["bonds"] + "neigh_modify delay 0 every 1 check no\n"
    ours, host = compare(deck, more, device, tmp_path)
    for name, expected in host.thermo().items():
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-9), name
    for name in ("c_energy", "c_stress[1]", "c_stress[2]", "c_stress[6]"):
        assert_close(ours.dump()[name], host.dump()[name], 1e-9)
    a, b = ((r.directory / "rdf").read_text().split() for r in (ours, host))
    assert a == b


def test_what_body_forces_report(device, tmp_path):
    more = """
fix_modify up energy yes virial yes
thermo_style custom step pe press pxx f_up f_up[1] f_down[1] f_down[2]
thermo_modify format float %.16g norm no
thermo 2
run 6
"""
    ours, host = compare(DECKS["walls and body forces"], more, device, tmp_path)
    for name, expected in host.thermo().items():
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-9, abs=1e-8), name


def test_a_region_ends_at_periodic_faces(device, tmp_path):
    # The first particle passes the face y = 0 before the third of five steps and is in the upper
    # half from then on: two and a half steps with a force of 1.
    deck = f"""
units lj
comm_modify vel yes
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 single 3 0.025 3
create_atoms 1 single 1 3 3
mass 1 1.0
set atom 1 vy -1.0
timestep 0.01
pair_style manymove/dpd 0.0 1.0 7 precision double
pair_coeff * * 0.0 0.0
fix nve all nve
region upper block INF INF 3.5 6 INF INF
fix push all addforce 1.0 0.0 0.0 region upper
{resident(device)}
run 5
{END}"""
    run = run_lammps(deck, tmp_path)
    assert_stays(run)
    assert pick(run, "vx")[:, 0] == pytest.approx([0.025, 0.0], abs=1e-15)
    assert pick(run, "yu")[0, 0] == pytest.approx(-0.025, abs=1e-15)


# ---- several runs ----


def test_runs_follow_each_other(device, tmp_path):
    more = (
        THERMO
        + "run 4\nrun 3 pre no\nminimize 0 0 2 2\nvelocity all scale 1.3\nrun 5\n"
        + 'run 4 every 2 "velocity all scale 1.2"\n'
    )
    forces = "fix drag all addforce 0.1 0.0 -0.1\n"
    ours, host = compare(DECKS["several types"] + forces, more, device, tmp_path)
    assert_close(state(ours), state(host), 1e-8)


def test_a_run_without_setup_continues(device, tmp_path):
    deck = DECKS["walls and body forces"] + resident(device) + THERMO
    whole = run_lammps(deck + "run 16\n" + END, tmp_path)
    parts = run_lammps(deck + "run 8\nrun 8 pre no\n" + END, tmp_path)
    assert_close(state(parts), state(whole), 1e-10)


def test_from_the_device_to_the_host_and_back(device, tmp_path):
    # Lists of the host are not made anew unless the run style sees to it.
    more = THERMO + "neigh_modify check no every 100 delay 0\n"
    more += "run 8\ngroup some dynamic all every 1\nrun 3 pre no\ngroup some static\nrun 6\n"
    host = run_lammps(
        DECKS["bonds"] + more.replace("check no every 100", "every 1") + END, tmp_path
    )
    ours = run_lammps(DECKS["bonds"] + resident(device) + more + END, tmp_path)
    assert ours.output.count(STAYS) == 2 and ours.output.count(WARNING) == 1
    assert_close(state(ours), state(host), 1e-8)


def test_restart_continues(device, tmp_path):
    whole = run_lammps(
        DECKS["bonds"] + resident(device) + THERMO + "restart 8 half\nrun 16\n", tmp_path
    )
    resumed = run_lammps(
        f"read_restart {whole.directory / 'half'}.8\ncomm_modify vel yes\n"
        "special_bonds lj 0 0.5 1\n"
        f"{resident(device)}{THERMO}fix nve all nve\nrun 8\n{END}",
        tmp_path,
    )
    again = run_lammps(
        DECKS["bonds"] + resident(device) + THERMO + "run 8\nrun 8\n" + END, tmp_path
    )
    assert_stays(resumed)
    assert_close(state(resumed), state(again), 1e-9)


def test_time_runs_out(device, tmp_path):
    deck = DECKS["bonds"] + resident(device) + THERMO + "timer timeout 0:00:01\nrun 100000000\n"
    run = run_lammps(deck + "timer timeout unlimited\nrun 1\n", tmp_path)
    assert "Wall time limit reached" in run.output
    steps = int(re.search(r"for (\d+) steps with", run.output)[1])
    assert 0 < steps < 100000000
    assert run.thermo()["Step"].tolist() == [steps, steps + 1]
    assert np.isfinite(run.thermo()["Press"]).all()


# ---- what is not served ----

UNSERVED = {
    "fix l all langevin 1.0 1.0 1.0 7": "fix l langevin",
    "unfix nve\nfix n all nvt temp 1.0 1.0 1.0": "fix n nvt",
    "fix s all setforce NULL NULL 0.0": "fix s setforce",
    "variable f equal step*0.01\nfix a all addforce v_f 0 0": "fix a addforce with a variable",
    "fix a all addforce 1 0 0 every 2": "fix a addforce with every",
    "region r sphere 3 3 3 2\nfix a all addforce 1 0 0 region r": "fix a addforce in a region",
    "region r block 1 2 1 2 1 2 side out\nfix a all addforce 1 0 0 region r": "fix a addforce in",
    "variable v equal vdisplace(0,0.1)\nregion r block 1 2 1 2 1 2 move v_v NULL NULL\n"
    "fix a all addforce 1 0 0 region r": "fix a addforce in",
    "fix d all deform 1 x scale 1.01": "fix d deform",
    "fix two all nve": "fix nve twice",
    "group g dynamic all every 5": "dynamic group g",
    "neigh_modify exclude type 1 2": "neigh_modify exclude",
    "bond_style harmonic\nbond_coeff * 20.0 0.5": "bond_style harmonic",
    "pair_style hybrid/overlay manymove/dpd 1.0 1.0 4711 precision double zero 1.0\n"
    "pair_coeff * * manymove/dpd 25.0 4.5\npair_coeff * * zero": "pair_style hybrid/overlay",
    "pair_style dpd 1.0 1.0 5\npair_coeff * * 25.0 4.5": "pair_style dpd",
    "change_box all boundary s p p": "shrink-wrapped boundary",
    "change_box all boundary f p p\nfix w all manymove/wall xlo EDGE xhi EDGE\n"
    "change_box all x final -1 8\n"
    + "\n".join(f"fix f{k} all addforce 0.01 0 0" for k in range(9)): "more than 8 body forces",
}


@pytest.mark.parametrize("commands", UNSERVED, ids=UNSERVED.get)
def test_what_is_not_served_runs_on_the_host(commands, tmp_path):
    deck = system() + fluid() + commands + "\n" + THERMO + "run 4\nrun 2\n" + END
    ours = run_lammps(deck.replace("\nrun 4", "\n" + resident("cpu") + "run 4"), tmp_path)
    host = run_lammps(deck, tmp_path)
    warnings = [line for line in ours.output.splitlines() if WARNING in line]
    assert len(warnings) == 1, ours.output
    assert UNSERVED[commands] in warnings[0]
    assert "goes through the host" in warnings[0]
    assert STAYS not in ours.output
    assert (state(ours) == state(host)).all()


def test_two_dimensions_need_a_plane_that_is_kept(tmp_path):
    deck = DECKS["two dimensions"] + resident("cpu")
    for spoilt, text in (
        (deck.replace("fix flat", "#"), "dimension 2 without fix enforce2d"),
        (deck + "set atom 1 z 0.1\n", "dimension 2 with atoms at different heights"),
        (deck + "fix up all addforce 0.0 0.0 0.1\n", "fix up addforce out of the plane"),
    ):
        output = run_lammps(spoilt + "run 2\n", tmp_path).output
        assert output.count(WARNING) == 1
        assert text in output, output


def test_without_a_gpu_auto_is_lammps_verlet(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    deck = system() + fluid() + THERMO
    host = run_lammps(deck + "run 5\n" + END, tmp_path)
    ours = run_lammps(deck + "run_style manymove/verlet\nrun 5\n" + END, tmp_path)
    assert re.search(r"no CUDA device \(.+\), the particles stay on the host", ours.output)
    assert "WARNING" not in ours.output
    assert (state(ours) == state(host)).all()


def test_the_style_leaves_as_it_came(tmp_path):
    deck = (
        system() + fluid() + resident("cpu") + "run 1\nplugin unload run manymove/verlet\nrun 1\n"
    )
    output = run_lammps(deck, tmp_path).output
    assert output.count(STAYS) == 1


# ---- bad input ----

BAD = {
    "run_style manymove/verlet device": "missing argument",
    "run_style manymove/verlet device gpu": "device gpu must be auto, cuda or cpu",
    "run_style manymove/verlet threads 0": "threads 0 must be positive",
    "run_style manymove/verlet threads many": "Expected integer",
    "run_style manymove/verlet engine cpu": "unknown keyword engine",
    "run_style manymove/verlet transport mpi": "mpi must be auto, peer, shared, nccl or host",
    "run_style manymove/verlet overlap perhaps": "Expected boolean",
}


@pytest.mark.parametrize("command", BAD)
def test_bad_arguments_are_named(command, tmp_path):
    run = run_lammps(system() + fluid() + command + "\n", tmp_path, fails=True)
    errors = [line for line in run.output.splitlines() if line.startswith("ERROR")]
    assert errors and re.search(BAD[command], errors[0]), run.output


def test_a_missing_gpu_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run = run_lammps(system() + fluid() + resident("cuda"), tmp_path, fails=True)
    assert "device cuda is not there" in run.output


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_a_particle_exactly_at_a_wall_is_inside(precision, device, tmp_path):
    # From 7.75 with velocity 1 and time step 1/4: at the wall, then back.
    start = f"""
boundary f f f
comm_modify vel yes
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 single 7.75 4 4
create_atoms 1 single 4 4 4
mass 1 1.0
set atom 1 vx 1.0
pair_style manymove/dpd 0.0 1.0 4711 precision {precision}
pair_coeff 1 1 0.0 0.0
timestep 0.25
fix nve all nve
fix walls all manymove/wall xlo EDGE xhi EDGE
"""
    run = run_lammps(start + resident(device) + THERMO + DUMP + "thermo 1\nrun 3\n", tmp_path)
    assert_stays(run)
    x = [pick(run, "x", file="dump", frame=frame)[0, 0] for frame in range(4)]
    assert x == [7.75, np.nextafter(8.0, 0.0), 7.75, 7.5]


def thrown_at_walls(walls: str, precision: str) -> str:
    """Two free particles, up from z = 6.5 and down from 1.5, by 3 in a step."""
    return f"""
boundary p p f
comm_modify vel yes
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 single 2 2 6.5
create_atoms 1 single 6 6 1.5
mass 1 1.0
set atom 1 vz 12.0
set atom 2 vz -12.0
pair_style manymove/dpd 0.0 1.0 4711 precision {precision}
pair_coeff 1 1 0.0 0.0
timestep 0.25
fix nve all nve
fix walls all manymove/wall {walls}
"""


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("walls", ["zlo 1 zhi 7", "zhi 7 zlo 1"])
def test_walls_within_the_box_mirror_what_comes_beyond_the_box(walls, precision, device, tmp_path):
    deck = thrown_at_walls(walls, precision) + resident(device) + "run 1\n" + END
    run = run_lammps(deck, tmp_path)
    assert_stays(run)
    assert pick(run, "zu", "vz").tolist() == [[4.5, -12.0], [3.5, 12.0]]


def test_a_wall_does_not_hold_what_leaves_at_the_other_side(device, tmp_path):
    deck = thrown_at_walls("zlo EDGE", "double") + resident(device) + "run 2\n"
    run = run_lammps(deck, tmp_path, fails=True)
    assert "Lost atoms: particle 1 was lost before step 1" in run.output


def test_a_lost_particle_is_an_error(device, tmp_path):
    deck = system(before="boundary f p p") + fluid() + resident(device) + "run 5000\n"
    run = run_lammps(deck, tmp_path, fails=True)
    assert re.search(r"ERROR.*Lost atoms: particle \d+ was lost before step \d+", run.output)


def test_an_exploding_system_is_an_error(device, tmp_path):
    deck = system() + fluid() + resident(device) + "timestep 30.0\nrun 500\n"
    run = run_lammps(deck, tmp_path, fails=True)
    assert re.search(r"ERROR.*(Lost atoms|outside the box)", run.output), run.output
