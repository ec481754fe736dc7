# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the submission of a job in the decision log, which slurmhooks/collector/decision_log.py writes."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from slurmhooks.cli import documents, output
from slurmhooks.cli.findings import Finding
from slurmhooks.cli.log_lines import ALWAYS, Window, backwards
from slurmhooks.collector import json_lines

BEFORE = 10.0
"""Maximum seconds between the hooks and the time of submission, which slurmctld notes later, in whole seconds."""


@dataclass
class Step:
    """What one handler did; docs/decision-log.md describes the keys."""

    handler: str
    outcome: str
    mode: str | None = None
    code: str | int | None = None
    text: str | None = None
    error: str | None = None
    exception: str | None = None
    where: str | None = None
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    notice: bool = False
    exempt: str | None = None
    microseconds: int | None = None


@dataclass
class Decision:
    """One line of the log."""

    time: datetime
    event: str
    id: str | None = None
    hook: str | None = None
    verdict: str | None = None
    job_id: int | None = None
    user_id: int | None = None
    user: str | None = None
    by: int | None = None
    account: str | None = None
    partition: str | None = None
    name: str | None = None
    submit_time: int | None = None
    test_only: bool = False
    asks: list[str] = field(default_factory=list)
    code: str | int | None = None
    text: str | None = None
    error: str | None = None
    cause: str | None = None
    count: int | None = None
    handlers: list[Step] = field(default_factory=list)
    microseconds: int | None = None
    generation: int | None = None
    hooks: str | None = None


def keys_of(entry: Decision | Step) -> dict[str, Any]:
    """Return the keys that an entry has, for JSON."""
    keys = {
        name: value for name, value in output.plain(entry).items() if value not in (None, [], {}) and value is not False
    }
    if isinstance(entry, Decision) and entry.handlers:
        keys["handlers"] = [keys_of(step) for step in entry.handlers]
    return keys


TOGETHER = 200
"""Lines that are parsed at once."""


class Job(NamedTuple):
    """What distinguishes a job's submission from others; None: unknown.

    Attributes:
        submit_time: in seconds since the epoch.
    """

    submit_time: int
    user_id: int | None = None
    name: str | None = None


class Log:
    """The files of a folder, rotated ones included; for iterations, also one file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def must_exist(self) -> None:
        """Refuse to read a log that does not exist.

        Raises:
            Finding: there is no file, or this user may not read the folder, or one above it.
        """
        path = self._folder
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
            if not os.access(path, os.R_OK | os.X_OK if is_folder else os.R_OK):
                raise PermissionError
            if not is_folder or any(path.glob("*.jsonl")):
                return
        except PermissionError:
            raise Finding(f"{path}: only SlurmUser and root may read the decision log") from None
        except OSError:
            pass
        raise Finding(
            f"{path}: there is no decision log: the first request of a set with handlers begins it, unless"
            " [decisions] of slurmhooks.toml says otherwise"
        )

    def begin(self) -> datetime | None:
        """Return when the oldest decision was made; None: there is none."""
        firsts = []
        for current in self._folder.glob("*.jsonl"):
            with suppress(FileNotFoundError), [current, *_rotated(current)][-1].open("rb") as file:
                firsts.append(_parse(file.readline()))
        return min((first.time for first in firsts if first is not None), default=None)

    def contents(self, since: datetime | None, until: datetime | None) -> Iterator[Any]:
        """Iterate over the lines of a time as they were written, in no order, without those that are no JSON."""
        window = Window.between(since, until)
        for current in [self._folder] if self._folder.is_file() else self._folder.glob("*.jsonl"):
            for path in [current] if current == self._folder else [current, *_rotated(current)]:
                with suppress(FileNotFoundError):
                    lines = (line for line in backwards(path, window=window) if window.may_have(line))
                    while together := list(islice(lines, TOGETHER)):
                        yield from _read_all(together)

    def find(
        self,
        accept: Callable[[Decision], bool],
        needle: str = "",
        may: Callable[[bytes], object] | None = None,
        window: Window = ALWAYS,
        most: int | None = None,
    ) -> list[Decision]:
        """Return decisions, oldest first.

        Args:
            accept: selects decisions.
            needle: a text that their lines have: others are not looked at, and a log has millions of lines.
            may: tells of a line whether its decision may be one of them; others are not parsed.
            window: when they were made.
            most: maximum number of decisions, of which the newest are returned; None: no maximum.
        """
        decisions: list[Decision] = []
        for current in self._folder.glob("*.jsonl"):
            newest: list[Decision] = []
            for line in _backwards(current, needle.encode(), window):
                if (may is None or may(line)) and window.may_have(line):
                    decision = _parse(line)
                    if decision is not None and accept(decision):
                        newest.append(decision)
                        if len(newest) == most:
                            break
            decisions += newest
        decisions.sort(key=lambda decision: decision.time)
        return decisions if most is None else decisions[-most:]

    def submissions(self, job: Job) -> list[Decision]:
        """Return the accepted submissions that may be a job's; several if they cannot be distinguished."""
        least, end = job.submit_time - BEFORE, job.submit_time + 1

        def fits(decision: Decision) -> bool:
            return (
                decision.hook == "job_submit"
                and (decision.verdict or "").startswith(("accepted", "unavailable, accepted"))
                and least <= decision.time.timestamp() < end
                and _same(decision.user_id if decision.user_id is not None else decision.by, job.user_id)
                and _same(decision.name, job.name)
            )

        candidates = self.find(fits, window=Window(least, end))
        # slurmctld notes the time of submission right after the hooks, unless it has to wait.
        exact = [each for each in candidates if int(_end(each)) == job.submit_time]
        return exact or candidates

    def observed(self, decisions: list[Decision]) -> list[Decision]:
        """Return what handlers with mode "observe" did after the answers to these requests."""
        ids = {decision.id for decision in decisions if decision.id is not None}
        if not ids:
            return []
        # Their lines have the time of the request, too.
        times = [decision.time.timestamp() for decision in decisions]
        return self.find(
            lambda each: each.event == "observed" and each.id in ids,
            next(iter(ids)) if len(ids) == 1 else "",
            window=Window(min(times) - 1, max(times) + 1),
        )

    def of_job(self, job_id: int) -> list[Decision]:
        """Return the decisions that have the id of a job: those after its submission."""
        may = re.compile(rb'"job_id":\s*%d\b' % job_id).search
        return self.find(lambda each: each.job_id == job_id, str(job_id), may)


def submitted(decisions: list[Decision]) -> Job | None:
    """Return what decisions about a job, made after its submission, say about the submission."""
    for decision in decisions:
        if decision.submit_time:
            return Job(decision.submit_time, decision.user_id, decision.name)
    return None


def _end(decision: Decision) -> float:
    return decision.time.timestamp() + (decision.microseconds or 0) / 1e6


def _same(one: object, other: object) -> bool:
    return one is None or other is None or one == other


def _rotated(current: Path) -> list[Path]:
    """Return the files that a file was renamed to, the newest first."""
    rotated = [path for path in current.parent.glob(f"{current.name}.*") if path.suffix[1:].isdecimal()]
    return sorted(rotated, key=lambda path: int(path.suffix[1:]))


def _backwards(current: Path, needle: bytes, window: Window) -> Iterator[bytes]:
    """Yield the lines of a file, and of its rotated ones, that have a text, the newest first; see log_lines.py."""
    for path in [current, *_rotated(current)]:
        with suppress(FileNotFoundError):  # the file has been rotated meanwhile
            yield from backwards(path, needle, window)


def _read(line: bytes) -> Any:
    """Read a line; return None if it is invalid, as after a full disk."""
    try:
        return json_lines.decode(line if line.isascii() else line.decode(errors="replace").encode())
    except (ValueError, RecursionError):
        return None


def _read_all(lines: list[bytes]) -> Iterator[Any]:
    """Read lines, together if they are valid: that takes two thirds of the time. Leave out invalid ones."""
    try:
        contents = json_lines.decode(b"[%s]" % b",".join(lines))
    except (ValueError, RecursionError):
        contents = []
    if len(contents) != len(lines):
        contents = map(_read, lines)
    yield from contents


def _parse(line: bytes) -> Decision | None:
    """Parse a line; return None if it is invalid."""
    try:
        return documents.build(Decision, _read(line))
    except ValueError:
        return None


def described(text: str) -> Job | None:
    """Parse the output of ``scontrol --oneliner show job``; return None if it is empty or ambiguous."""
    pairs = re.findall(r"(?:^|\s)(JobName|UserId|SubmitTime)=(.*?)(?=\s\w[\w/:]*=|$)", text.partition("\n")[0])
    values = dict(pairs)
    if len(values) < len(pairs):
        return None  # a name or a comment of the user looks like another key
    try:
        submit_time = int(datetime.fromisoformat(values["SubmitTime"]).timestamp())
    except (KeyError, ValueError):
        return None
    uid = re.search(r"\((\d{1,10})\)$", values.get("UserId", ""))
    return Job(submit_time, None if uid is None else int(uid.group(1)), values.get("JobName"))


def accounted(text: str) -> Job | None:
    """Parse the output of ``sacct --parsable2 --noheader --format=UID,Submit,JobName``; return None if it is empty."""
    uid, _, rest = text.partition("\n")[0].partition("|")
    submit, _, name = rest.partition("|")
    try:
        return Job(int(datetime.fromisoformat(submit).timestamp()), int(uid), name)
    except ValueError:
        return None
