# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of slurmhooks.toml that only processes of slurmctld and the programs of power saving read."""

from __future__ import annotations

from slurmhooks.config.keys import BOOL, FLOAT, INT, SIZE, SIZE_OR_UNLIMITED, TEXT, TEXTS, Table, key, tables


def plugin_name(value: str | None) -> str | None:
    """Return the name of a jobcomp plugin."""
    if value is not None and (not value.isascii() or not value.isidentifier()):
        raise ValueError("must be the name of a jobcomp plugin such as filetxt")
    return value


def absolute(value: str | None) -> str | None:
    """Return the absolute path of a folder."""
    if value is not None and not (value.startswith("/") and value.isprintable()):
        raise ValueError("must be an absolute path")
    return value


FILE_MODES = {"owner": 0o600, "group": 0o640, "everyone": 0o644}
"""The modes of files with metrics, by their readers."""


class Workers(Table):
    """The keys that the sections of all slurmctld plugins share: each plugin has its own worker processes."""

    reload: bool = key(BOOL, True, "load changed hook files without a restart of slurmctld")
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


class JobEnd(Deliveries, Workers):
    """``[job_end]``: for slurmctld's jobcomp/python, job start and end; and for ``sacct -c``."""

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


class Priority(OfAnyUser):
    """``[priority]``: for slurmctld, when it computes priorities."""

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

    sockets: str | None = key(
        TEXT,
        None,
        "folder for a Unix socket of each plugin, such as job_submit.sock, that serves OpenMetrics",
        check=absolute,
    )
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
        "who may read sockets and files: SlurmUser only, its group as well, or everyone",
        words=tuple(FILE_MODES),
    )


class PolicyTexts(Table):
    """``[policy]``: what users are told by rules; its other tables are the modes of handlers, by their labels."""

    refusals: str = key(
        TEXT,
        "first",
        "what a user is told of a request that several rules refuse: the first refusal, or all at once",
        words=("first", "all"),
    )
    rule_ids: bool = key(BOOL, True, "end the first line of each refusal with the label of the handler, in brackets")
    notices: str = key(
        TEXT,
        "daily",
        "how often a user reads the same notice or warning: once a day, and never with sbatch --parsable; or always",
        words=("daily", "always"),
    )


class Tables(Table):
    """These tables, by their names in the file."""

    job_submit: JobSubmit = JobSubmit()
    job_end: JobEnd = JobEnd()
    priority: Priority = Priority()
    prep: Prep = Prep()
    power: Power = Power()
    decisions: Decisions = Decisions()
    metrics: Metrics = Metrics()


TABLES = tables(Tables)
