# SPDX-License-Identifier: GPL-2.0-or-later
"""The view ``container``, the argument of scrun handlers."""

from __future__ import annotations

from slurmhooks.handlers.similar import nearest
from slurmhooks.scrun import cancel
from slurmhooks.values import text_from_c, text_to_c

# Imports delay the start of every container; slurmhooks.handlers.view and os would take a sixth of it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ClassVar

    from slurmhooks.scrun.commands import CommandResult
    from slurmhooks.scrun.job_env import JobEnv
    from slurmhooks.scrun.oci import Config

    Ask = Callable[[str, bytes], tuple[int, bytes]]
    """Calls a function of scrun's table ``slurm`` with a string; returns status and output."""


CONFIG = "config.json"


class Container:
    """``container``: the container to be staged. Handlers run in scrun's anchor process, as the user of scrun.

    Under a rootless engine (podman) that user is uid 0 of the engine's user namespace; ``user_id`` is the job's user
    nevertheless.

    Attributes:
        id: name of the container.
        bundle: path of the bundle. Assign the path of a staged bundle; it is applied when all handlers have passed.
        orig_bundle: path of the bundle that the user gave.
        root_path: path of the root file system; in stage_in None until a handler assigns it.
        orig_root_path: path of the root file system before the first handler; None in stage_in.
        spool_dir: scrun's spool directory of this container, which scrun removes at the end if it is empty.
        config_file: path of the config.json that the user gave.
        job_id: job id.
        user_id: user id of the job.
        group_id: group id of the job.
        job_env: environment of the job, a mutable mapping. Later handlers, :meth:`allocator_command` and ``stage_out``
            see changes.
        config: configuration of the bundle, a :class:`slurmhooks.scrun.Config`, which is read at the first use. Changes
            are written by :meth:`save_config`; a failed ``stage_in`` does not undo that.
        cancelled: whether the container was cancelled (job cancelled or timed out, container deleted). scrun waits for
            the handler, so a handler that takes long should check. Functions of slurmhooks check by themselves.

    Source: scrun(1), "slurm_scrun_stage_in" and "slurm_scrun_stage_out", since 23.02.
    """

    TEXTS = ("id", "bundle", "orig_bundle", "root_path", "orig_root_path", "spool_dir", "config_file")
    NUMBERS = ("job_id", "user_id", "group_id")
    OTHERS = (
        *("job_env", "config", "cancelled", "save_config", "set_bundle_path", "set_root_path"),
        *("allocator_command", "remote_command"),
    )
    WRITABLE: ClassVar = {"bundle": "set_bundle_path", "root_path": "set_root_path"}
    """Writable attributes, each with the function of scrun that sets it."""

    def __init__(self, values: dict[str, Any], job_env: dict[str, str], ask: Ask) -> None:
        """Make the view; for the entry point.

        Writes of handlers are applied to ``job_env`` when all handlers have passed. ``ask`` calls a function of scrun.
        """
        self._values = values
        self._writes: dict[str, bytes] = {}
        self._alive = True
        self._ask = ask
        self._config: Config | None = None
        self._base_env = job_env
        self._job_env: JobEnv | None = None

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Raise an error that explains why the name does not exist."""
            names = (*self.TEXTS, *self.NUMBERS, *self.OTHERS)
            raise AttributeError(f"container has no {name!r}{nearest(name, names)}")

        def __setattr__(self, name, value):
            """Stage a new path."""
            if not name.startswith("_"):
                self._living()
                if name == "job_env" and value is self.job_env:
                    return  # container.job_env |= ... ends with this assignment
                if name not in self.WRITABLE:
                    if name not in self.OTHERS:
                        getattr(self, name)
                    raise AttributeError(f"container.{name} is read-only")
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Show the id."""
        return f"<Container {self._values.get('id')!r}>"

    def _value(self, name: str) -> Any:
        """Return the staged value, or else the value of scrun."""
        self._living()
        return text_from_c(self._writes[name]) if name in self._writes else self._values[name]

    def _stage(self, name: str, value: object) -> None:
        self._living()
        raw = text_to_c(name, value)
        if not raw.startswith(b"/"):
            raise ValueError(f"container.{name} takes an absolute path, not {value!r}")
        self._writes[name] = raw

    @property
    def id(self) -> str:
        """Name of the container."""
        name: str = self._value("id")
        return name

    @property
    def bundle(self) -> str:
        """Path of the bundle. Assign the path of a staged bundle; it is applied when all handlers have passed."""
        path: str = self._value("bundle")
        return path

    @bundle.setter
    def bundle(self, path: str) -> None:
        """Stage the path of a staged bundle; applied when all handlers have passed."""
        self._stage("bundle", path)

    @property
    def orig_bundle(self) -> str:
        """Path of the bundle that the user gave."""
        path: str = self._value("orig_bundle")
        return path

    @property
    def root_path(self) -> str | None:
        """Path of the root file system; in stage_in None until a handler assigns it."""
        path: str | None = self._value("root_path")
        return path

    @root_path.setter
    def root_path(self, path: str) -> None:
        """Stage the path of the root file system."""
        self._stage("root_path", path)

    @property
    def orig_root_path(self) -> str | None:
        """Path of the root file system before the first handler; None in stage_in."""
        path: str | None = self._value("orig_root_path")
        return path

    @property
    def spool_dir(self) -> str:
        """scrun's spool directory of this container, which scrun removes at the end if it is empty."""
        path: str = self._value("spool_dir")
        return path

    @property
    def config_file(self) -> str:
        """Path of the config.json that the user gave."""
        path: str = self._value("config_file")
        return path

    @property
    def job_id(self) -> int:
        """Job id."""
        number: int = self._value("job_id")
        return number

    @property
    def user_id(self) -> int:
        """User id of the job."""
        number: int = self._value("user_id")
        return number

    @property
    def group_id(self) -> int:
        """Group id of the job."""
        number: int = self._value("group_id")
        return number

    @property
    def job_env(self) -> JobEnv:
        """The environment of the job; see the class."""
        self._living()
        if self._job_env is None:
            from slurmhooks.scrun.job_env import JobEnv

            self._job_env = JobEnv(self._base_env)
        return self._job_env

    @property
    def cancelled(self) -> bool:
        """Whether the container was cancelled; see the class."""
        return cancel.requested()

    @property
    def config(self) -> Config:
        """The configuration of the bundle; see the class.

        Raises:
            BundleError: config.json is missing, not JSON, or invalid; the text names the file and the places in it.
        """
        self._living()
        if self._config is None:
            from slurmhooks.scrun import oci

            self._config = oci.read(self._config_path())
        return self._config

    def save_config(self, path: str | None = None) -> None:
        """Validate and write :attr:`config`.

        Args:
            path: path of the file; by default config.json of :attr:`bundle` as assigned last, which the nodes read.

        Raises:
            BundleError: the configuration is invalid, or cannot be written.
        """
        from slurmhooks.scrun import oci

        oci.write(self.config, path or self._config_path())

    def _config_path(self) -> str:
        import os

        if "bundle" in self._writes or self.bundle != self.orig_bundle:
            moved = os.path.join(self.bundle, CONFIG)
            if self._config is not None or os.path.exists(moved):
                return moved
        return self.config_file

    def set_bundle_path(self, path: str) -> str:
        """Assign :attr:`bundle` and return the path that the user gave, like scrun's Lua function."""
        self._stage("bundle", path)
        return self.orig_bundle

    def set_root_path(self, path: str) -> str | None:
        """Assign :attr:`root_path` and return the path before the first handler, like scrun's Lua function."""
        import os

        self._stage("root_path", path)
        old = self.orig_root_path
        if old is None and self.config.root is not None:
            old = os.path.join(self.orig_bundle, self.config.root.path)
        return old

    def allocator_command(self, command: str | Sequence[str]) -> CommandResult:
        """Run a command on the machine of scrun, with :attr:`job_env` as its environment, and wait for it.

        The environment is exactly that of the job, so PATH and HOME may be missing. The command is killed if the
        container is cancelled.

        Args:
            command: a str for ``/bin/sh -c``, or a list of words, which are quoted for the shell.

        Raises:
            CancelledError: the container was cancelled.
            SlurmhooksError: the shell could not be started, or was killed.
        """
        from slurmhooks.scrun import commands

        self._living()
        environment = {text_to_c(name, name): text_to_c(name, value) for name, value in self.job_env.items()}
        status, output = commands.run(shell_text(command), environment, cancel.requested)
        return commands.CommandResult(status, text_from_c(output))

    def remote_command(self, command: str | Sequence[str]) -> CommandResult:
        """Run a command as a step of the job, on its nodes, and wait for it.

        This is scrun's own function, which runs ``srun`` with the SrunArgs of oci.conf. It cuts the output at a NUL
        byte, may lose the end of a long output on a busy machine, and in ``stage_out`` its status is unreliable.

        Args:
            command: a str for ``/bin/sh -c``, or a list of words, which are quoted for the shell.

        Raises:
            SlurmhooksError: the function of scrun failed.
        """
        from slurmhooks.scrun import commands

        self._living()
        status, output = self._ask("remote_command", shell_text(command))
        return commands.CommandResult(status, text_from_c(output))

    def _living(self) -> None:
        if not self._alive:
            from slurmhooks.handlers.view import stale

            raise stale(self)

    def savepoint(self) -> object:
        """Return the staged writes; for dispatch."""
        return dict(self._writes), self.job_env.savepoint()

    def rollback(self, savepoint: object) -> None:
        """Discard the writes since a savepoint; for dispatch."""
        assert isinstance(savepoint, tuple)
        self._writes, job_env = savepoint
        self.job_env.rollback(job_env)

    def commit(self) -> None:
        """Pass the staged paths to scrun; for dispatch.

        Raises:
            CancelledError: the container was cancelled.
        """
        cancel.check()  # handlers may not have checked
        if self._job_env is not None:
            self._job_env.commit()
        for name, raw in self._writes.items():
            self._ask(self.WRITABLE[name], raw)

    def close(self) -> None:
        """Make every later use raise StaleHandleError; for dispatch."""
        if self._job_env is not None:
            self._job_env.close()
        self._alive = False


def shell_text(command: str | Sequence[str]) -> bytes:
    """Return a command as text for ``/bin/sh -c``.

    Raises:
        TypeError: the command is neither a str nor a list of str.
        ValueError: the command is empty, or contains a NUL byte.
    """
    if isinstance(command, str):
        return text_to_c("command", command)
    if not isinstance(command, (list, tuple)):
        raise TypeError(f"command takes a str or a list of str, not {command!r}")
    if not command:
        raise ValueError("command must have at least one word")
    import shlex

    words = [word.__fspath__() if hasattr(word, "__fspath__") else word for word in command]
    for word in words:
        text_to_c("command", word)
    return text_to_c("command", shlex.join(words))
