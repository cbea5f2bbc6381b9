# SPDX-License-Identifier: BSD-3-Clause
"""Simulations in simultaneous processes, one in each.

The processes start from checkpoints. `python -m benchmarks.simultaneous FILE THREADS` loads a
simulation and prints that it is ready. Then it runs the simulation for each number of sweeps on its
standard input, and prints the numbers of trial moves and accepted moves. It ends when its input
ends.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.process import environment
from manymove import load

WORKER = [sys.executable, "-m", "benchmarks.simultaneous"]


class Processes:
    """Processes with one simulation each, which wait for work."""

    def __init__(self, started: Sequence[tuple[subprocess.Popen[str], Path]]) -> None:
        self._started = started
        self._answers()

    def run(self, sweeps: int) -> tuple[int, int]:
        """Run all simulations at the same time.

        Returns:
            trial moves and accepted moves of all simulations.

        Raises:
            RuntimeError: a process has ended.
        """
        for process, _ in self._started:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # which the missing answer explains
                process.stdin.write(f"{sweeps}\n")
                process.stdin.flush()
        moves = [[int(word) for word in answer.split()] for answer in self._answers()]
        return sum(trials for trials, _ in moves), sum(accepted for _, accepted in moves)

    def _answers(self) -> list[str]:
        """One line of output of each process."""
        found = []
        for process, errors in self._started:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                why = errors.read_text().strip().splitlines()[-1:] or ["no message"]
                raise RuntimeError(f"a process has ended with {process.wait()}: {why[0]}")
            found.append(line)
        return found


@contextlib.contextmanager
def started(simulations: Sequence[Any]) -> Iterator[Processes]:
    """Processes that continue copies of simulations, each with its number of threads. The processes
    end with the block."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        processes = []
        for i, simulation in enumerate(simulations):
            state, errors = Path(name) / f"{i}.state", Path(name) / f"{i}.log"
            simulation.save(state)
            process = subprocess.Popen(
                [*WORKER, str(state), str(simulation.threads)],
                env=environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stack.enter_context(errors.open("w")),
                text=True,
            )
            stack.callback(_end, process)
            processes.append((process, errors))
        yield Processes(processes)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def work(file: str, threads: int) -> None:
    """The work of a process. It ignores Ctrl-C, because the process that has started it ends it. (A
    process in a separate session would get a larger share of a busy machine than threads have.)"""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    simulation: Any = load(file, device="cpu", threads=threads)
    print("ready", flush=True)
    for line in sys.stdin:
        before = simulation.trial_moves, simulation.accepted_moves
        simulation.run(int(line))
        after = simulation.trial_moves, simulation.accepted_moves
        print(*(now - then for now, then in zip(after, before, strict=True)), flush=True)


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]))
