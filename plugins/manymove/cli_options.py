"""What the subcommands of `manymove` have in common."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the run in --output with its options; its length, device and threads may "
        "be given again.",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the results that --output holds.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar and no table.")]


@contextmanager
def of_option(option: str, containing: str = "") -> Iterator[None]:
    """Inside, errors of files name the option; with `containing` those whose message has it."""
    try:
        yield
    except (OSError, ValueError) as error:
        if containing not in str(error):
            raise
        raise ValueError(f"{option}: {error}") from error


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


# ---- the options of the run that --resume continues ----------------------------------------------

OPTIONS_FILE = "options.json"
_OF_A_SESSION = ("context", "output", "resume", "overwrite", "quiet")
_PATHS = ("input_", "adsorbates")


def to_store(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a command as `OPTIONS_FILE` holds them."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if name not in _OF_A_SESSION
    }


def resumable(*changeable: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """A command whose `--resume` takes the options that are not given from the run it continues.

    Args:
        changeable: names of the options that may differ from those of that run.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def resumed(**options: Any) -> int:
            if options["resume"]:
                options = _continued(options, changeable)
            return command(**options)

        return resumed

    return decorate


def _continued(options: dict[str, Any], changeable: tuple[str, ...]) -> dict[str, Any]:
    path = options["output"] / OPTIONS_FILE
    if not path.is_file():  # the checkpoints, if there are any, are compared with the options
        return options
    try:
        stored = dict(json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise ValueError(f"--resume: {path} holds no options: {error}") from None
    context = options["context"]
    others = stored.keys() - {parameter.name for parameter in context.command.params}
    if others:
        names = ", ".join(sorted(f"--{name.rstrip('_').replace('_', '-')}" for name in others))
        raise ValueError(f"--resume: {path} is from another command, which has {names}")
    for parameter in context.command.params:
        name = parameter.name
        if name not in stored:
            continue
        held, asked = stored[name], to_store({name: options[name]}).get(name)
        given = context.get_parameter_source(name).name == "COMMANDLINE"
        if given and (name in changeable or held is None):
            continue
        if given and held != (list(asked) if isinstance(asked, tuple) else asked):
            raise ValueError(f"--resume: {path} has {parameter.opts[0]} {held}, not {asked}")
        if isinstance(held, list):
            held = tuple(held)
        options[name] = Path(held) if name in _PATHS and held is not None else held
    return options


def help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit
