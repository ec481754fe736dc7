# SPDX-License-Identifier: GPL-2.0-or-later
"""hook.priority, hook.controller_prolog and hook.controller_epilog in a real slurmctld, together with job_submit."""

import json
import re

import pytest

from slurmhooks.testing import FakeRecord
from slurmhooks.workshop.testing import controller_variables
from tests.cluster.conftest import Cluster
from tests.cluster.turns import moved

CONF = """
JobSubmitPlugins=python
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PrioritySiteFactorPlugin=site_factor/python
PrEpPlugins=prep/script,prep/python
PrologSlurmctld=/etc/slurm/prolog.sh
"""
PROLOG = """\
#!/bin/sh
echo $SLURM_JOB_ID >> /tmp/prolog-script
if [ "$SLURM_JOB_NAME" = variables ]; then env | grep ^SLURM_ | LC_ALL=C sort > /var/tmp/of-script; fi
"""
PRIORITY = """
from slurmhooks import hook, log

@hook.priority
def points(record):
    if record.name == "bug":
        return 1 // 0
    return {base} + len(record.partition)

@hook.job_modify
def show(job, record):
    log.info("site factor %s", record.site_factor)
"""
PREP = """
import json, os, time
from slurmhooks import Reject, hook, log

def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)

if "SLURMCTLD_RECONF" in os.environ and os.path.exists("/var/tmp/cross"):
    # A prolog of the old slurmctld ends while this one loads hooks.
    open("/var/tmp/loads", "w").close()
    wait_for("/var/tmp/crossed")
    time.sleep(0.5)

def keep(record):
    if record.name == "variables":
        with open("/var/tmp/of-record", "w") as file:
            json.dump({{name: value for name, value in dict(record).items() if type(value) in (int, str)}}, file)

@hook.controller_prolog(timeout=2)
def starts({arguments}):
    name = environment["SLURM_JOB_NAME"]
    {check}
    log.info("prolog of %s on %s", name, environment["SLURM_JOB_NODELIST"])
    if name == "variables":
        with open("/var/tmp/of-handler", "w") as file:
            file.writelines(sorted(f"{{key}}={{value}}\\n" for key, value in environment.items()))
    if name == "no":
        raise Reject("the licence server is down")
    if name == "hangs":
        time.sleep(1000)

@hook.controller_prolog(timeout=60)
def crosses(environment):
    if environment["SLURM_JOB_NAME"] == "crosses":
        wait_for("/var/tmp/loads")
        open("/var/tmp/crossed", "w").close()

@hook.controller_epilog
def ends(environment):
    log.info("epilog of %s: %s", environment["SLURM_JOB_NAME"], environment["SLURM_JOB_EXIT_CODE2"])
"""
NO_THREADS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    static unsigned calls; /* the first thread is that of the workers' client */
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    Dl_info caller;

    if (dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "/prep_python.so") && calls++ &&
        !access("/run/no-threads", F_OK))
        return EAGAIN;
    return real(thread, attributes, run, argument);
}
"""
MEET = """
import os, sys, time

if "SLURMCTLD_RECONF" in os.environ:
    open("/var/tmp/meet/" + sys.argv[-1].partition(":")[0].rpartition(".")[2], "w").close()
    end = time.monotonic() + 25
    while len(os.listdir("/var/tmp/meet")) < {count}:
        if time.monotonic() > end:
            raise TimeoutError("only " + ", ".join(os.listdir("/var/tmp/meet")))
        time.sleep(0.01)
"""
HOOKS_D = "/etc/slurm/hooks.d"
NOTHING = "site_factor/python does nothing: it was built with Slurm's public headers only"


class Site:
    """A cluster whose slurmctld has all three plugins; ``private``: this release was built with its sources."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.private = "yes: record" in cluster.root("slurmhooks", "info", check=True).stdout
        cluster.put(CONF, "/etc/slurm/local.conf")
        cluster.put(PROLOG, "/etc/slurm/prolog.sh", 0o755)
        arguments = "record, environment" if self.private else "environment"
        check = "assert str(record.job_id) == environment['SLURM_JOB_ID']; keep(record)" if self.private else "pass"
        cluster.put(PREP.format(arguments=arguments, check=check), f"{HOOKS_D}/prep.py")
        if self.private:
            cluster.put(PRIORITY.format(base=1000), f"{HOOKS_D}/points.py")
        cluster.restart()
        cluster.wait(self.serves, what="workers of all plugins")

    def serves(self) -> bool:
        """Return whether all plugins have workers."""
        shown = self.cluster.root("slurmhooks", "info").stdout
        points = ("job_submit", "prep", "site_factor") if self.private else ("job_submit", "prep")
        return all(re.search(rf"slurmctld, {point}: generation 1, .*, workers \d", shown) for point in points)

    def submit(self, name: str, *options: str) -> str:
        """Submit a job as alice, and return its id."""
        command = ("sbatch", "--parsable", f"--job-name={name}", *options, "--wrap=true")
        return self.cluster.user("alice", *command, check=True).stdout.strip()

    def shown(self, job: str, what: str) -> str:
        """Return a field from scontrol show job."""
        text = self.cluster.root("scontrol", "show", "job", job, check=True).stdout
        found = re.search(rf"\b{what}=(.*?)(?= \w+=|$)", text, re.MULTILINE)
        return found.group(1).strip() if found else ""


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Site:
    """The cluster."""
    return Site(cluster)


@pytest.mark.each_release
def test_priority(site: Site) -> None:
    """A new job gets the handler's number; after a bug only that job gets none.

    Changed files take effect for all jobs.
    """
    if not site.private:
        assert NOTHING in site.cluster.log()
        assert site.submit("any", "--begin=now+1hour")
        return
    job, bug = (site.submit(name, "--begin=now+1hour") for name in ("job", "bug"))
    assert (site.shown(job, "Priority"), site.shown(bug, "Priority")) == ("1005", "1")
    log = site.cluster.log()
    assert re.search(r"error \w{8}: priority handler points:points .* raised ZeroDivisionError", log)
    site.cluster.put(PRIORITY.format(base=-70), f"{HOOKS_D}/points.py")
    site.cluster.restart()

    # Only job_modify's record shows a factor before Slurm computes priorities again.
    def is_new() -> bool:
        site.cluster.user("alice", "scontrol", "update", f"jobid={job}", "comment=x", check=True)
        return "site factor -65" in site.cluster.log()

    site.cluster.wait(is_new, what="new site factor")


def test_a_prolog_lets_jobs_start(site: Site) -> None:
    """The script in slurm.conf and the handler run before the job, and the epilog runs after it."""
    done = site.cluster.user("alice", "srun", "--job-name=yes", "hostname", check=True)
    assert done.stdout
    log = site.cluster.log()
    assert "prolog of yes on n" in log
    site.cluster.wait(lambda: "epilog of yes: 0:0" in site.cluster.log(), what="epilog")
    assert site.cluster.root("cat", "/tmp/prolog-script").stdout.split()


@pytest.mark.each_release
def test_the_variables_of_a_prolog(site: Site) -> None:
    """Handlers have the same variables as PrologSlurmctld."""
    site.cluster.user("alice", "srun", "--job-name=variables", "true", check=True)
    script, handler = (
        site.cluster.root("cat", f"/var/tmp/of-{who}", check=True).stdout for who in ("script", "handler")
    )
    assert handler.splitlines() == script.splitlines()
    if site.private:  # the kit computes the same from the record
        values = json.loads(site.cluster.root("cat", "/var/tmp/of-record", check=True).stdout)
        known = {*controller_variables.FIELDS} & {*values}
        record = FakeRecord(release=site.cluster.release, **{name: values[name] for name in known})
        mine = controller_variables.of_record(record, ended=False)
        theirs = dict(line.split("=", 1) for line in script.splitlines())
        other = {name for name in mine if mine[name] != theirs.get(name)}
        assert other <= {"SLURM_CLUSTER_NAME", "SLURM_JOB_GROUP"}  # this machine does not have the group
        assert {*theirs} - {*mine} <= {*controller_variables.MISSING, "SLURM_SCRIPT_CONTEXT"}


@pytest.mark.parametrize(
    ("name", "text"), [("no", "the licence server is down"), *moved(("hangs", "did not answer (error "))]
)
def test_a_prolog_that_fails(site: Site, name: str, text: str) -> None:
    """After a refusal, srun ends with the text, and a batch job is requeued and shows the text.

    Other jobs start meanwhile.
    """
    batch = site.submit(name)

    def said() -> str:
        done = site.cluster.user("alice", "srun", f"--job-name={name}", "hostname")
        assert done.returncode != 0
        # On a busy machine, srun may first learn that its job has ended; it then prints only that, and mostly the text.
        assert "PrologSlurmctld failed, job killed" in done.stderr or "has been revoked" in done.stderr
        return str(done.stderr)

    first = said()
    site.cluster.wait(lambda: site.shown(batch, "Restarts") == "1", what="requeue")
    if site.private:
        assert text in first or text in said()
        site.cluster.wait(lambda: text in site.shown(batch, "SystemComment"), what="reason")
    else:
        assert text in site.cluster.log()
    site.cluster.user("alice", "scancel", batch, check=True)
    assert site.cluster.user("alice", "srun", "--job-name=yes", "true").returncode == 0


def test_a_prolog_goes_on_after_a_restart(site: Site) -> None:
    """If slurmctld ends during a job's prolog, the next slurmctld runs the prolog again before it starts the job."""
    before = site.cluster.log().count("prolog of hangs")
    job = site.submit("hangs")
    site.cluster.wait(lambda: site.cluster.log().count("prolog of hangs") == before + 1, what="prolog")
    site.cluster.restart()
    site.cluster.wait(lambda: site.cluster.log().count("prolog of hangs") >= before + 2, what="the same prolog again")
    site.cluster.user("alice", "scancel", job, check=True)


def test_plugins_do_not_delay_each_other(site: Site) -> None:
    """While a prolog hangs, submissions are answered, because each plugin has its own workers."""
    job = site.submit("hangs")
    site.cluster.wait(lambda: site.shown(job, "JobState") == "CONFIGURING", what="prolog")
    assert site.submit("other", "--begin=now+1hour")
    assert site.shown(job, "JobState") == "CONFIGURING"
    site.cluster.user("alice", "scancel", job, check=True)
    site.cluster.wait(lambda: f"controller_prolog of JobId={job}: " in site.cluster.log(), what="end of the prolog")


def test_without_a_thread_jobs_wait(site: Site) -> None:
    """No job starts without its handlers if the plugin can start no thread; jobs go on once it can."""
    cluster = site.cluster
    cluster.put(NO_THREADS, "/root/no-threads.c")
    cluster.root("gcc", "-shared", "-fPIC", "-o", "/root/no-threads.so", "/root/no-threads.c", check=True)
    cluster.put("", "/run/no-threads")
    cluster.put("/root/no-threads.so\n", "/etc/ld.so.preload")
    try:
        cluster.restart("slurmctld")
        cluster.wait(site.serves, what="workers of all plugins")
        first = site.submit("first")
        cluster.wait(lambda: site.shown(first, "JobState") == "CONFIGURING", what="job that waits")
        assert "prep: no thread can be started: jobs wait" in cluster.log()
        cluster.root("rm", "/run/no-threads", check=True)
        second = site.submit("second")
        cluster.wait(lambda: "epilog of second" in cluster.log(), what="end of the second job")
        cluster.wait(lambda: "epilog of first" in cluster.log(), what="end of the first job")
        assert ["prolog of first" in cluster.log(), "prolog of second" in cluster.log()] == [True, True]
        cluster.wait(
            lambda: {site.shown(job, "JobState") for job in (first, second)} == {"COMPLETED"}, what="end of both jobs"
        )
    finally:
        cluster.root("rm", "-f", "/etc/ld.so.preload", "/run/no-threads")
        cluster.restart("slurmctld")
        cluster.wait(site.serves, what="workers of all plugins")


def test_reconfigure(site: Site) -> None:
    """scontrol reconfigure starts another slurmctld in recent releases: all plugins serve, and prologs run again.

    A prolog of the old slurmctld may end while that waits for the new one, which only a build with Slurm's sources can
    detect: the old one must not go on with the job, because its threads have ended.
    """
    cluster = site.cluster
    crosses = site.private and cluster.version >= (23, 11)
    if crosses:
        cluster.root("touch", "/var/tmp/cross", check=True)
        job = site.submit("crosses")
        cluster.wait(lambda: site.shown(job, "JobState") == "CONFIGURING", what="prolog")
    cluster.root("scontrol", "reconfigure", check=True)
    cluster.wait(site.serves, what="workers of all plugins")
    if crosses:
        cluster.wait(lambda: site.shown(job, "JobState") == "COMPLETED", what="the job, whose prolog runs again")
        cluster.root("rm", "/var/tmp/cross", "/var/tmp/loads", "/var/tmp/crossed", check=True)
    before = site.cluster.log().count("prolog of yes on n")
    assert site.cluster.user("alice", "srun", "--job-name=yes", "true").returncode == 0
    assert site.cluster.log().count("prolog of yes on n") == before + 1


@pytest.mark.moved
def test_a_reconfiguration_waits_once(site: Site) -> None:
    """The hooks of all plugins load at the same time in a new slurmctld: files that wait for each other load."""
    cluster = site.cluster
    if cluster.version < (23, 11):
        pytest.skip("slurmctld reconfigures itself in the same process")
    points = {"job_submit", "prep", "jobcomp", *(["site_factor"] if site.private else [])}
    cluster.put(f"{CONF}JobCompType=jobcomp/python\n", "/etc/slurm/local.conf")
    cluster.root("sh", "-ec", "rm -rf /var/tmp/meet; mkdir -m 777 /var/tmp/meet", check=True)
    cluster.restart("slurmctld")
    cluster.wait(site.serves, what="workers of all plugins")
    cluster.put(MEET.format(count=len(points)), f"{HOOKS_D}/meet.py")
    try:
        cluster.deploy()
        before = len(cluster.log())
        cluster.root("scontrol", "reconfigure", check=True)
        cluster.wait(site.serves, what="workers of all plugins")
        assert "slurmctld is not reconfigured" not in cluster.log()[before:]
        assert set(cluster.root("ls", "/var/tmp/meet", check=True).stdout.split()) == points
    finally:
        cluster.root("rm", f"{HOOKS_D}/meet.py")
        cluster.changed()
        cluster.put(CONF, "/etc/slurm/local.conf")
        cluster.restart("slurmctld")
