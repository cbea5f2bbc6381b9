# SPDX-License-Identifier: BSD-3-Clause
"""Help texts of the options of `python -m benchmarks`, some of which `manymove` declares."""

from manymove.cli.adsorbents import of_framework, of_molecules
from manymove.cli.bench import bench
from manymove.cli.commands import Adsorbates, Disks, Electrolytes, adsorption
from manymove.cli.options import OptionsOf, Sentence, sentences
from manymove.dpd.replica import Settings as Fluid
from manymove.jobs.replica import Session
from manymove.settings import EnergyGrid, Steps

SHARED = """
diameter debye_length framework molecules temperature trial_positions trial_orientations
reinsertion weight_exponent timestep proposals systems interpolation
grid_spacing precision seed device threads ranks sizes repeats seconds
"""
_DECLARED = {
    name: sentence
    for owner in (
        Disks,
        Electrolytes,
        OptionsOf(Fluid, names="density cutoff weight_exponent", title="System"),
        OptionsOf(Fluid, names="timestep"),
        OptionsOf(Fluid, names="ranks", title="Run"),
        OptionsOf(Steps),
        OptionsOf(EnergyGrid, names="interpolation", title="System"),
        of_framework,
        of_molecules,
        Adsorbates,
        adsorption,
        bench,
        Session,
    )
    for name, sentence in sentences(owner).items()
}
_OWN = {
    "equilibrate": "Length of the equilibration in sweeps.",
    "disks.packing_fraction": "Packing fraction, N pi d^2 / (4 Lx Ly) of equal disks.",
    "spheres.packing_fraction": "Packing fraction, N pi d^3 / (6 Lx Ly Lz) of equal spheres.",
    "interactions.packing_fraction": "Packing fraction, N pi d^3 / (6 Lx Ly Lz).",
    "interactions.hpmc": "Numbers of simultaneous processes of HOOMD-blue's HPMC, each with an "
    "equal share of the spheres (default none).",
    "systems.systems": "Numbers of systems that run at the same time.",
    "systems.spheres": "Time hard spheres instead of hard disks.",
    "systems.ions": "Time the 3:-1 electrolyte instead of hard disks.",
    "systems.pressure": "Pressure P* = beta P d^D of disks or spheres whose box changes after each "
    "cycle (default constant volume).",
    "systems.swaps": "Rounds of swap moves after each cycle of disks or spheres with diameters "
    "from 0.7 to 1 (default none).",
    "systems.hpmc": "Numbers of simultaneous processes of HOOMD-blue's HPMC (default none).",
    "systems.particles": "Numbers of particles of a system.",
    "systems.methods": "Methods of the ions: brush and tree (default brush).",
    "systems.precision": "Precisions of the brush: mixed and double (default mixed).",
    "systems.threads_per_particle": "Numbers of GPU threads per ion of the brush, one variant for "
    "each (default chosen from N).",
    "systems.packing_fraction": "Packing fraction (default 0.698 of disks, 0.5 of spheres).",
    "adsorbate": "Adsorbate: methane (one site), CO2, N2, CH4, C2H6, H2O or He, which are rigid, "
    "or ethane to n-hexane, which are flexible chains, with the force field TraPPE.",
    "adsorption.molecules": "Numbers of molecules in a system, one variant for each. "
    "With --fugacity there is one, 32 if it is not given.",
    "fluids.systems": "Numbers of fluids that run at the same time.",
    "fluids.particles": "Number of particles of each fluid.",
    "fluids.device": "Device: auto, cpu or cuda.",
    "ways": "Ways to share the device: replicas, partition, processes and mps.",
    "dpd.cutoff": "Cutoff radius in reduced units.",
    "adsorption.trial_positions": "Numbers of positions that an insertion "
    "tries, one variant for each.",
    "adsorption.trial_orientations": "Numbers of orientations at each position, "
    "one variant for each.",
    "fugacity": "Fugacity of open systems in bar (default closed systems).",
    "merit": "Time in seconds for which gRASPA, kUPS and RASPA3 measure the same open system "
    "(default: none of them is measured).",
    "peers": "Programs that --merit measures, which have to be installed: graspa, kups and raspa "
    "(default: those that are installed).",
    "kups_systems": "Numbers of systems that kUPS advances together, one variant for each.",
    "kups_seconds": "Time in seconds for which kUPS measures (default: the time of --merit).",
    "graspa_processes": "Number of processes of gRASPA that run at the same time, one system each.",
    "adsorption.force_field": "Force field of molecules and framework: a shipped one (TraPPE-zeo, "
    "UFF, Dreiding-UFF, Garcia-Sanchez), or a path.",
    "framework_charges": "Charges of the framework: cif, zero, a list such as O=-0.75,Si=1.5, or "
    "the path of a file (default those of the force field, or else of the CIF file).",
    "exchange": "Share of insertions and deletions among the steps of open systems.",
    "dpd.density": "Number density N / V in reduced units (default 3; 6.1 for mdpd).",
    "adsorption.equilibrate": "Length of the equilibration in steps.",
    "dpd.equilibrate": "Length of the equilibration in steps.",
    "disks.max_displacement": "Maximum trial displacement along each axis, in diameters "
    "(default 0.16).",
    "hoomd.max_displacement": "Maximum trial displacement along each axis, in diameters "
    "(default 0.16 of disks, 0.12 of spheres).",
    "spheres.max_displacement": "Maximum trial displacement along each axis, in diameters "
    "(default 0.12).",
    "disks.moves_per_cell": "Number of trial moves per visit of a cell, n_m (default 4).",
    "spheres.moves_per_cell": "Number of trial moves per visit of a cell, n_m (default 8).",
    "adsorption.systems": "Number of independent systems (default enough for the device).",
    "adsorption.seed": "Seed of the random number generator; rank k adds k.",
    "dpd.device": "Device: auto, cpu or cuda.",
    "scaling.device": "Device: auto, cpu or cuda.",
    "electrolyte.device": "Device: auto, cpu, cuda or cuda:<index>; cuda:0,1 shares one "
    "chain between two GPUs.",
    "disks.threads": "Numbers of CPU threads, one variant for each (default all cores).",
    "spheres.threads": "Numbers of CPU threads, one variant for each (default all cores).",
    "electrolyte.threads": "Numbers of CPU threads, one variant for each (default all cores).",
    "dpd.threads": "Numbers of CPU threads of one rank, one variant for each.",
    "disks.ranks": "Numbers of MPI ranks (default 1 and all of mpirun).",
    "spheres.ranks": "Numbers of MPI ranks (default 1 and all of mpirun).",
    "adsorption.ranks": "Numbers of MPI ranks (default 1 and all of mpirun).",
    "dpd.ranks": "Numbers of MPI ranks on the CPU (default all cores).",
    "scaling.ranks": "Numbers of MPI ranks (default powers of two up to the number of cores, "
    "or 1,2,4,8 GPUs).",
    "electrolyte.sizes": "Numbers of ions N (default depends on the device).",
    "scaling.sizes": "Numbers of particles N (default depends on the algorithm and the device).",
    "methods": "Methods to time; metropolis is the serial reference.",
    "electrolyte.methods": "Methods to time: brush, tree, reduction and serial.",
    "parts": "Benchmarks to run: disks, spheres, hoomd, dpd, electrolyte and adsorption (default "
    "all).",
    "hoomd.spheres": "Time hard spheres instead of hard disks.",
    "hoomd.dpd": "Time DPD instead of hard disks.",
    "hoomd.equilibrate": "Length of the equilibration in sweeps, or in steps of DPD (default 200, "
    "of DPD 1000).",
    "hoomd.packing_fraction": "Packing fraction (default 0.698 of disks, 0.5 of spheres).",
    "hoomd.sweeps_per_step": "Numbers of sweeps of a step on several ranks (default 16, 4 and 1).",
    "skin": "Skin of the neighbor list in reduced units; each variant uses the fastest given.",
    "charged": "Fraction of the particles that dpd/coul/slater/long charges (default 0.1).",
    "shear": "Rates of shear by fix deform in reduced units; 0 is the fluid at rest (default 0).",
    "pair": "Pair styles to time: dpd, dpd/tstat, dpd/ext, dpd/coul/slater/long and mdpd, the "
    "many-body liquid of Warren. LAMMPS' styles of the same names are timed for comparison. "
    "dpd/tstat has no repulsion: it starts from the liquid of dpd, which becomes an ideal gas in "
    "the run.",
    "threads_per_particle": "Number of GPU threads per trial move, eta (default chosen from N).",
    "cpu": "Time the CPU engine as well as the GPU engine.",
    "raspa": "Time RASPA3 as well, if raspalib is installed; not with --fugacity, --force-field "
    "and --framework-charges.",
    "lammps": "LAMMPS executables whose styles for GPUs, such as dpd/kk, are timed as well "
    "(default none).",
    "lammps_ranks": "Numbers of MPI ranks that share the GPU in LAMMPS' styles /gpu, one variant "
    "for each; more than one needs a LAMMPS with MPICH (default 1).",
    "launcher": "Launcher of MPI processes (default mpiexec).",
    "transport": "Transport of run_style manymove/verlet: auto, peer, shared, nccl, mpi or host.",
    "weak": "Weak scaling: the size is per rank.",
    "strong": "Strong scaling: the size is the sum over all ranks.",
    "limit": "Time limit of a benchmark in seconds, after which the rest is left out.",
    "disks.decorrelation": "Length of a run for the autocorrelation time of psi_6 in sweeps; "
    "0 for none.",
    "hoomd.decorrelation": "Length of a run for the autocorrelation time of psi_6 of disks, "
    "or of the longest density modes of spheres, in sweeps; 0 for none.",
    "spheres.decorrelation": "Length of a run for the autocorrelation time of the longest "
    "density modes in sweeps; 0 for none.",
    "mixture_ratio": "Ratio of the two diameters of an equimolar mixture that is also timed "
    "(default no mixture).",
    "read": "JSON files of earlier results to show instead of a measurement (default none).",
    "algorithms": "Algorithms to time: disks, spheres, mixture (spheres of two sizes), dpd, "
    "bonded (DPD of chains of ten particles), sheared (DPD with `fix deform`), charged (DPD with "
    "every tenth particle charged), electrolyte, tree (electrolytes with `--methods tree`), "
    "adsorption or component (hard disks in HOOMD-blue).",
}
_OTHER = Sentence("")  # the group of other options
TEXTS = {name: _DECLARED[name] for name in SHARED.split()} | {
    name: Sentence(text, _DECLARED.get(name.rpartition(".")[2], _OTHER).group)
    for name, text in _OWN.items()
}
