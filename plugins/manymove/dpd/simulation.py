# SPDX-License-Identifier: BSD-3-Clause
"""Dissipative particle dynamics in the LAMMPS of this environment, as a Python object.

Method: Y.-H. Tang, G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014).
"""

from __future__ import annotations

import html
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from manymove import arguments, checkpoint, devices
from manymove.analysis.pressure import PressureEstimate, estimate
from manymove.dpd import fluid
from manymove.jobs.progress import StopRequest
from manymove.jobs.world import require_one_process, run_concurrently
from manymove.lammps import host

_KIND = "a fluid of dissipative particles"  # of checkpoints
_ARRAYS = {
    "tags": np.int32,
    "positions": np.float64,
    "velocities": np.float64,
    "forces": np.float64,
    "records": np.float64,
}
# LAMMPS gives the particles to the engine at multiples of so many steps, which changes the rounding
# of positions and of sums. That must not depend on the speed of a machine.
SEGMENT = 500


class DPDFluid:
    """A fluid of dissipative particles of one kind in a periodic box, by velocity Verlet.

    LAMMPS runs in this process with `pair_style manymove/dpd` and `run_style manymove/verlet`, and
    writes no log. Units are LAMMPS' lj units: mass and k_B are 1. The trajectory is a function of
    the arguments. Runs that are cut at multiples of 500 steps have the same bits as a single run;
    a cut elsewhere, or Ctrl-C, changes the rounding of the steps that follow. There is no
    `energy_drift`, because friction and random forces exchange energy with the fluid: compare
    `temperature_average` with the temperature that was set.

    Args:
        positions: float (N, 3), in [-L/2, L/2], an array or a list; or an integer N for random
            places.
        box: (Lx, Ly, Lz), at least twice the cutoff each; the origin is at the center.
        velocities: float (N, 3); by default drawn from the Maxwell distribution, without motion of
            the center of mass.
        a: height of the repulsion, a force (Eq. 3).
        gamma: friction coefficient, a force over a velocity (Eq. 4).
        temperature: kT of the random forces, and of the velocities that are drawn.
        cutoff: r_c, the range of the forces.
        weight_exponent: s of the weight functions (Eq. 8).
        timestep_length: length of a time step.
        record_every: steps between two records of temperature, pressure and energy. Reading them
            takes time on a GPU.
        precision: "mixed" or "double".
        seed: an integer from 1 to 2**31 - 1.
        device: "auto" (a GPU if there is one), "cpu" or "cuda".
        threads: number of threads of the CPU engine; default all cores.

    Raises:
        ValueError: a bad box, number, shape, position or device.
        RuntimeError: LAMMPS or its plugin is not installed, or mpirun started several processes, or
            LAMMPS stopped with an error.

    An object must not be used by several threads at the same time; different objects may be.
    """

    def __init__(
        self,
        positions: Any,
        box: tuple[float, float, float],
        *,
        velocities: Any = None,
        a: float = 25.0,
        gamma: float = 4.5,
        temperature: float = 1.0,
        cutoff: float = 1.0,
        weight_exponent: float = 1.0,
        timestep_length: float = 0.01,
        record_every: int = 10,
        precision: str = "mixed",
        seed: int,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        arguments.positive("timestep_length", timestep_length)
        model = fluid.Model(
            a, gamma, temperature, cutoff, weight_exponent, timestep_length, seed, precision,
            *_device(device), threads,
        )  # fmt: skip
        edges = _edges(box, model.cutoff)
        if isinstance(positions, Integral):
            if velocities is not None:
                raise ValueError("velocities need positions, not a number of particles")
            self._start(model, [0.0] * 3, edges, record_every, arguments.count("N", positions))
        else:
            points = _points("positions", positions)
            outside = np.flatnonzero((np.abs(points) > edges / 2).any(axis=1))
            if outside.size:
                raise ValueError(
                    f"position {outside[0]} is {points[outside[0]]}, outside [-L/2, L/2]; subtract "
                    "L / 2 from positions in [0, L)"
                )
            speeds = 0 * points if velocities is None else _points("velocities", velocities)
            if speeds.shape != points.shape:
                raise ValueError(f"{len(points)} positions, but {len(speeds)} velocities")
            self._start(model, -edges / 2, edges, record_every)
            self._create(np.arange(1, len(points) + 1), points, speeds)
        if velocities is None:
            self._command(fluid.velocities(model))
        self._set_up()

    @classmethod
    def random(cls, N: int, density: float, *, seed: int, **options: Any) -> DPDFluid:
        """Particles at random places in a cube, the start of `manymove dpd` with the same seed.

        Args:
            N: number of particles.
            density: N / V.
            seed: seed of the places, the velocities and the random forces.
            options: the other arguments of the class.
        """
        particles = arguments.count("N", N)
        edge = (particles / arguments.positive_and_finite("density", density)) ** (1 / 3)
        return cls(particles, (edge,) * 3, seed=seed, **options)

    @classmethod
    def from_gsd(
        cls, path: str | os.PathLike[str], frame: int = -1, *, seed: int, **options: Any
    ) -> DPDFluid:
        """The particles of one frame of a GSD file, with their velocities unless all are zero.

        Args:
            path: a file of HOOMD-blue's schema.
            frame: index of the frame; negative numbers count from the end.
            seed: seed of the random forces, and of velocities that are drawn.
            options: the other arguments of the class.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no GSD file, has no such frame, a box that is tilted or flat, or
                masses other than 1.
        """
        import gsd.hoomd

        path = os.fspath(path)
        try:
            with gsd.hoomd.open(path, "r") as trajectory:
                found = trajectory[frame]
        except OSError:
            raise
        except Exception as error:  # of many types, for a damaged file
            raise ValueError(f"{path}: frame {frame} cannot be read ({error})") from error
        *edges, xy, xz, yz = (float(x) for x in found.configuration.box)
        if xy or xz or yz or not all(edges):
            raise ValueError(f"{path}: the box must be rectangular and three-dimensional")
        if (found.particles.mass != 1).any():
            raise ValueError(f"{path}: all masses must be 1")
        if found.particles.velocity.any():
            options = {"velocities": found.particles.velocity, **options}
        return cls(found.particles.position, edges, seed=seed, **options)

    def _start(
        self,
        model: fluid.Model,
        low: Iterable[float],
        edges: Iterable[float],
        record_every: int,
        particles: int = 0,
        step: int = 0,
    ) -> None:
        """LAMMPS with its commands, with so many particles at random places."""
        self._model, self._low, self._box = model, tuple(map(float, low)), tuple(map(float, edges))
        self._record_every = arguments.count("record_every", record_every)
        require_one_process("manymove.DPDFluid", "manymove dpd --ranks starts LAMMPS on several")
        self._N, self._seconds, self._failed = particles, 0.0, ""
        self._earlier = np.empty((0, 4))  # records
        self._known: tuple[int, list[float]] | None = None  # a step and its measured quantities
        self._library = host.start()
        self._table = tempfile.NamedTemporaryFile("r", prefix="manymove-")
        self._command(
            fluid.UNITS
            + fluid.box(self._low, self._box)
            + (fluid.at_random(particles, model.seed) if particles else "")
            + f"thermo 0\nreset_timestep {step}\n"
            + fluid.motion(model)
            + fluid.records(self._record_every, self._table.name)
        )

    def _create(self, tags: np.ndarray, places: np.ndarray, velocities: np.ndarray) -> None:
        self._N = tags.size
        lists = (array.ravel().tolist() for array in (places, velocities))
        self._lammps.create_atoms(self._N, tags.tolist(), [1] * self._N, *lists)
        made = self._lammps.get_natoms()
        if made != self._N:
            raise RuntimeError(f"LAMMPS has made {made:.0f} of {self._N} particles")

    def _set_up(self, forces: np.ndarray | None = None) -> None:
        """LAMMPS computes the forces at the velocities of the full step, while those within a run
        are at velocities of the half step; these may be given, by particle."""
        self._earlier = self.records
        self._command("run 0 post no")
        self._table.read()  # a record of forces that are not those of a run
        self._command("atom_modify sort 0 0")  # the engine's sums depend on the order
        if forces is not None:
            array, tags = self._array("f"), self._array("id")
            array[:] = forces[tags - 1]

    # ---- running ---------------------------------------------------------------------------------

    def run(
        self,
        steps: int,
        callback: Callable[[DPDFluid], None] | None = None,
        *,
        progress: bool = False,
    ) -> None:
        """Run for a number of time steps.

        Args:
            steps: at least 0.
            callback: called with this object whenever `steps` is a multiple of 500, and at the end.
            progress: show a progress bar.

        Raises:
            TypeError: steps is not an integer.
            ValueError: steps is negative.
            KeyboardInterrupt: on Ctrl-C or SIGTERM, after the step that is under way; the state is
                valid.
            RuntimeError: LAMMPS stopped with an error; the object cannot be used afterwards.
        """
        from tqdm.auto import tqdm

        first = self.steps
        end = first + arguments.steps("steps", steps)
        about = {"desc": "DPDFluid", "unit": " steps", "unit_scale": True}
        with tqdm(total=steps, disable=not progress, **about) as bar:
            while self.steps < end:
                stop = min(end, (self.steps // SEGMENT + 1) * SEGMENT)
                self._run_to(stop, lambda: bar.update(min(self.steps, end) - first - bar.n))
                if callback is not None:
                    callback(self)

    def _run_to(self, end: int, show: Callable[[], Any]) -> None:
        started, first, lmp = time.perf_counter(), self.steps, self._lammps

        def look() -> None:
            show()
            if stop.requested:
                lmp.force_timeout()  # ends the run after the step that is under way

        try:
            with StopRequest() as stop:
                command = f"run {end} upto pre no post no"
                run_concurrently([lambda: self._command(command)], 1, stop, look)
        finally:
            self._seconds += time.perf_counter() - started
            if not self._failed:
                self._command("timer timeout off")
                if first < self.steps < end:  # LAMMPS has not summed the virial there
                    self._set_up(self._by_tag("f"))
        if stop.requested:
            raise KeyboardInterrupt

    def _command(self, text: str) -> None:
        try:
            self._lammps.commands_string(text)
        except RuntimeError:
            raise
        except Exception as error:  # LAMMPS' own
            self._failed = str(error).partition("\n")[0].removeprefix("ERROR: ")
            raise RuntimeError(f"LAMMPS: {self._failed}") from None

    @property
    def _lammps(self) -> Any:
        if self._failed:
            raise RuntimeError(f"LAMMPS has stopped ({self._failed}): load a checkpoint")
        return self._library

    # ---- what it is ------------------------------------------------------------------------------

    @property
    def settings(self) -> fluid.Model:
        """The parameters of the fluid and of the engine."""
        return self._model

    @property
    def N(self) -> int:
        """Number of particles."""
        return self._N

    @property
    def box(self) -> tuple[float, ...]:
        """(Lx, Ly, Lz)."""
        return self._box

    @property
    def seed(self) -> int:
        """Seed of the random number generator."""
        return self._model.seed

    @property
    def device(self) -> str:
        """ "cpu" or "cuda:0"."""
        return devices.resolve(self._model.device)

    @property
    def device_name(self) -> str:
        """The GPU's name, or the CPU's SIMD level and the number of threads."""
        return devices.device_name(self.device, self.threads)

    @property
    def threads(self) -> int:
        """Number of threads of the CPU engine; 1 on a GPU."""
        return self._model.threads if self.device == "cpu" else 1

    @property
    def seconds(self) -> float:
        """Wall time of the runs since this object was made or loaded."""
        return self._seconds

    @property
    def steps(self) -> int:
        """Number of time steps done."""
        return int(self._library.extract_global("ntimestep"))

    @property
    def timestep(self) -> int:
        """`steps`, under the name that the classes share."""
        return self.steps

    @property
    def positions(self) -> np.ndarray:
        """float64 (N, 3), in the order of the input, in [-L/2, L/2)."""
        edges = np.array(self._box)
        points = self._by_tag("x") - (self._low + edges / 2)
        return np.where(points >= edges / 2, points - edges, points)

    @property
    def velocities(self) -> np.ndarray:
        """float64 (N, 3), in the order of the input."""
        return self._by_tag("v")

    def _array(self, name: str) -> np.ndarray:
        """LAMMPS' own, without ghosts."""
        return self._lammps.numpy.extract_atom(name)[: self._N]

    def _by_tag(self, name: str) -> np.ndarray:
        array = np.empty((self._N, 3))
        array[self._array("id") - 1] = self._array(name)
        return array

    def _described(self) -> dict[str, str]:
        return {
            "N": str(self.N),
            "box": " x ".join(f"{edge:.6g}" for edge in self.box),
            "steps": str(self.steps),
            "device": self.device,
        }

    def __repr__(self) -> str:
        described = ", ".join(f"{name} = {value}" for name, value in self._described().items())
        return f"<{type(self).__name__}: {described}>"

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>"
            for name, value in {**self._described(), "device": self.device_name}.items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{''.join(rows)}</table>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("DPDFluid objects cannot be copied or pickled: use save() and load()")

    # ---- measurements ----------------------------------------------------------------------------

    def _measured(self) -> list[float]:
        """Temperature, pressure and potential energy, now."""
        if self._known is not None and self._known[0] == self.steps:
            return self._known[1]
        temperature, pressure, energy = map(self._lammps.get_thermo, ("temp", "press", "pe"))
        return [temperature, pressure, energy * self._N]

    @property
    def temperature(self) -> float:
        """kT from the present velocities, for 3 (N - 1) degrees of freedom."""
        return self._measured()[0]

    @property
    def pressure(self) -> float:
        """Pressure of the present configuration, from velocities and the virial of all forces."""
        return self._measured()[1]

    @property
    def energy(self) -> float:
        """Potential energy of all particles, in LAMMPS' unit, which is kT at temperature 1."""
        return self._measured()[2]

    @property
    def records(self) -> np.ndarray:
        """float64 (K, 4): step, temperature, pressure and energy of each record, since this object
        was made or `reset_averages` was called."""
        lines = (line.split(",") for line in self._table if line[0].isdigit())
        new = np.array([[float(word) for word in words] for words in lines]).reshape(-1, 4)
        new[:, 3] *= self._N
        self._earlier = np.concatenate([self._earlier, new])
        return self._earlier.copy()

    def reset_averages(self) -> None:
        """Forget the records, after equilibration for instance."""
        self._earlier = self.records[:0]

    @property
    def temperature_average(self) -> PressureEstimate:
        """Mean of `temperature` over the records, with its blocking error.

        Raises:
            RuntimeError: (as for the averages below) there is no record.
        """
        return self._average(1)

    @property
    def pressure_average(self) -> PressureEstimate:
        """Mean of `pressure` over the records, with its blocking error."""
        return self._average(2)

    @property
    def energy_average(self) -> PressureEstimate:
        """Mean of `energy` over the records, with its blocking error."""
        return self._average(3)

    def _average(self, column: int) -> PressureEstimate:
        records = self.records
        if not len(records):
            raise RuntimeError(f"there is no record: run {self._record_every} steps or more")
        return estimate(records[:, column])

    # ---- checkpoints -----------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, keep_previous: bool = False) -> None:
        """Write a checkpoint; the file is replaced only when the new one is on the disk.

        It contains everything that the trajectory depends on, and the records. It is not a restart
        file of LAMMPS, which has no forces and therefore changes the trajectory.

        Args:
            path: path of the file.
            keep_previous: keep the replaced file as ``<path>.previous``.

        Raises:
            OSError: the file cannot be written; the old one is still there.
        """
        model = asdict(self._model)
        del model["device"], model["threads"]
        header = {
            "parameters": model,
            "box": self._box,
            "low": self._low,
            "record_every": self._record_every,
            "steps": self.steps,
            "measured": self._measured(),
        }
        arrays = dict(zip(_ARRAYS, map(self._array, ("id", "x", "v", "f")), strict=False))
        checkpoint.write(
            path, _KIND, header, keep_previous=keep_previous, **arrays, records=self.records
        )

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], device: str = "auto", threads: int | None = None
    ) -> DPDFluid:
        """Continue from a checkpoint: the same trajectory, bit for bit, with any number of threads,
        and with ``precision="double"`` on any device.

        Args:
            path: path of the file.
            device, threads: as for the class.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no checkpoint of such a fluid, or a damaged one.
            RuntimeError: as for the class.
        """
        self = cls.__new__(cls)
        (kind,) = _device(device)
        header, arrays = checkpoint.read(path, _KIND, _ARRAYS)
        with checkpoint.refused(path, _KIND):
            model = fluid.Model(**header["parameters"], device=kind, threads=threads)
            tags, *columns, records = (arrays[name] for name in _ARRAYS)
            if (np.sort(tags) != np.arange(1, tags.size + 1)).any():
                raise ValueError("the tags have gaps")
            columns = [_points("an array", column) for column in columns]
            if any(len(column) != tags.size for column in columns) or records.shape[1:] != (4,):
                raise ValueError("arrays of different lengths")
            step = arguments.steps("steps", header["steps"])
            edges, low = _edges(header["box"], model.cutoff), [float(x) for x in header["low"]]
            measured = [float(x) for x in header["measured"]]
        self._start(model, low, edges, header["record_every"], step=step)
        self._command("atom_modify sort 0 0")
        places, velocities, forces = columns
        self._create(tags, places, velocities)
        self._set_up(forces[np.argsort(tags)])
        self._earlier, self._known = records, (step, measured)
        return self


def _device(device: str) -> list[str]:
    """What `fluid.Model` calls it."""
    if devices.resolve(device) not in ("cpu", "cuda:0"):
        raise ValueError(
            f'device must be "auto", "cpu" or "cuda", got "{device}": LAMMPS takes the first GPU, '
            "and CUDA_VISIBLE_DEVICES selects another one"
        )
    return devices.resolve(device).split(":")[:1]


def _edges(box: Iterable[float], cutoff: float) -> np.ndarray:
    edges = arguments.edges(box, 3)
    if not all(2 * cutoff <= edge < math.inf for edge in edges):
        raise ValueError(
            f"box must be finite and at least twice the cutoff {cutoff:g} along each axis, got "
            f"{tuple(box)}"
        )
    return np.array(edges)


def _points(name: str, values: Any) -> np.ndarray:
    try:
        points = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of shape (N, 3): {error}") from None
    if points.ndim != 2 or points.shape[1] != 3 or not len(points):
        raise ValueError(f"{name} must have shape (N, 3), got {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite")
    return points
