# SPDX-License-Identifier: GPL-2.0-or-later
"""What a rule decides at submission holds for jobs that are moved or changed later, on real slurmctlds."""

from collections.abc import Callable

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import Site
from tests.cluster.test_rules_evaded import SHORT, Given, Try, evading, show, tries, under

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped, pytest.mark.moved]

ARRAY, SCRIPT, MEMORY, NODE, NEEDED, TYPE = (
    f'{rule}\npartitions = ["gpu"]'
    for rule in (
        'rule = "array_size"\nmost = 3',
        'rule = "script_content"\nforbidden = ["scontrol"]',
        'rule = "require_memory"',
        'rule = "forbid_nodelist"',
        'rule = "require_gpu"',
        'rule = "require_gpu_type"',
    )
)
STAYS, KEPT = (
    f'rule = "guard_updates"\nlowering = "accept"\nchanges = ["{name}"]' for name in ("partition", "min_mem_per_node")
)
LONG = f'{SHORT}\nunset = "accept"'
FILLED = 'rule = "default_time"\nvalue = 5\nmessage = ""'
INSIDE = 'rule = "work_directory"\ninside = ["/home"]'
TRIES = [
    Try(ARRAY, "-n1 -a1-5", update="Partition=gpu"),
    Try(ARRAY, "-n1 -a1-5", update="Partition=gpu", target="_4"),
    Try(ARRAY, "-n1 -a1-5", update="ReservationName=course,"),
    Try(ARRAY, "-n1 -a1-3", update="Partition=gpu", plain=True),
    Try(ARRAY, "-n1", update="Partition=gpu", plain=True),
    Try(SCRIPT, "-n1", update="Partition=gpu"),
    Try(SCRIPT, "-n1 -a4-5", update="Partition=debug,gpu", target="_4"),
    Try(SCRIPT, "-n1", update="Partition=whole", plain=True),
    Try(NODE, "-n1 -w n1", update="Partition=gpu"),
    Try(NODE, "-n1 -w n1", update="ReservationName=course,"),
    Try(NODE, "-n1 -w n1", update="Partition=gpu ReqNodeList=", plain=True),
    Try(MEMORY, "-n1", update="Partition=gpu"),
    Try(MEMORY, "-n1 --mem=100", update="Partition=gpu", plain=True),
    # GPUs that Slurm has computed from tasks, and keeps or forgets.
    Try(NEEDED, "-n2 --ntasks-per-gpu=1", update="Partition=gpu", plain=True),
    Try(NEEDED, "-n1 --ntasks-per-gpu=1", update="Partition=gpu TresPerNode=gres/tape:1"),
    Try(TYPE, "-n2 --ntasks-per-gpu=1", update="Partition=gpu"),
    Try(TYPE, "-n1 --gres=gpu:1", update="Partition=gpu TresPerNode="),
    Try(TYPE, "-n1", update="Partition=gpu", plain=True),
    # What other keys of scontrol change, too.
    Try(STAYS, "-n1", update="ReservationName=course,"),
    Try(STAYS, "-n1", update="ReservationName=anywhere,", plain=True),
    Try(KEPT, "-n1 --mem=100", update="MinMemoryCPU=150"),
    Try(KEPT, "-n1 --mem=100", update="MinMemoryNode=0"),
    Try(KEPT, "-n1 --mem=100", update="MinMemoryNode=90", plain=True),
    # Slurm starts a job without a folder in /tmp.
    Try(INSIDE, "-n1 -D /home/alice", update="WorkDir="),
    Try(INSIDE, "-n1 -D /home/alice", update="WorkDir=home/alice"),
    Try(INSIDE, "-n1 -D /home/alice", update="WorkDir=/home", plain=True),
    # Limits of time that a job names besides its time limit.
    Try(SHORT, "-n1 -p gpu --deadline=now+5minutes", plain=True),
    Try(SHORT, "-n1 -p gpu --deadline=now+30minutes", plain=True),
    Try(SHORT, "-n1 -p gpu --time-min=8", plain=True),
    Try(LONG, "-n1 -p gpu --time-min=15"),
    Try(LONG, "-n1 -p gpu", update="TimeMin=15"),
    Try(FILLED, "-n1 --time-min=7", plain=True),
    Try(FILLED, "-n1 --deadline=now+3minutes", plain=True),
]
BROKEN: dict[str, Callable[[Given], bool]] = {
    ARRAY: lambda given: given.partition == "gpu" and given.task > 3,
    SCRIPT: lambda given: given.partition == "gpu",
    NODE: lambda given: given.partition == "gpu" and given.named,
    MEMORY: lambda given: given.partition == "gpu" and given.memory != 100,
    NEEDED: lambda given: given.partition == "gpu" and not given.gpus,
    TYPE: lambda given: given.partition == "gpu" and given.gpus > 0,
    STAYS: lambda given: given.partition == "gpu",
    KEPT: lambda given: given.memory > 100,
    SHORT: lambda given: given.minutes > 10,
    LONG: lambda given: given.minutes in range(15, 60),
    FILLED: lambda given: given.minutes not in (2, 3, 5, 7),
    INSIDE: lambda given: not given.folder.startswith("/home"),
}


def test_no_job_is_moved_past_a_rule(large_cluster: Cluster) -> None:
    """Neither a job nor a task of an array gets to a place by an update where its submission would be refused.

    Nor does an update of another key change what a rule guards.
    """
    if not large_cluster.has_sources:
        pytest.skip("slurmctld sends no jobs")
    site: Site = evading(large_cluster)
    tried = tries(site, TRIES)
    under(site, {name: each.rule for name, each in tried.items()})
    show(site, tried, BROKEN)
