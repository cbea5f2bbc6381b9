"""What the component is and what it was built for; anything else is refused."""

from importlib import import_module

import hoomd.version

try:
    module = import_module("hoomd.manymove._manymove")
    built_for, version = module.built_for, module.version
except ImportError as error:
    raise ImportError(
        f"hoomd.manymove does not load into HOOMD-blue {hoomd.version.version}: build it again for "
        f"this release ({error})"
    ) from error

if built_for != hoomd.version.version:
    raise ImportError(
        f"hoomd.manymove was built for HOOMD-blue {built_for}, this is {hoomd.version.version}: "
        "build it again"
    )
