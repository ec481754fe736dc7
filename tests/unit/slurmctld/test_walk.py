# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of tables: what is asked for, and when."""

from collections.abc import Callable
from typing import Any

import pytest

from slurmhooks.errors import StaleHandleError
from slurmhooks.recording.request import members_asked
from slurmhooks.slurmctld.asking import Asking
from slurmhooks.slurmctld.table import Table
from slurmhooks.slurmctld.views import Views
from slurmhooks.slurmctld.walk import part_of
from slurmhooks.testing import FakeRecord, fake_jobs, fake_nodes
from slurmhooks.wire.message import Message, Packed, decode, number_value, pack
from slurmhooks.wire.protocol import DEFERRED, SHORT, TALLY, Type, What
from slurmhooks.workshop.testing.job_tables import FakeTable
from slurmhooks.workshop.testing.slurmctld import FakeSlurmctld
from slurmhooks.workshop.testing.tables import tables_of

pytestmark = pytest.mark.slow

TABLES = tables_of("24.11")
RECORD = TABLES["record"]
LONG = "a" * 5000
COUNT = 3000


class Slurmctld:
    """Answers as slurmctld does: with few rows in an answer, whose texts are short."""

    def __init__(self, jobs: FakeTable, nodes: FakeTable | None = None, most: int = 1 << 18) -> None:
        self.asked: list[Message] = []
        self.sizes: list[int] = []
        self.records = {"record": jobs, "node": nodes or fake_nodes({}, release="24.11")}
        self._most = most

    def __call__(self, question: bytes) -> bytes:
        """Answer a question."""
        asked = decode(question, TABLES)
        self.asked.append(asked)
        if asked.what == What.ROWS:
            return self._rows(asked)
        whole = FakeSlurmctld(TABLES, self.records)(question)
        answer = decode(whole, TABLES)
        if asked.what == What.PAGE and asked.table == TABLES.place("record"):
            answer = answer._replace(items=tuple((tag, _short(value, asked)) for tag, value in answer.items))
        data = answer.encode(TABLES)
        self.sizes.append(len(data))
        return data

    def _rows(self, asked: Message) -> bytes:
        keys = [item for item in asked.items if item[0] == 0]
        others = tuple(item for item in asked.items if item[0] != 0)
        answered, size = 0, 0
        items: list[tuple[int, bytes]] = []
        for key in keys:
            question = asked._replace(items=(*others, key)).encode(TABLES)
            found = decode(FakeSlurmctld(TABLES, self.records)(question), TABLES).items
            items += found
            answered += 1
            size += sum(len(value) for _, value in found)
            if size > self._most:
                break
        answer = Message(Type.RESULT, 0, answered if answered < len(keys) else 0, 0, tuple(items))
        self.sizes.append(size)
        return answer.encode(TABLES)

    def of(self, what: What) -> list[Message]:
        """Return the questions of a kind."""
        return [asked for asked in self.asked if asked.what == what]


def _short(data: bytes, asked: Message) -> bytes:
    """Leave long texts out of a struct."""
    places = members_asked(asked)
    table = part_of(RECORD, places) if places else RECORD
    struct = Packed(table, data)
    slots = list(struct.slots)
    raws = {}
    for place, member in enumerate(table.members):
        if member.kind == "text" and (struct.text(place) or b"")[SHORT - 1 :]:
            slots[place] = DEFERRED
        elif member.kind == "text" and slots[place]:
            raws[member.name] = struct.raw(member.name)
    return pack(table, raws, slots)


def jobs(count: int = COUNT, **fields: Any) -> FakeTable:
    """Return many jobs with long command lines."""
    return fake_jobs(
        [
            FakeRecord(release="24.11", job_id=number, submit_line=LONG, name=f"n{number}", **fields)
            for number in range(1, count + 1)
        ],
        release="24.11",
    )


@pytest.fixture
def table() -> Callable[..., Table[Any, Any]]:
    """Return a function that returns the table of jobs of a request, of the same worker."""
    views = Views(TABLES, {})

    def table(slurmctld: Slurmctld, name: str = "jobs", *, steady: bool = True) -> Table[Any, Any]:
        slurmctld.asked.clear()
        slurmctld.sizes.clear()
        return views.table(name, Asking(TABLES, slurmctld, steady=steady))

    return table


def test_members_are_asked_for_in_bulk_once(table: Callable[..., Table[Any, Any]]) -> None:
    """The first handler that reads a field needs few questions, the next one none besides that for the rows."""
    slurmctld = Slurmctld(jobs())
    for most in (25, 1):
        values = [(row.name, row.user_id) for row in table(slurmctld).values()]
        assert values == [(f"n{number}", 1000) for number in range(1, COUNT + 1)]
        assert len(slurmctld.asked) <= most
    assert max(slurmctld.sizes) < COUNT * 120


def test_long_texts_are_asked_for_in_bulk_and_given_up(table: Callable[..., Table[Any, Any]]) -> None:
    """A text that is long is never in a page, and read with those of the next rows; not all are kept."""
    slurmctld = Slurmctld(jobs())
    for _turn in range(2):
        rows = table(slurmctld).values()
        assert all(row.submit_line == LONG for row in rows)
        assert len(slurmctld.of(What.ROWS)) < COUNT / 25
        assert max(slurmctld.sizes) < COUNT * 120
        walk = next(iter(rows))._struct.walk
        assert walk._size < 6 << 20
        assert next(iter(rows)).submit_line == LONG


def test_a_text_of_one_row_is_one_question(table: Callable[..., Table[Any, Any]]) -> None:
    """A handler that reads the long text of one row does not get those of the others."""
    slurmctld = Slurmctld(jobs())
    assert next(row for row in table(slurmctld).values() if row.job_id == 7).submit_line == LONG
    assert sum(slurmctld.sizes) < COUNT * 120 + 2 * len(LONG)


@pytest.mark.parametrize("gone", [True, False])
def test_a_later_text_is_of_the_same_job(table: Callable[..., Table[Any, Any]], gone: bool) -> None:
    """Without slurmctld's locks, a text that is read later is that of the row's job, or an error."""
    known = jobs(3, submit_time=100)
    rows = list(table(Slurmctld(known), steady=False).values())
    if gone:
        del known.structs[2]  # type: ignore[attr-defined]
    else:
        known.structs[2] = jobs(2, submit_time=200).structs[2]  # type: ignore[index]
    assert rows[0].submit_line == LONG
    with pytest.raises(StaleHandleError, match="record 2 has ended before its submit_line was read"):
        rows[1].submit_line  # noqa: B018
    assert rows[2].submit_line == LONG


def test_numbers_are_one_question(table: Callable[..., Table[Any, Any]]) -> None:
    """How many rows there are is asked, and no row is sent; rows are fetched once, when they are used."""
    slurmctld = Slurmctld(jobs(50, array_task_cnt=3))
    found = table(slurmctld)
    assert (len(found), found.count(), found.count(name="n1"), len(found.of_user(1000))) == (50, 150, 3, 50)
    assert found.counts("user_id") == {(1000,): 150}
    assert [asked.what for asked in slurmctld.asked] == [What.COUNT] * 5
    chosen = found.where(name="n2")
    assert [row.job_id for row in chosen] == [2]
    assert (len(chosen), chosen[0].name, chosen[-1:] == list(chosen)) == (1, "n2", True)
    both: Any = chosen
    assert both + [1] == [chosen[0], 1]  # noqa: RUF005
    assert [1] + both == [1, chosen[0]]  # noqa: RUF005
    assert len(slurmctld.of(What.PAGE)) == 1
    with pytest.raises(AttributeError, match="has no 'user_name' to count by"):
        found.counts("user_name")
    with pytest.raises(AttributeError, match="has no 'nam' to filter by"):
        found.where(nam="a")


def test_what_was_chosen_stays(table: Callable[..., Table[Any, Any]]) -> None:
    """Without slurmctld's locks, the rows that a handler has chosen are fetched before some of them go."""
    known = jobs(3)
    chosen = table(Slurmctld(known), steady=False).where(user_id=1000)
    del known.structs[2]  # type: ignore[attr-defined]
    assert (len(chosen), [row.job_id for row in chosen]) == (3, [1, 2, 3])


def test_nodes_of_a_partition(table: Callable[..., Table[Any, Any]]) -> None:
    """A condition on the partitions of nodes is met by those that are in one; the kit agrees with what workers do."""
    nodes = fake_nodes(
        {f"n{number}": {"cpus": number % 2, "partitions": ["a", "b"] if number < 4 else ["ab"]} for number in range(9)},
        release="24.11",
    )
    for each in (table(Slurmctld(jobs(1), nodes), "nodes"), nodes):
        assert [node.name for node in each.where(partitions="b")] == ["n0", "n1", "n2", "n3"]
        assert each.counts("cpus", partitions="ab") == {(0,): 3, (1,): 2}
        assert each.counts("partitions") == {(("a", "b"),): 4, (("ab",),): 5}
        assert each.count(partitions="a,b") == 0


def test_restarted_counts_are_not_added(table: Callable[..., Table[Any, Any]]) -> None:
    """If slurmctld has forgotten where a page ended, the worker forgets what it has counted."""
    answers = iter([(5, 0, 3), (9, 5, 4), (4, 0, 2), (0, 4, 7)])

    def query(question: bytes) -> bytes:
        following, start, count = next(answers)
        tally = number_value(count) * 2
        return Message(Type.RESULT, 0, following, start, ((1, b""), (TALLY, tally))).encode(TABLES)

    assert len(Views(TABLES, {}).table("jobs", Asking(TABLES, query))) == 9
