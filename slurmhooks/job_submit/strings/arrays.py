# SPDX-License-Identifier: GPL-2.0-or-later
"""Parse specifications of job arrays."""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Iterator

from slurmhooks.job_submit.strings.notation import NotationError, Parsed

LAST_TASK = 4_000_000
"""One less than the largest MaxArraySize of slurm.conf(5)."""
MOST_NAMED = 4 * (LAST_TASK + 1)
"""Maximum number of task ids in all ranges; an id counts once for each range that has it. Limits the cost of
``len()``."""
INTEGER = re.compile(r"\s*[+-]?\d+", re.ASCII)
TOO_LONG = re.compile(r"\d{19}", re.ASCII)


class ArraySpec(Parsed):
    """The tasks of a job array, as in array_inx: ``0-10:2,15%3``.

    Attributes:
        ranges: the ranges of task ids, in the order of the text; they may overlap.
        limit: number of tasks that may run at the same time; None: no limit.
    """

    ranges: tuple[range, ...]
    limit: int | None

    def __init__(self, ranges: tuple[range, ...], limit: int | None = None) -> None:
        vars(self).update(ranges=ranges, limit=limit)

    @classmethod
    def parse(cls, text: str) -> ArraySpec:
        """Parse a specification; an empty one is no array, and has no tasks.

        Raises:
            NotationError: the text is not a specification, or its ranges name more than 16000004 tasks.
        """
        if TOO_LONG.search(text):
            raise NotationError(
                f"not an array specification: {text!r}; a number has more than 18 digits", code="ESLURM_INVALID_ARRAY"
            )
        ranges = []
        for word in filter(None, text.split(",")):
            tasks = _range(word)
            if tasks is None:
                raise NotationError(
                    f"not an array specification: {text!r}; {word!r} is not a range of tasks",
                    code="ESLURM_INVALID_ARRAY",
                )
            if tasks[-1] > LAST_TASK:
                raise NotationError(
                    f"not an array specification: {text!r}; the largest task id of Slurm is {LAST_TASK}",
                    code="ESLURM_INVALID_ARRAY",
                )
            ranges.append(tasks)
        if sum(map(len, ranges)) > MOST_NAMED:
            raise NotationError(
                f"not an array specification: {text!r}; its ranges name more than {MOST_NAMED} tasks",
                code="ESLURM_INVALID_ARRAY",
            )
        # As _create_job_array() of job_mgr.c: atoi() behind the first of several, whatever follows.
        limit = (_integer(text.partition("%")[2], 0)[0] + (1 << 31)) % (1 << 32) - (1 << 31)
        return cls(tuple(ranges), limit if limit > 0 else None)

    @property
    def tasks(self) -> list[int]:
        """The ids of all tasks, each once, sorted; there may be millions."""
        return list(self)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the ids of all tasks, each once, sorted."""
        return (task for task, _ in itertools.groupby(heapq.merge(*self.ranges)))

    def __len__(self) -> int:
        """Return the number of tasks."""
        ranges = sorted(set(self.ranges), key=lambda tasks: tasks.start)
        if all(one[-1] < other.start for one, other in itertools.pairwise(ranges)):
            return sum(map(len, ranges))
        # Ranges overlap: mark each id in a byte array, which is much smaller than a set.
        first, last = ranges[0].start, max(tasks[-1] for tasks in ranges)
        marks = bytearray(last - first + 1)
        for tasks in ranges:
            marks[tasks.start - first : tasks[-1] - first + 1 : tasks.step] = b"\1" * len(tasks)
        return marks.count(1)

    def __contains__(self, task: object) -> bool:
        """Return whether the array has a task with an id."""
        return any(task in tasks for tasks in self.ranges)

    def __str__(self) -> str:
        """Return the specification in Slurm's notation."""
        words = []
        for tasks in self.ranges:
            word = str(tasks.start) if len(tasks) == 1 else f"{tasks.start}-{tasks[-1]}"
            words.append(word + (f":{tasks.step}" if len(tasks) > 1 and tasks.step != 1 else ""))
        return ",".join(words) + (f"%{self.limit}" if self.limit else "")


def _range(word: str) -> range | None:
    """Return a range of tasks as slurm_parse_array_tok() reads it; None if it refuses the word."""
    first, at = _number(word, int(word.startswith("[")))
    last, step = first, 1
    if word[at : at + 1] == "-":
        last, at = _number(word, at + 1)
        if word[at : at + 1] == ":":
            step, at = _number(word, at + 1)
    if word[at : at + 1] not in ("", "%") or not 0 <= first <= last or step <= 0:
        return None
    return range(first, last + 1, step)


def _number(word: str, at: int) -> tuple[int, int]:
    """Return the number at a position, and the position behind it and a bracket."""
    number, end = _integer(word, at)
    return number, end + (word[end : end + 1] == "]")


def _integer(text: str, at: int) -> tuple[int, int]:
    """Return the number at a position as strtol() does, and the position behind it: 0 and the same if there is none."""
    match = INTEGER.match(text, at)
    return (int(match[0]), match.end()) if match else (0, at)
