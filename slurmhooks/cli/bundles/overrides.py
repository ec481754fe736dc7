# SPDX-License-Identifier: GPL-2.0-or-later
"""Exemptions from rules that are added to the set in force, without its sources."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from slurmhooks.cli.bundles import toml_text
from slurmhooks.cli.bundles.archive import File
from slurmhooks.site import sources as site


def literal(name: str) -> str:
    """Return the shell pattern that only a name matches."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def with_exemption(files: Mapping[str, File], exemption: Mapping[str, Any]) -> dict[str, File]:
    """Return the files of a set with one more of ``[[rules.exemptions]]``."""
    tables = _tables(files)
    tables.setdefault("rules", {}).setdefault("exemptions", []).append(exemption)
    text = f"# written by 'slurmhooks exempt'\n{toml_text.render(tables)}"
    return {**files, site.FILE_NAME: replace(files[site.FILE_NAME], content=text.encode())}


def ended(before: Mapping[str, File], after: Mapping[str, File]) -> list[str]:
    """Return a note for each exemption that has not ended, and that another set does not have."""
    kept = _exemptions(after)
    return [
        f"this ends the exemption from {str(each.get('rules')).strip('[]')} until {each['until']}:"
        f" {each.get('reason', 'no reason')}"
        for each in _exemptions(before)
        if each not in kept and not _is_over(each["until"])
    ]


def _is_over(until: date) -> bool:
    if isinstance(until, datetime):
        return until.astimezone() <= datetime.now(UTC)
    return until < date.today()


def _exemptions(files: Mapping[str, File]) -> list[dict[str, Any]]:
    """Return the exemptions of a set, whose files may be damaged."""
    rules = _tables(files).get("rules")
    exemptions = rules.get("exemptions") if isinstance(rules, dict) else None
    tables = exemptions if isinstance(exemptions, list) else []
    return [each for each in tables if isinstance(each, dict) and isinstance(each.get("until"), date)]


def _tables(files: Mapping[str, File]) -> dict[str, Any]:
    """Return what a set's slurmhooks.toml says; nothing if files of the set are damaged."""
    toml = files.get(site.FILE_NAME, File(b""))
    try:
        return tomllib.loads(toml.content.removeprefix(site.BYTE_ORDER_MARK).decode())
    except ValueError:
        return {}
