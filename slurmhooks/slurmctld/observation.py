# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker sends to the observer process of its generation: a request, and its state for each handler there."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from slurmhooks.errors import Reject, StaleHandleError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmhooks.wire.message import Packed
    from slurmhooks.worker.interface import Query

WHOSE = Struct("<IIII")
"""Precedes each question that is asked after the answer: sender, owner, 1 for an update, 0. In C:
native/client/late.h."""


class Observation(NamedTuple):
    """One request.

    ``members`` were too long for the message, by index of struct and member. ``observers`` have for each handler its
    index among those of its hook, and a savepoint of the request as it should see it.
    """

    id: str
    time: float
    request: bytes
    members: Mapping[tuple[int, int], bytes]
    observers: list[tuple[int, object]]

    def pack(self) -> bytes:
        """Return the bytes for the observer process, which was forked from the same generation as the worker."""
        import pickle  # takes long, and most sites have no handlers that observe

        return pickle.dumps((self.id, self.time, self.request, self.members, self.observers))

    @classmethod
    def of(cls, data: bytes) -> Observation:
        """Return what :meth:`pack` packed."""
        import pickle

        return cls(*pickle.loads(data))

    def member(self, struct: int, place: int) -> bytes:
        """Return a member that was too long for the request.

        Raises:
            StaleHandleError: it was too long for the observer process, too.
        """
        try:
            return self.members[struct, place]
        except KeyError:
            raise StaleHandleError("handlers that observe cannot read such a long field") from None


def deferred(structs: Sequence[Packed], most: int) -> dict[tuple[int, int], bytes]:
    """Ask slurmctld for the deferred members of a request, and return them.

    Members beyond ``most`` bytes in total are left out.
    """
    members: dict[tuple[int, int], bytes] = {}
    for number, struct in enumerate(structs):
        for place in struct.deferred():
            try:
                value = struct.value(place) or b""
            except Reject:  # longer than a message can be, which is no reason to refuse the request
                continue
            most -= len(value)
            if most >= 0:
                members[number, place] = value
    return members


def late(ask: Query, sender: int, owner: int, *, modify: bool) -> Query:
    """Return a function that asks slurmctld questions after the answer; each names the owner of the request."""
    whose = WHOSE.pack(sender, owner, modify, 0)
    return lambda question: ask(whose + question)
