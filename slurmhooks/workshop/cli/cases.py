# SPDX-License-Identifier: GPL-2.0-or-later
"""Tries the cases that a site has written for its rules.

Only the rules are loaded: `deploy` tries cases as root, and hook files may do anything.
"""

import pwd
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli.findings import Findings
from slurmhooks.errors import LoadError
from slurmhooks.handlers.registry import Registry
from slurmhooks.job_submit.judging import administrators
from slurmhooks.rules import expected, source
from slurmhooks.rules.expected import Expected
from slurmhooks.rules.typed import moment, typed
from slurmhooks.site import loading
from slurmhooks.site import sources as site
from slurmhooks.testing import Result
from slurmhooks.workshop.cli.commands.try_.job_submit import TriedRequest
from slurmhooks.workshop.cli.commands.try_.site_handlers import as_read
from slurmhooks.workshop.cli.commands.try_.submission import Source, restrict
from slurmhooks.workshop.replay import clock
from slurmhooks.workshop.testing.job_submit import RELEASE

EMPTY = "#!/bin/sh\n"
"""The script of a case that gives none."""
USER = 60000
"""The user id of the users of cases, except root and SlurmUser: rules are usually not for these."""


def failures(toml: Path) -> list[str]:
    """Return a finding for each case that does not end as expected.

    Raises:
        Findings: the rules do not load.
    """
    path, read = site.located_config(toml)
    try:
        named = loading.Configured(path, read, source.sources(read, path), ())
        named.require = ()  # may name handlers of hook files
        registry = named.load()
    except LoadError as error:
        raise Findings(error.findings) from None
    named.give_modes(registry)
    cases, _ = expected.of_config(path, read.rules.cases)
    findings = []
    with clock.installed():
        for number, case in enumerate(cases, 1):
            clock.show(None if case.at is None else moment(case.at))
            faults = list(_faults(case, registry, path.parent))
            findings += [f"{path}: rules.cases, number {number} ({case.shown}): {fault}" for fault in faults[:1]]
    return findings


def _faults(case: Expected, registry: Registry, folder: Path) -> Iterator[str]:
    """Yield how the outcome of a case differs from what is expected."""
    notes: list[str] = []
    groups = {name: USER + 1 + number for number, name in enumerate(case.groups)}
    update = case.record is not None
    user = _user_id(case.user)
    identity = {"user_name": case.user, "groups": groups} | ({} if update else {"user_id": user, "group_id": user})
    fields: dict[str, Any] = {}
    try:
        if not update:
            submitted = Source(None, case.script or EMPTY, shlex.split(case.options), [], [], program=case.command)
            if submitted.components != 1:
                raise click.UsageError("the job has several components: write a case for each")
            fields = submitted.fields(RELEASE, notes)
            restrict(fields, notes)
        given = {**identity, **fields, **case.fields}
        request = TriedRequest(
            fields=given,
            release=RELEASE,
            uid=user,
            record=None if case.record is None else {"user_id": user, "batch_flag": 1, **case.record},
            sysconfdir=folder,
        )
        result, changes = request.run(registry)
    except click.UsageError as error:
        notes.append(error.message)
    if notes:
        yield f"cannot be tried: {notes[0]}"
        return
    if request.unknown:
        yield f"asks for what slurmctld would choose: name {', '.join(request.unknown)} in fields"
    yield from _differences(case, result, {**given, **{name: after for name, (_, after) in changes.items()}})


def _user_id(name: str) -> int:
    try:
        user_id = pwd.getpwnam(name).pw_uid
    except KeyError:
        return USER
    return user_id if user_id in administrators() else USER


def _differences(case: Expected, result: Result, fields: dict[str, Any]) -> Iterator[str]:
    said = "\n".join([as_read(result) or "", *result.user_messages])
    if result.accepted != (case.outcome == "accepted"):
        outcome = "accepted" if result.accepted else "refused"
        yield f"is {outcome}, not {case.outcome}" + (f": {said.strip()}" if said.strip() else "")
    elif case.rule is not None and result.label not in (case.rule, f"rule:{case.rule}"):
        yield f"is refused by {result.label}, not by {case.rule}"
    elif case.text is not None and case.text not in said:
        yield f"the user does not read {case.text!r}, but {said!r}"
    for name, value in case.changes.items():
        wanted = typed(name, value)
        if fields.get(name) != wanted:
            yield f"{name} is {fields.get(name)!r} afterwards, not {wanted!r}"
