# SPDX-License-Identifier: GPL-2.0-or-later
"""Two clusters on one machine: jobs for the other one, and jobs of a federation, as handlers and rules see them."""

import json
from typing import Any

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import PREAMBLE, Site
from tests.cluster.lab.cluster import cluster_name

pytestmark = [pytest.mark.stopped, pytest.mark.moved]

SECOND = "/etc/slurm2"
NAME = """
from slurmhooks.files import slurm_conf
HERE = "second" if "slurm2" in slurm_conf.directory() else "first"
"""
TELLS = f"""
{NAME}
@hook.job_submit(order=10)
def submit(job, submit_uid):
    tell(name=job.name, cluster=HERE, origin=job.origin, uid=submit_uid, user=job.user_id,
         origin_cluster=job.origin_cluster)
    if job.name == "nowhere":
        raise Reject("not here")
    job.comment = HERE

@hook.job_modify
def modify(job, modify_uid):
    tell(name=job.comment, cluster=HERE, origin=job.origin, uid=modify_uid)
"""
LAUNCHES = """
greet = hook.spank.option("greet", "NAME", usage="whom to greet")

@hook.cli_filter.pre_submit
def asked(options):
    tell(name=options.name, filter=HERE, clusters=options.clusters)

@hook.spank.init_post_opt(contexts=["local", "remote"])
def launched(spank):
    if spank.context == "local" or spank.job_stepid < 1 << 31:
        tell(name="spank", context=spank.context, hooks=HERE, user=os.geteuid(), greet=greet.value)
"""
RULES = """\
[hooks]
paths = ["hooks.d/*.py"]

[[rule]]
rule = "time_ceiling"
limit = 10
updates = "ignore"

[[rule]]
rule = "require_account"
updates = "ignore"
"""
START = f"""\
mkdir -p {SECOND}/hooks.d
grep -v "^Include" /etc/slurm/slurm.conf > {SECOND}/slurm.conf
cat /etc/slurm/local.conf >> {SECOND}/slurm.conf
cp /etc/slurm/cgroup.conf {SECOND}/
echo "required spank_python.so" > {SECOND}/plugstack.conf
cp /etc/slurm/slurm.key {SECOND}/ 2>/dev/null && chown slurm: {SECOND}/slurm.key
sed -i -e 's/^ClusterName=.*/ClusterName=second/' -e 's/^SlurmctldPort=.*/SlurmctldPort=PORT/' \\
    -e 's!^StateSaveLocation=.*!StateSaveLocation=/var/lib/slurm/second!' \\
    -e 's!^SlurmctldPidFile=.*!SlurmctldPidFile=/run/second.pid!' \\
    -e 's!^SlurmctldLogFile=.*!SlurmctldLogFile=/var/log/slurm/second.log!' \\
    -e 's!^\\(Slurmd.*\\)%n!\\1second-%n!' -e 's!^PlugStackConfig=.*!PlugStackConfig={SECOND}/plugstack.conf!' \\
    -e '/^NodeName=n2 /d' -e 's/^NodeName=n1 \\(.*\\) Port=[0-9]*/NodeName=m1 \\1 Port=NODE/' {SECOND}/slurm.conf
install -d -o slurm -g slurm /var/lib/slurm/second
mkdir -p /var/spool/slurm/second-m1
export SLURM_CONF={SECOND}/slurm.conf
slurmhooks deploy --sysconfdir {SECOND}
slurmctld
slurmd -N m1
"""


class Pair:
    """Two clusters with one accounting, of which the other one is "second"; alice works on the first."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.first = cluster_name(site.cluster.release)
        self.alice = int(site.cluster.user("alice", "id", "-u").stdout)

    def told(self, name: str, count: int) -> list[dict[str, Any]]:
        """Wait for this many records about jobs with a name, and return them."""

        def found() -> list[dict[str, Any]]:
            lines = self.site.cluster.root("cat", "/var/tmp/told/told").stdout.splitlines()
            return [each for each in map(json.loads, lines) if each["name"] == name]

        self.site.cluster.wait(lambda: len(found()) >= count, what=f"{count} records about {name}")
        assert len(found()) == count, found()
        return found()

    def of_second(self, *command: str) -> Any:
        """Run a command of root for the other cluster."""
        return self.site.cluster.root("env", f"SLURM_CONF={SECOND}/slurm.conf", *command)


@pytest.fixture(scope="module")
def pair(cluster: Cluster) -> Pair:
    """Two clusters that share a slurmdbd; only the second has rules, and one node."""
    accounting.start(cluster, "add cluster second", "add account physics Cluster=second,CLUSTER",
                     "add user alice Account=physics DefaultAccount=physics Cluster=second,CLUSTER",
                     more="CliFilterPlugins=cli_filter/python\n")  # fmt: skip
    site = Site(cluster)
    site.reset()
    cluster.root("sh", "-ec", "touch /var/tmp/told/told; chmod 666 /var/tmp/told/told", check=True)
    site.hooks(TELLS + LAUNCHES)
    cluster.put("required spank_python.so\n", "/etc/slurm/plugstack.conf")
    cluster.put(PREAMBLE + TELLS + LAUNCHES, f"{SECOND}/hooks.d/tells.py")
    cluster.put(RULES, f"{SECOND}/slurmhooks.toml")
    port = cluster.root("sh", "-c", "scontrol show config | sed -n 's/^SlurmctldPort *= *//p'").stdout.strip()
    cluster.root(
        "sh", "-ec", START.replace("PORT", f"{int(port) + 40}").replace("NODE", f"{int(port) + 41}"), check=True
    )
    cluster.deploy()
    made = Pair(site)
    cluster.wait(lambda: "idle" in made.of_second("sinfo", "-hn", "m1", "-o", "%T").stdout, what="node of second")
    return made


def test_a_job_for_another_cluster(pair: Pair) -> None:
    """With --clusters, that cluster's job_submit decides and the text is read; cli_filter is the submitting one's."""
    done = pair.site.said("sbatch", "-M", "second", "-J", "other", "-o", "/dev/null", "-H", "-t5", "-A", "physics",
                          "--wrap=true")  # fmt: skip
    assert "Submitted batch job" in done, done
    asked, submitted = pair.told("other", 2)
    assert (asked["filter"], asked["clusters"]) == ("first", "second")
    assert submitted == {"name": "other", "cluster": "second", "origin": "user", "uid": pair.alice,
                         "user": pair.alice, "origin_cluster": None}  # fmt: skip
    job_id = done.split()[3]
    pair.site.said("scontrol", "-M", "second", "update", f"jobid={job_id}", "comment=new")
    assert pair.told("new", 1) == [{"name": "new", "cluster": "second", "origin": "update", "uid": pair.alice}]
    refused = pair.site.run("sbatch", "-M", "second", "-J", "refused", "-t15", "-A", "physics", "--wrap=true")
    assert refused.returncode != 0
    assert "at most 00:10:00" in refused.stderr
    pair.site.said("scancel", "-M", "second", job_id)


def test_one_of_several_clusters(pair: Pair) -> None:
    """With several clusters, each is asked when the job would start, and that of them is chosen which may be soonest.

    A cluster whose handlers refuse the job is not chosen; if all refuse it, it is not submitted.
    """
    several = f"second,{pair.first}"
    done = pair.site.said("sbatch", "-M", several, "-J", "several", "-o", "/dev/null", "-t15", "--wrap=true")
    assert f"on cluster {pair.first}" in done, done
    rows = pair.told("several", 4)
    assert [each["cluster"] for each in rows[1:]].count("first") == 2
    assert {each["origin"] for each in rows[1:]} == {"user"}
    nowhere = pair.site.run("sbatch", "-M", several, "-J", "nowhere", "-o", "/dev/null", "-t15", "--wrap=true")
    assert nowhere.returncode != 0
    assert "Submitted" not in nowhere.stdout


def test_a_step_on_another_cluster(pair: Pair) -> None:
    """In srun run the SPANK hooks of the submitting cluster, in slurmstepd those of the cluster of the job."""
    done = pair.site.run("srun", "-M", "second", "-J", "steps", "-t5", "-A", "physics", "-n1", "--greet=you",
                         "true")  # fmt: skip
    assert done.returncode == 0, done.stderr
    # Only srun and salloc tell where they run.
    assert pair.told("steps", 2)[1]["origin_cluster"] == pair.first
    rows = pair.told("spank", 2)
    assert {each["context"]: (each["hooks"], each["user"], each["greet"]) for each in rows} == {
        "local": ("first", pair.alice, "you"),
        "remote": ("second", 0, "you"),
    }


@pytest.fixture(scope="module")
def federation(pair: Pair) -> Pair:
    """The two clusters in a federation, without nodes that run jobs."""
    cluster = pair.site.cluster
    sibling = f"sacctmgr -i add federation both clusters={pair.first},second"
    drain = "scontrol update nodename=ALL state=drain reason=test"
    cluster.root("sh", "-ec", f"{drain}\nSLURM_CONF={SECOND}/slurm.conf {drain}\n{sibling}", check=True)
    cluster.wait(
        lambda: "PersistConnSend/Recv:Yes/Yes" in cluster.root("scontrol", "show", "federation").stdout,
        what="connection of the siblings",
    )
    return pair


@pytest.mark.parametrize(
    ("options", "accepted"), [("-t5 -A physics", True), ("-t15 -A physics", False), ("-t5", False)]
)
def test_rules_of_a_sibling(federation: Pair, options: str, accepted: bool) -> None:
    """A sibling calls its plugins as root for a user's job: its rules hold, and handlers see where it comes from."""
    site = federation.site
    name = options.replace(" ", "")
    done = site.said("sbatch", "-J", name, "-o", "/dev/null", *options.split(), "--wrap=true")
    assert "Submitted batch job" in done
    job_id = done.split()[3]
    _, first, second = federation.told(name, 3)
    user = federation.alice
    assert (first["origin"], first["uid"]) == ("user", user)
    assert (second["cluster"], second["origin"], second["uid"], second["user"]) == ("second", "sibling", 0, user)

    def active() -> bool:
        return "second" in site.show(job_id)["FedActiveSiblings"]

    def at_second() -> bool:
        return bool(federation.of_second("scontrol", "show", "job", job_id, "--local").returncode == 0)

    if accepted:
        site.cluster.wait(at_second, what="job at the sibling")
        assert active()
    else:
        site.cluster.wait(lambda: not active(), what="answer of the sibling")
        assert not at_second()
