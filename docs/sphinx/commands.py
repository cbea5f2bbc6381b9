"""`{commands}`: every command of the command line with its options, from the application itself."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from manymove.cli import app as application


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        group = typer.main.get_command(application)
        text = "\n".join(section(*each) for each in commands("manymove", group))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def commands(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    """Each command's full name and the command."""
    for part, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(f"{name} {part}", each)
        else:
            yield f"{name} {part}", each


def section(name: str, command: Any) -> str:
    """The page of a command: its help, examples and options."""
    examples = inspect.cleandoc(command.epilog.partition("Examples:")[2])
    options = "\n".join(options_of(command))
    text = f"## {name}\n\n{command.help}\n\n```sh\n{examples}\n```\n"
    return f"{text}\n```{{program}} {name}\n```\n\n{options}"


def options_of(command: Any) -> Iterator[str]:
    context = command.context_class(command)
    for parameter in command.params:
        names, text = parameter.get_help_record(context) or ("", "")
        if names:
            text = text.replace("<", "\\<")
            yield f"```{{option}} {names}\n{text}\n```\n"
