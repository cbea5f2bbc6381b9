# SPDX-License-Identifier: BSD-3-Clause
"""Help texts of options: one for each name, so that an option means the same in all commands.

A text names the quantity, its unit, and its default if that is not a value; `manymove.cli.options`
appends defaults that are values. The text of `function.name` belongs to the option of this function
only, because the same quantity has another unit or other choices there.
"""

from manymove.settings import Forces, Group, Steps, Swaps


def _declared(group: type[Group], names: str, prefix: str = "") -> dict[str, str]:
    """The first sentences of parameters of a settings class."""
    texts = {name: group.declared[name].text for name in names.split()}
    return {
        prefix + name: f"{text.rstrip('.').partition('. ')[0]}." for name, text in texts.items()
    }


HELP = {
    **_declared(Swaps, "rounds range every", "swap_"),
    "disks.moves_per_cell": "Number of trial moves per visit of a cell, n_m (default 4, or 8 for "
    "mixtures and with --pressure).",
    "spheres.moves_per_cell": "Number of trial moves per visit of a cell, n_m (default 8).",
    "disks.tile": "Maximum width of a tile in cells, from 3 to 41, or for mixtures and with "
    "--pressure from 2 to 16, one width or one for each axis (default from N and the box). "
    "Narrower tiles allow more ranks with --decompose.",
    "spheres.tile": "Maximum width of a tile in cells, from 2 to 16, one width or one for each "
    "axis (default from N and the box). Narrower tiles allow more ranks with --decompose.",
    **_declared(
        Steps,
        "proposals trial_positions trial_orientations reinsertion identity_change regrowth",
    ),
    **_declared(Forces, "a gamma weight_exponent"),
    **_declared(Forces, "cutoff", "dpd."),
    # ---- what is simulated
    "particles": "Number of particles N (default 65536, or that of --input).",
    "disks.packing_fraction": "Packing fraction, N pi d^2 / (4 Lx Ly) of equal disks "
    "(default 0.698, or from --input).",
    "spheres.packing_fraction": "Packing fraction, N pi d^3 / (6 Lx Ly Lz) of equal spheres "
    "(default 0.49, or from --input).",
    "input": "GSD file whose last frame is the initial configuration (default none).",
    "disks.start": "Initial configuration without --input: random, hexagonal or square.",
    "spheres.start": "Initial configuration without --input: random, fcc, hcp or bcc.",
    "disks.diameters": "Diameters of all types of a mixture (default equal disks).",
    "spheres.diameters": "Diameters of all types of a mixture (default equal spheres).",
    "fractions": "Number fractions of the types of a mixture (default equal).",
    "contacts": "Contact distances of the pairs of types 0-0, 0-1, ... 1-1 of a mixture (default "
    "mean diameters).",
    "ions": "Number of ions N of both species.",
    "valences": "Valences of the two species.",
    "diameter": "Diameter of all ions in angstrom (default 7.5).",
    "diameters": "Diameters of both species in angstrom (default that of all ions).",
    "bjerrum_length": "Bjerrum length in angstrom; that of water at 300 K is 7.117.",
    "debye_length": "Bare Debye length in angstrom, which sets the density (default 28.53).",
    "concentration": "Concentration of the salt in mol/l, which sets the density (default that of "
    "--debye-length).",
    "geometry": "Geometry of the cell: sphere or periodic.",
    "boundary": "Energy of a periodic cell: nearest_image or ewald (default nearest_image).",
    "surrounding": "Medium around the images with Ewald's energy: conductor or vacuum (default "
    "conductor).",
    "framework": "Framework: MFI, LTA or the path of a CIF file.",
    "adsorbates": "Adsorbate species: CO2, N2, CH4, C2H6, H2O, He, flexible ethane to n-hexane, "
    "or paths of files of RASPA or of this package (default methane of a single site).",
    "force_field": "Force field: TraPPE-zeo, a JSON file of RASPA3, or a folder of RASPA2 (default "
    "none).",
    "remove_atom_number_code": "Labels of the framework are looked up without their numbers, "
    "as in RASPA2 with RemoveAtomNumberCodeFromLabel.",
    "framework_charges": "Charges of the framework: cif, label=charge,... or a text file of labels "
    "and charges (default those of the force field, or of the CIF file).",
    "potential": "Potential at the cutoff: shifted, truncated or tail (default that of the force "
    "field, or shifted).",
    "mixing": "Mixing rule: lorentz-berthelot or geometric (default that of the force field, "
    "or lorentz-berthelot).",
    "ewald": "Ewald's alpha and largest wave number in 1/angstrom (default 3.2 / cutoff, "
    "20.5 / cutoff).",
    "henry": "Number of test molecules per system for Henry coefficients and heats.",
    "insertions": "Number of test molecules for each system.",
    "pores.insertions": "Number of helium insertions for each of 64 systems.",
    "probe": "Diameter of the probe for the surface area in angstrom.",
    "samples": "Number of random points on each atom for the surface area.",
    "henry.systems": "Number of independent sets of test molecules, which give the errors.",
    "molecules": "Number of molecules of each species in a system (default 32, or 0 if open).",
    "temperature": "Temperature in kelvin.",
    "dpd.temperature": "Temperature in reduced units, kT.",
    "cells": "Numbers of unit cells along a, b and c (default the fewest that fit the cutoff).",
    "cutoff": "Cutoff radius in angstrom.",
    "barrier": "Energy barrier in kelvin behind which pockets are blocked, auto (20 T) or none.",
    "capacity": "Initial capacity of open systems in molecules per species (default estimated).",
    "density": "Number density N / V in reduced units.",
    # ---- how, and for how long
    "sweeps": "Length of the measurement in sweeps of N trial moves each.",
    "disks.sweeps": "Length of the measurement in sweeps of N trial moves each, rounded up "
    "to whole cycles of about 14 sweeps.",
    "spheres.sweeps": "Length of the measurement in sweeps of N trial moves each, rounded up "
    "to whole cycles.",
    "steps": "Length of the measurement in steps.",
    "equilibrate": "Length of the equilibration in sweeps.",
    "adsorption.equilibrate": "Length of the equilibration in steps.",
    "dpd.equilibrate": "Length of the equilibration in steps.",
    "isotherm": "Gas pressures of an isotherm in bar. Each point continues from the previous one "
    "and equilibrates in rounds of doubling length until its loading agrees with test molecules "
    "(default closed systems).",
    "mole_fractions": "Mole fractions of the species in the gas of an isotherm (default equal).",
    "unit": "Unit of the loadings of an isotherm in the table and the picture: molecules, "
    "molecules/uc, mol/kg, mg/g, cm3(STP)/g or cm3(STP)/cm3.",
    "void_fraction": "Void fraction for excess loadings of an isotherm, or helium, which "
    "computes it by insertions of helium with the force field (default no excess loadings).",
    "literature": "CSV tables of published loadings for the picture of an isotherm, with the "
    "columns pressure_bar, loading and, optionally, loading_error and adsorbate (default none).",
    "disks.pressure": "Constant pressure, P* = beta P d^2, at which the area changes and the "
    "packing fraction is measured, beginning at --packing-fraction (default constant area).",
    "spheres.pressure": "Constant pressure, P* = beta P d^3, at which the volume changes and the "
    "packing fraction is measured, beginning at --packing-fraction (default constant volume).",
    "edges_apart": "Change the edges of the box one at a time with --pressure (default together).",
    "disks.volume_delta": "Maximum trial change of ln V with --pressure, where V is the area of "
    "the box. With --edges-apart it is the maximum trial change of an edge in units of the "
    "diameter: one number, or one for each edge with 0 for a fixed edge (default from N, the "
    "pressure and the start).",
    "spheres.volume_delta": "Maximum trial change of ln V with --pressure. With --edges-apart it "
    "is the maximum trial change of an edge in units of the diameter: one number, or one for each "
    "edge with 0 for a fixed edge (default from N, the pressure and the start).",
    "tune_volume": "Adjust --volume-delta during the equilibration until about 30 % of the trial "
    "changes are accepted. The measurement keeps the last value (default not adjusted).",
    "equation_of_state": "Simulate several packing fractions and plot P* against them.",
    "disks.packing_fractions": "Packing fractions of --equation-of-state (default "
    "0.698,0.702,0.706,0.71,0.714,0.718).",
    "spheres.packing_fractions": "Packing fractions of --equation-of-state (default "
    "0.1,0.2,0.3,0.4,0.45,0.49).",
    "disks.max_displacement": "Maximum trial displacement along each axis, in diameters (default "
    "0.16; with --pressure 0.12, and in a mixture 0.12 of the largest contact distance).",
    "spheres.max_displacement": "Maximum trial displacement along each axis, in diameters (default "
    "0.12, or in a mixture 0.12 of the largest contact distance; less is faster near freezing and "
    "in crystals).",
    "electrolyte.max_displacement": "Maximum trial displacement along each axis, in angstrom "
    "(default radius / 3 or L / 6).",
    "adsorption.max_displacement": "Maximum trial displacement along each axis, in angstrom "
    "(default 0.65, which the equilibration adapts).",
    "timestep": "Time step of velocity Verlet in reduced units.",
    "method": "Method: brush, tree, reduction, serial or auto, which chooses brush or tree by the "
    "number of ions.",
    "electrolyte.precision": "Floating-point precision: mixed or double (default mixed; with the "
    "methods tree and auto double).",
    "adsorption.method": "Method: metropolis (CPU), pmc, plj, mup, mdp or mdp-dj (default mdp, or "
    "plj with --isotherm and for flexible molecules).",
    "systems": "Number of independent systems; auto chooses as many as fill the device.",
    "interpolation": "Interpolation on the energy grid: cubic or linear.",
    "grid_spacing": "Spacing of the energy grid in angstrom (default 0.2, or 0.08 if linear).",
    "henry.grid_spacing": "Spacing of the energy grid in angstrom (default 0.2).",
    "pores.grid_spacing": "Spacing of the energy grid in angstrom (default 0.2).",
    "precision": "Floating-point precision: mixed or double.",
    "seed": "Seed of the random number generator.",
    "disks.seed": "Seed of the random number generator; replica k adds k.",
    "spheres.seed": "Seed of the random number generator; replica k adds k.",
    "electrolyte.seed": "Seed of the random number generator; replica k adds k.",
    "adsorption.seed": "Seed of the random number generator; rank k adds k.",
    "replicas": "Number of independent runs, which are pooled (default 1 per MPI rank).",
    "decompose": "Divide one system among the MPI ranks.",
    "device": "Device: auto, cpu, cuda or cuda:<index>.",
    "dpd.device": "Device: auto, cpu or cuda.",
    "electrolyte.device": "Device: auto, cpu, cuda or cuda:<index>; cuda:0,1 shares one chain "
    "between two GPUs.",
    "threads": "Number of CPU threads of the whole command (default all cores).",
    "ranks": "Number of MPI ranks.",
    # ---- results
    "sample_every": "Time between two samples of g(r) in sweeps.",
    "bin_width": "Width of the bins of g(r) in angstrom.",
    "margin": "Distance from the wall in angstrom within which ions are left out of g(r) (default "
    "10 Debye lengths, at most half the radius).",
    "structure_factors": "Also sample structure factors of charge and number, in periodic cells.",
    "profile": "Direction of the profiles of probability and free energy: x, y, z or Miller "
    "indices such as 1,1,0 (default none).",
    "bins": "Number of bins of the profiles in a unit cell.",
    "frames": "Number of frames of the trajectory, equally spaced.",
    "adsorption.frames": "Number of frames of the trajectory of the first system, equally spaced.",
    "density_map": "Edge of the unit cell along which the density of molecules is projected: x, y "
    "or z (default no map).",
    "structures": "Formats of the final structure of the first system: cif, pdb or cif,pdb "
    "(default none).",
    "output": "Folder of the results.",
    "checkpoint_every": "Time between two checkpoints in seconds (default 600).",
    "resume": "Continue the run in --output with its options; length, device and threads may "
    "differ.",
    "overwrite": "Replace the results in --output.",
    "quiet": "Print neither progress nor a table.",
    # ---- benchmarks
    "sizes": "Numbers of particles N (default depends on the device).",
    "algorithms": "Algorithms to time: disks, spheres, electrolyte, adsorption and dpd "
    "(default all).",
    "repeats": "Number of timed runs of each variant, at least 3.",
    "seconds": "Minimum duration of a timed run in seconds.",
    "json": "Path of a new JSON file of the results (default none).",
}

# The groups of options in --help, in their order.
SECTIONS = {
    title: names.split()
    for title, names in {
        "System": """particles packing_fraction input start diameters diameter fractions contacts
            ions valences bjerrum_length debye_length concentration geometry boundary surrounding
            framework molecules adsorbates temperature cells density pressure force_field
            remove_atom_number_code framework_charges potential mixing ewald cutoff barrier
            interpolation grid_spacing capacity a gamma weight_exponent""",
        "Moves": """max_displacement moves_per_cell tile edges_apart volume_delta tune_volume
            swap_rounds swap_range swap_every method proposals trial_positions trial_orientations
            reinsertion identity_change regrowth timestep""",
        "Run": """sweeps steps equilibrate systems replicas decompose ranks seed isotherm
            mole_fractions equation_of_state packing_fractions insertions""",
        "Sampling": """sample_every bin_width margin structure_factors profile bins henry
            density_map unit void_fraction literature probe samples""",
        "Files": "frames structures output checkpoint_every resume overwrite quiet json",
        "Device": "device threads precision",
    }.items()
}
