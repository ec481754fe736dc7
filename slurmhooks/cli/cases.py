# SPDX-License-Identifier: GPL-2.0-or-later
"""The cases that a site has written for its rules, where the workshop, which tries them, is installed."""

import importlib
import importlib.util
from pathlib import Path

from slurmhooks.cli import TRIES_CASES
from slurmhooks.cli.child import in_child
from slurmhooks.cli.findings import Finding
from slurmhooks.site import sources as site


def tried(toml: Path) -> tuple[list[str], list[str]]:
    """Try the cases of a configuration; return findings about those that fail, and a note."""
    _, read = site.located_config(toml)
    count = len(getattr(read.rules, "cases", ()))
    if not count:
        return [], []
    if not _can_be():
        return [], [f"{toml}: rules.cases: {count} were not tried: the package slurmhooks-workshop is not installed"]
    failures: list[str] = in_child(importlib.import_module(TRIES_CASES).failures, toml)
    return failures, [f"{toml}: rules.cases: {count - len(failures)} of {count} are as expected"]


def try_now(toml: Path) -> tuple[list[str], list[str]]:
    """Do the same for somebody who has asked for it.

    Raises:
        Finding: nothing can be tried.
    """
    findings, notes = tried(toml)
    if not notes:
        raise Finding(f"{toml}: rules.cases: there are none")
    return (findings, notes) if _can_be() else (notes, [])


def _can_be() -> bool:
    """Tell whether this machine has the workshop."""
    return importlib.util.find_spec(TRIES_CASES.partition(".cli")[0]) is not None
