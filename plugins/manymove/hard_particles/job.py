"""The job of `manymove disks` and `manymove spheres`: replicas, pooled and written out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from manymove.analysis import reference, sphere_reference
from manymove.analysis.autocorrelation import relaxation_time
from manymove.analysis.blocking import drift, error_factor, estimate, pool
from manymove.analysis.notation import Estimate, with_error
from manymove.hard_particles import exchange
from manymove.hard_particles.freezing import known_relaxation, near_freezing, relaxations
from manymove.hard_particles.kinds import DISKS, literature_pressure
from manymove.hard_particles.replica import Replica, Result
from manymove.hard_particles.settings import Settings
from manymove.hard_particles.sizes import Sizes, with_table
from manymove.io import Frame, read_frame
from manymove.jobs import figures, limits, replica, report
from manymove.jobs.ranks import Ranks
from manymove.jobs.report import number
from manymove.jobs.world import World

# Names of the measured quantities in summaries.
_KEYS = {
    "pressure": "pressure",
    "packing fraction": "mean_packing_fraction",
    "squared displacement": "squared_displacement",
    "field energy": "field_energy",
    "density": "density",
}


def run(settings: Settings, world: World) -> tuple[dict[str, Any], bool]:
    """Run all replicas, or the one that all ranks share; rank 0 writes summary.json and the
    pictures into the output folder.

    Returns:
        the summary (of all ranks, on every rank), and whether every replica ran to its end.

    Raises:
        ValueError, OSError, ImportError, MemoryError, RuntimeError: with one line for the user.
    """
    (summary,) = _run_together([settings], world)
    return summary, summary["complete"]


def _run_together(points: Sequence[Settings], world: World) -> list[dict[str, Any]]:
    """Run all replicas of all points at the same time. Replicas run one after the other if all
    ranks share each of them, or if they may not fit into memory together. The files of a point are
    written when its last replica has ended; if ranks divide the replicas among them, at the end of
    all replicas.

    Returns:
        the summaries of the points (of all ranks, on every rank).
    """
    first, count, size = points[0], points[0].replicas, world.size
    ranks = Ranks.of(world.communicator) if first.decompose else None
    several = f"{len(points)} packing fractions"
    what = several if len(points) > 1 else f"{first.packing_fraction:.4g}"
    summaries: dict[int, dict[str, Any]] = {}

    def end(found: Mapping[int, Result]) -> None:
        """Summarize the points whose replicas have all ended."""
        for k, point in enumerate(points):
            results = [found[i] for i in range(k * count, (k + 1) * count) if i in found]
            if len(results) < count or k in summaries:
                continue
            before = earlier[k]
            if before is not None and all(r.state_hash is None for r in results):
                summaries[k] = before | {"complete": False}  # stopped before it continued
                continue
            summaries[k] = summarize(point, results, size)
            if world.rank == 0:
                write_outputs(point, results, summaries[k])

    with replica.started(points, world) as stop:
        earlier = replica.earlier_summaries(points, world)
        replicas = replica.replicas_of(points, world)
        frame = replica.on_each(world, lambda: _start([one for one, _ in replicas]))
        mine = [*range(len(replicas))] if ranks else world.share(range(len(replicas)))
        needed = 4 * sum(replicas[i][0].memory for i in mine)
        too_large = needed > limits.memory_of(world.device(first.device))
        results = replica.run_replicas(
            replicas,
            world,
            stop,
            mine,
            partial(Replica, frame=frame, ranks=ranks),
            f"{first.particles:,} {first.kind.particles} at {what}",
            (first.sweeps + first.equilibrate) * first.particles * len(mine),
            at_once=1 if ranks or too_large else None,
            found=end if ranks or size == 1 else lambda found: None,
        )
    end(dict(enumerate(results)))
    return [summaries[k] for k in range(len(points))]


def _start(replicas: Sequence[Settings]) -> Frame | None:
    """The requested initial configuration of those replicas that start from the beginning."""
    source, dimensions = replicas[0].input, replicas[0].kind.dimensions
    if source is None or all(one.resume for one in replicas):
        return None
    found = read_frame(source, dimensions=dimensions, mixtures=True)
    return with_table(found, replicas[0].mixture)


def summarize(settings: Settings, results: list[Result], ranks: int) -> dict[str, Any]:
    """The content of summary.json."""
    started = [r for r in results if r.state_hash is not None]
    first = (started or results)[0]
    estimates = [found for r in started if (found := _estimate(settings, r))]
    pooled = pool(estimates) if estimates else None
    seconds = replica.seconds_of(started)
    change = drift([r.records for r in started if r.records.size])
    sweeps = min(r.sweeps for r in results)
    packing_fraction = _packing_fraction(settings, first)
    N, constant_pressure = settings.particles, settings.pressure is not None
    freezing = _equal_disks(settings, first) and near_freezing(
        packing_fraction, N if constant_pressure else None
    )
    # Fields give the modes means other than 0.
    mean = None if settings.in_fields else 0.0
    slow = {_order(settings, first): relaxation_of([r.course for r in started], mean)}
    judged = {f"the {settings.measured}": _relaxation_of_records(started)}
    if freezing:  # where the pressure follows psi_6
        known = known_relaxation(N, packing_fraction, constant_pressure)
        judged |= slow | {"psi_6 as tabulated near freezing": known}
    relaxation = report.equilibration(
        sweeps,
        "sweeps",
        judged,
        [(_measured(settings), change, "")],
        pooled.converged if pooled else None,
    ) | report.slow_modes(sweeps, slow)
    relaxation["warnings"] += replica.missed(results)
    paper = (
        reference.published_pressure(settings.particles, settings.packing_fraction)
        if _equal_disks(settings, first)
        else None
    )
    literature = _literature(settings, first)
    sizes = _sizes(settings, first)
    measured = _KEYS[settings.measured]
    summary = {
        "pressure": pooled.value if pooled else None,
        "pressure_error": number(pooled.error) if pooled else None,
        "pressure_error_converged": pooled.converged if pooled else None,
        "pressure_drift": number(change.value),
        "pressure_drift_error": number(change.error),
        "pressure_records": sum(r.records.size for r in started),
        **relaxation,
        "near_freezing": freezing,
        "pressure_error_factor": error_factor(_relaxations(settings, first, sweeps)),
        "paper_pressure": list(paper) if paper else None,
        "literature_pressure": [*map(number, literature)] if literature else None,
        "packing_fraction": settings.packing_fraction,
        "contact_values": _contact_values(started),
        "contacts": None if sizes.contacts is None else sizes.contacts.tolist(),
        "N": settings.particles,
        "box": list(first.box),
        "diameter": first.diameter,
        "sweeps": sweeps,
        "equilibration_sweeps": first.equilibration_sweeps,
        "trial_moves_per_second": (
            sum(r.session_moves for r in started) / seconds if seconds > 0 else None
        ),
        "max_displacement": first.max_displacement,
        "moves_per_cell": first.moves_per_cell,
        "tile": first.tile,
        "max_overlap": max((r.max_overlap or 0.0 for r in started), default=None),
        "repaired": first.repaired,
        "psi6": first.psi6,
        "decomposed": settings.decompose,
        "replicas": [
            {
                "replica": r.replica,
                "seed": r.seed,
                measured: found.value if found else None,
                f"{measured}_error": number(found.error) if found else None,
                "sweeps": r.sweeps,
                "state_hash": r.state_hash,
            }
            for r in results
            for found in [_estimate(settings, r)]
        ],
        "input": str(settings.input) if settings.input else None,
        "start": None if settings.input else settings.start,
        **_swaps(settings, started),
        **_of_fields(settings, started),
        **replica.of_all(settings, results, ranks),
    }
    if measured == "pressure":
        return summary
    named = {name.replace("pressure", measured, 1): name for name in summary}
    of_records = {new: summary[name] for new, name in named.items() if name.startswith("pressure")}
    others = {name: v for name, v in summary.items() if not name.startswith("pressure")}
    if settings.pressure is None:
        return {"pressure": None, **_of_insertions(settings, started), **of_records, **others}
    return {
        "pressure": settings.pressure, **of_records, **others, "volume_delta": first.volume_delta,
        "volume_tuned": settings.tune_volume, **_moves(started, "volume"),
    }  # fmt: skip


def _moves(started: list[Result], name: str) -> dict[str, Any]:
    """Number and acceptance of the trial moves of a kind, "volume" or "swap", in all replicas."""
    each = [(getattr(r, f"{name}_trials"), getattr(r, f"{name}_acceptance")) for r in started]
    trials = sum(number for number, _ in each)
    accepted = sum(number * share for number, share in each if number)
    return {f"{name}_trials": trials, f"{name}_acceptance": accepted / trials if trials else None}


def _swaps(settings: Settings, started: list[Result]) -> dict[str, Any]:
    """The swap moves of all replicas; empty without them."""
    if settings.swaps is None:
        return {}
    given = {f"swap_{name}": value for name, value in vars(settings.swaps).items()}
    return given | _moves(started, "swap")


def _of_insertions(settings: Settings, started: list[Result]) -> dict[str, Any]:
    """The fugacity, the pressure, the mean number of particles, and the insertions and deletions of
    all replicas; empty for a constant number of particles."""
    if settings.fugacity is None:
        return {}
    found = {}
    if measured := [r for r in started if r.records.size]:
        box, d = measured[0].box, measured[0].diameter
        numbers = pool([estimate(r.records) for r in measured]) * (math.prod(box) / d ** len(box))
        found = {
            "pressure": pool([estimate(r.pressures) for r in measured]),
            "mean_particles": numbers,
        }
    return {
        "fugacity": settings.fugacity, **report.with_errors(**found),
        **_moves(started, "insertion"), **_moves(started, "deletion"),
    }  # fmt: skip


def _of_fields(settings: Settings, started: list[Result]) -> dict[str, Any]:
    """The fields, the pressures on the lower and the upper wall, and the mean energy of a particle
    in the fields; empty without fields."""
    if not settings.in_fields:
        return {}
    values = [r.of_fields for r in started if len(r.of_fields)]
    found = [pool([estimate(of[:, k]) for of in values]) for k in range(3)] if values else []
    given = {name: getattr(settings, name) for name in ("walls", "gravity", "springs")}
    given["fields"] = settings.fields and str(settings.fields)
    on_walls = found[:2] if settings.walls or settings.fields else []
    return {
        **given, **report.values_and_errors("wall_pressures", "", on_walls),
        **report.with_errors(**({"field_energy": found[2]} if found else {})),
    }  # fmt: skip


def _profile(settings: Settings, measured: list[Result]) -> np.ndarray:
    """Coordinate, number density and its error in each bin, (bins, 3)."""
    columns = [r.of_fields[:, 3:].T for r in measured]
    found = [pool([*map(estimate, each)]) for each in zip(*columns, strict=True)]
    edge = measured[0].box[settings.axis]
    places = (np.arange(len(found)) + 0.5) / len(found) - 0.5
    return np.column_stack([places * edge, np.array([[*each] for each in found])])


def _measured(settings: Settings) -> str:
    """Name of the quantity that the records hold."""
    return "P*" if settings.measured == "pressure" else settings.measured


def relaxation_of(courses: list[np.ndarray], mean: float | None = 0.0) -> float | None:
    """Relaxation time in sweeps of slow quantities, or of the modulus of a single one, the global
    psi_6, if it has a direction.

    Args:
        courses: for each replica the sweeps and the real and imaginary parts, (n, 1 + 2 K).
        mean: mean of the quantities; None if it is not known.
    """
    n = min((len(course) for course in courses), default=0)
    if n < 2:
        return None
    sweeps = courses[0][:n, 0]
    # A longer run has longer steps than the run that it resumes; values between are no new ones.
    steps = max(1, round((sweeps[-1] - sweeps[0]) / np.diff(sweeps).max()))
    ends = np.linspace(sweeps[0], sweeps[-1], steps + 1)
    series = []
    for course in courses:
        parts = [np.interp(ends, course[:n, 0], column[:n]) for column in course.T[1:]]
        series += [re + 1j * im for re, im in zip(parts[::2], parts[1::2], strict=True)]
    if len(series) == len(courses) and abs(np.mean(np.abs(series))) > 0.5:
        return relaxation_time([np.abs(each) for each in series], ends[1] - ends[0])
    return relaxation_time(series, ends[1] - ends[0], mean=mean)


def _relaxation_of_records(started: list[Result]) -> float | None:
    """Relaxation time in sweeps of the measured quantity."""
    measured = [r for r in started if r.records.size > 1]
    if not measured:
        return None
    interval = float(np.median(np.diff(measured[0].record_sweeps)))
    return relaxation_time([r.records for r in measured], interval)


def _order(settings: Settings, first: Result) -> str:
    """Name of the slow quantities."""
    general = settings.pressure is not None or settings.is_special
    return "density modes" if general or _sizes(settings, first).mixed else settings.kind.order


def _sizes(settings: Settings, result: Result) -> Sizes:
    """The sizes of the particles, which may be those of `--input`."""
    return result.sizes or settings.sizes


def _literature(settings: Settings, first: Result) -> Estimate | None:
    if settings.pressure is not None or settings.is_special:
        return None
    start = settings.start if settings.input is None else None
    of_all = (settings.kind, settings.particles, settings.packing_fraction)
    return literature_pressure(*of_all, start, _sizes(settings, first))


def _contact_values(started: list[Result]) -> list[dict[str, Any]]:
    """The contact values of the pairs of types, which are averages over the replicas."""
    found = [r.contact_values for r in started if r.contact_values]
    if not found:
        return []
    entries = []
    for pair in found[0]:
        value, error = sum((values[pair] for values in found), Estimate(0, 0)) / len(found)
        entries.append({"types": list(pair), "value": number(value), "error": number(error)})
    return entries


def _equal_disks(settings: Settings, result: Result) -> bool:
    plain = not (settings.is_special or _sizes(settings, result).mixed)
    return settings.kind is DISKS and plain


def _packing_fraction(settings: Settings, result: Result) -> float:
    """The packing fraction, which at constant pressure is the mean of the records."""
    constant = settings.pressure is None or not result.records.size
    return settings.packing_fraction if constant else float(result.records.mean())


def _relaxations(settings: Settings, result: Result, sweeps: float) -> float:
    """Length of a run in relaxation times that are known, for the error of its result."""
    if not _equal_disks(settings, result):
        return math.inf
    density = _packing_fraction(settings, result)
    return relaxations(sweeps, settings.particles, density, settings.pressure is not None)


def _estimate(settings: Settings, result: Result) -> Estimate | None:
    """The measured quantity of a replica."""
    if not result.records.size:
        return None
    return estimate(result.records, _relaxations(settings, result, result.sweeps))


def write_outputs(settings: Settings, results: list[Result], summary: dict[str, Any]) -> None:
    """Write summary.json, the records, and, for a complete run, the pictures."""
    report.write_json(settings.output / "summary.json", summary)
    measured = [r for r in results if r.records.size]
    if not measured:
        return
    columns = ((np.full(r.records.size, r.replica), r.record_sweeps, r.records) for r in measured)
    rows = np.concatenate([*map(np.column_stack, columns)])
    name = settings.measured.replace(" ", "_")
    path, header = settings.output / f"{name}.csv", f"replica,sweeps,{name}"
    report.write_csv(path, header, rows, ["%d", "%.3f", "%.8f"])
    if settings.has_profile:
        profile = _profile(settings, measured)
        header = f"{'xyz'[settings.axis]},density,density_error"
        report.write_csv(settings.output / "profile.csv", header, profile, "%.8g")
    if summary["complete"]:
        with figures.pictures(settings.quiet):
            _write_pictures(settings, measured)


def _write_pictures(settings: Settings, measured: list[Result]) -> None:
    from manymove.hard_particles import plots

    first = measured[0]
    if first.positions is not None and len(first.positions) > 6:
        picture = settings.output / "configuration.png"
        sizes = first.sizes or settings.sizes
        if settings.kind is DISKS and not sizes.mixed:
            edges = first.box[0], first.box[1]
            plots.configuration(picture, first.positions, edges, first.diameter)
        else:
            each = sizes.of_each(len(first.positions))
            plots.slice_of(picture, first.positions, first.box, each, sizes.types)
    at = f"{settings.particles:,} hard {settings.kind.particles}, "
    if settings.fugacity is not None:
        at = f"hard {settings.kind.particles}, fugacity $z^*$ = {settings.fugacity:.6g}"
    elif settings.pressure is not None:
        at += f"pressure $P^*$ = {settings.pressure:.6g}"
    else:
        at += f"packing fraction {settings.packing_fraction:.6g}"
    if settings.has_profile:
        picture = settings.output / "profile.png"
        plots.density_profile(picture, _profile(settings, measured), "xyz"[settings.axis])
    plots.records_against_sweeps(
        settings.output / f"{settings.measured.replace(' ', '_')}.png",
        [(r.record_sweeps, r.records) for r in measured],
        pool([found for r in measured if (found := _estimate(settings, r))]),
        at,
        rf"pressure $P^* = \beta P d^{settings.kind.dimensions}$"
        if settings.measured == "pressure"
        else settings.measured,
        _literature(settings, first),
    )


def table(summary: dict[str, Any], particles: str = "disks") -> str:
    """The lines that the command prints at the end."""
    s = summary
    rows = [(particles, f"{s['N']:,} at packing fraction {s['packing_fraction']:.6g}")]
    if s.get("fugacity") is not None:
        rows = [(particles, f"from {s['N']:,}, at fugacity z* {s['fugacity']:.6g}")]
        if s["density"] is not None:
            for name, key in (("density rho*", "density"), ("mean number", "mean_particles")):
                rows.append((name, with_error(s[key], s[f"{key}_error"])))
    if "mean_packing_fraction" in s:
        rows = [(particles, f"{s['N']:,} at constant pressure P* {s['pressure']:.6g}")]
        if s["mean_packing_fraction"] is not None:
            found = s["mean_packing_fraction"], s["mean_packing_fraction_error"]
            rows.append(("packing fraction", with_error(*found)))
    elif s["pressure"] is not None:
        where = "" if not s.get("walls") else " on the walls"
        where = " on the lower wall" if s.get("gravity") is not None else where
        rows.append((f"pressure P*{where}", with_error(s["pressure"], s["pressure_error"])))
    if s.get("squared_displacement") is not None:
        found = s["squared_displacement"], s["squared_displacement_error"]
        rows.append(("squared displacement", f"{with_error(*found)} d^2"))
    if s.get("gravity") is not None and s["wall_pressures"]:
        upper = s["wall_pressures"][1], s["wall_pressures_error"][1]
        rows.append(("on the upper wall", with_error(*upper)))
    energetic = any(s.get(name) for name in ("gravity", "springs", "fields"))
    if s.get("field_energy") is not None and energetic:
        found = s["field_energy"], s["field_energy_error"]
        rows.append(("energy in fields", f"{with_error(*found)} kT per particle"))
    for entry in s["contact_values"]:
        a, b = entry["types"]
        rows.append((f"contact value {a}-{b}", with_error(entry["value"], entry["error"])))
    rows += report.warning_rows(s) + report.slow_mode_rows(s, "sweeps")
    if s["pressure"] is not None and s.get("pressure_error_factor", 1) > 1:
        factor = f"the blocking error is multiplied by {s['pressure_error_factor']:.2g}"
        rows.append(("near freezing", f"{factor}, for relaxations longer than the run shows"))
    if s["literature_pressure"]:
        rows.append(("literature, P*", with_error(*s["literature_pressure"])))
    done = f"{s['sweeps']:,.0f} after {s['equilibration_sweeps']:,.0f}{report.stopped(s)}"
    rows.append(("sweeps", done))
    if s["trial_moves"]:
        rows.append(("trial moves", f"{s['trial_moves']:.4g}, accepted {s['acceptance']:.2%}"))
        if s.get("volume_trials"):
            changes = f"{s['volume_trials']:.4g}, accepted {s['volume_acceptance']:.2%}"
            rows.append(("volume changes", changes))
        if s.get("swap_trials"):
            swaps = f"{s['swap_trials']:.4g}, accepted {s['swap_acceptance']:.2%}"
            rows.append(("trial swaps", swaps))
        for name in ("insertion", "deletion"):
            if s.get(f"{name}_trials"):
                text = f"{s[f'{name}_trials']:.4g}, accepted {s[f'{name}_acceptance']:.2%}"
                rows.append((f"trial {name}s", text))
        rows.append(
            ("speed", f"{s['trial_moves_per_second'] or 0:.4g} moves/s, {s['seconds']:.1f} s")
        )
        rows.append(("device", f"{s['device']} ({s['device_name']})"))
        rows.append(("deepest overlap", f"{s['max_overlap']:.3g} diameters"))
    if s["repaired"].get("count"):
        repaired = s["repaired"]
        text = f"{repaired['count']} overlaps up to {repaired['depth']:.2g} diameters"
        rows.append(("repaired at start", text))
    if s["decomposed"]:
        rows.append(("ranks", f"{s['ranks']} share the system"))
    if len(s["replicas"]) > 1:
        rows.append(("replicas", f"{len(s['replicas'])} on {s['ranks']} rank(s)"))
    rows.append(("state hash", s["state_hash"] or "none"))
    return report.lines(rows)


def run_equation_of_state(
    settings: list[Settings], output: Path, world: World
) -> tuple[dict[str, Any], bool]:
    """Run the packing fractions or the pressures at the same time, each in its folder, and plot P*
    against the packing fractions.

    Returns:
        the summary, and whether all ran to their end.
    """
    replica.claim(replace(settings[0], output=output), world)
    of_exchange: dict[str, Any] = {}
    if settings[0].exchange_every is None:
        runs = _run_together(settings, world)
    else:
        runs, of_exchange = _run_with_exchanges(settings, output, world)
    complete = all(r["complete"] for r in runs)
    summary = {
        "N": settings[0].particles,
        "complete": complete,
        "packing_fractions": [_point(r)[0] for r in runs],
        "pressure": [r["pressure"] for r in runs],
        "pressure_error": [r.get("pressure_error") for r in runs],
        **of_exchange,
        "status": [report.status(r) for r in runs],
        "paper": _citation(settings[0]),
        "runs": runs,
        **report.made_by(),
    }
    points = [_point(r) for r in runs if None not in _point(r)]
    if world.rank == 0:
        report.write_json(output / "summary.json", summary)
        with figures.pictures(settings[0].quiet):
            from manymove.hard_particles import plots

            if points:
                picture = output / "equation_of_state.png"
                # For which there are no published points.
                mixed = settings[0].mixture is not None or settings[0].is_special
                draw = plots.equation_of_state if settings[0].kind is DISKS else plots.of_spheres
                draw(picture, points, settings[0].particles, mixed)
    return summary, complete


def _point(run: dict[str, Any]) -> tuple[Any, ...]:
    """Packing fraction, P*, the error of P*, whether there is no warning, and at constant pressure
    the error of the packing fraction."""
    good = not run["warnings"]
    if "mean_packing_fraction" not in run:
        return run["packing_fraction"], run["pressure"], run["pressure_error"] or 0.0, good
    error = run["mean_packing_fraction_error"] or 0.0
    return run["mean_packing_fraction"], run["pressure"], 0.0, good, error


def _run_with_exchanges(
    points: Sequence[Settings], output: Path, world: World
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run all pressures with replica exchange.

    Returns:
        the summaries of the points, and the entries of the exchange (of all ranks, on every rank).
    """
    results, found = replica.or_abort(world, lambda: exchange.run(points, output, world))
    runs = [
        summarize(point, [result], world.size)
        for point, result in zip(points, results, strict=True)
    ]
    if world.rank == 0:
        for point, result, summary in zip(points, results, runs, strict=True):
            write_outputs(point, [result], summary)
    return runs, found


def _citation(settings: Settings) -> str:
    """The source of the pressures that the table compares with."""
    if settings.kind is DISKS:
        return reference.published()["citation"]
    return sphere_reference.published()["fluid"]["citation"]


def equation_of_state_table(summary: dict[str, Any]) -> str:
    """The lines printed after `--equation-of-state`."""
    if summary["pressure_error"][0] is None and "mean_packing_fraction" in summary["runs"][0]:
        return _table_of_pressures(summary)
    lines = [f"{'packing fraction':18}{'P*':14}{'literature':14}status"]
    for r in summary["runs"]:
        ours = (r["pressure"], r["pressure_error"])
        pairs = (ours, r["literature_pressure"] or (None, None))
        words = ["-" if pair[0] is None else with_error(*pair) for pair in pairs]
        lines.append(f"{r['packing_fraction']:<18.4f}{words[0]:14}{words[1]:14}{report.status(r)}")
    lines += report.warning_lines((f"{r['packing_fraction']:.4f}", r) for r in summary["runs"])
    return "\n".join(lines)


def _table_of_pressures(summary: dict[str, Any]) -> str:
    """The same at constant pressures, with the acceptance of exchanges with the next pressure, and
    the number of round trips between the first pressure and the last one."""
    rates = summary.get("exchange_acceptance")
    lines = [
        f"{'P*':12}{'packing fraction':20}{'exchanges' if rates else '':{12 if rates else 0}}status"
    ]
    for k, r in enumerate(summary["runs"]):
        pair = r["mean_packing_fraction"], r["mean_packing_fraction_error"]
        word = "-" if pair[0] is None else with_error(*pair)
        rate = rates and (f"{rates[k]:.1%}" if k < len(rates) and rates[k] is not None else "-")
        lines.append(
            f"{r['pressure']:<12.6g}{word:20}{rate or '':{12 if rates else 0}}{report.status(r)}"
        )
    if trips := summary.get("round_trips"):
        few = "" if sum(trips) else ": raise --sweeps, or put pressures between these"
        lines.append(f"round trips of the configurations: {sum(trips)}{few}")
    lines += report.warning_lines((f"{r['pressure']:.6g}", r) for r in summary["runs"])
    return "\n".join(lines)
