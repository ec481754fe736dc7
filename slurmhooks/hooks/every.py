# SPDX-License-Identifier: GPL-2.0-or-later
"""The decorator ``hook.every``."""

from __future__ import annotations

from slurmhooks.hooks.decorator import MARKS, Decorator
from slurmhooks.hooks.schedule import AT_MOST, Schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Handler = TypeVar("Handler", bound="Callable[..., object]")


class Every(Decorator):
    """The decorator: ``@hook.every("5m")``."""

    __slots__ = ()

    def __call__(
        self, period: object = None, /, *, at_most: object = AT_MOST, **keywords: object
    ) -> Callable[[Handler], Handler]:
        """Mark a function that slurmctld's workers call periodically, on the active controller.

        Args:
            period: a number with a unit (s, m, h, d), from "10s" to "7d"; runs begin at its multiples since the epoch.
            at_most: number of actions of a run; if a handler asks for more, none is taken.
            keywords: see :class:`Decorator`; ``timeout`` is 60 seconds by default.

        Raises:
            TypeError: there is no period, or an argument has the wrong type.
        """
        if not isinstance(period, str):
            raise TypeError(f'{self!r} takes a period, as in @{self!r}("5m"); not {period!r}')
        mark: Any = super().__call__(**keywords)  # type: ignore[arg-type] # checked there

        def scheduled(function: Handler) -> Handler:
            marked: Handler = mark(function)
            getattr(marked, MARKS)[-1].schedule = Schedule(period, at_most)
            return marked

        return scheduled
