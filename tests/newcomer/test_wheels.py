# SPDX-License-Identifier: BSD-3-Clause
"""Built wheels: the libraries that they need, and the versions of Python that they serve."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("auditwheel", reason="make newcomer installs auditwheel")
if "MANYMOVE_WHEELS" not in os.environ:
    pytest.skip("make newcomer builds wheels", allow_module_level=True)

FOLDER = Path(os.environ["MANYMOVE_WHEELS"])
PACKAGES, PLUGINS = sorted(FOLDER.glob("manymove-*.whl")), sorted(FOLDER.glob("*_lammps-*.whl"))
WHEELS = [pytest.param(path, id=path.name) for path in (*PACKAGES, *PLUGINS)]


def test_both_distributions_are_there():
    assert PACKAGES and PLUGINS


@pytest.mark.parametrize("wheel", WHEELS)
def test_only_libraries_of_every_linux_are_needed(wheel, tmp_path):
    """auditwheel would put other libraries into the wheel. The plugin finds the core by itself."""
    words = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", tmp_path, wheel]
    words += ["--exclude", "libmanymove_core.so"] if wheel in PLUGINS else []
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (repaired,) = tmp_path.glob("*.whl")
    assert re.search(r"-manylinux_2_\d+_x86_64[.\w]*\.whl$", repaired.name)
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(repaired) as after:
        files = {name for name in after.namelist() if not name.endswith("/")}
        assert files == set(before.namelist())


@pytest.mark.parametrize("wheel", WHEELS)
def test_tags_and_module_agree(wheel):
    """One wheel for all versions from 3.12 on, one each for 3.10 and 3.11, one of the plugin."""
    python, abi = wheel.stem.split("-")[2:4]
    with zipfile.ZipFile(wheel) as archive:
        files = [Path(n).name for n in archive.namelist()]
        modules = [name for name in files if name.startswith("_core.") and name.endswith(".so")]
    if wheel in PLUGINS:
        assert (python, abi, modules) == ("py3", "none", [])
    elif abi == "abi3":
        assert (python, modules) == ("cp312", ["_core.abi3.so"])
    else:
        assert python == abi and python in ("cp310", "cp311")
        assert modules == [f"_core.cpython-{python[2:]}-x86_64-linux-gnu.so"]
