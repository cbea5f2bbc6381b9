"""What a job leaves behind: summary.json, records, pictures and the table at the end."""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from manymove.analysis import pressure
from manymove.analysis.reference import published_pressure
from manymove.replica import Result, Settings


def summarise(settings: Settings, results: list[Result], ranks: int) -> dict[str, Any]:
    """The content of summary.json."""
    started = [r for r in results if r.state_hash is not None]
    first = started[0] if started else results[0]
    estimates = [r.estimate for r in started if r.estimate is not None]
    pooled = pressure.pool(estimates) if estimates else None
    trial_moves = sum(r.trial_moves for r in started)
    accepted = sum(r.accepted_moves for r in started)
    seconds = max((r.ended for r in started), default=0) - min(
        (r.began for r in started), default=0
    )
    hashes = [r.state_hash for r in started]
    drift, drift_error = pressure.drift([r.records for r in started if r.records.size])
    paper = published_pressure(settings.particles, settings.packing_fraction)
    return {
        "pressure": pooled.value if pooled else None,
        "pressure_error": _number(pooled.error) if pooled else None,
        "pressure_error_converged": pooled.plateau if pooled else None,
        "pressure_drift": _number(drift),
        "pressure_drift_error": _number(drift_error),
        "pressure_records": pooled.records if pooled else 0,
        "paper_pressure": list(paper) if paper else None,
        "packing_fraction": settings.packing_fraction,
        "particles": settings.particles,
        "box": list(first.box),
        "diameter": first.diameter,
        "sweeps": min((r.sweeps for r in results), default=0.0),
        "equilibration_sweeps": first.equilibration_sweeps,
        "complete": all(r.complete for r in results),
        "trial_moves": trial_moves,
        "accepted_moves": accepted,
        "acceptance": accepted / trial_moves if trial_moves else None,
        "seconds": seconds,
        "trial_moves_per_second": (
            sum(r.session_moves for r in started) / seconds if seconds > 0 else None
        ),
        "max_displacement": first.max_displacement,
        "moves_per_cell": first.moves_per_cell,
        "max_overlap": max((r.max_overlap for r in started), default=None),
        "repaired": first.repaired,
        "psi6": first.psi6,
        "device": first.device,
        "device_name": first.device_name,
        "threads": first.threads,
        "ranks": ranks,
        "decomposed": settings.decompose,
        "seed": settings.seed,
        "state_hash": hashes[0] if len(hashes) == 1 else _hash_of(hashes),
        "replicas": [_summarise_replica(r) for r in results],
        "input": str(settings.input) if settings.input else None,
        "start": None if settings.input else settings.start,
        "version": version("manymove"),
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _summarise_replica(result: Result) -> dict[str, Any]:
    estimate = result.estimate
    return {
        "replica": result.replica,
        "seed": result.seed,
        "pressure": estimate.value if estimate else None,
        "pressure_error": _number(estimate.error) if estimate else None,
        "sweeps": result.sweeps,
        "state_hash": result.state_hash,
    }


def _number(value: float) -> float | None:
    """JSON knows no NaN."""
    return value if math.isfinite(value) else None


def _hash_of(hashes: list[str | None]) -> str | None:
    """16 hex digits of the replicas' hashes, in order."""
    if not hashes:
        return None
    return hashlib.sha256("".join(h or "" for h in hashes).encode()).hexdigest()[:16]


def write_outputs(settings: Settings, results: list[Result], summary: dict[str, Any]) -> None:
    """summary.json, the records, and, of a complete run, the pictures."""
    write_json(settings.output / "summary.json", summary)
    measured = [r for r in results if r.records.size]
    if measured:
        table = np.concatenate(
            [
                np.column_stack((np.full(r.records.size, r.replica), r.record_sweeps, r.records))
                for r in measured
            ]
        )
        np.savetxt(
            settings.output / "pressure.csv", table, fmt=["%d", "%.3f", "%.8f"], delimiter=",",
            header="replica,sweeps,pressure", comments="",
        )  # fmt: skip
    if not summary["complete"]:
        return
    try:
        _write_pictures(settings, measured, summary)
    except ImportError as error:
        if not settings.quiet:
            print(f"no pictures: {error}")


def _write_pictures(settings: Settings, measured: list[Result], summary: dict[str, Any]) -> None:
    from manymove import plots

    first = measured[0] if measured else None
    if first is None:
        return
    if first.positions is not None and len(first.positions) > 6:
        plots.configuration(
            settings.output / "configuration.png", first.positions, first.box, first.diameter
        )
    plots.pressure_against_sweeps(
        settings.output / "pressure.png",
        [(r.record_sweeps, r.records) for r in measured],
        pressure.pool([pressure.estimate(r.records) for r in measured]),
        published_pressure(settings.particles, settings.packing_fraction),
    )


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Replace the file at once, so that a reader never sees half of it."""
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(content, indent=2) + "\n")
    os.replace(new, path)


def table(summary: dict[str, Any]) -> str:
    """The lines that the command prints at the end."""
    s = summary
    rows = [("disks", f"{s['particles']:,} at packing fraction {s['packing_fraction']:.6g}")]
    if s["pressure"] is not None:
        error = "?" if s["pressure_error"] is None else f"{s['pressure_error']:.5f}"
        note = "" if s["pressure_error_converged"] else " (too short a run for a reliable error)"
        rows.append(("pressure P*", f"{s['pressure']:.5f} +- {error}{note}"))
    drift, drift_error = s["pressure_drift"], s["pressure_drift_error"]
    if drift is not None and abs(drift) > 3 * drift_error:
        rows.append(
            (
                "not equilibrated",
                f"P* changes by {drift:+.4f} +- {drift_error:.4f} from the first half of the "
                "sweeps to the second: raise --equilibrate",
            )
        )
    if s["paper_pressure"]:
        rows.append(("paper, P*", "{:.5f} +- {:.5f}".format(*s["paper_pressure"])))
    stopped = "stopped early" + ("; --resume continues" if s["state_hash"] else "")
    done = "" if s["complete"] else f" ({stopped})"
    rows.append(("sweeps", f"{s['sweeps']:,.0f} after {s['equilibration_sweeps']:,.0f}{done}"))
    if s["trial_moves"]:
        rows.append(("trial moves", f"{s['trial_moves']:.4g}, accepted {s['acceptance']:.2%}"))
        rows.append(
            ("speed", f"{s['trial_moves_per_second'] or 0:.4g} moves/s, {s['seconds']:.1f} s")
        )
        rows.append(("device", f"{s['device']} ({s['device_name']})"))
        rows.append(("deepest overlap", f"{s['max_overlap']:.3g} diameters"))
    if s["repaired"].get("count"):
        mended = s["repaired"]
        rows.append(
            ("mended at start", f"{mended['count']} overlaps up to {mended['depth']:.2g} diameters")
        )
    if s["decomposed"]:
        rows.append(("ranks", f"{s['ranks']} share the system"))
    if len(s["replicas"]) > 1:
        rows.append(("replicas", f"{len(s['replicas'])} on {s['ranks']} rank(s)"))
    rows.append(("state hash", s["state_hash"] or "none"))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def draw_equation_of_state(
    settings: Settings, output: Path, points: list[tuple[float, float, float]]
) -> None:
    """equation_of_state.png, where matplotlib is installed."""
    try:
        from manymove import plots

        plots.equation_of_state(output / "equation_of_state.png", points, settings.particles)
    except ImportError as error:
        if not settings.quiet:
            print(f"no pictures: {error}")


def equation_of_state_table(summary: dict[str, Any]) -> str:
    """The lines printed after `--equation-of-state`."""
    lines = ["packing fraction  P*        error    paper"]
    for r in summary["runs"]:
        value = "-" if r["pressure"] is None else f"{r['pressure']:.5f}"
        error = "-" if r["pressure_error"] is None else f"{r['pressure_error']:.5f}"
        paper = "{:.5f} +- {:.5f}".format(*r["paper_pressure"]) if r["paper_pressure"] else ""
        lines.append(f"{r['packing_fraction']:<16.4f}  {value:<8}  {error:<7}  {paper}")
    return "\n".join(lines)
