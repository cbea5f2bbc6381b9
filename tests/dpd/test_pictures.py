"""The picture of `manymove dpd`."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from manymove.dpd import plots
from manymove.dpd.model import QUANTITIES

RECORDS = np.zeros(50, [(name, float) for name in ("step", *QUANTITIES)])
SUMMARY = {"N": 3000, "density": 3.0, "a": 25.0, "gamma": 4.5, "set_temperature": 1.0}


def test_each_quantity_has_records_a_mean_and_its_error(tmp_path, monkeypatch):
    drawn = []
    original = plots.new_panels

    def new_panels(*arguments, **options):
        figure, panels = original(*arguments, **options)
        drawn.extend(panels[:, 0])
        return figure, panels

    monkeypatch.setattr(plots, "new_panels", new_panels)
    rng, summary = np.random.default_rng(1), dict(SUMMARY)
    RECORDS["step"] = np.arange(0, 500, 10)
    for mean, name in enumerate(QUANTITIES, 1):
        RECORDS[name] = rng.normal(mean, 0.1, 50)
        summary |= {name: float(mean), f"{name}_error": 0.02}
    plots.thermo(tmp_path / "thermo.png", RECORDS, summary)
    assert (tmp_path / "thermo.png").stat().st_size > 10_000
    for mean, axes in enumerate(drawn, 1):
        labels = axes.get_legend_handles_labels()[1]
        assert labels[:4] == ["records", "running mean", "standard error", f"mean {mean}.00(2)"]
        low, high = axes.get_ylim()
        assert low < mean < high and axes.get_ylabel()
    assert drawn[0].get_title().startswith("3,000 dissipative particles, density 3")
    assert "set 1" in drawn[0].get_legend_handles_labels()[1]
    assert drawn[-1].get_xlabel() == "steps since the start"
