"""What the subcommands of `manymove` have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<index>.")]
Threads = Annotated[
    int | None, typer.Option(help="CPU threads of all replicas together; all cores by default.")
]
Seed = Annotated[
    int, typer.Option(help="Of the random numbers; replica (or rank) k takes seed + k.")
]
Precision = Annotated[str, typer.Option(help="mixed or double.")]
MovesPerCell = Annotated[int | None, typer.Option(help="Trial moves per visit of a cell, n_m.")]
Replicas = Annotated[
    int | None, typer.Option(help="Independent runs, pooled; 1, or one per MPI rank under mpirun.")
]
Output = Annotated[Path, typer.Option(help="Folder for results.")]
Checkpoint = Annotated[float, typer.Option(help="Seconds between checkpoints.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar and no table.")]


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
        raise ValueError(f"{option} is {text!r}; one occurs twice")
    return numbers


def lists(options: dict[str, Any], **kinds: type) -> dict[str, Any]:
    """The options of a command (its `locals()`, before anything else), those of `kinds` as lists of
    numbers or words, by the names under which the command knows them."""
    given = dict(options)
    for name, kind in kinds.items():
        if given[name] is not None:
            option = _SHORTER.get(name, name).replace("_", "-")
            given[name] = numbers(f"--{option}", given[name], kind)
    return given


# Options that take several values of what their names say in the singular.
_SHORTER = {
    "densities": "density", "cutoffs": "cutoff", "skins": "skin", "precisions": "precision"
}  # fmt: skip


def help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit
