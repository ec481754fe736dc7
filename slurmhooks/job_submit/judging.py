# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls a handler of hook.job: for whom, at which updates, and with what effect."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject, UnknownError
from slurmhooks.fields import JobFields
from slurmhooks.fields.rows import Computed, rows
from slurmhooks.files import slurm_conf
from slurmhooks.handlers import dispatch
from slurmhooks.handlers.dispatch import NOT_CONCERNED, Exempted
from slurmhooks.handlers.job_rule import JobRule, named_in
from slurmhooks.job_submit.origin import FROM_SIBLINGS
from slurmhooks.job_submit.whole import EXTRA, LacksRecord, Looking, SeenRecord, WholeJob, depends
from slurmhooks.log import log
from slurmhooks.slurmctld import NEEDS_SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.handlers.registry import Handler
    from slurmhooks.job_submit.model import Job

FIELDS = frozenset(name for name, row in rows(JobFields).items() if not isinstance(row, Computed)) | frozenset(EXTRA)
"""What handlers read of a job, besides facts that follow from these."""
EXEMPT = "administrator"
"""Why a handler did not look, for the decision log."""


@cache
def administrators() -> frozenset[int]:
    """Return the user ids of root and SlurmUser."""
    return frozenset({0, slurm_conf.slurm_user()})


def sender_of(job: Job) -> int | None:
    """Return the user id of who asks; a cluster of a federation sends jobs of users as root."""
    return job.user_id if job._sender == 0 and job.origin in FROM_SIBLINGS else job._sender


def call(job: Job, handler: JobRule, arguments: dict[str, Any]) -> object:
    """Call a handler; return what it returns, or why it has not decided.

    An update that sets nothing that the handler reads, or by which its mode is chosen, is none of its business:
    whatever it does has no effect then.

    Raises:
        Reject: the handler refuses the request; or the handler reads what the update sets, and the build does not know
            what the job has besides.
    """
    sender = sender_of(job)
    if sender in administrators() and not handler.admins:
        return Exempted(EXEMPT)
    knows_jobs = "default_account" not in job._missing
    looking = Looking(job, None if knows_jobs else locked(handler))
    record = arguments.get("record")
    seen = None if record is None else SeenRecord(looking, record)
    own = {**arguments, "job": WholeJob(looking), "record": seen, "sender_uid": sender}
    given = [own[name] for name in handler.parameters]
    if not looking.modify:
        return handler.function(*given)
    return _of_update(looking, handler, given)


def _of_update(looking: Looking, handler: JobRule, given: list[Any]) -> object:
    """Call a handler for an update; undo what it does if the update is none of its business."""
    said: list[str] = []
    job, before = looking.job, looking.job.savepoint()
    show = log.divert(said.append)
    error: BaseException | None = None
    others: frozenset[str] = frozenset()
    try:
        result = handler.function(*given)
        if result is not None:
            error = dispatch.returned(result)
    except Reject as raised:
        error = raised
    except LacksRecord:
        pass  # noted, also if the handler has caught it
    except BaseException as raised:  # noqa: BLE001 - a bug, also SystemExit, counts only at updates that concern it
        others = named(handler)  # what else it would have read shows only in its code
        error = raised
    finally:
        log.divert(show)
    after = job.savepoint()
    job.rollback(before)  # what the handler writes does not count as set by the update
    if looking.lacked:
        others = named(handler)
        error = _refusal(looking)
    if not looking.touches(looking.reads | others | share_of(handler)):
        if error is not None and not issubclass(type(error), Reject | UnknownError):
            dispatch.report(handler, dispatch.tamed(error))
        return NOT_CONCERNED
    job.rollback(after)
    for text in said:
        log.user("%s", text)
    if error is not None:
        raise error
    return None


def named(handler: JobRule) -> frozenset[str]:
    """Return what of the job the code of a handler may read."""
    names, texts = named_in(handler.function)
    return (names | texts) & FIELDS


def share_of(handler: JobRule) -> frozenset[str]:
    """Return what of the job decides which mode of a handler applies."""
    rollout = handler.rollout
    conditions = {} if rollout is None else rollout.conditions
    return frozenset(name for name, key in (("partition", "partitions"), ("account", "accounts")) if key in conditions)


def locked(handler: JobRule) -> frozenset[str]:
    """Return the fields that users may not change after the submission, in a build that does not know jobs."""
    return frozenset().union(*map(depends, named(handler) | share_of(handler)))


def unserved(handlers: Iterable[Handler]) -> list[str]:
    """Return a finding for each handler of hook.job whose code names nothing that could be kept from users."""
    return [
        f"{handler.where}: handler {handler.label} needs the records of jobs at updates, because its code names no"
        f" field that users could be kept from changing instead: {NEEDS_SOURCES}"
        for handler in handlers
        if isinstance(handler, JobRule) and handler.spec.name == "job_modify" and not any(map(depends, named(handler)))
    ]


def shown(handler: JobRule) -> list[str]:
    """Return, for people, what counts for a handler and users may not change in a build that does not know jobs."""
    return sorted(name for name in named_in(handler.function)[0] & FIELDS | share_of(handler) if depends(name))


def _refusal(looking: Looking) -> Reject:
    """Return the refusal of an update of what a handler reads, in a build that does not know jobs."""
    assert looking.may_read is not None
    changed = sorted(name for name in looking.may_read - set(looking.job._missing) if looking.is_set(name))
    return Reject(f"only administrators may change {', '.join(changed)} of a job", code="ESLURM_ACCESS_DENIED")
