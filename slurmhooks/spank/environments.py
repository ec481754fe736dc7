# SPDX-License-Identifier: GPL-2.0-or-later
"""The environment that a SPANK handler can read and write: the job's or the process's.

Writes are staged, and applied after all handlers have passed.
"""

from __future__ import annotations

from slurmhooks.handlers.view import StagedMapping
from slurmhooks.spank.calls import REMOTE
from slurmhooks.values import variable_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.spank.calls import Calls

LONGEST_VARIABLE = 131071
"""Maximum bytes of NAME=VALUE and NUL. Linux starts no process with a longer variable; Slurm would drop it silently."""


def names_of(variables: Iterable[str]) -> list[str]:
    """Return the names of ``NAME=VALUE`` texts."""
    return [variable.partition("=")[0] for variable in variables]


class Environment(StagedMapping):
    """The environment of the job's processes in slurmstepd, and of this process elsewhere.

    Listing that of a job also fetches the values, each of which serves one later read: spank_getenv() searches the
    whole environment for each name, and users may have 100,000 variables.
    """

    __slots__ = ("_calls", "_listed")

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self._calls = calls
        self._listed: dict[str, str] = {}

    def _check(self, name: object, value: object = "") -> None:
        self._living()
        size = variable_size(name, value)
        if size > LONGEST_VARIABLE:
            raise ValueError(
                f"environment variable {name}: NAME=VALUE and a NUL take {size} bytes; the limit is {LONGEST_VARIABLE}"
            )

    def _load(self, name: str) -> str | None:
        if self._calls.context != "remote":
            return self._calls.process_variable(name)
        listed = self._listed.pop(name, None)
        return self._calls.read_variable("spank_getenv", name, REMOTE.text) if listed is None else listed

    def _names(self) -> Iterable[str]:
        if self._calls.context != "remote":
            return names_of(self._calls.process_environment())
        listed: dict[str, str] = {}
        for variable in self._calls.job_environment(REMOTE):
            name, _, value = variable.partition("=")
            listed.setdefault(name, value)  # of two variables with one name the first counts, as for spank_getenv()
        self._listed = listed
        return list(listed)

    def _apply(self, name: str, value: str | None) -> None:
        if self._calls.context != "remote":
            self._calls.write_process_variable(name, value)
            return
        self._listed = {}
        self._calls.write_variable("spank_setenv", name, value)
