"""Random input scripts at zero temperature with the words that stay in the engine of
`run_style manymove/verlet`, for comparisons with LAMMPS' own styles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from dpd_tables import force_tables

EDGE, SPACING = 7, 1.0  # particles along each edge of a lattice, and their distances

# Coefficients of each style of bonded terms.
BONDS = {
    "harmonic": "{stiff:.3f} {rest:.3f}",
    "fene": "{stiff:.3f} {longest:.3f} {depth:.3f} 0.85",
    "table": "forces.table {bonds}",
}
ANGLES = {
    "harmonic": "{k:.3f} {angle:.2f}",
    "cosine": "{k:.3f}",
    "cosine/squared": "{k:.3f} {angle:.2f}",
    "cosine/delta": "{k:.3f} {angle:.2f}",
}
DIHEDRALS = {
    "harmonic": "{k:.3f} {sign} {multiplicity}",
    "opls": "{k:.3f} {a:.3f} {b:.3f} {c:.3f}",
}
IMPROPERS = {"harmonic": "{k:.3f} {chi:.2f}"}
TERMS = {"bond": BONDS, "angle": ANGLES, "dihedral": DIHEDRALS, "improper": IMPROPERS}
POTENTIALS = {
    "lj/cut": "{k:.3f} {length:.3f} {cutoff:.3f}",
    "morse": "{k:.3f} {steepness:.3f} {length:.3f} {cutoff:.3f}",
    "soft": "{k:.3f} {cutoff:.3f}",
    "table": "forces.table {section}",
}
GROUPS = ("all", "first", "lower")


class RandomDeck:
    """The input script of a seed.

    Attributes:
        ranks: number of MPI processes that it is for.
        words: the styles and fixes that it has.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._random = np.random.default_rng((seed, 53))
        self.words: list[str] = []
        self.ranks = 1 + int(self._chance(0.3))
        self._tilted, self._closed = self._chance(0.25), False
        self._charged = self._chance(0.18)
        if not self._tilted:
            self._closed = self._chance(0.25)
        self._terms = [self._chance(p) for p in (0.8, 0.6, 0.4, 0.3)]  # bonds to impropers
        self._data(folder / f"random-{seed}.data")
        self._before = self._start(folder / f"random-{seed}.data")
        self._pairs = self._pair_styles()
        self._after = self._bonded() + self._fixes()

    def script(self, ours: bool) -> str:
        """The script with the pair styles of manymove, or with those of LAMMPS."""
        pairs = self._pairs
        for name, tail in (("DPD", " precision double"), ("TSTAT", " precision double")):
            style = {"DPD": "dpd", "TSTAT": "dpd/tstat"}[name]
            pairs = pairs.replace(f"{name}_TAIL", tail if ours else "")
            pairs = pairs.replace(name, f"manymove/{style}" if ours else style)
        return self._before + pairs + self._after

    def _chance(self, probability: float) -> bool:
        return bool(self._random.random() < probability)

    def _pick(self, *values: str) -> str:
        return values[self._random.integers(len(values))]

    def _number(self, low: float, high: float) -> float:
        return float(self._random.uniform(low, high))

    def _coefficients(self, form: str) -> str:
        n = self._number
        return form.format(
            k=n(0.5, 4),
            a=n(-1, 2),
            b=n(-1, 2),
            c=n(-1, 2),
            angle=n(60, 180),
            chi=n(0, 90),
            stiff=n(10, 50),
            rest=n(0.7, 1.1),
            longest=n(1.6, 2),
            depth=n(0.5, 1),
            bonds=self._pick("LONG", "SHORT"),
            sign=self._pick("1", "-1"),
            multiplicity=self._random.integers(0, 7),
            length=n(0.7, 0.9),
            cutoff=n(1.0, 1.6),
            steepness=n(2, 5),
            section=self._pick("ATTRACTIVE", "SOFT"),
        )

    def _data(self, file: Path) -> None:
        """A lattice with random displacements; chains follow a line through all of its sites."""
        random, size, length = self._random, EDGE**3, EDGE * SPACING
        sites = np.array([(x, y, z) for z in range(EDGE) for y in range(EDGE) for x in range(EDGE)])
        turn = lambda along, across: np.where(across % 2, EDGE - 1 - along, along)  # noqa: E731
        y = turn(sites[:, 1], sites[:, 2])
        sites = np.stack([turn(sites[:, 0], y + sites[:, 2]), y, sites[:, 2]], axis=1)
        # A helix, because a line and a plane let angles and impropers lose digits, here and in
        # LAMMPS.
        turns = 0.5 * np.pi * np.arange(size)
        helix = 0.15 * np.stack([0 * turns, np.cos(turns), np.sin(turns)], axis=1)
        places = (sites + 0.5) * SPACING + helix + random.uniform(-0.04, 0.04, (size, 3))
        tilt = random.uniform(-0.4, 0.4, 3) * length if self._tilted else np.zeros(3)
        places[:, 0] += places[:, 1] * tilt[0] / length + places[:, 2] * tilt[1] / length
        places[:, 1] += places[:, 2] * tilt[2] / length
        terms: list[list[tuple[int, ...]]] = [[], [], [], []]
        at = 1
        while at + 8 < size:
            chain = int(random.integers(1, 9))
            for number, rows in zip((2, 3, 4, 4), terms, strict=True):
                for first in range(at, at + chain - number + 1):
                    rows.append((int(random.integers(1, 3)), *range(first, first + number)))
            at += chain
        names = ("bonds", "angles", "dihedrals", "impropers")
        lines = ["random", "", f"{size} atoms", "2 atom types"]
        lines += [f"{len(rows)} {name}" for name, rows in zip(names, terms, strict=True)]
        lines += [f"2 {name[:-1]} types" for name in names]
        lines += [f"0 {length} {a}lo {a}hi" for a in "xyz"]
        lines += ["{} {} {} xy xz yz".format(*tilt)] if self._tilted else []
        lines += ["", "Masses", "", "1 1.0", "2 1.7", "", "Atoms # full", ""]
        types = random.integers(1, 3, size)
        charges = random.choice([-1.0, 0.0, 0.5], size) * self._charged
        lines += [
            f"{k + 1} 1 {types[k]} {charges[k]} {x:.17g} {y:.17g} {z:.17g}"
            for k, (x, y, z) in enumerate(places)
        ]
        lines += ["", "Velocities", ""]
        for k, v in enumerate(random.normal(size=(size, 3))):
            lines.append(f"{k + 1} {v[0]:.17g} {v[1]:.17g} {v[2]:.17g}")
        for name, rows in zip(names, terms, strict=True):
            lines += ["", name.capitalize(), ""]
            lines += [f"{k + 1} " + " ".join(map(str, row)) for k, row in enumerate(rows)]
        file.write_text("\n".join(lines) + "\n")

    def _start(self, data: Path) -> str:
        factors = [self._pick("0", "1", f"{self._number(0.1, 0.9):.3f}") for _ in range(6)]
        return f"""{force_tables()}
units lj
atom_style full
comm_modify vel yes cutoff 3.0
newton {self._pick("on", "on", "off")}
boundary {"p p f" if self._closed else "p p p"}
read_data {data}
special_bonds lj {" ".join(factors[:3])} coul {" ".join(factors[3:])}
neighbor {self._number(0.2, 0.5):.3f} bin
timestep 0.002
group first id <= 60
region lower block INF INF INF INF INF {0.4 * EDGE * SPACING}
group lower region lower
"""

    def _pair_styles(self) -> str:
        text = self._neutral_styles()
        if not self._charged:
            return text
        coulomb = self._pick("coul/cut", f"coul/debye {self._number(0.2, 2):.3f}")
        self.words.append(coulomb.split()[0])
        first, rest = text.split("\n", 1)
        first += f" {coulomb} {self._number(1.2, 2.4):.3f}"
        return f"{first}\n{rest}pair_coeff * * {coulomb.split()[0]}\n"

    def _neutral_styles(self) -> str:
        dpd = f"{self._number(5, 30):.3f} {self._number(1, 6):.3f}"
        other = f"{self._number(5, 30):.3f} {self._number(1, 6):.3f} {self._number(0.8, 1.3):.3f}"
        if self._chance(0.3):
            self.words.append("dpd")
            hybrid, name = ("hybrid/overlay ", "DPD ") if self._charged else ("", "")
            laws = f"pair_coeff * * {name}{dpd}\npair_coeff 1 2 {name}{other}\n"
            return f"pair_style {hybrid}DPD 0.0 1.3 4711DPD_TAIL\n{laws}"
        potential = self._pick(*POTENTIALS)
        rows = [self._coefficients(POTENTIALS[potential]) for _ in range(3)]
        shift = f"pair_modify shift {self._pick('yes', 'no')}\n"
        hybrid = self._pick("hybrid/overlay" if self._charged else "hybrid", "hybrid/overlay")
        self.words += [hybrid, potential]
        settings = f"table {self._pick('linear 700', 'spline 150')}"
        settings = settings if potential == "table" else f"{potential} 1.5"
        if hybrid == "hybrid":
            return (
                f"pair_style hybrid DPD 0.0 1.3 4711DPD_TAIL {settings}\n{shift}"
                f"pair_coeff 1 1 DPD {dpd}\npair_coeff 2 2 DPD {other}\n"
                f"pair_coeff 1 2 {potential} {rows[0]}\n"
            )
        laws = f"pair_coeff * * {potential} {rows[0]}\npair_coeff 1 2 {potential} {rows[1]}\n"
        if self._chance(0.5):
            self.words.append("dpd/tstat")
            return (
                f"pair_style hybrid/overlay {settings} TSTAT 0.0 0.0 1.3 4711TSTAT_TAIL\n"
                f"{shift}{laws}pair_coeff * * TSTAT {self._number(1, 6):.3f}\n"
            )
        return (
            f"pair_style hybrid/overlay DPD 0.0 1.3 4711DPD_TAIL {settings}\n{shift}{laws}"
            f"pair_coeff * * DPD {dpd}\npair_coeff 2 2 DPD {other}\n"
        )

    def _bonded(self) -> str:
        text = ""
        for (kind, styles), present in zip(TERMS.items(), self._terms, strict=True):
            first = self._pick(*styles) if present else "zero"
            second = self._pick(*styles, "zero") if present and self._chance(0.6) else first
            hybrid = first != second
            self.words += [f"{kind} {style}" for style in {first, second}]
            self.words += [f"{kind} hybrid"] * hybrid
            names = f"hybrid {first} {second}" if hybrid else first
            names = names.replace("table", "table linear 900") if kind == "bond" else names
            text += f"{kind}_style {names}\n"
            zero = {"bond": "1.0", "angle": "90.0"}.get(kind, "")
            for k, style in enumerate((first, second)):
                coefficients = self._coefficients(styles.get(style, zero))
                text += f"{kind}_coeff {k + 1} {style if hybrid else ''} {coefficients}\n"
        return text

    def _fixes(self) -> str:
        n, group = self._number, lambda: self._pick(*GROUPS)
        text, moves = "", not self._closed and self._chance(0.25)
        if moves:
            text += "group rest subtract all first\nfix nve rest nve\n"
            text += f"fix m first move linear {n(-1, 1):.3f} {n(-1, 1):.3f} 0.0\n"
        else:
            text += "fix nve all nve\n"
        if self._closed:
            text += "fix w all wall/reflect zlo EDGE zhi EDGE\n"
        choices = {
            "viscous": f"fix v {group()} viscous {n(0.5, 3):.3f} scale 2 {n(0.2, 2):.3f}\n",
            "langevin": f"fix l {group()} langevin 0.0 0.0 {n(0.5, 3):.3f} 99\n",
            "addforce": f"fix a {group()} addforce {n(-1, 1):.3f} {n(-1, 1):.3f} 0.0\n",
            "setforce": f"fix s lower setforce {n(-1, 1):.3f} NULL NULL\n",
        }
        surfaces = {  # before setforce
            "indent": f"fix i {group()} indent {n(10, 80):.3f} sphere 3.5 {n(0, 7):.3f} v_z "
            f"{n(1, 2):.3f}\n",
            "wall/lj93": f"fix h all wall/lj93 zlo -0.9 {n(0.5, 2):.3f} 1.0 2.5\n",
        }
        if not self._tilted:
            text += f"variable z equal {n(0, 7):.3f}+0.1*step\n"
            taken = [
                word
                for word in surfaces
                if (word == "indent" or self._closed)
                and self._chance(0.3 if word == "indent" else 0.7)
            ]
            self.words += taken
            text += "".join(surfaces[word] for word in taken)
        chosen = [word for word in choices if self._chance(0.3)]
        self.words += chosen + ["move"] * moves + ["walls"] * self._closed
        text += "".join(choices[word] for word in chosen)
        unpressed = moves or self._closed or self._tilted or self._charged
        if unpressed or "indent" in self.words:
            return text
        return self._barostat(text)

    def _barostat(self, text: str) -> str:
        n = self._number
        pressures = (
            f"x {n(0, 9):.3f} {n(0, 9):.3f} {n(0.1, 1):.3f} y 3 {n(0, 9):.3f} {n(0.1, 1):.3f}"
        )
        if self._chance(0.5):
            pressures = f"iso {n(0, 9):.3f} {n(0, 9):.3f} {n(0.1, 1):.3f}"
        styles = {
            "npt": f"fix p all npt temp {n(0.5, 2):.3f} {n(0.5, 2):.3f} 0.2 {pressures}\n",
            "nph": f"fix p all nph {pressures} mtk {self._pick('yes', 'no')}\n",
            "press/berendsen": f"fix nve all nve\nfix p all press/berendsen {pressures}\n",
        }
        word = self._pick(*styles, *styles, "")
        if not word:
            return text
        self.words.append(word)
        return text.replace("fix nve all nve\n", styles[word])
