# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that the entry modules of scrun and cli_filter share: the log of a user's command, and loading its handlers."""

from __future__ import annotations

import posix

from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import slurm_conf, trusted
from slurmhooks.handlers import deadline, dispatch, loader
from slurmhooks.handlers.loader import Source
from slurmhooks.log import VERBOSE, log
from slurmhooks.site import sources as site

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

    Args:
        native: the functions that write a line.
        user: level of lines for the user.
    """

    def sink(level: int, text: str) -> None:
        native.log(level, text.encode())

    def to_user(text: str) -> None:
        for line in text.split("\n"):
            sink(user, line)

    def record(text: str) -> None:
        sink(VERBOSE, text)
        native.syslog(text.encode())

    log.attach(sink, to_user, record)


def load(point: str, known: bool, read: Callable[[str, Sequence[str]], list[Handler]] | None = None) -> Registry | None:
    """Load the handlers of a plugin point that has no line in plugstack.conf; if that fails, log why and return None.

    Args:
        point: its name, in the manifest and in the configuration.
        known: the manifest says what to load.
        read: returns the handlers of the site's Lua script; called with its path and the manifest's words for its Lua
            library.
    """
    if posix.getuid() == 0:
        trusted.guard()
    try:
        sources, require, lua = _sources(point, known, read is not None)
        if read is not None:
            for source in sources:
                if source.scripted:
                    source.read = lambda path: read(path, lua)
        with deadline.limit("loading the hook files", deadline.LOAD):
            return loader.load(sources, require)
    except (ConfigError, LoadError) as error:
        log.user(dispatch.report_findings(error.findings))
        return None


def _sources(point: str, known: bool, with_script: bool) -> tuple[Sequence[Source], Sequence[str], Sequence[str]]:
    """Return what to load, the required handlers, and the manifest's words for the Lua library."""
    if known:
        from slurmhooks.site import manifest

        rows = manifest.read((), point=point)
        if rows is not None:
            # 'slurmhooks compile' writes no manifest that lacks a required handler.
            return manifest.sources(rows), (), manifest.of_scripts(rows)[0]
    # Resolve the link once for both calls, so that their results belong together.
    link = f"{slurm_conf.directory()}/{site.FILE_NAME}"
    path = site.located(link)
    sources, require = site.sources(path, link)
    script = site.script_of(point, path, link) if with_script else None
    # A script runs before the handlers of hook files of the same order, as for job_submit.
    return [*([] if script is None else [Source(path=script)]), *sources], require, ()
