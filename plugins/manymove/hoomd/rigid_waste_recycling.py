# SPDX-License-Identifier: BSD-3-Clause
"""Waste-recycling Monte Carlo of rigid molecules with charges, as an updater of HOOMD-blue."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from manymove import _core
from manymove.adsorption.adsorbates import COULOMB
from manymove.adsorption.chains import Chain
from manymove.adsorption.force_field import NONE, ForceField, Law
from manymove.adsorption.molecules import Molecule, Site
from manymove.adsorption.places import rotated
from manymove.adsorption.rigid import Unchecked, settled
from manymove.hoomd.waste_recycling import WasteRecyclingMC, refuse_others

_SHAPE = 1e-3  # of the largest diameter: a constituent may be this far from its place
_UNIT = 1e-3  # error of the length of a quaternion


class RigidWasteRecyclingMC(WasteRecyclingMC):
    """Waste-recycling Monte Carlo of rigid molecules with charges among fixed particles.

    It is to be wrapped in a `hoomd.update.CustomUpdater`. A molecule is one particle of the type
    `adsorbate`: its position is the center, its orientation turns the sites of `molecule`. If the
    molecule is a rigid body of HOOMD-blue (`hoomd.md.constrain.Rigid`), this is the central
    particle, and the constituents, in the order of their tags, must be at the sites; they are moved
    with it. All other particles are the rigid framework, which must not move; without any the box
    is empty. The type of a framework particle is its label in `force_field`, and its charge is that
    of HOOMD-blue.

    Lennard-Jones and Coulomb interactions, the latter by Ewald's sum, are computed by the updater,
    which needs no pair force of HOOMD-blue. Lengths and energies are in the simulation's units, and
    so are all parameters of `molecule` and `force_field`; the energy of two charges is q_1 q_2 / r.
    Velocities do not change, and the angular momentum turns with the molecule, so that its kinetic
    energy stays. Image flags keep molecules whole.

    ::

        co2 = Molecule("CO2", [Site("O_co2", (0, 0, 1.16), 79.0, 3.05, -143.1), ...])
        mc = manymove.hoomd.RigidWasteRecyclingMC("A", co2, zeolite, kT=300, cutoff=12)
        simulation.operations.updaters.append(
            hoomd.update.CustomUpdater(hoomd.trigger.Periodic(10), mc)
        )

    The box can be tilted.

    Args:
        adsorbate: name of the particle type of the molecules.
        molecule: a `manymove.adsorption.Molecule` in the simulation's units.
        force_field: a `manymove.adsorption.ForceField` in the simulation's units: parameters of the
            types of the framework, which no site may have as its label, and the conventions of the
            potential. Charges of the framework are those of the particles.
        kT: thermal energy.
        cutoff: cutoff radius of Lennard-Jones and of the real-space part of Ewald's sum, at most
            half the distance between opposite faces of the box.
        ewald: (alpha, k_max) of Ewald's sum in 1 / length; default (3.2, 20.5) / cutoff.
        method, proposals, steps, profile, bins, threads: as for `WasteRecyclingMC`.
        max_displacement, grid_spacing: as for `WasteRecyclingMC`, where sigma is the largest
            diameter of a site.

    Raises:
        ValueError: an argument is bad, or, when the simulation runs, the box is two-dimensional,
            the particles are spread over several MPI ranks, a type has no parameters, the framework
            or a molecule is charged, a constituent is not at its site, a molecule is in a blocked
            pocket or at a framework energy above 20 kT, or the framework, its charges or its types
            have changed.
    """

    __module__ = "manymove.hoomd"
    _tilts = True

    def __init__(
        self,
        adsorbate: str,
        molecule: Molecule,
        force_field: ForceField | None = None,
        *,
        kT: float,
        cutoff: float,
        ewald: tuple[float, float] | None = None,
        method: str = "mdp",
        proposals: int = 64,
        steps: int = 100,
        max_displacement: float | None = None,
        grid_spacing: float | None = None,
        profile: str | tuple[int, int, int] | None = None,
        bins: int = 100,
        threads: int | None = None,
        **unavailable: Any,
    ) -> None:
        refuse_others(type(self).__name__, unavailable)
        if isinstance(molecule, Chain):
            raise TypeError(
                f"{molecule.name} is a flexible chain, and this updater moves rigid molecules "
                "only; chains grow in manymove.Adsorption"
            )
        if not isinstance(molecule, Molecule):
            raise TypeError(f"molecule must be a manymove.adsorption.Molecule, got {molecule!r}")
        if len(molecule.sites) == 1 and not molecule.sites[0].charge:
            raise ValueError(
                f"{molecule.name} has a single site without a charge: use WasteRecyclingMC"
            )
        field = force_field or ForceField()
        if field.charges:
            raise ValueError(
                "charges of the force field have no effect here: those of the framework are the "
                "particles', and those of the sites are the molecule's"
            )
        for site in molecule.sites:
            own = (site.epsilon, site.sigma)
            if tuple(field.parameters.get(site.label, own) or NONE) != own:
                raise ValueError(
                    f'the site "{site.label}" of {molecule.name} has the label of a framework type '
                    "in force_field, whose parameters would replace its own; rename the site"
                )
        sigma = max((s.sigma for s in molecule.sites if s.epsilon), default=0.25 * cutoff)
        super().__init__(
            adsorbate, 0.0, sigma, {}, kT, cutoff, method=method, proposals=proposals, steps=steps,
            max_displacement=max_displacement, grid_spacing=grid_spacing, profile=profile,
            bins=bins, threads=threads,
        )  # fmt: skip
        self._sigma = sigma
        self._charge = math.sqrt(self._energy * self._length / COULOMB)
        self._molecule = Molecule(
            molecule.name,
            [
                Site(s.label, tuple(x * self._length for x in s.position),
                     *self._law((s.epsilon, s.sigma)), s.charge * self._charge)
                for s in molecule.sites
            ],
        )  # fmt: skip
        self._offsets = molecule.positions
        scaled = {label: self._scaled(law) for label, law in field.parameters.items()}
        pairs = {labels: self._scaled(law) for labels, law in field.pairs.items()}
        self._field = ForceField(scaled, {}, pairs, field.mixing, field.potential)
        self._ewald = None if ewald is None else tuple(float(k) / self._length for k in ewald)

    def _scaled(self, law: Law | None) -> Law | None:
        return None if law is None else self._law(law)

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def _begin(self, timestep: int) -> None:
        self._box = self._shape()
        self._inverse = np.linalg.inv(self._box)
        types, positions, charges, turns, bodies = self._by_tag(
            "typeid", "position", "charge", "orientation", "body"
        )
        positions, turns = positions.astype(np.float64), turns.astype(np.float64)
        names = self._simulation.state.particle_types
        centers = types == (names.index(self._adsorbate) if self._adsorbate in names else -1)
        if not centers.any():
            raise ValueError(f'there are no particles of the type "{self._adsorbate}"')
        self._tags = np.flatnonzero(centers)
        self._parts = self._constituents(bodies.astype(np.int64))
        rigid = ~centers
        rigid[self._parts] = False
        self._rigid_tags, self._rigid = np.flatnonzero(rigid), positions[rigid]
        self._rigid_kinds = types[rigid], charges[rigid]
        labels = tuple(names[k] for k in types[rigid])
        edges = self._box * self._length
        framework = Unchecked(
            "of the simulation", tuple(edges.diagonal()), self._rigid @ self._inverse + 0.5,
            labels, 0.0, (edges[1, 0], edges[2, 0], edges[2, 1]),
            charges=charges[rigid].astype(np.float64) * self._charge,
        )  # fmt: skip
        laws = settled(
            framework, [self._molecule], {}, self._field, self._ewald, self._fixed["cutoff"]
        )
        seed = (self._simulation.seed or 0) + (timestep << 16)
        molecules = len(self._tags)
        self._parameters = {
            **self._fixed,
            "cell": framework.cell,
            "fractional": list(np.ravel(framework.fractional)),
            "kind": laws["kind"],
            "species": [
                {"molecules": molecules, "capacity": molecules, "activity": 0.0,
                 "with_framework": []}
            ],
            "pairs": [],
            "shifted": laws["shifted"],
            "rigid": laws["rigid"],
            "grid": tuple(
                max(4, math.ceil(length / self._spacing))
                for length in np.linalg.norm(self._box, axis=1)
            ),
            "seed": seed % 2**64,
        }  # fmt: skip
        self._known, self._known_turns = positions[self._tags], turns[self._tags]
        self._check_shapes(positions)
        with self._naming_particles():
            self._engine = _core.Adsorption.from_positions(
                self._inward(self._known), self._parameters, self._device, self._threads,
                self._unit(self._known_turns),
            )  # fmt: skip

    def _constituents(self, bodies: np.ndarray) -> np.ndarray:
        """Tags of the constituents of each molecule, (molecules, sites or 0)."""
        found = np.flatnonzero(np.isin(bodies, self._tags))
        found = found[~np.isin(found, self._tags)]
        counts = np.bincount(np.searchsorted(self._tags, bodies[found]), minlength=len(self._tags))
        sites = len(self._offsets)
        if not found.size:
            return np.empty((len(self._tags), 0), dtype=np.int64)
        if (counts != sites).any():
            k = int(np.argmax(counts != sites))
            raise ValueError(
                f"the rigid body of the particle with tag {self._tags[k]} has {counts[k]} "
                f"constituents, but {self._molecule.name} has {sites} sites"
            )
        return found[np.argsort(bodies[found], kind="stable")].reshape(-1, sites)

    def _check_shapes(self, positions: np.ndarray) -> None:
        """Refuse constituents that are not at the sites of their molecule."""
        if not self._parts.size:
            return
        sites = self._known[:, None] + rotated(self._known_turns[:, None], self._offsets)
        apart = positions[self._parts] - sites
        apart -= np.rint(apart @ self._inverse) @ self._box
        distances = np.linalg.norm(apart, axis=2)
        if not distances.max() < _SHAPE * self._sigma:
            molecule, site = np.unravel_index(int(distances.argmax()), distances.shape)
            raise ValueError(
                f"the particle with tag {self._parts[molecule, site]} is "
                f"{distances[molecule, site]:.3g} away from site {site} "
                f"({self._molecule.sites[site].label}) of its molecule, the particle with tag "
                f"{self._tags[molecule]}"
            )

    def _shape(self) -> np.ndarray:
        """Edges of the box, one in a row, (3, 3)."""
        x, y, z = self._edges()
        box = self._simulation.state.box
        return np.array([[x, 0, 0], [box.xy * y, y, 0], [box.xz * z, box.yz * z, z]])

    def _inward(self, positions: np.ndarray) -> np.ndarray:
        """Positions in the box of the engine, from its corner, in its unit of length."""
        return np.ascontiguousarray((positions + self._box.sum(axis=0) / 2) * self._length)

    def _unit(self, turns: np.ndarray) -> np.ndarray:
        """Quaternions of length one."""
        lengths = np.linalg.norm(turns, axis=1)
        wrong = ~(np.abs(lengths - 1) < _UNIT)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(
                f"the orientation of the particle with tag {self._tags[k]} is not a "
                f"unit quaternion: {turns[k].tolist()}"
            )
        return np.ascontiguousarray(turns / lengths[:, None])

    def act(self, timestep: int) -> None:
        """Make `steps` steps and move the particles of the simulation.

        Args:
            timestep: time step of the simulation.
        """
        if self._engine is None:
            self._begin(timestep)
        types, positions, charges, turns = self._by_tag(
            "typeid", "position", "charge", "orientation"
        )
        positions, turns = positions.astype(np.float64), turns.astype(np.float64)
        self._check_framework(positions, types, charges)
        now, turned = positions[self._tags], turns[self._tags]
        started = time.perf_counter()
        if not (np.array_equal(now, self._known) and np.array_equal(turned, self._known_turns)):
            self._known, self._known_turns = now, turned
            self._check_shapes(positions)
            with self._naming_particles():
                self._engine.set_positions(self._inward(now), self._unit(turned))
        self._engine.run(self._steps, True)
        state = self._engine.snapshot()
        sites, new = state["sites"].reshape(-1, 3), state["orientations"].reshape(-1, 4)
        went = (sites * 2.0**-32 - 0.5) @ self._box
        with self._simulation.state.cpu_local_snapshot as snapshot:
            particles = snapshot.particles
            index = particles.rtag[self._tags]
            crossed = np.rint((went - now) @ self._inverse).astype(np.int32)
            images = particles.image[index] - crossed
            particles.image[index] = images
            particles.position[index] = went
            particles.orientation[index] = new
            # HOOMD-blue's 2 q S, where S is the angular momentum in the frame of the body.
            change = _product(new, _conjugate(turned))
            momenta = np.array(particles.angmom[index], dtype=np.float64)
            particles.angmom[index] = _product(change, momenta)
            self._known = np.array(particles.position[index], dtype=np.float64)
            self._known_turns = np.array(particles.orientation[index], dtype=np.float64)
            if self._parts.size:
                parts = particles.rtag[self._parts.ravel()]
                own = np.array(particles.orientation[parts], dtype=np.float64)
                particles.orientation[parts] = _product(
                    np.repeat(change, len(self._offsets), axis=0), own
                )
                whole = went[:, None] + rotated(new[:, None], self._offsets)
                out = np.floor(whole @ self._inverse + 0.5)
                particles.position[parts] = (whole - out @ self._box).reshape(-1, 3)
                of_parts = images[:, None] + out.astype(np.int32)
                particles.image[parts] = of_parts.reshape(-1, 3)
        self._seconds += time.perf_counter() - started


def _conjugate(q: np.ndarray) -> np.ndarray:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of quaternions (w, x, y, z), (N, 4)."""
    w = a[:, :1] * b[:, :1] - (a[:, 1:] * b[:, 1:]).sum(axis=1, keepdims=True)
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate((w, v), axis=1)
