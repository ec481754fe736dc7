# SPDX-License-Identifier: GPL-2.0-or-later
"""Formats tracebacks, in whatever state a handler has left its process.

A handler may have changed the root folder or the mounts of its process. The module traceback then cannot be imported,
or root would import that of a container, and a source file there may be a pipe that nobody writes to. So this module
imports nothing and opens no file: it shows the lines of hook files as they were loaded, and of other files only the
names and line numbers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, TracebackType
    from typing import Any

CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"
CHAIN = 20
"""Maximum number of exceptions that led to each other, and of those in a group."""
DEPTH = 5
"""Maximum depth of groups in groups."""
REPEATED = 3
"""How often the same frame is shown before the rest is only counted."""

_sources: dict[str, bytes] = {}


def remember(path: str, content: bytes) -> None:
    """Keep the content of a hook file, whose lines tracebacks show."""
    _sources[path] = content


def lines(error: BaseException, path: str | None = None, depth: int = DEPTH) -> list[str]:
    """Return the lines of a traceback, with the exceptions that led to this one.

    Frames above the first one in the file ``path`` are omitted, and so are groups below ``depth``.
    """
    chain: list[tuple[BaseException, str]] = []
    link, current = "", error
    while len(chain) < CHAIN and all(current is not earlier for earlier, _ in chain):
        chain.append((current, link))
        if (cause := own(current, "__cause__")) is not None:
            link, current = CAUSE, cause
        elif (context := own(current, "__context__")) is not None and not own(current, "__suppress_context__"):
            link, current = CONTEXT, context
    shown: list[str] = []
    for each, link in reversed(chain):
        trace = own(each, "__traceback__")
        start = _first(trace, path) if each is error else None
        if start is None and not (each is error and isinstance(error, SyntaxError) and error.filename == path):
            start = trace
        if start is not None:
            shown += ["Traceback (most recent call last):", *_frames(start)]
        shown += _described(each, depth)
        if link:
            shown += ["", link, ""]
    return shown


def _first(trace: TracebackType | None, path: str | None) -> TracebackType | None:
    """Return the first frame in a file; None if there is none."""
    while trace is not None and trace.tb_frame.f_code.co_filename != path:
        trace = trace.tb_next
    return trace


def _frames(trace: TracebackType | None) -> list[str]:
    """Return the lines of the frames of a traceback; endless recursion repeats one frame a thousand times."""
    shown: list[str] = []
    last, count = None, 0
    while trace is not None:
        code = trace.tb_frame.f_code
        place = (code, trace.tb_lineno)
        count = count + 1 if place == last else 1
        last = place
        if count <= REPEATED:
            shown.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}')
            shown += _source(code, trace.tb_lineno, trace.tb_lasti)
        trace = trace.tb_next
        following = (trace.tb_frame.f_code, trace.tb_lineno) if trace is not None else None
        if count > REPEATED and following != place:
            shown.append(f"  [Previous line repeated {count - REPEATED} more times]")
    return shown


def _source(code: CodeType, line: int | None, instruction: int) -> list[str]:
    """Return a line of a hook file, and a line that marks the part of it that raised, if that is only a part."""
    content = _sources.get(code.co_filename)
    rows = content.split(b"\n", line) if content is not None and line else []
    if not line or len(rows) < line or not rows[line - 1].strip():
        return []
    raw = rows[line - 1]
    text = raw.strip()
    shown = [f"    {_decoded(text)}"]
    for place, (first, last, start, end) in enumerate(code.co_positions()):
        if place < instruction // 2:
            continue
        if first == last == line and start is not None and end is not None and raw[start:end].strip() != text:
            before = _decoded(raw[len(raw) - len(raw.lstrip()) : start])
            shown.append(f"    {' ' * len(before)}{'^' * len(_decoded(raw[start:end]))}")
        break
    return shown


def _described(error: BaseException, depth: int) -> list[str]:
    """Return what :func:`_exception` returns; the frames are worth showing whatever the exception looks like."""
    lines: list[str] = tried(
        lambda: _exception(error, depth), lambda second: [f"{type_name(error)} cannot be shown: {second}"]
    )
    return lines


def _exception(error: BaseException, depth: int) -> list[str]:
    """Return the lines of an exception itself: its type, text and notes, and what it contains."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    text, shown = text_of(error), []
    if isinstance(error, SyntaxError) and error.lineno is not None:
        shown.append(f'  File "{error.filename}", line {error.lineno}')
        if isinstance(error.text, str) and error.text.strip():
            source = error.text.rstrip()
            shown.append(f"    {source.lstrip()}")
            column = (error.offset or 0) - 1 - (len(source) - len(source.lstrip()))
            shown += [f"    {' ' * column}^"] if column >= 0 else []
        text = str(error.msg)
    shown += (f"{name}: {text}" if text else name).split("\n")
    for note in getattr(error, "__notes__", None) or ():
        shown += str(note).split("\n") if isinstance(note, str) else []
    if isinstance(error, BaseExceptionGroup) and depth:
        for number, each in enumerate(error.exceptions[:CHAIN], 1):
            shown.append(f"  {number} of {len(error.exceptions)}:")
            shown += [f"    {row}" for row in lines(each, depth=depth - 1)]
    return shown


def text_of(error: BaseException) -> str:
    """Return the text of an exception."""
    text: str = tried(lambda: str(error), lambda second: f"<no text: {second} in its __str__()>")
    return text


def tried(how: Callable[[], Any], otherwise: Callable[[str], Any]) -> Any:
    """Run code of the site outside of a handler, such as __str__() of an exception.

    ``otherwise`` returns the result if ``how`` raises; it gets the name of that exception's class.
    """
    try:
        return how()
    except BaseException as error:  # noqa: BLE001 - nothing may prevent the report
        return otherwise(type_name(error))


def own(error: BaseException, name: str) -> Any:
    """Return an attribute that every exception has, whatever properties its class has."""
    return BaseException.__dict__[name].__get__(error)


def type_name(value: object) -> str:
    """Return the name of a value's type, whatever properties its metaclass has."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return name


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
