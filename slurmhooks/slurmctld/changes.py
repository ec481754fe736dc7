# SPDX-License-Identifier: GPL-2.0-or-later
"""What a handler changed in a request: raw values by member, variables and arguments, without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.errors import SlurmhooksError
from slurmhooks.fields.secrets import SECRETS
from slurmhooks.slurmctld.logged_fields import LONGEST_TEXT, MAX_ITEMS, NOT_SENT, plain
from slurmhooks.values import text_from_c, text_to_c

if TYPE_CHECKING:
    from slurmhooks.slurmctld.asking import Struct
    from slurmhooks.slurmctld.logged_fields import LoggedFields

SECRET = {field: name for name, fields in SECRETS.items() for field in fields}
"""Fields that may contain secrets such as passwords, each with the name that a site lists to have its values logged."""
NOTHING: tuple[dict[str, Any], None, dict[str, Any]] = ({}, None, {})
"""The savepoint of a request that no handler has changed."""


def secrets(included: tuple[str, ...]) -> frozenset[str]:
    """Return the fields whose values are not logged, if a site lists these values of SECRET."""
    return frozenset(field for field, name in SECRET.items() if name not in included)


def add_changes(step: dict[str, Any], struct: Struct, before: Any, after: Any, shown: LoggedFields) -> list[Any] | None:
    """Return the members that a handler has changed, each with its old and its new value; None if there are none.

    Other changes are added to the report: ``changes`` has the old and the new values of variables, such as
    ``environment.HOME``, and of the arguments; ``hidden`` has the names of the secret fields that have changed, which
    are not read.

    ``step`` is the part of the report about the handler that is a dictionary. ``before`` is a savepoint from before it;
    None: the request as it was received.
    """
    if before is None:
        before = NOTHING
    if before == after:
        return None
    (old, old_words, old_mappings), (new, words, mappings) = before, after
    raw: list[Any] = []
    names, secret_names = shown.names, shown.hidden
    hidden: list[str] = []
    for member, value in new.items():
        if member in secret_names:
            if member not in old or old[member] != value:
                hidden += secret_names[member]
            continue
        try:
            was = old[member] if member in old else struct.raw(member)
        except SlurmhooksError:  # too long to be sent with the request, and slurmctld no longer answers
            was = False
        if was != value and member in names:
            if type(was) is bytes and len(was) > LONGEST_TEXT:
                was = shown.cut(member, was)
            if type(value) is bytes and len(value) > LONGEST_TEXT:
                value = shown.cut(member, value)
            raw += member, was, value
    if old_words != words or old_mappings != mappings:
        _add_texts(step, struct, (old_words, old_mappings), (words, mappings), shown.secret, hidden)
    if hidden:
        step["hidden"] = [plain(name) for name in hidden[:MAX_ITEMS]]
    return raw or None


def _add_texts(
    step: dict[str, Any], struct: Struct, before: Any, after: Any, secret: frozenset[str], hidden: list[str]
) -> None:
    (old_words, old_mappings), (words, mappings) = before, after
    changes: dict[str, Any] = {}
    if old_words != words and "argv" in secret:
        hidden.append("argv")
    elif old_words != words:
        changes["argv"] = [_words(struct, old_words), _words(struct, words)]
    for name in {**old_mappings, **mappings}:
        staged, new_staged = old_mappings.get(name, {}), mappings.get(name, {})
        changed = [
            variable
            for variable in {**staged, **new_staged}
            if staged.get(variable, ...) != new_staged.get(variable, ...)
        ]
        if name in secret:
            hidden += [f"{name}.{variable}" for variable in changed]
            continue
        for variable in changed:
            changes[f"{name}.{variable}"] = [_variable(struct, name, each, variable) for each in (staged, new_staged)]
    changes = {name: [plain(was), plain(now)] for name, (was, now) in list(changes.items())[:MAX_ITEMS] if was != now}
    if changes:
        step["changes"] = {plain(name): values for name, values in changes.items()}


def _words(struct: Struct, staged: list[bytes] | None) -> list[str] | str:
    """Return the arguments; NOT_SENT if slurmctld did not send them."""
    try:
        return [text_from_c(word) for word in (struct.array("argv") if staged is None else staged)]
    except SlurmhooksError:
        return NOT_SENT


def _variable(struct: Struct, member: str, staged: dict[str, str | None], name: str) -> str | None:
    """Return a variable of an environment; NOT_SENT if slurmctld did not send it."""
    if name in staged:
        return staged[name]
    try:
        raw = struct.find(member, text_to_c("environment", name) + b"=")
    except SlurmhooksError:
        return NOT_SENT
    return None if raw is None else text_from_c(raw)
