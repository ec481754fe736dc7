# SPDX-License-Identifier: GPL-2.0-or-later
"""Health checks for tests."""

from collections.abc import Callable
from typing import Any

from slurmhooks.handlers.registry import Handler
from slurmhooks.hooks.points import HEALTH, HOOKS
from slurmhooks.hooks.terms import Terms


def check(
    function: Callable[[], object],
    label: str = "h:check",
    timeout: float | None = None,
    contexts: tuple[str, ...] = HEALTH,
    lenient: bool = False,
    **terms: Any,
) -> Handler:
    """Return a health check that calls a function without arguments."""
    spec = HOOKS["node.health_check"]
    return Handler(
        function,
        (),
        spec,
        label=label,
        path="h.py",
        line=1,
        lenient=lenient,
        contexts=contexts,
        timeout=timeout,
        terms=Terms(**terms),
    )
