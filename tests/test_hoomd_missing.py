"""Without HOOMD-blue the rest of manymove works, and `manymove.hoomd` says what it needs."""

import subprocess
import sys

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
    output = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    assert "manymove.hoomd needs HOOMD-blue" in output.stdout
    assert "conda install -c conda-forge hoomd" in output.stdout
