# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads the handlers of job_submit's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.entry.scripts_and_rules import named_in
from slurmhooks.entry.worker_handlers import load_point
from slurmhooks.job_submit.service import Service

if TYPE_CHECKING:
    from slurmhooks.files.watch import Watch
    from slurmhooks.worker.interface import Announce

LATER = ("slurmhooks.job_submit.subject", "slurmhooks.job_submit.bounds.computing", "slurmhooks.job_submit.judging")
"""What only handlers with modes, with bounds, and of hook.job need: see slurmhooks.worker.interface.complete."""
RULES = ("slurmhooks.rules.source",)
"""What only ready-made rules need."""


def load(watch: Watch, announce: Announce) -> Service:
    """Load the handlers that the configuration names; see slurmhooks.worker.interface.Load.

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a hook file is invalid, or needs what this build lacks.
    """
    return Service(*load_point(watch, announce, "job_submit", named_in))
