"""What the component is and what it was built for; anything else is refused."""

import hoomd.version
from hoomd.manymove.version_config import build, built_for, version

__all__ = ["build", "built_for", "version"]


def _present_build():
    words = ["GPU" if hoomd.version.gpu_enabled else "CPU"]
    if hoomd.version.mpi_enabled:
        words.append("MPI")
    return " ".join([*words, *sorted(map(str, hoomd.version.floating_point_precision))])


if (built_for, build) != (hoomd.version.version, _present_build()):
    raise ImportError(
        f"hoomd.manymove was built for HOOMD-blue {built_for} ({build}), this is "
        f"{hoomd.version.version} ({_present_build()}): build it again"
    )
