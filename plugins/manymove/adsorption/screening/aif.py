# SPDX-License-Identifier: BSD-3-Clause
"""Isotherms as adsorption information files.

J. D. Evans, V. Bon, I. Senkovska, S. Kaskel, Langmuir 37, 4222 (2021). The names of the entries are
those of the dictionary of the format, https://github.com/AIF-development-team.
"""

from __future__ import annotations

import math
from importlib.metadata import version
from pathlib import Path
from typing import Any

from manymove import files
from manymove.adsorption.screening.results import Rows
from manymove.optional import need

DICTIONARY = "78bc861"  # commit of the dictionary
_LOOP = {  # columns of the table, in mol/kg, which is mmol/g
    "_adsorp_pressure": "pressure_bar",
    "_adsorp_fugacity": "fugacity_bar",
    "_adsorp_amount": "loading_mol_per_kg",
    "_adsorp_amount_uncertainty": "loading_error_mol_per_kg",
    "_adsorp_amount_excess": "excess_loading_mol_per_kg",
    "_adsorp_amount_excess_uncertainty": "excess_loading_error_mol_per_kg",
}
_OF_MIXTURE = {
    "_adsorp_molefraction": "mole_fraction",
    "_adsorp_selectivity": "selectivity",
    "_adsorp_selectivity_uncertainty": "selectivity_error",
}


def write_files(folder: Path, results: dict[str, Any], rows: Rows, force_field: str) -> None:
    """Write an isotherm of absolute loadings for each species: isotherm.aif, or
    isotherm-<adsorbate>.aif for a mixture. Only complete points are written.

    Args:
        folder: folder of the structure.
        results: results of the structure.
        rows: rows of the structure.
        force_field: name of the force field.
    """
    complete = {p["pressure_bar"] for p in results["points"] if p["complete"]}
    names = results["adsorbates"]
    for name in names:
        own = [r for r in rows if r["adsorbate"] == name and r["pressure_bar"] in complete]
        own.sort(key=lambda row: row["pressure_bar"])
        if own:
            end = "" if len(names) == 1 else f"-{name}"
            with files.replace(folder / f"isotherm{end}.aif") as file:
                file.write(text_of(results, own, name, force_field).encode())


def text_of(results: dict[str, Any], rows: Rows, name: str, force_field: str) -> str:
    """The contents of the file of one species."""
    cif = need("gemmi", "an adsorption information file").cif
    document = cif.Document()
    block = document.add_new_block(f"{results['structure']}_{name}".replace(" ", "_"))
    systems, cells = results["points"][0]["systems"], results["cells"]
    pairs = {
        "_exptl_adsorptive": name,
        "_exptl_temperature": f"{results['temperature_K']:g}",
        "_exptl_method": "simulation",
        "_exptl_isotherm_type": "absolute",
        "_adsnt_material_id": results["structure"],
        "_adsnt_sample_density": f"{results['density_g_per_cm3']:.6g}",
        "_simltn_code": f"manymove {version('manymove')}",
        "_simltn_date": results["date"],
        "_simltn_size": f"{systems} systems of {' x '.join(map(str, cells))} unit cells",
        "_simltn_forcefield_adsorptive": name,
        "_simltn_forcefield_adsorbent": force_field,
        "_simltn_sampling": "grand canonical Monte Carlo",
        "_units_temperature": "K",
        "_units_pressure": "bar",
        "_units_loading": "mmol/g",
        "_units_density": "g/cm3",
        "_audit_aif_version": DICTIONARY,
    }
    for key, value in pairs.items():
        block.set_pair(key, cif.quote(value))
    columns = {**_LOOP, **(_OF_MIXTURE if len(results["adsorbates"]) > 1 else {})}
    loop = block.init_loop("", [*columns])
    for row in rows:
        loop.add_row([_word(row[column]) for column in columns.values()])
    return document.as_string()


def _word(value: float) -> str:
    return "?" if math.isnan(value) else f"{value:.8g}"
