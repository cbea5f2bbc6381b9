"""Input of `HardDisks` and its errors: arrays, boxes, settings, devices, overlaps."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from flat_settings import of_hard_particles
from hard_disks import closest_distance, lattice, make
from machine import on_gpu

from manymove import HardDisks, HardSpheres, _core
from manymove.hard_particles import OverlapError, hexagonal_packing


class DLPackOnly:
    """An array of some other library: nothing but the DLPack protocol."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **arguments):
        known = inspect.signature(self._array.__dlpack__).parameters if arguments else {}
        return self._array.__dlpack__(**{k: v for k, v in arguments.items() if k in known})

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack_and_read_only_arrays_are_as_good_as_numpy(device, fluid):
    positions, box = fluid
    read_only = positions.copy()
    read_only.flags.writeable = False
    expected = make((positions, box), device).state_hash
    for given in (DLPackOnly(positions), read_only, memoryview(positions)):
        assert make((given, box), device).state_hash == expected


def test_the_input_is_not_changed(device, fluid):
    positions, box = fluid
    before = positions.copy()
    make((positions, box), device).run(5)
    assert np.array_equal(positions, before)


class OnDevice:
    """An array that no GPU has."""

    def __init__(self, **face):
        whole = {"shape": (3, 2), "typestr": "<f8", "data": (0xDEAD0000, False), "version": 3}
        self.__cuda_array_interface__ = {**whole, **face}


@pytest.mark.skipif(_core.cuda_compiled, reason="this build has CUDA")
def test_without_cuda_a_cuda_array_is_refused_by_name():
    with pytest.raises(RuntimeError, match="a CUDA array, but this build of manymove has no CUDA"):
        make((OnDevice(), (9.0, 9.0)))


@pytest.mark.parametrize(
    ("face", "message"),
    [
        ({"shape": (3,)}, r"shape \(N, 2\)"),
        ({"shape": (3, 3)}, r"shape \(N, 2\)"),
        ({"typestr": "<i8"}, "float32 or float64"),
        ({"strides": (8, 24)}, "C-contiguous"),
    ],
)
def test_cuda_arrays_are_checked_before_they_are_read(face, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make((OnDevice(**face), (9.0, 9.0)))


THREE = np.array([[-3.0, 0.0], [0.0, 0.0], [3.0, 3.0]])


def test_positions_may_be_in_the_other_byte_order():
    """HDF5 and FITS files hold such arrays."""
    swapped = THREE.astype(THREE.dtype.newbyteorder())
    of_both = [HardDisks(each, (9.0, 9.0), seed=1).positions for each in (swapped, THREE)]
    assert (of_both[0] == of_both[1]).all()


@pytest.mark.parametrize(
    ("positions", "error", "message"),
    [
        ("disks", TypeError, "positions must be an array"),
        (None, TypeError, "."),
        (THREE.astype(int), TypeError, "float32 or float64"),
        (THREE.astype(complex), TypeError, "float32 or float64"),
        (THREE.astype(np.float16), TypeError, "float32 or float64"),
        (THREE.astype(np.longdouble), TypeError, "float32 or float64, got float128"),
        (THREE.astype(object), TypeError, "float32 or float64, got object"),
        (np.ma.masked_less(THREE, -2), ValueError, "positions must not have masked entries"),
        (THREE.ravel(), ValueError, r"shape \(N, 2\)"),
        (THREE[None], ValueError, r"shape \(N, 2\)"),
        (np.zeros((2, 3)), ValueError, r"shape \(N, 2\)"),
        (np.zeros((0, 2)), ValueError, "at least one disk"),
        (np.array([[0.0, 0.0], [math.nan, 2.0]]), ValueError, "disk 1 is not finite"),
        (np.array([[0.0, math.inf], [2.0, 2.0]]), ValueError, "disk 0 is not finite"),
        (
            np.array([[0.0, 0.0], [2.0, -4.6]]),
            ValueError,
            r"disk 1 is outside the box: y = -4.6, the edge is at 4.5",
        ),
        (np.zeros((100, 2)) + 0.1, ValueError, "packing fraction 0.969.* is above .* 0.9069"),
    ],
)
def test_bad_positions_are_refused(device, positions, error, message):
    with pytest.raises(error, match=message):
        make((positions, (9.0, 9.0)), device)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ((2.999, 9.0), "box too small for the checkerboard: edge x is 2.999, three"),
        ((9.0, 1.0), "box too small for the checkerboard: edge y is 1,"),
        (9.0, "box must be two edges"),
        (("9", "9"), "box must be two edges"),
        ((9.0, 9.0, 0.0), "box must be two edges"),
        ((0.0, 9.0), "box must be positive and finite"),
        ((9.0, -9.0), "box must be positive and finite"),
        ((math.nan, 9.0), "box must be positive and finite"),
        ((math.inf, 9.0), "box must be positive and finite"),
        ((1e6, 9.0), "box edge x holds more than 30000 cells"),
        ((9.0,), "."),
    ],
)
def test_bad_boxes_are_refused(device, box, message):
    with pytest.raises(ValueError, match=message):
        make((np.zeros((1, 2)), box), device)


@pytest.mark.parametrize(
    ("kind", "edges", "settings", "memory"),
    [
        (HardDisks, (25_000.0,) * 2, {}, "625000000 cells need 60 GB"),
        (HardDisks, (25_000.0,) * 2, {"diameters": [1.0, 1.4]}, "cells need 23 GB"),
        (HardSpheres, (322.0,) * 3, {}, "33386248 cells need 2.4 GB"),
        (HardSpheres, (322.0,) * 3, {"pressure": 1e-6}, "cells need 1.7 GB"),
        (HardSpheres, (695.0,) * 3, {"diameters": [1.0, 1.4]}, "cells need .* GB"),
    ],
)
def test_boxes_whose_empty_cells_fill_the_memory_are_refused_at_once(
    device, kind, edges, settings, memory
):
    positions = np.array([[-2.0] * len(edges), [2.0] * len(edges)])
    with pytest.raises(ValueError, match=f"too dilute for 2 particles: .*{memory} of memory"):
        kind(positions, edges, seed=1, device=device, threads=1, **of_hard_particles(**settings))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"diameter": 0}, ValueError, "diameter must be positive and finite, got 0"),
        ({"diameter": -1.0}, ValueError, "diameter must be positive"),
        ({"diameter": math.nan}, ValueError, "diameter must be positive"),
        ({"diameter": math.inf}, ValueError, "diameter must be positive"),
        ({"diameter": 3.5}, ValueError, "box too small"),
        ({"cell_width": 0}, ValueError, "cell_width must be positive"),
        ({"cell_width": 0.99}, ValueError, r"cell_width .* below sqrt\(2\) diameters, got 0.99"),
        ({"cell_width": 1.4143}, ValueError, "cell_width .*, got 1.4143"),
        ({"cell_width": math.nan}, ValueError, "cell_width"),
        ({"tile": 2}, ValueError, "tile must be from 3 to 41 cells, got 2"),
        ({"tile": 42}, ValueError, "tile must be from 3 to 41 cells, got 42"),
        ({"tile": 4.5}, TypeError, "tile must be an integer, got 4.5"),
        ({"rounds": 0}, ValueError, "rounds must be positive"),
        ({"rounds": 17}, ValueError, "rounds must be from 1 to 16, got 17"),
        ({"rounds": math.nan}, TypeError, "rounds must be an integer"),
        ({"moves_per_cell": -3}, ValueError, "moves_per_cell must be positive"),
        ({"moves_per_cell": 1025}, ValueError, "moves_per_cell must be from 1 to 1024, got 1025"),
        ({"moves_per_cell": 10**12}, ValueError, "moves_per_cell must be positive and below"),
        ({"moves_per_cell": 2.5}, TypeError, "moves_per_cell must be an integer, got 2.5"),
        ({"max_displacement": 0}, ValueError, "max_displacement must be positive"),
        ({"max_displacement": -0.1}, ValueError, "max_displacement must be positive"),
        ({"max_displacement": 1.01}, ValueError, "max_displacement .* at most the cell width 1,"),
        ({"max_displacement": math.nan}, ValueError, "max_displacement must be positive"),
        ({"threads": 0}, ValueError, "threads must be positive"),
        ({"threads": -2}, ValueError, "threads must be positive"),
        ({"threads": 1.5}, TypeError, "threads must be an integer, got 1.5"),
        ({"seed": -1}, ValueError, r"seed must be in \[0, 2\*\*64\), got -1"),
        ({"seed": 2**64}, ValueError, r"seed must be in \[0, 2\*\*64\)"),
        ({"seed": 1.0}, TypeError, "seed must be an integer, got 1.0"),
        ({"seed": None}, TypeError, "seed must be an integer, got None"),
        ({"repair_depth": -1e-4}, ValueError, "repair_depth must not be negative"),
        ({"repair_depth": math.nan}, ValueError, "repair_depth must not be negative"),
    ],
)
def test_bad_settings_are_refused(device, settings, error, message):
    with pytest.raises(error, match=message):
        make((np.zeros((1, 2)), (9.0, 9.0)), device, **settings)


@pytest.mark.parametrize(
    ("device", "error", "message"),
    [
        ("gpu", ValueError, 'unknown device "gpu": expected "auto", "cpu", "cuda" or '),
        ("", ValueError, 'unknown device ""'),
        ("cpu:0", ValueError, 'unknown device "cpu:0"'),
        ("cuda:", ValueError, 'unknown device "cuda:"'),
        ("cuda:-1", ValueError, 'unknown device "cuda:-1"'),
        ("cuda:x", ValueError, 'unknown device "cuda:x"'),
        ("cuda:99", ValueError, 'device "cuda:99" does not exist|has no CUDA engine'),
        (None, TypeError, "device must be a string, got None"),
        (0, TypeError, "device must be a string, got 0"),
    ],
)
def test_unknown_devices_are_refused(device, error, message):
    with pytest.raises(error, match=message):
        make((np.zeros((1, 2)), (9.0, 9.0)), device)


@pytest.mark.skipif(bool(_core.cuda_devices()), reason="there is a CUDA device")
def test_without_a_gpu_auto_means_cpu_and_cuda_is_refused():
    assert make((np.zeros((1, 2)), (9.0, 9.0)), "auto").device == "cpu"
    with pytest.raises(ValueError, match=r"no CUDA device found|has no CUDA engine"):
        make((np.zeros((1, 2)), (9.0, 9.0)), "cuda")


@on_gpu
def test_with_a_gpu_auto_means_the_first():
    disks = make((np.zeros((1, 2)), (9.0, 9.0)), "auto")
    assert disks.device == "cuda:0"
    assert disks.device_name == _core.cuda_devices()[0]["name"]
    assert disks.threads == 1


def test_the_densest_packing_that_exists_is_the_limit(device):
    """Of 480 disks, at 0.9068 and above 0.9069."""
    disks = make(hexagonal_packing(480, 0.9068), device, max_displacement=1e-4)
    assert disks.packing_fraction == pytest.approx(0.9068, rel=1e-9)
    positions, box = hexagonal_packing(480, 0.9068)
    with pytest.raises(ValueError, match=r"packing fraction 0\.90[67].* is above"):
        make((positions, (box[0], box[1] * 0.9997)), device)


# ---- overlaps ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "depth"),
    [((3.2, 3.4), 0.5), ((3.1999, 4.0), 0.0001 + 4e-6), ((2.2, 3.4), 0.5), ((2.7, 3.4), 1.0)],
)
def test_an_overlapping_start_names_the_pair_and_its_depth(device, second, depth):
    """Also across the boundary of the box, and of disks on the same spot."""
    box = (9.0, 9.0)
    positions = lattice(5, 5, box)
    first = np.array([2.7, 3.4])
    second = np.array(second)
    if depth not in (0.5, 1.0):
        first, second = np.array([-4.5 + 0.4, 0.0]), np.array([4.5 - (0.6 - depth), 0.0])
    positions = np.concatenate([positions[:1] * 0, [[2.7, -3.0]], [first], [second]])
    with pytest.raises(OverlapError, match=r"disks 2 and 3 overlap by .* diameters") as caught:
        make((positions, box), device, repair_depth=1e-5)
    assert isinstance(caught.value, ValueError)
    found = float(str(caught.value).split("overlap by ")[1].split()[0])
    assert found == pytest.approx(depth, abs=2e-6)


def test_many_disks_on_one_spot_are_refused(device):
    with pytest.raises(OverlapError, match=r"disks [0-9]+ and [0-9]+ overlap by 1 diameters"):
        make((np.zeros((50, 2)), (9.0, 9.0)), device, repair_depth=0.5)


def test_the_worst_pair_is_the_one_named(device):
    positions = np.array([[0.0, 0.0], [0.9, 0.0], [3.0, 0.0], [3.0, 0.7], [-3.0, -3.0]])
    with pytest.raises(
        OverlapError, match=r"disks 2 and 3 overlap by 0\.3.*repair_depth = 0\.0001"
    ):
        make((positions, (12.0, 12.0)), device)


def test_a_float32_file_is_repaired_and_reported(device):
    """Pairs that almost touch, in a box of 300 diameters: float32 makes some overlap by 1e-5."""
    box = (300.0, 300.0)
    angles = np.random.default_rng(1).uniform(0, 2 * np.pi, 2500)
    ends = lattice(50, 50, box)
    half = 0.5 * (1 + 3e-6) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    positions = np.stack([ends - half, ends + half], axis=1).reshape(-1, 2)
    assert make((positions, box), device).repaired["count"] == 0
    single = positions.astype(np.float32)
    depths = 1 - np.linalg.norm(np.diff(single.astype(float).reshape(-1, 2, 2), axis=1), axis=2)
    assert (depths > 1e-6).sum() > 200
    disks = make((single, box), device)
    assert disks.repaired["count"] == pytest.approx((depths > 0).sum(), rel=0.3)
    assert disks.repaired["depth"] == pytest.approx(depths.max(), rel=0.2)
    assert disks.max_overlap() == 0
    moved = disks.positions - positions
    moved -= np.rint(moved / np.array(box)) * np.array(box)
    assert np.abs(moved).max() < 5e-5
    with pytest.raises(OverlapError):
        make((single, box), device, repair_depth=0)


def test_nothing_is_repaired_where_nothing_overlaps(device, fluid):
    disks = make(fluid, device)
    assert disks.repaired == {"count": 0, "depth": 0.0}
    assert np.abs(disks.positions - fluid[0]).max() < 2e-6


def test_overlaps_that_cannot_be_mended_are_refused(device):
    """Three disks in a row in a box of three diameters, slightly too close: there is no room."""
    positions = lattice(3, 3, (3.0, 3.0))
    positions[4, 0] += 5e-5
    with pytest.raises(OverlapError, match="could not be pushed apart"):
        make((positions, (3.0, 3.0)), device)


def test_disks_that_touch_do_not_overlap(device):
    disks = make((lattice(3, 3, (3.0, 3.0)), (3.0, 3.0)), device)
    assert disks.repaired["count"] == 0
    disks.run_cycles(100)
    assert disks.accepted_moves == 0
    assert disks.max_overlap() < 1e-12


def test_max_overlap_finds_the_closest_pair(device, fluid):
    disks = make(fluid, device)
    assert disks.max_overlap() == 0
    assert closest_distance(disks.positions, disks.box) >= 1
    assert make((np.zeros((1, 2)), (9.0, 9.0)), device).max_overlap() == 0
