# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule that asks a service of the site whether a job may be accepted."""

from __future__ import annotations

import os
import time
import urllib.parse
from collections import OrderedDict
from string import Formatter
from typing import TYPE_CHECKING, ClassVar, Literal

from slurmhooks.errors import Reject
from slurmhooks.handlers.registry import SKIP
from slurmhooks.job_submit.model import owner_of
from slurmhooks.log import log
from slurmhooks.rules import asking, resources
from slurmhooks.rules.asking import Answer, InvalidAnswerError, UnansweredError
from slurmhooks.rules.base import Rule
from slurmhooks.rules.table import key

if TYPE_CHECKING:
    from slurmhooks.job_submit.bounds import Range
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Seconds, Url, Word, Words

MOST_KEPT = 4096
"""Maximum number of answers that are kept."""
VALUES = ("user", "account", "partition", "qos", "uid", "time_limit", "nodes", "cpus", "gpus", "array_tasks")
"""The placeholders of commands and URLs."""
FAILED = "the service that checks budgets does not answer; try again later"
INVALID = "the service that checks budgets has no valid answer about it; check account, partition and QOS"
ENOUGH = 2
"""How many users' questions must fail, with no success in between, before nobody's are asked for a while."""

Verdict = tuple[bool, str]
"""Whether a job is allowed, and otherwise why not."""


def known_values(_rule: type[Rule], value: tuple[str, ...] | str | None) -> None:
    """Raise ValueError for a command or URL with placeholders that are none of VALUES."""
    for text in (value,) if isinstance(value, str) else value or ():
        for _, name, form, conversion in Formatter().parse(text):
            if name is not None and (name not in VALUES or form or conversion):
                raise ValueError(f"takes {', '.join(f'{{{known}}}' for known in VALUES)}")


class Budget(Rule):
    """A service of the site decides whether a job is accepted: whether its account has computing time left.

    The service is a program (command), or answers HTTP requests (url). Words in braces are replaced by values of the
    job: ``{user}``, ``{account}``, ``{partition}``, ``{qos}``, ``{uid}``, ``{time_limit}``, ``{nodes}``, ``{cpus}``,
    ``{gpus}``, ``{array_tasks}``; unset ones are empty. They are what the job gets, not only what it names: the time
    limit in minutes, or UNLIMITED, is by default that of the partition, and ``--exclusive`` means all CPUs and GPUs of
    the nodes. Each task of a job array gets all of it; ``{array_tasks}`` is their number, 1 for other jobs.

    Values come from users, and may begin with a dash: the program must not interpret them as options.

    A program accepts with exit status 0 and refuses with 1; the first line of its output is the reason. A web service
    answers with status 200 and a JSON object. The job is accepted if the configured member is true, or a number above a
    threshold; the member "text" is the reason of a refusal. Status 403 refuses.

    Any other answer concerns only the question, because values of users may have caused it: the job is refused. The
    service fails if it does not answer by the deadline, cannot be reached, or has a status of 500 or above, or if the
    program cannot be started or is ended by a signal. Then it is not asked for the same user for a while, if failures
    refuse jobs, and if it fails for two users in a row, for nobody; afterwards a single question finds out whether it
    works again.

    The rule never takes longer than its deadline. Keep the deadline short, because slurmctld holds locks meanwhile.
    """

    private: ClassVar[tuple[str, ...]] = ("command", "url", "member", "above", "deadline", "cache", "retry")
    after_refusal: ClassVar[int] = SKIP
    rule: Literal["budget"] = key("budget")
    left_to_slurm: ClassVar[str] = (
        "the DefaultTime of the first of the job's partitions; if that has none, the largest DefaultTime (or else"
        " MaxTime) of all, or UNLIMITED; at most what is left until --deadline; the most nodes, CPUs and GPUs, or the"
        " least if nothing limits them; what Slurm chooses for partition, account and QOS"
    )
    command: Words = key((), "the program, with an absolute path, and its arguments", check=known_values)
    url: Url | None = key(None, "the URL to ask instead; http or https", check=known_values)
    member: Word = key("allowed", "the member of the JSON object that decides")
    above: float = key(0.0, "a number must be greater than this", strict=False)
    deadline: float = key(
        0.5, "time limit of an answer in seconds; less than [job_submit] timeout", strict=False, ge=0.01, le=60.0
    )
    cache: Seconds = key(
        60.0, "seconds that an answer is reused for the same question; each worker keeps its own answers"
    )
    retry: Seconds = key(10.0, "seconds after a failure in which the service is not asked again")
    on_failure: Literal["refuse", "accept"] = key("refuse", "what happens to jobs while the service fails")

    own_fields: ClassVar[tuple[str, ...]] = ("account", "qos", "time_limit", "time_min", "deadline", *resources.FIELDS)
    text: ClassVar[str] = "account {account} may not run this job: {reason}"
    nameless: ClassVar[str] = "your account may not run this job: {reason}"
    placeholders: ClassVar[dict[str, str]] = {"reason": "what the service says"}
    code: ClassVar[str | None] = "ESLURM_ACCOUNTING_POLICY"
    example: ClassVar[str] = (
        'url = "https://budget.example.org/projects/{account}"\nmember = "hours_left"\non_failure = "accept"'
    )

    def settle(self) -> None:
        """Check that it asks one service, of which it knows nothing yet."""
        super().settle()
        if bool(self.command) == (self.url is not None):
            raise ValueError("needs command or url, not both")
        if self.command and not self.command[0].startswith("/"):
            raise ValueError("command must begin with an absolute path")
        if self.url is not None and "{" in self.url.split("/")[2]:
            raise ValueError("url must name its host: {words} may only follow it")
        self._answers: OrderedDict[tuple[str, ...], tuple[float, Verdict]] = OrderedDict()
        self._pauses: OrderedDict[int | None, float] = OrderedDict()
        self._failing: set[int | None] = set()
        self._pause = [0.0]

    @property
    def longest(self) -> float:
        """The deadline."""
        return self.deadline

    def programs(self) -> tuple[str, ...]:
        """Return the path of the command."""
        return self.command[:1]

    def check(self, request: Request) -> None:
        """Ask the service, unless it has recently answered the same question."""
        allowed, reason = self._verdict(self._question(request), owner_of(request.job))
        if not allowed:
            text = self.nameless if request.account is None else None
            self.refuse(request, text, reason=reason or "no budget is left")

    def _question(self, request: Request) -> tuple[str, ...]:
        values = {
            "user": request.user,
            "account": request.account,
            "partition": ",".join(request.partitions),
            "qos": request.qos,
            "uid": request.sender,
            "time_limit": resources.time_limit(request, request.partitions).most,
            "array_tasks": request.array_tasks,
            **{name: _most(request, name) for name in ("nodes", "cpus", "gpus")},
        }
        words = {name: "" if value is None else str(value) for name, value in values.items()}
        if self.url is not None:
            quoted = {name: urllib.parse.quote(os.fsencode(value), safe="") for name, value in words.items()}
            return (self.url.format(**quoted),)
        return tuple(word.format(**words) for word in self.command)

    def _verdict(self, question: tuple[str, ...], user_id: int | None) -> Verdict:
        now = time.monotonic()
        kept = self._answers.get(question)
        if kept is not None and now < kept[0]:
            return kept[1]
        try:
            # Who makes the service fail must not have other questions accepted unasked in the pause.
            of_user = self._pauses.get(user_id, 0.0) if self.on_failure == "refuse" else 0.0
            if now < max(self._pause[0], of_user):
                raise UnansweredError("")
            verdict = self._ask(question)
        except UnansweredError as error:
            return self._failure(str(error), now, user_id)
        except InvalidAnswerError as error:
            log.error("%s: %s: the job is refused", self.label, error)
            verdict = False, INVALID
        self._failing.clear()
        self._pauses.pop(user_id, None)
        if self.cache:
            self._answers[question] = (now + self.cache, verdict)
            self._answers.move_to_end(question)
            while len(self._answers) > MOST_KEPT:
                self._answers.popitem(last=False)
        return verdict

    def _failure(self, reason: str, now: float, user_id: int | None) -> Verdict:
        """Return the verdict while the service fails, and log a new reason.

        Values of one user may make the service fail, so one user's failures do not concern others.
        """
        if reason:
            log.error("%s: %s: jobs are %sed", self.label, reason, self.on_failure.removesuffix("e"))
            self._failing.add(user_id)
            self._pauses[user_id] = now + self.retry
            self._pauses.move_to_end(user_id)
            while len(self._pauses) > MOST_KEPT:
                self._pauses.popitem(last=False)
            if len(self._failing) >= ENOUGH:
                self._pause[0] = now + self.retry
        if self.on_failure == "accept":
            return True, ""
        raise Reject(self.with_help(FAILED), code=self.code)

    def _ask(self, question: tuple[str, ...]) -> Verdict:
        if self.url is None:
            answer = asking.program(question, self.deadline)
            if answer.code not in (0, 1):
                raise InvalidAnswerError(f"{question[0]}: exit status {answer.code}")
            return answer.code == 0, answer.text.partition("\n")[0].strip()
        return self._of_web(asking.web(question[0], self.deadline), question[0])

    def _of_web(self, answer: Answer, url: str) -> Verdict:
        if answer.code not in (200, 403):
            raise InvalidAnswerError(f"{url}: status {answer.code}")
        try:
            members = asking.table(answer.text)
        except InvalidAnswerError as error:
            if answer.code == 403:
                return False, ""
            raise InvalidAnswerError(f"{url}: {error}") from None
        reason = members.get("text")
        reason = reason if isinstance(reason, str) else ""
        if answer.code == 403:
            return False, reason
        value = members.get(self.member)
        if not isinstance(value, bool | int | float):
            raise InvalidAnswerError(f"{url}: the answer has no {self.member} that is true, false or a number")
        return value if isinstance(value, bool) else value > self.above, reason

    def effect(self) -> str:
        """Describe the rule."""
        failing = "are accepted" if self.on_failure == "accept" else "have to wait"
        return f"A service checks whether the account of the job has budget left. While it fails, jobs {failing}."


def _most(request: Request, name: str) -> int:
    """Return the most that a job can get, or the least if nothing limits it."""
    amount: Range = getattr(resources.bounds(request), name)
    if amount.least != amount.most:  # the nodes may decide
        amount = getattr(resources.bounds(request, nodes=True), name)
    return amount.most if isinstance(amount.most, int) else amount.least
