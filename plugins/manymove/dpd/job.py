# SPDX-License-Identifier: BSD-3-Clause
"""The job behind `manymove dpd`: a fluid in the LAMMPS of this environment with the plugin."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from manymove import _core, files
from manymove.analysis.autocorrelation import relaxation_time
from manymove.analysis.blocking import blocking_error, drift
from manymove.analysis.notation import with_error
from manymove.devices import device_name
from manymove.dpd.model import QUANTITIES
from manymove.dpd.replica import (
    MEASURED,
    Settings,
    cut_records,
    input_script,
    last_restart,
    simulate,
)
from manymove.jobs import figures, output_folder, report
from manymove.jobs.options import OPTIONS_FILE, refuse_shorter
from manymove.lammps import host


def stored_checkpoint_steps(output: Path) -> int:
    """Number of steps between possible restart files of the run in a folder; 0 if it is unknown."""
    path = output / OPTIONS_FILE
    return int(json.loads(path.read_text()).get("checkpoint_steps", 0)) if path.is_file() else 0


def run(
    settings: Settings,
    output: Path,
    quiet: bool = False,
    *,
    resume: bool = False,
    overwrite: bool = False,
    given: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Simulate the fluid, and write in.dpd, log.lammps, thermo.csv, final.data, restart files,
    summary.json and, for a complete run, thermo.png.

    Ctrl-C ends the run at the next step at which a restart file can be written. If this step is not
    reached within five seconds, the steps after the last restart file are lost.

    Args:
        settings: settings of the fluid.
        output: folder of the results, which is made if it is missing.
        quiet: whether to show no progress.
        resume: continue from the last restart file in the folder.
        overwrite: replace the results in the folder.
        given: options of the command, which are stored for `--resume`.

    Returns:
        the content of summary.json.

    Raises:
        FileExistsError: the folder contains results, and neither `resume` nor `overwrite` is set.
        FileNotFoundError: there is no restart file to resume from.
        ValueError: the run to resume is longer than this one.
        RuntimeError: LAMMPS, its MPI or the plugin is missing, or LAMMPS has stopped with an error.
    """
    command = host.command(settings.ranks)
    if settings.device == "cuda" and not _core.cuda_devices():
        why = _core.why_no_cuda_devices()
        raise RuntimeError(f"--device cuda is not available: {why}; use --device cpu")
    output_folder.claim(output, resume=resume, overwrite=overwrite)
    step = last_restart(output) if resume else 0
    if resume and not step:
        raise FileNotFoundError(f"--resume: no checkpoint {output}/checkpoint-*.restart")
    refuse_shorter("--steps", settings.steps, step - settings.equilibrate, output)
    files.make_folder(output)
    if given is not None:
        report.write_json(output / OPTIONS_FILE, given)
    earlier = None
    if step > settings.equilibrate:
        if not (output / "thermo.csv").is_file():
            raise FileNotFoundError(
                f"--resume: {output}/thermo.csv, the records of the run, is missing: put it back, "
                "or start again with --overwrite"
            )
        earlier = cut_records(output / "thermo.csv", step, settings)
    text, complete = simulate(
        settings, command, input_script(settings, step, earlier), step, output, quiet
    )
    last = settings.equilibrate + settings.steps if complete else last_restart(output)
    if (output / "thermo.csv").exists():
        cut_records(output / "thermo.csv", last)
    summary = summarize(settings, output, text, complete, step, last)
    for name in ("thermo.csv", "final.data"):  # LAMMPS does not sync what it writes
        if (output / name).exists():
            files.sync(output / name)
    files.sync_folder(output)
    report.write_json(output / "summary.json", summary)
    if complete:
        with figures.pictures(quiet):
            from manymove.dpd import plots

            plots.thermo(output / "thermo.png", _measured(output, settings), summary)
    return summary


def summarize(
    settings: Settings, output: Path, text: str, complete: bool, begun: int, step: int
) -> dict[str, Any]:
    """The content of summary.json after a session from one step to another."""
    records = _measured(output, settings)
    summary: dict[str, Any] = {}
    for name in QUANTITIES:
        error, converged = blocking_error(records[name])
        summary[name] = float(records[name].mean()) if len(records) else None
        summary[f"{name}_error"] = report.number(error)
        summary[f"{name}_error_converged"] = bool(converged)
    every = float(records["step"][1] - records["step"][0]) if len(records) > 1 else 1.0
    summary |= report.equilibration(
        step - settings.equilibrate,
        "steps",
        {name: relaxation_time([records[name]], every) for name in QUANTITIES},
        [(name, drift([records[name]]), "") for name in QUANTITIES],
        all(summary[f"{name}_error_converged"] for name in QUANTITIES),
    )
    measured = text.partition(MEASURED)[2]
    seconds = sum(map(float, re.findall(r"Loop time of ([\d.eE+-]+) on", measured)))
    steps = step - max(begun, settings.equilibrate)
    lammps = re.search(r"LAMMPS \((.+?)\)", text)
    given = asdict(settings)
    given["set_temperature"] = given.pop("temperature")
    given["N"] = given.pop("particles")
    del given["equilibrate"], given["checkpoint_every"]
    gpu = re.search(r"manymove/verlet: the particles are on (?!cpu$)(.+)", text, re.MULTILINE)
    return {
        **summary,
        "complete": complete,
        "million_particle_steps_per_second": (
            settings.particles * steps / seconds / 1e6 if seconds > 0 and steps > 0 else None
        ),
        "seconds": seconds,
        **given,
        "steps": max(0, step - settings.equilibrate),
        "equilibration_steps": min(step, settings.equilibrate),
        "box": [settings.edge] * 3,
        "device": "cuda" if gpu else "cpu",
        "device_name": gpu.group(1) if gpu else device_name("cpu", settings.threads or 1),
        "lammps": lammps.group(1) if lammps else None,
        **report.made_by(),
    }


def _measured(output: Path, settings: Settings) -> np.ndarray:
    """The rows of thermo.csv after the equilibration."""
    if not (output / "thermo.csv").exists():
        return np.empty(0, [(n, float) for n in ("step", *QUANTITIES)])
    records = np.genfromtxt(output / "thermo.csv", delimiter=",", names=True, ndmin=1)
    return records[records["step"] > settings.equilibrate]


def table(summary: dict[str, Any]) -> str:
    """The summary for a terminal."""

    def measured(name: str) -> str:
        if summary[name] is None:
            return "not measured yet"
        return with_error(summary[name], summary[f"{name}_error"])

    threads = summary["threads"] // summary["ranks"]  # of each
    rows = [
        ("particles", f"{summary['N']:,} in a box {summary['box'][0]:.5g} wide"),
        ("temperature", f"{measured('temperature')}, set {summary['set_temperature']:g}"),
        ("pressure", measured("pressure")),
        ("potential energy", measured("potential_energy")),
        *report.warning_rows(summary),
        ("steps", f"{summary['steps']:,} after {summary['equilibration_steps']:,}"),
        (
            "speed",
            f"{summary['million_particle_steps_per_second'] or 0:.3g} million particle-steps/s on "
            f"{summary['ranks']} rank{'s' if summary['ranks'] > 1 else ''}"
            + (f" of {threads} threads" if threads > 1 and summary["device"] == "cpu" else ""),
        ),
        ("device", f"{summary['device']} ({summary['device_name']})"),
        ("host program", f"LAMMPS {summary['lammps']}"),
    ]
    return report.lines(rows)
