# SPDX-License-Identifier: GPL-2.0-or-later
"""What rules about sizes ask: the bounds of a request, and whether it can exceed a ceiling."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TypeAlias

from slurmhooks.fields.constants import JobFlag
from slurmhooks.job_submit.bounds import Bounds, Range, computing
from slurmhooks.job_submit.bounds.asked import FIELDS
from slurmhooks.job_submit.bounds.model import ENDLESS
from slurmhooks.values import UNLIMITED, Unlimited

if TYPE_CHECKING:
    from slurmhooks.rules.request import Request

Amount: TypeAlias = Callable[[Bounds], int | Unlimited]
"""Returns from bounds what a ceiling limits."""

__all__ = ["FIELDS", "Amount", "asked", "bounds", "exceeds", "lacks", "limit_time", "named_limit", "time_limit"]


def bounds(request: Request, *, nodes: bool = False) -> Bounds:
    """Return the bounds of a request; with ``nodes``, none is larger than what slurmctld's nodes have.

    Raises:
        NotationError: a list in the request is invalid.
    """
    return computing.of_request(request.job, request.record, nodes=nodes)


def time_limit(request: Request, names: Collection[str]) -> Range:
    """Return the time limit in minutes that a job gets: its own, or what Slurm gives in those of its partitions.

    ``names`` are the partitions that count, if the job may run in any of them; otherwise all of its partitions do.
    """
    return computing.times(request.job, request.record, names)


def named_limit(request: Request, ceiling: int) -> int | Unlimited | None:
    """Return the time limit that a job names; None if it names none.

    At a submission, slurmctld makes the DefaultTime of the first partition the limit of a job that names none. Above
    the ceiling, the limit of a job that exists counts as not named if it is that, and the update does not set it.
    """
    limit: int | Unlimited | None = request.get("time_limit")
    if limit is None or limit <= ceiling or not request.modify or request.sets(("time_limit", "end_time")):
        return limit
    first = computing.partitions_of(request.job, request.record, nodes=False)[0].defaults.default_time
    return None if limit == (UNLIMITED if first == ENDLESS else first) else limit


def lacks(request: Request, amount: Callable[[Bounds], Range], floor: int) -> bool:
    """Tell whether a job could get less of something than a floor.

    slurmctld is asked for its nodes only if the request alone does not decide.
    """
    return amount(bounds(request)).least < floor and amount(bounds(request, nodes=True)).least < floor


def limit_time(request: Request, minutes: int) -> int | None:
    """Set the time limit of a job that names none, and return it.

    It is not above MaxTime of all partitions, where the job would never start. None: Slurm ends the job earlier, by its
    deadline, and would refuse a time limit that does not fit before, so none is set.
    """
    deadline = request.number("deadline")
    if deadline and deadline - time.time() <= 60 * minutes:
        return None
    partitions = computing.partitions_of(request.job, request.record, nodes=False)
    limit = min(minutes, max(partition.defaults.max_time or minutes for partition in partitions))
    request.job.time_limit = limit
    return limit


def exceeds(request: Request, amount: Amount, ceiling: int) -> bool:
    """Tell whether a job could get more of something than a ceiling.

    If a submission leaves the number of nodes to Slurm, and fewer nodes keep it below the ceiling, it gets the largest
    such number as its maximum. slurmctld is asked for its nodes only if the request alone does not decide.

    ``amount`` returns from bounds what is limited.
    """
    known = computing.of_request(request.job, request.record, nodes=False)  # of most jobs, all that is needed
    if amount(known) <= ceiling or amount(bounds(request, nodes=True)) <= ceiling:
        return False
    return request.modify or not _narrowed(request, amount, ceiling)


def _narrowed(request: Request, amount: Amount, ceiling: int) -> bool:
    """Set the maximum number of nodes with which a job stays below a ceiling; return whether there is one."""
    wanted = computing.asked_by(request.job, None)
    if wanted.max_nodes is not None or wanted.chosen_nodes > 1:
        return False
    partitions = computing.partitions_of(request.job, None, nodes=True)

    def fits(nodes: int) -> bool:
        return amount(computing.bounds(wanted._replace(max_nodes=nodes), partitions)) <= ceiling

    least = computing.bounds(wanted, partitions).nodes.least
    if not fits(least):
        return False
    low, high = least, least
    while fits(2 * high) and high < 1 << 20:
        low, high = 2 * high, 2 * high
    high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    request.job.max_nodes = low
    # Otherwise Slurm would try to get as many nodes as the maximum.
    request.job.bitflags = (request.job.bitflags or JobFlag(0)) | JobFlag.USE_MIN_NODES
    return True


def asked(request: Request, of: Callable[[Bounds], Range], option: str, show: Callable[[int], str] = str) -> str:
    """Return in words how much a job could get, and if it leaves that to Slurm, which option decides it.

    ``of`` returns the amount from bounds, ``show`` a number in words.
    """
    known = bounds(request, nodes=True)
    amount = of(known)
    # A partition may give whole nodes to all jobs.
    exclusive = not request.modify and computing.asked_by(request.job, request.record).exclusive
    if isinstance(amount.most, Unlimited):
        if known.whole_nodes:
            return "whole nodes (--exclusive)" if exclusive else "whole nodes"
        return f"an unlimited amount: use {option}"
    if amount.least == amount.most:
        return show(amount.most)
    return f"up to {show(amount.most)}: use {option}{' without --exclusive' if exclusive else ''}"
