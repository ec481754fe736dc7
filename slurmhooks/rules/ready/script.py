# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule on the content of batch scripts."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from slurmhooks.errors import SlurmhooksError
from slurmhooks.rules.base import Rule
from slurmhooks.rules.kinds import listed
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Words


def compiles(_: type[Rule], patterns: tuple[str, ...]) -> None:
    """Raise ValueError for what is no regular expression."""
    for pattern in patterns:
        try:
            re.compile(pattern, re.MULTILINE)
        except (re.error, OverflowError, RecursionError) as error:  # too large a number, or nested too deeply
            raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None


class ScriptContent(Rule):
    """Batch scripts must not match certain regular expressions, or must match others.

    The expressions are those of Python; ^ and $ match at the start and the end of each line. Jobs of srun and salloc
    have no script, and pass; other programs may send one with a request for an allocation, which is searched. Updates
    are checked if they take a job to a place that the rule is for.

    The cost of a search is limited: it ends at a deadline, for any expression and script, and only the first part of a
    long script is searched. A script that is longer, or whose search is not finished by then, is refused by default, so
    that no user can evade the rule by a script that is hard to search.
    """

    private: ClassVar[tuple[str, ...]] = ("forbidden", "required", "deadline")
    rule: Literal["script_content"] = key("script_content")
    left_to_slurm: ClassVar[str] = "a job without a script, from srun or salloc, is accepted"
    forbidden: Words = key((), "regular expressions that must not be found", check=compiles)
    required: Words = key((), "regular expressions, each of which must be found", check=compiles)
    first: int = key(1024, "how many KiB of a script are searched", ge=1, le=4096)
    deadline: float = key(0.1, "time limit of the search in seconds", strict=False, ge=0.001, le=10.0)
    longer: Literal["refuse", "accept"] = key(
        "refuse", "what happens to scripts that are longer, if nothing is found in the first part"
    )
    on_timeout: Literal["refuse", "accept"] = key("refuse", "what happens to scripts that take longer to search")

    needs: ClassVar[tuple[str, ...]] = ("forbidden", "required")
    text: ClassVar[str] = "the batch script is refused: {problem}"
    placeholders: ClassVar[dict[str, str]] = {"problem": "what is wrong with it"}
    code: ClassVar[str | None] = "ESLURM_ACCESS_DENIED"
    example: ClassVar[str] = "forbidden = ['\\bmpirun\\b']\nmessage = \"use srun instead of mpirun\""

    @property
    def longest(self) -> float:
        """The deadline."""
        return self.deadline

    def check(self, request: Request) -> None:
        """Search the script."""
        script = None if request.interactive == {True} else (request.record or request.job).script
        if script is None:
            return
        try:
            with time_limit(self.deadline):
                problem = self._problem(script[: self.first << 10])
                if problem is None and self.longer == "refuse" and len(script) > self.first << 10:
                    problem = f"it is longer than {self.first} KiB"
        except SearchTimeoutError:
            problem = "it takes too long to search" if self.on_timeout == "refuse" else None
        if problem is not None:
            self.refuse(request, problem=problem)

    def _problem(self, text: str) -> str | None:
        for pattern in self.forbidden:
            match = re.search(pattern, text, re.MULTILINE)
            if match is not None:
                line = text.count("\n", 0, match.start()) + 1
                return f"line {line} has {match.group()[:80]!r}"
        for pattern in self.required:
            if re.search(pattern, text, re.MULTILINE) is None:
                return f"nothing in it matches {pattern}"
        return None

    def effect(self) -> str:
        """Describe the rule."""
        parts = [f"must not match {listed([f'`{it}`' for it in self.forbidden])}"] if self.forbidden else []
        parts += [f"must match {listed([f'`{it}`' for it in self.required], 'and')}"] if self.required else []
        return f"Batch scripts {', and '.join(parts)}."


class SearchTimeoutError(SlurmhooksError):
    """A search has not finished by its deadline."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise SearchTimeoutError in the block after some seconds.

    During a search, Python's re checks for signals every few thousand steps, so the search itself can be ended.
    Handlers run in the main thread of their worker, where signals are handled; in other threads the block has no limit
    of its own.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: Any) -> None:
        raise SearchTimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:  # the signal may have arrived just before this
            signal.signal(signal.SIGALRM, before)
