# SPDX-License-Identifier: GPL-2.0-or-later
import random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slurmhooks.log import (
    CONTINUED,
    LEVELS,
    LIMIT,
    MOST_LINES,
    PREFIX,
    WHOLE,
    Log,
    lines_of,
    log,
    one_line,
    printed,
    visible,
)


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_each_level_reaches_slurm_as_its_index(said: SimpleNamespace, level: str) -> None:
    """Each level has a method; Slurm's log gets the index of the level and a line that starts with slurmhooks."""
    getattr(log, level)("text")
    assert said.lines == [(LEVELS.index(level), "slurmhooks: text")]
    assert said.user == []


def test_arguments_and_fields(said: SimpleNamespace) -> None:
    """A text takes arguments for its % and fields, which are appended as name=value."""
    log.info("job %d of %s", 7, "alice", partition="gpu", nodes=[1, 2])
    assert said.lines[0][1] == "slurmhooks: job 7 of alice partition='gpu' nodes=[1, 2]"


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_fields_may_have_any_name(said: SimpleNamespace, level: str) -> None:
    """Field names do not collide with parameter names."""
    fields: dict[str, Any] = {"text": 1, "level": 2, "self": 3}
    getattr(log, level)("x", **fields)
    assert said.lines[0][1] == "slurmhooks: x text=1 level=2 self=3"


def test_a_percent_sign_without_arguments_is_text(said: SimpleNamespace) -> None:
    """Without arguments, percent signs have no meaning."""
    log.info("100% of %s")
    log.user("100% of %s")
    assert said.lines[0][1] == "slurmhooks: 100% of %s"
    assert said.user == ["100% of %s"]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("%d jobs", ("many",)),
        ("%s and %s", ("one",)),
        ("no place", ("one",)),
        ("100% zeal", ("one",)),
        ("%(name)s", ("one",)),
        ("%c", (1 << 40,)),
    ],
)
def test_a_wrong_format_never_fails_a_job(said: SimpleNamespace, text: str, args: tuple[object, ...]) -> None:
    """An invalid format string is logged with its arguments."""
    log.info(text, *args)
    assert said.lines[0][1] == f"slurmhooks: {text} {args!r}"


NASTY = "a\0\a\b\t\n\v\r\x1b[2J\x7f\x85\x9b\u061c\u200b\u2028\u202e\u2066\ue000\ufeff\udcff\ud800\U000e0041z"
SHOWN = r"a\x00\x07\x08\t\n\x0b\r\x1b[2J\x7f\u0085\u009b\u061c\u200b\u2028\u202e\u2066\ue000\ufeff\xff\ud800\U000e0041z"


def test_nothing_that_acts_on_a_terminal_is_logged(said: SimpleNamespace) -> None:
    """Control characters, bidi overrides and bytes that are not UTF-8 are escaped."""
    log.info("%s", NASTY)
    log.plain(2, NASTY)
    assert said.lines == [(1, f"slurmhooks: {SHOWN}"), (2, SHOWN)]
    before, after = SHOWN.split(r"\n", 1)
    log.error(NASTY)
    log.plain(2, NASTY, own=True)
    assert said.lines[2:] == [
        (0, f"slurmhooks: {before}"), (0, f"slurmhooks: | {after}"), (2, before), (2, f"| {after}"),
    ]  # fmt: skip
    log.record(f"in {NASTY}", "id: ")
    assert said.records == [f"slurmhooks: id: in {before}", f"slurmhooks: id: {after}"]


SIGNS = "ab \n\n\r\t\0\x1b\x85\u2028\u202e|%s\udcffä"


def test_lines_of_any_text(said: SimpleNamespace) -> None:
    """Each line of a text is a record; only the first is not marked; an argument adds none, whatever it contains."""
    random.seed(11)
    for _ in range(2000):
        own = "".join(random.choices(SIGNS, k=random.randrange(30))).replace("%", "")
        sent = "".join(random.choices(SIGNS, k=random.randrange(30)))
        place = random.randrange(len(own) + 1)
        said.lines.clear()
        log.info(f"{own[:place]}[%s]{own[place:]}", sent, field=sent)
        text = (own[:place] + "[]" + own[place:]).rstrip("\n")
        first, *others = [line.removeprefix(PREFIX) for _, line in said.lines]
        assert len(others) == text.count("\n")
        assert all(line.startswith(CONTINUED) for line in others)
        assert all(line.isprintable() for line in (first, *others))
        joined = "\n".join([first, *(line.removeprefix(CONTINUED) for line in others)]).partition(" field=")[0]
        whole = f"{own[:place]}[{sent.replace(chr(10), chr(92) + 'n')}]{own[place:]}".rstrip("\n")
        assert joined == visible(whole, "\n")


def test_printed_lines_are_marked() -> None:
    """What a health check prints is shown line by line; no line looks like a record of the log."""
    text = f"one\nslurmhooks: error: two\n{NASTY.replace(chr(10), '')}\n\n"
    escaped = SHOWN.replace(r"\n", "").replace(r"\ud800", "?")
    lines = printed(
        text.encode("utf-8", "surrogatepass").replace(b"\xed\xb3\xbf", b"\xff").replace(b"\xed\xa0\x80", b"?")
    )
    assert lines == ["| one", "| slurmhooks: error: two", f"| {escaped}"]


def test_newlines_at_the_end_are_dropped(said: SimpleNamespace) -> None:
    """Newlines at the end of a text add nothing, for the log and for the user; fields follow the last line."""
    log.error("invalid suffix\n")
    log.plain(1, "text\n\n", own=True)
    log.user("text\n")
    log.info("two\nlines\n", job=1)
    assert [line for _, line in said.lines] == [
        "slurmhooks: invalid suffix", "text", "slurmhooks: two", "slurmhooks: | lines job=1",
    ]  # fmt: skip
    assert said.user == ["text"]


def test_lines_are_limited() -> None:
    """The lines of a text have together the size of a record, and their number is limited."""
    for text in ("\n" * 100_000 + "x", "a\n" * 100_000, "x" * 5000 + "\ny", "\x1b\n" * 3000):
        lines = lines_of(text, LIMIT, PREFIX)
        assert sum(len(PREFIX) + len(line.encode()) for line in lines) <= LIMIT + 100
        assert len(lines) <= MOST_LINES + 1
        assert "left out]" in lines[-1]


def test_a_message_keeps_its_layout_and_nothing_else(said: SimpleNamespace) -> None:
    """Newlines and tabs of a message are kept; other unprintable characters are escaped."""
    log.user(NASTY)
    assert said.user == [SHOWN.replace(r"\n", "\n").replace(r"\t", "\t")]
    assert said.user[0].encode()


def test_printable_text_stays() -> None:
    """Texts of any language are not escaped; neither is a backslash, so that escaping twice changes nothing."""
    for text in ("grün 100\u00a0%", "東京\u3000駅", "C:\\n", SHOWN):
        assert visible(text) == text


@pytest.mark.parametrize("text", ["x" * 3_000_000, "ä" * 2_000_000, "\x1b" * 3_000_000])
def test_a_record_is_limited(said: SimpleNamespace, text: str) -> None:
    """A record has at most 4 KiB, and says how many bytes were omitted."""
    log.info("%s", text)
    log.user("%s", text)
    log.plain(1, text)
    for line in (said.lines[0][1], said.user[0], said.lines[1][1]):
        assert LIMIT - 100 < len(line.encode()) <= LIMIT
        kept, _, note = line.removeprefix(PREFIX).partition(" [... ")
        assert note.endswith(" bytes left out]")
        sent = kept.replace(r"\x1b", "\x1b").encode()
        assert len(sent) + int(note.split()[0]) == len(text.encode())


def test_the_limit_is_the_sites(said: SimpleNamespace) -> None:
    """``[log] limit`` sets the limit; a text of exactly this size is not cut."""
    log.limit("debug3", 300)
    try:
        log.plain(1, "x" * 300)
        log.plain(1, "x" * 301)
    finally:
        log.limit("debug3")
    assert [len(line) == 300 and "left out" not in line for _, line in said.lines] == [True, False]


@pytest.mark.parametrize("text", ["\n".join(f"line {number}" for number in range(200_000)), "\n" * 1_000_000])
def test_a_traceback_is_limited_as_a_whole(said: SimpleNamespace, text: str) -> None:
    """Of a very long traceback, the first and the last lines are logged, and the number of omitted lines."""
    log.record(text, "error 1: ")
    size = sum(len(line) for line in said.records)
    assert LIMIT * WHOLE / 2 < size < LIMIT * (WHOLE + 2)
    notes = [line for line in said.records if "lines left out" in line]
    assert len(notes) == 1
    assert len(said.records) - 1 + int(notes[0].split()[4]) == text.count("\n") + 1
    assert all(line.startswith("slurmhooks: error 1: ") for line in said.records)
    assert said.records[0].endswith(text.split("\n")[0])
    assert said.records[-1].endswith(text.split("\n")[-1])


def test_a_text_that_is_none_is_shown(said: SimpleNamespace) -> None:
    """Any object can be logged."""
    log.info(5)  # type: ignore[arg-type]
    assert said.lines[0][1] == "slurmhooks: 5"


class Silent:
    """An object whose str() and repr() raise."""

    def __str__(self) -> str:
        raise ValueError("no")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("text", "args", "line"),
    [
        ("%(who)s has %(n)d", ({"who": "alice", "n": 3},), "alice has 3"),
        ("%(who)s", ({"n": 3},), "%(who)s ({'n': 3},)"),
        ("of %s", ({},), "of {}"),
        ("%s", ("",), ""),
        ("%s", (Silent(),), "%s <tuple>"),
        (Silent(), (), "<Silent>"),
    ],
)
def test_arguments_are_as_for_the_module_logging(said: SimpleNamespace, text: Any, args: Any, line: str) -> None:
    """A single mapping is for %(name)s, and invalid arguments do not raise."""
    log.user(text, *args)
    assert said.user == [line]


def test_a_field_that_cannot_be_shown(said: SimpleNamespace) -> None:
    """A field whose repr() raises does not raise."""
    log.info("x", who=Silent())
    assert said.lines == [(1, "slurmhooks: x who=<Silent>")]


def test_a_level_that_slurm_does_not_have() -> None:
    """The error lists Slurm's levels."""
    with pytest.raises(AttributeError, match=r"log has no 'warning'; its levels are Slurm's: error, info, .*, user"):
        log.warning("x")  # type: ignore[attr-defined]


def test_user_texts_stay_whole(said: SimpleNamespace) -> None:
    """The message to a user is passed on as one text without a prefix."""
    log.user("at most %d\nminutes", 60)
    assert said.user == ["at most 60\nminutes"]
    assert said.lines == []


def test_records_go_to_their_own_place(said: SimpleNamespace) -> None:
    """Records for administrators go to their own function."""
    log.record("one\ntwo")
    assert said.records == ["slurmhooks: one", "slurmhooks: two"]
    assert (said.lines, said.user) == ([], [])


def test_records_are_errors_where_there_is_no_other_place() -> None:
    """Without a function for records, they are logged as errors."""
    lines: list[tuple[int, str]] = []
    mine = Log()
    mine.attach(lambda level, text: lines.append((level, text)), lambda text: None)
    mine.record("text")
    assert lines == [(0, "slurmhooks: text")]


def test_without_slurm_lines_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Before Slurm's log is attached, lines go to stderr with their level, never to stdout."""
    mine = Log()
    mine.info("one\ntwo")
    mine.user("for the user\x1b")
    mine.record("trace")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "slurmhooks: info: one",
        "slurmhooks: info: | two",
        r"slurmhooks: user: for the user\x1b",
        "slurmhooks: error: trace",
    ]


def test_without_standard_error_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without stderr can log."""
    monkeypatch.setattr("sys.stderr", None)
    Log().error("nowhere")


def test_a_limit(said: SimpleNamespace) -> None:
    """Lines below the configured level are dropped; messages to users are not."""
    log.limit("verbose")
    try:
        for level in LEVELS[:-1]:
            getattr(log, level)(level)
        log.user("text")
    finally:
        log.limit("debug3")
    assert [line for _, line in said.lines] == [f"slurmhooks: {name}" for name in ("error", "info", "verbose")]
    assert said.user == ["text"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\udcffb", r"'a\xffb'"),
        (["\udc80"], r"['\x80']"),
        ({"\udc9b": ("\udcfe",)}, r"{'\x9b': ('\xfe',)}"),
        (r"\udcff", r"'\\udcff'"),
        ("\\\udcff", r"'\\\xff'"),
        ("\ud800\u2028", r"'\ud800\u2028'"),
        (b"\xff", r"b'\xff'"),
    ],
)
def test_bytes_in_fields(said: SimpleNamespace, value: object, text: str) -> None:
    """Bytes that are not UTF-8 are shown as bytes also in fields, and other texts are not changed."""
    log.info("x", field=value)
    assert said.lines[-1][1].endswith(f" field={text}")


@given(text=st.text(), end=st.text(st.characters(categories=["L", "P"]), max_size=30), limit=st.integers(80, 300))
@example(text="\x1b" * 30, end="\u0800" * 14, limit=80)
def test_a_line(text: str, end: str, limit: int) -> None:
    """It is one line within its limit, whatever the text, and ends with the end that it is given."""
    shown = one_line(text, limit, end)
    assert len(shown.encode()) <= max(limit, 40 + len(end.encode()))
    assert shown.endswith(end)
    assert not shown.startswith(" ")
    assert "\n" not in shown
