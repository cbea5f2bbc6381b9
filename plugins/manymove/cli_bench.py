"""The command `manymove bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from manymove.cli_options import Device, help_without_command, number, numbers

app = typer.Typer(help="Measure speed.", rich_markup_mode=None)
app.callback(invoke_without_command=True)(help_without_command)

# What several benchmarks take.
Sizes = Annotated[str | None, typer.Option(help="Numbers of disks, separated by commas.")]
AllSizes = Annotated[float, typer.Option(help="Of all sizes.")]
LargestMove = Annotated[
    float | None, typer.Option(help="Of a trial move along x and y, in diameters.")
]
Melt = Annotated[int, typer.Option(help="Sweeps before anything is timed.")]
Repeats = Annotated[int, typer.Option(help="Timed runs of each variant, alternating.")]
Seconds = Annotated[float, typer.Option(help="Least length of a timed run.")]
Decorrelation = Annotated[
    int, typer.Option(help="Also run this many sweeps for the autocorrelation time of psi_6.")
]
BenchSeed = Annotated[int, typer.Option(help="Of the random numbers.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the results to this file.")]


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
) -> int:
    """Time hard disks: trial moves per second, and HOOMD-blue's HPMC beside them if installed.

    Under mpirun, ranks that share the disks.
    """
    from manymove import bench, bench_ranks
    from manymove.replicas import World

    world = World.connect()
    if world.size > 1 or ranks is not None or weak:
        if decorrelation or (threads is not None and "," in threads):
            raise ValueError("--ranks and --weak go with one number of --threads, of each rank")
        bench_ranks.disks(
            world,
            sizes=[1048576] if sizes is None else numbers("--sizes", sizes, int),
            ranks=[1, world.size] if ranks is None else numbers("--ranks", ranks, int),
            weak=weak,
            packing_fraction=packing_fraction,
            device=device,
            threads=None if threads is None else number("--threads", threads, int),
            max_displacement=max_displacement,
            moves_per_cell=moves_per_cell,
            melt=melt,
            repeats=repeats,
            seconds=seconds,
            seed=seed,
            json_file=json_file,
        )
        return 0
    bench.disks(
        sizes=None if sizes is None else numbers("--sizes", sizes, int),
        packing_fraction=packing_fraction,
        device=device,
        threads=[None] if threads is None else numbers("--threads", threads, int),
        max_displacement=max_displacement,
        moves_per_cell=moves_per_cell,
        melt=melt,
        repeats=repeats,
        seconds=seconds,
        decorrelation=decorrelation,
        seed=seed,
        json_file=json_file,
    )
    return 0


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
) -> int:
    """Time hard disks inside HOOMD-blue: the component, the Python-only path and HPMC."""
    from manymove import bench_hoomd

    bench_hoomd.run(
        sizes=None if sizes is None else numbers("--sizes", sizes, int),
        packing_fraction=packing_fraction,
        device=device,
        threads=threads,
        max_displacement=max_displacement,
        melt=melt,
        repeats=repeats,
        seconds=seconds,
        decorrelation=decorrelation,
        seed=seed,
        json_file=json_file,
    )
    return 0


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
    interpolation: Annotated[str, typer.Option(help="Of the grid: linear or cubic.")] = "linear",
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
) -> int:
    """Time adsorption: trial states per second and 1 / (variance x seconds) of each method.

    Under mpirun, one method with the systems divided among the ranks: trial states per second.
    """
    from manymove import bench_adsorption as bench
    from manymove import bench_ranks
    from manymove.replicas import World

    world = World.connect()
    if world.size > 1 or ranks is not None or weak:
        if cpu or "," in methods or "," in proposals:
            raise ValueError("--ranks and --weak go with one of --methods and one of --proposals")
        bench_ranks.adsorption(
            world,
            framework=framework,
            molecules=numbers("--molecules", molecules, int),
            method=methods,
            proposals=number("--proposals", proposals, int),
            systems=systems,
            ranks=[1, world.size] if ranks is None else numbers("--ranks", ranks, int),
            weak=weak,
            interpolation=interpolation,
            grid_spacing=grid_spacing,
            precision=precision,
            device=device,
            threads=threads,
            equilibrate=equilibrate,
            repeats=repeats,
            seconds=seconds,
            seed=seed,
            json_file=json_file,
        )
        return 0
    bench.run(
        framework=framework,
        molecules=numbers("--molecules", molecules, int),
        methods=methods.split(","),
        proposals=numbers("--proposals", proposals, int),
        systems=systems,
        interpolation=interpolation,
        grid_spacing=grid_spacing,
        precision=precision,
        device=device,
        cpu=cpu,
        threads=threads,
        raspa=raspa,
        equilibrate=equilibrate,
        repeats=repeats,
        seconds=seconds,
        seed=seed,
        json_file=json_file,
    )
    return 0


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
        str, typer.Option(help="Of mixed and double, separated by commas.")
    ] = "mixed,double",
    threads_per_particle: Annotated[
        str | None, typer.Option(help="eta of a GPU's brush, separated by commas.")
    ] = None,
    equilibrate: Annotated[int, typer.Option(help="Sweeps before anything is timed.")] = 10,
    repeats: Repeats = 3,
    seconds: Seconds = 1.0,
    seed: BenchSeed = 1,
    json_file: JsonFile = None,
) -> int:
    """Time the 3:-1 electrolyte: seconds per sweep and pair terms per second."""
    from manymove import bench_electrolyte as benchmark

    benchmark.run(
        sizes=None if sizes is None else numbers("--sizes", sizes, int),
        debye_length=debye_length,
        diameter=diameter,
        device=device,
        threads=[None] if threads is None else numbers("--threads", threads, int),
        methods=numbers("--methods", methods, str),
        precisions=numbers("--precisions", precisions, str),
        threads_per_particle=(
            [None]
            if threads_per_particle is None
            else numbers("--threads-per-particle", threads_per_particle, int)
        ),
        equilibrate=equilibrate,
        repeats=repeats,
        seconds=seconds,
        seed=seed,
        json_file=json_file,
    )
    return 0


@app.command("dpd")
def bench_dpd(
    sizes: Annotated[
        str | None, typer.Option(help="Numbers of particles, separated by commas.")
    ] = None,
    density: Annotated[str, typer.Option(help="One or several, separated by commas.")] = "3",
    cutoff: Annotated[str, typer.Option(help="One or several, separated by commas.")] = "1",
    timestep: Annotated[float, typer.Option(help="Of velocity Verlet.")] = 0.005,
    skin: Annotated[
        str,
        typer.Option(help="Of neighbour lists; of several, by commas, each takes its fastest."),
    ] = "0.3",
    weight_exponent: Annotated[float, typer.Option(help="s of ours; dpd has 1.")] = 1.0,
    device: Annotated[str, typer.Option(help="cpu, cuda or, for what there is, auto.")] = "auto",
    precision: Annotated[
        str, typer.Option(help="Of ours: mixed, double or both.")
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
    melt: Annotated[int, typer.Option(help="Steps before anything is timed.")] = 1000,
    repeats: Repeats = 3,
    seconds: Seconds = 2.0,
    seed: Annotated[int, typer.Option(help="Of the start and the random forces.")] = 1,
    json_file: JsonFile = None,
    plot: Annotated[
        Path | None, typer.Option(help="Picture of the speeds against the number of particles.")
    ] = None,
) -> int:
    """Time DPD: million particle-steps per second (MPS), the peers' beside ours."""
    from manymove import bench_dpd

    if figure_11 and (sizes is not None or density != "3" or cutoff != "1"):
        raise ValueError("--figure-11 sets --sizes, --density and --cutoff")
    grid = {
        "sizes": None if sizes is None else numbers("--sizes", sizes, int),
        "densities": numbers("--density", density, float),
        "cutoffs": numbers("--cutoff", cutoff, float),
    }
    bench_dpd.run(
        **(bench_dpd.FIGURE_11 if figure_11 else grid),
        timestep=timestep,
        skins=numbers("--skin", skin, float),
        weight_exponent=weight_exponent,
        device=device,
        precisions=precision.split(","),
        ranks=None if ranks is None else numbers("--ranks", ranks, int),
        threads=numbers("--threads", threads, int),
        lammps=lammps or [],
        melt=melt,
        repeats=repeats,
        seconds=seconds,
        seed=seed,
        json_file=json_file,
        plot_file=plot,
    )
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
    plot: Annotated[Path | None, typer.Option(help="Picture of speeds and efficiencies.")] = None,
    read: Annotated[
        list[Path] | None,
        typer.Option(help="Show this file instead of measuring; may be repeated."),
    ] = None,
) -> int:
    """Time each algorithm on one, two, ... GPUs or CPU ranks: weak and strong scaling."""
    from manymove import bench_scaling

    if read:
        bench_scaling.read(read, plot)
        return 0
    report = bench_scaling.run(
        algorithms=numbers("--algorithms", algorithms, str),
        ranks=None if ranks is None else numbers("--ranks", ranks, int),
        weak=weak or not strong,
        strong=strong or not weak,
        sizes=None if sizes is None else numbers("--sizes", sizes, int),
        device=device,
        launcher=launcher,
        transport=transport,
        repeats=repeats,
        seconds=seconds,
        limit=limit,
        seed=seed,
        json_file=json_file,
        plot_file=plot,
    )
    return 0 if report["results"] else 1


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
    plot: Annotated[Path | None, typer.Option(help="Picture of the speeds.")] = None,
) -> int:
    """Time everything with its defaults, beside every peer that is installed."""
    from manymove import bench_all

    report = bench_all.run(
        parts=None if parts is None else numbers("--parts", parts, str),
        device=device,
        repeats=repeats,
        seconds=seconds,
        limit=limit,
        seed=seed,
        json_file=json_file,
        plot_file=plot,
    )
    return 0 if report["summary"] else 1
