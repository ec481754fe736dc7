# SPDX-License-Identifier: GPL-2.0-or-later
"""A request that a script is tried with, what it answered, and how two answers differ."""

from __future__ import annotations

import pwd
import re
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from slurmhooks.log import visible
from slurmhooks.values import ENCODING, ERRORS
from slurmhooks.workshop.testing.job_submit import FakeJob, request_of, struct_of

if TYPE_CHECKING:
    from collections.abc import Mapping

ERROR_PLACE = re.compile(r":(\d+): ")


@dataclass(frozen=True)
class TrialRequest:
    """A submission or an update.

    Attributes:
        hook: ``job_submit`` or ``job_modify``.
        label: what is special in it, for people.
        uid: user who asks.
        release: of Slurm.
        fields: values as handlers see them.
        members: raw values by member, of a recorded request; they replace the fields.
        variables: the environment of the job.
        unknown: members that the recording does not have.
    """

    hook: str
    label: str
    uid: int = 1000
    release: str = "24.11"
    fields: Mapping[str, Any] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()

    def job(self) -> FakeJob:
        """Return the request for handlers."""
        given = dict(self.fields)
        if self.variables:
            given["environment"] = dict(self.variables)
        job = FakeJob(release=self.release, user_name=user_name(1000), **given)
        struct = struct_of(job)
        if self.members:
            struct.put({name: raw for name, raw in self.members.items() if name in struct.raws})
        return job

    def job_raws(self) -> dict[str, Any]:
        """Return the raw values of all members, arrays included."""
        return dict(request_of(self.job(), self.hook).raws)


def plain(raw: Any) -> Any:
    """Return a raw value as JSON can represent it: a text as str."""
    return raw.rstrip(b"\0").decode(ENCODING, ERRORS) if isinstance(raw, bytes) else raw


@dataclass(frozen=True)
class Answer:
    """What a script answered.

    Attributes:
        code: the number that it returned; 0 if Slurm takes the result for that.
        messages: for the user.
        writes: raw values of the members that it changed, if the request was accepted.
        log: its lines in the log, each as ``level: text``.
        error: the message of an error that ended it; None if there was none.
        stopped: what it used that cannot be tried out.
        also: the number that stands for the same error code where Slurm's numbers are not known.
    """

    code: int
    messages: list[str]
    writes: dict[str, Any]
    log: list[str]
    error: str | None = None
    stopped: list[str] = field(default_factory=list)
    also: int | None = None


@cache
def user_name(uid: int) -> str | None:
    """Return the name of a user on this machine; None if it has no such user."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def difference(first: Answer, second: Answer) -> str | None:
    """Return in which way two answers differ; None if they do not."""
    if (first.error is None) != (second.error is None):
        return f"error: {first.error} / {second.error}"
    if first.error is not None and second.error is not None:
        places = ERROR_PLACE.search(first.error), ERROR_PLACE.search(second.error)
        if len({place[1] if place else "" for place in places}) > 1:
            return f"place of the error: {first.error} / {second.error}"
    elif second.code & 0xFFFFFFFF not in (first.code & 0xFFFFFFFF, first.also):
        return f"return code: {first.code} / {second.code}"
    if _shown(first) != _shown(second):
        return f"messages to the user: {_first_other(_shown(first), _shown(second))}"
    if not first.code and first.writes != second.writes:
        names = sorted(
            name
            for name in first.writes.keys() | second.writes.keys()
            if first.writes.get(name) != second.writes.get(name)
        )
        return f"changed fields: {', '.join(names)}"
    if _lines(first.log) != _lines(second.log):
        return f"log lines: {_first_other(_lines(first.log), _lines(second.log))}"
    return None


def _first_other(lines: list[str], others: list[str]) -> str:
    """Return the first line in which two lists differ, of both."""
    pairs = zip_longest(lines, others, fillvalue="(nothing)")
    return next(f"{line} / {other}" for line, other in pairs if line != other)


def _shown(answer: Answer) -> list[str]:
    """Return the messages to the user without that of an error, which has the path of the script."""
    if answer.error is None:
        return _lines(answer.messages)
    text = ERROR_PLACE.split(answer.error, maxsplit=1)[-1]
    return _lines([message for message in answer.messages if not message.endswith(text)])


def _lines(texts: list[str]) -> list[str]:
    """Return the lines of texts, as slurmhooks shows them: without empty ones at the end of a text, see docs/lua.md."""
    shown = (visible(line.removeprefix("| ")) for text in texts for line in text.rstrip("\n").split("\n"))
    return [line for line in shown if line]
