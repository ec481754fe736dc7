# SPDX-License-Identifier: GPL-2.0-or-later
import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.wire.message import (
    Message,
    MessageError,
    Packed,
    answer,
    decode,
    pack,
    read_number,
    read_text,
    read_texts,
)
from slurmhooks.wire.protocol import TEXT_FOR_USER, Type
from slurmhooks.wire.tables import WIDTHS, Member, Table, Tables

JOB = Table(
    "job",
    (
        Member("account", "text", True),
        Member("overcommit", "u8", True),
        Member("argv", "texts", True),
        Member("requeue", "u16", True),
        Member("details", "pointer"),
        Member("time_limit", "u32", True),
        Member("details.nice", "u32"),
        Member("memory", "u64", True),
        Member("details.extra", "text"),
        Member("begin_time", "time", True),
    ),
)
TABLES = Tables("24.11.5", "testing", (JOB,))
texts = st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"?"))


def values() -> st.SearchStrategy[dict[str, Any]]:
    """Return raw values of some members."""
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "text": texts | st.none(),
        "texts": st.lists(texts, max_size=5),
        **{kind: st.integers(0, (1 << bits) - 1) for kind, bits in WIDTHS.items()},
    }
    options = {member.name: kinds[member.kind] for member in JOB.members if member.kind != "pointer"}
    return st.fixed_dictionaries({}, optional=options)


@given(values())
def test_structs_round_trip(given_values: dict[str, Any]) -> None:
    """Every raw value reads back as it was packed; missing values are 0, NULL or empty."""
    packed = Packed(JOB, pack(JOB, given_values))
    behind = any(name.startswith("details.") for name in given_values)
    for member in JOB.members:
        unset: Any = {"text": None, "texts": []}.get(member.kind, 0)
        if member.name.startswith("details.") and not behind:
            unset = None
        expected = int(behind) if member.kind == "pointer" else given_values.get(member.name, unset)
        assert packed.raw(member.name) == expected


@given(st.sampled_from(Type), st.lists(st.tuples(st.integers(0, TEXT_FOR_USER), st.binary(max_size=30)), max_size=5))
def test_messages_round_trip(kind: Type, items: list[tuple[int, bytes]]) -> None:
    """A message reads back with its type, numbers and items."""
    message = Message(kind, 1, 2, TEXT_FOR_USER, tuple(items))
    assert decode(message.encode(TABLES), TABLES) == message


@given(values(), st.data())
def test_damage_is_an_error(given_values: dict[str, Any], data: st.DataObject) -> None:
    """A message that was cut off or changed reads as other values or raises MessageError, and nothing else."""
    raw = Message(Type.REQUEST, 0, 1, 2, ((0, pack(JOB, given_values)),)).encode(TABLES)
    for size in range(len(raw)):
        with pytest.raises(MessageError):
            decode(raw[:size], TABLES)
    place, mask = data.draw(st.integers(0, len(raw) - 1)), data.draw(st.integers(1, 255))
    damaged = raw[:place] + bytes([raw[place] ^ mask]) + raw[place + 1 :]
    try:
        for _, value in decode(damaged, TABLES).items:
            packed = Packed(JOB, value)
            for member in JOB.members:
                packed.raw(member.name)
    except MessageError:
        pass


@given(st.binary(max_size=200), st.booleans())
def test_noise_is_an_error(noise: bytes, with_header: bool) -> None:
    """Arbitrary bytes and parts of items raise MessageError, unless they happen to be a message."""
    if with_header:
        size = 32 + len(noise)
        noise = Message(Type.RESULT).encode(TABLES)[:16] + size.to_bytes(4, "little") + bytes(12) + noise
    for read in (lambda: decode(noise, TABLES), lambda: read_text(noise), lambda: read_texts(noise)):
        with contextlib.suppress(MessageError):
            read()
    if len(noise) != 8:
        with pytest.raises(MessageError):
            read_number(noise)


def test_other_tables() -> None:
    """A message made with other tables raises MessageError that says so."""
    other = Tables("24.11.4", "testing", (JOB,))
    with pytest.raises(MessageError, match="rebuild both sides"):
        decode(Message(Type.ANSWER).encode(other), TABLES)


def test_deferred_members_are_fetched() -> None:
    """A long text that a message omits is requested when a handler reads it."""
    slots = bytearray(pack(JOB, {}))
    slots[0] = 1
    asked = []

    def fetch(place: int) -> bytes:
        asked.append(place)
        return b"long\0"

    packed = Packed(JOB, bytes(slots), fetch)
    assert packed.text(1 + 7) is None
    assert asked == []
    assert packed.text(0) == b"long"
    assert asked == [0]
    with pytest.raises(MessageError, match="account is deferred"):
        Packed(JOB, bytes(slots)).text(0)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"overcommit": 256}, ValueError),
        ({"overcommit": -1}, ValueError),
        ({"overcommit": b"1"}, TypeError),
        ({"account": 1}, TypeError),
        ({"account": [b"a"]}, TypeError),
        ({"account": b"a\0b"}, ValueError),
        ({"argv": b"a"}, TypeError),
        ({"nothing": 1}, KeyError),
    ],
)
def test_what_c_cannot_hold_is_not_packed(values: dict[str, Any], error: type[Exception]) -> None:
    """A wrong type, a number that does not fit and a NUL byte raise an error."""
    with pytest.raises(error):
        pack(JOB, values)


def test_answers() -> None:
    """An answer carries its code, the text for the user and the writes."""
    made = decode(answer(TABLES, -1, b"no", None), TABLES)
    assert (made.type, made.code, made.items) == (Type.ANSWER, (1 << 32) - 1, ((TEXT_FOR_USER, b"no\0"),))
    made = decode(answer(TABLES, 0, None, {"account": None, "argv": [b"a", b"b"], "requeue": 7}), TABLES)
    assert made.items == ((0, b""), (2, b"a\0b\0"), (3, (7).to_bytes(8, "little")))
