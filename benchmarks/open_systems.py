"""Merit of the loading of open systems: `python -m benchmarks adsorption --fugacity`.

The merit 1 / (variance x seconds) of an average does not depend on the length of the run: it is
the merit of all systems of the device together, at equal wall time for all rows. The variance is
that over the systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import graspa, kups, raspa
from benchmarks.series import row_of_processes
from manymove.adsorption.frameworks import read_framework
from manymove.adsorption.input import OPEN_METHODS, arguments_of
from manymove.adsorption.occupancy import filling_systems
from manymove.adsorption.simulation import Adsorption
from manymove.analysis.notation import Estimate, with_error
from manymove.bench.harness import STATUS, Report, Table, Variant, spread, time_in_turn
from manymove.jobs.report import drifting

# Trial positions and orientations: those of gRASPA's example of CO2 in MFI, and more positions.
_TRIALS_OF_GRASPA = ((10, 10), (64, 10))
_LEAST = 0.25  # part of the run that the first look has to leave
# The programs of --peers, and how each is made available.
PEERS = {
    "graspa": f"set {graspa.PROGRAM} to the path of its program",
    "kups": kups.REMEDY,
    "raspa": "install it with `pip install raspalib`",
}
_NAMES = {"graspa": "gRASPA", "kups": "kUPS", "raspa": "RASPA3"}


class Timed:
    """An engine of open systems and its variant."""

    def __init__(self, engine: Adsorption, variant: Variant) -> None:
        self.engine, self.variant = engine, variant
        self._before = engine.seconds
        self._looks: list[tuple[int, Any]] = []

    def look(self) -> None:
        """Store the present sums of the numbers of molecules."""
        a = self.engine
        numbers = a.snapshot[2]["sums"].reshape(-1, a.systems)[5]
        self._looks.append((a.samples, numbers.copy()))

    def _drift(self) -> list[str]:
        """The warning of a loading that differs in two parts of the run."""
        steps, sums = self._looks[-1]
        part, first = min(self._looks, key=lambda look: abs(look[0] - steps / 2))
        if steps - part < _LEAST * steps or len(sums) < 2:
            return []
        changes = (sums - first) / (steps - part) - first / part
        error = changes.std(ddof=1) / math.sqrt(len(changes))
        return drifting("steps", "the loading", Estimate(changes.mean(), error), " molecules")

    def result(self) -> dict[str, Any]:
        a, row = self.engine, self.variant.result()
        seconds, loading = a.seconds - self._before, a.loading[0]

        def merit(estimate: Estimate) -> float:
            return 1 / (estimate.error**2 * seconds) if estimate.error > 0 else math.nan

        try:
            best = a.loading_optimal[0]
            insertions = a.loading_from_insertions[0]
        except RuntimeError:  # few systems, or single sites without trials
            best = insertions = Estimate(math.nan, math.nan)
        plain = merit(loading)
        return {
            "molecules": 0,
            "variant": row["variant"],
            "method": a.method,
            "proposals": a.proposals,
            "trial_positions": a.resolved_settings["trial_positions"],
            "trial_orientations": a.resolved_settings["trial_orientations"],
            "systems": a.systems,
            "trial_states_per_second": row["trial_moves_per_second"],
            "steps_per_second": row["trial_moves_per_second"],
            "lowest": row["lowest"],
            "highest": row["highest"],
            "repeats": row["repeats"],
            "acceptance": a.exchange_acceptance,
            "measured_steps": a.samples,
            "measured_seconds": seconds,
            "loading_molecules": loading.value,
            "loading_error_molecules": loading.error,
            "loading_optimal_molecules": best.value,
            "loading_optimal_error_molecules": best.error,
            "loading_from_insertions_molecules": insertions.value,
            "loading_from_insertions_error_molecules": insertions.error,
            "energy_K": a.energy_plain.value,
            "energy_error_K": a.energy_plain.error,
            # 1 / (variance x seconds), and 1 / (variance x steps of all systems), of the plain mean
            "figure_of_merit": plain,
            "merit_per_step": plain * seconds / (a.samples * a.systems),
            "optimal_merit": merit(best),
            "insertions_merit": merit(insertions),
            "capacity": a.capacity,
            "device": a.device,
            "device_name": a.device_name,
            "grid_points": list(a.grid["points"]),
            "warnings": row["warnings"] + self._drift(),
        }


def run(
    *,
    framework: str,
    molecules: int,
    methods: Sequence[str],
    fugacity: float,
    trial_positions: Sequence[int],
    trial_orientations: Sequence[int],
    systems: int | None,
    device: str,
    threads: int | None,
    equilibrate: int,
    repeats: int,
    seconds: float,
    json_file: Path | None,
    settings: dict[str, Any],
    about: dict[str, Any],
    merit: float | None = None,
    peers: Sequence[str] | None = None,
    kups_systems: Sequence[int] = (64,),
    kups_seconds: float | None = None,
    graspa_processes: int = 1,
) -> dict[str, Any]:
    """Time every number of trials, print a table, and write the JSON file.

    The arguments are the options of `python -m benchmarks adsorption`; `molecules` are there at the
    start of the equilibration. With `merit`, gRASPA, kUPS and RASPA3 measure the same system for
    that many seconds each, if they are installed; `peers` names those that have to be installed.
    gRASPA may have several processes, which run at the same time.

    Raises:
        ValueError: an argument is out of range, or a program of `peers` is not installed or would
            have other charges.
    """
    chosen = [method for method in methods if method in OPEN_METHODS]
    if not chosen:
        raise ValueError(f"--fugacity needs one of --methods {', '.join(OPEN_METHODS)}")
    found = [] if merit is None else _found(peers)
    if "raspa" in found:
        raspa.refuse_other_charges(
            read_framework(framework), settings["adsorbates"], settings["force_field"],
            settings.get("framework_charges"),
        )  # fmt: skip
    report = Report(TABLE, json_file, **about, fugacity_bar=fugacity)
    timed = []
    for method in chosen:
        where = "cpu" if method == "metropolis" else device
        for k in trial_positions:
            for m in trial_orientations:
                room = max(1, molecules)
                own = {
                    "framework": framework, "molecules": molecules, "method": method,
                    "fugacity": fugacity, "trial_positions": k, "trial_orientations": m,
                    "device": where, "threads": 1 if method == "metropolis" else threads,
                    "systems": systems
                    or filling_systems(method, room, where, settings["precision"], threads),
                }  # fmt: skip
                a = Adsorption(**arguments_of({**own, **settings}))
                a.equilibrate(equilibrate)
                timed.append(_timed(a, f"{method} {k} x {m}, {a.device}"))
    time_in_turn([t.variant for t in timed], repeats, seconds)
    rows = [t.result() for t in timed]
    report.add(rows)
    if merit is not None:
        merits = [row["figure_of_merit"] for row in rows]
        best = max((merit for merit in merits if merit > 0), default=math.nan)  # NaN: no error
        batches = {"systems": kups_systems, "seconds": kups_seconds or merit,
                   "processes": graspa_processes}  # fmt: skip
        for peer in _peers(found, timed[0].engine, molecules, merit, settings, batches):
            row = peer()
            row["merit_ratio"] = best / row["figure_of_merit"]
            report.add([row])
    return report.end()


def _found(peers: Sequence[str] | None) -> list[str]:
    """The programs to compare with.

    Raises:
        ValueError: a requested program, or every program, is not installed.
    """
    there = {
        "graspa": graspa.program() is not None,
        "kups": kups.python() is not None,
        "raspa": raspa.module() is not None,
    }
    for name in peers or ():
        if name not in PEERS:
            raise ValueError(f'--peers has "{name}"; there are {", ".join(PEERS)}')
        if not there[name]:
            raise ValueError(f"--peers: {_NAMES[name]} is not installed: {PEERS[name]}")
    if not any(there.values()):
        words = "; ".join(f"{_NAMES[name]}: {remedy}" for name, remedy in PEERS.items())
        raise ValueError(f"--merit needs another program. {words}")
    return list(peers) if peers else [name for name in PEERS if there[name]]


def _peers(
    found: Sequence[str],
    a: Adsorption,
    molecules: int,
    seconds: float,
    settings: dict[str, Any],
    batches: dict[str, Any],
) -> list[Callable[[], dict[str, Any]]]:
    """Functions that return the rows of the other programs. `batches` has the numbers of systems
    and the duration of kUPS, and the number of processes of gRASPA."""
    molecule, force_field = settings["adsorbates"], settings["force_field"]
    fugacity = a.resolved_settings["fugacity"][0]
    common = {
        "framework": a.framework, "force_field": force_field, "cells": a.cells,
        "temperature": a.temperature, "cutoff": a.resolved_settings["cutoff"],
        "exchange": settings["exchange"], "reinsertion": settings["reinsertion"],
        "seed": settings["seed"], "charges": settings.get("framework_charges"),
    }  # fmt: skip
    timed = common | {"seconds": seconds}
    of_raspa = {name: value for name, value in timed.items() if name != "charges"}
    peers: list[Callable[[], dict[str, Any]]] = []
    if "graspa" in found and (program := graspa.program()) is not None:
        for trials in _TRIALS_OF_GRASPA:
            name, processes = f"gRASPA {trials[0]} x {trials[1]}", batches["processes"]
            if processes > 1:
                name += f", {processes} processes"
            run = partial(graspa.series, program, molecule=molecule, fugacity=fugacity,
                          molecules=molecules, trials=trials, processes=processes,
                          **timed)  # fmt: skip
            peers.append(lambda run=run, name=name: row_of_processes(run(), name, "cuda"))
    if "kups" in found and (python := kups.python()) is not None:
        for count in batches["systems"]:
            run = partial(kups.batch, python, molecule=molecule, fugacity=fugacity,
                          molecules=molecules, room=a.capacity[0], systems=count,
                          seconds=batches["seconds"], **common)  # fmt: skip
            peers.append(lambda run=run: run().row())
    if "raspa" in found and (library := raspa.module()) is not None:
        name = f"RASPA {version('raspalib')}, one core"
        run = partial(raspa.open_series, library, species=[molecule], fugacities=[fugacity],
                      molecules=[molecules], **of_raspa)  # fmt: skip
        peers.append(lambda run=run, name=name: run()[0].row(name, "cpu"))
    return peers


def _timed(a: Adsorption, name: str) -> Timed:
    def steps(count: int) -> tuple[int, int]:
        accepted = a.acceptance_counts[0]
        a.run(count)
        return count * a.systems, a.acceptance_counts[0] - accepted

    timed = Timed(a, Variant(name, steps, {}))
    timed.variant.look = timed.look
    return timed


def _ratio(row: dict[str, Any]) -> float:
    return row["optimal_merit"] / row["figure_of_merit"]


def _loading(row: dict[str, Any]) -> str:
    return with_error(row["loading_molecules"], row["loading_error_molecules"])


TABLE = Table(
    (
        ("variant", "<22", "variant"),
        ("systems", ">8", "systems"),
        ("steps/s", ">9.3g", "steps_per_second"),
        ("spread", ">6.1%", spread("trial_states_per_second")),
        ("exchanged", ">9.2%", "acceptance"),
        ("loading", ">12", _loading),
        ("merit", ">9.3g", "figure_of_merit"),
        ("optimal", ">9.3g", "optimal_merit"),
        ("ratio", ">6.3g", _ratio),
        STATUS,
    ),
    lambda row: f"1 / {row['merit_ratio']:.3g} of ours" if "merit_ratio" in row else "",
)
