# SPDX-License-Identifier: GPL-2.0-or-later
"""Facts about a job that no SPANK item has, and that handlers find in the environment."""

from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOKS = """
import json
from slurmhooks import hook

def write_down(spank):
    fields = {"callback": spank.callback, "context": spank.context}
    fields |= {name: spank.env.get(name) for name in ("SLURM_NODELIST", "SLURM_JOB_PARTITION", "SLURM_JOB_ACCOUNT")}
    if spank.context == "remote":
        fields["step"] = spank.step_name
    with open("/opt/spank/records", "a") as file:
        file.write(json.dumps(fields) + "\\n")

for name in ("init", "user_init", "task_init", "local_user_init", "job_prolog", "job_epilog"):
    getattr(hook.spank, name)(write_down)
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site whose handlers record variables."""
    made = site(cluster)
    made.hooks(variables=HOOKS)
    made.plugstack("required spank_python.so")
    made.compile()
    return made


@pytest.mark.parametrize(
    "command",
    [
        "srun -Q -N2 -A physics true",
        "salloc -Q -N2 -A physics srun -Q true",
        "sbatch -W -Q -N2 -A physics -o /dev/null --wrap 'srun -Q true'",
    ],
    ids=["srun", "salloc", "sbatch"],
)
def test_nodes_partition_and_account(lent: Site, command: str) -> None:
    """Nodes, partition, account: in srun's local_user_init, in slurmstepd from init on, in prolog and epilog."""
    lent.wait_until_idle()
    lent.forget_records()
    assert lent.shell(f"cd; {command}").returncode == 0
    lent.wait_for_records(2, callback="job_epilog")
    remote = [{"context": "remote", "callback": name, "step": "0"} for name in ("init", "user_init", "task_init")]
    places: list[dict[str, str]] = [{"callback": "local_user_init"}, {"callback": "job_prolog"}, *remote]
    for place in (*places, {"callback": "job_epilog"}):
        for record in lent.wait_for_records(1, **place):
            facts = (record["SLURM_NODELIST"], record["SLURM_JOB_PARTITION"], record["SLURM_JOB_ACCOUNT"])
            assert facts == ("n[1-2]", "debug", "physics"), (place, record)
