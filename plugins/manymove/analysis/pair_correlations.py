"""Pair correlation functions from counted pairs, normalized for the geometry exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from manymove.analysis.blocks import BlockSums, error_over
from manymove.tables import Record, dataframe

if TYPE_CHECKING:
    import pandas


def species_pairs(species: int) -> list[tuple[int, int]]:
    """(0, 0), (0, 1), ..., (1, 1), (1, 2), ...: the order of the engine's histograms."""
    return [(a, b) for a in range(species) for b in range(a, species)]


@dataclass(frozen=True, repr=False, eq=False)
class PairCorrelations(Record):
    """Pair correlation functions g_ab(r) of all pairs of species.

    Attributes:
        r: centers of the bins in angstrom, float64 (bins,).
        g: pair correlation functions, float64 (pairs, bins), in the order of `pairs`.
        pairs: indices (a, b) of the species of each row, a <= b.
        counts: number of counted pairs, uint64 (pairs, bins).
        ideal: number of pairs expected for uncorrelated ions, float64 (pairs, bins).
        densities: mean densities in the sampled region per cubic angstrom, float64 (species,).
        interior: mean numbers of ions in the sampled region, float64 (species,).
        valences: valences of the species.
        blocks: g of consecutive blocks of equal numbers of samples, for statistical errors,
            float64 (blocks, pairs, bins).
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
        """Pair correlation function of the species a and b, float64 (bins,).

        Raises:
            ValueError: there is no such species.
        """
        pair = (min(a, b), max(a, b))
        if pair not in self.pairs:
            raise ValueError(f"there are no species {a} and {b}: the pairs are {self.pairs}")
        return self.g[self.pairs.index(pair)]

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of g from the blocks, float64 (pairs, bins); NaN for fewer than two
        blocks. They are too small for runs whose blocks are shorter than the correlation times."""
        return error_over(self.blocks)

    def to_dataframe(self) -> pandas.DataFrame:
        """Table of pandas with a row per bin: `r_angstrom`, and for each pair of species such as
        01 its `g_01`, `g_01_error` and number of counted pairs `pairs_01`.

        Raises:
            ImportError: pandas is not installed.
        """
        columns: dict[str, np.ndarray] = {"r_angstrom": self.r}
        rows = zip(self.pairs, self.g, self.errors, self.counts, strict=True)
        for (a, b), g, error, counts in rows:
            columns |= {f"g_{a}{b}": g, f"g_{a}{b}_error": error, f"pairs_{a}{b}": counts}
        return dataframe(columns)


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


@dataclass
class PairSampling(BlockSums):
    """Counts of pairs, in blocks of equal numbers of samples.

    Attributes:
        every: number of sweeps between two samples.
        bin_width: width of the bins of the histogram in angstrom.
        bins: number of bins.
        interior_radius: radius in angstrom of the region whose ions are counted; None in a periodic
            box.
        box: edges of the periodic box in angstrom, or None.
        valences: valences of the species.
        per_block: number of samples in a complete block.
    """

    TYPES: ClassVar[dict[str, Any]] = {  # of the arrays in a checkpoint
        "pair_counts": np.uint64,
        "pair_products": np.float64,
        "pair_interior": np.float64,
        "pair_samples": np.int64,
    }
    every: int
    bin_width: float
    bins: int
    interior_radius: float | None
    box: tuple[float, float, float] | None
    valences: tuple[float, ...]
    per_block: int = 1

    def __post_init__(self) -> None:
        pairs, species = len(species_pairs(len(self.valences))), len(self.valences)
        self._begin((pairs, self.bins), (pairs,), (species,))

    def take(self, engine: Any) -> None:
        """Add the engine's present configuration."""
        counts, interior = engine.count_pairs(
            self.bin_width, self.bins, self.interior_radius or 0.0, len(self.valences)
        )
        n = interior.astype(float)
        products = [
            n[a] * n[b] if a != b else n[a] * (n[a] - 1) / 2 for a, b in species_pairs(n.size)
        ]
        self._add(counts.reshape(-1, self.bins), products, n)

    def result(self) -> PairCorrelations:
        """g(r) of everything counted.

        Raises:
            RuntimeError: nothing was counted.
        """
        if not self.samples:
            raise RuntimeError("no pair correlation is sampled yet: run longer")
        edges = np.arange(self.bins + 1) * self.bin_width
        share = np.diff(distance_distribution(edges, self.interior_radius, self.box))
        all_counts, products, all_interior, samples = self.arrays.values()
        ideal = products.sum(axis=0)[:, None] * share
        counts = all_counts.sum(axis=0)
        full = samples == self.per_block
        volume = (
            math.prod(self.box)
            if self.box is not None
            else 4 / 3 * math.pi * float(self.interior_radius or 0) ** 3
        )
        interior = all_interior.sum(axis=0) / self.samples
        with np.errstate(divide="ignore", invalid="ignore"):
            blocks = all_counts[full] / (products[full][:, :, None] * share)
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

    @classmethod
    def restored(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> PairSampling:
        """From `asdict` and the arrays of another."""
        box = header["box"]
        counts = [header[name] for name in ("every", "bins", "per_block")]
        lengths = [header["bin_width"], *([header["interior_radius"]] if box is None else box)]
        if not all(isinstance(n, int) and n > 0 for n in counts) or not all(
            isinstance(x, (int, float)) and 0 < x < 1e12 for x in lengths
        ):
            raise ValueError(f"sampling of pairs has {header}")
        known = {one.name: header[one.name] for one in fields(cls)}
        valences = tuple(header["valences"])
        self = cls(**{**known, "box": None if box is None else tuple(box), "valences": valences})
        self._take_arrays(arrays)
        return self
