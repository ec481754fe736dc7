# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of slurmhooks.toml; slurmhooks.config reads them.

Launches avoid this module where they can, because it imports pydantic, which is slow.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from slurmhooks.hooks.rollout import KEYS, Rollout
from slurmhooks.log import LIMIT

Name = Annotated[str, Field(min_length=1)]


class Section(BaseModel):
    """A table of the file. Unknown keys are refused, and nothing is converted implicitly."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Hooks(Section):
    """``[hooks]``: the sources of handlers."""

    paths: tuple[Name, ...] = Field(default=(), strict=False, description="hook files, as globs; relative to this file")
    modules: tuple[Name, ...] = Field(
        default=(), strict=False, description="import names of installed packages that contain handlers"
    )
    packages: tuple[Name, ...] = Field(
        default=(),
        strict=False,
        description="folders of packages that hook files may import; relative to this file",
    )
    require: tuple[Name, ...] = Field(
        default=(),
        strict=False,
        description='handlers without which no configuration goes into service, as in ["limits:require_account"]',
    )


UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def _bytes(value: Any) -> Any:
    """Convert a size such as ``"512MiB"`` to bytes, and "unlimited" to None; leave other values to the model."""
    if not isinstance(value, str):
        return value
    if value == "unlimited":
        return None
    number, unit = value[:-3].strip(), UNITS.get(value[-3:])
    if unit is None or not number.isdecimal():
        raise ValueError(f"must be bytes, a size such as 512MiB (in {', '.join(UNITS)}) or unlimited")
    return int(number) * unit


class Workers(Section):
    """The keys that the sections of all slurmctld plugins share: each plugin has its own worker processes."""

    reload: bool = Field(default=True, description="load changed hook files without a restart of slurmctld")
    workers: int = Field(
        default=1,
        ge=1,
        le=64,
        description="number of requests that are served at the same time, each by a process",
    )
    timeout: float = Field(
        default=2.0,
        ge=0.01,
        le=60.0,
        description="seconds for a request, including the wait for a free worker; then the worker is killed",
    )
    memory_limit: Annotated[int | None, BeforeValidator(_bytes)] = Field(
        default=1 << 30,
        ge=64 << 20,
        description='private memory of a worker, and of each program that it starts: bytes, "512MiB" or "unlimited"',
    )
    process_limit: int = Field(
        default=4096,
        ge=1,
        description="limit on all processes and threads of the user who runs the workers; not enforced for root",
    )
    open_file_limit: int = Field(
        default=1024, ge=64, description="open files of a worker, and of each program that it starts"
    )
    no_new_privs: bool = Field(
        default=True,
        description="programs that handlers start gain no privileges from setuid bits or file capabilities; sudo fails",
    )


class OfAnyUser(Workers):
    """The keys that sections have in common if their workers use no files of SlurmUser."""

    user: Name | None = Field(
        default=None,
        description="the user who runs hook files and handlers, if SlurmUser is root; by default SlurmUser",
    )


class JobSubmit(OfAnyUser):
    """``[job_submit]``: for slurmctld."""

    on_unavailable: Literal["reject", "accept"] = Field(
        default="reject", description="what happens to requests while no worker can serve them"
    )
    lua: str | None = Field(
        default=None, min_length=1, description="a job_submit.lua to run besides the hook files; relative to this file"
    )
    lua_on_error: Literal["accept", "reject"] | None = Field(
        default=None,
        description="what an error in its functions does to the request; by default as in Slurm: accept before 26.05",
    )
    lua_order: int = Field(
        default=50,
        description="its place among the handlers: low orders run first, and it runs before handlers of the same order",
    )


def _plugin_name(value: str | None) -> str | None:
    """Return the name of a jobcomp plugin."""
    if value is not None and (not value.isascii() or not value.isidentifier()):
        raise ValueError("must be the name of a jobcomp plugin such as filetxt")
    return value


def _absolute(value: str | None) -> str | None:
    """Return the absolute path of a folder."""
    if value is not None and not (value.startswith("/") and value.isprintable()):
        raise ValueError("must be an absolute path")
    return value


class Deliveries(Section):
    """The keys of sections whose calls wait in a spool."""

    timeout: float = Field(
        default=30.0, ge=0.01, le=3600.0, description="time limit of a handler in seconds; then its worker is killed"
    )
    tries: int = Field(
        default=20, ge=1, le=1000, description="failed attempts after which a record becomes a dead letter"
    )
    backoff: float = Field(
        default=5.0,
        ge=0.01,
        le=3600.0,
        description="seconds before the second attempt; doubled before each further attempt",
    )
    backoff_limit: float = Field(
        default=3600.0, ge=0.01, le=86400.0, description="maximum number of seconds between two attempts"
    )


class JobEnd(Deliveries, Workers):
    """``[job_end]``: for slurmctld's jobcomp/python, job start and end; and for ``sacct -c``."""

    workers: int = Field(
        default=1, ge=1, le=8, description="how many records are delivered at the same time, each by its own process"
    )
    next: Annotated[str | None, AfterValidator(_plugin_name)] = Field(
        default=None,
        description='another jobcomp plugin that also gets every call, such as "filetxt"; read when slurmctld starts',
    )
    spool: Annotated[str | None, AfterValidator(_absolute)] = Field(
        default=None,
        description="folder for waiting records; by default slurmhooks in StateSaveLocation;"
        " read when slurmctld starts",
    )
    spool_size: Annotated[int, BeforeValidator(_bytes)] = Field(
        default=256 << 20,
        ge=1 << 20,
        description='disk space for waiting records and dead letters: bytes or "512MiB"; read when slurmctld starts',
    )
    fsync: Literal["always", "interval", "never"] = Field(
        default="interval",
        description="when records are synced to the disk: before slurmctld continues, once a second, or when the kernel"
        " decides; matters only if the machine itself fails; read when slurmctld starts",
    )


class Power(Deliveries):
    """``[power]``: for ResumeProgram, SuspendProgram and ResumeFailProgram."""

    timeout: float = Field(
        default=300.0,
        ge=0.01,
        le=86400.0,
        description="time limit of a call in seconds; then its handlers are killed",
    )


class Priority(OfAnyUser):
    """``[priority]``: for slurmctld, when it computes priorities."""

    workers: int = Field(
        default=2,
        ge=2,
        le=64,
        description="processes that run handlers: one for waiting jobs, so that new jobs always find a free one",
    )
    timeout: float = Field(
        default=1.0,
        ge=0.01,
        le=60.0,
        description="time limit of the handlers in seconds, for a new job or for a batch of 500 waiting jobs",
    )


class Prep(OfAnyUser):
    """``[prep]``: for slurmctld, when jobs start and end."""

    timeout: float = Field(
        default=60.0,
        ge=0.01,
        le=3600.0,
        description="time limit of the handlers for a job in seconds, including the wait for a free worker",
    )
    on_unavailable: Literal["reject", "accept"] = Field(
        default="reject", description="whether a job starts or is requeued if no worker can serve it"
    )


class Spank(Section):
    """``[spank]``: for srun, sbatch, salloc, slurmd and slurmstepd."""


class Scrun(Section):
    """``[scrun]``: for scrun."""

    lua: str | None = Field(
        default=None,
        min_length=1,
        description="the site's own scrun.lua under another name, to run after the handlers; relative to this file",
    )


class CliFilter(Section):
    """``[cli_filter]``: for sbatch, salloc, srun and scrontab."""

    lua: str | None = Field(
        default=None, min_length=1, description="a cli_filter.lua to run besides the hook files; relative to this file"
    )


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

    version: Literal["5.1", "5.2", "5.3", "5.4", "5.5", "luajit", "luajit2.0", "luajit2.1"] | None = Field(
        default=None, description="the Lua version that runs them; by default that of Slurm's own Lua plugins"
    )


class Log(Section):
    """``[log]``: what is written to Slurm's log."""

    level: Literal["error", "info", "verbose", "debug", "debug2", "debug3"] = Field(
        default="debug3", description="the lowest level at which lines of handlers are passed on to Slurm"
    )
    limit: int = Field(
        default=LIMIT,
        ge=256,
        le=1 << 20,
        description="maximal size in bytes of a record, and of a message to the user; longer ones are cut",
    )


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

    enabled: bool = Field(default=True, description="write the decision log")
    folder: Annotated[str | None, AfterValidator(_absolute)] = Field(
        default=None,
        description="folder of its files, one for each plugin; by default slurmhooks beside SlurmctldLogFile",
    )
    max_size: Annotated[int, BeforeValidator(_bytes)] = Field(
        default=64 << 20, ge=1 << 16, description='size at which a file is rotated: bytes or "64MiB"'
    )
    keep: int = Field(default=9, ge=1, le=1000, description="number of rotated files that are kept")
    sample: float = Field(
        default=1.0,
        ge=0.0,
        le=1.0,
        strict=False,
        description="share of the accepted requests that are logged; refusals, warnings and bugs are always logged",
    )
    include: tuple[Literal["script", "environment"], ...] = Field(
        default=(),
        strict=False,
        description='secrets to log when handlers change them: "script" (with arguments), "environment"',
    )


class Metrics(Section):
    """``[metrics]``: the metrics of slurmctld's plugins; off by default."""

    sockets: Annotated[str | None, AfterValidator(_absolute)] = Field(
        default=None,
        description="folder for a Unix socket of each plugin, such as job_submit.sock, that serves OpenMetrics",
    )
    textfiles: Annotated[str | None, AfterValidator(_absolute)] = Field(
        default=None,
        description="folder for a file of each plugin, such as slurmhooks_job_submit.prom, for node_exporter",
    )
    interval: float = Field(default=15.0, ge=0.1, le=3600.0, description="seconds between two updates of these files")
    readers: Literal["owner", "group", "everyone"] = Field(
        default="everyone",
        description="who may read sockets and files: SlurmUser only, its group as well, or everyone",
    )
