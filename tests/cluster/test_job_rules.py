# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of hook.job hold, on real slurmctlds: no update takes a job to where its submission would have been refused."""

import random
import re
from pathlib import Path
from pprint import pformat
from typing import Any

import pytest

from slurmhooks.job_submit import updates
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import HOOKS_D, Site, prepare, shown
from tests.cluster.own_readers import seeded
from tests.cluster.turns import moved

pytestmark = [pytest.mark.one_release("22.05", "24.11"), pytest.mark.stopped]

EXAMPLES = Path(__file__).parents[2] / "contrib/examples"
CONF = """\
JobSubmitPlugins=python
GresTypes=gpu
PartitionName=day Nodes=n[1-2] MaxTime=INFINITE DefaultTime=20 State=UP
PartitionName=gpu Nodes=n[1-2] MaxTime=INFINITE DefaultTime=50 State=UP
PartitionName=night Nodes=n[1-2] MaxTime=INFINITE DefaultTime=1000 State=UP
"""
"""Slurm makes the DefaultTime of the first partition the limit of a job that names none."""
MARK = "=== "
OPTIONS = [
    ["", "-p debug", "-p day", "-p gpu", "-p night", "-p debug,day", "-p day,gpu", "-p night,gpu"],
    ["", "", "-t 10", "-t 40", "-t 100", "-t 20:00:00", "-t 2-0", "-t UNLIMITED"],
    ["", "", "--gres=gpu:1", "--gpus=2", "--gpus-per-node=1"],
    ["", "", "-N1", "-N2", "-N1-2"],
    ["", "", "-A physics", "--comment=x", "-a1-3", "-a1-100", "-a1-60%5"],
]
"""Options by topic, of each of which a job gets one."""
CHANGES = [
    "Partition=debug", "Partition=day", "Partition=gpu", "Partition=night", "Partition=day,debug", "Partition=gpu,day",
    "TimeLimit=10", "TimeLimit=50", "TimeLimit=+30", "TimeLimit=-15", "TimeLimit=2-0", "TimeLimit=UNLIMITED",
    "TresPerNode=", "TresPerNode=gres/gpu:1", "TresPerJob=", "TresPerJob=gres/gpu:1", "NumNodes=2", "NumNodes=1",
    "Comment=y", "Nice=5", "Account=physics", "ArrayTaskThrottle=0", "ArrayTaskThrottle=7", "TimeMin=1",
    "Partition=debug TimeLimit=10", "Partition=gpu TresPerNode=gres/gpu:1", "Partition=day TresPerNode= TresPerJob=",
]  # fmt: skip
"""Of which a job gets several, one after the other."""
JOBS = 40
FILLS = ["free_gpus", *moved("comment_from_environment", "option_default", "typed_gpus")]
"""The examples that refuse no job, but fill in something."""
CHECKED = ["array_limits", *moved("gpu_partition", "early_limits", "no_interactive", "partition_time_limits")]
"""The examples that refuse jobs of a site without accounting."""
LABEL = re.compile(r"\(\w+:[\w-]+\)")
"""Ends the text of a refusal."""


def with_gpus(cluster: Cluster) -> None:
    """Give each node four GPUs of a type, and the partition debug a DefaultTime."""
    gpus, default = "s/CPUs=8/CPUs=8 Gres=gpu:a100:4/", "s/State/DefaultTime=25 State/"
    edit = f"sed -i -e '/^NodeName=n[12] /{gpus}' -e '/^PartitionName=debug/{default}' /etc/slurm/slurm.conf"
    cluster.root("sh", "-ec", f"{edit}; touch /var/tmp/gpu0 /var/tmp/gpu1 /var/tmp/gpu2 /var/tmp/gpu3", check=True)
    cluster.put("NodeName=n[1-2] Name=gpu Type=a100 File=/var/tmp/gpu[0-3]\n", "/etc/slurm/gres.conf")


@pytest.fixture(scope="module")
def made(cluster: Cluster) -> Site:
    """A cluster with several partitions and GPUs."""
    with_gpus(cluster)
    return prepare(cluster, f"{CONF}CliFilterPlugins=cli_filter/python\n")


@pytest.fixture
def site(made: Site) -> Site:
    """The same without hooks and jobs."""
    made.reset()
    return made


def drawn(random_: random.Random, site: Site) -> dict[str, tuple[str, list[str]]]:
    """Return jobs by name: options, and updates one after the other."""
    jobs = {}
    for number in range(JOBS):
        options = " ".join(filter(None, map(random_.choice, OPTIONS)))
        changes = random_.sample(CHANGES, random_.randint(1, 5))
        if site.release < (23, 11):
            changes = [change.replace("gres/", "gres:") for change in changes]
        jobs[f"j{number}"] = options, changes
    return jobs


def script_of(jobs: dict[str, tuple[str, list[str]]]) -> str:
    """Return the commands of a user who submits these jobs and changes them; each prints a part that begins by MARK."""
    lines = []
    for name, (options, changes) in jobs.items():
        lines += [
            f"echo '{MARK}{name} submit'",
            f"id=$(sbatch --parsable --hold -o /dev/null -J {name} {options} --wrap=true 2>/tmp/said) || id=",
            'cat /tmp/said; test -z "$id" || {',
        ]
        for change in changes:
            lines += [f"echo '{MARK}{name} update {change}'", f"scontrol update jobid=$id {change} 2>&1; echo rc=$?"]
        lines += [f"echo '{MARK}{name} ends'", "scontrol show job -o $id", "}"]
    return "\n".join(lines)


def as_submitted(job: dict[str, str]) -> str:
    """Return the options that submit a job as it is now."""
    words = [f"-p {job['Partition']} -t {job['TimeLimit']}"]
    for key in ("Account", "QOS", "Reservation", "TimeMin", "Deadline"):
        if job.get(key, "N/A") not in ("(null)", "N/A"):
            words.append(f"--{key.lower().replace('timemin', 'time-min')}={job[key]}")
    if (nodes := job["NumNodes"]) != "1":
        words.append(f"-N {nodes}")
    for key, option in (("TresPerNode", "--gres"), ("TresPerJob", "--gpus")):
        if match := re.search(r"gpu[:=]((\w+[:=])?\d+)", job.get(key, "")):
            words.append(f"{option}={'gpu:' if option == '--gres' else ''}{match[1].replace('=', ':')}")
    if "ArrayTaskId" in job:
        words.append(f"-a {job['ArrayTaskId'].partition('%')[0]}%{job.get('ArrayTaskThrottle', 0)}")
    return " ".join(words)


def not_held(site: Site, jobs: dict[str, tuple[str, list[str]]]) -> tuple[dict[str, Any], list[list[str]], list[str]]:
    """Submit and update jobs, and submit each job that results anew.

    Jobs of which Slurm itself has applied one half of an update are left out. Returned are those that are refused as
    new jobs, with what led there; what users read of each command; and the names of those submitted anew.
    """
    parts = [part.split("\n", 1) for part in site.said("sh", "-c", script_of(jobs)).split(MARK)[1:]]
    halves = {
        head.split()[0] for head, text in parts if head.count("=") > 1 and "rc=0" not in text and not LABEL.search(text)
    }
    ended = {
        head.split()[0]: shown(text.splitlines()[0])
        for head, text in parts
        if head.endswith(" ends") and head.split()[0] not in halves
    }
    again = {name: as_submitted(job) for name, job in ended.items()}
    lines = []
    for name, options in again.items():
        sbatch, limit = f"sbatch --hold -o /dev/null {options} --wrap=true", ended[name]["TimeLimit"]
        # If a rule refuses it, one without a limit may be accepted and get the same; Slurm shows UNLIMITED for none. A
        # deadline limits it, too, whatever DefaultTime it has got.
        unnamed = sbatch.replace(f"-t {limit}", "--parsable")
        none = limit == "UNLIMITED" and limit not in repr(jobs[name])
        none |= "--deadline=" in options and not re.search("-t |Time", repr(jobs[name]))
        same = "true" if none else f"scontrol show job -o $id | grep -q ' TimeLimit={limit} '"
        either = f'{{ id=$({unnamed} 2>/tmp/said) && {{ {same} || echo "$said"; }}; }} || cat /tmp/said'
        lines.append(f"echo '{MARK}{name}'; said=$({sbatch} 2>&1) || case $said in *'('*:*')'*) {either};; esac")
    said = dict(part.split("\n", 1) for part in site.said("sh", "-c", "\n".join(lines)).split(MARK)[1:])
    wrong = {
        name: (jobs[name], again[name], text, [part for part in parts if part[0].split()[0] == name])
        for name, text in said.items()
        if LABEL.search(text)
    }
    return wrong, parts, list(said)


@pytest.mark.parametrize("example", CHECKED)
def test_no_update_leads_to_what_its_submission_would_refuse(site: Site, example: str) -> None:
    """Of random jobs and updates of them, each job that results is one that the rule accepts as a new job."""
    _, random_ = seeded()
    site.cluster.put((EXAMPLES / f"{example}.py").read_text(), f"{HOOKS_D}/{example}.py")
    jobs = drawn(random_, site)
    wrong, parts, again = not_held(site, jobs)
    assert not wrong, pformat(wrong, width=250)
    assert len(again) >= JOBS / 8, parts
    submissions = [text for head, text in parts if head.endswith(" submit")]
    updates_ = [text for head, text in parts if " update " in head]
    if example != "no_interactive":  # these are batch jobs
        assert any(map(LABEL.search, submissions)) or example == "array_limits", parts
        assert any("rc=0" in text for text in updates_), parts
        assert any("rc=0" not in text for text in updates_), parts


@pytest.mark.moved
@pytest.mark.parametrize("example", FILLS)
def test_what_an_example_fills_in_outlasts_updates(site: Site, example: str) -> None:
    """It refuses none of random jobs and updates, and each job that results has what the example promises."""
    if example == "free_gpus" and not site.cluster.has_sources:
        pytest.skip("slurmctld sends no nodes")
    _, random_ = seeded()
    text = (EXAMPLES / f"{example}.py").read_text().replace('"gpu_small", "gpu_large"', '"gpu", "night"')
    site.cluster.put(text, f"{HOOKS_D}/{example}.py")
    jobs = drawn(random_, site)
    said = site.said("sh", "-c", f"export TICKET=7\n{script_of(jobs)}")
    assert not re.search(rf"(?<! of a job ){LABEL.pattern}", said), said  # fields that public headers lock
    ended = [part.split(" ends\n") for part in said.split(MARK) if " ends\n" in part]
    assert ended, said
    for name, text in ended:
        job, (options, changes) = shown(text.splitlines()[0]), jobs[name]
        if example == "typed_gpus":
            right = not re.search(r"gpu[:=]\d", f"{job.get('TresPerNode')} {job.get('TresPerJob')}")
        elif example == "comment_from_environment":
            right = job["Comment"] in ("ticket 7", "x", "y")
        else:
            left_out = example == "free_gpus" and "-p" not in options and "Partition=" not in repr(changes)
            right = not left_out or job["Partition"] == ("gpu" if "--g" in options else "debug")
        assert right, (options, changes, job)


def test_an_interactive_job_is_not_moved_to_a_partition_for_batch_jobs(site: Site) -> None:
    """An update of a job of salloc is judged as an interactive job, that of a batch job is not."""
    site.cluster.put((EXAMPLES / "no_interactive.py").read_text(), f"{HOOKS_D}/no_interactive.py")
    salloc = "salloc --no-shell --begin=now+1hour -p day -J shell >/dev/null 2>&1 & "
    script = f'{salloc} until id=$(squeue -h -n shell -o %i) && test -n "$id"; do sleep 0.1; done;'
    assert "rc=0" not in site.said(
        "sh", "-c", f"{script} scontrol update jobid=$id partition=day,night 2>&1; echo rc=$?"
    )
    if site.cluster.has_sources:  # otherwise slurmctld does not say what a job is
        batch = site.submit("-p", "day")
        site.shell(f"scontrol update jobid={batch} partition=day,night")


def test_what_updates_change(cluster: Cluster) -> None:
    """The table of members that an update may change is that of _update_job() in Slurm's source."""
    if not cluster.has_sources:
        pytest.skip("the build has only public headers")
    text = cluster.root("sh", "-ec", "cat /usr/src/slurm-*/src/slurmctld/job_mgr.c").stdout
    start = text.rindex("\nstatic int _update_job(")
    function = text[start : text.index("\n}\n", start)]
    read = set(re.findall(r"\bjob_(?:desc|specs)->(\w+)", function))
    others = {"alloc_sid", "bitflags", "fed_siblings_viable", "licenses_tot", "tres_req_cnt", "user_id"}
    lacks = {"extra", "job_size_str"} if cluster.version < (23, 2) else set()
    assert read - others == updates.members(cluster.version) - lacks
