"""`manymove bench all`: every benchmark, ours beside the best peer."""

import json

import pytest

from manymove import bench, bench_all, cli


def row(size, variant, rate, spread=0.0):
    return {
        "particles": size,
        "variant": variant,
        "trial_moves_per_second": rate,
        "lowest": rate * (1 - spread),
        "highest": rate * (1 + spread),
    }


ROWS = [
    row(10, "cpu", 6.0),
    row(10, "cuda:0", 90.0, 0.25),
    row(10, "HPMC (HOOMD-blue 7), nselect 8", 20.0),
    row(10, "HPMC (HOOMD-blue 7), nselect 16", 30.0),
    row(99, "cuda:0", 5.0),
    {"particles": 99, "variant": "HPMC (HOOMD-blue 7), nselect 8", "failure": "no memory"},
]


def test_summary_sets_the_best_of_ours_beside_the_best_peer():
    first, second = bench_all.summarise(bench_all.PARTS["disks"], ROWS)
    assert (first["size"], first["ours"]["variant"], first["ours"]["rate"]) == (10, "cuda:0", 90.0)
    assert first["ours"]["spread"] == pytest.approx(0.25)
    assert first["peer"] == {"variant": ROWS[3]["variant"], "rate": 30.0, "spread": 0.0}
    assert first["ratio"] == 3.0
    assert second["size"] == 99 and "peer" not in second and "ratio" not in second


@pytest.fixture
def small(monkeypatch):
    """Parts that take no time; one of them needs a program that is missing."""

    def of_disks(**common):
        assert common == {"device": "cpu", "repeats": 3, "seconds": 0.5, "seed": 1}
        return {"results": ROWS}

    def of_hoomd(**common):
        raise ImportError("bench hoomd needs HOOMD-blue")

    parts = dict(bench_all.PARTS)
    for name, run in (("disks", of_disks), ("hoomd", of_hoomd)):
        parts[name] = bench_all.Part(
            **{**vars(parts[name]), "run": run},
        )
    monkeypatch.setattr(bench_all, "PARTS", {name: parts[name] for name in ("disks", "hoomd")})


def test_command_writes_table_file_and_picture(small, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    results, picture = tmp_path / "new" / "all.json", tmp_path / "all.png"
    arguments = ["--device", "cpu", "--seconds", "0.5", "--json", results, "--plot", picture]
    assert cli.run(["bench", "all", *map(str, arguments)]) == 0
    output = capsys.readouterr().out
    assert "left out: bench hoomd needs HOOMD-blue" in output
    assert "3 times HPMC (HOOMD-blue 7), nselect 16" in output
    report = json.loads(results.read_text())
    assert report["absent"] == {"hoomd": "bench hoomd needs HOOMD-blue"}
    assert [row["size"] for row in report["summary"]] == [10, 99]
    assert report["benchmarks"]["disks"]["results"] == ROWS
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_too_few_repeats_are_refused(capsys):
    assert cli.run(["bench", "all", "--repeats", "2"]) == 2
    assert "a spread needs at least 3" in capsys.readouterr().err


def test_parts_pass_on_what_benchmarks_take(monkeypatch):
    """No benchmark's signature has changed: its checks are reached."""
    common = {"device": "cpu", "repeats": 2, "seconds": 1.0, "seed": 1}
    for part in bench_all.PARTS.values():
        with pytest.raises(ValueError, match="a spread needs at least 3"):
            part.run(**common)


def test_runs_shorter_than_a_cycle_are_timed_until_one_is_done():
    cycles = iter([0, 0, 7] * 100)  # trial moves of successive calls

    def run(sweeps):
        moves = next(cycles)
        return moves, moves // 2

    variant = bench.Variant("cycles", run, {})
    bench.time_in_turn([variant], repeats=3, seconds=1e-9)
    assert all(rate > 0 for rate in variant.rates) and variant.trial_moves == 21
