# SPDX-License-Identifier: GPL-2.0-or-later
"""Tracebacks that need neither files nor the module traceback."""

import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from slurmhooks.handlers import trace

SITE = """
class Mute(Exception):
    def __str__(self):
        raise SystemExit("no text")

def plain(): return {}["x"]

def part(): return 1 + int("x")

def noted():
    error = ValueError("two\\nlines")
    error.add_note("a note")
    raise error

def caused():
    try:
        plain()
    except KeyError as error:
        raise RuntimeError("caused") from error

def in_another():
    try:
        plain()
    except KeyError:
        raise RuntimeError("in another")

def hidden():
    try:
        plain()
    except KeyError:
        raise RuntimeError("hidden") from None

def endless(): return endless()

def syntax(): compile("x = (1 +\\n  2 ]", "other", "exec")

def imports(): import slurmhooks_no_such_module

def leaves(): raise SystemExit(3)

def cycle():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    raise first
"""
NAMES = ["plain", "part", "noted", "caused", "in_another", "hidden", "endless", "syntax", "imports", "leaves", "cycle"]


@pytest.fixture
def site() -> dict[str, Any]:
    """The functions of the hook file."""
    functions: dict[str, Any] = {"__name__": "slurmhooks_site.site"}
    exec(compile(SITE, "/site.py", "exec"), functions)
    trace.remember("/site.py", SITE.encode())
    return functions


def error_of(function: Callable[[], object]) -> BaseException:
    """Return what a function raises."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        function()
    return caught.value


def bare(rows: list[str]) -> list[str]:
    """Return a traceback without source lines and marks below them."""
    return [row for row in rows if not row.startswith("    ") and row.strip("~^ ")]


@pytest.mark.parametrize("name", NAMES)
def test_as_python_shows_it(site: dict[str, Any], name: str) -> None:
    """Frames, exceptions, notes and what led to them are those that Python's own traceback shows."""
    error = error_of(site[name])
    expected = "".join(traceback.format_exception(error)).rstrip("\n").split("\n")
    assert bare(trace.lines(error)) == bare(expected)


def test_lines_of_hook_files(site: dict[str, Any]) -> None:
    """The line of a hook file is shown as it was loaded, with a mark below the part that raised."""
    rows = trace.lines(error_of(site["part"]), "/site.py")
    assert rows[1:4] == [
        '  File "/site.py", line 8, in part',
        '    def part(): return 1 + int("x")',
        "                           ^^^^^^^^",
    ]


def test_groups(site: dict[str, Any]) -> None:
    """A group shows the exceptions in it, each with its own traceback."""
    inner = ExceptionGroup("inner", [ValueError("deep")])
    group = BaseExceptionGroup("several", [error_of(site["plain"]), inner])
    text = "\n".join(trace.lines(group))
    for part in ("ExceptionGroup: several (2 sub-exceptions)", "1 of 2:", "KeyError: 'x'", "ValueError: deep"):
        assert part in text, text


def test_groups_without_end() -> None:
    """A group in a group in a group, and so on, and a long chain of causes are shown in part."""
    error: Exception = ValueError("innermost")
    for _ in range(5000):
        error = ExceptionGroup("group", [error])
    assert len(trace.lines(error)) < 100
    error = ValueError("first")
    for number in range(5000):
        later = ValueError(str(number))
        later.__cause__ = error
        error = later
    assert 10 < len(trace.lines(error)) < 200


def test_a_text_that_raises(site: dict[str, Any]) -> None:
    """An exception whose ``__str__`` raises, whatever that is, has a traceback, too."""

    def mute() -> None:
        raise site["Mute"]

    assert trace.lines(error_of(mute))[-1] == ("slurmhooks_site.site.Mute: <no text: SystemExit in its __str__()>")


def test_frames_above_the_hook_file_are_omitted(site: dict[str, Any]) -> None:
    """A traceback begins in the hook file, and has the frames below it."""
    called: dict[str, Any] = {}
    exec(compile("def handler(call):\n    call()\n", "/other.py", "exec"), called)
    rows = trace.lines(error_of(lambda: called["handler"](site["plain"])), "/other.py")
    assert [row.split('"')[1] for row in rows if row.startswith("  File")] == ["/other.py", "/site.py"]


def test_a_traceback_without_the_hook_file_is_whole(site: dict[str, Any]) -> None:
    """If no frame belongs to the file, all frames are shown."""
    error = error_of(site["plain"])
    assert trace.lines(error, "/nowhere.py") == trace.lines(error)
    assert any(__file__ in row for row in trace.lines(error))


def test_lines_that_are_not_there(site: dict[str, Any]) -> None:
    """Code may claim to be from any file and line."""
    trace.remember("/short.py", b"\xff = 1\r\n")
    for line in ("\n" * 50 + "1/0", "1/0"):
        rows = trace.lines(error_of(lambda line=line: exec(compile(line, "/short.py", "exec"))))  # type: ignore[misc]
        assert rows[-1] == "ZeroDivisionError: division by zero"


def test_it_imports_and_opens_nothing(site: dict[str, Any]) -> None:
    """No module is imported and no file is opened, whatever was raised."""
    errors = [error_of(site[name]) for name in NAMES]
    seen: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event in ("open", "import", "os.listdir"):
            seen.append(f"{event} {arguments}")

    sys.addaudithook(watch)
    for error in errors:
        trace.lines(error, "/site.py")
    watching = False
    assert not seen
