# SPDX-License-Identifier: GPL-2.0-or-later
"""Directs structlog and logging to Slurm's log.

By default structlog prints to standard output and logging prints warnings to standard error. In srun both belong to the
job; in a daemon nobody reads them. This module is imported only if code of the site has imported one of the two.
"""

from __future__ import annotations

import sys

from slurmhooks.handlers import trace
from slurmhooks.log import CONTINUED, DEBUG, DEBUG2, ERROR, INFO, formatted, log, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from collections.abc import MutableMapping
    from typing import Any

WARNING = "warning: "
"""Written before the text of a warning, which is logged at level info: Slurm before 23.11 has no level warning."""


def attach() -> None:
    """Direct structlog and logging to Slurm's log, each if it has been imported and is not configured yet.

    The loader calls it after hook files have been loaded. Code that imports structlog or logging later, for example in
    a handler, has to call this function itself.
    """
    if "structlog" in sys.modules:
        _attach_structlog()
    if "logging" in sys.modules:
        _attach_logging()


def _attach_structlog() -> None:
    import structlog

    if structlog.is_configured():
        return
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.StackInfoRenderer(),
            _hand_over,
        ],
        logger_factory=structlog.ReturnLoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _hand_over(logger: object, method: str, event: MutableMapping[str, Any]) -> str:
    """Write an event to Slurm's log; structlog's last processor."""
    text = str(event.pop("event", ""))
    details = [str(event.pop(name)) for name in ("exception", "stack") if name in event]
    error = event.pop("exc_info", None)
    if error:
        # True: the current exception; a tuple: as sys.exc_info() returns it.
        error = error[1] if isinstance(error, tuple) else error if isinstance(error, BaseException) else sys.exception()
    if isinstance(error, BaseException):
        details.append("\n".join(trace.lines(error)))
    level = _STRUCTLOG_LEVELS.get(method, INFO)
    log.write(level, WARNING + text if method in ("warning", "warn") else text, (), dict(event))
    for detail in details:
        log.record(detail, CONTINUED)
    return ""


_STRUCTLOG_LEVELS = {
    "critical": ERROR,
    "fatal": ERROR,
    "exception": ERROR,
    "error": ERROR,
    "debug": DEBUG,
}


def _attach_logging() -> None:
    import logging

    if logging.root.handlers:
        return
    logging.root.addHandler(_handler())
    # Slurm's own level decides which records are logged.
    logging.root.setLevel(1)


def _handler() -> logging.Handler:
    import logging

    class SlurmHandler(logging.Handler):
        """Writes records of logging to Slurm's log."""

        def emit(self, record: logging.LogRecord) -> None:
            """Write one record, even if its format is wrong. Only administrators can read its traceback."""
            args = (record.args,) if isinstance(record.args, dict) else tuple(record.args or ())
            text = formatted(shown(str, record.msg), args, {})
            if record.levelno >= logging.ERROR:
                level = ERROR
            elif record.levelno >= logging.WARNING:
                level, text = INFO, WARNING + text
            elif record.levelno >= logging.INFO:
                level = INFO
            elif record.levelno >= logging.DEBUG:
                level = DEBUG
            else:
                level = DEBUG2
            log.write(level, f"{record.name}: {text}")
            if record.exc_info and record.exc_info[1] is not None:
                log.record("\n".join(trace.lines(record.exc_info[1])), CONTINUED)

    return SlurmHandler()
