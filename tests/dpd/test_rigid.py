"""LAMMPS' fixes rigid and rigid/small in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_comparisons import STRESSES, Contract, assert_named, assert_steps_of_lammps
from dpd_rigid import INTRA, RIGID, SHAPES, SMALL, bodies
from dpd_scripts import (
    END,
    assert_close,
    assert_same_steps,
    assert_stays,
    fluid,
    pick,
    plain_fluid,
    resident,
)
from lammps_host import THERMO, needs_lammps, run_lammps

pytestmark = needs_lammps

TABLE = THERMO.replace("press", "press f_r")
PARTS = {
    "small": SMALL,
    "small, excluded": SMALL + INTRA,
    "rigid, excluded": RIGID + INTRA + "neigh_modify exclude group bodies bodies\n",
    "single": "fix r bodies rigid single\n",
    "group": "group first molecule 1 3\ngroup second subtract bodies first\n"
    "fix r bodies rigid group 2 first second\n",
    "force, torque": "fix r bodies rigid molecule force 1 on off on force 2*3 off off off "
    "torque 1 off on off torque 4 off off off\n",
    "thermostat": SMALL + "fix l all langevin 0.0 0.0 3.0 7\nfix a bodies addforce 0.3 -0.2 0.1\n",
    "momentum": SMALL + "fix m all momentum 2 linear 1 1 1\n",
    "not again": SMALL.replace("molecule", "molecule reinit no"),
}


def skip_if_refused(device: str, text: str, ranks: int = 1) -> None:
    if device == "cuda" and (ranks > 1 or "exclude molecule" in text):
        pytest.skip("refused by name on GPUs")


def script(folder, fix=SMALL, **arguments) -> str:
    return bodies(folder / "bodies.data", **arguments) + fluid() + fix


@pytest.mark.parametrize("name", PARTS)
def test_cold_bodies_are_those_of_lammps(name, device, tmp_path):
    """Spheres, rods, dimers, plates and bodies without symmetry in a fluid at zero temperature,
    some of them across the edges of the box: LAMMPS' own styles find the same."""
    skip_if_refused(device, PARTS[name])
    start = bodies(tmp_path / "bodies.data")
    end = TABLE + "thermo 2\nrun 8\nrun 4\n" + END
    if "rigid" in PARTS[name] and "small" not in PARTS[name]:
        number = {"single": 1, "group": 2}.get(name, 5)
        columns = [f"f_r[{b + 1}][{k + 1}]" for b in range(number) for k in range(15)]
        # LAMMPS' temperature has the flags of torques along axes that degenerate bodies lose.
        columns += [] if name == "force, torque" else ["f_r"]
        end = TABLE.replace("f_r", " ".join(columns)) + "thermo 2\nrun 8\nrun 4\n" + END
    host = run_lammps(start + plain_fluid("dpd") + PARTS[name] + end, tmp_path)
    pair = plain_fluid("manymove/dpd", tail="precision double")
    ours = run_lammps(start + pair + PARTS[name] + resident(device) + end, tmp_path)
    assert_stays(ours)
    for names in (("xu", "yu", "zu"), ("vx", "vy", "vz"), ("fx", "fy", "fz")):
        assert_close(pick(ours, *names), pick(host, *names), 1e-12)
    table, expected = ours.thermo(), host.thermo()
    scale = abs(expected["Press"]).max()
    for column, values in expected.items():
        now = table[column]
        if column.startswith("f_r["):
            body, row = column[4:-1].split("][")
            if int(row) > 12:
                continue
            if int(row) < 4:  # the center, which is wrapped at other times
                image = f"f_r[{body}][{int(row) + 12}]"
                now, values = (7 * t[image] + t[column] for t in (table, expected))
        assert now == pytest.approx(values, rel=1e-12, abs=1e-12 * scale), column


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape(shape, device, tmp_path):
    text = script(tmp_path, shapes=(shape,) * 4, solvent=600, seed=3)
    assert_steps_of_lammps(text, "double", device, tmp_path, table=TABLE)


@pytest.mark.parametrize("seed", range(6))
def test_random_decks(seed, device, tmp_path):
    random = np.random.default_rng((seed, 54))
    pick_one = lambda *values: values[random.integers(len(values))]  # noqa: E731
    tilt = tuple(random.uniform(-3, 3, 3)) if pick_one(True, False) else (0, 0, 0)
    shapes = tuple(random.choice(list(SHAPES), random.integers(1, 9)))
    start = bodies(
        tmp_path / "bodies.data",
        shapes,
        solvent=600,
        seed=seed,
        tilt=tilt,
        masses=tuple(random.uniform(0.5, 3, 2)),
    )
    start = pick_one("newton on\n", "newton off\n") + start
    text = start + fluid() + pick_one(SMALL, RIGID) + pick_one("", INTRA)
    skip_if_refused(device, text)
    assert_steps_of_lammps(text, "double", device, tmp_path, table=TABLE)


@pytest.mark.parametrize("change", ["mass 1 1e12", "mass 2 1e9", "timestep 1e-7", "mass 2 1e-3"])
def test_masses_and_time_steps_do_not_cost_digits(change, device, tmp_path):
    start = bodies(tmp_path / "bodies.data", solvent=700, seed=6) + change + "\n"
    text = start + "timestep 1e-4\n" * ("2 1e-3" in change)
    end = TABLE + "thermo 2\nrun 6\n" + END
    host = run_lammps(text + plain_fluid("dpd") + SMALL + end, tmp_path)
    pair = plain_fluid("manymove/dpd", tail="precision double")
    ours = run_lammps(text + pair + SMALL + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, 1e-12)
    moved = np.flatnonzero(ours.dump("end")["type"] == 2)
    for names in (("vx", "vy", "vz"), ("fx", "fy", "fz")):
        assert_close(pick(ours, *names)[moved], pick(host, *names)[moved], 1e-11)


def test_flat_bodies_in_two_dimensions(device, tmp_path):
    text = script(tmp_path, shapes=("plate", "rod", "dimer"), solvent=60)
    before, after = text.split("group bodies")
    flat = "set group all z 0.0\nvelocity all set NULL NULL 0.0\n"
    data = tmp_path / "bodies.data"
    data.write_text(data.read_text().replace("0 7.0 zlo zhi", "-0.5 0.5 zlo zhi"))
    lines = data.read_text().split("\n")
    at = lines.index("Atoms # molecular")
    for k in range(at + 2, lines.index("Velocities") - 1):
        words = lines[k].split()
        lines[k] = " ".join([*words[:5], "0.0", *words[6:8], "0"])
    data.write_text("\n".join(lines))
    text = "dimension 2\n" + before + flat + "group bodies" + after + "fix flat all enforce2d\n"
    # A plate at an angle is not one in the plane: its places there are as good as others.
    assert_steps_of_lammps(text, "double", device, tmp_path, table=TABLE)


AGAIN = "group bodies type 2\ngroup solvent type 1\nfix nve solvent nve\n"


class TestBodies(Contract):
    scripts = {"small": SMALL, "rigid": RIGID, "excluded": RIGID + INTRA}
    steps, precisions, ranks = ["small"], ("mixed",), ["small", "excluded"]
    restarts = {"small": AGAIN + SMALL, "rigid": AGAIN + RIGID}
    threads = output = ["small"]
    table, columns, bits_after = TABLE, ("PotEng", "Press", *STRESSES), 100
    looks = ("thermo 40\n", "thermo 1\ndump x all custom 3 x id vx\n")

    def script(self, name, folder):
        return script(folder, self.scripts[name])

    def test_several_ranks(self, name, ranks, device, tmp_path):
        skip_if_refused(device, self.scripts[name], ranks)
        super().test_several_ranks(name, ranks, device, tmp_path)


def test_two_ranks_equal_one(device, tmp_path):
    skip_if_refused(device, "", 2)
    end = THERMO + resident(device) + "thermo 4\nrun 12\nrun 8 pre no\nrun 4\n" + END
    two, one = (run_lammps(script(tmp_path) + end, tmp_path, ranks) for ranks in (2, 1))
    assert_stays(two)
    assert_same_steps(two, one, 1e-9)


@pytest.mark.parametrize("fix", [SMALL, RIGID, SMALL.replace("molecule", "molecule reinit no")])
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_host_continues(ranks, fix, device, tmp_path):
    """After steps of the engine, LAMMPS' own run style has what it needs, and the engine again."""
    skip_if_refused(device, fix, ranks)
    runs = "run 6\n{0}run 6\n{1}run 6\nrun 6 pre no\n"
    end = TABLE + runs.format("run_style verlet\n", resident(device)) + END
    host = run_lammps(script(tmp_path, fix) + TABLE + runs.format("", "") + END, tmp_path, ranks)
    ours = run_lammps(script(tmp_path, fix) + resident(device) + end, tmp_path, ranks)
    assert_same_steps(ours, host, 1e-9)


def test_a_free_body_keeps_its_energy_and_momentum(device, tmp_path):
    """Bodies without forces turn with errors of the second order in the time step."""
    start = bodies(tmp_path / "bodies.data", ("tripod", "plate", "rod"), solvent=3, seed=5)
    start += "pair_style manymove/dpd 0.0 1.0 1 precision double\npair_coeff * * 0.0 0.0\n"
    start += SMALL + "compute e all erotate/rigid r\n"
    start += "".join(f"variable {a} equal angmom(bodies,{a})\n" for a in "xyz")
    table = "thermo_style custom step c_e v_x v_y v_z\nthermo_modify format float %.16g\n"
    errors = []
    for factor in (1, 2):
        steps = f"timestep {0.004 / factor}\nthermo {500 * factor}\nrun {2000 * factor}\n"
        run = run_lammps(start + table + resident(device) + steps, tmp_path)
        assert_stays(run)
        energy = run.thermo()["c_e"]
        errors.append(np.abs(energy / energy[0] - 1).max())
        for name in ("v_x", "v_y", "v_z"):
            momentum = run.thermo()[name]
            assert momentum == pytest.approx(np.full(len(momentum), momentum[0]), rel=1e-9)
    assert 0 < errors[0] < 1e-4
    assert errors[1] < errors[0] / 3


def test_momentum_is_conserved(device, tmp_path):
    table = "compute p all momentum\nthermo_style custom step c_p[*]\n"
    table += "thermo_modify format float %.16g\nthermo 100\n"
    run = run_lammps(script(tmp_path) + table + resident(device) + "run 300\n", tmp_path)
    for axis in (1, 2, 3):
        momentum = run.thermo()[f"c_p[{axis}]"]
        assert momentum == pytest.approx(np.full(len(momentum), momentum[0]), abs=1e-9)


def test_equipartition(device, tmp_path):
    """In a DPD fluid the translation and the rotation of 40 bodies have 3/2 kT each: the means of
    40 blocks deviate by less than five standard errors and the error of the time step, 1 %
    (Student's distribution: at most one false alarm in 40,000 runs)."""
    start = bodies(tmp_path / "bodies.data", ("tripod",) * 40, solvent=500, edge=6.0, seed=8)
    start += "pair_style manymove/dpd 1.0 1.0 77 precision mixed\npair_coeff * * 25.0 9.0\n"
    start += SMALL
    table = "compute k all ke/rigid r\ncompute e all erotate/rigid r\n"
    table += "fix means all ave/time 10 100 1000 c_k c_e file means\n"
    run = run_lammps(
        start + table + resident(device) + "thermo 5000\nrun 4000\nrun 40000\n", tmp_path
    )
    assert_stays(run)
    blocks = np.loadtxt(run.directory / "means")[4:, 1:]
    for values in blocks.T / (1.5 * 40):
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert error < 0.02
        assert abs(values.mean() - 1) < 5 * error + 0.01


NAMED = {
    "langevin": ("rigid/small molecule langevin 1 1 1 7", "langevin"),
    "infile": ("rigid/small molecule infile", "infile"),
    "nvt": ("rigid/nvt/small molecule temp 1 1 1", "rigid/nvt/small"),
    "nve": ("rigid/nve molecule", "rigid/nve"),
    "npt": ("rigid/npt molecule temp 1 1 1 iso 1 1 1", "rigid/npt, which changes the box"),
}


@pytest.mark.parametrize("name", NAMED)
def test_what_is_not_served_is_named(name, tmp_path):
    words, reason = NAMED[name]
    text = script(tmp_path, f"fix r bodies {words}\n", shapes=("sphere", "tripod"))
    if name == "infile":
        (tmp_path / "known").write_text("0\n")  # so many bodies
        text = script(tmp_path, f"fix r bodies {words} {tmp_path / 'known'}\n")
    assert reason in assert_named(text, "fix r rigid", tmp_path)


def test_excluded_molecules_with_charges_are_named(tmp_path):
    text = script(tmp_path, "").replace("atom_style molecular", "atom_style full")
    data = tmp_path / "bodies.data"
    lines = data.read_text().replace("# molecular", "# full").split("\n")
    at = lines.index("Atoms # full")
    for k in range(at + 2, lines.index("Velocities") - 1):
        words = lines[k].split()
        lines[k] = " ".join([*words[:3], "1.0" if int(words[0]) % 2 else "-1.0", *words[3:]])
    data.write_text("\n".join(lines))
    pairs = "pair_style hybrid/overlay manymove/dpd 0 1 7 coul/slater/cut 0.7 2.0\n"
    pairs += "pair_coeff * * manymove/dpd 25 4.5\npair_coeff * * coul/slater/cut\n"
    text = text.split("pair_style")[0] + pairs + SMALL + INTRA
    assert_named(text, "neigh_modify exclude with charges", tmp_path)


def test_other_fixes_of_the_same_atoms_are_named(tmp_path):
    text = script(tmp_path)
    twice = text.replace("nve solvent nve", "nve all nve")
    assert_named(twice, "fix r rigid/small with another integrator of the same atoms", tmp_path)
    intra = text + "neigh_modify exclude molecule/intra all\n"
    assert_named(intra, "neigh_modify exclude molecule (instead: molecule/intra", tmp_path)
    stress = text + "compute s all stress/atom NULL\n"
    assert_named(stress, "fix r rigid/small with compute stress/atom", tmp_path)
    wall = text + "fix w all wall/reflect zlo EDGE\n"
    wall = wall.replace("units lj", "units lj\nboundary p p f")
    assert_named(wall, "fix r rigid/small with fix move or a reflecting wall", tmp_path)
    barostat = text + "fix p all press/berendsen iso 20 20 1\n"
    assert_named(
        barostat, "fix p press/berendsen with fix_modify virial yes of fix rigid/small", tmp_path
    )


PAIRS = {
    "many-body": "pair_style manymove/mdpd 1.0 1.0 7\npair_coeff * * -40 25 18 1.0 0.75\n",
    "transverse": "pair_style manymove/dpd/ext 1.0 1.0 7\npair_coeff * * 25 4.5 3 0.5 0.8\n",
    "potential": "pair_style hybrid/overlay soft 1.0 manymove/dpd 1 1 7\npair_coeff * * soft 20\n"
    "pair_coeff * * manymove/dpd 5 4.5\n",
}
ON_GPUS = {
    "excluded molecules": (INTRA, 1, "neigh_modify exclude molecule on a GPU"),
    "two ranks": ("", 2, "fix r rigid/small on several GPUs"),
    **{name: (PAIRS[name], 1, "fix r rigid/small beside these pair styles") for name in PAIRS},
}


@pytest.mark.parametrize("name", ON_GPUS)
def test_what_a_gpu_does_not_serve_is_named(name, device, tmp_path):
    """On a CPU the particles stay in the engine."""
    commands, ranks, reason = ON_GPUS[name]
    text = script(tmp_path) + commands
    if device == "cuda":
        warning = assert_named(text, reason, tmp_path, ranks, device)
        assert "(instead: device cpu)" in warning
    else:
        assert_stays(run_lammps(text + resident(device) + "run 2\n", tmp_path, ranks))
