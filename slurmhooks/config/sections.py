# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of slurmhooks.toml and its tables, from the keys of slurmhooks.config.keys; see slurmhooks.config.model.

Launches avoid this module where they can, because it imports pydantic, which is slow.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from slurmhooks.config import keys
from slurmhooks.hooks.rollout import KEYS, Rollout

Name = Annotated[str, Field(min_length=1)]
Size = Annotated[int, BeforeValidator(keys.size)]
SizeOrUnlimited = Annotated[int | None, BeforeValidator(keys.size)]
Folder = Annotated[str | None, AfterValidator(keys.absolute)]
PluginName = Annotated[str | None, AfterValidator(keys.plugin_name)]


class _Words:
    """Makes a text one of the words of a key."""

    def __init__(self, key: keys.Key) -> None:
        """Store the key."""
        self._words = key.words

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the words."""
        return handler.generate_schema(Literal[self._words])


def _field(key: keys.Key, *, strict: bool | None = None) -> Any:
    """Return the field of a model for a key."""
    limits: dict[str, Any] = {"ge": key.least, "le": key.most}
    if key.kind == keys.TEXT and not key.words and key.check is None:
        limits["min_length"] = 1
    given = {name: value for name, value in limits.items() if value is not None}
    strict = False if key.kind == keys.TEXTS else strict
    return Field(default=key.default, description=key.description, strict=strict, **given)


class Section(BaseModel):
    """A table of the file. Unknown keys are refused, and nothing is converted implicitly."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Hooks(Section):
    """``[hooks]``: the sources of handlers."""

    paths: tuple[Name, ...] = _field(keys.HOOKS["paths"])
    modules: tuple[Name, ...] = _field(keys.HOOKS["modules"])
    packages: tuple[Name, ...] = _field(keys.HOOKS["packages"])
    require: tuple[Name, ...] = _field(keys.HOOKS["require"])


class Workers(Section):
    """The keys that the sections of all slurmctld plugins share: each plugin has its own worker processes."""

    reload: bool = _field(keys.WORKERS["reload"])
    workers: int = _field(keys.WORKERS["workers"])
    timeout: float = _field(keys.WORKERS["timeout"])
    memory_limit: SizeOrUnlimited = _field(keys.WORKERS["memory_limit"])
    process_limit: int = _field(keys.WORKERS["process_limit"])
    open_file_limit: int = _field(keys.WORKERS["open_file_limit"])
    no_new_privs: bool = _field(keys.WORKERS["no_new_privs"])


class OfAnyUser(Workers):
    """The keys that sections have in common if their workers use no files of SlurmUser."""

    user: str | None = _field(keys.OF_ANY_USER["user"])


class JobSubmit(OfAnyUser):
    """``[job_submit]``: for slurmctld."""

    on_unavailable: Annotated[str, _Words(keys.JOB_SUBMIT["on_unavailable"])] = _field(
        keys.JOB_SUBMIT["on_unavailable"]
    )
    lua: str | None = _field(keys.JOB_SUBMIT["lua"])
    lua_on_error: Annotated[str, _Words(keys.JOB_SUBMIT["lua_on_error"])] | None = _field(
        keys.JOB_SUBMIT["lua_on_error"]
    )
    lua_order: int = _field(keys.JOB_SUBMIT["lua_order"])


class Deliveries(Section):
    """The keys of sections whose calls wait in a spool."""

    timeout: float = _field(keys.DELIVERIES["timeout"])
    tries: int = _field(keys.DELIVERIES["tries"])
    backoff: float = _field(keys.DELIVERIES["backoff"])
    backoff_limit: float = _field(keys.DELIVERIES["backoff_limit"])


class JobEnd(Deliveries, Workers):
    """``[job_end]``: for slurmctld's jobcomp/python, job start and end; and for ``sacct -c``."""

    workers: int = _field(keys.JOB_END["workers"])
    next: PluginName = _field(keys.JOB_END["next"])
    spool: Folder = _field(keys.JOB_END["spool"])
    spool_size: Size = _field(keys.JOB_END["spool_size"])
    fsync: Annotated[str, _Words(keys.JOB_END["fsync"])] = _field(keys.JOB_END["fsync"])


class Power(Deliveries):
    """``[power]``: for ResumeProgram, SuspendProgram, ResumeFailProgram and RebootProgram."""

    timeout: float = _field(keys.POWER["timeout"])


class Priority(OfAnyUser):
    """``[priority]``: for slurmctld, when it computes priorities."""

    workers: int = _field(keys.PRIORITY["workers"])
    timeout: float = _field(keys.PRIORITY["timeout"])


class Prep(OfAnyUser):
    """``[prep]``: for slurmctld, when jobs start and end."""

    timeout: float = _field(keys.PREP["timeout"])
    on_unavailable: Annotated[str, _Words(keys.PREP["on_unavailable"])] = _field(keys.PREP["on_unavailable"])


class Spank(Section):
    """``[spank]``: for srun, sbatch, salloc, slurmd and slurmstepd."""


class Scrun(Section):
    """``[scrun]``: for scrun."""

    lua: str | None = _field(keys.SCRUN["lua"])


class CliFilter(Section):
    """``[cli_filter]``: for sbatch, salloc, srun and scrontab."""

    lua: str | None = _field(keys.CLI_FILTER["lua"])


def _brake(value: Any) -> Any:
    """Check a number of nodes or a share of them; numbers become texts."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not text.removesuffix("%").isdecimal():
        raise ValueError('must be a number of nodes, or a share such as "10%"')
    return text


class Health(Section):
    """``[health]``: for slurmhooks_health, the HealthCheckProgram of compute nodes."""

    timeout: float = Field(
        default=45.0,
        ge=1.0,
        le=3600.0,
        description="seconds for all checks of a run together; Slurm kills the program after 60 s, or from 26.05 on"
        " after HealthCheckTimeout",
    )
    at_most: Annotated[str, BeforeValidator(_brake)] = Field(
        default="10%",
        description='the most nodes that are drained by the user of slurmd at a time: a number or a share such as "5%"',
    )
    checks: tuple[dict[str, Any], ...] = Field(
        default=(), strict=False, description="ready-made checks, each with its name in the key check"
    )


class Lua(Section):
    """``[lua]``: for Lua scripts."""

    version: Annotated[str, _Words(keys.LUA["version"])] | None = _field(keys.LUA["version"])


class Log(Section):
    """``[log]``: what is written to Slurm's log."""

    level: Annotated[str, _Words(keys.LOG["level"])] = _field(keys.LOG["level"])
    limit: int = _field(keys.LOG["limit"])


Mode = Literal["enforce", "warn", "observe", "off"]


class Policy(Section):
    """``[policy."LABEL"]``: the mode of a job_submit or job_modify handler, and the requests that the mode is for.

    The label is that of ``slurmhooks check``, as in ``[policy."limits:require_account"]``. The table replaces what the
    decorator of the handler says.
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


class Policies(BaseModel):
    """``[policy]``: what users are told by rules; its other tables are the modes of handlers, by their labels."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, Policy] = Field(init=False)

    refusals: Annotated[str, _Words(keys.POLICY["refusals"])] = _field(keys.POLICY["refusals"])
    rule_ids: bool = _field(keys.POLICY["rule_ids"])
    notices: Annotated[str, _Words(keys.POLICY["notices"])] = _field(keys.POLICY["notices"])

    @property
    def modes(self) -> dict[str, Policy]:
        """The tables of handlers, by their labels."""
        return dict(self.__pydantic_extra__)


class PolicyDefaults(Section):
    """``[policy_defaults]``: defaults for all ready-made rules, which ``[[policies]]`` lists."""

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


class Decisions(Section):
    """``[decisions]``: the decision log of slurmctld's plugins."""

    enabled: bool = _field(keys.DECISIONS["enabled"])
    folder: Folder = _field(keys.DECISIONS["folder"])
    max_size: Size = _field(keys.DECISIONS["max_size"])
    keep: int = _field(keys.DECISIONS["keep"])
    sample: float = _field(keys.DECISIONS["sample"], strict=False)
    include: tuple[Annotated[str, _Words(keys.DECISIONS["include"])], ...] = _field(keys.DECISIONS["include"])


class Metrics(Section):
    """``[metrics]``: the metrics of slurmctld's plugins; off by default."""

    sockets: Folder = _field(keys.METRICS["sockets"])
    textfiles: Folder = _field(keys.METRICS["textfiles"])
    interval: float = _field(keys.METRICS["interval"])
    readers: Annotated[str, _Words(keys.METRICS["readers"])] = _field(keys.METRICS["readers"])


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
    policy: Policies = Policies()
    policy_defaults: PolicyDefaults = PolicyDefaults()
    policies: tuple[dict[str, Any], ...] = Field(
        default=(), strict=False, description="ready-made rules, each with its name in the key rule"
    )

    def rollouts(self) -> dict[str, Rollout]:
        """Return modes and shares by the labels of handlers."""
        return {label: policy.rollout() for label, policy in self.policy.modes.items()}
