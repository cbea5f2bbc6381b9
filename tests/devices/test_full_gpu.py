"""A GPU without memory: one error that says so, no crash, nothing in its place, nothing lost."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from documents import SUPPORT
from full_gpu_program import ENGINES, LEFT, Gpu
from lammps_host import environment, needs_lammps
from machine import GPU
from processes import run

pytestmark = [
    *GPU,
    pytest.mark.whole_gpu,
]
every_engine = pytest.mark.parametrize(
    "engine", [pytest.param(e, marks=needs_lammps if e == "dpd" else ()) for e in ENGINES]
)


def ask(engine: str, left: int, directory: Path) -> dict:
    command = [sys.executable, SUPPORT / "full_gpu_program.py", engine, left]
    done = run(command, cwd=directory, env=environment(), timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def assert_says_so(error: list[str] | None, engine: str) -> None:
    assert error is not None, "ran, but where?"
    kind, text = error
    assert engine == "dpd" or kind == "MemoryError", error
    assert "MB left" in text or "out of memory" in text, error
    assert engine != "dpd" or "Run style manymove/verlet on" in text, error


@every_engine
def test_a_system_that_does_not_fit_is_refused_and_leaves_nothing(engine, tmp_path):
    answer = ask(engine, LEFT, tmp_path)
    for error in answer["errors"]:
        assert_says_so(error, engine)
    assert answer["lost"] < 4_000_000


@every_engine
def test_a_gpu_that_others_have_filled_is_no_reason_for_the_cpu(engine, tmp_path):
    with Gpu().full(0):
        answer = ask(engine, 0, tmp_path)
    for error in answer["errors"]:
        assert_says_so(error, engine)
