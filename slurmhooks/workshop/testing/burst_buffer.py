# SPDX-License-Identifier: GPL-2.0-or-later
"""Burst buffers without Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slurmhooks.burst_buffer.model import BurstBuffer
from slurmhooks.burst_buffer.program import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Registry


class FakeBurstBuffer(BurstBuffer):
    """A ``buffer`` with a script that is in no file."""

    def __init__(
        self, script: str = "#!/bin/sh\n#BB_LUA\n", *, job_id: int = 1, user_id: int = 1000, **given: Any
    ) -> None:
        """Make a burst buffer as Slurm would.

        Args:
            script: of the job.
            job_id: of the job.
            user_id: of the job's user.
            given: other attributes of BurstBuffer.
        """
        super().__init__(job_id=job_id, user_id=user_id, **{"group_id": user_id, **given})
        object.__setattr__(self, "_script", script)

    @property
    def script(self) -> str:
        """The job's script."""
        script: str = vars(self)["_script"]
        return script


def handle(registry: Registry, hook: str, given: Mapping[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Run the handlers of a hook as its program does; return the outcome, and the answer to Slurm, if there is one."""
    buffer = given["buffer"] if given["buffer"] is not None else FakeBurstBuffer()
    outcome, answer = run(registry, hook, buffer, given["record"])
    return outcome, {"answer": answer} if outcome.passed and answer else {}
