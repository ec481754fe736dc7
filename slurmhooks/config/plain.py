# SPDX-License-Identifier: GPL-2.0-or-later
"""A configuration without its model, for processes that start often: the import of pydantic takes longer than the rest.

It has the attributes of :class:`slurmhooks.config.sections.Config`, with the same values.
"""

from __future__ import annotations

from types import SimpleNamespace

from slurmhooks.config import controller, keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from slurmhooks.config.sections import Config, Node, RuleDefaults
    from slurmhooks.hooks.rollout import Rollout

TABLES = {
    name: keys.rows(table)
    for name, table in {**keys.TABLES, **controller.TABLES, "rules": controller.RuleTexts}.items()
}
"""The keys of the tables that a file may have; for any other one the model is needed."""


OF_JOB_SUBMIT_AND_NODES = ("rule", "node")
"""Tables that only job_submit's workers, health checks and commands read; so are the tables in ``[rules]``."""


def of_all(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a file without what only job_submit's workers, health checks and commands read."""
    kept = {name: entries for name, entries in tables.items() if name not in OF_JOB_SUBMIT_AND_NODES}
    if isinstance(rules := kept.get("rules"), dict):
        kept["rules"] = {key: value for key, value in rules.items() if not isinstance(value, dict | list)}
    return kept


def table(name: str, given: Mapping[str, Any] = {}) -> Any:
    """Return a table with some values, and the defaults of its other keys."""
    rows = TABLES[name]
    defaults = {key: row.default for key, row in rows.items()}
    return SimpleNamespace(**defaults | {key: rows[key].convert(value) for key, value in given.items()})


def values(name: str, read: object) -> dict[str, Any]:
    """Return the values of a table, whoever has read it."""
    return {key: getattr(read, key) for key in TABLES[name]}


class RuleTables(SimpleNamespace):
    """``[rules]`` without the tables in it."""

    exemptions = ()
    cases = ()

    @property
    def defaults(self) -> RuleDefaults:
        """What rules do without this table."""
        from slurmhooks.config import sections

        return sections.RuleDefaults()


class Plain:
    """A valid file without ready-made rules, health checks and modes of handlers."""

    rule = ()
    rules: RuleTables

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Store the valid values of a file, which has all of TABLES, and the defaults of the other keys."""
        for name in TABLES:
            setattr(self, name, table(name, tables.get(name, {})))
        self.rules = RuleTables(**vars(self.rules), modes={})

    @property
    def node(self) -> Node:
        """What nodes do without this table."""
        from slurmhooks.config import sections

        return sections.Node()

    def rollouts(self) -> dict[str, Rollout]:
        """Return the modes of handlers: none."""
        return {}


class Checked(Plain):
    """A file with ready-made rules, health checks or modes of handlers, after its model has checked it.

    Attributes:
        rule: the rules, as instances of their classes; each has its exemptions.
    """

    node = None  # type: ignore[assignment]

    def __init__(self, read: Config, checked: Iterable[Any]) -> None:
        """Store what the model has read, and what slurmhooks.rules.catalogue has checked of it."""
        for name in TABLES:
            setattr(self, name, SimpleNamespace(**values(name, getattr(read, name))))
        self.rule: Any = tuple(checked)
        defaults = SimpleNamespace(**dict(read.rules.defaults))
        rules: Any = SimpleNamespace(**vars(self.rules), defaults=defaults, exemptions=())
        self.rules = rules
        self._rollouts = read.rollouts()

    def rollouts(self) -> dict[str, Rollout]:
        """Return the modes of handlers."""
        return self._rollouts
