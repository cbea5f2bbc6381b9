"""The command `manymove bench`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from manymove.cli_options import Device, help_without_command, lists, number

app = typer.Typer(help="Measure speed.", rich_markup_mode=None)
app.callback(invoke_without_command=True)(help_without_command)

# What several benchmarks take.
Sizes = Annotated[str | None, typer.Option(help="Numbers of disks, separated by commas.")]
AllSizes = Annotated[float, typer.Option(help="Of all sizes.")]
LargestMove = Annotated[
    float | None, typer.Option(help="Of a trial move along x and y, in diameters.")
]
Melt = Annotated[
    int, typer.Option("--equilibrate", "--melt", help="Sweeps before anything is timed.")
]
Repeats = Annotated[int, typer.Option(help="Timed runs of each variant, alternating.")]
Seconds = Annotated[float, typer.Option(help="Least length of a timed run.")]
Decorrelation = Annotated[
    int, typer.Option(help="Also run this many sweeps for the autocorrelation time of psi_6.")
]
BenchSeed = Annotated[int, typer.Option(help="Of the random numbers.")]


def _new_file(path: Path | None) -> Path | None:
    if path is not None and path.exists():
        raise FileExistsError(f"{path} holds results: remove it, or choose another name")
    return path


JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Write the results to this new file.", callback=_new_file),
]
PlotFile = Annotated[
    Path | None,
    typer.Option(
        "--plot", help="Picture of the speeds against the size, a new file.", callback=_new_file
    ),
]


def _alone(name: str) -> None:
    from manymove.replicas import require_one_process

    require_one_process(f"manymove bench {name}", "it starts what it needs itself")


def _timed(part: str, run: Callable[..., dict[str, Any]], options: dict[str, Any]) -> int:
    """Run a benchmark; a picture of the fastest of ours, and of the peers, at each size."""
    from manymove import bench_all, report

    _alone(part)
    plot_file = options.pop("plot_file")
    if plot_file is not None:
        report.need_matplotlib()
    results = run(**options)["results"]
    if plot_file is not None:
        bench_all.plot(plot_file, bench_all.summarise(bench_all.PARTS[part], results))
    return 0


@app.command("disks")
def bench_disks(
    sizes: Sizes = None,
    packing_fraction: AllSizes = 0.698,
    device: Device = "auto",
    threads: Annotated[
        str | None, typer.Option(help="CPU threads, a number or several, separated by commas.")
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option(help="Ranks of mpirun that share the disks, separated by commas."),
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="Sizes are those of each rank, not of all together.")
    ] = False,
    max_displacement: LargestMove = None,
    moves_per_cell: Annotated[
        int | None, typer.Option(help="Trial moves per visit of a cell, n_m.")
    ] = None,
    melt: Melt = 200,
    repeats: Repeats = 3,
    seconds: Seconds = 1.0,
    decorrelation: Decorrelation = 0,
    seed: BenchSeed = 1,
    json_file: JsonFile = None,
    plot_file: PlotFile = None,
) -> int:
    """Time hard disks: trial moves per second, and HOOMD-blue's HPMC beside them if installed.

    Under mpirun, ranks that share the disks.
    """
    options = lists(locals(), sizes=int, ranks=int)
    from manymove import bench, bench_ranks
    from manymove.replicas import World

    world = World.connect()
    shared = options.pop("ranks"), options.pop("weak")
    if world.size > 1 or any(shared):
        if decorrelation or plot_file or (threads is not None and "," in threads):
            raise ValueError(
                "--ranks and --weak go with one number of --threads, of each rank, without --plot "
                "and --decorrelation"
            )
        del options["decorrelation"], options["plot_file"]
        options["threads"] = None if threads is None else number("--threads", threads, int)
        options["sizes"] = options["sizes"] or [1048576]
        bench_ranks.disks(world, ranks=shared[0] or [1, world.size], weak=weak, **options)
        return 0
    return _timed("disks", bench.disks, lists(options, threads=int))


@app.command("hoomd")
def bench_hoomd(
    sizes: Sizes = None,
    packing_fraction: AllSizes = 0.698,
    device: Device = "auto",
    threads: Annotated[
        int | None, typer.Option(help="CPU threads of our engines; HPMC has one rank.")
    ] = None,
    max_displacement: LargestMove = None,
    melt: Melt = 200,
    repeats: Repeats = 3,
    seconds: Seconds = 1.0,
    decorrelation: Decorrelation = 0,
    seed: BenchSeed = 1,
    json_file: JsonFile = None,
    plot_file: PlotFile = None,
) -> int:
    """Time hard disks inside HOOMD-blue: the component, the Python-only path and HPMC."""
    options = lists(locals(), sizes=int)
    from manymove import bench_hoomd

    return _timed("hoomd", bench_hoomd.run, options)


@app.command("adsorption")
def bench_adsorption(
    framework: Annotated[str, typer.Option(help="MFI, LTA or the path of a CIF file.")] = "MFI",
    molecules: Annotated[str, typer.Option(help="Numbers, separated by commas.")] = "32,128",
    methods: Annotated[
        str, typer.Option(help="Separated by commas; metropolis is the serial reference.")
    ] = "metropolis,pmc,plj,mup,mdp,mdp-dj",
    proposals: Annotated[str, typer.Option(help="Of mup and mdp, separated by commas.")] = "64",
    systems: Annotated[
        int | None, typer.Option(help="Of each variant; by default what fills the device.")
    ] = None,
    interpolation: Annotated[str, typer.Option(help="Grid: cubic or linear.")] = "cubic",
    grid_spacing: Annotated[float | None, typer.Option(help="In angstrom.")] = None,
    precision: Annotated[str, typer.Option(help="mixed or double.")] = "mixed",
    device: Device = "auto",
    cpu: Annotated[
        bool, typer.Option("--cpu", help="Time the CPU engine beside the GPU's as well.")
    ] = False,
    threads: Annotated[int | None, typer.Option(help="CPU threads; all cores by default.")] = None,
    raspa: Annotated[
        bool, typer.Option(help="Time RASPA3 as well, where raspalib is installed.")
    ] = True,
    ranks: Annotated[
        str | None,
        typer.Option(help="Ranks of mpirun that divide the systems, separated by commas."),
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="--systems are those of each rank, not of all together.")
    ] = False,
    equilibrate: Annotated[int, typer.Option(help="Steps before anything is timed.")] = 2000,
    repeats: Repeats = 3,
    seconds: Seconds = 1.0,
    seed: BenchSeed = 1,
    json_file: JsonFile = None,
    plot_file: PlotFile = None,
) -> int:
    """Time adsorption: steps per second and 1 / (variance x seconds) of each method.

    Under mpirun, time one method with the systems divided among the ranks: steps per second.
    """
    options = lists(locals(), molecules=int, methods=str, ranks=int)
    from manymove import bench_adsorption, bench_ranks
    from manymove.replicas import World

    world = World.connect()
    shared = options.pop("ranks"), options.pop("weak")
    if world.size > 1 or any(shared):
        if cpu or plot_file or "," in methods or "," in proposals:
            raise ValueError(
                "--ranks and --weak go with one of --methods and one of --proposals, without "
                "--cpu and --plot"
            )
        for name in ("cpu", "raspa", "plot_file"):
            del options[name]
        options["method"] = options.pop("methods")[0]
        options["proposals"] = number("--proposals", proposals, int)
        bench_ranks.adsorption(world, ranks=shared[0] or [1, world.size], weak=weak, **options)
        return 0
    return _timed("adsorption", bench_adsorption.run, lists(options, proposals=int))


@app.command("electrolyte")
def bench_electrolyte(
    sizes: Annotated[
        str | None, typer.Option(help="Numbers of ions, separated by commas, multiples of 4.")
    ] = None,
    debye_length: Annotated[float, typer.Option(help="Bare, in angstrom.")] = 28.53,
    diameter: Annotated[float, typer.Option(help="Of all ions, in angstrom.")] = 7.5,
    device: Device = "auto",
    threads: Annotated[
        str | None, typer.Option(help="CPU threads, a number or several, separated by commas.")
    ] = None,
    methods: Annotated[
        str, typer.Option(help="Of brush, reduction and serial, separated by commas.")
    ] = "brush",
    precisions: Annotated[
        str,
        typer.Option(
            "--precision", "--precisions", help="Of mixed and double, separated by commas."
        ),
    ] = "mixed,double",
    threads_per_particle: Annotated[
        str | None, typer.Option(help="eta of a GPU's brush, separated by commas.")
    ] = None,
    equilibrate: Annotated[int, typer.Option(help="Sweeps before anything is timed.")] = 10,
    repeats: Repeats = 3,
    seconds: Seconds = 1.0,
    seed: BenchSeed = 1,
    json_file: JsonFile = None,
    plot_file: PlotFile = None,
) -> int:
    """Time the 3:-1 electrolyte: seconds per sweep and pair terms per second."""
    options = lists(
        locals(), sizes=int, threads=int, methods=str, precisions=str, threads_per_particle=int
    )
    from manymove import bench_electrolyte

    return _timed("electrolyte", bench_electrolyte.run, options)


@app.command("dpd")
def bench_dpd(
    sizes: Annotated[
        str | None, typer.Option(help="Numbers of particles, separated by commas.")
    ] = None,
    densities: Annotated[
        str, typer.Option("--density", help="One or several, separated by commas.")
    ] = "3",
    cutoffs: Annotated[
        str, typer.Option("--cutoff", help="One or several, separated by commas.")
    ] = "1",
    timestep: Annotated[float, typer.Option(help="Of velocity Verlet.")] = 0.005,
    skins: Annotated[
        str,
        typer.Option(
            "--skin", help="Skins of neighbor lists, by commas; each variant takes its fastest."
        ),
    ] = "0.3",
    weight_exponent: Annotated[float, typer.Option(help="s of ours; dpd has 1.")] = 1.0,
    device: Annotated[str, typer.Option(help="cpu, cuda or, for what there is, auto.")] = "auto",
    precisions: Annotated[
        str, typer.Option("--precision", help="Of ours: mixed, double or both.")
    ] = "mixed,double",
    figure_11: Annotated[
        bool,
        typer.Option("--figure-11", help="The paper's densities, cutoffs and sizes."),
    ] = False,
    ranks: Annotated[
        str | None,
        typer.Option(help="MPI processes on the CPU, separated by commas; all cores by default."),
    ] = None,
    threads: Annotated[
        str, typer.Option(help="Threads of ours on one MPI process, separated by commas.")
    ] = "1",
    lammps: Annotated[
        list[Path] | None,
        typer.Option(help="Another LAMMPS to look for dpd/kk and dpd/gpu in; may be repeated."),
    ] = None,
    melt: Annotated[
        int, typer.Option("--equilibrate", "--melt", help="Steps before anything is timed.")
    ] = 1000,
    repeats: Repeats = 3,
    seconds: Seconds = 2.0,
    seed: Annotated[int, typer.Option(help="Of the start and the random forces.")] = 1,
    json_file: JsonFile = None,
    plot_file: PlotFile = None,
) -> int:
    """Time DPD: million particle-steps per second (MPS), the peers' beside ours."""
    options = lists(
        locals(), sizes=int, densities=float, cutoffs=float, skins=float, precisions=str, ranks=int,
        threads=int,
    )  # fmt: skip
    from manymove import bench_dpd

    _alone("dpd")
    del options["figure_11"]
    if figure_11:
        if sizes is not None or densities != "3" or cutoffs != "1":
            raise ValueError("--figure-11 sets --sizes, --density and --cutoff")
        options |= bench_dpd.FIGURE_11
    bench_dpd.run(**{**options, "lammps": lammps or []})
    return 0


@app.command("scaling")
def bench_scaling(
    algorithms: Annotated[
        str, typer.Option(help="Separated by commas.")
    ] = "disks,dpd,electrolyte,adsorption",
    ranks: Annotated[
        str | None,
        typer.Option(help="Numbers of GPUs, or CPU ranks, separated by commas; 1, 2, 4, ... all."),
    ] = None,
    weak: Annotated[bool, typer.Option("--weak", help="Only weak scaling.")] = False,
    strong: Annotated[bool, typer.Option("--strong", help="Only strong scaling.")] = False,
    sizes: Annotated[
        str | None,
        typer.Option(help="Of one algorithm: of each rank with --weak, in all with --strong."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    launcher: Annotated[
        str | None, typer.Option(help="Of MPI processes, as mpiexec (not for DPD).")
    ] = None,
    transport: Annotated[str, typer.Option(help="Of run_style manymove/verlet.")] = "auto",
    repeats: Repeats = 3,
    seconds: Seconds = 1.0,
    limit: Annotated[float, typer.Option(help="Seconds that all may take.")] = 3600.0,
    seed: BenchSeed = 1,
    json_file: JsonFile = None,
    plot_file: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="Picture of speeds and efficiencies (a new file).", callback=_new_file
        ),
    ] = None,
    read: Annotated[
        list[Path] | None,
        typer.Option(help="Show this file instead of measuring; may be repeated."),
    ] = None,
) -> int:
    """Time each algorithm on one, two, ... GPUs or CPU ranks: weak and strong scaling."""
    options = lists(locals(), algorithms=str, ranks=int, sizes=int)
    from manymove import bench_scaling

    _alone("scaling")
    if options.pop("read"):
        bench_scaling.read(read, plot_file)
        return 0
    bench_scaling.run(**{**options, "weak": weak or not strong, "strong": strong or not weak})
    return 0


@app.command("all")
def bench_all(
    parts: Annotated[
        str | None,
        typer.Option(help="Of disks, hoomd, dpd, electrolyte and adsorption; all by default."),
    ] = None,
    device: Device = "auto",
    repeats: Repeats = 3,
    seconds: Seconds = 1.0,
    limit: Annotated[float, typer.Option(help="Seconds that each part may take.")] = 600.0,
    seed: BenchSeed = 1,
    json_file: JsonFile = None,
    plot_file: PlotFile = None,
) -> int:
    """Time everything with its defaults, beside every peer that is installed."""
    options = lists(locals(), parts=str)
    from manymove import bench_all

    _alone("all")
    bench_all.run(**options)
    return 0
