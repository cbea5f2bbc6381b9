"""What an electrolyte samples between its runs: pair correlations and structure factors."""

from __future__ import annotations

import math

import numpy as np

from manymove import arguments
from manymove.analysis.ions import Species
from manymove.analysis.pair_correlations import PairCorrelations, PairSampling
from manymove.analysis.structure_factors import StructureFactors, StructureSampling
from manymove.errors import ParameterError


class Sampling:
    """The part of `Electrolyte` that samples."""

    box: tuple[float, float, float] | None
    radius: float | None
    debye_length: float
    _species: tuple[Species, ...]
    _sampling: PairSampling | None
    _structure: StructureSampling | None

    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        raise NotImplementedError

    # ---- pair correlations -----------------------------------------------------------------------

    def sample_pair_correlations(
        self,
        every: int | None,
        *,
        bin_width: float = 0.25,
        farthest: float | None = None,
        margin: float | None = None,
    ) -> None:
        """Sample the pair correlation functions of all pairs of species in the following runs.

        Earlier samples are discarded.

        Args:
            every: number of sweeps between two samples; None stops sampling.
            bin_width: width of the bins in angstrom.
            farthest: maximum distance in angstrom; default the diameter of the interior or half the
                shortest edge, at most 20 bare Debye lengths.
            margin: distance from the wall in angstrom within which ions are left out; default ten
                bare Debye lengths, as in the paper, at most half the radius. It must be None in a
                periodic box.

        Raises:
            ValueError: a number is out of range.
            TypeError: every is not an integer.
        """
        if every is None:
            self._sampling = None
            return
        every = arguments.count("every", every)
        if self.box is not None:
            if margin is not None:
                raise ValueError("a periodic box has no wall: margin must be None")
            interior, most = None, min(self.box) / 2
        else:
            radius = float(self.radius or 0)
            if margin is None:
                margin = min(10 * self.debye_length, radius / 2)
            if not 0 <= margin < radius:
                raise ParameterError("margin", f"must be from 0 to below {radius}, got {margin}")
            interior, most = radius - margin, 2 * (radius - margin)
        if not 0 < bin_width <= most:
            raise ParameterError(
                "bin_width", f"must be positive and at most {most:.6g}, got {bin_width}"
            )
        if farthest is None:
            farthest = min(most, 20 * self.debye_length)
        if not bin_width <= farthest <= most * (1 + 1e-12):
            raise ValueError(f"farthest must be from bin_width to {most:.6g}, got {farthest}")
        wanted = farthest / bin_width * (1 + 1e-12)
        if wanted > 1_000_000:
            raise ValueError(f"{wanted:.6g} bins are too many: raise bin_width")
        bins = int(wanted)
        valences = tuple(s.valence for s in self._species)
        self._sampling = PairSampling(every, bin_width, bins, interior, self.box, valences)

    @property
    def pair_sampling(self) -> PairSampling | None:
        """Settings of `sample_pair_correlations` and number of samples; None without sampling."""
        return self._sampling

    @property
    def pair_correlations(self) -> PairCorrelations:
        """Pair correlation functions g_ab(r) from all samples.

        Raises:
            RuntimeError: nothing was sampled.
        """
        if self._sampling is None:
            raise RuntimeError("nothing sampled: call sample_pair_correlations(every=...) and run")
        return self._sampling.result()

    # ---- structure factors -----------------------------------------------------------------------

    def sample_structure_factors(self, every: int | None, *, k_max: float | None = None) -> None:
        """Sample the structure factors of charge and number in the following runs.

        Earlier samples are discarded. A sample is computed on the CPU, which takes about 4e-8 s for
        each ion and wave vector.

        Args:
            every: number of sweeps between two samples; None stops sampling.
            k_max: length of the longest wave vector in 1/angstrom; default 16 pi / L for the
                longest edge L, which is eight times the length of the shortest wave vector.

        Raises:
            ValueError: the cell is a sphere, or a number is out of range.
            TypeError: every is not an integer.
        """
        if every is None:
            self._structure = None
            return
        if self.box is None:
            raise ValueError("structure factors need a periodic box")
        every = arguments.count("every", every)
        if k_max is None:
            k_max = 16 * math.pi / max(self.box)
        k_max = arguments.positive_and_finite("k_max", k_max)
        self._structure = StructureSampling(every, k_max, self.box, self._columns()[0])

    @property
    def structure_factors(self) -> StructureFactors:
        """Structure factors from all samples.

        Raises:
            RuntimeError: nothing was sampled.
        """
        if self._structure is None:
            raise RuntimeError("nothing sampled: call sample_structure_factors(every=...) and run")
        return self._structure.result()
