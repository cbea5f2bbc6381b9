# SPDX-License-Identifier: BSD-3-Clause
"""Modules of the folders in examples/papers, several of which have the same names."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def module_of(path: Path) -> ModuleType:
    """The module of a file. Those that it imports from its folder are forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
        for name in set(sys.modules) - before:
            if str(path.parent) in (getattr(sys.modules[name], "__file__", None) or ""):
                del sys.modules[name]
    return module
