# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounting data in a job_submit.lua: job_submit/lua and slurmhooks compared.

One slurmctld with a real slurmdbd runs the same commands under both; their output, the jobs and the script's log must
be the same.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import OF_SETS, Cluster
from tests.cluster.job_submit_site import CONF, TOML, Site

pytestmark = [pytest.mark.stopped, pytest.mark.deploys, pytest.mark.moved]

SCRIPT = Path(__file__).parent / "lua" / "accounting.lua"
LINES = """\
PartitionName=rich Nodes=ALL State=UP MaxTime=1-0 AllowAccounts=physics,maths AllowQos=high,low QOS=low
PartitionName=denied Nodes=ALL State=UP DenyAccounts=maths DenyQos=high
"""
BATCH = "sbatch --hold -o /dev/null --wrap true"
COMMANDS = (
    ("alice", f"{BATCH} -J plain"),
    ("alice", f"{BATCH} -J plain -A maths -p rich,denied --wckey k"),
    ("alice", f"{BATCH} -J plain -q low -p rich"),
    ("alice", f"{BATCH} -J plain -A nobodys"),
    ("alice", f"{BATCH} -J plain -q secret"),
    ("bob", f"{BATCH} -J defaults"),
    ("root", f"{BATCH} -J defaults"),
    *(("alice", f"{BATCH} -J {name}") for name in ("defaults", "moved", "low", "denied", "priorities")),
    ("alice", f"{BATCH} -J policy -q high"),
    ("alice", f"{BATCH} -J defaults -n1 : -A maths -n1"),
    ("alice", "scontrol update JobId=@FIRST@ Comment=seen"),
    ("alice", "scontrol update JobId=@FIRST@ QOS=low"),
    ("alice", "scontrol update JobId=@FIRST@ Account=maths"),
    ("root", "scontrol update JobId=@FIRST@ Account=physics QOS=high Partition=rich"),
    ("root", "scontrol update JobId=@FIRST@ Comment=move"),
)
LOGGED = re.compile(r"\blua:|job_(submit|modify)/lua|Invalid QOS")
LISTED = "lua: job "
SHOWN = re.compile(r"\b(?:JobName|Account|QOS|Partition|Comment|WCKey)=\S*")


class Seen(NamedTuple):
    """The result of a command."""

    command: str
    code: int
    said: str
    log: list[str]
    listed: list[str]
    """The script's log of slurm.jobs."""
    jobs: list[list[str]]


def _under(site: Site, plugin: str) -> list[Seen]:
    """Return the results of the commands under one plugin."""
    # Remove the held jobs of the previous plugin.
    site.cluster.root("sh", "-c", "scancel --state=PENDING")
    lines = re.sub(r"(?m)^JobSubmitPlugins=.*", f"JobSubmitPlugins={plugin}", site.cluster.root("cat", CONF).stdout)
    site.conf(lines)
    if plugin == "python":
        site.cluster.deploy()
    first = ""
    results = []
    for user, command in COMMANDS:
        site.mark()
        done = site.run("sh", "-c", command.replace("@FIRST@", first), user=user)
        said = done.stdout + done.stderr
        ids = re.findall(r"Submitted batch job (\d+)", said)
        first = first or "".join(ids[:1])
        jobs = site.run("scontrol", "show", "job", "-o", *(ids or [first]), user="root").stdout
        # 26.05's pcall line has the address of its state.
        log = [
            re.sub(r"lua_pcall\(0x\w+", "", line.partition("] ")[2])
            for line in OF_SETS.sub("/etc/slurm", site.logged()).splitlines()
            if "slurmhooks:" not in line
        ]
        results.append(
            Seen(
                f"{user}: {command}",
                done.returncode,
                re.sub(r"\b\d+\b", "N", said),
                [line for line in log if LOGGED.search(line) and not line.startswith(LISTED)],
                [line for line in log if line.startswith(LISTED)],
                [SHOWN.findall(line) for line in jobs.splitlines()],
            )
        )
    return results


def test_accounts_and_qos_are_those_of_slurms_own_plugin(large_cluster: Cluster) -> None:
    """Defaults of the user and of the association, also as account and partition change; partitions, jobs, records."""
    accounting.need_sources(large_cluster)
    site = Site(large_cluster)
    script = SCRIPT.read_text()
    large_cluster.put(script, "/etc/slurm/job_submit.lua")
    site.clear()
    accounting.start(large_cluster, *accounting.ACCOUNTS, "add qos secret", more=LINES, plugins="lua")
    large_cluster.put('[hooks]\npaths = []\n[job_submit]\nlua = "job_submit.lua"\n', TOML)
    theirs, ours = (_under(site, plugin) for plugin in ("lua", "python"))
    site.clear()
    assert any("default_qos = high" in line for seen in theirs for line in seen.log)
    assert any("QOS=low" in job for seen in theirs for job in seen.jobs)
    assert theirs[-1].listed
    for wanted, got in zip(theirs, ours, strict=True):
        # job_submit/lua loads a script again only in a later second.
        assert set(wanted.listed) <= set(got.listed), got.command
        assert got._replace(listed=[]) == wanted._replace(listed=[])
