"""The main job behind `manymove adsorption`: systems over ranks, pooled and written out."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from manymove import checkpoint
from manymove.adsorbates import METHANE, Adsorbate
from manymove.adsorption import Adsorption
from manymove.averages import MULTIPLE, Pooled
from manymove.progress import Interrupted, MovesBar, StopRequest
from manymove.replicas import World, share_of_threads
from manymove.report import write_json

RECORDS = 200  # of the energy in a complete run, about


@dataclass(frozen=True)
class Settings:
    """What the user asked for; the options of `manymove adsorption` say what each means."""

    framework: str
    molecules: Sequence[int]
    adsorbates: Sequence[Adsorbate]
    steps: int
    equilibrate: int
    seed: int
    device: str
    output: Path
    method: str
    systems: int
    options: dict[str, Any]  # other arguments of manymove.Adsorption
    threads: int | None
    checkpoint: float
    resume: bool
    quiet: bool
    pressure: float | None = None  # bar; the systems are open

    def __post_init__(self) -> None:
        for option, value, least in (
            ("--steps", self.steps, 1),
            ("--equilibrate", self.equilibrate, 0),
            ("--systems", self.systems, 1),
            ("--seed", self.seed, 0),
            ("--threads", 1 if self.threads is None else self.threads, 1),
        ):
            if value < least:
                raise ValueError(f"{option} is {value}; it must be at least {least}")
            if value >= 2**63:
                raise ValueError(f"{option} is {value}; it must be below 2**63")
        if not self.checkpoint > 0:
            raise ValueError(f"--checkpoint is {self.checkpoint}; it must be positive (seconds)")


def read_adsorbates(path: Path | None) -> list[Adsorbate]:
    """Methane, or what a JSON file lists: the attributes of `Adsorbate` for each species.

    Raises:
        OSError: the file cannot be read.
        ValueError: it does not parse, or an attribute is missing or unknown.
    """
    if path is None:
        return [METHANE]
    try:
        entries = json.loads(path.read_text())
        species = []
        for entry in entries if isinstance(entries, list) else [entries]:
            laws = {e: None if law is None else tuple(law) for e, law in entry["framework"].items()}
            species.append(Adsorbate(**{**entry, "framework": laws}))
        return species
    except (TypeError, KeyError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} does not list adsorbates: {error}") from None


def run(settings: Settings, world: World) -> tuple[dict[str, Any], bool]:
    """Run this rank's systems; rank 0 writes summary.json, tables and pictures.

    Returns:
        the summary (of all ranks, on every rank), and whether all steps were made.

    Raises:
        ValueError, OSError, ImportError, MemoryError, RuntimeError: with one line for the user.
    """
    failure: Exception | None = None
    parts: list[dict[str, Any]] = []
    try:
        count = _number_of_parts(settings, world)
        with world.stop_request() as stop:
            for index in world.share(range(count)):
                parts.append(_Part(settings, world, index, count, stop).run())
    except Exception as error:
        failure = error
    # An error on one rank is the error of all, or the others would wait for it for ever.
    failures = world.failures(failure)
    if failure is not None:
        raise failure
    if failures:
        raise RuntimeError(failures[0])
    parts = sorted(world.gather(parts), key=lambda part: part["seed"])
    summary = _summarise(settings, parts, world.size)
    if world.rank == 0:
        _write(settings, parts, summary)
    return summary, summary["complete"]


def _number_of_parts(settings: Settings, world: World) -> int:
    """Of the systems: one for each rank, or those that the checkpoints are of."""
    settings.output.mkdir(parents=True, exist_ok=True)
    found = list(settings.output.glob("checkpoint-*.state"))
    if settings.resume:
        return len(found) or world.size
    if settings.systems < world.size:
        raise ValueError(f"--systems is {settings.systems}, fewer than the {world.size} ranks")
    for old in found:  # of an earlier run on more ranks
        if world.rank == 0 and int(old.stem.partition("-")[2]) >= world.size:
            old.unlink()
    return world.size


class _Part:
    """Systems of one rank from their start to the last step."""

    def __init__(
        self, settings: Settings, world: World, index: int, count: int, stop: StopRequest
    ) -> None:
        self._settings = settings
        self._systems = len(range(settings.systems)[index::count])
        self._seed = settings.seed + index
        self._checkpoint = settings.output / f"checkpoint-{index}"
        self._stop = stop
        self._rank = world.rank
        self._device = world.device(settings.device)
        (self._threads,) = share_of_threads(self._device, settings.threads, 1, world.cores)
        self._quiet = settings.quiet or world.rank > 0
        self._records: list[tuple[float, ...]] = []  # steps and sums so far, per system

    def run(self) -> dict[str, Any]:
        s = self._settings
        began = time.time()
        a = self._engine()
        first = a.trial_states
        self._saved = time.time()
        total = (s.equilibrate + s.steps) * self._systems * (a.proposals - 1)
        self._bar = MovesBar(f"{s.framework}, {s.method}", total, quiet=self._quiet)
        try:
            if a.steps < s.equilibrate:
                a.equilibrate(s.equilibrate - a.steps, callback=self._pause)
            self._measure(a)
            complete = True
        except Interrupted:
            complete = False
        finally:
            self._bar.close()
        self._save(a)
        return {
            "run": (a._parameters, a._about, a._engine.snapshot()),
            "complete": complete,
            "rank": self._rank,
            "records": np.array(self._records).reshape(-1, 3),
            "acceptance_counts": a.acceptance_counts,
            "exchange_acceptance": a.exchange_acceptance,
            "session_states": a.trial_states - first,
            "trial_states": a.trial_states,
            "steps": a.steps,
            "samples": a.samples,
            "seconds": a.seconds,
            "wall": time.time() - began,
            "state_hash": a.state_hash,
            "seed": a.seed,
            "device": a.device,
            "device_name": a.device_name,
            "max_displacement": a.max_displacement,
            "proposals": a.proposals,
            "box": a.box,
            "grid": a.grid,
            "grid_error": a.grid_error(),
            "on_hills": a.on_hills(),
            "energy_drift": a.energy_drift,
        }

    def _engine(self) -> Adsorption:
        s = self._settings
        state = self._checkpoint.with_suffix(".state")
        if s.resume:
            if not state.is_file():
                raise FileNotFoundError(f"--resume: no checkpoint {state}")
            a = Adsorption.load(state, device=self._device, threads=self._threads)
            records = checkpoint.read_records(self._checkpoint.with_suffix(".records"), columns=3)
            self._records = [tuple(row) for row in records if row[0] <= a.samples]
            same = {
                "--seed": (a.seed, self._seed),
                "--systems": (a.systems, self._systems),
                "--method": (a.method, s.method),
                "--framework": (a.framework.name, Path(s.framework).stem),
                "--molecules": (
                    [one["molecules"] for one in a._parameters["species"]],
                    list(s.molecules),
                ),
            }
            held = {**a._parameters, **a._about, "proposals": a.proposals}
            names = ("temperature", "cutoff", "proposals", "profile", "interpolation", "precision")
            for name in names:
                if s.options.get(name) is not None or name == "profile":
                    same[f"--{name}"] = (_plain(held[name]), _plain(s.options.get(name)))
            for option, (old, new) in same.items():
                if old != new:
                    raise ValueError(f"--resume: {state} has {option} {old}, not {new}")
            return a
        open_ = {}
        if s.pressure is not None:
            share = s.pressure / len(s.adsorbates)
            t = s.options.get("temperature", 300.0)
            open_["fugacity"] = [
                share * b.fugacity_coefficient(s.pressure, t) for b in s.adsorbates
            ]
        return Adsorption(
            s.framework, list(s.molecules), adsorbates=list(s.adsorbates), method=s.method,
            systems=self._systems, seed=self._seed, device=self._device, threads=self._threads,
            **open_, **s.options,
        )  # fmt: skip

    def _pause(self, a: Adsorption) -> None:
        self._bar.show(a.trial_states)
        if self._stop.requested:
            raise Interrupted
        if time.time() - self._saved > self._settings.checkpoint:
            self._save(a)

    def _measure(self, a: Adsorption) -> None:
        steps, every = self._settings.steps, self._every
        while a.samples < steps:
            target = min(steps, (a.samples // every + 1) * every)
            a.run(target - a.samples, callback=self._pause)
            self._record(a)

    @property
    def _every(self) -> int:
        return max(1, self._settings.steps // RECORDS)

    def _record(self, a: Adsorption) -> None:
        """A record where one is due and there is none yet."""
        due = a.samples > 0 and (a.samples % self._every == 0 or a.samples == self._settings.steps)
        if due and (not self._records or self._records[-1][0] < a.samples):
            means = a._means()[:2].mean(axis=1) * a.samples
            self._records.append((float(a.samples), *means))

    def _save(self, a: Adsorption) -> None:
        """Write the checkpoint; records that a crash leaves ahead are dropped."""
        self._record(a)  # the state may be of the last step before it
        records = np.array(self._records).reshape(-1, 3)
        checkpoint.write_records(self._checkpoint.with_suffix(".records"), records)
        a.save(self._checkpoint.with_suffix(".state"))
        self._saved = time.time()


def _plain(value: Any) -> Any:
    """As a checkpoint has it."""
    return list(value) if isinstance(value, tuple) else value


def _number(value: float) -> float | None:
    """JSON knows no NaN."""
    return float(value) if math.isfinite(value) else None


def _summarise(settings: Settings, parts: list[dict[str, Any]], ranks: int) -> dict[str, Any]:
    first = parts[0]
    pooled = Pooled([part["run"] for part in parts])
    accepted, moves = np.sum([part["acceptance_counts"] for part in parts], axis=0)
    seconds = max(
        sum(part["seconds"] for part in parts if part["rank"] == rank) for rank in range(ranks)
    )
    states = sum(part["session_states"] for part in parts)
    measured = any(part["samples"] for part in parts)
    multiple = settings.method in MULTIPLE
    summary: dict[str, Any] = {
        name: None
        for name in ("energy_K", "energy_error_K", "energy_mc_K", "energy_mc_error_K", "b_star")
    }
    if measured:
        summary["energy_K"] = pooled.energy.value
        summary["energy_error_K"] = _number(pooled.energy.error)
        summary["energy_mc_K"] = pooled.energy_plain.value
        summary["energy_mc_error_K"] = _number(pooled.energy_plain.error)
        if multiple:
            waste = pooled.energy_waste_recycled
            summary["energy_wrmc_K"] = waste.value
            summary["energy_wrmc_error_K"] = _number(waste.error)
        if settings.method == "mdp-dj":
            summary["b_star"] = _number(pooled.b_star)
        if settings.pressure is not None:
            summary |= _open_results(pooled)
    return {
        **summary,
        "framework": settings.framework,
        "adsorbates": [b.name for b in settings.adsorbates],
        "molecules": list(settings.molecules),
        "temperature_K": first["run"][0]["temperature"],
        "pressure_bar": settings.pressure,
        "fugacity_bar": first["run"][1]["fugacity"],
        "box_angstrom": list(first["box"]),
        "method": settings.method,
        "proposals": first["proposals"],
        "systems": settings.systems,
        "steps": min(part["samples"] for part in parts),
        "equilibration_steps": min(part["steps"] - part["samples"] for part in parts),
        "complete": all(part["complete"] for part in parts),
        "acceptance": _number(accepted / moves) if moves else None,
        "exchange_acceptance": _number(first["exchange_acceptance"]),
        "max_displacement_angstrom": first["max_displacement"],
        "trial_states": sum(part["trial_states"] for part in parts),
        "seconds": seconds,
        "trial_states_per_second": states / seconds if seconds else None,
        "steps_per_second": states / seconds / (first["proposals"] - 1) if seconds else None,
        "grid_points": list(first["grid"]["points"]),
        "grid_bytes": first["grid"]["bytes"],
        "grid_error": _number(first["grid_error"][0]),
        "grid_error_K_per_molecule": _number(first["grid_error"][1]),
        "blocked_share": first["grid"]["blocked"],
        "molecules_on_hills": sum(part["on_hills"] for part in parts),
        "energy_drift_K": max(part["energy_drift"] for part in parts),
        "device": first["device"],
        "device_name": first["device_name"],
        "ranks": ranks,
        "seed": settings.seed,
        "state_hash": first["state_hash"] if len(parts) == 1 else [p["state_hash"] for p in parts],
        "version": version("manymove"),
        "date": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _open_results(pooled: Pooled) -> dict[str, Any]:
    results: dict[str, Any] = {
        "loading_molecules": [n.value for n in pooled.loading],
        "loading_error_molecules": [_number(n.error) for n in pooled.loading],
        "loading_mol_per_kg": [n.value for n in pooled.loading_mol_per_kg],
        "loading_error_mol_per_kg": [_number(n.error) for n in pooled.loading_mol_per_kg],
    }
    if len(pooled.loading) == 1:
        heat = pooled.heat_of_adsorption
        results["heat_of_adsorption_kJ_per_mol"] = _number(heat.value)
        results["heat_of_adsorption_error_kJ_per_mol"] = _number(heat.error)
    return results


def _energy_records(parts: list[dict[str, Any]]) -> np.ndarray:
    """(K, 3): steps, plain and waste-recycled mean energy of each record, over all systems."""
    shortest = min(len(part["records"]) for part in parts)
    weights = [part["run"][0]["systems"] for part in parts]
    rows = np.average([part["records"][:shortest] for part in parts], axis=0, weights=weights)
    differences = np.diff(np.vstack((np.zeros((1, 3)), rows)), axis=0)
    return np.column_stack((rows[:, 0], differences[:, 1:] / differences[:, :1]))


def _write(settings: Settings, parts: list[dict[str, Any]], summary: dict[str, Any]) -> None:
    output = settings.output
    write_json(output / "summary.json", summary)
    records = _energy_records(parts)
    if not len(records):
        return
    np.savetxt(
        output / "energy.csv", records, fmt=["%d", "%.6f", "%.6f"], delimiter=",",
        header="steps,energy_mc_K,energy_wrmc_K", comments="",
    )  # fmt: skip
    profile = None
    pooled = Pooled([part["run"] for part in parts])
    if pooled._parameters["bins"]:
        profile = pooled.profile
        np.savetxt(
            output / "profile.csv",
            np.column_stack([getattr(profile, name) for name in profile.__dataclass_fields__]),
            fmt="%.8g", delimiter=",", header="position,P,P_error,F_K,F_error_K", comments="",
        )  # fmt: skip
    if not summary["complete"]:
        return
    try:
        from manymove import adsorption_plots as plots

        plots.energy(output / "energy.png", records, summary)
        if profile is not None:
            plots.profile(output / "profile.png", profile, pooled._parameters["temperature"])
    except ImportError as error:
        if not settings.quiet:
            print(f"no pictures: {error}")


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
    runs: list[dict[str, Any]] = []
    complete = True
    for pressure in pressures:
        one = replace(
            settings, pressure=pressure, output=settings.output / f"pressure_{pressure:g}"
        )
        summary, complete = run(one, world)
        runs.append(summary)
        if not complete:
            break
    result = {
        "framework": settings.framework,
        "adsorbates": [b.name for b in settings.adsorbates],
        "complete": complete,
        "pressure_bar": [r["pressure_bar"] for r in runs],
        "loading_mol_per_kg": [r.get("loading_mol_per_kg") for r in runs],
        "loading_error_mol_per_kg": [r.get("loading_error_mol_per_kg") for r in runs],
        "runs": runs,
        "version": version("manymove"),
    }
    if world.rank == 0:
        write_json(settings.output / "summary.json", result)
        try:
            from manymove import adsorption_plots as plots

            if complete:
                plots.isotherm(settings.output / "isotherm.png", result)
        except ImportError as error:
            if not settings.quiet:
                print(f"no pictures: {error}")
    return result, complete


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

    def with_error(name: str) -> str:
        error = s[f"{name}_error_K"]
        return f"{s[f'{name}_K']:.2f} +- {'?' if error is None else f'{error:.2f}'} K"

    what = ", ".join(f"{n} {name}" for n, name in zip(s["molecules"], s["adsorbates"], strict=True))
    rows = [("systems", f"{s['systems']:,} with {what} in {s['framework']}")]
    if s["energy_K"] is not None:
        rows.append(("energy", f"{with_error('energy')} ({s['method']})"))
        if "energy_wrmc_K" in s:
            rows.append(
                ("plain / recycled", f"{with_error('energy_mc')}, {with_error('energy_wrmc')}")
            )
        if s["b_star"] is not None:
            rows.append(("b*", f"{s['b_star']:.2f}"))
    done = "" if s["complete"] else " (stopped early; --resume continues)"
    rows.append(("steps", f"{s['steps']:,} after {s['equilibration_steps']:,}{done}"))
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
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
