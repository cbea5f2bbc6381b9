#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks how the pages and sources are written, for `make lint`: numbers and their errors have one
notation, 9.200(8), the code on pages for users fits 80 columns, no page names a commit, sentences
name what they speak of, and what the pages link to or name exists: files, headings, scripts,
targets of make, extras of pip.

Prints the lines that are wrong, and ends with an error if there are any.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

from documents import PAGES, ROOT, anchors, blocks, commands, links, name, prose
from structure import PRIVATE_WORDS

PLACES = ("README.md", "CHANGELOG.md", "docs", "examples", "plugins", "hoomd_ext", "lammps_ext")
SUFFIXES = (".py", ".md", ".cpp", ".cc", ".h", ".cuh", ".cu")
PLUS_OR_MINUS = re.compile(r"[\d}] ?(\+-|\+/-|±) ?[\d{]")
COMMIT = re.compile(r"(?<![\w/.-])(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{7,8}(?![\w-])")
HISTORY = ("CHANGELOG.md", "NOTICES.md")  # may speak of the past, or quote
PRIVATE = re.compile(
    r"\b(?:earlier versions?|used to be|formerly|in vain|somehow|takes? the place of|what there is|"
    rf"{'|'.join(sorted(PRIVATE_WORDS))})\b",
    re.IGNORECASE,
)
BEGINNING = re.compile(
    r"(?:^ *|[.?!:] +|// +|# +|\"\"\"|[-*|] +)(?:(?:That|Those) of|Of (?:the|an?|all))\b",
    re.MULTILINE,
)
UNNAMED = re.compile(
    rf"{BEGINNING.pattern}|\b(?:is|are|remains?) (?:that|those) of\b", re.MULTILINE
)
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


def private_words() -> Iterator[str]:
    """Words that a reader from the field does not know, and the history of the work."""
    for page in PAGES:
        if page.name not in HISTORY:
            for found in PRIVATE.findall(prose(page)):
                yield f"{name(page)}: says {found!r}"


def unnamed_subjects() -> Iterator[str]:
    """Sentences of pages and of sources for users that do not name what they speak of."""
    for page in PAGES:
        for found in UNNAMED.findall(prose(page)) if page.name not in HISTORY else ():
            yield f"{name(page)}: names nothing: {found.strip()}"
    for place in ("benchmarks", "examples", "hoomd_ext", "lammps_ext"):
        for path in (ROOT / place).glob("**/*"):
            if path.suffix in SUFFIXES and path.suffix != ".md" and "vendor" not in path.parts:
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    if BEGINNING.search(line):
                        yield f"{name(path)}:{number}: names nothing: {line.strip()}"


def dead_links() -> Iterator[str]:
    """Links within the repository that lead nowhere."""
    for page in PAGES:
        for path, anchor in links(page):
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield f"{name(page)}: no {path}"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield f"{name(page)}: {path} has no heading {anchor}"


def unknown_targets() -> Iterator[str]:
    """Targets of make, and extras of the distribution, that do not exist."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    project = (ROOT / "pyproject.toml").read_text()
    optional = project.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = re.findall(r"^([\w-]+) = \[", optional, re.MULTILINE)
    for page in PAGES:
        if not commands(page):
            continue
        text = page.read_text()
        if re.search(r"pip install '?manymove\b", text):
            yield f"{name(page)}: installs a distribution that has not been published"
        for target in re.findall(r"^(?:`|    )?make ([a-z-]+)", text, re.MULTILINE):
            if target not in targets:
                yield f"{name(page)}: make has no target {target}"
        for listed in re.findall(r"(?:\.|manymove)\[([\w,]+)\]'", text):
            for extra in set(listed.split(",")) - set(extras):
                yield f"{name(page)}: the distribution has no extra {extra}"


def missing_scripts() -> Iterator[str]:
    """Scripts in commands that do not exist, and scripts of the examples that the page of their
    folder does not name. Pages of benchmarks are left out, because their commands belong to the
    versions that their records name."""
    for page in PAGES:
        if page.parent.name == "benchmarks":
            continue
        for line in commands(page):
            for word in re.findall(r"(?:python|-in) (examples/\S+)", line):
                if not (ROOT / word).exists():
                    yield f"{name(page)}: no {word}"
            for word in re.findall(r"^python ([\w.]+\.py)", line):
                if not [*page.parent.glob(word), *ROOT.glob(f"examples/*/{word}")]:
                    yield f"{name(page)}: no {word}"
    for contents in ROOT.glob("examples/papers/*/contents.json"):
        listed = {entry.get("script") for entry in json.loads(contents.read_text())["items"]}
        for script in contents.parent.glob("*.py"):
            if "__main__" in script.read_text() and script.name not in listed:
                yield f"{name(contents)}: does not name {script.name}"
    for script in ROOT.glob("examples/*/*.py"):
        page = script.parent / "README.md"
        said = page.read_text() if page.exists() else ""
        if "__main__" in script.read_text() and f"`{script.name}`" not in said:
            yield f"{name(page)}: does not name {script.name}"


if __name__ == "__main__":
    wrong = [
        *other_notations(), *long_lines(), *commits(), *dead_links(), *unknown_targets(),
        *missing_scripts(), *private_words(), *unnamed_subjects(),
    ]  # fmt: skip
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(bool(wrong))
