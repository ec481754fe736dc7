# SPDX-License-Identifier: GPL-2.0-or-later
"""What a supervisor imports while slurmctld waits for it."""

import subprocess
import sys

import pytest

SLOW = {
    "ast",  # with dataclasses, inspect, dis and tokenize
    "asyncio",
    "dataclasses",
    "http",
    "inspect",
    "linecache",
    "logging",
    "pickle",
    "prometheus_client",
    "pydantic",
    "pydantic_core.core_schema",
    "slurmhooks.config.model",
    "slurmhooks.job_submit.bounds",
    "slurmhooks.job_submit.strings",
    "slurmhooks.rules",
    "structlog",
    "subprocess",
    "threading",
    "tomllib",
    "traceback",
}
"""Modules that take a millisecond or more, which no process needs before it serves."""
START = """
import sys
from slurmhooks.worker import __main__ as main, supervisor
main.preload(sys.argv[1])
assert "slurmhooks.hooks.hook" in sys.modules
print(*sys.modules)
"""


@pytest.mark.parametrize("point", ["job_submit", "prep", "jobcomp", "site_factor"])
def test_a_supervisor_imports_little(point: str) -> None:
    """A supervisor of any point imports none of these modules: the four start at each reconfiguration."""
    command = [sys.executable, "-I", "-c", START, f"slurmhooks.entry.{point}:load"]
    assert not SLOW & set(subprocess.check_output(command, text=True).split())
