# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scrun handler sees."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from slurmhooks.values import text_from_c, text_to_c
from slurmhooks.view import FunctionMapping, nearest, stale


class Scrun(Protocol):
    """The functions of scrun's ``slurm`` table; see entry.py and testing."""

    def ask(self, function: str, argument: bytes) -> tuple[int, bytes]:
        """Call one with a string; return its status and output."""


class CommandResult:
    """What a command came to.

    Attributes:
        status: its exit code.
        output: its standard output.
    """

    __slots__ = ("output", "status")

    def __init__(self, status: int, output: str) -> None:
        """Keep both."""
        self.status = status
        self.output = output

    def __repr__(self) -> str:
        """Return both."""
        return f"CommandResult(status={self.status}, output={self.output!r})"


class Container:
    """``container``: the container that is staged. Runs as the user who called scrun.

    Attributes:
        id: its name.
        bundle: path of the bundle; assign to move it. Applied once all handlers have passed.
        orig_bundle: path of the bundle that the user gave.
        root_path: path of the root file system; None in stage_in until it is assigned.
        orig_root_path: path of the root file system before any handler; None in stage_in.
        spool_dir: scrun's own directory for this container.
        config_file: path of its config.json.
        job_id: Slurm's job id.
        user_id: user id of the job.
        group_id: group id of the job.
        job_env: the job's environment, a mapping (empty in stage_out; what is written here only handlers see).

    Source: scrun(1), "slurm_scrun_stage_in" and "slurm_scrun_stage_out", since 23.02.
    """

    TEXTS = ("id", "bundle", "orig_bundle", "root_path", "orig_root_path", "spool_dir", "config_file")
    NUMBERS = ("job_id", "user_id", "group_id")
    WRITABLE: ClassVar = {"bundle": "set_bundle_path", "root_path": "set_root_path"}
    """Each with the function of scrun that takes it."""

    id: str
    bundle: str
    orig_bundle: str
    root_path: str | None
    orig_root_path: str | None
    spool_dir: str
    config_file: str
    job_id: int
    user_id: int
    group_id: int

    def __init__(self, values: dict[str, Any], job_env: dict[str, str], scrun: Scrun) -> None:
        """Wrap what scrun told; for the entry point.

        Args:
            values: by the names above.
            job_env: the job's environment.
            scrun: its functions.
        """
        state = {"_values": values, "_writes": {}, "_alive": True, "_scrun": scrun}

        def apply(name: str, value: str | None) -> None:
            if value is None:
                job_env.pop(name, None)
            else:
                job_env[name] = value

        state["job_env"] = FunctionMapping(job_env.get, lambda: job_env, apply)
        self.__dict__.update(state)

    def __getattr__(self, name: str) -> Any:
        """Return a value, or explain a name that does not exist."""
        state = self.__dict__
        if name not in state.get("_values", ()):
            names = (*self.TEXTS, *self.NUMBERS, "job_env", "allocator_command", "remote_command")
            raise AttributeError(f"container has no {name!r}{nearest(name, names)}")
        self._living()
        writes = state["_writes"]
        if name in writes:
            return text_from_c(writes[name])
        return state["_values"][name]

    def __setattr__(self, name: str, value: object) -> None:
        """Stage a path."""
        self._living()
        if name not in self.WRITABLE:
            getattr(self, name)
            raise AttributeError(f"container.{name} is read-only")
        raw = text_to_c(name, value)
        if not raw.startswith(b"/"):
            raise ValueError(f"container.{name} takes an absolute path, not {value!r}")
        self._writes[name] = raw

    def __repr__(self) -> str:
        """Return the id."""
        return f"<Container {self.__dict__['_values'].get('id')!r}>"

    def allocator_command(self, command: str | Sequence[str]) -> CommandResult:
        """Run a command where scrun runs, with the job's environment, and wait for it.

        Args:
            command: a list is quoted for the shell, a str is given to ``/bin/sh -c`` as it is.
        """
        return self._command("allocator_command", command)

    def remote_command(self, command: str | Sequence[str]) -> CommandResult:
        """Run a command as a step of the job, on its nodes, and wait for it.

        Args:
            command: a list is quoted for the shell, a str is given to ``/bin/sh -c`` as it is.
        """
        return self._command("remote_command", command)

    def _command(self, function: str, command: str | Sequence[str]) -> CommandResult:
        self._living()
        text = command if isinstance(command, str) else shlex.join(command)
        status, output = self._scrun.ask(function, text_to_c("command", text))
        return CommandResult(status, text_from_c(output))

    def _living(self) -> None:
        if not self.__dict__.get("_alive"):
            raise stale(self)

    def savepoint(self) -> object:
        """Return the writes so far; for dispatch."""
        return dict(self._writes), self.job_env.savepoint()

    def rollback(self, savepoint: object) -> None:
        """Forget the writes since a savepoint; for dispatch."""
        assert isinstance(savepoint, tuple)
        self.__dict__["_writes"], job_env = savepoint
        self.job_env.rollback(job_env)

    def commit(self) -> None:
        """Tell scrun the new paths; for dispatch."""
        for name, raw in self._writes.items():
            self._scrun.ask(self.WRITABLE[name], raw)

    def close(self) -> None:
        """Refuse every later use; for dispatch."""
        self.__dict__["_alive"] = False
        self.job_env.close()
