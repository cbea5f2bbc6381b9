"""`manymove info` describes the installation without starting anything."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from manymove import info


@pytest.fixture
def hoomd_on_path(tmp_path, monkeypatch):
    """A HOOMD-blue that must not be imported, without package metadata, with our component."""
    package = tmp_path / "hoomd"
    (package / "manymove").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "include").mkdir()
    (package / "include" / "HOOMDVersion.h").write_text(
        '#pragma once\n// Full text HOOMD version string\n#define HOOMD_VERSION "9.8.7"\n'
    )
    (package / "manymove" / "version_config.py").write_text(
        'version = "0.1.0"\nbuilt_for = "9.8.7"\n'
    )
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
    assert bool(collected["cuda"]["why_none"]) != bool(collected["cuda"]["devices"])
    assert collected["cpu"]["simd_level"] in collected["build"]["simd"]


def test_a_build_for_a_lesser_cpu_is_told():
    collected = info.collect()
    collected["cpu"]["best_simd_level"] = collected["build"]["simd"][-1]
    assert "install manymove again" not in info.format(collected)
    collected["cpu"]["best_simd_level"] = "avx1024"
    assert "; this CPU also runs avx1024, which is faster" in info.format(collected)


def test_hoomd_is_found_without_importing_it(hoomd_on_path):
    collected = info.collect()
    assert collected["hoomd"] == {"version": "9.8.7", "path": str(hoomd_on_path)}
    component = str(hoomd_on_path / "manymove")
    assert collected["plugins"]["hoomd"] == {
        "version": "0.1.0",
        "built_for": "9.8.7",
        "path": component,
    }
    assert f"hoomd.manymove 0.1.0 for HOOMD-blue 9.8.7 in {component}\n" in info.format(collected)
    assert "hoomd" not in sys.modules


def test_a_component_for_another_hoomd_is_told(hoomd_on_path):
    header = hoomd_on_path / "include" / "HOOMDVersion.h"
    header.write_text('#define HOOMD_VERSION "9.9.0"\n')
    assert "(build it again: this is HOOMD-blue 9.9.0)" in info.format(info.collect())


def test_a_hoomd_without_the_component_is_told(hoomd_on_path):
    shutil.rmtree(hoomd_on_path / "manymove")
    collected = info.collect()
    assert collected["plugins"]["hoomd"] is None
    assert re.search("HOOMD plugin +not built", info.format(collected))


def test_a_hoomd_that_does_not_say_its_version_is_found(hoomd_on_path):
    (hoomd_on_path / "include" / "HOOMDVersion.h").unlink()
    (hoomd_on_path / "manymove" / "version_config.py").unlink()
    text = info.format(info.collect())
    assert f"unknown version in {hoomd_on_path}" in text
    assert "hoomd.manymove of unknown version for HOOMD-blue of unknown version" in text


def test_an_lmp_on_the_path_and_its_plugin_are_found(lammps_on_path):
    collected = info.collect()
    assert collected["lmp"] == {"version": "4 Jul 2026", "path": str(lammps_on_path)}
    assert collected["plugins"]["lammps"] == str(lammps_on_path.parent / info.LAMMPS_PLUGIN)


def test_absent_plugins_are_named():
    collected = info.collect()
    collected["plugins"] = {"hoomd": None, "lammps": None}
    assert re.search("HOOMD plugin +not built\nLAMMPS package", info.format(collected))
    assert info.format(collected).endswith("not installed")


def test_python_m_manymove_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "manymove", "info"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("manymove")
    done = subprocess.run(
        [sys.executable, "-m", "manymove", "no-such-command"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "no-such-command" in done.stderr
