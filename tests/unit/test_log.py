# SPDX-License-Identifier: GPL-2.0-or-later
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks.log import LEVELS, Log, log


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_each_level_reaches_slurm_as_its_index(said: SimpleNamespace, level: str) -> None:
    """A method a level; Slurm's log gets the level's index and a line that names slurmhooks."""
    getattr(log, level)("text")
    assert said.lines == [(LEVELS.index(level), "slurmhooks: text")]
    assert said.user == []


def test_arguments_and_fields(said: SimpleNamespace) -> None:
    """A text takes arguments for its % and fields, which are appended as name=value."""
    log.info("job %d of %s", 7, "alice", partition="gpu", nodes=[1, 2])
    assert said.lines[0][1] == "slurmhooks: job 7 of alice partition='gpu' nodes=[1, 2]"


@pytest.mark.parametrize("level", LEVELS[:-1])
def test_fields_may_have_any_name(said: SimpleNamespace, level: str) -> None:
    """No field's name collides with a parameter's."""
    fields: dict[str, Any] = {"text": 1, "level": 2, "self": 3}
    getattr(log, level)("x", **fields)
    assert said.lines[0][1] == "slurmhooks: x text=1 level=2 self=3"


def test_a_percent_sign_without_arguments_is_text(said: SimpleNamespace) -> None:
    """Without arguments the text is taken as it is."""
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
    """A text that does not fit its arguments is logged with them, as it is."""
    log.info(text, *args)
    assert said.lines[0][1] == f"slurmhooks: {text} {args!r}"


def test_one_record_a_line(said: SimpleNamespace) -> None:
    """A text of several lines is several records, each with the prefix."""
    log.error("one\ntwo")
    assert said.lines == [(0, "slurmhooks: one"), (0, "slurmhooks: two")]


def test_nul_bytes_do_not_cut_a_line_short(said: SimpleNamespace) -> None:
    """A NUL byte, which would end the line in C, is shown."""
    log.info("a\0b", field="c\0d")
    log.user("a\0b")
    assert said.lines[0][1] == "slurmhooks: a\\0b field='c\\x00d'"
    assert said.user == ["a\\0b"]


def test_a_text_that_is_none_is_shown(said: SimpleNamespace) -> None:
    """What is logged may be any object."""
    log.info(5)  # type: ignore[arg-type]
    assert said.lines[0][1] == "slurmhooks: 5"


class Silent:
    """Cannot say what it is."""

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
    """One mapping gives its values by name, and nothing that is logged fails the job."""
    log.user(text, *args)
    assert said.user == [line]


def test_a_field_that_cannot_be_shown(said: SimpleNamespace) -> None:
    """A job does not fail for it."""
    log.info("x", who=Silent())
    assert said.lines == [(1, "slurmhooks: x who=<Silent>")]


def test_a_level_that_slurm_does_not_have() -> None:
    """The error lists those that it has."""
    with pytest.raises(AttributeError, match=r"log has no 'warning'; its levels are Slurm's: error, info, .*, user"):
        log.warning("x")  # type: ignore[attr-defined]


def test_user_texts_stay_whole(said: SimpleNamespace) -> None:
    """What the user is shown is one text, without a prefix: the plugin point knows how to show it."""
    log.user("at most %d\nminutes", 60)
    assert said.user == ["at most 60\nminutes"]
    assert said.lines == []


def test_records_go_to_their_own_place(said: SimpleNamespace) -> None:
    """A record, which only administrators are to read, does not go where the user may see it."""
    log.record("one\ntwo")
    assert said.records == ["slurmhooks: one", "slurmhooks: two"]
    assert (said.lines, said.user) == ([], [])


def test_records_are_errors_where_there_is_no_other_place() -> None:
    """A plugin point that attaches no place for records gets them as errors."""
    lines: list[tuple[int, str]] = []
    mine = Log()
    mine.attach(lambda level, text: lines.append((level, text)), lambda text: None)
    mine.record("text")
    assert lines == [(0, "slurmhooks: text")]


def test_without_slurm_lines_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Before a plugin point attaches Slurm's log, lines are shown on stderr with their level, never on stdout."""
    mine = Log()
    mine.info("one\ntwo")
    mine.user("for the user")
    mine.record("trace")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "slurmhooks: info: one",
        "slurmhooks: info: two",
        "slurmhooks: user: for the user",
        "slurmhooks: error: trace",
    ]


def test_without_standard_error_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon may have no stderr at all."""
    monkeypatch.setattr("sys.stderr", None)
    Log().error("nowhere")


def test_a_limit(said: SimpleNamespace) -> None:
    """What is said below the site's level is dropped; what users must see is not."""
    log.limit("verbose")
    try:
        for level in LEVELS[:-1]:
            getattr(log, level)(level)
        log.user("text")
    finally:
        log.limit("debug3")
    assert [line for _, line in said.lines] == [f"slurmhooks: {name}" for name in ("error", "info", "verbose")]
    assert said.user == ["text"]
