# SPDX-License-Identifier: BSD-3-Clause
"""What ranks on several hosts say and refuse at their start."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster import Cluster, fixture_of, lammps_on, mpi_of
from commands import COMMAND
from dpd_scripts import fluid, resident, system
from lammps_host import needs_lammps

from manymove import __version__, _core
from manymove.lammps import plugin_directory

SMALL = "disks --particles 3000 --sweeps 5 --equilibrate 1 --frames 1 --decompose --device cpu"

cluster = fixture_of(2)


def with_on_second(assignment: str, *words: str) -> list[str]:
    """The words of a program which has another environment on the second host."""
    script = f'test "$(hostname)" != node2 || export {assignment}; exec "$@"'
    return ["sh", "-c", script, "sh", *words]


def start(cluster: Cluster, words: list[str], environment: dict) -> tuple[int, str]:
    process = cluster.start(words, environment, cwd=cluster.folder)
    said = process.communicate(timeout=60)[0]
    return process.returncode, said


def fluid_with(style: str) -> str:
    return system("block 0 6 0 6 0 6", 648) + fluid("mixed") + style + "run 2\n"


def test_another_version_on_the_second_host(cluster, tmp_path):
    metadata = tmp_path / "manymove-0.0.9.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: manymove\nVersion: 0.0.9\n")
    words = [*COMMAND, *SMALL.split(), "--output", str(tmp_path / "out")]
    launcher, environment = mpi_of("MPICH").on(cluster, 2)
    program = with_on_second(f"PYTHONPATH={tmp_path}", *words)
    code, said = start(cluster, [*launcher, *program], environment)
    assert code != 0
    versions = f"{__version__} on node1, 0.0.9 on node2"
    assert f"error: the ranks run different versions of manymove: {versions}" in said
    assert not (tmp_path / "out").exists()


@needs_lammps
@pytest.mark.parametrize("style", ["", resident("cpu")], ids=["verlet", "manymove"])
def test_another_plugin_on_the_second_host(style, cluster, tmp_path):
    mine = _core.build_info()["core"]
    others = mine[:-9] + "01234567)"  # the same version with other headers
    core = Path(_core.__file__).parent / "core/lib/libmanymove_core.so"
    for file in (core, *Path(plugin_directory()).glob("*.so")):
        content = file.read_bytes()
        assert content.count(mine.encode() + b"\0") == (file.name != "manymove_styles.so")
        (tmp_path / file.name).write_bytes(content.replace(mine.encode(), others.encode()))
    words, environment = lammps_on(cluster, 2, fluid_with(style))
    at = next(k for k, word in enumerate(words) if word.endswith("/lmp"))
    program = with_on_second(f"LAMMPS_PLUGIN_PATH={tmp_path}", *words[at:])
    code, said = start(cluster, [*words[:at], *program], environment)
    assert code != 0
    versions = f"manymove {mine} on node1, manymove {others} on node2"
    assert f"the ranks run different versions: {versions}" in said


def test_where_the_ranks_are(cluster, tmp_path):
    words = [*COMMAND, *SMALL.split(), "--output", str(tmp_path)]
    launcher, environment = mpi_of("MPICH").on(cluster, 2)
    code, said = start(cluster, [*launcher, *words], environment)
    assert code == 0, said
    assert said.count("messages travel through MPI; ranks 0-1 on node1, 2-3 on node2") == 1
    assert said.count("rows of cells travel through MPI\n") == 1


@needs_lammps
def test_where_the_ranks_of_lammps_are(cluster):
    code, said = start(cluster, *lammps_on(cluster, 2, fluid_with(resident("cpu"))))
    assert code == 0, said
    assert said.count("ghosts travel through MPI; ranks 0-1 on node1, 2-3 on node2") == 1
