"""The job behind `manymove adsorption`: systems over ranks, pooled and written out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from manymove import job, report
from manymove.adsorption_replica import Replica, Result, Settings
from manymove.analysis import pressure
from manymove.analysis.relaxation import relaxation_time
from manymove.averages import MULTIPLE, Pooled
from manymove.replicas import World
from manymove.report import number


def run(settings: Settings, world: World) -> tuple[dict[str, Any], bool]:
    """Run this rank's systems; rank 0 writes summary.json, tables and pictures.

    Returns:
        the summary (of all ranks, on every rank), and whether all steps were made.

    Raises:
        ValueError, OSError, ImportError, MemoryError, RuntimeError: with one line for the user.
    """
    results = job.on_all_ranks(settings, world, lambda: _share(settings, world))
    summary = summarise(settings, results, world.size)
    if world.rank == 0:
        write_outputs(settings, results, summary)
    return summary, summary["complete"]


def _share(settings: Settings, world: World) -> list[Result]:
    """What this rank runs."""
    count = _number_of_parts(settings, world)
    mine = world.share(range(count))
    systems = sum(settings.systems_of(index, count) for index in mine)
    return job.run_share(
        settings,
        world,
        mine,
        lambda *where: Replica(count, world.rank, *where),
        f"{settings.framework}, {settings.method}",
        (settings.equilibrate + settings.steps) * systems * settings.states_per_step,
        at_once=1,
    )


def _number_of_parts(settings: Settings, world: World) -> int:
    """Of the systems: one for each rank, or those that the checkpoints are of."""
    if settings.resume:
        found = settings.output.glob(
            "checkpoint-*.state*"
        )  # a damaged one may have its predecessor
        parts = {int(path.name.split(".")[0].partition("-")[2]) for path in found}
        return len(parts) or world.size
    if settings.systems < world.size:
        raise ValueError(f"--systems is {settings.systems}, fewer than the {world.size} ranks")
    return world.size


def summarise(settings: Settings, results: list[Result], ranks: int) -> dict[str, Any]:
    """The content of summary.json."""
    first = results[0]
    pooled = Pooled([r.run for r in results])
    seconds = max(sum(r.seconds for r in results if r.rank == rank) for rank in range(ranks))
    states = sum(r.session_moves for r in results)
    measured = any(r.samples for r in results)
    multiple = settings.method in MULTIPLE
    summary: dict[str, Any] = {
        name: None
        for name in ("energy_K", "energy_error_K", "energy_mc_K", "energy_mc_error_K", "b_star")
    }
    if measured:
        summary["energy_K"] = pooled.energy.value
        summary["energy_error_K"] = number(pooled.energy.error)
        summary["energy_mc_K"] = pooled.energy_plain.value
        summary["energy_mc_error_K"] = number(pooled.energy_plain.error)
        if multiple:
            waste = pooled.energy_waste_recycled
            summary["energy_wrmc_K"] = waste.value
            summary["energy_wrmc_error_K"] = number(waste.error)
        if settings.method == "mdp-dj":
            summary["b_star"] = number(pooled.b_star)
        if settings.pressure is not None:
            summary |= _open_results(pooled)
    energies = _energy_records(results)
    drift = pressure.drift([energies[:, 1]]) if len(energies) else (math.nan, math.nan)
    every = float(energies[0, 0]) if len(energies) else 1.0
    return {
        **summary,
        **report.equilibration(
            min(r.samples for r in results),
            "steps",
            {"the energy": relaxation_time([energies[:, 1]], every)},
            [("the energy", *map(number, drift), " K")],
            None,
        ),
        "framework": settings.framework,
        "adsorbates": [b.name for b in settings.adsorbates],
        "molecules": list(settings.molecules),
        "temperature_K": settings.options["temperature"],
        "pressure_bar": settings.pressure,
        "fugacity_bar": settings.fugacity,
        "box_angstrom": list(first.box),
        "method": settings.method,
        "proposals": first.proposals,
        "systems": settings.systems,
        "steps": min(r.samples for r in results),
        "equilibration_steps": min(r.steps - r.samples for r in results),
        "exchange_acceptance": number(first.exchange_acceptance),
        "max_displacement_angstrom": first.max_displacement,
        "trial_states": sum(r.trial_states for r in results),
        "trial_states_per_second": states / seconds if seconds else None,
        "steps_per_second": states / seconds / (first.proposals - 1) if seconds else None,
        "grid_points": list(first.grid["points"]),
        "grid_bytes": first.grid["bytes"],
        "grid_error": number(first.grid_error[0]),
        "grid_error_K_per_molecule": number(first.grid_error[1]),
        "blocked_share": first.grid["blocked"],
        "molecules_on_hills": sum(r.on_hills for r in results),
        "energy_drift_K": max(r.energy_drift for r in results),
        **report.of_all(settings, results, ranks),
    }


def _open_results(pooled: Pooled) -> dict[str, Any]:
    results: dict[str, Any] = {
        "loading_molecules": [n.value for n in pooled.loading],
        "loading_error_molecules": [number(n.error) for n in pooled.loading],
        "loading_mol_per_kg": [n.value for n in pooled.loading_mol_per_kg],
        "loading_error_mol_per_kg": [number(n.error) for n in pooled.loading_mol_per_kg],
    }
    if len(pooled.loading) == 1:
        heat = pooled.heat_of_adsorption
        results["heat_of_adsorption_kJ_per_mol"] = number(heat.value)
        results["heat_of_adsorption_error_kJ_per_mol"] = number(heat.error)
    return results


def _energy_records(results: list[Result]) -> np.ndarray:
    """(K, 3): steps, plain and waste-recycled mean energy of each record, over all systems."""
    shortest = min(len(r.records) for r in results)
    weights = [r.run[0]["systems"] for r in results]
    rows = np.average([r.records[:shortest] for r in results], axis=0, weights=weights)
    differences = np.diff(np.vstack((np.zeros((1, 3)), rows)), axis=0)
    return np.column_stack((rows[:, 0], differences[:, 1:] / differences[:, :1]))


def write_outputs(settings: Settings, results: list[Result], summary: dict[str, Any]) -> None:
    """summary.json, the energy, the profile, and, of a complete run, the pictures."""
    output, records = settings.output, _energy_records(results)
    report.write_json(output / "summary.json", summary)
    if not len(records):
        return
    header = "steps,energy_mc_K,energy_wrmc_K"
    report.write_csv(output / "energy.csv", header, records, ["%d", "%.6f", "%.6f"])
    pooled = Pooled([r.run for r in results])
    profile = pooled.profile if settings.options["profile"] else None
    if profile is not None:
        columns = [getattr(profile, name) for name in profile.__dataclass_fields__]
        header = "position,P,P_error,F_K,F_error_K"
        report.write_csv(output / "profile.csv", header, np.column_stack(columns), "%.8g")
    if summary["complete"]:
        with report.pictures(settings.quiet):
            from manymove import plots_adsorption as plots

            plots.energy(output / "energy.png", records, summary)
            if profile is not None:
                plots.profile(output / "profile.png", profile, settings.options["temperature"])


def run_isotherm(
    settings: Settings, pressures: Sequence[float], world: World
) -> tuple[dict[str, Any], bool]:
    """Run the pressures (bar) one after the other, each in its folder, and plot the loading.

    Returns:
        the summary, and whether all ran to their end.

    Raises:
        ValueError: a pressure is not positive, or the method has no insertions.
    """
    if any(not 0 < p < math.inf for p in pressures):
        raise ValueError(f"--isotherm is {list(pressures)}; pressures must be positive (bar)")
    points = [
        replace(settings, pressure=p, output=settings.output / f"pressure_{p:g}") for p in pressures
    ]
    job.claim(settings, world)
    runs, complete = job.run_in_turn(run, points, world)
    summary = {
        "framework": settings.framework,
        "adsorbates": [b.name for b in settings.adsorbates],
        "complete": complete,
        "pressure_bar": [r["pressure_bar"] for r in runs],
        "loading_mol_per_kg": [r.get("loading_mol_per_kg") for r in runs],
        "loading_error_mol_per_kg": [r.get("loading_error_mol_per_kg") for r in runs],
        "runs": runs,
        **report.made_by(),
    }
    if world.rank == 0:
        report.write_json(settings.output / "summary.json", summary)
        if complete:
            with report.pictures(settings.quiet):
                from manymove import plots_adsorption as plots

                plots.isotherm(settings.output / "isotherm.png", summary)
    return summary, complete


def isotherm_table(summary: dict[str, Any]) -> str:
    """The lines printed after `--isotherm`."""
    lines = [f"{'pressure (bar)':16}{'fugacity (bar)':16}loading (mol/kg)"]
    for r in summary["runs"]:
        loadings = zip(
            r.get("loading_mol_per_kg", []), r.get("loading_error_mol_per_kg", []), strict=True
        )
        text = ", ".join(f"{n:.5g} +- {e if e is not None else math.nan:.2g}" for n, e in loadings)
        fugacity = ", ".join(f"{f:.5g}" for f in r["fugacity_bar"])
        lines.append(f"{r['pressure_bar']:<16g}{fugacity:16}{text or '-'}")
    return "\n".join(lines)


def table(summary: dict[str, Any]) -> str:
    """The lines that the command prints at the end."""
    s = summary

    def energy(name: str) -> str:
        return report.with_error(s[f"{name}_K"], s[f"{name}_error_K"])

    what = ", ".join(f"{n} {name}" for n, name in zip(s["molecules"], s["adsorbates"], strict=True))
    rows = [("systems", f"{s['systems']:,} with {what} in {s['framework']}")]
    if s["energy_K"] is not None:
        rows.append(("energy", f"{energy('energy')} K ({s['method']})"))
        if "energy_wrmc_K" in s:
            both = f"{energy('energy_mc')} K, {energy('energy_wrmc')} K"
            rows.append(("plain / recycled", both))
        if s["b_star"] is not None:
            rows.append(("b*", f"{s['b_star']:.2f}"))
    rows += report.warning_rows(s)
    done = f"{s['steps']:,} after {s['equilibration_steps']:,}{report.stopped(s)}"
    rows.append(("steps", done))
    if s["acceptance"] is not None:
        step = s["max_displacement_angstrom"]
        rows.append(
            ("acceptance", f"{s['acceptance']:.2%}, displacement up to {step:.3g} angstrom")
        )
    rows.append(
        ("speed", f"{s['trial_states_per_second'] or 0:.4g} trial states/s, {s['seconds']:.1f} s")
    )
    rows.append(("device", f"{s['device']} ({s['device_name']})"))
    if s["grid_error"] is not None:
        rows.append(
            (
                "grid",
                f"{s['grid_error']:+.3%} of the framework energy, "
                f"{s['grid_error_K_per_molecule']:.2g} K per molecule",
            )
        )
    if s["molecules_on_hills"]:
        rows.append(("on hills", f"{s['molecules_on_hills']} molecules: equilibrate longer"))
    return report.lines(rows)
