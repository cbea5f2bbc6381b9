"""Renormalised Debye length, valences and permittivity of an electrolyte, from its g(r).

Dressed-ion theory (R. Kjellander, D. J. Mitchell, Chem. Phys. Lett. 200, 76, 1992; J. Chem. Phys.
101, 603, 1994), as used by Y. Liang, X. Xing, Y. Li (2017), whose equation numbers are given. In
units of kT, e and angstrom, with l_B the Bjerrum length of the solvent:

    U_ab(r) = -ln g_ab(r)             ~ z_a z_b (l_B eps / eps_R) e^(-kR r) / r
    rho_a(r) = sum_b n_b z0_b g_ab(r) ~ -(kR^2 z_a eps / 4 pi eps_R) e^(-kR r) / r

z0 are the bare and z the renormalised valences. The charge around an ion has the opposite sign of
the ion: the paper's Eqs. 13 and 14 lack the minus sign that its Eqs. 16 to 18 have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manymove.ions import debye_length
from manymove.pair_correlations import PairCorrelations

_LEAST_POINTS = 8
_LINEAR = 0.05  # kT, up to which |U| counts as small
_LEAST_SIGNIFICANCE = 5.0  # of an amplitude, in standard errors


@dataclass(frozen=True)
class DressedIons:
    """Renormalised parameters of a salt of two species. Errors are standard errors, NaN where the
    data give none.

    Attributes:
        debye_length, debye_length_error: 1 / kR, in angstrom.
        valences: ((z_0 by way of species 0, by way of 1), (z_1 by way of 0, by way of 1)), Eq. 17.
        valence_errors: of each.
        permittivity: eps_R / eps by way of the two species, Eq. 18.
        permittivity_errors: of each.
        bare_debye_length: Eq. 5, from the densities where ions were counted.
        screening_ratio: (kR / kappa)^2, and
        charge_ratio: (z_0 - z_1) / (z0_0 - z0_1), which Eq. 8 says are equal; with their errors.
        offset: largest |g - 1| beyond the window, from the fluctuating numbers of ions counted and
            the fixed number of all, of order 1 / N; already divided out.
        signal: smallest |U_aa| of the fit at the window's end, to compare with it.
        window: first and last distance used, in angstrom.
        chi_square: of the fit of the charge densities, per degree of freedom.
    """

    debye_length: float
    debye_length_error: float
    valences: tuple[tuple[float, float], tuple[float, float]]
    valence_errors: tuple[tuple[float, float], tuple[float, float]]
    permittivity: tuple[float, float]
    permittivity_errors: tuple[float, float]
    bare_debye_length: float
    screening_ratio: float
    screening_ratio_error: float
    charge_ratio: float
    charge_ratio_error: float
    offset: float
    signal: float
    window: tuple[float, float]
    chi_square: float


def potential_of_mean_force(g: np.ndarray) -> np.ndarray:
    """U = -ln g in kT (Eq. 11); infinite where g is 0."""
    with np.errstate(divide="ignore"):
        return -np.log(g)


def charge_density(
    g: np.ndarray, densities: Sequence[float], valences: Sequence[float]
) -> np.ndarray:
    """Mean charge density around an ion of each species (Eq. 12), in e per cubic angstrom.

    The mean of the rest of the system, sum n z, which the interior of a sphere may have by chance,
    is subtracted.

    Args:
        g: float64 (3, bins), of the pairs 00, 01 and 11.
        densities, valences: of the two species.

    Returns:
        float64 (2, bins).
    """
    n, z = np.asarray(densities), np.asarray(valences)
    h = np.array([[g[0], g[1]], [g[1], g[2]]]) - 1
    return np.einsum("b,abr->ar", n * z, h)


def dressed_ions(
    correlations: PairCorrelations | Sequence[PairCorrelations],
    bjerrum_length: float,
    window: tuple[float, float] | None = None,
    tail: float | None = None,
) -> DressedIons:
    """Fit the far field of the pair correlations of a salt.

    kR and the amplitudes of r rho_0 and r rho_1 come from one weighted least-squares fit of
    exponentials (that of ln |r rho| with the bias of the logarithm avoided, Eqs. 13 and 14), those
    of r U_ab from another at this kR; their ratios give the valences (Eq. 17) and permittivities
    (Eq. 18). Errors: from independent runs, if four or more are given, by the jackknife; otherwise
    by the jackknife over blocks of the samples.

    Args:
        correlations: of one run, or of several independent ones of equal length and bins.
        bjerrum_length: l_B in angstrom.
        window: distances fitted. Default from where all |U_ab| have fallen to 0.05 kT, for the
            theory is of first order in U (and from 1.5 bare Debye lengths on), to six.
        tail: distance from which g is taken for uncorrelated; default eight bare Debye lengths, or
            the window's end if that is more. Without any, nothing is divided out and `offset` is
            NaN.

    Raises:
        ValueError: other than two species of opposite charge, a window with too few bins, or data
            in which no screened far field is found.
    """
    runs = [correlations] if isinstance(correlations, PairCorrelations) else list(correlations)
    if not runs:
        raise ValueError("no pair correlations given")
    first = runs[0]
    if len(first.valences) != 2 or first.valences[0] * first.valences[1] >= 0:
        raise ValueError("the dressed-ion analysis is for two species of opposite charge")
    if any(run.g.shape != first.g.shape for run in runs):
        raise ValueError("the runs have different bins")
    densities = np.mean([run.densities for run in runs], axis=0)
    ideal = np.sum([run.ideal for run in runs], axis=0)
    counts = np.sum([run.counts for run in runs], axis=0).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        g = counts / ideal
        noise = np.sqrt(np.maximum(counts, 1)) / ideal
    bare = debye_length(densities, first.valences, bjerrum_length)
    if window is None:
        begin = _linear_from(first.r, counts, ideal, bare)
        window = (max(1.5 * bare, begin), 6 * bare)
    inside = (first.r >= window[0]) & (first.r <= window[1])
    if inside.sum() < _LEAST_POINTS:
        raise ValueError(
            f"the window from {window[0]:.4g} to {window[1]:.4g} angstrom holds {inside.sum()} "
            f"bins of data; {_LEAST_POINTS} are needed"
        )
    far = first.r >= (max(window[1], 8 * bare) if tail is None else tail)
    fit = _Fit(first.r, inside, far, noise, densities, first.valences, bjerrum_length)
    values = fit(g)
    if not fit.significance(g, values[0]) > _LEAST_SIGNIFICANCE:
        raise ValueError("no screened far field stands out of the noise: run longer")
    samples = [run.g for run in runs] if len(runs) >= 4 else [b for r in runs for b in r.blocks]
    errors = _jackknife(fit, samples) if len(samples) >= 4 else np.full(len(values), math.nan)
    offset = fit.offset(g) if far.any() else np.full(3, math.nan)
    (kappa, z00, z01, z10, z11, e0, e1, screening, charge), e = values, errors
    end = float(first.r[inside][-1])
    weakest = min(abs(z00), abs(z11)) ** 2
    return DressedIons(
        debye_length=1 / kappa,
        debye_length_error=e[0] / kappa**2,
        valences=((z00, z01), (z10, z11)),
        valence_errors=((e[1], e[2]), (e[3], e[4])),
        permittivity=(e0, e1),
        permittivity_errors=(e[5], e[6]),
        bare_debye_length=bare,
        screening_ratio=screening,
        screening_ratio_error=e[7],
        charge_ratio=charge,
        charge_ratio_error=e[8],
        offset=float(np.abs(offset).max()),
        signal=weakest * bjerrum_length * math.exp(-kappa * end) / end,
        window=(float(first.r[inside][0]), end),
        chi_square=fit.chi_square(g, kappa),
    )


def _linear_from(r: np.ndarray, counts: np.ndarray, ideal: np.ndarray, debye: float) -> float:
    """Distance beyond which, up to six Debye lengths, no |U| is above the limit by three errors.

    U is smoothed over a quarter of a Debye length, and taken relative to its mean beyond.
    """
    box = np.ones(max(1, round(debye / 4 / (r[1] - r[0]))))
    far, near = r > 6 * debye, r <= 6 * debye
    strong = np.zeros(int(near.sum()), dtype=bool)
    for n, expected in zip(counts, ideal, strict=True):
        level = n[far].sum() / expected[far].sum() if expected[far].sum() > 0 else 1.0
        seen = np.convolve(n, box, "same")[near]
        mean = level * np.convolve(expected, box, "same")[near]
        limit = _LINEAR + 3 / np.sqrt(np.maximum(mean, 1e-300))
        with np.errstate(divide="ignore", invalid="ignore"):
            strong |= (mean > 0) & (np.abs(np.log(seen / mean)) > limit)
    return float(r[np.flatnonzero(strong)[-1]]) if strong.any() else 0.0


class _Fit:
    """From g to kR, the valences by both ways, the permittivities and both sides of Eq. 8."""

    def __init__(
        self,
        r: np.ndarray,
        inside: np.ndarray,
        far: np.ndarray,
        noise: np.ndarray,
        densities: np.ndarray,
        valences: tuple[float, ...],
        bjerrum: float,
    ) -> None:
        self._r, self._inside, self._far = r[inside], inside, far
        self._noise = noise[:, inside]
        self._weights = 1 / noise**2
        self._n, self._z, self._bjerrum = densities, np.array(valences), bjerrum
        nz = self._n * self._z
        variance = self._noise**2
        self._charge_noise = self._r * np.sqrt(
            [
                nz[0] ** 2 * variance[0] + nz[1] ** 2 * variance[1],
                nz[0] ** 2 * variance[1] + nz[1] ** 2 * variance[2],
            ]
        )

    def offset(self, g: np.ndarray) -> np.ndarray:
        """Mean of g - 1 in the tail, of each pair of species."""
        weights = np.where(np.isfinite(self._weights[:, self._far]), self._weights[:, self._far], 0)
        return (weights * (g[:, self._far] - 1)).sum(axis=1) / weights.sum(axis=1)

    def _normalised(self, g: np.ndarray) -> np.ndarray:
        if self._far.any():
            g = g / (1 + self.offset(g))[:, None]
        return g[:, self._inside]

    def _charges(self, g: np.ndarray) -> np.ndarray:
        return self._r * charge_density(self._normalised(g), self._n, self._z)

    def _amplitudes(self, y: np.ndarray, noise: np.ndarray, kappa: float) -> np.ndarray:
        """Of exp(-kappa r) in each row of y, at the window's beginning."""
        shape = self._decay(kappa) / noise
        return (shape * y / noise).sum(axis=1) / (shape**2).sum(axis=1)

    def _decay(self, kappa: float) -> np.ndarray:
        return np.exp(-kappa * (self._r - self._r[0]))

    def _misfit(self, y: np.ndarray, kappa: float) -> float:
        a = self._amplitudes(y, self._charge_noise, kappa)
        rest = (y - a[:, None] * self._decay(kappa)) / self._charge_noise
        return float((rest**2).sum())

    def _screening(self, y: np.ndarray) -> float:
        """kR by least squares: a scan, then golden sections."""
        span = self._r[-1] - self._r[0]
        scan = np.geomspace(0.05 / span, 50 / span, 61)
        best = int(np.argmin([self._misfit(y, k) for k in scan]))
        if best in (0, len(scan) - 1):
            raise ValueError("no screened far field in the window: choose another or run longer")
        low, high = float(scan[best - 1]), float(scan[best + 1])
        section = (math.sqrt(5) - 1) / 2
        for _ in range(45):
            a, b = high - section * (high - low), low + section * (high - low)
            if self._misfit(y, a) < self._misfit(y, b):
                high = b
            else:
                low = a
        return (low + high) / 2

    def significance(self, g: np.ndarray, kappa: float) -> float:
        """The smaller of the two amplitudes over its error."""
        a = self._amplitudes(self._charges(g), self._charge_noise, kappa)
        shape = self._decay(kappa) / self._charge_noise
        return float((np.abs(a) * np.sqrt((shape**2).sum(axis=1))).min())

    def chi_square(self, g: np.ndarray, kappa: float) -> float:
        y = self._charges(g)
        return self._misfit(y, kappa) / (y.size - 3)

    def __call__(self, g: np.ndarray) -> np.ndarray:
        y = self._charges(g)
        kappa = self._screening(y)
        charge = self._amplitudes(y, self._charge_noise, kappa)
        inner = self._normalised(g)
        if not (inner > 0).all():
            raise ValueError("a bin of the window is empty: widen the bins or run longer")
        energy = self._amplitudes(
            self._r * potential_of_mean_force(inner), self._r * self._noise / inner, kappa
        )
        u = np.array([[energy[0], energy[1]], [energy[1], energy[2]]])
        scale = -(kappa**2) / (4 * math.pi * self._bjerrum)
        z = scale * u / charge[:, None]  # z[a, b]: of species b by way of a (Eq. 17)
        to_zero = math.exp(-kappa * self._r[0])
        permittivity = [-(kappa**2) * z[a, a] * to_zero / (4 * math.pi * charge[a]) for a in (0, 1)]
        bare2 = 4 * math.pi * self._bjerrum * float((self._n * self._z**2).sum())
        mean = z.mean(axis=0)
        return np.array(
            [
                kappa,
                *(z[0, 0], z[1, 0], z[0, 1], z[1, 1]),
                *permittivity,
                kappa**2 / bare2,
                (mean[0] - mean[1]) / (self._z[0] - self._z[1]),
            ]
        )


def _jackknife(fit: _Fit, samples: list[np.ndarray]) -> np.ndarray:
    """Errors from leaving out one sample after the other; NaN if a share cannot be fitted."""
    n = len(samples)
    total = np.sum(samples, axis=0)
    try:
        partial = np.array([fit((total - one) / (n - 1)) for one in samples])
    except ValueError:
        return np.full(9, math.nan)
    return np.sqrt((n - 1) / n * ((partial - partial.mean(axis=0)) ** 2).sum(axis=0))
