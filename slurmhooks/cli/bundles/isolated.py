# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls in a process of their own, because each loads other files of the site."""

import os
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar

from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.processes import process

T = TypeVar("T")


def isolated(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in a child of this process, which ends with this process, however that ends.

    Args:
        function: what to call; it raises nothing but findings and errors of the system.
        arguments: its arguments.

    Raises:
        Findings: the function has raised them, or code in these files ended the child.
        OSError: the function has raised it.
    """
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(function, arguments, theirs, os.getpid()))
    child.start()
    theirs.close()
    try:
        result, error = ours.recv()
    except EOFError as gone:
        raise Finding("a hook file ended the process that loaded it: run 'slurmhooks check' on it") from gone
    finally:
        ours.close()
        child.join()
    if isinstance(error, list):
        raise Findings(error)
    if error is not None:
        raise error
    returned: T = result
    return returned


def _call(function: Callable[..., object], arguments: tuple[object, ...], results: Connection, parent: int) -> None:
    process.die_with(parent)
    try:
        results.send((function(*arguments), None))
    except Findings as error:
        results.send((None, error.findings))
    except OSError as error:
        results.send((None, error))
