# SPDX-License-Identifier: GPL-2.0-or-later
"""The plugin of manymove for LAMMPS. Scripts load it with `manymove.lammps.load`."""

from __future__ import annotations

from pathlib import Path

# Version and digest of the headers of the core that the plugin was compiled for, and the LAMMPS.
from manymove_lammps.built_for import CORE, LAMMPS

__all__ = ["CORE", "LAMMPS", "plugin_directory"]


def plugin_directory() -> str:
    """The directory of the plugin, which `lmp` adds to `LAMMPS_PLUGIN_PATH`."""
    return str(Path(__file__).parent / "plugin")
