# SPDX-License-Identifier: GPL-2.0-or-later
"""Decorators of their own for hooks whose handlers run only in workers of slurmctld."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.hooks.decorator import MARKS, Decorator

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Handler = TypeVar("Handler", bound="Callable[..., object]")


class JobHook(Decorator):
    """``hook.job``: a rule about jobs, at their submission and at each update of theirs."""

    __slots__ = ()

    def __call__(
        self, function: Handler | None = None, /, *, admins: object = False, **keywords: object
    ) -> Handler | Callable[[Handler], Handler]:
        """Mark a function as a handler and return it unchanged.

        Args:
            function: the function, if the decorator is used without arguments.
            admins: the rule is also for requests of root and SlurmUser.
            keywords: see :class:`Decorator`.

        Raises:
            TypeError: an argument has the wrong type.
        """
        if not isinstance(admins, bool):
            raise TypeError(f"{self!r}: admins takes True or False, not {admins!r}")
        mark: Any = super().__call__(**keywords)  # type: ignore[arg-type] # checked there

        def of_job(function: Handler) -> Handler:
            marked: Handler = mark(function)
            getattr(marked, MARKS)[-1].admins = admins
            return marked

        return of_job if function is None else of_job(function)


class Every(Decorator):
    """The decorator: ``@hook.every("5m")``."""

    __slots__ = ()

    def __call__(
        self, period: object = None, /, *, at_most: object = None, **keywords: object
    ) -> Callable[[Handler], Handler]:
        """Mark a function that slurmctld's workers call periodically, on the active controller.

        Args:
            period: a number with a unit (s, m, h, d), from "10s" to "7d"; runs begin at its multiples since the epoch.
            at_most: number of actions on the jobs of one user, or on one node, 10 by default: none is taken if
                there are more. A run that would act on jobs of more users, or on more nodes, takes no action.
            keywords: see :class:`Decorator`; ``timeout`` is 60 seconds by default.

        Raises:
            TypeError: there is no period, or an argument has the wrong type.
        """
        if not isinstance(period, str):
            raise TypeError(f'{self!r} takes a period, as in @{self!r}("5m"); not {period!r}')
        from slurmhooks.hooks.schedule import AT_MOST, Schedule  # with it, hook files with hook.job would import more

        most = AT_MOST if at_most is None else at_most
        mark: Any = super().__call__(**keywords)  # type: ignore[arg-type] # checked there

        def scheduled(function: Handler) -> Handler:
            marked: Handler = mark(function)
            getattr(marked, MARKS)[-1].schedule = Schedule(period, most)
            return marked

        return scheduled
