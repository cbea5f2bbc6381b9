"""The C++ tests in tests/cxx, each in a process of its own.

MANYMOVE_CXX_TESTS names their executable; the default is where `make test` builds it. Those that
wait for time-outs belong to `make test-rest`.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from documents import ROOT
from processes import run

BUILT = ROOT / "build" / "cxx" / "manymove_tests"
WAITS = re.compile(
    r"\bsilent\b|\bsuspended\b|is killed or stopped|is not missed|other programs do not hide|"
    r"aborts and is not ended|asks whether a message has come|before a rank ends by itself|"
    r"not given up|wait for each other without progress"
)
PROGRAM = Path(os.environ.get("MANYMOVE_CXX_TESTS", BUILT))


def sentences():
    if not PROGRAM.exists() and "MANYMOVE_CXX_TESTS" not in os.environ:
        reason = "the C++ tests are not built; `make test` builds them"
        return [pytest.param("", marks=pytest.mark.skip(reason=reason))]
    listed = subprocess.run([PROGRAM], capture_output=True, text=True, check=True)
    waits = [pytest.mark.thorough, pytest.mark.waits]
    return [
        pytest.param(sentence, marks=waits if WAITS.search(sentence) else ())
        for sentence in listed.stdout.splitlines()
    ]


@pytest.mark.parametrize("sentence", sentences())
def test_cxx(sentence):
    done = run([PROGRAM, sentence], env=None, timeout=300)
    said = done.stdout + done.stderr
    if done.returncode == 77:
        pytest.skip(said.strip())
    assert done.returncode == 0, f"exit code {done.returncode}\n{said}"
