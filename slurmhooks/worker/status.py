# SPDX-License-Identifier: GPL-2.0-or-later
"""What the supervisor tells the command about itself (slurmhooks/cli/controllers.py)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from slurmhooks import identity
from slurmhooks.files.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.worker.child import Child


def of(
    point: str,
    number: int | None,
    children: Mapping[int, Child],
    fault: dict[str, Any] | None,
    periodic: str | None = None,
    log: str | None = None,
) -> dict[str, Any]:
    """Return which hooks are in force.

    ``fault`` is why the newest files are not in force, and since when, ``periodic`` why periodic handlers do not run,
    ``log`` why the decision log cannot be written; each is None if that is not so.
    """
    serving = children.get(number) if number is not None else None
    watch = serving.watch if serving is not None and serving.watch is not None else Watch()
    return {
        "point": point,
        "supervisor": os.getpid(),
        "generation": number,
        "workers": sorted(serving.workers) if serving is not None else [],
        "handlers": [handler for handlers in watch.handlers.values() for handler in handlers],
        "configuration": watch.configuration,
        "fault": fault,
        "periodic": periodic,
        "log": log,
        "build": sys._xoptions.get(identity.OPTION),
    }
