"""Input scripts with rigid bodies of DPD particles for `run_style manymove/verlet`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SHELL = [
    (x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if 0 < x**2 + y**2 + z**2
]
SHAPES = {
    "sphere": np.array([(0, 0, 0), *(0.6 * np.array(p) / np.linalg.norm(p) for p in SHELL)]),
    "rod": np.array([(0.35 * k, 0, 0) for k in range(7)]),
    "dimer": np.array([(0, 0, 0), (0.5, 0, 0)]),
    "plate": np.array([(0.4 * i, 0.4 * j, 0) for i in range(4) for j in range(3)]),
    "tripod": np.array([(0, 0, 0), (0.5, 0, 0), (0, 0.6, 0.1), (0.1, -0.1, 0.7)]),
}


def turn(random: np.random.Generator) -> np.ndarray:
    """A random rotation, (3, 3)."""
    q, r = np.linalg.qr(random.normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q * np.linalg.det(q)


def bodies(
    file: Path,
    shapes: tuple[str, ...] = tuple(SHAPES),
    solvent: int = 800,
    edge: float = 7.0,
    seed: int = 1,
    tilt: tuple[float, float, float] = (0, 0, 0),
    masses: tuple[float, float] = (1.0, 2.0),
) -> str:
    """Commands that read a data file, which is written: bodies of type 2 with random places and
    orientations, one molecule each, and solvent of type 1 in molecule 0. Some bodies cross edges
    of the box."""
    random = np.random.default_rng(seed)
    places, molecules = [random.uniform(0, edge, (solvent, 3))], [0] * solvent
    for k, shape in enumerate(shapes):
        center = random.uniform(0, edge, 3) if k else np.array([0.1, edge - 0.1, 0.5 * edge])
        places.append(center + SHAPES[shape] @ turn(random).T)
        molecules += [k + 1] * len(SHAPES[shape])
    r = np.concatenate(places)
    n = len(r)
    image = np.floor(r / edge).astype(int)
    r -= edge * image
    r[:, 0] += (r[:, 1] * tilt[0] + r[:, 2] * tilt[1]) / edge
    r[:, 1] += r[:, 2] * tilt[2] / edge
    lines = ["bodies", "", f"{n} atoms", "2 atom types"]
    lines += [f"0 {edge} {a}lo {a}hi" for a in "xyz"]
    lines += ["{} {} {} xy xz yz".format(*tilt)] if any(tilt) else []
    lines += ["", "Masses", "", f"1 {masses[0]}", f"2 {masses[1]}", "", "Atoms # molecular", ""]
    lines += [
        f"{k + 1} {m} {2 if m else 1} {x:.17g} {y:.17g} {z:.17g} {a} {b} {c}"
        for k, (m, (x, y, z), (a, b, c)) in enumerate(zip(molecules, r, image, strict=True))
    ]
    lines += ["", "Velocities", ""]
    lines += [
        f"{k + 1} {v[0]:.17g} {v[1]:.17g} {v[2]:.17g}"
        for k, v in enumerate(random.normal(size=(n, 3)))
    ]
    file.write_text("\n".join(lines) + "\n")
    return f"""
units lj
atom_style molecular
comm_modify vel yes cutoff 3.0
read_data {file}
neighbor 0.4 bin
timestep 0.005
group bodies type 2
group solvent type 1
fix nve solvent nve
"""


SMALL = "fix r bodies rigid/small molecule\n"
RIGID = "fix r bodies rigid molecule\n"
INTRA = "neigh_modify exclude molecule/intra bodies\n"
