# SPDX-License-Identifier: GPL-2.0-or-later
"""Operators and coordinators, who may change the jobs of others, and rules about these jobs, on real slurmctlds."""

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, TOML, Site

pytestmark = [pytest.mark.stopped, pytest.mark.moved]

RULES = """
[[rule]]
name = "short"
rule = "time_ceiling"
limit = 10
{keys}

[[rule]]
name = "guard"
rule = "guard_updates"
changes = ["comment"]
{keys}

[[rule]]
name = "fixed"
rule = "require_features"
one_of = ["nosuch"]
updates = "refuse"
users = ["nobody", "alice"]
{keys}
except_partitions = ["debug"]
"""
CHANGES = ["TimeLimit=30", "Comment=x", "Features="]
"""An update for each rule, which it refuses."""
EXEMPTIONS = ['except_users = ["bob"]', 'except_groups = ["bob"]']
ROLES = {
    "operator": "modify user bob set AdminLevel=Operator",
    "coordinator": "modify user bob set AdminLevel=None\nadd coordinator account=physics names=bob",
}


def test_those_who_change_jobs_of_others(cluster: Cluster) -> None:
    """A rule checks what operators and coordinators change, unless they are exempt; the owner of the job is not then.

    What they may change is Slurm's decision, before rules are asked.
    """
    accounting.need_sources(cluster)
    accounting.start(cluster, *accounting.ACCOUNTS, more="PartitionName=rich Nodes=ALL State=UP\n")
    site = Site(cluster)

    def under(keys: str) -> None:
        site.cluster.put(DEFAULT_TOML + RULES.format(keys=keys), TOML)

    def changed(user: str, change: str) -> bool:
        done = site.run("scontrol", "update", f"JobId={job}", change, user=user)
        assert done.returncode == 0 or done.stderr, done
        return done.returncode == 0

    site.clear()
    job = site.submit("-A", "physics", "-t5")
    assert "Invalid user id" in site.said("scontrol", "update", f"JobId={job}", "TimeLimit=4", user="bob")
    for role, commands in ROLES.items():
        for command in commands.splitlines():
            site.cluster.root("sacctmgr", "-i", *command.split(), check=True)
        under("")
        site.cluster.wait(lambda: changed("bob", "TimeLimit=4"), what=f"bob as {role}")
        for change in CHANGES:
            assert not changed("bob", change), (role, change)
        for keys in EXEMPTIONS:
            under(keys)
            for change in CHANGES:
                assert not changed("alice", change), (role, keys, change)
                assert changed("bob", change), (role, keys, change)
            assert changed("bob", "TimeLimit=4")
            assert "at most 00:10:00" in site.refused("-A", "physics", "-t30"), keys
