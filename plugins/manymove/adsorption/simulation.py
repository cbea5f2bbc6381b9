"""Waste-recycling Monte Carlo of adsorbates in rigid frameworks.

Method: J. Kim, J. M. Rodgers, M. Athènes, B. Smit, "Molecular Monte Carlo simulations using
graphics processing units: To waste recycle or not?", J. Chem. Theory Comput. 7, 3208 (2011).
Sections and equations below are that paper's; docs/theory/adsorption.md has the proofs.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from manymove import _core, arguments, checkpoint
from manymove.adsorption.adsorbates import METHANE
from manymove.adsorption.averages import DRIFT, MULTIPLE
from manymove.adsorption.chains import REGROWTH, Chain
from manymove.adsorption.checkpoints import ARRAYS, MOLECULES, read_checkpoint
from manymove.adsorption.equilibration import Equilibration
from manymove.adsorption.force_field import ForceField
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.input import (
    BARRIER,
    TRIALS,
    activity_of,
    barrier_of,
    cells_of,
    check_chains,
    direction_of,
    fugacities_of,
    gas_of,
    given_framework,
    grid_points,
    has_trials,
    known_method,
    per_species,
    start_of,
    trials_of,
)
from manymove.adsorption.molecule_files import Species, species_of
from manymove.adsorption.pilot import AUTO, candidates
from manymove.adsorption.places import Places
from manymove.adsorption.rigid import settled
from manymove.checkpoint import PathLike
from manymove.devices import on_gpu
from manymove.errors import ParameterError
from manymove.runs import Callbacks, Course
from manymove.settings import (
    EnergyGrid,
    Interactions,
    Molecules,
    ProfileAxis,
    Seed,
    Steps,
    Supercell,
    group,
)
from manymove.simulation import INTERRUPTED, counter, of_engine, parameter

_TUNE = 256  # steps between two adaptations of the displacement
_LEAST_ON_GPU = 64  # steps of a call of the engine
_GROUPS = 128  # maximum number of groups of systems with separate profiles


class Adsorption(Places, Equilibration):
    """Adsorbed molecules in a rigid framework: many independent systems at once.

    A *step* tries to move one molecule of every system. The trajectory is a function of the input
    and the seed, the same on every CPU and GPU. Lengths are in angstrom and energies in kelvin.
    Equations and sections are numbered as in J. Kim et al., J. Chem. Theory Comput. 7, 3208 (2011).

    Methods (section 4):

    - "metropolis": one proposal per step, simple loops on one core per system; this is the
      reference implementation (CPU only).
    - "pmc": one proposal per step, a GPU thread or a SIMD lane per system.
    - "plj": one proposal per step, a warp or 32 lanes share the pair sum of a system.
    - "mup": multiple proposals, uniform in the box (section 4.3).
    - "mdp": multiple proposals along two random walks (section 4.4).
    - "mdp-dj": as "mdp" with the optimal estimator of Delmas and Jourdain (Eqs. 6 to 8).

    Raises:
        ValueError: an argument is bad, or a molecule of `positions` is in a blocked pocket or at an
            energy above the barrier.
        ImportError: gemmi, which reads CIF files, is not installed.
        OSError: a CIF file cannot be read.
        MemoryError: the grid or the systems do not fit into memory.
        RuntimeError: there are too many molecules to find positions for all. All averages raise it
            as well if nothing has been measured or compared.
        KeyboardInterrupt: Ctrl-C while the grid is filled.

    An object may be used by one thread at a time, and not in a forked process. Any other use raises
    a RuntimeError.
    """

    _KIND = "adsorption"
    _COUNTER = "steps"

    def __init__(
        self,
        framework: str | os.PathLike[str] | Framework | Sequence[float] | Supercell,
        molecules: int | Sequence[int] | Molecules,
        *,
        seed: Seed,
        adsorbates: Species | PathLike | Sequence[Species | PathLike] = METHANE,
        temperature: Annotated[float, arguments.positive_and_finite] = 300.0,
        fugacity: float | Sequence[float] | None = None,
        interactions: Annotated[Interactions | None, group(Interactions)] = None,
        method: Annotated[str | Steps, group(Steps, alone=True)] = "mdp",
        systems: Annotated[int | None, arguments.count] = None,
        profile: Annotated[
            str | tuple[int, int, int] | ProfileAxis | None, group(ProfileAxis, alone=True)
        ] = None,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        """Create systems of molecules.

        Args:
            framework: "MFI", "LTA", the path of a CIF file, a `Framework`, or a `Supercell`, which
                sets the number of unit cells (default the fewest that make the box twice as wide as
                the cutoff). Without a framework it is the box in angstrom: three edges, or six
                numbers with the tilts b_x, c_x, c_y.
            molecules: number of molecules of each species in a system, one number per species, or
                `Molecules`. With a fugacity these are the initial numbers.
            seed: seed of the random number generator, an integer in [0, 2**64).
            adsorbates: species of the molecules, one to four: an `Adsorbate`, which has its own
                parameters for elements of the framework, or a `Molecule`, whose parameters follow
                from the force field, or a `Chain`, which is flexible; also the name of a shipped
                molecule ("CO2", "N2", "CH4", "C2H6", "H2O", "propane", "n-butane", "n-pentane",
                "n-hexane") or the path of a file, see `read_molecule` (default methane of one
                site). Chains need the method "metropolis" or "plj", and can be mixed with other
                chains and with single sites without charges.
            temperature: temperature in kelvin.
            fugacity: fugacity of a gas in bar, one number per species, with which the systems
                exchange molecules (methods "metropolis" and "plj"; default None: the number of
                molecules is fixed).
            interactions: cutoff, force field, charges and energy grid (default Interactions()).
            method: method of the steps (see above), or `Steps`.
            systems: number of independent systems (default 1024, and 16384 for "pmc");
                `filling_systems` of `manymove.adsorption.occupancy` returns the number that fills a
                device.
            profile: direction of the profile of the probability P: "x", "y", "z", Miller indices
                (h, k, l), or a `ProfileAxis` (default no profile).
            device: "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:<index>".
            threads: number of threads of the CPU engine (default all cores).
        """
        steps: Any = method if isinstance(method, Steps) else Steps(method)
        laws_of = interactions or Interactions()
        energy_grid = laws_of.grid or EnergyGrid()
        start = molecules if isinstance(molecules, Molecules) else Molecules(molecules)
        cells = framework.cells if isinstance(framework, Supercell) else None
        axis: Any = profile
        bins = axis.bins if axis else 0
        profile = axis.direction if axis else None
        name, regrowth = steps.method, steps.regrowth
        cutoff, barrier = laws_of.cutoff, energy_grid.barrier
        framework = given_framework(framework)
        force_field = laws_of.force_field
        if isinstance(force_field, (str, os.PathLike)):
            force_field = ForceField.read(force_field)
        species = species_of(adsorbates, force_field)
        counts = per_species("molecules", start.number, species)
        if any(count < 0 for count in counts) or (fugacity is None and sum(counts) == 0):
            raise ParameterError("molecules", f"must be positive, got {start.number}")
        if known_method(name) not in MULTIPLE and steps.proposals is not None:
            raise ParameterError("proposals", f'has no effect: the method "{name}" has just one')
        barrier = barrier_of(barrier, temperature)
        if barrier is not None and not 0 < barrier < math.inf:
            raise ParameterError("barrier", f"must be positive and finite, or None, got {barrier}")
        cells = cells_of(cells, framework, cutoff)
        systems = systems or (16384 if name == "pmc" else 1024)
        chains = [one for one in species if isinstance(one, Chain)]
        if regrowth is None:
            regrowth = REGROWTH if any(len(one.beads) > 1 for one in chains) else 0.0
        check_chains(chains, name, regrowth, steps.reinsertion, fugacity, start.positions)
        auto = [n for n in ("trial_positions", "trial_orientations") if getattr(steps, n) == AUTO]
        if auto and fugacity is None:
            raise ParameterError(auto, '"auto" needs a fugacity: the systems are closed')
        pairs = candidates(steps.trial_positions, steps.trial_orientations, species)
        trials = trials_of(
            *pairs[len(pairs) // 2], steps.reinsertion, steps.identity_change, regrowth,
            method=name, exchange=None if fugacity is None else steps.exchange,
            species=len(species), chains=bool(chains),
        )  # fmt: skip
        laws = settled(
            framework, species, laws_of.cross or {}, force_field, laws_of.ewald, cutoff, cells,
            laws_of.framework_charges, biased=has_trials(trials) or bool(auto),
        )  # fmt: skip
        volume = math.prod(n * edge for n, edge in zip(cells, framework.cell, strict=True))
        fugacities, rooms = gas_of(fugacity, start.capacity, steps.exchange, name, species, counts)
        self._framework = framework
        self._about: dict[str, Any] = {
            "framework": framework.name,
            "formula": framework.formula,
            "adsorbates": [s.name for s in species],
            "molar_masses": [s.molar_mass for s in species],
            "method": name,
            "interpolation": energy_grid.interpolation,
            "precision": laws_of.precision,
            "barrier": barrier,
            "fugacity": None if fugacity is None else fugacities,
            "profile": profile,
            "mass": framework.mass * math.prod(cells),
            "framework_atoms": laws["framework_atoms"],
            **({"auto": auto, "candidates": pairs, "pilot": None} if auto else {}),
            "adapt": steps.max_displacement is None and name not in MULTIPLE,
            "began": 0,  # step at which the present fugacity was set
        }
        self._parameters: dict[str, Any] = {
            "cell": tuple(float(edge) for edge in framework.cell),
            "fractional": [float(x) for x in np.ravel(framework.fractional)],
            "kind": laws["kind"],
            "cells": cells,
            "temperature": float(temperature),
            "cutoff": float(cutoff),
            "species": [
                {
                    "molecules": count,
                    "capacity": room,
                    "activity": activity_of(f, volume, temperature),
                    "with_framework": own,
                }
                for own, count, room, f in zip(
                    laws["with_framework"], counts, rooms, fugacities, strict=True
                )
            ],
            "pairs": laws["pairs"],
            "shifted": laws["shifted"],
            "method": "mdp" if name == "mdp-dj" else name,
            "moments": name == "mdp-dj",
            "proposals": steps.proposals or 64,
            "systems": systems,
            "max_displacement": steps.max_displacement or 0.65,
            "exchange": 0.0 if fugacity is None else float(steps.exchange),
            **trials,
            "grid": grid_points(framework.cell, energy_grid.spacing, energy_grid.interpolation),
            "cubic": energy_grid.interpolation == "cubic",
            "double_precision": laws_of.precision == "double",
            "barrier": barrier or 0.0,
            "hill": barrier or BARRIER * temperature,
            "direction": direction_of(profile),
            "bins": bins,
            "groups": min(systems, _GROUPS),
            "seed": seed,
        }
        if "rigid" in laws:
            self._parameters["rigid"] = laws["rigid"]
            self._about["labels"] = laws["labels"]
        self._settle(device, threads)
        self._adopt(self._engine_at(start.positions, start.orientations, sum(counts)))
        if chains:
            self._about["ideal_chains"] = self._engine.ideal_chains

    def _engine_at(self, positions: Any, orientations: Any, molecules: int) -> _core.Adsorption:
        """The engine with molecules at positions, or at random ones."""
        if positions is None:
            if orientations is not None:
                raise ValueError("orientations need positions")
            return _core.Adsorption.create(*self._where(), interrupted=INTERRUPTED.get())
        places, *turns = start_of(
            positions, orientations, (self.systems, molecules), "rigid" in self._parameters
        )
        return _core.Adsorption.from_positions(
            places, *self._where(), *turns, interrupted=INTERRUPTED.get()
        )

    @classmethod
    def random(
        cls,
        framework: str | os.PathLike[str] | Framework | Sequence[float] | Supercell,
        molecules: int | Sequence[int],
        *,
        seed: int,
        **options: Any,
    ) -> Adsorption:
        """Create molecules at random positions below the barrier, as the class without positions.

        Args:
            framework, molecules, options: arguments of the class.
            seed: seed of the positions and of the trajectory.

        Raises:
            ValueError, RuntimeError: an error of the class.
        """
        return cls(framework, molecules, seed=seed, **options)

    @classmethod
    def from_gsd(
        cls,
        path: PathLike,
        frame: int = -1,
        *,
        framework: str | os.PathLike[str] | Framework | Sequence[float] | Supercell,
        seed: int,
        systems: int = 1,
        **options: Any,
    ) -> Adsorption:
        """Create systems that all have the molecules of a frame of a GSD file.

        Args:
            path: path of a file that `write_gsd` has written.
            frame: index of the frame; negative numbers count from the end.
            framework: argument of the class.
            seed: seed of the trajectory.
            systems: number of systems.
            options: the other arguments of the class; `adsorbates` must agree with the file.

        Raises:
            FileNotFoundError, ValueError: an error of `manymove.io.read_log` or of the class; the
                file has no molecules, or those of another box.
        """
        from manymove.io import read_log

        log = read_log(path, frame)
        if not {"positions", "molecules", "edges"} <= log.keys():
            raise ValueError(f"{path}, frame {frame}: no molecules of Adsorption.write_gsd")
        start: dict[str, Any] = {
            name: np.repeat(log[name][None], systems, axis=0)
            for name in ("positions", "orientations")
            if name in log
        }
        molecules = Molecules(log["molecules"].tolist(), **start)
        a = cls(framework, molecules, seed=seed, systems=systems, **options)
        if not np.allclose(a.edges, log["edges"], rtol=1e-9, atol=1e-9):
            raise ValueError(f"{path}, frame {frame}: the box does not fit framework and cells")
        return a

    def _adopt(self, engine: _core.Adsorption) -> None:
        super()._adopt(engine)
        # Engines that share a GPU wait for each other, which would make short pieces shorter.
        self._least = _LEAST_ON_GPU if on_gpu(self.device) else 1
        self._adapted_at = (0, 0)  # acceptance counts when the displacement was last adapted
        self._forget_comparison()

    # ---- running ---------------------------------------------------------------------------------

    def equilibrate(self, steps: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run without adding to the averages, and reset the averages.

        The method "mup" makes every second step with displaced proposals during equilibration,
        because a dense system hardly relaxes with uniform proposals. Methods with one proposal
        adapt the displacement so that half of the moves are accepted, unless it was given.

        Args:
            steps: number of steps of every system, at least 0.
            callbacks, progress: as in `run`.

        Raises:
            TypeError, ValueError, KeyboardInterrupt: as in `run`.
        """
        arguments.steps("steps", steps)
        self.reset_averages()
        with self._running(steps, callbacks, progress) as course:
            self._relax_to([self.steps + steps], course)

    def _equilibrate_until(self, n: int, callbacks: Callbacks) -> None:
        self.equilibrate(max(0, n - self.steps), callbacks)

    def _relax_to(self, ends: Sequence[int], course: Course, tests: int = 0) -> None:
        """Run to the last of these steps, and insert this number of test molecules at each of them.
        One call of the engine does as much as possible, because threads wait for Python's lock
        between calls."""

        def limit(steps: int) -> int:
            return min(steps, _TUNE - self.steps % _TUNE) if self._about["adapt"] else steps

        def relax(steps: int) -> float:
            now = self.steps
            due = [end for end in ends if now < end <= now + steps] if tests else []
            if due:
                lengths = [end - before for before, end in pairwise([now, *due])]
                seconds = self._compare(lengths, tests, rest=now + steps - due[-1])
            else:
                seconds = self._engine.run(steps, False)
            # Before a callback or a job can save the state.
            if self._about["adapt"] and self.steps % _TUNE == 0:
                accepted, trials = np.subtract(self.acceptance_counts, self._adapted_at)
                self._adapted_at = self.acceptance_counts
                if trials:
                    self._adapt(accepted / trials)
            return seconds

        self._held = None
        for end in ends:
            if tests and end <= self.steps:  # interrupted between the steps and the test
                self._compare([0], tests)
        course.run(ends[-1] - self.steps, relax, limit)

    def _adapt(self, acceptance: float) -> None:
        present = self.max_displacement
        wanted = present * min(1.5, max(0.67, 0.5 + acceptance))
        self._engine.set_max_displacement(min(max(wanted, 0.01), 0.49 * min(self.box)))

    def run(self, steps: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run for a number of steps and add every step to the averages.

        Args:
            steps: number of steps of every system, at least 0.
            callbacks: pairs (every, function). A function is called with this object whenever
                `steps` is a multiple of `every`. Callbacks do not affect the trajectory.
            progress: show a progress bar.

        Raises:
            TypeError: steps is not an integer, or callbacks are not pairs of an integer and a
                function.
            ValueError: steps is negative, or `every` is not positive.
            RuntimeError, ValueError: an open system outgrows the memory of the device.
            KeyboardInterrupt: Ctrl-C; the state is that after a whole step.
        """
        arguments.steps("steps", steps)
        self._held = None
        with self._running(steps, callbacks, progress) as course:
            course.run(steps, lambda some: self._engine.run(some, True))

    def _run_and_compare(self, steps: int, insertions: int) -> None:
        """Run, and then compare the loading with test molecules in the last call of the engine."""

        def run(some: int) -> float:
            nonlocal steps
            steps -= some
            if steps:
                return self._engine.run(some, True)
            return self._compare([some], insertions, measure=True)

        self._held = None
        with self._running(steps, (), False) as course:
            course.run(steps, run)

    def _is_reached(self, target: float, parts: float = 1.0) -> bool:
        return self._systems_reach(target, self.equilibration_steps, parts)

    def reset_averages(self) -> None:
        self._engine.reset_averages()
        self._forget_comparison()

    def set_fugacity(self, fugacity: float | Sequence[float]) -> None:
        """Bring open systems into contact with another gas. The molecules keep their positions.

        The averages and the counts of moves are reset, but not the sequence of random numbers. For
        an isotherm, call this, `equilibrate_loading` and `run` for each fugacity.

        Args:
            fugacity: fugacity in bar, one number per species.

        Raises:
            ValueError: the systems are closed, or a fugacity is not positive.
        """
        if self._about["fugacity"] is None:
            raise ValueError(
                "the systems are closed: they have no fugacity; give one when the object is created"
            )
        p = self._parameters
        fugacities = fugacities_of(fugacity, p["species"])
        activities = [activity_of(f, self._volume, p["temperature"]) for f in fugacities]
        self._engine.set_activities(activities)
        species = [{**s, "activity": z} for s, z in zip(p["species"], activities, strict=True)]
        self._parameters = {**p, "species": species}
        self._about = {**self._about, "fugacity": fugacities, "began": self.steps}
        self._about["start"] = self.counts.tolist()
        self._pilot_is(None)
        if self._given is not None:
            self._given["fugacity"] = fugacities
        self._adapted_at = (0, 0)
        self._forget_comparison()

    # ---- settings and trajectories ---------------------------------------------------------------

    def _present(self) -> dict[str, Any]:
        counts = self.counts
        if (counts != counts[0]).any() or self._about.get("ideal_chains"):
            return {}  # which positions cannot describe
        start: dict[str, np.ndarray] = {}
        if counts[0].any():
            start["positions"] = self._of_present(self.positions)
            if self._rigid:
                start["orientations"] = self._of_present(self.orientations)
        given = (self._given or {}).get("molecules")
        capacity = self.capacity if getattr(given, "capacity", None) else None
        return {"molecules": Molecules(counts[0].tolist(), capacity, **start)}

    def _kept(self, given: dict[str, Any]) -> dict[str, Any]:
        molecules = given["molecules"]
        if isinstance(molecules, Molecules):
            molecules = dataclasses.replace(molecules, positions=None, orientations=None)
        return {**super()._kept(given), "molecules": molecules}

    def _of_present(self, values: np.ndarray) -> np.ndarray:
        """Values of the molecules that are present, (systems, molecules, ...), of as many in each
        system."""
        present = ~np.isnan(values).any(axis=-1)
        return values[present].reshape(self.systems, -1, values.shape[-1])

    def replace(self, **changes: Any) -> Adsorption:
        """Create systems with the present molecules and other settings, for example for a scan of a
        parameter. Steps, averages, tuned displacements and the output of GSD files start again.

        Args:
            changes: arguments of the class. For systems with different numbers of molecules, and
                for chains, they cannot be arguments on which the energy of a configuration depends.

        Raises:
            TypeError: the class has no such argument.
            RuntimeError, ValueError: an error of `settings` or of the class, or another energy.
        """
        new = super().replace(**changes)
        if self._present() or "molecules" in changes:
            return new
        if (held := _energy_model(self._parameters)) != _energy_model(new._parameters):
            raise ValueError(
                "systems with different numbers of molecules, and chains, keep the arguments on "
                f"which their energy depends: {', '.join(held)}"
            )
        species = [
            {**s, "capacity": room}
            for s, room in zip(new._parameters["species"], self.capacity, strict=True)
        ]
        new._parameters = {**new._parameters, "species": species}
        mine, state = self._engine.snapshot(), new._engine.snapshot()
        state |= {name: mine[name] for name in MOLECULES if name in mine}
        new._adopt(_core.Adsorption.from_snapshot(state, *new._where()))
        return new

    def write_gsd(
        self,
        path: PathLike | None,
        every: int | None = None,
        *,
        system: int = 0,
        overwrite: bool = False,
    ) -> None:
        """Write the present configuration of one system to a GSD file, or the configurations of the
        following runs, with the atoms of the framework and the sites of all molecules.

        Frames have the schema of HOOMD-blue and the step `elapsed`, and `from_gsd` reads them. As
        by a writer of HOOMD-blue, they are appended to an existing file. Output does not affect the
        trajectory, and checkpoints do not contain its settings. Types are the elements of the
        framework, the names of adsorbates with a single site, and "<name>.<label>" of the sites of
        molecules. Image flags make molecules whole, and bonds join their sites.

        Args:
            path: path of the file; None ends the output of all files with `every`.
            every: number of steps: a frame is written in the following runs whenever `steps` is a
                multiple of it. By default one frame is written at once.
            system: index of the system.
            overwrite: replace an existing file.

        Raises:
            OSError: the file cannot be written.
            ValueError: `every` is not positive, the file is not a GSD file, or there is no such
                system.
            TypeError: `every` is not an integer.
        """
        arguments.index("system", system, self.systems)
        self._write_gsd(path, every, overwrite, lambda a: a._frame(system))

    def _frame(self, system: int = 0) -> Any:
        from manymove.adsorption.trajectory import frame_of

        return frame_of(self, system)

    # ---- properties ------------------------------------------------------------------------------

    cells: tuple[int, int, int] = parameter("cells", "Number of unit cells along each axis.")
    temperature: float = parameter("temperature", "Temperature in kelvin.")
    systems: int = parameter("systems", "Number of independent systems.")
    method: str = parameter("method", "Method of the steps, as given.", "_about")
    max_displacement: float = of_engine(
        "max_displacement", "Maximum trial displacement along each axis in angstrom."
    )
    capacity: list[int] = of_engine(
        "capacities",
        "Number of molecules of each species for which a system has memory at present.",
    )
    steps: int = counter(0, "Number of steps of each system, including the equilibration.")
    trial_states: int = counter(1, "Number of proposed states of all systems.")
    accepted_moves: int = counter(2, "Number of accepted trial moves, see `trial_moves`.")
    insertions: int = counter(5, "Number of test molecules inserted into each system.")
    samples: int = counter(6, "Number of steps in the averages.")

    def _place(self) -> dict[str, str]:
        return {"framework": self._framework.name, "systems": str(self.systems)}

    @property
    def N(self) -> int:  # type: ignore[override]
        """Number of molecules of all systems together."""
        if self._about["fugacity"] is not None:
            return int(self.counts.sum())
        return self.systems * sum(one["molecules"] for one in self._parameters["species"])

    @property
    def framework(self) -> Framework:
        """Framework of the systems."""
        return self._framework

    @property
    def framework_atoms(self) -> list[dict[str, Any]]:
        """Parameters and charge of each label of the framework, as the force field gives them: a
        dictionary for each label and charge with `label`, `element`, `atoms` (their number in the
        unit cell), `rule` (the name in the force field), `epsilon_K`, `sigma_angstrom` (None for no
        interaction), `charge_e` (None if the molecules have no charges) and, if the force field
        has any, `pairs` ((epsilon, sigma) by the label of the site of an adsorbate). Empty for a
        checkpoint of an earlier version."""
        return list(self._about.get("framework_atoms", ()))

    @property
    def resolved_settings(self) -> dict[str, Any]:
        """Settings with the values that the program has chosen for defaults.

        The framework and the adsorbates are given by their names. `laws` has (epsilon, sigma) of
        all pairs of species and of each species with each element, and `grid` has the number of
        points of the grid along each axis."""
        p, about = self._parameters, self._about
        laws = p.get("rigid", p)
        own = laws["types"] if "rigid" in p else p["species"]
        tail = "rigid" in p and p["rigid"]["tail"]
        both = {**TRIALS, **about, **p, "method": about["method"], "barrier": about["barrier"]}
        names = (
            "framework", "adsorbates", "temperature", "cutoff", "cells", "method", "proposals",
            "systems", "max_displacement", "interpolation", "grid", "precision", "barrier",
            "profile", "bins", "fugacity", "seed", *TRIALS,
        )  # fmt: skip
        return {
            **{name: both[name] for name in names},
            "molecules": [species["molecules"] for species in p["species"]],
            "potential": "shifted" if p["shifted"] else "tail" if tail else "truncated",
            "laws": [*laws["pairs"], *(law for s in own for law in s["with_framework"])],
            **({"rigid": p["rigid"]} if "rigid" in p else {}),
        }

    @property
    def proposals(self) -> int:
        """Number of states per step, including the old state; 2 for methods with one proposal."""
        return self._parameters["proposals"] if self.method in MULTIPLE else 2

    @property
    def equilibration_steps(self) -> int:
        """Number of steps of each system since the present fugacity was set, without the steps in
        the averages."""
        return self.steps - self._about["began"] - self.samples

    @property
    def trial_moves(self) -> int:  # type: ignore[override]
        """Number of steps of all systems without insertions, deletions, identity changes,
        reinsertions and partial regrowths."""
        _, _, _, exchanges, _, _, _, reinsertions = self._engine.counters
        return (self.steps - self._about["began"]) * self.systems - exchanges - reinsertions

    @property
    def acceptance_counts(self) -> tuple[int, int]:
        """The numbers (`accepted_moves`, `trial_moves`)."""
        return self.accepted_moves, self.trial_moves

    @property
    def exchange_acceptance(self) -> float:
        """Ratio of accepted to tried insertions, deletions and identity changes; NaN if there are
        none."""
        _, _, _, exchanges, accepted, *_ = self._engine.counters
        return accepted / exchanges if exchanges else math.nan

    @property
    def energies(self) -> np.ndarray:
        """Present energy of each system in kelvin, float64 (systems,). Energies of rigid molecules
        are summed over all interactions when this attribute is read."""
        return self._engine.energies()

    @property
    def energy(self) -> float:
        """Present energy of a system in kelvin, the mean over all systems."""
        return float(self.energies.mean())

    def energy_drift(self) -> float:
        """Largest error in kelvin of an energy that the moves have updated, since the averages were
        reset. Every 4096 steps the energies are compared with sums over all interactions."""
        return float(self._sums()[DRIFT].max())

    @property
    def state_hash(self) -> str:
        """Hash of all molecules and counters, 16 hexadecimal digits, the same on every machine."""
        s = self._state
        digest = hashlib.sha256(repr(s["counters"][:7]).encode())
        sites, present = self._sites(s)
        digest.update(sites[present].tobytes())
        digest.update(np.ascontiguousarray(s["counts"]).tobytes())
        if "orientations" in s:
            digest.update(s["orientations"].reshape(*present.shape, 4)[present].tobytes())
        if "shapes" in s:
            digest.update(s["shapes"].reshape(*present.shape, -1)[present].tobytes())
        return digest.hexdigest()[:16]

    # ---- checkpoints -----------------------------------------------------------------------------

    def _contents(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        species = [
            {**s, "capacity": room}
            for s, room in zip(self._parameters["species"], self.capacity, strict=True)
        ]
        header = {
            "parameters": {**self._parameters, "species": species},
            "about": self._about,
            "elements": self._framework.elements,
            "mass": self._framework.mass,
            "adapted_at": self._adapted_at,
            "max_displacement": state["max_displacement"],
            "comparison": self._comparison.header,
        }
        arrays = {name: state[name] for name in ARRAYS if name in state}
        return header, {"comparison": self._comparison.sums, **arrays}

    def _restore(self, path: PathLike, *options: Any) -> None:
        read = read_checkpoint(path, self._KIND)
        self._framework, self._parameters, self._about = read.framework, read.parameters, read.about
        where = self._where()
        self._adopt(
            _core.Adsorption.from_snapshot(read.state, *where, interrupted=INTERRUPTED.get())
        )
        self._adapted_at = read.adapted_at
        with checkpoint.refused(path, self._KIND):
            self._comparison.restore(read.comparison, read.sums)
            self._given = checkpoint.decoded(read.settings)


def _energy_model(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters on which the energy of a configuration depends, and the number of systems."""
    names = (
        "systems", "cell", "cells", "fractional", "kind", "cutoff", "pairs", "shifted", "rigid",
        "grid", "cubic", "double_precision",
    )  # fmt: skip
    laws = [one["with_framework"] for one in parameters["species"]]
    return {**{name: parameters.get(name) for name in names}, "with_framework": laws}
