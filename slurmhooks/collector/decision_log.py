# SPDX-License-Identifier: GPL-2.0-or-later
"""The decision log: a line of JSON for each request, in files that only SlurmUser and root can read.

Only the collector imports this module; ``slurmhooks why`` reads what it writes.
"""

from __future__ import annotations

import logging
import os
import pwd
import random
import stat
import sys
import time
from contextlib import suppress
from datetime import datetime
from functools import cached_property, lru_cache
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any

from slurmhooks.log import log

if TYPE_CHECKING:
    from structlog.typing import WrappedLogger

REPEAT = 60.0
"""Seconds before the same error is logged again."""
COUNTED = frozenset({"priority"})
"""Hooks whose calls are counted but not logged: they are too many, and decide about no request."""
WOULD = frozenset({"would refuse", "would fail"})
"""Outcomes of handlers that only warn or observe."""
LOGGED = frozenset({"unserved", "dropped"})
"""Events that are logged in addition to decisions."""


class _File(RotatingFileHandler):
    """A file that only its owner can read, in a folder that only its owner can write to."""

    def __init__(self, path: str, size: int, keep: int) -> None:
        """Prepare; the file is opened for the first line."""
        super().__init__(path, maxBytes=size, backupCount=keep, encoding="utf-8", delay=True)
        self._told_at = 0.0

    def _open(self) -> TextIOWrapper:
        folder = os.path.dirname(self.baseFilename)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        status = os.stat(folder)
        if status.st_uid not in (0, os.getuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{folder}: only SlurmUser and root may be able to write to it")
        stream = open(self.baseFilename, "a+", encoding="utf-8", opener=_private)  # noqa: SIM115 - logging closes it
        size = os.fstat(stream.fileno()).st_size
        if size and os.pread(stream.fileno(), 1, size - 1) != b"\n":
            stream.write("\n")  # a full disk or a crash has left the beginning of a line
        return stream

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Log the error, at most every REPEAT seconds; the next line is written anew."""
        del record
        if self.stream is not None:
            stream, self.stream = self.stream, None
            with suppress(OSError):
                stream.close()
        now = time.monotonic()
        if not self._told_at or now - self._told_at > REPEAT:
            self._told_at = now
            log.error("the decision log cannot be written: %s", sys.exc_info()[1])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


class DecisionLog:
    """Writes decisions; see slurmhooks.collector.collection.Sink."""

    def __init__(self, orders: dict[str, Any]) -> None:
        """Prepare to write what the configuration says."""
        self._logger = logging.Logger("decisions")
        self._random = random.Random()
        self.order(orders)

    def order(self, orders: dict[str, Any]) -> None:
        """Take changed files, or a changed share."""
        self.close()
        settings = orders["decisions"]
        self._sample = settings["sample"]
        self._logger.addHandler(_File(settings["file"], settings["max_size"], settings["keep"]))

    def decision(self, content: dict[str, Any]) -> None:
        """Write a line, unless it is one of the accepted requests that are left out."""
        if content["hook"] in COUNTED or (_unremarkable(content) and self._random.random() >= self._sample):
            return
        self._write("observed" if content.get("observed") else "decision", content)

    def event(self, content: dict[str, Any]) -> None:
        """Write a line about requests that no worker could serve, or that are missing in the log."""
        if content["event"] in LOGGED:
            self._write(content["event"], content)

    def _write(self, event: str, content: dict[str, Any]) -> None:
        if self._log is None:
            return
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(content["time"]).astimezone().isoformat(timespec="milliseconds")
        }
        for name, value in content.items():
            if name not in ("time", "event", "observed"):
                line[name] = value
                if name == "user_id" and "user" not in content:
                    line["user"] = user_name(value)
        self._log.info(event, **line)

    @cached_property
    def _log(self) -> WrappedLogger | None:
        """structlog's logger; None if structlog is missing.

        It takes 14 MiB, so it is imported for the first line: some plugins decide nothing for days.
        """
        try:
            import structlog
        except ImportError as error:
            log.error("[decisions] does not work: %s", error)
            return None
        return structlog.wrap_logger(self._logger, processors=[structlog.processors.JSONRenderer()])

    def turn(self) -> None:
        """Do nothing: every line is written at once."""

    def close(self) -> None:
        """Close the file."""
        for handler in self._logger.handlers[:]:
            self._logger.removeHandler(handler)
            handler.close()


def _unremarkable(content: dict[str, Any]) -> bool:
    """Tell whether a request passed without a message to the user, and no handler would have refused it."""
    passed = content.get("observed") or (content["verdict"] == "accepted" and "text" not in content)
    return passed and not any(each["outcome"] in WOULD for each in content["handlers"])


@lru_cache(4096)
def user_name(uid: int) -> str | None:
    """Return the name of a user, or None. Ask the name service only once for each user."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return None
