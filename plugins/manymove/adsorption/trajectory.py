# SPDX-License-Identifier: BSD-3-Clause
"""Frames of GSD files with a system of adsorbates and its framework."""

from __future__ import annotations

from typing import Any

import numpy as np

from manymove.io import make_frame


def frame_of(a: Any, system: int = 0) -> Any:
    """The present state of one system as a `gsd.hoomd.Frame`.

    It has the atoms of the framework in the whole box, and then the sites of all molecules,
    molecule by molecule. Types are the elements of the framework, the names of adsorbates with a
    single site, and "<name>.<label>" of the sites of molecules. Lengths are in angstrom and charges
    in units of the elementary charge; the origin is at the center of the box. Image flags make
    molecules whole. Bonds join each site of a rigid molecule to its first one, and neighbors of a
    chain. The logged quantities `positions`, `orientations` and `molecules` are the arguments of
    the class.
    """
    framework, cells, edges = a.framework, a.cells, a.edges
    shifts = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), -1).reshape(-1, 3)
    atoms = ((framework.fractional[:, None] + shifts).reshape(-1, 3) / cells) % 1.0
    names = [element for element in framework.elements for _ in shifts]
    charges = np.repeat(
        np.zeros(len(framework.elements)) if a.framework_charges is None else a.framework_charges,
        len(shifts),
    ).tolist()
    flexible = bool(a.ideal_weights)
    places, bonds = [], []
    for species in range(len(a.capacity)):
        sites = a.site_positions(species)[system]
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
    fractions = np.concatenate((atoms, np.concatenate(places) @ np.linalg.inv(edges)))
    images = np.floor(fractions).astype(np.int32)
    diagonal = np.diag(edges)
    tilts = (edges[1, 0] / diagonal[1], edges[2, 0] / diagonal[2], edges[2, 1] / diagonal[2])
    kinds = sorted(set(names))
    centers = a.positions[system]
    present = ~np.isnan(centers[:, 0])
    log = {
        "positions": centers[present],
        "molecules": a.counts[system],
        "edges": edges,
        "energy_K": a.energies[system],
    }
    if a._rigid:
        log["orientations"] = a.orientations[system][present]
    frame = make_frame(
        (fractions - images - 0.5) @ edges,
        (*diagonal, *tilts),
        a.steps,
        types=np.array([kinds.index(name) for name in names]),
        names=kinds,
        charges=np.array(charges),
        images=images,
        log=log,
    )
    if bonds:
        frame.bonds.N = len(bonds)
        frame.bonds.types = ["rigid"]
        frame.bonds.typeid = [0] * len(bonds)
        frame.bonds.group = bonds
    return frame
