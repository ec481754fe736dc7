# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules in force as a document for tools of users, which a site can publish where everybody can read it.

It says what a user needs to write a request that is accepted. It leaves out how a rule decides where that is not the
users' business (``Rule.private``), the names of people and projects, and rules that users do not notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from slurmhooks.hooks.rollout import ENFORCE, WARN, Rollout
from slurmhooks.rules.base import Rule
from slurmhooks.rules.checking import model_of
from slurmhooks.rules.options import OPTIONS
from slurmhooks.rules.table import Table
from slurmhooks.rules.value_types import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.config.model import Config

PUBLIC = ("partitions", "qos")
"""Keys that select jobs by names that every user of the cluster can see."""
NAMED = ("accounts", "groups", "users")
"""Keys that select jobs by names of projects and people."""


class Limit(BaseModel):
    """One value of a rule.

    Attributes:
        key: as in slurmhooks.toml.
        value: a number, a truth value, a text, a time in ISO 8601, or a list or table of these.
        unit: of the value: minutes or MiB; null: it has none.
        meaning: describes it.
    """

    key: str
    value: Any
    unit: Literal["minutes", "MiB"] | None
    meaning: str


class Option(BaseModel):
    """How users set what a rule is about.

    Attributes:
        sbatch: the option of sbatch, srun and salloc.
        scontrol: the key of scontrol update.
    """

    sbatch: str
    scontrol: str


class Selection(BaseModel):
    """Names that select jobs, or exempt them. A job must match each list that is not empty, or be exempt by one.

    Attributes:
        partitions: shell patterns.
        qos: shell patterns.
        accounts: shell patterns; empty unless names are published.
        groups: Unix groups; empty unless names are published.
        users: empty unless names are published.
        others: which of accounts, groups and users select jobs by names that are left out.
    """

    partitions: list[str]
    qos: list[str]
    accounts: list[str]
    groups: list[str]
    users: list[str]
    others: list[Literal["accounts", "groups", "users"]]


class GuideRule(BaseModel):
    """A rule in force.

    Attributes:
        id: stands in parentheses at the end of the first line of each refusal.
        rule: the kind of the rule, as in 'slurmhooks rules explain'.
        does: what it does, in a sentence or two, as Markdown.
        limits: its values.
        option: what users need for it; null: the rule is about several options, or none.
        code: Slurm's error code of its refusals; null: ESLURM_ACCESS_DENIED.
        mode: enforce; warn: users only read warnings; partly: for a part of the requests it is enforced, or warns.
        only: the jobs that it is for.
        exempt: the jobs that it is not for.
        updates: whether it also looks at scontrol update.
        url: a page about it; null: there is none.
    """

    id: str
    rule: str
    does: str
    limits: list[Limit]
    option: Option | None
    code: str | None
    mode: Literal["enforce", "warn", "partly"]
    only: Selection
    exempt: Selection
    updates: bool
    url: str | None


class Guide(BaseModel):
    """The rules of a cluster, for users and their tools.

    Attributes:
        format: 1; a later format has another number, and new keys alone do not change it.
        url: a page for users; null: there is none.
        all_refusals: whether users read all refusals of a request at once, or only the first one.
        rules: in the order in which they run.
    """

    format: Literal[1]
    url: str | None
    all_refusals: bool
    rules: list[GuideRule]


def guide(rules: Iterable[Rule], read: Config, *, names: bool = False) -> Guide:
    """Return the document.

    The modes and shares of the configuration replace those of rules. ``names``: also publish the accounts, groups and
    users that rules are for.
    """
    rollouts = read.rollouts()
    noticed = [
        _rule(rule, mode, names)
        for rule in sorted(rules, key=lambda rule: rule.order)
        if (mode := _mode(rollouts.get(rule.label) or Rollout(mode=rule.mode))) is not None
    ]
    return Guide(format=1, url=read.rules.defaults.help_url, all_refusals=read.rules.refusals == "all", rules=noticed)


def _mode(rollout: Rollout) -> Literal["enforce", "warn", "partly"] | None:
    """Return the mode that users notice; None: they notice nothing."""
    if not (rollout.may_be(ENFORCE) or rollout.may_be(WARN)):
        return None
    if rollout.conditions:
        return "partly"
    return "enforce" if rollout.mode == ENFORCE else "warn"


def _rule(rule: Rule, mode: Literal["enforce", "warn", "partly"], names: bool) -> GuideRule:
    option = OPTIONS.get(rule.own_option())
    hidden = any(getattr(rule, key) for key in rule.hidden()) or any(map(_has_names, _cases(rule)))
    does = rule.documentation().partition("\n")[0] if hidden else rule.effect()
    return GuideRule(
        id=rule.label,
        rule=rule.kind,
        does=" ".join(filter(None, (does, rule.conditions(names=names)))),
        limits=_limits(rule),
        option=None if option is None else Option(sbatch=option[0], scontrol=option[1]),
        code=rule.own_code(),
        mode=mode,
        only=_selection(rule, "", names),
        exempt=_selection(rule, "except_", names),
        updates="job_modify" in rule.active_hooks(),
        url=rule.help_url,
    )


def _cases(rule: Rule) -> list[Table]:
    return [case for key in rule.inner for case in getattr(rule, key)]


def _has_names(case: Table) -> bool:
    return any(getattr(case, key, ()) for key in NAMED)


def _limits(rule: Rule) -> list[Limit]:
    values = to_jsonable_python(_values(rule), fallback=_values)
    limits = []
    for key, field in model_of(type(rule)).model_fields.items():
        if key in Rule.keys or key == "rule" or key in rule.hidden() or values.get(key) in (None, [], {}):
            continue
        value = values[key]
        if key in rule.inner:
            value = [{name: item for name, item in case.items() if name not in NAMED and item != []} for case in value]
        limits.append(Limit(key=key, value=value, unit=unit_of(field), meaning=field.description or ""))
    return limits


def _values(table: Table) -> dict[str, Any]:
    return {name: value for name in table.keys if (value := getattr(table, name)) is not None}


def _selection(rule: Rule, prefix: str, names: bool) -> Selection:
    given = {key: list(getattr(rule, prefix + key)) for key in (*PUBLIC, *NAMED)}
    shown = {key: values if names or key in PUBLIC else [] for key, values in given.items()}
    others: Any = [key for key in NAMED if given[key] and not names]
    return Selection(**shown, others=others)
