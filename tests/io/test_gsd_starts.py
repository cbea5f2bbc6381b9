# SPDX-License-Identifier: BSD-3-Clause
"""Starts from GSD files: disks and ions, with what the file has and what arguments replace."""

from __future__ import annotations

import gsd.hoomd
import numpy as np
import pytest

from manymove import Electrolyte, HardDisks, Ions, Salt, Species, Sphere
from manymove.io import FrameWriter, make_frame, read_frame

CPU = {"seed": 1, "device": "cpu", "threads": 1}
BOX = (40.0, 50.0, 60.0)


def test_disks_come_from_any_frame(tmp_path):
    one, path = HardDisks.random(64, 0.5, diameter=0.5, **CPU), tmp_path / "disks.gsd"
    starts = []
    with FrameWriter(path) as trajectory:
        for _ in range(2):
            one.run(50)
            trajectory.write(make_frame(one.positions, one.box, one.cycles, diameters=one.diameter))
            starts.append(one.positions)
    for frame, expected in ((0, starts[0]), (-1, starts[1])):
        read = HardDisks.from_gsd(path, frame, **CPU)
        assert (read.box, read.diameter, read.N) == (one.box, 0.5, 64)
        assert np.abs(read.positions - expected).max() < 1e-6
    assert HardDisks.from_gsd(path, diameter=0.4, max_displacement=0.1, **CPU).diameter == 0.4
    with pytest.raises(ValueError, match="no frame 2"):
        HardDisks.from_gsd(path, 2, **CPU)
    with pytest.raises(FileNotFoundError, match="no such file"):
        HardDisks.from_gsd(tmp_path / "none.gsd", **CPU)


def write(path, positions, **particles):
    frame = gsd.hoomd.Frame()
    frame.configuration.box = [*BOX, 0, 0, 0]
    frame.particles.N = len(positions)
    frame.particles.position = positions
    for name, value in particles.items():
        setattr(frame.particles, name, value)
    with gsd.hoomd.open(str(path), "w") as file:
        file.append(frame)
    return path


@pytest.fixture
def salt():
    """Ions of three types, one of which does not occur; the second type comes first."""
    one = Electrolyte.random(Salt.of(24, (3, -1), (7.5, 5.0)), box=BOX, **CPU)
    order = np.argsort(one.types)[::-1]
    types = np.array([2, 0])[one.types[order]]
    return one.positions[order].astype(np.float32), types


def test_ions_have_types_charges_and_diameters_of_the_file(salt, tmp_path):
    positions, types = salt
    kinds = {"types": ["anion", "none", "cation"], "typeid": types}
    values = {"charge": np.where(types == 2, 3, -1), "diameter": np.where(types == 2, 7.5, 5.0)}
    one = Electrolyte.from_gsd(write(tmp_path / "ions.gsd", positions, **kinds, **values), **CPU)
    assert one.species == (Species(-1, 5.0), Species(3, 7.5))
    assert (one.types == types // 2).all() and one.box == BOX
    expected = Electrolyte(positions, ions=Ions(one.types, one.species), box=BOX, **CPU)
    assert one.state_hash == expected.state_hash
    in_a_cell = Electrolyte.from_gsd(
        tmp_path / "ions.gsd", box=Sphere(60.0), precision="double", **CPU
    )
    assert (in_a_cell.radius, in_a_cell.box, in_a_cell.precision) == (60.0, None, "double")


def test_a_type_with_several_charges_is_several_species(salt, tmp_path):
    positions, types = salt
    values = {"charge": np.where(types == 2, 3, -1), "diameter": np.full(len(types), 5.0)}
    one = Electrolyte.from_gsd(write(tmp_path / "ions.gsd", positions, **values), **CPU)
    assert one.species == (Species(-1, 5.0), Species(3, 5.0))


def test_species_are_given_where_the_file_has_no_charges(salt, tmp_path):
    positions, types = salt
    path = write(tmp_path / "ions.gsd", positions, types=["a", "b", "c"], typeid=types)
    with pytest.raises(ValueError, match="not all particles have a charge: give species"):
        Electrolyte.from_gsd(path, **CPU)
    species = (Species(-1, 5.0), Species(3, 7.5))
    assert Electrolyte.from_gsd(path, species=species, **CPU).species == species
    with pytest.raises(ValueError, match="types must be from 0 to 0"):
        Electrolyte.from_gsd(path, species=species[:1], **CPU)


def test_the_number_of_dimensions_must_be_right(salt, tmp_path):
    path = write(tmp_path / "ions.gsd", salt[0])
    with pytest.raises(ValueError, match="3-dimensional"):
        HardDisks.from_gsd(path, **CPU)
    with FrameWriter(tmp_path / "disks.gsd") as trajectory:
        trajectory.write(make_frame(np.zeros((1, 2)), (5.0, 5.0), 0))
    with pytest.raises(ValueError, match="two-dimensional"):
        Electrolyte.from_gsd(tmp_path / "disks.gsd", **CPU)
    frame = read_frame(path, dimensions=3)
    assert frame.positions.shape == (24, 3) and frame.box == BOX
    assert (frame.diameters == 1).all() and (frame.charges == 0).all()


def test_particles_outside_the_box_are_refused(salt, tmp_path):
    positions = salt[0].copy()
    positions[5] = 0, 0, 31
    with pytest.raises(ValueError, match=r"5 .* is outside 40.0 x 50.0 x 60.0 .*: wrap"):
        read_frame(write(tmp_path / "ions.gsd", positions), dimensions=3)
