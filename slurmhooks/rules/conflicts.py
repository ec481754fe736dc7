# SPDX-License-Identifier: GPL-2.0-or-later
"""What `check` finds about rules as a set: conditions that nothing meets, values that never count."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING

from slurmhooks.fields.flag_rows import Flag
from slurmhooks.rules.base import Rule
from slurmhooks.rules.conditions import LISTS, SIZES, Condition, end_of
from slurmhooks.rules.ready.writes import Copy, Default, Set
from slurmhooks.rules.typed import ROWS, moment, same_member

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PLACES = ("partitions", "qos", "accounts", "users", "groups")
MAGIC = re.compile(r"[*?\[]")
PLAIN = ("interactive", "since", "until", "days", "hours")
ONE_OF = ("accounts", "users")
"""Lists of which a job has one name, so that two without a common name have no common job."""


def notes(path: Path, rules: Sequence[Rule]) -> Iterator[str]:
    """Yield a note for each condition that nothing meets, and each value that never counts."""
    for rule in rules:
        for why in (*_impossible(rule), *_unreached(rule)):
            yield f"{path}: {rule.label}: {why}"
    running = sorted((rule for rule in rules if rule.mode != "off"), key=lambda rule: rule.order)
    for first, second in combinations(running, 2):
        fault = _both(first, second)
        if fault:
            yield f"{path}: {first.label} and {second.label}: {fault}"


def _impossible(rule: Rule) -> Iterator[str]:
    """Yield why a rule is for no job, or a part of it."""
    own = contradiction(rule)
    if own:
        yield f"no job meets its conditions: {own}"
    for key in PLACES:
        names = getattr(rule, key)
        if names and set(names) <= set(getattr(rule, f"except_{key}")):
            yield f"no job meets its conditions: except_{key} has all of {key}"
    for key in ("any", "unless", "cases"):
        for number, each in enumerate(getattr(rule, key, ()), 1):
            why = contradiction(each) or contradiction(rule, each)
            if why:
                yield f"{key}, number {number}: no job meets it: {why}"
            elif key == "unless" and covers(each, rule) and not (each.has_sizes or each.partitions or each.qos):
                yield f"no job meets its conditions: all of them meet unless, number {number}"


def _unreached(rule: Rule) -> Iterator[str]:
    """Yield which cases of a rule never count, because an earlier one fits all of their jobs."""
    cases = getattr(rule, "cases", ())
    for number, case in enumerate(cases):
        before = next((place for place, other in enumerate(cases[:number], 1) if covers(other, case)), None)
        if before is not None:
            yield f"cases, number {number + 1}: is never reached: number {before} fits all of its jobs"


def _both(first: Rule, second: Rule) -> str | None:
    """Return why two rules, of which the first one runs first, do not both have an effect on a job."""
    if not isinstance(first, Default | Set | Copy) or not isinstance(second, Default | Set | Copy):
        return None
    field = second.field
    if first.field not in (field, *same_member(field)) or contradiction(first, second):
        return None
    if set(first.active_hooks()).isdisjoint(second.active_hooks()):
        return None
    if isinstance(second, Set) and second.separator is not None:
        return None
    if isinstance(second, Default):
        always = not isinstance(first, Copy) and first.value is not None
        if always and covers(first, second) and not _excepts(first):
            return f"the second one never sets {field}: the first one has set it for all of its jobs"
        return None
    if isinstance(first, Default):
        return None
    return f"both set {field} for one job, and the second one counts: give them conditions that exclude each other"


def _excepts(rule: Rule) -> bool:
    return bool(rule.unless) or any(getattr(rule, f"except_{key}") for key in PLACES)


def contradiction(*conditions: Condition) -> str | None:
    """Return why no job meets all of some conditions; None: one may."""
    for name in SIZES:
        ranges = [each.range_of(name) for each in conditions]
        least = max((low for low, _ in ranges if low is not None), default=None)
        most = min((high for _, high in ranges if high is not None), default=None)
        if least is not None and most is not None and least > most:
            return f"min_{name} is more than max_{name}"
    if {True, False} <= {each.interactive for each in conditions}:
        return "interactive is true and false"
    since = max((moment(each.since) for each in conditions if each.since is not None), default=None)
    until = min((end_of(each.until) for each in conditions if each.until is not None), default=None)
    if since is not None and until is not None and since >= until:
        return "since is not before until"
    days = [set(each.days) for each in conditions if each.days]
    if days and not set.intersection(*days):
        return "days have no day in common"
    for key in ONE_OF:
        lists = [names for each in conditions if (names := getattr(each, key, ()))]
        plain = not any(MAGIC.search(name) for names in lists for name in names)
        if plain and len(lists) > 1 and not set.intersection(*({name.lower() for name in names} for names in lists)):
            return f"{key} have no name in common"
    for name in {name for each in conditions for name in each.where}:
        given = [each.where[name] for each in conditions if name in each.where]
        if not all(given):
            exclude = any(given)  # unset, and set
        else:
            texts = isinstance(ROWS[name], Flag) or any(isinstance(value, str) for values in given for value in values)
            exclude = not texts and not set.intersection(*map(set, given))
        if exclude:
            return f"values of {name} have none in common"
    return None


def covers(wide: Condition, narrow: Condition) -> bool:
    """Tell whether each job that meets a condition surely meets another one."""
    for name in SIZES:
        least, most = wide.range_of(name)
        low, high = narrow.range_of(name)
        if (least is not None and (low is None or low < least)) or (most is not None and (high is None or high > most)):
            return False
    for key in LISTS:
        names, others = getattr(wide, key, ()), getattr(narrow, key, ())
        if names and not (others and all(_has(names, other) for other in others)):
            return False
    if any(getattr(wide, key) not in (None, (), getattr(narrow, key)) for key in PLAIN):
        return False
    if isinstance(wide, Rule) and wide.any:
        return False
    return all(narrow.where.get(name) == values for name, values in wide.where.items())


def _has(names: Sequence[str], other: str) -> bool:
    return other in names or (not MAGIC.search(other) and any(fnmatchcase(other, name) for name in names))
