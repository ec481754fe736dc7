# SPDX-License-Identifier: GPL-2.0-or-later
"""A cluster whose machines lack the workshop's folder: what is deployed works in the daemons, workers and launches."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cluster.conftest import NAME, RELEASES, running
from tests.cluster.spank.site import Site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

TOML = """
[hooks]
paths = ["hooks.d/*.py"]

[[rule]]
rule = "require_account"
updates = "refuse"
"""
HOOKS = """
from slurmhooks import hook

greet = hook.spank.option("greet", "NAME", usage="who to greet")

@hook.job_submit
def comment(job):
    job.comment = "hooked"

@hook.cli_filter.pre_submit
def name(options):
    options["job-name"] = "filtered"

@hook.spank.task_init
def task(spank):
    spank.env["GREETING"] = greet.value or "nobody"
"""


@pytest.fixture(scope="module", params=RELEASES)
def cluster(request: pytest.FixtureRequest) -> Iterator["Cluster"]:
    """A fresh cluster of one node, whose package of Python has no workshop when the daemons start."""
    with running(request.param, NAME, 1, "--install") as instance:
        where = "import os, slurmhooks; print(os.path.dirname(slurmhooks.__file__))"
        python = "$(sed -n '1s/^#!\\([^ ]*\\).*/\\1/p' $(command -v slurmhooks))"
        instance.root("sh", "-ec", f'cd /; folder=$({python} -Ic "{where}"); rm -r $folder/workshop', check=True)
        instance.root("sh", "-c", "echo CliFilterPlugins=cli_filter/python >> /etc/slurm/slurm.conf", check=True)
        instance.restart()
        yield instance


def test_a_cluster_needs_no_workshop(cluster: "Cluster") -> None:
    """check, deploy and status pass; rules, workers, cli_filter and SPANK do their work; `try` says what to install."""
    site = Site(cluster)
    cluster.put(TOML, "/root/site/slurmhooks.toml")
    cluster.put(HOOKS, "/root/site/hooks.d/a.py")
    assert "slurmhooks-workshop" in cluster.root("sh", "-c", "slurmhooks try job_submit x 2>&1").stdout
    deploy = "slurmhooks bundle site --output 1.tar && slurmhooks deploy 1.tar"
    site.root(f"cd /root && {deploy} && slurmhooks check && slurmhooks status")
    refused = cluster.user("alice", "srun", "true")
    assert "account" in refused.stderr
    script = 'squeue -h -j $SLURM_JOB_ID -O "Comment:20,Name:20"; echo $GREETING'
    done = cluster.user("alice", "srun", "--account=physics", "--greet=Ada", "sh", "-c", script)
    assert done.stdout.split() == ["hooked", "filtered", "Ada"], done.stderr
