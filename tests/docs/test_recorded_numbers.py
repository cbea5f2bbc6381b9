"""Every number of the tables that compare speeds is in the result files which its row names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from documents import PAGES, ROOT, name
from recorded import MARKED, RESULTS, number
from recorded import written as as_recorded

from manymove.analysis.reference import published_pressure

README, SCALING = ROOT / "README.md", ROOT / "docs/benchmarks/scaling.md"
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
    """(text, value, half a unit of the last digit) of each number of a row, without links. Zeros
    that follow three digits, as in 2,940, are not digits."""
    plain = re.sub(r"`[^`]*`|\]\([^()]*\)", " ", line)
    for text, percent in NUMBER.findall(plain):
        digits, _, exponent = text.replace(",", "").partition("e")
        scale = 10.0 ** int(exponent or 0) * (0.01 if percent else 1.0)
        whole, _, fraction = digits.partition(".")
        zeros = len(whole[3:]) - len(whole[3:].rstrip("0")) if not fraction else 0
        half = 0.5 * 10.0 ** (zeros - len(fraction))
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


def test_the_script_corrects_a_marked_number():
    text = "| <!--=disks 1048576-->9.99e11<!--/--> trial moves/s |"
    right = as_recorded(text, README)
    assert (
        MARKED.findall(right)
        == [("disks 1048576", number("disks 1048576"))]
        != MARKED.findall(text)
    )
    with pytest.raises(KeyError):
        as_recorded("<!--=no-such-number-->1<!--/-->", README)


def test_every_record_is_read_by_a_page_a_picture_or_a_test():
    readers = [*PAGES, *ROOT.glob("tests/**/*.md"), Path(__file__)]
    readers += [ROOT / "tests/docs/test_examples.py", ROOT / "tests/support/recorded.py"]
    text = "\n".join(reader.read_text() for reader in readers)
    records = [path.name for path in RESULTS.iterdir()]
    named = [re.sub(r"^[\d-]{11}|\.json$", "", record) for record in records]  # as in FIGURES
    pairs = zip(records, named, strict=True)
    assert [r for r, part in pairs if r not in text and not re.search(rf"{part}[ \"]", text)] == []


def test_the_rows_of_table_2_are_the_means_of_both_starts():
    """The error is the joint error or half the difference, whichever is larger."""
    record = ROOT / "examples/papers/mpmc/table_2.json"
    part = json.loads(record.read_text())["parts"]["65,536 disks"]
    assert len(part["rows"]) == 6
    for row in part["rows"]:
        phi = float(row["quantity"].removeprefix("P* at "))
        runs = [run for run in part["results"] if run["packing_fraction"] == phi]
        assert {run["start"] for run in runs} == {"random", "crystal"}
        values = np.array([run["pressure"] for run in runs])
        errors = np.array([run["pressure_error"] for run in runs])
        error = max(np.hypot(*errors) / 2, np.ptp(values) / 2)
        assert row["ours"] == pytest.approx([values.mean(), error], rel=1e-12)
        assert row["published"] == list(published_pressure(65536, phi))[:2]
