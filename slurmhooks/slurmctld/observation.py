# SPDX-License-Identifier: GPL-2.0-or-later
"""What a worker hands to the observer process of its generation: a request, and what each handler there is to see."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from slurmhooks.errors import StaleHandleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slurmhooks.wire.message import Packed
    from slurmhooks.worker.service import Query

WHOSE = Struct("<IIII")
"""What precedes a question after the answer: sender, owner, 1 for an update, and 0. In C: native/wire/late.h."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One request.

    Attributes:
        id: of the call, see slurmhooks.slurmctld.call.
        time: when it began, in seconds since the epoch.
        request: the message.
        members: what was too long to be in it, by number of struct and member.
        observers: for each handler, its place among those of its hook, and a savepoint of what it is to see.
    """

    id: str
    time: float
    request: bytes
    members: dict[tuple[int, int], bytes]
    observers: list[tuple[int, object]]

    def pack(self) -> bytes:
        """Return the bytes for the observer process, which was forked from the same generation as the worker."""
        return pickle.dumps((self.id, self.time, self.request, self.members, self.observers))

    @classmethod
    def of(cls, data: bytes) -> Observation:
        """Return what :meth:`pack` packed."""
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


def left_out(structs: Sequence[Packed], most: int) -> dict[tuple[int, int], bytes]:
    """Return the members that slurmctld has left out of a request for their length; asks for each.

    Args:
        structs: of the request.
        most: bytes of all together; longer ones are missing.
    """
    members: dict[tuple[int, int], bytes] = {}
    for number, struct in enumerate(structs):
        for place in struct.absent():
            value = struct.value(place) or b""
            most -= len(value)
            if most >= 0:
                members[number, place] = value
    return members


def late(ask: Query, sender: int, owner: int, *, modify: bool) -> Query:
    """Return what asks slurmctld after the answer: each question says whose request it is for."""
    whose = WHOSE.pack(sender, owner, modify, 0)
    return lambda question: ask(whose + question)
