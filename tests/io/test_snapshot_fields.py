# SPDX-License-Identifier: BSD-3-Clause
"""Each field of an engine's snapshot survives, or is missed by name. The fields are those that the
engine hands out, so that a new one is tested without a change here.
"""

from __future__ import annotations

import numpy as np
import pytest

from manymove import Electrolyte, Ewald, Salt, _core


def make_ions():
    """Ions with images, which only Ewald's energy with a vacuum around them has."""
    ions = Electrolyte.random(
        Salt.of(20, (1, -1), (4.0, 4.0)), box=(40.0, 40.0, 40.0), boundary=Ewald("vacuum"),
        max_displacement=15.0, seed=1, device="cpu", threads=1,
    )  # fmt: skip
    ions.run(20)
    return ions._engine.snapshot(), lambda state: _core.Electrolyte.from_snapshot(
        state, ions._columns(), *ions._where()
    )


MAKE = {"ions": make_ions}
parametrize = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


@parametrize
def test_each_field_survives(make):
    state, engine_from = make()
    for name, value in state.items():  # numbers that differ from each other and from 0
        if isinstance(value, tuple):
            state[name] = tuple(one + k for k, one in enumerate(value, 1))
    again = engine_from(state).snapshot()
    assert list(again) == list(state)
    for name, value in state.items():
        assert type(again[name]) is type(value)
        assert np.any(value), f"{name} is zero, so that a lost one would not be seen"
        np.testing.assert_array_equal(again[name], value, strict=True, err_msg=name)


@parametrize
def test_a_field_that_is_missing_or_of_another_type_is_refused(make):
    state, engine_from = make()
    for name in state:
        with pytest.raises(ValueError, match=f"checkpoint: a value is missing: '{name}'"):
            engine_from({other: state[other] for other in state if other != name})
        for wrong in ("x", None, [], [0] * 9):
            with pytest.raises(ValueError, match="checkpoint: a value has the wrong type or shape"):
                engine_from({**state, name: wrong})
