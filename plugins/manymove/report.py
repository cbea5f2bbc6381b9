"""What jobs leave behind: summary.json, tables in CSV, pictures, and the lines at the end."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator, Sequence
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
    """Inside, a missing matplotlib is no error."""
    try:
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


def with_error(value: float, error: float | None, digits: str) -> str:
    return f"{value:{digits}} +- {'?' if error is None else format(error, digits)}"


def not_equilibrated(
    what: str, drift: float | None, error: float | None, unit: str = ""
) -> list[tuple[str, str]]:
    """A line of the table where the second half of a run differs from the first."""
    if drift is None or not abs(drift) > 3 * error:
        return []
    text = f"{what} changes by {drift:+.5f} +- {error:.5f}{unit} from the first half of the sweeps"
    return [("not equilibrated", f"{text} to the second: raise --equilibrate")]


def stopped(summary: dict[str, Any]) -> str:
    """What follows the number of sweeps or steps."""
    if summary["complete"]:
        return ""
    return f" (stopped early{'; --resume continues' if summary['state_hash'] else ''})"
