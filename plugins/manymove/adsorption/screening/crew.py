# SPDX-License-Identifier: BSD-3-Clause
"""The threads of a worker that check and run structures, several at a time.

A structure belongs to the process that has locked its folder. The processes are the ranks of a
launcher, or commands on several hosts that have the same output folder, and they share nothing
else. The kernel releases the locks of a process that has ended for any reason, so that another one
takes over its structures.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from manymove import _core, devices
from manymove.adsorption.occupancy import filling_systems
from manymove.adsorption.screening.settings import Screening
from manymove.adsorption.screening.structure import FAILED, NO_MEMORY, Task
from manymove.jobs import folder_lock
from manymove.jobs.folder_lock import FolderInUse
from manymove.jobs.progress import StopRequest
from manymove.jobs.team import Place
from manymove.jobs.world import World

_AGAIN = 1.0  # seconds between two attempts to take a structure that another worker has
_WAIT = 0.2  # seconds between two looks at a request to stop
_SWITCH = 5e-4  # seconds after which a thread releases the lock of the interpreter
# Structures that run at the same time by default. The steps of a system follow each other, so that
# it takes many systems to fill a GPU.
_MOST_ON_CPU, _MOST_ON_GPU = 32, 128
_CONNECTIONS = 32  # of a process to a GPU, the most that CUDA has


def open_connections() -> None:
    """Give CUDA as many connections to a GPU as it can have, because streams that share one of the
    default eight wait for each other. Call this before the first call of CUDA."""
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", str(_CONNECTIONS))


def devices_of(screening: Screening, world: World) -> list[str]:
    """The devices of this process: "cpu", or GPUs as "cuda:<index>"."""
    device = devices.resolve(world.device(screening.device), several=True)
    if device == "cpu":
        return [device]
    return [f"cuda:{index}" for index in dict.fromkeys(device[5:].split(","))]


def places_of(screening: Screening, world: World, structures: int) -> list[Place]:
    """The places at which structures run at the same time. Those of a device share its cores; by
    default there are as many as fill it.

    Args:
        screening: settings of the screening.
        world: the ranks, which share the cores of a host.
        structures: number of structures that are left.
    """
    found, s = devices_of(screening, world), screening
    cores = world.threads(s.threads) or world.cores
    if found == ["cpu"]:
        at_once = s.at_once or min(cores, _MOST_ON_CPU)
    else:
        filling = filling_systems(s.method, 1, found[0], s.options["precision"])
        at_once = s.at_once or min(math.ceil(filling / s.systems), _MOST_ON_GPU)
    count = max(1, min(at_once * len(found), structures))
    return [
        Place(slot, found[slot % len(found)], max(1, cores // count + (slot < cores % count)))
        for slot in range(count)
    ]


class Waits:
    """How the threads of this process wait while there are crews, which may overlap. The last one
    restores the interpreter's interval, and CUDA's default for GPUs.

    Threads need the lock of the interpreter between short calls of engines, for which they would
    wait longer than a call takes with the default interval. While they wait for a GPU they sleep,
    because there may be more of them than cores.
    """

    def __init__(self) -> None:
        self._guard, self._interval = Lock(), 0.0
        self._gpus: dict[object, set[int]] = {}  # indices, of each crew

    def begin(self, crew: object, places: Sequence[str]) -> None:
        """A crew begins, whose threads wait for these devices."""
        with self._guard:
            gpus = {devices.first_index(place) for place in places if place != "cpu"}
            self._prepare(gpus - self._in_use, True)
            if not self._gpus:
                self._interval = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH)
            self._gpus[crew] = gpus

    def end(self, crew: object) -> None:
        """A crew has ended. A second call has no effect."""
        with self._guard:
            if (gpus := self._gpus.pop(crew, None)) is None:
                return
            self._prepare(gpus - self._in_use, False)
            if not self._gpus:
                sys.setswitchinterval(self._interval)

    @property
    def _in_use(self) -> set[int]:
        return {gpu for gpus in self._gpus.values() for gpu in gpus}

    def _prepare(self, gpus: set[int], many: bool) -> None:
        for gpu in gpus:
            _core.prepare_for_threads(gpu, many)


_waits = Waits()  # of this process


class Crew:
    """Threads that check and run structures until each of them has ended, in this worker or in
    another one.

    Args:
        tasks: the structures.
        places: where they run.
        first: the position with which this worker begins.
        since: time of the session; see `Task.found`.
        finished: function that is called with each structure and its results, while it is locked
            and before the results are written.
    """

    def __init__(
        self, tasks: Sequence[Task], places: Sequence[Place], first: int, since: float,
        finished: Callable[[Task, dict[str, Any]], object],
    ) -> None:  # fmt: skip
        self._tasks, self._since, self._finished = tasks, since, finished
        self._left = deque([*range(first, len(tasks)), *range(first)])
        self._elsewhere: deque[int] = deque()  # those that other workers had
        self._alone: deque[int] = deque()  # those that need the memory of the others
        self._ended: SimpleQueue[tuple[int, dict[str, Any]] | BaseException] = SimpleQueue()
        self._stop = StopRequest()
        self._guard, self._working = Lock(), len(places)
        self._is_alone = len(places) == 1  # whether a single thread runs structures
        _waits.begin(self, [] if self._is_alone else [place.device for place in places])
        self._threads = [Thread(target=self._work, args=(place,), daemon=True) for place in places]
        for thread in self._threads:
            thread.start()

    def results(self) -> Iterator[tuple[int, dict[str, Any]] | None]:
        """The positions and results of structures as they end. Several times per second without
        one it is None.

        Raises:
            Exception: the error of a thread, for example of a full disk.
        """
        while True:
            ended = not any(thread.is_alive() for thread in self._threads)
            try:
                found = self._ended.get(timeout=0 if ended else _WAIT)
            except Empty:
                if ended:
                    return
                yield None
                continue
            if isinstance(found, BaseException):
                raise found
            yield found

    def stop(self) -> None:
        """End the structures that are run, with a checkpoint of each, and wait for the threads."""
        self._stop.request()
        try:
            for thread in self._threads:
                while thread.is_alive():
                    thread.join(_WAIT)
        finally:  # also after a second Ctrl-C
            _waits.end(self)

    def _work(self, place: Place) -> None:
        try:
            self._take_all(place)
            with self._guard:
                self._working -= 1
                last = not self._working
            if last:
                self._left, self._is_alone = self._alone, True
                self._take_all(place)
        except BaseException as error:  # the main thread raises it
            self._ended.put(error)

    def _take_all(self, place: Place) -> None:
        """Take structures until none is left."""
        while not self._stop.requested:
            if (index := _first(self._left)) is not None:
                self._take(index, place)
            elif (index := _first(self._elsewhere)) is not None:
                time.sleep(_AGAIN)
                self._take(index, place)
            else:
                break

    def _take(self, index: int, place: Place) -> None:
        task = self._tasks[index]
        if (found := task.found(self._since)) is None:
            try:
                # Another generator of this process may have the structure.
                folder_lock.hold(task.folder, again=False)
            except FolderInUse:
                self._elsewhere.append(index)
                return
            try:
                found = task.found(self._since)  # another worker may have ended it since
                if found is None:
                    found = task.at(place.device, place.threads).measured(self._stop)
                    if found is None:  # after a stop
                        return
                    if found["state"] == FAILED and found["reason"] == NO_MEMORY:
                        if not self._is_alone:
                            self._alone.append(index)
                            return
                    self._finished(task, found)
                    task.write(found)
            finally:
                folder_lock.release(task.folder)
        self._ended.put((index, found))


def _first(items: deque[int]) -> int | None:
    """Take the first of the items; None if another thread has taken the last one."""
    try:
        return items.popleft()
    except IndexError:
        return None
