# SPDX-License-Identifier: BSD-3-Clause
"""The command `manymove`."""

from manymove.cli.commands import app, main, run

__all__ = ["app", "main", "run"]
