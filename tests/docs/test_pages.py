"""README and documentation: links, commands, snippets, scripts; nothing public is left out."""

from __future__ import annotations

import argparse
import inspect
import re
import shlex
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from commands import SMALL as SMALL_RUNS
from commands import summary_of
from documents import PAGES, ROOT, blocks, commands, module_of, name, section
from lammps_host import needs_lammps, run_lammps

import manymove
from manymove import _core, lammps
from manymove.cli import app, run

if not (ROOT / "docs/index.md").exists():
    pytest.skip("there is no documentation beside the tests", allow_module_level=True)

INSTALLED = metadata("manymove")
# Pages for users; the commands of the others are long, or they are those of the examples.
FOLDERS = [ROOT / "docs", *(ROOT / "docs" / name for name in ("tutorials", "guides", "api"))]
GUIDES = [p for p in PAGES if p.parent in FOLDERS or p == ROOT / "README.md"]


def having(pages: list[Path], what: Any) -> list[Any]:
    return [pytest.param(page, id=name(page)) for page in pages if what(page)]


# ---- commands ------------------------------------------------------------------------------------

COMMAND = re.compile(r"(?:^|\s)manymove ((?!=)[a-z].*)")
BENCHMARK = re.compile(r"(?:^|\s)python -m benchmarks ([a-z].*)")
SCRIPT = re.compile(r"(?:^|\s)python ((?:examples|tests/validation)/\S+\.py.*)")


def arguments(page: Path, command: re.Pattern[str] = COMMAND) -> list[list[str]]:
    """The arguments of each command `manymove`, or of another one, on the page."""
    found = [command.search(line) for line in commands(page) if not line.startswith("cmake")]
    return [shlex.split(match.group(1)) for match in found if match]


def assert_known(
    page: Path, words: list[str], run: Callable[[list[str]], int], capsys: Any
) -> None:
    """The command exists, and has the options that the page names."""
    assert run([words[0], "--help"]) == 0
    known = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
    used = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert used <= known, f"{name(page)}: {words[0]} has no {used - known}"


@pytest.mark.parametrize("page", having(PAGES, arguments))
def test_commands_and_options_exist(page, capsys):
    """Their values are read as well; nothing runs."""
    parsers = typer.main.get_command(app).commands
    for words in arguments(page):
        assert_known(page, words, run, capsys)
        end = next((k for k, word in enumerate(words) if word in ("&&", "|", ">", ";")), None)
        parsers[words[0]].make_context(words[0], words[1:end])


@pytest.mark.parametrize("page", having(PAGES, partial(arguments, command=BENCHMARK)))
def test_benchmarks_and_their_options_exist(page, capsys):
    """Lists of values are read as well; nothing is timed."""
    from benchmarks.cli import app as benchmarks
    from benchmarks.cli import run as bench

    parsers = typer.main.get_command(benchmarks).commands
    for words in arguments(page, BENCHMARK):
        assert_known(page, words, bench, capsys)
        parsers[words[0]].make_context(words[0], words[1:])


class Parsed(Exception):
    """The options of a script have been read."""


@pytest.mark.parametrize("page", having(PAGES, partial(arguments, command=SCRIPT)))
def test_options_of_scripts_are_read(page, monkeypatch, tmp_path):
    """The parser of each script reads the words of the page, and nothing runs."""
    read = argparse.ArgumentParser.parse_args

    def only_read(parser: argparse.ArgumentParser, *given: Any) -> None:
        read(parser, *given)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", only_read)
    for words in arguments(page, SCRIPT):
        script = ROOT / words[0]
        if "import hoomd" in script.read_text() and find_spec("hoomd") is None:
            continue
        monkeypatch.syspath_prepend(script.parent)
        monkeypatch.setattr(sys, "argv", words)
        module = module_of(script, monkeypatch)
        with monkeypatch.context() as folder, pytest.raises(Parsed):
            folder.chdir(tmp_path)
            module.main()


# Options that make a command short: the last one counts.
SHORT = {
    "info": "",
    "disks": "--sweeps 5 --equilibrate 5 --frames 1 --device cpu --threads 1 --quiet",
    "spheres": "--sweeps 5 --equilibrate 5 --frames 1 --device cpu --threads 1 --quiet",
    "dpd": "--particles 3000 --steps 10 --equilibrate 10 --quiet",
    "electrolyte": "--ions 256 --sweeps 20 --equilibrate 1 --device cpu --threads 1 --quiet",
    "adsorption": "--systems 4 --steps 10 --equilibrate 10 --grid-spacing 0.8 --device cpu --quiet",
    "henry": "--insertions 20 --grid-spacing 0.8 --device cpu --quiet",
    "pores": "--insertions 20 --samples 5 --grid-spacing 0.4 --device cpu --quiet",
    "screen": "--systems 10 --steps 10 --equilibrate 10 --insertions 20 --samples 5 "
    "--grid-spacing 0.4 --device cpu --quiet",
}


@pytest.mark.parametrize("page", having(GUIDES, arguments))
def test_commands_run(page, tmp_path, monkeypatch, capsys):
    """One after the other in one folder, shortened, without pictures."""
    monkeypatch.chdir(tmp_path)
    for file, text in re.findall(r"\ncat > (\S+) <<END\n(.*?)\nEND", page.read_text(), re.DOTALL):
        Path(file).write_text(text)
    for words in arguments(page):
        if words[0] not in SHORT or (words[0] == "dpd" and lammps.host.missing()):
            continue
        extra = shlex.split(SHORT[words[0]])
        if words[0] == "disks" and "--input" not in words:
            extra += ["--particles", "256"]
        if words[0] == "spheres" and "--input" not in words:
            extra += ["--particles", "256"]
        if "--ranks" in words:
            extra += ["--ranks", "2"]  # more than there are cores take long
        if "--isotherm" in words and "--working-capacity" not in words:
            pressures = words[words.index("--isotherm") + 1].split(",")
            extra += ["--isotherm", ",".join(pressures[:2])]
        if "--void-fraction" in words:
            extra += ["--grid-spacing", "0.4"]  # helium is small: coarser grids are refused
        assert run([*words, *extra]) == 0, f"{' '.join(words)}: {capsys.readouterr().err}"


# ---- Python --------------------------------------------------------------------------------------


# What makes a snippet short without changing what it does.
SMALLER = {
    "16384": "1024",
    "4096": "256",
    "systems=16": "systems=16, interactions=manymove.Interactions(grid=manymove.EnergyGrid(0.8))",
    "force_field=TRAPPE_ZEO)": "force_field=TRAPPE_ZEO, grid=manymove.EnergyGrid(0.8))",
    "cutoff=12.0)": "cutoff=12.0, grid=manymove.EnergyGrid(0.8))",
    "henry(20000)": "henry(200)",
    "equilibrate_loading(1000)": "equilibrate_loading(10)",
    "gas.run(100)": "gas.run(10)",
    "compare_loading(100)": "compare_loading(10)",
    "equilibrate(300)": "equilibrate(10)",
    "gas.run(300)": "gas.run(10)",
    "range(20)": "range(2)",
    "200_000": "2000",
    "run(20000)": "run(200)",
    "run(4000)  # equilibration": "run(40)",
    "tune_volume(2000)": "tune_volume(400)",
    "20_000": "2000",
    "10_000": "200",
    "range(200)": "range(3)",
    "run_until(10000, equilibrate=1000": "run_until(2000, equilibrate=500",
    "run_until(11000, equilibrate=1000": "run_until(2100, equilibrate=500",
}


def snippets(page: Path) -> list[str]:
    return [block.text for block in blocks(page) if block.language == "python"]


def write_isotherms(folder: Path) -> None:
    """Isotherms of two gases for IAST."""
    for gas, affinity in (("co2", 2.0), ("n2", 0.1)):
        curve = [(10**k, affinity * 10**k) for k in range(-2, 4)]  # bar, and that of Langmuir
        rows = [f"{gas},{p:g},{3 * x / (1 + x):.6f},313" for p, x in curve]
        file = folder / gas / "isotherm.csv"
        file.parent.mkdir()
        names = "adsorbate,pressure_bar,loading_mol_per_kg,temperature_K"
        file.write_text("\n".join([names, *rows]))


def write_database(folder: Path) -> None:
    """An ASE database with one structure."""
    from ase import Atoms
    from ase.db import connect

    zinc = Atoms("Zn", cell=3 * [25.0], pbc=True)
    connect(folder / "structures.db").write(zinc)


@pytest.mark.parametrize("page", having([*GUIDES, *ROOT.glob("hoomd_ext/*.md")], snippets))
def test_python_snippets_run(page, tmp_path, monkeypatch):
    """One after the other. Parts of scripts for HOOMD-blue are compiled only."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    left_out = False  # whether a script for HOOMD-blue has not been run
    for text in snippets(page):
        for what, smaller in SMALLER.items():
            text = text.replace(what, smaller)
        code = compile(text, name(page), "exec")
        if "hoomd" in text:
            here = page in GUIDES and "import hoomd\n" in text and find_spec("hoomd") is not None
            left_out = not here
        elif left_out and "import " not in text:  # continues that script
            here = False
        elif "iast" in text:
            here = find_spec("pygaps") is not None
            write_isotherms(tmp_path)
        elif "from ase" in text:
            if here := find_spec("ase") is not None:
                write_database(tmp_path)
        else:
            here = not (re.search("lammps|dpd", text) and lammps.host.missing())
        if here:
            exec(code, scope)


# ---- input scripts -------------------------------------------------------------------------------

STYLE_PAGES = {
    f"{kind} {style}": ROOT
    / f"lammps_ext/doc/{kind.replace('run', 'run_style')}_{style.replace('/', '_')}.md"
    for kind, style in lammps.STYLES
}
SOURCES = {
    "pair manymove/dpd": "pair_manymove_dpd.cpp",
    "pair manymove/dpd/tstat": "pair_manymove_dpd_ext.cpp",
    "pair manymove/dpd/coul/slater/long": "pair_manymove_dpd_coul_slater_long.cpp",
    "pair manymove/dpd/ext": "pair_manymove_dpd_ext.cpp",
    "pair manymove/dpd/ext/tstat": "pair_manymove_dpd_ext.cpp",
    "pair manymove/mdpd": "pair_manymove_mdpd.cpp",
    "pair manymove/edpd": "pair_manymove_scalars.cpp",
    "pair manymove/tdpd": "pair_manymove_scalars.cpp",
    "bond manymove/harmonic": "bond_manymove_harmonic.cpp",
    "fix manymove/wall": "fix_manymove_wall.cpp",
    "fix manymove/coulomb": "fix_manymove_coulomb.cpp",
    "fix manymove/wrmc": "fix_manymove_wrmc.cpp",
    "fix manymove/wrmc/rigid": "fix_manymove_wrmc_rigid.cpp",
    "run manymove/verlet": "resident_verlet.cpp",
}
FIRST = ("units", "boundary", "atom_style", "comm_modify", "newton")

FLUID = """
region box block 0 8 0 8 0 8
create_box 2 box bond/types 1 extra/bond/per/atom 1 extra/special/per/atom 2
create_atoms 1 single 4.0 4.0 4.0
create_atoms 1 single 4.3 4.0 4.0
create_atoms 1 random 700 1 box
create_atoms 2 random 700 2 box
mass * 1.0
neighbor 0.4 bin
velocity all create 1.0 1
timestep 0.001
create_bonds single/bond 1 1 2
"""
IONS = """
region box block 0 100 0 100 0 100
create_box 2 box
create_atoms 1 single 20 50 50
create_atoms 1 single 50 20 50
create_atoms 2 single 50 50 20
create_atoms 2 single 80 50 50
set type 1 charge 1
set type 2 charge -1
mass * 1.0
pair_style zero 10
pair_coeff * *
"""
ZEOLITE = """
region box block 0 25 0 25 0 25
create_box 3 box
create_atoms 1 single 0 0 0
create_atoms 2 single 12.5 0 0
create_atoms 3 single 6 6 6
create_atoms 3 single 18 18 18
mass * 16.0
pair_style zero 12
pair_coeff * *
"""
CARBON_DIOXIDE = """
region box block 0 25 0 25 0 25
create_box 4 box
create_atoms 1 single 0 0 0
create_atoms 2 single 12.5 0 0
create_atoms 3 single 6 6 6
create_atoms 4 single 6 6 7.16
create_atoms 4 single 6 6 4.84
set group all charge 0
set type 3*4 mol 1
set type 3 charge 0.7
set type 4 charge -0.35
mass * 16.0
pair_style zero 12
pair_coeff * *
"""
NITROGEN = """
create_atoms 6 single 18 18 18
create_atoms 5 single 18 18 18.55
create_atoms 5 single 18 18 17.45
set type 5*6 mol 2
set type 5 charge -0.405
set type 6 charge 0.81
mass * 14.0
"""


def scripts(page: Path) -> list[str]:
    """The examples of a page, each of them completed to a short input script."""
    text = "\n".join(re.findall(r"^ {4}(.*)|^$", section(page, "Examples"), re.MULTILINE))
    return [script(part.splitlines()) for part in re.split(r"\n{2,}", text.strip())]


def script(lines: list[str]) -> str:
    if not _core.cuda_devices():
        lines = [line for line in lines if "device cuda" not in line]
    text = "\n".join(re.sub(r"^run .*", "", line) for line in lines)
    uses = {line.split()[0] for line in lines}
    first = "\n".join(line for line in text.splitlines() if line.startswith(FIRST))
    rest = "\n".join(line for line in text.splitlines() if not line.startswith(FIRST))
    if "manymove/coulomb" in text:
        return f"{first}\n{IONS}{rest}\nrun 10\n"
    if "species 2" in text:
        both = CARBON_DIOXIDE.replace("create_box 4", "create_box 6") + NITROGEN
        return f"{first}\n{both}{rest}\nrun 2\n"
    if "manymove/wrmc/rigid" in text:
        return f"{first}\n{CARBON_DIOXIDE}{rest}\nrun 2\n"
    if "manymove/wrmc" in text:
        return f"{first}\n{ZEOLITE}{rest}\nrun 2\n"
    if "dpd/manymove" in text:
        fluid = re.sub(r" bond/types.*|create_bonds.*", "", FLUID)
        return f"{first}\n{fluid}{rest}\nrun 2\n"
    given = {
        "comm_modify": "comm_modify vel yes",
        "pair_style": "pair_style manymove/dpd 1.0 1.0 1",
        "bond_style": "bond_style manymove/harmonic",
    }
    before = "\n".join(line for style, line in given.items() if style not in uses)
    after = "" if "pair_coeff" in uses else "pair_coeff * * 25.0 4.5\n"
    after += "" if "bond_coeff" in uses else "bond_coeff * 40.0 0.38\n"
    after += "" if re.search(r"fix +\w+ +all +nve", text) else "fix integrate all nve\n"
    fluid = FLUID
    if "coul/slater" in text:  # 702 particles of type 1 and 700 of type 2
        fluid += "set type 1 charge 0.35\nset type 2 charge -0.351\n"
    else:
        first += "\natom_style bond"
    return f"{first}\n{before}\n{fluid}{rest}\n{after}run 2\n"


@needs_lammps
@pytest.mark.parametrize("style", STYLE_PAGES)
def test_examples_of_lammps_styles_run(style, tmp_path):
    kind, _, full_name = style.partition(" ")
    for text in scripts(STYLE_PAGES[style]):
        # LAMMPS' fixes mvv/edpd and mvv/tdpd ask for the other order of the name.
        assert full_name in text or "/".join(reversed(full_name.split("/"))) in text
        output = run_lammps(text, tmp_path).output
        assert "Loop time" in output, f"{kind}: {output}"


@needs_lammps
@pytest.mark.parametrize(
    "page", having(GUIDES, lambda page: any(b.language == "lammps" for b in blocks(page)))
)
def test_scripts_run(page, tmp_path):
    for block in blocks(page):
        if block.language == "lammps":
            assert "Loop time" in run_lammps(block.text, tmp_path).output


@pytest.mark.parametrize("style", STYLE_PAGES)
def test_every_lammps_style_has_a_page_with_its_keywords(style):
    page = STYLE_PAGES[style]
    text = page.read_text()
    for heading in ("Syntax", "Examples", "Description", "Restrictions", "Default"):
        assert section(page, heading).strip(), f"{name(page)} lacks {heading}"
    (file,) = (ROOT / "lammps_ext/src").rglob(SOURCES[style])
    source = file.read_text()
    keywords = re.findall(r'(?:key|keyword|word|value) [!=]= "([a-z_]+)"', source)
    keywords += re.findall(r'strcmp\(arg\[\w+\], "([a-z_]+)"\)', source)
    for keyword in keywords:
        assert re.search(rf"\b{keyword}\b", text), f"{name(page)} lacks {keyword}"


def explained(page: Path, command: str) -> set[str]:
    """Keys of summary.json in the tables of the page that are of a command."""
    common, *parts = re.split(r"^`manymove (\w+)`.*$", page.read_text(), flags=re.MULTILINE)
    command = "disks" if command == "spheres" else command  # they share a table
    own = dict(zip(parts[::2], parts[1::2], strict=True))[command].partition("\n## ")[0]
    return {
        key + ending
        for line in (common + own).splitlines()
        if line.startswith("| `")
        for key in re.findall(r"`(\w+)`", line.split("|")[1])
        for ending in (("", "_error", "_error_converged") if "`_error`" in line else ("",))
    }


@pytest.mark.parametrize("command", SMALL_RUNS)
def test_every_key_of_the_summaries_is_explained(command, tmp_path):
    if command == "dpd" and lammps.host.missing():
        pytest.skip(lammps.host.missing())
    output = ["--output", str(tmp_path), "--device", "cpu", "--quiet"]
    assert run([command, *SMALL_RUNS[command].split(), *output]) == 0
    known = explained(ROOT / "docs/files.md", command)
    assert not summary_of(tmp_path).keys() - known


# ---- gallery -------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", sorted(p.parent for p in ROOT.glob("examples/*/README.md")))
def test_every_folder_of_the_gallery_has_a_picture(folder, monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs/sphinx")
    import gallery

    readme = folder / "README.md"
    picture = gallery.picture_of(ROOT, readme, readme.read_text())
    assert picture is not None and picture.is_file()


# ---- nothing left out ----------------------------------------------------------------------------


def exported() -> list[tuple[ModuleType, str]]:
    import manymove.adsorption
    import manymove.analysis
    import manymove.electrolyte
    import manymove.hard_particles
    import manymove.io

    modules = (manymove, manymove.hard_particles, manymove.electrolyte, manymove.adsorption)
    modules += (manymove.analysis, manymove.io)
    public = [(m, n) for m in modules for n in m.__all__]
    return [(m, n) for m, n in public if inspect.isclass(getattr(m, n)) or callable(getattr(m, n))]


@pytest.mark.parametrize("module, public", exported())
def test_everything_exported_is_documented(module, public):
    thing = getattr(module, public)
    text = inspect.getdoc(thing)
    assert text and len(text) > 20
    pages = "\n".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
    whole = rf"automodule:: {module.__name__}\n +:members:\n +:imported-members:"
    assert re.search(rf"{whole}|(?:auto\w+:: .*|:members: .*)\b{public}\b", pages), public


@pytest.mark.parametrize("engine", ["HardDisks", "Electrolyte", "Adsorption"])
def test_engines_document_arguments_and_errors(engine):
    thing = getattr(manymove, engine)
    text = inspect.getdoc(thing)
    for argument in inspect.signature(thing).parameters:
        assert re.search(rf"^ +(?:\w+, )*{argument}[:,]", text, re.MULTILINE), argument
    assert "Raises:" in text
    for member, method in inspect.getmembers(thing, callable):
        if not member.startswith("_"):
            assert inspect.getdoc(method), f"{engine}.{member}"


def test_commands_of_the_command_line_are_on_a_page():
    source = (ROOT / "docs/command_line.md").read_text()
    assert "{commands}" in source  # from the application itself, when the site is built


def test_the_packages_of_the_extras_are_on_the_page():
    page = (ROOT / "docs/install.md").read_text().lower()
    for needed in INSTALLED.get_all("Requires-Dist"):
        name = re.match(r"\w+", needed)[0]
        assert re.search(rf"\b{name}\b", page) or "lint" in needed, name


def test_versions_agree():
    assert f"version: {INSTALLED['Version']}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {INSTALLED['Version']}" in (ROOT / "CHANGELOG.md").read_text()


GROUPED = [page for page in PAGES if "\n| members |" in page.read_text()]


@pytest.mark.parametrize("page", GROUPED, ids=lambda page: page.stem)
def test_the_groups_of_members_are_those_of_the_class(page):
    table = re.search(r"^\| members \|.*?\n\n", page.read_text(), re.MULTILINE | re.DOTALL)
    (public,) = re.findall(r"autoclass:: manymove\.(\w+)", page.read_text())
    listed = re.findall(r"`(\w+)`", table[0])
    assert sorted(listed) == sorted(n for n in dir(getattr(manymove, public)) if n[0] != "_")
