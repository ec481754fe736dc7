# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads the handlers of site_factor's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurmhooks.site_factor.service import Service
from slurmhooks.slurmctld.service import load_point

if TYPE_CHECKING:
    from slurmhooks.files.watch import Watch
    from slurmhooks.worker.service import Announce


def load(watch: Watch, announce: Announce) -> Service:
    """Load the handlers that the configuration names; see slurmhooks.worker.service.Load.

    Raises:
        ConfigError: the configuration is invalid.
        LoadError: a hook file is invalid, or needs what this build lacks.
    """
    return Service(*load_point(watch, announce, "site_factor"))
