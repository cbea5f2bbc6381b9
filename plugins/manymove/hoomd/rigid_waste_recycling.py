# SPDX-License-Identifier: BSD-3-Clause
"""Waste-recycling Monte Carlo of rigid molecules with charges, as an updater of HOOMD-blue."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from manymove import _core
from manymove.adsorption.adsorbates import COULOMB
from manymove.adsorption.chains import Chain
from manymove.adsorption.force_field import ForceField, Law
from manymove.adsorption.molecules import Molecule, Site
from manymove.adsorption.places import rotated
from manymove.adsorption.rigid import Unchecked, settled
from manymove.hoomd.action import setting
from manymove.hoomd.waste_recycling import Particles, WasteRecyclingUpdater, refuse_others

_SHAPE = 1e-3  # of the largest diameter: a constituent may be this far from its place
_UNIT = 1e-3  # error of the length of a quaternion
_MOST = 4  # species


class RigidWasteRecyclingMC(WasteRecyclingUpdater):
    """Waste-recycling Monte Carlo of rigid molecules with charges among fixed particles.

    It is to be wrapped in a `hoomd.update.CustomUpdater`. A molecule is one particle of the type
    `adsorbate`: its position is the center, its orientation turns the sites of `molecule`. A
    mixture has a type and a molecule for each species; its composition does not change. If the
    molecules are rigid bodies of HOOMD-blue (`hoomd.md.constrain.Rigid`), these are the central
    particles, and the constituents, in the order of their tags, must be at the sites; they are
    moved with them. All other particles are the rigid framework, which must not move; without any
    the box is empty. The type of a framework particle is its label in `force_field`, and its
    charge is read from HOOMD-blue.

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
        adsorbate: name of the particle type of the molecules, or a list of names for a mixture.
        molecule: a `manymove.adsorption.Molecule` in the simulation's units, or for a mixture a
            list of up to four, in the order of `adsorbate`.
        force_field: a `manymove.adsorption.ForceField` in the simulation's units: parameters of the
            types of the framework, which no site may have as its label, and the conventions of the
            potential. The framework has the charges of the particles.
        kT: thermal energy, a number or a `hoomd.variant.Variant`.
        cutoff: cutoff radius of Lennard-Jones and of the real-space part of Ewald's sum, at most
            half the distance between opposite faces of the box.
        ewald: (alpha, k_max) of Ewald's sum in 1 / length; default (3.2, 20.5) / cutoff.
        method, proposals, steps, profile, bins, threads: as for `WasteRecyclingMC`.
        max_displacement, grid_spacing: as for `WasteRecyclingMC`, where sigma is the largest
            diameter of a site.

    Settings may be changed in the same way as the settings of `WasteRecyclingMC`. The particles may
    be spread over several MPI ranks; see `EngineAction`.

    Raises:
        ValueError: an argument is bad, or, when the simulation runs, the box is two-dimensional, a
            type has no parameters, the framework or a molecule is charged, a constituent is not at
            its site, a molecule is in a blocked pocket or at a framework energy above 20 kT, or the
            framework, its charges or its types have changed.
        ImportError, RuntimeError: on several MPI ranks, as for `EngineAction`.
    """

    __module__ = "manymove.hoomd"
    _tilts = True
    _columns = ("typeid", "position", "image", "charge", "orientation", "angmom", "body")

    def __init__(
        self,
        adsorbate: str | Sequence[str],
        molecule: Molecule | Sequence[Molecule],
        force_field: ForceField | None = None,
        *,
        kT: Any,
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
        super().__init__(threads)
        refuse_others(type(self).__name__, unavailable)
        self._settings = self._checked(
            {
                "adsorbate": adsorbate, "molecule": molecule, "force_field": force_field, "kT": kT,
                "cutoff": cutoff, "ewald": ewald, "method": method, "proposals": proposals,
                "steps": steps, "max_displacement": max_displacement, "grid_spacing": grid_spacing,
                "profile": profile, "bins": bins,
            }
        )  # fmt: skip

    adsorbate: str | Sequence[str] = setting(
        "adsorbate", "Name of the particle type of the molecules, or a list of names."
    )
    molecule: Molecule | Sequence[Molecule] = setting(
        "molecule", "Molecule, or one for each entry of `adsorbate`."
    )
    force_field: ForceField | None = setting(
        "force_field", "Parameters of the framework and conventions of the potential, or None."
    )
    ewald: tuple[float, float] | None = setting(
        "ewald", "(alpha, k_max) of Ewald's sum in 1 / length; None for the default."
    )

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        names, molecules = _species(settings["adsorbate"], settings["molecule"])
        if len(names) != len(molecules) or not 1 <= len(names) <= _MOST:
            raise ValueError(
                f"adsorbate and molecule must have one entry for each species, of which there are "
                f"at most {_MOST}, got {len(names)} and {len(molecules)}"
            )
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'adsorbate has the type "{name}" twice')
        for one in molecules:
            _check_molecule(one)
        first = molecules[0]
        if len(molecules) == 1 and len(first.sites) == 1 and not first.sites[0].charge:
            raise ValueError(
                f"{first.name} has a single site without a charge: use WasteRecyclingMC"
            )
        _check_field(settings["force_field"] or ForceField(), molecules)
        if settings["ewald"] is not None:
            settings = {**settings, "ewald": tuple(float(k) for k in settings["ewald"])}
        return super()._checked(settings)

    def _size(self, settings: dict[str, Any]) -> float:
        _, molecules = _species(settings["adsorbate"], settings["molecule"])
        return max(
            (s.sigma for one in molecules for s in one.sites if s.epsilon),
            default=0.25 * settings["cutoff"],
        )

    def _derive(self, kT: float) -> None:
        super()._derive(kT)
        self._sigma = self._size(self._settings)
        self._charge = math.sqrt(self._energy * self._length / COULOMB)
        self._names, molecules = _species(self.adsorbate, self.molecule)
        self._molecules = [
            Molecule(
                one.name,
                [
                    Site(s.label, tuple(x * self._length for x in s.position),
                         *self._law((s.epsilon, s.sigma)), s.charge * self._charge)
                    for s in one.sites
                ],
            )
            for one in molecules
        ]  # fmt: skip
        self._offsets = [one.positions for one in molecules]
        field = self.force_field or ForceField()
        scaled = {label: self._scaled(law) for label, law in field.parameters.items()}
        pairs = {labels: self._scaled(law) for labels, law in field.pairs.items()}
        self._field = ForceField(
            scaled, {}, pairs, field.mixing, field.potential, matching=field.matching
        )
        self._ewald = None
        if self.ewald is not None:
            alpha, k_max = self.ewald
            self._ewald = (alpha / self._length, k_max / self._length)

    def _scaled(self, law: Law | None) -> Law | None:
        return None if law is None else self._law(law)

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def _make(self, particles: Particles, timestep: int) -> None:
        self._box = self._shape()
        self._inverse = np.linalg.inv(self._box)
        self._check_widths(1 / np.linalg.norm(self._inverse, axis=0))
        types, charges = particles["typeid"], particles["charge"]
        positions = particles["position"].astype(np.float64)
        turns = particles["orientation"].astype(np.float64)
        names = self._simulation.state.particle_types
        self._of_species = []  # tags of the molecules of each species
        for name in self._names:
            found = np.flatnonzero(types == (names.index(name) if name in names else -1))
            if not found.size:
                raise ValueError(f'there are no particles of the type "{name}"')
            self._of_species.append(found)
        self._tags = np.concatenate(self._of_species)
        bodies = particles["body"].astype(np.int64)
        self._refuse_constituents(bodies)
        self._parts = [self._constituents(bodies, b) for b in range(len(self._names))]
        rigid = np.ones(len(types), dtype=bool)
        rigid[self._tags] = False
        for parts in self._parts:
            rigid[parts] = False
        self._rigid_tags, self._rigid = np.flatnonzero(rigid), positions[rigid]
        self._rigid_kinds = types[rigid], charges[rigid]
        labels = tuple(names[k] for k in types[rigid])
        edges = self._box * self._length
        framework = Unchecked(
            "of the simulation", tuple(edges.diagonal()), self._rigid @ self._inverse + 0.5,
            labels, 0.0, (edges[1, 0], edges[2, 0], edges[2, 1]),
            charges=charges[rigid].astype(np.float64) * self._charge,
        )  # fmt: skip
        polar = any(site.charge for one in self._molecules for site in one.sites)
        laws = settled(
            framework, self._molecules, {}, self._field, self._ewald, self._fixed["cutoff"],
            framework_charges="zero" if polar and not charges[rigid].any() else None,
            biased=True,
        )  # fmt: skip
        seed = (self._simulation.seed or 0) + (timestep << 16)
        self._parameters = {
            **self._fixed,
            "cell": framework.cell,
            "fractional": list(np.ravel(framework.fractional)),
            "kind": laws["kind"],
            "species": [
                {"molecules": len(tags), "capacity": len(tags), "activity": 0.0,
                 "with_framework": []}
                for tags in self._of_species
            ],
            "pairs": [],
            "shifted": laws["shifted"],
            "rigid": laws["rigid"],
            "grid": self._points(np.linalg.norm(self._box, axis=1)),
            "seed": seed % 2**64,
        }  # fmt: skip
        self._known, self._known_turns = positions[self._tags], turns[self._tags]
        self._check_shapes(positions)
        with self._naming_particles():
            self._engine = _core.Adsorption.from_positions(
                self._inward(self._known), self._parameters, self._device, self._threads,
                self._unit(self._known_turns),
            )  # fmt: skip

    def _refuse_constituents(self, bodies: np.ndarray) -> None:
        """Refuse molecules that are constituents of another particle's rigid body."""
        of = bodies[self._tags]
        wrong = (of != self._tags) & (of >= 0) & (of < len(bodies))
        if wrong.any():
            tag = self._tags[np.argmax(wrong)]
            raise ValueError(
                f"the particle with tag {tag} has the type of a molecule, but is a constituent of "
                f"the rigid body of the particle with tag {bodies[tag]}: give constituents a type "
                "of their own"
            )

    def _constituents(self, bodies: np.ndarray, species: int) -> np.ndarray:
        """Tags of the constituents of each molecule of a species, (molecules, sites or 0)."""
        tags, sites = self._of_species[species], len(self._offsets[species])
        found = np.flatnonzero(np.isin(bodies, tags))
        found = found[~np.isin(found, tags)]
        if not found.size:
            return np.empty((len(tags), 0), dtype=np.int64)
        counts = np.bincount(np.searchsorted(tags, bodies[found]), minlength=len(tags))
        if (counts != sites).any():
            k = int(np.argmax(counts != sites))
            raise ValueError(
                f"the rigid body of the particle with tag {tags[k]} has {counts[k]} "
                f"constituents, but {self._molecules[species].name} has {sites} sites"
            )
        return found[np.argsort(bodies[found], kind="stable")].reshape(-1, sites)

    def _each_species(self) -> Iterator[tuple[int, slice]]:
        """Each species, and where its molecules are among all."""
        first = 0
        for species, tags in enumerate(self._of_species):
            yield species, slice(first, first + len(tags))
            first += len(tags)

    def _check_shapes(self, positions: np.ndarray) -> None:
        """Refuse constituents that are not at the sites of their molecule."""
        for species, own in self._each_species():
            parts = self._parts[species]
            if not parts.size:
                continue
            turned = rotated(self._known_turns[own][:, None], self._offsets[species])
            apart = positions[parts] - (self._known[own][:, None] + turned)
            apart -= np.rint(apart @ self._inverse) @ self._box
            distances = np.linalg.norm(apart, axis=2)
            if not distances.max() < _SHAPE * self._sigma:
                k, site = map(int, np.unravel_index(int(distances.argmax()), distances.shape))
                raise ValueError(
                    f"the particle with tag {parts[k, site]} is {distances[k, site]:.3g} away from "
                    f"site {site} ({self._molecules[species].sites[site].label}) of its molecule, "
                    f"the particle with tag {self._of_species[species][k]}"
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

    def _move(self, particles: Particles) -> tuple[np.ndarray, Particles]:
        positions = particles["position"].astype(np.float64)
        turns = particles["orientation"].astype(np.float64)
        self._check_framework(positions, particles["typeid"], particles["charge"])
        now, turned = positions[self._tags], turns[self._tags]
        if not (np.array_equal(now, self._known) and np.array_equal(turned, self._known_turns)):
            self._known, self._known_turns = now, turned
            self._check_shapes(positions)
            with self._naming_particles():
                self._engine.set_positions(self._inward(now), self._unit(turned))
        self._engine.run(self.steps, True)
        state = self._engine.snapshot()
        sites, new = state["sites"].reshape(-1, 3), state["orientations"].reshape(-1, 4)
        went = (sites * 2.0**-32 - 0.5) @ self._box
        crossed = np.rint((went - now) @ self._inverse).astype(np.int32)
        change = product(new, conjugate(turned))
        # HOOMD-blue's 2 q S, where S is the angular momentum in the frame of the body.
        momenta = product(change, particles["angmom"][self._tags].astype(np.float64))
        moved = {
            "position": went,
            "image": particles["image"][self._tags] - crossed,
            "orientation": new,
            "angmom": momenta,
        }
        tags = self._add_constituents(moved, change, particles)
        moved = {name: array.astype(particles[name].dtype) for name, array in moved.items()}
        first = slice(len(self._tags))
        self._known = moved["position"][first].astype(np.float64)
        self._known_turns = moved["orientation"][first].astype(np.float64)
        return tags, moved

    def _add_constituents(
        self, moved: Particles, change: np.ndarray, particles: Particles
    ) -> np.ndarray:
        """Append the values of the constituents to those of the molecules, which have turned by
        `change`, and return the tags of all."""
        all_tags, values = [self._tags], {name: [array] for name, array in moved.items()}
        for species, own in self._each_species():
            offsets, tags = self._offsets[species], self._parts[species].ravel()
            if not tags.size:
                continue
            turns = moved["orientation"][own][:, None]
            whole = moved["position"][own][:, None] + rotated(turns, offsets)
            out = np.floor(whole @ self._inverse + 0.5)
            images = moved["image"][own][:, None] + out.astype(np.int32)
            theirs = particles["orientation"][tags].astype(np.float64)
            all_tags.append(tags)
            values["position"].append((whole - out @ self._box).reshape(-1, 3))
            values["image"].append(images.reshape(-1, 3))
            values["orientation"].append(
                product(np.repeat(change[own], len(offsets), axis=0), theirs)
            )
            values["angmom"].append(particles["angmom"][tags])
        moved.update((name, np.concatenate(arrays)) for name, arrays in values.items())
        return np.concatenate(all_tags)


def _species(adsorbate: Any, molecule: Any) -> tuple[list[str], list[Any]]:
    """The types and molecules of the species."""
    names = [adsorbate] if isinstance(adsorbate, str) else list(adsorbate)
    if isinstance(molecule, (Molecule, Chain)):
        return names, [molecule]
    if isinstance(molecule, str) or not isinstance(molecule, Sequence):
        raise TypeError(f"molecule must be a manymove.adsorption.Molecule, got {molecule!r}")
    return names, list(molecule)


def _check_molecule(one: Any) -> None:
    if isinstance(one, Chain):
        raise TypeError(
            f"{one.name} is a flexible chain, and this updater moves rigid molecules only; "
            "chains grow in manymove.Adsorption"
        )
    if not isinstance(one, Molecule):
        raise TypeError(f"molecule must be a manymove.adsorption.Molecule, got {one!r}")


def _check_field(field: ForceField, molecules: list[Molecule]) -> None:
    """Refuse charges, and parameters that would replace the parameters of a site."""
    if field.charges:
        raise ValueError(
            "charges of the force field have no effect here, because the charges of the framework "
            "belong to the particles, and the charges of the sites to the molecule"
        )
    for one in molecules:
        for site in one.sites:
            own = (site.epsilon, site.sigma)
            if tuple(field.law_of_site(site.label) or own) != own:
                raise ValueError(
                    f'the site "{site.label}" of {one.name} has the label of a framework type '
                    "in force_field, whose parameters would replace its own; rename the site"
                )


def conjugate(q: np.ndarray) -> np.ndarray:
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of quaternions (w, x, y, z), (N, 4)."""
    w = a[:, :1] * b[:, :1] - (a[:, 1:] * b[:, 1:]).sum(axis=1, keepdims=True)
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    return np.concatenate((w, v), axis=1)
