"""Fixtures that the tests share: devices, and what several processes of pytest share."""

from __future__ import annotations

import fcntl
import functools
import math
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
import typer
from commands import MPIEXEC
from processes import on_ranks, remove_segments

from manymove import _core
from manymove.hard_particles.packing import random_packing

# A shell starts jobs in the background with SIGINT ignored. All their children inherit this, so
# that a Ctrl-C would be lost until a child has set a handler of its own.
signal.signal(signal.SIGINT, signal.default_int_handler)

# typer would build all commands with all their options again for each run in this process.
typer.main.get_command = functools.cache(typer.main.get_command)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    """Every test that asks for a device runs on the CPU and, where there is one, on the GPU."""
    if request.param == "cuda" and not _core.cuda_devices():
        pytest.skip("no CUDA device")
    return request.param


@pytest.fixture
def fluid() -> tuple[np.ndarray, tuple[float, float]]:
    """Positions and box of 400 disks."""
    return random_packing(400, 0.6, seed=1)


@pytest.fixture
def hoomd_device(device: str) -> Any:
    """HOOMD-blue's CPU and, where there is one, its GPU."""
    hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    if device == "cpu":
        return hoomd.device.CPU()
    if not hoomd.version.gpu_enabled:
        pytest.skip("this HOOMD-blue was built without GPUs")
    return hoomd.device.GPU()


@pytest.fixture
def mpiexec() -> list[str]:
    """The launcher of two ranks that use mpi4py."""
    pytest.importorskip("mpi4py")
    return on_ranks(2) if MPIEXEC else pytest.skip("no mpiexec")


HERE = Path(__file__).parent
# Folders and files that `make test` leaves to `make test-rest`: time-outs and lost ranks, clusters,
# benchmarks, examples, damage of files at random.
THOROUGH = (
    "benchmarks",
    "clusters",
    "docs/test_examples.py",
    "hoomd/test_silent_ranks.py",
    "io/test_fuzz.py",
    "parallel",
)
# These wait for time-outs and for programs that are stopped.
WAITS = ("clusters", "hoomd/test_silent_ranks.py", "parallel")
# Tests of what users see draw the pictures.
PICTURES = ("benchmarks", "docs/test_examples.py", "docs/test_notebooks.py", "newcomer")


def stands_in(item: pytest.Item, places: tuple[str, ...]) -> bool:
    if not item.path.is_relative_to(HERE):  # --pyargs hoomd.manymove
        return False
    path = item.path.relative_to(HERE).as_posix()
    return any(path == place or path.startswith(f"{place}/") for place in places)


def has_many_ranks(item: pytest.Item) -> bool:
    """Whether a test runs with more ranks than two, which each contract of ranks is tested with."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    ranks = parameters.get("ranks")
    if isinstance(processors := parameters.get("processors"), str):
        ranks = math.prod(map(int, processors.split()))
    return isinstance(ranks, int) and ranks > 2


def has(item: pytest.Item, marker: str) -> bool:
    return item.get_closest_marker(marker) is not None


# First of all, so that -m sees the markers. Among several processes tests that need the GPU for
# themselves come last, so that none waits for them. Those that mostly wait come first: other
# processes compute in the meantime.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if stands_in(item, THOROUGH) or has_many_ranks(item):
            item.add_marker("thorough")
        if stands_in(item, WAITS):
            item.add_marker("waits")
        if stands_in(item, PICTURES) or item.path.name == "test_pictures.py":
            item.add_marker("pictures")
    items.sort(key=lambda item: (has(item, "whole_gpu"), not has(item, "waits")))


@pytest.fixture(autouse=True)
def without_segments_of_killed_processes() -> None:
    remove_segments()


@pytest.fixture(autouse=True)
def pictures_where_they_are_tested(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has(request.node, "pictures"):
        pictures.leave_out(monkeypatch)


@contextmanager
def share(lock: Path, alone: bool) -> Iterator[None]:
    """Wait until no other process of pytest uses something alone, or none uses it at all."""
    with open(lock, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


@pytest.fixture(autouse=True)
def share_of_the_gpu(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where several processes run tests (pytest -n), one that fills the GPU has it for itself."""
    with ExitStack() as shares:
        if has(request.node, "gpu") and _core.cuda_devices():
            lock = Path(tempfile.gettempdir()) / f"manymove-gpu-{os.getuid()}.lock"
            shares.enter_context(share(lock, has(request.node, "whole_gpu")))
        yield
