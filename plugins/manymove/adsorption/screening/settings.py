# SPDX-License-Identifier: BSD-3-Clause
"""The settings of a screening."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from manymove.adsorption.adsorbates import METHANE, Adsorbate
from manymove.adsorption.force_field import ForceField, of_options
from manymove.adsorption.job import check_isotherm, check_target_error
from manymove.adsorption.molecule_files import species_of
from manymove.adsorption.pores import NITROGEN
from manymove.adsorption.replica import Settings
from manymove.jobs.options import least, not_negative, of_option, one_of, positive
from manymove.settings import EnergyGrid, Interactions, Steps

RANKINGS = ("loading", "working-capacity", "henry", "selectivity")


@dataclass(frozen=True, kw_only=True)
class Screening(Settings):
    """The settings of a screening. The settings in groups with a title are options of `manymove
    screen`; the others are the settings of an isotherm without the framework.

    Run:
        isotherm: Gas pressures of an isotherm in bar. Each point continues from the previous one
            and equilibrates in rounds of doubling length until its loading agrees with test
            molecules.
        seed: Seed of the random number generator. The seed of each structure is computed from it
            and the name of the structure.
        at_once: Number of structures that run at the same time on each device (default one per
            core, at most 32, or as many as fill a GPU, at most 128).
        time_limit: Maximum time for each structure in seconds; its remaining points are left out
            (default none).
        insertions: Number of test molecules of each species, and of helium, in each of 64 sets in
            the empty framework.

    Sampling:
        probe: Diameter of the probe for the surface area in angstrom.
        samples: Number of random points on each atom for the surface area.
        working_capacity: Pressures of adsorption and desorption in bar, which must be pressures of
            --isotherm (default no working capacity).
        rank_by: Quantity of the first species by which the structures are ranked: loading (at the
            highest pressure), working-capacity, henry or selectivity.

    Files:
        parquet: Write the table as screen.parquet as well.

    Attributes:
        field: the force field of the molecules, of helium, and of the surface.
        unit: unit of the loadings of the ranking and the picture.
    """

    framework: str = ""
    method: str = "plj"
    systems: Annotated[int, least(1)] = 32
    equilibrate: Annotated[int, least(0)] = 1000
    early: bool = True
    target_error: Annotated[float | None, positive] = 0.02
    output: Path = Path("out/screen")
    isotherm: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0)
    at_once: Annotated[int | None, least(1)] = None
    time_limit: Annotated[float | None, positive] = None
    insertions: Annotated[int, least(1)] = 2000
    probe: Annotated[float, not_negative] = NITROGEN
    samples: Annotated[int, least(1)] = 1000
    working_capacity: tuple[float, float] | None = None
    rank_by: Annotated[str, one_of(*RANKINGS)] = "loading"
    parquet: bool = False
    field: ForceField
    unit: str = "mol/kg"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_isotherm(self, self.isotherm, self.unit)
        check_target_error(self, 1)
        if len(set(self.isotherm)) < len(self.isotherm):
            raise ValueError(f"--isotherm is {list(self.isotherm)}; a pressure occurs twice")
        for pressure in self.working_capacity or ():
            if pressure not in self.isotherm:
                raise ValueError(
                    f"--working-capacity has {pressure:g} bar, which is not a pressure of "
                    f"--isotherm ({', '.join(f'{p:g}' for p in self.isotherm)})"
                )
        if self.working_capacity is not None and not (
            self.working_capacity[0] > self.working_capacity[1]
        ):
            raise ValueError(
                f"--working-capacity is {list(self.working_capacity)}; give the pressure of "
                "adsorption first, which is higher than that of desorption"
            )
        if self.rank_by == "working-capacity" and self.working_capacity is None:
            raise ValueError(
                "--rank-by is working-capacity, which needs the pressures of --working-capacity"
            )
        if self.rank_by == "selectivity" and len(self.adsorbates) < 2:
            raise ValueError("--rank-by is selectivity, which needs several --adsorbates")


# The arguments of `manymove.Adsorption` that are the same for all structures, and their defaults.
_OF_ENGINE: dict[str, Any] = {
    **{f.name: f.default for f in fields(Steps) if f.name not in ("method", "exchange")},
    "trial_positions": "auto",
    "trial_orientations": "auto",
    "temperature": 300.0, "cutoff": Interactions().cutoff, "precision": Interactions().precision,
    "interpolation": EnergyGrid().interpolation, "grid_spacing": None,
    "barrier": EnergyGrid().barrier, "framework_charges": None, "ewald": None, "profile": None,
    "bins": 100,
}  # fmt: skip
_OF_FIELD = ("force_field", "potential", "mixing", "remove_atom_number_code")
_UNUSED = (
    "framework", "molecules", "options", "pressure", "void_fraction", "start", "point", "henry",
    "density_map", "frames", "structures", "resume", "folder", "field", "given", "early",
)  # fmt: skip


def screening_of(options: Mapping[str, Any], given: dict[str, Any]) -> Screening:
    """The settings from the options of `manymove screen` by their names, with "_" for "-".

    Args:
        options: options that differ from their defaults. `adsorbates` may also be objects, and
            `force_field` a `ForceField`.
        given: the options as options.json holds them.

    Raises:
        TypeError: there is no such option.
        OSError, ValueError: a file cannot be read, or an option is wrong.
    """
    of_job = {f.name for f in fields(Screening)} - {*_UNUSED}
    known = of_job | _OF_ENGINE.keys() - {"profile", "bins"} | {*_OF_FIELD}
    for name in options:
        if name not in known:
            raise TypeError(f"a screening has no option {name}; known are {sorted(known)}")
    source = options.get("force_field")
    if source is None:
        raise ValueError("give a --force-field, for example TraPPE-zeo for zeolites of silica")
    field = source
    if not isinstance(source, ForceField):
        with of_option("--force-field"):
            field = of_options(
                source, options.get("potential"), options.get("mixing"),
                bool(options.get("remove_atom_number_code")),
            )  # fmt: skip
    assert isinstance(field, ForceField)
    with of_option("--adsorbates"):
        species = species_of(options.get("adsorbates") or METHANE, field)
    own = all(isinstance(one, Adsorbate) for one in species)  # with their own parameters
    engine = {name: options.get(name, default) for name, default in _OF_ENGINE.items()}
    engine["force_field"] = None if own else field
    chosen = {name: value for name, value in options.items() if name in of_job}
    return Screening(
        **{**chosen, "adsorbates": species, "molecules": (0,) * len(species), "options": engine,
           "field": field, "given": given},
    )  # fmt: skip
