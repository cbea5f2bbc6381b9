# SPDX-License-Identifier: BSD-3-Clause
"""Structure factors of charge and number, and the second moment condition that screening makes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from electrolytes import trivalent

from manymove import Electrolyte
from manymove.analysis.ions import AVOGADRO_PER_LITER, Salt

BJERRUM = 7.136


def by_definition(ions: Electrolyte, k_max: float) -> dict[str, np.ndarray]:
    """Structure factors of one configuration, wave vector by wave vector."""
    valence = np.array([s.valence for s in ions.species])[ions.types]
    most = [math.floor(k_max * edge / (2 * math.pi)) for edge in ions.box]
    found: dict[float, list[tuple[float, float, float]]] = {}
    for n in itertools.product(*(range(-m, m + 1) for m in most)):
        k = 2 * math.pi * np.array(n) / ions.box
        if 0 < np.linalg.norm(k) <= k_max:
            phase = np.exp(1j * ions.positions @ k)
            charge, number = (valence * phase).sum(), phase.sum()
            squares, own = (valence**2).sum(), ions.N
            cross = (number * charge.conj()).real / math.sqrt(squares * own)
            one = abs(charge) ** 2 / squares, abs(number) ** 2 / own, cross
            found.setdefault(round(float(np.linalg.norm(k)), 10), []).append(one)
    means = np.array([np.mean(found[k], axis=0) for k in sorted(found)])
    return {
        "k": np.array(sorted(found)),
        "vectors": np.array([len(found[k]) // 2 for k in sorted(found)]),
        "charge": means[:, 0],
        "number": means[:, 1],
        "cross": means[:, 2],
    }


def salt_in(box: tuple[float, float, float], **options) -> Electrolyte:
    salt = Salt.of(60, (2, -1), (4.0, 4.0))
    return Electrolyte.random(salt, box=box, seed=8, device="cpu", threads=1, **options)


@pytest.mark.parametrize("box", [(40.0, 40.0, 40.0), (40.0, 30.0, 50.0)])
def test_a_sample_is_the_definition(box):
    ions = salt_in(box)
    ions.sample_structure_factors(1, k_max=0.6)
    ions.run(1)
    found = ions.structure_factors
    for name, values in by_definition(ions, 0.6).items():
        assert getattr(found, name) == pytest.approx(values, rel=1e-9, abs=1e-10), name


def test_samples_are_averaged_and_kept_in_blocks():
    ions, alone = salt_in((40.0, 30.0, 50.0)), []
    ions.sample_structure_factors(2)
    for _ in range(130):
        ions.run(2)
        alone.append(by_definition(ions, 16 * math.pi / 50.0 * 0.3)["charge"])
    found = ions.structure_factors
    some = len(alone[0])
    assert found.charge[:some] == pytest.approx(np.mean(alone, axis=0), rel=1e-9)
    assert found.k[-1] == pytest.approx(16 * math.pi / 50.0, rel=0.05)
    assert found.blocks.shape == (32, 3, found.k.size)  # 128 samples in blocks of four
    assert found.blocks[0, 0, :some] == pytest.approx(np.mean(alone[:4], axis=0), rel=1e-9)


def test_checkpoints_continue_the_averages(tmp_path):
    ions = salt_in((40.0, 30.0, 50.0))
    ions.sample_structure_factors(2)
    ions.sample_pair_correlations(3)
    ions.run(9)
    ions.save(tmp_path / "state")
    again = Electrolyte.load(tmp_path / "state", device="cpu", threads=1)
    for one in (ions, again):
        one.run(7)
    assert np.array_equal(again.structure_factors.charge, ions.structure_factors.charge)
    assert np.array_equal(again.pair_correlations.counts, ions.pair_correlations.counts)


def intercept(ions: Electrolyte, sweeps: int) -> tuple[float, float]:
    """k^2 / (kappa^2 S_ZZ) continued to k = 0 by a straight line in k^2, and its standard error."""
    ions.run(sweeps // 10)
    ions.sample_structure_factors(2)
    ions.run(sweeps)
    found, shells = ions.structure_factors, slice(6)
    x = (found.k[shells] * ions.debye_length) ** 2

    def continued(charge: np.ndarray) -> float:
        return np.polyfit(x, x / charge[shells], 1, w=np.sqrt(found.vectors[shells]) / x)[1]

    sums, blocks = found.blocks[:, 0].sum(axis=0), len(found.blocks)
    left_out = [continued((sums - block) / (blocks - 1)) for block in found.blocks[:, 0]]
    return continued(sums / blocks), math.sqrt((blocks - 1) * np.var(left_out))


def test_the_second_moment_condition_holds_with_ewalds_energy(device):
    """F. H. Stillinger, R. Lovett, J. Chem. Phys. 49, 1991 (1968): S_ZZ = k^2 / kappa^2 for small
    k. Nearest images violate it. False-alarm rate 1e-5."""
    salt = Salt.of(128, (1, -1), (4.25, 4.25))
    edge = (128 / (2 * 0.1 * AVOGADRO_PER_LITER)) ** (1 / 3)  # 0.1 mol/l
    found = {}
    for boundary in ("ewald", "nearest_image"):
        ions = Electrolyte.random(
            salt,
            box=3 * (edge,),
            boundary=boundary,
            bjerrum_length=BJERRUM,
            seed=2,
            device=device,
            threads=1,
        )
        found[boundary] = intercept(ions, 3000)
    value, error = found["ewald"]
    assert error < 0.03
    assert abs(value - 1) < 4.5 * error
    value, error = found["nearest_image"]
    assert abs(value - 1) > 4.5 * error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "every must be"),
        ({"every": 1, "k_max": 0.0}, "k_max must be"),
        ({"every": 1, "k_max": 0.1}, "k_max must be at least 2 pi / 50"),
        ({"every": 1, "k_max": 40.0}, "k_max 40 has about .* wave vectors, more than"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        salt_in((40.0, 30.0, 50.0)).sample_structure_factors(**options)


def test_there_are_no_structure_factors_without_a_box_or_samples():
    with pytest.raises(ValueError, match="structure factors need a periodic box"):
        trivalent(64, device="cpu").sample_structure_factors(1)
    ions = salt_in((40.0, 30.0, 50.0))
    with pytest.raises(RuntimeError, match="nothing sampled"):
        _ = ions.structure_factors
    ions.sample_structure_factors(1)
    with pytest.raises(RuntimeError, match="no structure factor is sampled yet"):
        _ = ions.structure_factors
    ions.sample_structure_factors(None)
    with pytest.raises(RuntimeError, match="nothing sampled"):
        _ = ions.structure_factors
