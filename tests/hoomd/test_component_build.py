"""How the component `hoomd.manymove` is configured: against a stand-in for an installed HOOMD-blue,
which is found only where pybind11 is, as the real one."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import ROOT

CMAKE = shutil.which("cmake")
COMPONENT = ROOT / "hoomd_ext"
pytestmark = pytest.mark.skipif(CMAKE is None, reason="no CMake")

HOOMD = """
if(NOT pybind11_DIR)
  set(HOOMD_FOUND FALSE)
  set(HOOMD_NOT_FOUND_MESSAGE "pybind11 is missing")
  return()
endif()
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

    def run(*options):
        command = [CMAKE, "-S", COMPONENT, "-B", tmp_path / "build", f"-DHOOMD_DIR={tmp_path}"]
        return subprocess.run([*command, *options], capture_output=True, text=True)

    return run


def prefix_in(folder: Path) -> str:
    lines = (folder / "build/CMakeCache.txt").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("CMAKE_INSTALL_PREFIX:")]
    return line.partition("=")[2]


def test_it_installs_where_hoomd_is_after_a_failed_configuration(configure, tmp_path):
    failed = configure()
    assert failed.returncode != 0 and "pybind11 is missing" in failed.stderr
    again = configure(f"-Dpybind11_DIR={tmp_path / 'pybind'}")
    assert again.returncode == 0, again.stderr
    assert prefix_in(tmp_path) == str(tmp_path / "prefix")


def test_a_prefix_of_the_user_is_kept(configure, tmp_path):
    mine = tmp_path / "mine"
    configure(f"-DCMAKE_INSTALL_PREFIX={mine}")
    assert configure(f"-Dpybind11_DIR={tmp_path / 'pybind'}").returncode == 0
    assert prefix_in(tmp_path) == str(mine)


def test_it_compiles_hard_disks_only(configure, tmp_path, monkeypatch):
    monkeypatch.setenv("CMAKE_EXPORT_COMPILE_COMMANDS", "ON")
    assert configure(f"-Dpybind11_DIR={tmp_path / 'pybind'}").returncode == 0
    subprocess.run(
        [CMAKE, "--build", tmp_path / "build", "--target", "core_build-configure"],
        check=True,
        capture_output=True,
    )
    commands = json.loads((tmp_path / "build/core_build/compile_commands.json").read_text())
    core = ROOT / "plugins" / "core"
    folders = {Path(command["file"]).relative_to(core).parts[0] for command in commands}
    assert folders == {"runtime", "parallel", "hard_particles"}
