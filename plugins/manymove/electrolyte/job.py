"""The job behind `manymove electrolyte`: replicas of an electrolyte, pooled and written out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from manymove.analysis.autocorrelation import autocorrelation_time, relaxation_time
from manymove.analysis.blocking import drift, estimate, pool
from manymove.analysis.dressed_ion import DressedIons, dressed_ions
from manymove.analysis.notation import with_error
from manymove.analysis.structure_factors import StructureFactors
from manymove.electrolyte.replica import Replica, Result, Settings
from manymove.electrolyte.simulation import BOUNDARIES
from manymove.jobs import figures, replica, report
from manymove.jobs.report import number
from manymove.jobs.world import World
from manymove.settings import SURROUNDINGS


def run(settings: Settings, world: World) -> tuple[dict[str, Any], bool]:
    """Run all replicas; rank 0 writes summary.json, g(r), energies and pictures.

    Returns:
        the summary (of all ranks, on every rank), and whether every replica ran to its end.

    Raises:
        ValueError, OSError, ImportError, MemoryError, RuntimeError: with one line for the user.
    """
    if "," in settings.device and world.size > 1:
        raise ValueError(
            f"--device {settings.device} is for one process, but there are {world.size} ranks"
        )
    mine = world.share(range(settings.replicas))
    with replica.started([settings], world) as stop:
        results = replica.run_replicas(
            replica.replicas_of([settings], world),
            world,
            stop,
            mine,
            Replica,
            f"{settings.ions:,} ions {settings.valences[0]:+d}:{settings.valences[1]:+d}",
            (settings.sweeps + settings.equilibrate) * settings.ions * len(mine),
        )
    dressed, why_not = fit(settings, results)
    summary = summarize(settings, results, world.size, dressed, why_not)
    if world.rank == 0:
        write_outputs(settings, results, summary, dressed)
    return summary, summary["complete"]


def fit(settings: Settings, results: list[Result]) -> tuple[DressedIons | None, str | None]:
    """Renormalized parameters, or the reason why there are none."""
    correlations = [r.correlations for r in results if r.correlations is not None]
    if not correlations:
        return None, "nothing was measured"
    try:
        with warnings.catch_warnings():
            # A short run has empty bins. Then the fit raises an error, or its numbers are NaN.
            warnings.simplefilter("ignore", RuntimeWarning)
            return dressed_ions(correlations, settings.bjerrum_length), None
    except ValueError as error:
        return None, str(error)


def summarize(
    settings: Settings,
    results: list[Result],
    ranks: int,
    dressed: DressedIons | None,
    why_not: str | None,
) -> dict[str, Any]:
    """The content of summary.json."""
    started = [r for r in results if r.state_hash is not None]
    first = (started or results)[0]
    per_ion = [r.energies / settings.ions for r in started if r.energies.size]
    pooled = pool([estimate(e) for e in per_ion]) if per_ion else None
    change = drift(per_ion)
    trial_moves = sum(r.trial_moves for r in started)
    moves = sum(r.session_moves for r in started)
    drifts = [abs(r.energy_drift / r.energy) for r in started if r.energy and r.energy_drift]
    relaxation = report.equilibration(
        min(r.sweeps for r in results),
        "sweeps",
        {"the energy": relaxation_time(per_ion, 1.0)},
        [("the energy per ion", change, " kT")],
        pooled.converged if pooled else None,
    )
    relaxation["warnings"] += replica.missed(results)
    time_, time_reason = _autocorrelation(per_ion)
    return {
        "energy_per_ion_kT": pooled.value if pooled else None,
        "energy_per_ion_error_kT": number(pooled.error) if pooled else None,
        "energy_per_ion_error_converged": pooled.converged if pooled else None,
        **relaxation,
        "energy_per_ion_drift_kT": number(change.value),
        "energy_per_ion_drift_error_kT": number(change.error),
        "autocorrelation_time": time_,
        "autocorrelation_time_missing": time_reason,
        "evaluated_moves_share": (
            sum(r.evaluated_moves for r in started) / trial_moves if trial_moves else None
        ),
        "direct_moves_share": (
            sum(r.direct_moves for r in started) / trial_moves if trial_moves else None
        ),
        "seconds_per_sweep": (
            sum(r.seconds for r in started) * settings.ions / moves if moves else None
        ),
        "second_moment": _second_moment(started, first.debye_length) or None,
        "renormalized": _describe(dressed),
        "renormalized_missing": why_not,
        "N": settings.ions,
        "valences": list(settings.valences),
        "diameters_angstrom": [one.diameter for one in settings.salt.species],
        "bjerrum_length_angstrom": settings.bjerrum_length,
        "debye_length_angstrom": first.debye_length,
        "ions_per_cubic_angstrom": settings.density,
        "geometry": settings.geometry,
        "boundary": settings.boundary or (None if settings.box is None else BOUNDARIES[0]),
        "surrounding": settings.surrounding
        or (SURROUNDINGS[0] if settings.boundary == "ewald" else None),
        "radius_angstrom": settings.radius,
        "box_angstrom": settings.box,
        "sweeps": min(r.sweeps for r in results),
        "equilibration_sweeps": first.equilibration_sweeps,
        "energy_drift_relative": max(drifts, default=0.0) if started else None,
        "max_overlap": max((r.max_overlap or 0.0 for r in started), default=None),
        "max_displacement_angstrom": first.max_displacement,
        "method": first.method,
        "precision": first.precision,
        "threads_per_particle": first.threads_per_particle,
        "replicas": [
            {
                "replica": r.replica,
                "seed": r.seed,
                "sweeps": r.sweeps,
                "energy_per_ion_kT": float(r.energies.mean()) / settings.ions
                if r.energies.size
                else None,
                "state_hash": r.state_hash,
            }
            for r in results
        ],
        **replica.of_all(settings, results, ranks),
    }


def _autocorrelation(per_ion: list[np.ndarray]) -> tuple[float | None, str | None]:
    """T_c = 1/2 + sum C_k (Eq. 10) of the energy in sweeps, averaged over the replicas."""
    try:
        times = [0.5 + autocorrelation_time(e, every_lag=True) for e in per_ion]
    except ValueError as error:
        return None, str(error)
    return (float(np.mean(times)), None) if times else (None, "nothing was measured")


def _describe(dressed: DressedIons | None) -> dict[str, Any] | None:
    if dressed is None:
        return None
    return {name: _plain(getattr(dressed, name)) for name in DressedIons.__dataclass_fields__}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return number(float(value))


def write_outputs(
    settings: Settings, results: list[Result], summary: dict[str, Any], dressed: DressedIons | None
) -> None:
    """Write summary.json, energy.csv, g.csv and, for a complete run, the pictures."""
    report.write_json(settings.output / "summary.json", summary)
    measured = [r for r in results if r.energies.size]
    if measured:
        sweeps = [settings.equilibrate + 1 + np.arange(r.energies.size) for r in measured]
        of_runs = (
            (np.full(r.energies.size, r.replica), s, r.energies / settings.ions)
            for r, s in zip(measured, sweeps, strict=True)
        )
        rows = np.concatenate([*map(np.column_stack, of_runs)])
        header = "replica,sweep,energy_per_ion_kT"
        report.write_csv(settings.output / "energy.csv", header, rows, ["%d", "%d", "%.10g"])
    correlations = [r.correlations for r in results if r.correlations is not None]
    if correlations:
        ideal = np.sum([c.ideal for c in correlations], axis=0)
        counts = np.sum([c.counts for c in correlations], axis=0)
        rows = np.column_stack(
            (correlations[0].r, (counts / np.maximum(ideal, 1e-300)).T, counts.T)
        )
        names = [f"{a}{b}" for a, b in correlations[0].pairs]
        titles = ["r_angstrom", *(f"g_{n}" for n in names), *(f"pairs_{n}" for n in names)]
        report.write_csv(settings.output / "g.csv", ",".join(titles), rows, "%.10g")
    structure = _structure(results)
    if structure is not None:
        columns = structure.columns
        rows, formats = np.column_stack([*columns.values()]), ["%.10g", "%d"] + 6 * ["%.6g"]
        path = settings.output / "structure_factors.csv"
        report.write_csv(path, ",".join(columns), rows, formats)
    if summary["complete"] and correlations:
        with figures.pictures(settings.quiet):
            from manymove.electrolyte import plots

            mean = summary["energy_per_ion_kT"], summary["energy_per_ion_error_kT"]
            plots.all_of(settings, measured, correlations, dressed, mean)


def _structure(results: list[Result]) -> StructureFactors | None:
    """Structure factors of all replicas, or None without samples."""
    runs = [r.structure for r in results if r.structure is not None]
    return StructureFactors.pool(runs) if runs else None


def _second_moment(results: list[Result], debye_length: float | None) -> dict[str, float | None]:
    """k^2 / (kappa^2 S_ZZ) of the shortest wave vectors (Stillinger and Lovett, 1968), which tends
    to 1 for small k in a conducting fluid."""
    found = _structure(results)
    if found is None or debye_length is None or not found.charge[0] > 0:
        return {}
    ratio = float((found.k[0] * debye_length) ** 2 / found.charge[0])
    return {
        "k_per_angstrom": float(found.k[0]),
        "value": ratio,
        "error": number(ratio * float(found.errors[0, 0] / found.charge[0])),
    }


def table(summary: dict[str, Any]) -> str:
    """The lines that the command prints at the end."""
    s = summary
    valences = ":".join(f"{z:+d}" for z in s["valences"])
    cell = s["geometry"]
    if s["boundary"] == "ewald":
        cell += f", Ewald's energy, {s['surrounding']} around"
    rows = [("ions", f"{s['N']:,} of valences {valences}, {cell}")]
    if s["debye_length_angstrom"]:
        rows.append(("bare Debye length", f"{s['debye_length_angstrom']:.5g} A"))
    if s["energy_per_ion_kT"] is not None:
        value = with_error(s["energy_per_ion_kT"], s["energy_per_ion_error_kT"])
        rows.append(("energy per ion", f"{value} kT"))
    rows += report.warning_rows(s)
    if s["autocorrelation_time"] is not None:
        rows.append(("autocorrelation", f"{s['autocorrelation_time']:.2f} sweeps"))
    if s["second_moment"] is not None:
        moment = s["second_moment"]
        value = with_error(moment["value"], moment["error"])
        at = f"at k = {moment['k_per_angstrom']:.4g} / A"
        rows.append(("second moment", f"{value} {at} (1 for small k in a conducting fluid)"))
    rows += _dressed_rows(s)
    done = f"{s['sweeps']:,} after {s['equilibration_sweeps']:,}{report.stopped(s)}"
    rows.append(("sweeps", done))
    if s["seconds_per_sweep"]:
        rows.append(
            ("speed", f"{s['seconds_per_sweep']:.4g} s a sweep, {s['acceptance']:.2%} accepted")
        )
        rows.append(("device", f"{s['device']} ({s['device_name']})"))
        rows.append(("energy drift", f"{s['energy_drift_relative']:.2g} of the energy"))
    if len(s["replicas"]) > 1:
        rows.append(("replicas", f"{len(s['replicas'])} on {s['ranks']} rank(s)"))
    rows.append(("state hash", s["state_hash"] or "none"))
    return report.lines(rows)


def _dressed_rows(s: dict[str, Any]) -> list[tuple[str, str]]:
    d = s["renormalized"]
    if d is None:
        return [("renormalized", f"not fitted: {s['renormalized_missing']}")]

    def and_error(value: float, error: float | None) -> str:
        if error is None:
            return f"{value:.4g}"
        if not error < abs(value):  # also where the fit has left numbers that are not finite
            return f"not determined (error {error:.2g})"
        return with_error(value, error)

    rows = [("Debye length", and_error(d["debye_length"], d["debye_length_error"]) + " A")]
    if d["pole_debye_length"] is not None:
        pole = and_error(d["pole_debye_length"], d["pole_debye_length_error"])
        valences = " and ".join(map(and_error, d["pole_valences"], d["pole_valence_errors"]))
        rows.append(("Ornstein-Zernike", f"{pole} A, valences {valences}"))
    for z, ways, errors in zip(s["valences"], d["valences"], d["valence_errors"], strict=True):
        both = " and ".join(map(and_error, ways, errors))
        rows.append((f"valence {z:+d}", f"{both} (by way of either species)"))
    rows.append(
        (
            "Eq. 8",
            f"{and_error(d['screening_ratio'], d['screening_ratio_error'])} against "
            f"{and_error(d['charge_ratio'], d['charge_ratio_error'])}",
        )
    )
    return rows
