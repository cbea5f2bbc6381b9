# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts in examples/papers/wrmc calculate from the results of their runs."""

from __future__ import annotations

import numpy as np
import pytest
from documents import ROOT
from programs_of_papers import module_of

FOLDER = ROOT / "examples/papers/wrmc"
if not FOLDER.is_dir():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)
pytest.importorskip("matplotlib")


def test_b_star_of_a_chain_with_exponential_correlations():
    """With correlations rho^t, half the mean squared change of a step is 1 - rho times the
    variance, so that b* is 1 / (1 - rho)."""
    rng, rho, systems, steps = np.random.default_rng(1), 0.9, 32, 20000
    energy = np.empty((steps, systems))
    energy[0] = rng.normal(size=systems)
    noise = np.sqrt(1 - rho**2) * rng.normal(size=(steps, systems))
    for k in range(1, steps):
        energy[k] = rho * energy[k - 1] + noise[k]
    jumps = 0.5 * np.diff(energy, axis=0) ** 2
    means = np.array([energy.mean(axis=0), (energy**2).mean(axis=0), jumps.mean(axis=0)])
    value, error = module_of(FOLDER / "table_1.py").of_sums(means)
    assert value == pytest.approx(10, abs=4 * error) and 0 < error < 0.2


def test_rows_of_a_profile():
    """P of 100 bins is 1e-5 at both windows: 1e-5 / 0.24555 per angstrom."""
    figure = module_of(FOLDER / "figure_9.py")
    p = np.full(100, (1 - 4e-5) / 96)
    p[[0, 49, 50, 99]] = 1e-5
    runs = [
        {"method": method, "proposals": proposals, "max_displacement": 0.65, "systems": 112,
         "steps": steps, "probability": p.tolist(), "error": (share * p).tolist()}
        for method, proposals, steps, share in (("plj", None, 51_200_000, 0.02),
                                                ("mdp", 32, 10_000_000, 0.005))
    ]  # fmt: skip
    figure.add_barrier(runs)
    rows = {row["quantity"]: row for row in figure.rows(runs)}
    barrier = rows["barrier of plj (kT)"]["ours"]
    assert barrier == pytest.approx([np.log(p[1] / 1e-5), 0.02 / np.sqrt(2)])
    density = 1e-5 / 0.24555
    assert rows["density at z*, P(z*) / width (1e-5/Å)"]["ours"][0] == pytest.approx(1e5 * density)
    width = rows["width of a bin with P(z*) = 2.41e-4 if P sums to 1 (Å)"]["ours"][0]
    assert width * density == pytest.approx(2.41e-4)
    bins = rows["number of bins with P(z*) = 2.41e-4 if P sums to 32, the molecules"]["ours"][0]
    assert 32 * density * 24.555 / bins == pytest.approx(2.41e-4)
    # As many steps as in the paper: the relative errors stay, in per cent.
    scaled = [row for name, row in rows.items() if name.startswith("relative error of P(z*)")]
    assert [row["ours"][0] for row in scaled] == pytest.approx([2.0, 0.5])
    gain = rows["Figure 10: relative error at z* of plj / mdp 32, 0.65 Å, equal time"]["ours"][0]
    assert gain == pytest.approx(4.0)


def test_frameworks_have_the_atoms_of_the_space_group():
    script = module_of(FOLDER / "table_2_framework.py")
    frameworks = script.frameworks()
    assert {len(f.fractional) for f in frameworks.values()} == {192}
    # The coordinates of both sources differ by less than 0.6 angstrom, atom by atom.
    a, b = (np.asarray(frameworks[name].fractional) for name in ("van Koningsveld", "Olson"))
    apart = np.abs((a[:, None] - b[None] + 0.5) % 1 - 0.5) * script.OLSON_CELL
    nearest = np.sqrt((apart**2).sum(axis=-1))
    assert nearest.min(axis=1).max() < 0.6
    assert len(set(nearest.argmin(axis=1))) == 192
