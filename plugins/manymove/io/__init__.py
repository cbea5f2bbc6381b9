"""Configurations from and to files."""

from manymove.io.trajectory import Frame, FrameWriter, TrajectoryWriter, read_frame

__all__ = ["Frame", "FrameWriter", "TrajectoryWriter", "read_frame"]
