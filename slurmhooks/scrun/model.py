# SPDX-License-Identifier: GPL-2.0-or-later
"""What a scrun handler sees."""

from __future__ import annotations

from slurmhooks.scrun import cancel
from slurmhooks.values import text_from_c, text_to_c

# A container whose handlers do little waits for each import: slurmhooks.view and os together for a sixth of the start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, ClassVar

    from slurmhooks.scrun.commands import CommandResult
    from slurmhooks.scrun.job_env import JobEnv
    from slurmhooks.scrun.oci import Config

    Ask = Callable[[str, bytes], tuple[int, bytes]]
    """Calls a function of scrun's ``slurm`` table with a string; returns its status and output. See entry, trial."""


CONFIG = "config.json"


class Container:
    """``container``: the container that is staged. Runs in scrun's anchor process, as the user who called scrun.

    Under a rootless engine (podman) that is uid 0 of the engine's user namespace; ``user_id`` is the job's user all the
    same.

    Attributes:
        id: its name.
        bundle: path of the bundle; assign to move it. Applied once all handlers have passed.
        orig_bundle: path of the bundle that the user gave.
        root_path: path of the root file system; None in stage_in until it is assigned.
        orig_root_path: path of the root file system before any handler; None in stage_in.
        spool_dir: scrun's own directory for this container. scrun removes it at the end, if it is empty.
        config_file: path of the config.json that the user gave.
        job_id: Slurm's job id.
        user_id: user id of the job.
        group_id: group id of the job.
        job_env: the job's environment, a mapping. What is written here is seen by later handlers and by
            :meth:`allocator_command`, and by ``stage_out``.
        config: the bundle's configuration, see :class:`slurmhooks.scrun.Config`; read on first use. Changes stay in
            memory until :meth:`save_config`, and a failed ``stage_in`` undoes nothing of what was saved.
        cancelled: scrun gave the container up (job cancelled or timed out, container deleted). scrun waits for the
            handler, so one that takes long asks for this. What slurmhooks itself does for a handler ends by then.

    Source: scrun(1), "slurm_scrun_stage_in" and "slurm_scrun_stage_out", since 23.02.
    """

    TEXTS = ("id", "bundle", "orig_bundle", "root_path", "orig_root_path", "spool_dir", "config_file")
    NUMBERS = ("job_id", "user_id", "group_id")
    OTHERS = (
        *("job_env", "config", "cancelled", "save_config", "set_bundle_path", "set_root_path"),
        *("allocator_command", "remote_command"),
    )
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

    def __init__(self, values: dict[str, Any], job_env: dict[str, str], ask: Ask) -> None:
        """Wrap what scrun told; for the entry point.

        Args:
            values: by the names above.
            job_env: the job's environment; what handlers write to it is applied once they all have passed.
            ask: calls its functions.
        """
        self.__dict__.update(
            {
                "_values": values,
                "_writes": {},
                "_alive": True,
                "_ask": ask,
                "_config": None,
                "_base_env": job_env,
                "_job_env": None,
            }
        )

    def __getattr__(self, name: str) -> Any:
        """Return a value, or explain a name that does not exist."""
        state = self.__dict__
        if name not in state.get("_values", ()):
            from slurmhooks.view import nearest

            names = (*self.TEXTS, *self.NUMBERS, *self.OTHERS)
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
            if name not in self.OTHERS:
                getattr(self, name)
            raise AttributeError(f"container.{name} is read-only")
        raw = text_to_c(name, value)
        if not raw.startswith(b"/"):
            raise ValueError(f"container.{name} takes an absolute path, not {value!r}")
        self._writes[name] = raw

    def __repr__(self) -> str:
        """Return the id."""
        return f"<Container {self.__dict__['_values'].get('id')!r}>"

    @property
    def job_env(self) -> JobEnv:
        """The job's environment; see the class."""
        self._living()
        if self._job_env is None:
            from slurmhooks.scrun.job_env import JobEnv

            self.__dict__["_job_env"] = JobEnv(self._base_env)
        mapping: JobEnv = self._job_env
        return mapping

    @property
    def cancelled(self) -> bool:
        """Whether scrun gave the container up; see the class."""
        return cancel.requested()

    @property
    def config(self) -> Config:
        """The bundle's configuration; see the class.

        Raises:
            BundleError: it is missing, not JSON, or wrong; the user sees which file and which places in it.
        """
        self._living()
        if self._config is None:
            from slurmhooks.scrun import oci

            self.__dict__["_config"] = oci.read(self._config_path())
        config: Config = self._config
        return config

    def save_config(self, path: str | None = None) -> None:
        """Write :attr:`config`, if it is still valid.

        Args:
            path: the file; by default config.json of :attr:`bundle` as it was assigned last, which is what the job's
                nodes read.

        Raises:
            BundleError: it is not valid any more, or cannot be written.
        """
        from slurmhooks.scrun import oci

        oci.write(self.config, path or self._config_path())

    def _config_path(self) -> str:
        import os

        if "bundle" in self._writes or self.bundle != self.orig_bundle:
            moved = os.path.join(self.bundle, CONFIG)
            if self._config is not None or os.path.exists(moved):
                return moved
        path: str = self.config_file
        return path

    def set_bundle_path(self, path: str) -> str:
        """Assign :attr:`bundle`, and return the path that the user gave, as scrun's Lua function does."""
        self.bundle = path
        old: str = self.orig_bundle
        return old

    def set_root_path(self, path: str) -> str | None:
        """Assign :attr:`root_path`, and return the path from before any handler, as scrun's Lua function does."""
        import os

        self.root_path = path
        known: str | None = self.orig_root_path
        if known is None and self.config.root is not None:
            known = os.path.join(self.orig_bundle, self.config.root.path)
        return known

    def allocator_command(self, command: str | Sequence[str]) -> CommandResult:
        """Run a command where scrun runs, with :attr:`job_env` as its environment, and wait for it.

        The environment is the job's alone: no PATH or HOME unless the job has one. A command that still runs when the
        container is given up is killed.

        Args:
            command: a list is quoted for the shell, a str is given to ``/bin/sh -c`` as it is.

        Raises:
            CancelledError: the container was given up.
        """
        from slurmhooks.scrun import commands

        self._living()
        environment = {text_to_c(name, name): text_to_c(name, value) for name, value in self.job_env.items()}
        status, output = commands.run(shell_text(command), environment, cancel.requested)
        return commands.CommandResult(status, text_from_c(output))

    def remote_command(self, command: str | Sequence[str]) -> CommandResult:
        """Run a command as a step of the job, on its nodes, and wait for it.

        This is scrun's own function, an ``srun`` with the SrunArgs of oci.conf: the output ends at a NUL byte, and in
        ``stage_out`` scrun may fail to learn the status, which then is not to be relied on.

        Args:
            command: a list is quoted for the shell, a str is given to ``/bin/sh -c`` as it is.
        """
        from slurmhooks.scrun import commands

        self._living()
        status, output = self._ask("remote_command", shell_text(command))
        return commands.CommandResult(status, text_from_c(output))

    def _living(self) -> None:
        if not self.__dict__.get("_alive"):
            from slurmhooks.view import stale

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
        cancel.check()  # handlers that never looked must not start a container that nobody wants
        if self._job_env is not None:
            self._job_env.commit()
        for name, raw in self._writes.items():
            self._ask(self.WRITABLE[name], raw)

    def close(self) -> None:
        """Refuse every later use; for dispatch."""
        if self._job_env is not None:
            self._job_env.close()
        self.__dict__["_alive"] = False


def shell_text(command: str | Sequence[str]) -> bytes:
    """Return a command for ``/bin/sh -c``.

    Raises:
        TypeError: it is neither a str nor a list of str.
        ValueError: it has no words, or a NUL byte.
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
