# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS in this process as an engine of `DPDFluid`, with the interface of the core's engines."""

from __future__ import annotations

import ctypes
import hashlib
import queue
import re
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Set
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from manymove.dpd import messages
from manymove.dpd import model as fluid
from manymove.jobs.progress import StopRequest
from manymove.jobs.world import are_ranks_apart, require_one_process
from manymove.lammps import host
from manymove.settings import Electrostatics

# LAMMPS transfers the particles to the engine of the run style at multiples of this number of
# steps. This changes the rounding of positions and sums, and must not depend on the speed of a
# machine.
SEGMENT = 500


class Stopped(RuntimeError):
    """LAMMPS has stopped with an error."""


class _Gate:
    """A gate at the end of steps, at which LAMMPS waits in its thread while another thread reads
    the state. `fix manymove/call` has the address of the function."""

    def __init__(self) -> None:
        self._function = ctypes.CFUNCTYPE(None)(self._wait)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0
        self.close()

    def close(self) -> None:
        """Prepare for a run."""
        self._arrivals: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._passes = threading.Semaphore(0)
        self._is_open = False

    def _wait(self) -> None:
        if not self._is_open:
            self._arrivals.put(True)
            self._passes.acquire()

    def arrival(self, seconds: float) -> bool | None:
        """Wait until LAMMPS is at the gate (True) or the run has ended (False); None if neither
        happens within a time."""
        try:
            return self._arrivals.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self, _: object = None) -> None:
        """Tell the other thread that the run has ended."""
        self._arrivals.put(False)

    def let_pass(self) -> None:
        self._passes.release()

    def open(self) -> None:
        """Let LAMMPS pass until the run ends."""
        self._is_open = True
        self._passes.release()


class Engine:
    """LAMMPS with particles of one kind in a periodic box.

    Args:
        model: forces, time step, precision and device.
        low: lowest coordinates of the box.
        edges: edges of the box.
        record_every: number of steps between two records.
        step: time step of the initial state.
        start: commands that create particles; without them, call `create` and `set_up`.
        electrostatics: forces of charges, which `charge` sets; None if there are none.
        splitting: splitting parameter of Ewald's sum, an inverse length.

    Raises:
        RuntimeError: LAMMPS is not installed.
        Stopped: LAMMPS has stopped with an error. All methods raise it, and the engine cannot be
            used afterwards.
    """

    def __init__(
        self,
        model: fluid.Model,
        low: np.ndarray,
        edges: np.ndarray,
        record_every: int,
        step: int = 0,
        start: str = "",
        electrostatics: Electrostatics | None = None,
        splitting: float = 0.0,
    ) -> None:
        apart = are_ranks_apart()
        if not apart:
            require_one_process(
                "manymove.DPDFluid", "manymove dpd --ranks starts LAMMPS on several"
            )
        self._failed = ""
        self._gate = _Gate()
        self.in_calls = 0.0  # seconds that the function of the last run has taken
        self._intervals: Set[int] = set()  # between calls
        self._lammps = host.start(apart)
        # A file without a name, because the name of its folder may have any characters, and so
        # that a forked process has nothing to remove.
        self._records_file = tempfile.TemporaryFile()
        self._table = open(f"/proc/self/fd/{self._records_file.fileno()}")
        for file in (self._table, self._records_file):
            weakref.finalize(self, file.close)
        self._records = np.empty((0, 4))
        self._known: tuple[int, list[float]] | None = None  # a step and what was measured there
        self._is_charged = electrostatics is not None
        self.command(
            f"{fluid.box(low, edges, self._is_charged)}{start}thermo 0\n"
            + fluid.line("reset_timestep", step)
            + fluid.motion(model, 1, electrostatics, splitting)
            + fluid.records(record_every, self._table.name)
        )

    def create(self, tags: np.ndarray, positions: np.ndarray, velocities: np.ndarray) -> None:
        """Create particles with the numbers 1 to N, in this order."""
        lists = (array.ravel().tolist() for array in (positions, velocities))
        self._library.create_atoms(tags.size, tags.tolist(), [1] * tags.size, *lists)
        if self.particles != tags.size:
            raise Stopped(f"LAMMPS has created only {self.particles} of {tags.size} particles")

    def charge(self, charges: np.ndarray) -> None:
        """Set the charges, (N,), in the order of the IDs. Charged particles become type 2."""
        own = charges[self._array("id") - 1]
        self._array("q")[:] = own
        self._array("type")[:] = np.where(own == 0, 1, 2)

    def set_up(self, forces: np.ndarray | None = None) -> None:
        """Prepare LAMMPS for a run.

        LAMMPS computes the forces with velocities of the full step, while those within a run are
        computed with velocities of the half step. The latter may be given, in the order of the
        numbers.

        Raises:
            ValueError: the run style warns that only LAMMPS can compute these charges.
        """
        self._records = self.records()
        # One setup, because each one without steps takes the next random numbers.
        with tempfile.TemporaryFile("w+") as log:  # without a name, as the records
            name = f"/proc/self/fd/{log.fileno()}" if self._is_charged else "none"
            self.command(f"log {name}\nrun 0 post no\nlog none")
            self._table.read()  # a record whose forces do not belong to a run
            said = re.search(r"cannot keep the particles on the device: (.+?)\. Pair", log.read())
        if said:
            raise ValueError(
                f"these charges are not possible: {said.group(1)}; give other electrostatics"
            )
        self.command("atom_modify sort 0 0")  # sums depend on the order
        if forces is not None:
            self._array("f")[:] = forces[self._array("id") - 1]

    def call_every(self, intervals: Set[int]) -> None:
        """Let the following runs call a function at multiples of these numbers of steps.

        The run style looks through LAMMPS' fixes at the beginning of each run. Therefore no setup
        is needed, which would change the rounding of the first steps."""
        if intervals == self._intervals:
            return
        address = self._gate.address
        commands = [fluid.line("unfix", f"call{n}") for n in self._intervals]
        commands += [
            fluid.line("fix", f"call{n}", "all manymove/call", n, address) for n in intervals
        ]
        self.command("".join(commands))
        self._intervals = set(intervals)

    def run_to(self, end: int, call: Callable[[], object]) -> None:
        """Run to a step.

        Args:
            end: the step.
            call: function that is called at the steps of `call_every`. If it fails, the run ends
                there.

        Raises:
            KeyboardInterrupt: Ctrl-C or SIGTERM, after the current step.
        """
        first, gate, self.in_calls = self.counters[0], self._gate, 0.0
        failure: BaseException | None = None
        called = -1
        gate.close()
        try:
            with StopRequest() as stop, ThreadPoolExecutor(1) as pool:
                text = fluid.line("run", end, "upto pre no post no")
                running = pool.submit(self.command, text)
                running.add_done_callback(gate.end)
                try:
                    while (here := gate.arrival(0.1)) is not False:
                        # Several intervals may have the same step.
                        if here and self.counters[0] != called:
                            called, began = self.counters[0], time.perf_counter()
                            try:
                                call()
                            except BaseException as error:
                                failure = error
                            self.in_calls += time.perf_counter() - began
                        if stop.requested or failure is not None:
                            self._lammps.force_timeout()  # ends the run after the present step
                        if here:
                            gate.let_pass()
                finally:
                    gate.open()
                running.result()
        finally:
            if not self._failed:
                self.command("timer timeout off")
                if first < self.counters[0] < end:  # LAMMPS has not summed the virial there
                    self.set_up(self.by_number("f"))
        if failure is not None:
            raise failure
        if stop.requested:
            raise KeyboardInterrupt

    def command(self, text: str) -> None:
        try:
            self._library.commands_string(text)
        except RuntimeError:
            raise
        except Exception as error:  # LAMMPS' own
            self._failed = messages.sentence(str(error))
            raise Stopped(f"LAMMPS: {self._failed}") from None

    @property
    def _library(self) -> Any:
        if self._failed:
            raise Stopped(f"LAMMPS has stopped ({self._failed}): load a checkpoint")
        return self._lammps

    @property
    def particles(self) -> int:
        return int(self._lammps.get_natoms())

    @property
    def counters(self) -> tuple[int]:
        """(time steps,), also after an error."""
        return (int(self._lammps.extract_global("ntimestep")),)

    def _array(self, name: str) -> np.ndarray:
        """An array of LAMMPS in its own order, without ghosts."""
        return self._library.numpy.extract_atom(name)[: self.particles]

    def by_number(self, name: str) -> np.ndarray:
        """A copy of LAMMPS' array "x", "v" or "f", in the order of the numbers."""
        array = np.empty((self.particles, 3))
        array[self._array("id") - 1] = self._array(name)
        return array

    def charges(self) -> np.ndarray:
        """Charges, (N,), in the order of the IDs."""
        charges = np.empty(self.particles)
        charges[self._array("id") - 1] = self._array("q")
        return charges

    def measured(self) -> list[float]:
        """Temperature, pressure, potential energy and, with charges, the energy of the charges."""
        if self._known is not None and self._known[0] == self.counters[0]:
            return self._known[1]
        temperature, pressure, energy = map(self._library.get_thermo, ("temp", "press", "pe"))
        found = [temperature, pressure, energy * self.particles]
        if self._is_charged:
            of_charges = sum(map(self._library.get_thermo, ("ecoul", "elong")))
            found.append(of_charges * self.particles)
        return found

    def records(self) -> np.ndarray:
        """Step, temperature, pressure and energy of each record, float64 (K, 4)."""
        lines = (line.split(",") for line in self._table if line[0].isdigit())
        new = np.array([[float(word) for word in words] for words in lines]).reshape(-1, 4)
        new[:, 3] *= self.particles
        self._records = np.concatenate([self._records, new])
        return self._records

    def forget_records(self) -> None:
        self._records = self.records()[:0]

    def state_hash(self) -> int:
        """Hash of positions, velocities and the step, 64 bits."""
        digest = hashlib.blake2b(str(self.counters[0]).encode(), digest_size=8)
        for name in ("x", "v"):
            digest.update(self.by_number(name).tobytes())
        return int.from_bytes(digest.digest(), "little")

    def snapshot(self) -> dict[str, Any]:
        """State for `restore`, including the forces, which restart files of LAMMPS do not
        contain."""
        names = {"tags": "id", "positions": "x", "velocities": "v", "forces": "f"}
        if self._is_charged:
            names["charges"] = "q"
        arrays = {name: self._array(array) for name, array in names.items()}
        return {
            "counters": self.counters,
            "measured": self.measured(),
            "records": self.records(),
            **arrays,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put the particles of a snapshot into an empty box."""
        self.command("atom_modify sort 0 0")
        self.create(state["tags"], state["positions"], state["velocities"])
        if self._is_charged:
            self.charge(state["charges"][np.argsort(state["tags"])])
        self.set_up(state["forces"][np.argsort(state["tags"])])
        self._records, self._known = state["records"], (self.counters[0], state["measured"])
