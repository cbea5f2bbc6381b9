# SPDX-License-Identifier: BSD-3-Clause
"""The options and files of a script that runs or draws a simulation, such as those in examples/.

A script writes `summary.json`, with machine, date and commit, and `picture.png` into --output. With
--quick it makes a short run; with --draw it only draws summaries that exist. A long script keeps
its finished parts in `parts.json`, and the same command continues it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Container
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NoReturn

import numpy as np

from manymove import files
from manymove.info import record
from manymove.jobs import errors, output_folder
from manymove.jobs.figures import write_picture
from manymove.jobs.report import write_json
from manymove.optional import how_to_install

# Options that are no settings of a run.
_FILES = ("output", "overwrite", "quick", "draw")


def run_script(main: Callable[[], None]) -> NoReturn:
    """Run the main function of a script. Errors are one line, as those of the commands."""
    sys.exit(errors.reported(Path(sys.argv[0]).name, main))


class Parser(argparse.ArgumentParser):
    """A parser of the options of a script.

    Args:
        text: docstring of the script, whose first line describes it.
        seed, device: defaults of --seed and --device, for scripts that have these options.
    """

    def __init__(self, text: str | None, seed: int | None = None, device: str | None = None):
        super().__init__(description=(text or "").strip().partition("\n")[0])
        if seed is not None:
            self.option("--seed", seed, f"Seed of the random number generator (default {seed}).")
        if device is not None:
            choices = "auto, cpu, cuda or cuda:<index>"
            self.option("--device", device, f"Device: {choices} (default {device}).")

    def option(self, name: str, default: Any, text: str | None = None, **others: Any) -> None:
        """Add an option. The type of its values is that of the default; if the default is a list,
        the option has one value or more, and if it is False, none.

        Args:
            name: name of the option, such as "--sweeps".
            default: default, or for an option without a default the type of its values.
            text: help text.
            others: other arguments of `argparse.ArgumentParser.add_argument`.
        """
        if default is False:
            self.add_argument(name, action="store_true", help=text)
            return
        several = isinstance(default, (list, tuple))
        first = next(iter(default), "") if several else default
        kind = default if isinstance(default, type) else type(first)
        given = {"type": kind, **({"nargs": "+"} if several else {}), **others}
        default = None if isinstance(default, type) else default
        self.add_argument(name, default=default, help=text, **given)


def parse(
    parser: argparse.ArgumentParser,
    name: str,
    quick: dict[str, Any],
    draw: Callable[[dict[str, Any]], Any] | bool = True,
    draw_all: Callable[[list[dict[str, Any]]], Any] | None = None,
    without_a_run: tuple[str, ...] = (),
) -> argparse.Namespace:
    """Parse the options of a script together with those that all scripts have. A folder that has
    the summary of an earlier run is an error.

    Args:
        parser: parser with the script's own options.
        name: name of the experiment; the default of --output is out/<name>.
        quick: values that --quick gives to the script's own options, unless they are named as well.
        draw: function of a summary that returns a figure. With --draw the figure of the first
            summary is written, and the script ends. With True the script draws by itself, with
            False it cannot.
        draw_all: the same for a figure of all summaries.
        without_a_run: names of the script's own options with which it runs nothing.
    """
    parser.add_argument(
        "--output", type=Path, default=Path("out") / name, metavar="FOLDER",
        help=f"Folder of summary.json and picture.png (default out/{name}).",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="Replace the results in --output.")
    parser.add_argument(
        "--quick", action="store_true", help="Make a short run of less than a minute on two cores."
    )
    if draw is not False:
        parser.add_argument(
            "--draw", type=Path, nargs="+", metavar="FILE",
            help="Draw these summaries into --output instead of running anything.",
        )  # fmt: skip
    if parser.parse_known_args()[0].quick:
        parser.set_defaults(**quick)
    options = parser.parse_args()
    try:
        output_folder.claim(options.output, resume=True, overwrite=False)
        files.make_folder(options.output)
    except OSError as error:
        parser.error(str(error))
    runs = not any(getattr(options, other, None) for other in ("draw", *without_a_run))
    if runs and not options.overwrite and (options.output / "summary.json").exists():
        parser.error(
            f"{options.output} holds the results of an earlier run (summary.json): --overwrite "
            "replaces them, and another --output keeps them"
        )
    figure = draw_all or (draw if callable(draw) else None)
    if figure is not None and options.draw:
        summaries: Any = read(options)
        picture(options, figure(summaries if draw_all else summaries[0]))
        sys.exit()
    return options


def need(parser: argparse.ArgumentParser, *modules: str) -> None:
    """End with an error of the command line if one of these modules is not installed."""
    remedies = {
        "hoomd": "conda install -c conda-forge hoomd, or build it from source",
        "hoomd.manymove": "build the component, see hoomd_ext/README.md",
        "hoomd.hpmc": "this HOOMD-blue was built without it",
        "hoomd.md": "this HOOMD-blue was built without it",
    }
    for module in modules:
        try:
            found = find_spec(module)
        except ModuleNotFoundError:  # its parent
            found = None
        if found is None:
            remedy = remedies.get(module, how_to_install(module))
            parser.error(f"this run needs {module}, which is not installed ({remedy})")


class _Entries(dict[str, Any]):
    """Entries of a summary. One that is missing is an error that names the file."""

    def __init__(self, path: Path, entries: dict[str, Any]) -> None:
        super().__init__(entries)
        self._path = path

    def __missing__(self, name: str) -> NoReturn:
        raise ValueError(f"--draw: {self._path} is not a summary of this script: no {name!r}")


def read(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The summaries that --draw names. A file with `parts` has one for each part.

    Raises:
        OSError, ValueError: a file cannot be read, or it is not a summary.
    """

    def summary(path: Path) -> dict[str, Any]:
        try:
            found = json.loads(path.read_text(), object_hook=partial(_Entries, path))
        except ValueError as error:
            raise ValueError(f"--draw: {path} is not a summary: {error}") from None
        if not isinstance(found, dict):
            raise ValueError(f"--draw: {path} is not a summary")
        if "options" in found and "parts" in found:
            raise ValueError(f"--draw: {path} has the parts of a run, not its summary")
        return found

    found = [summary(path) for path in options.draw]
    return [
        one for file in found for one in (file["parts"].values() if "parts" in file else [file])
    ]


def fractions(options: argparse.Namespace, *names: str) -> None:
    """Refuse packing fractions of the script that do not lie between 0 and 1.

    Raises:
        ValueError: a value is out of range; the text names the option.
    """
    for name in names:
        for value in np.atleast_1d(getattr(options, name)):
            if not 0 < value < 1:
                raise ValueError(
                    f"--{name.replace('_', '-')} has {value:g}; it must lie between 0 and 1"
                )


def at_least(options: argparse.Namespace, **least: float) -> None:
    """Refuse options of the script that are smaller than these numbers, also in lists.

    Raises:
        ValueError: an option is too small or not a number; the text names it.
    """
    for name, bound in least.items():
        for value in np.atleast_1d(getattr(options, name)):
            if not value >= bound:
                raise ValueError(
                    f"--{name.replace('_', '-')} is {value:g}; it must be at least {bound:g}"
                )


def _settings(options: argparse.Namespace, without: Container[str]) -> dict[str, Any]:
    """The options but for some, as JSON has them: lists for tuples and texts for paths."""
    found = {name: value for name, value in vars(options).items() if name not in without}
    return json.loads(json.dumps(found, default=str))


def save(options: argparse.Namespace, result: dict[str, Any]) -> dict[str, Any]:
    """Write summary.json: machine, date and commit, the options, and the result.

    Returns:
        what the file contains.
    """
    summary = {**record(), **_settings(options, _FILES), **result}
    write_json(options.output / "summary.json", summary)
    return summary


def finish(
    options: argparse.Namespace, result: dict[str, Any], draw: Callable[[dict[str, Any]], Any]
) -> None:
    """Write summary.json as `save` does, and the figure that `draw` returns for this summary."""
    picture(options, draw(save(options, result)))


def compared(
    quantity: str,
    ours: tuple[float, float | None],
    published: tuple[float, float | None] | None,
    size: str,
    length: str,
) -> dict[str, Any]:
    """A row of the entry `rows` of a summary, from which docs/papers.md is written.

    Args:
        quantity: what is compared, with its unit and state point.
        ours: value and standard error; the error is None if it is unknown.
        published: value and standard error of the paper, or None if the paper has no number.
        size: size of the system, such as "65,536 disks".
        length: length of the run, such as "2.4e7 sweeps".
    """
    return {
        "quantity": quantity, "ours": list(ours), "published": published and list(published),
        "size": size, "length": length,
    }  # fmt: skip


def compiled(
    source: Path, folder: str | Path, *flags: str, gpu: bool = False, level: str = "-O3"
) -> ctypes.CDLL:
    """A program of a script, compiled for the processor of this machine.

    Args:
        source: the file in C++20 or CUDA.
        folder: existing folder of the shared library.
        flags: further flags of the compiler.
        gpu: compile with nvcc for the GPU of this machine, otherwise for the CPU with the C++
            compiler that the environment variable CXX names (default c++).
        level: flag of the optimization.

    Raises:
        subprocess.CalledProcessError: the compiler fails.
        OSError: there is no compiler.
    """
    library = Path(folder) / f"{source.stem}{'-gpu' if gpu else ''}.so"
    if gpu:
        command = ["nvcc", "-x", "cu", "-arch=native", "-Xcompiler", "-fPIC"]
    else:
        command = [*shlex.split(os.environ.get("CXX", "c++")), "-x", "c++"]
        command += ["-march=native", "-fPIC"]
    command += ["-std=c++20", level, "-shared", *flags, str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


class Parts:
    """The finished parts of a long script. They are kept in --output/parts.json, so that the same
    command continues an interrupted script. --overwrite starts from the beginning: the first part
    that begins removes the parts and the summary of the earlier run, and the same command without
    --overwrite continues the new run.

    Args:
        options: options of the script. If it has an option --minutes, no part begins after that
            time, and :meth:`run` ends the script with the number of parts that have ended.
        without: names of options that may differ between the commands, such as the device.

    Raises:
        ValueError: --minutes is not positive, or the existing parts have other options; the text
            names the first difference.
    """

    def __init__(self, options: argparse.Namespace, without: tuple[str, ...] = ()) -> None:
        settings = _settings(options, {*_FILES, "minutes", *without})
        minutes = getattr(options, "minutes", None)
        if minutes is not None and not minutes > 0:
            raise ValueError(f"--minutes is {minutes:g}; it must be positive")
        self._path = options.output / "parts.json"
        self._earlier = (self._path, options.output / "summary.json") if options.overwrite else ()
        self._lock = Lock()
        self._end = monotonic() + 60 * (math.inf if minutes is None else minutes)
        self._kept: dict[str, Any] = {"options": settings, "parts": {}}
        if self._path.exists() and not options.overwrite:
            kept = json.loads(self._path.read_text())
            for name, value in settings.items():
                held, flag = kept["options"], f"--{name.replace('_', '-')}"
                if held.get(name) != value:
                    other = f"has {flag} {held.get(name)}, not {value}"
                    has = other if name in held else f"has no {flag}, which needs a new run"
                    raise ValueError(
                        f"{self._path} {has}: --overwrite begins again, another --output keeps it"
                    )
            self._kept = kept

    def run(self, name: str, function: Callable[[], Any]) -> Any:
        """The result of a part as JSON has it, with lists for tuples. The function is called if the
        part is not finished. Several threads may call this method at the same time."""
        if name not in self._kept["parts"]:
            if monotonic() > self._end:
                raise SystemExit(
                    f"{len(self._kept['parts'])} parts are in {self._path}; the same command "
                    "continues (without --overwrite, which begins again)"
                )
            with self._lock:
                if self._earlier:
                    files.make_folder(self._path.parent)
                    files.remove(*self._earlier)
                    self._earlier = ()
            # As a continued script finds it in the file.
            result = json.loads(json.dumps(function()))
            with self._lock:
                self._kept["parts"][name] = result
                write_json(self._path, self._kept)
        return self._kept["parts"][name]


def picture(options: argparse.Namespace, figure: Any, dpi: int = 130) -> None:
    """Write picture.png and print the path of the folder."""
    write_picture(options.output / "picture.png", figure, dpi)
    print(f"results in {options.output}/")
