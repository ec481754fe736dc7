# SPDX-License-Identifier: GPL-2.0-or-later
"""The job control environment, which few handlers use: variables of srun, sbatch and salloc for prolog and epilog."""

from __future__ import annotations

from slurmhooks.errors import SpankError
from slurmhooks.hooks.points import CONTROL_PREFIX
from slurmhooks.spank.calls import CONTROL_WRITE
from slurmhooks.spank.environments import Environment, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slurmhooks.spank.calls import Calls

CONTROL = "in srun, sbatch and salloc, and for reading in prolog and epilog"
CONTROL_LOST = "before local_user_init, in an srun with several components"


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
