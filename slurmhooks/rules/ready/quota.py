# SPDX-License-Identifier: GPL-2.0-or-later
"""A rule on what a user, an account or a group has in the queue, together with the request."""

from __future__ import annotations

import math
import time
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from slurmhooks.errors import Reject
from slurmhooks.fields.constants import JobState
from slurmhooks.handlers.registry import SKIP
from slurmhooks.job_submit.bounds import computing, defaults
from slurmhooks.job_submit.bounds.asked import fields_of_records, in_record, present
from slurmhooks.job_submit.bounds.counts import GPU, Counts
from slurmhooks.job_submit.model import owner_of
from slurmhooks.job_submit.strings import NotationError, Tres
from slurmhooks.job_submit.unchanged import Unchanged
from slurmhooks.job_submit.users import is_group, kept_group, kept_groups, split_names
from slurmhooks.rules import resources
from slurmhooks.rules.base import Rule
from slurmhooks.rules.conditions import UNKNOWN_GROUPS, first_group
from slurmhooks.rules.kinds import counted, matches, matches_any_case, may_be
from slurmhooks.rules.ready.sizes import GOING
from slurmhooks.rules.table import key
from slurmhooks.rules.typed import ROWS
from slurmhooks.values import Unlimited, text_from_c, text_to_c
from slurmhooks.worker import accepted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slurmhooks.job_submit.model import Job
    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Count
    from slurmhooks.worker.accepted import Entry

AMOUNTS = {
    "jobs": "job",
    "nodes": "node",
    "cpus": "CPU",
    "gpus": "GPU",
    "cpu_hours": "CPU hour",
    "gpu_hours": "GPU hour",
}
"""What quotas limit, in words."""
TRES = {"nodes": "node", "cpus": "cpu", "gpus": GPU}
"""Names of Slurm's TRES."""
HOURS = {"cpu_hours": "cpus", "gpu_hours": "gpus"}
"""Amounts that depend on the time limit, and of what."""
OWNERS = {"user": "user_id", "account": "account", "group": "user_id"}
"""The field of a record that says whose a job is."""
MOST_KINDS = 2000
"""How many waiting jobs may differ; each takes a request 0.2 ms, while slurmctld holds its locks."""
PLACES = {"partitions": "partition", "qos": "qos", "accounts": "account"}
"""Keys that say where a job is, and the field of a job that has it."""


class Quota(Rule):
    """All jobs of a user, of an account, or of the members of a Unix group, may have only so much together.

    What counts is in slurmctld's queue: pending, running and suspended jobs, each task of an array as one. With
    ``partitions``, ``qos`` or ``accounts``, only jobs there count. Pending jobs count with the most that Slurm can give
    to them, running ones with what they have got, and hours with the whole time limit. A request that was accepted
    counts for some seconds also before the queue shows its job, so that parallel submissions cannot exceed the quota.
    If Slurm itself refuses it afterwards, or it was only a test (--test-only), it counts for these seconds, too.

    Each group that ``groups`` names has the quota; the jobs of a user count for the first of them in which the user is.

    Slurm's own GrpTRES, GrpTRESMins (with AccountingStorageEnforce=safe) and MaxSubmitJobs do the same where accounting
    enforces limits; this rule is for clusters without that, and for limits by partition. Jobs that have ended do not
    count.
    """

    rule: Literal["quota"] = key("quota")
    left_to_slurm: ClassVar[str] = (
        "the most nodes, CPUs and GPUs that Slurm can give; a job without --time is refused if hours are limited"
    )
    per: Literal["user", "account", "group"] = key("user", "whose jobs count together")
    jobs: Count | None = key(None, "the most jobs and tasks of arrays")
    nodes: Count | None = key(None, "the most nodes; of two jobs on one node, each counts it")
    cpus: Count | None = key(None, "the most CPUs")
    gpus: Count | None = key(None, "the most GPUs")
    cpu_hours: float | None = key(None, "the most CPUs, each times the time limit in hours", ge=0.0)
    gpu_hours: float | None = key(None, "the most GPUs, each times the time limit in hours", ge=0.0)

    needs: ClassVar[tuple[str, ...]] = tuple(AMOUNTS)
    after_refusal: ClassVar[int] = SKIP
    text: ClassVar[str] = "{whose} may have at most {limit} in the queue; now {reserved}, and the job would add {asked}"
    placeholders: ClassVar[dict[str, str]] = {
        "whose": "the user, the account or the group",
        "limit": "the quota",
        "reserved": "what pending and running jobs have, and requests that were accepted a moment ago",
        "asked": "what the job would add",
    }
    code: ClassVar[str | None] = "ESLURM_ACCOUNTING_POLICY"
    example: ClassVar[str] = 'per = "user"\npartitions = ["gpu"]\njobs = 20\ngpus = 8'

    def settle(self) -> None:
        """Check that quotas of groups name them."""
        super().settle()
        if self.per == "group" and not self.groups:
            raise ValueError('per = "group": name the groups that have this quota in groups')

    @property
    def limits(self) -> dict[str, float]:
        """What is limited, by the keys."""
        return {name: limit for name in AMOUNTS if (limit := getattr(self, name)) is not None}

    def deciding(self) -> tuple[str, ...]:
        """Return the fields that decide what a job has."""
        names = ["account"] if self.per == "account" else []
        names += resources.FIELDS if self.limits.keys() - {"jobs"} else ()
        names += ("time_limit", "time_min", "deadline") if self.limits.keys() & HOURS.keys() else ()
        return tuple(names)

    def tables(self, hook: str) -> tuple[str, ...]:
        """Return the table of jobs, and that of associations for quotas of accounts."""
        return ("jobs", "associations") if self.per == "account" else ("jobs",)

    def check(self, request: Request) -> None:
        """Refuse a job that exceeds the quota together with the others; note it if it is accepted."""
        whose = self._whose(request)
        if whose is None:
            self.refuse(request, "name an account with --account")
        own, instead = self._asked(request), self._present(request, whose)
        if math.inf in own.values():
            self.refuse(request, "name a time limit with --time, and numbers of nodes and CPUs")
        jobs, shared = request.tables["jobs"], accepted.shared
        # slurmctld creates no job during the call, so both are of the same moment, and what others accept now is not
        # in the queue yet.
        present = self.in_queue(jobs, request.job, whose)
        if present is None:
            self.refuse(request, f"more than {MOST_KINDS:,} different jobs wait; try again when fewer do")
        if shared is None:
            self._decide(request, whose, present, own, instead)
            return
        key = accepted.key_of(self.label, whose)
        shown = self._shown(jobs, request.job, whose, shared.of(key))
        with shared.held(key):
            for name, amount in zip(AMOUNTS, _not_shown(shared.of(key), shown), strict=False):
                present[name] += amount  # type: ignore[assignment]
            self._decide(request, whose, present, own, instead)
            # Also for --test-only: a user may send any command line. slurmctld changes a job before it lets others in.
            if not (request.modify or (self.per == "account" and self._is_stranger(request, whose))):
                amounts = [own.get(name, 0.0) for name in AMOUNTS]
                shared.add(key, owner_of(request.job) or 0, amounts)

    def _decide(
        self,
        request: Request,
        whose: str,
        present: Mapping[str, float],
        own: Mapping[str, float],
        instead: Mapping[str, float],
    ) -> None:
        """Refuse what exceeds a limit; an update that adds nothing to that, and moves the job nowhere, passes.

        ``present`` is what is there, with the job itself as it is now, ``own`` what the job would have, ``instead``
        what it has now. For ``whose`` see :meth:`in_queue`.
        """
        # A move may bring the job to where the rule counts, although the queue has it already.
        moves = request.modify and any(getattr(request.job, field) is not None for field in PLACES.values())
        for name, limit in self.limits.items():
            before = instead.get(name, 0.0)
            if (moves or own[name] > before) and present[name] - before + own[name] > limit:
                said = {"limit": limit, "reserved": present[name] - before, "asked": own[name]}
                words = {key: _amount(value, AMOUNTS[name]) for key, value in said.items()}
                name_of = {"user": request.user or whose, "account": request.account, "group": whose}[self.per]
                self.refuse(request, whose=f"{self.per} {name_of}", **words)

    def _whose(self, request: Request) -> str | None:
        """Return whose quota a job needs: a user id, the name of an account or a group; None if that is not known."""
        if self.per == "user":
            return str(owner_of(request.job))
        if self.per == "group":
            return first_group(request.groups, self.groups)
        return None if request.account is None else in_records(request.account)

    def _is_stranger(self, request: Request, account: str) -> bool:
        """Tell whether slurmctld refuses the account to the user, who cannot take its quota for seconds by trying."""
        if request.user is None or not defaults.enforces_associations():
            return False
        return not request.tables["associations"].count(user=request.user, account=account)

    def _asked(self, request: Request) -> dict[str, float]:
        """Return what a job would have, with all of its tasks; endless if nothing limits it."""
        tasks, own = request.array_tasks, {"jobs": 1.0}
        if self.limits.keys() - {"jobs"}:
            known = resources.bounds(request, nodes=True)
            own |= {name: _number(getattr(known, name).most) for name in TRES}
        for name, of in HOURS.items() if self.limits.keys() & HOURS.keys() else ():
            # Without one, the queue shows none before the job starts, whatever a partition or a deadline makes of it.
            named = request.get("time_limit") is not None
            minutes = _number(resources.time_limit(request, request.partitions).most) if named else math.inf
            own[name] = own[of] * minutes / 60 if own[of] and minutes else 0.0
        return {name: amount * tasks for name, amount in own.items()}

    def _present(self, request: Request, whose: str) -> dict[str, float]:
        """Return what the job of an update has now, if it counts for the same user or account, and where it is."""
        record = request.record
        if record is None or not self._is_counted(record) or self._whose(request.before()) != whose:
            return {}
        amounts = self._amounts(record, request.job)
        return {name: amount * request.array_tasks for name, amount in amounts.items()}

    # The queue

    def in_queue(self, jobs: Any, job: Job, whose: str) -> Counter[str] | None:
        """Return what the jobs of a user, an account or a group in slurmctld's queue have; None: too many differ.

        ``job`` is any request, which knows the cluster; ``whose`` is a user id, or the name of an account or a group.
        """
        kinds = list(self._kinds_of(jobs, job, whose))
        waiting = sum(kind.job_state == JobState.JOB_PENDING for _, kind, _ in kinds)
        if waiting > MOST_KINDS and self.limits.keys() - {"jobs"}:
            return None
        return self._sums(kinds, job).get(whose, Counter())

    def of_each(self, jobs: Any, job: Job) -> dict[str, Counter[str]]:
        """Return the same for all users, accounts or groups with jobs that count, however many differ."""
        return self._sums(self._kinds_of(jobs, job, None), job)

    def _sums(self, kinds: Iterable[tuple[str, Any, int]], job: Job) -> dict[str, Counter[str]]:
        totals: dict[str, Counter[str]] = {}
        for owner, kind, count in kinds:
            total = totals.setdefault(owner, Counter())
            for name, amount in self._amounts(kind, job).items():
                total[name] += amount * count  # type: ignore[assignment]
        return totals

    def _kinds_of(self, jobs: Any, job: Job, whose: str | None) -> Iterable[tuple[str, Any, int]]:
        """Yield for whom jobs count, with what :meth:`_going` yields of them; of all, or of one."""
        for kind, count in self._going(jobs, job, whose):
            owner = self._owner(kind) if kind.job_state in GOING and self._is_counted(kind) else None
            if owner is not None and whose in (None, owner):
                yield owner, kind, count

    def _going(self, jobs: Any, job: Job, whose: str | None) -> Iterable[tuple[Any, int]]:
        """Yield records of jobs, as :meth:`_kinds` does, with what decides about their amounts."""
        if not self.limits.keys() - {"jobs"}:
            yield from self._kinds(jobs, job, whose)
            return
        times = ["time_limit"] if self.limits.keys() & HOURS.keys() else []
        for state in GOING:
            waits = state == JobState.JOB_PENDING
            names = fields_of_records(job) if waits else ("tres_fmt_req_str", "tres_fmt_alloc_str", "gres_used")
            yield from self._kinds(jobs, job, whose, *names, *times, job_state=state)

    def _kinds(self, jobs: Any, job: Job, whose: str | None, *more: str, **fields: Any) -> Iterable[tuple[Any, int]]:
        """Yield records of jobs that do not differ in what counts, and how many there are of each.

        slurmctld does not know the members of groups: for a group, these are the jobs of all users.
        """
        own = OWNERS[self.per]
        places = (each for key, field in PLACES.items() if getattr(self, key) for each in ROWS[field].names_in_record)
        names = present(job, "job_state", own, *more, *places)
        if whose is not None and self.per != "group":
            fields[own] = int(whose) if self.per == "user" else whose
        for values, count in jobs.counts(*names, **fields).items():
            yield SimpleNamespace(**dict(zip(names, values, strict=True))), count

    def _owner(self, record: Any) -> str | None:
        """Return for whom a job in the queue counts; see :meth:`group_of`."""
        return self.group_of(record.user_id) if self.per == "group" else str(getattr(record, OWNERS[self.per]))

    def group_of(self, user_id: int) -> str | None:
        """Return the group for which the jobs of a user count; None: the user is in none, or exists no more.

        Raises:
            Reject: the name service knows neither the user nor any group, as in an outage.
        """
        ids = kept_groups(user_id)
        if not ids and not any(is_group(name) for name in self.groups):
            raise Reject(UNKNOWN_GROUPS)
        return next((name for name in self.groups if kept_group(name) in ids), None)

    def _is_counted(self, record: Any) -> bool:
        """Tell whether a job is where the quota counts; one that names several partitions or QOS is in any of them."""
        return (
            may_be(lambda: split_names(record.partition), self.partitions, matches)
            and may_be(lambda: split_names(in_record(record, "qos")), self.qos, matches_any_case)
            and may_be(lambda: (record.account,), self.accounts, matches_any_case)
        )

    def _amounts(self, record: Any, job: Job) -> dict[str, float]:
        """Return what a job, or one task of an array, has; of one that waits, the most that Slurm can give to it."""
        amounts = {"jobs": 1.0}
        if self.limits.keys() - {"jobs"}:
            waits = record.job_state == JobState.JOB_PENDING
            tres = _tres(record.tres_fmt_req_str if waits else record.tres_fmt_alloc_str or record.tres_fmt_req_str)
            most = _most(record, job)
            amounts |= {name: max(tres.get(of, 0.0), most.get(name, 0.0)) for name, of in TRES.items()}
        for name, of in HOURS.items() if self.limits.keys() & HOURS.keys() else ():
            limit = math.inf if record.time_limit is None else _number(record.time_limit)
            amounts[name] = amounts[of] * limit / 60 if amounts[of] and limit else 0.0
        return amounts

    def _shown(self, jobs: Any, job: Job, whose: str, entries: list[Entry]) -> Counter[tuple[int, int]]:
        """Return how many jobs the queue has of each user and second of submission, since some requests.

        A requeued job has a new time of submission, and is left out; tasks of one array count once.
        """
        found: Counter[tuple[int, int]] = Counter()
        now, names = int(time.time()), ("user_id", "array_job_id")
        first = min((int(entry.at) for entry in entries), default=now + 1)
        # If the clock was put forward meanwhile, an older request counts besides its job.
        for second in range(max(first, now - int(accepted.KEPT_SECONDS) - 1), now + 1):
            arrays = set()
            for kind, count in self._kinds(jobs, job, whose, *names, submit_time=second, restart_cnt=0):
                if self._is_counted(kind) and kind.array_job_id:
                    arrays.add((kind.user_id, kind.array_job_id))
                elif self._is_counted(kind):
                    found[kind.user_id, second] += count
            found.update((user, second) for user, _ in arrays)
        return found

    def effect(self) -> str:
        """Describe the rule."""
        most = ", ".join(_amount(limit, AMOUNTS[name]) for name, limit in self.limits.items())
        whose = {"user": "Your jobs", "account": "The jobs of an account", "group": "The jobs of a group"}
        return f"{whose[self.per]} that wait or run may have together at most: {most}."


def _not_shown(entries: list[Entry], shown: Counter[tuple[int, int]]) -> list[float]:
    """Return the sum of each amount of the requests whose jobs are not in the queue yet.

    Nothing says which job is of which request: a job counts for the latest request of its user that was accepted in its
    second or before; of those that are left, the amounts are the largest that they can be.
    """
    totals = [0.0] * len(AMOUNTS)
    for user in {entry.user_id for entry in entries}:
        waiting = sorted((entry for entry in entries if entry.user_id == user), key=lambda entry: entry.at)
        columns = list(zip(*(entry.amounts for entry in waiting), strict=True))
        seconds = sorted(second for (owner, second), count in shown.items() if owner == user for _ in range(count))
        left: list[Entry] = []
        for second in seconds:
            while waiting and int(waiting[0].at) <= second:
                left.append(waiting.pop(0))
            if left:
                left.pop()
        count = len(left) + len(waiting)
        for place, column in enumerate(columns):
            totals[place] += sum(sorted(column, reverse=True)[:count])
    return totals


def in_records(account: str) -> str:
    """Return the name of an account as slurmctld writes it: only ASCII letters become small ones (xstrtolower())."""
    return text_from_c(text_to_c("account", account).lower())


def _most(record: Any, job: Job) -> dict[str, float]:
    """Return the most that a waiting job can get, and the GPUs that another one has.

    ReqTRES has the least nodes and CPUs, and without slurmdbd no TRES has GPUs.
    """
    present: Any = Unchanged(job)
    try:
        if record.job_state != JobState.JOB_PENDING:
            return {"gpus": float(Counts.of(Tres.parse(record.gres_used)).total)}
        known = computing.of_request(present, record, nodes=True)
    except NotationError:
        return dict.fromkeys(TRES, math.inf)
    return {name: _number(getattr(known, name).most) for name in TRES}


def _tres(text: str | None) -> dict[str, float]:
    """Return numbers by the names of TRES, such as cpu=4,gres/gpu=1; those with a unit are of memory."""
    pairs = (each.rpartition("=") for each in (text or "").split(","))
    return {name: float(number) for name, _, number in pairs if number.isdecimal()}


def _number(value: int | Unlimited) -> float:
    return math.inf if isinstance(value, Unlimited) else float(value)


def _amount(value: float, what: str) -> str:
    if math.isinf(value):
        return f"jobs with unlimited {what}s"
    return counted(int(value), what) if value == int(value) else f"{value:.1f} {what}s"
