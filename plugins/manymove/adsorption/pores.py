# SPDX-License-Identifier: BSD-3-Clause
"""Pores of a framework: helium void fraction, pore volume and accessible surface area."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manymove import _core, arguments
from manymove.adsorption.force_field import ForceField, names_of
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.gas import AVOGADRO
from manymove.adsorption.input import arguments_of, given_framework
from manymove.adsorption.molecule_files import Species
from manymove.adsorption.molecules import HELIUM, Molecule
from manymove.adsorption.places import STEPS_TO_PLACES
from manymove.adsorption.simulation import Adsorption
from manymove.analysis.notation import Estimate
from manymove.errors import ParameterError

NITROGEN = 3.681  # angstrom, the probe of T. Düren et al.
_SYSTEMS = 64  # whose differences give the error of the void fraction
_AT_ONCE = 2**21  # random points in one call of the core


def helium_void_fraction(
    framework: Framework | str | Sequence[float],
    force_field: ForceField | str | None = None,
    *,
    temperature: float = 298.15,
    insertions: int = 2000,
    helium: Molecule = HELIUM,
    systems: int = _SYSTEMS,
    seed: int = 1,
    **options: Any,
) -> Estimate:
    """Helium void fraction <exp(-U / T)> of a framework by Widom insertions of helium.

    O. Talu, A. L. Myers, AIChE J. 47, 1160 (2001). The pore volume (`pore_volume`) is the
    void fraction times V / m, where m is the mass of the framework. Regions behind a barrier of
    20 T are blocked, as for adsorbates.

    Args:
        framework: as for `manymove.Adsorption`; an empty box has the void fraction 1.
        force_field: Lennard-Jones parameters of the framework's atoms, which mix with those of
            helium.
        temperature: temperature in kelvin.
        insertions: number of insertions for each of the systems.
        helium: the molecule that is inserted.
        systems: number of independent sets of insertions, whose differences give the error.
        seed: seed of the random number generator.
        options: other parameters of `manymove.Adsorption` by the names of the options of
            `manymove adsorption`, for example `cutoff`, `grid_spacing` or `device`.

    Raises:
        ValueError: an error of `manymove.Adsorption`, insertions is not positive, or the energy
            grid is too coarse.
    """
    arguments.count("insertions", insertions)
    given = {
        "framework": framework, "molecules": 1, "adsorbates": helium, "force_field": force_field,
        "temperature": temperature, "systems": systems, "method": "plj", "seed": seed, **options,
    }  # fmt: skip
    probe = Adsorption(**arguments_of(given))
    found = probe.boltzmann_factor(insertions)
    if probe.framework.elements:
        probe.run(STEPS_TO_PLACES)
        if (coarse := probe.coarse_grid()) is not None:
            raise ValueError(coarse)
    return found


def insert_into_framework(
    framework: Framework | str,
    species: Sequence[Species],
    insertions: int,
    *,
    systems: int = _SYSTEMS,
    **options: Any,
) -> tuple[Adsorption, list[np.ndarray]]:
    """Insert test molecules of each species into an empty framework.

    Args:
        framework: as for `manymove.Adsorption`.
        species: the adsorbates.
        insertions: number of test molecules of each species for each of the systems.
        systems: number of independent sets of insertions, whose differences give the error.
        options: other parameters of `manymove.Adsorption`, as for `helium_void_fraction`.

    Returns:
        the systems, and for each species the sums of `Adsorption.insert_into_framework`, float64
        (systems, 2), from which `Adsorption.henry_of` computes the Henry coefficient.

    Raises:
        ValueError: `manymove.Adsorption` refuses an argument, or insertions is not positive.
    """
    given = {
        "framework": framework, "molecules": [1] * len(species), "adsorbates": list(species),
        "systems": systems, "method": "plj", **options,
    }  # fmt: skip
    a = Adsorption(**arguments_of(given))
    return a, [a.insert_into_framework(insertions, kind) for kind in range(len(species))]


def density_of(framework: Framework) -> float:
    """Density of a framework in g/cm^3."""
    return framework.mass / AVOGADRO / (volume_of(framework) * 1e-24)


def pore_volume(framework: Framework | str, void_fraction: Estimate | float) -> Estimate:
    """Volume of the pores in cm^3 per gram of framework.

    Args:
        framework: the framework, its name, or the path of a CIF file.
        void_fraction: share of its volume (see `helium_void_fraction`).
    """
    framework = given_framework(framework)
    unit = volume_of(framework) * 1e-24 * AVOGADRO / framework.mass
    return Estimate(unit, 0.0) * void_fraction


def volume_of(framework: Framework) -> float:
    """Volume of the unit cell in cubic angstrom."""
    return math.prod(framework.cell)


@dataclass(frozen=True)
class SurfaceArea:
    """The accessible surface area of a framework.

    Attributes:
        per_cell: area in square angstrom per unit cell.
        per_mass: area in m^2 per gram.
        per_volume: area in m^2 per cm^3.
    """

    per_cell: Estimate
    per_mass: Estimate
    per_volume: Estimate


def surface_area(
    framework: Framework | str,
    diameters: ForceField | Mapping[str, float],
    *,
    probe: float = NITROGEN,
    samples: int = 1000,
    seed: int = 1,
) -> SurfaceArea:
    """Accessible surface area, traced by the center of a hard sphere that rolls over the atoms.

    T. Düren, F. Millange, G. Férey, K. S. Walton, R. Q. Snurr, J. Phys. Chem. C 111, 15350 (2007).
    Random points on the sphere around each atom, with a radius that is the mean of its diameter and
    the diameter of the probe, count if they are in the sphere of no other atom. Pockets that the
    probe cannot enter from outside count as well. Atoms without diameter are left out.

    Args:
        framework: the framework, its name, or the path of a CIF file.
        diameters: diameter of the atoms in angstrom by label or element, or a force field, whose
            sigma is taken.
        probe: diameter of the probe in angstrom (default nitrogen).
        samples: number of points on each atom.
        seed: seed of the random number generator.

    Returns:
        the area with the standard error of the sampling.

    Raises:
        ValueError: a diameter is missing or not positive, or the probe or the number of points is
            out of range.
    """
    framework = given_framework(framework)
    arguments.count("samples", samples, most=10**7)
    seed = arguments.uint64("seed", seed)
    if not 0 <= probe < math.inf:
        raise ParameterError("probe", f"must be at least 0 and finite, got {probe:g}")
    radii = 0.5 * (_diameters(framework, diameters) + probe)
    present = ~np.isnan(radii)
    radii, fractional = radii[present], framework.fractional[present]
    edges = framework.edges
    free = np.zeros(len(radii))
    # Spheres around the images of one atom cover the crystal if they are wider than that.
    covered = radii.max(initial=0) > np.linalg.norm(edges, axis=1).sum() / 2
    for own, near in () if covered else _cells_of(fractional, edges, radii):
        some = np.concatenate((own, near))
        count = max(1, _AT_ONCE // len(own))
        for first in range(0, samples, count):  # calls between which Ctrl-C works
            free[own] += _core.free_points(
                fractional[some],
                edges,
                radii[some],
                own.tolist(),
                first,
                min(count, samples - first),
                seed,
            )
    share = free / samples
    whole = 4 * math.pi * radii**2
    area, error = float(whole @ share), math.nan
    if samples > 1:
        error = math.sqrt((whole**2 * share * (1 - share)).sum() / (samples - 1))
    squares = np.array([1.0, 1e-20 * AVOGADRO / framework.mass, 1e4 / volume_of(framework)])
    return SurfaceArea(*(Estimate(area, error) * unit for unit in squares.tolist()))


def _cells_of(
    fractional: np.ndarray, edges: np.ndarray, radii: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The atoms of each cell, and those of its neighbors. Cells are no narrower than two spheres
    that touch, unless there is a single one along an axis."""
    if not len(radii):
        return
    across = 1 / np.linalg.norm(np.linalg.inv(edges), axis=0)  # distances of opposite faces
    number = np.clip((across / (2 * radii.max())).astype(int), 1, 64)
    cells = np.minimum((fractional % 1 * number).astype(int), number - 1)
    for cell in np.unique(cells, axis=0):
        apart = np.abs(cells - cell)
        near = (np.minimum(apart, number - apart) <= 1).all(axis=1)
        own = (apart == 0).all(axis=1)
        yield np.flatnonzero(own), np.flatnonzero(near & ~own)


def _diameters(framework: Framework, given: ForceField | Mapping[str, float]) -> np.ndarray:
    """Diameter of each atom; NaN for atoms without interaction."""
    labels = framework.labels or framework.elements
    found = np.empty(len(labels))
    for k, (label, element) in enumerate(zip(labels, framework.elements, strict=True)):
        if isinstance(given, ForceField):
            epsilon, sigma = given.law_of_atom(label, element)
            found[k] = sigma if epsilon > 0 else math.nan
            continue
        names = [name for name in names_of(label, element) if name in given]
        if not names:
            raise ValueError(f"diameters has neither {label} nor {element}: add one of them")
        found[k] = given[names[0]]
        if not 0 < found[k] < math.inf:
            raise ValueError(f"the diameter of {names[0]} must be positive, got {found[k]:g}")
    return found
