# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of slurmhooks.toml that only processes of slurmctld and its programs read."""

from __future__ import annotations

from slurmhooks.config.keys import BOOL, FLOAT, INT, SIZE, SIZE_OR_UNLIMITED, TEXT, TEXTS, Table, key, size, tables
from slurmhooks.hooks.terms import seconds


def plugin_name(value: str | None) -> str | None:
    """Return the name of a jobcomp plugin."""
    if value is not None and (not value.isascii() or not value.isidentifier()):
        raise ValueError("must be the name of a jobcomp plugin such as filetxt")
    return value


def duration(value: str | None) -> str | None:
    """Return a text such as "10m", of at most a day."""
    length = seconds(value)
    if value is not None and not (isinstance(length, int) and 0 < length <= LONGEST):
        raise ValueError('must be a duration such as "10m", of at most "1d"')
    return value


def absolute(value: str | None) -> str | None:
    """Return the absolute path of a folder."""
    if value is not None and not (value.startswith("/") and value.isprintable()):
        raise ValueError("must be an absolute path")
    return value


def pool(value: str) -> str:
    """Return a pool of burst buffers, see :func:`pool_of`."""
    pool_of(value)
    return value


def pool_of(text: str) -> tuple[str, int, int]:
    """Return name, quantity and granularity of a pool such as "flash:100GiB:1GiB"."""
    name, *sizes = text.split(":")
    numbers = [int(each) if each.isdecimal() else size(each) for each in sizes]
    if not name.isascii() or not name.replace("-", "_").isidentifier() or not 1 <= len(numbers) <= 2 or None in numbers:
        raise ValueError('must be a name, its size and perhaps the unit of requests, as in "flash:100GiB:1GiB"')
    total, unit = (*numbers, 1)[:2]
    if not 0 < unit <= total < 1 << 63:
        raise ValueError("a pool must not be smaller than the unit of requests, which is at least 1")
    return name, total // unit, unit


def variable(value: str) -> str:
    """Return an environment variable such as "SCRATCH=/flash/%j"."""
    name, equals, text = value.partition("=")
    if not equals or not name.isascii() or not name.isidentifier() or not value.isprintable() or "=" in text:
        raise ValueError('must be a variable, as in "SCRATCH=/flash/%j", without a second "="')
    if "%" in text.replace("%j", ""):
        raise ValueError("only %j is replaced, by the id of the job")
    return value


LONGEST = 86400
"""Seconds for which mails are collected at most."""
FILE_MODES = {"owner": 0o600, "group": 0o640, "everyone": 0o644}
"""The modes of files with metrics, by their readers."""


class Workers(Table):
    """The keys that the sections of all slurmctld plugins share: each plugin has its own worker processes."""

    workers: int = key(INT, 1, "number of requests that are served at the same time, each by a process", 1, 64)
    timeout: float = key(
        FLOAT, 2.0, "seconds for a request, including the wait for a free worker; then the worker is killed", 0.01, 60.0
    )
    memory_limit: int | None = key(
        SIZE_OR_UNLIMITED,
        1 << 30,
        'private memory of a worker, and of each program that it starts: bytes, "512MiB" or "unlimited"',
        64 << 20,
    )
    process_limit: int = key(
        INT, 4096, "limit on all processes and threads of the user who runs the workers; not enforced for root", 1
    )
    open_file_limit: int = key(INT, 1024, "open files of a worker, and of each program that it starts", 64)
    no_new_privs: bool = key(
        BOOL, True, "programs that handlers start gain no privileges from setuid bits or file capabilities; sudo fails"
    )


class OfAnyUser(Workers):
    """The keys that sections have in common if their workers use no files of SlurmUser."""

    user: str | None = key(
        TEXT, None, "the user who runs hook files and handlers, if SlurmUser is root; by default SlurmUser"
    )


class JobSubmit(OfAnyUser):
    """``[job_submit]``: for slurmctld."""

    on_unavailable: str = key(
        TEXT, "reject", "what happens to requests while no worker can serve them", words=("reject", "accept")
    )
    lua: str | None = key(TEXT, None, "a job_submit.lua to run besides the hook files; relative to this file")
    lua_on_error: str | None = key(
        TEXT,
        None,
        "what an error in its functions does to the request; by default as in Slurm: accept before 26.05",
        words=("accept", "reject"),
    )
    lua_order: int = key(
        INT, 50, "its place among the handlers: low orders run first, and it runs before handlers of the same order"
    )


class Deliveries(Table):
    """The keys of sections whose calls wait in a spool."""

    timeout: float = key(FLOAT, 30.0, "time limit of a handler in seconds; then its worker is killed", 0.01, 3600.0)
    tries: int = key(INT, 20, "failed attempts after which a record becomes a dead letter", 1, 1000)
    backoff: float = key(
        FLOAT, 5.0, "seconds before the second attempt; doubled before each further attempt", 0.01, 3600.0
    )
    backoff_limit: float = key(FLOAT, 3600.0, "maximum number of seconds between two attempts", 0.01, 86400.0)


class JobComp(Deliveries, Workers):
    """``[jobcomp]``: for slurmctld's jobcomp/python, job start and end; and for ``sacct -c``."""

    workers: int = key(INT, 1, "how many records are delivered at the same time, each by its own process", 1, 8)
    next: str | None = key(
        TEXT,
        None,
        'another jobcomp plugin that also gets every call, such as "filetxt"; read when slurmctld starts',
        check=plugin_name,
    )
    spool: str | None = key(
        TEXT,
        None,
        "folder for waiting records; by default slurmhooks in StateSaveLocation; read when slurmctld starts",
        check=absolute,
    )
    spool_size: int = key(
        SIZE,
        256 << 20,
        'disk space for waiting records and dead letters: bytes or "512MiB"; read when slurmctld starts',
        1 << 20,
    )
    fsync: str = key(
        TEXT,
        "interval",
        "when records are synced to the disk: before slurmctld continues, once a second, or when the kernel"
        " decides; matters only if the machine itself fails; read when slurmctld starts",
        words=("always", "interval", "never"),
    )


class Power(Deliveries):
    """``[power]``: for ResumeProgram, SuspendProgram, ResumeFailProgram and RebootProgram."""

    timeout: float = key(FLOAT, 300.0, "time limit of a call in seconds; then its handlers are killed", 0.01, 86400.0)


class Mail(Deliveries):
    """``[mail]``: for MailProg."""

    timeout: float = key(FLOAT, 60.0, "time limit of a mail in seconds; then its handlers are killed", 0.01, 86400.0)
    tries: int = key(
        INT, 130, "failed attempts after which a mail becomes a dead letter, with the pauses after 5 days", 1, 1000
    )
    digest: str | None = key(
        TEXT,
        None,
        'how long mails of a user to the same recipients are collected for one, such as "10m"; by default none are',
        check=duration,
    )


class Reservation(Deliveries):
    """``[reservation]``: for ResvProlog and ResvEpilog."""

    timeout: float = key(FLOAT, 300.0, "time limit of a call in seconds; then its handlers are killed", 0.01, 86400.0)


class BurstBuffer(Table):
    """``[burst_buffer]``: for slurmctld's burst_buffer/lua."""

    pools: tuple[str, ...] = key(
        TEXTS,
        (),
        "the pools that jobs may ask for: name, size, and the unit to which requests are rounded up, as in"
        ' "flash:100GiB:1GiB"; by default users ask for no size',
        check=pool,
    )
    environment: tuple[str, ...] = key(
        TEXTS,
        (),
        'variables that jobs with a burst buffer get, as in "SCRATCH=/flash/%j"; %j is the id of the job',
        check=variable,
    )


class SiteFactor(OfAnyUser):
    """``[site_factor]``: for slurmctld, when it computes priorities."""

    workers: int = key(
        INT, 2, "processes that run handlers: one for waiting jobs, so that new jobs always find a free one", 2, 64
    )
    timeout: float = key(
        FLOAT,
        1.0,
        "time limit of the handlers in seconds, for a new job or for a batch of 500 waiting jobs",
        0.01,
        60.0,
    )


class Prep(OfAnyUser):
    """``[prep]``: for slurmctld, when jobs start and end."""

    timeout: float = key(
        FLOAT,
        60.0,
        "time limit of the handlers for a job in seconds, including the wait for a free worker",
        0.01,
        3600.0,
    )
    on_unavailable: str = key(
        TEXT, "reject", "whether a job starts or is requeued if no worker can serve it", words=("reject", "accept")
    )


class Decisions(Table):
    """``[decisions]``: the decision log of slurmctld's plugins."""

    enabled: bool = key(BOOL, True, "write the decision log")
    folder: str | None = key(
        TEXT,
        None,
        "folder of its files, one for each plugin; by default slurmhooks beside SlurmctldLogFile",
        check=absolute,
    )
    max_size: int = key(SIZE, 64 << 20, 'size at which a file is rotated: bytes or "64MiB"', 1 << 16)
    keep: int = key(INT, 9, "number of rotated files that are kept", 1, 1000)
    sample: float = key(
        FLOAT,
        1.0,
        "share of the accepted requests that are logged; refusals, warnings, exemptions and bugs are always logged",
        0.0,
        1.0,
    )
    include: tuple[str, ...] = key(
        TEXTS,
        (),
        'secrets to log when handlers change them: "script" (with arguments), "environment"',
        words=("script", "environment"),
    )


class Metrics(Table):
    """``[metrics]``: the metrics of slurmctld's plugins; off by default."""

    textfiles: str | None = key(
        TEXT,
        None,
        "folder for a file of each plugin, such as slurmhooks_job_submit.prom, for node_exporter",
        check=absolute,
    )
    interval: float = key(FLOAT, 15.0, "seconds between two updates of these files", 0.1, 3600.0)
    readers: str = key(
        TEXT,
        "everyone",
        "who may read the files: SlurmUser only, its group as well, or everyone",
        words=tuple(FILE_MODES),
    )


class RuleTexts(Table):
    """``[rules]``: what users are told by rules."""

    refusals: str = key(
        TEXT,
        "first",
        "what a user is told of a request that several rules refuse: the first refusal, or all at once",
        words=("first", "all"),
    )
    rule_ids: bool = key(BOOL, True, "end the first line of each refusal with the label of the handler, in parentheses")
    notices: str = key(
        TEXT,
        "daily",
        "how often a user reads the same notice or warning: once a day, and never with sbatch --parsable; or always",
        words=("daily", "always"),
    )


class Tables(Table):
    """These tables, by their names in the file."""

    job_submit: JobSubmit = JobSubmit()
    jobcomp: JobComp = JobComp()
    site_factor: SiteFactor = SiteFactor()
    prep: Prep = Prep()
    power: Power = Power()
    mail: Mail = Mail()
    reservation: Reservation = Reservation()
    burst_buffer: BurstBuffer = BurstBuffer()
    decisions: Decisions = Decisions()
    metrics: Metrics = Metrics()


TABLES = tables(Tables)
