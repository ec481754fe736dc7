# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes handlers from the rules that the configuration switches on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.config import headings
from slurmhooks.config.plain import Checked
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.fields.rows import release_of
from slurmhooks.files import slurm_conf, trusted
from slurmhooks.handlers import loader
from slurmhooks.handlers.dispatch import NOT_CONCERNED, Exempted
from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HOOKS
from slurmhooks.hooks.rollout import ENFORCE, Rollout
from slurmhooks.rules.base import NotConcerned
from slurmhooks.rules.request import Request, Site
from slurmhooks.rules.typed import ROWS
from slurmhooks.slurmctld import NEEDS_SOURCES, PRIVATE_ARGUMENTS
from slurmhooks.wire.tables import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

    from slurmhooks.config.model import Config
    from slurmhooks.rules.base import Rule


def sources(read: Config, path: Path) -> list[loader.Source]:
    """Return the rules of a configuration as a list for the loader."""
    return [loader.Source(path=str(path), read=lambda _: handlers(read, path))]


def handlers(read: Config, path: Path) -> list[Handler]:
    """Return the handlers of the rules of a configuration, in its order.

    Raises:
        LoadError: a rule is invalid, or needs what this build lacks.
    """
    switched_on = _rules(read, path)
    lines = headings.lines(str(path), len(switched_on), "rule")
    site = Site({0, slurm_conf.slurm_user()}, read.rules.defaults.default_partition)
    made = []
    findings = []
    rollouts = read.rollouts()
    scopes: dict[Hashable, object] = {None: None}
    for rule, line in zip(switched_on, lines, strict=True):
        if rule.label in rollouts:
            rule.limit_to(rollouts[rule.label].conditions)
        for hook in rule.active_hooks():
            handler = _handler(rule, hook, site, str(path), line)
            handler.scope = scopes.setdefault(rule.selection(hook), object())  # is found sooner than what it stands for
            made.append(handler)
            findings += _lacking(handler, default=rule.needs_partitions and site.default_partition is None)
    findings += [
        finding for rule, line in zip(switched_on, lines, strict=True) for finding in _absent(rule, path, line)
    ]
    findings += [finding for rule in switched_on for program in rule.programs() for finding in _exposed(program)]
    waiting = [rule for rule in switched_on if rule.longest]
    if waiting and sum(rule.longest for rule in waiting) >= read.job_submit.timeout:
        findings.append(
            f"{path}: rule: deadline of {', '.join(rule.title for rule in waiting)}: together they may take as long"
            f" as a request, [job_submit] timeout = {read.job_submit.timeout:g}: shorten them, or raise that"
        )
    if findings:
        raise LoadError(findings)
    return made


def _rules(read: Config, path: Path) -> list[Rule]:
    """Return the rules of a configuration; raise LoadError if one is invalid."""
    if isinstance(read, Checked):
        return list(read.rule)
    from slurmhooks.rules import catalogue  # its import of pydantic takes longer than the rest

    try:
        return catalogue.of_config(path, read)
    except ConfigError as error:
        raise LoadError(error.findings) from None


def _absent(rule: Rule, path: Path, line: int) -> list[str]:
    """Return a finding for each field that a rule names and this release of Slurm does not have."""
    tables = installed()
    if tables is None or not rule.named_fields:
        return []
    release, members = release_of(tables.release), tables["job"].places
    return [
        f"{path}:{line}: {rule.label}: Slurm {tables.release} has no field {name} of job"
        for name in rule.named_fields
        if ROWS[name].members and ROWS[name].member(release, members) is None
    ]


def _exposed(program: str) -> list[str]:
    """Return findings if a program must not be run, because another user could have written it."""
    try:
        trusted.check(program)
    except LoadError as error:
        return error.findings
    return []


def _handler(rule: Rule, hook: str, site: Site, path: str, line: int) -> Handler:
    modify = hook == "job_modify"
    checks = not (modify and rule.updates == "refuse")
    tables = rule.tables(hook) if checks else ()
    record = ("record",) if modify and checks else ()
    return Handler(
        _function(rule, site, modify, bool(record), tables),
        ("job", "modify_uid" if modify else "submit_uid", *record, *tables),
        HOOKS[hook],
        label=rule.label,
        path=path,
        line=line,
        order=rule.order,
        rollout=None if rule.mode == ENFORCE else Rollout(mode=rule.mode),
        after_refusal=rule.after_refusal,
        informs=rule.informs,
        looks_ahead="job_submit" in rule.hooks,  # it checks each update that takes a job to where it counts
        of_site=False,
    )


def _function(
    rule: Rule, site: Site, modify: bool, with_record: bool, tables: tuple[str, ...]
) -> Callable[..., object]:
    apply_to = rule.applied()
    key = "request", with_record, tables

    def apply(job: Any, uid: int, *others: Any) -> object:
        known = job._state.lasting
        request = known.get(key)
        if request is None:
            record = others[0] if with_record else None
            given = dict(zip(tables, others[with_record:], strict=True))
            request = known[key] = Request(job, uid, site, modify=modify, record=record, tables=given)
        try:
            why = apply_to(request)
        except NotConcerned:
            return NOT_CONCERNED
        return None if why is None else Exempted(why)

    return apply


def _lacking(handler: Handler, *, default: bool) -> list[str]:
    """Return a finding if a handler needs from slurmctld what this build cannot provide, with the remedy.

    ``default``: the rule must know the default partition.
    """
    tables = installed()
    missing = set(PRIVATE_ARGUMENTS.intersection(handler.names))
    remedies = []
    if "record" in missing:
        remedies.append('updates = "refuse" or "ignore"')
    elif default and handler.spec.name == "job_submit":
        missing.add("the default partition")
        remedies.append('[rules.defaults] default_partition = "NAME"')
    if tables is None or "record" in tables or not missing:
        return []
    others = f"set {' and '.join(remedies)}, or build with the sources: " if remedies else ""
    return [f"{handler.where}: handler {handler.label} needs {', '.join(sorted(missing))}; {others}{NEEDS_SOURCES}"]
