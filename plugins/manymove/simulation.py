"""What `HardDisks`, `Electrolyte`, `Adsorption` and `DPDFluid` have in common."""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np

from manymove import checkpoint, devices
from manymove.checkpoint import PathLike

S = TypeVar("S", bound="Simulation")
Callback = Callable[[Any], None] | None  # with the object that runs

_PIECE = 0.1  # seconds between looks at callbacks and signals


def parameter(name: str, doc: str, where: str = "_parameters") -> Any:
    """A property: what the dictionary `where` of an object holds under a name."""
    return property(lambda self: getattr(self, where)[name], doc=doc)


def counter(index: int, doc: str) -> Any:
    """A property: one of the counters of an object's engine."""
    return property(lambda self: self._engine.counters[index], doc=doc)


def of_engine(name: str, doc: str) -> Any:
    """A property: an attribute of an object's engine."""
    return property(lambda self: getattr(self._engine, name), doc=doc)


class Simulation:
    """An engine on a device, and the parameters it was made with; not for use by itself.

    A subclass has `_KIND`, what its checkpoints are of, `_COUNTER`, its own name of `timestep`, and
    `_several`, whether a chain can be on several GPUs.
    """

    _KIND: ClassVar[str]
    _COUNTER: ClassVar[str]
    _several: ClassVar[bool] = False
    _engine: Any
    _parameters: dict[str, Any]
    _quiet = False  # whether another rank shows the progress
    box: Any

    def _settle(self, device: Any, threads: int | None) -> None:
        """Choose the device, or several GPUs where the engine can, and the threads."""
        self._device = devices.resolve(device, self._several)
        self._threads = devices.thread_count(threads)

    def _where(self) -> tuple[dict[str, Any], str, int]:
        """The last arguments of what makes an engine."""
        return self._parameters, self._device, self._threads

    def _adopt(self, engine: Any) -> None:
        self._engine = engine
        self._seconds = 0.0
        self._pace = 0.0  # of the last piece, per second

    # ---- running ---------------------------------------------------------------------------------

    def _pieces(
        self, length: int, run: Callable[[int], Any], limit: Callable[[int], int] = int
    ) -> Iterator[int]:
        """Run so many cycles, sweeps or steps in pieces that are short enough for callbacks and
        signals, and within the limit; yield what is done after each. They leave no trace in the
        state."""
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
        """The callback of a run of this length; with `progress` it also moves a bar, which counts
        the attribute `unit`, on the standard error or in the notebook."""
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
        """What bounds the system, for `repr`."""
        return {"box": " x ".join(f"{edge:.6g}" for edge in self.box)}

    def _described(self) -> dict[str, str]:
        """What `repr` and notebooks show."""
        counter = {self._COUNTER: str(self.timestep)}
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
        """ "cpu", "cuda:<index>", or "cuda:<index>,<index>..." of a chain on several GPUs."""
        return self._device

    @property
    def device_name(self) -> str:
        """The GPU's name (with their number, if several), or the CPU's SIMD level and the number
        of threads."""
        return devices.device_name(self._device, self.threads)

    @property
    def threads(self) -> int:
        """Threads of the CPU engine; 1 on a GPU."""
        return self._threads if self._device == "cpu" else 1

    N: int = of_engine(
        "particles", "Number of particles: disks, ions, or molecules of all systems together."
    )
    timestep: int = counter(
        0, "The engine's own counter: `cycles`, `sweeps` or `steps`, for code that serves all."
    )

    @property
    def seconds(self) -> float:
        """Wall time spent in runs since this object was made or loaded, without callbacks."""
        return self._seconds

    @property
    def state_hash(self) -> str:
        """16 hexadecimal digits from all positions and counters; the same on every machine."""
        return f"{self._engine.state_hash():016x}"

    # ---- checkpoints -----------------------------------------------------------------------------

    def save(self, path: PathLike, *, keep_previous: bool = False) -> None:
        """Write a checkpoint; the file is replaced only when the new one is on the disk.

        It contains everything that the trajectory depends on, the averages of adsorbates, the pair
        correlations of ions and the records of a DPD fluid; it does not contain pressure records
        and `energies`. Ranks that share a system write the same file as a single one, and any
        number of ranks can continue from it.

        Args:
            path: path of the file.
            keep_previous: keep the replaced file as ``<path>.previous``.

        Raises:
            OSError: the file cannot be written; the old one is still there.
        """
        self._write(Path(path), self._engine.snapshot(), keep_previous)

    def _write(self, path: Path, state: dict[str, Any], keep_previous: bool) -> None:
        header, arrays = self._contents(state)
        header = {"parameters": self._parameters, "counters": state["counters"], **header}
        checkpoint.write(path, self._KIND, header, keep_previous=keep_previous, **arrays)

    def _contents(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of a checkpoint, from the engine's snapshot."""
        raise NotImplementedError

    @classmethod
    def load(
        cls: type[S],
        path: PathLike,
        device: str = "auto",
        threads: int | None = None,
        **ranks: Any,
    ) -> S:
        """Continue from a checkpoint.

        The trajectory is the same, bit for bit, on whatever devices and ranks; that of an
        electrolyte or a DPD fluid with ``precision="mixed"`` is the same on the same kind of
        device.

        Args:
            path: path of the file.
            device, threads: as for the class.
            ranks: `comm` and `timeout` of hard disks, as for the class.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no checkpoint of such an object, or a damaged one; the box is too
                small for so many ranks.
        """
        self = cls.__new__(cls)
        self._settle(device, threads, **ranks)
        self._restore(path)
        return self

    def _restore(self, path: PathLike) -> None:
        """What a checkpoint holds, on the device that was chosen."""
        raise NotImplementedError


class MonteCarlo(Simulation):
    """An engine of the core, which makes trial moves; not for use by itself."""

    @property
    def core(self) -> Any:
        """The engine of `manymove._core`, for adaptors to host programs; whoever changes its state
        through it answers for what this object remembers."""
        return self._engine

    trial_moves: int = counter(1, "Trial moves of all particles.")
    accepted_moves: int = counter(2, "Trial moves that were accepted.")

    @property
    def acceptance(self) -> float:
        """Accepted over trial moves; NaN before the first."""
        return self.accepted_moves / self.trial_moves if self.trial_moves else math.nan
