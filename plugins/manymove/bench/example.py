# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts in examples/ have in common: options, and the files that a run leaves.

Each script writes `summary.json` and `picture.png` into --output. With --quick it takes less than a
minute on two cores; with --draw it only draws summaries that exist.
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from manymove.bench.harness import machine
from manymove.jobs import output_folder
from manymove.jobs.figures import write_picture
from manymove.jobs.report import write_json


def parse(
    parser: argparse.ArgumentParser,
    name: str,
    quick: dict[str, Any],
    draw: bool = True,
    without_a_run: tuple[str, ...] = (),
) -> argparse.Namespace:
    """Parse the options of a script together with those that all scripts have. A folder that has
    the summary of an earlier run is an error.

    Args:
        parser: parser with the script's own options.
        name: name of the experiment; the default of --output is out/<name>.
        quick: values that --quick gives to the script's own options, unless they are named as well.
        draw: whether the script can draw summaries that exist.
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
    if draw:
        parser.add_argument(
            "--draw", type=Path, nargs="+", metavar="FILE",
            help="Draw these summaries into --output instead of running anything.",
        )  # fmt: skip
    if parser.parse_known_args()[0].quick:
        parser.set_defaults(**quick)
    options = parser.parse_args()
    try:
        output_folder.claim(options.output, resume=True, overwrite=False)  # writable
    except OSError as error:
        parser.error(str(error))
    runs = not any(getattr(options, other, None) for other in ("draw", *without_a_run))
    if runs and not options.overwrite and (options.output / "summary.json").exists():
        parser.error(
            f"{options.output} holds the results of an earlier run (summary.json): --overwrite "
            "replaces them, and another --output keeps them"
        )
    return options


def need(parser: argparse.ArgumentParser, *modules: str) -> None:
    """End with an error of the command line if one of these modules is not installed."""
    remedies = {
        "hoomd": "conda install -c conda-forge hoomd, or build it from source",
        "hoomd.manymove": "build the component, see hoomd_ext/README.md",
        "hoomd.hpmc": "this HOOMD-blue was built without it",
    }
    for module in modules:
        try:
            found = find_spec(module)
        except ModuleNotFoundError:  # its parent
            found = None
        if found is None:
            remedy = remedies.get(module, f"pip install {module}")
            parser.error(f"this run needs {module}, which is not installed ({remedy})")


def read(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The summaries that --draw names."""
    return [json.loads(path.read_text()) for path in options.draw]


def save(options: argparse.Namespace, result: dict[str, Any]) -> dict[str, Any]:
    """Write summary.json: machine, date and commit, the options, and the result.

    Returns:
        what the file contains.
    """
    hidden = ("output", "overwrite", "quick", "draw")
    settings = {key: value for key, value in vars(options).items() if key not in hidden}
    summary = {**machine(), **settings, **result}
    write_json(options.output / "summary.json", summary)
    return summary


def picture(options: argparse.Namespace, figure: Any, dpi: int = 130) -> None:
    """Write picture.png and print the path of the folder."""
    write_picture(options.output / "picture.png", figure, dpi)
    print(f"results in {options.output}/")
