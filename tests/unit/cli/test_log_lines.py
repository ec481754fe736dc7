# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of a large log: those that are found are those that one finds who reads all of it."""

import json
import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slurmhooks.cli import log_lines
from slurmhooks.cli.decisions import Log
from slurmhooks.cli.log_lines import Window, backwards

SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
START = datetime(2027, 10, 31, 0, 30, tzinfo=UTC)
"""Half an hour before daylight saving time ends."""
ZONES = [UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("America/St_Johns"), timezone(timedelta(hours=14))]


@SETTINGS
@given(
    st.lists(st.sampled_from([b"a", b"b", b"ab", b"\n", b"\n\n", b"cccc", b"\xff"]), max_size=60),
    st.sampled_from([b"", b"a", b"ab", b"bc"]),
    st.integers(1, 70),
)
def test_lines_are_those_of_the_file(tmp_path: Path, parts: list[bytes], needle: bytes, block: int) -> None:
    """Lines with a text come last one first, wherever blocks end; an unfinished line is left out."""
    (tmp_path / "log").write_bytes(b"".join(parts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_lines, "BLOCK", block)
        found = list(backwards(tmp_path / "log", needle))
    wanted = [line for line in b"".join(parts).split(b"\n")[:-1] if needle in line]
    assert found == wanted[::-1]


def entry(moment: datetime, number: int) -> dict[str, object]:
    """Return a line of the log."""
    about = {"user": f"user{number % 7}", "user_id": 2000 + number % 7, "name": "job"}
    verdict = "refused" if number % 5 == 0 else "accepted"
    return {
        "time": moment.isoformat(timespec="milliseconds"),
        "event": "decision",
        "id": f"{number:012x}",
        "hook": "job_submit",
        "verdict": verdict,
        **about,
    }


STEPS = st.sampled_from([0.0, 0.3, 1.0, 59.0, 3600.0, 86400.0, -1.0, -30.0, -3600.0, -200_000.0])


@SETTINGS
@given(
    st.lists(st.tuples(STEPS, st.sampled_from(ZONES), st.booleans()), min_size=1, max_size=60),
    st.integers(-3, 3 * 24),
    st.sampled_from([1, 60, 3600, 86400]),
    st.sampled_from([300, 2000, 1 << 18]),
)
def test_times_are_those_of_the_lines(
    tmp_path: Path, steps: list[tuple[float, timezone, bool]], since: int, seconds: int, block: int
) -> None:
    """What lies in a time is found, though clocks are set back, time zones change, and two machines write."""
    moment, lines = START, []
    for number, (step, zone, _) in enumerate(steps):
        moment += timedelta(seconds=step)
        lines.append(entry(moment.astimezone(zone), number))
    for name in (True, False):
        text = "".join(json.dumps(line) + "\n" for line, (*_, first) in zip(lines, steps, strict=True) if first == name)
        (tmp_path / f"{name}.jsonl").write_text(text)
    begin, end = START + timedelta(hours=since), START + timedelta(hours=since, seconds=seconds)
    wanted = {line["id"] for line in lines if begin <= datetime.fromisoformat(str(line["time"])) < end}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_lines, "BLOCK", block)
        log = Log(tmp_path)
        window = Window.between(begin, end)
        assert {decision.id for decision in log.find(lambda _: True, window=window)} == wanted
        assert {content["id"] for content in log.contents(begin, end)} == wanted
        refused = log.find(lambda each: each.verdict == "refused", "refused", window=window)
        assert {decision.id for decision in refused} == {each for each in wanted if int(str(each), 16) % 5 == 0}


def test_blocks_of_other_times_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of blocks that are days away are not looked at one by one."""
    days = 60
    with (tmp_path / "job_submit.jsonl").open("w") as file:
        for number in range(days * 200):
            file.write(json.dumps(entry(START + timedelta(minutes=7.2 * number), number)) + "\n")
    looked: list[bytes] = []
    may_have = Window.may_have

    def kept(window: Window, line: bytes) -> bool:
        looked.append(line)
        return may_have(window, line)

    monkeypatch.setattr(log_lines, "BLOCK", 1 << 13)
    monkeypatch.setattr(Window, "may_have", kept)
    begin = START + timedelta(days=30)
    list(Log(tmp_path).contents(begin, begin + timedelta(hours=1)))
    assert 0 < len(looked) < 200 * 5


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """However long the file, or a line of it, little is in memory."""
    with (tmp_path / "log").open("wb") as file:
        for number in range(3000):
            file.write(b"x" * 10_000 + b"%d\n" % number)
        file.truncate(200 << 20)  # a file system that has lost the rest
        file.seek(0, 2)
        file.write(b"\nlast\n")
    tracemalloc.start()
    try:
        assert next(backwards(tmp_path / "log")) == b"last"
        assert sum(1 for _ in backwards(tmp_path / "log", b"x2999")) == 1
        assert tracemalloc.get_traced_memory()[1] < 2 * log_lines.LONGEST + (8 << 20)
    finally:
        tracemalloc.stop()
