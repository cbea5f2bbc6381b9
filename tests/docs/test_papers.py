# SPDX-License-Identifier: BSD-3-Clause
"""The page of the four papers, which tests/support/papers.py writes from records."""

from __future__ import annotations

import json

import papers
import pytest

if not papers.PAPERS.is_dir():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)

ENTRY = {"item": "Table 9", "title": "a pressure", "script": "table_9.py", "options": "--fast"}


def row(ours, published):
    return {"quantity": "P*", "ours": ours, "published": published, "size": "8", "length": "9"}


def run(rows, day, gpu=None):
    gpus = [{"name": gpu}] if gpu else []
    device = "cuda" if gpu else "cpu"
    machine = {"gpus": gpus, "cpu": {"name": "a CPU"}, "device": device}
    return {"date": f"2026-11-{day}T00:00:00", **machine, "rows": rows}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "PAPERS", tmp_path)
    monkeypatch.setattr(papers, "ROOT", tmp_path)
    (tmp_path / "a").mkdir()
    return tmp_path / "a"


def test_the_page_is_the_one_of_the_records():
    assert papers.page() == papers.PAGE.read_text()


def test_a_script_without_a_record_has_its_command_and_a_reason(folder):
    text = papers.section("a", {**ENTRY, "reason": "It needs a day."})
    assert "    python a/table_9.py --fast\n" in text
    assert "|" not in text and text.endswith("\n\nIt needs a day.\n")
    with pytest.raises(ValueError, match="neither a record nor a reason"):
        papers.section("a", ENTRY)


def test_a_record_has_the_rows_and_the_machines_of_all_its_runs(folder, tmp_path):
    for name, made in (
        ("first", run([row([2.0, 0.1], [1.9, 0.0])], 20, "a GPU")),
        ("second", run([row([-3.0, 0.1], None)], 21)),
    ):
        (tmp_path / "summary.json").write_text(json.dumps(made))
        papers.add("a/table_9.json", name, str(tmp_path / "summary.json"))
    text = papers.section("a", {**ENTRY, "reason": "More later."})
    assert "| P* | 1.9 | 2.0(1) | +1.0 | 8 | 9 |" in text
    assert "| P* | – | −3.0(1) |  | 8 | 9 |" in text
    assert text.endswith("a GPU, 2026-11-20; a CPU, 2026-11-21. More later.\n")


def test_rows_that_cannot_be_told_apart_are_named():
    with pytest.raises(ValueError, match=r"two rows have the quantity P\* \(ours, 8, 9\)"):
        papers.crossed([row([2.0, 0.1], None), row([3.0, 0.1], None)], [])


def test_a_row_that_is_far_from_the_paper_needs_a_note(folder):
    far = run([row([2.0, 0.1], [1.6, 0.0])], 20)
    (folder / "table_9.json").write_text(json.dumps(far))
    with pytest.raises(ValueError, match=r"4\.0 errors"):
        papers.section("a", {**ENTRY, "reason": "More later."})
    assert "It was tested." in papers.section("a", {**ENTRY, "note": "It was tested."})


def test_the_overview_counts_the_entries_by_state_and_links_the_incomplete_ones(folder):
    (folder / "table_9.json").write_text(json.dumps(run([], 20)))
    items = [
        ENTRY,
        {**ENTRY, "item": "Table 8", "reason": "A run is missing."},
        {**ENTRY, "item": "Figure 1", "script": "figure_1.py", "reason": "It needs a day."},
        {"item": "Figure 2", "title": "a drawing", "reason": "It has no numbers."},
    ]
    text = papers.overview({"a": {"title": "A paper", "items": items}})
    assert "| [A paper](#a-paper) | 1 | 1 | 1 | 1 |\n" in text
    assert "- A paper, not measured yet: [Figure 1](#figure-1-a-pressure)\n" in text
    assert "- A paper, in part: [Table 8](#table-8-a-pressure)\n" in text


def test_columns_make_a_table_of_sizes_or_parts_of_the_quantity(folder):
    rows = [
        {**row([2.0, 0.1], [1.9, 0.0]), "quantity": "P* at 0.7", "size": "1,024 disks"},
        {**row([3.0, 0.1], None), "quantity": "P* at 0.7", "size": "64 disks"},
        {**row([4.0, 0.1], None), "quantity": "P* at 0.8", "size": "64 disks"},
        {**row([5.0, 0.1], None), "quantity": "P* at 0.8", "size": "64 disks", "length": "8"},
    ]
    (folder / "table_9.json").write_text(json.dumps(run(rows, 20)))
    sizes = papers.section("a", {**ENTRY, "columns": ["size"]})
    assert "| | 64 disks | 1,024 disks |" in sizes and sizes.endswith(" Length: 9; 8.\n")
    assert "| P* at 0.7 | 3.0(1) | 2.0(1) [1.9, +1.0] |" in sizes
    assert "| P* at 0.8 | 4.0(1) |  |\n| P* at 0.8, 8 | 5.0(1) |  |" in sizes
    parts = papers.section("a", {**ENTRY, "columns": ["(at .*)"]})
    assert "| P* | 2.0(1) [1.9, +1.0] | 4.0(1) |" in parts and "Size: 1,024 disks; 64" in parts
    assert "| P*, 64 disks | 3.0(1) |  |\n| P*, 8 |  | 5.0(1) |" in parts


def test_a_row_that_several_parts_repeat_is_shown_once(folder):
    reference, other = row([2.0, 0.1], None), row([3.0, 0.1], None)
    parts = {"first": run([reference], 20), "second": run([reference, other], 20)}
    (folder / "table_9.json").write_text(json.dumps({"parts": parts}))
    text = papers.section("a", ENTRY)
    assert text.count("| 2.0(1) |") == 1 and text.count("| 3.0(1) |") == 1
