# SPDX-License-Identifier: BSD-3-Clause
"""Dissipative particle dynamics in the LAMMPS of this environment, as a Python object.

Method: Y.-H. Tang, G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import asdict
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from manymove import arguments, checkpoint
from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate
from manymove.dpd import model as fluid
from manymove.dpd.engine import SEGMENT, Engine, Stopped
from manymove.errors import ParameterError
from manymove.runs import Callbacks
from manymove.settings import Electrostatics, Forces, group
from manymove.simulation import PathLike, Simulation, counter, parameter
from manymove.tables import dataframe

if TYPE_CHECKING:
    import pandas

_ARRAYS = {"tags": np.int32} | dict.fromkeys(
    ("positions", "velocities", "forces", "records"), np.float64
)
_SETTINGS = {  # of the model, in a checkpoint
    "a", "gamma", "temperature", "cutoff", "weight_exponent", "timestep", "seed", "precision"
}  # fmt: skip
_OPTIONAL = {"charges": np.float64}  # of a checkpoint with charges
_LEAST_CHARGE = 1e-5  # that LAMMPS does not take for rounding
_LARGEST = 1e100  # of a number in a checkpoint: squares and sums are finite
_MOST_STEPS = 2**62  # LAMMPS counts steps with 63 bits


class DPDFluid(Simulation):
    """A fluid of dissipative particles of one kind in a periodic box, by velocity Verlet.

    LAMMPS runs in this process with `pair_style manymove/dpd` and `run_style manymove/verlet`, and
    writes no log. All quantities are in LAMMPS' lj units, in which mass and k_B are 1. The
    trajectory is a function of the arguments. Runs that are divided at multiples of 500 steps have
    the same bits as a single run; a division elsewhere, or Ctrl-C, changes the rounding of the
    following steps. There is no `energy_drift`, because friction and random forces exchange energy
    with the fluid. Instead, compare `temperature_average` with the set temperature. Equations are
    numbered as in Y.-H. Tang and G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014).

    Raises:
        ValueError: a bad box, number, shape, position or device, or a cutoff that is too long or
            too short for LAMMPS' neighbor lists of these particles.
        RuntimeError: LAMMPS or its plugin is not installed, mpirun has started several processes,
            or LAMMPS has stopped with an error.

    An object may be used by one thread at a time, and not in a forked process. Any other use raises
    a RuntimeError.
    """

    _KIND = "a fluid of dissipative particles"
    _SEGMENT = SEGMENT
    _COUNTER = "steps"
    _engine: Engine

    def __init__(
        self,
        positions: Any,
        box: tuple[float, float, float],
        *,
        seed: int,
        forces: Annotated[Forces | None, group(Forces)] = None,
        temperature: float = 1.0,
        timestep: Annotated[float, arguments.positive] = 0.01,
        velocities: Any = None,
        charges: Any = None,
        electrostatics: Annotated[Electrostatics | None, group(Electrostatics)] = None,
        record_every: Annotated[int, arguments.count] = 10,
        precision: str = "mixed",
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        """Create particles at positions.

        Args:
            positions: positions of the particles, (N, 3), in [-L/2, L/2], as an array or a list; or
                an integer N for random positions.
            box: edges (Lx, Ly, Lz), each at least twice the cutoff; the origin is at the center.
            seed: seed of the random number generator, an integer from 1 to 2**31 - 1.
            forces: forces of the particles, `Forces` (default Forces()).
            temperature: thermal energy kT of the random forces and of velocities that are drawn.
            timestep: length of a time step.
            velocities: velocities of the particles, (N, 3) (default drawn from the Maxwell
                distribution, without motion of the center of mass).
            charges: charges of the particles, (N,), with the sum 0 (default none).
            electrostatics: settings of the forces of charges (default Electrostatics() if there are
                charges).
            record_every: number of steps between two records of temperature, pressure and energy,
                which take time on a GPU.
            precision: floating-point precision, "mixed" or "double".
            device: "auto" (a GPU if there is one), "cpu" or "cuda".
            threads: number of threads of the CPU engine (default all cores).
        """
        self._settle(device, threads)
        model = self._model(
            **asdict(forces or Forces()),
            temperature=temperature,
            timestep=timestep,
            seed=seed,
            precision=precision,
        )
        every = record_every
        edges = _edges(box, model.cutoff)
        splitting = 0.0
        if charges is None and electrostatics is not None:
            raise ValueError("electrostatics is given without charges")
        if charges is not None:
            electrostatics = electrostatics or Electrostatics()
            number = isinstance(positions, Integral)
            shape = (int(positions),) if number else np.shape(positions)[:1]
            charges = _charges(charges, shape, model, edges, electrostatics)
            splitting = fluid.splitting_of(electrostatics, charges, edges)
        if isinstance(positions, Integral):
            if velocities is not None:
                raise ValueError("velocities need positions, not a number of particles")
            low, particles = np.zeros(3), arguments.count("N", positions)
            fluid.check_lists(model, particles, edges)
            start = fluid.at_random(particles, model.seed)
            engine = Engine(model, low, edges, every, 0, start, electrostatics, splitting)
        else:
            points, low = _points("positions", positions), -edges / 2
            _inside(points, edges)
            speeds = 0 * points if velocities is None else _points("velocities", velocities)
            if speeds.shape != points.shape:
                raise ValueError(f"{len(points)} positions, but {len(speeds)} velocities")
            fluid.check_lists(model, len(points), edges)
            engine = Engine(model, low, edges, every, 0, "", electrostatics, splitting)
            engine.create(np.arange(1, len(points) + 1), points, speeds)
        if velocities is None:
            engine.command(fluid.velocities(model))
        if charges is not None:
            engine.charge(charges)
        engine.set_up()
        self._take(engine, low, edges, every, electrostatics)

    def _take(
        self,
        engine: Engine,
        low: np.ndarray,
        edges: np.ndarray,
        every: int,
        electrostatics: Electrostatics | None,
    ) -> None:
        self._parameters |= {"low": low.tolist(), "box": edges.tolist(), "record_every": every}
        if electrostatics is not None:
            self._parameters["electrostatics"] = asdict(electrostatics)
        self._adopt(engine)

    def _settle(self, device: Any, threads: int | None) -> None:
        super()._settle(device, threads)
        if self._device not in ("cpu", "cuda:0"):
            raise ParameterError(
                "device",
                f'must be "auto", "cpu" or "cuda", got "{device}": LAMMPS takes the first '
                "GPU, and CUDA_VISIBLE_DEVICES selects another one",
            )

    def _model(self, **settings: Any) -> fluid.Model:
        model = fluid.Model(
            **settings, device=self._device.partition(":")[0], threads=self._threads
        )
        self._parameters = {name: asdict(model)[name] for name in settings}
        return model

    @classmethod
    def random(cls, N: int, density: float, *, seed: int, **options: Any) -> DPDFluid:
        """Create particles at random positions in a cube, as `manymove dpd` with the same seed.

        Args:
            N: number of particles.
            density: number density N / V.
            seed: seed of the positions, the velocities and the random forces.
            options: the other arguments of the class.

        Raises:
            ValueError, RuntimeError: an error of the class.
        """
        particles = arguments.count("N", N)
        edge = (particles / arguments.positive_and_finite("density", density)) ** (1 / 3)
        return cls(particles, (edge,) * 3, seed=seed, **options)

    @classmethod
    def from_gsd(cls, path: PathLike, frame: int = -1, *, seed: int, **options: Any) -> DPDFluid:
        """Create the particles of a frame of a GSD file, with their charges if there are any, and
        with their velocities unless all are zero.

        Args:
            path: path of a file with the schema of HOOMD-blue.
            frame: index of the frame; negative numbers count from the end.
            seed: seed of the random forces, and of velocities that are drawn.
            options: the other arguments of the class. Charges of the frame have no rounding of the
                file in their sum; `charges=None` leaves them out.

        Raises:
            FileNotFoundError, ValueError: an error of `manymove.io.read_frame` or of the class, or
                a mass that is not 1.
        """
        from manymove.io import read_frame

        found = read_frame(path, frame, dimensions=3)
        if (found.masses != 1).any():
            raise ValueError(f"{path}: all masses must be 1")
        if found.velocities.any():
            options = {"velocities": found.velocities, **options}
        if found.charges.any() or options.get("electrostatics") is not None:
            options = {"charges": _neutral(found.charges), **options}
        return cls(found.positions, found.box, seed=seed, **options)

    def run(self, steps: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run for a number of time steps.

        Args:
            steps: number of time steps, at least 0.
            callbacks: pairs (every, function). A function is called with this object whenever
                `steps` is a multiple of `every`. Callbacks do not affect the trajectory.
            progress: show a progress bar.

        Raises:
            TypeError: steps is not an integer, or callbacks are not pairs of an integer and a
                function.
            ValueError: steps is negative, or `every` is not positive.
            KeyboardInterrupt: Ctrl-C or SIGTERM, after the current step; the state is valid.
            RuntimeError: LAMMPS has stopped with an error; the object cannot be used afterwards.
        """
        end = self.steps + arguments.steps("steps", steps)
        with self._running(steps, callbacks, progress) as course:
            self._engine.call_every(course.intervals)
            while self.steps < end:
                started = time.perf_counter()
                try:
                    to = min(end, (self.steps // SEGMENT + 1) * SEGMENT)
                    self._engine.run_to(to, course.call)
                finally:
                    self._seconds += time.perf_counter() - started - self._engine.in_calls
                course.end_piece()

    # ---- properties ------------------------------------------------------------------------------

    steps: int = counter(0, "Number of time steps done.")
    a: float = parameter("a", "Maximum repulsion, a force.")
    gamma: float = parameter("gamma", "Friction coefficient, a force divided by a velocity.")
    set_temperature: float = parameter("temperature", "Thermal energy kT of the random forces.")
    cutoff: float = parameter("cutoff", "Range r_c of the forces.")
    weight_exponent: float = parameter("weight_exponent", "Exponent s of the weight functions.")
    timestep: float = parameter("timestep", "Length of a time step.")
    record_every: int = parameter("record_every", "Number of steps between two records.")
    precision: str = parameter("precision", 'Floating-point precision: "mixed" or "double".')

    @property
    def box(self) -> tuple[float, float, float]:
        """Edges (Lx, Ly, Lz) of the box."""
        x, y, z = self._parameters["box"]
        return x, y, z

    @property
    def positions(self) -> np.ndarray:
        """Positions of the particles, float64 (N, 3), in the order of the input, in [-L/2, L/2)."""
        edges = np.array(self.box)
        points = self._engine.by_number("x") - (self._parameters["low"] + edges / 2)
        points = np.where(points >= edges / 2, points - edges, points)
        return np.where(points < -edges / 2, points + edges, points)

    @property
    def points(self) -> np.ndarray:
        """`positions` as float32 (N, 3). With `box` they are a system of freud."""
        return self.positions.astype(np.float32)

    @property
    def charges(self) -> np.ndarray | None:
        """Charges of the particles, float64 (N,), in the order of the input; None without any."""
        return self._engine.charges() if self.electrostatics else None

    @property
    def electrostatics(self) -> Electrostatics | None:
        """Settings of the forces of charges; None without charges."""
        found = self._parameters.get("electrostatics")
        return None if found is None else Electrostatics(**found)

    @property
    def velocities(self) -> np.ndarray:
        """Velocities of the particles, float64 (N, 3), in the order of the input."""
        return self._engine.by_number("v")

    # ---- measurements ----------------------------------------------------------------------------

    @property
    def temperature(self) -> float:
        """Thermal energy kT of the present velocities, for 3 (N - 1) degrees of freedom."""
        return self._engine.measured()[0]

    @property
    def pressure(self) -> float:
        """Pressure of the present configuration, from velocities and the virial of all forces."""
        return self._engine.measured()[1]

    @property
    def energy(self) -> float:
        """Potential energy of all particles, in LAMMPS' unit of energy (kT at temperature 1)."""
        return self._engine.measured()[2]

    @property
    def charge_energy(self) -> float:
        """Energy of the charges, a part of `energy`; 0 without charges."""
        return sum(self._engine.measured()[3:])

    @property
    def records(self) -> np.ndarray:
        """Step, temperature, pressure and energy of each record, float64 (K, 4), since the
        start or since `reset_averages`. A checkpoint contains them."""
        return self._engine.records().copy()

    def to_dataframe(self) -> pandas.DataFrame:
        """`records` as a table of pandas with the columns `step`, `temperature`, `pressure` and
        `energy`, in LAMMPS' units lj.

        Raises:
            ImportError: pandas is not installed.
        """
        names = ("step", "temperature", "pressure", "energy")
        return dataframe(dict(zip(names, self.records.T, strict=True)))

    def reset_averages(self) -> None:
        self._engine.forget_records()

    @property
    def temperature_average(self) -> Estimate:
        """Mean of `temperature` over the records, with its standard error by blocking.

        Raises:
            RuntimeError: there is no record.
        """
        return self._average(1)

    @property
    def pressure_average(self) -> Estimate:
        """Mean of `pressure` over the records, with its standard error by blocking.

        Raises:
            RuntimeError: there is no record.
        """
        return self._average(2)

    @property
    def energy_average(self) -> Estimate:
        """Mean of `energy` over the records, with its standard error by blocking.

        Raises:
            RuntimeError: there is no record.
        """
        return self._average(3)

    @property
    def _measured(self) -> np.ndarray:
        return self._engine.records()[:, 2]  # of the pressure

    def _average(self, column: int) -> Estimate:
        values = self._engine.records()[:, column]
        if not values.size:
            raise RuntimeError(f"nothing measured yet: run {self.record_every} steps or more")
        return estimate(values)

    # ---- checkpoints -----------------------------------------------------------------------------

    def _contents(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {name: state[name] for name in (*_ARRAYS, *_OPTIONAL) if name in state}
        return {"measured": state["measured"]}, arrays

    def _present(self) -> dict[str, Any]:
        moving = {"velocities": self.velocities, "charges": self.charges}
        return {"positions": self.positions, "box": self.box, **moving}

    def _frame(self) -> Any:
        from manymove.io import make_frame

        velocities, charges = self.velocities, self.charges
        return make_frame(
            self.positions, self.box, self.steps, velocities=velocities, charges=charges
        )

    def _restore(self, path: PathLike, *options: Any) -> None:
        header, state = checkpoint.read(path, self._KIND, _ARRAYS, _OPTIONAL)
        with checkpoint.refused(path, self._KIND):
            settings = dict(header["parameters"])
            box, low, every = (settings.pop(name) for name in ("box", "low", "record_every"))
            charged = settings.pop("electrostatics", None)
            electrostatics = None if charged is None else Electrostatics(**charged)
            if settings.keys() != _SETTINGS:
                raise ValueError(f"it has the wrong parameters: {', '.join(settings)}")
            model = self._model(**settings)
            edges, low = _edges(box, model.cutoff), _numbers("low", low, 3)
            every = arguments.count("record_every", every)
            (step,) = header["counters"]
            if arguments.steps("steps", step) > _MOST_STEPS:
                raise ParameterError("steps", f"must be at most 2**62, got {step}")
            measured = _numbers("measured", header["measured"], 3 if charged is None else 4)
            state["measured"] = measured.tolist()
            _check_arrays(state, low, edges)
            splitting = 0.0
            if electrostatics is not None:
                charges = state["charges"]
                _charges(charges, state["tags"].shape, model, edges, electrostatics)
                splitting = fluid.splitting_of(electrostatics, charges, edges)
            fluid.check_lists(model, state["tags"].size, edges)
            self._given = checkpoint.decoded(header.get("settings"))
        try:
            engine = Engine(model, low, edges, every, step, "", electrostatics, splitting)
            engine.restore(state)
        except Stopped as error:
            raise ValueError(f"{path} is no checkpoint of {self._KIND}: {error}") from None
        self._take(engine, low, edges, every, electrostatics)


def _numbers(name: str, values: Any, count: int) -> np.ndarray:
    found = np.array([arguments.number(name, value) for value in values])
    if found.shape != (count,) or not (np.abs(found) < _LARGEST).all():
        raise ParameterError(name, f"must be {count} numbers below {_LARGEST:g}, got {values}")
    return found


def _neutral(charges: np.ndarray) -> np.ndarray:
    """Charges with the sum 0. The rounding of a file is shared among all charged particles, and a
    larger sum is left as it is."""
    rest, charged = charges.sum(), charges != 0
    if abs(rest) <= 1e-6 * np.abs(charges).sum():
        charges = charges - np.where(charged, rest / max(1, charged.sum()), 0)
    return charges


def _charges(
    values: Any,
    shape: tuple[int, ...],
    model: fluid.Model,
    edges: np.ndarray,
    forces: Electrostatics,
) -> np.ndarray:
    """Check charges, float64 (N,), and that the box and LAMMPS' lists have room for them."""
    try:
        charges = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError("charges", f"must be an array of shape (N,): {error}") from None
    if charges.shape != shape:
        raise ParameterError("charges", f"must have shape {shape}, got {charges.shape}")
    if not np.isfinite(charges).all() or not charges.any():
        raise ParameterError("charges", "must be finite, and at least one not 0")
    if abs(charges.sum()) > _LEAST_CHARGE:
        raise ParameterError("charges", f"must have the sum 0, got {charges.sum():g}")
    if (edges < 2 * forces.cutoff).any():
        raise ValueError(
            f"box must be at least twice the cutoff of charges {forces.cutoff:g} along each axis, "
            f"got {tuple(edges.tolist())}; charges=None leaves the charges out"
        )
    fluid.check_neighbors(model, forces.cutoff, int(np.count_nonzero(charges)), edges)
    return charges


def _check_arrays(state: dict[str, Any], low: np.ndarray, edges: np.ndarray) -> None:
    """Refuse arrays of a checkpoint that a fluid cannot have."""
    tags, records = state["tags"], state["records"]
    if tags.ndim != 1 or (np.sort(tags) != np.arange(1, tags.size + 1)).any():
        raise ValueError("the tags of the particles have gaps")
    for name in ("positions", "velocities", "forces"):
        points = _points(name, state[name])
        if len(points) != tags.size:
            raise ValueError(f"it has {len(points)} {name} for {tags.size} particles")
        if not (np.abs(points) < _LARGEST).all():
            raise ParameterError(name, f"must be below {_LARGEST:g}")
    # Particles leave the box until they are sorted again. LAMMPS moves them back by one edge at a
    # time, which takes forever if they are far away.
    far = (np.abs(state["positions"] - (low + edges / 2)) > edges).any(axis=1)
    if not (np.abs(low) <= edges).all() or far.any():
        raise ValueError(f"positions are far outside the box, which begins at {low.tolist()}")
    if records.shape[1:] != (4,) or not (np.abs(records) < _LARGEST).all():
        raise ValueError(
            f"records of shape {records.shape} are not below {_LARGEST:g} or not of shape (n, 4)"
        )


def _edges(box: Iterable[float], cutoff: float) -> np.ndarray:
    edges = arguments.edges(box, 3)
    if not all(2 * cutoff <= edge < math.inf for edge in edges):
        raise ValueError(
            f"box must be finite and at least twice the cutoff {cutoff:g} along each axis, got "
            f"{edges}"
        )
    return np.array(edges)


def _inside(points: np.ndarray, edges: np.ndarray) -> None:
    outside = np.flatnonzero((np.abs(points) > edges / 2).any(axis=1))
    if outside.size:
        remedy = ": subtract box / 2" if ((points >= 0) & (points <= edges)).all() else ""
        raise ValueError(
            f"particle {outside[0]} is outside the box: {points[outside[0]].tolist()}, where the "
            f"edges are {edges.tolist()} and the origin is the center{remedy}"
        )


def _points(name: str, values: Any) -> np.ndarray:
    try:
        points = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ParameterError(name, f"must be an array of shape (N, 3): {error}") from None
    if points.ndim != 2 or points.shape[1] != 3 or not len(points):
        raise ParameterError(name, f"must have shape (N, 3), got {points.shape}")
    if not np.isfinite(points).all():
        wrong = int(np.argmax(~np.isfinite(points).all(axis=1)))
        raise ParameterError(
            name, f"must be finite, got {points[wrong].tolist()} of particle {wrong}"
        )
    return points
