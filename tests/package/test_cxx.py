"""The C++ tests in tests/cxx, each in a process of its own.

MANYMOVE_CXX_TESTS names their executable; the default is where `make test` builds it.
"""

import os
import subprocess
from pathlib import Path

import pytest
from documents import ROOT
from processes import run

BUILT = ROOT / "build" / "cxx" / "manymove_tests"
PROGRAM = Path(os.environ.get("MANYMOVE_CXX_TESTS", BUILT))


def sentences():
    if not PROGRAM.exists() and "MANYMOVE_CXX_TESTS" not in os.environ:
        reason = "the C++ tests are not built; `make test` builds them"
        return [pytest.param("", marks=pytest.mark.skip(reason=reason))]
    listed = subprocess.run([PROGRAM], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


@pytest.mark.parametrize("sentence", sentences())
def test_cxx(sentence):
    done = run([PROGRAM, sentence], env=None, timeout=300)
    said = done.stdout + done.stderr
    if done.returncode == 77:
        pytest.skip(said.strip())
    assert done.returncode == 0, f"exit code {done.returncode}\n{said}"
