"""Devices and streams without a GPU; tests/cxx/test_devices.cpp has further tests of them."""

from __future__ import annotations

import numpy as np
import pytest
from electrolytes import trivalent
from hard_disks import make

from manymove import _core


class OnDevice:
    """A CUDA array in name; nothing lies at its address."""

    def __init__(self, **face):
        self.__cuda_array_interface__ = {
            "shape": (3, 2),
            "typestr": "<f8",
            "data": (0xDEAD0000, False),
            "version": 3,
            **face,
        }


@pytest.mark.parametrize("stream", [0, -1, 1.0, "1", [1]])
def test_a_stream_that_the_cuda_array_interface_does_not_allow_is_refused(stream):
    with pytest.raises(ValueError, match="stream must be None, 1, 2 or the handle of a stream"):
        make((OnDevice(stream=stream), (9.0, 9.0)))


@pytest.mark.parametrize("face", [{}, {"stream": None}, {"stream": 1}, {"stream": 0x7F00DEADBEEF}])
def test_allowed_streams_are_taken(face):
    # The array cannot be read, because there is no device or nothing at its address.
    with pytest.raises((RuntimeError, ValueError), match="CUDA"):
        make((OnDevice(**face), (9.0, 9.0)))


@pytest.mark.skipif(not _core.cuda_compiled, reason="this build has no CUDA engine")
def test_a_chain_on_several_devices_refuses_launches_that_block(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with pytest.raises(ValueError, match="CUDA_LAUNCH_BLOCKING is set"):
        trivalent(100, device="cuda:0,1")


@pytest.mark.skipif(not _core.cuda_compiled, reason="this build has no CUDA engine")
def test_blocking_launches_that_are_switched_off_are_no_obstacle(monkeypatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "0")
    with pytest.raises(ValueError, match='device "cuda:998" does not exist'):
        trivalent(100, device="cuda:998,999")


def test_arrays_of_the_host_need_no_stream():
    positions = np.array([[-3.0, 0.0], [0.0, 0.0], [3.0, 3.0]])
    assert make((positions, (9.0, 9.0))).N == 3


@pytest.mark.skipif(_core.cuda_compiled, reason="this build has a CUDA engine")
def test_a_build_without_cuda_says_why():
    with pytest.raises(
        ValueError, match=r"^this build of manymove has no CUDA engine: \w+"
    ) as told:
        make((np.array([[-3.0, 0.0], [0.0, 0.0]]), (9.0, 9.0)), device="cuda")
    assert str(told.value) == _core.why_no_cuda_devices()
