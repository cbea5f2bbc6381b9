#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/papers.md, which compares each table and figure of the four papers with our results.

The file contents.json of a folder in examples/papers lists the tables and figures of one paper. An
entry with a script has its record beside the script, under the same name or the name in `record`.
The record is the summary.json of the run that the options make, or several of them by name in
`parts`. An entry with a script and a `reason` is measured in part, or not at all if it has no
record. The reason of an entry without a script says why nothing can be measured. The page begins
with these states. The comparisons of a record are its rows (`manymove.script.compared`). Several
entries may share one record, whose rows name their entry as `item`.
`python tests/support/papers.py` ends with an error if the page differs, and `--write` writes it.
`--add RECORD NAME SUMMARY` keeps the summary of a run as a part of a record. `columns` of an entry
makes a table with several columns of results (see `crossed`).
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

from documents import ROOT, anchor

# The linters run where manymove is not installed.
sys.path.insert(0, str(ROOT / "plugins/manymove/analysis"))
from notation import with_error

PAPERS = ROOT / "examples/papers"
PAGE = ROOT / "docs/papers.md"
FOLDERS = ("mpmc", "dpd", "brush", "wrmc")
NEEDS_A_NOTE = 3  # joint errors
HEAD = """# The four papers

This page compares each table and figure of the four papers with results of this package. The scripts are in [examples/papers](../examples/papers/README.md), and the record of a run is beside its script. Errors in parentheses are standard errors of the last digits. The column "joint errors" has the difference (ours − published) divided by the square root of the sum of both squared errors. In a table with a column for each size or parameter, a cell has our value, and in brackets the published value and the joint errors.
"""  # noqa: E501
STATES = """The entries of a paper are its tables and figures, and those sections and equations that have numbers. An entry is measured in part if runs are missing, which the entry then names. The columns "size" and "length" of an entry, or the text below its table, show how large its runs are. Drawings, pictures and lists of hardware are entries without numbers.

| paper | measured | in part | not measured yet | without numbers |
|---|---|---|---|---|
"""  # noqa: E501
MEASURED, IN_PART, NOT_YET, WITHOUT = "measured", "in part", "not measured yet", "without numbers"


def number(value: list[float | None] | None) -> str:
    """A value with its error, 9.1704(8), or with four digits where it has none."""
    if value is None:
        return "–"
    middle, error = value
    text = with_error(middle, error) if error else f"{middle:.4g}"
    return f"−{text[1:]}" if text.startswith("-") else text


def joint(ours: list[float | None], published: list[float | None] | None) -> float | None:
    """(ours - published) in joint errors; None where neither has an error."""
    error = math.hypot(ours[1] or 0, (published or [0, 0])[1] or 0)
    return (ours[0] - published[0]) / error if published and error else None


def far_from(row: dict[str, Any]) -> str:
    far = joint(row["ours"], row["published"])
    return "" if far is None else f"{far:+.1f}".replace("-", "−")


def crossed(rows: list[dict[str, Any]], columns: list[str]) -> tuple[str, str]:
    """A table with a column for each value of `columns`, which are "size", "length", or patterns
    whose group is a part of the quantity or of the size, and the other sizes and lengths.
    """
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in map(dict, rows):
        labels = []
        for each in columns:
            of, found = each, re.match("(.*)", row.get(each, ""))
            if each not in row:
                tried = ((of, re.search(each, row[of])) for of in ("quantity", "size"))
                of, found = next(filter(itemgetter(1), tried), ("", None))
            if found:
                labels.append(found[1])
                row[of] = row[of].replace(found[0], "", 1).strip(" ,:")
        quantity, column = row["quantity"], ", ".join(labels) or "ours"
        while other := cells.get((quantity, column)):
            differ = [row[of] for of in ("size", "length") if row[of] != other[of]]
            if not differ:
                where = f"{column}, {row['size']}, {row['length']}"
                raise ValueError(f"two rows have the quantity {quantity} ({where})")
            quantity += f", {differ[0]}"
        cells[quantity, column] = row
    heads = in_order(dict.fromkeys(column for _, column in cells))
    lines = [f"| | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for quantity in dict.fromkeys(quantity for quantity, _ in cells):
        found = (cell(cells.get((quantity, column))) for column in heads)
        lines.append(f"| {quantity} | {' | '.join(found)} |")
    left = [(of, extent([row[of] for row in cells.values()])) for of in ("size", "length")]
    return "\n".join(lines), " ".join(f"{of.capitalize()}: {text}." for of, text in left if text)


def cell(row: dict[str, Any] | None) -> str:
    """Our value, and in brackets the published value and the joint errors."""
    if row is None:
        return ""
    known = [number(row["published"]), far_from(row)]
    known = [text for text in known if text not in ("", "–")]
    return number(row["ours"]) + (f" [{', '.join(known)}]" if known else "")


def in_order(labels: Iterable[str]) -> list[str]:
    """The labels by their numbers if they differ in nothing else."""
    found = list(labels)
    if len({re.sub(r"[\d.,]+", "", label) for label in found}) > 1:
        return found
    return sorted(
        found, key=lambda s: [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", s)]
    )


def extent(values: list[str]) -> str:
    """The values, or the smallest and the largest one if many numbers have one unit."""
    different = [value for value in dict.fromkeys(values) if value]
    units = {value.rsplit(" ", 1)[-1] for value in different}
    plain = all(re.fullmatch(r"[\d,]+( and [\d,]+)* \w+", value) for value in different)
    if len(different) <= 4 or len(units) > 1 or not plain:
        return "; ".join(different)
    numbers = [
        int(n.replace(",", "")) for value in different for n in re.findall(r"\d[\d,]*", value)
    ]
    return f"{min(numbers):,} to {max(numbers):,} {units.pop()}"


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| | published | ours | joint errors | size | length |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = [row["quantity"], number(row["published"]), number(row["ours"]), far_from(row),
                 row["size"], row["length"]]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def where(record: dict[str, Any]) -> str:
    """Machine and date of a record."""
    gpus = record.get("gpus") or []
    machine = gpus[0]["name"] if record.get("device") != "cpu" and gpus else record["cpu"]["name"]
    return f"{machine}, {record['date'][:10]}"


def record_of(folder: str, entry: dict[str, Any]) -> Path:
    """The file of the record of an entry with a script, which may not exist."""
    script = PAPERS / folder / entry["script"]
    return script.with_name(entry.get("record", f"{script.stem}.json"))


def state(folder: str, entry: dict[str, Any]) -> str:
    """Whether a table or figure is measured."""
    if "script" not in entry:
        return WITHOUT
    if not record_of(folder, entry).exists():
        return NOT_YET
    return IN_PART if "reason" in entry else MEASURED


def link(heading: str, text: str) -> str:
    return f"[{text}](#{anchor(heading)})"


def overview(papers: dict[str, dict[str, Any]]) -> str:
    """The number of entries of each paper by state, and links to those that are incomplete."""
    lines, incomplete = [], []
    for folder, contents in papers.items():
        states = [(state(folder, entry), entry) for entry in contents["items"]]
        counts = [sum(found == each for found, _ in states)
                  for each in (MEASURED, IN_PART, NOT_YET, WITHOUT)]  # fmt: skip
        cells = [link(contents["title"], contents["title"]), *map(str, counts)]
        lines.append(f"| {' | '.join(cells)} |")
        for each in (NOT_YET, IN_PART):
            chosen = [entry for found, entry in states if found == each]
            links = [link(heading(entry), entry["item"]) for entry in chosen]
            if links:
                incomplete.append(f"- {contents['title']}, {each}: {', '.join(links)}")
    return f"{STATES}{chr(10).join(lines)}\n\n{chr(10).join(incomplete)}\n"


def heading(entry: dict[str, Any]) -> str:
    return f"{entry['item']}: {entry['title']}"


def section(folder: str, entry: dict[str, Any]) -> str:
    """What the page says about a table or figure."""
    text = f"### {heading(entry)}\n\n"
    script = PAPERS / folder / entry["script"]
    file = record_of(folder, entry)
    command = f"python {script.relative_to(ROOT)} {entry.get('options', '')}".strip()
    text += "".join(f"    {line}\n" for line in command.split("\n")) + "\n"
    said = [entry[key] for key in ("note", "reason") if key in entry]
    if file.exists():
        record = json.loads(file.read_text())
        parts = record.get("parts", {"": record})
        rows = [row for part in parts.values() for row in part["rows"]]
        rows = [row for row in rows if row.get("item", entry["item"]) == entry["item"]]
        # Parts of a record may repeat a reference.
        rows = [row for k, row in enumerate(rows) if row not in rows[:k]]
        crosses = "columns" in entry
        shown, sizes = crossed(rows, entry["columns"]) if crosses else (table(rows), "")
        text += f"{shown}\n\n" if rows else ""
        machines = dict.fromkeys(where(part) for part in parts.values())
        made = f"[Record](../{file.relative_to(ROOT)}): {'; '.join(machines)}."
        said = [made, *([sizes] if sizes else []), *said]
        far = [joint(row["ours"], row["published"]) or 0 for row in rows]
        if "note" not in entry and max(map(abs, far), default=0) > NEEDS_A_NOTE:
            raise ValueError(f"{script}: a row differs by {max(far, key=abs):.1f} errors, no note")
    elif "reason" not in entry:
        raise ValueError(f"{script} has neither a record nor a reason")
    return text + " ".join(said) + "\n"


def add(file: str, name: str, summary: str) -> None:
    """Keep a summary as a part of a record, such as mpmc/table_2.json."""
    path = PAPERS / file
    record = json.loads(path.read_text()) if path.exists() else {"parts": {}}
    if "parts" not in record:
        raise ValueError(f"{path} is the record of one run")
    record["parts"][name] = json.loads(Path(summary).read_text())
    path.write_text(json.dumps(record, indent=1) + "\n")


def page() -> str:
    files = {folder: PAPERS / folder / "contents.json" for folder in FOLDERS}
    papers = {folder: json.loads(file.read_text()) for folder, file in files.items()}
    parts = [HEAD, overview(papers)]
    for folder, contents in papers.items():
        parts.append(f"## {contents['title']}\n\n{contents['paper']}\n")
        parts += [section(folder, entry) for entry in contents["items"] if "script" in entry]
        without = [f"- {heading(entry)}. {entry['reason']}" for entry in contents["items"]
                   if "script" not in entry]  # fmt: skip
        parts.append("\n".join(["### Entries without numbers\n", *without]) + "\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--add"] and len(arguments) == 4:
        add(*arguments[1:])
        return 0
    if arguments not in ([], ["--write"]):
        sys.exit("papers.py [--write | --add RECORD NAME SUMMARY]")
    text = page()
    if arguments:
        PAGE.write_text(text)
    elif text != PAGE.read_text():
        print("docs/papers.md differs from the records; python tests/support/papers.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
