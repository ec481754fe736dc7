# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples of periodic handlers, with a real slurmctld, slurmdbd and Prometheus."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster

pytestmark = [pytest.mark.one_release("22.05"), pytest.mark.moved, pytest.mark.stopped]

EXAMPLES = Path(__file__).parents[2] / "contrib" / "examples"
SOON = {
    "idle_gpus.py": (
        ('"5m"', '"2s"'),
        ("[{minutes}m]", "[{minutes}s]"),
        ("60 * minutes", "minutes"),
        ("30, 120", "5, 3600"),
    ),
    "sleeping_jobs.py": (
        ('"10m"', '"2s"'),
        ("WARN, CANCEL = 3600.0, 2 * 3600.0", "WARN, CANCEL = 5.0, 15.0"),
        ("LITTLE = 5.0", "LITTLE = 0.2"),
    ),
    "never_starts.py": (('"5m"', '"2s"'), ("GRACE = 24 * 3600.0", "GRACE = 0.0")),
    "unix_groups.py": (('"1h"', '"2s"'),),
}
"""What makes an example act within seconds."""
QUICK = "from slurmhooks.hooks import schedule\n\nschedule.SHORTEST = 1\n"
"""A hook file that lets those after it have shorter periods, so that tests need not wait as long."""
LINES = "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=1\n"
SERVER = """
import http.server
class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(open("/run/metrics", "rb").read())
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(("127.0.0.1", 9400), Metrics).serve_forever()
"""
PROMETHEUS = """
global: {scrape_interval: 1s}
scrape_configs: [{job_name: dcgm, static_configs: [{targets: ["127.0.0.1:9400"]}]}]
"""
START = """
install /dev/null /run/metrics
setsid python3 /root/exporter.py </dev/null >/dev/null 2>&1 &
echo $! >/run/exporter.pid
setsid prometheus --config.file=/root/prometheus.yml --storage.tsdb.path=/dev/shm/prometheus \\
    </dev/null >/var/log/slurm/prometheus.log 2>&1 &
echo $! >/run/prometheus.pid
"""


def has_accounting(cluster: Cluster) -> bool:
    """Tell whether this release's slurmdbd can be expected to work: that of Debian 13 often cannot use its database."""
    return cluster.version != (24, 11)


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Cluster:
    """A cluster with accounting and the examples."""
    if not cluster.has_sources:
        pytest.skip("the build has only public headers")
    cluster.put('[hooks]\npaths = ["hooks.d/*.py"]\n', "/etc/slurm/slurmhooks.toml")
    cluster.put(QUICK, "/etc/slurm/hooks.d/a_quick.py")
    for name, changes in SOON.items():
        text = (EXAMPLES / name).read_text()
        for before, after in changes:
            assert before in text, (name, before)
            text = text.replace(before, after)
        cluster.put(text, f"/etc/slurm/hooks.d/{name}")
    cluster.root("sh", "-c", "groupadd -f physics; gpasswd -d alice physics; gpasswd -d bob physics")
    if has_accounting(cluster):
        commands = (
            "add account phys",
            "add account other",
            "add user alice Account=other",
            "add user bob Account=other",
        )
        accounting.start(cluster, *commands, enforce="associations", more=LINES)
    else:
        cluster.put(f"JobSubmitPlugins=python\n{LINES}", "/etc/slurm/local.conf")
        cluster.restart()
    return cluster


@pytest.fixture
def prometheus(site: Cluster) -> Iterator[None]:
    """A Prometheus that reads the file /run/metrics every second."""
    site.tool("add", "prometheus", timeout=accounting.MAKE_SECONDS)
    site.put(SERVER, "/root/exporter.py")
    site.put(PROMETHEUS, "/root/prometheus.yml")
    site.root("sh", "-ec", START, check=True)
    yield
    site.root("sh", "-c", "kill $(cat /run/prometheus.pid /run/exporter.pid)")


def submit(cluster: Cluster, name: str, *options: str) -> str:
    """Submit a batch job that sleeps; return its id."""
    common = ("--parsable", "-J", name, "-n1", "--mem=1", "-o", f"{name}.out", "--wrap", "sleep 600")
    done = cluster.user("alice", "sbatch", *common, *options, check=True)
    return done.stdout.strip()


def log(cluster: Cluster) -> str:
    """Return slurmctld's log."""
    return cluster.root("cat", "/var/log/slurm/slurmctld.log").stdout


def state(cluster: Cluster, job: str) -> str:
    """Return the state of a job."""
    return cluster.root("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").stdout.strip()


def test_jobs_with_idle_gpus(site: Cluster, prometheus: None) -> None:
    """A job with idle GPUs is warned and then cancelled; one that uses one of its GPUs, or is not measured, is not."""
    idle, busy, unmeasured = (submit(site, name) for name in ("idle", "busy", "unmeasured"))
    metric = 'DCGM_FI_DEV_GPU_UTIL{{gpu="{}",hpc_job="{}"}} {}\n'
    values = ((0, idle, 0), (1, idle, 0), (2, busy, 0), (3, busy, 97))
    site.put("".join(metric.format(*each) for each in values), "/run/metrics")
    warning = "was used for 5 minutes; it is cancelled after 3600"
    site.wait(lambda: warning in site.root("cat", "/home/alice/idle.out").stdout, what="warning")
    path = "/etc/slurm/hooks.d/idle_gpus.py"
    site.root("sed", "-i", "s/5, 3600/5, 20/", path, check=True)
    site.deploy()
    site.wait(lambda: state(site, idle) == "CANCELLED", what="cancel")
    text = site.root("cat", "/home/alice/idle.out").stdout
    assert text.count(warning) == 1, text
    assert "cancelled: no GPU of this job was used for 20 minutes" in text, text
    assert (state(site, busy), state(site, unmeasured)) == ("RUNNING", "RUNNING")
    site.root("scancel", busy, unmeasured)


def test_interactive_jobs_that_sleep(site: Cluster) -> None:
    """An interactive job that uses no CPU is cancelled; one that computes, and a batch job that sleeps, are not."""
    batch = submit(site, "batch")
    for name, command in (("sleeps", "sleep 600"), ("computes", "while :; do :; done")):
        started = f"srun -J {name} -n1 --mem=1 sh -c '{command}' >/dev/null 2>&1 </dev/null & sleep 0.1"
        site.user("alice", "sh", "-c", started)

    def of(name: str) -> str:
        return site.root("squeue", "-h", "-t", "all", "-n", name, "-o", "%T").stdout.strip()

    site.wait(lambda: of("sleeps") == "CANCELLED", timeout=90, what="cancel")
    assert of("computes") == "RUNNING"
    assert state(site, batch) == "RUNNING"
    site.root("scancel", "-u", "alice")


def test_jobs_that_can_never_start(site: Cluster) -> None:
    """A job above its partition's limits, or whose dependency has failed, is cancelled; another waiting job is not."""
    long = submit(site, "long", "-p", "other", "-t", "120")
    failed = site.user("alice", "sbatch", "--parsable", "-o", "/dev/null", "--wrap", "false").stdout.strip()
    never, waits = submit(site, "never", f"--dependency=afterok:{failed}"), submit(site, "waits", "--begin=now+1day")
    site.wait(lambda: (state(site, long), state(site, never)) == ("CANCELLED", "CANCELLED"), what="cancel")
    assert state(site, waits) == "PENDING"
    site.root("scancel", waits)


def test_associations_from_unix_groups(site: Cluster) -> None:
    """A member of a Unix group gets an association with its account; others get none."""
    if not has_accounting(site):
        pytest.skip("NO ACCOUNTING OF 24.11 WAS TESTED")

    def accounts(user: str) -> set[str]:
        shown = site.root("sacctmgr", "-nP", "show", "associations", f"user={user}", "format=account")
        return set(shown.stdout.split())

    assert accounts("alice") == {"other"}
    site.root("gpasswd", "-a", "alice", "physics", check=True)
    site.wait(lambda: accounts("alice") == {"other", "phys"}, what="association")
    assert accounts("bob") == {"other"}
    site.wait(lambda: "added alice to account phys" in log(site), what="line in the log")
    assert log(site).count("added alice to account phys") == 1
