"""Speed of the adsorption engines: `python -m benchmarks adsorption`.

Each method runs its own equilibrated systems. Variants are timed in turn, so that changes of the
machine's clock affect all of them equally. The serial reference is the method "metropolis" on one
core with the same grid. RASPA3 is a peer if its wheel, raspalib, is installed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import open_systems
from benchmarks import raspa as bench_raspa
from manymove.adsorption.averages import MULTIPLE
from manymove.adsorption.chains import SHIPPED_CHAINS, shipped_chain
from manymove.adsorption.charges import charges_of_option
from manymove.adsorption.force_field import ForceField
from manymove.adsorption.frameworks import read_framework
from manymove.adsorption.input import METHODS, arguments_of
from manymove.adsorption.molecules import SHIPPED_MOLECULES
from manymove.adsorption.occupancy import filling_systems
from manymove.adsorption.simulation import Adsorption
from manymove.analysis.notation import Estimate, with_error
from manymove.bench.harness import STATUS, Report, Table, Variant, check, spread, time_in_turn
from manymove.devices import on_gpu
from manymove.jobs.report import drifting


@dataclass
class Timed:
    """An engine and its variant."""

    engine: Adsorption
    variant: Variant
    seconds_before: float
    sums: list[tuple[int, np.ndarray]] = field(default_factory=list)  # steps, energies of systems

    def look(self) -> None:
        """Store the present sums of the energies."""
        sums = self.engine.snapshot[2]["sums"].reshape(-1, self.engine.systems)[0]
        self.sums.append((self.engine.samples, sums.copy()))

    def _drift(self) -> list[str]:
        """The warning of an energy that differs in the two halves of the steps."""
        steps, sums = self.sums[-1]
        half, first = min(self.sums, key=lambda look: abs(look[0] - steps / 2))
        if half == steps or len(sums) < 2:
            return []
        changes = (sums - first) / (steps - half) - first / half
        error = changes.std(ddof=1) / math.sqrt(len(changes))
        drift = Estimate(changes.mean(), error)
        return drifting("steps", f"the energy of {self.engine.method}", drift, " K")

    def result(self) -> dict[str, Any]:
        a, row = self.engine, self.variant.result()
        seconds = a.seconds - self.seconds_before
        error = a.energy_average.error
        accepted, moves = a.acceptance_counts
        return {
            "molecules": a.counts[0].sum().item(),
            "variant": row["variant"],
            "method": a.method,
            "proposals": a.proposals,
            "systems": a.systems,
            "trial_states_per_second": row["trial_moves_per_second"],
            "steps_per_second": row["trial_moves_per_second"] / (a.proposals - 1),
            "lowest": row["lowest"],
            "highest": row["highest"],
            "repeats": row["repeats"],
            "acceptance": accepted / moves,
            "max_displacement": a.max_displacement,
            "energy_K": a.energy_average.value,
            "energy_error_K": error,
            "measured_seconds": seconds,
            # 1 / (variance x seconds), in 1 / (K^2 s)
            "figure_of_merit": 1 / (error**2 * seconds) if error > 0 else math.nan,
            "device": a.device,
            "device_name": a.device_name,
            "grid_points": list(a.grid["points"]),
            "warnings": row["warnings"] + self._drift(),
        }


def run(
    *,
    framework: str = "MFI",
    adsorbate: str = "methane",
    molecules: Sequence[int] = (32, 128),
    methods: Sequence[str] = METHODS,
    proposals: Sequence[int] = (64,),
    systems: int | None = None,
    interpolation: str = "cubic",
    grid_spacing: float | None = None,
    precision: str = "mixed",
    device: str,
    cpu: bool = False,
    threads: int | None = None,
    equilibrate: int = 2000,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None = None,
    raspa: bool = False,
    temperature: float = 300.0,
    fugacity: float | None = None,
    exchange: float = 0.5,
    reinsertion: float = 0.0,
    trial_positions: Sequence[int] = (1,),
    trial_orientations: Sequence[int] = (1,),
    merit: float | None = None,
    peers: Sequence[str] | None = None,
    kups_systems: Sequence[int] = (64,),
    kups_seconds: float | None = None,
    graspa_processes: int = 1,
    force_field: str = "TraPPE-zeo",
    framework_charges: str | None = None,
) -> dict[str, Any]:
    """Time every size, print a table, and write the JSON file after each size.

    The arguments are the options of the command; None stands for their defaults.

    Returns:
        the content of the JSON file.

    Raises:
        ValueError: an argument is out of range.
    """
    check(repeats, seconds, equilibrate, 0)
    for method in methods:
        if method not in METHODS:
            raise ValueError(f'--methods has "{method}"; there are {", ".join(METHODS)}')
    settings = {
        "interpolation": interpolation,
        "grid_spacing": grid_spacing,
        "precision": precision,
        "temperature": temperature,
        "seed": seed,
    }
    guest = _guest(adsorbate, force_field)
    if adsorbate in SHIPPED_CHAINS and (raspa or merit is not None):
        raise ValueError(
            f"{'--raspa' if raspa else '--merit'} is for methane and rigid molecules; "
            f"{adsorbate} is a flexible chain"
        )
    if raspa and (force_field != "TraPPE-zeo" or framework_charges):
        raise ValueError(
            "--raspa is run with the force field TraPPE-zeo and its charges: leave out "
            "--force-field and --framework-charges"
        )
    devices = [device, *(["cpu"] if cpu and on_gpu(device) else [])]
    about = {"framework": framework, "adsorbate": adsorbate, **settings, "equilibrate": equilibrate}
    if framework_charges and not guest:
        raise ValueError("--framework-charges is for molecules: give another --adsorbate")
    if guest:
        guest["framework_charges"] = charges_of_option(framework_charges)
        about |= {"force_field": force_field, "framework_charges": framework_charges}
    _check_peers(merit, peers, kups_systems, kups_seconds, graspa_processes)
    if fugacity is not None:
        ignored = {
            "--cpu": cpu, "--raspa": raspa, "--proposals": tuple(proposals) != (64,),
            "--molecules with several values": len(molecules) > 1,
        }  # fmt: skip
        for name, given in ignored.items():
            if given:
                raise ValueError(f"{name} cannot be combined with --fugacity")
        if merit is not None:
            if not guest:
                raise ValueError("--merit needs a rigid molecule: --adsorbate CO2, for example")
            if not merit > 0:
                raise ValueError(f"--merit must be positive, got {merit}")
            # The programs differ in their tail corrections.
            guest["force_field"] = replace(guest["force_field"], potential="truncated")
            about |= {"merit": merit, "potential": "truncated"}
        return open_systems.run(
            framework=framework, molecules=molecules[0], methods=methods, fugacity=fugacity,
            trial_positions=trial_positions, trial_orientations=trial_orientations,
            systems=systems, device=device, threads=threads, equilibrate=equilibrate,
            repeats=repeats, seconds=seconds, json_file=json_file,
            settings=settings | guest | {"exchange": exchange, "reinsertion": reinsertion},
            about=about | {"exchange": exchange, "reinsertion": reinsertion}, merit=merit,
            peers=peers, kups_systems=kups_systems, kups_seconds=kups_seconds,
            graspa_processes=graspa_processes,
        )  # fmt: skip
    if merit is not None:
        raise ValueError("--merit needs --fugacity")
    if max(*trial_positions, *trial_orientations) > 1 or exchange != 0.5 or reinsertion:
        raise ValueError(
            "--exchange, --reinsertion, --trial-positions and --trial-orientations need --fugacity"
        )
    report = Report(TABLE, json_file, **about)
    for N in molecules:
        timed = [
            _timed(
                framework,
                N,
                method,
                count,
                where,
                systems,
                threads,
                equilibrate,
                settings | guest,
            )
            for method in methods
            for where in (["cpu"] if method == "metropolis" else devices)
            for count in (proposals if method in MULTIPLE else [None])
        ]
        peer = (
            bench_raspa.variant(read_framework(framework), N, seed, guest.get("adsorbates"))
            if raspa
            else None
        )
        time_in_turn([t.variant for t in timed] + [peer] * (peer is not None), repeats, seconds)
        results = [t.result() for t in timed]
        if peer is not None:
            results.append(_of_peer(peer, N))
        _mark_unrelaxed(results)
        serial = [r for r in results if r["method"] == "metropolis"]
        for r in results:
            if serial:
                r["ratio_to_serial"] = r["steps_per_second"] / serial[0]["steps_per_second"]
                if r["figure_of_merit"] is not None:
                    r["merit_ratio_to_serial"] = r["figure_of_merit"] / serial[0]["figure_of_merit"]
        report.add(results)
    return report.end()


def _check_peers(
    merit: float | None,
    peers: Sequence[str] | None,
    kups_systems: Sequence[int],
    kups_seconds: float | None,
    graspa_processes: int,
) -> None:
    """Refuse options of the other programs that are out of range, or are given without `merit`."""
    of_kups = kups_seconds is not None or tuple(kups_systems) != (64,)
    if merit is None and (peers or of_kups or graspa_processes != 1):
        raise ValueError(
            "--peers, --kups-systems, --kups-seconds and --graspa-processes need --merit"
        )
    if kups_seconds is not None and not kups_seconds > 0:
        raise ValueError(f"--kups-seconds must be positive, got {kups_seconds}")
    if min(kups_systems, default=0) < 1:
        raise ValueError(f"--kups-systems must be at least 1, got {list(kups_systems)}")
    if graspa_processes < 1:
        raise ValueError(f"--graspa-processes must be at least 1, got {graspa_processes}")


def _guest(name: str, force_field: str) -> dict[str, Any]:
    """Arguments of `Adsorption` for an adsorbate: methane of one site with built-in parameters, or
    a rigid molecule or a flexible chain with a force field."""
    if name == "methane":
        if force_field != "TraPPE-zeo":
            raise ValueError("--force-field is for molecules: give another --adsorbate")
        return {}
    field = ForceField.read(force_field)
    if name in SHIPPED_CHAINS:
        return {"adsorbates": shipped_chain(name), "force_field": field}
    if name not in SHIPPED_MOLECULES:
        known = ", ".join([*SHIPPED_MOLECULES, *SHIPPED_CHAINS])
        raise ValueError(f'--adsorbate is "{name}"; there are methane, {known}')
    return {"adsorbates": SHIPPED_MOLECULES[name], "force_field": field}


def _mark_unrelaxed(results: list[dict[str, Any]]) -> None:
    """Add a warning to rows that are not equilibrated. All methods sample the same ensemble, and
    random starts relax downward in energy: the energy of such a row is more than 4 standard errors
    above the lowest."""
    measured = [r for r in results if r.get("energy_error_K")]
    lowest = min(measured, key=lambda r: r["energy_K"], default=None)
    for r in measured:
        error = math.hypot(r["energy_error_K"], lowest["energy_error_K"])
        above = r["energy_K"] - lowest["energy_K"]
        if above > 4 * error:
            r["warnings"].append(
                f"not equilibrated: the energy of {r['method']} is {with_error(above, error)} K "
                f"above that of {lowest['method']}: raise --equilibrate"
            )


def _of_peer(peer: Variant, molecules: int) -> dict[str, Any]:
    row = peer.result()
    return {
        "molecules": molecules,
        "variant": row["variant"],
        "method": "RASPA3",
        "systems": 1,
        "trial_states_per_second": row["trial_moves_per_second"],
        "steps_per_second": row["trial_moves_per_second"],
        **{name: row[name] for name in ("lowest", "highest", "repeats", "acceptance", "warnings")},
        "figure_of_merit": None,
        "device": "cpu",
    }


def _timed(
    framework: str,
    molecules: int,
    method: str,
    proposals: int | None,
    device: str,
    systems: int | None,
    threads: int | None,
    equilibrate: int,
    settings: dict[str, Any],
) -> Timed:
    own = {
        "framework": framework,
        "molecules": molecules,
        "method": method,
        "proposals": proposals,
        "systems": systems
        or filling_systems(method, molecules, device, settings["precision"], threads),
        "device": device,
        "threads": 1 if method == "metropolis" else threads,
    }
    a = Adsorption(**arguments_of({**own, **settings}))
    a.equilibrate(equilibrate)

    def run(steps: int) -> tuple[int, int]:
        states, accepted = a.trial_states, a.acceptance_counts[0]
        a.run(steps)
        return a.trial_states - states, a.acceptance_counts[0] - accepted

    name = f"{method}{f' {proposals}' if proposals else ''}, {a.device}"
    if a.device == "cpu":
        name += f" x{a.threads}"
    timed = Timed(a, Variant(name, run, {}), a.seconds)
    timed.variant.look = timed.look
    return timed


def _merit_words(row: dict[str, Any]) -> str:
    ratio = row.get("merit_ratio_to_serial")
    return "" if ratio is None else f"merit {ratio:.3g} times serial"


TABLE = Table(
    (
        ("molecules", ">9", "molecules"),
        ("variant", "<24", "variant"),
        ("systems", ">8", "systems"),
        ("steps/s", ">9.3g", "steps_per_second"),
        ("spread", ">6.1%", spread("trial_states_per_second")),
        ("accepted", ">8.2%", "acceptance"),
        ("1/(K^2 s)", ">9.3g", lambda row: row["figure_of_merit"] or math.nan),
        STATUS,
    ),
    _merit_words,
)
