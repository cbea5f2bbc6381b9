# SPDX-License-Identifier: BSD-3-Clause
"""Errors of commands and of scripts: one line on standard error, and an exit code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

INTERRUPTED = 130


def say(program: str, message: str) -> None:
    """Print a line on standard error, on the first of several ranks."""
    from manymove.jobs.world import launched_rank

    if launched_rank() == 0:
        print(f"{program}: {message}", file=sys.stderr)


def text_of(error: Exception) -> str:
    """The message of an error, without the number of the operating system's."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def reported(program: str, work: Callable[[], int | None]) -> int:
    """Run a command or a script. Errors of its input or of its surroundings become one line.

    Args:
        program: name that the line begins with.
        work: function that does everything and returns the exit code; None stands for 0.

    Returns:
        the exit code: that of `work`, 2 after an error, and 130 after Ctrl-C.
    """

    def fail(message: str, code: int) -> int:
        say(program, " ".join(message.split()))
        return code

    try:
        code = work() or 0
        return fail("interrupted", INTERRUPTED) if code == INTERRUPTED else code
    except KeyboardInterrupt:
        return fail("interrupted", INTERRUPTED)
    except MemoryError as error:
        what = "" if str(error) in ("", "std::bad_alloc") else f": {error}"
        return fail(f"error: not enough memory for a system of this size{what}", 2)
    except (ValueError, OSError, ImportError, RuntimeError, subprocess.SubprocessError) as error:
        return fail(f"error: {text_of(error)}", 2)
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's own errors have it
            raise
        return fail(f"error: {error.format_message()}", 2)
