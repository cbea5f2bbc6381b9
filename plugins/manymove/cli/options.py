# SPDX-License-Identifier: BSD-3-Clause
"""The common parts of the commands of `manymove`: options, lists, and `--resume`.

Each option is declared once, by a parameter of a function or of a settings class: its name, type,
default and check are those of the signature, and its help is the sentence of the docstring, under
the title of its group in `--help`.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from manymove.errors import ParameterError
from manymove.jobs import errors
from manymove.jobs.options import OPTIONS_FILE, flag_of
from manymove.settings import Group, sentences_of

T = TypeVar("T")

# Exit code of a job that has reported its interruption. Typer returns 130 for Ctrl-C elsewhere.
STOPPED = -1
REPEATING = (  # lists in which a value may occur twice
    "molecules", "capacity", "profile", "diameters", "fractions", "contacts", "mole_fractions",
    "step_energies", "step_ranges", "tile", "volume_delta",
)  # fmt: skip
GROUPS = ("System", "Moves", "Run", "Sampling", "Files", "Device", "Options")  # in --help
_TITLE = re.compile(rf"^({'|'.join(GROUPS)}):$", re.MULTILINE)
SEVERAL = ",..."  # ends the metavariable of an option that takes a list


class Command(TyperCommand):
    """A command that accepts lists with spaces; its help texts end with the defaults."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        parameter: Any
        for parameter in self.params:
            parameter.show_default = False
            default = parameter.opts[0] if parameter.default is True else parameter.default
            if parameter.help and default is not None and default is not False:
                shown = f"{default:g}" if isinstance(default, float) else default
                end = f" (default {shown})."
                parameter.help = re.sub(r"( \(default [^()]*\))?\.$", end, parameter.help)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options in groups."""
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in GROUPS}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                title = getattr(parameter, "rich_help_panel", None)
                rows[title or GROUPS[-1]].append(record)
        for title in GROUPS:
            if rows[title]:
                with formatter.section(title):
                    formatter.write_dl(rows[title])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names = {name: parameter for parameter in self.params for name in parameter.opts}
        words: list[str] = []
        several = False  # whether the last word belongs to an option that takes more values
        for arg in args:
            name = arg.partition("=")[0]
            if several and re.match(r"[^-]|-[\d.]", arg):
                words[-1] += ("," if "=" in words[-1] else "=") + arg
                continue
            several = name in names and (names[name].metavar or "").endswith(SEVERAL)
            words.append(arg)
        ctx.allow_extra_args = True
        try:
            extra = super().parse_args(ctx, words)
        except Exception as error:
            unknown = getattr(error, "option_name", None)
            if unknown is None or not hasattr(error, "possibilities"):  # of an unknown option
                raise
            raise ValueError(_unknown(unknown, list(names))) from None
        if extra:
            raise ValueError(
                f"{' '.join(extra)!r} follows no option; a value follows the name of its option"
            )
        return extra


def _unknown(option: str, known: list[str]) -> str:
    """An error for an unknown option, with the options that it abbreviates or misspells."""
    asked = option.replace("_", "-")
    near = [name for name in known if name.startswith(asked) and name.startswith("--")]
    near = near or difflib.get_close_matches(asked, known, cutoff=0.8)
    return f"no such option: {option}" + (f"; did you mean {' or '.join(near)}?" if near else "")


@dataclass(frozen=True)
class Sentence:
    """The help of an option, and the title of its group."""

    text: str
    group: str = GROUPS[-1]


def sentences(owner: Callable[..., Any] | OptionsOf | Without) -> dict[str, Sentence]:
    """The sentences of the options that a function or a settings class declares."""
    if isinstance(owner, OptionsOf | Without):
        return owner.sentences()
    found: dict[str, Sentence] = {}
    for one in owner.__mro__ if isinstance(owner, type) else [owner]:
        _, *parts = re.split(_TITLE, inspect.cleandoc(one.__doc__ or ""))
        for title, lines in zip(parts[::2], parts[1::2], strict=True):
            lines, *_ = re.split(r"\n(?=\S)", lines)  # without the next section
            of_group = {name: Sentence(text, title) for name, text in sentences_of(lines).items()}
            found |= {name: text for name, text in of_group.items() if name not in found}
    return found


def declared(owner: Callable[..., Any] | OptionsOf | Without) -> dict[str, inspect.Parameter]:
    """The options that a function or a settings class declares, as arguments of a function. The
    options of a class are the fields that have a sentence."""
    if isinstance(owner, OptionsOf | Without):
        return owner.parameters()
    if not isinstance(owner, type):
        return dict(inspect.signature(owner, eval_str=True).parameters)
    kinds, fields = get_type_hints(owner, include_extras=True), inspect.signature(owner).parameters
    options = fields.keys() & sentences(owner).keys()
    names = (name for one in owner.__mro__ for name in vars(one).get("__annotations__", ()))
    return {
        name: fields[name].replace(annotation=kinds[name])
        for name in dict.fromkeys(names)
        if name in options
    }


@dataclass(frozen=True)
class OptionsOf:
    """The parameters of a settings class as options of a command.

    Attributes:
        group: the settings class.
        prefix: beginning of the names of the options.
        names: names of the parameters that are options; default all.
        title: title of their group in `--help`.
    """

    group: type[Group]
    prefix: str = ""
    names: str = ""
    title: str = "Moves"

    def sentences(self) -> dict[str, Sentence]:
        """The first sentences of the parameters."""
        return {
            self.prefix + name: Sentence(re.split(r"(?<=\.) (?=[\"A-Z(])", text)[0], self.title)
            for name in self.names.split() or self.group.declared
            for text in [self.group.declared[name].text]
        }

    def parameters(self) -> dict[str, inspect.Parameter]:
        """The options as arguments of a function."""
        signature = inspect.signature(self.group).parameters
        found = {}
        for name in self.names.split() or signature:
            one = signature[name]
            default, kind = (None if one.default is one.empty else one.default), one.annotation
            several = next((k for k in get_args(kind) if get_origin(k) is tuple), kind)
            if {int, str} == set(get_args(kind)):  # a number or a word, which the command tells
                default, several = str(default), str
            kind = several | None if default is None else several
            found[self.prefix + name] = inspect.Parameter(
                self.prefix + name, one.KEYWORD_ONLY, default=default, annotation=kind
            )
        return found


@dataclass(frozen=True)
class Without:
    """The options that a function or a settings class declares, without some of them.

    Attributes:
        owner: the function or the settings class.
        names: names of the options that are left out.
    """

    owner: Callable[..., Any]
    names: str

    def sentences(self) -> dict[str, Sentence]:
        return self._rest(sentences(self.owner))

    def parameters(self) -> dict[str, inspect.Parameter]:
        return self._rest(declared(self.owner))

    def _rest(self, found: dict[str, T]) -> dict[str, T]:
        return {name: each for name, each in found.items() if name not in self.names.split()}


def command(
    app: typer.Typer,
    changeable: str | None = None,
    *like: Callable[..., Any] | OptionsOf | Without,
    texts: Mapping[str, Sentence] | None = None,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function a command of an application.

    Its docstring is the help, with the sentences of the options under the titles of their groups,
    and with examples. Its arguments are the options. An argument that is a tuple takes a list. The
    annotation of an argument may have a check.

    Args:
        app: the application.
        changeable: names of the options that may be changed when `--resume` continues a run; None
            for a command without `--resume`.
        like: functions whose arguments, and settings classes whose parameters, are options of the
            command as well; the command receives them as keyword arguments. Its own sentences
            replace theirs.
        texts: sentences of options by their names, or for one command by "command.name".
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def resumed(**options: Any) -> int:
            if changeable is not None and options["resume"]:
                options = _continued(options, changeable.split())
            for option, check in checks.items():
                if options[option] is not None:
                    check(flag_of(option), options[option])
            try:
                return function(**options)
            except ParameterError as error:
                flags = {name: flag_of(name) for name in options}
                of_size = (each for each in ("particles", "ions", "sizes") if each in flags)
                if size := next(of_size, None):
                    flags["N"] = flags[size]
                raise ValueError(error.with_names(flags)) from error

        own = declared(function)
        found = dict(own)
        if like:
            found.popitem()  # the keyword arguments
            for each in like:
                found |= declared(each)
            found |= {name: own[name] for name in [*own][:-1]}
        if changeable is not None:
            given = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY)
            found["context"] = given.replace(annotation=typer.Context)
        name = function.__name__.rstrip("_").replace("_", "-")
        help_ = dict(texts or {})
        help_ |= {o[len(name) + 1 :]: t for o, t in help_.items() if o.startswith(f"{name}.")}
        for each in (*like, function):
            help_ |= sentences(each)
        checks = {
            option: check
            for option, each in found.items()
            for check in getattr(each.annotation, "__metadata__", ())
            if inspect.isfunction(check)
        }
        parameters = [_option(parameter, help_) for parameter in found.values()]
        resumed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        resumed.__annotations__ = {p.name: p.annotation for p in parameters}
        text, _, examples = (inspect.getdoc(function) or "").partition("\nExamples:\n")
        text, *_ = re.split(_TITLE, text)
        epilog = f"\b\nExamples:\n{examples}"
        return app.command(name, cls=Command, help=text, epilog=epilog)(resumed)

    return decorate


def _option(parameter: inspect.Parameter, help_: Mapping[str, Sentence]) -> inspect.Parameter:
    """The option of an argument of a function."""
    kind, default = parameter.annotation, parameter.default
    if get_origin(kind) is Annotated and inspect.isfunction(kind.__metadata__[0]):
        kind, *_ = get_args(kind)
    if get_origin(kind) is Annotated or kind is typer.Context:
        return parameter.replace(kind=parameter.KEYWORD_ONLY)
    name = parameter.name.rstrip("_")
    settings: dict[str, Any] = {"help": help_[name].text, "rich_help_panel": help_[name].group}
    choices = (kind, *get_args(kind))  # a type, or an optional one
    one = next((k for k in choices if k is int or get_origin(k) is tuple), kind)
    if one is int:

        def read_one(option: typer.CallbackParam, given: str | None) -> int | None:
            return None if given is None else number(option.opts[0], given, int)

        settings |= {"metavar": "<int>", "callback": read_one}
        kind, default = str | None, None if default is None else str(default)
    elif get_origin(one) is tuple:
        each, *others = get_args(one)
        count = None if others == [...] else 1 + len(others)

        def read(option: typer.CallbackParam, given: Any) -> tuple[Any, ...] | None:
            text = given if isinstance(given, str) else ",".join(given or ())
            distinct = count is None and name not in REPEATING
            return values(option.opts[0], text, each, count, distinct) if text else None

        settings |= {"metavar": f"<{each.__name__.lower()}>{SEVERAL}", "callback": read}
        kind = list[str] | None if each is Path else str | None
        default = ",".join(map(str, default)) if default else None
    flag = flag_of(name)
    if default is True:
        flag += f"/--no-{name}"
    option = Annotated[kind, typer.Option(flag, **settings)]  # type: ignore[valid-type]
    return parameter.replace(annotation=option, default=default, kind=parameter.KEYWORD_ONLY)


def values(
    option: str,
    text: str,
    kind: type,
    count: int | None = None,
    distinct: bool = False,
    or_else: str = "",
) -> tuple[Any, ...]:
    """The values of an option that takes a list.

    Args:
        option: name of the option, for errors.
        text: the given text, with commas.
        kind: type of the values.
        count: number of values; None for any number.
        distinct: whether no value may occur twice.
        or_else: other words that the option takes, for errors.
    """
    try:
        read = _integer if kind is int else kind
        found = tuple(map(read, re.sub(",+", ",", text).split(",")))
    except ValueError:
        found = ()
    if not found or count not in (None, len(found)):
        kinds = {int: "integers", float: "numbers"}.get(kind, "words")
        wanted = or_else + {None: "", 2: "two ", 3: "three "}[count] + kinds
        raise ValueError(f"{option} is {text!r}; it must be {wanted} separated by commas")
    if distinct and len(set(found)) < len(found):
        raise ValueError(f"{option} is {text!r}; a value occurs twice")
    return found


def _integer(word: str) -> int:
    """An integer, which may be written with an exponent: 1e4."""
    try:
        return int(word)
    except ValueError:
        if math.isfinite(float(word)) and (value := Decimal(word)) == value.to_integral_value():
            return int(value)
        raise


def number(option: str, word: str, kind: type, words: str = "") -> Any:
    """The number of an option, which also accepts `words`, as the error says."""
    try:
        return _integer(word) if kind is int else kind(word)
    except ValueError:
        wanted = "an integer" if kind is int else "a number"
        wanted += (", " if " or " in words else " or ") + words if words else ""
        raise ValueError(f"{option} is {word!r}; it must be {wanted}") from None


def say(message: str) -> None:
    """Print a line on standard error, on the first of several ranks."""
    errors.say("manymove", message)


def help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def gathered(names: dict[str, Any]) -> dict[str, Any]:
    """The options of a command from its locals()."""
    return {name: value for name, value in names.items() if name != "common"} | names["common"]


# ---- the options of the run that --resume continues ----------------------------------------------

_OF_A_SESSION = ("context", "output", "resume", "overwrite", "quiet")
_STARTS = ("input", "free_energy", "loop")
_ENSEMBLES = ("isotherm", "pressure", "fugacity", "walls", "fields", "gravity", "springs")
_PATHS = (*_STARTS, "fields", "force_field")
_DERIVED = ("--checkpoint-steps",)  # stored with the options, but none of them


def to_store(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a command as `OPTIONS_FILE` holds them."""
    return {
        name: str(value) if isinstance(value, Path) else value
        for name, value in options.items()
        if name not in _OF_A_SESSION
    }


def _continued(options: dict[str, Any], changeable: list[str]) -> dict[str, Any]:
    """The options of a command with those of the run that it continues."""
    path = options["output"] / OPTIONS_FILE
    if not path.is_file():  # the checkpoints, if there are any, are compared with the options
        _refuse_part(options["output"])
        return options
    try:
        stored = dict(json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise ValueError(f"--resume: {path} has no options: {error}") from None
    stored = {flag_of(k): value for k, value in stored.items() if flag_of(k) not in _DERIVED}
    context = options["context"]
    parameters = {parameter.opts[0]: parameter for parameter in context.command.params}
    if others := stored.keys() - parameters:
        some, more = sorted(others)[:3], len(others) - 3
        names = ", ".join(some) + (f" and {more} more" if more > 0 else "")
        raise ValueError(f"--resume: {path} is from another command, which has {names}")
    for flag, held in stored.items():
        name = parameters[flag].name
        several = getattr(parameters[flag], "multiple", False)  # a list of paths
        held = parameters[flag].process_value(context, held if several else _typed(held))
        asked = options[name]
        given = context.get_parameter_source(name).name == "COMMANDLINE"
        if given and held is None and name in (*_STARTS, *_ENSEMBLES):
            raise ValueError(f"--resume: {path} has no {flag}, which needs a new run")
        if given and (name in changeable or held is None):
            continue
        if given and str(held) != str(asked):
            raise ValueError(f"--resume: {path} has {flag} {_typed(held)}, not {_typed(asked)}")
        options[name] = Path(held) if name in _PATHS and held is not None else held
    return options


def _refuse_part(output: Path) -> None:
    """Refuse a folder that holds one run of several, whose options are in the folder above."""
    whole = output.resolve().parent / OPTIONS_FILE
    try:
        stored = dict(json.loads(whole.read_text()))
    except (OSError, ValueError, TypeError):
        return
    of = {"equation_of_state": "equation of state", "isotherm": "isotherm"}
    several = next((name for option, name in of.items() if stored.get(option)), None)
    if several and output.is_dir():
        raise ValueError(
            f"--resume: {output} is a part of the {several} in {output.parent}: give "
            f"--output {output.parent}, which continues all of them"
        )


def _typed(value: Any) -> Any:
    """A list in the form in which it is typed; other values are unchanged."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value
