"""Energies and Henry coefficients of rigid molecules against RASPA3 and against direct sums.

    python compare.py energies MFI_SI.cif --force-field force_field.json --molecule CO2.json
    python compare.py henry MFI_SI.cif --force-field force_field.json --molecule CO2.json --raspa
    python compare.py widom MFI_SI.cif --force-field force_field.json --molecule CO2.json

The files come from RASPA3's examples, and CIF files as RASPA2 has them. RASPA3 is the package
`raspalib` (pip install raspalib). Its Python interface has one precision of Ewald's sum; therefore
its energies are compared with a direct sum that has the same split and waves, and the engine's with
a converged one. `widom` compares RASPA3's own Widom insertions with the engine's test molecules.
RASPA3 chooses one of ten places for the first site by the energy of that site alone, and then one
of ten orientations. Where a bare charge has a high energy but the molecule does not, the
weights have a long tail. With --neutral-bead a site without interactions is placed first.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from direct_sum import ALPHA, LONGEST, Solid, ewald, factors, half_of_waves
from flat_settings import of_adsorption

from manymove import Adsorption
from manymove.adsorption import ForceField, Framework, Molecule, Site, read_framework

RASPA_UNIT = 1 / 1.2027242847  # of energy, per kelvin
TEMPERATURE, CUTOFF = 300.0, 12.0
GAS_CONSTANT, AVOGADRO = 8.31446261815324, 6.02214076e23


class Case:
    """A molecule in a framework: the engine, the direct sum and RASPA3."""

    def __init__(self, options: argparse.Namespace, molecules: int, systems: int, **settings: Any):
        self.field = json.loads(options.force_field.read_text())
        self.laws = {s["name"]: tuple(s["parameters"]) for s in self.field["SelfInteractions"]}
        self.charge = {a["name"]: a["charge"] for a in self.field["PseudoAtoms"]}
        sites = [(label, tuple(at)) for label, at in json.loads(
            options.molecule.read_text())["pseudoAtoms"]]  # fmt: skip
        self.labels = [label for label, _ in sites]
        self.offsets = [at for _, at in sites]
        self.framework: Framework = read_framework(options.framework, right_angles=False)
        molecule = Molecule(options.molecule.stem, tuple(
            Site(label, at, *self.laws[label], self.charge[label]) for label, at in sites
        ))  # fmt: skip
        self.engine = Adsorption(
            **of_adsorption(
                framework=self.framework,
                molecules=molecules,
                adsorbates=molecule,
                cutoff=CUTOFF,
                systems=systems,
                temperature=TEMPERATURE,
                force_field=ForceField.read(options.force_field),
                seed=1,
                barrier=None,
                precision="double",
                ewald=(0.4, 3.6),
                device="cpu",
                **settings,
            )
        )
        p = self.engine._parameters
        rigid = p["rigid"]
        self.types = [t for t, _ in rigid["bodies"][0]]
        self.charges = np.array([rigid["types"][t]["charge"] for t in self.types])
        self.cells = p["cells"]
        self.solid = Solid(
            self.framework.edges, self.framework.fractional @ self.framework.edges,
            np.array(rigid["framework_charge"]), np.array(p["kind"]),
            np.array([t["with_framework"] for t in rigid["types"]]), CUTOFF, p["shifted"],
        )  # fmt: skip
        self.edges = self.engine.edges

    # ---- the engine ----

    def on_grid(self, sites: np.ndarray, direct: bool = False) -> np.ndarray:
        """Energies of molecules (n, sites, 3) with the framework."""
        return sum(
            np.asarray(self.engine._engine.framework_energies(
                np.ascontiguousarray(sites[:, s]), t, direct))
            for s, t in enumerate(self.types)
        )  # fmt: skip

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Sites and charges of the framework in the box."""
        n = np.stack(np.meshgrid(*map(np.arange, self.cells), indexing="ij"), axis=-1)
        fractions = self.framework.fractional[None] + n.reshape(-1, 1, 3)
        copies = n.size // 3
        return fractions.reshape(-1, 3) @ self.framework.edges, np.tile(self.solid.charges, copies)

    # ---- RASPA3 ----

    def prepare_raspa(self, neutral: bool = False) -> None:
        """neutral: with another site first, next to the center, that does not interact."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no OpenCL
            import raspalib
        self.raspa = raspalib
        atoms, names = self.field["PseudoAtoms"], [a["name"] for a in self.field["PseudoAtoms"]]
        pseudo = [
            raspalib.PseudoAtom(a["name"], a["framework"], a["mass"], a["charge"]) for a in atoms
        ]
        laws = [raspalib.VDWParameters(*self.laws.get(name, (0.0, 1.0))) for name in names]
        sites = [
            raspalib.Atom(tuple(at), self.charge[label], 1.0, 0, names.index(label))
            for label, at in zip(self.labels, self.offsets, strict=True)
        ]
        if neutral:
            pseudo.append(raspalib.PseudoAtom("first", False, 1.0, 0.0))
            laws.append(raspalib.VDWParameters(0.0, 1.0))
            sites.insert(0, raspalib.Atom((0.1, 0.0, 0.0), 0.0, 1.0, 0, len(names)))
        self.raspa_field = raspalib.ForceField(
            pseudo,
            laws,
            shifted=self.field["TruncationMethod"] == "shifted",
            tail_corrections=self.field["TailCorrections"],
        )
        f = self.framework
        known = [
            label if label in names else label.rstrip("0123456789")
            for label in f.labels or f.elements
        ]
        cell = np.linalg.norm(f.edges, axis=1)
        cosines = [
            f.edges[a] @ f.edges[b] / (cell[a] * cell[b]) for a, b in ((1, 2), (0, 2), (0, 1))
        ]
        angles = [float(math.acos(c)) for c in cosines]
        self.crystal = raspalib.Framework(
            self.raspa_field, f.name, raspalib.SimulationBox(*map(float, cell), *angles), 1,
            [
                raspalib.Atom(tuple(map(float, u)), float(q), 1.0, 0, names.index(label))
                for u, q, label in zip(f.fractional, self.solid.charges, known, strict=True)
            ],
            list(self.cells),
        )  # fmt: skip
        self.component = raspalib.Component(
            self.raspa_field, "guest", 300.0, 7e6, 0.2, sites, fugacity_coefficient=1.0,
            particle_probabilities=raspalib.MCMoveProbabilities(widom_probability=1.0),
        )  # fmt: skip

    def raspa_energy(self, sites: np.ndarray) -> tuple[float, float, float]:
        """Lennard-Jones with the framework, Coulomb and all energy of molecules (n, sites, 3)."""
        system = self.raspa.System(
            self.raspa_field, None, external_temperature=TEMPERATURE,
            framework_components=self.crystal, components=[self.component],
            initial_positions=[sites.reshape(-1, 3).tolist()], initial_number_of_molecules=[0],
        )  # fmt: skip
        e = system.compute_total_energies()
        all_of = (e.framework_molecule_vdw, e.coulomb_energy(), e.potential_energy())
        return tuple(x / RASPA_UNIT for x in all_of)

    def raspa_split(self) -> tuple[float, np.ndarray]:
        """RASPA3's alpha and waves at its precision of 1e-6."""
        wide = 1 / np.linalg.norm(np.linalg.inv(self.edges), axis=0)
        eps = 1e-6 * CUTOFF
        tol = math.sqrt(abs(math.log(eps)))
        alpha = math.sqrt(abs(math.log(eps * tol))) / CUTOFF
        far = math.sqrt(-math.log(eps * (2 * tol * alpha) ** 2))
        most = [round(0.25 + w * alpha * far / math.pi) for w in wide]
        n = np.stack(np.meshgrid(*[np.arange(-m, m + 1) for m in most], indexing="ij"), axis=-1)
        n = n.reshape(-1, 3)[n.size // 6 + 1 :]
        return alpha, n[(n**2).sum(axis=1) <= max(most) ** 2]

    def with_raspa_split(self) -> Callable[[np.ndarray], float]:
        """Energy of one molecule with the split and the waves of RASPA3."""
        alpha, n = self.raspa_split()
        place, charge = self.box()
        rest = factors(n @ (2 * math.pi * np.linalg.inv(self.edges).T), place, charge)
        q = np.concatenate([self.charges, charge])
        molecule = np.concatenate([np.zeros(len(self.types)), np.full(len(place), -1)])

        def energy(sites: np.ndarray) -> float:
            x = np.concatenate([sites, place])
            coulomb = ewald(self.edges, x, q, molecule, alpha, CUTOFF, n, rest)
            return self.solid.energy(sites, self.types, 0 * self.charges)[0] + coulomb

        return energy

    def widom(self, insertions: int, seconds: float, seed: int) -> str:
        """The mean Boltzmann factor of test molecules in the empty framework: the engine's, and
        that of RASPA3's own Widom insertions, which are several runs of its Monte Carlo."""
        value, _ = self.engine.henry(insertions)
        # K_H = <W> / (R T rho), where rho is the density of the framework.
        f = self.framework
        density = f.mass / AVOGADRO / 1000 / (abs(np.linalg.det(f.edges)) * 1e-30)
        factor = GAS_CONSTANT * TEMPERATURE * density
        ours = (value.value * factor, value.error * factor)
        cycles, means, start = 200, [], time.perf_counter()
        while len(means) < 5 or time.perf_counter() - start < seconds:
            system = self.raspa.System(
                self.raspa_field, None, external_temperature=TEMPERATURE,
                framework_components=self.crystal, components=[self.component],
                initial_number_of_molecules=[0],
            )  # fmt: skip
            run = self.raspa.MonteCarlo(cycles, 0, systems=[system], random_seed=seed + len(means))
            run.run()
            means.append(run.systems[0].components[0].average_rosenbluth_weights.result()[0])
        theirs = (np.mean(means), np.std(means, ddof=1) / math.sqrt(len(means)))
        apart = ours[0] / theirs[0] - 1
        error = math.hypot(ours[1] / ours[0], theirs[1] / theirs[0])
        return (
            f"  mean weight {ours[0]:.5g}({ours[1]:.1g}); RASPA3's Widom {theirs[0]:.5g}"
            f"({theirs[1]:.1g}) from {len(means)} runs of {20 * cycles} insertions, "
            f"{time.perf_counter() - start:.0f} s; difference {apart:+.2%}, error {error:.2%}"
        )

    # ---- all sums of a configuration ----

    def compare(self, system: int, raspa: bool) -> str:
        sites = self.engine.site_positions()[system]
        n, s = sites.shape[:2]
        sums = np.array([self.solid.energy(x, self.types, self.charges) for x in sites])
        ours = float(self.engine.energies[system])
        ours += float((self.on_grid(sites, direct=True) - self.on_grid(sites)).sum())
        place, charge = self.box()
        x = np.concatenate([sites.reshape(-1, 3), place])
        q = np.concatenate([np.tile(self.charges, n), charge])
        molecule = np.concatenate([np.repeat(np.arange(n), s), np.full(len(place), -1)])
        guests = molecule >= 0
        reach = min(13.0, self.engine_width() / 2)
        alpha = ALPHA * 14.0 / reach
        converged = sums.sum() + ewald(
            self.edges, x[guests], q[guests], molecule[guests], alpha, reach,
            half_of_waves(self.edges, LONGEST * 14.0 / reach),
        ) + self.guest_pairs(sites)  # fmt: skip
        text = f"{n} molecules: all {ours:.6f} K, direct sum {converged:.6f} K, relative " \
            f"difference {ours / converged - 1:.1e}"  # fmt: skip
        if raspa:
            lj, coulomb, everything = self.raspa_energy(sites)
            split, waves = self.raspa_split()
            same = ewald(self.edges, x, q, molecule, split, CUTOFF, waves)
            text += (
                f"; RASPA3: all {everything:.6f} K; Lennard-Jones with the framework {lj:.6f} K, "
                f"direct sum {sums[:, 0].sum():.6f} K; Coulomb {coulomb:.6f} K, direct sum with "
                f"its split {same:.6f} K, relative difference {coulomb / same - 1:.1e}"
            )
        return text

    def engine_width(self) -> float:
        return float((1 / np.linalg.norm(np.linalg.inv(self.edges), axis=0)).min())

    def guest_pairs(self, sites: np.ndarray) -> float:
        """Lennard-Jones energy of the molecules with each other."""
        laws = np.array(self.engine._parameters["rigid"]["pairs"]).reshape(
            len(self.solid.laws), -1, 2)  # fmt: skip
        inverse, total = np.linalg.inv(self.edges), 0.0
        for i in range(len(sites)):
            for j in range(i):
                for x, a in zip(sites[i], self.types, strict=True):
                    f = (sites[j] - x) @ inverse
                    d = np.linalg.norm((f - np.rint(f)) @ self.edges, axis=1)
                    for r, b in zip(d, self.types, strict=True):
                        if r < CUTOFF:
                            epsilon, sigma = laws[a, b]
                            sixth, end = (sigma / r) ** 6, (sigma / CUTOFF) ** 6
                            total += 4 * epsilon * (sixth**2 - sixth)
                            total -= 4 * epsilon * (end**2 - end) * self.solid.shifted
        return total

    # ---- Henry coefficients ----

    def henry(self, insertions: int, poses: int, raspa: bool) -> str:
        """The engine's Henry coefficient; and the ratio of the average Boltzmann factor of other
        energies to that of the engine's, over poses of which each has been drawn with a probability
        of nine tenths of its Boltzmann factor and one tenth of all others."""
        value, heat = self.engine.henry(insertions)
        random = np.random.default_rng(1)
        candidates = 400_000
        u = random.uniform(size=(candidates, 3)) @ self.edges
        turns = random.normal(size=(candidates, 4))
        turns /= np.linalg.norm(turns, axis=1)[:, None]
        w, v = turns[:, :1], turns[:, 1:]
        sites = np.empty((candidates, len(self.types), 3))
        for s, offset in enumerate(np.array(self.offsets)):
            twist = 2 * np.cross(v, offset)
            sites[:, s] = u + offset + w * twist + np.cross(v, twist)
        weight = np.exp(-np.minimum(self.on_grid(sites), 1e5) / TEMPERATURE)
        share = 0.9 * weight / weight.sum() + 0.1 / candidates
        chosen = random.choice(candidates, poses, p=share)
        tests = {"direct sum": lambda x: sum(self.solid.energy(x, self.types, self.charges))}
        if raspa:
            tests["RASPA3"] = lambda x: self.raspa_energy(x[None])[2]
            tests["a direct sum with RASPA3's split"] = self.with_raspa_split()
        text = f"Henry coefficient {value.value:.5g}({value.error:.1g}) mol/(kg Pa), heat " \
            f"{heat.value:.2f}({heat.error:.1g}) kJ/mol"  # fmt: skip
        for name, energy in tests.items():
            other = np.exp(-np.minimum([energy(sites[i]) for i in chosen], 1e5) / TEMPERATURE)
            change = (other - weight[chosen]) / (share[chosen] * weight.sum())
            error = change.std() / math.sqrt(poses)
            text += f"; that of the energies by {name}: {change.mean():+.3%}, error {error:.3%}"
        return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("energies", "henry", "widom"), help="what is compared")
    parser.add_argument("framework", help="a CIF file, MFI or LTA")
    parser.add_argument("--force-field", type=Path, required=True, help="RASPA3's JSON file")
    parser.add_argument("--molecule", type=Path, required=True, help="RASPA3's JSON file")
    parser.add_argument("--raspa", action="store_true", help="compare with raspalib as well")
    parser.add_argument("--molecules", type=int, default=8, help="molecules (default 8)")
    parser.add_argument("--configurations", type=int, default=2, help="configurations (default 2)")
    parser.add_argument("--insertions", type=int, default=1000000, help="test molecules")
    parser.add_argument("--seconds", type=float, default=150.0, help="of RASPA3's Widom insertions")
    parser.add_argument("--seed", type=int, default=1, help="of RASPA3's first run (default 1)")
    parser.add_argument(
        "--neutral-bead", action="store_true",
        help="let RASPA3 grow molecules from a site without interactions",
    )  # fmt: skip
    parser.add_argument("--poses", type=int, default=400, help="poses with other sums")
    options = parser.parse_args()
    print(f"{options.molecule.stem} in {options.framework}", flush=True)
    if options.what == "energies":
        case = Case(options, options.molecules, options.configurations, method="plj")
        case.engine.run(2000)
    else:
        case = Case(options, 1, 64, method="plj", grid_spacing=0.15)
    if options.raspa or options.what == "widom":
        case.prepare_raspa(options.neutral_bead)
    if options.what == "widom":
        print(case.widom(options.insertions // 64, options.seconds, options.seed), flush=True)
        return
    if options.what == "henry":
        print(case.henry(options.insertions // 64, options.poses, options.raspa), flush=True)
        return
    for system in range(options.configurations):
        print(case.compare(system, options.raspa), flush=True)


if __name__ == "__main__":
    main()
