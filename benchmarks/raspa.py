"""RASPA3 (the wheel `raspalib`) as a peer of `python -m benchmarks adsorption`.

Y. A. Ran, S. Sharma, S. R. G. Balestra, Z. Li, S. Calero, T. J. H. Vlugt, R. Q. Snurr,
D. Dubbeldam, J. Chem. Phys. 161, 114106 (2024). Its Python interface has no energy grids, so that
each move sums over the atoms.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.series import Series
from manymove.adsorption.adsorbates import METHANE
from manymove.adsorption.charges import Given, charges_of_framework
from manymove.adsorption.force_field import TRAPPE_ZEO, ForceField
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.molecules import Molecule
from manymove.bench.harness import Variant
from manymove.warned import collected

_LEAST = 20  # moves in one of its cycles


def variant(
    framework: Framework, molecules: int, seed: int, molecule: Molecule | None = None
) -> Variant | None:
    """Translations of methane on one core, in the box and with the force field of our defaults; or
    translations and rotations of a rigid molecule with the force field TraPPE.

    Molecules start where RASPA inserts them. RASPA adapts the displacement so that half of the
    moves are accepted, as our engine does.

    Returns:
        a variant for `manymove.bench.harness`; None if raspalib is not installed.
    """
    raspalib = module()
    if raspalib is None:
        return None
    if molecule is None:
        moves = raspalib.MCMoveProbabilities(translation_probability=1.0)
        system = methane_system(raspalib, framework, molecules, moves)
    else:
        moves = raspalib.MCMoveProbabilities(translation_probability=0.5, rotation_probability=0.5)
        system = molecule_system(raspalib, framework, molecule, molecules, moves)
    runs = 0

    def run(cycles: int) -> tuple[int, int]:
        nonlocal system, runs
        runs += 1
        mc = raspalib.MonteCarlo(cycles, 0, 0, systems=[system], random_seed=seed + runs)
        mc.setup()
        mc.production()
        (system,) = mc.systems
        return cycles * max(_LEAST, molecules), _accepted(system)

    run(1 + 4000 // molecules)  # the displacement settles
    from importlib.metadata import version

    return Variant(f"RASPA {version('raspalib')}, no grid", run, {})


def methane_system(
    raspalib: Any, framework: Framework, molecules: int, moves: Any, pressure: float | None = None
) -> Any:
    """A system with our default box and force field, at the pressure of an ideal gas in pascal."""
    law = METHANE.framework["O"]
    # Parameters of oxygen, from which the Lorentz-Berthelot rules give ours with methane.
    oxygen = (law[0] ** 2 / METHANE.epsilon, 2 * law[1] - METHANE.sigma)
    field = raspalib.ForceField(
        [
            raspalib.PseudoAtom("O", True, 15.9994, 0.0, 0.0, 8),
            raspalib.PseudoAtom("Si", True, 28.0855, 0.0, 0.0, 14),
            raspalib.PseudoAtom("CH4", False, 16.04246, 0.0, 0.0, 6),
        ],
        [
            raspalib.VDWParameters(*oxygen),
            raspalib.VDWParameters(0.0, 1.0),
            raspalib.VDWParameters(METHANE.epsilon, METHANE.sigma),
        ],
        use_charge=False,
    )
    crystal = lattice(raspalib, field, framework, {"O": (0, 0.0), "Si": (1, 0.0)})
    methane = raspalib.Component(
        field, "methane", METHANE.critical_temperature, METHANE.critical_pressure * 1e5,
        METHANE.acentric_factor, [raspalib.Atom((0.0, 0.0, 0.0), 0.0, 1.0, 0, 2)],
        particle_probabilities=moves, fugacity_coefficient=1.0,
    )  # fmt: skip
    return raspalib.System(
        field, None, external_temperature=300.0, external_pressure=pressure,
        framework_components=crystal, components=[methane],
        initial_number_of_molecules=[molecules],
    )  # fmt: skip


def molecule_system(
    raspalib: Any, framework: Framework, molecule: Molecule, molecules: int, moves: Any
) -> Any:
    """A system of rigid molecules in an all-silica zeolite with the force field TraPPE."""
    labels = sorted({site.label for site in molecule.sites})
    number = {label: 2 + k for k, label in enumerate(labels)}
    own = {site.label: site for site in molecule.sites}
    elements = [("O", 15.9994), ("Si", 28.0855)]
    charges = TRAPPE_ZEO.charges
    field = raspalib.ForceField(
        [raspalib.PseudoAtom(e, True, mass, charges[e]) for e, mass in elements]
        + [raspalib.PseudoAtom(b, False, 14.0, own[b].charge) for b in labels],
        [raspalib.VDWParameters(*TRAPPE_ZEO.law_of_atom(e, e)) for e, _ in elements]
        + [raspalib.VDWParameters(own[b].epsilon, own[b].sigma) for b in labels],
        shifted=False,
        tail_corrections=True,
    )
    crystal = lattice(
        raspalib, field, framework, {e: (k, charges[e]) for k, (e, _) in enumerate(elements)}
    )
    guest = raspalib.Component(
        field, molecule.name, 300.0, 7e6, 0.2,
        [
            raspalib.Atom(tuple(s.position), s.charge, 1.0, 0, number[s.label])
            for s in molecule.sites
        ],
        particle_probabilities=moves, fugacity_coefficient=1.0,
    )  # fmt: skip
    return raspalib.System(
        field, None, external_temperature=300.0, framework_components=crystal, components=[guest],
        initial_number_of_molecules=[molecules],
    )  # fmt: skip


def refuse_other_charges(
    framework: Framework, molecule: Molecule, force_field: ForceField, given: Given
) -> None:
    """Refuse charges of the framework that are not those of the force field, which `open_series`
    has.

    Args:
        framework, molecule, force_field: the system.
        given: argument `framework_charges` of `Adsorption`.

    Raises:
        ValueError: the molecule has charges, and those of an atom differ.
    """
    if not any(site.charge for site in molecule.sites):
        return
    with collected():  # the engine warns, too
        found = charges_of_framework(framework, force_field, given)
    own = [force_field.charges.get(element, 0.0) for element in framework.elements]
    if (found or [0.0] * len(own)) != own:
        raise ValueError(
            "RASPA3 is run with the charges of the force field, and the framework has others: "
            "leave out --framework-charges, or name other programs with --peers"
        )


def open_series(
    raspalib: Any,
    *,
    framework: Framework,
    species: Sequence[Molecule],
    force_field: ForceField = TRAPPE_ZEO,
    cells: Sequence[int],
    temperature: float,
    fugacities: Sequence[float],
    cutoff: float = 12.0,
    molecules: Sequence[int],
    exchange: float = 0.5,
    reinsertion: float = 0.0,
    seconds: float,
    seed: int,
    least: int = 200,
) -> list[Series]:
    """Numbers of molecules of each species of an open system after each cycle on one core.

    A cycle has max(20, N) steps with N molecules at its start, which are the weights of the
    states. Up to 20 molecules all weights are equal, so that the average is one over steps.

    Args:
        raspalib: the module, see `module`.
        framework, species, force_field, cells, temperature, fugacities, cutoff: the system, in the
            units of `Adsorption`.
        molecules: numbers of molecules at the start, which RASPA3 inserts itself.
        exchange, reinsertion: shares of these moves; the others are displacements and rotations.
        seconds: time of the core for the measurement, after an equilibration of a quarter of it.
        seed: seed of its random numbers.
        least: smallest number of cycles of the measurement.
    """
    number = _types(species)
    site_of = {site.label: site for s in species for site in s.sites}
    charges = force_field.charges
    elements = sorted(set(framework.elements))
    field = raspalib.ForceField(
        [raspalib.PseudoAtom(e, True, 14.0, charges.get(e, 0.0)) for e in elements]
        + [raspalib.PseudoAtom(b, False, 14.0, site_of[b].charge) for b in number],
        [raspalib.VDWParameters(*force_field.law_of_atom(e, e)) for e in elements]
        + [raspalib.VDWParameters(site_of[b].epsilon, site_of[b].sigma) for b in number],
        cutoff_framework_vdw=cutoff, cutoff_molecule_vdw=cutoff, cutoff_coulomb=cutoff,
        shifted=force_field.potential == "shifted",
        tail_corrections=force_field.potential == "tail",
        use_charge=any(site.charge for site in site_of.values()),
    )  # fmt: skip
    kinds = {e: (k, charges.get(e, 0.0)) for k, e in enumerate(elements)}
    pressure, rest = sum(fugacities), 1.0 - exchange - reinsertion
    components = []
    for one, fugacity in zip(species, fugacities, strict=True):
        turning = rest / 2 if len(one.sites) > 1 else 0.0
        moves = raspalib.MCMoveProbabilities(
            translation_probability=rest - turning, rotation_probability=turning,
            reinsertion_cbmc_probability=reinsertion, swap_cbmc_probability=exchange,
        )  # fmt: skip
        atoms = [
            raspalib.Atom(tuple(x.position), x.charge, 1.0, 0, len(elements) + number[x.label])
            for x in one.sites
        ]
        components.append(
            raspalib.Component(
                field, one.name, 300.0, 7e6, 0.2, atoms, particle_probabilities=moves,
                # It divides the pressure equally among the components.
                fugacity_coefficient=fugacity * len(species) / pressure,
            )
        )  # fmt: skip
    system = raspalib.System(
        field, None, external_temperature=temperature, external_pressure=pressure * 1e5,
        framework_components=lattice(raspalib, field, framework, kinds, cells),
        components=components, initial_number_of_molecules=list(molecules),
    )  # fmt: skip
    runs = 0

    def run(cycles: int) -> tuple[np.ndarray, float]:
        nonlocal system, runs
        runs += 1
        system.set_property_number_of_molecules_evolution(
            raspalib.PropertyNumberOfMoleculesEvolution(cycles, len(species), 1)
        )
        mc = raspalib.MonteCarlo(cycles, 0, 0, systems=[system], random_seed=seed + runs)
        began = time.process_time()
        mc.setup()
        mc.production()
        (system,) = mc.systems
        counts = np.array(system.property_number_of_molecules_evolution.result)
        return counts.reshape(len(species), -1).astype(float), time.process_time() - began

    _, took = run(50)
    cycles = max(least, int(50 * seconds / took))
    run(cycles // 4)
    counts, took = run(cycles)
    steps = np.maximum(_LEAST, counts.sum(axis=0))
    return [Series(counts_of, steps, took, math.nan) for counts_of in counts]


def _types(species: Sequence[Molecule]) -> dict[str, int]:
    labels = sorted({site.label for one in species for site in one.sites})
    return {label: k for k, label in enumerate(labels)}


def module() -> Any:
    """The module raspalib; None if it is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no OpenCL
            import raspalib
    except ImportError:
        return None
    return raspalib


def lattice(
    raspalib: Any,
    field: Any,
    framework: Framework,
    kinds: dict[str, tuple[int, float]],
    cells: Sequence[int] | None = None,
) -> Any:
    """The framework, with the number and the charge of each element's pseudo-atom."""
    atoms = [
        raspalib.Atom(tuple(map(float, place)), kinds[element][1], 1.0, 0, kinds[element][0])
        for place, element in zip(framework.fractional, framework.elements, strict=True)
    ]
    box = raspalib.SimulationBox(*framework.cell)
    cells = framework.cells_for(12.0) if cells is None else cells
    return raspalib.Framework(field, framework.name, box, 1, atoms, list(cells))


def _accepted(system: Any) -> int:
    """Number of accepted moves of the last run along x, y and z."""
    statistics = system.write_mc_move_statistics()
    found = re.findall(r"(?:Translation|Rotation) +accepted: +(\d+) +(\d+) +(\d+)", statistics)
    return sum(int(n) for three in found for n in three)
