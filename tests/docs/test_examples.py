"""The scripts of the examples: short runs, and the documentation's figures from recorded files."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from documents import ROOT
from processes import run

if not (ROOT / "examples").is_dir():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)

RESULTS = ROOT / "docs/benchmarks/results"

# Script: options that make it short; the JSON file that it writes comes last.
RUNS = {
    "charge_renormalization/energies.py": "--ions 64 --sweeps 40 --equilibrate 5 --device cpu "
    "--json out.json",
    "charge_renormalization/run.py": "--ions 2048 --equilibrate 1 --sweeps 24 --device cpu "
    "--json out.json",
    "hard_disks/equation_of_state.py": "--particles 256 --packing-fractions 0.698 --sweeps 1000 "
    "--equilibrate 100 --device cpu out.json",
    "methane_in_lta/run.py": "measure --seconds 0.02 --systems 8 --interpolation cubic "
    "--device cpu out.json",
}
# Script: how it draws, with the names of recorded files, and the picture.
FIGURES = {
    "charge_renormalization/run.py": "--draw h100-charge-renormalization-131072 --picture out.png",
    "charge_renormalization/scan.py": "--draw h100-electrolyte-scan --picture out.png",
    "charge_renormalization/speed.py": "h100-electrolyte-speed h100-electrolyte-reduction "
    "xeon-electrolyte-serial xeon-electrolyte-threads --picture out.png",
    "hard_disks/equation_of_state.py": "--plot h100-equation-of-state out.png",
    "hard_disks/size_scaling.py": "out.png h100-speed cpu-speed",
    "hard_disks/rank_scaling.py": "out.png h200x4-ranks-weak h200x4-ranks-strong",
    "methane_in_lta/run.py": "draw h100-adsorption-lta",
    "methane_in_mfi/isotherm.py": "draw cpu-adsorption-isotherm",
    "methane_in_mfi/run.py": "draw h100-adsorption-mfi",
}


def start(script: str, words: list[str], folder: Path) -> None:
    command = [sys.executable, ROOT / "examples" / script, *words]
    done = run(command, cwd=folder, env={**os.environ, "MPLBACKEND": "Agg"}, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("script", RUNS)
def test_a_short_run_leaves_a_record(script, tmp_path):
    pytest.importorskip("matplotlib")
    start(script, RUNS[script].split(), tmp_path)
    record = json.loads((tmp_path / "out.json").read_text())
    assert {"machine", "date", "commit"} <= record.keys()


@pytest.mark.parametrize("script", FIGURES)
def test_a_figure_is_drawn_from_its_record(script, tmp_path):
    pytest.importorskip("matplotlib")
    words = []
    for word in FIGURES[script].split():
        record = RESULTS / f"2026-11-21-{word}.json"
        if record.exists():
            shutil.copy(record, tmp_path)  # some pictures go beside it
            word = record.name
        words.append(word)
    assert any(word.endswith(".json") for word in words)
    start(script, words, tmp_path)
    pictures = list(tmp_path.glob("*.png"))
    assert pictures and all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)
