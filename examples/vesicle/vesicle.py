"""Vesicles from a random solution of BBBAABBB (section 4.5 of the paper): start, run, pictures.

python vesicle.py --edge 14 --steps 12000 --frame 4000
python vesicle.py --edge 58.48 --start-only
python vesicle.py --render out/vesicle/chains.*.dump
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import numpy as np
from render import DPI, montage

from manymove import script

CHAIN = "BBBAABBB"
TYPES = {"A": 1, "B": 2, "S": 3}
DENSITY, FRACTION, BOND_LENGTH = 5.0, 0.1, 0.38
HERE = Path(__file__).parent


def random_start(edge: float, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Chains as random walks and single solvent particles, anywhere in the box.

    Args:
        edge: of the cubic box.
        seed: of the positions.

    Returns:
        positions (N, 3), chains first; types (N,); number of chains.
    """
    rng = np.random.default_rng(seed)
    particles = round(DENSITY * edge**3)
    chains = round(FRACTION * particles / len(CHAIN))
    beads = np.empty((chains, len(CHAIN), 3))
    beads[:, 0] = rng.uniform(0, edge, (chains, 3))
    for k in range(1, len(CHAIN)):
        todo = np.arange(chains)
        while todo.size:  # steps that stay in the box
            step = rng.normal(size=(todo.size, 3))
            step *= BOND_LENGTH / np.linalg.norm(step, axis=1, keepdims=True)
            beads[todo, k] = beads[todo, k - 1] + step
            inside = ((beads[todo, k] > 0) & (beads[todo, k] < edge)).all(axis=1)
            todo = todo[~inside]
    solvent = rng.uniform(0, edge, (particles - beads.shape[0] * len(CHAIN), 3))
    types = np.concatenate(
        [
            np.tile([TYPES[bead] for bead in CHAIN], chains),
            np.full(len(solvent), TYPES["S"]),
        ]
    )
    return np.concatenate([beads.reshape(-1, 3), solvent]), types, chains


def write_data(path: Path, edge: float, seed: int) -> int:
    """Writes the start as a LAMMPS data file; returns the number of particles."""
    positions, types, chains = random_start(edge, seed)
    count, length = len(positions), len(CHAIN)
    molecule = np.concatenate(
        [np.repeat(np.arange(1, chains + 1), length), np.zeros(count - chains * length, int)]
    )
    tag = np.arange(1, count + 1)
    first = (np.arange(chains)[:, None] * length + np.arange(1, length)).ravel()
    with path.open("w") as file:
        file.write(f"{chains} chains {CHAIN} in a solvent\n\n")
        file.write(f"{count} atoms\n{first.size} bonds\n3 atom types\n1 bond types\n\n")
        for axis in "xyz":
            file.write(f"0 {edge:.17g} {axis}lo {axis}hi\n")
        file.write("\nMasses\n\n1 1.0\n2 1.0\n3 1.0\n\nAtoms # bond\n\n")
        np.savetxt(
            file, np.column_stack([tag, molecule, types, positions]), "%d %d %d %.9g %.9g %.9g"
        )
        file.write("\nBonds\n\n")
        bond = np.arange(1, first.size + 1)
        np.savetxt(file, np.column_stack([bond, np.ones_like(bond), first, first + 1]), "%d")
    return count


def run_style() -> str:
    """manymove/verlet if there is a GPU, else LAMMPS' verlet, which runs on several ranks."""
    import manymove.lammps
    from manymove import _core

    resident = ("run", "manymove/verlet") in manymove.lammps.STYLES
    return "manymove/verlet" if resident and _core.cuda_devices() else "verlet"


def run(options: argparse.Namespace) -> None:
    """Write the start, and run the input script in --output."""
    from manymove.lammps import host

    options.output.mkdir(parents=True, exist_ok=True)
    count = write_data(options.output / "vesicle.data", options.edge, options.seed)
    if options.start_only:
        print(f"{count} particles in {options.output / 'vesicle.data'}")
        return
    style = options.style or run_style()
    print(f"{count} particles, run_style {style}", flush=True)
    command = [*host.command(options.ranks), "-in", str((HERE / "in.vesicle").resolve())]
    command += ["-log", "log.lammps", "-nocite"]
    for name in ("seed", "steps", "frame", "threads"):
        command += ["-var", name, str(getattr(options, name))]
    command += ["-var", "style", style]
    subprocess.run(command, cwd=options.output, env=host.environment(), check=True)
    script.save(options, {"particles": count, "style": style})
    frames = sorted(options.output.glob("chains.*.dump"))
    script.picture(options, montage(frames, options.slab), DPI)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edge", type=float, default=20.0, help="Edge; 58.48 is 10^6 particles.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--frame", type=int, default=5000, help="Steps between two pictures.")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--style", help="Run style (default chosen for the machine).")
    parser.add_argument("--slab", type=float, default=2.0, help="Thickness of the cut.")
    parser.add_argument("--start-only", action="store_true", help="Only write vesicle.data.")
    parser.add_argument(
        "--render", type=Path, nargs="+", metavar="DUMP", help="Draw these frames; run nothing."
    )
    quick = {"edge": 6.0, "steps": 200, "frame": 100}
    options = script.parse(parser, "vesicle", quick, draw=False, without_a_run=("render",))
    if options.render:
        script.picture(options, montage(options.render, options.slab), DPI)
    else:
        run(options)


if __name__ == "__main__":
    script.run_script(main)
