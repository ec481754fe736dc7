# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the answers of workers, as slurmctld's plugin does; for tests, stand-ins and replays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmhooks.wire.message import MessageError, read_number, read_text, read_texts
from slurmhooks.wire.protocol import TEXT_FOR_USER, Type

if TYPE_CHECKING:
    from slurmhooks.wire.message import Message, Raw
    from slurmhooks.wire.tables import Table


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a worker.

    ``code`` has 32 bits; 0 lets the request pass. ``writes`` are raw values by member.
    """

    code: int
    text: bytes | None
    writes: dict[str, Raw]


def read_answer(table: Table, message: Message) -> Answer:
    """Read what :func:`slurmhooks.wire.message.answer` made.

    Raises:
        MessageError: the message is damaged, or is not an answer.
    """
    if message.type != Type.ANSWER:
        raise MessageError("not an answer")
    text: bytes | None = None
    writes: dict[str, Raw] = {}
    for tag, value in message.items:
        if tag == TEXT_FOR_USER:
            text = read_text(value)
            continue
        if not tag < len(table.members):
            raise MessageError("a write to no member")
        member = table.members[tag]
        read = {"text": read_text, "texts": read_texts}.get(member.kind, read_number)
        writes[member.name] = read(value)
    return Answer(message.code, text, writes)
