# SPDX-License-Identifier: BSD-3-Clause
"""Settings classes: one declaration of each parameter gives its check, its text and its default."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import sys

import numpy as np
import pytest
from processes import run

import manymove
from manymove import settings
from manymove.adsorption.rigid import empty_framework
from manymove.dpd.model import Model
from manymove.settings import Group

CLASSES = (
    manymove.HardDisks,
    manymove.HardSpheres,
    manymove.Electrolyte,
    manymove.Adsorption,
    manymove.DPDFluid,
)
GROUPS = [
    each for each in vars(settings).values()
    if inspect.isclass(each) and issubclass(each, Group) and each is not Group
]  # fmt: skip


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_a_class_has_at_most_sixteen_arguments_which_its_page_describes(kind):
    # Of the class itself, Python 3.10 gives the signature of __new__ where a base has __init__.
    names = dict(inspect.signature(kind.__init__).parameters)
    del names["self"]
    assert len(names) <= 16
    described = inspect.getdoc(kind).partition("\nArgs:\n")[2]
    for name, argument in names.items():
        assert f"\n    {name}: " in f"\n{described}"
        assert "Annotated" not in str(argument)
    assert {"seed", "device", "threads"} <= names.keys()


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_a_group_is_public_and_declares_all_its_parameters(group):
    assert getattr(manymove, group.__name__) is group
    assert [*group.declared] == [field.name for field in dataclasses.fields(group)]
    for parameter in group.declared.values():
        assert parameter.text.endswith(".") and parameter.text[0] == parameter.text[0].upper()


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_unknown_keyword_is_an_error_of_python(kind):
    with pytest.raises(TypeError, match="unexpected keyword argument 'swap_rounds'"):
        kind(np.zeros((4, 3)), (9.0, 9.0, 9.0), seed=1, swap_rounds=1)
    nearest = f"^{kind.__name__} got .* 'thread'; the nearest name is threads$"
    with pytest.raises(TypeError, match=nearest):
        kind(np.zeros((4, 3)), (9.0, 9.0, 9.0), seed=1, thread=1)


def test_a_subclass_can_pass_keywords_on():
    class Labeled(manymove.HardDisks):
        def __init__(self, *values, label, **others):
            super().__init__(*values, **others)
            self._label = label

    make = functools.partial(Labeled, np.zeros((1, 2)), (9.0, 9.0), seed=1, label="a")
    assert make(device="cpu")._label == "a"
    with pytest.raises(TypeError, match=r"^Labeled got .* 'sede'; the nearest name is seed$"):
        make(sede=1)


def test_values_of_wrong_types_are_named():
    with pytest.raises(TypeError, match="valence must be a number, got 'a'"):
        manymove.Species("a", 4.0)
    with pytest.raises(TypeError, match="diameter must be a number, got None"):
        manymove.Species(1, None)
    with pytest.raises(ValueError, match="valence inf; it must be finite"):
        manymove.Species(math.inf, 1.0)
    with pytest.raises(ValueError, match="sweeps must be finite and not negative, got inf"):
        manymove.HardDisks.random(64, 0.5, seed=1, device="cpu").run(10**400)
    with pytest.raises(ValueError, match=r"without a framework, box must be .*, got 3"):
        manymove.Adsorption(3, 4, seed=1)
    with pytest.raises(ValueError, match=r"box must be two edges \(Lx, Ly\), got b'99'"):
        manymove.HardDisks(np.zeros((1, 2)), b"99", seed=1)


def test_the_box_of_molecules_without_a_framework_may_be_an_array():
    assert empty_framework(np.array([30.0, 31.0, 32.0])).cell == (30.0, 31.0, 32.0)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: manymove.Swaps(0), ValueError, "rounds must be from 1 to 1000, got 0"),
        (lambda: manymove.Swaps(1, every=1.5), TypeError, "every must be an integer, got 1.5"),
        (lambda: manymove.GrandCanonical([1, -1]), ValueError, "fugacity must not be negative"),
        (lambda: manymove.ConstantPressure(-1), ValueError, "pressure must be positive"),
        (lambda: manymove.ConstantPressure(1, "x"), ValueError, 'mode must be "ln", "standard"'),
        (lambda: manymove.Ewald("air"), ValueError, 'surrounding must be "conductor" or "vacuum"'),
        (lambda: manymove.Forces(gamma=-1), ValueError, "gamma must not be negative, got -1"),
        (lambda: manymove.Forces(a=1e16), ValueError, r"a must be at most 1e\+15 in magnitude"),
        (lambda: manymove.Ranks(None, timeout=0.0), ValueError, "timeout must be positive"),
    ],
)
def test_values_out_of_range_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_the_command_and_the_class_of_dissipative_particles_have_the_same_defaults():
    ours = inspect.signature(manymove.DPDFluid).parameters
    declared = {field.name: field.default for field in dataclasses.fields(Model)}
    shared = ours.keys() & declared.keys() - {"seed"}  # which the class requires
    assert shared == {"temperature", "timestep", "precision", "device", "threads"}
    for name in shared:
        assert ours[name].default == declared[name]
    assert {*declared} - {*ours} == {field.name for field in dataclasses.fields(manymove.Forces)}


def test_equal_groups_are_equal_and_frozen():
    assert manymove.Grid(4, tile=5) == manymove.Grid(4, tile=5) != manymove.Grid(4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        manymove.Grid(4).tile = 3


def test_a_number_stands_for_a_group():
    positions, box = manymove.hexagonal_packing(64, 0.5)
    options = {"seed": 1, "device": "cpu", "threads": 1}
    one = manymove.HardDisks(positions, box, pressure=2.0, **options)
    other = manymove.HardDisks(positions, box, pressure=manymove.ConstantPressure(2.0), **options)
    for each in (one, other):
        each.run(50)
    assert one.state_hash == other.state_hash
    with pytest.raises(TypeError, match=r"grid must be a manymove\.Grid, got 4"):
        manymove.HardDisks(positions, box, grid=4, **options)


def test_values_are_checked_without_docstrings():
    """`python -OO` discards the docstrings."""
    code = """
import manymove
assert manymove.HardDisks.__doc__ is None
try:
    manymove.ConstantPressure(-1.0)
except ValueError as error:
    print(error)
"""
    process = run([sys.executable, "-OO", "-c", code])
    assert process.stdout == "pressure must be positive and finite, got -1.0\n"
