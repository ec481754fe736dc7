# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out whether the container was cancelled during staging."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ASK_SECONDS = 2.0
"""Minimum seconds between two slow checks."""

_check_quickly: Callable[[], bool] | None = None
_check_slowly: Callable[[], bool] | None = None
_next = 0.0
_cancelled = False


def attach(quickly: Callable[[], bool] | None, slowly: Callable[[], bool] | None = None) -> None:
    """Set the functions that check; for the entry point and the testing kit.

    ``quickly`` costs nothing; None: never cancelled. ``slowly`` asks another process; it is called at most every two
    seconds, first after two seconds.
    """
    global _check_quickly, _check_slowly, _next, _cancelled
    _check_quickly, _check_slowly = quickly, slowly
    _next = time.monotonic() + ASK_SECONDS
    _cancelled = False


def requested() -> bool:
    """Return whether the container was cancelled: its job was cancelled or timed out, or the container was deleted.

    scrun waits for ``stage_in`` in any case, so a handler that takes long should check from time to time, as
    :func:`~slurmhooks.scrun.copy_tree` and ``allocator_command`` do. May be called from any thread.
    """
    global _next, _cancelled
    if not _cancelled and _check_quickly is not None:
        _cancelled = _check_quickly()
    now = time.monotonic()
    if not _cancelled and _check_slowly is not None and now >= _next:
        _next = now + ASK_SECONDS
        _cancelled = _check_slowly()
    return _cancelled


def check() -> None:
    """Raise an error if the container was cancelled.

    Raises:
        CancelledError: the container was cancelled.
    """
    if requested():
        from slurmhooks.scrun.errors import CancelledError

        raise CancelledError
