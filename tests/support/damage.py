"""Damaged files, the same ones in every run: flipped, cut, swapped, lost, doubled, blanked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np


def change_checkpoint(
    path: Path, edit: Callable[[dict[str, Any], dict[str, Any]], object], to: Path | None = None
) -> None:
    """Rewrite a checkpoint, or write another one, after edit(arrays, header)."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(str(arrays["header"]))
    edit(arrays, header)
    if "header" in arrays:
        arrays["header"] = json.dumps(header)
    with open(to or path, "wb") as file:
        np.savez(file, **arrays)


def _flip(random: np.random.Generator, data: bytearray) -> None:
    data[random.integers(len(data))] ^= 1 << int(random.integers(8))


def _replace(random: np.random.Generator, data: bytearray) -> None:
    for _ in range(random.integers(1, 9)):
        data[random.integers(len(data))] = int(random.integers(256))


def _cut(random: np.random.Generator, data: bytearray) -> None:
    del data[random.integers(len(data)) :]


def _lose(random: np.random.Generator, data: bytearray) -> None:
    first = random.integers(len(data))
    del data[first : first + random.integers(1, 33)]


def _double(random: np.random.Generator, data: bytearray) -> None:
    first = random.integers(len(data))
    data[first:first] = data[first : first + random.integers(1, 33)]


def _blank(random: np.random.Generator, data: bytearray) -> None:
    first = random.integers(len(data))
    length = min(int(random.integers(1, 65)), len(data) - first)
    data[first : first + length] = bytes(length)


def _swap(random: np.random.Generator, data: bytearray) -> None:
    length = min(64, len(data) // 2)
    a, b = random.integers(len(data) - length, size=2)
    data[a : a + length], data[b : b + length] = data[b : b + length], data[a : a + length]


KINDS = (_flip, _replace, _cut, _lose, _double, _blank, _swap)


def damaged(whole: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """So many versions of a file, each with one kind of damage; a name for messages, and bytes."""
    random = np.random.default_rng(seed)
    for k in range(count):
        kind = KINDS[k % len(KINDS)]
        data = bytearray(whole)
        kind(random, data)
        yield f"{kind.__name__[1:]} {k}", bytes(data)


def damaged_words(text: str, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """The same with whole words of a text file: replaced, lost, or swapped."""
    random = np.random.default_rng(seed)
    strange = ("nan", "-1", "1e300", "0", "999999999999999999999", "x", "?", "''", "loop_", "\x00")
    for k in range(count):
        words = text.split(" ") if k % 2 else text.split("\n")
        a, b = random.integers(len(words), size=2)
        if k % 3 == 0:
            words[a], words[b] = words[b], words[a]
        elif k % 3 == 1:
            words[a] = strange[random.integers(len(strange))]
        else:
            del words[a]
        yield f"words {k}", (" " if k % 2 else "\n").join(words)
