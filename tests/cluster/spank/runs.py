# SPDX-License-Identifier: GPL-2.0-or-later
"""The jobs for the probe, and the expected contents of each of its records."""

import re
from dataclasses import dataclass
from typing import Any

ALICE = 2001
STEPD_TITLE = re.compile(r"slurmstepd: \[(\d+)\.(\w+)\]")
"""slurmstepd's process title with job and step, independent of SPANK."""


@dataclass(frozen=True)
class Step:
    """One step of a job, as it was requested.

    ``nodes`` is 0 for a batch step in SPANK; ``layout`` has the tasks' global ids, for each node. ``argv`` None is not
    compared. ``mem`` is on a node, in MiB, ``cpus`` for each node, ``ends`` are wait statuses, by global id.
    """

    tasks: int
    nodes: int
    layout: tuple[tuple[int, ...], ...]
    cpus_per_task: int
    argv: tuple[str, ...] | None
    mem: int
    cpus: tuple[int, ...]
    ends: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """One command.

    ``steps`` have the names that Slurm's tools show. ``options`` are expected values of the probe's: flag, word, maybe,
    number; None: not given. ``array`` is the index of its only task in a job array; ``commands`` the programs on the
    user's side, each with its context.
    """

    name: str
    command: str
    steps: dict[str, Step]
    options: tuple[Any, Any, Any, Any] = (None, None, None, None)
    array: int | None = None
    commands: tuple[tuple[str, str], ...] = (("srun", "local"),)
    control: str = "from local"


ENDS = "test $SLURM_PROCID != 2 || kill -KILL $$; exit $SLURM_PROCID"
BATCH = Step(1, 0, ((0,),), 1, None, 64, (1,), (0,))
ONE = Step(1, 1, ((0,),), 1, ("true",), 64, (1,), (0,))
EXTERN = Step(1, 1, ((0,),), 1, (), 64, (1,))

RUNS = (
    Run(
        "srun",
        "srun -w n1,n2 -N2 -n3 -c2 -m block --mem=64 --probe-flag --probe-word=w --probe-maybe --probe-number=5"
        f" sh -c '{ENDS}'",
        {
            "0": Step(3, 2, ((0, 1), (2,)), 2, ("sh", "-c", ENDS), 64, (4, 2), (0, 1 << 8, 9)),
            "extern": Step(2, 2, ((0,), (1,)), 1, (), 64, (4, 2)),
        },
        (True, "w", True, 5),
    ),
    Run(
        "sbatch",
        "sbatch -w n1 -n1 --mem=64 --probe-maybe=x --probe-number=7 --output=/dev/null --wrap 'srun true'",
        {"batch": BATCH, "0": ONE, "extern": EXTERN},
        (None, None, "x", 7),
        commands=(("sbatch", "allocator"), ("srun", "local")),
        control="from allocator",
    ),
    Run(
        "array",
        "sbatch -w n1 -n1 --mem=64 --array=3 --output=/dev/null --wrap 'srun true'",
        {"batch": BATCH, "0": ONE, "extern": EXTERN},
        array=3,
        commands=(("sbatch", "allocator"), ("srun", "local")),
        control="from allocator",
    ),
    Run(
        "salloc",
        "salloc -w n1 -n1 --mem=64 --probe-word='two words' srun true",
        {"0": ONE, "extern": EXTERN},
        (None, "two words", None, None),
        commands=(("salloc", "allocator"), ("srun", "local")),
        control="from allocator",
    ),
    Run(
        "interactive",
        "salloc -w n1 -n1 --mem=64 < /dev/null",
        {"interactive": Step(1, 1, ((0,),), 1, None, 64, (1,), (0,)), "extern": EXTERN},
        commands=(("salloc", "allocator"), ("srun", "local")),
        control="from allocator",
    ),
)


def step_of(record: dict[str, Any]) -> str | None:
    """Return the name of the step of a record, from the title of its process; None on the user's side."""
    found = STEPD_TITLE.match(record["process"]["command"])
    return found.group(2) if found else None


def job_of(records: list[dict[str, Any]]) -> int:
    """Return the id of the job of all records."""
    found = {match.group(1) for record in records if (match := STEPD_TITLE.match(record["process"]["command"]))}
    assert len(found) == 1, f"records of jobs {found}"
    return int(found.pop())


class Truth:
    """The expected value of every item of one record."""

    def __init__(self, run: Run, record: dict[str, Any], job_id: int, version: str) -> None:
        self.run = run
        self.record = record
        self.job_id = job_id
        self.version = version
        self.step_name = step_of(record) or ("0" if "0" in run.steps else "interactive")
        self.step = run.steps[self.step_name]
        self.node = int((record["node"] or "n1").removeprefix("n")) - 1
        self.here = self.step.layout[self.node]

    def of(self, item: str) -> object:
        """Return the value of an item."""
        return getattr(self, f"_{item}")()

    def _task(self) -> int:
        """Return this task's id in the step; its id on the node is from SPANK."""
        local_id: int = self.record["items"]["task_id"]["value"]
        return self.here[local_id]

    def _job_uid(self) -> object:
        return ALICE

    def _job_gid(self) -> object:
        return ALICE

    def _job_id(self) -> object:
        return self.job_id

    def _job_stepid(self) -> object:
        special = {"batch": 0xFFFFFFFB, "extern": 0xFFFFFFFC, "interactive": 0xFFFFFFFA}
        return special.get(self.step_name) or int(self.step_name)

    def _job_nnodes(self) -> object:
        return self.step.nodes

    def _job_nodeid(self) -> object:
        return self.node

    def _job_local_task_count(self) -> object:
        return len(self.here)

    def _job_total_task_count(self) -> object:
        return self.step.tasks

    def _job_ncpus(self) -> object:
        return 0 if self.step_name == "extern" else self.step.cpus[self.node]

    def _job_argv(self) -> object:
        argv = self.step.argv
        return self.record["items"]["job_argv"]["value"] if argv is None else list(argv)

    def _job_env(self) -> object:
        if self.step_name == "extern":
            return {"HOME": None, "SLURM_JOB_ID": None}
        return {"HOME": "/home/alice", "SLURM_JOB_ID": str(self.job_id)}

    def _task_id(self) -> object:
        return self.record["items"]["task_id"]["value"] if self._task() in self.here else "one of this node's"

    def _task_global_id(self) -> object:
        return self._task()

    def _task_exit_status(self) -> object:
        raw = self.step.ends[self._task()]
        return [raw, None if raw & 0x7F else raw >> 8, (raw & 0x7F) or None, False]

    def _task_pid(self) -> object:
        process = self.record["process"]
        pid = self.record["items"]["task_pid"]["value"]
        in_task = self.record["callback"].startswith("task_init")
        return process["pid"] if in_task else pid if pid > process["pid"] else "a later process"

    def _job_pid_to_global_id(self) -> object:
        return self._task()

    def _job_pid_to_local_id(self) -> object:
        return self.here.index(self._task())

    def _job_local_to_global_id(self) -> object:
        return self.here[0]

    def _job_global_to_local_id(self) -> object:
        return 0 if 0 in self.here else "ESPANK_NOEXIST"

    def _job_supplementary_gids(self) -> object:
        return [ALICE]

    def _slurm_version(self) -> object:
        return self.version

    def _slurm_version_major(self) -> object:
        return self.version.split(".")[0]

    def _slurm_version_minor(self) -> object:
        return self.version.split(".")[1]

    def _slurm_version_micro(self) -> object:
        return self.version.split(".")[2].partition("-")[0]  # 26.11.0-0rc1

    def _step_cpus_per_task(self) -> object:
        return self.step.cpus_per_task

    def _job_alloc_cores(self) -> object:
        count = self.run.steps["extern"].cpus[self.node]
        return "0" if count == 1 else f"0-{count - 1}"

    def _step_alloc_cores(self) -> object:
        return self._job_alloc_cores()

    def _job_alloc_mem(self) -> object:
        return self.run.steps["extern"].mem

    def _step_alloc_mem(self) -> object:
        return self.step.mem

    def _slurm_restart_count(self) -> object:
        early = self.step_name == "batch" and self.record["callback"] not in ("task_init", "task_exit", "exit")
        return None if early or self.step_name == "extern" else 0

    def _job_array_id(self) -> object:
        return self.job_id if self._job_array_task_id() is not None else None

    def _job_array_task_id(self) -> object:
        return None if self.step_name == "extern" else self.run.array
