"""What the subcommands of `manymove` have in common."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<index>.")]


def number(option: str, word: str, kind: type) -> Any:
    try:
        return kind(word)
    except ValueError:
        raise ValueError(
            f'{option} has "{word}", which is not a number of the right kind'
        ) from None


def numbers(option: str, text: str, kind: type) -> list:
    try:
        numbers = [kind(word) for word in text.split(",")]
    except ValueError:
        raise ValueError(f"{option} is {text!r}; it must be numbers separated by commas") from None
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{option} is {text!r}; a number occurs twice")
    return numbers


def help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit
