# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the staging at hand is still wanted."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ASK_SECONDS = 2.0
"""How often a slow question is asked at most."""

_asked: Callable[[], bool] | None = None
_asked_slowly: Callable[[], bool] | None = None
_next = 0.0
_found = False


def attach(asked: Callable[[], bool] | None, slowly: Callable[[], bool] | None = None) -> None:
    """Say how to find out; for the entry point and for tests.

    Args:
        asked: costs nothing.
        slowly: asks another process, and so is called every two seconds at most, beginning after two.
    """
    global _asked, _asked_slowly, _next, _found
    _asked, _asked_slowly = asked, slowly
    _next = time.monotonic() + ASK_SECONDS
    _found = False


def requested() -> bool:
    """Tell whether the container is not wanted any more: its job was cancelled or timed out, or it was deleted.

    scrun calls no handler then before stage_in returns, so a handler that takes long asks from time to time.
    :func:`~slurmhooks.scrun.copy_tree` and ``allocator_command`` do. May be called from any thread.
    """
    global _next, _found
    if not _found and _asked is not None:
        _found = _asked()
    now = time.monotonic()
    if not _found and _asked_slowly is not None and now >= _next:
        _next = now + ASK_SECONDS
        _found = _asked_slowly()
    return _found


def check() -> None:
    """Raise if :func:`requested`.

    Raises:
        CancelledError: the container is not wanted any more.
    """
    if requested():
        from slurmhooks.scrun.errors import CancelledError

        raise CancelledError
