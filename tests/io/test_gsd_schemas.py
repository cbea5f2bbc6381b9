# SPDX-License-Identifier: BSD-3-Clause
"""Files of both schemas of HOOMD-blue: 1.4, which its releases before 7 write, and 2.0, which has
positions in float64 if the writer asks for them and needs gsd 5."""

from __future__ import annotations

import gsd.fl
import gsd.hoomd
import gsd.version
import numpy as np
import pytest

from manymove import Electrolyte, HardDisks, HardSpheres
from manymove.io import FrameWriter, make_frame, read_frame

CPU = {"seed": 1, "device": "cpu", "threads": 1}
READS_2 = int(gsd.version.version.split(".")[0]) >= 5
SITES = 1.2 * (np.indices((6, 6)).reshape(2, -1).T - 2.5) + 1 / 3
SCHEMAS = [((1, 4), np.float32), ((2, 0), np.float32), ((2, 0), np.float64)]


def write(path, schema, precision, dimensions=2):
    """A frame of particles on a lattice, as the chunks of the schema."""
    sites = np.pad(SITES, ((0, 0), (0, 1)))
    edges = [7.2, 7.2, 0 if dimensions == 2 else 7.2]
    with gsd.fl.open(str(path), "w", "test", "hoomd", list(schema)) as file:
        file.write_chunk("configuration/step", np.array([7], np.uint64))
        file.write_chunk("configuration/dimensions", np.array([dimensions], np.uint8))
        file.write_chunk("configuration/box", np.array([*edges, 0, 0, 0], precision))
        file.write_chunk("particles/N", np.array([len(sites)], np.uint32))
        file.write_chunk("particles/position", sites.astype(precision))
        file.write_chunk("particles/charge", np.resize([1, -1], len(sites)).astype(precision))
        file.end_frame()
    return path


@pytest.mark.parametrize(("schema", "precision"), SCHEMAS)
def test_both_schemas_are_read(schema, precision, tmp_path):
    path = write(tmp_path / "start.gsd", schema, precision)
    if schema == (2, 0) and not READS_2:
        with pytest.raises(ValueError, match=r"schema 2.0 .* gsd \S+ does not read: pip install"):
            read_frame(path)
        return
    frame = read_frame(path)
    assert (frame.step, len(frame.positions)) == (7, 36)
    np.testing.assert_array_equal(frame.positions, SITES.astype(precision).astype(np.float64))
    started = HardDisks.from_gsd(path, **CPU).positions  # rounded by the engine
    np.testing.assert_allclose(started, frame.positions, rtol=0, atol=1e-6)
    space = write(tmp_path / "space.gsd", schema, precision, dimensions=3)
    assert HardSpheres.from_gsd(space, **CPU).N == Electrolyte.from_gsd(space, **CPU).N == 36


@pytest.mark.skipif(not READS_2, reason="gsd before version 5 writes schema 1.4 only")
@pytest.mark.parametrize("precision", ["single", "double"])
def test_frames_that_gsd_5_writes(precision, tmp_path):
    frame = gsd.hoomd.Frame()
    frame.configuration.box = [7.2, 7.2, 0, 0, 0, 0]
    frame.configuration.dimensions = 2
    frame.particles.N = len(SITES)
    frame.particles.position = np.pad(SITES, ((0, 0), (0, 1)))
    path = tmp_path / "disks.gsd"
    with gsd.hoomd.open(str(path), "w", precision=precision) as file:
        file.append(frame)
        assert tuple(file.file.schema_version) == (2, 0)
    error = np.abs(read_frame(path).positions - SITES).max()
    assert error == 0 if precision == "double" else 0 < error < 1e-6


def test_a_file_of_the_earlier_schema_is_continued(tmp_path):
    path = write(tmp_path / "disks.gsd", (1, 4), np.float32)
    with FrameWriter(path, resume=True) as trajectory:
        assert trajectory.last_step == 7
        trajectory.write(make_frame(SITES, (7.2, 7.2), 8, diameters=1.0))
    assert [read_frame(path, k).step for k in (0, 1)] == [7, 8]
    assert np.abs(read_frame(path).positions - SITES).max() < 1e-6


def test_a_schema_of_the_future_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"schema 9.1 .* does not read: pip install --upgrade gsd"):
        read_frame(write(tmp_path / "start.gsd", (9, 1), np.float32))
