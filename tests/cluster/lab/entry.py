# SPDX-License-Identifier: GPL-2.0-or-later
"""Run one verb, for the command `run` and for the tests."""

import os
import sys
from collections.abc import Sequence

from .errors import LabError


def main(arguments: Sequence[str]) -> int:
    """Call the verb; turn its exceptions into one line and an exit code."""
    verb = arguments[0] if arguments else ""
    try:
        if verb in ("exec", "as") and arguments[1:2] not in (["-h"], ["--help"]):
            from .enter import main as enter

            return enter(verb, arguments[1:])
        if verb == "serve":
            from .serve import serve, serve_commands, serve_inside

            return (serve, serve_inside, serve_commands)[len(arguments) - 1](*arguments[1:])
        from .cli import main as other

        return other(arguments)
    except LabError as error:
        sys.stderr.write(f"run: {verb}: {error}\n")
        return error.code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except OSError as error:
        sys.stderr.write(f"run: {verb}: {error}\n")
        return 1
