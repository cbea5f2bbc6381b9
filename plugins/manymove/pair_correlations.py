"""Pair correlation functions from counted pairs, normalized for the geometry exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

_MOST_BLOCKS = 64


def species_pairs(species: int) -> list[tuple[int, int]]:
    """(0, 0), (0, 1), ..., (1, 1), (1, 2), ...: the order of the engine's histograms."""
    return [(a, b) for a in range(species) for b in range(a, species)]


@dataclass(frozen=True)
class PairCorrelations:
    """g_ab(r) of all pairs of species.

    Attributes:
        r: float64 (bins,), centers of the bins, in angstrom.
        g: float64 (pairs, bins), in the order of `pairs`.
        pairs: species (a, b), a <= b, of each row.
        counts: uint64 (pairs, bins), pairs counted.
        ideal: float64 (pairs, bins), what uncorrelated ions would have counted.
        densities: float64 (species,), mean densities where ions were counted, per cubic angstrom.
        interior: float64 (species,), mean numbers of ions there.
        valences: of the species.
        blocks: float64 (blocks, pairs, bins), g of equal shares of the samples, in order; what a
            statistical error is to be taken from.
    """

    r: np.ndarray
    g: np.ndarray
    pairs: list[tuple[int, int]]
    counts: np.ndarray
    ideal: np.ndarray
    densities: np.ndarray
    interior: np.ndarray
    valences: tuple[float, ...]
    blocks: np.ndarray

    def of(self, a: int, b: int) -> np.ndarray:
        """g of species a and b, float64 (bins,).

        Raises:
            ValueError: there is no such species.
        """
        return self.g[self.pairs.index((min(a, b), max(a, b)))]


def distance_distribution(
    r: np.ndarray, radius: float | None, box: tuple[float, float, float] | None
) -> np.ndarray:
    """Probability that two independent uniform points are closer than r.

    In a sphere of radius R, with x = r / R: x^3 - 9 x^4 / 16 + x^6 / 32 (the integral of the
    overlap of two balls). In a periodic box, for r up to half the shortest edge: 4 pi r^3 / 3 V.
    """
    if box is not None:
        return 4 / 3 * math.pi * r**3 / math.prod(box)
    assert radius is not None
    x = np.minimum(r / radius, 2.0)
    return x**3 - 9 / 16 * x**4 + x**6 / 32


class PairSampling:
    """Counts of pairs, in blocks of equal numbers of samples.

    Args:
        every: sweeps between samples.
        bin_width, bins: of the histogram, in angstrom.
        interior_radius: ions farther from the center are left out; None in a periodic box.
        box: of a periodic system, or None.
        valences: of the species.
    """

    TYPES: ClassVar[dict[str, Any]] = {  # of the arrays in a checkpoint
        "pair_counts": np.uint64,
        "pair_products": np.float64,
        "pair_interior": np.float64,
        "pair_samples": np.int64,
    }

    def __init__(
        self,
        every: int,
        bin_width: float,
        bins: int,
        interior_radius: float | None,
        box: tuple[float, float, float] | None,
        valences: tuple[float, ...],
    ) -> None:
        self.every = every
        self.bin_width = bin_width
        self.bins = bins
        self.interior_radius = interior_radius
        self.box = box
        self.valences = valences
        pairs = len(species_pairs(len(valences)))
        self._counts = np.zeros((0, pairs, bins), dtype=np.uint64)
        self._products = np.zeros((0, pairs))
        self._interior = np.zeros((0, len(valences)))
        self._samples = np.zeros(0, dtype=np.int64)
        self._per_block = 1

    @property
    def samples(self) -> int:
        """Taken so far."""
        return int(self._samples.sum())

    def take(self, engine: Any) -> None:
        """Add the engine's present configuration."""
        counts, interior = engine.count_pairs(
            self.bin_width, self.bins, self.interior_radius or 0.0, len(self.valences)
        )
        if not self._samples.size or self._samples[-1] == self._per_block:
            if self._samples.size == _MOST_BLOCKS:
                self._merge()
            self._grow()
        n = interior.astype(float)
        self._counts[-1] += counts.reshape(self._counts.shape[1:])
        self._products[-1] += [
            n[a] * n[b] if a != b else n[a] * (n[a] - 1) / 2 for a, b in species_pairs(len(n))
        ]
        self._interior[-1] += n
        self._samples[-1] += 1

    def _grow(self) -> None:
        for name in ("_counts", "_products", "_interior", "_samples"):
            column = getattr(self, name)
            setattr(
                self,
                name,
                np.concatenate((column, np.zeros_like(column, shape=(1, *column.shape[1:])))),
            )

    def _merge(self) -> None:
        for name in ("_counts", "_products", "_interior", "_samples"):
            column = getattr(self, name)
            setattr(self, name, column[0::2] + column[1::2])
        self._per_block *= 2

    def result(self) -> PairCorrelations:
        """g(r) of everything counted.

        Raises:
            RuntimeError: nothing was counted.
        """
        if not self.samples:
            raise RuntimeError("no pair correlation is sampled yet: run longer")
        edges = np.arange(self.bins + 1) * self.bin_width
        share = np.diff(distance_distribution(edges, self.interior_radius, self.box))
        ideal = self._products.sum(axis=0)[:, None] * share
        counts = self._counts.sum(axis=0)
        full = self._samples == self._per_block
        volume = (
            math.prod(self.box)
            if self.box is not None
            else 4 / 3 * math.pi * float(self.interior_radius or 0) ** 3
        )
        interior = self._interior.sum(axis=0) / self.samples
        with np.errstate(divide="ignore", invalid="ignore"):
            blocks = self._counts[full] / (self._products[full][:, :, None] * share)
            g = counts / ideal
        return PairCorrelations(
            r=(edges[1:] + edges[:-1]) / 2,
            g=g,
            pairs=species_pairs(len(self.valences)),
            counts=counts,
            ideal=ideal,
            densities=interior / volume,
            interior=interior,
            valences=self.valences,
            blocks=blocks,
        )

    # ---- checkpoints -----------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        return {
            "every": self.every,
            "bin_width": self.bin_width,
            "bins": self.bins,
            "interior_radius": self.interior_radius,
            "box": self.box,
            "valences": self.valences,
            "per_block": self._per_block,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "pair_counts": self._counts,
            "pair_products": self._products,
            "pair_interior": self._interior,
            "pair_samples": self._samples,
        }

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> PairSampling:
        box = header["box"]
        counts = [header[name] for name in ("every", "bins", "per_block")]
        lengths = [header["bin_width"], *([header["interior_radius"]] if box is None else box)]
        if not all(isinstance(n, int) and n > 0 for n in counts) or not all(
            isinstance(x, (int, float)) and 0 < x < 1e12 for x in lengths
        ):
            raise ValueError(f"sampling of pairs has {header}")
        self = cls(
            header["every"],
            header["bin_width"],
            header["bins"],
            header["interior_radius"],
            None if box is None else tuple(box),
            tuple(header["valences"]),
        )
        self._per_block = header["per_block"]
        for name, key in zip(
            ("_counts", "_products", "_interior", "_samples"), cls.TYPES, strict=True
        ):
            blocks, array = len(arrays["pair_samples"]), arrays[key]
            if array.shape != (blocks, *getattr(self, name).shape[1:]):
                raise ValueError(f"{key} has shape {array.shape}")
            setattr(self, name, array)
        return self
