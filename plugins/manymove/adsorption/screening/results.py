# SPDX-License-Identifier: BSD-3-Clause
"""The table of a screening: a row for each structure, pressure and species."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from manymove import files
from manymove.adsorption import job
from manymove.adsorption.loadings import UNITS
from manymove.adsorption.screening.settings import Screening
from manymove.adsorption.screening.structure import DONE, PENDING
from manymove.jobs import report
from manymove.optional import need

_OF_FRAMEWORK = (
    "void_fraction", "void_fraction_error", "pore_volume_cm3_per_g", "pore_volume_error_cm3_per_g",
    "surface_area_m2_per_g", "surface_area_error_m2_per_g", "density_g_per_cm3",
)  # fmt: skip
_OF_HENRY = (
    "henry_mol_per_kg_Pa", "henry_error_mol_per_kg_Pa", "henry_heat_kJ_per_mol",
    "henry_heat_error_kJ_per_mol",
)  # fmt: skip
_OF_POCKETS = ("pockets", "pockets_volume_share")
_CAPACITY = ("working_capacity_mol_per_kg", "working_capacity_error_mol_per_kg")
COLUMNS = (
    "structure", *job.COLUMNS[:-2], *_OF_HENRY, *_CAPACITY, *_OF_FRAMEWORK, *_OF_POCKETS,
    "rank", "temperature_K",
    "seed", "status", "reason", "framework_warnings",
)  # fmt: skip

Rows = list[dict[str, Any]]


def rows_of(results: dict[str, Any], screening: Screening) -> Rows:
    """The rows of a structure, one for each pressure and species. Missing numbers are NaN. The
    rows have no rank yet.

    Args:
        results: the results of the structure, which may have no points.
        screening: settings of the screening.
    """
    points = results.get("points", ())
    told = [*results["warnings"], *results.get("henry_warnings", ())]
    rows: Rows = []
    for index, pressure in enumerate(screening.isotherm):
        point = points[index] if index < len(points) else None
        done = point is not None and point["complete"]
        status, reason = results["state"], results["reason"]
        if point is not None and done:
            status, reason = report.status(point), "; ".join(point["warnings"])
        elif status == DONE:
            status = PENDING
        measured = list(job.rows_of([point])) if point is not None else []
        for kind, name in enumerate(results["adsorbates"]):
            row = dict.fromkeys(job.COLUMNS, math.nan) | {"pressure_bar": pressure}
            row |= measured[kind] if measured else {}
            rows.append({
                "structure": results["structure"], **row, "adsorbate": name, "complete": done,
                **{
                    key: _number((results.get(key) or {kind: None})[kind])
                    for key in (*_OF_HENRY, *_OF_POCKETS)
                },
                **{key: _number(results.get(key)) for key in _OF_FRAMEWORK},
                "temperature_K": results["temperature_K"], "seed": results["seed"],
                "status": status, "reason": reason,
                "framework_warnings": "; ".join(told),
            })  # fmt: skip
    return [row | _capacity(row, rows, screening) for row in rows]


def _capacity(row: dict[str, Any], rows: Rows, screening: Screening) -> dict[str, float]:
    """The working capacity of the species of a row, the difference of two loadings."""
    values = [math.nan, math.nan]
    if screening.working_capacity is not None:
        loadings = [
            (each["loading_mol_per_kg"], each["loading_error_mol_per_kg"])
            if each["complete"] else (math.nan, math.nan)
            for pressure in screening.working_capacity
            for each in rows
            if (each["pressure_bar"], each["adsorbate"]) == (pressure, row["adsorbate"])
        ]  # fmt: skip
        (full, full_error), (empty, empty_error) = loadings
        values = [full - empty, math.hypot(full_error, empty_error)]
    return dict(zip(_CAPACITY, values, strict=True))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def ranking_columns(screening: Screening) -> tuple[str, str, str]:
    """The columns of the value by which the structures are ranked and of its error, and a label."""
    name, kind = screening.rank_by, screening.adsorbates[0].name
    if name == "loading":
        unit = UNITS[screening.unit]
        where = f"at {max(screening.isotherm):g} bar ({screening.unit})"
        return f"loading_{unit}", f"loading_error_{unit}", f"loading of {kind} {where}"
    if name == "working-capacity":
        where = " to ".join(f"{pressure:g}" for pressure in screening.working_capacity or ())
        return *_CAPACITY, f"working capacity of {kind}, {where} bar (mol/kg)"
    if name == "selectivity":
        where = f"over {screening.adsorbates[-1].name} at {max(screening.isotherm):g} bar"
        return "selectivity", "selectivity_error", f"selectivity of {kind} {where}"
    return *_OF_HENRY[:2], f"Henry coefficient of {kind} (mol/(kg Pa))"


def ranked(table: Sequence[Rows], screening: Screening) -> Rows:
    """For each structure that can be ranked, the row with the value, from the best to the worst.
    Points that are not complete are not ranked."""
    column = ranking_columns(screening)[0]
    kinds = len(screening.adsorbates)
    place = screening.isotherm.index(max(screening.isotherm)) * kinds
    of_point = screening.rank_by in ("loading", "selectivity")
    found = [
        rows[place] for rows in table
        if math.isfinite(rows[place][column]) and (rows[place]["complete"] or not of_point)
    ]  # fmt: skip
    return sorted(found, key=lambda row: (-row[column], row["structure"]))


def table_of(table: Sequence[Rows], screening: Screening) -> Rows:
    """All rows in the order of the collection, with the ranks of their structures."""
    best = ranked(table, screening)
    ranks = {row["structure"]: float(rank) for rank, row in enumerate(best, 1)}
    return [row | {"rank": ranks.get(row["structure"], math.nan)} for rows in table for row in rows]


def write_tables(table: Sequence[Rows], screening: Screening) -> None:
    """Write screen.csv and, if requested, screen.parquet."""
    rows = table_of(table, screening)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_word(row[name]) for name in COLUMNS] for row in rows)
    with files.replace(screening.output / "screen.csv") as file:
        file.write(text.getvalue().encode())
    if screening.parquet:
        pandas = need_parquet()
        content = io.BytesIO()
        pandas.DataFrame([{name: row[name] for name in COLUMNS} for row in rows]).to_parquet(
            content, index=False
        )
        with files.replace(screening.output / "screen.parquet") as file:
            file.write(content.getvalue())


def need_parquet() -> Any:
    """The package pandas, which writes Parquet together with pyarrow.

    Raises:
        ImportError: one of them is not installed.
    """
    need("pyarrow", "--parquet")
    return need("pandas", "--parquet")


def _word(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def lines_of_ranking(table: Sequence[Rows], screening: Screening, most: int) -> Iterator[str]:
    """The best structures, as the command prints them."""
    from manymove.analysis.notation import with_error

    value, error, label = ranking_columns(screening)
    best = ranked(table, screening)
    width = max((len(row["structure"]) for row in best[:most]), default=0)
    if best:
        yield f"rank by {label}"
    for rank, row in enumerate(best[:most], 1):
        number = with_error(row[value], row[error])
        yield f"{rank:4d}  {row['structure']:<{width}}  {number}  {row['status']}"
