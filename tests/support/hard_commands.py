# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the commands of hard particles share, of which some run several systems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pictures
import pytest
from commands import arguments, assert_mistake, summary_of

from manymove import cli
from manymove.hard_particles import systems


def finished(command: str, options: str, folder: Path) -> Path:
    """The folder of a run in this process, without pictures."""
    with pytest.MonkeyPatch.context() as patch:
        pictures.leave_out(patch)
        assert cli.run(arguments(command, options, folder)) == 0
    return folder


def run_hard(folder: Path, *options: Any, command: str = "spheres") -> int:
    """Run `manymove spheres` or another command of hard particles in this process."""
    where = ["--device", "cpu", "--threads", "1", "--quiet", "--output", folder]
    return cli.run([command, *map(str, (*options, *where))])


def result_of_systems(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summary of a command with several systems, without the date, and their results."""
    summary = summary_of(folder)
    del summary["date"]
    return summary, json.loads((folder / systems.FILE).read_text())


@contextmanager
def stopped_after_systems(*counts: int) -> Iterator[list[int]]:
    """Such a command is stopped when it has written so many results. The value is the list of the
    numbers that it has written."""
    write, done = systems.write_json, []

    def stopped(path: Path, content: dict[str, Any]) -> None:
        write(path, content)
        if path.name == systems.FILE:
            done.append(len(content))
            if len(done) in counts:
                raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(systems, "write_json", stopped)
        yield done


def assert_damage_is_refused(command: str, content: str, whole: Path, folder: Path, capsys) -> None:
    """A damaged file of results is an error of --resume that names it."""
    (folder / "options.json").write_bytes((whole / "options.json").read_bytes())
    (folder / systems.FILE).write_text(content)
    assert cli.run([command, "--resume", "--output", str(folder)]) == 2
    assert f"{folder / systems.FILE} is damaged" in capsys.readouterr().err


def assert_bad_options(options: str, message: str, folder: Path, capsys, monkeypatch) -> None:
    """Such options are an error of one line, and nothing is written."""
    monkeypatch.chdir(folder)
    assert_mistake(cli.run(options.split()), message, folder / "out", capsys)
