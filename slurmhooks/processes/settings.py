# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes of a plugin point need of its configuration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from slurmhooks.config import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slurmhooks.config.controller import RuleTexts, Workers
    from slurmhooks.config.model import Config


OTHERS = ("hooks", "collect", "kinds")
"""What settings have besides tables of the configuration."""


class Settings:
    """What the processes of a plugin point need of its configuration.

    Attributes:
        section: the plugin's section, such as ``[job_submit]``.
        rules: ``[rules]``, which is about texts of rules; other points than job_submit have no rules.
        hooks: the id of the set.
        collect: what the collector is to do (slurmhooks/collector/collector.py); empty: nothing.
        kinds: the modules of the ready-made rules, for this plugin point; empty: there are none.
    """

    def __init__(
        self,
        section: Workers | None = None,
        rules: RuleTexts | None = None,
        hooks: str = "",
        collect: Mapping[str, Any] | None = None,
        kinds: Sequence[str] = (),
    ) -> None:
        """Store them; the defaults are for tests and replays."""
        quiet = {"rule_ids": False, "notices": "always"}
        self.section: Workers = plain.table("job_submit") if section is None else section
        self.rules: RuleTexts = plain.table("rules", quiet) if rules is None else rules
        self.hooks = hooks
        self.collect: Mapping[str, Any] = {} if collect is None else collect
        self.kinds = kinds

    @classmethod
    def of(cls, config: Config, section: str, hooks: str, collect: Mapping[str, Any] | None = None) -> Settings:
        """Return the settings of a section, with the id of the set, and orders for the collector."""
        own: Any = SimpleNamespace(**plain.values(section, getattr(config, section)))
        if section != "job_submit":
            return cls(own, hooks=hooks, collect=collect)
        rules = plain.table("rules", plain.values("rules", config.rules))
        return cls(own, rules, hooks, collect, sorted({type(rule).__module__ for rule in config.rule}))

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
