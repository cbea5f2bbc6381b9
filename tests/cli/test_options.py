# SPDX-License-Identifier: BSD-3-Clause
"""Options mean the same in all commands: their help, their lists, their earlier names, examples."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import subprocess
import sys
from functools import partial
from typing import Annotated

import numpy as np
import pytest
import typer
from commands import SMALL, summary_of
from flat_settings import of_hard_particles
from help_texts import Helpful

from manymove import HardDisks, HardSpheres, cli
from manymove.adsorption import replica as adsorption
from manymove.cli import adsorbents, commands
from manymove.cli.options import OptionsOf, sentences
from manymove.cli.options import command as make_command
from manymove.electrolyte import replica as electrolyte
from manymove.hard_particles.settings import DiskSettings, SphereSettings
from manymove.jobs.options import least
from manymove.jobs.world import World
from manymove.settings import Forces, Steps, Swaps


def all_commands(group=None, name=""):
    """The full name of each command, and the command."""
    group = group or typer.main.get_command(cli.app)
    for part, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from all_commands(each, f"{name} {part}")
        else:
            yield f"{name} {part}".strip(), each


# ---- help ----------------------------------------------------------------------------------------


class TestHelp(Helpful):
    program, run, commands = "manymove", staticmethod(cli.run), dict(all_commands())
    foreign = {
        "disks": "sphere volume Lz fcc",
        "spheres": "disk area hexagonal d^2",
        "electrolyte": "disk adsorb framework",
        "dpd": "disk angstrom kelvin",
        "adsorption": "disk ion sphere reduced",
        "henry": "linear disk",
        "pores": "linear disk",
        "screen": "disk ion sphere reduced",
    }


COMMANDS, OPTIONS = TestHelp.commands, TestHelp.options


def test_all_commands_are_looked_at():
    assert {"disks", "dpd", "electrolyte", "adsorption", "info", "bench"} <= COMMANDS.keys()
    assert len(OPTIONS) > 100


@pytest.mark.parametrize("name", ["disks", "spheres", "electrolyte", "adsorption", "dpd"])
def test_options_stand_in_groups(name, capsys):
    assert cli.run([name, "--help"]) == 0
    printed = capsys.readouterr().out
    titles = re.findall(r"^(\w[\w ]*):$", printed, re.MULTILINE)
    groups = ["System", "Moves", "Run", "Sampling", "Files", "Device"]
    found = [title for title in titles if title in groups]
    assert found == [title for title in groups if title in found] and len(found) >= 5
    for flag in ("--seed", "--output", "--device"):
        assert printed.count(f"  {flag} ") == 1


def test_a_parameter_of_a_class_has_one_sentence():
    """The options of swap moves and trials are declared by the settings classes."""
    found = {option.opts[0]: option.help for name, option in OPTIONS if name != "bench"}
    for group, prefix in ((Swaps, "swap-"), (Forces, ""), (Steps, "")):
        for name, parameter in group.declared.items():
            flag = f"--{prefix}{name.replace('_', '-')}"
            if flag in found and name not in ("cutoff", "method", "max_displacement"):
                sentence = parameter.text.rstrip(".").partition(". ")[0]
                assert found[flag].startswith(sentence.partition(" (default")[0])


def noun(text):
    """What an option is, without unit, choices and default."""
    return re.split(r" in | of (?!the )|[.,;:(]", text)[0].strip()


# Options whose unit, choices or default depend on the command.
DIFFERENT = """
packing_fraction sweeps equilibrate start diameters max_displacement frames pressure volume_delta
tile seed device temperature cutoff method systems insertions grid_spacing moves_per_cell
precision packing_fractions particles trial_positions trial_orientations resume
""".split()


def test_an_option_means_the_same_in_all_commands():
    found = {}
    for name, option in OPTIONS:
        found.setdefault(option.opts[0], []).append((name, option))
    shared = {flag: uses for flag, uses in found.items() if len(uses) > 1}
    assert {"--threads", "--device", "--seed", "--output", "--checkpoint-every"} <= shared.keys()
    for flag, uses in shared.items():
        texts = {re.sub(r" \(default [^()]*\)\.$", ".", option.help) for _, option in uses}
        if flag[2:].replace("-", "_") not in DIFFERENT:
            assert len(texts) == 1, (flag, texts)
        assert len({noun(text).removesuffix("s") for text in texts}) == 1, (flag, texts)
        # Benchmarks take several values of some: "<int>,..." is of the same type as "<int>".
        types = {kind(option) for _, option in uses}
        assert len(types - {None}) <= 1, (flag, types)
        stated = {"(default " in option.help for _, option in uses}
        assert len(stated) == 1 or types == {None}, flag


def kind(option):
    """The type of a value; None for a flag, and where words stand for numbers."""
    names, _ = option.get_help_record(typer.Context(COMMANDS["info"]))
    name = re.search(r"<(\w+)>|([A-Z]{3,})|$", names)
    return None if name.group() in ("", "<str>") else name.group()


def default_of(name, flag, pattern):
    """A number that stands in the default of a help text."""
    text = TestHelp.help_of(name)[flag]
    return float(re.search(rf"\(default .*?{pattern}", text, re.DOTALL)[1])


@pytest.mark.parametrize(
    ("name", "kind", "pattern", "moves", "given"),
    [
        ("disks", HardDisks, r"([\d.]+);", r"(\d+)", {}),
        ("disks", HardDisks, r"--pressure ([\d.]+)", r"or (\d+)", {"pressure": 2.0}),
        ("disks", HardDisks, r"mixture ([\d.]+)", r"or (\d+)", {"diameters": [1.0] * 64}),
        ("spheres", HardSpheres, r"([\d.]+),", r"(\d+)", {}),
        ("spheres", HardSpheres, r"([\d.]+),", r"(\d+)", {"pressure": 2.0}),
        ("spheres", HardSpheres, r"mixture ([\d.]+)", r"(\d+)", {"diameters": [1.0] * 64}),
    ],
)
def test_the_defaults_of_hard_particles_in_the_help_are_those_of_the_engines(
    name, kind, pattern, moves, given
):
    axes = 2 if kind is HardDisks else 3
    edge = {2: 8, 3: 4}[axes]
    lattice = np.stack(np.meshgrid(*axes * [np.arange(edge) + 0.5], indexing="ij"), -1)
    box = axes * (2.0 * edge,)
    positions = 2 * lattice.reshape(-1, axes) - edge
    engine = kind(positions, box, seed=1, device="cpu", threads=1, **of_hard_particles(**given))
    shown = default_of(name, "--max-displacement", pattern)
    assert engine.max_displacement == pytest.approx(shown, rel=0.01)
    if moves is not None:
        assert engine.moves_per_cell == default_of(name, "--moves-per-cell", moves)


def test_every_sentence_is_that_of_an_option():
    for name, each in COMMANDS.items():
        flags = {option.opts[0] for option in each.params}
        for option in sentences(each.callback):
            assert flags & {f"--{option.replace('_', '-')}", option}, (name, option)


def test_a_parameter_has_one_sentence_of_its_declaration():
    found = sentences(OptionsOf(Forces, title="System"))
    assert found["a"].text == "Maximum repulsion a, a force in reduced units (Eq. 3)."
    assert {each.group for each in found.values()} == {"System"}


OF_JOBS = {
    "disks": (DiskSettings, [commands._of_hard_particles]),
    "spheres": (SphereSettings, [commands._of_hard_particles]),
    "electrolyte": (electrolyte.Settings, []),
    "adsorption": (adsorption.Settings, [adsorbents.of_framework, adsorbents.of_molecules]),
}
NEEDED = {
    "disks": {"particles": 64, "packing_fraction": 0.5, "replicas": 1},
    "spheres": {"particles": 64, "packing_fraction": 0.3, "replicas": 1},
    "electrolyte": {"replicas": 1},
    "adsorption": {
        "framework": "ITQ-1", "molecules": [1], "adsorbates": [], "method": "pmc", "systems": 1,
        "options": {"temperature": 300.0, "proposals": None},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", OF_JOBS)
def test_an_option_of_the_settings_is_declared_there_alone(name):
    """Name, default and sentence of an option follow from the field of the settings."""
    command, (settings, others) = COMMANDS[name], OF_JOBS[name]
    options = {option.name: option for option in command.params}
    fields = {field.name: field for field in dataclasses.fields(settings)}
    declared = sentences(settings)
    assert len(declared) > 10
    for function in (inspect.unwrap(command.callback), *others):
        assert not declared.keys() & inspect.signature(function).parameters.keys()
    for field, sentence in declared.items():
        assert options[field].help.startswith(re.sub(r"( \(default .*\))?\.$", "", sentence.text))
        default = fields[field].default
        if isinstance(default, tuple):
            default = ",".join(map(str, default)) or None
        elif type(default) is int:
            default = str(default)
        assert options[field].default == default


@pytest.mark.parametrize("name", OF_JOBS)
def test_a_changed_declaration_changes_the_option(name):
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Changed(OF_JOBS[name][0]):
        """Another declaration of an option.

        Run:
            seed: First of the seeds.
        """

        seed: Annotated[int, least(7)] = 11

    app, made = typer.Typer(), []

    @make_command(app, None, Changed)
    def one(**common):
        made.append(Changed(**common | NEEDED[name]))
        return 0

    run = partial(app, standalone_mode=False)
    assert run([]) == 0 and made[0].seed == 11
    options = {option.name: option for option in typer.main.get_command(app).params}
    assert options["seed"].help == "First of the seeds (default 11)."
    with pytest.raises(ValueError, match="--seed is 3; it must be at least 7"):
        run(["--seed", "3"])
    with pytest.raises(ValueError, match="--seed is 3; it must be at least 7"):
        Changed(**NEEDED[name], seed=3)


@pytest.mark.parametrize("name", OF_JOBS)
@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("seed", -1, "it must be at least 0"),
        ("threads", 0, "it must be at least 1"),
        ("equilibrate", -1, "it must be at least 0"),
        ("equilibrate", 1.5, "it must be an integer"),
        ("checkpoint_every", -1.0, "it must not be negative"),
    ],
)
def test_settings_made_in_code_are_checked_as_options(name, option, value, wanted):
    settings = OF_JOBS[name][0]
    flag = f"--{option.replace('_', '-')}"
    with pytest.raises((TypeError, ValueError), match=f"{flag} is {value}; {wanted}"):
        settings(**NEEDED[name], **{option: value})
    assert settings(**NEEDED[name], checkpoint_every=0).checkpoint_every == 0


# ---- lists ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        ("electrolyte --valences 3,-1", "valences", (3, -1)),
        ("electrolyte --valences 3 -1 --seed 2", "valences", (3, -1)),
        ("electrolyte --valences -1 3", "valences", (-1, 3)),
        ("electrolyte --valences=-1,3", "valences", (-1, 3)),
        ("electrolyte --valences=2 -2", "valences", (2, -2)),
        ("electrolyte --diameters 7.5, 5", "diameters", (7.5, 5.0)),
        ("electrolyte", "diameters", None),
        ("adsorption --molecules 3 3", "molecules", (3, 3)),
        ("adsorption --cells 2 2 2", "cells", (2, 2, 2)),
        ("adsorption --profile z", "profile", ("z",)),
        ("adsorption --isotherm .5 1e1", "isotherm", (0.5, 10.0)),
    ],
)
def test_lists_are_separated_by_commas_or_spaces(line, name, expected):
    assert TestHelp.parsed(f"manymove {line}")[name] == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("electrolyte --valences 3", "--valences is '3'; it must be two integers separated by"),
        ("electrolyte --valences 3 -1 2", "--valences is '3,-1,2'; it must be two integers"),
        ("electrolyte --diameters 7.5,wide", "--diameters is '7.5,wide'; it must be two numbers"),
        ("electrolyte --seed 1 2", "'2' follows no option"),
        ("bench --sizes 64 64", "--sizes is '64,64'; a value occurs twice"),
    ],
)
def test_errors_of_lists_name_the_option(line, message, capsys):
    assert cli.run(line.split()) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


# ---- lists ---------------------------------------------------------------------------------------


def test_a_list_that_differs_from_the_stored_one_is_refused(tmp_path, capsys):
    short = [*SMALL["electrolyte"].split(), "--device", "cpu", "--quiet", "--output"]
    assert cli.run(["electrolyte", *short, str(tmp_path), "--valences", "2,-2"]) == 0
    again = ["electrolyte", "--resume", "--quiet", "--output", str(tmp_path)]
    assert cli.run([*again, "--sweeps", "3", "--valences", "2", "-2"]) == 0
    assert summary_of(tmp_path)["sweeps"] == 3 and summary_of(tmp_path)["valences"] == [2, -2]
    assert cli.run([*again, "--valences", "1,-1"]) == 2
    assert "has --valences 2,-2, not 1,-1" in capsys.readouterr().err


# ---- summaries -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "count"), [("disks", 64), ("electrolyte", 64), ("adsorption", 8)])
def test_summaries_have_the_number_of_particles(name, count, tmp_path):
    words = [name, *SMALL[name].split(), "--device", "cpu", "--quiet", "--output", str(tmp_path)]
    assert cli.run(words) == 0
    summary = summary_of(tmp_path)
    assert summary["N"] == count
    assert not summary.keys() & {"particles", "ions"}
    errors = [key for key in summary if "_error" in key and "grid" not in key]
    for key in errors:
        quantity = re.sub(
            "_error(?=_|$)", "", key.removesuffix("_converged").removesuffix("_factor")
        )
        assert quantity in summary or f"{quantity}_kT" in summary, key


@pytest.mark.parametrize(("threads", "shares"), [(7, [3, 2, 2]), (3, [1, 1, 1]), (1, [1, 1, 1])])
def test_ranks_divide_the_threads_of_the_command(threads, shares):
    ranks = [World(rank=rank, size=3, local_rank=rank) for rank in range(3)]
    assert [world.threads(threads) for world in ranks] == shares
    assert ranks[0].threads(None) is None  # all cores


# ---- the application -----------------------------------------------------------------------------


def manymove(*words, **variables):
    program = "from manymove.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_a_shell_that_is_named(shell):
    found = manymove(_MANYMOVE_COMPLETE=f"source_{shell}")
    assert found.returncode == 0 and found.stderr == ""
    assert "_MANYMOVE_COMPLETE=complete_" in found.stdout and "manymove" in found.stdout


def test_commands_and_options_are_completed():
    def completed(line):
        words = line.split(" ")
        found = manymove(
            _MANYMOVE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)
        )
        assert found.returncode == 0 and found.stderr == ""
        return found.stdout.split()

    assert completed("manymove el") == ["electrolyte"]
    assert completed("manymove bench ads") == ["adsorption"]
    assert completed("manymove disks --check") == ["--checkpoint-every"]
    assert completed("manymove bench disks --sizes 1024 4096 --sec") == ["--seconds"]


def test_completion_is_an_option_of_the_application(capsys):
    assert cli.run(["-h"]) == 0
    printed = capsys.readouterr().out
    assert "--install-completion" in printed and "--show-completion" in printed


@pytest.mark.parametrize(
    ("words", "meant"),
    [("diks", "disks"), ("bench dpt", "dpd"), ("disks --particle 3", "--particles")],
)
def test_what_is_mistyped_is_answered_with_what_may_be_meant(words, meant, capsys):
    assert cli.run(words.split()) == 2
    error = capsys.readouterr().err
    assert meant in error and error.count("\n") == 1
