"""What jobs leave behind: summary.json, tables in CSV, pictures, and the lines at the end."""

from __future__ import annotations

import hashlib
import json
import math
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manymove import files

if TYPE_CHECKING:
    from manymove.job import Result, Settings


def number(value: float) -> float | None:
    """JSON knows no NaN."""
    return float(value) if math.isfinite(value) else None


def hash_of(hashes: Sequence[str | None]) -> str | None:
    """The hash of one replica; of several, 16 hexadecimal digits of all, in order."""
    if len(hashes) < 2:
        return hashes[0] if hashes else None
    return hashlib.sha256("".join(h or "" for h in hashes).encode()).hexdigest()[:16]


def made_by() -> dict[str, str]:
    """The version of this package, and now."""
    return {"version": version("manymove"), "date": time.strftime("%Y-%m-%dT%H:%M:%S%z")}


def seconds_of(started: Sequence[Result]) -> float:
    """From the first move of a session to its last, over all replicas."""
    return max((r.ended for r in started), default=0) - min((r.began for r in started), default=0)


def of_all(settings: Settings, results: Sequence[Result], ranks: int) -> dict[str, Any]:
    """What the summaries of all jobs have in common."""
    started = [r for r in results if r.state_hash is not None]
    first = (started or results)[0]
    trial_moves = sum(r.trial_moves for r in started)
    accepted_moves = sum(r.accepted_moves for r in started)
    return {
        "complete": all(r.complete for r in results),
        "trial_moves": trial_moves,
        "accepted_moves": accepted_moves,
        "acceptance": accepted_moves / trial_moves if trial_moves else None,
        "seconds": seconds_of(started),
        "device": first.device,
        "device_name": first.device_name,
        "threads": first.threads,
        "ranks": ranks,
        "seed": settings.seed,
        "state_hash": hash_of([r.state_hash for r in started]),
        **made_by(),
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace the file at once, so that a reader never sees half of it; folders are made."""
    files.make_folder(path.parent)
    with files.replace(path) as file:
        file.write((json.dumps(content, indent=2) + "\n").encode())


def write_csv(path: Path, header: str, rows: np.ndarray, formats: str | list[str]) -> None:
    """Replace a table atomically."""
    with files.replace(path) as file:
        np.savetxt(file, rows, fmt=formats, delimiter=",", header=header, comments="")


def write_picture(path: str | Path, figure: Any, dpi: int) -> None:
    """Replace a picture atomically, in the format of its suffix; missing folders are made."""
    path = Path(path)
    files.make_folder(path.parent)
    with files.replace(path) as file:
        figure.savefig(file, format=path.suffix[1:] or "png", dpi=dpi)


@contextmanager
def pictures(quiet: bool) -> Iterator[None]:
    """A context in which a missing matplotlib is no error and empty bins give no warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    except ImportError as error:
        if not quiet:
            print(f"no pictures: {error}")


def need_matplotlib() -> None:
    """Refuse a picture that was asked for before anything is run.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'manymove[plot]'") from error


def lines(rows: Sequence[tuple[str, str]]) -> str:
    """A table of two columns for the terminal."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def with_error(value: float, error: float | None) -> str:
    """A value with its standard error in units of its last digit, such as 9.200(8).

    The error has one digit, or two if the first of them is 1 and the second is not 0.
    """
    if error is None or not (math.isfinite(error) and math.isfinite(value)):
        return f"{value:.6g}(?)"
    if error <= 0:
        return f"{value:.6g}(0)"
    digits, exponent = f"{error:.1e}".split("e")
    decimals = max(0, -int(exponent) + (digits[0] == "1" and digits[2] != "0"))
    return f"{value:.{decimals}f}({round(error * 10**decimals)})"


# ---- equilibrium -------------------------------------------------------------------------------

ENOUGH = 20  # relaxation times that a run should be long


def equilibration(
    length: float,
    unit: str,
    times: Mapping[str, float | None],
    drifts: Sequence[tuple[str, float | None, float | None, str]],
    converged: bool | None,
) -> dict[str, Any]:
    """What a summary says about equilibrium.

    Args:
        length: of the measured part of the run.
        unit: of the length: sweeps or steps.
        times: relaxation times by what relaxes; None where there are too few records.
        drifts: what, second half of the records less the first, its error, unit.
        converged: whether the blocking error of the result has; None if it is not by blocking.

    Returns:
        `equilibrated` (None if there are too few records to tell), `relaxation_time`, `warnings`.
    """
    known = {what: time for what, time in times.items() if time is not None}
    slowest = max(known, key=lambda what: known[what], default=None)
    warnings = [text for drift in drifts for text in drifting(unit, *drift)]
    if slowest is not None:
        warnings += too_short(length, unit, slowest, known[slowest], f"--{unit}")
    equilibrated = None if slowest is None and not warnings else not warnings
    if equilibrated is None:
        warnings.append("too few records to tell whether the run is equilibrated")
    elif converged is False:
        warnings.append("error not converged: the run is too short for a reliable error")
    return {
        "equilibrated": equilibrated,
        "relaxation_time": None if slowest is None else known[slowest],
        "warnings": warnings,
    }


def drifting(unit: str, what: str, drift: float | None, error: float | None, of: str) -> list[str]:
    """The warning of a quantity that drifts; the arguments are those of `equilibration`."""
    if drift is None or error is None or not abs(drift) > 3 * error:
        return []
    return [
        f"not equilibrated: {what} changes by {with_error(drift, error)}{of} from the first half "
        f"of the {unit} to the second: raise --equilibrate"
    ]


def too_short(length: float, unit: str, what: str, time: float, option: str) -> list[str]:
    """The warning of a run of this length if it is shorter than ENOUGH relaxation times of a
    quantity. option: the one that makes the run longer."""
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
    """One run in a table of several: "ok", or what its own table warns of."""
    kinds = dict.fromkeys(text.partition(":")[0] for text in summary["warnings"])
    return "; ".join(
        "too few records" if kind.startswith("too few records") else kind for kind in kinds
    ) or ("ok" if summary["complete"] else "stopped early")


def stopped(summary: dict[str, Any]) -> str:
    """What follows the number of sweeps or steps."""
    if summary["complete"]:
        return ""
    return f" (stopped early{'; --resume continues' if summary['state_hash'] else ''})"
