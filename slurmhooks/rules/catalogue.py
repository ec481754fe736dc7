# SPDX-License-Identifier: GPL-2.0-or-later
"""All rules, and how the configuration names them."""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationError, create_model

from slurmhooks.config import model as config
from slurmhooks.config.sections import Rules
from slurmhooks.errors import ConfigError
from slurmhooks.handlers.similar import nearest
from slurmhooks.rules import checking, expected, maps
from slurmhooks.rules.base import Rule
from slurmhooks.rules.exemptions import Exemption
from slurmhooks.rules.kinds import listed
from slurmhooks.rules.lines import LINES
from slurmhooks.rules.ready import (
    budget,
    checked,
    details,
    gpus,
    guard,
    interactive,
    licenses,
    memory,
    notices,
    quota,
    script,
    sizes,
    times,
    writes,
)
from slurmhooks.site.sources import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MODULES = (checked, writes, times, memory, gpus, sizes, licenses, interactive, details, script, guard, budget,
           quota, notices)  # fmt: skip


def _kinds() -> Iterator[tuple[str, type[Rule]]]:
    for module in MODULES:
        for item in vars(module).values():
            if isinstance(item, type) and issubclass(item, Rule) and item.__module__ == module.__name__:
                if "rule" not in item.keys:  # a base class
                    continue
                name = item.keys["rule"].default
                if not isinstance(name, str):
                    raise TypeError(f"{item.__module__}.{item.__name__}: the default of rule must be its name")
                yield name, item


RULES: dict[str, type[Rule]] = dict(_kinds())
"""The rules by the names that the configuration gives them, by topic."""


_LEAST = 0.6
"""Similarity of rules that an unknown one may mean; people guess their names, such as ``time_limit``."""


def of_config(path: Path, read: config.Config) -> list[Rule]:
    """Return the rules that a configuration switches on, in its order.

    Raises:
        ConfigError: with a finding for each error, which names the file, the rule and the key.
    """
    findings: list[str] = []
    rules: list[Rule] = []
    defaults = read.rules.defaults.model_dump(exclude_unset=True, exclude={"default_partition"})
    for number, table in enumerate(read.rule, 1):
        where = f"{path}: rule, number {number} ({table.get('name') or table.get('rule') or 'without a rule'})"
        line = LINES.get(table["rule"]) if isinstance(table.get("rule"), str) else None
        if line is not None and line.needs and not any(table.get(key) for key in line.needs):
            findings.append(f"{where}: needs {listed(line.needs)}")
            continue
        now = table if line is None else line.table(table["rule"], table)
        kind = RULES.get(now["rule"]) if isinstance(now.get("rule"), str) else None
        if kind is None:
            findings.append(f"{where}: rule: {_unknown(table)}")
            continue
        try:
            rules.append(checking.check(kind, _merged(defaults, maps.filled(path.parent, now))))
        except maps.InvalidMapError as error:
            findings.append(f"{where}: {maps.KEY}: {error}")
        except ValidationError as error:
            findings += config.findings(where, error, checking.model_of(kind))
    findings += _doubled(path, rules)
    exempt, invalid = checking.exemptions_of(path, read.rules.exemptions, [rule.title for rule in rules])
    findings += expected.of_config(path, read.rules.cases)[1]
    findings += invalid if len(rules) == len(read.rule) else []  # otherwise names may only seem to be unknown
    if findings:
        raise ConfigError(findings)
    for rule in rules:
        rule.exempt(exempt)
    return rules


def faults(error: config.InvalidConfigError) -> list[str]:
    """Return the findings about rules of a configuration that has others, which the error does not have."""
    if error.rest is None:
        return []
    try:
        of_config(error.path, error.rest)
    except ConfigError as other:
        return list(other.findings)
    return []


def _unknown(table: Mapping[str, Any]) -> str:
    if "rule" not in table:
        return "missing; 'slurmhooks rules explain' shows all rules"
    similar = nearest(str(table["rule"]), [*RULES, *LINES], _LEAST)
    return f"there is no {table['rule']!r}{similar}; 'slurmhooks rules explain' shows all"


def _merged(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a rule with the defaults of the site; default exceptions are added to those of the rule."""
    merged = {**defaults, **table}
    for name in defaults.keys() & table.keys():
        if isinstance(defaults[name], tuple) and isinstance(table[name], list):
            merged[name] = [*defaults[name], *table[name]]
    return merged


def _doubled(path: Path, rules: list[Rule]) -> list[str]:
    titles = [rule.title for rule in rules]
    return [
        f"{path}: rule: two rules have the name {title}: give each a name of its own"
        for title in dict.fromkeys(titles)
        if titles.count(title) > 1
    ]


@cache
def file_model() -> type[config.Config]:
    """Return the model of the whole slurmhooks.toml with all rules in it, for its JSON schema."""
    kinds: Any = reduce(or_, map(checking.model_of, RULES.values()))
    union: Any = Annotated[kinds, Field(discriminator="rule")]
    file, rules = config.Config.model_fields, Rules.model_fields
    exempt = Field(default=(), description=rules["exemptions"].description)
    tried = Field(default=(), description=rules["cases"].description)
    exempted: Any = checking.model_of(Exemption)
    own: Any = create_model(
        Rules.__name__,
        __base__=Rules,
        exemptions=(tuple[exempted, ...], exempt),
        cases=(tuple[expected.Expected, ...], tried),
    )
    own.__doc__ = Rules.__doc__
    model: type[config.Config] = create_model(
        "File",
        __base__=config.Config,
        rules=(own, own()),
        rule=(tuple[union, ...], Field(default=(), description=file["rule"].description)),
    )
    return model


def schema() -> dict[str, Any]:
    """Return the JSON schema of slurmhooks.toml."""
    own = file_model().model_json_schema()
    return {"$schema": "http://json-schema.org/draft-07/schema#", **own, "title": FILE_NAME}
