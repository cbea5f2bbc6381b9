#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks how the pages and sources are written, for `make lint`: numbers and their errors have one
notation, 9.200(8), the code on pages for users fits 80 columns, and no page names a commit.

Prints the lines that are wrong, and ends with an error if there are any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from documents import PAGES, ROOT, blocks, name, prose

PLACES = ("README.md", "CHANGELOG.md", "docs", "examples", "plugins", "hoomd_ext", "lammps_ext")
SUFFIXES = (".py", ".md", ".cpp", ".h", ".cuh", ".cu")
PLUS_OR_MINUS = re.compile(r"[\d}] ?(\+-|\+/-|±) ?[\d{]")
COMMIT = re.compile(r"(?<![\w/.-])(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{7,8}(?![\w-])")
FOLDERS = [ROOT / "docs", *(ROOT / "docs" / part for part in ("tutorials", "guides", "api"))]


def other_notations() -> Iterator[str]:
    """Lines that have a number with `+-`."""
    files = [path for place in PLACES for path in (ROOT / place, *(ROOT / place).glob("**/*"))]
    for path in files:
        if path.suffix in SUFFIXES and path.is_file():
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if PLUS_OR_MINUS.search(line):
                    yield f"{name(path)}:{number}: not in the notation 9.200(8): {line.strip()}"


def long_lines() -> Iterator[str]:
    """Lines of code on pages for users. Lines of output may be longer, and so may those of README
    that name what is installed."""
    pages = [page for page in PAGES if page.parent in FOLDERS and page.name != "clusters.md"]
    for page in (ROOT / "README.md", *pages):
        for block in blocks(page):
            if block.language in ("sh", "python", "lammps"):
                for line in block.text.splitlines():
                    if len(line) > 80 and not line.startswith(("pip", "manymove info")):
                        yield f"{name(page)}: longer than 80 columns: {line}"


def commits() -> Iterator[str]:
    """Commits in running text: a record names its commit."""
    for page in PAGES:
        for found in COMMIT.findall(prose(page)):
            yield f"{name(page)}: names the commit {found}; a record names it"


if __name__ == "__main__":
    wrong = [*other_notations(), *long_lines(), *commits()]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
