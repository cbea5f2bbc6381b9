"""The results of jobs: summary.json, tables in CSV, pictures, and the lines at the end."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from manymove import files
from manymove.analysis.blocking import ENOUGH
from manymove.analysis.notation import Estimate


def number(value: float) -> float | None:
    """The number, or None for NaN, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def values_and_errors(name: str, unit: str, found: Estimate | Sequence[Estimate]) -> dict[str, Any]:
    """The entries `name_unit` and `name_error_unit` of a summary, lists for several estimates; NaN
    becomes null."""
    end, several = unit and f"_{unit}", [found] if isinstance(found, Estimate) else found
    values = [number(each.value) for each in several]
    errors = [number(each.error) for each in several]
    one = isinstance(found, Estimate)
    return {
        f"{name}{end}": values[0] if one else values,
        f"{name}_error{end}": errors[0] if one else errors,
    }


def with_errors(**found: Estimate) -> dict[str, float | None]:
    """The entries `name` and `name_error` of a summary for each estimate; NaN becomes null."""
    return {
        key: value
        for name, each in found.items()
        for key, value in values_and_errors(name, "", each).items()
    }


def estimate_in(entries: Mapping[str, Any], name: str) -> Estimate:
    """The estimate that `with_errors` has written."""
    return Estimate(entries[name], entries[f"{name}_error"])


def hash_of(hashes: Sequence[str | None]) -> str | None:
    """The hash of a replica, or a hash of 16 hexadecimal digits of several replicas in order."""
    if len(hashes) < 2:
        return hashes[0] if hashes else None
    return hashlib.sha256("".join(h or "" for h in hashes).encode()).hexdigest()[:16]


def made_by() -> dict[str, str]:
    """The version of this package, and the present time."""
    return {"version": version("manymove"), "date": time.strftime("%Y-%m-%dT%H:%M:%S%z")}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace the file atomically, so that a reader never sees a part of it. Folders are made. Each
    entry has a line, because indentation by `json` takes ten times as long."""
    files.make_folder(path.parent)
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in content.items()]
    with files.replace(path) as file:
        file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def write_csv(path: Path, header: str, rows: np.ndarray, formats: str | list[str]) -> None:
    """Replace a table atomically."""
    with files.replace(path) as file:
        np.savetxt(file, rows, fmt=formats, delimiter=",", header=header, comments="")


def lines(rows: Sequence[tuple[str, str]]) -> str:
    """A table of two columns for the terminal."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


# ---- equilibrium -------------------------------------------------------------------------------


def equilibration(
    length: float,
    unit: str,
    times: Mapping[str, float | None],
    drifts: Sequence[tuple[str, Estimate, str]],
    converged: bool | None,
) -> dict[str, Any]:
    """The entries of a summary about equilibration.

    Args:
        length: length of the measured part of the run; infinite if it is known to be long enough.
        unit: unit of the length, sweeps or steps.
        times: relaxation times of the quantities that are reported, or that are known to determine
            them, by name; None if there are too few records.
        drifts: for each quantity its name, its `drift` and its unit.
        converged: whether the blocking error of the result has converged; None for other errors.

    Returns:
        `equilibrated` (None if there are too few records to decide), `relaxation_time`, `warnings`.
    """
    known = {what: time for what, time in times.items() if time is not None}
    slowest = max(known, key=lambda what: known[what], default=None)
    warnings = [text for drift in drifts for text in drifting(unit, *drift)]
    if slowest is not None:
        warnings += too_short(length, unit, slowest, known[slowest], f"--{unit}")
    unknown = slowest is None and length < math.inf
    equilibrated = None if unknown and not warnings else not warnings
    if equilibrated is None:
        warnings.append("too few records to tell whether the run is equilibrated")
    elif converged is False:
        warnings.append("error not converged: the run is too short for a reliable error")
    return {
        "equilibrated": equilibrated,
        "relaxation_time": None if slowest is None else known[slowest],
        "warnings": warnings,
    }


def slow_modes(length: float, times: Mapping[str, float | None]) -> dict[str, Any]:
    """The entry of a summary about modes that relax slowly, which do not decide whether the
    reported quantities are equilibrated. For each mode it has the relaxation time, and whether the
    run is long enough to resolve it. Otherwise the time is a lower bound, which grows with the
    run."""
    known = {what: time for what, time in times.items() if time is not None}
    return {
        "slow_modes": {
            what: {"relaxation_time": time, "resolved": length >= ENOUGH * time}
            for what, time in known.items()
        }
    }


def slow_mode_rows(summary: dict[str, Any], unit: str) -> list[tuple[str, str]]:
    """The lines of a table about modes that are too slow for the run."""
    return [
        (
            "slow modes",
            f"the relaxation time of {what} is {found['relaxation_time']:.2g} {unit} or more, too "
            "long for this run to sample",
        )
        for what, found in summary["slow_modes"].items()
        if not found["resolved"]
    ]


def drifting(unit: str, what: str, drift: Estimate, of: str) -> list[str]:
    """The warning of a quantity that drifts. The arguments are those of `equilibration`."""
    if not abs(drift) > 3 * drift.error:
        return []
    return [
        f"not equilibrated: {what} changes by {drift}{of} from the first half "
        f"of the {unit} to the second: raise --equilibrate"
    ]


def too_short(length: float, unit: str, what: str, time: float, option: str) -> list[str]:
    """The warning of a run that is shorter than ENOUGH relaxation times of a quantity. `option` is
    the option that makes the run longer."""
    if length >= ENOUGH * time:
        return []
    return [
        f"not equilibrated: {length:,.0f} {unit} are {length / time:.2g} relaxation times of "
        f"{what} ({time:.2g} {unit} or more); {ENOUGH} are needed: raise {option} and --equilibrate"
    ]


def warning_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a table of one run."""
    return [("warning", text) for text in summary["warnings"]]


def warning_lines(runs: Iterable[tuple[str, dict[str, Any]]]) -> list[str]:
    """The lines below a table of several runs: the name of each run and its warnings."""
    return [f"{name}: {text}" for name, summary in runs for text in summary["warnings"]]


def status(summary: dict[str, Any]) -> str:
    """The status of a run in a table of several runs: "ok", or the kinds of its warnings."""
    kinds = dict.fromkeys(text.partition(":")[0] for text in summary["warnings"])
    return "; ".join(
        "too few records" if kind.startswith("too few records") else kind for kind in kinds
    ) or ("ok" if summary["complete"] else "stopped early")


def stopped(summary: dict[str, Any]) -> str:
    """The text after the number of sweeps or steps."""
    if summary["complete"]:
        return ""
    return f" (stopped early{'; --resume continues' if summary['state_hash'] else ''})"
