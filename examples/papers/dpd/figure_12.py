# SPDX-License-Identifier: BSD-3-Clause
"""Weak scaling of DPD: Figure 12 of Y.-H. Tang and G. E. Karniadakis, Comput. Phys. Commun. 185,
2809 (2014).

    python figure_12.py --device cuda --ranks 1 2 4
    python figure_12.py --device cuda --ranks 1 2 4 --densities 3 6

The sizes are the paper's: 1,000,000 particles per rank, and 128,000 at density 50. (The text of
section 4.4 has a density of 5 where the benchmark of one node and Figure 13 have 6.)
If there are fewer GPUs than ranks, ranks share GPUs, and the rows name them so: "4 ranks that share
1 GPU". Their efficiency is the speed relative to that of one rank, and not a scaling over GPUs.
"""

from __future__ import annotations

from scaling import options_of, run

from manymove import script

SIZES = {3.0: 1_000_000, 6.0: 1_000_000, 50.0: 128_000}


def main() -> None:
    options = options_of("figure_12", __doc__, "Particles of a rank", 1500)
    run(options, "weak", SIZES)


if __name__ == "__main__":
    script.run_script(main)
