#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `pip install -v` and reports its progress: `install.py LOG ARGUMENTS_OF_PIP...`

On a terminal a single line is updated; otherwise a line is printed every ten seconds at most. The
whole output goes to LOG, and its end is printed if pip fails.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

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


def main() -> int:
    log, *words = sys.argv[1:]
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-v", *words]
    progress = Progress()
    with open(log, "w", errors="replace") as file:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            progress.see(line)
    if process.wait() != 0:
        progress.end("failed")
        print("".join(Path(log).read_text().splitlines(keepends=True)[-40:]), file=sys.stderr)
        print(f"The whole output is in {log}.", file=sys.stderr)
        return 1
    progress.end("installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
