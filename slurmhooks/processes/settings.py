# SPDX-License-Identifier: GPL-2.0-or-later
"""What the processes of a plugin point need of its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.config.controller import Workers


@dataclass(frozen=True)
class Settings:
    """What the processes need from their plugin's section of the configuration, such as ``[job_submit]``.

    Attributes:
        workers: how many requests are served at the same time.
        timeout: seconds that a request may take.
        memory_limit: bytes of private memory that a worker, and each program that it starts, may have; None: no limit.
        process_limit: processes that the user of the workers may have.
        open_file_limit: open files that a worker, and each program that it starts, may have.
        accept: whether requests are accepted when no worker can serve them.
        reload: whether changed files are loaded automatically.
        hooks: hash of the files.
        refuse_all: whether users are told of all refusals of a request.
        rule_ids: whether refusals end with the label of the handler.
        daily: whether users read the same notice at most once a day.
        collect: what the collector is to do (slurmhooks/collector/collector.py); empty: nothing.
    """

    workers: int = 1
    timeout: float = 2.0
    memory_limit: int | None = 1 << 30
    process_limit: int = 4096
    open_file_limit: int = 1024
    accept: bool = False
    reload: bool = True
    hooks: str = ""
    refuse_all: bool = False
    rule_ids: bool = False
    daily: bool = False
    collect: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, section: Workers) -> Settings:
        """Return the settings of a section."""
        return cls(
            workers=section.workers,
            timeout=section.timeout,
            memory_limit=section.memory_limit,
            process_limit=section.process_limit,
            open_file_limit=section.open_file_limit,
            accept=getattr(section, "on_unavailable", "reject") == "accept",
            reload=section.reload,
        )
