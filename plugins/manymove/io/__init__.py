"""Configurations from and to files."""

from manymove.io.trajectory import (
    Frame,
    FrameWriter,
    TrajectoryWriter,
    make_frame,
    read_frame,
    read_log,
)

__all__ = ["Frame", "FrameWriter", "TrajectoryWriter", "make_frame", "read_frame", "read_log"]
