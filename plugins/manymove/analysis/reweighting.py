# SPDX-License-Identifier: BSD-3-Clause
"""Vapor-liquid coexistence from grand-canonical runs, by multiple histograms and equal weights.

Energies and temperatures kT are in the same unit, such as the depth of a square well. Fugacities
are z = exp(mu / kT) / Lambda^D, and pressures are in the unit of energy per volume.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from manymove import arguments
from manymove.analysis.notation import Estimate
from manymove.analysis.phases import root
from manymove.errors import ParameterError
from manymove.tables import Record

_ITERATIONS = 200  # of Newton's method; about ten are needed
_OVERLAP = 1e-4  # spectral gap of the overlap matrix below which runs have nothing in common
_VALLEY = 0.8  # of the lower peak; a higher valley is no sign of two phases
_SCAN = 1001  # fugacities at which the largest fluctuations are looked for
# <m^2>^2 / <m^4> of the fluctuations m at a critical point of Ising's universality class in a cubic
# periodic box, and how far from the temperature of the warmest run it is looked for, relative to
# that temperature.
_CRITICAL_RATIO, _AROUND = 0.6236, 0.1


def _log_sum(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    """ln of the sum of exp(values), where minus infinity stands for zero."""
    most = values.max(axis=axis, keepdims=True)
    most = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        found = np.log(np.exp(values - most).sum(axis=axis, keepdims=True)) + most
    return np.squeeze(found, axis=axis)


@dataclass(frozen=True, repr=False, eq=False)
class GrandRun(Record):
    """The records of a run at constant fugacity, volume and temperature.

    Args:
        fugacity: z.
        temperature: kT.
        numbers: number of particles in each record, integers (n,).
        energies: energy in each record, (n,).
        weights: weight of each record, (n,) (default 1).

    Raises:
        ValueError: the arrays differ in length or are empty, or a number is out of range.
    """

    fugacity: float
    temperature: float
    numbers: np.ndarray
    energies: np.ndarray
    weights: np.ndarray | None = None
    _weights: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("fugacity", "temperature"):
            arguments.positive_and_finite(name, getattr(self, name))
        numbers, energies = np.asarray(self.numbers), np.asarray(self.energies, dtype=np.float64)
        weights = np.ones(len(numbers)) if self.weights is None else np.asarray(self.weights)
        if not (numbers.ndim == 1 and numbers.shape == energies.shape == weights.shape):
            raise ParameterError("energies", "must be one for each number of particles")
        if numbers.dtype.kind not in "iu" or not len(numbers) or numbers.min() < 0:
            raise ParameterError("numbers", "must be integers that are not negative, (n,)")
        if not (np.isfinite(energies).all() and (weights >= 0).all() and weights.sum() > 0):
            raise ParameterError("energies and weights", "must be finite, and weights positive")
        for name, value in (("numbers", numbers), ("energies", energies), ("_weights", weights)):
            object.__setattr__(self, name, value)

    def _block(self, index: int, count: int) -> np.ndarray:
        """Mask of the records of one of several consecutive blocks, bool (n,)."""
        return np.arange(len(self.numbers)) * count // len(self.numbers) == index


@dataclass(frozen=True)
class VaporLiquid:
    """Coexisting vapor and liquid.

    Attributes:
        temperature: kT.
        fugacity: z of both phases.
        pressure: pressure of both phases.
        densities: numbers of particles per volume of vapor and liquid.
    """

    temperature: float
    fugacity: Estimate
    pressure: Estimate
    densities: tuple[Estimate, Estimate]


@dataclass(frozen=True)
class CriticalPoint:
    """The critical point of vapor and liquid.

    Attributes:
        temperature: kT, in the unit of the energies.
        density: mean number of particles per volume.
    """

    temperature: Estimate
    density: Estimate


@dataclass(frozen=True, repr=False, eq=False)
class MultipleHistograms(Record):
    """The density of states of grand-canonical runs at several fugacities and temperatures.

    Every run contributes with its statistical weight (A. M. Ferrenberg and R. H. Swendsen, Phys.
    Rev. Lett. 63, 1195, 1989). The energies need not be divided into bins (M. R. Shirts and
    J. D. Chodera, J. Chem. Phys. 129, 124105, 2008).

    Args:
        runs: the runs in the same volume. Neighboring ones must have states in common, and one of
            them must have records without particles.
        volume: volume of the box.

    Raises:
        ValueError: runs have no states in common, or none has records without particles.
    """

    runs: Sequence[GrandRun]
    volume: float
    _numbers: np.ndarray = field(init=False, repr=False)
    _energies: np.ndarray = field(init=False, repr=False)
    _states: np.ndarray = field(init=False, repr=False)  # ln of the numbers of states

    def __post_init__(self) -> None:
        arguments.positive_and_finite("volume", self.volume)
        if not self.runs:
            raise ParameterError("runs", "must be at least one")
        records = np.concatenate([run.numbers + 1j * run.energies for run in self.runs])
        weights = np.concatenate([run._weights for run in self.runs])
        pairs, where = np.unique(records[weights > 0], return_inverse=True)
        counts = np.bincount(where.ravel(), weights[weights > 0])
        lengths = np.array([run._weights.sum() for run in self.runs])
        object.__setattr__(self, "_numbers", pairs.real.astype(int))
        object.__setattr__(self, "_energies", pairs.imag)
        if not (empty := pairs == 0).any():
            raise ParameterError(
                "runs", "have no records without particles: add smaller fugacities"
            )
        states = self._solved(counts, lengths)
        object.__setattr__(self, "_states", states - _log_sum(states[empty]))

    def _solved(self, counts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """ln of the number of states of each pair of N and E, up to a constant, by Newton's method
        for the convex function whose minimum has the free energies f of the runs."""
        weights = np.stack(
            [
                self._numbers * math.log(r.fugacity) - self._energies / r.temperature
                for r in self.runs
            ]
        )
        lengths_log = np.log(lengths)

        def below(f: np.ndarray) -> np.ndarray:
            return _log_sum(weights + (lengths_log - f)[:, None], axis=0)

        def value(f: np.ndarray) -> float:
            return float(lengths @ f + counts @ below(f))

        def repeated(f: np.ndarray) -> np.ndarray:
            f = _log_sum(weights + np.log(counts) - below(f), axis=1)
            return f - f[0]

        f = np.zeros(len(self.runs))
        for _ in range(10):
            f = repeated(f)
        for _ in range(_ITERATIONS):
            shares = np.exp(weights + (lengths_log - f)[:, None] - below(f))
            slope = lengths - shares @ counts
            if abs(slope).max() <= 1e-9 * lengths.sum():
                break
            bend = np.diag(shares @ counts) - (shares * counts) @ shares.T
            step = np.linalg.lstsq(bend[1:, 1:], slope[1:], rcond=1e-13)[0]
            size, now = 1.0, value(f)
            while size > 1e-6 and value(f - np.append(0, size * step)) > now:
                size /= 2
            # Far from the minimum the function may be too flat for a step of Newton's method.
            f = f - np.append(0, size * step) if size > 1e-6 else repeated(f)
        overlaps = (shares * counts) @ shares.T / lengths[:, None]
        gaps = 1 - np.sort(np.linalg.eigvals(overlaps).real)
        unsolved = abs(slope).max() > 1e-6 * lengths.sum()
        if unsolved or (len(gaps) > 1 and gaps[-2] < _OVERLAP):
            raise ParameterError(
                "runs",
                "have no states in common: add runs at fugacities or temperatures between them",
            )
        return np.log(counts) - below(f)

    def _canonical(self, temperature: float) -> np.ndarray:
        """ln of the configuration integral of N particles, divided by N!, for N from 0 to the
        largest one; minus infinity for numbers without records."""
        terms = self._states - self._energies / temperature
        found = np.full(self._numbers.max() + 1, -np.inf)
        np.logaddexp.at(found, self._numbers, terms)
        return found

    def distribution(self, fugacity: float, temperature: float) -> np.ndarray:
        """Probability of each number of particles from 0 to the largest one, (n,)."""
        arguments.positive_and_finite("fugacity", fugacity)
        arguments.positive_and_finite("temperature", temperature)
        return self._weighted(self._canonical(temperature), math.log(fugacity))[0]

    def pressure(self, fugacity: float, temperature: float) -> float:
        """kT ln(Xi) / V with the grand partition function Xi."""
        arguments.positive_and_finite("fugacity", fugacity)
        arguments.positive_and_finite("temperature", temperature)
        log_xi = self._weighted(self._canonical(temperature), math.log(fugacity))[1]
        return temperature * log_xi / self.volume

    @staticmethod
    def _weighted(canonical: np.ndarray, log_z: float) -> tuple[np.ndarray, float]:
        """The probabilities of the numbers of particles, and ln(Xi)."""
        terms = canonical + log_z * np.arange(len(canonical))
        log_xi = float(_log_sum(terms))
        return np.exp(terms - log_xi), log_xi

    def coexistence(self, temperature: float) -> tuple[float, float, float, float]:
        """Fugacity, pressure, and the densities of vapor and liquid at a temperature.

        The numbers of particles on both sides of their mean have the same probability. Each phase
        has half of the partition function.

        Raises:
            ValueError: the distribution of the number of particles has no two peaks, or no run has
                a number between them.
        """
        arguments.positive_and_finite("temperature", temperature)
        canonical = self._canonical(temperature)
        N = np.arange(len(canonical))
        known = np.log([run.fugacity for run in self.runs])
        scan = np.linspace(known.min() - 0.5, known.max() + 0.5, _SCAN)
        p = np.exp(
            canonical + scan[:, None] * N - _log_sum(canonical + scan[:, None] * N, 1)[:, None]
        )
        log_z = float(scan[np.argmax(p @ N**2 - (p @ N) ** 2)])
        for _ in range(8):  # the mean moves a little
            p, _ = self._weighted(canonical, log_z)
            sides = np.clip(2 * (N - p @ N), -1, 1)

            def excess(log_z: float, sides: np.ndarray = sides) -> float:
                return float(self._weighted(canonical, log_z)[0] @ sides)

            log_z = root(excess, float(scan[0]), float(scan[-1]))
        p, log_xi = self._weighted(canonical, log_z)
        self._check_peaks(p, temperature)
        share = (1 - sides) / 2 * p, (1 + sides) / 2 * p
        densities = [float(each @ N / each.sum()) / self.volume for each in share]
        pressure = temperature * (log_xi - math.log(2)) / self.volume
        return math.exp(log_z), pressure, densities[0], densities[1]

    def critical_point(self) -> tuple[float, float]:
        """Temperature and density at the critical point, from the fluctuations m = N - <N>.

        The largest ratio <m^2>^2 / <m^4> at any fugacity grows from 1/3 in a fluid to 1 at
        coexistence of vapor and liquid. At the critical temperature it is 0.6236 in a large cubic
        box, as in all systems of Ising's universality class (E. Luijten, M. E. Fisher and A. Z.
        Panagiotopoulos, Phys. Rev. Lett. 88, 185701, 2002).

        Raises:
            ValueError: the ratio has no such value within a tenth of the highest temperature.
        """
        warmest = max(run.temperature for run in self.runs)
        low, high = ((1 + sign * _AROUND) * warmest for sign in (-1, 1))
        if not self._largest_ratio(low)[0] > _CRITICAL_RATIO > self._largest_ratio(high)[0]:
            text = f"have no critical point near their highest temperature, {warmest:g}"
            raise ParameterError("runs", text)
        T = root(lambda T: self._largest_ratio(T)[0] - _CRITICAL_RATIO, low, high)
        return T, self._largest_ratio(T)[1]

    def _largest_ratio(self, temperature: float) -> tuple[float, float]:
        """The largest <m^2>^2 / <m^4> at the fugacities of the runs, and the density there."""
        canonical = self._canonical(temperature)
        N = np.arange(len(canonical))
        known = np.log([run.fugacity for run in self.runs])
        low, high = known.min(), known.max()
        for _ in range(2):  # the second one between neighbors of the largest of the first
            scan = np.linspace(low, high, _SCAN)
            terms = canonical + scan[:, None] * N
            p = np.exp(terms - _log_sum(terms, 1)[:, None])
            squares = (N - (p @ N)[:, None]) ** 2
            ratios = (p * squares).sum(axis=1) ** 2 / (p * squares**2).sum(axis=1)
            best = int(np.argmax(ratios))
            low, high = scan[max(0, best - 1)], scan[min(_SCAN - 1, best + 1)]
        return float(ratios[best]), float(p[best] @ N) / self.volume

    @staticmethod
    def _check_peaks(p: np.ndarray, temperature: float) -> None:
        middle = round(float(p @ np.arange(len(p))))
        low, high = int(p[:middle].argmax()) if middle else 0, middle + int(p[middle:].argmax())
        between = p[low : high + 1]
        if not between.min() < _VALLEY * min(p[low], p[high]):
            raise ParameterError(
                "temperature",
                f"is {temperature:g}, where the number of particles has no two peaks: use "
                "longer runs, a larger box or a lower temperature",
            )
        if not between.all():
            raise ParameterError(
                "runs",
                f"have no records with {low + int(between.argmin())} particles: add runs at "
                "a temperature near the critical one",
            )


def vapor_liquid(
    runs: Sequence[GrandRun],
    volume: float,
    temperatures: Sequence[float],
    *,
    blocks: int = 10,
) -> list[VaporLiquid]:
    """Coexisting vapor and liquid at several temperatures.

    The errors are those of the jackknife over consecutive blocks of all runs: each of the
    evaluations leaves out one block of every run. The blocks must be longer than the correlation
    times. The errors are NaN if the phases are not connected without one of the blocks.

    Args:
        runs, volume: as in `MultipleHistograms`.
        temperatures: the temperatures, near those of the runs.
        blocks: number of blocks of each run.

    Raises:
        ValueError: an error of `MultipleHistograms`, or of its `coexistence`.
    """
    values, errors = _jackknife(
        runs, volume, blocks,
        [partial(MultipleHistograms.coexistence, temperature=T) for T in temperatures],
    )  # fmt: skip
    found = []
    for temperature, row, error in zip(temperatures, values, errors, strict=True):
        fugacity, pressure, vapor, liquid = map(Estimate, row, error)
        found.append(VaporLiquid(temperature, fugacity, pressure, (vapor, liquid)))
    return found


def critical_point(runs: Sequence[GrandRun], volume: float, *, blocks: int = 10) -> CriticalPoint:
    """The critical point of vapor and liquid by `MultipleHistograms.critical_point`, with the
    errors of the jackknife of `vapor_liquid`. The errors are NaN if the runs do not reach the
    critical point without one of the blocks.

    Args:
        runs, volume, blocks: as in `vapor_liquid`, with runs slightly below the critical
            temperature that visit both phases.

    Raises:
        ValueError: an error of `MultipleHistograms`, or of its `critical_point`.
    """
    (value,), (error,) = _jackknife(runs, volume, blocks, [MultipleHistograms.critical_point])
    return CriticalPoint(*map(Estimate, value, error))


def _jackknife(
    runs: Sequence[GrandRun],
    volume: float,
    blocks: int,
    functions: Sequence[Callable[[MultipleHistograms], tuple[float, ...]]],
) -> tuple[list[tuple[float, ...]], list[list[float]]]:
    """The values of functions of the histograms, a row for each, and their errors; NaN for a
    function that has no value without one of the blocks."""
    if arguments.count("blocks", blocks) < 2:
        raise ParameterError("blocks", f"must be at least 2, got {blocks}")
    if min((len(run.numbers) for run in runs), default=0) < blocks:
        raise ParameterError("runs", f"must have at least {blocks} records each")
    whole = MultipleHistograms(runs, volume)
    values = [function(whole) for function in functions]
    others = np.full((blocks, len(values), len(values[0]) if values else 0), np.nan)
    for index, some in enumerate(others):
        left = [
            GrandRun(
                run.fugacity, run.temperature, run.numbers, run.energies,
                np.where(run._block(index, blocks), 0.0, run._weights),
            )
            for run in runs
        ]  # fmt: skip
        with suppress(ValueError):
            histograms = MultipleHistograms(left, volume)
            for row, function in zip(some, functions, strict=True):
                with suppress(ValueError):
                    row[:] = function(histograms)
    return values, (math.sqrt(blocks - 1) * np.std(others, axis=0)).tolist()
