"""RASPA3 (the wheel `raspalib`) as a peer of `manymove bench adsorption`.

Y. A. Ran, S. Sharma, S. R. G. Balestra, Z. Li, S. Calero, T. J. H. Vlugt, R. Q. Snurr,
D. Dubbeldam, J. Chem. Phys. 161, 114106 (2024). Its Python interface has no energy grids, so that
each move sums over the atoms.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

from manymove.adsorption.adsorbates import METHANE
from manymove.adsorption.force_field import TRAPPE_ZEO
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.molecules import Molecule
from manymove.bench.harness import Variant

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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no OpenCL
            import raspalib
    except ImportError:
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


def lattice(
    raspalib: Any, field: Any, framework: Framework, kinds: dict[str, tuple[int, float]]
) -> Any:
    """The framework, with the number and the charge of each element's pseudo-atom."""
    atoms = [
        raspalib.Atom(tuple(map(float, place)), kinds[element][1], 1.0, 0, kinds[element][0])
        for place, element in zip(framework.fractional, framework.elements, strict=True)
    ]
    box = raspalib.SimulationBox(*framework.cell)
    cells = list(framework.cells_for(12.0))
    return raspalib.Framework(field, framework.name, box, 1, atoms, cells)


def _accepted(system: Any) -> int:
    """Number of accepted moves of the last run along x, y and z."""
    statistics = system.write_mc_move_statistics()
    found = re.findall(r"(?:Translation|Rotation) +accepted: +(\d+) +(\d+) +(\d+)", statistics)
    return sum(int(n) for three in found for n in three)
