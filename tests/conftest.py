"""Devices, SIMD levels and the statistics that the tests share."""

from __future__ import annotations

import fcntl
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from manymove import HardDisks, _core
from manymove.hard_particles.packing import random_packing

# Of each single comparison with a law; a test says how many it makes.
FALSE_ALARM = 1e-6

limits_address_space = pytest.mark.skipif(
    not sys.platform.startswith("linux") or "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="limits the address space, of which AddressSanitizer needs terabytes",
)


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


# Among several processes those that need the GPU for themselves come last, not to wait for others.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("whole_gpu") is not None)


@pytest.fixture(autouse=True)
def share_of_the_gpu(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where several processes run tests (pytest -n), one that fills the GPU has it for itself."""
    if request.node.get_closest_marker("gpu") is None or not _core.cuda_devices():
        yield
        return
    alone = request.node.get_closest_marker("whole_gpu") is not None
    with open(Path(tempfile.gettempdir()) / f"manymove-gpu-{os.getuid()}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield


def runnable_simd_levels() -> list[str]:
    """The compiled SIMD levels that this machine runs."""
    levels = []
    with pytest.MonkeyPatch.context() as patch:
        for level in _core.simd_levels():
            patch.setenv("MANYMOVE_SIMD", level)
            try:
                levels.append(_core.simd_level())
            except RuntimeError:
                continue
    return levels


def lattice(columns: int, rows: int, box: tuple[float, float], count: int | None = None):
    """The first `count` sites of a rectangular lattice that fills the box, float64 (count, 2)."""
    sites = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(-1, 2)
    return ((sites + 0.5) / (columns, rows) - 0.5)[:count] * np.array(box)


def separations(positions: np.ndarray, box: tuple[float, float]) -> np.ndarray:
    """Vectors from disk i to disk j of each pair i < j, nearest images: (..., pairs, 2)."""
    i, j = np.triu_indices(positions.shape[-2], 1)
    vectors = positions[..., j, :] - positions[..., i, :]
    return vectors - np.rint(vectors / np.array(box)) * np.array(box)


def neighbour_pairs(positions: np.ndarray, box: tuple[float, float], reach: float) -> np.ndarray:
    """Vectors of all pairs closer than `reach`, each once, every periodic image that is: (K, 2).

    By brute force, in blocks.
    """
    edges = np.array(box)
    found = []
    images = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    for i in range(len(positions)):
        vectors = positions[i + 1 :] - positions[i]
        near = vectors - np.rint(vectors / edges) * edges
        close = near[(np.abs(near) < reach + edges / 2).all(axis=1)]
        for image in images:
            shifted = close + image * edges
            found.append(shifted[(shifted**2).sum(axis=1) < reach**2])
    return np.concatenate(found) if found else np.empty((0, 2))


def closest_distance(positions: np.ndarray, box: tuple[float, float]) -> float:
    """Smallest distance of two disks, nearest images, by brute force."""
    closest = math.inf
    for i in range(len(positions) - 1):
        vectors = positions[i + 1 :] - positions[i]
        vectors -= np.rint(vectors / np.array(box)) * np.array(box)
        closest = min(closest, float((vectors**2).sum(axis=1).min()))
    return math.sqrt(closest)


def sample(disks: HardDisks, samples: int, cycles: int) -> np.ndarray:
    """Positions every so many cycles: (samples, N, 2).

    Cycles, not sweeps: where a run of so many sweeps ends depends on the trajectory
    (docs/theory/hard_disks.md, section 7).
    """
    result = np.empty((samples, disks.N, 2))
    for k in range(samples):
        disks._engine.run(cycles)
        result[k] = disks.positions
    return result


# ---- statistics --------------------------------------------------------------------------------


def chi_square_tail(x: float, degrees: int) -> float:
    """Probability that chi-square with so many degrees of freedom exceeds x (exact finite sum)."""
    half = x / 2
    if half <= 0:
        return 1.0
    total = math.erfc(math.sqrt(half)) if degrees % 2 else 0.0
    for k in range(degrees // 2):
        power = k + 0.5 * (degrees % 2)
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return total


def normal_tail(z: float) -> float:
    """Probability that a normal variable is farther from its mean than |z| standard deviations."""
    return math.erfc(abs(z) / math.sqrt(2))


def chi_square(counts: np.ndarray, law: np.ndarray, law_samples: float = math.inf) -> float:
    """The p-value of counts under a law, given as weights, perhaps a histogram of its own.

    Bins with fewer than thirty expected counts are put together.

    Args:
        counts: independent observations per bin.
        law: expected weights per bin; normalised here.
        law_samples: how many samples the law was counted from; infinite if it is exact.
    """
    counts, law = np.ravel(counts).astype(float), np.ravel(law).astype(float)
    assert not counts[law == 0].any(), "counts where the law forbids them"
    expected = counts.sum() * law / law.sum()
    rare = expected < 30
    if rare.any() and rare.sum() > (law == 0).sum():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    else:
        counts, expected = counts[~rare], expected[~rare]
    variance = expected * (1 + counts.sum() / law_samples)
    return chi_square_tail(float(((counts - expected) ** 2 / variance).sum()), len(counts) - 1)


def assert_follows(counts: Any, law: Any, law_samples: float = math.inf) -> None:
    """Counts follow a law, with a probability of a false alarm of `FALSE_ALARM`."""
    p = chi_square(counts, law, law_samples)
    assert p > FALSE_ALARM, f"p = {p:.2g}\ncounts\n{counts}\nexpected\n{law}"


def assert_binomial(count: int, trials: int, probability: float, comparisons: int = 1) -> None:
    """A binomial count, in the normal approximation; the false alarm of all comparisons together
    is `FALSE_ALARM`."""
    z = (count - trials * probability) / math.sqrt(trials * probability * (1 - probability))
    p = normal_tail(z)
    assert p * comparisons > FALSE_ALARM, f"{count} of {trials}, expected {probability}: z = {z}"
