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
RULES = f"""
import importlib, os
from slurmhooks.rules import ready
for name in os.listdir(ready.__path__[0]):
    importlib.import_module("slurmhooks.rules.ready." + name.partition(".")[0])
{START}
"""


@pytest.mark.parametrize("point", ["job_submit", "prep", "jobcomp", "site_factor"])
def test_a_supervisor_imports_little(point: str) -> None:
    """A supervisor of any point imports none of these modules: the four start at each reconfiguration."""
    command = [sys.executable, "-I", "-c", START, f"slurmhooks.entry.{point}:load"]
    assert not SLOW & set(subprocess.check_output(command, text=True).split())


def test_ready_made_rules_import_little() -> None:
    """slurmctld waits for the import of a site's rules, too: it generates no classes, and builds no models."""
    command = [sys.executable, "-I", "-c", RULES, "slurmhooks.entry.job_submit:load"]
    imported = set(subprocess.check_output(command, text=True).split())
    assert "slurmhooks.job_submit.bounds.computing" in imported
    assert not {"ast", "dataclasses", "inspect", "linecache", "pydantic", "traceback"} & imported
