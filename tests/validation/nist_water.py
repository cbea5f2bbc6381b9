"""Energies of NIST's reference configurations of SPC/E water against the published ones.

    python nist_water.py spce_sample_config_periodic1.txt [more files]

The files come from NIST's Standard Reference Simulation Website, "SPC/E water reference
calculations" with a cutoff of 10 angstrom, in cuboid and in other cells. A file has the number of
atoms (or of molecules) and the box (three edges, or six numbers with the tilts b_x, c_x, c_y) in
its first two lines, in any order, and then a line for each atom: O, H, H of each molecule.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from flat_settings import of_adsorption

from manymove import Adsorption
from manymove.adsorption import ForceField, Molecule, Site

# Published energies in kelvin by the number of molecules and the volume.
GAS_CONSTANT = 8.314462618e-3  # kJ/(mol K)
PUBLISHED = {
    (100, 8000): ("cuboid, 1", -4.88604e5),
    (200, 8000): ("cuboid, 2", -1.06590e6),
    (300, 8000): ("cuboid, 3", -1.71488e6),
    (750, 27000): ("cuboid, 4", -3.08010e6),
    (400, 25658): ("triclinic, 1", -5996.84352 / GAS_CONSTANT),
    (100, 40405): ("monoclinic, 4", -1.609128e5),
}
HALF = math.radians(109.47) / 2
WATER = Molecule(
    "water",
    (
        Site("O", (0.0, 0.0, 0.0), 78.19743111, 3.16555789, -0.8476),
        Site("H", (math.sin(HALF), math.cos(HALF), 0.0), 0.0, 1.0, 0.4238),
        Site("H", (-math.sin(HALF), math.cos(HALF), 0.0), 0.0, 1.0, 0.4238),
    ),
)


def read(path: Path) -> tuple[list[float], np.ndarray]:
    """The box and the positions (molecules, 3 sites, 3)."""
    lines = [line.split() for line in path.read_text().splitlines() if line.split()]
    numbers = [[float(x) for x in line] for line in lines[:2]]
    box = max(numbers, key=len)
    if len(box) in (4, 7):  # after the number of the configuration
        box = box[1:]
    places = []
    for line in lines[2:]:
        words = [w for w in line if w not in ("O", "H")]
        places.append([float(x) for x in words[-3:]])
    return box, np.array(places).reshape(-1, 3, 3)


def turns(places: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Centers and orientations (w, x, y, z) of the molecules, and the largest distance in angstrom
    between a site and that of the rigid molecule."""
    model = np.array([s.position for s in WATER.sites])
    d = places - places[:, :1]
    f = d @ np.linalg.inv(edges)
    d = (f - np.rint(f)) @ edges
    found, worst = [], 0.0
    for sites in d:
        u, _, v = np.linalg.svd(model.T @ sites)
        turn = v.T @ np.diag([1, 1, np.sign(np.linalg.det(v.T @ u.T))]) @ u.T
        worst = max(worst, float(np.abs(model @ turn.T - sites).max()))
        # The eigenvector of the largest eigenvalue (I. Y. Bar-Itzhack, J. Guid. Control Dyn. 23,
        # 1085 (2000)).
        m = turn
        k = np.array([
            [m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [0, m[0, 0] - m[1, 1] - m[2, 2], m[1, 0] + m[0, 1], m[2, 0] + m[0, 2]],
            [0, 0, m[1, 1] - m[0, 0] - m[2, 2], m[2, 1] + m[1, 2]],
            [0, 0, 0, m[2, 2] - m[0, 0] - m[1, 1]],
        ])  # fmt: skip
        found.append(np.linalg.eigh(k + np.triu(k, 1).T)[1][:, -1])
    return places[:, 0], np.array(found), worst


def energy(path: Path, ewald: tuple[float, float] | None) -> tuple[str, float, float, float]:
    """Name and published energy of a file's configuration, ours, and the largest displacement of a
    site from that of a rigid molecule."""
    box, places = read(path)
    edges = np.zeros((3, 3))
    edges[0, 0], edges[1, 1], edges[2, 2] = box[:3]
    if len(box) == 6:
        edges[1, 0], edges[2, 0], edges[2, 1] = box[3:]
    centers, orientations, worst = turns(places, edges)
    key = (len(places), int(edges[0, 0] * edges[1, 1] * edges[2, 2]))
    name, published = PUBLISHED.get(key, ("not known", math.nan))
    # NIST's splits and waves, without which the energies differ by a thousandth. In the monoclinic
    # cell NIST leaves out the waves with more than seven periods along an edge, which make 16.6 K.
    if ewald is None and len(box) == 3:
        ewald = 5.6 / box[0], 2 * math.pi / box[0] * math.sqrt(26.5)
    elif ewald is None:
        ewald = 0.285, 2 * math.pi / min(box[:3]) * 7 * (1 + 1e-12)
    fractions = centers @ np.linalg.inv(edges)
    water = Adsorption(
        **of_adsorption(
            molecules=len(places),
            adsorbates=WATER,
            force_field=ForceField(potential="tail"),
            box=box,
            cells=(1, 1, 1),
            cutoff=10.0,
            systems=1,
            precision="double",
            seed=1,
            device="cpu",
            method="plj",
            barrier=1e12,
            ewald=ewald,
            positions=((fractions - np.floor(fractions)) @ edges)[None],
            orientations=orientations[None],
        )
    )
    return name, published, float(water.energies[0]), worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, help="configurations")
    parser.add_argument(
        "--ewald", nargs=2, type=float, metavar=("ALPHA", "K_MAX"),
        help="split of Ewald's sum in 1/angstrom (default NIST's)",
    )  # fmt: skip
    options = parser.parse_args()
    for path in options.files:
        name, published, ours, worst = energy(path, options.ewald and tuple(options.ewald))
        print(
            f"{path.name}: {name}: {ours:.3f} K, published {published:.6g} K, relative difference "
            f"{ours / published - 1:.1e}; sites within {worst:.1e} angstrom"
        )


if __name__ == "__main__":
    main()
