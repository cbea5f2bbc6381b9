# SPDX-License-Identifier: BSD-3-Clause
import sys

from benchmarks.cli import run

sys.exit(run())
