"""Errors carry the names and numbers of their message."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import manymove
from manymove.errors import IonOverlapError, OverlapError, ParameterError, ParticleError, PlaceError

BOX = (8.0, 8.0)
FAR = [(-2.0, 0.0), (2.0, 0.0)]


def disks(positions=FAR, **settings):
    return manymove.HardDisks(positions, BOX, seed=1, device="cpu", threads=1, **settings)


def test_an_engine_names_the_parameter_of_its_error():
    with pytest.raises(ParameterError, match=r"^max_displacement must be") as caught:
        disks(max_displacement=5.0)
    assert caught.value.parameters == ("max_displacement",)
    other = caught.value.with_names({"max_displacement": "--max-displacement"})
    assert other.startswith("--max-displacement must be positive and at most")


def test_an_engine_names_the_particles_of_its_error():
    with pytest.raises(ParticleError, match=r"^disk 1 is outside the box") as caught:
        disks([FAR[0], (7.0, 0.0)])
    assert caught.value.particles == (1,)
    assert caught.value.with_names("tag", "tags").startswith("tag 1 is outside the box")
    with pytest.raises(OverlapError, match=r"^disks 0 and 1 overlap by 0.5 ") as caught:
        disks([(0.0, 0.0), (0.5, 0.0)])
    assert caught.value.particles == (0, 1)
    with pytest.raises(ParticleError, match=r"^position of disk 0 is not finite"):
        disks([(np.nan, 0.0), (0.5, 0.0)])


def test_overlapping_ions_are_named():
    with pytest.raises(IonOverlapError, match=r"^ions 0 and 1 overlap: their distance") as caught:
        species = [manymove.Species(1, 3.0), manymove.Species(-1, 3.0)]
        places = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]
        manymove.Electrolyte(
            places, ions=manymove.Ions([0, 1], species), box=(30.0,) * 3, seed=1, device="cpu"
        )
    assert caught.value.particles == (0, 1)


@pytest.mark.parametrize(
    "error",
    [
        ParameterError(("a", "b", "c"), "must be positive, got 0"),
        ParticleError("disk", (3,), "is not finite", "position"),
        OverlapError("disk", (3, 5), "overlap"),
        PlaceError("molecule 3 is in a pocket", 3, True),
    ],
)
def test_errors_can_be_pickled(error):
    error.agreed = True  # the mark of an error that all ranks raise
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__


def test_several_names():
    error = ParameterError(("a", "b", "c"), "must be positive")
    assert str(error) == "a, b and c must be positive"
    assert error.with_names({"b": "--b", "d": "--d"}) == "a, --b and c must be positive"
