#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Installs a project and reports the progress: `install.py LOG EXTRAS PROJECT ARGUMENTS_OF_PIP...`

One pip compiles the project while another one installs what it needs, with the comma-separated
EXTRAS. Byte code is written when a module is imported first, because most modules never are. On a
terminal a single line is updated; otherwise a line is printed every ten seconds at most. The whole
output of the first pip goes to LOG, and that of the other one to a file that ends in .needed.log;
if one fails, the end of its output is printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # scikit-build-core has brought it

STEP = re.compile(r"^\s*\[(\d+)/(\d+)\] (?:Building \w+ object )?(\S+)")  # of ninja
# Other steps that take seconds.
PHASE = re.compile(r"^\s*(Collecting \S+|Installing collected packages|Running command \w+.*)")
EVERY = 10  # seconds between the lines of a log


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Progress:
    """Prints the present step and the elapsed time."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        self.began = self.written = time.monotonic()
        self.compiling = 0.0

    def see(self, line: str) -> None:
        now = time.monotonic()
        if step := STEP.match(line):
            done, total = int(step[1]), int(step[2])
            self.compiling = self.compiling or now
            name = re.sub(r"^.*\.dir/(?:plugins/)?|\.o$", "", step[3])
            text = f"[{done}/{total}] {name}"
            if done > total // 4:
                left = (now - self.compiling) * (total - done) / done
                text = f"[{done}/{total}] about {clock(left)} left: {name}"
        elif phase := PHASE.match(line):
            text = phase[1]
        else:
            return
        text = f"  {clock(now - self.began)} {text}"
        if self.terminal:
            columns = os.get_terminal_size().columns
            print(f"\r\033[K{text[: columns - 1]}", end="", flush=True)
        elif now - self.written > EVERY:
            self.written = now
            print(text, flush=True)

    def end(self, result: str) -> None:
        start = "\r\033[K" if self.terminal else ""
        print(f"{start}  {clock(time.monotonic() - self.began)} {result}", flush=True)


def requirements(project: dict, extras: list[str]) -> list[str]:
    """What the project of a pyproject.toml needs with these extras, which may name other extras."""
    needed = list(project.get("dependencies", []))
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            if own := re.fullmatch(rf"{project['name']}\[(.+)\]", requirement):
                needed += requirements(project, own[1].split(","))
            else:
                needed.append(requirement)
    return list(dict.fromkeys(needed))


def fail(progress: Progress, log: Path) -> int:
    progress.end("failed")
    print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-40:]), file=sys.stderr)
    print(f"The whole output is in {log}.", file=sys.stderr)
    return 1


def main() -> int:
    log, extras, project, *words = sys.argv[1:]
    compiled, needed = Path(log), Path(log).with_suffix(".needed.log")
    compiled.parent.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"]
    table = tomllib.loads((Path(project) / "pyproject.toml").read_text())["project"]
    progress = Progress()
    with open(compiled, "w", errors="replace") as file, open(needed, "w") as other:
        others = subprocess.Popen(
            [*pip, *requirements(table, extras.split(",") if extras else [])],
            stdout=other, stderr=subprocess.STDOUT,
        )  # fmt: skip
        process = subprocess.Popen(
            [*pip, "-v", "--no-deps", *words, project],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            progress.see(line)
    failed = [path for pip, path in ((process, compiled), (others, needed)) if pip.wait() != 0]
    if failed:
        return fail(progress, failed[0])
    progress.end("installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
