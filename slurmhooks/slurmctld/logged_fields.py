# SPDX-License-Identifier: GPL-2.0-or-later
"""How the decision log shows the raw values of a request.

A worker reports raw values, because the next request may be waiting; the collector completes the decision. In such a
report, a value is a number, None, a text, NOT_SENT as False, or a list with a long text as the log shows it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import SlurmhooksError
from slurmhooks.fields import TABLES
from slurmhooks.fields.flag_rows import Enumerated
from slurmhooks.fields.number_rows import Tagged
from slurmhooks.fields.rows import Lowered, Text, release_of, stored
from slurmhooks.log import visible
from slurmhooks.wire.tables import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmhooks.collector.checked import Decision
    from slurmhooks.fields.rows import Field
    from slurmhooks.wire.message import Packed, Raw
    from slurmhooks.wire.tables import Tables

    Reported = Raw | list[str]
    Row = tuple[str, Callable[[Any, bool], Any]]
    """A field: its name, and the function that returns a reported value as handlers see it. Its second argument tells
    whether an empty text is one, and not an unset one."""

ABOUT = ("job_id", "user_id", "account", "partition", "name")
"""Fields of requests and records that distinguish a job from others; records have ``submit_time`` in addition."""
OF_A_RECORD = (*ABOUT, "submit_time")
_OF_A_REQUEST = (*ABOUT, "job_id_str")
NOT_SENT = "(not sent)"
"""Replaces a value that slurmctld did not send."""
LONGEST_TEXT = 1024
"""Maximum bytes of a text in a decision: users choose some of the texts."""
SHORT_TEXT = LONGEST_TEXT // 4
"""Maximum characters of a text that certainly does not exceed LONGEST_TEXT."""
MAX_ITEMS = 100
"""Maximum number of changes of one handler, and of items of a list, in a decision."""
UPDATE = "job_modify"
"""The hook whose requests may have empty texts; a submission has none."""


class LoggedFields:
    """The fields of requests and records, by the tables of a build.

    Attributes:
        names: the fields that represent each member: all of its parts, or the one field with the plainest name.
        secret: the fields whose values are not reported.
        hidden: the fields of the members of which one is secret, by member.
    """

    def __init__(self, tables: Tables | None, secret: frozenset[str] = frozenset()) -> None:
        """Prepare; without the tables of the build, no fields are known. ``secret`` is for workers, see the class."""
        self._about: dict[str, list[Row]] = {}
        self._members: dict[str, list[str]] = {}
        writable: dict[str, list[Field[Any]]] = {}
        for name, wanted in {"job": _OF_A_REQUEST, "record": OF_A_RECORD}.items():
            if tables is None or name not in tables:
                continue
            self._about[name], self._members[name] = [], []
            for row, member in stored(TABLES[name], release_of(tables.release), tables[name].places):
                if row.name in wanted:
                    self._about[name].append(_row(row))
                    self._members[name].append(member)
                if row.writable and name == "job":
                    writable.setdefault(member, []).append(row)
        self._fields = {member: [_row(row) for row in _plainest(member, own)] for member, own in writable.items()}
        self.names = {member: tuple(row[0] for row in own) for member, own in self._fields.items()}
        self.secret = secret
        self.hidden = {member: names for member, names in self.names.items() if not secret.isdisjoint(names)}

    def about(self, table: str, struct: Packed, writes: Mapping[str, Any]) -> list[Reported]:
        """Return the values of the fields that distinguish a job from others; None if one was not sent.

        ``writes`` are raw values by member that replace those of the struct.
        """
        values: list[Reported] = []
        for member in self._members[table]:
            try:
                raw = writes[member] if member in writes else struct.raw(member)
            except SlurmhooksError:  # too long to be sent with the request, and slurmctld no longer answers
                raw = None
            values.append(self.cut(member, raw) if type(raw) is bytes and len(raw) > LONGEST_TEXT else raw)
        return values

    def cut(self, member: str, raw: bytes) -> list[str]:
        """Return a text of more than LONGEST_TEXT bytes for a report."""
        text = raw.decode("utf-8", "surrogateescape")
        fields = self._fields.get(member)
        return [fields[0][1](text, True) if fields else plain(text)]

    def complete(self, decision: Decision) -> dict[str, Any]:
        """Return a line of the decision log without its time and event, from what a worker has reported.

        Raises:
            TypeError, ValueError, KeyError, AttributeError: the worker is hostile.
        """
        identity, _, hook, job, record, facts, by, verdict, more, handlers, microseconds, generation, hooks = decision
        empty = hook == UPDATE
        about: dict[str, Any] = {}
        if record is not None:  # a job that exists is described by its record
            self._add_about(about, "record", record, empty=True)
        if job is not None:
            self._add_about(about, "job", job, empty)
            given = about.pop("job_id_str", None)
            job_id = _job_id(given) if given and "job_id" not in about else None
            if job_id is not None:
                about["job_id"] = job_id
        steps = []
        for handler, outcome, took, raw, others in handlers:
            step = {"handler": handler, "outcome": outcome, **others, "microseconds": took}
            if raw:
                changes = self._changes(raw, empty)
                if "changes" in others:
                    changes |= others["changes"]
                if changes:
                    step["changes"] = changes if len(changes) <= MAX_ITEMS else dict(list(changes.items())[:MAX_ITEMS])
            steps.append(step)
        line = {
            "id": identity,
            "hook": hook,
            **about,
            **facts,
            "by": by,
            "verdict": verdict,
            **more,
            "handlers": steps,
            "microseconds": microseconds,
            "generation": generation,
            "hooks": hooks,
        }
        if by is None:
            del line["by"]
        if verdict is None:
            del line["verdict"]
        return line

    def _add_about(self, about: dict[str, Any], table: str, values: list[Any], empty: bool) -> None:
        """Add the fields that distinguish a job from others, unless they are known already."""
        for (name, show), value in zip(self._about[table], values, strict=True):
            if value is not None and name not in about:
                shown = show(value, empty)
                if shown is not None:
                    about[name] = shown

    def _changes(self, raw: list[Any], empty: bool) -> dict[str, list[Any]]:
        """Return old and new values as handlers see them, by field, from members each with its reported values."""
        changes: dict[str, list[Any]] = {}
        values = iter(raw)
        for member, old, new in zip(values, values, values, strict=True):
            for name, show in self._fields.get(member, ()):
                was = None if old is None else show(old, empty)
                now = None if new is None else show(new, empty)
                if was != now or type(old) is list or type(new) is list:
                    changes[name] = [was, now]
        return changes


def _row(row: Field[Any]) -> Row:
    return row.name, _of_text(row) if isinstance(row, Text) else _of_number(row)


def _of_number(row: Field[Any]) -> Callable[[Any, bool], Any]:
    decode = row.decoder()

    def show(value: Any, empty: bool) -> Any:
        if type(value) is int:
            shown = decode(value)
            return shown if shown is None or type(shown) is int else plain(shown)
        return _of_no_text(value)

    return show


def _of_text(row: Text) -> Callable[[Any, bool], Any]:
    decode = row.decoder()
    is_as_sent, is_lowered = type(row).decoder is Text.decoder, type(row).decoder is Lowered.decoder
    # Most texts are short and printable; then this is what decoding and escaping would return.

    def show(value: Any, empty: bool) -> Any:
        if type(value) is not str:
            return _of_no_text(value)
        if value and len(value) <= SHORT_TEXT and value.isprintable():
            if is_as_sent:
                return value
            if is_lowered and value.isascii():
                return value.lower()
        text = plain(decode(value.encode("utf-8", "surrogateescape")))
        return text if text or empty else None

    return show


def _plainest(member: str, own: list[Field[Any]]) -> list[Field[Any]]:
    """Return all parts of a member, or the one field with the plainest name."""
    parts: list[Field[Any]] = [
        row for row in own if isinstance(row, Tagged) or (isinstance(row, Enumerated) and row.mask)
    ]
    return parts or [row for row in own if row.name == member] or own[:1]


def _of_no_text(value: Any) -> Any:
    """Return what is shown of a value that was not sent, or that the worker has cut.

    Raises:
        TypeError: the worker is hostile.
    """
    if value is False:
        return NOT_SENT
    if type(value) is not list:
        raise TypeError("a reported value of another type than its field")
    return value[0]


def plain(value: Any) -> Any:
    """Return a value as JSON can represent it: numbers and truth values unchanged, everything else as text."""
    if isinstance(value, str):
        return visible(value, "\n\t", LONGEST_TEXT)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return (value.name if isinstance(value, Enum) else None) or int(value)
    if isinstance(value, list):
        return [plain(item) for item in value[:MAX_ITEMS]]
    return visible(str(value), "\n\t", LONGEST_TEXT)


def _job_id(text: str | None) -> int | None:
    """Return the job id in a text that a user has given, such as ``17`` or ``17_4``: newer releases send no number."""
    digits = "" if text is None else text.partition("_")[0].partition("+")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 11 else None


def completer() -> Callable[[Decision], dict[str, Any]]:
    """Return :meth:`Shown.complete` for the plugin that this process serves; for the collector.

    Raises:
        TableError: the tables of the plugin cannot be read.
    """
    return LoggedFields(installed()).complete
