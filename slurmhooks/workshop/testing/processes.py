# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that run handlers, as in Slurm: each with globals, environment and credentials of its own."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, Any

from slurmhooks.hooks.points import IN_TASKS
from slurmhooks.spank.state_file import encoded
from slurmhooks.workshop.testing.runner import Result, run
from slurmhooks.workshop.testing.spank import FakeSpank, state_of
from slurmhooks.workshop.testing.watching import coverage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from slurmhooks.handlers.registry import Registry
    from slurmhooks.hooks.points import Context
    from slurmhooks.workshop.testing.runner import Given

Path = tuple[str, ...]
"""Names of a process and of its ancestors, the oldest first."""
OF_USER = "srun"
"""The process that has the folder and HOME of the user; the others have those of slurmd."""
FOLDER, HOME = "/", "/root"
"""Stand for the working directory of slurmd, and for its HOME."""
MISSING = "/tmp"
"""Where Slurm starts a task whose working directory does not exist."""


@dataclass(frozen=True)
class Call:
    """One call of the plugin.

    ``line`` is the number of the line of plugstack.conf, ``args`` are its arguments. For ``options`` see
    :func:`slurmhooks.testing.run`, for ``items`` :class:`FakeSpank`. The others are those of ``spank``; its state as
    JSON.
    """

    context: Context
    callback: str
    line: int
    args: Sequence[str]
    options: Mapping[str, Given]
    env: Mapping[str, str]
    control: Mapping[str, str]
    items: Mapping[str, Any]
    state: str = "{}"


@dataclass(frozen=True)
class Answer:
    """What a call did.

    Attributes:
        result: the result; its ``changes`` are empty.
        env: ``spank.env`` afterwards.
        control: ``spank.job_control_env`` afterwards.
        state: ``spank.state`` afterwards, as JSON.
        prepended: words before the command of the task.
        made: what srun passes on in place of texts of the user, by the names of the options.
        covered: see :meth:`slurmhooks.workshop.testing.watching.Coverage.rows`.
    """

    result: Result
    env: dict[str, str]
    control: dict[str, str]
    state: str = "{}"
    prepended: list[str] = field(default_factory=list)
    covered: list[tuple[str, str, bool, bool]] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)


class Processes:
    """The processes that this process has forked, and their descendants.

    A forked process has a copy of the memory of its parent, so handlers must have been loaded before, and none of them
    run: then each process begins as in Slurm, where it loads the files itself.
    """

    def __init__(self, registries: Sequence[Registry], folder: str, requests: Connection | None = None) -> None:
        """Start without processes, with the handlers of each line of plugstack.conf.

        ``folder`` is the working directory of tasks; ``requests`` comes from the process that forked this one.
        """
        self._registries = registries
        self._folder = folder
        self._requests = requests
        self._children: dict[str, tuple[int, Connection]] = {}

    def __enter__(self) -> Processes:
        """Return this object."""
        return self

    def __exit__(self, *exc: object) -> None:
        """End all processes."""
        for name in list(self._children):
            self.end((name,))

    def fork(self, path: Path) -> int:
        """Let the last but one process of a path fork the last one; return its process id."""
        *ancestors, name = path
        if ancestors:
            pid: int = self._ask(ancestors[0], "fork", (*ancestors[1:], name))
            return pid
        ours, theirs = Pipe()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about threads, such as those of pytest-xdist
            pid = os.fork()
        if not pid:
            ours.close()
            # A copy here would hide from the other end that the process which owns it has ended.
            for connection in (self._requests, *(connection for _, connection in self._children.values())):
                if connection is not None:
                    connection.close()
            if self._requests is not None:
                _enter(self._folder)
            elif name != OF_USER:
                os.chdir(FOLDER)
                os.environ["HOME"] = HOME
            Processes(self._registries, self._folder, theirs)._serve(theirs)
        theirs.close()
        self._children[name] = (pid, ours)
        return pid

    def call(self, path: Path, call: Call) -> Answer:
        """Run the handlers of a call in a process; if they end it, that is a failure."""
        if not path:
            return self._run(call)
        try:
            answer: Answer = self._ask(path[0], "call", path[1:], call)
        except EOFError:
            pid, connection = self._children.pop(path[0])
            connection.close()
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            how = f"with {code}" if code >= 0 else f"by signal {-code}"
            text = f"a handler of {call.callback} ({call.context}) ended its process {how}"
            return Answer(Result(accepted=False, text=text), dict(call.env), dict(call.control), call.state)
        coverage.add(answer.covered)
        return answer

    def runs(self, path: Path) -> bool:
        """Tell whether a process, which this process has forked, has not ended."""
        return path[0] in self._children

    def end(self, path: Path) -> None:
        """End a process and its descendants, unless it has ended."""
        if path[0] not in self._children:
            return
        if path[1:]:
            self._ask(path[0], "end", path[1:])
            return
        pid, connection = self._children.pop(path[0])
        connection.close()
        os.waitpid(pid, 0)

    def _ask(self, child: str, method: str, *arguments: object) -> Any:
        _, connection = self._children[child]
        connection.send((method, arguments))
        answer = connection.recv()
        if isinstance(answer, ValueError):
            raise answer
        return answer

    def _serve(self, requests: Connection) -> NoReturn:
        """Do what the parent asks, until it ends."""
        failed = True
        try:
            while True:
                try:
                    method, arguments = requests.recv()
                except EOFError:
                    break
                try:
                    answer = getattr(self, method)(*arguments)
                except ValueError as error:  # such as an option that does not exist
                    answer = error
                requests.send(answer)
            failed = False
        finally:  # this process must not return into the code of its parent
            if failed:
                traceback.print_exc()
            self.__exit__()
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            os._exit(failed)

    def _run(self, call: Call) -> Answer:
        spank = FakeSpank(
            call.context,
            callback=call.callback,
            args=call.args,
            env=call.env,
            job_control_env=call.control,
            items=call.items,
            state=json.loads(call.state),
        )
        if call.callback in IN_TASKS:  # slurmstepd has read the options
            spank._reads_options_in = FOLDER
        if (call.context, call.callback) == ("local", "init_post_opt"):
            spank._passes_on = {}
        result = run(self._registries[call.line], f"spank.{call.callback}", spank=spank, options=call.options)
        result.changes.clear()
        return Answer(
            result,
            dict(spank._slurm.env),
            dict(spank._slurm.job_control_env),
            encoded(state_of(spank)["state"], "state"),
            spank.prepended_task_argv,
            coverage.rows(),
            spank._passes_on or {},
        )


def _enter(folder: str) -> None:
    """Change to the working directory of a task."""
    try:
        os.chdir(folder)
    except OSError:
        os.chdir(MISSING)
