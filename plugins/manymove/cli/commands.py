# SPDX-License-Identifier: BSD-3-Clause
"""The command `manymove`."""

from __future__ import annotations

import math
import os
import sys
import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from manymove.adsorption.replica import Settings as Adsorbates
from manymove.cli import adsorbents, bench, phases, screening
from manymove.cli.options import (
    STOPPED,
    OptionsOf,
    command,
    gathered,
    help_without_command,
    number,
    say,
    to_store,
    values,
)
from manymove.dpd.replica import Settings as Fluid
from manymove.electrolyte.replica import Settings as Electrolytes
from manymove.hard_particles.settings import DiskSettings as Disks
from manymove.hard_particles.settings import SphereSettings as Spheres
from manymove.jobs import errors, folder_lock
from manymove.jobs.options import of_option
from manymove.jobs.replica import Settings as Job
from manymove.settings import EnergyGrid, ProfileAxis, Steps, Swaps

# Jobs and file formats are imported when a command runs, so that --help and a mistyped option
# answer at once.

app = typer.Typer(
    help="Massively parallel particle simulations on CPUs and GPUs.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bench.app)
app.add_typer(adsorbents.app)
app.add_typer(screening.app)
app.add_typer(phases.app)

PAPER_FRACTIONS = (0.698, 0.702, 0.706, 0.710, 0.714, 0.718)
SPHERE_FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.45, 0.49)


def _settings(kind: Any, given: dict[str, Any], /, **others: Any) -> Any:
    """The settings of a job, from those of the options and the other values that it knows."""
    known = {field.name for field in fields(kind)}
    return kind(**{name: v for name, v in (given | others).items() if name in known})


_OF_A_FURTHER_RUN = (
    "sweeps equilibrate target_error device threads checkpoint_every frames packing_fractions"
    " pressures"
)


def _of_hard_particles(
    particles: int | None = None,
    packing_fraction: float | None = None,
    diameters: tuple[float, ...] | None = None,
    fractions: tuple[float, ...] | None = None,
    contacts: tuple[float, ...] | None = None,
    replicas: int | None = None,
    equation_of_state: bool = False,
    packing_fractions: tuple[float, ...] | None = None,
    pressures: tuple[float, ...] | None = None,
) -> None:
    """The options of `disks` and `spheres` from which their settings follow.

    System:
        particles: Number of particles N (default 65536, or as in --input).
        fractions: Number fractions of the types of a mixture (default equal).
        contacts: Contact distances of the pairs of types 0-0, 0-1, ... 1-1 of a mixture (default
            mean diameters).

    Run:
        replicas: Number of independent runs, which are pooled (default 1 per MPI rank).
        equation_of_state: Simulate several packing fractions, or several --pressures, at the same
            time and plot P* against the packing fractions.
        pressures: Pressures P* of --equation-of-state, at which the packing fractions are measured,
            beginning at --packing-fraction (default none).
    """


@command(app, _OF_A_FURTHER_RUN, _of_hard_particles, Disks, OptionsOf(Swaps, "swap_"))
def disks(**common: Any) -> int:
    """Simulate hard disks and measure their pressure.

    The pressure is P* = beta P d^2. The command writes summary.json, pressure.csv, trajectory.gsd,
    checkpoints and pictures into --output. Ctrl-C stops the run within a second and writes
    everything but the pictures; --resume continues it. Under "mpirun -n R" there are R replicas.
    With --decompose the R ranks share one system, with the results of one rank. With
    --diameters or --contacts the disks are a mixture, whose d^2 is the mean of the squares of the
    diameters. With --pressure the area changes, and the packing fraction is measured. With
    --swap-rounds the disks of a mixture exchange diameters. With --step-ranges and --step-energies
    they have square wells and shoulders. With --walls they are between hard walls, and the pressure
    on the walls and the density profile (profile.csv) are measured. With --fugacity the number of
    disks changes, and the density is measured.

    System:
        packing_fraction: Packing fraction, N pi d^2 / (4 Lx Ly) of equal disks (default 0.698, or
            from --input).
        diameters: Diameters of all types of a mixture, or of the types of --input, in their order
            (default equal disks).

    Run:
        packing_fractions: Packing fractions of --equation-of-state (default
            0.698,0.702,0.706,0.71,0.714,0.718).

    Examples:
      manymove disks --particles 4096 --packing-fraction 0.6 --sweeps 5000
      manymove disks --resume --sweeps 50000
      manymove disks --equation-of-state --packing-fractions 0.5,0.6,0.65
    """
    return _hard_particles(Disks, common, 0.698, PAPER_FRACTIONS)


@command(app, _OF_A_FURTHER_RUN, _of_hard_particles, Spheres, OptionsOf(Swaps, "swap_"))
def spheres(**common: Any) -> int:
    """Simulate hard spheres and measure their pressure.

    The pressure is P* = beta P d^3. The command writes summary.json, pressure.csv, trajectory.gsd,
    checkpoints and pictures into --output. Ctrl-C stops the run within a second and writes
    everything but the pictures; --resume continues it. Under "mpirun -n R" there are R replicas.
    With --decompose the R ranks share one system, with the results of one rank. With
    --diameters or --contacts the spheres are a mixture, whose d^3 is the mean of the cubes of the
    diameters. With --pressure the volume changes, and the packing fraction is measured. With
    --swap-rounds the spheres of a mixture exchange diameters. With --step-ranges and
    --step-energies they have square wells and shoulders. With --walls they are between hard walls,
    and the pressure on the walls and the density profile (profile.csv) are measured. With
    --fugacity the number of spheres changes, and the density is measured.

    System:
        packing_fraction: Packing fraction, N pi d^3 / (6 Lx Ly Lz) of equal spheres (default 0.49,
            or from --input).
        diameters: Diameters of all types of a mixture, or of the types of --input, in their order
            (default equal spheres).

    Run:
        packing_fractions: Packing fractions of --equation-of-state (default
            0.1,0.2,0.3,0.4,0.45,0.49).

    Examples:
      manymove spheres --diameters 1,1.4 --fractions 0.7,0.3 --packing-fraction 0.5
      manymove spheres --walls z --wall-distance 13 --particles 4000 --packing-fraction 0.3
      manymove spheres --start fcc --particles 4000 --equation-of-state --packing-fractions 0.55,0.6
    """
    return _hard_particles(Spheres, common, 0.49, SPHERE_FRACTIONS)


def _hard_particles(
    kind: Any,
    options: dict[str, Any],
    packing_fraction: float,
    packing_fractions: tuple[float, ...],
) -> int:
    """Run the job of `disks` or `spheres`.

    Args:
        kind: class of the settings.
        options: options of the command.
        packing_fraction, packing_fractions: defaults of these options.
    """
    from manymove.hard_particles import job
    from manymove.hard_particles.mixtures import table_of
    from manymove.jobs.world import World

    world = World.connect()
    input_, output = options["input"], options["output"]
    name = kind.kind.particles
    sizes = [options[key] for key in ("diameters", "fractions", "contacts")]
    if input_ is not None and sizes[1] is not None:
        raise ValueError("--input has the types of the particles: leave out --fractions")
    mixture = table_of(*sizes)
    if sizes[1] is not None and abs(sum(sizes[1]) - 1) > 0.02 and not options["resume"]:
        typed = ",".join(f"{each:g}" for each in sizes[1])
        raise ValueError(f"--fractions is {typed}; the sum must be 1, it is {sum(sizes[1]):g}")
    if input_ is not None and not options["resume"]:
        options |= _of_input(
            input_,
            options["particles"],
            options["packing_fraction"],
            kind.kind.dimensions,
            name,
            mixture,
        )
    if options["replicas"] is None:
        one = options["decompose"] or options["exchange_every"] is not None
        options["replicas"] = 1 if one else world.size
    stored = to_store(options)
    pressures = options["pressures"]
    _check_equation_of_state(options)
    if pressures is not None:
        options["pressure"] = pressures[0]
    scanned = options["packing_fractions"] or packing_fractions
    if (
        options["equation_of_state"] and options["walls"]
    ):  # few particles at the default may not fit
        packing_fraction = min(packing_fraction, *scanned)
    defaults = {"particles": 65536, "packing_fraction": packing_fraction}
    options |= {key: value for key, value in defaults.items() if options[key] is None}
    swaps = Swaps.of_options(options, "swap_")
    settings = _settings(kind, options, given=stored, folder=output, mixture=mixture, swaps=swaps)
    if options["equation_of_state"]:
        varied = "packing_fraction" if pressures is None else "pressure"
        runs: list[Any] = []
        for index, value in enumerate(pressures or scanned):
            folder = output / f"{varied}_{value:g}"
            with of_option(f"--{varied.replace('_', '-')}s, item {index}", varied):
                if folder in [run.output for run in runs]:
                    raise ValueError(f"{value!r} has the folder {folder.name} of an earlier item")
                runs.append(replace(settings, **{varied: value, "output": folder}))
        summary, _ = job.run_equation_of_state(runs, output, world)
        text = job.equation_of_state_table(summary)
    else:
        summary, _ = job.run(settings, world)
        text = job.table(summary, name)
    return _end(name, text, summary, output, options["quiet"] or world.rank > 0)


def _check_equation_of_state(options: dict[str, Any]) -> None:
    """Refuse options that do not belong together."""
    scan = options["equation_of_state"]
    for name in ("packing_fractions", "pressures"):
        if options[name] is not None and not scan:
            raise ValueError(f"--{name.replace('_', '-')} is for --equation-of-state")
    if options["exchange_every"] is not None and len(options["pressures"] or ()) < 2:
        raise ValueError("--exchange-every needs at least two --pressures")
    if not scan:
        return
    if options["pressure"] is not None:
        raise ValueError("--pressure is constant, and --equation-of-state measures it")
    for name in ("springs", "fields", "fugacity"):
        if options[name] is not None and (options["walls"] is None or name == "fugacity"):
            raise ValueError(
                f"--equation-of-state measures the pressure, but --{name} measures another quantity"
            )
    given = options["input"] is not None or options["packing_fraction"] is not None
    if options["pressures"] is None:
        if given:
            raise ValueError(
                "--equation-of-state takes --packing-fractions, not --packing-fraction or --input"
            )
    elif options["packing_fractions"] is not None or options["input"] is not None:
        raise ValueError("--pressures begins at --packing-fraction, not --packing-fractions")


@command(
    app,
    "steps device threads ranks checkpoint_every",
    Job,
    OptionsOf(
        Fluid,
        names="particles density a gamma cutoff weight_exponent temperature",
        title="System",
    ),
    OptionsOf(Fluid, names="timestep"),
    OptionsOf(Fluid, names="steps equilibrate ranks seed", title="Run"),
    OptionsOf(Fluid, names="precision device threads", title="Device"),
)
def dpd(output: Path = Path("out/dpd"), **common: Any) -> int:
    """Simulate a fluid of dissipative particles in LAMMPS.

    The command writes the input script in.dpd, log.lammps, thermo.csv, final.data, restart files,
    summary.json and the picture thermo.png into --output, and runs the installed LAMMPS. Ctrl-C
    stops it; --resume continues from the last restart file, with the same bits in double precision.

    Examples:
      manymove dpd --particles 24000 --steps 2000
      manymove dpd --a 18.75 --gamma 4.5 --cutoff 1 --density 3 --output soft
      manymove dpd --resume --steps 20000
    """
    options = gathered(locals())
    from manymove.devices import on_gpu, usable_cores
    from manymove.dpd import job
    from manymove.jobs.world import require_one_process

    require_one_process("manymove dpd", "--ranks sets the number of ranks of LAMMPS")
    quiet, resume, overwrite = (options.pop(name) for name in ("quiet", "resume", "overwrite"))
    for name in ("context", "output"):
        del options[name]
    # A continued run keeps the interval of possible restart files of the earlier run, because the
    # bits of the trajectory depend on it.
    every = job.stored_checkpoint_steps(output) if resume else 0
    settings = Fluid(**options, checkpoint_steps=every)
    cores, ranks = len(usable_cores()), settings.ranks
    if ranks > cores and not on_gpu(settings.device):
        say(f"warning: {ranks} ranks share {cores} core(s), so that they wait for each other: "
            f"--ranks {cores} is faster")  # fmt: skip
    given = to_store(options | {"checkpoint_steps": settings.checkpoint_steps})
    summary = job.run(settings, output, quiet, resume=resume, overwrite=overwrite, given=given)
    return _end("dpd", job.table(summary), summary, output, quiet)


@command(
    app,
    "steps equilibrate target_error isotherm unit void_fraction literature device threads "
    "checkpoint_every frames structures",
    OptionsOf(
        Steps,
        names="proposals trial_positions trial_orientations reinsertion identity_change regrowth",
    ),
    OptionsOf(EnergyGrid, names="interpolation", title="System"),
    OptionsOf(ProfileAxis, names="bins", title="Sampling"),
    adsorbents.of_framework,
    adsorbents.of_molecules,
    adsorbents.of_loadings,
    Adsorbates,
)
def adsorption(
    molecules: tuple[int, ...] | None = None,
    method: str | None = None,
    systems: str = "1024",
    isotherm: tuple[float, ...] | None = None,
    void_fraction: str | None = None,
    literature: tuple[Path, ...] | None = None,
    capacity: tuple[int, ...] | None = None,
    profile: tuple[str, ...] | None = None,
    ewald: tuple[float, float] | None = None,
    cells: tuple[int, int, int] | None = None,
    max_displacement: float | None = None,
    precision: str = "mixed",
    **common: Any,
) -> int:
    """Simulate adsorbed molecules by (waste-recycling) Monte Carlo.

    The command writes summary.json, energy.csv, profile.csv, checkpoints and pictures into
    --output, and trajectory.gsd with --frames. Ctrl-C stops the run and writes everything but the
    pictures; --resume continues it. Rigid molecules with charges need a force field.

    System:
        molecules: Number of molecules of each species in a system (default 32, or 0 if open).
        cells: Numbers of unit cells along a, b and c (default the fewest that fit the cutoff).
        capacity: Initial capacity of open systems in molecules per species (default estimated).
        ewald: Ewald's alpha and largest wave number in 1/angstrom (default 3.2 / cutoff, 20.5 /
            cutoff).
        grid_spacing: Spacing of the energy grid in angstrom (default 0.2, or 0.08 if linear).

    Moves:
        max_displacement: Maximum trial displacement along each axis, in angstrom (default 0.65,
            which the equilibration adapts).
        method: Method: metropolis (CPU), pmc, plj, mup, mdp or mdp-dj (default mdp, or plj with
            --isotherm and for flexible molecules).

    Run:
        systems: Number of independent systems; auto chooses as many as fill the device.
        isotherm: Gas pressures of an isotherm in bar. Each point continues from the previous one
            and equilibrates in rounds of doubling length until its loading agrees with test
            molecules (default closed systems).

    Sampling:
        profile: Direction of the profiles of probability and free energy: x, y, z or Miller indices
            such as 1,1,0 (default none).
        void_fraction: Void fraction for excess loadings of an isotherm, or helium, which computes
            it by insertions of helium with the force field (default no excess loadings).
        literature: CSV tables of published loadings for the picture of an isotherm, with the
            columns pressure_bar, loading and, optionally, loading_error and adsorbate (default
            none).

    Device:
        precision: Floating-point precision: mixed or double.

    Examples:
      manymove adsorption --adsorbates CO2 --force-field TraPPE-zeo --systems 64 --henry 10000
      manymove adsorption --isotherm 0.5,5,50 --systems 128 --output isotherm
      manymove adsorption --resume --output isotherm
    """
    options = gathered(locals())
    from manymove.adsorption import job
    from manymove.adsorption.chains import Chain
    from manymove.jobs.world import World

    world = World.connect()
    adsorbents.read_trials(options)
    species, field, charges, barrier = adsorbents.model_of(options)
    structures, density_map = options["structures"] or (), options["density_map"]
    for name in ("henry", "frames"):
        if isotherm is not None and options[name]:
            raise ValueError(f"--{name} cannot be combined with --isotherm")
    if capacity is not None and isotherm is None:
        raise ValueError("--capacity is for --isotherm, the only run with insertions")
    for name in ("mole_fractions", "void_fraction", "literature"):
        if isotherm is None and options[name] is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for --isotherm")
    if options["early"] and options["target_error"] is None:
        raise ValueError("--early needs --target-error")
    unit_given = options["context"].get_parameter_source("unit").name == "COMMANDLINE"
    if isotherm is None and unit_given:
        raise ValueError("--unit is for --isotherm")
    if density_map not in (None, "x", "y", "z"):
        raise ValueError(f"--density-map is {density_map!r}; it must be x, y or z")
    for suffix in structures:
        if suffix not in ("cif", "pdb"):
            raise ValueError(f"--structures has {suffix!r}; it must be cif, pdb or cif,pdb")
    if method is None:
        flexible = any(isinstance(one, Chain) for one in species)
        method = "mdp" if isotherm is None and not flexible else "plj"
    counts = molecules or ((32,) if isotherm is None else (0,) * len(species))
    if systems == "auto":
        from manymove.adsorption.occupancy import filling_systems

        where = (options["device"], precision, world.threads(options["threads"]))
        count = world.size * filling_systems(method, max(1, sum(counts)), *where)
    else:
        count = number("--systems", systems, int, "auto")
    direction: Any = profile
    if profile is not None and profile not in (("x",), ("y",), ("z",)):
        direction = values("--profile", ",".join(profile), int, 3, or_else="x, y, z or ")
    elif profile is not None:
        direction = profile[0]
    of_the_job = {one.name for one in fields(Adsorbates)} | {"context", "isotherm"}
    of_the_job |= {"potential", "mixing", "remove_atom_number_code", "unit", "literature"}
    of_the_engine = {name: v for name, v in options.items() if name not in of_the_job}
    of_the_engine |= {"profile": direction, "barrier": barrier}
    of_the_engine |= {"force_field": field, "framework_charges": charges}
    settings = _settings(
        Adsorbates,
        options,
        given=to_store(
            options | {"systems": str(count), "literature": literature and [*map(str, literature)]}
        ),
        folder=options["output"],
        void_fraction=None,
        structures=structures,
        molecules=counts,
        method=method,
        adsorbates=species,
        systems=count,
        options=of_the_engine,
    )
    if isotherm is not None:
        summary, _ = job.run_isotherm(
            settings, isotherm, world, unit=options["unit"], void_fraction=void_fraction,
            literature=literature or (),
        )  # fmt: skip
        text = job.isotherm_table(summary)
    else:
        summary, _ = job.run(settings, world)
        text = job.table(summary)
    return _end("adsorption", text, summary, options["output"], options["quiet"] or world.rank > 0)


@command(
    app, "sweeps equilibrate target_error method device threads checkpoint_every", Electrolytes
)
def electrolyte(
    replicas: int | None = None,
    **common: Any,
) -> int:
    """Simulate charged hard spheres and measure their energy.

    The command also measures g(r) and the dressed valences. It writes summary.json, energy.csv,
    g.csv, checkpoints and pictures into --output, and structure_factors.csv with
    --structure-factors. Ctrl-C stops the run after the current sweep and writes everything but the
    pictures; --resume continues it.

    Run:
        replicas: Number of independent runs, which are pooled (default 1 per MPI rank).

    Examples:
      manymove electrolyte --ions 1024 --valences 3,-1 --debye-length 28.53
      manymove electrolyte --valences 1,-1 --diameters 5,4 --concentration 0.1
      manymove electrolyte --resume --sweeps 5000
    """
    options = gathered(locals())
    from manymove.electrolyte import job
    from manymove.jobs.world import World

    world = World.connect()
    options["replicas"] = world.size if replicas is None else replicas
    settings = _settings(Electrolytes, options, given=to_store(options))
    summary, _ = job.run(settings, world)
    quiet = settings.quiet or world.rank > 0
    return _end("electrolyte", job.table(summary), summary, settings.output, quiet)


def _end(name: str, table: str, summary: dict[str, Any], output: Path, quiet: bool) -> int:
    """Print the results of a job, or, if it was stopped, the command that continues it.

    Returns:
        the exit code.
    """
    if summary["complete"]:
        if not quiet:
            print(f"{table}\nresults in {output}/")
        return 0
    ranks = max(run.get("ranks", 1) for run in (summary, *summary.get("runs", ())))
    start = f"mpirun -n {ranks} " if ranks > 1 and name != "dpd" else ""
    if any(output.glob("**/checkpoint-*")):
        say(
            f"stopped early; results and checkpoint are in {output}/. This command continues: "
            f"{start}manymove {name} --resume --output {output}"
        )
    else:
        say("stopped before the first checkpoint; there is nothing to resume")
    return STOPPED


def _of_input(
    path: Path,
    particles: int | None,
    packing_fraction: float | None,
    dimensions: int,
    name: str,
    mixture: Any,
) -> dict[str, Any]:
    """Number of particles and packing fraction of a file. Options that contradict it are
    refused."""
    from manymove.hard_particles.sizes import of_frame, with_table
    from manymove.io import read_frame

    with of_option("--input"):
        frame = read_frame(path, dimensions=dimensions, mixtures=True)
    frame = with_table(frame, mixture)
    sizes = of_frame(frame)
    if len(frame.types) > 1 and not sizes.mixed:
        say(
            f"--input {path} has particles of the types {', '.join(frame.types)}; all have one "
            f"diameter and are simulated as one kind of {name} without --diameters"
        )
    count = len(frame.positions)
    covered = (sizes.of_each(count) ** dimensions).sum() * math.pi / (2 * dimensions)
    fraction = float(covered) / math.prod(frame.box)
    if particles not in (None, count):
        raise ValueError(f"--particles is {particles}, but {path} has {count} {name}")
    if packing_fraction is not None and abs(packing_fraction - fraction) > 1e-4:
        raise ValueError(
            f"--packing-fraction is {packing_fraction}, but that of {path} is {fraction:.6f}"
        )
    return {"particles": count, "packing_fraction": fraction}


@command(app)
def info() -> int:
    """Print the version, build, devices and host programs.

    Examples:
      manymove info
    """
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
    """Run the command.

    Returns:
        the exit code: 0 if the command has finished, 2 after an error, which is printed in one
        line, and 130 if it was interrupted.
    """

    def work() -> int:
        try:
            return app(arguments, prog_name="manymove", standalone_mode=False) or 0
        except typer.Abort:
            raise KeyboardInterrupt from None
        finally:
            folder_lock.release()

    code = errors.reported("manymove", work)
    return errors.INTERRUPTED if code == STOPPED else code


def main() -> None:
    """Entry point of the command `manymove`."""
    for name in ("stdout", "stderr"):  # None if the shell has closed it, for example by 2>&-
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))
    warnings.formatwarning = lambda message, *_: f"manymove: warning: {message}\n"
    sys.exit(run())
