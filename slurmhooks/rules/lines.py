# SPDX-License-Identifier: GPL-2.0-or-later
"""Older names of rules: each is a line of a rule on any field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


class LineOf(NamedTuple):
    """What an older rule is now.

    Attributes:
        keys: the rule, and the keys that it stands for.
        renamed: keys that have another name now.
        switches: keys that no longer exist: by the value that has an effect, the keys that replace it.
        needs: its keys of which one had to be set.
        said: placeholders of its message that have another name now.
    """

    keys: Mapping[str, Any]
    renamed: Mapping[str, str] = {}
    switches: Mapping[str, tuple[Any, Mapping[str, Any]]] = {}
    needs: tuple[str, ...] = ()
    said: Mapping[str, str] = {}

    def table(self, name: str, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return a table with an older name as it is written now; its name stays that of the rule."""
        others = {key: value for key, value in table.items() if key != "rule"}
        switched: dict[str, Any] = {}
        for key, (value, keys) in self.switches.items():
            if type(others.get(key)) is type(value):
                switched |= keys if others.pop(key) == value else {}
        made = {"name": name, **self.keys, **switched}
        made |= {self.renamed.get(key, key): value for key, value in others.items()}
        if "updates" in switched:  # the older rule had no handler for them
            made["updates"] = switched["updates"]
        for old, new in self.said.items():
            if isinstance(made.get("message"), str):
                made["message"] = made["message"].replace(f"{{{old}}}", f"{{{new}}}")
        return made

    def shown(self) -> str:
        """Return the line, and which keys have another name, for people who replace the older name."""
        others = [f"{new} for {old}" for old, new in self.renamed.items()]
        others += [f"{{{new}}} for {{{old}}} in message" for old, new in self.said.items()]
        for old, (value, keys) in self.switches.items():
            others.append(f"{_toml(keys)} for {_toml({old: value})}")
        return "; ".join([_toml(self.keys), *others])


def _toml(keys: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {json.dumps(value)}" for key, value in keys.items())


def _on(rule: str, field: str) -> dict[str, Any]:
    return {"rule": rule, "field": field}


LINES = {
    "require_account": LineOf(_on("require", "account")),
    "default_account": LineOf({**_on("default", "account"), "by": "group"}, {"by_group": "map"}),
    "choose_partition": LineOf(
        _on("default", "partition"), switches={"override": (True, {"rule": "set", "updates": "ignore"})}
    ),
    "default_partition": LineOf(_on("default", "partition")),
    "require_qos": LineOf(_on("require", "qos")),
    "default_qos": LineOf(_on("default", "qos")),
    "choose_qos": LineOf(
        _on("default", "qos"),
        switches={"override": (True, {"rule": "set", "updates": "ignore", "message": ""})},
    ),
    "require_time": LineOf(_on("require", "time_limit")),
    "default_time": LineOf(_on("default", "time_limit")),
    "require_memory": LineOf(_on("require", "memory")),
    "require_gpu": LineOf(_on("require", "gpus")),
    "node_count": LineOf(_on("limit", "nodes")),
    "task_count": LineOf(_on("limit", "tasks")),
    "cpu_count": LineOf(_on("limit", "cpus")),
    "require_features": LineOf(
        _on("require", "features"), {"one_of": "allowed"}, needs=("one_of",), said={"features": "allowed"}
    ),
    "default_features": LineOf(_on("default", "features")),
    "forbid_nodelist": LineOf(
        _on("forbid", "req_nodes"), switches={"exclude": ("refuse", {"field": ["req_nodes", "exc_nodes"]})}
    ),
    "reserved_names": LineOf(_on("forbid", "name"), {"names": "forbidden"}, needs=("names",)),
    "reservation": LineOf(
        _on("forbid", "reservation"),
        switches={"required": (True, {"rule": "require"})},
        needs=("required", "allowed"),
    ),
}
"""The older names. A file that has one is accepted, as docs/stability.md says."""


def notes(path: Path, tables: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a note for each rule of a configuration that has an older name."""
    for number, table in enumerate(tables, 1):
        line = LINES.get(table["rule"]) if isinstance(table.get("rule"), str) else None
        if line is not None:
            yield f"{path}: rule, number {number}: {table['rule']} is an older name: write {line.shown()}"
