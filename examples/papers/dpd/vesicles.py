# SPDX-License-Identifier: BSD-3-Clause
"""Vesicles from a random solution of BBBAABBB (section 4.5 of the paper): the start, the run of
in.vesicle, the aggregates of the chains, and the compartments that the aggregates enclose."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from render import read_dump

from manymove import script

CHAIN = "BBBAABBB"
TYPES = {"A": 1, "B": 2, "S": 3}
DENSITY, FRACTION, BOND_LENGTH = 5.0, 0.1, 0.38
TIMESTEP = 0.01
INPUT = Path(__file__).parents[2] / "vesicle/in.vesicle"
FILLED = 1  # hydrophobic beads of a cubic cell of width 1 that is part of a membrane
SMALLEST = 8  # volume of a compartment


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


def parsed(parser: script.Parser, number: int, **parse: Any) -> argparse.Namespace:
    """The options of a script that draws a figure of a simulation, as of `script.parse`."""
    parser.option("--edge", 20.0, "Edge of the box; 58.48 has 10^6 particles.")
    parser.option("--steps", 20000)
    parser.option("--frame", 5000, "Steps between two pictures.")
    parser.option("--ranks", 1)
    parser.option("--threads", 1)
    parser.option("--style", str, "Run style (default chosen for the machine).")
    parser.option(
        "--frames",
        Path,
        f"Frames of a simulation that was run, such as chains.*.dump, for Figure {number}.",
        nargs="+",
        metavar="DUMP",
    )
    quick = {"edge": 6.0, "steps": 200, "frame": 100, "style": "verlet"}
    options = script.parse(parser, f"figure_{number}", quick, **parse)
    script.need(parser, "scipy")
    script.at_least(options, edge=4, steps=1, frame=1)
    return options


def simulate(options: argparse.Namespace) -> list[Path]:
    """Write the start, and run the input script in --output. A run that was interrupted
    is continued from its last complete restart file.

    Returns:
        the frames in the order of time.
    """
    from manymove.lammps import host

    folder = options.output

    def start() -> int:
        for pattern in ("chains.*.dump", "vesicle.*.restart"):
            for file in folder.glob(pattern):
                file.unlink()
        return write_data(folder / "vesicle.data", options.edge, options.seed)

    own = ("edge", "seed", "frame")  # options that another command must not change
    parts = script.Parts(options, without=tuple(vars(options).keys() - {*own}))
    count = parts.run("particles", start)
    style = options.style or run_style()
    print(f"{count} particles, run_style {style}", flush=True)
    names = ("seed", "steps", "frame", "threads")
    given = {"style": style, **{name: getattr(options, name) for name in names}}
    restarts = [(path.stat(), path) for path in folder.glob("vesicle.*.restart")]
    if restarts:  # a file that was being written when the run was killed is shorter
        _, last = max(restarts, key=lambda found: (found[0].st_size, found[0].st_mtime))
        print(f"continues from {last}", flush=True)
        given |= {"from": "restart", "file": last.name}
    host.run(INPUT, options.output, ranks=options.ranks, log="log.lammps", **given)
    return sorted(options.output.glob("chains.*.dump"))


class Frame:
    """What the chains of a frame have formed, on a grid of cells of width 1.

    Aggregates are connected cells with hydrophobic beads. Compartments are connected cells without
    such beads that do not reach the walls of the box.

    Attributes:
        step: the step.
        edges: of the box, (3,).
        types, positions: of the beads, (N,) and (N, 3), chains one after the other.
        aggregate: number of the aggregate of each chain, from 1.
        aggregates: number of chains in each aggregate, with a 0 in front.
        compartments: volume of each compartment of SMALLEST at least.
        vesicle_of: aggregate around each compartment.
    """

    def __init__(self, path: Path) -> None:
        from scipy import ndimage

        self.step, self.edges, self.types, self.positions = read_dump(path)
        shape = np.maximum(1, self.edges.astype(int))
        cell = (self.positions * (shape / self.edges)).astype(int).clip(0, shape - 1)
        beads = np.zeros(shape, int)
        hydrophobic = self.types == TYPES["B"]
        np.add.at(beads, tuple(cell[hydrophobic].T), 1)
        membrane = beads >= FILLED
        self.labels, count = ndimage.label(membrane)
        # The aggregate of a chain is the one of its first bead, which is hydrophobic.
        first = cell[:: len(CHAIN)]
        self.aggregate = self.labels[tuple(first.T)]
        self.aggregates = np.bincount(self.aggregate, minlength=count + 1)
        rooms, number = ndimage.label(~membrane)
        volume = np.bincount(rooms.ravel(), minlength=number + 1) * (self.edges / shape).prod()
        sides = [rooms.take(end, axis) for axis in range(3) for end in (0, -1)]
        outside = np.unique(np.concatenate([side.ravel() for side in sides]))
        closed = [k for k in range(1, number + 1) if k not in outside and volume[k] >= SMALLEST]
        self.compartments = [float(volume[k]) for k in closed]
        self.vesicle_of = []
        for k in closed:
            shell = ndimage.binary_dilation(rooms == k) & membrane
            self.vesicle_of.append(int(np.bincount(self.labels[shell]).argmax()))

    @property
    def time(self) -> float:
        return self.step * TIMESTEP

    def vesicle(self) -> tuple[int, bool]:
        """The aggregate with the largest volume inside, and whether it has one; without any
        compartment it is the aggregate with most chains."""
        if not self.compartments:
            return int(self.aggregates[1:].argmax()) + 1, False
        inside = np.bincount(self.vesicle_of, self.compartments)
        return int(inside.argmax()), True

    def summary(self) -> dict[str, Any]:
        """Numbers of the frame, for the summary."""
        return {
            "time": self.time,
            "aggregates": int((self.aggregates[1:] >= 2).sum()),
            "largest_aggregate": int(self.aggregates[1:].max()),
            "compartments": len(self.compartments),
            "vesicles": len(set(self.vesicle_of)),
            "largest_compartment": max(self.compartments, default=0.0),
        }
