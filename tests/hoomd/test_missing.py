"""Without HOOMD-blue the rest of manymove works, and `manymove.hoomd` says what it needs. The
component of HOOMD-blue works without the package manymove."""

import sys

from documents import ROOT
from processes import run

# The component installs this file.
ESTIMATOR = ROOT / "plugins/manymove/analysis/pressure.py"

HIDDEN = """
import sys
sys.modules["hoomd"] = None  # as if it were not installed
import manymove, manymove.cli
try:
    import manymove.hoomd
except ImportError as error:
    print(error)
"""


def test_without_hoomd_only_manymove_hoomd_is_missing():
    output = run([sys.executable, "-c", HIDDEN])
    assert output.returncode == 0, output.stderr
    assert "manymove.hoomd needs HOOMD-blue" in output.stdout
    assert "conda install -c conda-forge hoomd" in output.stdout


WITHOUT_THE_PACKAGE = """
import runpy, sys
sys.modules["manymove"] = None  # as if it were not installed
runpy.run_path(sys.argv[1])
"""


def test_the_pressure_estimator_of_the_component_does_not_need_the_package():
    output = run([sys.executable, "-c", WITHOUT_THE_PACKAGE, ESTIMATOR])
    assert output.returncode == 0, output.stderr
