"""The common base of `HardDisks`, `HardSpheres`, `Electrolyte`, `Adsorption` and `DPDFluid`."""

from __future__ import annotations

import copy
import dataclasses
import html
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from manymove import arguments, checkpoint, devices, files
from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate
from manymove.analysis.stopping import is_reached
from manymove.attributes import CheckedAttributes, Uncopied
from manymove.checkpoint import PathLike
from manymove.exclusive import Exclusive
from manymove.runs import Call, Callbacks, Course, checked
from manymove.settings import Group, declare

S = TypeVar("S", bound="Simulation")
T = TypeVar("T")

# Arguments that say where an object runs. For a checkpoint they are arguments of `load`.
_PLACE = {"device", "threads", "comm"}
# Arguments that a checkpoint has as its state.
_STATE = {"positions", "velocities", "diameter", "pinned", "fields", "steps"}
_STATE |= {"charges", "ions", "boundary", "molecules"}


def parameter(name: str, doc: str, where: str = "_parameters") -> Any:
    """A property for an entry of the dictionary `where` of an object."""
    return property(lambda self: getattr(self, where)[name], doc=doc)


def counter(index: int, doc: str) -> Any:
    """A property for one of the counters of an object's engine."""
    return property(lambda self: self._engine.counters[index], doc=doc)


def of_engine(name: str, doc: str) -> Any:
    """A property for an attribute of an object's engine."""
    return property(lambda self: getattr(self._engine, name), doc=doc)


INTERRUPTED: ContextVar[Callable[[], bool] | None] = ContextVar("interrupted", default=None)


@contextmanager
def interruptible(interrupted: Callable[[], bool]) -> Iterator[None]:
    """A context in which a simulation that takes long to be created asks a function, about every
    twentieth of a second, whether it shall stop.

    Args:
        interrupted: function of the calling thread; if it returns True, the creation of the
            simulation raises KeyboardInterrupt.
    """
    token = INTERRUPTED.set(interrupted)
    try:
        yield
    finally:
        INTERRUPTED.reset(token)


def _copied(value: Any) -> Any:
    """An argument of a class that later changes of the caller's object do not affect."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Group):
        copies = {name: _copied(each) for name, each in vars(value).items()}
        return dataclasses.replace(value, **copies)  # type: ignore[type-var]
    return copy.deepcopy(value) if isinstance(value, (list, dict)) else value


def _nothing() -> None:
    """The check of the ranks of a run on one rank, and the progress of a run without a bar."""


class _Output:
    """A GSD file to which a callback appends frames.

    Args:
        writer: writer of the file; None on all ranks but the first.
        frame: function that returns the frame of a simulation.
    """

    def __init__(self, writer: Any, frame: Callable[[Any], Any]) -> None:
        self._writer = writer
        self._frame = frame

    def __call__(self, simulation: Simulation) -> None:
        frame = self._frame(simulation)
        simulation._once(lambda: self._writer.write(frame))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class Simulation(Uncopied, CheckedAttributes, ABC):
    """An engine on a device and its parameters; a base class that is not for separate use.

    Assignment to an attribute that does not exist, or cannot change, raises an AttributeError.

    A subclass defines `_KIND`, the kind of its checkpoints, `_COUNTER`, its own name of `elapsed`,
    and `_several`, whether several GPUs can share a chain.
    """

    _KIND: ClassVar[str]
    _COUNTER: ClassVar[str]
    _several: ClassVar[bool] = False
    _SEGMENT: ClassVar[int] = 1  # a run may end at its multiples without another trajectory
    _of_kind: ClassVar[dict[str, type[Simulation]]] = {}
    _parameters: dict[str, Any]
    _given: dict[str, Any] | None  # arguments of the class
    _outputs: dict[str, tuple[int, _Output]]  # GSD files of the following runs
    _after_piece: Callable[[Any], None] | None = None  # a job checks the time in it
    _longer = 1.0  # than in other runs, the pieces of this one
    _least = 1  # length of a piece, unless the run ends before
    _is_loaded = False
    _quiet = False  # whether another rank shows the progress
    _is_running = False
    box: Any

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        declare(cls)
        if "_KIND" in cls.__dict__:
            cls._of_kind[cls._KIND] = cls

    def __new__(cls: type[S], *given: Any, **named: Any) -> S:
        self = super().__new__(cls)
        self._given = None
        self._outputs = {}
        try:
            bound = inspect.signature(cls.__init__).bind(self, *given, **named)
        except TypeError:  # which the class raises as well, unless the object is loaded
            return self
        bound.apply_defaults()
        arguments_of_class = list(bound.arguments.items())[1:]  # without self
        self._given = {name: _copied(value) for name, value in arguments_of_class}
        return self

    def _settle(self, device: Any, threads: int | None) -> None:
        """Choose the device, or several GPUs if the engine supports it, and the threads."""
        self._device = devices.resolve(device, self._several)
        self._threads = devices.thread_count(threads)

    def _where(self) -> tuple[dict[str, Any], str, int]:
        """The last arguments of the functions that make an engine."""
        return self._parameters, self._device, self._threads

    @property
    def _engine(self) -> Any:
        return self._exclusive

    @_engine.setter
    def _engine(self, engine: Any) -> None:
        self._exclusive = Exclusive(engine, type(self).__name__)

    def _adopt(self, engine: Any) -> None:
        self._engine = engine
        self._restart_clock()

    def _restart_clock(self) -> None:
        self._seconds = 0.0
        self._pace = 0.0  # cycles, sweeps or steps per second in the last piece

    def _join(self, group: Any) -> bool:
        """Share launches with the other simulations of a group, or no longer with None. Returns
        whether they are shared."""
        return False

    # ---- running ---------------------------------------------------------------------------------

    @abstractmethod
    def run(self, n: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run for a number of sweeps or steps."""

    def run_until(self, n: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run until n sweeps or steps have been made since the start of the simulation. The method
        returns at once if they have been, so that a script that continues from a checkpoint can
        make the same calls again.

        Args:
            n: number of sweeps or steps since the start, at least 0.
            callbacks, progress: as in `run`.

        Raises:
            TypeError, ValueError, KeyboardInterrupt: as in `run`.
        """
        end = self._end_of(arguments.steps("n", n))
        self.run(max(0, end - self.elapsed), callbacks, progress=progress)

    def _end_of(self, n: int) -> int:
        """The counter at which `run_until` ends."""
        return n

    def _end_after(self, n: int) -> int:
        """The counter at which `run` ends."""
        return self.elapsed + n

    def _equilibrate_until(self, n: int, callbacks: Callbacks) -> None:
        """Run an equilibration to its end, and discard its samples."""
        self.run_until(n, callbacks)
        self.reset_averages()

    @contextmanager
    def _running(self, length: float, callbacks: Callbacks, progress: bool) -> Iterator[Course]:
        """A run of this length, during which no other thread can use the object. With `progress`
        a bar on the standard error or in the notebook shows the counter."""
        calls: list[Call] = [*checked(callbacks), *self._outputs.values()]
        with self._exclusive:
            if self._is_running:
                raise RuntimeError("a callback cannot run the object that calls it")
            self._is_running = True
            try:
                bar = self._bar(length) if progress else nullcontext(_nothing)
                with self._on_ranks(calls) as check, bar as show:
                    yield Course(self, calls, show, check)
            finally:
                self._is_running = False

    @contextmanager
    def _bar(self, length: float) -> Iterator[Callable[[], object]]:
        """A progress bar, and the function that updates it."""
        from tqdm.auto import tqdm

        unit, first = self._COUNTER, self.elapsed
        words = {"desc": type(self).__name__, "unit": f" {unit}"}
        with tqdm(total=length, unit_scale=True, disable=self._quiet, **words) as bar:
            yield lambda: bar.update(min(self.elapsed - first, length) - bar.n)

    def _on_ranks(self, calls: Sequence[Call]) -> AbstractContextManager[Callable[[], None]]:
        """A run of all ranks that share the system, and the function that raises KeyboardInterrupt
        on all of them after Ctrl-C on one."""
        return nullcontext(_nothing)

    def _together(self, task: Callable[[], T]) -> T:
        """The result of a task, which all ranks call. An error of one rank is raised on all."""
        return task()

    def _once(self, task: Callable[[], T]) -> T | None:
        """The result of a task on the first rank; None on the others."""
        return task()

    def _is_reached(self, target: float) -> bool:
        """Whether the run may stop, because the measured average has this relative error.

        Raises:
            RuntimeError: nothing is sampled.
        """
        return is_reached(self._measured, target, self._average_of)

    @property
    def _measured(self) -> np.ndarray:
        """The records of the average whose error can end a run."""
        raise NotImplementedError

    def _average_of(self, records: np.ndarray) -> Estimate:
        return estimate(records)

    @abstractmethod
    def reset_averages(self) -> None:
        """Discard all samples and records, for example after the equilibration. Sampling continues
        with the same settings."""

    # ---- settings --------------------------------------------------------------------------------

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the class: ``type(x)(**x.settings)`` makes this object as it was at the
        start. For an object from a checkpoint the configuration is the present one, from which the
        counter of hard particles and ions continues. Arrays on a device are those that were given,
        and not copies.

        Raises:
            RuntimeError: the object is from a checkpoint of another version, which does not have
                these settings.
        """
        if self._given is None:
            raise RuntimeError("the checkpoint of this object does not have its settings")
        present = {**self._present(), **self._continued()} if self._is_loaded else {}
        return {name: _copied(value) for name, value in {**self._given, **present}.items()}

    def replace(self: S, **changes: Any) -> S:
        """Create an object with the present configuration and other settings, for example for a
        scan of a parameter.

        The counter of the new object continues from the present one if the class has an argument
        for its first value. Averages, sampling and the output of GSD files are not taken over.

        Args:
            changes: arguments of the class.

        Raises:
            TypeError: the class has no such argument.
            RuntimeError, ValueError: an error of `settings` or of the class.
        """
        settings = {**self.settings, **self._present(), **self._continued()}
        for name in changes.keys() - settings.keys():
            raise TypeError(f"{type(self).__name__} has no argument {name}")
        return type(self)(**{**settings, **changes})

    @abstractmethod
    def _present(self) -> dict[str, Any]:
        """The arguments of the class that describe the present configuration."""

    def _kept(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the class that a checkpoint stores, besides its state."""
        return {name: value for name, value in given.items() if name not in _PLACE | _STATE}

    def _continued(self) -> dict[str, Any]:
        """The arguments of the class with which the counter continues, if it has them."""
        return {}

    # ---- trajectories ----------------------------------------------------------------------------

    def write_gsd(
        self, path: PathLike | None, every: int | None = None, *, overwrite: bool = False
    ) -> None:
        """Write the present configuration to a GSD file, or the configurations of the following
        runs.

        Frames have the schema of HOOMD-blue and the step `elapsed`, and `from_gsd` reads them. As
        by a writer of HOOMD-blue, they are appended to an existing file. Output does not affect the
        trajectory, and checkpoints do not contain its settings.

        Args:
            path: path of the file; None ends the output of all files with `every`.
            every: number of cycles, sweeps or steps: a frame is written in the following runs
                whenever `elapsed` is a multiple of it. By default one frame is written at once.
            overwrite: replace an existing file.

        Raises:
            OSError: the file cannot be written.
            ValueError: `every` is not positive, or the file is not a GSD file.
            TypeError: `every` is not an integer.
        """
        self._write_gsd(path, every, overwrite, lambda simulation: simulation._frame())

    def _write_gsd(
        self, path: PathLike | None, every: int | None, overwrite: bool, frame: Callable[[Any], Any]
    ) -> None:
        from manymove.io import FrameWriter

        if path is None:
            for _, output in self._outputs.values():
                output.close()
            self._outputs.clear()
            return
        every = None if every is None else arguments.count("every", every)
        where = str(Path(path).absolute())
        if where in self._outputs:
            self._outputs.pop(where)[1].close()
        output = _Output(
            self._once(lambda: FrameWriter(path, resume=not overwrite, overwrite=overwrite)), frame
        )
        if every is not None:
            self._outputs[where] = (every, output)
            return
        try:
            output(self)
        finally:
            output.close()

    @abstractmethod
    def _frame(self) -> Any:
        """The present configuration as a `gsd.hoomd.Frame`."""

    # ---- what it is ------------------------------------------------------------------------------

    def _place(self) -> dict[str, str]:
        """The box or its equivalent, for `repr`."""
        return {"box": " x ".join(f"{edge:.6g}" for edge in self.box)}

    def _described(self) -> dict[str, str]:
        """The quantities that `repr` and notebooks show."""
        counter = {self._COUNTER: str(self.elapsed)}
        return {"N": str(self.N), **self._place(), **counter, "device": self.device}

    def __repr__(self) -> str:
        described = ", ".join(f"{name} = {value}" for name, value in self._described().items())
        return f"<{type(self).__name__}: {described}>"

    def _repr_html_(self) -> str:
        described = {**self._described(), "device": f"{self.device}, {self.device_name}"}
        row = "<tr><th>{}</th><td>{}</td></tr>".format
        rows = "".join(row(name, html.escape(value)) for name, value in described.items())
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"

    seed: int = parameter("seed", "Seed of the random number generator.")

    @property
    def device(self) -> str:
        """Name of the device: "cpu", "cuda:<index>", or "cuda:<index>,<index>..." for several
        GPUs."""
        return self._device

    @property
    def device_name(self) -> str:
        """Name of the GPU (and the number of GPUs if there are several), or the SIMD level and the
        number of threads of the CPU."""
        return devices.device_name(self._device, self.threads)

    @property
    def threads(self) -> int:
        """Number of threads of the CPU engine; 1 on a GPU."""
        return self._threads if self._device == "cpu" else 1

    N: int = of_engine(
        "particles", "Number of particles: disks, ions, or molecules of all systems together."
    )
    elapsed: int = counter(
        0, "Number of `cycles`, `sweeps` or `steps` so far, for code that serves all classes."
    )

    @property
    def seconds(self) -> float:
        """Wall time of all runs since this object was made or loaded, in seconds, without
        callbacks."""
        return self._seconds

    @property
    def state_hash(self) -> str:
        """Hash of all positions and counters, 16 hexadecimal digits. Equal trajectories have equal
        hashes on all machines."""
        return f"{self._engine.state_hash():016x}"

    # ---- checkpoints -----------------------------------------------------------------------------

    def save(self, path: PathLike, *, keep_previous: bool = False) -> None:
        """Write a checkpoint. An existing file is replaced only when the new one is on the disk.

        The checkpoint contains everything that the trajectory and the averages depend on, so that a
        run that continues from it has the same results as an uninterrupted run. Ranks that share a
        system write the same file as a single rank, and any number of ranks can continue from it.

        Args:
            path: path of the file.
            keep_previous: keep the replaced file as ``<path>.previous``.

        Raises:
            OSError: the file cannot be written; the existing file is kept.
        """
        self._write(Path(path), self._engine.snapshot(), keep_previous)

    def _write(self, path: Path, state: dict[str, Any], keep_previous: bool) -> None:
        header, arrays = self._contents(state)
        header = {
            "parameters": self._parameters,
            "counters": state["counters"],
            "settings": checkpoint.encoded(self._kept(self._given)) if self._given else None,
            **header,
        }
        checkpoint.write(path, self._KIND, header, keep_previous=keep_previous, **arrays)

    @abstractmethod
    def _contents(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of a checkpoint, from the engine's snapshot."""

    @classmethod
    def load(cls: type[S], path: PathLike, device: str = "auto", threads: int | None = None) -> S:
        """Create an object from a checkpoint.

        The trajectory continues with the same bits on all devices and any number of ranks. For
        electrolytes and DPD fluids with ``precision="mixed"`` this holds for the same kind of
        device only.

        Args:
            path: path of the file.
            device, threads: arguments of the class.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not a checkpoint of this class, or it is damaged.
            MemoryError: the system does not fit into memory.
        """
        return cls._loaded(path, device=device, threads=threads)

    @classmethod
    def _loaded(cls: type[S], path: PathLike, *options: Any, **place: Any) -> S:
        self = cls.__new__(cls)
        self._settle(**place)
        try:
            self._restore(path, *options)
            self._is_loaded = True
            if self._given is not None:
                self._given |= place
        except (TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise checkpoint.refusal(path, cls._KIND, error) from None  # of a value in the file
        except ValueError as error:
            text = str(error)
            if text.isprintable():
                raise
            raise ValueError(files.printable(text)) from None
        return self

    @abstractmethod
    def _restore(self, path: PathLike, *options: Any) -> None:
        """Restore the contents of a checkpoint on the chosen device."""


def load(
    path: PathLike, device: str = "auto", threads: int | None = None, **options: Any
) -> Simulation:
    """Create an object from a checkpoint, of the class that has written it.

    Args:
        path: path of the file.
        device, threads, options: arguments of the method `load` of this class.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a checkpoint of a simulation, or it is damaged.
        MemoryError: the system does not fit into memory.
    """
    kinds = Simulation._of_kind
    kind = checkpoint.kind_of(path)
    if kind not in kinds:
        raise ValueError(f"{path} is no checkpoint of a simulation: it holds {kind}")
    return kinds[kind].load(path, device, threads, **options)


class MonteCarlo(Simulation):
    """An engine of the core that makes trial moves; a base class that is not for separate use."""

    @property
    def core(self) -> Any:
        """Engine of `manymove._core`, for adaptors to host programs. Code that changes the state of
        the engine must keep this object consistent."""
        return self._exclusive.bare

    trial_moves: int = counter(1, "Number of trial moves of all particles.")
    accepted_moves: int = counter(2, "Number of accepted trial moves.")

    @property
    def acceptance(self) -> float:
        """Ratio of accepted to trial moves; NaN before the first trial move."""
        return self.accepted_moves / self.trial_moves if self.trial_moves else math.nan
