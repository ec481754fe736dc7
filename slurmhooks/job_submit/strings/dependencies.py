# SPDX-License-Identifier: GPL-2.0-or-later
"""Parse dependencies on other jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from slurmhooks.job_submit.strings.notation import NUMBER, NotationError, Parsed

KINDS = ("after", "afterany", "afterburstbuffer", "aftercorr", "afternotok", "afterok", "expand")
JOB_REF = re.compile(rf"\s*\+?({NUMBER})(?:_({NUMBER}|\*|\[[-\d,:]+\]))?(?:\+({NUMBER}))?(?:\((\w+)\))?", re.ASCII)
DEPENDENCY = re.compile(r"([a-z]+)(?::([^,?]+)|(?:\((\w+)\))?)", re.ASCII | re.IGNORECASE)


class JobRef(NamedTuple):
    """A job on which another job depends.

    Attributes:
        job_id: the job id.
        task: the task of a job array: a number, ``*`` for all tasks, or ``[...]`` with task ids; None: the job itself.
        delay: minutes to wait in addition.
        state: the state that Slurm shows, ``unfulfilled`` or ``failed``; None in requests.
    """

    job_id: int
    task: str | None = None
    delay: int = 0
    state: str | None = None

    def __str__(self) -> str:
        """Return the job in Slurm's notation: ``12_3+5``."""
        text = f"{self.job_id}" + (f"_{self.task}" if self.task is not None else "")
        return text + (f"+{self.delay}" if self.delay else "") + (f"({self.state})" if self.state else "")


class Dependency(NamedTuple):
    """One condition: ``afterok:12:13``, ``singleton``.

    Attributes:
        kind: such as ``afterok``.
        jobs: the jobs; none for ``singleton``.
        state: the state that Slurm shows for ``singleton``; else None.
    """

    kind: str
    jobs: tuple[JobRef, ...] = ()
    state: str | None = None

    def __str__(self) -> str:
        """Return the condition in Slurm's notation."""
        return ":".join([self.kind, *map(str, self.jobs)]) + (f"({self.state})" if self.state else "")


class Dependencies(Parsed):
    """The dependencies of a job, as in the field dependency: ``afterok:12:13,singleton``.

    Attributes:
        conditions: the conditions, in order.
        any: one fulfilled condition is enough (written with "?" between conditions instead of ",").
    """

    conditions: tuple[Dependency, ...]
    any: bool

    def __init__(self, conditions: tuple[Dependency, ...] = (), any: bool = False) -> None:  # noqa: A002
        vars(self).update(conditions=conditions, any=any)

    @classmethod
    def parse(cls, text: str | None) -> Dependencies:
        """Parse a list of conditions; ``0`` is an empty list.

        ``12,13`` is the older notation of ``afterany:12,afterany:13``.

        Raises:
            NotationError: the text is not a list of conditions.
        """
        if text in (None, "", "0"):
            return cls()
        assert text is not None
        conditions = tuple(_dependency(word, text) for word in re.split(r"[,?]", text))
        return cls(conditions, "?" in text)

    @property
    def job_ids(self) -> set[int]:
        """The ids of all jobs in all conditions."""
        return {job.job_id for condition in self.conditions for job in condition.jobs}

    def __iter__(self) -> Iterator[Dependency]:
        """Iterate over the conditions."""
        return iter(self.conditions)

    def __len__(self) -> int:
        """Return the number of conditions."""
        return len(self.conditions)

    def __str__(self) -> str:
        """Return the dependencies in Slurm's notation."""
        return ("?" if self.any else ",").join(map(str, self.conditions))


def _dependency(word: str, text: str) -> Dependency:
    if word[:1].isdecimal():
        return Dependency("afterany", (_job_ref(word, text),))
    match = DEPENDENCY.fullmatch(word)
    if match is not None:
        kind, jobs, state = match[1].lower(), match[2], match[3]
        if kind == "singleton" and not jobs:
            return Dependency(kind, (), state and state.lower())
        if kind in KINDS and jobs and not state:
            return Dependency(kind, tuple(_job_ref(job, text) for job in jobs.split(":")))
    kinds = ", ".join(KINDS)
    raise NotationError(
        f"not a dependency: {text!r}; {word!r} is neither singleton nor one of {kinds} with job ids",
        code="ESLURM_DEPENDENCY",
    )


def _job_ref(word: str, text: str) -> JobRef:
    match = JOB_REF.fullmatch(word)
    if match is None or not 0 < int(match.group(1)) < 1 << 32 or (match.group(3) and not int(match.group(3))):
        raise NotationError(f"not a dependency: {text!r}; {word!r} is not a job id", code="ESLURM_DEPENDENCY")
    job_id, task, delay, state = match.groups()
    return JobRef(int(job_id), task, int(delay or 0), state and state.lower())
