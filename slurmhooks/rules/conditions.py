# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions on a job: one vocabulary for the jobs that a rule is for, and for values that depend on the job."""

from __future__ import annotations

import time
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from slurmhooks.errors import Reject
from slurmhooks.job_submit.bounds import Bounds, Range, computing
from slurmhooks.job_submit.bounds.model import YEAR
from slurmhooks.job_submit.unchanged import Unchanged
from slurmhooks.job_submit.users import is_group, split_names
from slurmhooks.rules import resources
from slurmhooks.rules.kinds import (
    listed,
    matches,
    matches_any_case,
    may_be,
    must_be,
    shown_memory,
    shown_time,
)
from slurmhooks.rules.table import Table, key
from slurmhooks.rules.typed import Pattern, has_value, is_named, moment, set_by
from slurmhooks.values import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from slurmhooks.rules.request import Request
    from slurmhooks.rules.value_types import Count, Day, Given, Mebibytes, Minutes, Moment, Readable, TimeOfDay, Words

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SIZES = ("gpus", "nodes", "cpus", "memory", "time")
"""What conditions with min_ and max_ are about."""
UNKNOWN_GROUPS = "the name service does not know all groups; try again later"
LISTS = ("gpu_types", "features", "reservations", "partitions", "qos", "accounts", "users", "groups")
"""Conditions with names, of which one is enough."""


class Condition(Table):
    """What a job must be like; a job meets it if it meets all of its keys."""

    min_gpus: Count | None = key(None, "it asks for at least this many GPUs")
    max_gpus: Count | None = key(None, "it asks for at most this many GPUs")
    gpu_types: Words = key((), "it asks for GPUs of one of these types; shell patterns")
    min_nodes: Count | None = key(None, "it asks for at least this many nodes")
    max_nodes: Count | None = key(None, "it asks for at most this many nodes")
    min_cpus: Count | None = key(None, "it asks for at least this many CPUs in total")
    max_cpus: Count | None = key(None, "it asks for at most this many CPUs in total")
    min_memory: Mebibytes | None = key(None, "it asks for at least this much memory per node")
    max_memory: Mebibytes | None = key(None, "it asks for at most this much memory per node")
    min_time: Minutes | None = key(None, "it has a time limit of at least this")
    max_time: Minutes | None = key(None, "it has a time limit of at most this")
    interactive: bool | None = key(None, "it comes from srun or salloc, or it does not")
    features: Words = key((), "it names one of these features (--constraint); shell patterns")
    reservations: Words = key((), "it is in one of these reservations; shell patterns")
    where: dict[Readable, Given] = key(
        {}, "values of fields of job, one or a list; texts are shell patterns; [] means unset"
    )
    since: Moment | None = key(None, "from this day or time on, such as 2027-01-31")
    until: Moment | None = key(None, "until this day, included, or until this time")
    days: tuple[Day, ...] = key((), "on these days of the week", strict=False)
    hours: TimeOfDay | None = key(None, 'at this time of day, such as "22:00-06:00"')

    def settle(self) -> None:
        """Compare its fields with values that they can have."""
        for name, values in self.where.items():
            Pattern(name, values)

    @property
    def listing(self) -> tuple[str, ...]:
        """Its keys with names, of which one is enough."""
        return LISTS[:3]

    @property
    def has_sizes(self) -> bool:
        """Whether it is about what Slurm works out of several options."""
        return bool(self.gpu_types) or any(self.range_of(name) != (None, None) for name in SIZES)

    def range_of(self, name: str) -> tuple[int | None, int | None]:
        """Return its bounds on one of SIZES."""
        return getattr(self, f"min_{name}"), getattr(self, f"max_{name}")

    @property
    def is_timed(self) -> bool:
        """Whether it depends on the time of the request."""
        return bool(self.since or self.until or self.days or self.hours)

    @property
    def given(self) -> dict[str, Any]:
        """Its keys that are set."""
        return {key: value for key in Condition.keys if (value := getattr(self, key)) not in (None, (), {})}

    @property
    def conditions_fields(self) -> tuple[str, ...]:
        """The fields of a job on which it depends."""
        names = [other for name in self.where for other in set_by(name)]
        names += ["features", "prefer"] if self.features else []
        names += ["reservation"] if self.reservations else []
        names += ["time_limit", "time_min", "deadline", *resources.FIELDS] if self.has_sizes else []
        return tuple(dict.fromkeys(names))

    def is_now(self) -> bool:
        """Tell whether it is met at this time, in the time zone of this process."""
        if not self.is_timed:
            return True
        now = time.time()
        local = time.localtime(now)
        if (self.since is not None and now < moment(self.since)) or (
            self.until is not None and now >= end_of(self.until)
        ):
            return False
        if self.days and DAYS[local.tm_wday] not in self.days:
            return False
        if self.hours is None:
            return True
        first, last = self.hours.split("-")
        at = f"{local.tm_hour:02}:{local.tm_min:02}"
        return first <= at < last if first < last else at >= first or at < last

    def meets(
        self, request: Request, *, sure: bool, there: Sequence[str] | None = None, any_nodes: bool = False
    ) -> bool:
        """Tell whether a job meets all keys. Without memory, it meets no condition on that.

        Args:
            request: the request.
            sure: it must meet them whatever Slurm chooses; otherwise it is enough if it may meet them.
            there: the partitions in which it would run; None: those of the request.
            any_nodes: it must also meet them with the largest number of nodes; otherwise the smallest one counts if
                `sure`, because Slurm may always give a job that leaves nodes to it several.
        """
        return (
            self.is_now()
            and (self.interactive is None or (all if sure else any)(map(self.interactive.__eq__, request.interactive)))
            and (not self.features or _has_features(request, self.features, sure))
            and (not self.reservations or _has(request, "reservation", self.reservations, sure))
            and all(_has(request, name, values, sure) for name, values in self.where.items())
            and (not self.has_sizes or self._has_size(request, sure, there, any_nodes))
        )

    def _has_size(self, request: Request, sure: bool, there: Sequence[str] | None, any_nodes: bool) -> bool:
        """Tell whether a job meets the conditions on sizes; slurmctld is asked for its nodes only if they matter."""
        fits = (
            self._fits_in(request, _bounds_of(request, there, nodes=nodes), sure, any_nodes) for nodes in (False, True)
        )
        return any(fits) if sure else all(fits)

    def _fits_in(self, request: Request, bounds: Bounds, sure: bool, any_nodes: bool) -> bool:
        kinds = bounds.gpu_types.items()
        named = [kind for kind, gpus in kinds if gpus.least or (not sure and gpus.most and not bounds.whole_nodes)]
        nodes = Range(bounds.nodes.least, bounds.nodes.least) if sure and not any_nodes else bounds.nodes
        amounts = (bounds.gpus, nodes, bounds.cpus, _memory(request, bounds), _time(request, bounds, sure))
        return (
            not self.gpu_types or any(matches(kind, self.gpu_types) or (kind is None and not sure) for kind in named)
        ) and all(_within(value, *self.range_of(name), sure) for name, value in zip(SIZES, amounts, strict=True))

    def described(self, *, names: bool = True) -> str:
        """Return it in words, with ``names`` those of people, projects and values of fields; empty if it has no key."""
        parts = [
            *_bounds("GPUs", *self.range_of("gpus")),
            *_bounds("nodes", *self.range_of("nodes")),
            *_bounds("CPUs", *self.range_of("cpus")),
            *_bounds("memory per node", *self.range_of("memory"), show=shown_memory),
            *_bounds("time", *self.range_of("time"), show=shown_time),
        ]
        for kind, what in WORDS.items():
            values = getattr(self, kind) if kind in self.listing else ()
            if values:
                hidden = not names and kind in ("accounts", "users", "groups")
                parts.append(what.format(f"certain {kind}" if hidden else listed([f"{value}" for value in values])))
        for name, given in self.where.items():
            values = Pattern(name, given).words()
            said = f"{name} {listed(values)}" if names else f"a certain {name}"
            parts.append(said if values else f"no {name}")
        if self.interactive is not None:
            parts.append("an interactive job" if self.interactive else "a batch job")
        parts += [f"from {self.since} on"] if self.since is not None else []
        parts += [f"until {self.until}"] if self.until is not None else []
        parts += [f"on {listed(self.days, 'and')}"] if self.days else []
        parts += [f"at {self.hours}"] if self.hours is not None else []
        return ", ".join(parts)


WORDS = {
    "gpu_types": "GPU type {}",
    "partitions": "partition {}",
    "qos": "QOS {}",
    "accounts": "account {}",
    "users": "user {}",
    "groups": "a user in group {}",
    "features": "feature {}",
    "reservations": "reservation {}",
}
"""Conditions with names, in words."""


class Place(Condition):
    """A condition that can also say where the job runs, and whose it is."""

    partitions: Words = key((), "it may run in one of these; shell patterns")
    qos: Words = key((), "it may have one of these QOS; shell patterns")
    accounts: Words = key((), "it is charged to one of these; shell patterns")
    users: Words = key((), "it is of one of these users")
    groups: Words = key((), "its user is in one of these Unix groups")

    @property
    def listing(self) -> tuple[str, ...]:
        """Its keys with names, of which one is enough."""
        return LISTS

    @property
    def conditions_fields(self) -> tuple[str, ...]:
        """The fields of a job on which it depends."""
        names = ["partition", "reservation"] if self.partitions else []
        names += ["qos"] if self.qos else []
        names += ["account"] if self.accounts else []
        return tuple(dict.fromkeys((*names, *super().conditions_fields)))

    def is_there(self, request: Request, *, sure: bool) -> bool:
        """Tell whether a job is, or may be, at such a place."""
        test = must_be_if_any if sure else may_be
        return (
            test(lambda: request.partitions, self.partitions, matches)
            and test(lambda: split_names(request.qos), self.qos, matches_any_case)
            and test(lambda: (request.account,), self.accounts, matches_any_case)
            and (not self.users or (request.user if sure else request.known_user()) in self.users)
            and (not self.groups or in_groups(request.groups, self.groups, sure=sure))
        )


def in_groups(own: frozenset[str], groups: tuple[str, ...], *, sure: bool = False) -> bool:
    """Tell whether a user is in one of some groups.

    A group of the user without a name has its number as name. ``sure``: a user who may be in one of them, because a
    name is missing, counts as one who is not.

    Raises:
        Reject: the name service knows neither all groups of the user nor these.
    """
    if not own.isdisjoint(groups):
        return True
    return not sure and first_group(own, groups) is not None


def first_group(own: frozenset[str], groups: Iterable[str]) -> str | None:
    """Return the first of some groups in which a user is; None if the user is in none.

    A group of the user without a name has its number as name.

    Raises:
        Reject: before that is one that the name service does not know, as it does not know all groups of the user.
    """
    lacks = any(name.isdecimal() for name in own)
    for name in groups:
        if name in own:
            return name
        if lacks and not is_group(name):
            raise Reject(UNKNOWN_GROUPS)
    return None


def must_be_if_any(
    ask: Callable[[], Sequence[str | None]],
    patterns: tuple[str, ...],
    match: Callable[[str | None, tuple[str, ...]], bool],
) -> bool:
    """Tell whether a job can end up with none but some names, if there are any."""
    return not patterns or must_be(ask, patterns, match)


def end_of(value: date) -> float:
    """Return the end of a day, or a moment, in seconds since 1970."""
    if isinstance(value, datetime):
        return value.timestamp()
    return time.mktime((value.year, value.month, value.day + 1, 0, 0, 0, 0, 0, -1))


def compared(request: Request, name: str) -> Any:
    """Return the value of a field of a job: licenses with those that --tres-per-task names."""
    if name == "licenses" and "license" in (request.get("tres_per_task") or ""):
        counts = _bounds_of(request, None, nodes=False).licenses.items()
        return ",".join(f"{each}:{count.most}" for each, count in counts)
    return request.value(name)


def _has(request: Request, name: str, values: tuple[Any, ...], sure: bool) -> bool:
    value = compared(request, name)
    if not values:
        return not is_named(name, value)
    return has_value(name, value) and Pattern(name, values).meets(value, sure=sure)


def _has_features(request: Request, patterns: tuple[str, ...], sure: bool) -> bool:
    """Tell whether a job names a feature; Slurm tries those of --prefer first, without those of --constraint."""
    prefers = sure and has_value("prefer", request.value("prefer"))
    return _has(request, "features", patterns, sure) and (not prefers or _has(request, "prefer", patterns, sure))


def _bounds_of(request: Request, there: Sequence[str] | None, *, nodes: bool) -> Bounds:
    if there is not None:
        return computing.bounds_there(request.job, there, nodes=nodes)
    if request.is_present:
        job: Any = Unchanged(request.job)
        return computing.of_request(job, request.record, nodes=nodes)
    return resources.bounds(request, nodes=nodes)


def _within(value: Range | None, least: int | None, most: int | None, sure: bool) -> bool:
    """Tell whether a job gets, or may get, at least and at most an amount; None: it is not known."""
    if value is None:
        return least is None and most is None
    low, high = (value.least, value.most) if sure else (value.most, value.least)
    return (least is None or low >= least) and (most is None or high <= most)


def _memory(request: Request, bounds: Bounds) -> Range | None:
    """Return the memory per node that a job names; --mem=0 is more than any amount."""
    if 0 in (request.get("min_mem_per_node"), request.get("min_mem_per_cpu")):
        return Range(1 << 60, UNLIMITED)
    return bounds.memory_per_node if bounds.names_memory else None


def _time(request: Request, bounds: Bounds, sure: bool) -> Range | None:
    """Return the time limit of a job, which may be that of its partition; None if it must be known, and is not."""
    known = request.get("time_limit") is not None or bounds.time.most is not UNLIMITED or bounds.time.least >= YEAR
    return bounds.time if known or not sure else None


def _bounds(what: str, least: int | None, most: int | None, *, show: Callable[[int], str] = str) -> list[str]:
    if least is not None and most is not None:
        return [f"{show(least)} to {show(most)} {what}"]
    return [
        f"{words} {show(value)} {what}"
        for words, value in (("at least", least), ("at most", most))
        if value is not None
    ]
