"""A collection of frameworks through one gas: what is refused, what is run, and what is written."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from adsorption_model import cif
from commands import COMMAND, summary_of
from processes import run, start, until
from screenings import OF_ISOTHERM, OPTIONS, SPEED, results, rows, screened, two_frameworks, write

from manymove import cli
from manymove.adsorption import TRAPPE_ZEO, read_framework, screen
from manymove.adsorption.molecules import CH4
from manymove.adsorption.screening import job, structure
from manymove.adsorption.screening.collection import Structure, seed_of, structures_of
from manymove.adsorption.screening.results import COLUMNS
from manymove.jobs import folder_lock

# The few atoms of the frameworks have few bonds.
pytestmark = pytest.mark.filterwarnings("ignore:.*too few bonded neighbors:UserWarning")


@pytest.fixture
def cifs(tmp_path) -> Path:
    """A folder of two frameworks."""
    return two_frameworks(tmp_path / "cifs")


@pytest.fixture(autouse=True)
def released():
    yield
    folder_lock.release()


# ---- collections ---------------------------------------------------------------------------------


def test_folders_lists_and_single_files_are_collections(cifs, tmp_path):
    (cifs / "big.CIF").write_text("")
    for other in (".hidden.cif", "._wide.cif", "notes.txt"):
        (cifs / other).write_text("")
    assert [one.name for one in structures_of([cifs])] == ["big", "narrow", "wide"]
    lines = "# zeolites\nMFI\n\ncifs/wide.cif  # the second one\ncifs/absent.cif\n"
    (tmp_path / "list.txt").write_text(lines)
    found = structures_of([tmp_path / "list.txt"])
    assert found == [
        Structure("MFI", "MFI"),
        Structure("wide", str(cifs / "wide.cif")),
        Structure("absent", str(cifs / "absent.cif")),
    ]
    both = structures_of(["LTA", cifs / "wide.cif", cifs / "wide.cif"])
    assert [one.name for one in both] == ["LTA", "wide"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.mkdir(), "has no CIF files"),
        (lambda p: p.write_text("# nothing\n"), "is empty"),
        (lambda p: p.write_bytes(b"\xff\xfe\x00"), "is not a text file"),
        (lambda p: None, "expected a folder of CIF files"),
        (lambda p: p.write_text("a/MFI.cif\nMFI\n"), "have the same name, MFI"),
    ],
)
def test_collections_that_are_none_are_refused(make, message, tmp_path):
    make(tmp_path / "collection")
    with pytest.raises((ValueError, OSError), match=message):
        structures_of([tmp_path / "collection"])


def test_the_seed_of_a_structure_depends_on_its_name_alone():
    assert seed_of(1, "MFI") == seed_of(1, "MFI") < 2**53
    names, seeds = ("MFI", "LTA", "2:MFI"), (1, 2, 12)
    assert len({seed_of(seed, name) for seed in seeds for name in names}) == 9


# ---- refused structures --------------------------------------------------------------------------

BAD = {
    "empty": ("", "is no CIF file|has no atoms"),
    "text": ("hello\n", "is no CIF file"),
    "partial": (cif("O1 O 0 0 0 0.5"), "site O1 is occupied by 0.5"),
    "overlap": (cif("O1 O 0 0 0 1\nO2 O 0.01 0.01 0 1"), "overlap"),
    "unknown": (cif("Q1 Qq 0 0 0 1"), "is not known"),
    "element": (cif("U1 U 0 0 0 1"), "U1|uranium|U "),
    "flat": (cif("O1 O 0 0 0 1", (9, 9, 9), (90, 90, 179.9999)), "too flat|cell"),
    "infinite": (cif("O1 O 0 0 inf 1"), "inf"),
    "symmetry": (cif("O1 O 0 0 0 1", symmetry="_symmetry_space_group_name_H-M 'Q 7'\n"), "Q 7"),
    "binary": ("\x00\x01\x02", "is no CIF file"),
}  # fmt: skip


def test_bad_files_are_refused_with_their_reasons_and_the_others_are_run(cifs, tmp_path, capsys):
    for name, (text, _) in BAD.items():
        (cifs / f"{name}.cif").write_text(text)
    (cifs / "folder.cif").mkdir()
    (cifs / "loop.cif").symlink_to("loop.cif")
    assert screened(cifs, tmp_path / "out") == 0
    assert capsys.readouterr() == ("", "")
    found = {row["structure"]: row for row in rows(tmp_path / "out")}
    assert len(found) == len(BAD) + 4
    for name, row in found.items():
        refused = name not in ("wide", "narrow")
        assert (row["status"] == "refused") == refused, row
        assert (row["loading_mol_per_kg"] == "nan") == refused
        assert results(tmp_path / "out", name)["state"] == ("refused" if refused else "done")
        if name in BAD:
            assert re.search(BAD[name][1], row["reason"]), row["reason"]
    for name in ("folder", "loop"):
        assert "no framework" in found[name]["reason"]


def test_a_polar_gas_needs_charges_of_the_framework(cifs, tmp_path):
    words = ["--adsorbates", "CO2", "--force-field", str(raspa3(tmp_path, charges=False))]
    assert screened(cifs, tmp_path / "out", *words) == 1
    for row in rows(tmp_path / "out"):
        assert row["status"] == "refused"
        assert "has no charges, but CO2 has charges" in row["reason"]


def test_a_framework_without_channels_is_refused_once(cifs, tmp_path, monkeypatch):
    """An oxygen every 2.2 angstrom: the energy is above the barrier everywhere."""
    atoms = [(x, y, z) for x in range(3) for y in range(3) for z in range(3)]
    rows_ = [f"O{k} O {x / 3:.4f} {y / 3:.4f} {z / 3:.4f} 1" for k, (x, y, z) in enumerate(atoms)]
    write(cifs, "dense", 6.6, "\n".join(rows_))
    assert screened(cifs, tmp_path / "out") == 0
    found = [row for row in rows(tmp_path / "out") if row["structure"] == "dense"]
    assert {row["status"] for row in found} == {"refused"}
    assert all("no channel" in row["reason"] for row in found)
    monkeypatch.setattr(structure.Task, "run", None)  # nothing is left to run
    before = (tmp_path / "out/screen.csv").read_bytes()
    assert screened(cifs, tmp_path / "out") == 0
    assert (tmp_path / "out/screen.csv").read_bytes() == before


def raspa3(folder: Path, charges: bool) -> Path:
    """A force field in the format of RASPA3."""
    atoms = [("Si", 22.0, 2.3, 1.5), ("O", 53.0, 3.3, -0.75), ("He", 10.9, 2.64, 0.0)]
    field = {
        "PseudoAtoms": [
            {"name": name, "framework": name != "He", "element": name, "mass": 1.0,
             **({"charge": charge} if charges else {})}
            for name, _, _, charge in atoms
        ],
        "SelfInteractions": [
            {"name": name, "type": "lennard-jones", "parameters": [epsilon, sigma]}
            for name, epsilon, sigma, _ in atoms
        ],
        "MixingRule": "Lorentz-Berthelot", "TruncationMethod": "shifted",
    }  # fmt: skip
    path = folder / "force_field.json"
    path.write_text(json.dumps(field))
    return path


def test_a_framework_without_parameters_is_refused_and_a_warning_of_a_file_is_kept(cifs, tmp_path):
    write(cifs, "other", atoms="Zn1 Zn 0.1 0.1 0.1 1\nO1 O 0.3 0.1 0.1 1")
    assert screened(cifs, tmp_path / "out") == 0
    found = {row["structure"]: row for row in rows(tmp_path / "out")}
    assert found["other"]["status"] == "refused" and "Zn" in found["other"]["reason"]
    assert "site Si1 (2 of 4) has too few bonded" in found["wide"]["framework_warnings"]


# ---- results -------------------------------------------------------------------------------------


def test_the_results_are_those_of_the_commands_for_one_framework(cifs, tmp_path, capsys):
    """With the seeds of the results: the loadings of `adsorption`, bit for bit, and the properties
    of `henry` and `pores`."""
    assert screened(cifs, tmp_path / "out") == 0
    own = results(tmp_path / "out", "wide")
    framework = ["--framework", str(cifs / "wide.cif"), "--seed", str(own["seed"])]
    alone = ["adsorption", *OF_ISOTHERM, *framework, "--early"]
    alone += ["--output", str(tmp_path / "alone")]
    assert cli.run(alone) == 0
    for one, other in zip(own["points"], summary_of(tmp_path / "alone")["runs"], strict=True):
        assert one["state_hash"] == other["state_hash"] is not None
        assert one["loading_mol_per_kg"] == other["loading_mol_per_kg"]
        assert one["target_reached"] == other["target_reached"]
    common = ["--framework", str(cifs / "wide.cif"), "--force-field", "TraPPE-zeo"]
    common += [*SPEED.split(), "--insertions", "50", "--temperature", "300", "--quiet"]

    def alone(seed: str, *words: str) -> dict:
        path = tmp_path / f"{seed}.json"
        words = (*words, *common, "--seed", str(own["seeds"][seed]), "--json", str(path))
        assert cli.run([*words]) == 0
        return json.loads(path.read_text())

    of_henry = alone("henry", "henry", "--adsorbates", "CH4")["species"][0]
    assert own["henry_mol_per_kg_Pa"] == [of_henry["henry_mol_per_kg_Pa"]]
    assert own["henry_heat_kJ_per_mol"] == [of_henry["heat_kJ_per_mol"]]
    of_void = alone("void_fraction", "pores", "--samples", "20")
    for name in ("void_fraction", "void_fraction_error", "pore_volume_cm3_per_g"):
        assert own[name] == of_void[name]
    of_surface = alone("surface_area", "pores", "--samples", "20")
    for name in ("surface_area_m2_per_g", "density_g_per_cm3"):
        assert own[name] == of_surface[name]
    assert len(set(own["seeds"].values())) == 4 and own["seeds"]["isotherm"] == own["seed"]
    assert capsys.readouterr().out == ""


def test_the_table_has_a_row_for_each_structure_pressure_and_species(cifs, tmp_path):
    (cifs / "bad.cif").write_text("hello")
    words = ["--adsorbates", "CH4,N2", "--mole-fractions", "0.4,0.6", "--working-capacity", "10,1"]
    words += ["--force-field", str(raspa3(tmp_path, charges=True))]
    neutral = "Si1 Si 0.1 0.1 0.1 1\nO1 O 0.28 0.1 0.1 1\nO2 O 0.1 0.28 0.1 1"
    for name in ("wide", "narrow"):
        write(cifs, name, 9.0 if name == "wide" else 8.5, neutral)
    code = screened(cifs, tmp_path / "out", *words, "--rank-by", "selectivity", "--steps", "400")
    table = rows(tmp_path / "out")
    assert code == 0 and [*table[0]] == [*COLUMNS]
    assert len(table) == 3 * 2 * 2
    for row in table:
        if row["structure"] == "bad":
            assert row["status"] == "refused"
            assert {row[name] for name in ("rank", "density_g_per_cm3", "fugacity_bar")} == {"nan"}
            continue
        assert float(row["mole_fraction"]) == {"CH4": 0.4, "N2": 0.6}[row["adsorbate"]]
        same = [r for r in table if (r["structure"], r["adsorbate"]) == (
            row["structure"], row["adsorbate"])]  # fmt: skip
        low, high = (float(r["loading_mol_per_kg"]) for r in same)
        assert float(row["working_capacity_mol_per_kg"]) == pytest.approx(high - low, rel=1e-6)
        assert (row["selectivity"] == "nan") == (row["adsorbate"] == "N2")
    first = {row["structure"]: row for row in table if row["rank"] == "1"}
    best = max((r for r in table if r["pressure_bar"] == "10" and r["selectivity"] != "nan"),
               key=lambda row: float(row["selectivity"]))  # fmt: skip
    assert [*first] == [best["structure"]] == summary_of(tmp_path / "out")["ranking"][:1]


def test_units_are_those_of_the_framework(cifs, tmp_path):
    assert screened(cifs, tmp_path / "out", "--unit", "cm3(STP)/g") == 0
    framework = read_framework(cifs / "wide.cif")
    row = next(r for r in rows(tmp_path / "out") if r["structure"] == "wide")
    loading = float(row["loading_molecules_per_uc"]) / framework.mass * 1000
    assert float(row["loading_mol_per_kg"]) == pytest.approx(loading, rel=1e-6)
    assert float(row["loading_mg_per_g"]) == pytest.approx(loading * CH4.molar_mass, rel=1e-6)
    density = framework.mass / 0.602214076 / 1000
    assert float(row["density_g_per_cm3"]) == pytest.approx(density, rel=1e-6)


# The entries of the dictionary of the format that are written, at commit 78bc861.
AIF = """
_exptl_adsorptive _exptl_temperature _exptl_method _exptl_isotherm_type _adsnt_material_id
_adsnt_sample_density _simltn_code _simltn_date _simltn_size _simltn_forcefield_adsorptive
_simltn_forcefield_adsorbent _simltn_sampling _units_temperature _units_pressure _units_loading
_units_density _audit_aif_version
""".split()


def test_adsorption_information_files_have_the_loadings(cifs, tmp_path):
    from gemmi import cif as reader

    assert screened(cifs, tmp_path / "out", "--isotherm", "10,1") == 0
    path = tmp_path / "out/structures/wide/isotherm.aif"
    block = reader.read_file(str(path)).sole_block()
    pairs = {key: reader.as_string(block.find_value(key)) for key in AIF}
    assert {item.pair[0] for item in block if item.pair} == set(AIF)
    assert pairs["_exptl_adsorptive"] == "CH4" and pairs["_adsnt_material_id"] == "wide"
    assert (pairs["_units_pressure"], pairs["_units_loading"]) == ("bar", "mmol/g")
    assert pairs["_simltn_forcefield_adsorbent"] == "TraPPE-zeo"
    own = [r for r in rows(tmp_path / "out") if r["structure"] == "wide"]
    columns = {
        "_adsorp_pressure": "pressure_bar", "_adsorp_amount": "loading_mol_per_kg",
        "_adsorp_amount_uncertainty": "loading_error_mol_per_kg",
        "_adsorp_fugacity": "fugacity_bar",
    }  # fmt: skip
    for key, column in columns.items():
        assert [*block.find_values(key)] == [row[column] for row in own][::-1]  # by pressure


def test_parquet_needs_its_package_and_has_the_table(cifs, tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyarrow", None)
        assert screened(cifs, tmp_path / "out", "--parquet") == 2
    assert "--parquet needs pyarrow: pip install pyarrow" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    assert screened(cifs, tmp_path / "out", "--parquet") == 0
    found = pandas.read_parquet(tmp_path / "out/screen.parquet")
    table = pandas.read_csv(tmp_path / "out/screen.csv", keep_default_na=False, na_values=["nan"])
    assert [*found] == [*table] == [*COLUMNS]
    for name in found:
        same = found[name] == table[name]
        if found[name].dtype == float:
            same = np.isclose(found[name], table[name], rtol=1e-7, equal_nan=True)
        assert np.all(same), name


def test_a_script_gets_the_results_one_by_one(cifs, tmp_path):
    options = dict(
        adsorbates=CH4, force_field=TRAPPE_ZEO, isotherm=(1.0,), systems=10, steps=100,
        equilibrate=10, cutoff=4.0, grid_spacing=0.25, insertions=20, samples=10, device="cpu",
        threads=1,
    )  # fmt: skip
    (cifs / "bad.cif").write_text("hello")
    found = list(screen(cifs, output=tmp_path / "out", **options))
    assert [one["structure"] for one in found] == ["bad", "narrow", "wide"]
    assert [one["state"] for one in found] == ["refused", "done", "done"]
    assert found[1]["points"][0]["pressure_bar"] == 1.0
    assert found[1] == results(tmp_path / "out", "narrow")
    again = list(screen(cifs, output=tmp_path / "out", **options))
    assert again[:2] == found[1:]  # those of the earlier session come first
    with pytest.raises(TypeError, match="a screening has no option isotherms"):
        screen(cifs, output=tmp_path / "other", isotherms=(1.0,))
    with pytest.raises(ValueError, match=r"out/options\.json has --steps 100, not 200"):
        next(screen(cifs, output=tmp_path / "out", **{**options, "steps": 200}))


# ---- sessions ------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from manymove import cli
left = int(sys.argv[1])
replace = os.replace

def dying_replace(old, new):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(old, new)

os.replace = dying_replace
sys.exit(cli.run(sys.argv[2:]))
"""


def test_a_screening_that_is_killed_again_and_again_has_the_same_table(cifs, tmp_path):
    (cifs / "bad.cif").write_text("hello")
    assert screened(cifs, tmp_path / "whole") == 0
    words = ["screen", cifs, *OPTIONS, "--checkpoint-every", "0", "--output", tmp_path / "cut"]
    for count in (4, 11, 7):
        killed = run([sys.executable, "-c", KILLED, count, *words], timeout=300)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert run([*COMMAND, *words], timeout=300).returncode == 0
    table = (tmp_path / "whole/screen.csv").read_bytes()
    assert (tmp_path / "cut/screen.csv").read_bytes() == table


def test_ctrl_c_ends_a_screening_and_the_same_command_continues_it(cifs, tmp_path):
    output = tmp_path / "out"
    options = " ".join(OPTIONS).replace("--steps 100", "--steps 3000")
    options = options.replace("--target-error 0.5", "--target-error 0.001").split()
    words = [*COMMAND, "screen", cifs, *options, "--output", output]
    process = start(words, stderr=subprocess.PIPE)
    until(lambda: any(output.glob("structures/*/pressure_1/checkpoint-*")) or
          any(output.glob("structures/*/framework.json")), process)  # fmt: skip
    process.send_signal(signal.SIGINT)
    printed, error = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, ""), error
    stopped = f"manymove: stopped early; the results so far are in {output}/."
    assert error == f"{stopped} The same command continues\n"
    assert "pending" in {row["status"] for row in rows(output)}
    assert summary_of(output)["complete"] is False
    assert not [*output.rglob("manymove.lock")]
    assert run(words, timeout=300).returncode == 0
    assert summary_of(output)["complete"] is True
    fresh = run([*words[:-1], tmp_path / "fresh"], timeout=300)
    assert fresh.returncode == 0
    assert (output / "screen.csv").read_bytes() == (tmp_path / "fresh/screen.csv").read_bytes()


def test_finished_structures_are_kept_unless_their_file_has_changed(cifs, tmp_path):
    output = tmp_path / "out"
    assert screened(cifs, output) == 0
    table, dates = rows(output), {n: results(output, n)["date"] for n in ("wide", "narrow")}
    ran: list[str] = []
    original = structure.Task.run

    def counted(self, *given):
        ran.append(self.structure.name)
        return original(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structure.Task, "run", counted)
        assert screened(cifs, output, "--time-limit", "100", "--rank-by", "henry") == 0
        assert ran == [] and {n: results(output, n)["date"] for n in dates} == dates
        write(cifs, "wide", 9.5)
        write(cifs, "more", 9.0)
        assert screened(cifs, output) == 0
    assert ran == ["more", "wide"]
    changed = {row["structure"]: row for row in rows(output)}
    before = {row["structure"]: row for row in table}
    assert changed["wide"]["density_g_per_cm3"] != before["wide"]["density_g_per_cm3"]
    same = {"rank"}
    assert {k: v for k, v in changed["narrow"].items() if k not in same} == {
        k: v for k, v in before["narrow"].items() if k not in same
    }


def test_a_changed_file_that_is_refused_has_no_isotherm_left(cifs, tmp_path):
    output = tmp_path / "out"
    assert screened(cifs, output) == 0
    assert (output / "structures/wide/isotherm.aif").is_file()
    (cifs / "wide.cif").write_text("hello")
    assert screened(cifs, output) == 0
    assert not [*(output / "structures/wide").rglob("isotherm.*")]
    assert {row["status"] for row in rows(output) if row["structure"] == "wide"} == {"refused"}
    assert results(output, "wide")["state"] == "refused"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--temperature 310", "has --temperature 300.0, not 310.0: --overwrite replaces"),
        ("--isotherm 1", r"has --isotherm \[1.0, 10.0\], not \[1.0\]"),
        ("--seed 2", "has --seed 1, not 2"),
    ],
)
def test_a_screening_is_continued_with_its_options(words, message, cifs, tmp_path, capsys):
    assert screened(cifs / "wide.cif", tmp_path / "out") == 0
    table = (tmp_path / "out/screen.csv").read_bytes()
    assert screened(cifs / "wide.cif", tmp_path / "out", *words.split()) == 2
    assert re.search(message, capsys.readouterr().err)
    assert (tmp_path / "out/screen.csv").read_bytes() == table
    assert screened(cifs / "wide.cif", tmp_path / "out", *words.split(), "--overwrite") == 0
    assert (tmp_path / "out/screen.csv").read_bytes() != table


def test_the_results_of_another_command_are_not_touched(cifs, tmp_path, capsys):
    output = tmp_path / "out"
    framework = ["--framework", str(cifs / "wide.cif")]
    assert cli.run(["adsorption", *OF_ISOTHERM, *framework, "--output", str(output)]) == 0
    before = (output / "summary.json").read_bytes()
    assert screened(cifs, output) == 2
    assert "holds the results of another command" in capsys.readouterr().err
    assert (output / "summary.json").read_bytes() == before
    assert screened(cifs, tmp_path / "screen") == 0
    resumed = ["adsorption", "--resume", "--output", str(tmp_path / "screen")]
    assert cli.run(resumed) == 2
    assert "is from another command" in capsys.readouterr().err


def test_a_folder_that_another_command_uses_is_refused(cifs, tmp_path, capsys, monkeypatch):
    output = tmp_path / "out"
    monkeypatch.setattr(job, "_OPENING", 0.0)  # seconds until it has entered its options
    script = "import sys, time; from pathlib import Path; from manymove.jobs import folder_lock\n"
    script += "folder_lock.hold(Path(sys.argv[1])); print('held', flush=True); time.sleep(100)"
    holder = start([sys.executable, "-c", script, output])
    assert holder.stdout.readline() == "held\n"
    assert screened(cifs, output) == 2
    assert f"{output} is in use by process {holder.pid}" in capsys.readouterr().err
    holder.kill()
    holder.communicate()
    assert screened(cifs / "wide.cif", output) == 0
    assert not [*output.rglob("manymove.lock")]


def test_a_structure_that_fails_is_named_and_tried_again(cifs, tmp_path, monkeypatch, capsys):
    original = structure.insert_into_framework

    def failing(framework, *given, **options):
        if framework.name == "narrow":
            raise MemoryError
        return original(framework, *given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(structure, "insert_into_framework", failing)
        assert screened(cifs, tmp_path / "out") == 1
    found = {row["structure"]: row for row in rows(tmp_path / "out")}
    assert (found["narrow"]["status"], found["narrow"]["reason"]) == ("failed", "not enough memory")
    assert found["wide"]["loading_mol_per_kg"] != "nan"
    assert capsys.readouterr() == ("", "")
    assert screened(cifs, tmp_path / "out") == 0
    assert screened(cifs, tmp_path / "whole") == 0
    assert rows(tmp_path / "out") == rows(tmp_path / "whole")


class Clock:
    """A clock that advances by a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("limit", [0.5, 12])
def test_a_structure_ends_at_its_time_limit_and_a_longer_one_continues_it(
    limit, cifs, tmp_path, monkeypatch
):
    output = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(structure, "time", Clock())
        assert screened(cifs, output, "--time-limit", str(limit)) == 0
    found = rows(output)
    assert {row["status"] for row in found if row["pressure_bar"] == "10"} == {"time limit"}
    assert f"the time limit of {limit:g} s was reached" in found[-1]["reason"]
    before = (output / "screen.csv").read_bytes()
    assert screened(cifs, output, "--time-limit", str(limit)) == 0
    assert (output / "screen.csv").read_bytes() == before
    assert screened(cifs, output) == 0
    assert screened(cifs, tmp_path / "whole") == 0
    assert rows(output) == rows(tmp_path / "whole")


# ---- the command ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--isotherm 1,-1", "pressures must be positive"),
        ("--working-capacity 5,1", "--working-capacity has 5 bar, which is not a pressure of"),
        ("--working-capacity 1,10", "give the pressure of adsorption first"),
        ("--working-capacity 1", "--working-capacity is '1'; it must be two numbers"),
        ("--rank-by working-capacity", "which needs the pressures of --working-capacity"),
        ("--rank-by selectivity", "which needs several --adsorbates"),
        ("--rank-by beauty", "--rank-by is beauty; it must be loading"),
        ("--time-limit 0", "--time-limit is 0.0; it must be positive"),
        ("--method mdp", "--method is mdp; --isotherm needs insertions"),
        ("--device cuda:0,999", "--device is cuda:0,999, which does not exist here"),
        ("--at-once 0", "--at-once is 0; it must be at least 1"),
        ("--adsorbates CH4,N2 --mole-fractions 0.5,0.6", "--mole-fractions"),
        ("--temperature 5e5 --isotherm 1e9", "--isotherm: CH4: no fugacity"),
        ("--force-field nothing.json", "--force-field: "),
        ("--target-error 0.1 --systems 5", "--target-error needs at least 10 systems"),
        ("--unit kg", "--unit must be"),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(words, message, cifs, tmp_path, capsys):
    assert screened(cifs, tmp_path / "out", *words.split()) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_force_field_and_a_collection_are_needed(cifs, tmp_path, capsys):
    assert cli.run(["screen", str(cifs), "--output", str(tmp_path / "out")]) == 2
    assert "give a --force-field" in capsys.readouterr().err
    assert cli.run(["screen", *OPTIONS, "--output", str(tmp_path / "out")]) == 2
    assert "COLLECTION" in capsys.readouterr().err
    assert screened(tmp_path / "absent", tmp_path / "out") == 2
    assert f"no collection {tmp_path / 'absent'}: expected a folder" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_progress_and_ranking_are_printed(cifs, tmp_path, capsys):
    (cifs / "bad.cif").write_text("hello")
    words = [word for word in OPTIONS if word != "--quiet"]
    output = ["--output", str(tmp_path / "out")]
    assert cli.run(["screen", str(cifs), *words, *output]) == 0
    printed, told = capsys.readouterr()
    total, refused, first, last = told.splitlines()
    assert total == "screen: 3 structures: 0 finished before, 3 to run, 1 at once"
    assert refused.startswith("screen: bad: refused: ") and "(1 of 3, " in refused
    assert "structures/h" in first and first.startswith("screen: narrow: done (2 of 3, ")
    assert last.startswith("screen: wide: done (3 of 3, ") and last.endswith("0 s left)")
    ranking = [line for line in printed.splitlines() if not line.startswith("no pictures")]
    assert ranking[0] == "rank by loading of CH4 at 10 bar (mol/kg)"
    assert ranking[1].split()[:2] == ["1", summary_of(tmp_path / "out")["ranking"][0]]
    assert ranking[3] == "2 done, 1 refused"
    assert ranking[4] == f"results in {tmp_path / 'out'}/"


@pytest.mark.pictures
@pytest.mark.parametrize("rank_by", ["loading", "henry"])
def test_the_picture_has_the_ranking_and_the_isotherms(rank_by, cifs, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from manymove.adsorption.screening import plots

    drawn = []
    original = plots.new_panels
    monkeypatch.setattr(plots, "new_panels", lambda *s: drawn.append(original(*s)) or drawn[-1])
    assert screened(cifs, tmp_path / "out", "--rank-by", rank_by) == 0
    assert (tmp_path / "out/screen.png").stat().st_size > 10_000
    histogram, bars, isotherms = drawn[-1][1][0]
    assert sum(patch.get_height() for patch in histogram.patches) == 2
    names = [label.get_text() for label in bars.get_yticklabels()]
    assert names == summary_of(tmp_path / "out")["ranking"]
    assert [text.get_text() for text in isotherms.get_legend().get_texts()] == names
    assert not [*(tmp_path / "out").rglob("structures/**/*.png")]


def test_a_missing_gpu_refuses_no_structure(cifs, tmp_path, capsys):
    assert screened(cifs, tmp_path / "out", "--device", "cuda:999") == 2
    assert "--device is cuda:999, which does not exist here" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_changed_parameters_are_not_mixed(cifs, tmp_path, capsys):
    field = raspa3(tmp_path, charges=True)
    words = ["--adsorbates", "CO2", "--force-field", str(field)]
    assert screened(cifs, tmp_path / "out", *words) == 0
    field.write_text(field.read_text() + "\n")
    capsys.readouterr()
    assert screened(cifs, tmp_path / "out", *words) == 2
    assert f"{field} has changed since the screening in" in capsys.readouterr().err
