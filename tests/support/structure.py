"""The structure of the C++ and CUDA sources: what they include, and the sizes of their functions.

Functions are found by the braces of sources that clang-format has formatted: no compiler is needed.
Each check takes the folder of the repository and yields what is wrong, in sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

FOLDERS = ("plugins/core", "plugins/bindings", "hoomd_ext/src", "lammps_ext/src")
SUFFIXES = {".h", ".cuh", ".cpp", ".cu", ".cc"}
COPIED = "vendor"  # folders of other projects' files
LAYERS = ("runtime", "parallel", "algorithms", "bindings")
MOST_LINES, MOST_LINES_OF_FUNCTION, MOST_PARAMETERS = 600, 120, 8
# Words that a reader from the field does not know, as parts of names and in comments.
PRIVATE_WORDS = set(
    "anew bath calm deck decks fate hear hopeful meeting mend mended mending mends nobody quiet "
    "somebody whoever".split()
)


def sources(root: Path) -> list[Path]:
    """All sources, without those that are copies of other projects' files."""
    found = (path for folder in FOLDERS for path in (root / folder).rglob("*"))
    return sorted(p for p in found if p.suffix in SUFFIXES and COPIED not in p.parts)


# ---- includes ----


def included(root: Path, path: Path) -> Iterator[tuple[str, Path | None]]:
    """The quoted includes of a file, with the file of the repository that each of them is."""
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        around = (path.parent, root / "plugins", root / "hoomd_ext/src", root / "lammps_ext/src")
        found = (folder / name for folder in around if (folder / name).is_file())
        yield name, next((Path(*each.resolve().parts) for each in found), None)


def area(root: Path, path: Path) -> tuple[str, str]:
    """The layer of a file, and the name of its part of the layer."""
    parts = path.relative_to(root).parts
    if parts[:2] != ("plugins", "core"):
        return "bindings", parts[0]
    return (parts[2], "") if parts[2] in LAYERS else ("algorithms", parts[2])


def wrong_includes(root: Path) -> Iterator[str]:
    """Includes from cuda/ to cpu/, up the layers, between algorithms and of missing files."""
    root = root.resolve()
    for path in sources(root):
        own, part = area(root, path)
        for name, file in included(root, path):
            says = f"{path.relative_to(root)} includes {name}"
            if file is None:
                if own != "bindings":  # adaptors include headers of their programs
                    yield f"{says}, which does not exist"
                continue
            if "cuda" in path.relative_to(root).parts and "cpu" in file.relative_to(root).parts:
                yield f"{says}: a CUDA source needs the folder of the CPU"
            other, other_part = area(root, file)
            if LAYERS.index(other) > LAYERS.index(own):
                yield f"{says}: {own} needs {other}"
            if other == own and other_part != part:
                yield f"{says}: {part} needs {other_part}"


def cycles(root: Path) -> Iterator[str]:
    """Files that include each other."""
    root = root.resolve()
    graph = {path: {f for _, f in included(root, path) if f} for path in sources(root)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield " <- ".join(str(path.relative_to(root)) for path in error.args[1])


def second_engines(root: Path) -> Iterator[str]:
    """Interfaces of engines below that of their algorithm."""
    for path in sorted((root / "plugins/core").rglob("engine.h")):
        if len(path.relative_to(root).parts) != 4:
            yield f"{path.relative_to(root)} is a second engine of its algorithm"


# ---- sizes ----


def long_files(root: Path) -> Iterator[str]:
    """Files above the limit whose first comment does not say why ("long, because ...")."""
    for path in sources(root):
        lines = path.read_text().splitlines()
        first = " ".join(re.match(r"(?://.*\n)*", "\n".join([*lines, ""]))[0].split("\n//"))
        if len(lines) > MOST_LINES and not re.search(r"\blong,? because\b", first):
            yield f"{path.relative_to(root)} has {len(lines)} lines"


LITERALS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'""",
    re.DOTALL,
)


def without_literals(text: str) -> str:
    """The code without comments, texts, directives and the alternatives of #if, line by line."""

    def blank(found: re.Match[str]) -> str:
        return ('""' if found[0][0] in "\"R'" else "") + "\n" * found[0].count("\n")

    lines, depth, hidden = [], 0, []  # hidden: depths of #if whose alternative this is
    continued = False
    for line in LITERALS.sub(blank, text).split("\n"):
        directive = re.match(r"\s*#\s*(\w+)", line)
        if directive and not continued:
            if directive[1].startswith("if"):
                depth += 1
            elif directive[1].startswith("el") and depth not in hidden:
                hidden.append(depth)
            elif directive[1] == "endif":
                hidden = [each for each in hidden if each != depth]
                depth -= 1
        skipped = directive or continued
        continued = bool(skipped) and line.endswith("\\")
        lines.append("" if skipped or hidden else line)
    return "\n".join(lines)


@dataclass(frozen=True)
class Function:
    """A function with a body, outside of other functions.

    Attributes:
        name: name with the class that the source gives it.
        line: line of its first word.
        lines: lines from there to the closing brace.
        parameters: number of parameters.
    """

    name: str
    line: int
    lines: int
    parameters: int


OPENING, CLOSING = "([{<", ")]}>"
NO_NAME = {"__launch_bounds__", "__attribute__", "alignas", "requires", "decltype"}
KEYWORDS = {"if", "for", "while", "switch", "constexpr", "sizeof", "return", "catch"}


def parameters_in(head: str) -> tuple[str, int] | None:
    """Name and number of parameters of a function, from the text before its body."""
    depth = 0
    for at, char in enumerate(head):
        if char == "(" and depth == 0:
            name = re.search(r"(operator *\W+|[~\w:]+(?:<[^()]*>)?) *$", head[:at])
            end = closing(head, at)
            if end is None:
                return None
            inside = head[at + 1 : end]
            if name and name[1] in KEYWORDS:
                raise ValueError(f"{name[1]} outside of a function")
            if name and name[1] not in NO_NAME and not re.fullmatch(r"\w*operator *", name[1]):
                return name[1].strip(), number_of(inside)
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
    return None


def closing(text: str, at: int) -> int | None:
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] in "([{") - (text[k] in ")]}")
        if depth == 0:
            return k
    return None


def number_of(parameters: str) -> int:
    """Parameters in a text, whose commas in brackets of any kind do not count."""
    depth, number = 0, 1
    for before, char in zip(" " + parameters, parameters, strict=False):
        if char in OPENING:
            depth += 1
        elif char in CLOSING and not (char == ">" and before == "-"):
            depth -= 1
        elif char == "," and depth == 0:
            number += 1
    return number if parameters.strip() else 0


ACCESS = re.compile(r"(?:(?:public|protected|private):\s*)+")
SCOPE = re.compile(r"(?:inline )?(?:namespace|struct|class|union|enum|extern)\b")


def without_template(head: str) -> str:
    """A declaration without what stands before it: access of members and template parameters."""
    head = ACCESS.sub("", head.strip(), count=1)
    while head.startswith("template"):
        depth = brackets = end = 0
        while end == 0 or depth > 0:
            end = re.compile(r"[][(){}<>]").search(head, end).end()
            brackets += (head[end - 1] in "([{") - (head[end - 1] in ")]}")
            if not brackets:
                depth += (head[end - 1] == "<") - (head[end - 1] == ">")
        head = head[end:].strip()
    return head


def functions(text: str) -> Iterator[Function]:
    """The functions of a source, also those of its classes. Raises ValueError if the braces of the
    source do not fit each other."""
    code = without_literals(text)
    scopes: list[str] = []  # of the braces that are open: "scope", or "other" for the rest
    begins = 0  # of the text since the last declaration
    head, opened = "", 0  # of the present function
    inside = None  # depth of the present function
    for found in re.finditer("[{};]", code):
        at, char = found.start(), found[0]
        if char == "{":
            if inside is None:
                before = code[begins:at]
                words = without_template(before)
                is_scope = SCOPE.match(words) and not words.endswith(")")
                braces = before[-1:] not in ("", " ", "\n")  # a{1}: an initial value
                if is_scope or words == "":
                    scopes.append("scope")
                    begins = at + 1
                    continue
                if not braces and "(" in words:
                    inside, head = len(scopes), before
                    opened = begins + len(before) - len(before.lstrip())
            scopes.append("other")
        elif char == "}":
            if not scopes:
                raise ValueError("a brace too many")
            kind = scopes.pop()
            if inside == len(scopes):
                first, last = (code.count("\n", 0, k) + 1 for k in (opened, at))
                is_handler = head.strip().startswith(
                    "catch"
                )  # of a constructor's or function's try
                what = None if is_handler else parameters_in(without_template(head))
                if what:
                    yield Function(what[0], first, last - first + 1, what[1])
                inside = None
                begins = at + 1
            elif inside is None and kind == "scope":
                begins = at + 1
        elif char == ";" and inside is None and (not scopes or scopes[-1] == "scope"):
            begins = at + 1
    if scopes:
        raise ValueError("a brace is missing")


def large_functions(root: Path) -> Iterator[str]:
    for path in sources(root):
        for each in functions(path.read_text()):
            where = f"{path.relative_to(root)}:{each.line}: {each.name}"
            if each.lines > MOST_LINES_OF_FUNCTION:
                yield f"{where} has {each.lines} lines"
            if each.parameters > MOST_PARAMETERS:
                yield f"{where} has {each.parameters} parameters"


# ---- words ----


def opened_classes(root: Path) -> Iterator[str]:
    """Sources that make the private members of other classes public."""
    for path in sources(root):
        if re.search(r"^\s*#\s*define\s+(private|protected)\b", path.read_text(), re.MULTILINE):
            yield f"{path.relative_to(root)} redefines private or protected"


def private_words(root: Path) -> Iterator[str]:
    """Words that only this project's authors know, in code, comments and names of files."""
    for path in sources(root):
        parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", f"{path.stem}\n{path.read_text()}")
        for word in sorted({part.lower() for part in parts} & PRIVATE_WORDS):
            yield f"{path.relative_to(root)} says {word}"
