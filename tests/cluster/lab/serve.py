# SPDX-License-Identifier: GPL-2.0-or-later
"""Run verbs for one caller until it ends, each in a fork: starting Python for each would take ten times as long.

Each request is a line of JSON on standard input: the ``arguments`` of `run`, its whole ``environment``, and the files
for its standard ``streams``. The answers on standard output are the process id at once, and later the exit code.
"""

import functools
import json
import os
import sys

from . import cli, enter, namespace
from .entry import main

__all__ = ["cli", "enter", "serve"]  # imported here, so that the forks need not do it


def serve() -> int:
    """Answer requests until standard input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        child = namespace.fork(functools.partial(_run, **request), sys.stderr.write)
        _answer(child)
        _answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return 0


def _answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def _run(arguments: list[str], environment: dict[str, str], streams: list[str]) -> int:
    namespace.die_with_parent()
    os.environ.clear()
    os.environ.update(environment)
    for number, flags in enumerate((os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)):
        descriptor = os.open(streams[number], flags)
        os.dup2(descriptor, number)
        os.close(descriptor)
    try:
        return main(arguments)
    except SystemExit as error:  # raised by argparse, or by a signal handler
        return error.code if isinstance(error.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
