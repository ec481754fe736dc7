# SPDX-License-Identifier: GPL-2.0-or-later
"""The environments that a SPANK handler can read and write: the job's, the process's, and the job control environment.

Writes are staged, and applied after all handlers have passed.
"""

from __future__ import annotations

from slurmhooks.errors import SpankError
from slurmhooks.handlers.view import StagedMapping
from slurmhooks.hooks.points import CONTROL_PREFIX
from slurmhooks.spank.calls import CONTROL_WRITE, REMOTE
from slurmhooks.values import variable_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slurmhooks.spank.calls import Calls

CONTROL = "in srun, sbatch and salloc, and for reading in prolog and epilog"
CONTROL_LOST = "before local_user_init, in an srun with several components"
LONGEST_VARIABLE = 131071
"""Maximum bytes of NAME=VALUE and NUL. Linux starts no process with a longer variable; Slurm would drop it silently."""


def names_of(variables: Iterable[str]) -> list[str]:
    """Return the names of ``NAME=VALUE`` texts."""
    return [variable.partition("=")[0] for variable in variables]


class Environment(StagedMapping):
    """The environment of this process, which is ``spank.env`` everywhere except in slurmstepd."""

    __slots__ = ("_calls",)

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls

    def _check(self, name: object, value: object = "") -> None:
        self._living()
        size = variable_size(name, value)
        if size > LONGEST_VARIABLE:
            raise ValueError(
                f"environment variable {name}: NAME=VALUE and a NUL take {size} bytes; the limit is {LONGEST_VARIABLE}"
            )

    def _load(self, name: str) -> str | None:
        return self._calls.process_variable(name)

    def _names(self) -> Iterable[str]:
        return names_of(self._calls.process_environment())

    def _apply(self, name: str, value: str | None) -> None:
        self._calls.write_process_variable(name, value)


class JobEnvironment(Environment):
    """The environment of the job's processes, which is ``spank.env`` in slurmstepd.

    Listing also fetches the values, each of which serves one later read: spank_getenv() searches the whole environment
    for each name, and users may have 100,000 variables.
    """

    __slots__ = ("_listed",)

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self._listed: dict[str, str] = {}

    def _load(self, name: str) -> str | None:
        listed = self._listed.pop(name, None)
        return self._calls.read_variable("spank_getenv", name, REMOTE.text) if listed is None else listed

    def _names(self) -> Iterable[str]:
        listed: dict[str, str] = {}
        for variable in self._calls.job_environment(REMOTE):
            name, _, value = variable.partition("=")
            listed.setdefault(name, value)  # of two variables with one name the first counts, as for spank_getenv()
        self._listed = listed
        return list(listed)

    def _apply(self, name: str, value: str | None) -> None:
        self._listed = {}
        self._calls.write_variable("spank_setenv", name, value)


class ControlEnvironment(Environment):
    """The job control environment; a write that would have no effect is refused at once."""

    __slots__ = ("_lost",)

    def __init__(self, calls: Calls, lost: bool = False) -> None:
        """Read and write by the functions of one callback; ``lost``: Slurm must not be asked."""
        super().__init__(calls)
        self._lost = lost

    def _check(self, name: object, value: object = "") -> None:
        super()._check(name, value)
        self._refuse_without_effect()

    def __delitem__(self, name: str) -> None:
        """Delete a name; KeyError if it is not set."""
        self._living()
        self._refuse_without_effect()
        super().__delitem__(name)

    def replace(self, values: Mapping[str, str]) -> None:
        """Replace the whole content; see StagedMapping."""
        self._living()
        self._refuse_without_effect()  # even if nothing is set, but names are deleted
        super().replace(values)

    def _refuse_without_effect(self) -> None:
        if not CONTROL_WRITE.includes(self._calls.context, self._calls.callback):
            code = "ESPANK_NOT_LOCAL" if self._calls.context == "remote" else "ESPANK_NOT_AVAIL"
            self._calls.refuse("spank_job_control_setenv", code, CONTROL_WRITE.text)

    def _load(self, name: str) -> str | None:
        if self._calls.context == "job_script":
            return self._calls.process_variable(CONTROL_PREFIX + name)
        if self._lost:
            self._calls.refuse("spank_job_control_getenv", "ESPANK_NOT_AVAIL", CONTROL_LOST)
        return self._calls.read_variable("spank_job_control_getenv", name, CONTROL)

    def _names(self) -> Iterable[str]:
        if self._calls.context == "job_script":
            names = names_of(self._calls.process_environment())
            return [name.removeprefix(CONTROL_PREFIX) for name in names if name.startswith(CONTROL_PREFIX)]
        raise SpankError(
            "ESPANK_NOT_AVAIL",
            "spank_job_control_getenv",
            "Slurm lists the job control environment only in prolog and epilog",
        )

    def _apply(self, name: str, value: str | None) -> None:
        self._calls.write_variable("spank_job_control_setenv", name, value)
