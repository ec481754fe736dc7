# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls in a process of their own, because they load files of the site, which may do anything to their process."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NoReturn, TypeVar

from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.cli.progress import note
from slurmhooks.processes import process
from slurmhooks.processes.last_file import LastFile

T = TypeVar("T")
PATIENCE = 300.0
"""Seconds that a call may take: daemons end the load of a set of hook files after a minute."""
SILENCE = 3.0
"""Seconds after which the user is told what takes so long."""


def in_child(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in a child of this process, which ends with this process, however that ends.

    What code of the site prints there goes to standard error.

    Raises:
        Findings: the function has raised them; code in these files has ended the child, or does not come back.
        OSError: the function has raised it.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # otherwise the child writes it, too
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    last = LastFile()
    child = context.Process(target=_call, args=(function, arguments, theirs, os.getpid(), last))
    child.start()
    theirs.close()
    try:
        has_ended = ours.poll(SILENCE)
        if not has_ended:
            note(f"loading hook files takes long, and is given up after {PATIENCE:g} s{last}")
            has_ended = ours.poll(PATIENCE - SILENCE)
        if not has_ended:
            where = f"call it in Python to see where it is{last}"
            raise Finding(f"a hook file takes more than {PATIENCE:g} s to load: {where}")
        result, error = ours.recv()
    except EOFError as gone:
        child.join()
        how = "without an exit code" if child.exitcode is None else describe(child.exitcode)
        raise Finding(f"a hook file ended the process that loaded it, which {how}{last}") from gone
    finally:
        ours.close()
        child.kill()  # a thread of a hook file may keep it
        child.join()
    if isinstance(error, list):
        raise Findings(error)
    if error is not None:
        raise error
    returned: T = result
    return returned


def describe(code: int) -> str:
    """Return how a process ended, from the exit code of multiprocessing."""
    return process.describe(-code if code < 0 else code << 8)


def _call(
    function: Callable[..., object], arguments: tuple[object, ...], results: Connection, parent: int, last: LastFile
) -> NoReturn:
    process.die_with(parent)
    os.register_at_fork(after_in_child=results.close)  # a daemon may stay after this process has ended
    last.follow()
    _print_to_stderr()
    try:
        results.send((function(*arguments), None))
    except Findings as error:
        results.send((None, error.findings))
    except OSError as error:
        results.send((None, error))
    # At once: threads and exit functions of hook files do not matter.
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(0)


def _print_to_stderr() -> None:
    """Let what is printed go to standard error, or nowhere if that is closed: standard output is for the result."""
    try:
        os.dup2(2, 1)
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
    sys.stdout = sys.stderr
