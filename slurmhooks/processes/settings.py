# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes of a plugin point need of its configuration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from slurmhooks.config import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.config.controller import PolicyTexts, Workers
    from slurmhooks.config.model import Config


class Settings:
    """What the processes of a plugin point need of its configuration.

    Attributes:
        section: the plugin's section, such as ``[job_submit]``.
        policy: ``[policy]``, which is about texts of rules; other points than job_submit have no rules.
        hooks: hash of the files.
        collect: what the collector is to do (slurmhooks/collector/collector.py); empty: nothing.
    """

    def __init__(
        self,
        section: Workers | None = None,
        policy: PolicyTexts | None = None,
        hooks: str = "",
        collect: Mapping[str, Any] | None = None,
    ) -> None:
        """Store them; the defaults are for tests and replays."""
        quiet = {"rule_ids": False, "notices": "always"}
        self.section: Workers = plain.table("job_submit") if section is None else section
        self.policy: PolicyTexts = plain.table("policy", quiet) if policy is None else policy
        self.hooks = hooks
        self.collect: Mapping[str, Any] = {} if collect is None else collect

    @classmethod
    def of(cls, config: Config, section: str, collect: Mapping[str, Any] | None = None) -> Settings:
        """Return the settings of a section, with orders for the collector."""
        own: Any = SimpleNamespace(**plain.values(section, getattr(config, section)))
        if section != "job_submit":
            return cls(own, collect=collect)
        return cls(own, plain.table("policy", plain.values("policy", config.policy)), collect=collect)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Settings:
        """Return the settings of another process, see :meth:`document`."""
        section: Any = SimpleNamespace(**document["section"])
        policy: Any = SimpleNamespace(**document["policy"])
        return cls(section, policy, document["hooks"], document["collect"])

    def document(self) -> dict[str, Any]:
        """Return the settings as values of JSON."""
        return {**vars(self), "section": vars(self.section), "policy": vars(self.policy)}

    def with_hooks(self, hooks: str) -> Settings:
        """Return a copy with the hash of other files."""
        return Settings(self.section, self.policy, hooks, self.collect)

    @property
    def accept(self) -> bool:
        """Whether requests are accepted when no worker can serve them."""
        return getattr(self.section, "on_unavailable", "reject") == "accept"
