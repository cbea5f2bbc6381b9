"""`{commands}`: every command of the command line with its options, from the application itself."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from manymove.cli import app as application

VALUES = {str: "text", Path: "path", int: "integer", float: "number"}


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        text = "\n".join(section(*each) for each in commands("manymove", application))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def commands(name: str, group: typer.Typer) -> Iterator[tuple[str, Callable]]:
    """Each command's full name and its function."""
    for each in group.registered_commands:
        yield f"{name} {each.name or each.callback.__name__}", each.callback
    for each in group.registered_groups:
        yield from commands(f"{name} {each.name}", each.typer_instance)


def section(name: str, function: Callable) -> str:
    options = "\n".join(options_of(function))
    text = inspect.getdoc(function)
    return f"## {name}\n\n{text}\n\n```{{program}} {name}\n```\n\n{options}"


def options_of(function: Callable) -> Iterator[str]:
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        if get_origin(hints[name]) is not Annotated:  # Typer's context
            continue
        kind, option = get_args(hints[name])
        if option.hidden:
            continue
        # In an annotation Typer takes a name given to Option for its default, until it is used.
        names = [n for n in (option.default, *(option.param_decls or ())) if str(n)[:1] == "-"]
        flag = names[0] if names else f"--{name.replace('_', '-')}"
        text = option.help.replace("<", "\\<")
        default = parameter.default
        if isinstance(default, tuple):
            default = " ".join(map(str, default))
        told = "" if default is None or kind is bool else f" Default: `{default}`."
        yield f"```{{option}} {flag}{value_of(kind)}\n{text}{told}\n```\n"


def value_of(kind: Any) -> str:
    """What stands after an option, as in `--valences <integer> <integer>`."""
    if get_origin(kind) is types.UnionType:
        (kind,) = (each for each in get_args(kind) if each is not type(None))
    if kind is bool:
        return ""
    each = get_args(kind) if get_origin(kind) in (tuple, list) else (kind,)
    return "".join(f" <{VALUES[one]}>" for one in each)
