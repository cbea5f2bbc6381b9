"""Benchmarks in separate processes, which may fail, crash or hang."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    """The environment of a process that imports `benchmarks`, in whichever folder this one runs."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def report_of(command: Sequence[str], limit: float) -> tuple[dict[str, Any], str]:
    """Run a command whose last argument, added here, is the JSON file that it writes.

    Args:
        command: command without the file.
        limit: time in seconds after which the command and its processes are ended.

    Returns:
        the content of the file, which may be empty, and the reason if the command failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        why = ""
        with _ended([*command, str(file)]) as process:
            try:
                if code := process.wait(timeout=max(0.0, limit)):
                    why = f"the process ended with exit code {code}"
            except subprocess.TimeoutExpired:
                why = f"not done after {limit:.0f} s"
        if not file.exists():
            return {}, why or "the process wrote no results"
        return json.loads(file.read_text()), why


@contextlib.contextmanager
def _ended(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has ended when the block is left, by Ctrl-C or SIGTERM, too.

    Signals wait until the process is known: an exception within Popen would leave it behind.
    """
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: came.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    process = None
    try:
        process = subprocess.Popen(command, env=environment(), start_new_session=True)
        signal.signal(signal.SIGINT, before[signal.SIGINT])
        signal.signal(signal.SIGTERM, _leave)
        for number in came:
            signal.raise_signal(number)
        yield process
    finally:
        if process is not None:
            _end(process)
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: Any) -> None:
    """SIGTERM ends this process and, on the way out, that of the benchmark."""
    raise SystemExit(128 + number)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and what it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
