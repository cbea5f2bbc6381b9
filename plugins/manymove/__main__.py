"""The command `manymove`, as `python -m manymove`: with the Python that `mpirun` starts."""

from manymove.cli import main

main()
