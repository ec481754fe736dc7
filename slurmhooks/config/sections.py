# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of slurmhooks.toml and its tables, from the keys of keys.py and controller.py; see slurmhooks.config.model.

Launches avoid this module where they can, because it imports pydantic, which is slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model

from slurmhooks.config import controller, keys
from slurmhooks.hooks.rollout import KEYS, Rollout

__all__ = ("Config", "Decisions", "HandlerMode", "JobComp", "JobSubmit", "Metrics", "Section")

Name = Annotated[str, Field(min_length=1)]
SIZE = WithJsonSchema({"type": ["string", "integer"], "format": "size", "examples": ["512MiB"]})
SHARE = WithJsonSchema({"type": ["string", "integer"], "examples": ["5%"]})
TYPES: dict[int, Any] = {
    keys.BOOL: bool,
    keys.INT: int,
    keys.FLOAT: float,
    keys.TEXT: str,
    keys.TEXTS: Name,
    keys.SIZE: Annotated[int, BeforeValidator(keys.size), SIZE],
    keys.SIZE_OR_UNLIMITED: Annotated[int | None, BeforeValidator(keys.size), SIZE],
}
"""The types of values, by their kinds; of TEXTS, the type of one."""


class Section(BaseModel):
    """A table of the file. Unknown keys are refused, and nothing is converted implicitly."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _field(key: keys.Key) -> Any:
    of_value: Any = Literal[key.words] if key.words else TYPES[key.kind]
    limits: dict[str, Any] = {"ge": key.least, "le": key.most}
    if key.kind == keys.TEXTS:
        one: Any = of_value if key.check is None else Annotated[of_value, AfterValidator(key.check)]
        of_value, limits["strict"] = tuple[one, ...], False
    elif key.kind == keys.TEXT and not key.words and key.check is None:
        limits["min_length"] = 1
    if key.default is None:
        of_value = of_value | None
    if key.check is not None and key.kind != keys.TEXTS:
        of_value = Annotated[of_value, AfterValidator(key.check)]
    given = {name: value for name, value in limits.items() if value is not None}
    return of_value, Field(default=key.default, description=key.description, **given)


def _model(table: type, base: type[BaseModel]) -> type[BaseModel]:
    fields = {name: _field(key) for name, key in keys.rows(table).items()}
    model = create_model(table.__name__, __base__=base, __module__=__name__, **fields)
    model.__doc__ = table.__doc__
    return model


if TYPE_CHECKING:
    from slurmhooks.config.controller import Decisions, JobComp, JobSubmit, Metrics

    class Tables(keys.Tables, controller.Tables, Section): ...

    class RuleTexts(controller.RuleTexts, Section): ...
else:
    MODELS = {name: _model(table, Section) for name, table in {**keys.TABLES, **controller.TABLES}.items()}
    Decisions, JobComp, JobSubmit, Metrics = (
        MODELS[name] for name in ("decisions", "jobcomp", "job_submit", "metrics")
    )
    Tables = create_model(
        "Tables", __base__=Section, __module__=__name__, **{name: (model, model()) for name, model in MODELS.items()}
    )
    RuleTexts = _model(controller.RuleTexts, Section)


def _brake(value: Any) -> Any:
    """Check a number of nodes or a share of them; numbers become texts."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text.removesuffix("%").isdecimal():
        raise ValueError('must be a number of nodes, or a share such as "10%"')
    return text


class Node(Section):
    """``[node]``: for slurmhooks_health, the HealthCheckProgram of compute nodes."""

    timeout: float = Field(
        default=45.0,
        ge=1.0,
        le=3600.0,
        description="seconds for all checks of a run together; Slurm kills the program after 60 s, or from 26.05 on"
        " after HealthCheckTimeout",
    )
    at_most: Annotated[str, BeforeValidator(_brake), SHARE] = Field(
        default="10%",
        description='the most nodes that one check drains at a time: a number or a share such as "5%"; all checks'
        " together drain three times as many",
    )
    checks: tuple[dict[str, Any], ...] = Field(
        default=(), strict=False, description="ready-made checks, each with its name in the key check"
    )


Mode = Literal["enforce", "warn", "observe", "off"]


class HandlerMode(Section):
    """``[rules.modes."LABEL"]``: the mode of a job_submit or job_modify handler, and the requests that the mode is for.

    The label is that of ``slurmhooks check``, as in ``[rules.modes."limits:require_account"]``. The table replaces
    what the decorator of the handler says.
    """

    mode: Mode = Field(
        default="enforce", description='"enforce"; "warn" and "observe", which change nothing; "off": it does not run'
    )
    percent: float | None = Field(
        default=None,
        ge=0,
        le=100,
        strict=False,
        description="percentage of the users; users who are included stay included when the number grows",
    )
    users: tuple[Name | int, ...] | None = Field(
        default=None, strict=False, min_length=1, description="names or user ids of the owners of jobs"
    )
    accounts: tuple[Name, ...] | None = Field(
        default=None, strict=False, min_length=1, description="accounts that are charged"
    )
    partitions: tuple[Name, ...] | None = Field(
        default=None, strict=False, min_length=1, description="partitions, of which the request names at least one"
    )
    otherwise: Mode = Field(
        default="observe", description="mode for requests that do not meet all conditions of the four keys above"
    )
    note: str | None = Field(
        default=None, description="text that follows each warning to a user, such as a date and an address for help"
    )

    def rollout(self) -> Rollout:
        """Convert the table to the form that handlers have."""
        return Rollout(**{key: getattr(self, key) for key in KEYS})


class RuleDefaults(Section):
    """``[rules.defaults]``: defaults for all ready-made rules, which ``[[rule]]`` lists."""

    help_url: str | None = Field(default=None, description="address of a page, shown below the messages of rules")
    updates: Literal["check", "refuse", "ignore"] = Field(
        default="check", description="what rules do about scontrol update, unless they say otherwise"
    )
    except_users: tuple[Name, ...] = Field(
        default=(), strict=False, description="users who are exempt from all rules; a rule may exempt more"
    )
    except_groups: tuple[Name, ...] = Field(
        default=(),
        strict=False,
        description="Unix groups whose members are exempt from all rules; a rule may exempt more",
    )
    except_accounts: tuple[Name, ...] = Field(
        default=(), strict=False, description="accounts that are exempt from all rules; a rule may exempt more"
    )
    default_partition: str | None = Field(
        default=None,
        min_length=1,
        description="the partition of jobs that name none; by default rules ask slurmctld, which needs a build"
        " with Slurm's sources",
    )


class Rules(RuleTexts):
    """``[rules]``: what users are told by rules; and the tables defaults, exemptions, cases and modes.

    Attributes:
        exemptions, cases: as written in the file, see Config.rule.
    """

    defaults: RuleDefaults = Field(default=RuleDefaults(), description="defaults for all ready-made rules")
    exemptions: tuple[dict[str, Any], ...] = Field(
        default=(), strict=False, description="exemptions from ready-made rules until a day"
    )
    cases: tuple[dict[str, Any], ...] = Field(
        default=(), strict=False, description="requests with their expected outcomes, which `check --cases` tries"
    )
    modes: dict[str, HandlerMode] = Field(default={}, description="modes of rules and handlers, by their labels")


class Config(Tables):
    """The whole file.

    Attributes:
        rule: the ready-made rules as written in the file; slurmhooks.rules.catalogue validates them in the processes
            that apply them, so that launches need not import the rules.
    """

    node: Node = Node()
    rules: Rules = Rules()
    rule: tuple[dict[str, Any], ...] = Field(
        default=(), strict=False, description="ready-made rules, each with its name in the key rule"
    )

    def rollouts(self) -> dict[str, Rollout]:
        """Return modes and shares by the labels of handlers."""
        return {label: mode.rollout() for label, mode in self.rules.modes.items()}
