"""Structure factors of charge and number in a periodic box."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from manymove.analysis.blocks import BlockSums, error_over
from manymove.tables import Record, dataframe

if TYPE_CHECKING:
    import pandas

_MOST_VECTORS = 1_000_000


@dataclass(frozen=True, repr=False, eq=False)
class StructureFactors(Record):
    """Structure factors of an electrolyte, averaged over wave vectors of the same length.

    With :math:`\\rho_Z(\\mathbf k) = \\sum_i z_i e^{i\\mathbf k\\cdot\\mathbf r_i}` and
    :math:`\\rho_N(\\mathbf k) = \\sum_i e^{i\\mathbf k\\cdot\\mathbf r_i}`

    .. math::

       S_{ZZ}(k) = \\frac{\\langle|\\rho_Z|^2\\rangle}{\\sum_i z_i^2}, \\qquad
       S_{NN}(k) = \\frac{\\langle|\\rho_N|^2\\rangle}{N}, \\qquad
       S_{NZ}(k) = \\frac{\\langle\\mathrm{Re}\\,\\rho_N\\rho_Z^*\\rangle}{\\sqrt{N\\sum_i z_i^2}}.

    For large k they tend to the values of uncorrelated ions, which are 1, 1 and 0 in a neutral
    system. Stillinger and Lovett's second moment condition is :math:`S_{ZZ}(k) \\to k^2/\\kappa^2`
    for small k, with the Debye length :math:`1/\\kappa`.

    Attributes:
        k: lengths of the wave vectors in 1/angstrom, float64 (shells,), increasing.
        vectors: number of wave vectors of each length, k and -k counted once, int64 (shells,).
        charge: S_ZZ, float64 (shells,).
        number: S_NN, float64 (shells,).
        cross: S_NZ, float64 (shells,).
        blocks: the three of consecutive blocks of equal numbers of samples, for statistical errors,
            float64 (blocks, 3, shells).
    """

    k: np.ndarray
    vectors: np.ndarray
    charge: np.ndarray
    number: np.ndarray
    cross: np.ndarray
    blocks: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of S_ZZ, S_NN and S_NZ from the blocks, float64 (3, shells).

        They are too small for runs whose blocks are shorter than the correlation times, and NaN for
        fewer than two blocks.
        """
        return error_over(self.blocks)

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Columns of `structure_factors.csv` and of the table: `k_per_angstrom`, `vectors`, and
        S_ZZ, S_NN and S_NZ, each with its error (`S_ZZ_error`)."""
        found = {"k_per_angstrom": self.k, "vectors": self.vectors}
        values = {"S_ZZ": self.charge, "S_NN": self.number, "S_NZ": self.cross}
        for (name, value), error in zip(values.items(), self.errors, strict=True):
            found |= {name: value, f"{name}_error": error}
        return found

    def to_dataframe(self) -> pandas.DataFrame:
        """Table of pandas with a row per length of wave vectors and the `columns`.

        Raises:
            ImportError: pandas is not installed.
        """
        return dataframe(self.columns)

    @staticmethod
    def pool(runs: Sequence[StructureFactors]) -> StructureFactors:
        """Average over independent runs of equal length in equal boxes."""
        charge, number, cross = np.mean([(r.charge, r.number, r.cross) for r in runs], axis=0)
        blocks = np.concatenate([r.blocks for r in runs])
        return StructureFactors(runs[0].k, runs[0].vectors, charge, number, cross, blocks)


def _half_space(box: tuple[float, float, float], k_max: float) -> np.ndarray:
    """Integers n of the wave vectors 2 pi n / L up to k_max, int64 (vectors, 3); of n and -n the
    one whose last component other than 0 is positive."""
    most = [math.floor(k_max * edge / (2 * math.pi) * (1 + 1e-12)) for edge in box]
    estimate = math.prod(2.0 * m + 1 for m in most) / 2
    if estimate > _MOST_VECTORS:
        raise ValueError(
            f"k_max {k_max:.6g} has about {estimate:.2g} wave vectors, more than "
            f"{_MOST_VECTORS:.2g}"
        )
    ranges = (range(-most[0], most[0] + 1), range(-most[1], most[1] + 1), range(most[2] + 1))
    n = np.array(list(itertools.product(*ranges)))
    half = (n[:, 2] > 0) | ((n[:, 2] == 0) & ((n[:, 1] > 0) | ((n[:, 1] == 0) & (n[:, 0] > 0))))
    near = np.linalg.norm(2 * math.pi * n / np.array(box), axis=1) <= k_max * (1 + 1e-12)
    return n[half & near]


@dataclass
class StructureSampling(BlockSums):
    """Sums of structure factors, in blocks of equal numbers of samples.

    Attributes:
        every: number of sweeps between two samples.
        k_max: length of the longest wave vector in 1/angstrom.
        box: edges of the periodic box in angstrom.
        valence: valence of each ion, float64 (N,).
        per_block: number of samples in a complete block.
    """

    TYPES: ClassVar[dict[str, Any]] = {"structure_sums": np.float64, "structure_samples": np.int64}
    every: int
    k_max: float
    box: tuple[float, float, float]
    valence: np.ndarray
    per_block: int = 1

    def __post_init__(self) -> None:
        self._n = _half_space(self.box, self.k_max)
        if not len(self._n):
            raise ValueError(
                f"k_max must be at least 2 pi / {max(self.box):.6g}, the shortest wave vector, "
                f"got {self.k_max:.6g}"
            )
        lengths = np.linalg.norm(2 * math.pi * self._n / np.array(self.box), axis=1)
        # The same length up to rounding.
        order = np.argsort(lengths, kind="stable")
        new = np.diff(lengths[order], prepend=0.0) > 1e-9 * self.k_max
        self._shell = np.empty(len(order), dtype=np.int64)
        self._shell[order] = np.cumsum(new) - 1
        self._k = lengths[order][new]
        self._vectors = np.bincount(self._shell)
        self._begin((3, self._k.size))

    @property
    def settings(self) -> dict[str, Any]:
        """What a checkpoint keeps of it besides the arrays."""
        return {"every": self.every, "k_max": self.k_max, "per_block": self.per_block}

    def take(self, engine: Any) -> None:
        """Add the engine's present configuration."""
        fractions = engine.positions().reshape(-1, 3) / np.array(self.box)
        most = np.abs(self._n).max(axis=0)
        x, y, z = (
            np.exp(2j * math.pi * np.outer(np.arange(-m, m + 1), fractions[:, axis]))
            for axis, m in enumerate(most)
        )
        z = z[most[2] :].T.copy()
        found = np.empty((2, *(2 * most[:2] + 1), most[2] + 1), dtype=complex)
        for i, row in enumerate(x):
            plane = y * row
            found[0, i] = plane @ z
            found[1, i] = (plane * self.valence) @ z
        a, b, c = self._n.T
        number, charge = found[:, a + most[0], b + most[1], c]
        squares, own = (self.valence**2).sum(), float(self.valence.size)
        values = (
            abs(charge) ** 2 / squares,
            abs(number) ** 2 / own,
            (number * charge.conj()).real / math.sqrt(own * squares),
        )
        self._add(np.stack([np.bincount(self._shell, v) / self._vectors for v in values]))

    def result(self) -> StructureFactors:
        """Averages of everything sampled.

        Raises:
            RuntimeError: nothing was sampled.
        """
        if not self.samples:
            raise RuntimeError("no structure factor is sampled yet: run longer")
        sums, samples = self.arrays.values()
        charge, number, cross = sums.sum(axis=0) / self.samples
        blocks = sums[samples == self.per_block] / self.per_block
        return StructureFactors(self._k, self._vectors, charge, number, cross, blocks)

    @classmethod
    def restored(
        cls,
        settings: dict[str, Any],
        arrays: Mapping[str, np.ndarray],
        box: tuple[float, float, float],
        valence: np.ndarray,
    ) -> StructureSampling:
        """From the `settings` and the arrays of another.

        Raises:
            ValueError: they are damaged.
        """
        counts = settings["every"], settings["per_block"]
        if not all(isinstance(n, int) and n > 0 for n in counts):
            raise ValueError(f"sampling of structure factors has {settings}")
        self = cls(counts[0], float(settings["k_max"]), box, valence, counts[1])
        self._take_arrays(arrays)
        return self
