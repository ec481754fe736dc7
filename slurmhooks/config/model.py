# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of slurmhooks.toml, and how it is read; its tables are in slurmhooks.config.sections.

Launches avoid this module where they can, because it imports pydantic, which is slow.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from slurmhooks.config.sections import (
    CliFilter,
    Decisions,
    Health,
    Hooks,
    JobEnd,
    JobSubmit,
    Log,
    Lua,
    Metrics,
    Policy,
    PolicyDefaults,
    Power,
    Prep,
    Priority,
    Scrun,
    Section,
    Spank,
)
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import trusted
from slurmhooks.hooks.rollout import Rollout

FILE_NAME = "slurmhooks.toml"


class Config(Section):
    """The whole file.

    Attributes:
        policies: the ready-made rules as written in the file; slurmhooks.policies.rules validates them in the processes
            that apply them, so that launches need not import the rules.
    """

    hooks: Hooks = Hooks()
    job_submit: JobSubmit = JobSubmit()
    job_end: JobEnd = JobEnd()
    priority: Priority = Priority()
    prep: Prep = Prep()
    power: Power = Power()
    spank: Spank = Spank()
    cli_filter: CliFilter = CliFilter()
    scrun: Scrun = Scrun()
    health: Health = Health()
    lua: Lua = Lua()
    log: Log = Log()
    decisions: Decisions = Decisions()
    metrics: Metrics = Metrics()
    policy: dict[str, Policy] = Field(default={}, description="modes of handlers, by their labels")
    policy_defaults: PolicyDefaults = PolicyDefaults()
    policies: tuple[dict[str, Any], ...] = Field(
        default=(), strict=False, description="ready-made rules, each with its name in the key rule"
    )

    def rollouts(self) -> dict[str, Rollout]:
        """Return modes and shares by the labels of handlers."""
        return {label: policy.rollout() for label, policy in self.policy.items()}


def sections() -> dict[str, type[Section]]:
    """Return the models of the tables by name, for the reference; the ready-made rules have a page of their own."""
    tables: dict[str, Any] = {name: field.annotation for name, field in Config.model_fields.items()}
    del tables["policy"], tables["policies"]
    return {**tables, 'policy."LABEL"': Policy}


def read(path: Path) -> Config:
    """Read and validate the file; return an empty configuration if it does not exist.

    Args:
        path: path of the file.

    Raises:
        ConfigError: with a finding for each error, which names the file and the key.
    """
    try:
        text = trusted.read(str(path)).decode("utf-8-sig")
    except FileNotFoundError:
        return Config()
    except LoadError as error:
        raise ConfigError(error.findings) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path}: {error}"]) from error
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError([f"{path}: not TOML: {error}"]) from error
    try:
        return Config.model_validate(table)
    except ValidationError as error:
        raise ConfigError(findings(str(path), error)) from error


def findings(where: str, error: ValidationError) -> list[str]:
    """Return a finding for each error of a model.

    Args:
        where: what the model was validated from.
        error: the errors.
    """
    return [
        f"{where}: {'.'.join(map(str, item['loc']))}: {_explain(item['type'], item['msg'], item['input'])}"
        for item in error.errors()
    ]


def _explain(kind: str, message: str, value: Any) -> str:
    """Describe an error of pydantic, in the terms of TOML."""
    if kind == "extra_forbidden":
        return "unknown key"
    if kind == "missing":
        return "missing"
    expected = _EXPECTED.get(kind)
    if expected is None:
        message = message.removeprefix("Value error, ").replace("Input should be", "must be")
        return f"{message}, not {value!r}"
    return f"must be {expected}, not {value!r}"


_EXPECTED = {
    "bool_type": "true or false",
    "int_type": "a number",
    "model_type": "a table",
    "string_too_short": "a text that is not empty",
    "string_type": "a text",
    "tuple_type": 'a list of texts, as in ["hooks.d/*.py"]',
}
