# SPDX-License-Identifier: GPL-2.0-or-later
"""How the decision log shows the raw values of a request.

A worker reports raw values, because the next request may be waiting; the collector completes the decision. In such a
report, a value is a number, None, a text of which each character is one byte, NOT_SENT as False, or, if it is long, a
list with the text as the log shows it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import SlurmhooksError
from slurmhooks.fields import TABLES
from slurmhooks.fields.flag_rows import Enumerated
from slurmhooks.fields.number_rows import Tagged
from slurmhooks.fields.rows import Text, release_of, stored
from slurmhooks.log import visible
from slurmhooks.wire.tables import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slurmhooks.fields.rows import Field
    from slurmhooks.wire.message import Packed
    from slurmhooks.wire.tables import Tables

    Reported = int | str | list[str] | None
    Row = tuple[str, Callable[[Any], Any], bool, bool]
    """A field: its name, the function that decodes a raw value, whether it is a text, and whether ASCII is shown as it
    was sent."""

ABOUT = ("job_id", "user_id", "account", "partition", "name")
"""Fields of requests and records that distinguish a job from others; records have ``submit_time`` in addition."""
OF_A_RECORD = (*ABOUT, "submit_time")
_OF_A_REQUEST = (*ABOUT, "job_id_str")
NOT_SENT = "(not sent)"
"""Replaces a value that slurmctld did not send."""
LONGEST_TEXT = 1024
"""Maximum bytes of a text in a decision: users choose some of the texts."""
MAX_ITEMS = 100
"""Maximum number of changes of one handler, and of items of a list, in a decision."""
UPDATE = "job_modify"
"""The hook whose requests may have empty texts; a submission has none."""


class Shown:
    """The fields of requests and records, by the tables of a build.

    Attributes:
        names: the fields that represent each member: all of its parts, or the one field with the plainest name.
        secret: the fields whose values are not reported.
        hidden: the fields of the members of which one is secret, by member.
    """

    def __init__(self, tables: Tables, secret: frozenset[str] = frozenset()) -> None:
        """Prepare.

        Args:
            tables: of the build.
            secret: see the class; only for a worker.
        """
        release = release_of(tables.release)
        self._members: dict[str, dict[str, str]] = {}
        self._rows: dict[str, dict[str, Row]] = {}
        writable: dict[str, list[Field[Any]]] = {}
        for name, wanted in {"job": _OF_A_REQUEST, "record": OF_A_RECORD}.items():
            if name not in tables:
                continue
            self._members[name], self._rows[name] = {}, {}
            for row, member in stored(TABLES[name], release, tables[name].places):
                if row.name in wanted:
                    self._members[name][row.name] = member
                    self._rows[name][row.name] = _row(row)
                if row.writable and name == "job":
                    writable.setdefault(member, []).append(row)
        self._fields = {member: [_row(row) for row in _plainest(member, own)] for member, own in writable.items()}
        self.names = {member: tuple(row[0] for row in own) for member, own in self._fields.items()}
        self.secret = secret
        self.hidden = {member: names for member, names in self.names.items() if not secret.isdisjoint(names)}

    def about(self, table: str, struct: Packed, writes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that distinguish a job from others, without those that are not set or were not sent.

        Args:
            table: of the struct.
            struct: a request or a record.
            writes: raw values by member that replace those of the struct.
        """
        found: dict[str, Any] = {}
        for name, member in self._members[table].items():
            try:
                raw = writes[member] if member in writes else struct.raw(member)
            except SlurmhooksError:  # too long to be sent with the request, and slurmctld no longer answers
                continue
            if raw is not None:
                found[name] = self.value(member, raw) if type(raw) is bytes else raw
        return found

    def value(self, member: str, raw: bytes) -> Reported:
        """Return a text for a report."""
        if len(raw) <= LONGEST_TEXT:
            return raw.decode("latin-1")
        fields = self._fields.get(member)
        return [plain(fields[0][1](raw) if fields else raw.decode("utf-8", "surrogateescape"))]

    def complete(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return a decision, from what a worker has reported; see slurmhooks.slurmctld.decision.

        Raises:
            TypeError, ValueError, KeyError, AttributeError: the worker is hostile.
        """
        empty = content["hook"] == UPDATE
        about: dict[str, Any] = {}
        for table in ("record", "job"):  # a job that exists is described by its record
            if table in content:
                known = self._rows[table]
                for name, value in content.pop(table).items():
                    if about.get(name) is None:
                        about[name] = _shown(known[name], value, empty or table == "record")
        given = about.pop("job_id_str", None)
        if given and about.get("job_id") is None:
            about["job_id"] = _job_id(given)
        for step in content["handlers"]:
            if "raw" in step:
                changes = self._changes(step.pop("raw"), empty)
                if "changes" in step:
                    changes |= step["changes"]
                if changes:
                    step["changes"] = changes if len(changes) <= MAX_ITEMS else dict(list(changes.items())[:MAX_ITEMS])
        present = {name: value for name, value in about.items() if value is not None}
        return {"id": content.get("id"), "hook": content["hook"], **present, **content}

    def _changes(self, raw: dict[str, list[Reported]], empty: bool) -> dict[str, list[Any]]:
        """Return old and new values as handlers see them, by field, from reported ones by member."""
        changes: dict[str, list[Any]] = {}
        for member, (old, new) in raw.items():
            for row in self._fields.get(member, ()):
                was, now = _shown(row, old, empty), _shown(row, new, empty)
                if was != now or isinstance(old, list) or isinstance(new, list):
                    changes[row[0]] = [was, now]
        return changes


def _row(row: Field[Any]) -> Row:
    return row.name, row.decoder(), isinstance(row, Text), type(row).decoder is Text.decoder


def _plainest(member: str, own: list[Field[Any]]) -> list[Field[Any]]:
    """Return all parts of a member, or the one field with the plainest name."""
    parts: list[Field[Any]] = [
        row for row in own if isinstance(row, Tagged) or (isinstance(row, Enumerated) and row.mask)
    ]
    return parts or [row for row in own if row.name == member] or own[:1]


def _shown(row: Row, value: Reported, empty: bool) -> Any:
    """Return a reported value as handlers see it; ``empty``: an empty text is one, and not an unset one."""
    if value is None:
        return None
    if value is False:
        return NOT_SENT
    _, decode, is_text, is_as_sent = row
    if is_text and isinstance(value, str):
        if is_as_sent and value and len(value) <= LONGEST_TEXT and value.isascii() and value.isprintable():
            return value
        text = plain(decode(value.encode("latin-1")))
        return text if text or empty else None
    if isinstance(value, list):
        return value[0]
    shown = decode(value)
    return shown if shown is None or type(shown) is int else plain(shown)


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


def completer() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the function that completes decisions of the plugin that this process serves; for the collector.

    Raises:
        TableError: the tables of the plugin cannot be read.
    """
    tables = installed()
    return (lambda content: content) if tables is None else Shown(tables).complete
