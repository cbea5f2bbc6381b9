"""Configurations from and to files."""

from manymove.io.trajectory import (
    Frame,
    FrameWriter,
    make_frame,
    read_frame,
    read_log,
)

__all__ = ["Frame", "FrameWriter", "make_frame", "read_frame", "read_log"]
