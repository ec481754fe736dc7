# SPDX-License-Identifier: GPL-2.0-or-later
"""What is secret is the same in recordings and in the decision log, in each message and in each table."""

from array import array

import pytest

from slurmhooks.fields.secrets import SECRETS
from slurmhooks.recording.request import Redaction
from slurmhooks.slurmctld.changes import SECRET
from slurmhooks.wire.message import Message, pack, text_value, texts_value
from slurmhooks.wire.protocol import MEMBERS, Fact, Type, What
from slurmhooks.workshop.testing.tables import tables_of

MARK = b"hunter2"
RELEASES = ("22.05", "24.11", "26.05")


def secret_members(release: str, table: str) -> dict[str, str]:
    """Return the members that may hold secrets, each with its kind, by what their names say."""
    names = {"script", "argv", "submit_line", "environment", "spank_job_env", "x11_magic_cookie"}
    members = tables_of(release)[table].members
    return {member.name: member.kind for member in members if names & set(member.name.split("."))}


def filled(release: str, table: str) -> bytes:
    """Return a packed struct whose secrets have the mark."""
    members = secret_members(release, table)
    return pack(tables_of(release)[table], {n: [MARK] if kind == "texts" else MARK for n, kind in members.items()})


def test_one_list() -> None:
    """What the decision log hides is what recordings leave out, under the same names."""
    assert {(name, field) for name, fields in SECRETS.items() for field in fields} == {
        (name, field) for field, name in SECRET.items()
    }


@pytest.mark.parametrize("kept", [(), ("script",), ("environment",), ("script", "environment")])
@pytest.mark.parametrize("table", ["job", "record"])
@pytest.mark.parametrize("release", RELEASES)
def test_no_secret_is_left(release: str, table: str, kept: tuple[str, ...]) -> None:
    """No message and no row of a table has the secrets that were not asked for, and all others are kept."""
    tables = tables_of(release)
    place, struct = tables.place(table), filled(release, table)
    expected = sum(SECRET[name.rpartition(".")[2]] in kept for name in secret_members(release, table))
    assert struct.count(MARK) == len(secret_members(release, table)) > 1
    redaction = Redaction(tables, kept)
    request = Message(Type.REQUEST, items=((place, struct),)).encode(tables)
    question = Message(Type.QUERY, What.ROW, place, 17).encode(tables)
    result = Message(Type.RESULT, items=((place, struct), (place, struct))).encode(tables)
    assert redaction.request(request).count(MARK) == expected
    assert b"".join(redaction.rows(tables.tables[place].name, [struct])).count(MARK) == expected
    ((_, rows),) = redaction.questions([(question, result)])
    assert rows.count(MARK) == 2 * expected
    for name in secret_members(release, table):
        index = tables.tables[place].places[name]
        asked = Message(Type.QUERY, What.MEMBER, place, index).encode(tables)
        text = Message(Type.RESULT, items=((0, text_value(MARK)),)).encode(tables)
        assert len(redaction.questions([(asked, text)])) == (SECRET[name.rpartition(".")[2]] in kept)
        members = array("I", (tables.tables[place].places["name"], index)).tobytes()
        asked = Message(Type.QUERY, What.COUNT, place, items=((MEMBERS, members),)).encode(tables)
        assert len(redaction.questions([(asked, text)])) == (SECRET[name.rpartition(".")[2]] in kept)
    asked = Message(Type.QUERY, What.FACT, Fact.JOB_SCRIPT, 17).encode(tables)
    assert len(redaction.questions([(asked, text)])) == ("script" in kept)


@pytest.mark.parametrize("release", RELEASES)
def test_no_secret_is_left_in_an_answer(release: str) -> None:
    """What handlers write into such fields is left out, too."""
    tables = tables_of(release)
    places = tables["job"].places
    values = {
        name: texts_value([MARK]) if kind == "texts" else text_value(MARK)
        for name, kind in secret_members(release, "job").items()
    }
    answer = Message(Type.ANSWER, items=tuple((places[name], value) for name, value in values.items())).encode(tables)
    assert answer.count(MARK) == len(values)
    assert Redaction(tables).answer(answer).count(MARK) == 0
