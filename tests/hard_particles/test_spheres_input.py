# SPDX-License-Identifier: BSD-3-Clause
"""Input of `HardSpheres` and of mixtures of disks, and its errors; GSD files."""

from __future__ import annotations

import gsd.hoomd
import numpy as np
import pytest
from flat_settings import of_hard_particles
from hard_spheres import make, sites

from manymove import Grid, HardDisks, HardSpheres
from manymove.hard_particles import OverlapError
from manymove.io import FrameWriter, make_frame, read_frame

BOX = (9.0, 9.0, 9.0)
THREE = np.array([[-3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 3.0, 0.0]])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"diameters": [1.0, -1.0, 1.0]}, ValueError, r"diameter must be positive .* -1\.0 at"),
        ({"diameters": [1.0, 1.0]}, ValueError, "got 2"),
        ({"diameters": [[1.0, 1.0, 1.0]]}, ValueError, r"diameter must have shape \(N,\)"),
        ({"diameters": "large"}, TypeError, "diameter must be a number"),
        ({"types": [0, 0, 1]}, TypeError, "contacts"),
        ({"contacts": [[1.0]]}, TypeError, "types"),
        ({"types": [0, 0, 1], "contacts": [[1, 2], [1, 1]]}, ValueError, "got 2.0 for types 0-1"),
        ({"types": [0, 0, 1], "contacts": [[1, 1]]}, ValueError, "symmetric table"),
        ({"types": [0, 0, 2], "contacts": [[1, 1], [1, 1]]}, ValueError, "got 2 of particle 2"),
        ({"types": [0, -1, 0], "contacts": [[1, 1], [1, 1]]}, ValueError, "got -1 of particle 1"),
        ({"types": [0.5, 0, 0], "contacts": [[1.0]]}, ValueError, "types must be integers"),
        ({"types": [0, 0], "contacts": [[1.0]]}, ValueError, "types"),
        ({"types": [0] * 3, "contacts": np.ones((65, 65))}, ValueError, "at most 64 types"),
        ({"tile": (4, 5)}, ValueError, r"tile must .* have 3 integers, got \(4, 5\)"),
        ({"tile": (4, 5, 0)}, ValueError, "tile must be positive and below .*, got 0"),
        ({"comm": object()}, TypeError, "comm must be a communicator of mpi4py"),
    ],
)
def test_bad_settings_are_refused(device, settings, error, message):
    with pytest.raises(error, match=message):
        make((THREE, BOX), device, **settings)


def test_psi6_is_for_equal_disks():
    disks = HardDisks(THREE[:, :2], BOX[:2], diameter=[1, 1, 2], seed=1, device="cpu")
    with pytest.raises(RuntimeError, match="psi6 is the order of equal disks"):
        disks.psi6()


def test_an_overlapping_start_names_the_pair_and_its_depth(device):
    """In contact distances of the pair: 1.5 for the types 0 and 1."""
    positions = np.array([[-4.4, 0, 0], [0, 0, 0], [4.0, 0, 0]])
    table = [[1.0, 1.5], [1.5, 2.0]]
    with pytest.raises(OverlapError, match=r"0 and 2 overlap by 0\.6"):
        make((positions, BOX), device, types=[0, 0, 1], contacts=table)
    make((positions, BOX), device, types=[0, 1, 0], contacts=[[0.5, 1], [1, 2]])


def test_a_float32_file_is_repaired_and_reported(device):
    """Pairs that almost touch, in a box of 120 diameters: float32 makes some overlap by 1e-6."""
    box = (120.0, 120.0, 120.0)
    ends = sites(box, 12)
    directions = np.random.default_rng(1).normal(size=ends.shape)
    half = 0.5 * (1 + 3e-6) * directions / np.linalg.norm(directions, axis=1)[:, None]
    positions = np.stack([ends - half, ends + half], axis=1).reshape(-1, 3)
    assert make((positions, box), device).repaired["count"] == 0
    spheres = make((positions.astype(np.float32), box), device)
    assert spheres.repaired["count"] > 30
    assert 1e-6 < spheres.repaired["depth"] < 1e-5
    assert spheres.max_overlap() == 0
    assert np.abs(spheres.positions - positions).max() < 1e-4


# ---- GSD ---------------------------------------------------------------------------------------


def written(path, particles):
    """Write a frame of these particles."""
    with FrameWriter(path) as trajectory:
        trajectory.write(
            make_frame(
                particles.positions,
                particles.box,
                7,
                diameters=particles.diameters,
                types=particles.types if particles.contacts is not None else None,
                contacts=particles.contacts,
            )
        )
    return path


SIZES = {
    "equal": {"diameter": 0.3},
    "diameters": {"diameters": np.linspace(0.2, 0.5, 60)},
    "types": {"types": np.arange(60) % 3, "contacts": [[0.3, 0.4, 0.35], [0.4, 0.5, 0.4],
                                                       [0.35, 0.4, 0.3]]},
}  # fmt: skip


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", [HardDisks, HardSpheres])
def test_what_is_written_comes_back(tmp_path, kind, sizes):
    options = {"seed": 1, "device": "cpu", "threads": 1}
    first = kind.random(60, 0.3, **of_hard_particles(**SIZES[sizes]), **options)
    path = written(tmp_path / "a.gsd", first)
    again = kind.from_gsd(path, **options)
    assert again.box == first.box
    assert np.array_equal(again.diameters, first.diameters)
    assert np.array_equal(again.types, first.types)
    assert (again.contacts is None) == (first.contacts is None)
    if first.contacts is not None:
        assert np.array_equal(again.contacts, first.contacts)
    assert np.abs(again.positions - first.positions).max() < 1e-6
    with gsd.hoomd.open(str(path), "r") as file:
        assert file[0].configuration.dimensions == len(first.box)
        assert np.allclose(file[0].particles.diameter, first.diameters)
        assert file[0].particles.types == (["A", "B", "C"] if sizes == "types" else ["A"])
    assert kind.from_gsd(path, diameter=0.1, **options).diameter == 0.1


def test_types_of_another_program_have_the_means_of_their_diameters(tmp_path):
    """Without a table of contacts; a type that does not occur is left out."""
    frame = gsd.hoomd.Frame()
    frame.configuration.box = [9, 9, 9, 0, 0, 0]
    frame.particles.N = 3
    frame.particles.position = THREE
    frame.particles.types = ["large", "none", "small"]
    frame.particles.typeid = [0, 2, 2]
    frame.particles.diameter = [2.0, 1.0, 1.0]
    with gsd.hoomd.open(str(tmp_path / "a.gsd"), "w") as file:
        file.append(frame)
    spheres = HardSpheres.from_gsd(tmp_path / "a.gsd", seed=1, device="cpu")
    assert spheres.contacts.tolist() == [[2.0, 1.5], [1.5, 1.0]]
    assert spheres.types.tolist() == [0, 1, 1]
    frame.particles.diameter = [2.0, 1.0, 1.5]
    with gsd.hoomd.open(str(tmp_path / "b.gsd"), "w") as file:
        file.append(frame)
    spheres = HardSpheres.from_gsd(tmp_path / "b.gsd", seed=1, device="cpu")
    assert spheres.contacts is None and spheres.diameters.tolist() == [2.0, 1.0, 1.5]


def test_frames_of_the_wrong_dimension_are_refused(tmp_path):
    options = {"seed": 1, "device": "cpu", "threads": 1}
    flat = written(tmp_path / "flat.gsd", HardDisks.random(60, 0.3, **options))
    deep = written(tmp_path / "deep.gsd", HardSpheres.random(60, 0.3, **options))
    with pytest.raises(ValueError, match="two-dimensional; a box with three edges is needed"):
        HardSpheres.from_gsd(flat, **options)
    with pytest.raises(ValueError, match="3-dimensional; disks need a two-dimensional box"):
        HardDisks.from_gsd(deep, **options)
    assert read_frame(deep, dimensions=3).box == HardSpheres.from_gsd(deep, **options).box


def test_a_writer_refuses_positions_of_the_wrong_shape(tmp_path):
    with (
        FrameWriter(tmp_path / "a.gsd") as trajectory,
        pytest.raises(ValueError, match=r"must be \(N, 3\)"),
    ):
        trajectory.write(make_frame(np.zeros((4, 2)), BOX, 0))


def test_sizes_that_differ_much_are_a_warning():
    diameters = np.full(512, 0.2)
    diameters[0] = 1.0
    spheres = HardSpheres.random(512, 0.05, diameter=diameters, seed=1, device="cpu")
    with pytest.warns(UserWarning, match="the sizes differ by a factor of 5; beyond 4"):
        spheres.sample_pressure(every=1)


@pytest.mark.parametrize("kind", [HardDisks, HardSpheres])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((300.0, 0.3), TypeError, "N must be an integer, got 300.0"),
        ((300, 0.3, 1.5), TypeError, "seed must be an integer, got 1.5"),
        ((300, 0.3, -1), ValueError, "seed must be in"),
        ((1, 0.3), ValueError, "box too small for the checkerboard: edge x is .* three "),
    ],
)
def test_random_starts_name_their_arguments(kind, arguments, error, message):
    N, packing_fraction, seed = (*arguments, 1)[:3]
    with pytest.raises(error, match=message):
        kind.random(N, packing_fraction, seed=seed)


def test_widths_of_tiles_may_be_an_array():
    tile = np.array([4, 5, 4])
    assert HardSpheres.random(100, 0.1, seed=1, grid=Grid(tile=tile), device="cpu").tile == (
        4,
        5,
        4,
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: HardDisks.random(9, 0.3, seed=1).run("5"), "sweeps must be a number, got '5'"),
        (lambda: HardDisks.random(9, 0.3, seed=1).run_until(None), "sweeps must be a number"),
        (lambda: HardSpheres.random(9, "0.3", seed=1), "packing_fraction must be a number"),
        (
            lambda: HardDisks.random(9, 0.3, seed=1).sample_pressure("1"),
            "every must be a number, got '1'",
        ),
        (lambda: HardDisks(None, (9, 9), seed=1), "positions must be an array, got None"),
        (lambda: HardDisks(np.zeros((3, 4)), (9, 9), seed=1), r"shape \(N, 2\), got \(3, 4\)"),
        (lambda: HardSpheres(np.zeros(3), (9, 9, 9), seed=1), r"shape \(N, 3\), got \(3,\)"),
        (lambda: HardSpheres(THREE, (9, 9, 9, 9), seed=1), "box must be three edges"),
    ],
)
def test_arguments_of_a_wrong_kind_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
