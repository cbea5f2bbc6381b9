"""The common base of `HardDisks`, `Electrolyte`, `Adsorption` and `DPDFluid`."""

from __future__ import annotations

import html
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np

from manymove import checkpoint, devices, files, settings
from manymove.attributes import CheckedAttributes
from manymove.checkpoint import PathLike
from manymove.exclusive import Exclusive

S = TypeVar("S", bound="Simulation")
Callback = Callable[[Any], None] | None  # called with the object that runs

_PIECE = 0.1  # seconds between two checks of callbacks and signals


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


class Simulation(CheckedAttributes, ABC):
    """An engine on a device and its parameters; a base class that is not for separate use.

    Assignment to an attribute that does not exist, or cannot change, raises an AttributeError.

    A subclass defines `_KIND`, the kind of its checkpoints, `_COUNTER`, its own name of `elapsed`,
    and `_several`, whether several GPUs can share a chain.
    """

    _KIND: ClassVar[str]
    _COUNTER: ClassVar[str]
    _several: ClassVar[bool] = False
    _parameters: dict[str, Any]
    _quiet = False  # whether another rank shows the progress
    box: Any

    def __init_subclass__(cls) -> None:
        settings.declare(cls)

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
        self._seconds = 0.0
        self._pace = 0.0  # cycles, sweeps or steps per second in the last piece

    # ---- running ---------------------------------------------------------------------------------

    def _pieces(
        self, length: int, run: Callable[[int], Any], limit: Callable[[int], int] = int
    ) -> Iterator[int]:
        """Run a number of cycles, sweeps or steps in pieces that are short enough for callbacks and
        signals and within the limit. The number done is yielded after each piece. The pieces do not
        affect the trajectory."""
        done = 0
        while done < length:
            piece = limit(max(1, min(length - done, int(self._pace * _PIECE))))
            started = time.perf_counter()
            run(piece)
            elapsed = time.perf_counter() - started
            self._seconds += elapsed
            self._pace = piece / max(elapsed, 1e-9)
            done += piece
            yield done

    @contextmanager
    def _watched(
        self, unit: str, length: float, callback: Callback, progress: bool
    ) -> Iterator[Callback]:
        """The callback of a run of this length, during which no other thread can use the object.
        With `progress` it also updates a bar on the standard error or in the notebook, which counts
        the attribute `unit`."""
        with self._exclusive.alone():
            yield from self._shown(unit, length, callback, progress)

    def _shown(
        self, unit: str, length: float, callback: Callback, progress: bool
    ) -> Iterator[Callback]:
        if not progress:
            yield callback
            return
        from tqdm.auto import tqdm

        first, words = getattr(self, unit), {"desc": type(self).__name__, "unit": f" {unit}"}
        with tqdm(total=length, unit_scale=True, disable=self._quiet, **words) as bar:

            def show(simulation: Any) -> None:
                bar.update(min(getattr(self, unit) - first, length) - bar.n)
                if callback is not None:
                    callback(simulation)

            yield show

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

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"{name} objects cannot be copied or pickled: use save() and load()")

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

        The checkpoint contains everything that the trajectory depends on, the averages of
        adsorbates, the pair correlations of ions and the records of a DPD fluid. It does not
        contain records of the pressure and of the energy. Ranks that share a system write the same
        file as a single rank, and any number of ranks can continue from it.

        Args:
            path: path of the file.
            keep_previous: keep the replaced file as ``<path>.previous``.

        Raises:
            OSError: the file cannot be written; the existing file is kept.
        """
        self._write(Path(path), self._engine.snapshot(), keep_previous)

    def _write(self, path: Path, state: dict[str, Any], keep_previous: bool) -> None:
        header, arrays = self._contents(state)
        header = {"parameters": self._parameters, "counters": state["counters"], **header}
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
        return cls._loaded(path, device, threads)

    @classmethod
    def _loaded(cls: type[S], path: PathLike, *place: Any) -> S:
        self = cls.__new__(cls)
        self._settle(*place)
        try:
            self._restore(path)
        except (TypeError, LookupError, AttributeError, ArithmeticError) as error:
            raise checkpoint.refusal(path, cls._KIND, error) from None  # of a value in the file
        except ValueError as error:
            text = str(error)
            if text.isprintable():
                raise
            raise ValueError(files.printable(text)) from None
        return self

    @abstractmethod
    def _restore(self, path: PathLike) -> None:
        """Restore the contents of a checkpoint on the chosen device."""


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
