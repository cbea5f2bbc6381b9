"""Which CUDA engines a build has: nvcc, the GPUs that nvidia-smi lists, and the settings decide."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import ROOT, commands
from laws import another

pytestmark = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("c++") is None, reason="no CMake or no compiler"
)

# Ends where core.cmake would enable the language, which needs an nvcc that compiles.
PROJECT = f"""
cmake_minimum_required(VERSION 3.24)
project(settings LANGUAGES CXX)
macro(enable_language)
  set(CMAKE_CUDA_COMPILER_VERSION 13.0.0)
endmacro()
function(add_library name type)
  if(type STREQUAL OBJECT)
    _add_library(${{name}} INTERFACE)  # without CUDA's sources CMake asks for no compiler of theirs
  else()
    _add_library(${{ARGV}})
  endif()
endfunction()
include({ROOT}/plugins/core/core.cmake)
"""
NVCC = """#!/bin/sh
case "$*" in *--list-gpu-arch*) printf 'compute_80\\ncompute_90\\ncompute_120\\n';; esac
"""


def program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """What a configuration says about CUDA, with these GPUs (None: no driver) and settings."""

    def configure(*settings: str, gpus: list[str] | None = None, nvcc: str = NVCC) -> str:
        cmake = shutil.which("cmake")
        for name in ("CUDAARCHS", "CUDACXX", "CUDAHOSTCXX", "CUDA_HOME", "CUDA_PATH"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("CUDACXX", str(tmp_path / "bin/nvcc"))
        program(tmp_path / "bin/nvcc", nvcc)
        listed = "exit 9" if gpus is None else f"printf '{''.join(f'{g}{chr(92)}n' for g in gpus)}'"
        program(tmp_path / "bin/nvidia-smi", f"#!/bin/sh\n{listed}\n")
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
        (tmp_path / "CMakeLists.txt").write_text(PROJECT)
        command = [cmake, "-S", tmp_path, "-B", tmp_path / "build", *settings]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = re.findall(r"^-- manymove: (.*CUDA.*)$", done.stdout, re.MULTILINE)
        return lines[0] if lines else " ".join(done.stderr.split())

    return configure


@pytest.mark.parametrize(
    ("gpus", "architectures"),
    [
        another(["9.0"], "90"),
        (["9.0", "9.0", "8.0"], "90 80"),
        another(["12.0"], "120"),
        (["10.3"], "80-real 90-real 100-real 120"),  # this nvcc does not know it
    ],
)
def test_a_build_is_for_the_gpus_of_its_machine(configured, gpus, architectures):
    assert configured(gpus=gpus) == f"CUDA 13.0.0 for {architectures}"


@pytest.mark.parametrize("gpus", [another(None), another([]), ["7.5"]])
def test_without_a_gpu_cuda_is_left_out_and_the_build_names_the_option(configured, gpus):
    says = configured(gpus=gpus)
    assert says.startswith("without CUDA: no NVIDIA GPU of compute capability 8.0 or later was")
    assert "-DMANYMOVE_CUDA=ON compiles for all GPUs" in says


def test_named_architectures_need_no_gpu(configured, monkeypatch):
    assert configured("-DCMAKE_CUDA_ARCHITECTURES=90") == "CUDA 13.0.0 for 90"


def test_on_compiles_for_all_architectures(configured):
    """Wheels and packages are built so."""
    assert configured("-DMANYMOVE_CUDA=ON", gpus=["9.0"]).endswith("80-real 90-real 100-real 120")


def test_wheels_are_built_for_all_architectures():
    for path in ("pyproject.toml", "packaging/conda/manymove/recipe.yaml"):
        (setting,) = re.findall("-DMANYMOVE_CUDA=(.*)", (ROOT / path).read_text())
        assert re.search(r"\bON\b", setting), path


def test_the_readme_installs_with_one_line():
    """Two would compile the engines twice. pip shows what is compiled with -v only."""
    (line,) = (line for line in commands(ROOT / "README.md") if line.startswith("pip "))
    assert line.startswith("pip install -v ") and line.endswith(" ./lammps_ext")


def test_on_fails_where_nvcc_does(configured):
    says = configured("-DMANYMOVE_CUDA=ON", nvcc="#!/bin/sh\necho broken >&2; exit 1\n")
    assert "MANYMOVE_CUDA is ON" in says
    assert "does not compile C++20 with the host compiler" in says and says.count("broken") == 1


def test_tests_compile_the_cuda_sources_where_they_are_asked_to():
    """The Makefile names an architecture, with which a build needs no GPU."""
    without = ("MAKEFLAGS", "MAKELEVEL", "CUDA", "ARCH")
    done = subprocess.run(
        [
            "make",
            "-n",
            "-C",
            ROOT,
            "test",
            "CUDA=ON",
            "NVCC=/usr/bin/nvcc",
            "GPU=",
            "VENV=build/none",
        ],
        env={name: value for name, value in os.environ.items() if name not in without},
        capture_output=True,
        text=True,
    )
    assert re.search(r"MANYMOVE_CUDA=ON\s.*CMAKE_CUDA_ARCHITECTURES=\"90\"", done.stdout)
