# SPDX-License-Identifier: BSD-3-Clause
"""The command `manymove`."""

import sys

if sys.flags.optimize > 1:
    print(
        "manymove: error: the options are described by docstrings, which -OO and "
        "PYTHONOPTIMIZE=2 discard: use -O",
        file=sys.stderr,
    )
    sys.exit(2)

from manymove.cli.commands import app, main, run

__all__ = ["app", "main", "run"]
