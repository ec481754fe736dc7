# SPDX-License-Identifier: GPL-2.0-or-later
"""The mode of a handler and the requests that it is for, from its decorator or ``[rules]`` of slurmhooks.toml.

Only handlers of hooks that decide about requests can have a mode, see ``HookSpec.has_modes``.
"""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Protocol

    class Subject(Protocol):
        """Whose request it is, as far as known when a handler is about to run."""

        @property
        def user_id(self) -> int | None:
            """The owner of the job."""

        @property
        def user_name(self) -> str | None:
            """The owner's name."""

        @property
        def accounts(self) -> Iterable[str] | None:
            """The accounts that are charged; an update may change the account. None: those of its job are not known."""

        @property
        def partitions(self) -> Iterable[str] | None:
            """The partitions in which the job may run; None: those of the job of an update are not known."""


ENFORCE = "enforce"
"""The handler decides: what it refuses is refused, what it changes is changed."""
WARN = "warn"
"""It runs before the answer, nothing is applied, and the user reads what it would have refused or changed."""
OBSERVE = "observe"
"""It runs after the answer, nothing is applied, and the user notices nothing."""
OFF = "off"
"""It does not run."""
MODES = (ENFORCE, WARN, OBSERVE, OFF)
"""All modes, the strictest first."""
KEYS = ("mode", "percent", "users", "accounts", "partitions", "otherwise", "note")
"""Keywords of decorators, and keys of ``[rules.modes."LABEL"]``."""


class Rollout:
    """A mode, the share of the requests that it is for, and the mode of the others.

    Attributes:
        mode: one of MODES, for requests inside the share; without conditions, the share is all requests.
        percent: of the users, 0 to 100; here and below, None means no condition.
        users: names, or user ids, of the owners of jobs.
        accounts: the accounts that are charged, in any case, as in Slurm.
        partitions: partitions of which the request names at least one.
        otherwise: the mode for requests outside the share.
        note: what follows each warning, such as the day from which on the handler is to be enforced.
    """

    __slots__ = ("accounts", "mode", "note", "otherwise", "partitions", "percent", "users")

    def __init__(
        self,
        *,
        mode: str = ENFORCE,
        percent: float | None = None,
        users: Iterable[str | int] | None = None,
        accounts: Iterable[str] | None = None,
        partitions: Iterable[str] | None = None,
        otherwise: str = OBSERVE,
        note: str | None = None,
    ) -> None:
        """Store the values, which :meth:`faults` checks; a text is a list of one."""
        self.mode = mode
        self.percent = percent
        self.users = _several(users)
        self.accounts = _several(accounts)
        self.partitions = _several(partitions)
        self.otherwise = otherwise
        self.note = note

    @property
    def conditions(self) -> dict[str, object]:
        """The conditions of the share, by their keys."""
        given = {"percent": self.percent, "users": self.users, "accounts": self.accounts, "partitions": self.partitions}
        return {key: value for key, value in given.items() if value is not None}

    def faults(self) -> list[str]:
        """Return descriptions of invalid values."""
        faults = [
            f"{key} takes {', '.join(map(repr, MODES))}, not {value!r}"
            for key, value in (("mode", self.mode), ("otherwise", self.otherwise))
            if value not in MODES
        ]
        percent: object = self.percent
        if percent is not None and (
            isinstance(percent, bool) or not isinstance(percent, (int, float)) or not 0 <= percent <= 100
        ):
            faults.append(f"percent takes a number from 0 to 100, not {percent!r}")
        for key, kinds, what in (
            ("users", (str, int), "user names or user ids"),
            ("accounts", (str,), "names of accounts"),
            ("partitions", (str,), "names of partitions"),
        ):
            value = getattr(self, key)
            if value is not None and not (
                isinstance(value, tuple) and value and all(type(item) in kinds and item != "" for item in value)
            ):
                faults.append(f"{key} takes {what}, at least one; not {value!r}")
        if self.note is not None and not isinstance(self.note, str):
            faults.append(f"note takes a text, not {self.note!r}")
        return faults

    def may_be(self, mode: str) -> bool:
        """Tell whether a mode is in use for some requests."""
        return mode == self.mode or (mode == self.otherwise and bool(self.conditions))

    @property
    def is_whole(self) -> bool:
        """Whether the handler is enforced for all requests."""
        return self.mode == ENFORCE and (not self.conditions or self.otherwise == ENFORCE)

    def mode_for(self, label: str, subject: Subject) -> str:
        """Return the mode for a request.

        If only some of its partitions or accounts meet the condition, it gets the stricter mode: by naming one more, a
        user could otherwise choose the other one. So does an update of a job whose partition or account is not known.

        ``percent`` selects other users for another label. An unknown property of the subject meets no condition.
        """
        if not self._meets(label, subject, any):
            return self.otherwise
        return self.mode if self._meets(label, subject, all) else min(self.mode, self.otherwise, key=MODES.index)

    def _meets(self, label: str, subject: Subject, how_many: Callable[[Iterable[bool]], bool]) -> bool:
        """Tell whether a request meets all conditions, with any or all of its partitions and accounts."""
        if self.percent is not None and not share_of(label, subject.user_id) < self.percent:
            return False
        if self.users is not None and not _names(self.users, subject):
            return False
        if self.accounts is not None:
            accounts, listed = subject.accounts, {name.lower() for name in self.accounts}
            names = None if accounts is None else [name.lower() for name in accounts]
            if not _are_listed(names, listed, how_many):
                return False
        return self.partitions is None or _are_listed(subject.partitions, self.partitions, how_many)

    def __str__(self) -> str:
        """Return the mode in words, for lists of handlers."""
        if not self.conditions:
            return self.mode
        words = [
            f"{value:g} % of users" if isinstance(value, (int, float)) else f"{key} {', '.join(map(str, value))}"
            for key, value in self.conditions.items()
            if isinstance(value, (int, float, tuple))
        ]
        return f"{self.mode} for {' and '.join(words)}; {self.otherwise} for others"


def _names(users: tuple[str | int, ...], subject: Subject) -> bool:
    """Tell whether a list has a user; the user's name is looked up only if the list has names."""
    return subject.user_id in users or (
        any(isinstance(user, str) for user in users) and subject.user_name is not None and subject.user_name in users
    )


def _are_listed(
    names: Iterable[str] | None, listed: Collection[str], how_many: Callable[[Iterable[bool]], bool]
) -> bool:
    """Tell whether any or all of some names are in a list; if there are no names, none is; None: perhaps some are."""
    found = [True, False] if names is None else [name in listed for name in names]
    return bool(found) and how_many(found)


def _several(value: object) -> tuple[str, ...] | None:
    """Return a list as a tuple; values of other types stay what they are, for :meth:`Rollout.faults`."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else value  # type: ignore[return-value]


def share_of(label: str, user_id: int | None) -> float:
    """Return the position of a user between 0 and 100, which is constant for a handler; 100 if the user is unknown."""
    if user_id is None:
        return 100.0
    digest = hashlib.sha256(f"{label} {user_id}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "big") * 100 / (1 << 64)
