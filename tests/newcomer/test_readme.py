# SPDX-License-Identifier: BSD-3-Clause
"""The quick start of the README prints what the README says."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from documents import ROOT, blocks, commands
from processes import run

README = ROOT / "README.md"
if not README.exists():
    pytest.skip("there is no README beside the tests", allow_module_level=True)
SCRIPT = Path(sys.executable).parent / "manymove"
OF_THE_MACHINE = ("speed", "device")
pytestmark = pytest.mark.thorough  # tests/docs/test_pages.py runs both, shortened


def test_the_snippet_prints_its_comment(tmp_path):
    code = next(block.text for block in blocks(README) if "disks.pressure" in block.text)
    expected = re.search(r"^print\(.*\)  # (.*)$", code, re.MULTILINE).group(1)
    done = run([sys.executable, "-c", code], cwd=tmp_path)
    assert done.stdout.strip() == expected, done.stderr


@pytest.mark.skipif(not SCRIPT.exists(), reason="the command manymove is not installed")
def test_the_command_prints_the_table(tmp_path):
    (line,) = (line for line in commands(README) if line.startswith("manymove disks"))
    table = next(block.text for block in blocks(README) if block.text.startswith("disks  "))
    done = run([SCRIPT, *shlex.split(line)[1:]], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = [" ".join(each.split()) for each in done.stdout.splitlines()]
    expected = [" ".join(each.split()) for each in table.splitlines()]
    assert len(expected) > 5
    for each in expected:
        assert each in printed or each.startswith(OF_THE_MACHINE), each
