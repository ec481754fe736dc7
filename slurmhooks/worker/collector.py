# SPDX-License-Identifier: GPL-2.0-or-later
"""The collector: a process that takes what workers report, and writes it where nobody waits for a disk.

It runs no code of a site. The supervisor starts it once the configuration in force wants something of it, starts
another one when it ends, and tells it what that configuration says. It ends with the supervisor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slurmhooks.config import Config


def wanted(config: Config, point: str) -> dict[str, Any]:
    """Return what the collector of a plugin is to do; empty: nothing.

    Args:
        config: of the site.
        point: the section of the plugin, such as job_submit.
    """
    return {}
