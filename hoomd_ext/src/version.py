"""What the component is and what it was built for; anything else is refused."""

import hoomd.version
from hoomd.manymove.version_config import built_for, version

__all__ = ["built_for", "version"]

if built_for != hoomd.version.version:
    raise ImportError(
        f"hoomd.manymove was built for HOOMD-blue {built_for}, this is {hoomd.version.version}: "
        "build it again"
    )
