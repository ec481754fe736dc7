# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for scrun, which runs no command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from slurmhooks.scrun.commands import CommandResult
from slurmhooks.scrun.model import Container, shell_text
from slurmhooks.values import text_from_c, text_to_c
from slurmhooks.workshop.testing.jobs import JOB_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Path = str | os.PathLike[str]


class _Recorded(Container):
    """A container that records commands instead of running them."""

    def allocator_command(self, command: str | Sequence[str]) -> CommandResult:
        """Record a command and return the result that the test gives."""
        return self._note("allocator_command", command)

    def remote_command(self, command: str | Sequence[str]) -> CommandResult:
        """Record a command and return the result that the test gives."""
        return self._note("remote_command", command)

    def _note(self, function: str, command: str | Sequence[str]) -> CommandResult:
        self._living()
        status, output = self._ask(function, shell_text(command))
        return CommandResult(status, text_from_c(output))


class FakeContainer(_Recorded):
    """A ``container`` without scrun.

    Args:
        id: name of the container.
        bundle: path of the bundle.
        orig_bundle: path that the user gave; by default the same as ``bundle``.
        root_path: path of the root file system, which scrun knows in stage_out; None: unset.
        orig_root_path: path of the root file system before the first handler; None: unset.
        spool_dir: scrun's spool directory of the container.
        config_file: path of config.json; by default in the bundle.
        job_id: job id; by default one that Slurm never gives.
        user_id: user id of the job.
        group_id: group id of the job.
        job_env: environment of the job.
        command: returns the result of a command of a handler; its arguments are "allocator_command" or
            "remote_command", and the text for the shell. By default every command succeeds without output. No command
            is run.
        cancelled: scrun has cancelled the container.

    Pass it to a handler or to :func:`run`; afterwards it has the values that the handlers wrote.
    """

    def __init__(
        self,
        id: str = "fake",  # noqa: A002 - the contract's name
        *,
        bundle: Path = "/bundle",
        orig_bundle: Path | None = None,
        root_path: Path | None = None,
        orig_root_path: Path | None = None,
        spool_dir: Path = "/spool",
        config_file: Path | None = None,
        job_id: int = JOB_ID,
        user_id: int = 1000,
        group_id: int = 1000,
        job_env: Mapping[str, str] | None = None,
        command: Callable[[str, str], CommandResult] | None = None,
        cancelled: bool = False,
    ) -> None:
        bundle = os.fspath(bundle)
        values = {
            "id": id,
            "bundle": bundle,
            "orig_bundle": _path(orig_bundle) or bundle,
            "root_path": _path(root_path),
            "orig_root_path": _path(orig_root_path),
            "spool_dir": os.fspath(spool_dir),
            "config_file": _path(config_file) or os.path.join(bundle, "config.json"),
            "job_id": job_id,
            "user_id": user_id,
            "group_id": group_id,
        }
        env = dict(job_env or {})
        scrun = Scrun(values, command)
        super().__init__(values, env, scrun.ask)
        self._given = (values, env, scrun.ask)
        self._cancelled = cancelled
        self._commands = scrun.commands

    @property
    def cancelled(self) -> bool:
        """Whether scrun has cancelled the container."""
        return self._cancelled

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands of handlers: the name of the function, and the text for the shell."""
        return self._commands


def view_of(container: FakeContainer) -> Container:
    """Return the view for the handlers of a staging function; commits pending writes of the stand-in."""
    container.commit()
    container._writes.clear()
    return _Recorded(*container._given)


def state_of(container: FakeContainer) -> dict[str, Any]:
    """Return the values that handlers can change."""
    values, env, _ = container._given
    return {name: values[name] for name in container.WRITABLE} | {"job_env": dict(env)}


class Scrun:
    """The functions of scrun that a container calls."""

    def __init__(self, values: dict[str, Any], command: Callable[[str, str], CommandResult] | None) -> None:
        """Store the values of the container, and the function that returns results of commands; see FakeContainer."""
        self._values = values
        self._command = command
        self._setters = {setter: name for name, setter in Container.WRITABLE.items()}
        self.commands: list[tuple[str, str]] = []

    def ask(self, function: str, argument: bytes) -> tuple[int, bytes]:
        """Answer a call; see scrun.model.Ask."""
        text = text_from_c(argument)
        if function in self._setters:
            old = self._values[self._setters[function]]
            self._values[self._setters[function]] = text
            return 0, text_to_c(function, old or "")
        self.commands.append((function, text))
        result = self._command(function, text) if self._command is not None else CommandResult(0, "")
        return result.status, text_to_c("output", result.output)


def _path(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)
