"""The example of a melt of bead-spring chains."""

from __future__ import annotations

import sys

import pytest
from documents import ROOT, module_of

SCRIPT = ROOT / "examples" / "melt" / "melt.py"
if not SCRIPT.exists():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)


@pytest.mark.parametrize("steps", [999, 1999])
def test_a_run_without_errors_of_its_averages_is_refused(steps, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    melt = module_of(SCRIPT, monkeypatch)
    words = ["melt.py", "--steps", str(steps), "--output", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(ValueError, match=f"--steps is {steps}; it must be at least 2000"):
        melt.main()
