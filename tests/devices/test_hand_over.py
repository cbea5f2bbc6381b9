"""The hand-over of positions to a host program's domains on a GPU that its ranks share."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from documents import ROOT
from machine import on_gpu
from processes import run

import manymove

FOLDER = ROOT / "tests" / "cxx"
SOURCE = FOLDER / "test_hand_over.cpp"
SENTENCES = [
    line.removeprefix('TEST("').partition('"')[0]
    for line in SOURCE.read_text().splitlines()
    if line.startswith('TEST("')
]


def compiled(architecture: str, folder: Path) -> Path:
    """tests/cxx/test_hand_over.cpp with its engines and arrays on a GPU."""
    nvcc = shutil.which("nvcc")
    library = Path(manymove.__file__).parent / "core" / "lib"
    if nvcc is None or not library.exists():
        pytest.skip("no nvcc, or no library of the core")
    program = folder / "hand_over"
    support = (FOLDER / "support" / name for name in ("main.cpp", "threads.cpp"))
    subprocess.run(
        [
            *(nvcc, "-std=c++20", f"-arch={architecture}", "-x", "cu"),
            *("-I", ROOT / "plugins", "-I", FOLDER, SOURCE, *support, "-o", program),
            *("-L", library, "-lmanymove_core", "-Xlinker", f"-rpath={library}"),
        ],
        check=True,
    )
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return compiled("native", tmp_path_factory.mktemp("program"))


@on_gpu
@pytest.mark.parametrize("sentence", SENTENCES)
def test_hand_over(program, sentence):
    done = run([program, sentence], timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
