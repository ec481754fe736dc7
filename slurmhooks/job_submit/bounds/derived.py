# SPDX-License-Identifier: GPL-2.0-or-later
"""What slurmctld has derived from the request of a job that an update changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from slurmhooks.fields.constants import JobFlag
from slurmhooks.job_submit.bounds import defaults
from slurmhooks.job_submit.bounds.counts import GPU

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slurmhooks.slurmctld.model import Record


GPUS = ("tres_per_job", "tres_per_node", "tres_per_socket", "tres_per_task")
"""The fields that may name GPUs."""
TRES = (*GPUS, "cpus_per_tres", "mem_per_tres")
"""The fields that may name GRES."""


class Reader(Protocol):
    """Reads the fields of the job as it would be; see slurmhooks.job_submit.bounds.asked."""

    def get(self, name: str) -> Any:
        """Return a field."""

    def number(self, name: str) -> int | None:
        """Return a number."""

    def sets(self, names: Iterable[str]) -> bool:
        """Return whether the update sets one of some fields."""


def max_nodes(reader: Reader, record: Record | None) -> int | None:
    """Return the maximum number of nodes; None if slurmctld has only derived it from the tasks."""
    return None if _is_derived(record) and not reader.sets(("max_nodes",)) else reader.number("max_nodes")


def _is_derived(record: Record | None) -> bool:
    """Return whether slurmctld has set the maximum number of nodes to that of tasks, and follows changes of them."""
    flag = getattr(JobFlag, "JOB_IMPLICIT_MAX_NODES", None)  # from Slurm 26.05 on
    return bool(record is not None and flag and record.bitflags & flag)


def gpus_of_tasks(reader: Reader, record: Record | None) -> bool:
    """Return whether slurmctld computes GPUs from the tasks (--ntasks-per-gpu), or has done so and keeps them.

    It computes them at submission. Each later update may make it read all GRES of the job again, without the number of
    tasks per GPU: if it names any, those that were computed are gone.
    """
    if record is None:
        return True
    if reader.sets(TRES) or any("gres" in (reader.get(name) or "") for name in TRES):
        return False
    return not defaults.counts_gpus() or f"{GPU}=" in (record.tres_fmt_req_str or "")
