"""`manymove info` describes the installation without starting anything."""

import json
import sys

import pytest

from manymove import info


@pytest.fixture
def hoomd_on_path(tmp_path, monkeypatch):
    """A HOOMD-blue that must not be imported, without package metadata, with our component."""
    package = tmp_path / "hoomd"
    (package / "manymove").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "version.py").write_text('from hoomd import _hoomd\n\nversion = "9.8.7"\n')
    monkeypatch.delitem(sys.modules, "hoomd", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return package


@pytest.fixture
def lammps_on_path(tmp_path, monkeypatch):
    """An `lmp` on the PATH that prints what LAMMPS prints first, and our plugin."""
    lmp = tmp_path / "lmp"
    lmp.write_text(
        "#!/bin/sh\n"
        "echo\n"
        "echo 'Large-scale Atomic/Molecular Massively Parallel Simulator - 4 Jul 2026'\n"
    )
    lmp.chmod(0o755)
    (tmp_path / info.LAMMPS_PLUGIN).touch()
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("LAMMPS_PLUGIN_PATH", str(tmp_path))
    return lmp


def test_what_is_collected_can_be_stored_and_shown():
    collected = info.collect()
    assert json.loads(json.dumps(collected))["version"] == collected["version"]
    assert collected["version"] in info.format(collected)
    assert "baseline" in collected["build"]["simd"]
    assert collected["cpu"]["simd_level"] in collected["build"]["simd"]


def test_hoomd_is_found_without_importing_it(hoomd_on_path):
    collected = info.collect()
    assert collected["hoomd"] == {"version": "9.8.7", "path": str(hoomd_on_path)}
    assert collected["plugins"]["hoomd"] == str(hoomd_on_path / "manymove")
    assert "hoomd" not in sys.modules


def test_an_lmp_on_the_path_and_its_plugin_are_found(lammps_on_path):
    collected = info.collect()
    assert collected["lmp"] == {"version": "4 Jul 2026", "path": str(lammps_on_path)}
    assert collected["plugins"]["lammps"] == str(lammps_on_path.parent / info.LAMMPS_PLUGIN)


def test_absent_plugins_are_called_not_built():
    collected = info.collect()
    collected["plugins"] = {"hoomd": None, "lammps": None}
    assert info.format(collected).count("not built") == 2
