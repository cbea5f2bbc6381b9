# SPDX-License-Identifier: BSD-3-Clause
"""The command `python -m benchmarks`, for the root of the repository."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.texts import TEXTS
from manymove.cli import options as cli
from manymove.cli.bench import NEW_JSON, new_file
from manymove.cli.options import gathered, help_without_command
from manymove.jobs import errors

app = typer.Typer(
    help="Measure the speed of each algorithm, of its variants and of other programs.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback(invoke_without_command=True)(help_without_command)
NEW_PICTURE = new_file("plot", "Path of a new picture of the results (default none).")
command = partial(cli.command, texts=TEXTS)
# Names of options, and those of the arguments of the benchmarks.
PLURALS = {
    "precision": "precisions",
    "density": "densities",
    "cutoff": "cutoffs",
    "skin": "skins",
    "pair": "pairs",
}


def _of_all(
    repeats: int = 3,
    seconds: float = 1.0,
    seed: int = 1,
    json_file: Annotated[Path | None, NEW_JSON] = None,
    plot_file: Annotated[Path | None, NEW_PICTURE] = None,
) -> None:
    """The options that all benchmarks have."""


def _plural(options: dict[str, Any]) -> dict[str, Any]:
    return {PLURALS.get(name, name): value for name, value in options.items()}


def _alone(name: str) -> None:
    from manymove.jobs.world import require_one_process

    require_one_process(f"python -m benchmarks {name}", "it starts its own processes")


def _timed(part: str, options: dict[str, Any], module: str | None = None) -> int:
    """Run a benchmark, and draw our fastest variant and the peers at each size."""
    from benchmarks import suite
    from manymove.jobs import figures

    _alone(part)
    plot_file = options.pop("plot_file")
    if plot_file is not None:
        figures.need_matplotlib()
    results = import_module(f"benchmarks.{module or part}").run(**options)["results"]
    if plot_file is not None:
        suite.plot(plot_file, suite.summarize(suite.PARTS[part], results))
    return 0


def _timed_on_ranks(part: str, options: dict[str, Any]) -> int:
    """Run the benchmark of disks or spheres, under mpirun that of the ranks that share them."""
    from benchmarks import ranks as on_ranks
    from manymove.jobs.world import World

    world = World.connect()
    ranks, weak, threads = options.pop("ranks"), options.pop("weak"), options["threads"]
    if world.size == 1 and not ranks and not weak:
        return _timed(part, options, "disks")
    unknown = [options.pop(name, None) for name in ("plot_file", "decorrelation")]
    if any(unknown) or len(threads or ()) > 1:
        raise ValueError(
            "--ranks and --weak go with one number of --threads, of each rank, without --plot and "
            "--decorrelation"
        )
    options |= {"threads": threads and threads[0], "sizes": options["sizes"] or (1048576,)}
    on_ranks.disks(world, ranks=ranks or (1, world.size), weak=weak, **options)
    return 0


@command(app, None, _of_all)
def disks(
    sizes: tuple[int, ...] | None = None,
    packing_fraction: float = 0.698,
    device: str = "auto",
    threads: tuple[int, ...] | None = None,
    ranks: tuple[int, ...] | None = None,
    weak: bool = False,
    max_displacement: float | None = None,
    moves_per_cell: int | None = None,
    equilibrate: int = 200,
    decorrelation: int = 0,
    **common: Any,
) -> int:
    """Time hard disks: trial moves per second.

    HOOMD-blue's HPMC is timed as well if it is installed. Under mpirun the ranks share the disks,
    and --threads is the number of threads of each rank.

    Examples:
      python -m benchmarks disks --sizes 4096,65536 --threads 1,2
      mpirun -n 4 python -m benchmarks disks --ranks 1,2,4 --weak --sizes 1048576
    """
    return _timed_on_ranks("disks", gathered(locals()))


@command(app, None, _of_all)
def spheres(
    sizes: tuple[int, ...] | None = None,
    packing_fraction: float = 0.5,
    device: str = "auto",
    threads: tuple[int, ...] | None = None,
    ranks: tuple[int, ...] | None = None,
    weak: bool = False,
    max_displacement: float | None = None,
    moves_per_cell: int | None = None,
    equilibrate: int = 200,
    decorrelation: int = 0,
    mixture_ratio: float | None = None,
    **common: Any,
) -> int:
    """Time hard spheres: trial moves per second.

    HOOMD-blue's HPMC is timed as well if it is installed, with several numbers of moves per step.
    Under mpirun the ranks share the spheres, --threads is the number of threads of each rank, and
    --mixture-ratio times the mixture alone.

    Examples:
      python -m benchmarks spheres --sizes 4096,65536 --threads 1,2
      python -m benchmarks spheres --device cuda --decorrelation 2000 --json spheres.json
      python -m benchmarks spheres --device cuda --mixture-ratio 0.714
    """
    options = gathered(locals())
    from manymove.hard_particles.spheres import HardSpheres

    return _timed_on_ranks("spheres", options | {"kind": HardSpheres})


@command(app, None, _of_all)
def interactions(
    sizes: tuple[int, ...] = (32768, 1048576),
    packing_fraction: float = 0.262,
    hpmc: tuple[int, ...] | None = None,
    device: str = "auto",
    threads: int | None = None,
    equilibrate: int = 100,
    seconds: float = 0.3,
    **common: Any,
) -> int:
    """Time hard spheres in external fields, with square wells, and with insertions.

    The speed of each variant is compared with that of plain spheres. With --hpmc, the square wells
    are compared with HOOMD-blue's HPMC on that many cores of the CPU, in simultaneous processes
    with an equal share of the spheres.

    Examples:
      python -m benchmarks interactions --device cuda --json interactions.json
      python -m benchmarks interactions --device cuda --hpmc 16
      python -m benchmarks interactions --sizes 4096 --threads 2
    """
    options = gathered(locals())
    _alone("interactions")
    if options.pop("plot_file") is not None:
        raise ValueError("--plot does not go with this benchmark")
    from benchmarks import interactions

    interactions.run(**options)
    return 0


@command(app, None, _of_all)
def systems(
    systems: tuple[int, ...] = (64,),
    particles: tuple[int, ...] = (4096,),
    packing_fraction: float | None = None,
    spheres: bool = False,
    ions: bool = False,
    methods: tuple[str, ...] | None = None,
    precision: tuple[str, ...] | None = None,
    threads_per_particle: tuple[int, ...] | None = None,
    pressure: float | None = None,
    swaps: int | None = None,
    hpmc: tuple[int, ...] | None = None,
    device: str = "auto",
    threads: int | None = None,
    equilibrate: int = 200,
    **common: Any,
) -> int:
    """Time many small systems of hard disks, spheres or ions, together and one after the other.

    On a CPU as many simultaneous processes, with one system each, are timed as well. With --hpmc,
    HOOMD-blue's HPMC is timed in simultaneous processes, on a GPU without and with NVIDIA's
    multi-process service.

    Examples:
      python -m benchmarks systems --systems 1,16 --device cpu
      python -m benchmarks systems --spheres --pressure 11.9 --systems 64 --device cuda
      python -m benchmarks systems --ions --systems 64 --particles 2048 --device cuda
    """
    options = _plural(gathered(locals()))
    _alone("systems")
    if options.pop("plot_file") is not None:
        raise ValueError("--plot does not go with this benchmark")
    from benchmarks import systems as benchmark

    benchmark.run(**options)
    return 0


def _dpd_in_hoomd(options: dict[str, Any]) -> int:
    from benchmarks import fluid_hoomd

    _alone("hoomd --dpd")
    names = (
        "spheres", "packing_fraction", "max_displacement", "decorrelation", "sweeps_per_step",
        "weak", "plot_file",
    )  # fmt: skip
    for name in names:
        if options.pop(name):
            option = name.removesuffix("_file").replace("_", "-")
            raise ValueError(f"--{option} does not go with --dpd")
    fluid_hoomd.run(**options)
    return 0


@command(app, None, _of_all)
def hoomd(
    spheres: bool = False,
    dpd: bool = False,
    sizes: tuple[int, ...] | None = None,
    sweeps_per_step: tuple[int, ...] | None = None,
    weak: bool = False,
    packing_fraction: float | None = None,
    device: str = "auto",
    threads: int | None = None,
    max_displacement: float | None = None,
    equilibrate: int | None = None,
    decorrelation: int = 0,
    **common: Any,
) -> int:
    """Time hard disks, hard spheres or DPD in HOOMD-blue.

    The component, the updater in Python and HPMC are timed on one rank. Under mpirun the component
    is compared with the standalone engine on all ranks, and the table has the parts of a step and
    what the ranks send each other. With --dpd, the component is compared with md.pair.DPD.

    Examples:
      python -m benchmarks hoomd --spheres --device cuda --json hoomd.json --plot hoomd.png
      python -m benchmarks hoomd --dpd --sizes 100000,2000000 --device cuda
      mpirun -n 2 python -m benchmarks hoomd --weak --sizes 1048576,4194304 --sweeps-per-step 16
    """
    options = gathered(locals())
    from manymove.jobs.world import World

    if equilibrate is None:
        del options["equilibrate"]
    if options.pop("dpd"):
        return _dpd_in_hoomd(options)
    world = World.connect()
    if world.size == 1:
        if options.pop("sweeps_per_step") or options.pop("weak"):
            raise ValueError("--sweeps-per-step and --weak go with several ranks")
        return _timed("hoomd", options, "disks_hoomd")
    if options.pop("plot_file") is not None or options.pop("decorrelation"):
        raise ValueError("--plot and --decorrelation go with one rank")
    from benchmarks import hoomd_ranks

    hoomd_ranks.run(world, **options)
    return 0


@command(app, None, _of_all)
def adsorption(
    context: typer.Context,
    framework: str = "MFI",
    adsorbate: str = "methane",
    molecules: tuple[int, ...] = (32, 128),
    methods: tuple[str, ...] = ("metropolis", "pmc", "plj", "mup", "mdp", "mdp-dj"),
    proposals: tuple[int, ...] = (64,),
    systems: int | None = None,
    interpolation: str = "cubic",
    grid_spacing: float | None = None,
    precision: str = "mixed",
    device: str = "auto",
    cpu: bool = False,
    threads: int | None = None,
    raspa: bool = True,
    ranks: tuple[int, ...] | None = None,
    weak: bool = False,
    equilibrate: int = 2000,
    temperature: float = 300.0,
    fugacity: float | None = None,
    exchange: float = 0.5,
    reinsertion: float = 0.0,
    trial_positions: tuple[int, ...] = (1,),
    trial_orientations: tuple[int, ...] = (1,),
    merit: float | None = None,
    peers: tuple[str, ...] | None = None,
    kups_systems: tuple[int, ...] = (64,),
    kups_seconds: float | None = None,
    graspa_processes: int = 1,
    force_field: str = "TraPPE-zeo",
    framework_charges: str | None = None,
    **common: Any,
) -> int:
    """Time adsorption: steps per second and precision.

    The precision is 1 / (variance x seconds) of each method. Under mpirun the ranks divide the
    systems of one method, and steps per second are measured. With --fugacity the systems are open,
    and the table has 1 / (variance x seconds) of the plain mean of the loading and of the estimator
    that uses all trials. --merit also measures gRASPA, if the environment variable MANYMOVE_GRASPA
    is the path of its program, kUPS, if it is installed or MANYMOVE_KUPS is the path of a Python
    that has it, and RASPA3, if raspalib is installed.

    Examples:
      python -m benchmarks adsorption --molecules 32 --methods metropolis,mdp
      python -m benchmarks adsorption --adsorbate CO2 --methods plj --molecules 60 --fugacity 1
      mpirun -n 4 python -m benchmarks adsorption --methods mdp --ranks 1,2,4
    """
    options = gathered(locals())
    from benchmarks import ranks as on_ranks
    from manymove.jobs.world import World

    world = World.connect()
    del options["ranks"], options["weak"], options["context"]

    def is_given(name: str) -> bool:
        return context.get_parameter_source(name).name == "COMMANDLINE"

    if world.size == 1 and not ranks and not weak:
        other_charges = is_given("force_field") or is_given("framework_charges")
        if (fugacity is not None or other_charges) and not is_given("raspa"):
            options["raspa"] = False
        if fugacity is not None and not is_given("molecules"):
            options["molecules"] = molecules[:1]
        return _timed("adsorption", options)
    for name in ("temperature", "exchange", "reinsertion", "raspa"):
        if is_given(name) and options[name] is not False:
            raise ValueError(f"--{name} cannot be combined with --ranks or --weak")
    del options["methods"], options["raspa"], options["temperature"]
    if max(*options.pop("trial_positions"), *options.pop("trial_orientations")) > 1 or (
        fugacity is not None
    ):
        raise ValueError("--ranks and --weak time closed systems: leave out --fugacity")
    del options["fugacity"], options["exchange"], options["reinsertion"]
    if options.pop("merit") is not None:
        raise ValueError("--merit needs --fugacity")
    if options.pop("force_field") != "TraPPE-zeo" or options.pop("framework_charges"):
        raise ValueError(
            "--ranks and --weak time methane: leave out --force-field and --framework-charges"
        )
    for name in ("peers", "kups_systems", "kups_seconds", "graspa_processes"):
        del options[name]
        if is_given(name):
            raise ValueError(f"--{name.replace('_', '-')} needs --merit")
    if options.pop("adsorbate") != "methane":
        raise ValueError("--ranks and --weak time methane: leave out --adsorbate")
    if options.pop("plot_file") or options.pop("cpu") or len(methods) > 1 or len(proposals) > 1:
        raise ValueError(
            "--ranks and --weak go with one of --methods and one of --proposals, without "
            "--cpu and --plot"
        )
    options |= {"method": methods[0], "proposals": proposals[0]}
    on_ranks.adsorption(world, ranks=ranks or (1, world.size), weak=weak, **options)
    return 0


@command(app, None, _of_all)
def electrolyte(
    sizes: tuple[int, ...] | None = None,
    debye_length: float = 28.53,
    diameter: float = 7.5,
    device: str = "auto",
    threads: tuple[int, ...] | None = None,
    methods: tuple[str, ...] = ("brush",),
    precision: tuple[str, ...] = ("mixed", "double"),
    threads_per_particle: tuple[int, ...] | None = None,
    equilibrate: int = 10,
    **common: Any,
) -> int:
    """Time the 3:-1 electrolyte: seconds per sweep.

    The table also has pair terms per second. Numbers of ions are multiples of 4.

    Examples:
      python -m benchmarks electrolyte --sizes 4096,16384 --precision mixed
      python -m benchmarks electrolyte --device cpu --threads 1,2 --methods brush,serial
    """
    return _timed("electrolyte", _plural(gathered(locals())))


@command(app, None, _of_all)
def dpd(
    sizes: tuple[int, ...] | None = None,
    density: tuple[float, ...] | None = None,
    cutoff: tuple[float, ...] = (1,),
    timestep: float = 0.005,
    skin: tuple[float, ...] = (0.3,),
    weight_exponent: float = 1.0,
    pair: tuple[str, ...] = ("dpd",),
    shear: tuple[float, ...] = (0,),
    charged: float = 0.1,
    device: str = "auto",
    precision: tuple[str, ...] = ("mixed", "double"),
    ranks: tuple[int, ...] | None = None,
    threads: tuple[int, ...] = (1,),
    lammps: tuple[Path, ...] | None = None,
    lammps_ranks: tuple[int, ...] = (1,),
    equilibrate: int = 1000,
    seconds: float = 2.0,
    **common: Any,
) -> int:
    """Time DPD: million particle-steps per second (MPS).

    The peers are styles of LAMMPS and HOOMD-blue.

    Examples:
      python -m benchmarks dpd --pair dpd,dpd/tstat,dpd/ext,mdpd --sizes 24000 --skin 0.3,0.4
      python -m benchmarks dpd --pair dpd,dpd/coul/slater/long --charged 0.1
      python -m benchmarks dpd --shear 0,0.1 --device cpu --ranks 1,2 --threads 1,2
    """
    options = _plural(gathered(locals()))
    from benchmarks import dpd

    _alone("dpd")
    dpd.run(**options | {"lammps": lammps or ()})
    return 0


@command(app, None, _of_all)
def fluids(
    systems: tuple[int, ...] = (1, 16, 64),
    particles: int = 10_000,
    ways: tuple[str, ...] = ("replicas", "partition", "processes", "mps"),
    device: str = "auto",
    precision: str = "mixed",
    skin: float = 0.3,
    seconds: float = 2.0,
    **common: Any,
) -> int:
    """Time many small DPD fluids on one device: million particle-steps per second (MPS) of all.

    The fluids are replicas in one process, partitions of one LAMMPS, or processes of their own
    without and with NVIDIA's multi-process service.

    Examples:
      python -m benchmarks fluids --systems 1,16 --device cuda
      python -m benchmarks fluids --systems 1,2 --particles 3000 --ways partition,processes
    """
    options = gathered(locals())
    _alone("fluids")
    if options.pop("plot_file") is not None:
        raise ValueError("--plot does not go with this benchmark")
    from benchmarks import fluids

    fluids.run(**options)
    return 0


@command(app, None, _of_all)
def scaling(
    algorithms: tuple[str, ...] = (
        "disks",
        "spheres",
        "mixture",
        "dpd",
        "bonded",
        "sheared",
        "charged",
        "electrolyte",
        "tree",
        "adsorption",
    ),
    ranks: tuple[int, ...] | None = None,
    weak: bool = False,
    strong: bool = False,
    sizes: tuple[int, ...] | None = None,
    device: str = "auto",
    launcher: str | None = None,
    transport: str = "auto",
    limit: float = 3600.0,
    read: tuple[Path, ...] | None = None,
    **common: Any,
) -> int:
    """Time weak and strong scaling over GPUs or CPU ranks.

    --sizes needs a single algorithm. It is the size of each rank with --weak, and that of all ranks
    together with --strong. On GPUs the default of --ranks is 1,2,4,8, and measurements that need
    more GPUs than the machine has are listed as not run.

    Examples:
      python -m benchmarks scaling --json scaling.json
      python -m benchmarks scaling --algorithms disks,dpd --ranks 1,2 --weak
      python -m benchmarks scaling --read scaling.json --plot scaling.png
    """
    options = gathered(locals())
    from benchmarks import scaling

    _alone("scaling")
    if options.pop("read"):
        scaling.read(read, options["plot_file"])
    else:
        scaling.run(**options | {"weak": weak or not strong, "strong": strong or not weak})
    return 0


@command(app, None, _of_all)
def all_(
    parts: tuple[str, ...] | None = None,
    device: str = "auto",
    limit: float = 600.0,
    **common: Any,
) -> int:
    """Time everything, and every peer that is installed.

    Each benchmark runs with its defaults; adsorbates use the linear grid, as in the records.

    Examples:
      python -m benchmarks all --json all.json --plot all.png
      python -m benchmarks all --parts disks,dpd --limit 120
    """
    _alone("all")
    import_module("benchmarks.suite").run(**gathered(locals()))
    return 0


def run(arguments: list[str] | None = None) -> int:
    """Run the command.

    Returns:
        the exit code: 0 if the command has finished, 2 after an error, which is printed in one
        line, and 130 if it was interrupted.
    """

    def work() -> int:
        try:
            return app(arguments, prog_name="python -m benchmarks", standalone_mode=False) or 0
        except typer.Abort:
            raise KeyboardInterrupt from None

    return errors.reported("benchmarks", work)
