# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of slurmhooks.toml as plain data, from which the model and the check of launches are made.

A launch without a manifest imports this module instead of the model, because the model imports pydantic, which takes
longer than the rest of a launch.
"""

from __future__ import annotations

from slurmhooks.log import DEBUG3, LEVELS, LIMIT, USER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

BOOL, INT, FLOAT, TEXT, TEXTS, SIZE, SIZE_OR_UNLIMITED = range(7)
"""The kinds of values. A size is a number of bytes, or a text with a unit."""
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Key:
    """A key of a table.

    Attributes:
        kind: one of the kinds above.
        default: the value if the file does not have the key.
        description: a text for the reference.
        least: the smallest number that is valid; None: no limit.
        most: the largest number that is valid; None: no limit.
        words: the only valid texts; empty: all that are not empty are valid.
        check: returns a valid text or None, and raises ValueError for any other text; None: no check.
    """

    __slots__ = ("check", "default", "description", "kind", "least", "most", "words")

    def __init__(
        self,
        kind: int,
        default: Any,
        description: str,
        least: float | None = None,
        most: float | None = None,
        *,
        words: tuple[str, ...] = (),
        check: Callable[[str | None], str | None] | None = None,
    ) -> None:
        """Store the arguments; see the class."""
        self.kind = kind
        self.default = default
        self.description = description
        self.least = least
        self.most = most
        self.words = words
        self.check = check

    def is_valid(self, value: object) -> bool:
        """Tell whether a value is valid as it is; otherwise the model decides, and says what is wrong."""
        if self.kind == TEXTS:
            return type(value) is list and all(map(self._is_text, value))
        if self.kind == TEXT:
            return self._is_text(value)
        if self.kind == BOOL:
            return type(value) is bool
        if self.kind >= SIZE:
            try:
                value = size(value)
            except ValueError:
                return False
            if value is None:
                return self.kind == SIZE_OR_UNLIMITED
        if type(value) is not int and (type(value) is not float or self.kind != FLOAT):
            return False
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def convert(self, value: Any) -> Any:
        """Return what a valid value means to the model."""
        if self.kind == TEXTS:
            return tuple(value)
        if self.kind == FLOAT:
            return float(value)
        return size(value) if self.kind >= SIZE else value

    def _is_text(self, value: object) -> bool:
        if type(value) is not str or not value or (self.words and value not in self.words):
            return False
        try:
            return self.check is None or self.check(value) is not None
        except ValueError:
            return False


def size(value: Any) -> Any:
    """Convert a size such as ``"512MiB"`` to bytes, and "unlimited" to None; return other values as they are."""
    if not isinstance(value, str):
        return value
    if value == "unlimited":
        return None
    number, unit = value[:-3].strip(), UNITS.get(value[-3:])
    if unit is None or not number.isdecimal():
        raise ValueError(f"must be bytes, a size such as 512MiB (in {', '.join(UNITS)}) or unlimited")
    return int(number) * unit


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


HOOKS: dict[str, Key] = {
    "paths": Key(TEXTS, (), "hook files, as globs; relative to this file"),
    "modules": Key(TEXTS, (), "import names of installed packages that contain handlers"),
    "packages": Key(TEXTS, (), "folders of packages that hook files may import; relative to this file"),
    "require": Key(
        TEXTS, (), 'handlers without which no configuration goes into service, as in ["limits:require_account"]'
    ),
}
WORKERS: dict[str, Key] = {
    "reload": Key(BOOL, True, "load changed hook files without a restart of slurmctld"),
    "workers": Key(INT, 1, "number of requests that are served at the same time, each by a process", 1, 64),
    "timeout": Key(
        FLOAT, 2.0, "seconds for a request, including the wait for a free worker; then the worker is killed", 0.01, 60.0
    ),
    "memory_limit": Key(
        SIZE_OR_UNLIMITED,
        1 << 30,
        'private memory of a worker, and of each program that it starts: bytes, "512MiB" or "unlimited"',
        64 << 20,
    ),
    "process_limit": Key(
        INT, 4096, "limit on all processes and threads of the user who runs the workers; not enforced for root", 1
    ),
    "open_file_limit": Key(INT, 1024, "open files of a worker, and of each program that it starts", 64),
    "no_new_privs": Key(
        BOOL, True, "programs that handlers start gain no privileges from setuid bits or file capabilities; sudo fails"
    ),
}
OF_ANY_USER: dict[str, Key] = {
    **WORKERS,
    "user": Key(TEXT, None, "the user who runs hook files and handlers, if SlurmUser is root; by default SlurmUser"),
}
JOB_SUBMIT: dict[str, Key] = {
    **OF_ANY_USER,
    "on_unavailable": Key(
        TEXT, "reject", "what happens to requests while no worker can serve them", words=("reject", "accept")
    ),
    "lua": Key(TEXT, None, "a job_submit.lua to run besides the hook files; relative to this file"),
    "lua_on_error": Key(
        TEXT,
        None,
        "what an error in its functions does to the request; by default as in Slurm: accept before 26.05",
        words=("accept", "reject"),
    ),
    "lua_order": Key(
        INT, 50, "its place among the handlers: low orders run first, and it runs before handlers of the same order"
    ),
}
DELIVERIES: dict[str, Key] = {
    "timeout": Key(FLOAT, 30.0, "time limit of a handler in seconds; then its worker is killed", 0.01, 3600.0),
    "tries": Key(INT, 20, "failed attempts after which a record becomes a dead letter", 1, 1000),
    "backoff": Key(FLOAT, 5.0, "seconds before the second attempt; doubled before each further attempt", 0.01, 3600.0),
    "backoff_limit": Key(FLOAT, 3600.0, "maximum number of seconds between two attempts", 0.01, 86400.0),
}
"""The keys of tables whose calls wait in a spool."""
JOB_END: dict[str, Key] = {
    **WORKERS,
    **DELIVERIES,
    "workers": Key(INT, 1, "how many records are delivered at the same time, each by its own process", 1, 8),
    "next": Key(
        TEXT,
        None,
        'another jobcomp plugin that also gets every call, such as "filetxt"; read when slurmctld starts',
        check=plugin_name,
    ),
    "spool": Key(
        TEXT,
        None,
        "folder for waiting records; by default slurmhooks in StateSaveLocation; read when slurmctld starts",
        check=absolute,
    ),
    "spool_size": Key(
        SIZE,
        256 << 20,
        'disk space for waiting records and dead letters: bytes or "512MiB"; read when slurmctld starts',
        1 << 20,
    ),
    "fsync": Key(
        TEXT,
        "interval",
        "when records are synced to the disk: before slurmctld continues, once a second, or when the kernel"
        " decides; matters only if the machine itself fails; read when slurmctld starts",
        words=("always", "interval", "never"),
    ),
}
POWER: dict[str, Key] = {
    **DELIVERIES,
    "timeout": Key(FLOAT, 300.0, "time limit of a call in seconds; then its handlers are killed", 0.01, 86400.0),
}
PRIORITY: dict[str, Key] = {
    **OF_ANY_USER,
    "workers": Key(
        INT, 2, "processes that run handlers: one for waiting jobs, so that new jobs always find a free one", 2, 64
    ),
    "timeout": Key(
        FLOAT,
        1.0,
        "time limit of the handlers in seconds, for a new job or for a batch of 500 waiting jobs",
        0.01,
        60.0,
    ),
}
PREP: dict[str, Key] = {
    **OF_ANY_USER,
    "timeout": Key(
        FLOAT,
        60.0,
        "time limit of the handlers for a job in seconds, including the wait for a free worker",
        0.01,
        3600.0,
    ),
    "on_unavailable": Key(
        TEXT, "reject", "whether a job starts or is requeued if no worker can serve it", words=("reject", "accept")
    ),
}
SPANK: dict[str, Key] = {}
SCRUN: dict[str, Key] = {
    "lua": Key(
        TEXT, None, "the site's own scrun.lua under another name, to run after the handlers; relative to this file"
    ),
}
CLI_FILTER: dict[str, Key] = {
    "lua": Key(TEXT, None, "a cli_filter.lua to run besides the hook files; relative to this file"),
}
LUA: dict[str, Key] = {
    "version": Key(
        TEXT,
        None,
        "the Lua version that runs them; by default that of Slurm's own Lua plugins",
        words=("5.1", "5.2", "5.3", "5.4", "5.5", "luajit", "luajit2.0", "luajit2.1"),
    ),
}
LOG: dict[str, Key] = {
    "level": Key(
        TEXT, LEVELS[DEBUG3], "the lowest level at which lines of handlers are passed on to Slurm", words=LEVELS[:USER]
    ),
    "limit": Key(
        INT, LIMIT, "maximal size in bytes of a record, and of a message to the user; longer ones are cut", 256, 1 << 20
    ),
}
DECISIONS: dict[str, Key] = {
    "enabled": Key(BOOL, True, "write the decision log"),
    "folder": Key(
        TEXT,
        None,
        "folder of its files, one for each plugin; by default slurmhooks beside SlurmctldLogFile",
        check=absolute,
    ),
    "max_size": Key(SIZE, 64 << 20, 'size at which a file is rotated: bytes or "64MiB"', 1 << 16),
    "keep": Key(INT, 9, "number of rotated files that are kept", 1, 1000),
    "sample": Key(
        FLOAT,
        1.0,
        "share of the accepted requests that are logged; refusals, warnings and bugs are always logged",
        0.0,
        1.0,
    ),
    "include": Key(
        TEXTS,
        (),
        'secrets to log when handlers change them: "script" (with arguments), "environment"',
        words=("script", "environment"),
    ),
}
FILE_MODES = {"owner": 0o600, "group": 0o640, "everyone": 0o644}
"""The modes of files with metrics, by their readers."""
METRICS: dict[str, Key] = {
    "sockets": Key(
        TEXT,
        None,
        "folder for a Unix socket of each plugin, such as job_submit.sock, that serves OpenMetrics",
        check=absolute,
    ),
    "textfiles": Key(
        TEXT,
        None,
        "folder for a file of each plugin, such as slurmhooks_job_submit.prom, for node_exporter",
        check=absolute,
    ),
    "interval": Key(FLOAT, 15.0, "seconds between two updates of these files", 0.1, 3600.0),
    "readers": Key(
        TEXT,
        "everyone",
        "who may read sockets and files: SlurmUser only, its group as well, or everyone",
        words=tuple(FILE_MODES),
    ),
}

POLICY: dict[str, Key] = {
    "refusals": Key(
        TEXT,
        "first",
        "what a user is told of a request that several rules refuse: the first refusal, or all at once",
        words=("first", "all"),
    ),
    "rule_ids": Key(BOOL, True, "end the first line of each refusal with the label of the handler, in brackets"),
    "notices": Key(
        TEXT,
        "daily",
        "how often a user reads the same notice or warning: once a day, and never with sbatch --parsable; or always",
        words=("daily", "always"),
    ),
}
TABLES: dict[str, Mapping[str, Key]] = {
    "hooks": HOOKS,
    "job_submit": JOB_SUBMIT,
    "job_end": JOB_END,
    "priority": PRIORITY,
    "prep": PREP,
    "power": POWER,
    "spank": SPANK,
    "cli_filter": CLI_FILTER,
    "scrun": SCRUN,
    "lua": LUA,
    "log": LOG,
    "decisions": DECISIONS,
    "metrics": METRICS,
}
"""The tables by name, without those of modes and ready-made rules, which only slurmctld's plugins read."""
