# SPDX-License-Identifier: BSD-3-Clause
"""Estimates from averages of independent systems: means, ratios, control variates, heats and
profiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from manymove.analysis.notation import Estimate
from manymove.tables import Record, dataframe

if TYPE_CHECKING:
    import pandas

_PER_COEFFICIENT = 8  # systems for each coefficient of control variates


@dataclass(frozen=True, repr=False, eq=False)
class Profile(Record):
    """Probability and free energy of molecules along a direction, in one period of the framework.

    Attributes:
        position: centers of the bins, float64 (bins,); in angstrom along an axis, otherwise as a
            fraction of the period.
        probability: probability P of each bin, float64 (bins,), with the sum one.
        probability_error: standard error of P over groups of systems, float64 (bins,).
        free_energy: free energy F / k_B = -T ln P in kelvin (Eq. 4), float64 (bins,). Its minimum
            is zero, and it is infinite in bins without molecules.
        free_energy_error: standard error of the free energy in kelvin, float64 (bins,).
    """

    position: np.ndarray
    probability: np.ndarray
    probability_error: np.ndarray
    free_energy: np.ndarray
    free_energy_error: np.ndarray

    def to_dataframe(self) -> pandas.DataFrame:
        """Table of pandas with a row per bin and a column per attribute.

        Raises:
            ImportError: pandas is not installed.
        """
        return dataframe(vars(self))


def heats(moments: np.ndarray, kinds: int, temperature: float) -> np.ndarray:
    """Isosteric heats of the species of a mixture in kelvin, (kinds, ...).

    Args:
        moments: mean numbers N_b, means of N_a N_b in the order (0, 0), (0, 1), (1, 1), (0, 2),
            ..., means of E N_b, and of the energy E in kelvin; float64, (moments, ...).
        kinds: number of species.
        temperature: temperature in kelvin.
    """
    pairs = kinds * (kinds + 1) // 2
    numbers, products = moments[:kinds], moments[kinds : kinds + pairs]
    crossed, energy = moments[kinds + pairs : -1], moments[-1]
    covariance = np.empty((*moments.shape[1:], kinds, kinds))
    for b in range(kinds):
        for a in range(b + 1):
            value = products[b * (b + 1) // 2 + a] - numbers[a] * numbers[b]
            covariance[..., a, b] = covariance[..., b, a] = value
    with_energy = np.moveaxis(crossed - energy * numbers, 0, -1)
    # A species whose number is constant has no heat, and does not influence those of the others.
    flat = np.diagonal(covariance, axis1=-2, axis2=-1) <= 0
    inverse = np.linalg.pinv(covariance, hermitian=True)
    slopes = np.where(flat, np.nan, np.einsum("...ij,...j->...i", inverse, with_energy))
    return temperature - np.moveaxis(slopes, -1, 0)


def controlled(values: np.ndarray, controls: np.ndarray) -> Estimate:
    """The mean over systems where the controls are zero, by linear regression."""
    spread = controls.std(axis=1)
    columns = (controls[spread > 0] / spread[spread > 0, None]).T
    systems, unknown = len(values), columns.shape[1] + 1
    least = _PER_COEFFICIENT * unknown
    if systems < least:
        raise RuntimeError(
            f"{systems} systems are too few for control variates, which need {least}"
        )
    matrix = np.column_stack((np.ones(systems), columns))
    inverse = np.linalg.pinv(matrix.T @ matrix)
    coefficients = inverse @ (matrix.T @ values)
    variance = np.square(values - matrix @ coefficients).sum() / (systems - unknown)
    return Estimate(float(coefficients[0]), float(math.sqrt(variance * inverse[0, 0])))


def ratio(above: np.ndarray, below: np.ndarray) -> Estimate:
    """Ratio of two means over systems, with its linearized standard error."""
    mean = below.mean()
    if not mean:
        return Estimate(math.nan, math.nan)
    ratio = float(above.mean() / mean)
    return Estimate(ratio, mean_and_error((above - ratio * below) / mean).error)


def mean_and_error(values: np.ndarray) -> Estimate:
    """Mean over systems and its standard error."""
    n = len(values)
    return Estimate(
        float(values.mean()), float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan
    )
