# The compiled core, whose bindings check all arguments when they are called.
from typing import Any

def __getattr__(name: str) -> Any: ...
