# SPDX-License-Identifier: GPL-2.0-or-later
"""Each ready-made rule in a real slurmctld: all are switched on at once, each for jobs of the account with its name."""

import re
import shlex
from datetime import date, timedelta
from typing import NamedTuple

import pytest

from slurmhooks.rules.catalogue import RULES
from slurmhooks.rules.lines import LINES
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import TOML, Site
from tests.cluster.turns import moved_from

pytestmark = pytest.mark.stopped

BUDGET = "/usr/local/bin/budget"


class Shown(NamedTuple):
    """A rule, and a job that shows it.

    ``says`` is a regular expression for what the user reads, ``field`` what scontrol shows of the job; empty: refused.
    """

    keys: str
    options: str
    says: str = ""
    field: str = ""


SHOWN = {
    "require_account": Shown('partitions = ["other"]', "-p other", "name a project with --account"),
    "default_account": Shown('users = ["bob"]\nvalue = "filled"', "--bob", "charged to filled", "Account=filled"),
    "require_qos": Shown("", "", "name a QOS with --qos"),
    "default_qos": Shown('value = "nosuch"\nmessage = "qos {chosen}"', "", "qos nosuch", "?"),
    "choose_qos": Shown('cases = [{ to = "nosuch" }]\nmessage = "qos {chosen}"', "", "qos nosuch", "?"),
    "choose_partition": Shown('cases = [{ to = "other", max_time = 5 }]', "-t5", "goes to", "Partition=other"),
    "default_partition": Shown('value = "other"', "", "the job goes to other", "Partition=other"),
    "forbid": Shown("", "", "you may not use account forbid"),
    "require_time": Shown("", "", "name a time limit with --time"),
    "default_time": Shown("value = 7", "", "limited to 00:07:00", "TimeLimit=00:07:00"),
    "time_ceiling": Shown(
        "limit = 60", "-t61", r"at most 01:00:00 in partition debug; the job would have 01:01:00 \(--time\)"
    ),
    "require_memory": Shown("", "", "how much memory"),
    "default_memory": Shown("per_cpu = 5", "", "gets 5M per CPU", "MinMemoryCPU=5M"),
    "memory_ceiling": Shown(
        'per_node = "1G"', "--mem=2G", "1G of memory per node in partition debug; the job would have 2G"
    ),
    "require_gpu": Shown("", "", "add --gpus=1"),
    "gpu_ceiling": Shown("per_job = 1", "--gpus=2", "at most 1 GPU in partition debug; the job would have 2"),
    "require_gpu_type": Shown('types = ["a*"]', "--gpus=h:1", "name the type of GPU"),
    "cpus_per_gpu": Shown("most = 2", "--gpus=1 -n3", "CPUs per GPU: at most 2; the job would have 3 "),
    "memory_per_gpu": Shown('most = "1G"', "--gpus=1 -N1 --mem=2G", "1G of memory per GPU; the job would have 2G"),
    "node_count": Shown("most = 1", "-N2", "at most 1 node in partition debug; the job would have 2"),
    "task_count": Shown("most = 1", "-n2", "at most 1 task in partition debug; the job would have 2"),
    "cpu_count": Shown("most = 3", "-n2 -c2", "at most 3 CPUs in partition debug; the job would have 4"),
    "array_size": Shown("most = 10", "--array=0-10", "tasks in a job array: at most 10; the job would have 11"),
    "interactive_limit": Shown(
        "time = 60", "--srun -t61", "interactive jobs in partition debug may have at most 01:00:00"
    ),
    "require_features": Shown('one_of = ["rome"]', "", "--constraint: rome"),
    "default_features": Shown('value = "rome"\nmessage = "{chosen}"', "", "rome", "?"),
    "forbid_nodelist": Shown("", "-w n1", "do not name nodes"),
    "licenses": Shown('allowed = ["ansys"]', "-L matlab", "only ansys"),
    "reserved_names": Shown('names = ["sys-*"]', "-J sys-x", "the job name sys-x is reserved"),
    "reservation": Shown("required = true", "", "name a reservation with --reservation"),
    "work_directory": Shown('outside = ["/tmp"]', "-D /tmp", "may not run in /tmp"),
    "mail_address": Shown('domains = ["a.b"]', "--mail-user=x@c.d", "must be an address of a.b, not x@c.d"),
    "script_content": Shown("forbidden = ['^mpirun']", "--wrap=mpirun", "line [0-9]+ has 'mpirun'"),
    "budget": Shown(f'command = ["{BUDGET}", "{{account}}"]', "", "may not run this job: budget is used up"),
    "maintenance": Shown(
        "start = 2099-05-01T08:00:00\nend = 2099-05-02T08:00:00",
        "",
        "2099-05-01 08:00 .*time limit: none",
        "Account=",
    ),
    "notice": Shown('message = "hello {user} in {partition}"', "", "hello alice in debug", "Account=notice"),
    "guard_updates": Shown('changes = ["nice"]', "", "", "Nice=0"),
}
"""Every rule. A job with the field ? is accepted by the rule and may be refused by Slurm, which knows no such name."""


def toml(sources: bool) -> str:
    """Return the configuration; without Slurm's sources slurmctld sends neither jobs nor partitions."""
    updates = "" if sources else 'updates = "refuse"\n'
    # The commands have --parsable, with which users read no notices.
    blocks = [f'[rules]\nnotices = "always"\n\n[rules.defaults]\n{updates}default_partition = "debug"\n']
    for rule, shown in SHOWN.items():
        chosen = "" if "partitions =" in shown.keys or "users =" in shown.keys else f'accounts = ["{rule}"]\n'
        blocks.append(f'[[rule]]\nrule = "{rule}"\n{chosen}{shown.keys}\n')
    return "\n".join(blocks)


def command(rule: str, options: str) -> str:
    """Return the command of a user that shows a rule."""
    words = shlex.split(options)
    own = f"-A {rule}" if rule not in ("require_account", "default_account") else ""
    if "--srun" in words:
        words.remove("--srun")
        return f"srun {own} {shlex.join(words)} true"
    wrap = "" if "--wrap" in options else "--wrap=true"
    return f"sbatch --hold --parsable -o /dev/null {own} {shlex.join(word for word in words if word != '--bob')} {wrap}"


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Site:
    """The cluster with all rules in force."""
    site = Site(cluster)
    site.clear()
    cluster.put("#!/bin/sh\necho budget is used up\nexit 1\n", BUDGET, 0o755)
    sources = cluster.root("test", "-d", "/usr/src/slurm").returncode == 0
    cluster.put(toml(sources), TOML)
    site.conf("JobSubmitPlugins=python\nGresTypes=gpu\n")
    return site


@pytest.fixture(scope="module")
def outputs(site: Site) -> dict[str, str]:
    """The messages that users read about the job of each rule, and scontrol's output for it."""
    said: dict[str, str] = {}
    for user in ("alice", "bob"):
        lines = ["exec 2>&1"]
        for rule, shown in SHOWN.items():
            if ("--bob" in shown.options) == (user == "bob"):
                show = 'case "$id" in *[!0-9]*|"") ;; *) scontrol show job -o $id;; esac'
                run = command(rule, shown.options)
                lines.append(
                    f"echo '@@@ {rule}'; {run} > ~/out; echo \"exit $?\"; cat ~/out; id=$(tail -n1 ~/out); {show}"
                )
        text = site.run("sh", "-c", "\n".join(lines), user=user).stdout
        said.update((part.partition("\n")[0], part.partition("\n")[2]) for part in text.split("@@@ ")[1:])
    return said


def test_all_rules_are_shown() -> None:
    """There is a job for every rule; those on any field are shown by their lines, and in test_rules_fields.py."""
    assert set(SHOWN) == {*RULES, *LINES} - {"require", "limit", "default", "set", "copy", "quota"}


@pytest.mark.parametrize("rule", moved_from(12, SHOWN))
def test_a_rule_in_slurmctld(outputs: dict[str, str], rule: str) -> None:
    """A user reads the text of the rule; the job is refused, or has the value that the rule sets."""
    shown, said = SHOWN[rule], outputs[rule]
    assert re.search(shown.says, said), said
    if shown.field != "?":
        assert ("exit 0" in said) == bool(shown.field), said
        assert shown.field in said, said
    assert "error 0" not in said


def test_nobody_escapes_by_an_update(site: Site) -> None:
    """An update that would break a rule is refused, an update of another field passes, and root may make both."""
    job = site.submit("-A", "reserved_names", "-J", "mine")
    assert site.run("scontrol", "update", f"JobId={job}", "JobName=sys-x").returncode != 0
    assert site.show(job)["JobName"] == "mine"
    assert site.run("scontrol", "update", f"JobId={job}", "Comment=mine").returncode == 0
    assert site.run("scontrol", "update", f"JobId={job}", "JobName=sys-x", user="root").returncode == 0
    assert site.show(job)["JobName"] == "sys-x"
    guarded = site.submit("-A", "guard_updates")
    assert site.run("scontrol", "update", f"JobId={guarded}", "Nice=5").returncode != 0
    assert site.show(guarded)["Nice"] == "0"
    assert site.run("scontrol", "update", f"JobId={guarded}", "Nice=5", user="root").returncode == 0


def test_rules_are_shown_as_handlers(site: Site) -> None:
    """slurmhooks check and info list every rule, and check finds nothing wrong with them."""
    shown = site.cluster.root("slurmhooks", "check").stdout + site.cluster.root("slurmhooks", "info").stdout
    for rule in SHOWN:
        assert shown.count(f"rule:{rule} ") >= 2, rule


def test_a_changed_rule_goes_into_force(site: Site) -> None:
    """A changed rule is in force once it is deployed; with an invalid rule, the previous rules stay in force."""
    now = site.cluster.root("cat", TOML).stdout
    site.cluster.put(now.replace("limit = 60", "limit = 30"), TOML)
    assert "at most 00:30:00" in site.said("sbatch", "-A", "time_ceiling", "-t61", "--wrap=true")
    site.cluster.put(now.replace("limit = 60", 'limit = "soon"'), TOML)
    assert "limit: not a time: 'soon'" in site.cluster.refusal()
    assert "at most 00:30:00" in site.said("sbatch", "-A", "time_ceiling", "-t61", "--wrap=true")


def test_exemptions_until_a_day(site: Site) -> None:
    """A user is exempt from a rule until the last day is over, also in updates; `why` and `check` say so."""
    now = site.cluster.root("cat", TOML).stdout.partition("[[rule]]")[0]
    rule = '[[rule]]\nrule = "time_ceiling"\nlimit = 60\n'
    days = [str(date.today() + timedelta(days=shift)) for shift in (2, -2)]

    def in_force(alice: str, bob: str) -> None:
        tables = [
            f'[[rules.exemptions]]\nusers = ["{user}"]\nrules = ["time_*"]\nuntil = {day}\nreason = "ticket 4711"\n'
            for user, day in (("alice", alice), ("bob", bob))
        ]
        site.cluster.put("\n".join([now, rule, *tables]), TOML)

    in_force(*days)
    job = site.submit("-t61")
    assert site.run("scontrol", "update", f"JobId={job}", "TimeLimit=90").returncode == 0
    assert site.show(job)["TimeLimit"] == "01:30:00"
    assert "at most 01:00:00" in site.refused("-t61", user="bob")
    lines: list[str] = []

    def told() -> bool:
        lines[:] = site.cluster.root("slurmhooks", "why", job).stdout.splitlines()
        return sum("exempt until" in line for line in lines) == 2

    site.cluster.wait(told)
    assert f"rule:time_ceiling: passed; exempt until {days[0]}: ticket 4711" in "\n".join(lines)
    checked = site.cluster.root("slurmhooks", "check")
    assert f"rules.exemptions, number 2 (users bob): its last day was {days[1]}" in checked.stdout + checked.stderr
    assert f"{days[1]} (over)" in site.cluster.root("slurmhooks", "rules", "exemptions").stdout
    in_force(days[1], days[0])
    assert "at most 01:00:00" in site.refused("-t61")
    assert site.run("scontrol", "update", f"JobId={job}", "TimeLimit=95").returncode != 0
    site.submit("-t61", user="bob")
