"""Speed of DPD on a number of MPI ranks, for `python -m benchmarks scaling`:
`python -m benchmarks.dpd_ranks REQUEST FILE`, both JSON.

The particles are free, charged, or in chains with harmonic bonds. A box of cubes with a number of
particles each is melted from a random start by LAMMPS on the given number of ranks, which then
makes the timed runs without another setup. The time is the difference of two parts of a run, as in
`python -m benchmarks dpd`.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.dpd_variants import CHARGED, MELTED, WARM_UP, Case, Session, more
from manymove import _core
from manymove.bench import status
from manymove.info import record
from manymove.jobs.report import write_json
from manymove.lammps import host

MELT = 500  # steps
RECORD = re.compile(r"^\s*\d+\s+(\d\S*)\s+\S+\s+(\d\S*)\s*$", re.MULTILINE)
THERMO = "thermo_style custom step temp press cpu\nthermo_modify format float %.9g\n"


def grid(count: int) -> tuple[int, int, int]:
    """Numbers of blocks along x, y and z that are closest to a cube."""
    grids = [
        (a, b, count // (a * b))
        for a in range(1, count + 1)
        for b in range(a, count + 1)
        if count % (a * b) == 0 and count // (a * b) >= b
    ]
    return min(grids, key=lambda n: n[2] - n[0] + n[1])


def script(
    case: Case,
    cubes: int,
    ranks: int,
    run_style: str,
    skin: float,
    precision: str,
    beads: int = 1,
    molecule: Path | None = None,
) -> str:
    """Input script that creates and melts the fluid; `case` describes a cube. Chains of `beads`
    particles come from the file `molecule`."""
    sides, seed = [case.edge * n for n in grid(cubes)], case.seed
    kind, types, style, bonds, law, far = "dpd", 1, "atomic", "", "", ""
    if beads == 1:
        ions = int(case.charged * case.particles / 2) * cubes  # of each sign
        create = f"create_atoms 1 random {case.particles * cubes - 2 * ions} {seed} box\n"
        if case.charged:
            kind, types, style = CHARGED, 2, "charge"
            create += (
                f"create_atoms 2 random {ions} {seed + 1} box\ngroup cations type 2\n"
                f"create_atoms 2 random {ions} {seed + 2} box\ngroup ions type 2\n"
                "group anions subtract ions cations\n"
                "set group cations charge 1.0\nset group anions charge -1.0\n"
            )
    else:
        style, far = "bond", " cutoff 2.0"  # among millions of bonds some are longer than 1.35
        bonds = " bond/types 1 extra/bond/per/atom 2 extra/special/per/atom 6"
        law = "special_bonds lj 1 1 1\nbond_style harmonic\nbond_coeff 1 20.0 0.5\n"
        chains = case.particles * cubes // beads
        create = (
            f'molecule chain "{molecule}"\n'
            f"create_atoms 0 random {chains} {seed} box mol chain {seed}\n"
        )
    return (
        f"units lj\natom_style {style}\nnewton off\ncomm_modify mode single{far} vel yes\n"
        f"processors {' '.join(map(str, grid(ranks)))}\n"
        f"{case.region(sides)}"
        f"create_box {types} box{bonds}\n"
        f"{create}mass * 1.0\n"
        f"velocity all create 1.0 {seed} loop geom\n"
        f"{case.pair(f'manymove/{kind} {precision}')}{law}{case.integrate(run_style, skin)}"
        f"{THERMO}"
    )


def chain(beads: int) -> str:
    """Molecule file of LAMMPS for a straight chain whose bonds have their rest length."""
    return "\n".join(
        [
            f"chain of {beads}\n\n{beads} atoms\n{beads - 1} bonds\n\nCoords\n",
            *(f"{k + 1} {0.5 * k:g} 0 0" for k in range(beads)),
            "\nTypes\n",
            *(f"{k + 1} 1" for k in range(beads)),
            "\nBonds\n",
            *(f"{k} 1 {k} {k + 1}" for k in range(1, beads)),
            "",
        ]
    )


def measure(
    *,
    particles: int,
    cubes: int,
    ranks: int,
    device: str,
    precision: str,
    skin: float,
    transport: str,
    repeats: int,
    seconds: float,
    seed: int,
    beads: int = 1,
    shear: float = 0.0,
    charged: float = 0.0,
) -> dict[str, Any]:
    """The result of one size on a number of ranks.

    Args:
        particles: total number of particles, rounded down to a multiple of `cubes` and `beads`.
        beads: particles of each chain; 1 for free particles.
        device: "cpu" or "cuda"; the local rank determines the GPU.
        transport: transport between GPUs, as for run_style manymove/verlet.
        shear: rate at which `fix deform` shears the box after the melt.
        charged: share of the particles with charges of 1 and -1, without chains.

    Raises:
        RuntimeError: LAMMPS or its MPI is missing or fails, or the fluid is not melted.
    """
    each = particles // cubes // beads * beads
    case = Case(each, 3.0, 1.0, 0.005, (skin,), 1.0, seed, shear=shear, charged=charged)
    particles, sides = each * cubes, [case.edge * n for n in grid(cubes)]
    style = f"manymove/verlet device cuda transport {transport}" if device == "cuda" else "verlet"
    with tempfile.TemporaryDirectory() as folder:
        molecule = None
        if beads > 1:
            molecule = Path(folder) / "chain"
            molecule.write_text(chain(beads))
        session = Session(host.command(ranks), host.environment())
        try:
            # LAMMPS looks up the variable of `thermo` only when it initializes a run, which the
            # later runs leave out (`pre no`).
            said = session.ask(
                f"{script(case, cubes, ranks, style, skin, precision, beads, molecule)}"
                f"variable output equal {MELT}+(step>={MELT})\nthermo v_output\nrun {MELT}\n"
            )
            if shear:
                session.ask(case.flow(sides[1]))
            # `fix deform` must set up each run.
            again = "" if shear else " pre no"
            runs: list[tuple[float, float]] = []
            steps = 5 * WARM_UP
            # This run only tells how long the others must be.
            took, _ = _timed(session, MELT, steps, again)
            done = MELT + 3 * WARM_UP + steps
            steps = max(steps, int(1.2 * seconds * steps / took))
            for _ in range(repeats):
                runs.append(_timed(session, done, steps, again))
                done += 3 * WARM_UP + steps
        finally:
            session.close()
    temperature = runs[-1][1]
    if not abs(temperature - 1) < MELTED:
        raise RuntimeError(f"the fluid is not melted: its temperature is {temperature:.3g}")
    rates = [1e-6 * particles * steps / took for took, _ in runs]
    gpus = _core.cuda_devices() if device == "cuda" else []
    ways = re.findall(r"ghosts travel through (.+)", said)
    return {
        "particles": particles,
        "beads": beads,
        "shear": shear,
        "charged": charged,
        "ranks": ranks,
        "million_particle_steps_per_second": median(rates),
        "lowest": min(rates),
        "highest": max(rates),
        "repeats": repeats,
        "steps_per_repeat": steps,
        "microseconds_per_step": particles / median(rates),
        "temperature": temperature,
        "warnings": status.of_timing(min(took for took, _ in runs)),
        "precision": precision,
        "skin": skin,
        "processors": list(grid(ranks)),
        "box": sides,
        "transport": ways[0] if ways else None,
        "device": device,
        "device_name": gpus[0]["name"] if gpus else f"CPU ({_core.simd_level()}, 1 thread)",
    }


def _timed(session: Session, done: int, steps: int, again: str) -> tuple[float, float]:
    """Time in seconds of a number of steps after the steps that are done, and the temperature.

    There are outputs after a warm-up, after a second warm-up, and after this and the steps.
    """
    begin, middle, end = done + WARM_UP, done + 2 * WARM_UP, done + 3 * WARM_UP + steps
    said = session.ask(
        f"variable output equal (step<{begin})*{begin}"
        f"+(step>={begin}&&step<{middle})*{middle}+(step>={middle})*{end + 1}\n"
        f"run {end - done}{again}\n"
    )
    records = RECORD.findall(said)
    _, first, second, third = (float(seconds) for _, seconds in records)
    return more(second - first, third - second), float(records[-1][0])


def main(request: str, file: str) -> int:
    try:
        report = {**record(), "results": [measure(**json.loads(request))]}
    except (RuntimeError, ValueError) as error:
        print(f"benchmarks: error: {error}", file=sys.stderr)
        return 2
    write_json(Path(file), report)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
