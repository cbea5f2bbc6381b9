"""Every CIF file of a folder is read, or refused with the reason; its atoms are counted by gemmi.

    python cif_collection.py RASPA2/structures RASPA2/examples

An error other than ValueError, or a number of atoms other than that of gemmi's expansion, ends the
script with the exit code 1. gemmi gets the same text, without the commas that some programs write
after quoted strings.
"""

from __future__ import annotations

import argparse
import re
import warnings
from pathlib import Path

import gemmi

from manymove.adsorption import read_framework


def expected(path: Path) -> int:
    """Number of atoms of the unit cell by gemmi."""
    text = path.read_text(errors="replace")
    text = re.sub(r"""(['"])\s*,[ \t]*$""", r"\1", text, flags=re.MULTILINE)
    found = [gemmi.make_small_structure_from_block(b) for b in gemmi.cif.read_string(text)]
    (structure,) = [each for each in found if len(each.sites)]
    return len(structure.get_all_unit_cell_sites())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, help="searched with their subfolders")
    parser.add_argument("--verbose", action="store_true", help="also print files that are read")
    options = parser.parse_args()
    files = sorted(path for folder in options.folders for path in folder.rglob("*.cif"))
    if not files:
        print("no CIF files")
        return 1
    read, warned, refused, wrong = 0, 0, [], []
    for path in files:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                atoms = len(read_framework(path, right_angles=False).elements)
            except ValueError as error:
                refused.append(f"{path}: {error}")
                continue
            except Exception as error:  # which a user would see as a traceback
                wrong.append(f"{path}: {error!r}")
                continue
        read += 1
        warned += bool(found)
        if atoms != (count := expected(path)):
            wrong.append(f"{path}: {atoms} atoms, by gemmi {count}")
        elif options.verbose:
            print(f"{path}: {atoms} atoms")
    for title, lines in (("refused", refused), ("wrong", wrong)):
        print(f"{title}: {len(lines)}", *lines, sep="\n    ")
    print(f"files: {len(files)}, read: {read}, of these with a warning: {warned}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
