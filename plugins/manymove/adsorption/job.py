"""The job behind `manymove adsorption`: systems over ranks, pooled and written out."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from manymove import arguments, files
from manymove.adsorption.averages import FEWEST, MULTIPLE, Pooled
from manymove.adsorption.gas import GasPhase, fractions_of
from manymove.adsorption.input import OPEN_METHODS, TRIALS
from manymove.adsorption.loadings import UNITS, in_all_units
from manymove.adsorption.places import coarse_grid
from manymove.adsorption.plots import published
from manymove.adsorption.pores import helium_void_fraction
from manymove.adsorption.replica import Replica, Result, Settings
from manymove.analysis.autocorrelation import relaxation_time
from manymove.analysis.blocking import drift
from manymove.analysis.notation import Estimate, with_error
from manymove.checkpoint import read_records
from manymove.jobs import figures, replica, report
from manymove.jobs.options import of_option
from manymove.jobs.report import number, values_and_errors
from manymove.jobs.world import World


def run(
    settings: Settings, world: World, kept: list[Any] | None = None
) -> tuple[dict[str, Any], bool]:
    """Run this rank's systems; rank 0 writes summary.json, tables and pictures.

    Args:
        settings: settings of the job.
        world: the ranks.
        kept: energy grids and systems that are kept in memory for the next job, which replace those
            of the previous one.

    Returns:
        the summary (of all ranks, on every rank), and whether all steps were made.

    Raises:
        ValueError, OSError, ImportError, MemoryError, RuntimeError: with one line for the user.
        KeyboardInterrupt: a stop was requested before all systems had started.
    """
    point, points = settings.point
    name = f"{settings.framework}, {settings.method}"
    if settings.pressure is not None:
        name += f", {settings.pressure:g} bar (point {point} of {points})"
    with replica.started([settings], world) as stop:
        count = replica.on_each(world, lambda: _number_of_parts(settings, world))
        check_target_error(settings, count)
        mine = world.share(range(count))
        parts = replica.of_first(world, lambda: _parts(settings, count))
        systems = sum(settings.systems_of(index, count) for index in mine)
        moves = (settings.equilibrate + settings.steps) * systems * settings.states_per_step
        results = replica.run_replicas(
            parts,
            world,
            stop,
            mine,
            partial(Replica, count, world.rank, [] if kept is None else kept),
            name,
            moves,
            at_once=1,
            others=((point - 1) * moves, (points - point) * moves),
        )
    if not all(parameters for parameters, _, _ in (r.run for r in results)):
        raise KeyboardInterrupt
    summary = summarize(settings, results, world.size)
    if world.rank == 0:
        write_outputs(settings, results, summary)
    return summary, summary["complete"]


def check_target_error(settings: Settings, parts: int) -> None:
    """Refuse a target error for parts whose errors are not reliable, because each ends by its own
    systems."""
    fewest = min(settings.systems_of(part, parts) for part in range(parts))
    if settings.target_error is not None and fewest < FEWEST:
        raise ValueError(
            f"--target-error needs at least {FEWEST} systems in each part of the ranks: with "
            f"--systems {settings.systems} the smallest of {parts} has {fewest}"
        )


def _number_of_parts(settings: Settings, world: World) -> int:
    """Number of parts of the systems: the number of ranks, or that of the checkpoints."""
    if settings.resume:
        # Includes the predecessors of damaged ones.
        found = [*settings.output.glob("checkpoint-*.state*")]
        parts = {int(path.name.split(".")[0].partition("-")[2]) for path in found}
        return _recorded_parts(settings.output) or len(parts) or world.size
    if settings.start is not None:
        return len(list(settings.start.glob("checkpoint-*.state")))
    if settings.systems < world.size:
        raise ValueError(f"--systems is {settings.systems}, fewer than the {world.size} ranks")
    return world.size


def _recorded_parts(output: Path) -> int:
    """The number of parts of a run from its records; 0 if there are none of this version. Some
    parts may have been stopped before their first checkpoint."""
    for path in sorted(output.glob("checkpoint-*.records*")):
        with suppress(OSError, ValueError, TypeError):
            return int(read_records(path, columns=3)[1].get("parts", 0))
    return 0


def _parts(settings: Settings, count: int) -> list[tuple[Settings, int]]:
    """Settings and index of each part of the systems. In a resumed run a part without a checkpoint
    starts from the beginning if another part has one."""
    begun = [not settings.resume or replica.begun(settings.output, part) for part in range(count)]
    new = replace(settings, resume=False, overwrite=True) if any(begun) else settings
    return [(settings if goes_on else new, part) for part, goes_on in enumerate(begun)]


def summarize(settings: Settings, results: list[Result], ranks: int) -> dict[str, Any]:
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
        summary["energy_K"] = pooled.energy_average.value
        summary["energy_error_K"] = number(pooled.energy_average.error)
        summary["energy_mc_K"] = pooled.energy_plain.value
        summary["energy_mc_error_K"] = number(pooled.energy_plain.error)
        if multiple:
            waste = pooled.energy_waste_recycled
            summary["energy_wrmc_K"] = waste.value
            summary["energy_wrmc_error_K"] = number(waste.error)
        if settings.method == "mdp-dj":
            summary["b_star"] = number(pooled.b_star)
        if settings.pressure is not None:
            summary |= _open_results(settings, pooled, results)
    if settings.henry and all(r.henry is not None for r in results):
        summary |= _henry_results(settings, pooled, results)
    found = _equilibration(settings, results, pooled)
    found["warnings"] += _doubts(settings, first) + replica.missed(results)
    return {
        **found,
        **summary,
        "framework": settings.framework,
        "framework_atoms": first.framework_atoms,
        "adsorbates": [b.name for b in settings.adsorbates],
        "N": sum(r.N for r in results),
        "molecules": list(settings.molecules),
        "temperature_K": settings.options["temperature"],
        "pressure_bar": settings.pressure,
        "fugacity_bar": settings.fugacity,
        "mole_fractions": settings.gas.mole_fractions if settings.gas else None,
        "box_angstrom": list(first.box),
        "method": settings.method,
        "proposals": first.proposals,
        "systems": settings.systems,
        "steps": min(r.samples for r in results),
        "equilibration_steps": min(r.steps - r.samples for r in results),
        "exchange_acceptance": number(first.exchange_acceptance),
        "max_displacement_angstrom": first.max_displacement,
        **{name: first.run[0].get(name, default) for name, default in TRIALS.items()},
        **_pilot_results(results),
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
        **({"density_samples": _density_samples(results)} if settings.density_map else {}),
        **replica.of_all(settings, results, ranks),
    }


def _equilibration(settings: Settings, results: list[Result], pooled: Pooled) -> dict[str, Any]:
    """The entries `equilibrated`, `relaxation_time` and `warnings`. They follow from the energy
    and, for open systems, from the loading, which is compared with that from test molecules. The
    equilibration of open systems lasts until these agree. Its steps count as well, because errors
    are computed over independent systems. A run that has reached its target error is long enough
    (`are_long_enough`), also where the test molecules are too noisy to tell."""
    is_open = settings.pressure is not None
    reached = settings.target_error is not None and all(r.reached for r in results)
    energies = _energy_records(results)
    every = float(energies[0, 0]) if len(energies) else 1.0
    change = drift([energies[:, 1]])
    if settings.systems >= FEWEST and all(r.samples for r in results):
        # The halves of a run have at most twice the variance of the mean each.
        change = Estimate(change.value, 2 * pooled.energy_plain.error)
    length = min(r.steps if is_open else r.samples for r in results)
    found = report.equilibration(
        math.inf if reached else length, "steps",
        {"the energy": relaxation_time([energies[:, 1]], every)},
        [("the energy", change, " K")],
        None,
    )  # fmt: skip
    if is_open:
        agrees = pooled.loading_agrees()
        if agrees is None and reached:
            agrees = True
        if agrees is not True:
            unknown = _TOO_NOISY if any(r.comparisons for r in results) else _NOTHING_YET
            found["warnings"].append(unknown if agrees is None else _DISAGREES)
        states = (found["equilibrated"], agrees)
        found["equilibrated"] = False if False in states else None if None in states else True
    return found


def _doubts(settings: Settings, first: Result) -> list[str]:
    """Warnings about the grid and the gas."""
    doubts = []
    temperature = settings.options["temperature"]
    if (coarse := coarse_grid(first.grid_error[1], temperature)) is not None:
        doubts.append(coarse)
    if settings.gas is not None and settings.gas.is_liquid:
        doubts.append(
            f"liquid outside: at {settings.pressure:g} bar and {temperature:g} K the equation of "
            f"state gives a liquid of {settings.gas.density:.3g} mol/m3, whose fugacity is used: "
            "--isotherm is in bar and --temperature in kelvin"
        )
    return doubts


_DISAGREES = (
    "not equilibrated: the loading differs from that by test molecules by more than three standard "
    "errors: raise --equilibrate"
)
_NOTHING_YET = "loading not compared: the run ended before the first insertion of test molecules"
_TOO_NOISY = (
    "loading not compared: the error of the comparison with test molecules is above 3 % of the "
    "loading: raise --systems or --steps"
)


def _open_results(settings: Settings, pooled: Pooled, results: list[Result]) -> dict[str, Any]:
    loadings = in_all_units(pooled, settings.void_fraction, settings.gas)
    summary: dict[str, Any] = {
        name: [number(value) for value in values] for name, values in loadings.items()
    }
    if settings.void_fraction is not None:
        summary["void_fraction"] = settings.void_fraction.value
        summary["void_fraction_error"] = number(settings.void_fraction.error)
    if any(r.comparisons for r in results):
        tests = pooled.loading_from_test_molecules
        summary |= values_and_errors("test_molecules_loading", "", tests)
    try:
        best = pooled.loading_optimal
    except RuntimeError:  # trials are not recorded, or there are too few systems
        pass
    else:
        summary |= values_and_errors("loading_optimal", "molecules", best)
    kinds = len(pooled.loading)
    try:
        heats = pooled.heats_of_adsorption
    except RuntimeError:  # a closed system
        pass
    else:
        both = values_and_errors("heat_of_adsorption", "kJ_per_mol", heats)
        summary |= {key: each[0] if kinds == 1 else each for key, each in both.items()}
    if kinds > 1:
        found = [
            pooled.selectivity(k, kinds - 1, settings.mole_fractions) for k in range(kinds - 1)
        ]
        summary |= values_and_errors("selectivity", "", found)
    return summary


def _pilot_results(results: list[Result]) -> dict[str, Any]:
    """The pilot run of each part of the systems, if they choose numbers of trials."""
    abouts = [about for _, about, _ in (r.run for r in results)]
    return {"pilots": [about["pilot"] for about in abouts]} if "pilot" in abouts[0] else {}


def _henry_results(settings: Settings, pooled: Pooled, results: list[Result]) -> dict[str, Any]:
    """Henry coefficients and heats of all species."""
    sums = np.concatenate([r.henry for r in results if r.henry is not None], axis=1)
    found = [pooled.henry_of(of_species, settings.henry) for of_species in sums]
    coefficients, heats = zip(*found, strict=True)
    return values_and_errors("henry", "mol_per_kg_Pa", coefficients) | values_and_errors(
        "henry_heat", "kJ_per_mol", heats
    )


def _energy_records(results: list[Result]) -> np.ndarray:
    """Steps, plain and waste-recycled mean energy of all systems for each record, (K, 3)."""
    shortest = min(len(r.records) for r in results)
    weights = [r.run[0]["systems"] for r in results]
    rows = np.average([r.records[:shortest] for r in results], axis=0, weights=weights)
    differences = np.diff(np.vstack((np.zeros((1, 3)), rows)), axis=0)
    return np.column_stack((rows[:, 0], differences[:, 1:] / differences[:, :1]))


def write_outputs(settings: Settings, results: list[Result], summary: dict[str, Any]) -> None:
    """Write summary.json, the energy, the profile, and, for a complete run, the pictures."""
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
    maps = _density(results)
    if maps is not None:
        table = maps[0].reshape(-1, maps[0].shape[-1])  # species below each other
        header = f"rows: bins along the first edge, of {len(maps[0])} species"
        report.write_csv(output / "density.csv", header, table, "%.8g")
    if summary["complete"] and settings.pictures:
        with figures.pictures(settings.quiet):
            from manymove.adsorption import plots

            if maps is not None and settings.density_map is not None:
                plots.density(output / "density.png", *maps, settings.density_map, summary)
            plots.energy(output / "energy.png", records, summary)
            if profile is not None:
                direction = settings.options["profile"]
                plots.profile(output / "profile.png", profile, direction, summary)


def _density(results: list[Result]) -> tuple[np.ndarray, np.ndarray] | None:
    """Molecules in each bin of a unit cell, (species, bins, bins), and the two edges of the map."""
    found = [r.density for r in results if r.density is not None]
    if not found:
        return None
    cells = math.prod(results[0].run[0]["cells"])
    counts = np.sum([each[0] for each in found], axis=0)
    counts = counts / (cells * sum(each[1] for each in found))
    return counts, found[0][2]


def _density_samples(results: list[Result]) -> int:
    """Number of states of all systems in the density map."""
    return sum(r.density[1] for r in results if r.density is not None)


def run_isotherm(
    settings: Settings,
    pressures: Sequence[float],
    world: World,
    *,
    unit: str = "mol/kg",
    void_fraction: str | None = None,
    literature: Sequence[Path] = (),
    kept: list[Any] | None = None,
) -> tuple[dict[str, Any], bool]:
    """Run the pressures (bar) one after the other, each in its folder, and plot the loading.

    Every point starts with the molecules with which the previous point ended.

    Args:
        settings: settings of each point, without the pressure.
        pressures: total pressures in bar.
        world: the ranks.
        unit: unit of the loadings of the table and of the picture.
        void_fraction: helium void fraction for excess loadings, or "helium" to compute it.
        literature: tables of published loadings for the picture (see `plots.published`).
        kept: energy grids and systems that are kept in memory, as for `run`. All points have the
            same grid, which is computed once.

    Returns:
        the summary, and whether all ran to their end.

    Raises:
        ValueError: a pressure is not positive, the method has no insertions, or another option is
            wrong.
        OSError: a table of published loadings cannot be read.
    """
    check_isotherm(settings, pressures, unit)
    with of_option("--literature"):
        points_of_others = [published(path) for path in literature]
    replica.claim(settings, world)
    if void_fraction is not None:
        settings = replace(settings, void_fraction=_void_fraction(settings, void_fraction, world))
    outputs = [settings.output / _folder(p) for p in pressures]
    begun = replica.of_first(world, lambda: [*map(replica.begun, outputs)])
    points: list[Settings] = []
    for count, (p, output) in enumerate(zip(pressures, outputs, strict=True)):
        # A point or a part of one that an interrupted isotherm has not reached starts where the
        # previous point ended.
        resume = settings.resume and begun[count]
        start = points[-1].output if points else None
        point = replace(settings, pressure=p, output=output, resume=resume, start=start,
                        overwrite=settings.overwrite or (settings.resume and not resume),
                        point=(count + 1, len(pressures)))  # fmt: skip
        points.append(point)

    earlier = earlier_points(settings.output, pressures) if settings.resume else []

    def so_far(runs: list[dict[str, Any]], rest: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        complete = len(runs) == len(points) and all(r["complete"] for r in runs)
        return _isotherm(settings, [*runs, *rest], unit, complete)

    def write(runs: list[dict[str, Any]]) -> None:
        # A resumed isotherm repeats its later points; until then their earlier results stay.
        if world.rank == 0:
            _write_isotherm(settings, so_far(runs, earlier[len(runs) :]), points_of_others)

    runs: list[dict[str, Any]] = []
    kept = [] if kept is None else kept
    for point in points:
        summary, complete = run(point, world, kept)
        runs.append(summary)
        write(runs)
        if not complete:
            break
    return so_far(runs), complete


def check_isotherm(settings: Settings, pressures: Sequence[float], unit: str) -> None:
    """Refuse an isotherm that cannot be run.

    Args:
        settings, pressures, unit: as for `run_isotherm`.

    Raises:
        ValueError: a pressure is not positive, two have the same folder, the method has no
            insertions, or the gas or the unit is wrong.
    """
    if any(not 0 < p < math.inf for p in pressures):
        raise ValueError(f"--isotherm is {list(pressures)}; pressures must be positive (bar)")
    folders = Counter(_folder(p) for p in pressures)
    if folder := next((name for name, count in folders.items() if count > 1), None):
        raise ValueError(
            f"--isotherm has several pressures whose folder would be {folder}: they must differ in "
            "their first six digits"
        )
    if settings.method not in OPEN_METHODS:
        raise ValueError(
            f"--method is {settings.method}; --isotherm needs insertions, which "
            f"{' and '.join(OPEN_METHODS)} have (plj is the default)"
        )
    with of_option("--unit"):
        arguments.one_of("unit", unit, tuple(UNITS))
    if unit == "mg/g" and (heavy := [b.name for b in settings.adsorbates if not b.molar_mass]):
        raise ValueError(f"--unit: {', '.join(heavy)} has no molar_mass, which mg/g needs")
    with of_option("--mole-fractions"):
        fractions_of(settings.mole_fractions, len(settings.adsorbates))
    with of_option("--isotherm"):
        temperature, fractions = settings.options["temperature"], settings.mole_fractions
        _ = [GasPhase(settings.adsorbates, p, temperature, fractions) for p in pressures]


def earlier_points(output: Path, pressures: Sequence[float]) -> list[dict[str, Any]]:
    """The summaries of the first points that an isotherm has found, if they have these pressures;
    none if there is no summary of this version."""
    try:
        runs = json.loads((output / "summary.json").read_text())["runs"]
        pairs = zip(runs, pressures, strict=False)
        found = [
            run for run, _ in takewhile(lambda pair: pair[0]["pressure_bar"] == pair[1], pairs)
        ]
        _ = list(rows_of(found))
    except (OSError, ValueError, LookupError, TypeError):
        return []
    return found


def _isotherm(
    settings: Settings, runs: list[dict[str, Any]], unit: str, complete: bool
) -> dict[str, Any]:
    """The content of summary.json for the points so far."""
    return {
        "framework": settings.framework,
        "adsorbates": [b.name for b in settings.adsorbates],
        "complete": complete,
        "unit": unit,
        "N": [r["N"] for r in runs],
        "pressure_bar": [r["pressure_bar"] for r in runs],
        **{
            key: [r.get(key) for r in runs]
            for each in dict.fromkeys(("mol_per_kg", UNITS[unit]))
            for key in (f"loading_{each}", f"loading_error_{each}")
        },
        "equilibrated": [r["equilibrated"] for r in runs],
        "status": [report.status(r) for r in runs],
        "runs": runs,
        **report.made_by(),
    }


def _write_isotherm(settings: Settings, summary: dict[str, Any], others: Sequence[Any]) -> None:
    """Write summary.json, isotherm.csv and the picture of the points so far. There is no picture if
    a point was stopped early."""
    report.write_json(settings.output / "summary.json", summary)
    _write_table(settings.output / "isotherm.csv", summary["runs"])
    if settings.pictures and all(r["complete"] for r in summary["runs"]):
        with figures.pictures(settings.quiet or not summary["complete"]):
            from manymove.adsorption import plots

            plots.isotherm(settings.output / "isotherm.png", summary, others)


def _void_fraction(settings: Settings, given: str, world: World) -> Estimate:
    """The helium void fraction of `--void-fraction`, a number or the result of insertions."""
    if given != "helium":
        try:
            value = float(given)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1:
            raise ValueError(f'--void-fraction is {given!r}; it must be "helium" or from 0 to 1')
        return Estimate(value, 0.0)
    known = settings.options
    with of_option("--void-fraction"):
        return helium_void_fraction(
            settings.framework, known.get("force_field"), cutoff=known["cutoff"],
            barrier=known["barrier"], grid_spacing=known["grid_spacing"],
            interpolation=known["interpolation"],
            threads=world.threads(settings.threads), device=world.device(settings.device),
        )  # fmt: skip


def _folder(pressure: float) -> str:
    """Name of the folder of a point of an isotherm."""
    return f"pressure_{pressure:g}"


def _with_errors(*units: str, kind: str = "loading") -> list[str]:
    return [f"{kind}{part}_{unit}" for unit in units for part in ("", "_error")]


# Columns of isotherm.csv for a species, and for a point.
_OF_SPECIES = (
    *_with_errors("molecules"), "test_molecules_loading", "test_molecules_loading_error",
    *_with_errors("mol_per_kg"),
    *_with_errors(*(u for u in UNITS.values() if u not in ("molecules", "mol_per_kg"))),
    *_with_errors("mol_per_kg", kind="excess_loading"), "selectivity", "selectivity_error",
)  # fmt: skip
_OF_POINT = (
    "heat_of_adsorption_kJ_per_mol", "heat_of_adsorption_error_kJ_per_mol", "equilibration_steps",
    "steps", "relaxation_time",
)  # fmt: skip
COLUMNS = (
    "pressure_bar", "fugacity_bar", "adsorbate", *_OF_SPECIES, "mole_fraction", *_OF_POINT,
    "temperature_K", "status",
)  # fmt: skip


def rows_of(runs: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rows of isotherm.csv for each pressure and species; missing numbers are NaN."""

    def number_of(value: Any) -> float:
        return math.nan if value is None else value

    def of_kind(value: Any, kind: int) -> Any:
        return value[kind] if isinstance(value, list) else value

    for r in runs:
        for kind, name in enumerate(r["adsorbates"]):
            of_species = {
                key: number_of(r[key][kind] if kind < len(r.get(key) or ()) else None)
                for key in _OF_SPECIES
            }
            yield {
                "pressure_bar": r["pressure_bar"],
                "fugacity_bar": r["fugacity_bar"][kind],
                "adsorbate": name,
                "mole_fraction": r["mole_fractions"][kind],
                **of_species,
                **{key: number_of(of_kind(r.get(key), kind)) for key in _OF_POINT},
                "temperature_K": r["temperature_K"],
                "status": report.status(r),
            }


def _write_table(path: Path, runs: Sequence[dict[str, Any]]) -> None:
    rows = ([row[name] for name in COLUMNS] for row in rows_of(runs))
    lines = [",".join(COLUMNS)]
    lines += [",".join(w if isinstance(w, str) else f"{w:.8g}" for w in row) for row in rows]
    with files.replace(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def isotherm_table(summary: dict[str, Any]) -> str:
    """The lines printed after `--isotherm`."""
    unit, several = summary["unit"], len(summary["adsorbates"]) > 1
    excess = any("excess_loading_mol_per_kg" in r for r in summary["runs"])
    head = ["pressure (bar)", "fugacity (bar)", "molecules", "by test molecules"]
    head += [f"loading ({unit})"]
    head += ["excess (mol/kg)"] * excess + ["adsorbate", "selectivity"] * several + ["status"]
    table = [head]
    for row in rows_of(summary["runs"]):
        pairs = [
            _with_errors("molecules"),
            ("test_molecules_loading", "test_molecules_loading_error"),
            _with_errors(UNITS[unit]),
            *[_with_errors("mol_per_kg", kind="excess_loading")] * excess,
        ]
        line = [f"{row['pressure_bar']:g}", f"{row['fugacity_bar']:.5g}"]
        line += [with_error(row[value], row[error]) for value, error in pairs]
        if several:
            known = not math.isnan(row["selectivity"])
            ratio = with_error(row["selectivity"], row["selectivity_error"]) if known else "1"
            line += [row["adsorbate"], ratio]
        table.append([*line, row["status"]])
    widths = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]
    lines = [
        "".join(f"{word:{w}}" for word, w in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    lines += report.warning_lines((f"{r['pressure_bar']:g} bar", r) for r in summary["runs"])
    return "\n".join(lines)


def table(summary: dict[str, Any]) -> str:
    """The lines that the command prints at the end."""
    s = summary

    def energy(name: str) -> str:
        return with_error(s[f"{name}_K"], s[f"{name}_error_K"])

    what = ", ".join(f"{n} {name}" for n, name in zip(s["molecules"], s["adsorbates"], strict=True))
    rows = [("systems", f"{s['systems']:,} with {what} in {s['framework']}")]
    if s["energy_K"] is not None:
        rows.append(("energy", f"{energy('energy')} K ({s['method']})"))
        if "energy_wrmc_K" in s:
            both = f"{energy('energy_mc')} K, {energy('energy_wrmc')} K"
            rows.append(("plain / recycled", both))
        if s["b_star"] is not None:
            rows.append(("b*", f"{s['b_star']:.2f}"))
    for k, name in enumerate(s["adsorbates"] if "henry_mol_per_kg_Pa" in s else ()):
        of_henry = with_error(s["henry_mol_per_kg_Pa"][k], s["henry_error_mol_per_kg_Pa"][k])
        heat = with_error(s["henry_heat_kJ_per_mol"][k], s["henry_heat_error_kJ_per_mol"][k])
        rows.append((f"Henry, {name}", f"{of_henry} mol/(kg Pa), heat {heat} kJ/mol"))
    rows += report.warning_rows(s)
    done = f"{s['steps']:,} after {s['equilibration_steps']:,}{report.stopped(s)}"
    rows.append(("steps", done))
    if s["acceptance"] is not None:
        step = s["max_displacement_angstrom"]
        rows.append(
            ("acceptance", f"{s['acceptance']:.2%}, displacement up to {step:.3g} angstrom")
        )
    rows.append(
        ("speed", f"{s['steps_per_second'] or 0:.4g} steps/s of all systems, {s['seconds']:.1f} s")
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
