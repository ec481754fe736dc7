# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that the entry modules of scrun and cli_filter share: the log of a user's command, and loading its handlers."""

from __future__ import annotations

import posix

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import trusted
from slurmhooks.handlers import deadline, dispatch
from slurmhooks.log import USER, VERBOSE, coloured, log
from slurmhooks.site import loading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from slurmhooks.handlers.registry import Handler, Registry

    Answer = tuple[int, bytes | None, int]

    class Native(Protocol):
        """The functions of a C module that write to logs."""

        def log(self, level: int, line: bytes, /) -> None:
            """Write a line to Slurm's log."""

        def syslog(self, line: bytes, /) -> None:
            """Write a line to the system's log."""


def attach(native: Native, user: int) -> None:
    """Write to Slurm's log, in a command whose log is the user's terminal.

    Tracebacks have a level that is not shown by default, and are written to syslog, too.
    """

    def sink(level: int, text: str) -> None:
        native.log(level, text.encode())

    def to_user(text: str) -> None:
        for line in text.split("\n"):
            sink(user, coloured(line) if user == USER else line)

    def record(text: str) -> None:
        sink(VERBOSE, text)
        native.syslog(text.encode())

    log.attach(sink, to_user, record)


def content(known: int) -> bytes | None:
    """Return the manifest at an address, as C has read it; None if there is none."""
    if not known:
        return None
    from _slurmhooks_compile import text_at

    return text_at(known)


def load(
    point: str, known: bytes | None, read: Callable[[str, Sequence[str]], list[Handler]] | None = None
) -> Registry | None:
    """Load the handlers of a plugin point that has no line in plugstack.conf; if that fails, log why and return None.

    See slurmhooks.site.loading.of_point for the arguments.
    """
    if posix.getuid() == 0:
        trusted.guard()
    try:
        named = loading.of_point(point, known=known, read=read)
        with deadline.loading():
            return named.load()
    except (ConfigError, LoadError) as error:
        log.user(dispatch.report_findings(error.findings))
        return None
