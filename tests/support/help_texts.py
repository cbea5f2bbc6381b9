# SPDX-License-Identifier: BSD-3-Clause
"""What the help of both programs, `manymove` and `python -m benchmarks`, must be like."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import pytest


class Helpful:
    """Tests of the help of a program. A file of tests derives a class, whose attributes are:

    Attributes:
        program: words before the name of a command.
        run: runs a command in this process, and returns its exit status.
        commands: all commands by name; `options` are those that their help shows.
        foreign: by command, words of other algorithms, which its help must not have.
        flags: options that show the help.
    """

    program: str
    run: Callable[[list[str]], int]
    commands: Mapping[str, Any]
    foreign: Mapping[str, str]
    flags: tuple[str, ...] = ("-h", "--help")

    def __init_subclass__(cls) -> None:
        cls.options = [
            (name, option)
            for name, command in cls.commands.items()
            for option in command.params
            if not option.hidden
        ]

    @classmethod
    def parsed(cls, line: str) -> dict[str, Any]:
        """The options of a command line, which is not run."""
        name, *words = shlex.split(line.partition(f"{cls.program} ")[2])
        return cls.commands[name].make_context(name, words).params

    @classmethod
    def help_of(cls, name: str) -> dict[str, str]:
        """The help of each option of a command."""
        return {option.opts[0]: option.help or "" for each, option in cls.options if each == name}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "option" in metafunc.fixturenames:
            ids = [str(each)[:40] for each in self.options]
            metafunc.parametrize(("name", "option"), self.options, ids=ids)
        else:
            of_foreign = "foreign" in metafunc.function.__name__
            metafunc.parametrize("name", self.foreign if of_foreign else self.commands)

    def test_help_has_examples_that_are_accepted(self, name, capsys):
        for flag in self.flags:
            assert self.run([*name.split(), flag]) == 0
        printed, epilog = capsys.readouterr().out, self.commands[name].epilog
        lines = re.findall(rf"^ +(.*{self.program} .*)$", epilog, re.MULTILINE)
        assert (1 if name == "info" else 2) <= len(lines) <= 3
        for line in lines:
            assert line in printed, "a line that is too long is broken"
            assert f"{self.program} {name}" in line
            self.parsed(line)

    def test_help_is_a_sentence_with_its_default(self, name, option):
        text = option.help
        assert re.match(r"[A-Z].*\.$", text, re.DOTALL) and not text.startswith("Of ")
        assert text.count("(default ") <= 1
        if option.default is not None and option.default is not False:
            shown = option.opts[0] if option.default is True else option.default
            shown = f"{shown:g}" if isinstance(shown, float) else shown
            assert text.endswith(f"(default {shown}).")

    def test_help_has_no_foreign_words(self, name):
        for flag, text in self.help_of(name).items():
            for word in self.foreign[name].split():
                found = re.search(rf"(?<![\w-]){re.escape(word)}(s?\b|$)", text)
                assert not found, (flag, word, text)
