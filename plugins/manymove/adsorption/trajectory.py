# SPDX-License-Identifier: BSD-3-Clause
"""GSD trajectories of a system of adsorbates with its framework."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gsd.hoomd
import numpy as np

from manymove.adsorption.simulation import Adsorption
from manymove.io import FrameWriter


class AdsorptionTrajectory(FrameWriter):
    """Append the states of one system of a `manymove.Adsorption` to a GSD file.

    Each frame has the atoms of the framework in the whole box, and then the sites of all
    molecules, molecule by molecule. Types are the elements of the framework, the names of
    adsorbates with a single site, and "<name>.<label>" of the sites of molecules. Lengths are in
    angstrom and charges in units of the elementary charge; the origin is at the center of the box.
    Image flags make molecules whole. Bonds join each site of a rigid molecule to its first one,
    and neighbors of a chain.

    Example::

        with AdsorptionTrajectory("trajectory.gsd", adsorption) as trajectory:
            for _ in range(10):
                adsorption.run(1000)
                trajectory.append()

    Args:
        path: path of the file.
        adsorption: the systems.
        system: index of the system whose states are written.
        resume, mark, overwrite: as for `manymove.io.FrameWriter`.

    Raises:
        IndexError: there is no such system.
        FileExistsError, OSError, ValueError: an error of `manymove.io.FrameWriter`.
    """

    def __init__(
        self,
        path: str | Path,
        adsorption: Adsorption,
        system: int = 0,
        *,
        resume: bool = False,
        mark: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        if not 0 <= system < adsorption.systems:
            raise IndexError(f"there is no system {system}, only {adsorption.systems}")
        super().__init__(path, resume=resume, mark=mark, overwrite=overwrite)
        self._adsorption = adsorption
        self._system = system
        framework = adsorption.framework
        cells = adsorption.cells
        shifts = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), -1).reshape(-1, 3)
        unit = framework.fractional[:, None] + shifts
        self._framework = (unit.reshape(-1, 3) / cells) % 1.0  # fractions of the box
        self._elements = [e for e in framework.elements for _ in shifts]
        charges = adsorption.framework_charges
        self._charges = [0.0] * len(self._elements)
        if charges is not None:
            self._charges = [float(q) for q in charges for _ in shifts]

    def append(self) -> None:
        """Append a frame with the present state. Its step is the number of steps so far."""
        a = self._adsorption
        flexible = bool(a.ideal_weights)
        places, names, charges, bonds = [], list(self._elements), list(self._charges), []
        for species in range(len(a.capacity)):
            sites = a.site_positions(species)[self._system]
            sites = sites[~np.isnan(sites[:, 0, 0])]
            labels, own = a.sites_of(species)
            for _ in sites:
                first = len(names)
                bonds += [
                    (first + (k - 1 if flexible else 0), first + k) for k in range(1, len(labels))
                ]
                names += labels
                charges += own
            places.append(sites.reshape(-1, 3))
        moving = np.concatenate(places) @ np.linalg.inv(a.edges)
        fractions = np.concatenate((self._framework, moving))
        images = np.floor(fractions).astype(np.int32)
        edges = a.edges
        diagonal = np.diag(edges)
        tilts = (edges[1, 0] / diagonal[1], edges[2, 0] / diagonal[2], edges[2, 1] / diagonal[2])
        frame = gsd.hoomd.Frame()
        frame.configuration.step = a.steps
        frame.configuration.dimensions = 3
        frame.configuration.box = [*diagonal, *tilts]
        frame.particles.N = len(names)
        frame.particles.position = (fractions - images - 0.5) @ edges
        frame.particles.image = images
        frame.particles.types = sorted(set(names))
        known = {name: k for k, name in enumerate(frame.particles.types)}
        frame.particles.typeid = [known[name] for name in names]
        frame.particles.charge = charges
        if bonds:
            frame.bonds.N = len(bonds)
            frame.bonds.types = ["rigid"]
            frame.bonds.typeid = [0] * len(bonds)
            frame.bonds.group = bonds
        frame.log = {"manymove/energy_K": np.array([a.energies[self._system]])}
        self._append(frame)
