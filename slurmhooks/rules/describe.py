# SPDX-License-Identifier: GPL-2.0-or-later
"""Describes rules in Markdown: for administrators from their classes, for users from the rules in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.config.keys import size_text
from slurmhooks.hooks.rollout import ENFORCE, WARN, Rollout
from slurmhooks.rules.base import Rule
from slurmhooks.rules.catalogue import RULES
from slurmhooks.rules.checking import model_of
from slurmhooks.rules.exemptions import Exemption
from slurmhooks.rules.expected import Expected
from slurmhooks.rules.placeholders import COMMON
from slurmhooks.rules.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel

    from slurmhooks.config.model import Config

TITLES = ("key", "value", "default", "meaning")


def common_keys() -> list[tuple[str, str, str, str]]:
    """Return a row for each key that all rules have: key, value, default, meaning."""
    return keys_of(Rule)


def own_keys(kind: type[Rule]) -> list[tuple[str, str, str, str]]:
    """Return a row for each key that only one rule has: key, value, default, meaning."""
    return _rows(model_of(kind), [name for name in kind.keys if name not in Rule.keys and name != "rule"])


def keys_of(kind: type[BaseModel | Table]) -> list[tuple[str, str, str, str]]:
    """Return a row for each key of a table of slurmhooks.toml: key, value, default, meaning."""
    model = model_of(kind) if issubclass(kind, Table) else kind
    return _rows(model, model.model_fields)


def _rows(model: type[BaseModel], names: Iterable[str]) -> list[tuple[str, str, str, str]]:
    whole = model.model_json_schema()
    rows = []
    for name in names:
        field, schema = model.model_fields[name], whole["properties"][name]
        default = "required" if field.is_required() else _default(schema.get("default"), schema)
        rows.append((name, _value(schema, whole.get("$defs", {})), default, field.description or ""))
    return rows


def _default(value: Any, schema: dict[str, Any]) -> str:
    if value is None:
        return "unset"
    if schema.get("format") == "size":
        return f'"{size_text(value)}"'
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else "[]" if value == [] else str(value)


def _value(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in schema:
        return "table"
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    if options:
        return " or ".join(_value(option, definitions) for option in options)
    if schema.get("format") == "field":
        return "name of a field"
    if "enum" in schema:
        return " or ".join(f'"{word}"' for word in schema["enum"])
    if "const" in schema:
        return f'"{schema["const"]}"'
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items", {})
        if "$ref" in items:
            return "list of tables"
        return f"list of {_value(items, definitions)}{'' if 'enum' in items else 's'}"
    if isinstance(kind, list):  # a text or a number
        return f'text such as "{schema["examples"][0]}", or number'
    words = {"string": "text", "integer": "number", "number": "number", "boolean": "true or false", "object": "table"}
    if schema.get("format") in ("date", "date-time"):
        return "date" if schema["format"] == "date" else "date and time"
    return words.get(str(kind), "text")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def example(kind: type[Rule]) -> str:
    """Return an example of a rule as TOML."""
    name = kind.keys["rule"].default
    return "\n".join(["[[rule]]", f'rule = "{name}"', *([kind.example] if kind.example else ())]) + "\n"


def explained(kind: type[Rule]) -> str:
    """Return the description of a rule for administrators, without the keys that all rules have."""
    name = kind.keys["rule"].default
    hooks = " and ".join(f"`{hook}`" for hook in kind.hooks)
    parts = [f"## {name}\n", f"{kind.documentation()}\n", f"```toml\n{example(kind)}```\n"]
    rows = own_keys(kind)
    if rows:
        parts.append(table(TITLES, [coded(row) for row in rows]))
    for key, inner in kind.inner.items():
        parts += [f"Each table of `{key}` has:\n", table(TITLES, [coded(row) for row in keys_of(inner)])]
    parts.append(f"It runs for {hooks}.")
    if kind.own_fields and "job_modify" in kind.hooks:
        fields = ", ".join(f"`{field}`" for field in kind.own_fields)
        parts[-1] += f"\nIt looks at updates that set {fields}."
    parts[-1] += "\n"
    own = "".join(f"; `{{{word}}}` is {meaning}" for word, meaning in kind.placeholders.items())
    if kind.text or own:
        parts.append(f"Message: {f'`{kind.text}`' if kind.text else 'none by default'}{own}.\n")
    if kind.code is not None:
        parts.append(f"Error code: `{kind.code}`.\n")
    return "\n".join(parts)


def coded(row: Sequence[str]) -> list[str]:
    """Return a row of keys with its code marked as such."""
    key, value, default, meaning = row
    return [f"`{key}`", value, default if default in ("required", "unset") else f"`{default}`", meaning]


def reference() -> str:
    """Return the description of all rules for administrators."""
    words = ", ".join(f"`{{{word}}}` ({meaning})" for word, meaning in COMMON.items())
    return "\n".join(
        [
            "## Keys of all rules\n",
            table(TITLES, [coded(row) for row in common_keys()]),
            f"Every message may have the placeholders {words}.\n",
            "## Exemptions\n",
            "Each `[[rules.exemptions]]` has these keys, of which it needs one that says whose jobs are exempt;"
            " [](../rules.md#exemptions-until-a-day) says how to use them.\n",
            table(TITLES, [coded(row) for row in keys_of(Exemption)]),
            "## Cases\n",
            "Each `[[rules.cases]]` has these keys; [](../rules.md#cases) says how to use them.\n",
            table(TITLES, [coded(row) for row in keys_of(Expected)]),
            "## What a job leaves to Slurm\n",
            "What a request does not name, Slurm fills in. Each rule takes for it:\n",
            table(("rule", "what counts"), [(f"`{name}`", kind.left_to_slurm) for name, kind in RULES.items()]),
            *(explained(kind) for kind in RULES.values()),
        ]
    )


def guide(rules: Iterable[Rule], read: Config) -> str:
    """Return the page that a site gives to its users: what the rules in force do, in the order in which they run.

    The modes and shares of the configuration replace those of rules.
    """
    parts = [
        "# Rules for jobs\n",
        "What this cluster checks and sets when you submit or change a job, in this order.\n",
    ]
    defaults = read.rules.defaults
    if defaults.help_url is not None:
        parts[1] += f"Help: <{defaults.help_url}>\n"
    rollouts = read.rollouts()
    for rule in sorted(rules, key=lambda rule: rule.order):
        rollout = rollouts.get(rule.label) or Rollout(mode=rule.mode)
        if not (rollout.may_be(ENFORCE) or rollout.may_be(WARN)):
            continue  # users notice nothing of it
        parts.append(f"## {rule.title}\n")
        parts.append(" ".join(word for word in (rule.effect(), rule.scope(defaults.model_dump())) if word) + "\n")
        if rollout.conditions:
            parts.append(f"The rule is being introduced: {rollout}.\n")
        elif rollout.mode == WARN:
            parts.append("The rule is not in force yet: you only read a warning.\n")
        if rollout.note is not None and rollout.may_be(WARN):
            parts.append(f"{rollout.note}\n")
        if rule.help_url is not None and rule.help_url != defaults.help_url:
            parts.append(f"More: <{rule.help_url}>\n")
    if len(parts) == 2:
        parts.append("There are no such rules.\n")
    return "\n".join(parts)
