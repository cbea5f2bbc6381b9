"""Renormalized Debye length, valences and permittivity of an electrolyte, from its g(r).

Dressed-ion theory (R. Kjellander, D. J. Mitchell, Chem. Phys. Lett. 200, 76, 1992; J. Chem. Phys.
101, 603, 1994), as used by Y. Liang, X. Xing, Y. Li (2017), whose equation numbers are given. In
units of kT, e and angstrom, with l_B the Bjerrum length of the solvent:

    U_ab(r) = -ln g_ab(r)             ~ z_a z_b (l_B eps / eps_R) e^(-kR r) / r
    rho_a(r) = sum_b n_b z0_b g_ab(r) ~ -(kR^2 z_a eps / 4 pi eps_R) e^(-kR r) / r

z0 are the bare and z the renormalized valences. The charge around an ion has the opposite sign of
the ion: the paper's Eqs. 13 and 14 lack the minus sign that its Eqs. 16 to 18 have.

The asymptotic law is reached slowly: terms of second order in U, which decay like e^(-2 kR r), bend
the straight lines at all measured distances, so that a fit yields too long a Debye length around
ions of high valence (docs/theory/coulomb.md, section 6). There are two estimators that correct for
this: the fit minus its error for correlations whose kR is known, and this kR itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from manymove.analysis.ions import debye_length
from manymove.analysis.ornstein_zernike import IntegralEquation, continue_pair_correlations
from manymove.analysis.pair_correlations import PairCorrelations

_LEAST_POINTS = 8
_LINEAR = 0.1  # kT, up to which |U| counts as small
_CHAINS = 0.5  # kT, up to which the bridge function, of third order, counts as none
_EARLIER = 0.8  # another beginning of the window, to see what its choice does
_FARTHER = 1.5  # another distance to continue g from
_SHARES = 10  # of the samples, for errors
_LEAST_SIGNIFICANCE = 5.0  # of an amplitude, in standard errors


@dataclass(frozen=True)
class DressedIons:
    """Renormalized parameters of a salt of two species. Errors are standard errors; they are NaN if
    the data are insufficient. Equations are numbered as in Y. Liang, X. Xing, Y. Li, J. Comput.
    Phys. (2017), doi:10.1016/j.jcp.2017.02.069.

    Attributes:
        debye_length, debye_length_error: renormalized Debye length 1 / kR in angstrom from the fit
            of the far field, and its error.
        valences: renormalized valences ((z_0 from species 0, from 1), (z_1 from 0, from 1)),
            Eq. 17.
        valence_errors: errors of the valences.
        permittivity: eps_R / eps from each of the two species, Eq. 18.
        permittivity_errors: errors of the permittivities.
        bare_debye_length: bare Debye length in angstrom (Eq. 5) from the densities in the sampled
            region.
        screening_ratio, screening_ratio_error: (kR / kappa)^2 with the bare kappa, and its error.
        charge_ratio, charge_ratio_error: (z_0 - z_1) / (z0_0 - z0_1) with the bare valences z0, and
            its error. It is equal to the screening ratio by Eq. 8.
        curvature: error of the fitted Debye length in angstrom, which has been subtracted (as those
            of the other fitted values); NaN if it is unknown and nothing was subtracted.
        pole_debye_length, pole_debye_length_error: 1 / kR in angstrom from the Ornstein-Zernike
            equation, with the measured g up to `pole_distance` and hypernetted chains beyond. This
            and the next two values are NaN if there is no solution.
        pole_valences, pole_valence_errors: (z_0, z_1) from the same solution, for which Eq. 8 holds
            by definition.
        pole_permittivity, pole_permittivity_error: eps_R / eps from the same solution.
        pole_distance: distance in angstrom up to which the measured g is used.
        offset: largest |g - 1| beyond the window, of order 1 / N, which is due to the fluctuating
            number of counted ions and the fixed total number; g has been divided by it.
        signal: smallest |U_aa| of the fit at the end of the window, for comparison with the offset.
        window: first and last distance of the fit in angstrom.
        chi_square: chi-square per degree of freedom of the charge densities in the window against
            one exponential.
        pole_chi_square: the same against the solution continued from `pole_distance`, which has no
            free parameter.
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
    curvature: float
    pole_debye_length: float
    pole_debye_length_error: float
    pole_valences: tuple[float, float]
    pole_valence_errors: tuple[float, float]
    pole_permittivity: float
    pole_permittivity_error: float
    pole_distance: float
    offset: float
    signal: float
    window: tuple[float, float]
    chi_square: float
    pole_chi_square: float


def potential_of_mean_force(g: np.ndarray) -> np.ndarray:
    """U = -ln g in kT (Eq. 11); infinite where g is 0."""
    with np.errstate(divide="ignore"):
        return -np.log(g)


def charge_density(
    g: np.ndarray, densities: Sequence[float] | np.ndarray, valences: Sequence[float] | np.ndarray
) -> np.ndarray:
    """Mean charge density around an ion of each species (Eq. 12), in e per cubic angstrom.

    The mean of the rest of the system, sum n z, which the interior of a sphere may have by chance,
    is subtracted.

    Args:
        g: pair correlation functions of the pairs 00, 01 and 11, float64 (3, bins).
        densities, valences: densities per cubic angstrom and valences of the two species.

    Returns:
        charge densities, float64 (2, bins).
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
    exponentials (as a fit of ln |r rho|, Eqs. 13 and 14, but without the bias of the logarithm).
    The amplitudes of r U_ab come from another fit at this kR, and their ratios give the valences
    (Eq. 17) and permittivities (Eq. 18). The error of the same fit for the solution of the
    Ornstein-Zernike equation, which continues g from the distance where |U_ab| <= 0.5 kT, is
    subtracted from all values. Standard errors come from the jackknife over independent runs if
    there are four or more, otherwise over blocks of the samples. Errors of the fit include the
    effect of a window that begins at 0.8 of the distance, and errors of the solution that of a
    distance that is longer by a half.

    Args:
        correlations: pair correlations of one run, or of several independent runs of equal length
            and bins.
        bjerrum_length: Bjerrum length l_B in angstrom.
        window: first and last distance of the fit in angstrom. By default it begins where all
            |U_ab| have decreased to 0.1 kT, because the theory is of first order in U, and at 1.5
            bare Debye lengths at least; it ends at six bare Debye lengths.
        tail: distance in angstrom beyond which ions are taken as uncorrelated; default eight bare
            Debye lengths, or the end of the window if that is longer. If there are no such
            distances, g is not normalized and `offset` is NaN.

    Returns:
        the renormalized parameters.

    Raises:
        ValueError: there are not two species of opposite charge, the window has too few bins, or
            the data have no screened far field.
    """
    runs = [correlations] if isinstance(correlations, PairCorrelations) else list(correlations)
    if not runs:
        raise ValueError("no pair correlations given")
    first = runs[0]
    if len(first.valences) != 2 or first.valences[0] * first.valences[1] >= 0:
        raise ValueError(
            "the dressed-ion analysis is for two species of opposite charge, got the valences "
            f"{list(first.valences)}"
        )
    if any(run.g.shape != first.g.shape for run in runs):
        raise ValueError(
            "the runs have different bins: g has the shapes "
            + ", ".join(sorted({str(run.g.shape) for run in runs}))
        )
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
    samples = _samples(runs)
    noise = noise * _inflation(samples, noise, inside)

    def fit_of(window: np.ndarray) -> _Fit:
        return _Fit(first.r, window, far, noise, densities, first.valences, bjerrum_length)

    fit = fit_of(inside)
    fitted = fit(g)
    if not fit.significance(g, fitted[0]) > _LEAST_SIGNIFICANCE:
        raise ValueError("no screened far field stands out of the noise: run longer")
    pole = _Pole(first.r, fit, bjerrum_length, _linear_from(first.r, counts, ideal, bare, _CHAINS))
    model = pole.solve(g)
    bias = np.zeros(len(fitted)) if model is None else fit(pole.g(model)) - pole.values(model)
    values = fitted - bias
    errors = np.hypot(
        _jackknife(fit, samples), _window_error(fit_of, first.r, window, pole, model, g, values)
    )
    pole_values = np.full(len(fitted), math.nan) if model is None else pole.values(model)
    farther = pole.solve(g, _FARTHER)
    pole_errors = np.hypot(
        _jackknife(lambda one: pole.values(pole.solve(one)), samples),
        pole_values - (pole_values if farther is None else pole.values(farther)),
    )
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
        curvature=1 / fitted[0] - 1 / kappa if model is not None else math.nan,
        pole_debye_length=1 / pole_values[0],
        pole_debye_length_error=pole_errors[0] / pole_values[0] ** 2,
        pole_valences=(pole_values[1], pole_values[3]),
        pole_valence_errors=(pole_errors[1], pole_errors[3]),
        pole_permittivity=pole_values[5],
        pole_permittivity_error=pole_errors[5],
        pole_distance=pole.distance,
        offset=float(np.abs(offset).max()),
        signal=weakest * bjerrum_length * math.exp(-kappa * end) / end,
        window=(float(first.r[inside][0]), end),
        chi_square=fit.chi_square(g, fitted[0]),
        pole_chi_square=math.nan if model is None else fit.chi_square_against(g, pole.g(model)),
    )


def _samples(runs: list[PairCorrelations]) -> list[np.ndarray]:
    """g of independent runs, or of equal blocks of one or a few runs; none if there are too few."""
    samples = [run.g for run in runs] if len(runs) >= 4 else [b for r in runs for b in r.blocks]
    size = max(1, len(samples) // _SHARES)
    whole = len(samples) // size * size
    return [np.mean(samples[k : k + size], axis=0) for k in range(0, whole, size)]


def _inflation(samples: list[np.ndarray], noise: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Ratio of errors to those of independent counts, because ions move slowly between samples."""
    if len(samples) < 4:
        return np.ones((3, 1))
    seen = np.var([one[:, window] for one in samples], axis=0, ddof=1) / len(samples)
    return np.sqrt((seen / noise[:, window] ** 2).mean(axis=1))[:, None]


def _window_error(
    fit_of: Callable[[np.ndarray], _Fit],
    r: np.ndarray,
    window: tuple[float, float],
    pole: _Pole,
    model: IntegralEquation | None,
    g: np.ndarray,
    values: np.ndarray,
) -> np.ndarray:
    """Effect of an earlier beginning of the window; NaN if the fit is impossible."""
    fit = fit_of((r >= _EARLIER * window[0]) & (r <= window[1]))
    try:
        other = fit(g)
    except ValueError:
        return np.full(len(values), math.nan)
    if model is not None:
        other = other - fit(pole.g(model)) + pole.values(model)
    return other - values


class _Pole:
    """The values of `_Fit` from the Ornstein-Zernike equation."""

    def __init__(self, r: np.ndarray, fit: _Fit, bjerrum: float, distance: float) -> None:
        self._r, self._fit, self._bjerrum = r, fit, bjerrum
        self.distance = distance

    def solve(self, g: np.ndarray, factor: float = 1.0) -> IntegralEquation | None:
        """None if there is no solution with a screened far field."""
        fit = self._fit
        try:
            model = continue_pair_correlations(
                self._r, fit.normalized(g), fit.n, fit.z, self._bjerrum, factor * self.distance
            )
            model.screening()
        except ValueError:
            return None
        return model

    def g(self, model: IntegralEquation) -> np.ndarray:
        """In the bins of the data."""
        return 1 + model.h[:, : self._r.size]

    def values(self, model: IntegralEquation | None) -> np.ndarray:
        if model is None:
            raise ValueError("no solution")
        found = model.screening()
        kappa, (z0, z1), eps = 1 / found.debye_length, found.valences, found.permittivity
        return np.array([kappa, z0, z0, z1, z1, eps, eps, *self._fit.ratios(kappa, z0, z1)])


def _linear_from(
    r: np.ndarray, counts: np.ndarray, ideal: np.ndarray, debye: float, most: float = _LINEAR
) -> float:
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
        limit = most + 3 / np.sqrt(np.maximum(mean, 1e-300))
        with np.errstate(divide="ignore", invalid="ignore"):
            strong |= (mean > 0) & (np.abs(np.log(seen / mean)) > limit)
    return float(r[np.flatnonzero(strong)[-1]]) if strong.any() else 0.0


class _Fit:
    """Fit of kR, the valences from both species, the permittivities and both sides of Eq. 8 to
    g."""

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
        self.n, self.z = densities, np.array(valences)
        self._noise = noise[:, inside]
        self._weights = 1 / noise**2
        self._bjerrum = bjerrum
        nz = self.n * self.z
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

    def normalized(self, g: np.ndarray) -> np.ndarray:
        """g divided by its mean in the tail, so that it tends to 1."""
        if not self._far.any():
            return g
        tail = 1 + self.offset(g)
        if not (tail > 0).all():
            raise ValueError("no pair of two species is in the tail: run longer")
        return g / tail[:, None]

    def _charges(self, g: np.ndarray) -> np.ndarray:
        return self._r * charge_density(self.normalized(g)[:, self._inside], self.n, self.z)

    def _amplitudes(self, y: np.ndarray, noise: np.ndarray, kappa: float) -> np.ndarray:
        """Amplitudes of exp(-kappa r) in each row of y, at the beginning of the window."""
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
        """Ratio of the smaller of the two amplitudes to its error."""
        a = self._amplitudes(self._charges(g), self._charge_noise, kappa)
        shape = self._decay(kappa) / self._charge_noise
        return float((np.abs(a) * np.sqrt((shape**2).sum(axis=1))).min())

    def chi_square(self, g: np.ndarray, kappa: float) -> float:
        y = self._charges(g)
        return self._misfit(y, kappa) / (y.size - 3)

    def chi_square_against(self, g: np.ndarray, other: np.ndarray) -> float:
        rest = (self._charges(g) - self._charges(other)) / self._charge_noise
        return float((rest**2).mean())

    def __call__(self, g: np.ndarray) -> np.ndarray:
        y = self._charges(g)
        kappa = self._screening(y)
        charge = self._amplitudes(y, self._charge_noise, kappa)
        inner = self.normalized(g)[:, self._inside]
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
        ways = (z[0, 0], z[1, 0], z[0, 1], z[1, 1])
        return np.array([kappa, *ways, *permittivity, *self.ratios(kappa, *z.mean(axis=0))])

    def ratios(self, kappa: float, z0: float, z1: float) -> tuple[float, float]:
        """Both sides of Eq. 8."""
        bare2 = 4 * math.pi * self._bjerrum * float((self.n * self.z**2).sum())
        return kappa**2 / bare2, (z0 - z1) / (self.z[0] - self.z[1])


def _jackknife(values: Callable[[np.ndarray], np.ndarray], samples: list[np.ndarray]) -> np.ndarray:
    """Errors from leaving out one sample after the other; NaN if there are fewer than four, or the
    rest cannot be fitted."""
    n = len(samples)
    if n < 4:
        return np.full(9, math.nan)
    total = np.sum(samples, axis=0)
    try:
        partial = np.array([values((total - one) / (n - 1)) for one in samples])
    except ValueError:
        return np.full(9, math.nan)
    return np.sqrt((n - 1) / n * ((partial - partial.mean(axis=0)) ** 2).sum(axis=0))
