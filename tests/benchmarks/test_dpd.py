"""`python -m benchmarks dpd`: what is timed, how it is compared, what is refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from lammps_host import needs_lammps

from benchmarks import dpd, dpd_hoomd, dpd_variants
from benchmarks.cli import run as bench
from manymove import _core
from manymove.lammps import host

QUICK = ["--repeats", "3", "--seconds", "0.05", "--equilibrate", "600", "--ranks", "1"]
QUICK += ["--precision", "mixed"]


@needs_lammps
def test_ours_is_timed_beside_lammps(tmp_path, capsys):
    file = tmp_path / "results" / "dpd.json"
    arguments = ["dpd", "--sizes", "800", "--density", "3,4", *QUICK]
    arguments += ["--precision", "mixed,double", "--json", str(file)]
    assert bench(arguments) == 0
    report = json.loads(file.read_text())
    printed = capsys.readouterr().out
    for density in (3, 4):
        rows = [r for r in report["results"] if r["density"] == density and r["device"] == "cpu"]
        assert [r["variant"].split(",")[0] for r in rows] == [
            "pair_style manymove/dpd",
            "run_style manymove/verlet device cpu",
            "pair_style manymove/dpd",
            "run_style manymove/verlet device cpu",
            "pair_style dpd",
        ]
        for row in rows:
            assert row["lowest"] <= row["million_particle_steps_per_second"] <= row["highest"]
            assert row["repeats"] == 3 and row["steps_per_repeat"] >= 20
            # 800 particles: 3 %
            assert row["temperature"] == pytest.approx(1, abs=0.2)
        peer = rows[4]["million_particle_steps_per_second"]
        ratio = rows[0]["ratios"][rows[4]["variant"]]
        assert ratio["lowest"] <= ratio["median"] <= ratio["highest"]
        assert ratio["lowest"] < 3 * rows[0]["million_particle_steps_per_second"] / peer
        assert "ratios" not in rows[4]
    assert report["lammps"].startswith("22 Jul 2025") and report["cores"] >= 1
    assert printed.count("times dpd, 1 rank") == 8


@needs_lammps
def test_many_body_dpd_is_timed_beside_mdpd(tmp_path):
    file = tmp_path / "dpd.json"
    arguments = ["dpd", "--pair", "mdpd", "--sizes", "800", "--device", "cpu", *QUICK]
    assert bench([*arguments, "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    names = [row["variant"] for row in report["results"]]
    assert names[0] == "pair_style manymove/mdpd, mixed, 1 rank"
    assert names[-1] == "pair_style mdpd, 1 rank"
    assert all(row["density"] == 6.1 and "failure" not in row for row in report["results"])
    assert list(report["results"][1]["ratios"]) == names[-1:]


@needs_lammps
def test_charged_dpd_is_timed_beside_the_neutral_fluid_and_lammps(tmp_path):
    file = tmp_path / "dpd.json"
    arguments = ["dpd", "--pair", "dpd,dpd/coul/slater/long", "--sizes", "800", "--device", "cpu"]
    assert bench([*arguments, "--charged", "0.2", *QUICK, "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    rows = {row["variant"]: row for row in report["results"]}
    assert report["charged"] == 0.2 and len(rows) == 6
    ours = rows["run_style manymove/verlet device cpu, dpd/coul/slater/long, mixed, 1 rank"]
    assert "failure" not in ours and ours["temperature"] == pytest.approx(1, abs=0.2)
    neutral, peer = ours["ratios"].values()
    assert neutral["median"] < 1 < peer["median"] + 0.9
    case = dpd_variants.Case(800, 3.0, 1.0, 0.005, (0.3,), 1.0, 1, charged=0.2)
    commands = case.begin(dpd_variants.CHARGED, tmp_path / "start")
    assert "set atom 1*80 charge 1.0\nset atom 81*160 charge -1.0" in commands


@pytest.mark.parametrize(("particles", "charged"), [(800, 1.5), (500, 0.1), (800, -0.1)])
def test_a_charged_fluid_needs_room_and_a_share(particles, charged):
    with pytest.raises(ValueError, match="charge"):
        dpd_variants.Case(particles, 3.0, 1.0, 0.005, (0.3,), 1.0, 1, charged=charged)


@needs_lammps
def test_charged_dpd_needs_charges():
    with pytest.raises(ValueError, match="at least two particles must have charges: give a larger"):
        dpd.run(
            sizes=[800], pairs=["dpd/coul/slater/long"], charged=0.0, device="cpu", repeats=3,
            seconds=0.05, seed=1,
        )  # fmt: skip


class Timed(dpd_variants.Variant):
    """A variant that took the given times."""

    def tune(self, case, start, seconds):
        return 1e6

    def run(self, case, start):
        self.rates.append(2e6 if "ext" in self.settings["pair"] else 3e6)
        self.temperature = 1.0


def test_styles_are_compared_with_their_peers_and_with_dpd(tmp_path):
    variants = [
        Timed(f"{name} {pair}", {"device": "cpu", "pair": pair, "precision": precision}, peer)
        for pair in ("dpd", "dpd/ext")
        for name, precision, peer in (
            ("pair_style manymove", "mixed", False),
            ("run_style", "mixed", False),
            ("run_style", "double", False),
            ("pair_style", "double", True),
        )
    ]
    case = dpd_variants.Case(800, 3.0, 1.0, 0.005, (0.3,), 1.0, 7)
    rows = dpd._time(case, variants, tmp_path, 3, 0.1)
    assert [row["million_particle_steps_per_second"] for row in rows] == [3.0] * 4 + [2.0] * 4
    ratios = [{name: r["median"] for name, r in row.get("ratios", {}).items()} for row in rows]
    assert ratios[:4] == [*3 * [{"pair_style dpd": 1.0}], {}]
    third, same = {"pair_style dpd/ext": 1.0}, pytest.approx(2 / 3)
    assert ratios[4] == third | {"pair_style manymove dpd": same}
    assert ratios[5] == ratios[6] == third | {"run_style dpd": same}


class Failed(Timed):
    """A variant that no settings were found for."""

    def tune(self, case, start, seconds):
        self.failure = "no"
        return 0.0


def test_variants_have_settings_of_their_own(tmp_path):
    gpu, cpu = {"device": "cuda"}, {"device": "cpu", "threads": 2}
    variants = [
        kind("run_style " + pair, {"pair": pair, **settings}, False)
        for pair in ("dpd", "dpd/ext")
        for kind, settings in ((Timed, gpu), (Timed, cpu), (Failed, {"precision": "mixed"}))
    ]
    for variant in variants:
        if type(variant) is Timed:
            variant.settings["skin"] = 0.3
    case = dpd_variants.Case(800, 3.0, 1.0, 0.005, (0.3,), 1.0, 7)
    rows = dpd._time(case, variants, tmp_path, 3, 0.1)
    ratios = [list(row.get("ratios", ())) for row in rows]
    assert ratios == 3 * [[]] + 2 * [["run_style dpd"]] + [[]]
    assert [row.get("failure", "") for row in rows] == ["", "", "no"] * 2


def test_scripts_of_other_pair_styles():
    case = dpd_variants.Case(800, 3.0, 1.0, 0.005, (0.3,), 0.5, 7)
    assert case.pair("manymove/dpd/ext mixed") == (
        "pair_style manymove/dpd/ext 1.0 1 7 precision mixed\npair_coeff 1 1 25 4.5 4.5 0.5 0.5\n"
    )
    assert case.pair("dpd/tstat") == "pair_style dpd/tstat 1.0 1.0 1 7\npair_coeff 1 1 4.5\n"
    assert case.pair("manymove/dpd/tstat double threads 2") == (
        "pair_style manymove/dpd/tstat 1.0 1.0 1 7 weight_exponent 0.5 precision double threads 2\n"
        "pair_coeff 1 1 4.5\n"
    )


@needs_lammps
def test_a_sheared_fluid_is_timed_beside_the_one_at_rest(tmp_path):
    file = tmp_path / "dpd.json"
    arguments = ["dpd", "--shear", "0,0.3", "--sizes", "800", "--device", "cpu", *QUICK]
    assert bench([*arguments, "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["results"]
    assert [row["shear"] for row in rows] == sorted(row["shear"] for row in rows)
    assert [row["variant"] for row in rows if row["shear"]] == [
        row["variant"] + ", shear 0.3" for row in rows if not row["shear"]
    ]
    for row in rows:
        # The flow is not counted. 800 particles: 3 %
        assert row["temperature"] == pytest.approx(1, abs=0.2)


def fake_lammps(path: Path, body: str, package: str = "KOKKOS", style: str = "dpd/kk") -> Path:
    """An executable that says it has a style for CUDA."""
    about = f"Massively Simulator - 1 Jan 2099\\n{package} package API: CUDA Serial\\n"
    about += f"{package} package precision: mixed\\n* dpd {style}"
    path.write_text(f'#!/bin/sh\nif [ "$1" = -h ]; then printf "{about}\\n"; exit; fi\n{body}\n')
    path.chmod(0o755)
    return path


@needs_lammps
def test_another_lammps_with_kokkos_is_a_peer(tmp_path, monkeypatch):
    # In front of the installed LAMMPS: takes the arguments of KOKKOS, runs without them.
    real = host.command()[0]
    fake = fake_lammps(
        tmp_path / "lmp_kk", f'[ "$1 $5 $6" = "-k -sf kk" ] || exit 3\nshift 14\nexec {real} "$@"'
    )
    for name, value in host.environment().items():
        if os.environ.get(name) != value:
            monkeypatch.setenv(name, value)
    file = tmp_path / "dpd.json"
    arguments = ["dpd", "--sizes", "600", "--skin", "0.2,0.6", *QUICK]
    assert bench([*arguments, "--lammps", str(fake), "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["results"]
    (row,) = (r for r in rows if "dpd/kk" in r["variant"])
    assert row["variant"] == "pair_style dpd/kk, mixed, LAMMPS 1 Jan 2099"
    assert row["device"] == "cuda" and row["precision"] == "mixed"
    assert row["arguments"][:4] == ["-k", "on", "g", "1"]
    half_range = 0.5 * (1 + row["skin"])
    sort, bins = row["commands"]
    assert sort in ("atom_modify sort 1000 0.0", "atom_modify sort 100 0.0")
    assert bins in ("neigh_modify binsize 0.0", f"neigh_modify binsize {half_range:g}")
    assert row["million_particle_steps_per_second"] > 0
    assert row["variant"] in rows[0]["ratios"]
    assert {r["skin"] for r in rows} <= {0.2, 0.6}


@needs_lammps
def test_ranks_of_another_lammps_share_the_gpu(tmp_path, monkeypatch):
    # In front of the installed LAMMPS: takes the arguments of the GPU package, runs without them.
    fake = fake_lammps(
        tmp_path / "lmp_gpu",
        f'[ "$1 $2 $3 $4 $5" = "-sf gpu -pk gpu 1" ] || exit 3\nshift 5\n'
        f'exec {host.command()[0]} "$@"',
        "GPU",
        "dpd/coul/slater/long/gpu",
    )
    for name, value in host.environment().items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "dpd.json"
    arguments = ["dpd", "--pair", "dpd/coul/slater/long", "--sizes", "800", *QUICK]
    arguments += ["--lammps", str(fake), "--lammps-ranks", "1,2", "--json", str(file)]
    assert bench(arguments) == 0
    rows = json.loads(file.read_text())["results"]
    peers = [r for r in rows if "/gpu" in r["variant"]]
    name = "pair_style dpd/coul/slater/long/gpu, mixed, LAMMPS 1 Jan 2099"
    assert [r["variant"] for r in peers] == [name, f"{name}, 2 ranks"]
    assert [r["ranks"] for r in peers] == [1, 2]
    for row in peers:
        assert row["device"] == "cuda" and row["million_particle_steps_per_second"] > 0
        assert row["temperature"] == pytest.approx(1, abs=0.2)  # 800 particles: 3 %
        assert row["variant"] in rows[0]["ratios"]


FAKE_HOOMD = """
import json, sys
if sys.argv[1:] == ["--version"]:
    sys.exit("no GPU here") if {broken} else print("9.9.9")
else:
    fluid = json.loads(next(sys.stdin))
    assert fluid["particles"] == 600 and fluid["buffers"] == [0.3, 0.4], fluid
    assert abs(fluid["a"] - 25) < 1e-9 and fluid["melt"] == 600
    print(json.dumps({{"buffer": 0.4, "rate": 1200.0}}), flush=True)
    for line in sys.stdin:
        seconds = json.loads(line)["steps"] / 10
        print(json.dumps({{"seconds": seconds, "temperature": 1.01}}), flush=True)
"""


def fake_hoomd(folder: Path, monkeypatch, broken: bool = False) -> None:
    script = folder / "hoomd.py"
    script.write_text(FAKE_HOOMD.format(broken=broken))
    monkeypatch.setattr(dpd_variants, "HOOMD", [sys.executable, str(script)])


@needs_lammps
def test_hoomd_is_a_peer(tmp_path, monkeypatch):
    fake_hoomd(tmp_path, monkeypatch)
    file = tmp_path / "dpd.json"
    arguments = ["dpd", "--sizes", "600", "--skin", "0.3,0.4", *QUICK]
    assert bench([*arguments, "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    (row,) = (r for r in report["results"] if "HOOMD" in r["variant"])
    assert row["variant"] == "md.pair.DPD, HOOMD-blue 9.9.9" and row["peer"]
    assert (row["skin"], row["temperature"], row["repeats"]) == (0.4, 1.01, 3)
    # Ten steps a second of 600 particles.
    assert row["million_particle_steps_per_second"] == pytest.approx(600 * 10 / 1e6)
    assert row["variant"] in report["results"][0]["ratios"] and report["absent"] == ""


@needs_lammps
def test_a_hoomd_that_cannot_run_is_told(tmp_path, monkeypatch, capsys):
    fake_hoomd(tmp_path, monkeypatch, broken=True)
    assert bench(["dpd", "--sizes", "600", *QUICK]) == 0
    assert "left out: HOOMD-blue, no GPU here" in capsys.readouterr().out


@needs_lammps
def test_a_hoomd_that_dies_is_told(tmp_path, monkeypatch, capsys):
    fake_hoomd(tmp_path, monkeypatch)
    script = tmp_path / "hoomd.py"
    script.write_text(
        script.read_text().replace("for line in sys.stdin:", "if True:\n        exit()")
    )
    assert bench(["dpd", "--sizes", "600", "--skin", "0.3,0.4", *QUICK]) == 0
    printed = capsys.readouterr().out
    assert "failed: it ended before its time" in printed and "times md.pair.DPD" not in printed


def test_hoomd_makes_the_fluid_that_is_asked_for():
    pytest.importorskip("hoomd.md")
    fluid = {"device": "cpu", "particles": 600, "edge": 200 ** (1 / 3), "cutoff": 1.0, "a": 25.0}
    tuning = {"timestep": 0.005, "buffers": [0.2, 0.3], "melt": 600}
    first = {**fluid, **tuning, "seed": 1, "warm_up": 5, "tuning_seconds": 0.1}
    lines = iter([json.dumps(first), json.dumps({"steps": 20}), json.dumps({"steps": 40})])
    chosen, *runs = dpd_hoomd.answer(lines)
    assert chosen["buffer"] in first["buffers"] and chosen["rate"] > 0
    assert len(runs) == 2
    for run in runs:
        # 600 particles: 3 %
        assert run["seconds"] > 0 and run["temperature"] == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("LAMMPS\nERROR: no device (src/a.cpp:1)\nLast command: run 1\n", "ERROR: no device"),
        ("LAMMPS\nKokkos: out of memory\nBacktrace:\n  [0x55d6]\n[0x55d7] main\n", "Kokkos: out"),
        ("", "no output"),
    ],
)
def test_why_lammps_ended_is_told(output, why):
    assert dpd_variants.why_not(output).startswith(why)


def test_what_a_run_takes_once_is_not_counted():
    assert dpd_variants.more(2.0, 7.0) == 5.0
    # Another process had the processor in the short run.
    assert dpd_variants.more(9.0, 7.0) == pytest.approx(0.7)


def test_choosing_a_skin_takes_no_longer_than_a_timed_run():
    assert dpd_variants.tuning_steps(1e-4, 2.0) == 200
    assert dpd_variants.tuning_steps(0.02, 2.0) == 100
    assert dpd_variants.tuning_steps(1.0, 2.0) == dpd_variants.FEWEST_STEPS


@needs_lammps
def test_what_was_timed_before_a_failure_is_kept(tmp_path, monkeypatch):
    melt = dpd_variants.melt

    def fail(case, *arguments):
        if case.particles == 700:
            raise RuntimeError("it does not melt")
        melt(case, *arguments)

    monkeypatch.setattr(dpd_variants, "melt", fail)
    file = tmp_path / "dpd.json"
    assert bench(["dpd", "--sizes", "600,700", *QUICK, "--json", str(file)]) == 2
    assert {row["particles"] for row in json.loads(file.read_text())["results"]} == {600}


def test_what_hoomd_cannot_do_is_a_failure():
    (reply,) = dpd_hoomd.answer(iter(['{"particles": 1}']))
    assert reply["failure"]


@needs_lammps
def test_threads_are_timed_beside_ranks(tmp_path):
    file, picture = tmp_path / "dpd.json", tmp_path / "dpd.png"
    arguments = ["dpd", "--sizes", "600", "--threads", "1,2", "--device", "cpu", *QUICK]
    assert bench([*arguments, "--json", str(file), "--plot", str(picture)]) == 0
    rows = json.loads(file.read_text())["results"]
    assert [(r["ranks"], r["threads"], r["peer"]) for r in rows] == [
        (1, 1, False),
        (1, 2, False),
        (1, 1, False),
        (1, 2, False),
        (1, 1, True),
    ]
    shared = "mixed, 1 rank of 2 threads"
    assert rows[1]["variant"] == f"pair_style manymove/dpd, {shared}"
    assert rows[3]["variant"] == f"run_style manymove/verlet device cpu, {shared}"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_fastest_commands_are_kept(monkeypatch):
    speeds = {"sort 100": 2.0, "sort 10": 1.0, "bins 0.65": 0.5, "bins 0": 1.0}
    variant = dpd_variants.LammpsVariant(
        "", {"device": "cuda"}, True, "dpd", [], {},
        choices=[("sort 100", "sort 10"), ("bins 0", "bins {half_range:g}")],
    )  # fmt: skip

    def times(self, case, start, skins, commands, steps):
        slowness = 1 / (speeds[commands[0]] * speeds[commands[1]])
        return [slowness * (2 - skin) for skin in skins]

    monkeypatch.setattr(dpd_variants.LammpsVariant, "_times", times)
    case = dpd_variants.Case(800, 3.0, 1.0, 0.005, (0.2, 0.3), 1.0, 1)
    variant.tune(case, Path(), 1.0)
    assert variant.settings["skin"] == 0.3
    assert variant.settings["commands"] == ["sort 100", "bins 0"]
    speeds["sort 10"] = speeds["bins 0.65"] = 8.0
    variant.tune(case, Path(), 1.0)
    assert variant.settings["commands"] == ["sort 10", "bins 0.65"]


@needs_lammps
def test_a_variant_that_fails_is_told_and_left_out(tmp_path, capsys):
    fake = fake_lammps(tmp_path / "lmp_kk", "echo 'ERROR: no device'; exit 1")
    assert bench(["dpd", "--sizes", "600", *QUICK, "--lammps", str(fake)]) == 0
    printed = capsys.readouterr().out
    assert "failed: ERROR: no device" in printed
    assert "times dpd/kk" not in printed and "times dpd, 1 rank" in printed


@needs_lammps
def test_what_has_not_melted_is_not_timed(capsys):
    arguments = ["dpd", "--sizes", "1500", "--equilibrate", "100", "--ranks", "1"]
    assert bench(arguments) == 2
    assert "--equilibrate must be larger" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "0"], "particles must be positive"),
        (["--sizes", "20"], "less than twice cutoff and skin"),
        (["--density", "-3"], "density must be positive"),
        (["--timestep", "0"], "timestep must be positive"),
        (["--weight-exponent", "-1"], "--weight-exponent must not be negative"),
        (["--repeats", "2"], "a spread needs at least 3"),
        (["--equilibrate", "10"], "--equilibrate is 10"),
        (["--ranks", "0"], "--ranks is 0"),
        (["--threads", "0"], "--threads is 0"),
        (["--lammps-ranks", "0"], "--lammps-ranks is 0"),
        (["--skin", "0.3,0"], "--skin must be positive, got 0"),
        (["--skin", "wide"], "must be numbers separated by commas"),
        (["--precision", "half"], "--precision is half; it must be one of mixed, double"),
        (["--device", "tpu"], "--device is tpu; it must be one of auto, cpu, cuda"),
        (["--ranks", "1,x"], "must be integers separated by commas"),
        (["--lammps", "/nowhere/lmp"], "/nowhere/lmp is not an executable"),
        (["--pair", "mdpd", "--shear", "0.1"], "many-body DPD is timed without shear"),
        (["--shear", "nan"], "shear must be finite, not nan"),
        (["--shear", "fast"], "must be numbers separated by commas"),
        (["--pair", "dpd,edpd"], "--pair is edpd; it must be one of dpd, dpd/tstat, dpd/ext, mdpd"),
        (["--pair", "mdpd", "--cutoff", "1.5"], "the cutoff of many-body DPD must be 1, got 1.5"),
    ],
)
@needs_lammps
def test_bad_options_are_named(arguments, message, capsys):
    assert bench(["dpd", *arguments]) == 2
    assert message in capsys.readouterr().err


@needs_lammps
@pytest.mark.skipif(bool(_core.cuda_devices()), reason="there is a GPU")
def test_a_gpu_that_is_missing_is_told(capsys):
    assert bench(["dpd", "--device", "cuda"]) == 2
    assert "--device cuda: no GPU" in capsys.readouterr().err


@pytest.mark.parametrize("density", [3, 6, 50])
@pytest.mark.parametrize("cutoff", [1, 1.5])
def test_the_repulsion_is_that_of_groot_and_warren(density, cutoff):
    case = dpd.Case(8192, density, cutoff, 0.005, (0.3,), 1.0, 1)
    # a = 75 kT / rho in units of the cutoff
    assert case.a * cutoff * density * cutoff**3 == pytest.approx(75)
