# SPDX-License-Identifier: BSD-3-Clause
"""Commands for empty frameworks and gases: `manymove henry` and `pores`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from manymove.cli.bench import NEW_JSON
from manymove.cli.options import command, number
from manymove.jobs.options import of_option
from manymove.jobs.replica import Session

app = typer.Typer()

LARGE_ERROR = 0.2  # relative error of a Henry coefficient above which a warning is printed


def _alone(name: str) -> None:
    from manymove.jobs.world import require_one_process

    require_one_process(f"manymove {name}", "start it without a launcher")


def _done(json_file: Path | None, content: dict[str, Any], lines: str, quiet: bool) -> int:
    """Print the results, and write them into the file of `--json`."""
    from manymove.jobs import report

    if json_file is not None:
        report.write_json(json_file, {**content, **report.made_by()})
    if not quiet:
        print(lines)
    return 0


def of_framework(
    framework: str = "MFI",
    force_field: Path | None = None,
    remove_atom_number_code: bool = False,
    cutoff: float = 12.0,
    grid_spacing: float | None = None,
) -> None:
    """The options of a framework.

    System:
        framework: Framework: MFI, LTA, the path of a CIF file, or a row of a database of ASE
            (FILE.db@id=ID).
        force_field: Force field: TraPPE-zeo, UFF, Dreiding-UFF, Garcia-Sanchez, a JSON file of
            RASPA3, or a folder of RASPA2 (default none).
        remove_atom_number_code: Labels of the framework are looked up without their numbers, as in
            RASPA2 with RemoveAtomNumberCodeFromLabel.
        cutoff: Cutoff radius in angstrom.
        grid_spacing: Spacing of the energy grid in angstrom (default 0.2).
    """


def of_molecules(
    adsorbates: tuple[str, ...] | None = None,
    framework_charges: str | None = None,
    potential: str | None = None,
    mixing: str | None = None,
    temperature: float = 300.0,
    barrier: str = "auto",
) -> None:
    """The options of molecules in a framework.

    System:
        adsorbates: Adsorbate species: CO2, N2, CH4, C2H6, H2O, He, CO2-Garcia-Sanchez, flexible
            ethane to n-hexane, or paths of files of RASPA or of this package (default methane of a
            single site).
        framework_charges: Charges of the framework: cif, zero, label=charge,... or a text file of
            labels and charges (default those of the force field, or of the CIF file).
        potential: Potential at the cutoff: shifted, truncated or tail (default that of the force
            field, or shifted).
        mixing: Mixing rule: lorentz-berthelot or geometric (default that of the force field, or
            lorentz-berthelot).
        temperature: Temperature in kelvin.
        barrier: Energy barrier in kelvin behind which pockets are blocked, auto (20 T) or none.
    """


def of_loadings(unit: str = "mol/kg") -> None:
    """The options of loadings.

    Sampling:
        unit: Unit of the loadings of an isotherm in the table and the picture: molecules,
            molecules/uc, mol/kg, mg/g, cm3(STP)/g or cm3(STP)/cm3.
    """


def model_of(options: dict[str, Any]) -> tuple[list[Any], Any, Any, Any]:
    """The species, the force field, the charges of the framework and the barrier of options."""
    from manymove.adsorption.adsorbates import METHANE
    from manymove.adsorption.charges import charges_of_option
    from manymove.adsorption.force_field import of_options
    from manymove.adsorption.molecule_files import species_of

    of_field = ("force_field", "potential", "mixing", "remove_atom_number_code")
    with of_option("--force-field"):
        field = of_options(*(options[name] for name in of_field))
    with of_option("--framework-charges"):
        charges = charges_of_option(options["framework_charges"])
    with of_option("--adsorbates"):
        names = options["adsorbates"]
        species = species_of(list(names), field) if names else [METHANE]
    barrier = options["barrier"]
    if barrier == "none":
        barrier = None
    elif barrier != "auto":
        barrier = number("--barrier", barrier, float, "auto or none")
    return species, field, charges, barrier


def read_trials(options: dict[str, Any]) -> None:
    """Replace the numbers of trials of options, which are words, by integers or "auto"."""
    for name in ("trial_positions", "trial_orientations"):
        if options[name] != "auto":
            flag = "--" + name.replace("_", "-")
            options[name] = number(flag, options[name], int, "auto")


@command(app, None, of_framework, of_molecules, Session)
def henry(
    insertions: int = 20_000,
    systems: int = 64,
    json_file: Annotated[Path | None, NEW_JSON] = None,
    **common: Any,
) -> int:
    """Measure Henry coefficients and heats at zero loading.

    Test molecules are inserted into the empty framework (Widom). For each species the command
    prints the Henry coefficient, the heat of adsorption, the excess chemical potential, and the
    selectivity over the last species, which is the ratio of the Henry coefficients.

    Run:
        insertions: Number of test molecules for each system.
        systems: Number of independent sets of test molecules, which give the errors.

    Examples:
      manymove henry --framework MFI --adsorbates CO2,N2 --force-field TraPPE-zeo
      manymove henry --framework LTA --temperature 313 --json henry.json
    """
    from manymove.adsorption.gas import GAS_CONSTANT
    from manymove.adsorption.labels import lines_of
    from manymove.adsorption.places import STEPS_TO_PLACES
    from manymove.adsorption.pores import insert_into_framework
    from manymove.analysis.notation import Estimate
    from manymove.jobs import report
    from manymove.jobs.report import values_and_errors

    _alone("henry")
    species, field, charges, barrier = model_of(common)
    framework, temperature, seed = (common[name] for name in ("framework", "temperature", "seed"))
    a, sums = insert_into_framework(
        framework, species, insertions, systems=systems, temperature=temperature, seed=seed,
        force_field=field, framework_charges=charges, barrier=barrier,
        **{name: common[name] for name in ("cutoff", "grid_spacing", "device", "threads")},
    )  # fmt: skip
    found = [a.henry_of(each, insertions) for each in sums]
    a.run(STEPS_TO_PLACES)
    coarse = a.coarse_grid()
    warnings = [coarse] if coarse else []
    last, rows, entries = found[-1][0], [], []
    for kind, (one, (k, heat)) in enumerate(zip(species, found, strict=True)):
        factor = Estimate(float(sums[kind][:, 0].mean() / insertions), math.nan)
        relative = k.error / k.value if k.value else math.nan
        potential_ = Estimate(
            -temperature * math.log(factor.value) * GAS_CONSTANT / 1000
            if factor.value else math.inf,
            temperature * relative * GAS_CONSTANT / 1000,
        )  # fmt: skip
        entry = {"adsorbate": one.name, **values_and_errors("henry", "mol_per_kg_Pa", k),
                 **values_and_errors("heat", "kJ_per_mol", heat),
                 **values_and_errors("chemical_potential", "kJ_per_mol", potential_)}  # fmt: skip
        text = (
            f"Henry coefficient {k} mol/(kg Pa), heat {heat} kJ/mol, excess chemical potential "
            f"{potential_} kJ/mol"
        )
        if kind + 1 < len(species):
            selectivity = k / last if last.value else Estimate(math.nan, math.nan)
            entry |= values_and_errors("selectivity", "", selectivity)
            text += f", selectivity over {species[-1].name} {selectivity}"
        entries.append(entry)
        rows.append((one.name, text))
        if not relative <= LARGE_ERROR:
            known = "an unknown error" if math.isnan(relative) else f"an error of {relative:.0%}"
            warnings.append(
                f"{one.name}: the Henry coefficient has {known}. Few insertions "
                "dominate such a mean, which is mostly too small, and so is its error: increase "
                "--insertions or --systems"
            )
    content = {
        "framework": framework, "temperature_K": temperature, "insertions": insertions,
        "systems": systems, "seed": seed, "device": a.device, "species": entries,
        "framework_atoms": a.framework_atoms, "warnings": warnings,
    }  # fmt: skip
    rows += [("framework", line) for line in lines_of(a.framework_atoms)]
    rows += [("warning", text) for text in warnings]
    return _done(json_file, content, report.lines(rows), common["quiet"])


@command(app, None, of_framework, Session)
def pores(
    temperature: float = 298.15,
    insertions: int = 2000,
    probe: float = 3.681,
    samples: int = 1000,
    json_file: Annotated[Path | None, NEW_JSON] = None,
    **common: Any,
) -> int:
    """Measure void fraction, pore volume and surface area.

    The void fraction is the mean Boltzmann factor of inserted helium, from which the volume of the
    pores follows. The accessible surface is traced by the center of a hard probe that rolls over
    the atoms, whose diameters are the sigma of the force field.

    System:
        temperature: Temperature in kelvin.

    Run:
        insertions: Number of helium insertions for each of 64 systems.

    Sampling:
        probe: Diameter of the probe for the surface area in angstrom.
        samples: Number of random points on each atom for the surface area.

    Examples:
      manymove pores --framework MFI --force-field TraPPE-zeo
      manymove pores --framework IRMOF-1.cif --force-field force_field.json --probe 3.31
    """
    from manymove.adsorption import (
        HELIUM,
        helium_void_fraction,
        pore_volume,
        read_framework,
        surface_area,
    )
    from manymove.adsorption.force_field import of_options
    from manymove.adsorption.labels import framework_atoms, lines_of
    from manymove.adsorption.pores import density_of
    from manymove.jobs import report
    from manymove.jobs.report import values_and_errors

    _alone("pores")
    framework, seed = common["framework"], common["seed"]
    if common["force_field"] is None:
        raise ValueError(
            "give a --force-field, for example UFF, or TraPPE-zeo for a zeolite of silica"
        )
    with of_option("--force-field"):
        field = of_options(common["force_field"], None, None, common["remove_atom_number_code"])
    assert field is not None  # there is a --force-field
    crystal = read_framework(framework)
    area = surface_area(crystal, field, probe=probe, samples=samples, seed=seed)
    void = helium_void_fraction(
        crystal, field, temperature=temperature, insertions=insertions, seed=seed,
        **{name: common[name] for name in ("cutoff", "device", "threads", "grid_spacing")},
    )  # fmt: skip
    atoms = framework_atoms(
        crystal.labels or crystal.elements, crystal.elements, [HELIUM], field, None
    )
    volume = pore_volume(crystal, void)
    density = density_of(crystal)
    content = {
        "framework": framework, "formula": crystal.formula, "density_g_per_cm3": density,
        **values_and_errors("void_fraction", "", void),
        **values_and_errors("pore_volume", "cm3_per_g", volume),
        **values_and_errors("surface_area", "m2_per_g", area.per_mass),
        **values_and_errors("surface_area", "m2_per_cm3", area.per_volume),
        **values_and_errors("surface_area", "angstrom2_per_cell", area.per_cell),
        "temperature_K": temperature, "probe_angstrom": probe, "insertions": insertions,
        "samples": samples, "seed": seed, "framework_atoms": atoms,
    }  # fmt: skip
    rows = [
        ("framework", f"{framework}, {crystal.formula}, {density:.4g} g/cm3"),
        *(("", line) for line in lines_of(atoms)),
        ("void fraction", f"{void} (helium, {temperature:g} K)"),
        ("pore volume", f"{volume} cm3/g"),
        ("surface area", f"{area.per_mass} m2/g, {area.per_volume} m2/cm3 (probe {probe:g} Å)"),
    ]
    return _done(json_file, content, report.lines(rows), common["quiet"])
