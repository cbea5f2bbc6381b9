"""Random input scripts at zero temperature against LAMMPS' own styles. `make test` runs a sample,
and `make test-rest` the others of the 200."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from dpd_decks import POTENTIALS, TERMS, RandomDeck
from dpd_scripts import END, assert_close, assert_stays, pick, resident
from lammps_host import THERMO, needs_lammps, run_lammps
from laws import another

pytestmark = needs_lammps

ALL, SAMPLE = 200, 12
STEPS = 4


@pytest.mark.parametrize("seed", [k if k < SAMPLE else another(k) for k in range(ALL)])
def test_a_random_deck_is_that_of_lammps(seed, device, tmp_path):
    deck = RandomDeck(seed, tmp_path)
    end = THERMO.replace("press", "press ecoul ebond eangle edihed eimp")
    end += f"thermo 2\nrun {STEPS}\n{END}"
    host = run_lammps(deck.script(ours=False) + end, tmp_path, deck.ranks)
    ours = run_lammps(deck.script(ours=True) + resident(device) + end, tmp_path, deck.ranks)
    assert_stays(ours)
    # Where the planes of an improper or of LAMMPS' opls nearly coincide, the force is a difference
    # that loses digits, or has the arc cosine of a number near 1: on few particles.
    loses_digits = {"improper harmonic", "dihedral opls"} & set(deck.words)
    tolerance = 5e-8 if loses_digits else 2e-12
    for names in (("xu", "yu", "zu"), ("vx", "vy", "vz"), ("fx", "fy", "fz")):
        a, b = pick(ours, *names), pick(host, *names)
        assert_close(a, b, tolerance)
        of_particles = np.abs(a - b).max(axis=1) / np.abs(b).max()
        assert np.quantile(of_particles, 0.95) < 2e-12
    table, expected = ours.thermo(), host.thermo()
    scale = max(np.abs(values).max() for name, values in expected.items() if name != "Step")
    for name, values in expected.items():
        assert table[name] == pytest.approx(values, rel=tolerance, abs=tolerance * scale), name


def test_the_decks_have_all_words(tmp_path):
    words = Counter(word for seed in range(ALL) for word in set(RandomDeck(seed, tmp_path).words))
    expected = {"dpd", "hybrid", "hybrid/overlay", "dpd/tstat", *POTENTIALS}
    for kind, styles in TERMS.items():
        expected |= {f"{kind} {style}" for style in (*styles, "hybrid", "zero")}
    expected |= {
        "coul/cut",
        "coul/debye",
        "viscous",
        "langevin",
        "addforce",
        "setforce",
        "move",
        "walls",
    }
    expected |= {"indent", "wall/lj93", "npt", "nph", "press/berendsen"}
    assert set(words) == expected
    assert min(words.values()) > 10
