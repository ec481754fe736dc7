# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the staging at hand is still wanted."""

from __future__ import annotations

from slurmhooks.scrun.errors import CancelledError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_asked: Callable[[], bool] | None = None


def attach(asked: Callable[[], bool] | None) -> None:
    """Say how to find out; for the entry point and for tests."""
    global _asked
    _asked = asked


def requested() -> bool:
    """Tell whether scrun has given the container up: its job was cancelled or timed out, or it was deleted.

    scrun calls no handler then before stage_in returns, so a handler that takes long asks from time to time.
    :func:`~slurmhooks.scrun.copy_tree` and ``allocator_command`` do.
    """
    return _asked is not None and _asked()


def check() -> None:
    """Raise if :func:`requested`.

    Raises:
        CancelledError: the container is not wanted any more.
    """
    if requested():
        raise CancelledError
