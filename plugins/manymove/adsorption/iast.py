# SPDX-License-Identifier: BSD-3-Clause
"""Loadings of mixtures from isotherms of pure gases, by ideal adsorbed solution theory."""

from __future__ import annotations

import csv
import logging
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from manymove.adsorption.gas import fractions_of
from manymove.errors import ParameterError

Isotherm = tuple[Sequence[float], Sequence[float]]


def iast(
    isotherms: Sequence[Isotherm], pressure: float, mole_fractions: Sequence[float] | None = None
) -> list[float]:
    """Loadings of a mixture by ideal adsorbed solution theory (IAST), with the library pyGAPS.

    A. L. Myers, J. M. Prausnitz, AIChE J. 11, 121 (1965); P. Iacomi, P. L. Llewellyn, Adsorption
    25, 1533 (2019). Isotherms are linear between their points and below the first one, and the
    gas is ideal.

    Args:
        isotherms: for each species, the pressures in bar and the loadings of the pure gas, both in
            increasing order. They must reach the pressures at which the pure gases have the
            spreading pressure of the mixture, which are higher than the pressure of the mixture for
            the less adsorbed species.
        pressure: total pressure of the gas in bar.
        mole_fractions: mole fraction of each species in the gas (default equal).

    Returns:
        the loading of each species, in the unit of the isotherms.

    Raises:
        ImportError: pyGAPS is not installed.
        ValueError: an isotherm is wrong or ends at too low a pressure, or there is no solution.
    """
    x = fractions_of(mole_fractions, len(isotherms))
    if not 0 < pressure < math.inf:
        raise ParameterError("pressure", f"must be positive and finite, got {pressure:g}")
    if len(isotherms) < 2:
        raise ValueError("a mixture needs the isotherms of at least two species")
    curves = [_checked(k, *each) for k, each in enumerate(isotherms)]
    try:
        logging.getLogger("pygaps").setLevel(logging.ERROR)
        from pygaps import PointIsotherm
        from pygaps.prediction.iast import iast_point_fraction
        from pygaps.utilities.exceptions import pgError
    except ImportError as error:
        raise ImportError("IAST needs pyGAPS: pip install 'manymove[iast]'") from error
    names = dict(
        material="framework", adsorbate="nitrogen", temperature=300, temperature_unit="K",
        pressure_mode="absolute", pressure_unit="bar", loading_basis="molar", loading_unit="mmol",
        material_basis="mass", material_unit="g",
    )  # fmt: skip
    points = [
        PointIsotherm(pressure=p.tolist(), loading=n.tolist(), branch="ads", **names)
        for p, n in curves
    ]
    try:
        found = iast_point_fraction(points, x, pressure, warningoff=True)
    except (pgError, ValueError) as error:
        ends = ", ".join(f"{p[-1]:g}" for p, _ in curves)
        raise ValueError(
            f"no mixture at {pressure:g} bar from isotherms that end at {ends} bar: "
            f"{' '.join(str(error).split())}"
        ) from None
    return [float(n) for n in found]


def _checked(
    index: int, pressures: Sequence[float], loadings: Sequence[float]
) -> tuple[np.ndarray, np.ndarray]:
    p, n = (np.asarray(values, dtype=float) for values in (pressures, loadings))
    if p.ndim != 1 or p.shape != n.shape or len(p) < 2:
        raise ValueError(f"isotherm {index} needs at least two pressures, and a loading for each")
    if not (np.isfinite(p).all() and np.isfinite(n).all() and p[0] > 0 and n[0] >= 0):
        raise ValueError(f"isotherm {index} has a number that is negative or not finite")
    if not (np.diff(p) > 0).all():
        raise ValueError(f"the pressures of isotherm {index} do not increase")
    if not (np.diff(n) >= 0).all():
        raise ValueError(
            f"the loadings of isotherm {index} do not increase with the pressure: this may be "
            "statistical noise, which longer runs or fewer pressures reduce"
        )
    return p, n


def read_isotherm(path: str | Path) -> tuple[str, list[float], list[float]]:
    """The name of the gas, the pressures in bar and the loadings in mol/kg of `isotherm.csv`.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not the isotherm of a pure gas.
    """
    rows = _rows_of(path)
    try:
        names = {row["adsorbate"] for row in rows}
        p, n = ([float(row[key]) for row in rows] for key in ("pressure_bar", "loading_mol_per_kg"))
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} is not an isotherm.csv of manymove") from None
    if len(names) != 1:
        raise ValueError(f"{path} has {len(names)} species; expected the isotherm of a pure gas")
    order = np.argsort(p, kind="stable")
    return names.pop(), [p[k] for k in order], [n[k] for k in order]


def check_temperatures(paths: Sequence[str | Path]) -> None:
    """Refuse files `isotherm.csv` of several temperatures. Files without the column
    `temperature_K`, which earlier versions wrote, are not checked.

    Raises:
        OSError: a file cannot be read.
        ValueError: the temperatures differ, or one is not a number.
    """
    found: dict[float, str | Path] = {}
    for path in paths:
        for row in _rows_of(path):
            if text := row.get("temperature_K"):
                try:
                    found.setdefault(float(text), path)
                except ValueError:
                    raise ValueError(f"{path} has the temperature {text!r}") from None
    if len(found) > 1:
        texts = [f"{path} is at {temperature:g} K" for temperature, path in found.items()]
        raise ValueError(f"{', '.join(texts)}: IAST needs isotherms of one temperature")


def doubtful_points(path: str | Path) -> list[str]:
    """The pressures (bar) of a file `isotherm.csv` whose status is not "ok"."""
    return [r["pressure_bar"] for r in _rows_of(path) if (r.get("status") or "ok") != "ok"]


def _rows_of(path: str | Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
