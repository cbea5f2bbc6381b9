# SPDX-License-Identifier: BSD-3-Clause
"""Strong scaling of DPD: Figure 13 of Y.-H. Tang and G. E. Karniadakis, Comput. Phys. Commun. 185,
2809 (2014).

    python figure_13.py --device cuda --ranks 1 2 4
    python figure_13.py --device cuda --ranks 1 2 4 --densities 3 6

The size is the paper's: 2,000,000 particles in total.
If there are fewer GPUs than ranks, ranks share GPUs, and the rows name them so: "4 ranks that share
1 GPU". Their efficiency is the speed relative to that of one rank, and not a scaling over GPUs.
"""

from __future__ import annotations

from scaling import options_of, run

from manymove import script

SIZES = dict.fromkeys((3.0, 6.0, 50.0), 2_000_000)


def main() -> None:
    options = options_of("figure_13", __doc__, "Particles in total", 3000)
    run(options, "strong", SIZES)


if __name__ == "__main__":
    script.run_script(main)
