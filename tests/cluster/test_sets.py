# SPDX-License-Identifier: GPL-2.0-or-later
"""What was deployed is in force in real daemons and launches, whatever happens to the files that people edit."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from slurmhooks.cli.bundles import retention
from tests.cluster.spank.site import PLUGIN, Site, settle
from tests.cluster.spank.site import site as prepared
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.deploys
STAY = {
    "test_broken_sources",
    "test_the_first_prolog",
    "test_a_private_file",
    "test_what_slurmctld_refuses",
    "test_a_damaged_set",
    "test_sources_that_were_never_deployed",
    "test_no_sources_and_no_set",
    "test_off_and_on",
}

SUBMIT = """
from slurmhooks import hook, log

@hook.job_submit
def told(job):
    log.user("set {version} in slurmctld")
"""
LAUNCH = """
from slurmhooks import hook

@hook.spank.task_init
def task(spank):
    spank.env["SET"] = "{version}"
    spank.env["ARGUMENTS"] = " ".join(spank.args)

@hook.spank.task_exit
def task_exit(spank):
    open(f"/opt/spank/task_exit-{version}-{{spank.job_id}}", "a").close()

@hook.spank.exit(contexts=("remote",))
def at_end(spank):
    open(f"/opt/spank/exit-{version}-{{spank.job_id}}", "a").close()
"""
PROLOG = """
from slurmhooks import hook

@hook.spank.job_prolog
def first_prolog(spank):
    open(f"/opt/spank/prolog-{spank.job_id}", "a").close()
"""
SELECTIVE = """
from slurmhooks import hook

if open("/proc/self/comm").read().startswith("slurmhooks-gen"):
    raise ValueError("not in slurmctld")
"""
TOML = '[hooks]\npaths = ["hooks.d/*.py"]\n[job_submit]\nlua = "job_submit.site.lua"\n'
CLOSED = '[[rule]]\nrule = "forbid"\naccounts = ["closed"]\nupdates = "refuse"\n'
LUA = "function slurm_job_submit() return 0 end\nfunction slurm_job_modify() return 0 end\n"
LOOP = "while [ ! -e /opt/stop ]; do srun -Q -w n2 sh -c 'echo SET=$SET' >> /opt/said 2>&1; done\n"
NO_MANIFEST = "no hook manifest"
BROKEN = {
    "a typo": "sed -i 's/@hook/@hoook/' hooks.d/submit.py",
    "a file that is half written": "truncate -s 60 hooks.d/submit.py",
    "an unknown key": "printf '[hooks]\\nunknown = 1\\n' >> slurmhooks.toml",
    "no sources": "mv hooks.d slurmhooks.toml /root/away",
    "modes": "chmod 777 hooks.d; chmod 666 hooks.d/submit.py slurmhooks.toml",
    "a broken script": "echo 'function (' > job_submit.site.lua",
}
"""What happens to sources beside slurm.conf."""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site with a set in force that has handlers of job_submit and for tasks."""
    lent_site = prepared(cluster)
    lent_site.plugstack("required spank_python.so -- one")
    lent_site.root(f"chmod 1777 /opt/spank; cp -L {PLUGIN} /opt/whole.so")
    fill(lent_site, 1)
    lent_site.root("slurmhooks deploy")
    return lent_site


def fill(lent: Site, version: int) -> None:
    """Write the sources of a version."""
    lent.root("mkdir -p /root/away; rm -rf /root/away/* /etc/slurm/hooks.d; mkdir -m 755 /etc/slurm/hooks.d")
    lent.cluster.put(TOML, "/etc/slurm/slurmhooks.toml")
    lent.cluster.put(LUA, "/etc/slurm/job_submit.site.lua")
    lent.cluster.put(SUBMIT.format(version=version), "/etc/slurm/hooks.d/submit.py")
    lent.cluster.put(LAUNCH.format(version=version), "/etc/slurm/hooks.d/launch.py")


def in_force(lent: Site) -> tuple[str, str, str]:
    """Run a batch job and a step, which must succeed; return the versions in slurmctld and in a task, and arguments."""
    batch = lent.shell("sbatch --parsable --output=/dev/null --wrap=true")
    assert batch.returncode == 0, batch.stdout
    told = re.search(r"set (\d+) in slurmctld", batch.stdout)
    assert told is not None, batch.stdout
    step = lent.shell("srun -Q -w n1 sh -c 'echo SET=$SET ARGUMENTS=$ARGUMENTS'")
    assert step.returncode == 0, step.stdout
    seen = re.search(r"SET=(\d*) ARGUMENTS=(.*)", step.stdout)
    assert seen is not None, step.stdout
    lent.wait_until_idle()
    assert lent.drained() == []
    return told[1], seen[1], seen[2]


@pytest.mark.parametrize("how", moved_from(2, BROKEN))
def test_broken_sources(lent: Site, how: str) -> None:
    """Jobs go on under the set that was deployed, also after slurmctld and slurmd restart, and no node drains."""
    fill(lent, 1)
    lent.root("slurmhooks deploy")
    lent.root(f"cd /etc/slurm; {BROKEN[how]}")
    assert in_force(lent) == ("1", "1", "one")
    if how in ("a typo", "no sources"):
        lent.cluster.restart()
        assert in_force(lent) == ("1", "1", "one")
    refused = lent.cluster.root("slurmhooks", "deploy")
    if how != "modes":
        assert refused.returncode == 1, refused.stdout
    assert in_force(lent) == ("1", "1", "one")


def test_arguments_of_a_line(lent: Site) -> None:
    """Arguments in plugstack.conf are passed as they are now; the line is still known to the manifest."""
    fill(lent, 1)
    lent.root("slurmhooks deploy")
    before = lent.cluster.log("n1").count(NO_MANIFEST)
    lent.plugstack("required spank_python.so -- two three")
    assert in_force(lent) == ("1", "1", "two three")
    assert lent.cluster.log("n1").count(NO_MANIFEST) == before
    assert lent.cluster.root("slurmhooks", "status").returncode == 0
    lent.plugstack("required spank_python.so -- one")


def test_the_first_prolog(lent: Site) -> None:
    """A handler of job_prolog is called for the first job after `deploy` has ended with 0."""
    fill(lent, 1)
    lent.cluster.put(PROLOG, "/etc/slurm/hooks.d/prolog.py")
    lent.root("slurmhooks deploy")
    done = lent.shell("srun -Q -w n1 sh -c 'ls /opt/spank/prolog-$SLURM_JOB_ID'")
    assert done.returncode == 0, done.stdout
    lent.wait_until_idle()
    assert lent.drained() == []
    lent.root("slurmhooks rollback")


def test_the_first_prolog_of_a_lean_plugin(lent: Site) -> None:
    """`deploy` refuses a handler that the plugin leaves out, or slurmd does not call yet, until that is mended."""
    fill(lent, 1)
    lent.cluster.put(LAUNCH.format(version=1).partition("@hook.spank.task_exit")[0], "/etc/slurm/hooks.d/launch.py")
    whole = f"cp --remove-destination /opt/whole.so {PLUGIN}"
    lent.root(f"slurmhooks deploy; ln -sfn slurmhooks/spank_python-lean.so {PLUGIN}")
    try:
        lent.cluster.restart("n1", "n2")
        lent.cluster.put(PROLOG, "/etc/slurm/hooks.d/prolog.py")
        done = lent.cluster.root("slurmhooks", "deploy")
        assert done.returncode == 1
        assert "/etc/slurm/hooks.d/prolog.py:4: Slurm would never call handler prolog:first_prolog" in done.stderr
        assert "run 'slurmhooks install' without --lean, then restart slurmd" in done.stderr
        lent.root(whole)
        done = lent.cluster.root("slurmhooks", "deploy")
        assert done.returncode == 1
        assert "it has started with the lean plugin: restart slurmd" in done.stderr
        assert in_force(lent) == ("1", "1", "one")
        if lent.cluster.version >= (23, 11):
            lent.root("scontrol reconfigure")
            lent.cluster.wait(lambda: lent.cluster.root("slurmhooks", "deploy").returncode == 0, what="slurmd")
        else:
            lent.cluster.restart("n1", "n2")
            lent.root("slurmhooks deploy")
        done = lent.shell("srun -Q -w n1 sh -c 'ls /opt/spank/prolog-$SLURM_JOB_ID'")
        assert done.returncode == 0, done.stdout
        # As where the lean plugin comes from a folder that many machines share.
        lent.wait_until_idle()
        lent.root(f"ln -sfn slurmhooks/spank_python-lean.so {PLUGIN}")
        lent.cluster.restart("n1", "n2")
        done = lent.shell("srun -Q -w n1 true")
        assert done.returncode
        assert "the installed plugin leaves out what the hooks need" in done.stdout
        assert "Slurm would never call handler prolog:first_prolog" in lent.cluster.log("n1")
        assert lent.drained() == []
    finally:
        lent.root(whole)
        lent.cluster.restart("n1", "n2")
        settle(lent)


def test_a_private_file(lent: Site) -> None:
    """Users cannot read a hook file in a set that they could not read before, and slurmctld can."""
    fill(lent, 1)
    lent.root("cd /etc/slurm/hooks.d; chmod 640 submit.py; chgrp slurm submit.py")
    lent.root("sed -i 's/import hook, log/import hook, log  # secret/' /etc/slurm/hooks.d/submit.py")
    done = lent.cluster.root("slurmhooks", "deploy")
    # The line of plugstack.conf reads the files of slurmhooks.toml, so users must be able to read them.
    assert done.returncode == 1
    assert "ordinary users cannot read it" in done.stderr
    lent.plugstack("required spank_python.so hooks.d/launch.py one")
    try:
        lent.root("slurmhooks deploy")
        assert in_force(lent) == ("1", "1", "one")
        found = lent.shell("grep -rl secret /etc/slurm/; cat /etc/slurm/slurmhooks.set/hooks.d/submit.py")
        assert "submit.py\n" not in found.stdout.replace("Permission denied", "")
        assert "Permission denied" in found.stdout
    finally:
        lent.plugstack("required spank_python.so -- one")


def test_what_slurmctld_refuses(lent: Site) -> None:
    """A set that slurmctld does not load was seen by no launch."""
    fill(lent, 1)
    lent.root("slurmhooks deploy")
    fill(lent, 2)
    lent.cluster.put(SELECTIVE, "/etc/slurm/hooks.d/selective.py")
    lent.root("rm -f /opt/stop; : > /opt/said; chmod 666 /opt/said")
    lent.cluster.put(LOOP, "/opt/loop.sh")
    lent.shell("setsid sh /opt/loop.sh < /dev/null > /dev/null 2>&1 &")
    lent.cluster.wait(lambda: "SET=" in lent.root("cat /opt/said"), what="launches")
    done = lent.cluster.root("slurmhooks", "deploy")
    lent.root("touch /opt/stop")
    assert done.returncode == 1
    assert "not in slurmctld" in done.stderr
    assert set(lent.root("cat /opt/said").split()) == {"SET=1"}
    assert in_force(lent) == ("1", "1", "one")


@pytest.mark.parametrize("how", moved_from(1, ["rm -f", "truncate -s 60"]))
def test_a_damaged_set(lent: Site, how: str) -> None:
    """slurmctld that starts with a set that lost a handler refuses submissions, and says why; rollback ends that."""
    for version in (1, 2):
        fill(lent, version)
        lent.root("slurmhooks deploy")
    lent.root(f"{how} $(readlink -f /etc/slurm/slurmhooks.set)/hooks.d/submit.py")
    submit = "sbatch --hold --output=/dev/null --wrap=true"
    assert "set 2 in slurmctld" in lent.shell(submit).stdout  # what was loaded stays
    lent.cluster.restart("slurmctld")
    refused = lent.shell(submit)
    assert refused.returncode == 1
    assert "hooks could not be loaded" in refused.stdout, refused.stdout
    assert "no longer what was deployed, so nothing of it is loaded: hooks.d/submit.py" in lent.cluster.log("slurmctld")
    lent.root("scancel --user=alice; slurmhooks rollback")
    assert in_force(lent) == ("1", "1", "one")


def test_the_checked_rules_of_a_set(lent: Site) -> None:
    """Workers of slurmctld read rules as they were checked; in an older set they check them again, and say so."""
    fill(lent, 1)
    lent.cluster.put(TOML + CLOSED, "/etc/slurm/slurmhooks.toml")
    lent.root("slurmhooks deploy")
    for change, logged in (("true", 0), ("rm $(readlink -f slurmhooks.set)/.checked", 1), ("slurmhooks deploy", 1)):
        lent.root(f"cd /etc/slurm; {change}")
        lent.cluster.restart("slurmctld")
        refused = lent.shell("sbatch --account=closed --output=/dev/null --wrap=true")
        assert "you may not use account closed" in refused.stdout, refused.stdout
        assert lent.cluster.log("slurmctld").count("slurmhooks.toml is checked again") == logged
    fill(lent, 1)
    lent.root("slurmhooks deploy")
    assert in_force(lent) == ("1", "1", "one")


AWAY = f"rm -rf /etc/slurm/slurmhooks.set /etc/slurm/slurmhooks.d {Path(PLUGIN).parent}/slurmhooks/expects-set"
"""Leaves a machine as an earlier release did, which has read the files themselves."""


def test_sources_that_were_never_deployed(lent: Site) -> None:
    """A slurmctld that starts with sources alone refuses submissions: an earlier release may have run these files.

    Launches go on without hooks, because somebody may be writing the first ones; the log says so.
    """
    fill(lent, 1)
    lent.root("slurmhooks deploy")
    lent.root(AWAY)
    why = "slurmhooks.toml: was never deployed, so no hooks are in force: 'slurmhooks deploy'"
    assert in_force(lent) == ("1", "", "")  # what slurmctld has loaded stays
    assert why in lent.cluster.log("n1")
    lent.cluster.restart()
    refused = lent.shell("sbatch --hold --output=/dev/null --wrap=true")
    assert refused.returncode == 1
    assert "hooks could not be loaded" in refused.stdout, refused.stdout
    assert why in lent.cluster.log("slurmctld")
    for command in ("check", "status", "info"):
        done = lent.cluster.root("slurmhooks", command)
        assert (done.returncode, why in done.stderr) == (1, True), done.stderr
    lent.root("slurmhooks deploy")
    assert in_force(lent) == ("1", "1", "one")


def test_no_sources_and_no_set(lent: Site) -> None:
    """A machine that never had hooks has none, and all goes on; the first set comes without a restart."""
    fill(lent, 1)
    lent.root(f"{AWAY}; mv /etc/slurm/hooks.d /etc/slurm/slurmhooks.toml /root/away")
    lent.cluster.restart()
    said = lent.shell("sbatch --hold --output=/dev/null --wrap=true")
    assert (said.returncode, "in slurmctld" in said.stdout) == (0, False), said.stdout
    assert lent.shell("srun -Q -w n1 sh -c 'test -z \"$SET\"'").returncode == 0
    assert "nothing has been deployed on this machine, so it has no hooks" in lent.cluster.log("slurmctld")
    fill(lent, 1)
    lent.root("scancel --user=alice; slurmhooks deploy")
    assert in_force(lent) == ("1", "1", "one")


def test_another_slurm_conf(lent: Site) -> None:
    """Where a set is expected, users can use a slurm.conf of another folder, which has none, as that of a cluster.

    The expected set is missed as before by commands that use the folder of the installation, under any name.
    """
    fill(lent, 1)
    lent.root("slurmhooks deploy; rm -rf /opt/other; mkdir -m 755 /opt/other; cp /etc/slurm/*.conf /opt/other")
    other = "export SLURM_CONF=/opt/other/slurm.conf;"
    expects = f"{Path(PLUGIN).parent}/slurmhooks/expects-set"
    lent.root(f"echo /etc/slurm > {expects}; ln -sfn /etc/slurm /opt/same")
    try:
        done = lent.shell(f"{other} srun -Q -w n1 sh -c 'echo SET=$SET'")
        assert (done.returncode, done.stdout) == (0, "SET=1\n")
        lent.wait_until_idle()
        lent.root("mv /etc/slurm/slurmhooks.set /etc/slurm/slurmhooks.d /root/away")
        for conf in ("", "export SLURM_CONF=/opt/same/slurm.conf;"):
            done = lent.shell(f"{conf} srun -Q -w n1 true")
            assert done.returncode
            assert "the hooks could not be loaded" in done.stdout
        assert "could not be loaded" in lent.cluster.root("sh", "-c", f"{other} srun -Q -w n1 true").stderr
    finally:
        lent.root(f"rm -f {expects}; mv /root/away/slurmhooks.* /etc/slurm")
        settle(lent)


def test_an_upgrade(lent: Site) -> None:
    """`install` puts in force what an earlier release has read, or installs nothing if that does not load."""
    fill(lent, 1)
    lent.root(f"{AWAY}; touch /etc/slurm/slurmhooks.manifest")
    lent.root(f"cp -r {Path(PLUGIN).parent} /root/build")
    lent.root("cd /etc/slurm; [ ! -e scrun.lua ] || cp scrun.lua /root/build/scrun.lua.in")  # 22.05 has no scrun
    assert lent.shell("srun -Q true").returncode
    install = ("slurmhooks", "install", "--from", "/root/build")
    lent.cluster.put("def (", "/etc/slurm/hooks.d/wrong.py")
    refused = lent.cluster.root(*install)
    assert refused.returncode == 1
    assert "/etc/slurm/hooks.d/wrong.py:1: " in refused.stderr
    assert "nothing is installed" in refused.stderr
    lent.root("rm /etc/slurm/hooks.d/wrong.py")
    done = lent.cluster.root(*install, check=True)
    assert "in force; before: none" in done.stdout
    lent.cluster.restart()
    assert in_force(lent) == ("1", "1", "one")
    lent.root("rm /etc/slurm/slurmhooks.manifest")


def test_a_job_that_outlives_deployments(lent: Site) -> None:
    """A step whose handlers are needed at its end runs those of its first set, after more sets than are kept."""
    fill(lent, 0)
    lent.root("slurmhooks deploy")
    job = lent.shell("sbatch --parsable --output=/dev/null --wrap='while [ ! -e /opt/end ]; do sleep 0.2; done'").stdout
    number = int(job.split()[-1])
    lent.root("rm -f /opt/end")
    lent.cluster.wait(lambda: lent.job(number)["JobState"] == "RUNNING", what="a running job")
    last = retention.KEPT + 3
    for version in range(1, last + 1):
        fill(lent, version)
        lent.root("slurmhooks deploy")
    assert f"SET={last}" in lent.shell("srun -Q -w n2 sh -c 'echo SET=$SET'").stdout
    lent.root("touch /opt/end")
    assert lent.wait_for_job(number) == "COMPLETED"
    lent.wait_until_idle()
    left = lent.root(f"ls /opt/spank | grep -e '-{number}$' | sort").split()
    assert left == [f"exit-0-{number}", f"task_exit-0-{number}"]


def test_off_and_on(lent: Site) -> None:
    """A handler of slurmctld, one of launches, and all of them are switched off and on, with broken sources."""
    fill(lent, 3)
    lent.root("slurmhooks deploy")
    lent.root("echo 'def (' > /etc/slurm/hooks.d/submit.py")
    lent.root("slurmhooks off launch:task")
    step = lent.shell("srun -Q -w n1 sh -c 'echo SET=$SET'")
    assert step.stdout == "SET=\n"
    lent.root("slurmhooks off submit:told")
    assert "in slurmctld" not in lent.shell("sbatch --output=/dev/null --wrap=true").stdout
    lent.root("slurmhooks off --all")
    assert lent.shell("srun -Q -w n1 true").returncode == 0
    lent.root("slurmhooks on")
    assert in_force(lent) == ("3", "3", "one")


NUMBERED = """
import json, os
from slurmhooks import hook

START = open("/proc/self/stat").read().rsplit(") ", 1)[1].split()[19]

def note(what):
    line = json.dumps([f"{os.getpid()} {START}", "FILE", what, NUMBER]) + chr(10)
    fd = os.open("/opt/spank/numbers", os.O_WRONLY | os.O_APPEND)
    os.write(fd, line.encode())
    os.close(fd)

for name in ("init", "init_post_opt", "local_user_init", "user_init", "task_init", "task_exit", "exit"):
    def made(name):
        def handler(spank):
            note(name)
        handler.__qualname__ = name
        return handler
    getattr(hook.spank, name)(made(name))

@hook.job_submit
def submit(job):
    note("submit")
    job.comment = f"{job.comment or ''}NUMBER "
"""
"""A file that notes the number of its set in each process; two of them show whether a process has mixed sets."""


@pytest.mark.parametrize("count", [4, pytest.param(200, marks=pytest.mark.soak)])
def test_each_process_has_one_set(lent: Site, count: int) -> None:
    """While sets are deployed one after the other, every call of a process is of one set, and so is each request."""
    lent.root("cd /etc/slurm; rm -rf hooks.d/*; echo '[hooks]' > slurmhooks.toml; : > /opt/spank/numbers")
    lent.root("chmod 666 /opt/spank/numbers; printf 'paths = [\"hooks.d/*.py\"]\\n' >> /etc/slurm/slurmhooks.toml")
    for name in ("a", "b"):
        lent.cluster.put(NUMBERED.replace("FILE", name), f"/opt/{name}.py")
    write = "for file in a b; do sed s/NUMBER/$number/ /opt/$file.py > /etc/slurm/hooks.d/$file.py; done"
    lent.root(f"number=0; {write}; rm -f /opt/stop")
    lent.root("slurmhooks deploy")
    load = "while [ ! -e /opt/stop ]; do srun -Q true; sbatch --output=/dev/null --wrap=true; done"
    lent.shell(f"cd; setsid sh -c '{load}' < /dev/null > /dev/null 2> srun.err &")
    try:
        for number in range(1, count + 1):
            lent.root(f"number={number}; {write}")
            lent.root("slurmhooks deploy")
    finally:
        lent.root("touch /opt/stop")
    lent.wait_until_idle()
    calls = [json.loads(line) for line in lent.root("cat /opt/spank/numbers").splitlines()]
    of_process: dict[str, set[int]] = {}
    for process, _, what, number in calls:
        if (
            what != "submit"
        ):  # a worker of slurmctld serves one set, and may have the number of a process that has ended
            of_process.setdefault(process, set()).add(number)
    assert [numbers for numbers in of_process.values() if len(numbers) != 1] == []
    assert len({number for _, _, _, number in calls}) > count / 4
    comments = set(lent.root("squeue --noheader --states=all --format=%k").splitlines())
    assert [text for text in comments if len(set(text.split())) != 1] == []
    assert not lent.root("cat /home/alice/srun.err").strip()
    assert lent.drained() == []
