# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes of a plugin point need of its configuration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from slurmhooks.config import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.config.controller import RuleTexts, Workers
    from slurmhooks.config.model import Config


OTHERS = ("hooks", "collect", "has_model", "has_rules")
"""What settings have besides tables of the configuration."""


class Settings:
    """What the processes of a plugin point need of its configuration.

    Attributes:
        section: the plugin's section, such as ``[job_submit]``.
        rules: ``[rules]``, which is about texts of rules; other points than job_submit have no rules.
        hooks: the id of the set.
        collect: what the collector is to do (slurmhooks/collector/collector.py); empty: nothing.
        has_model: the configuration is one that only its model reads.
        has_rules: it has ready-made rules, for this plugin point.
    """

    def __init__(
        self,
        section: Workers | None = None,
        rules: RuleTexts | None = None,
        hooks: str = "",
        collect: Mapping[str, Any] | None = None,
        has_model: bool = False,
        has_rules: bool = False,
    ) -> None:
        """Store them; the defaults are for tests and replays."""
        quiet = {"rule_ids": False, "notices": "always"}
        self.section: Workers = plain.table("job_submit") if section is None else section
        self.rules: RuleTexts = plain.table("rules", quiet) if rules is None else rules
        self.hooks = hooks
        self.collect: Mapping[str, Any] = {} if collect is None else collect
        self.has_model = has_model
        self.has_rules = has_rules

    @classmethod
    def of(cls, config: Config, section: str, hooks: str, collect: Mapping[str, Any] | None = None) -> Settings:
        """Return the settings of a section, with the id of the set, and orders for the collector."""
        own: Any = SimpleNamespace(**plain.values(section, getattr(config, section)))
        has_model = not isinstance(config, plain.Plain)
        if section != "job_submit":
            return cls(own, hooks=hooks, collect=collect, has_model=has_model)
        rules = plain.table("rules", plain.values("rules", config.rules))
        return cls(own, rules, hooks, collect, has_model, bool(config.rule))

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Settings:
        """Return the settings of another process, see :meth:`document`."""
        section: Any = SimpleNamespace(**document["section"])
        rules: Any = SimpleNamespace(**document["rules"])
        return cls(section, rules, **{name: document[name] for name in OTHERS})

    def document(self) -> dict[str, Any]:
        """Return the settings as values of JSON."""
        return {**vars(self), "section": vars(self.section), "rules": vars(self.rules)}

    @property
    def accept(self) -> bool:
        """Whether requests are accepted when no worker can serve them."""
        return getattr(self.section, "on_unavailable", "reject") == "accept"
