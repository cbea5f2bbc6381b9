"""How the component `hoomd.manymove` is configured: against stand-ins for an installed HOOMD-blue
and pybind11."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import ROOT

CMAKE = shutil.which("cmake")
COMPONENT = ROOT / "hoomd_ext"
pytestmark = pytest.mark.skipif(CMAKE is None, reason="no CMake")

HOOMD = """
set(HOOMD_VERSION 4.8.2)
set(HOOMD_INSTALL_PREFIX ${CMAKE_CURRENT_LIST_DIR}/prefix)
set(PYTHON_SITE_INSTALL_DIR hoomd)
set(ENABLE_HIP OFF)
add_library(HOOMD::_hoomd INTERFACE IMPORTED)
function(hoomd_add_module name)
  list(REMOVE_ITEM ARGN NO_EXTRAS)
  add_library(${name} ${ARGN})
endfunction()
"""


@pytest.fixture
def configure(tmp_path):
    (tmp_path / "HOOMDConfig.cmake").write_text(HOOMD)
    (tmp_path / "pybind").mkdir()
    (tmp_path / "pybind" / "pybind11Config.cmake").touch()

    def run(*options, pybind11="2.12.0"):
        version = f"""
set(PACKAGE_VERSION {pybind11 or "0"})
if(PACKAGE_VERSION VERSION_GREATER_EQUAL PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
"""
        (tmp_path / "pybind" / "pybind11ConfigVersion.cmake").write_text(version)
        options = (
            f"-DHOOMD_DIR={tmp_path}",
            f"-DCMAKE_PREFIX_PATH={tmp_path / 'pybind'}",
            f"-DCMAKE_DISABLE_FIND_PACKAGE_pybind11={'OFF' if pybind11 else 'ON'}",
            *options,
        )
        command = [CMAKE, "-S", COMPONENT, "-B", tmp_path / "build"]
        return subprocess.run([*command, *options], capture_output=True, text=True)

    return run


def prefix_in(folder: Path) -> str:
    lines = (folder / "build/CMakeCache.txt").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("CMAKE_INSTALL_PREFIX:")]
    return line.partition("=")[2]


def test_it_installs_where_hoomd_is_after_a_failed_configuration(configure, tmp_path):
    failed = configure(pybind11=None)
    assert failed.returncode != 0 and "needs pybind11 2.12 or later, none was" in failed.stderr
    again = configure()
    assert again.returncode == 0, again.stderr
    assert prefix_in(tmp_path) == str(tmp_path / "prefix")


def test_an_old_pybind11_is_named(configure, tmp_path):
    failed = configure(f"-Dpybind11_DIR={tmp_path / 'pybind'}", pybind11="2.10.4")
    assert failed.returncode != 0
    said = " ".join(failed.stderr.split())
    assert "needs pybind11 2.12 or later, found 2.10.4. Install it" in said
    assert "-Dpybind11_DIR=$(python -m pybind11 --cmakedir)" in said


def test_a_prefix_of_the_user_is_kept(configure, tmp_path):
    mine = tmp_path / "mine"
    configure(f"-DCMAKE_INSTALL_PREFIX={mine}", pybind11=None)
    assert configure().returncode == 0
    assert prefix_in(tmp_path) == str(mine)


def test_it_compiles_hard_particles_and_dpd_only(configure, tmp_path, monkeypatch):
    monkeypatch.setenv("CMAKE_EXPORT_COMPILE_COMMANDS", "ON")
    assert configure().returncode == 0
    subprocess.run(
        [CMAKE, "--build", tmp_path / "build", "--target", "core_build-configure"],
        check=True,
        capture_output=True,
    )
    commands = json.loads((tmp_path / "build/core_build/compile_commands.json").read_text())
    core = ROOT / "plugins" / "core"
    files = [Path(command["file"]) for command in commands]
    folders = {path.relative_to(core).parts[0] for path in files if path.is_relative_to(core)}
    # The build folder has precompiled headers, and the units that include the host sources.
    units = [re.fullmatch(r"unity_(.+)_cxx.cxx", path.name) for path in files]
    folders |= {unit[1] for unit in units if unit}
    assert folders == {"runtime", "parallel", "hard_particles", "dpd"}
