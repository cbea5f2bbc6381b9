# SPDX-License-Identifier: BSD-3-Clause
"""Analyses of the scripts in examples/papers/brush, on data whose results are known."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import stat
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from documents import ROOT
from machine import on_gpu

from manymove import Electrolyte, Sphere
from manymove.analysis import hypernetted_chain
from manymove.analysis.ions import Salt

FOLDER = ROOT / "examples/papers/brush"
if not FOLDER.exists():
    pytest.skip("there is no example", allow_module_level=True)
pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def figures() -> Iterator[Any]:
    """Imports a script of the folder by its name."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module
    sys.path.remove(str(FOLDER))
    for name in set(sys.modules) - before:  # other folders have modules of the same names
        if str(FOLDER) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


R = np.arange(1, 301, 2.0)


@pytest.mark.parametrize("line", ["around +3", "around -1", "both"])
def test_lines_have_the_slope_of_exponentials(figures, line):
    """Around +3 the charge is negative. Bins of the other sign have no logarithm and are left
    out."""
    y = np.exp(-R / 26.0) * np.array([[-3.0], [0.7]])
    noise = np.full_like(y, 1e-6)
    y[:, 60] *= -1
    found = figures("debye_length").slope(R, y, noise, 40, 150, line)
    assert found == pytest.approx(26.0, rel=1e-9)


def test_both_lines_have_the_weighted_slope(figures):
    y = np.array([-np.exp(-R / 30.0), np.exp(-R / 24.0)])
    debye_length = figures("debye_length")

    def common(noise: np.ndarray) -> float:
        return debye_length.slope(R, y, noise, 40, 150, "both")

    equal = common(np.abs(y))
    assert 1 / equal == pytest.approx((1 / 30 + 1 / 24) / 2, rel=1e-9)
    assert common(np.abs(y) * np.array([[1.0], [1e4]])) == pytest.approx(30, rel=1e-6)


def test_errors_of_lines_are_those_of_their_noise(figures):
    """The jackknife of samples with independent noise, against the spread of many repetitions."""
    debye_length = figures("debye_length")
    random = np.random.default_rng(1)
    truth = np.exp(-R / 26.0) * np.array([[-1.0], [1.0]])
    noise = np.full_like(truth, 1e-3)

    def estimate(y: np.ndarray) -> float:
        return debye_length.slope(R, y, noise, 40, 120, "around -1")

    values, errors = [], []
    for _ in range(200):
        samples = [truth + 1e-3 * random.normal(size=truth.shape) for _ in range(20)]
        values.append(estimate(np.mean(samples, axis=0)))
        errors.append(debye_length.jackknife(estimate, samples))
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.2)
    assert debye_length.jackknife(estimate, samples[:3]) is None


def test_the_line_around_the_negative_ion_has_the_published_slope(figures):
    """Without noise: the hypernetted-chain equation of the paper's salt has a longer Debye length
    than any line around -1, and a shorter one than any around +3."""
    debye_length, trivalent = figures("debye_length"), figures("trivalent")
    density = Salt.of(4000, (3, -1), (7.5, 7.5)).density(28.53, 7.117)
    theory = hypernetted_chain((density / 4, 3 * density / 4), (3, -1), 7.5, 7.117)
    h = np.array([np.interp(R, theory.r, row) for row in theory.h])
    lines = debye_length.Lines(
        R, 1 + h, np.array([density / 4, 3 * density / 4]), [], normalize=False,
        g_errors=1 / R * np.ones((3, 1)),
    )  # fmt: skip
    right = theory.screening().debye_length
    for begin, end in debye_length.RANGES:
        assert lines.fit(begin, end, "around -1")[0] < right
        assert lines.fit(begin, end, "around +3")[0] > right
        assert lines.fit(begin, end, "both")[0] == lines.fit_theory(theory, begin, end, "both")
    published = trivalent.PAPER["debye_length"]
    assert lines.fit(50, 120, "around -1")[0] == pytest.approx(published, abs=0.08)


def test_the_correlation_time_is_that_of_an_autoregressive_series(figures):
    """C_n = a^n has T_c = 1/2 + a / (1 - a)."""
    figure_1, figure_11 = figures("figure_1"), figures("figure_11")
    random, a = np.random.default_rng(2), 0.6
    series = np.zeros((32, 4000))
    for n in range(1, 4000):
        series[:, n] = a * series[:, n - 1] + random.normal(size=32)
    curves = figure_1.curves_of(series[:, 100:])
    time, error = figure_1.times_of(curves)
    assert curves.mean(axis=0)[:4] == pytest.approx(a ** np.arange(4.0), abs=0.02)
    assert abs(time - 2) < 4 * error and error < 0.1
    found = figure_11.described(series[:, 100:])
    assert found["single_mean"] == pytest.approx(2, abs=0.1)
    # The errors of one chain and of all differ by the root of their number, roughly.
    assert found["single_deviation"] == pytest.approx(error * math.sqrt(32), rel=0.4)


def test_speeds_are_ratios_to_a_core_whose_time_grows_with_n_squared(figures):
    def row(method: str, device: str, ions: int, seconds: float, eta: int = 1) -> dict[str, Any]:
        return {"method": method, "precision": "double", "device": device, "ions": ions,
                "threads_per_particle": eta, "seconds_per_sweep": seconds}  # fmt: skip

    results = [row("serial", "cpu", 8192, 2.0), row("serial", "cpu", 16384, 8.4)]
    results += [row("brush", "cuda:0", 8192, 0.01, 16), row("brush", "cuda:0", 8192, 0.02, 1)]
    results += [row("brush", "cuda:0", 1048576, 3.0, 4), row("brush", "cuda:0", 1048576, 4.0, 1)]
    results += [row("paper's kernel", "cuda:0", 1048576, 5.0, 1)]
    found = {(one["name"], one["ions"]): one for one in figures("figure_9").speeds(results)}
    assert found["brush", 8192]["speed"] == pytest.approx(200)
    assert found["brush, eta 1", 8192]["speed"] == pytest.approx(100)
    assert found["brush", 1048576]["speed"] == pytest.approx(8.4 * 64**2 / 3)
    rows = figures("figure_9").rows([*found.values()])
    assert [r["ours"][0] for r in rows if r["published"] == (440.0, None) or
            r["published"] == [440.0, None]] == [pytest.approx(8.4 * 64**2 / 5)]  # fmt: skip
    table = figures("table_1").table(results)
    assert [(one["method"], one["ions"], one["best"]) for one in table] == [
        ("paper's kernel", 1048576, 1), ("brush", 8192, 16), ("brush", 1048576, 4),
    ]  # fmt: skip


def test_counters_are_read_from_the_output_of_ncu(figures, tmp_path, monkeypatch):
    """A program of this name that prints what ncu does: a row of names, one of units, and a row for
    each kernel, between messages."""
    figure_10 = figures("figure_10")
    names = ["ID", "Kernel Name", *figure_10.METRICS]
    kernels = [[str(k), "brush_kernel", "1,000,000", *["4"] * (len(names) - 3)] for k in (0, 1)]
    rows = [names, ["", "", "ns", *[""] * (len(names) - 3)], *kernels]
    text = "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)
    program = tmp_path / "ncu"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n==PROF== Connected\n{text}\nEND\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    options = argparse.Namespace(ions=4, seed=1, device="cuda", output=tmp_path)
    found = figure_10.counters("brush", "double", options)
    assert found["gpu__time_duration.sum"] == pytest.approx(1e-3)
    result = figure_10.described(found, terms=64.0)
    assert result["bytes read from L2 per pair"] == 2.0
    assert result["float64 operations per second (Tflop/s)"] == pytest.approx(16e3 * 1e-12)
    program.write_text("#!/bin/sh\necho '==ERROR== no permission'\nexit 1\n")
    with pytest.raises(RuntimeError, match="ncu failed: ==ERROR== no permission"):
        figure_10.counters("brush", "double", options)


@on_gpu
def test_the_papers_kernel_makes_the_chain_of_the_product(figures, tmp_path):
    """Its sums of doubles depend on their order, which decides in one trial of very many. A dense
    salt has overlaps within and between the groups."""
    literal = figures("literal")
    function = literal.compiled(str(tmp_path))
    if function is None:
        pytest.skip("nvcc is not installed")
    for ions, radius in ((4096, 598.0), (2048, 90.0)):
        product = Electrolyte.random(
            Salt.of(ions, (3, -1), (7.5, 7.5)), box=Sphere(radius), precision="double", seed=1,
            device="cuda",
        )  # fmt: skip
        chains = [literal.LiteralBrush(product, eta, function) for eta in literal.ETAS]
        before = product.accepted_moves
        product.run(5)
        for chain in chains:
            chain.run(2)
            chain.run(3)
            assert chain.share_at(product) > 0.999
            accepted = product.accepted_moves - before
            assert chain.accepted_moves == pytest.approx(accepted, rel=1e-3)
    bad = literal.LiteralBrush(product, 1, function)
    bad.setup.ions = 1000
    with pytest.raises(RuntimeError, match="must be a multiple of 1,024"):
        bad.run(1)
