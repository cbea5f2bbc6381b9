"""GSD frames: what is written comes back, and what is not a frame of equal disks is refused."""

import gsd.hoomd
import numpy as np
import pytest

from manymove.hard_particles.packing import random_packing
from manymove.io import FrameWriter, make_frame, read_frame


def frame(**changes):
    """A valid frame of three disks, as HOOMD-blue writes it, with changes."""
    values = {
        "box": [10.0, 8.0, 0, 0, 0, 0],
        "dimensions": 2,
        "position": [[0, 0, 0], [2, 0, 0], [-5, 3, 0]],
        "diameter": [0.5, 0.5, 0.5],
        **changes,
    }
    made = gsd.hoomd.Frame()
    made.configuration.box = values["box"]
    made.configuration.dimensions = values["dimensions"]
    made.configuration.step = 7
    made.particles.N = len(values["position"])
    made.particles.position = values["position"]
    made.particles.diameter = values["diameter"]
    return made


def write(path, *frames):
    with gsd.hoomd.open(str(path), "w") as trajectory:
        for one in frames:
            trajectory.append(one)
    return path


def test_what_is_written_comes_back(tmp_path):
    positions, box = random_packing(1000, 0.7, seed=1, diameter=0.3)
    path = tmp_path / "trajectory.gsd"
    with FrameWriter(path) as trajectory:
        trajectory.write(make_frame(positions, box, 1, diameters=0.3))
        trajectory.write(make_frame(-positions, box, 2, diameters=0.3, log={"psi6": 0.5}))
    last, first = read_frame(path), read_frame(path, 0)
    assert (first.step, last.step) == (1, 2)
    assert last.box == box  # to the last bit, although GSD rounds boxes to float32
    assert last.diameter == 0.3
    assert np.abs(first.positions - positions).max() < 1e-6
    with gsd.hoomd.open(str(path), "r") as file:
        assert file[1].log["manymove/psi6"] == [0.5]
        assert file[1].configuration.dimensions == 2


def test_a_trajectory_can_be_continued(tmp_path):
    path = tmp_path / "trajectory.gsd"
    for step in (1, 2):
        with FrameWriter(path, resume=True) as trajectory:
            trajectory.write(make_frame(np.zeros((1, 2)), (5.0, 5.0), step))
    with FrameWriter(path, overwrite=True) as trajectory:
        trajectory.write(make_frame(np.zeros((1, 2)), (5.0, 5.0), 3))
    with gsd.hoomd.open(str(path), "r") as file:
        assert [one.configuration.step for one in file] == [3]


def test_writer_refuses_wrong_shapes(tmp_path):
    with (
        FrameWriter(tmp_path / "a.gsd") as trajectory,
        pytest.raises(ValueError, match=r"must be \(N, 2\)"),
    ):
        trajectory.write(make_frame(np.zeros((4, 3)), (5.0, 5.0), 0))


def test_frames_of_other_programs(tmp_path):
    read = read_frame(write(tmp_path / "a.gsd", frame()))
    assert read.box == (10.0, 8.0)
    assert read.diameter == 0.5
    assert read.positions.tolist() == [[0, 0], [2, 0], [-5, 3]]
    assert read.positions.flags.c_contiguous
    assert read.positions.dtype == np.float64


def test_the_upper_edge_is_the_lower_edge(tmp_path):
    path = write(tmp_path / "a.gsd", frame(position=[[5.0, 4.0, 0]], diameter=[1.0]))
    assert read_frame(path).positions.tolist() == [[-5.0, -4.0]]


def test_a_box_changed_by_another_program_counts(tmp_path):
    path = tmp_path / "a.gsd"
    with FrameWriter(path) as trajectory:
        trajectory.write(make_frame(np.zeros((1, 2)), (5.0, 5.0), 0))
    with gsd.hoomd.open(str(path), "r") as file:
        changed = file[0]
    changed.configuration.box = [6.0, 5.0, 0, 0, 0, 0]
    assert read_frame(write(tmp_path / "b.gsd", changed)).box == (6.0, 5.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dimensions": 3, "box": [10, 8, 6, 0, 0, 0]}, "3-dimensional"),
        ({"box": [10, 8, 0, 0.5, 0, 0]}, "tilted"),
        ({"box": [0, 8, 0, 0, 0, 0]}, "must be positive"),
        ({"position": [[0, 0, 0], [2, 0, 0.1], [-5, 3, 0]]}, "particle 1 .* z other than 0"),
        ({"position": [[0, 0, 0], [2, 0, 0], [5.1, 3, 0]]}, "particle 2 .* outside"),
        ({"position": [[0, 0, 0], [np.nan, 0, 0], [1, 3, 0]]}, "particle 1 .* not finite"),
        ({"diameter": [0.5, 0.6, 0.5]}, "all disks must be alike"),
        ({"diameter": [0.0, 0.0, 0.0]}, "diameter 0.0"),
        ({"position": np.empty((0, 3)), "diameter": []}, "no particles"),
    ],
)
def test_what_is_no_frame_of_disks_is_refused(tmp_path, changes, message):
    path = write(tmp_path / "a.gsd", frame(**changes))
    with pytest.raises(ValueError, match=message):
        read_frame(path)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"positions": np.full((1, 2), np.nan)}, ValueError, "positions must be finite"),
        ({"step": -1}, ValueError, r"step must be in \[0, 2\*\*64\), got -1"),
        ({"step": 1.5}, TypeError, "step must be an integer, got 1.5"),
        ({"box": (5.0, -5.0)}, ValueError, "box must be two or three positive edges"),
        ({"box": (5.0, 5.0, 5.0, 0.0)}, ValueError, "box must be two or three positive edges"),
    ],
)
def test_frames_that_no_program_can_read_are_not_written(given, error, message):
    with pytest.raises(error, match=message):
        make_frame(**{"positions": np.zeros((1, 2)), "box": (5.0, 5.0), "step": 1, **given})


def test_missing_files_and_frames_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_frame(tmp_path / "none.gsd")
    with pytest.raises(TypeError, match="frame must be an integer, got 'last'"):
        read_frame(write(tmp_path / "a.gsd", frame()), "last")
    with pytest.raises(ValueError, match="no frame 3, the file has 1"):
        read_frame(tmp_path / "a.gsd", 3)
    (tmp_path / "b.gsd").write_text("not a GSD file")
    with pytest.raises(ValueError, match="not a readable GSD file"):
        read_frame(tmp_path / "b.gsd")
