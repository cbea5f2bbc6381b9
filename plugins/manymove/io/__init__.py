"""Configurations from and to files."""

from manymove.io.trajectory import Frame, TrajectoryWriter, read_frame

__all__ = ["Frame", "TrajectoryWriter", "read_frame"]
