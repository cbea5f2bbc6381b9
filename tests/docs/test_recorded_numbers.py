"""Every number of the tables that compare speeds is in the result files which its row names."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from documents import ROOT, name

from manymove.analysis.reference import published_pressure

README, SCALING = ROOT / "README.md", ROOT / "docs/benchmarks/scaling.md"
DISKS = ROOT / "docs/hard_disks.md"
if not README.exists():
    pytest.skip("there is no documentation beside the tests", allow_module_level=True)

FILE = re.compile(r"\]\(([^()\s]*results/[^()\s]*\.json)\)")
NUMBER = re.compile(r"(?<![\w.,:-])(\d[\d,]*(?:\.\d+)?(?:e\d+)?)(?: (%))?(?![\w:]|[.,]\d)")
# What numbers of a table may be: sizes, speeds, times of a sweep or a step, ratios, efficiencies.
KEYS = re.compile(
    r"per_second|per_sweep|per_step|ratio|median|efficiency|rate$|"
    r"^(?:particles|ions|molecules|systems|size|cores|ranks|proposals)"
)


def rows(page):
    """(row, its files) of the tables' rows that name result files."""
    for line in page.read_text().splitlines():
        if line.startswith("|") and (files := FILE.findall(line)):
            yield line, [page.parent / file for file in files]


def recorded(content, key=""):
    if isinstance(content, dict):
        for inner, value in content.items():
            yield from recorded(value, inner if inner not in ("median",) else key + inner)
    elif isinstance(content, list):
        for value in content:
            yield from recorded(value, key)
    elif isinstance(content, (int, float)) and KEYS.search(key):
        yield float(content)


def written(line):
    """(text, value, half a unit of the last digit) of each number of a row, without links."""
    plain = re.sub(r"`[^`]*`|\]\([^()]*\)", " ", line)
    for text, percent in NUMBER.findall(plain):
        digits, _, exponent = text.replace(",", "").partition("e")
        scale = 10.0 ** int(exponent or 0) * (0.01 if percent else 1.0)
        half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
        yield text, float(digits) * scale, half * scale


def unrecorded(page):
    found = []
    for line, files in rows(page):
        values = [v for file in files for v in recorded(json.loads(file.read_text()))]
        for text, value, half in written(line):
            if not any(abs(v - value) <= half * (1 + 1e-9) for v in values):
                found.append((text, line))
    return found


@pytest.mark.parametrize("page", [README, SCALING], ids=name)
def test_numbers_of_the_tables_are_in_the_files_of_their_rows(page):
    assert len(list(rows(page))) >= 5
    assert all(len(list(written(line))) >= 2 for line, _ in rows(page))
    assert unrecorded(page) == []


def test_every_row_of_the_readme_names_its_file():
    table = README.read_text().partition("## Speed")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| [")]
    assert lines == [line for line, _ in rows(README)]


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("| 1,048,576 disks | 8.3e10 | 4.6 times | 93.5 % |", True),
        ("| 1,048,576 disks | 8.4e10 | 4.6 times | 93.5 % |", False),
        ("| 1,048,576 disks | 8.3e10 | 4.7 times | 93.5 % |", False),
        ("| 1,048,576 disks | 8.3e10 | 4.6 times | 93.6 % |", False),
        ("| 1,048,577 disks | 8.3e10 | 4.6 times | 93.5 % |", False),
    ],
)
def test_a_wrong_number_is_found(line, right, tmp_path):
    """The rule itself: the digits that are written are those of the file, rounded."""
    (tmp_path / "results").mkdir()
    content = {
        "particles": 1048576,
        "trial_moves_per_second": 8.321e10,
        "ratios": {"md.pair.DPD": {"median": 4.57}},
        "efficiency": 0.9351,
        "melt": 8.4e10,  # not what a table is of
    }
    (tmp_path / "results/a.json").write_text(json.dumps({"results": [content]}))
    page = tmp_path / "page.md"
    page.write_text(f"{line} [file](results/a.json) |\n")
    assert (unrecorded(page) == []) == right


def test_the_table_of_disks_is_recorded():
    """Speeds are those of the file of speeds, pressures are means of both starts, and the last
    column is the paper's."""
    folder = ROOT / "docs/benchmarks/results"
    speeds = json.loads((folder / "2026-11-21-h100-speed.json").read_text())["results"]
    rates = {row["particles"]: row["trial_moves_per_second"] for row in speeds}
    starts = {}
    for which in ("equation-of-state", "equation-of-state-1m"):
        content = json.loads((folder / f"2026-11-21-h100-{which}.json").read_text())
        here = [run for run in content["results"] if run["packing_fraction"] == 0.698]
        starts[content["particles"]] = here
    section = DISKS.read_text().partition("## Agreement with the paper")[2].partition("\n## ")[0]
    lines = [line.split("|")[1:-1] for line in section.splitlines() if re.match(r"\| \d", line)]
    assert len(lines) == 3
    for size, rate, pressure, paper in ([cell.strip() for cell in line] for line in lines):
        particles = int(size.replace(",", ""))
        assert float(f"{rates[particles]:.1e}") == float(rate)
        if pressure:
            found = np.array([(r["pressure"], r["pressure_error"]) for r in starts[particles]])
            mean, error = found[:, 0].mean(), np.hypot(*found[:, 1]) / 2
            assert f"{mean:.4f}({error * 1e4:.0f})" == pressure
            value, spread = published_pressure(particles, 0.698)
            digits = len(paper.partition("(")[0].partition(".")[2])
            assert f"{value:.{digits}f}({spread * 10**digits:.0f})" == paper
