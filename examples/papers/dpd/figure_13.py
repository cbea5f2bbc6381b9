# SPDX-License-Identifier: BSD-3-Clause
"""Strong scaling of DPD: Figure 13 of Y.-H. Tang and G. E. Karniadakis, Comput. Phys. Commun. 185,
2809 (2014).

    python figure_13.py --device cuda --ranks 1 2 4

The size is the paper's: 2,000,000 particles in total.
"""

from __future__ import annotations

from scaling import options_of, run

from manymove import script

SIZES = dict.fromkeys((3.0, 6.0, 50.0), 2_000_000)


def main() -> None:
    quick = {
        "densities": [3.0], "cutoffs": [1.0], "sizes": [3000], "ranks": [1, 2], "device": "cpu",
        "seconds": 0.01,
    }  # fmt: skip
    options = options_of("figure_13", __doc__, "Particles in total", quick)
    run(options, "strong", SIZES)


if __name__ == "__main__":
    script.run_script(main)
