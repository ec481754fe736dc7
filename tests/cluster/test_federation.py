# SPDX-License-Identifier: GPL-2.0-or-later
"""Two clusters of one federation on one machine: what handlers and rules of a sibling make of a user's job."""

import json

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import PREAMBLE, Site
from tests.cluster.lab.cluster import cluster_name

SECOND = "/etc/slurm2"
TELLS = """
from slurmhooks.job_submit import slurmctld

@hook.job_submit(order=10)
def submit(job, submit_uid):
    tell(name=job.name, cluster=slurmctld.cluster_name(), origin=job.origin, uid=submit_uid, user=job.user_id)
    job.comment = slurmctld.cluster_name()
"""
RULES = """\
[hooks]
paths = ["/etc/slurm2/hooks.d/*.py"]

[[policies]]
rule = "time_ceiling"
limit = 10

[[policies]]
rule = "require_account"
"""
START = f"""\
mkdir -p {SECOND}/hooks.d
grep -v "^Include" /etc/slurm/slurm.conf > {SECOND}/slurm.conf
cat /etc/slurm/local.conf >> {SECOND}/slurm.conf
cp /etc/slurm/slurm.key {SECOND}/ 2>/dev/null && chown slurm: {SECOND}/slurm.key
sed -i -e 's/^ClusterName=.*/ClusterName=second/' -e 's/^SlurmctldPort=.*/SlurmctldPort=PORT/' \\
    -e 's!^StateSaveLocation=.*!StateSaveLocation=/var/lib/slurm/second!' \\
    -e 's!^SlurmctldPidFile=.*!SlurmctldPidFile=/run/second.pid!' \\
    -e 's!^SlurmctldLogFile=.*!SlurmctldLogFile=/var/log/slurm/second.log!' {SECOND}/slurm.conf
# Its nodes have no slurmd, so nothing runs there.
sed -i "s/ Port=[0-9]*/ Port=9/" {SECOND}/slurm.conf
install -d -o slurm -g slurm /var/lib/slurm/second
SLURM_CONF={SECOND}/slurm.conf slurmctld
"""


@pytest.fixture(scope="module")
def federation(cluster: Cluster) -> Site:
    """A cluster and its sibling, which has rules and no nodes of its own, so nothing runs there."""
    accounting.need_sources(cluster)
    accounting.start(cluster, "add cluster second", "add account physics Cluster=second,CLUSTER",
                     "add user alice Account=physics DefaultAccount=physics Cluster=second,CLUSTER")  # fmt: skip
    cluster.without_spank()
    site = Site(cluster)
    site.reset()
    site.hooks(TELLS)
    cluster.put(PREAMBLE + TELLS, f"{SECOND}/hooks.d/tells.py")
    cluster.put(RULES, f"{SECOND}/slurmhooks.toml")
    port = cluster.root("sh", "-c", "scontrol show config | sed -n 's/^SlurmctldPort *= *//p'").stdout.strip()
    cluster.root("sh", "-ec", START.replace("PORT", str(int(port) + 40)), check=True)
    sibling = f"sacctmgr -i add federation both clusters={cluster_name(cluster.release)},second"
    cluster.root("sh", "-ec", f"scontrol update nodename=ALL state=drain reason=test\n{sibling}", check=True)
    cluster.wait(
        lambda: "PersistConnSend/Recv:Yes/Yes" in cluster.root("scontrol", "show", "federation").stdout,
        what="connection of the siblings",
    )
    return site


@pytest.mark.parametrize(
    ("options", "accepted"), [("-t5 -A physics", True), ("-t15 -A physics", False), ("-t5", False)]
)
def test_rules_of_a_sibling(federation: Site, options: str, accepted: bool) -> None:
    """A sibling calls its plugins as root for a user's job: its rules hold, and handlers see where it comes from."""
    site = federation
    name = options.replace(" ", "")
    done = site.said("sbatch", "-J", name, "-o", "/dev/null", *options.split(), "--wrap=true")
    assert "Submitted batch job" in done
    job_id = done.split()[3]

    def told() -> list[dict[str, object]]:
        lines = site.cluster.root("cat", "/var/tmp/told/told").stdout.splitlines()
        return [each for each in map(json.loads, lines) if each["name"] == name]

    site.cluster.wait(lambda: len(told()) == 2, what="call of the sibling")
    user = site.cluster.user("alice", "id", "-u").stdout.strip()
    first, second = told()
    assert (first["origin"], str(first["uid"])) == ("user", user)
    assert (second["cluster"], second["origin"], second["uid"], str(second["user"])) == ("second", "sibling", 0, user)
    shows = f"SLURM_CONF={SECOND}/slurm.conf scontrol show job {job_id} --local"

    def active() -> bool:
        return "second" in site.show(job_id)["FedActiveSiblings"]

    if accepted:
        site.cluster.wait(lambda: site.cluster.root("sh", "-c", shows).returncode == 0, what="job at the sibling")
        assert active()
    else:
        site.cluster.wait(lambda: not active(), what="answer of the sibling")
        assert site.cluster.root("sh", "-c", shows).returncode != 0
