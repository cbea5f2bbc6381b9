# SPDX-License-Identifier: BSD-3-Clause
"""The parts of long scripts, which are kept and continued, and the rows of their comparisons."""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from manymove import script


def options(folder, **others):
    return argparse.Namespace(**{
        "output": folder, "overwrite": False, "quick": False, "sizes": (16, 32), "device": "cpu",
        **others,
    })  # fmt: skip


def never():
    raise AssertionError("a part that has ended runs again")


def test_parts_that_have_ended_are_not_run_again(tmp_path):
    def stopped():
        raise KeyboardInterrupt

    parts = script.Parts(options(tmp_path))
    first = parts.run("first", lambda: {"value": 1.5, "sizes": (1, 2), 3: None})
    with pytest.raises(KeyboardInterrupt):
        parts.run("second", stopped)
    parts = script.Parts(options(tmp_path))
    # Both commands have the same result, with the types of JSON.
    assert parts.run("first", never) == first == {"value": 1.5, "sizes": [1, 2], "3": None}
    assert parts.run("second", lambda: 2) == 2 == parts.run("second", never)
    kept = json.loads((tmp_path / "parts.json").read_text())
    assert kept["options"] == {"sizes": [16, 32], "device": "cpu"}
    assert kept["parts"] == {"first": first, "second": 2}


def test_parts_with_other_options_are_refused(tmp_path):
    script.Parts(options(tmp_path)).run("first", lambda: 1)
    before = (tmp_path / "parts.json").read_bytes()
    with pytest.raises(ValueError, match=r"parts\.json has --sizes \[16, 32\], not \[16\]: --over"):
        script.Parts(options(tmp_path, sizes=(16,)))
    with pytest.raises(ValueError, match=r"parts\.json has no --new-option, which"):
        script.Parts(options(tmp_path, new_option=3))
    with pytest.raises(ValueError, match=r"has --device cpu, not cuda"):
        script.Parts(options(tmp_path, device="cuda"))
    assert (tmp_path / "parts.json").read_bytes() == before
    parts = script.Parts(options(tmp_path, device="cuda", minutes=9.0, quick=True), ("device",))
    assert parts.run("first", never) == 1


def test_a_path_is_an_option_like_others(tmp_path):
    script.Parts(options(tmp_path, record=Path("a.json"))).run("first", lambda: 1)
    assert script.Parts(options(tmp_path, record=Path("a.json"))).run("first", never) == 1
    with pytest.raises(ValueError, match=r"has --record a\.json, not b\.json"):
        script.Parts(options(tmp_path, record=Path("b.json")))


def test_no_part_begins_after_the_time(tmp_path, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(script, "monotonic", lambda: now)
    parts = script.Parts(options(tmp_path, minutes=2.0))
    now += 119
    assert parts.run("first", lambda: 1) == 1
    now += 2
    with pytest.raises(SystemExit, match=r"^1 parts are in .*parts\.json; the same command cont"):
        parts.run("second", never)
    assert parts.run("first", never) == 1
    # The next command has its own time, and one without the option has no limit.
    assert script.Parts(options(tmp_path, minutes=2.0)).run("second", lambda: 2) == 2
    parts = script.Parts(options(tmp_path, minutes=None))
    now += 1e9
    assert parts.run("third", lambda: 3) == 3


@pytest.mark.parametrize("minutes", [0.0, -1.0, float("nan")])
def test_the_time_is_positive(minutes, tmp_path):
    with pytest.raises(ValueError, match=r"--minutes is .*; it must be positive"):
        script.Parts(options(tmp_path, minutes=minutes))


def test_overwrite_begins_again_with_the_first_part(tmp_path):
    script.Parts(options(tmp_path)).run("first", lambda: 1)
    script.save(options(tmp_path), {"results": [1]})
    parts = script.Parts(options(tmp_path, sizes=(8,), overwrite=True))
    assert (tmp_path / "summary.json").exists() and (tmp_path / "parts.json").exists()

    def stopped():
        # What is killed now leaves nothing of the earlier run, which it would continue.
        assert not (tmp_path / "parts.json").exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parts.run("first", stopped)
    assert parts.run("first", lambda: 5) == 5 and parts.run("second", lambda: 6) == 6
    # parse() refuses a folder with a summary without --overwrite.
    assert not (tmp_path / "summary.json").exists()
    parts = script.Parts(options(tmp_path, sizes=(8,)))
    assert parts.run("first", never) == 5 and parts.run("second", never) == 6


def test_overwrite_of_a_folder_that_is_not_there(tmp_path):
    parts = script.Parts(options(tmp_path / "new", overwrite=True))
    assert parts.run("first", lambda: 1) == 1
    assert (tmp_path / "new/parts.json").exists()


def test_parts_are_not_drawn(tmp_path):
    """A record of several runs, which also has `parts`, is."""
    script.Parts(options(tmp_path)).run("first", lambda: {"results": [1]})
    path = tmp_path / "parts.json"
    with pytest.raises(ValueError, match=r"parts\.json has the parts of a run, not its summary"):
        script.read(argparse.Namespace(draw=[path]))
    path.write_text(json.dumps({"parts": {"one": {"results": [1]}, "other": {"results": [2]}}}))
    assert script.read(argparse.Namespace(draw=[path])) == [{"results": [1]}, {"results": [2]}]


def test_threads_run_parts_at_the_same_time(tmp_path):
    parts, together = script.Parts(options(tmp_path)), Barrier(4, timeout=30)

    def part(k):
        together.wait()
        return k

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda k: parts.run(str(k), lambda: part(k)), range(4)))
    assert found == [0, 1, 2, 3]
    kept = json.loads((tmp_path / "parts.json").read_text())["parts"]
    assert kept == {str(k): k for k in range(4)}


@pytest.mark.parametrize("published", [(9.17, 0.01), (9.17, None), None])
def test_a_comparison_is_the_same_in_the_file(published):
    row = script.compared("P*", (9.18, 0.02), published, "64 disks", "1e6 sweeps")
    assert row == json.loads(json.dumps(row))
    assert row == {
        "quantity": "P*", "ours": [9.18, 0.02], "published": published and list(published),
        "size": "64 disks", "length": "1e6 sweeps",
    }  # fmt: skip


def test_a_summary_has_the_options_as_json_has_them(tmp_path):
    files = [Path("one.json"), Path("two.json")]
    found = script.save(options(tmp_path, files=files), {"results": [1]})
    assert found["files"] == ["one.json", "two.json"] and found["sizes"] == [16, 32]
    assert json.loads((tmp_path / "summary.json").read_text()) == found


def test_an_option_has_the_type_of_its_default():
    parser = script.Parser("First line.\n\nOther lines.")
    assert parser.description == "First line."
    parser.option("--sweeps", 10)
    parser.option("--seconds", 600, type=float)
    parser.option("--edges", [1.5], "Edges.")
    parser.option("--starts", (1, 2), nargs=2)
    parser.option("--files", [], type=Path)
    parser.option("--minutes", float)
    parser.option("--counters", False, "Whether to count.")
    found = vars(parser.parse_args([]))
    assert found == {
        "sweeps": 10, "seconds": 600, "edges": [1.5], "starts": (1, 2), "files": [],
        "minutes": None, "counters": False,
    }  # fmt: skip
    words = "--sweeps 3 --seconds 3 --edges 1 2 --starts 3 4 --files a --minutes 2 --counters"
    found = vars(parser.parse_args(words.split()))
    assert repr(found) == repr({
        "sweeps": 3, "seconds": 3.0, "edges": [1.0, 2.0], "starts": [3, 4], "files": [Path("a")],
        "minutes": 2.0, "counters": True,
    })  # fmt: skip
    with pytest.raises(SystemExit):
        parser.parse_args(["--sweeps", "1.5"])
    found = script.Parser(None, seed=3, device="cpu").parse_args(["--seed", "4"])
    assert vars(found) == {"seed": 4, "device": "cpu"}


def test_summaries_are_drawn_by_the_parser_and_nothing_is_run(tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure").Figure
    record = tmp_path / "record.json"
    record.write_text('{"value": 1}')
    words = ["a.py", "--draw", str(record), "--output", str(tmp_path / "out")]
    monkeypatch.setattr("sys.argv", words)
    drawn = []

    def draw(summary):
        drawn.append(dict(summary))
        return figure()

    with pytest.raises(SystemExit) as end:
        script.parse(script.Parser(None), "a", {}, draw=draw)
    assert (end.value.code, drawn) == (None, [{"value": 1}])
    assert (tmp_path / "out/picture.png").is_file()
    assert not (tmp_path / "out/summary.json").exists()
    assert script.parse(script.Parser(None), "a", {}).draw == [record]  # by the script
