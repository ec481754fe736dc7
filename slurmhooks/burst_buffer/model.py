# SPDX-License-Identifier: GPL-2.0-or-later
"""The argument ``buffer`` of handlers of hook.burst_buffer, which run as SlurmUser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slurmhooks.files import regular

if TYPE_CHECKING:
    from collections.abc import Sequence

DIRECTIVE = "BB_LUA"
"""Slurm's default of ``Directive`` in burst_buffer.conf."""
OF_JOB = ("job_id", "script_path", "user_id", "group_id")
GIVEN = {
    "setup": ("job_id", "user_id", "group_id", "pool", "size", "script_path"),
    "real_size": ("job_id", "user_id", "group_id"),
    "job_teardown": ("job_id", "script_path", "hurry", "user_id", "group_id"),
}
"""What Slurm gives to its functions, in order (burst_buffer_lua.c); OF_JOB to the others, except get_status."""
NO_TEXT = "(null)"
"""What Slurm gives for a text that is not set."""


@dataclass(frozen=True, kw_only=True)
class BurstBuffer:
    """``buffer``: the burst buffer of a job.

    Attributes:
        job_id: the id of the job, which is that of the task for a task of an array; 0 for get_status.
        user_id: of the job's user; None if Slurm does not say: 22.05 says it only to setup.
        group_id: of the job's user; None as above.
        script_path: the file with the job's script.
        pool: for setup, the pool that the user asks for; None: none.
        size: for setup, the bytes that the user asks for, rounded up to the unit of the pool.
        hurry: for teardown, whether data need not be staged out.
        arguments: for get_status, the words after ``scontrol show bbstat``, from 24.11 on after ids of user and group.
    """

    job_id: int = 0
    user_id: int | None = None
    group_id: int | None = None
    script_path: str = ""
    pool: str | None = None
    size: int = 0
    hurry: bool = False
    arguments: tuple[str, ...] = ()

    @classmethod
    def of(cls, function: str, words: Sequence[str]) -> BurstBuffer:
        """Return the burst buffer of a call of Slurm's ``function``, which is named without ``slurm_bb_``.

        Raises:
            ValueError: they are not as Slurm calls the function.
        """
        if function == "get_status":
            return cls(arguments=tuple(words))
        given = dict(zip(GIVEN.get(function, OF_JOB), words, strict=False))  # 22.05 gives less
        pool = given.get("pool", NO_TEXT)
        return cls(
            job_id=int(given["job_id"]) if "job_id" in given else 0,
            user_id=int(given["user_id"]) if "user_id" in given else None,
            group_id=int(given["group_id"]) if "group_id" in given else None,
            script_path=given.get("script_path", ""),
            pool=None if pool == NO_TEXT else pool,
            size=int(given.get("size", "0")),
            hurry=given.get("hurry") == "true",
        )

    @property
    def script(self) -> str:
        """The job's script; of a job without one, the directives of ``--bb`` and ``--bbf``.

        Raises:
            OSError: slurmctld has removed it, as it may have when teardown runs.
        """
        return regular.read(self.script_path).decode("utf-8", "surrogateescape")

    def directives(self, name: str = DIRECTIVE) -> list[str]:
        """Return what follows ``#BB_LUA`` in the lines at the beginning of the script.

        Args:
            name: ``Directive`` of burst_buffer.conf.

        Raises:
            OSError: as for ``script``.
        """
        found: list[list[str]] = []
        continues = False
        for line in filter(None, self.script.split("\n")):
            if not line.startswith("#"):
                break  # Slurm looks no further, either
            if not line.startswith(f"#{name}"):
                continues = False
                continue
            text = line.removeprefix(f"#{name}").strip()
            more = text.endswith("\\")
            text = text.removesuffix("\\").rstrip()
            if continues:
                found[-1].append(text)
            else:
                found.append([text])
            continues = more
        return [" ".join(texts) for texts in found]
