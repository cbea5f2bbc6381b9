"""Where the molecules are: the part of `manymove.Adsorption` that looks at the present state."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from manymove import arguments
from manymove.adsorption.frameworks import Framework

STEPS_TO_PLACES = 100  # after which the molecules tell whether the energy grid is too coarse
_COARSE = 0.1  # largest error by interpolation, in units of the temperature


def rotated(turns: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) rotated by unit quaternions (w, x, y, z), (..., 4)."""
    w, axis = turns[..., :1], turns[..., 1:]
    twice = 2 * np.cross(axis, vectors)
    return vectors + w * twice + np.cross(axis, twice)


def coarse_grid(error: float | None, temperature: float) -> str | None:
    """A warning if interpolation on the energy grid has this error (kelvin, per molecule)."""
    if error is None or not error > _COARSE * temperature:
        return None
    return (
        f"coarse energy grid: interpolation changes the energy of a molecule by {error:.2g} K, "
        "more than a tenth of the temperature: reduce the grid spacing"
    )


class Places:
    """Positions, orientations and framework energies; a base class that is not for separate use."""

    _engine: Any
    _parameters: dict[str, Any]
    _about: dict[str, Any]
    _state: dict[str, Any]
    _framework: Framework
    systems: int
    capacity: list[int]

    @property
    def box(self) -> tuple[float, float, float]:
        """Edges (Lx, Ly, Lz) of the box in angstrom; the diagonal of `edges` if it is skewed."""
        p = self._parameters
        return tuple(n * edge for n, edge in zip(p["cells"], p["cell"], strict=True))

    @property
    def edges(self) -> np.ndarray:
        """Edges of the box in angstrom as rows, float64 (3, 3)."""
        return np.array(self._parameters["cells"])[:, None] * self._framework.edges

    @property
    def grid(self) -> dict[str, Any]:
        """Energy grid of the unit cell: numbers of `points` along each edge, size in `bytes`, the
        `lowest` energy in kelvin, and the shares of points that are `blocked` and `open`. Open
        points are below the barrier and can be reached, or, without a barrier, are below 20 T.
        `pockets` are the blocked regions of the unit cell, for one type of sites after the other
        and from the largest to the smallest: the `site`, the fractional coordinates of the
        `center`, the `volume` in cubic angstrom, and the `lowest` Lennard-Jones energy in
        kelvin."""
        info = self._engine.grid
        info["blocked"], info["open"] = info.pop("blocked_share"), info.pop("open_share")
        names = self._about.get("labels", ()) if self._rigid else self._about["adsorbates"]
        volume = math.prod(self._parameters["cell"])
        for pocket in info["pockets"]:
            kind = pocket.pop("type")  # without a name in an earlier checkpoint
            pocket["site"] = names[kind] if names else str(kind)
            pocket["volume"] = pocket.pop("share") * volume
        return info

    def kept_grid(self) -> Any:
        """An object that keeps the energy grid in memory. Systems of this process with the same
        framework, force field and spacing take it instead of computing their own, as they do while
        these systems exist."""
        return self._engine.kept_grid()

    @property
    def counts(self) -> np.ndarray:
        """Number of molecules of each species in each system, int32 (systems, species)."""
        counts = self._engine.counts()
        return counts.reshape(self.systems, len(self._parameters["species"]))

    @property
    def positions(self) -> np.ndarray:
        """Positions of the molecules in angstrom, float64 (systems, molecules, 3), in [0, L),
        species by species; NaN for unused slots of open systems. Of rigid molecules these are the
        centers."""
        snapshot = self._state
        sites, present = self._sites(snapshot)
        places = sites * (np.array(self.box) * 2.0**-32)
        if any(self._framework.tilt):
            places = (sites * 2.0**-32) @ self.edges
        places[~present] = np.nan
        return places

    @property
    def orientations(self) -> np.ndarray:
        """Orientations of rigid molecules as unit quaternions (w, x, y, z), float64 (systems,
        molecules, 4); NaN for unused slots of open systems.

        Raises:
            ValueError: the molecules have single sites without charges.
        """
        if not self._rigid:
            raise ValueError("molecules of single sites have no orientations")
        snapshot = self._state
        _, present = self._sites(snapshot)
        turns = snapshot["orientations"].reshape(*present.shape, 4).copy()
        turns[~present] = np.nan
        return turns

    def _index_of_species(self, species: int) -> int:
        return arguments.index("species", species, len(self.capacity))

    def site_positions(self, species: int = 0) -> np.ndarray:
        """Positions of all sites of a species in angstrom, float64 (systems, molecules, sites, 3);
        molecules are whole, and NaN for unused slots of open systems.

        Args:
            species: index of the adsorbate.
        """
        species = self._index_of_species(species)
        ends = [0, *np.cumsum(self.capacity)]
        part = slice(ends[species], ends[species + 1])
        centers = self.positions[:, part]
        if not self._rigid:
            return centers[:, :, None]
        offsets = np.array([x for _, x in self._rigid["bodies"][species]])
        if "chains" in self._rigid:
            shapes = self._state["shapes"]
            shapes = shapes.reshape(self.systems, sum(self.capacity), -1, 3)
            offsets = shapes[:, part, : len(offsets)]
        turned = rotated(self.orientations[:, part, None], offsets)
        return centers[:, :, None] + turned

    def freud_system(self, system: int = 0, species: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Box and centers of the molecules of a species in a system, as freud takes them.

        Args:
            system: index of the system.
            species: index of the adsorbate.

        Returns:
            edges of the box as columns, float64 (3, 3), and the centers in angstrom relative to the
            center of the box, float32 (molecules, 3).

        Raises:
            ValueError: there is no such system or species.
        """
        arguments.index("system", system, self.systems)
        first = sum(self.capacity[: self._index_of_species(species)])
        count = self.counts[system, species]
        centers = self.positions[system, first : first + count] - self.edges.sum(axis=0) / 2
        return self.edges.T.copy(), centers.astype(np.float32)

    def sites_of(self, species: int = 0) -> tuple[list[str], list[float]]:
        """Names and charges (e) of the sites of a species, in the order of `site_positions`.

        Args:
            species: index of the adsorbate.
        """
        name = self._about["adsorbates"][self._index_of_species(species)]
        if not self._rigid:
            return [name], [0.0]
        types = [t for t, _ in self._rigid["bodies"][species]]
        charges = [self._rigid["types"][t]["charge"] for t in types]
        labels = self._about.get("labels")
        if labels is None:  # an earlier checkpoint
            return [f"{name}.{t}" for t in types], charges
        return [name if labels[t] == name else f"{name}.{labels[t]}" for t in types], charges

    @property
    def framework_charges(self) -> np.ndarray | None:
        """Charge of each atom of the framework's unit cell in e, float64 (M,); None if it has none
        that act on the molecules."""
        charges = self._rigid["framework_charge"] if self._rigid else []
        return np.array(charges) if len(charges) else None

    @property
    def _rigid(self) -> dict[str, Any] | None:
        return self._parameters.get("rigid")

    def _sites(self, snapshot: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Sites (systems, slots, 3), and which slots have a molecule (systems, slots)."""
        counts = snapshot["counts"].reshape(self.systems, -1)
        present = [
            np.arange(room) < counts[:, kind, None] for kind, room in enumerate(self.capacity)
        ]
        return snapshot["sites"].reshape(self.systems, -1, 3), np.concatenate(present, axis=1)

    def on_hills(self) -> int:
        """Number of molecules of all systems at framework energies above the barrier (20 T without
        one)."""
        hill = self._parameters["hill"]
        return sum(int((energies >= hill).sum()) for energies in self._field_energies(False))

    def grid_error(self, molecules: int = 4096) -> tuple[float, float]:
        """Error of the framework energy by interpolation, compared with sums over the atoms.

        Args:
            molecules: approximate number of present molecules to compare.

        Returns:
            the relative error of the summed energy, and the root mean square error per molecule in
            kelvin; NaN without molecules.
        """
        a, b = (np.concatenate(self._field_energies(direct, molecules)) for direct in (False, True))
        if not len(a):
            return math.nan, math.nan
        with np.errstate(invalid="ignore", divide="ignore"):  # no interaction at all
            return float(a.sum() / b.sum() - 1), float(np.sqrt(((a - b) ** 2).mean()))

    def coarse_grid(self) -> str | None:
        """A warning if the energy grid is too coarse: if interpolation changes the framework energy
        of a molecule by more than a tenth of the temperature. None otherwise."""
        return coarse_grid(self.grid_error()[1], self._parameters["temperature"])

    def _field_energies(self, direct: bool, molecules: int | None = None) -> list[np.ndarray]:
        """Framework energies of the molecules of each species, or of some of them."""
        result = []
        for kind, sites in enumerate(self._places()):
            some = sites[:: max(1, len(sites) // molecules)] if molecules else sites
            types = [t for t, _ in self._rigid["bodies"][kind]] if self._rigid else [kind]
            energies = np.zeros(len(some))
            for s, t in enumerate(types):
                places = np.ascontiguousarray(some[:, s])
                energies += self._engine.framework_energies(places, t, direct)
            result.append(energies)
        return result

    def _places(self) -> list[np.ndarray]:
        """Positions of the sites of all molecules of each species, (molecules, sites, 3)."""
        result = []
        for kind in range(len(self._parameters["species"])):
            sites = self.site_positions(kind)
            sites = sites.reshape(-1, *sites.shape[2:])
            result.append(sites[~np.isnan(sites[:, 0, 0])])
        return result
