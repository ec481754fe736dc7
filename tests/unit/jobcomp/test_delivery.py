# SPDX-License-Identifier: GPL-2.0-or-later
"""Which records are delivered when, to which handlers, and how often."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import Reject
from slurmhooks.config.sections import JobComp
from slurmhooks.files import slurm_conf
from slurmhooks.handlers.registry import Handler, Registry
from slurmhooks.hooks.points import HOOKS
from slurmhooks.jobcomp.delivery import IDLE, Delivery
from slurmhooks.jobcomp.event import Event
from slurmhooks.wire.message import Message
from slurmhooks.wire.protocol import Type
from slurmhooks.workshop.testing.tables import tables_of
from tests.unit.jobcomp.spools import FIRST, SpoolFolder
from tests.unit.slurmctld.decided import decision

KILLED = "worker 17 ended before it answered in site:flaky"


class Clock:
    """A clock that only a test moves."""

    now = 1_000_000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still."""
    made = Clock()
    monkeypatch.setattr(time, "time", lambda: made.now)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> SpoolFolder:
    """An empty spool."""
    return SpoolFolder(tmp_path / "spool")


def handler(
    function: Callable[..., None], label: str = "site:handler", *, hook: str = "job_end", lenient: bool = False
) -> Handler:
    """Return a handler that takes record and event."""
    return Handler(function, ("record", "event"), HOOKS[hook], label=label, path="site.py", line=1, lenient=lenient)


class Taker:
    """A handler that keeps the records it gets, and acts as a test tells it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.records: list[Any] = []
        self.does: Callable[[Any, Event], None] = lambda record, event: None

    def __call__(self, record: Any, event: Event) -> None:
        """Take a record."""
        self.events.append(event)
        self.records.append(record)
        self.does(record, event)

    @property
    def jobs(self) -> list[int]:
        """The jobs whose records the handler got."""
        return [record.job_id for record in self.records]


def delivery(folder: SpoolFolder, *handlers: Handler, **settings: Any) -> Delivery:
    """Return the state of a worker that has just started."""
    return Delivery(folder.read(), Registry(handlers, ()), JobComp(**settings))


def all_turns(made: Delivery, failure: str | None = None) -> float:
    """Deliver all due records; return the time until the next one is due."""
    for _ in range(100):
        wait = made.turn(0, 1, failure)
        failure = None
        if wait:
            return wait
    raise AssertionError("it never ends")


def fail(record: Any, event: Event) -> None:
    """Fail as a handler without a network."""
    raise ConnectionError("no network")


def test_what_handlers_get(folder: SpoolFolder, clock: Clock) -> None:
    """A record with the job's fields, and an event with name, id, time and attempt; the record stays."""
    taker = Taker()
    folder.append(7, name="first", exit_code=256, tres_fmt_alloc_str="cpu=2", user_name="alice")
    folder.append(8, hook="job_start", name="second")
    made = delivery(folder, handler(taker), handler(taker, hook="job_start"))
    assert all_turns(made) == IDLE
    first, second = taker.events
    assert (first.name, first.id, first.time, first.attempt) == ("job_end", f"7.{(FIRST + 1) * 10**9}", FIRST + 1, 1)
    assert second.name == "job_start"
    one, two = taker.records
    assert (one.name, one.exit_code, one.tres_fmt_alloc_str, one.user_name) == ("first", 256, "cpu=2", "alice")
    assert two.name == "second"
    assert list(folder.read().records()) == []


def test_records_of_other_builds(folder: SpoolFolder, clock: Clock) -> None:
    """Records that an earlier build wrote, for an earlier release, are read with the tables stored beside them."""
    taker = Taker()
    folder.append(1, release="22.05", name="old")
    folder.append(2, release="26.05", name="new")
    all_turns(delivery(folder, handler(taker)))
    assert [record.name for record in taker.records] == ["old", "new"]
    with pytest.raises(AttributeError, match=r"exists since Slurm 24\.11; this is 22\.05"):
        taker.records[0].sluid  # noqa: B018 - it raises


@pytest.mark.parametrize("release", ["22.05", "26.05", None])
def test_each_delivery_has_a_decision(folder: SpoolFolder, clock: Clock, release: str | None) -> None:
    """The decision log can tell of a delivery whichever build wrote the record, even one that cannot read records."""
    if release is None:
        folder.append(0, message=Message(Type.REQUEST).encode(tables_of("26.05")))
    folder.append(7, release=release or "26.05", name="job")  # writes the tables
    made = delivery(folder, handler(lambda record, event: None))
    assert made.turn(0, 1, None) == 0.0
    assert made.call is not None
    told = decision(made.call, tables_of("26.05"))
    assert told["verdict"] == "accepted"
    assert told.get("name") == ("job" if release else None)


def test_without_private_headers_there_is_no_record(folder: SpoolFolder, clock: Clock) -> None:
    """In a build that cannot read records, handlers that take only the event run, one after the other."""
    events: list[Event] = []
    tables = tables_of("26.05")
    folder.append(0, message=Message(Type.REQUEST).encode(tables))
    folder.append(0, release="26.05")  # writes the tables
    made = Handler(events.append, ("event",), HOOKS["job_end"], label="site:handler", path="site.py", line=1)
    all_turns(delivery(folder, made))
    assert len(events) == 2


def test_order_of_one_job(folder: SpoolFolder, clock: Clock) -> None:
    """Later records of a job wait for its first one; those of other jobs do not."""
    taker = Taker()
    for job_id in (1, 2, 1, 3):
        folder.append(job_id)
    taker.does = lambda record, event: fail(record, event) if len(taker.events) in (1, 3) else None
    made = delivery(folder, handler(taker), backoff=5.0)
    assert all_turns(made) == pytest.approx(10.0)
    assert taker.jobs == [1, 2, 1, 3]  # the success of another one has ended the first pause
    clock.now += 10.0
    assert all_turns(made) == IDLE
    assert taker.jobs == [1, 2, 1, 3, 1, 1]
    assert [event.attempt for event in taker.events] == [1, 1, 2, 1, 3, 1]


def test_lanes(folder: SpoolFolder, clock: Clock) -> None:
    """A lane delivers only the jobs with its remainder, whichever worker serves it."""
    taker = Taker()
    for job_id in range(8):
        folder.append(job_id)
    workers = [delivery(folder, handler(taker)) for _ in range(2)]
    for turn in range(6):
        workers[turn % 2].turn(1, 4, None)
    assert taker.jobs == [1, 5]
    for turn in range(12):
        workers[turn % 2].turn(turn % 4, 4, None)
    assert sorted(taker.jobs) == list(range(8))


def test_pauses_double(folder: SpoolFolder, clock: Clock) -> None:
    """Each pause is twice the previous one, up to a limit; after the last attempt the record is a dead letter."""
    taker = Taker()
    taker.does = fail
    folder.append(1)
    made = delivery(folder, handler(taker), backoff=1.0, backoff_limit=3.0, tries=4)
    waits = []
    for _ in range(3):
        waits.append(all_turns(made))
        clock.now += waits[-1]
    assert all_turns(made) == IDLE
    assert waits == pytest.approx([1.0, 2.0, 3.0])
    assert [event.attempt for event in taker.events] == [1, 2, 3, 4]
    (letter,) = folder.read().letters()
    assert (letter["job_id"], letter["tries"], list(letter["reasons"])) == (1, 4, ["site:handler"])


def test_a_success_ends_the_pauses_of_others(folder: SpoolFolder, clock: Clock) -> None:
    """Once a handler has a record, those that it could not take before are delivered at once, in any lane."""
    taker = Taker()
    taker.does = fail
    for job_id in range(1, 9):
        folder.append(job_id)
    made = delivery(folder, handler(taker), backoff=3600.0)
    assert all_turns(made) == IDLE
    clock.now += 60.0
    assert all_turns(made) == IDLE
    assert len(taker.events) == 8
    taker.does = lambda record, event: None
    folder.append(9)
    others = delivery(folder, handler(taker))
    assert others.turn(1, 4, None) == 0.0  # only that of job 9 is due
    for lane in range(4):
        while not made.turn(lane, 4, None):
            continue
    assert sorted(taker.jobs[8:]) == list(range(1, 10))
    assert list(folder.read().records()) == []


def test_a_success_ends_a_pause_once(folder: SpoolFolder, clock: Clock) -> None:
    """A record that fails for a reason of its own waits as if no other one were delivered, after one more attempt."""
    taker = Taker()
    taker.does = lambda record, event: fail(record, event) if record.job_id == 1 else None
    folder.append(1)
    made = delivery(folder, handler(taker), backoff=3600.0)
    for job_id in range(2, 9):
        all_turns(made)
        folder.append(job_id)
    assert all_turns(made) == IDLE
    assert taker.jobs.count(1) == 2
    assert all_turns(delivery(folder, handler(taker))) == IDLE
    assert taker.jobs.count(1) == 2


def test_a_success_of_another_handler_ends_no_pause(folder: SpoolFolder, clock: Clock) -> None:
    """A record waits for the handlers that have failed, whichever others work."""
    steady, shaky = Taker(), Taker()
    shaky.does = fail
    folder.append(1)
    made = delivery(folder, handler(shaky, "site:shaky"), handler(steady, "site:steady"), backoff=3600.0)
    all_turns(made)
    folder.append(2)
    all_turns(made)
    assert (shaky.jobs, steady.jobs) == ([1, 2], [1, 2])


def test_a_clock_that_is_set_back(folder: SpoolFolder, clock: Clock) -> None:
    """No record waits longer than the longest pause."""
    taker = Taker()
    taker.does = lambda record, event: fail(record, event) if len(taker.events) == 1 else None
    folder.append(1)
    made = delivery(folder, handler(taker), backoff=1.0, backoff_limit=3.0)
    all_turns(made)
    clock.now -= 86400.0
    assert all_turns(made) == IDLE
    assert len(taker.events) == 2


def test_attempts_are_counted_across_processes(folder: SpoolFolder, clock: Clock) -> None:
    """A worker that has just started continues where the last one stopped, with the same pause and handlers."""
    steady, shaky = Taker(), Taker()
    shaky.does = fail
    folder.append(1)
    handlers = (handler(shaky, "site:shaky"), handler(steady, "site:steady"))
    assert all_turns(delivery(folder, *handlers, backoff=4.0)) == pytest.approx(4.0)
    assert all_turns(delivery(folder, *handlers, backoff=4.0)) == pytest.approx(4.0)
    clock.now += 4.0
    all_turns(delivery(folder, *handlers, backoff=4.0))
    assert [event.attempt for event in shaky.events] == [1, 2]
    assert [event.attempt for event in steady.events] == [1]


@pytest.mark.parametrize(("failure", "tries"), [(KILLED, 1), (None, 0)])
def test_a_worker_that_ends(folder: SpoolFolder, clock: Clock, failure: str | None, tries: int) -> None:
    """The end of the worker counts as a failure of the handler; the end of slurmctld does not."""
    taker = Taker()
    folder.append(1)
    spool = folder.read()
    (record,) = spool.records()
    record.segment.note(record, "begun", "site:flaky")  # and then it was killed
    made = delivery(folder, handler(taker, "site:flaky"), backoff=1.0)
    wait = all_turns(made, failure)
    assert (len(taker.events), wait) == ((0, pytest.approx(1.0)) if tries else (1, IDLE))
    clock.now += 1.0
    all_turns(made)
    assert [event.attempt for event in taker.events] == [1 + tries]


def test_a_worker_that_ends_after_its_handler(
    folder: SpoolFolder, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that leaves a process in which nothing can be noted, as without memory, is called no more often."""
    taker = Taker()
    taker.does = fail
    folder.append(1)
    made = delivery(folder, handler(taker, "site:broken"), backoff=1.0, tries=2)
    for tries in (1, 2):
        monkeypatch.setattr(made, "_end", broken_end)
        with pytest.raises(MemoryError):
            all_turns(made)
        made = delivery(folder, handler(taker, "site:broken"), backoff=1.0, tries=2)
        all_turns(made, KILLED)
        assert [event.attempt for event in taker.events] == [*range(1, tries + 1)]
        clock.now += 1.0
    (letter,) = folder.read().letters()
    assert "failed" in letter["reasons"]["site:broken"]


def broken_end(*_: object) -> None:
    """Stand for a process whose memory is used up."""
    raise MemoryError


def test_one_that_ends_its_worker_runs_last(folder: SpoolFolder, clock: Clock) -> None:
    """After a crash, the other handlers get the record first, because the crashing one may crash again."""
    steady, flaky = Taker(), Taker()
    folder.append(1)
    (record,) = folder.read().records()
    record.segment.note(record, "begun", "site:flaky")
    handlers = (handler(flaky, "site:flaky"), handler(steady, "site:steady"))
    made = delivery(folder, *handlers, backoff=1.0)
    all_turns(made, KILLED)
    clock.now += 1.0
    before: list[int] = []
    flaky.does = lambda record, event: before.append(len(steady.events))
    all_turns(made)
    assert before == [1]


def test_refused(folder: SpoolFolder, clock: Clock) -> None:
    """Reject makes a dead letter at once, and the other handlers have the record."""
    steady, picky = Taker(), Taker()

    def refuse(record: Any, event: Event) -> None:
        raise Reject("not ours")

    picky.does = refuse
    folder.append(1)
    all_turns(delivery(folder, handler(picky, "site:picky"), handler(steady, "site:steady")))
    (letter,) = folder.read().letters()
    assert letter["reasons"] == {"site:picky": "not ours"}
    assert letter["passed"] == ["site:steady"]
    assert len(picky.events) == len(steady.events) == 1


def test_lenient_handlers(folder: SpoolFolder, clock: Clock) -> None:
    """With on_error="ignore", a bug or the end of the worker is logged once, and the record counts as delivered."""
    taker = Taker()
    taker.does = fail
    folder.append(1)
    folder.append(2)
    (first, _) = folder.read().records()
    first.segment.note(first, "begun", "site:flaky")
    assert all_turns(delivery(folder, handler(taker, "site:flaky", lenient=True)), KILLED) == IDLE
    assert taker.jobs == [2]
    assert folder.read().letters() == []


def test_without_handlers_nothing_waits(folder: SpoolFolder, clock: Clock) -> None:
    """Records that no handler takes are finished."""
    folder.append(1)
    assert all_turns(delivery(folder)) == IDLE
    assert list(folder.read().records()) == []


@pytest.mark.parametrize(
    "change",
    [
        *('"retry"', '"retry", null, null', '"retry", "x", "y"', '"retry", 1, NaN', '"begun"', '"begun", 5'),
        *('"failed", "a"', '"failed", [], 1', '"failed", "a", {}', '"passed", []', '"done", 1', "[]", "{}"),
        *("[" * 100_000, f'"retry", -{10**400}, 0'),
    ],
    ids=lambda change: change[:20],
)
def test_damaged_states(folder: SpoolFolder, clock: Clock, change: str) -> None:
    """A damaged line of a state file is as one that is missing: the record is delivered, and so are all others."""
    taker = Taker()
    folder.append(1)
    folder.append(2)
    first = next(folder.read().records())
    state = folder.path / "0000000001.state"
    state.write_text(f"[{first.frame.position}, {change}]\n")
    all_turns(delivery(folder, handler(taker)))
    assert taker.jobs == [1, 2]
    assert [event.attempt for event in taker.events] == [1, 1]


def test_what_cannot_be_read_is_a_dead_letter(folder: SpoolFolder, clock: Clock) -> None:
    """A record whose tables are missing delays nothing; its dead letter says why."""
    taker = Taker()
    folder.append(1, release="22.05")
    folder.append(2)
    (folder.path / f"{tables_of('22.05').identity:016x}.table").unlink()
    all_turns(delivery(folder, handler(taker)))
    assert taker.jobs == [2]
    (letter,) = folder.read().letters()
    assert "cannot be read" in letter["reasons"]["slurmhooks"]


def test_script(folder: SpoolFolder, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """record.script is the script that slurmctld keeps, as long as it does; a task of an array has the array's."""
    monkeypatch.setattr(slurm_conf, "own_value", lambda key: str(tmp_path))
    scripts: list[str | None] = []
    taker = Taker()
    taker.does = lambda record, event: scripts.append(record.script)
    place = tmp_path / "hash.2" / "job.12"
    place.mkdir(parents=True)
    (place / "script").write_bytes(b"#!/bin/sh\n\0")
    for job_id, array in ((12, 0), (13, 12), (14, 0)):
        folder.append(job_id, array_job_id=array)
    all_turns(delivery(folder, handler(taker)))
    assert scripts == ["#!/bin/sh\n", "#!/bin/sh\n", None]
