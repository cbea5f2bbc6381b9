"""`manymove electrolyte`: files, resuming, and mistakes."""

from __future__ import annotations

import re
import warnings

import numpy as np
import processes
import pytest
from commands import COMMAND, summary_of

from manymove import Electrolyte, cli
from manymove.analysis.ions import Salt
from manymove.electrolyte import job
from manymove.jobs import world

SMALL = ["--ions", 128, "--sweeps", 60, "--equilibrate", 20, "--device", "cpu", "--quiet"]
KEYS = {
    "energy_per_ion_kT",
    "energy_per_ion_error_kT",
    "acceptance",
    "seconds_per_sweep",
    "autocorrelation_time",
    "renormalized",
    "device",
    "seed",
    "state_hash",
    "energy_drift_relative",
}


def electrolyte(*arguments):
    return cli.run(["electrolyte", *map(str, arguments)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("electrolyte")
    assert electrolyte(*SMALL, "--output", folder) == 0
    return folder


def test_summary_has_what_was_asked_for(finished):
    summary = summary_of(finished)
    assert summary.keys() >= KEYS
    assert summary["N"] == 128
    assert summary["complete"] is True
    assert summary["sweeps"] == 60
    assert summary["trial_moves"] == (60 + summary["equilibration_sweeps"]) * 128
    assert summary["accepted_moves"] == pytest.approx(
        summary["acceptance"] * summary["trial_moves"]
    )
    assert summary["debye_length_angstrom"] == pytest.approx(28.53)
    assert -1 < summary["energy_per_ion_kT"] < 0
    assert re.fullmatch("[0-9a-f]{16}", summary["state_hash"])
    assert summary["max_overlap"] == 0


def test_energies_and_pair_correlations_are_written(finished):
    energies = np.loadtxt(finished / "energy.csv", delimiter=",", skiprows=1)
    assert energies.shape == (60, 3)
    assert energies[:, 1].tolist() == list(range(21, 81))
    assert energies[:, 2].mean() == pytest.approx(summary_of(finished)["energy_per_ion_kT"])
    g = np.genfromtxt(finished / "g.csv", delimiter=",", names=True)
    assert (g["pairs_01"][g["r_angstrom"] < 7.4] == 0).all()
    assert g["g_01"][(g["r_angstrom"] > 7.5) & (g["r_angstrom"] < 12)].mean() > 1
    pytest.importorskip("matplotlib")
    for name in ("g.png", "energy.png", "autocorrelation.png"):
        assert (finished / name).read_bytes().startswith(b"\x89PNG")


def test_structure_factors_are_those_of_the_engine(tmp_path):
    """Of replicas they are the average; the second moment is near 1 with Ewald's energy."""
    options = ["--ions", 64, "--valences", 1, -1, "--concentration", 0.1, "--diameter", 4.25]
    options += ["--geometry", "periodic", "--boundary", "ewald", "--structure-factors", "--quiet"]
    options += ["--sweeps", 400, "--equilibrate", 100, "--sample-every", 2, "--device", "cpu"]
    assert electrolyte(*options, "--replicas", 2, "--output", tmp_path) == 0
    name = tmp_path / "structure_factors.csv"
    found = np.genfromtxt(name, delimiter=",", names=True)
    summary = summary_of(tmp_path)
    runs = []
    for seed in (1, 2):
        ions = Electrolyte.random(
            Salt.of(64, (1, -1), (4.25, 4.25)), box=summary["box_angstrom"], boundary="ewald",
            bjerrum_length=7.117, seed=seed, device="cpu",
        )  # fmt: skip
        ions.run(100)
        ions.sample_structure_factors(2)
        ions.run(400)
        runs.append(ions.structure_factors)
    expected = np.mean([r.charge for r in runs], axis=0)
    np.testing.assert_allclose(found["S_ZZ"], expected, rtol=1e-5)
    np.testing.assert_allclose(found["k_per_angstrom"], runs[0].k)
    moment = summary["second_moment"]
    k2 = (found["k_per_angstrom"][0] * summary["debye_length_angstrom"]) ** 2
    assert moment["value"] == pytest.approx(k2 / expected[0], rel=1e-5)
    assert 0 < moment["error"] < 0.3 * moment["value"]


def test_concentration_and_debye_length_say_the_same(tmp_path):
    """1 mmol/l of a 1:1 salt in water at 300 K: kappa^2 = 8 pi l_B N_A c."""
    options = ["--ions", 64, "--valences", 1, -1, "--sweeps", 1, "--equilibrate", 0]
    options += ["--device", "cpu", "--quiet", "--geometry", "periodic", "--output", tmp_path]
    assert electrolyte(*options, "--concentration", 1e-3) == 0
    expected = (8 * np.pi * 7.117 * 6.02214076e-7) ** -0.5
    assert summary_of(tmp_path)["debye_length_angstrom"] == pytest.approx(expected)


def test_replicas_have_seeds_of_their_own_and_are_pooled(tmp_path):
    assert electrolyte(*SMALL, "--replicas", 3, "--output", tmp_path) == 0
    summary = summary_of(tmp_path)
    assert [r["seed"] for r in summary["replicas"]] == [1, 2, 3]
    assert len({r["state_hash"] for r in summary["replicas"]}) == 3
    mean = np.mean([r["energy_per_ion_kT"] for r in summary["replicas"]])
    assert summary["energy_per_ion_kT"] == pytest.approx(mean)


@pytest.mark.thorough
def test_two_processes_make_the_replicas_of_one(mpiexec, tmp_path):
    """One replica per rank; the pooled results are those of the same replicas in one process."""
    command = [*COMMAND, "electrolyte", *map(str, SMALL)]
    command += ["--threads", "1", "--precision", "double"]

    def run(folder, *prefix_and_options, launcher=()):
        arguments = [*launcher, *command, *prefix_and_options, "--output", tmp_path / folder]
        return processes.run(arguments, timeout=120)

    both = run("ranks", launcher=mpiexec)
    if "but mpi4py sees one" in both.stderr:
        pytest.skip("mpiexec and mpi4py are of different MPIs")
    assert both.returncode == 0, both.stderr
    assert run("one", "--replicas", "2").returncode == 0
    ranks, one = summary_of(tmp_path / "ranks"), summary_of(tmp_path / "one")
    assert (ranks["ranks"], one["ranks"]) == (2, 1)
    for key in ("state_hash", "replicas", "energy_per_ion_kT", "energy_per_ion_error_kT"):
        assert ranks[key] == one[key]
    for name in ("g.csv", "energy.csv"):
        assert (tmp_path / "ranks" / name).read_text() == (tmp_path / "one" / name).read_text()

    # An error on one rank ends both, with one line.
    (tmp_path / "ranks" / "checkpoint-1.state").unlink()
    broken = run("ranks", "--resume", launcher=mpiexec)
    assert broken.returncode == 2
    assert "no checkpoint" in broken.stderr and "checkpoint-1.state" in broken.stderr


def test_ranks_do_not_share_chains_over_several_gpus(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(world.World, "connect", lambda: world.World(size=2))
    assert electrolyte(*SMALL, "--device", "cuda:0,1", "--output", tmp_path) == 2
    assert "is for one process, but there are 2 ranks" in capsys.readouterr().err


def test_autocorrelation_time_is_that_of_equation_10():
    """T_c = 1/2 + sum C_k, half of pymbar's g; of a series with C_k = 2^-k it is 3/2."""
    from pymbar.timeseries import statistical_inefficiency

    random, series = np.random.default_rng(1), np.empty(100_000)
    series[0] = 0.0
    for k in range(1, series.size):
        series[k] = series[k - 1] / 2 + random.normal()
    found, missing = job._autocorrelation([series])
    assert missing is None
    assert found == pytest.approx(statistical_inefficiency(series) / 2, rel=0.01)
    assert found == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--diameter", 7, "--diameters"),
        ("--sample-every", 7, "--sample-every"),
        ("--bin-width", 1.5, "--bin-width"),
        ("--margin", 1.5, "--margin"),
        ("--equilibrate", 45, "has --equilibrate 20, not 45"),
        ("--sweeps", 7, "--sweeps is 7, but the run in"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(finished, capsys, option, value, message):
    assert electrolyte(*SMALL, "--output", finished, "--resume", option, value) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("size", ["--ions 256 --sweeps 30", "--ions 16 --sweeps 2"])
def test_a_run_too_short_for_its_fit_prints_no_warnings(size, tmp_path):
    """Its bins are empty: the fit fails with a message, or its numbers are NaN."""
    words = f"electrolyte {size} --equilibrate 1 --device cpu --threads 1 --output {tmp_path}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cli.run(words.split()) == 0


def test_numbers_whose_errors_are_larger_are_not_printed():
    dressed = {
        "debye_length": 8.0, "debye_length_error": 0.5,
        "pole_debye_length": None,
        "valences": [[487.0, 3.1], [float("nan"), 1.05]],
        "valence_errors": [[863.0, 0.2], [float("nan"), None]],
        "screening_ratio": 1.2, "screening_ratio_error": 0.1,
        "charge_ratio": 1.1, "charge_ratio_error": 2.0,
    }  # fmt: skip
    rows = dict(job._dressed_rows({"renormalized": dressed, "valences": [3, -1]}))
    assert rows["Debye length"] == "8.0(5) A"
    assert rows["valence +3"].startswith("not determined (error 8.6e+02) and 3.1(2)")
    assert rows["valence -1"].startswith("not determined (error nan) and 1.05")
    assert rows["Eq. 8"] == "1.2(1) against not determined (error 2)"
