# SPDX-License-Identifier: BSD-3-Clause
"""State points with weights exp(-lambda X), between which replicas exchange configurations.

docs/theory/replica_exchange.md has lambda and X of each class.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from manymove import _core
from manymove.adsorption import Adsorption
from manymove.adsorption.checkpoints import MOLECULES
from manymove.adsorption.simulation import _energy_model
from manymove.electrolyte import Electrolyte
from manymove.hard_particles.checkpoints import SAMPLINGS
from manymove.hard_particles.particles import HardParticles


@dataclass(frozen=True)
class StatePoint:
    """The state point of a replica.

    Attributes:
        values: the parameter in the unit of the class, one number or one per species.
        fields: lambda, (K,).
        common: what must be equal for all replicas, by name.
        systems: number of independent systems.
    """

    values: list[float]
    fields: np.ndarray
    common: dict[str, Any]
    systems: int = 1


class Ensemble(ABC):
    """What the replicas of a class exchange.

    Attributes:
        name: name of the parameter in which state points differ.
    """

    name: ClassVar[str]

    @abstractmethod
    def point(self, one: Any) -> StatePoint | str:
        """The state point of a replica, or why it cannot exchange."""

    @abstractmethod
    def quantities(self, one: Any) -> np.ndarray:
        """X of each system, (systems, K)."""

    @abstractmethod
    def configuration(self, one: Any) -> dict[str, Any]:
        """The present configuration."""

    @abstractmethod
    def adopt(self, one: Any, other: Mapping[str, Any], chosen: np.ndarray) -> None:
        """Continue from the configuration of another replica in the chosen systems, (systems,).
        Seed, counters, moves and samples stay."""


class Isobaric(Ensemble):
    """Hard particles: lambda = beta P, X = V."""

    name = "pressure"
    _STATE = ("places", "origin", "extent", "logarithms", "diameters")

    def point(self, one: HardParticles) -> StatePoint | str:
        if one.constant_pressure is None:
            return "the volume is constant: give pressure when the replicas are created"
        if one.ranks > 1:
            return "ranks share the system"
        if one.swap_rounds and not one._swaps_diameters:
            return "swap moves exchange types: give diameters by particle, or no swap moves"
        swaps = one._swaps_diameters  # after which the diameters have another order
        common = {
            "N": one.N,
            "diameters": (np.sort(one.diameters) if swaps else one.diameters).tolist(),
            "contacts": None if one.contacts is None else one.contacts.tolist(),
            "types": one.types.tolist(),
            "steps": one._parameters.get("steps"),
            "swap moves": swaps,
            "volume_mode": one.volume_mode,
        }
        if one.volume_mode not in ("length", "mixed"):
            common["shape of the box"] = [round(edge / one.box[0], 4) for edge in one.box]
        fields = np.array([one._parameters["beta_pressure"]])
        return StatePoint([float(one.constant_pressure)], fields, common)

    def quantities(self, one: HardParticles) -> np.ndarray:
        return np.array([[one.volume]])

    def configuration(self, one: HardParticles) -> dict[str, Any]:
        state = one._engine.snapshot()
        moved = {name: state[name] for name in self._STATE if name in state}
        # The lattice of the positions follows from the box of the start.
        return {**moved, "volume": state["volume"][0], "box": one._parameters["box"]}

    def adopt(self, one: HardParticles, other: Mapping[str, Any], chosen: np.ndarray) -> None:
        state = one._engine.snapshot()
        header, arrays = one._contents(state)
        run = {
            **{name: header[name] for name in ("goal", "sweeps_per_cycle")},
            "samples": {name: header.get(name) for name in SAMPLINGS},
            "arrays": arrays,
        }
        kept = {name: getattr(one, name) for name in ("_seconds", "_pace", "_repaired")}
        one._parameters = {**header["parameters"], "box": one._parameters["box"]}
        if one.volume_mode not in ("length", "mixed"):
            one._parameters["box"] = other["box"]
        if "diameters" in other:
            one._sizes = replace(one._sizes, diameters=other["diameters"])
        state |= {name: other[name] for name in self._STATE if name in other}
        state["volume"] = (other["volume"], *state["volume"][1:])
        one._adopt(_core.HardParticles.from_snapshot(state, one.N, *one._where()))
        one._proceed(run)
        one.__dict__.update(kept)


class Coulomb(Ensemble):
    """Ions: lambda = l_B, X = beta U / l_B."""

    name = "bjerrum_length"

    def point(self, one: Electrolyte) -> StatePoint | str:
        if not one.bjerrum_length:
            return "bjerrum_length must not be 0"
        names = ("N", "species", "box", "radius", "boundary", "surrounding")
        common = {**{name: getattr(one, name) for name in names}, "types": one.types.tolist()}
        return StatePoint([one.bjerrum_length], np.array([one.bjerrum_length]), common)

    def quantities(self, one: Electrolyte) -> np.ndarray:
        return np.array([[one._engine.energy() / one.bjerrum_length]])

    def configuration(self, one: Electrolyte) -> dict[str, Any]:
        state = one._engine.snapshot()
        return {name: state[name] for name in ("positions", "images")}

    def adopt(self, one: Electrolyte, other: Mapping[str, Any], chosen: np.ndarray) -> None:
        start = one.energy - one._engine.energy_change
        names = ("_sampling", "_structure", "_seconds", "_pace")
        kept = {name: getattr(one, name) for name in names}
        one._collect_energies()
        energies, state = one._energies, one._engine.snapshot()
        one._adopt_snapshot({**state, **other})
        one.__dict__.update(kept)
        # Records count from the start energy, which is no longer that of the same configuration.
        one._energies = [
            each + (start - one.energy + one._engine.energy_change) for each in energies
        ]


class GrandCanonical(Ensemble):
    """Adsorbates: lambda_k = -ln z_k, X_k = N_k for each species k."""

    name = "fugacity"

    def point(self, one: Adsorption) -> StatePoint | str:
        p, fugacities = one._parameters, one._about["fugacity"]
        if fugacities is None:
            return "the systems are closed: give a fugacity"
        common = {name: p[name] for name in ("temperature", "barrier", "hill")}
        common |= {"adsorbates": one._about["adsorbates"], **_energy_model(p)}
        fields = np.array([-math.log(each["activity"]) for each in p["species"]])
        return StatePoint([*map(float, fugacities)], fields, common, one.systems)

    def quantities(self, one: Adsorption) -> np.ndarray:
        return one.counts.astype(np.float64)

    def configuration(self, one: Adsorption) -> dict[str, Any]:
        state = one._engine.snapshot()
        found = {name: state[name] for name in MOLECULES if name in state}
        return {**found, "capacity": one.capacity}

    def adopt(self, one: Adsorption, other: Mapping[str, Any], chosen: np.ndarray) -> None:
        state, own = one._engine.snapshot(), one.capacity
        room = np.maximum(own, other["capacity"]).tolist()
        for name in MOLECULES:
            if name not in state:
                continue
            mine = state[name].reshape(one.systems, -1)
            theirs = np.asarray(other[name]).reshape(one.systems, -1)
            if name in ("sites", "orientations", "shapes"):  # with a place for each molecule
                mine, theirs = (
                    _with_room(mine, own, room),
                    _with_room(theirs, other["capacity"], room),
                )
            state[name] = np.where(chosen[:, None], theirs, mine).reshape(-1)
        kept = {
            name: getattr(one, name) for name in ("_comparison", "_adapted_at", "_seconds", "_pace")
        }
        species = [
            {**each, "capacity": most}
            for each, most in zip(one._parameters["species"], room, strict=True)
        ]
        one._parameters = {**one._parameters, "species": species}
        one._adopt(_core.Adsorption.from_snapshot(state, *one._where()))
        one.__dict__.update(kept)


def _with_room(array: np.ndarray, before: list[int], after: list[int]) -> np.ndarray:
    """Values of all places for molecules, (systems, places), with room for more molecules of each
    species."""
    width = array.shape[1] // max(1, sum(before))
    parts = np.split(array, np.cumsum(before)[:-1] * width, axis=1)
    more = [(most - least) * width for least, most in zip(before, after, strict=True)]
    padded = [np.pad(part, ((0, 0), (0, n))) for part, n in zip(parts, more, strict=True)]
    return np.concatenate(padded, axis=1)


_OF_CLASSES: dict[type, Ensemble] = {
    HardParticles: Isobaric(),
    Electrolyte: Coulomb(),
    Adsorption: GrandCanonical(),
}


def ensemble_of(one: Any) -> Ensemble | None:
    """The ensemble of a simulation; None for a class that cannot exchange."""
    return next((found for kind, found in _OF_CLASSES.items() if isinstance(one, kind)), None)
