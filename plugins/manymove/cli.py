"""The command `manymove`."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from manymove import cli_bench
from manymove.cli_options import (
    Checkpoint,
    Device,
    MovesPerCell,
    Output,
    Overwrite,
    Precision,
    Quiet,
    Replicas,
    Resume,
    Seed,
    Threads,
    help_without_command,
    number,
    numbers,
    of_option,
    resumable,
    to_store,
)

# The engine, NumPy and the file formats are imported when a command runs, so that --help and a
# mistyped option answer at once.

app = typer.Typer(
    help="Massively parallel particle simulations on CPUs and GPUs.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(cli_bench.app, name="bench")

# Exit code of a job that has reported its interruption. Typer returns 130 for Ctrl-C elsewhere.
STOPPED = -1
PAPER_FRACTIONS = "0.698,0.702,0.706,0.710,0.714,0.718"


@app.command()
@resumable(
    "sweeps", "equilibrate", "device", "threads", "checkpoint", "frames", "packing_fractions"
)
def disks(
    context: typer.Context,
    particles: Annotated[
        int | None, typer.Option(help="Number of disks N; 65536 unless --input is given.")
    ] = None,
    packing_fraction: Annotated[
        float | None,
        typer.Option(help="N pi d^2 / (4 Lx Ly); 0.698 unless --input is given."),
    ] = None,
    sweeps: Annotated[
        int,
        typer.Option(
            help="Sweeps measured, of N trial moves each; on to the end of a cycle of some 14."
        ),
    ] = 20000,
    equilibrate: Annotated[int, typer.Option(help="Sweeps before that, likewise.")] = 5000,
    seed: Seed = 1,
    device: Device = "auto",
    output: Output = Path("out/disks"),
    input_: Annotated[
        Path | None, typer.Option("--input", help="Start from the last frame of a GSD file.")
    ] = None,
    start: Annotated[
        str, typer.Option(help="Start without --input: random, hexagonal or square.")
    ] = "random",
    replicas: Replicas = None,
    decompose: Annotated[
        bool,
        typer.Option("--decompose", help="The ranks of mpirun share one system, in strips."),
    ] = False,
    threads: Threads = None,
    max_displacement: Annotated[
        float | None, typer.Option(help="Of a trial move along x and y, in diameters.")
    ] = None,
    moves_per_cell: MovesPerCell = None,
    frames: Annotated[int, typer.Option(help="Frames of the trajectory, equally spaced.")] = 10,
    checkpoint: Checkpoint = 600.0,
    resume: Resume = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    equation_of_state: Annotated[
        bool,
        typer.Option(
            "--equation-of-state", help="Run several packing fractions and plot P* against them."
        ),
    ] = False,
    packing_fractions: Annotated[
        str | None,
        typer.Option(help="Of --equation-of-state, separated by commas; the paper's by default."),
    ] = None,
) -> int:
    """Simulate hard disks and measure their pressure P* = beta P d^2.

    Writes summary.json, pressure.csv, trajectory.gsd, checkpoints and pictures into --output.
    Ctrl-C stops within a second with all but the pictures written; --resume goes on. Under
    "mpirun -n R" there are R replicas, or, with --decompose, R ranks that share one system: the
    results are those of one rank.
    """
    options = dict(locals())
    from manymove import harddisk_job as job
    from manymove.harddisk_replica import Settings
    from manymove.replicas import World

    world = World.connect()
    if input_ is not None and not resume:
        particles, packing_fraction = _of_input(input_, particles, packing_fraction)
    options |= {"particles": particles, "packing_fraction": packing_fraction}
    if replicas is None:
        options["replicas"] = 1 if decompose else world.size
    given = to_store(options)
    options["particles"] = 65536 if particles is None else particles
    options["packing_fraction"] = 0.698 if packing_fraction is None else packing_fraction
    del options["context"], options["equation_of_state"], options["packing_fractions"]
    settings = Settings(input=options.pop("input_"), given=given, folder=output, **options)
    if packing_fractions is not None and not equation_of_state:
        raise ValueError("--packing-fractions is for --equation-of-state")
    if equation_of_state:
        if input_ is not None or packing_fraction is not None:
            raise ValueError(
                "--equation-of-state takes --packing-fractions, not --packing-fraction or --input"
            )
        runs = [
            replace(settings, packing_fraction=phi, output=output / f"packing_fraction_{phi:g}")
            for phi in numbers("--packing-fractions", packing_fractions or PAPER_FRACTIONS, float)
        ]
        summary, _ = job.run_equation_of_state(runs, output, world)
        text = job.equation_of_state_table(summary)
    else:
        summary, _ = job.run(settings, world)
        text = job.table(summary)
    return _end("disks", text, summary, output, quiet or world.rank > 0)


@app.command()
@resumable("steps", "device", "threads", "ranks")
def dpd(
    context: typer.Context,
    particles: Annotated[int, typer.Option(help="Number of particles N.")] = 100_000,
    density: Annotated[float, typer.Option(help="N / V.")] = 3.0,
    steps: Annotated[int, typer.Option(help="Steps measured.")] = 1000,
    equilibrate: Annotated[int, typer.Option(help="Steps before that.")] = 1000,
    a: Annotated[float, typer.Option(help="Height of the repulsion.")] = 25.0,
    gamma: Annotated[float, typer.Option(help="Friction.")] = 4.5,
    temperature: Annotated[float, typer.Option(help="kT.")] = 1.0,
    cutoff: Annotated[float, typer.Option(help="r_c.")] = 1.0,
    weight_exponent: Annotated[float, typer.Option(help="s of the weights.")] = 1.0,
    timestep: Annotated[float, typer.Option(help="Of velocity Verlet.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Of the start and the random forces.")] = 1,
    precision: Precision = "mixed",
    device: Annotated[
        str, typer.Option(help="auto, cpu or cuda: with several ranks a GPU each.")
    ] = "auto",
    ranks: Annotated[int, typer.Option(help="Number of MPI processes.")] = 1,
    threads: Annotated[int, typer.Option(help="Threads of each MPI process, on a CPU.")] = 1,
    output: Output = Path("out/dpd"),
    checkpoint_steps: Annotated[
        int, typer.Option(help="Between restart files; by default a twentieth of the run.")
    ] = 0,
    resume: Resume = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> int:
    """Simulate a fluid of dissipative particles in the installed LAMMPS.

    Writes the deck in.dpd, log.lammps, thermo.csv, final.data, restart files and summary.json into
    --output. Ctrl-C stops it; --resume continues from the last restart file, with the same bits in
    double precision.
    """
    options = dict(locals())
    from manymove import dpd as fluids
    from manymove.replicas import require_one_process

    require_one_process("manymove dpd", "--ranks says how many LAMMPS has")
    for name in ("context", "output", "quiet", "resume", "overwrite"):
        del options[name]
    fluid = fluids.Fluid(**options)
    given = to_store(options | {"checkpoint_steps": fluid.checkpoint_steps})
    summary = fluids.run(fluid, output, quiet, resume=resume, overwrite=overwrite, given=given)
    return _end("dpd", fluids.table(summary), summary, output, quiet)


@app.command()
@resumable("steps", "equilibrate", "isotherm", "device", "threads", "checkpoint")
def adsorption(
    context: typer.Context,
    framework: Annotated[str, typer.Option(help="MFI, LTA or the path of a CIF file.")] = "MFI",
    molecules: Annotated[
        str | None,
        typer.Option(
            help="Molecules per system and species, comma-separated; default 32, 0 with --isotherm."
        ),
    ] = None,
    temperature: Annotated[float, typer.Option(help="In kelvin.")] = 300.0,
    method: Annotated[
        str | None,
        typer.Option(
            help="metropolis (CPU), pmc, plj, mup, mdp or mdp-dj; default mdp, plj with --isotherm."
        ),
    ] = None,
    proposals: Annotated[
        int | None, typer.Option(help="States per step of mup and mdp; 64 by default.")
    ] = None,
    systems: Annotated[
        str, typer.Option(help="Independent ones, pooled; auto: as many as fill the device.")
    ] = "1024",
    steps: Annotated[int, typer.Option(help="Steps measured, of each system.")] = 100_000,
    equilibrate: Annotated[
        int,
        typer.Option(
            help="Equilibration steps; with --isotherm those of the first of up to six rounds, "
            "each twice as long as the one before, until loading and test molecules agree."
        ),
    ] = 20_000,
    isotherm: Annotated[
        str | None,
        typer.Option(
            help="Pressures in bar, separated by commas; every point starts from the one before."
        ),
    ] = None,
    capacity: Annotated[
        str | None,
        typer.Option(
            help="With --isotherm: initial capacity of a system in molecules per species; "
            "estimated by default, grows as needed."
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="P and F along x, y, z or Miller indices such as 1,1,0.")
    ] = None,
    bins: Annotated[int, typer.Option(help="Of the profile, in a unit cell.")] = 100,
    adsorbates: Annotated[
        Path | None, typer.Option(help="JSON file of species; methane by default.")
    ] = None,
    cells: Annotated[
        str | None, typer.Option(help="Unit cells along a, b, c; the fewest by default.")
    ] = None,
    cutoff: Annotated[float, typer.Option(help="In angstrom.")] = 12.0,
    max_displacement: Annotated[
        float | None, typer.Option(help="Along each axis, in angstrom; 0.65, or adapted.")
    ] = None,
    interpolation: Annotated[str, typer.Option(help="Grid: cubic or linear.")] = "cubic",
    grid_spacing: Annotated[
        float | None, typer.Option(help="Spacing in angstrom; default 0.2 (cubic), 0.08 (linear).")
    ] = None,
    precision: Precision = "mixed",
    barrier: Annotated[
        str, typer.Option(help="Pockets behind it are blocked: auto (20 T), none, or kelvin.")
    ] = "auto",
    seed: Seed = 1,
    device: Device = "auto",
    threads: Threads = None,
    output: Output = Path("out/adsorption"),
    checkpoint: Checkpoint = 600.0,
    resume: Resume = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> int:
    """Simulate adsorbed molecules by (waste-recycling) Monte Carlo.

    Writes summary.json, energy.csv, profile.csv, checkpoints and pictures into --output.
    Ctrl-C stops with all but the pictures written; --resume goes on.
    """
    options = dict(locals())
    from manymove import adsorption_job as job
    from manymove.adsorption_replica import Settings, read_adsorbates
    from manymove.replicas import World

    world = World.connect()
    del options["context"]
    with of_option("--adsorbates"):
        species = read_adsorbates(adsorbates)
    if capacity is not None and isotherm is None:
        raise ValueError("--capacity is for --isotherm, the only run with insertions")
    if method is None:
        method = "mdp" if isotherm is None else "plj"
    if molecules is None:
        molecules = "32" if isotherm is None else ",".join("0" for _ in species)
    counts = [number("--molecules", word, int) for word in molecules.split(",")]
    if systems == "auto":
        from manymove.adsorption_fill import filling_systems

        share = filling_systems(method, max(1, sum(counts)), device, precision, threads)
        count = world.size * share
    else:
        count = number("--systems", systems, int)
    given = to_store(options | {"systems": str(count)})
    options |= {
        "given": given,
        "folder": output,
        "molecules": counts,
        "method": method,
        "capacity": capacity and [number("--capacity", word, int) for word in capacity.split(",")],
        "adsorbates": species,
        "systems": count,
        "cells": _triple("--cells", cells),
        "barrier": _barrier(barrier),
        "profile": profile if profile in (None, "x", "y", "z") else _triple("--profile", profile),
    }
    del options["isotherm"]
    names = {field.name for field in fields(Settings)} & options.keys()
    of_the_job = {name: options.pop(name) for name in names}
    settings = Settings(options=options, **of_the_job)  # the rest are the engine's
    if isotherm is not None:
        pressures = numbers("--isotherm", isotherm, float)
        summary, _ = job.run_isotherm(settings, pressures, world)
        text = job.isotherm_table(summary)
    else:
        summary, _ = job.run(settings, world)
        text = job.table(summary)
    return _end("adsorption", text, summary, output, quiet or world.rank > 0)


def _triple(option: str, text: str | None) -> tuple[int, int, int] | None:
    if text is None:
        return None
    numbers = tuple(number(option, word, int) for word in text.split(","))
    if len(numbers) != 3:
        raise ValueError(f"{option} is {text!r}; it must be three integers separated by commas")
    return numbers


def _barrier(text: str) -> float | str | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    return number("--barrier", text, float)


@app.command()
@resumable("sweeps", "equilibrate", "device", "threads", "checkpoint")
def electrolyte(
    context: typer.Context,
    ions: Annotated[int, typer.Option(help="Number of ions of both species.")] = 4096,
    valences: Annotated[tuple[int, int], typer.Option(help="Of the two species.")] = (3, -1),
    diameter: Annotated[
        float | None, typer.Option(help="Of all ions, in angstrom; 7.5 without --diameters.")
    ] = None,
    diameters: Annotated[
        tuple[float, float] | None, typer.Option(help="Of the two species, if they differ.")
    ] = None,
    bjerrum_length: Annotated[
        float, typer.Option(help="In angstrom; the default is water at 300 K.")
    ] = 7.117,
    debye_length: Annotated[
        float | None,
        typer.Option(help="Bare, in angstrom; sets the density. 28.53 without --concentration."),
    ] = None,
    concentration: Annotated[
        float | None, typer.Option(help="Of the salt, in mol/l; sets the density.")
    ] = None,
    geometry: Annotated[str, typer.Option(help="sphere or periodic.")] = "sphere",
    sweeps: Annotated[int, typer.Option(help="Sweeps measured: trial moves per ion.")] = 1000,
    equilibrate: Annotated[int, typer.Option(help="Sweeps before that.")] = 50,
    sample_every: Annotated[int, typer.Option(help="Sweeps between two samples of g(r).")] = 1,
    bin_width: Annotated[float, typer.Option(help="Of g(r), in angstrom.")] = 0.25,
    margin: Annotated[
        float | None,
        typer.Option(help="Ions this near to the wall are left out of g(r), in angstrom."),
    ] = None,
    max_displacement: Annotated[
        float | None, typer.Option(help="Of a trial move along x, y and z, in angstrom.")
    ] = None,
    precision: Precision = "mixed",
    method: Annotated[str, typer.Option(help="brush, reduction or serial.")] = "brush",
    seed: Seed = 1,
    device: Annotated[
        str,
        typer.Option(help="auto, cpu, cuda, cuda:<index>, or cuda:0,1: one chain on several GPUs."),
    ] = "auto",
    threads: Threads = None,
    replicas: Replicas = None,
    output: Output = Path("out/electrolyte"),
    checkpoint: Checkpoint = 600.0,
    resume: Resume = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> int:
    """Simulate charged hard spheres and measure their energy, g(r) and dressed valences.

    Writes summary.json, energy.csv, g.csv, checkpoints and pictures into --output. Ctrl-C stops
    after the sweep under way with all but the pictures written; --resume goes on.
    """
    options = dict(locals())
    from manymove import electrolyte_job as job
    from manymove.electrolyte_replica import Settings
    from manymove.replicas import World

    world = World.connect()
    del options["context"]
    given = to_store(options)
    if debye_length is None and concentration is None:
        options["debye_length"] = 28.53
    if diameters is not None and diameter is not None:
        raise ValueError("--diameter is of all ions: give either it or --diameters")
    same = 7.5 if diameter is None else diameter
    del options["diameter"]
    options["diameters"] = diameters or (same, same)
    if replicas is None:
        options["replicas"] = world.size
    settings = Settings(given=given | {"replicas": options["replicas"]}, **options)
    summary, _ = job.run(settings, world)
    return _end("electrolyte", job.table(summary), summary, output, quiet or world.rank > 0)


def _end(name: str, table: str, summary: dict[str, Any], output: Path, quiet: bool) -> int:
    """Say what a job has found, or, if it was stopped, how to continue it; the exit code."""
    from manymove.replicas import launched_rank

    if summary["complete"]:
        if not quiet:
            print(f"{table}\nresults in {output}/")
        return 0
    if launched_rank() == 0:
        ranks = 1 if name == "dpd" else _ranks(summary)
        start = f"mpirun -n {ranks} " if ranks > 1 else ""
        again = f"{start}manymove {name} --resume --output {output}"
        state = any(output.glob("**/checkpoint-*"))
        print(
            f"manymove: stopped early; results and checkpoint are in {output}/, and this "
            f"continues: {again}"
            if state
            else "manymove: stopped before the first checkpoint; there is nothing to resume",
            file=sys.stderr,
        )
    return STOPPED


def _ranks(summary: dict[str, Any]) -> int:
    return summary.get("ranks") or max(run["ranks"] for run in summary["runs"])


def _of_input(
    path: Path, particles: int | None, packing_fraction: float | None
) -> tuple[int, float]:
    """Number of disks and packing fraction of the file; contradicting options are refused."""
    from manymove.io import read_frame
    from manymove.replicas import launched_rank

    with of_option("--input"):
        frame = read_frame(path)
    if len(frame.types) > 1 and launched_rank() == 0:
        print(
            f"manymove: --input {path} has particles of the types {', '.join(frame.types)}; all "
            "have one diameter and are simulated as one kind of disks",
            file=sys.stderr,
        )
    count = len(frame.positions)
    fraction = count * math.pi * frame.diameter**2 / (4 * frame.box[0] * frame.box[1])
    if particles not in (None, count):
        raise ValueError(f"--particles is {particles}, but {path} has {count} disks")
    if packing_fraction is not None and abs(packing_fraction - fraction) > 1e-4:
        raise ValueError(
            f"--packing-fraction is {packing_fraction}, but that of {path} is {fraction:.6f}"
        )
    return count, fraction


@app.command()
def info() -> int:
    """Say what this installation consists of: version, build, devices, host programs."""
    from manymove import info

    print(info.format(info.collect()))
    return 0


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"manymove {installed('manymove')}")
        raise typer.Exit
    help_without_command(context)


def run(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code.

    0: done. 2: a mistake of the user's or of the machine, told in one line. 130: interrupted.
    """
    try:
        code = app(arguments, standalone_mode=False) or 0
        if code == 130:
            return _fail("interrupted", 130)
        return 130 if code == STOPPED else code
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", 130)
    except MemoryError as error:
        what = "" if str(error) in ("", "std::bad_alloc") else f": {error}"
        return _fail(f"error: not enough memory for a system of this size{what}", 2)
    except (ValueError, OSError, ImportError, RuntimeError) as error:
        return _fail(f"error: {str(error) or type(error).__name__}", 2)
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's own errors have it
            raise
        return _fail(f"error: {error.format_message()}", 2)


def _fail(message: str, code: int) -> int:
    from manymove.replicas import launched_rank

    if launched_rank() == 0:
        print("manymove: " + " ".join(message.split()), file=sys.stderr)
    return code


def main() -> None:
    """Entry point of the command `manymove`."""
    warnings.formatwarning = lambda message, *_: f"manymove: warning: {message}\n"
    sys.exit(run())
