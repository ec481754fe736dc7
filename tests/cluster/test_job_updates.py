# SPDX-License-Identifier: GPL-2.0-or-later
"""Updates of waiting jobs have the same results as without job_submit/python."""

import re

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import Site

pytestmark = [pytest.mark.stopped, pytest.mark.moved]

LINES = "PartitionName=rich Nodes=ALL State=UP\n"
UPDATES = (
    "partition=rich",
    "account=maths",
    "account=nosuch",
    "qos=low",
    "qos=nosuch",
    "reservationname=course",
    "reservationname=nosuch",
    "partition=rich account=maths",
    "partition=rich qos=low",
    "partition=debug,rich",
)
RESERVE = (
    "scontrol show reservation course >/dev/null 2>&1 || scontrol create reservation reservationname=course"
    " users=alice starttime=now duration=60 nodes=ALL flags=overlap,ignore_jobs"
)
TRY = """\
for update in {updates}; do
    job=$(setpriv --reuid=alice --regid=alice --init-groups \\
        sbatch --chdir=/tmp --parsable --hold --output=/dev/null --wrap=true)
    echo "$update: $({as_user} scontrol update jobid=$job $(echo $update | tr + ' ') 2>&1; echo $?)" | tr '\\n' ' '
    echo; scontrol show job -o $job | grep -oE '\\b(Partition|Account|QOS|Reservation)=[^ ]*'
done
"""
USERS = {"alice": "setpriv --reuid=alice --regid=alice --init-groups", "root": ""}


def results(site: Site, user: str, updates: tuple[str, ...] = UPDATES) -> list[str]:
    """Return the result of each update of a new job: messages and exit code of scontrol, and the job's fields."""
    quoted = " ".join(update.replace(" ", "+") for update in updates)
    output = site.shell(TRY.format(updates=quoted, as_user=USERS[user]), user="root")
    parts = re.split(r"^(?=\S*: )", output, flags=re.MULTILINE)[1:]
    assert len(parts) == len(updates), output
    return [re.sub(r"job \d+", "job N", part).strip() for part in parts]


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Site:
    """A site without accounting, hooks and SPANK."""
    site = Site(cluster)
    site.clear()
    site.conf(f"JobSubmitPlugins=python\n{LINES}")
    site.shell(RESERVE, user="root")
    return site


def test_updates_pass_without_accounting(site: Site) -> None:
    """slurmctld takes no stale errno for the error of an update, which it sometimes does without this plugin."""
    good = tuple(update for update in UPDATES if "reservationname=nosuch" not in update)
    for user in USERS:
        for result in results(site, user, good * 2):
            assert re.match(r"\S*: 0 ", result + " "), result
            wanted = re.match(r"(?:partition|reservationname)=([^ +:]*)", result)
            assert wanted is None or f"={wanted[1]}\n" in result + "\n", result


@pytest.mark.moved
def test_updates_are_those_of_slurm_with_accounting(site: Site) -> None:
    """With accounting each update of partition, account, QOS and reservation passes or fails as without the plugin."""
    accounting.start(site.cluster, *accounting.ACCOUNTS, plugins="", more=LINES)
    site.shell(RESERVE, user="root")
    plain = {user: results(site, user) for user in USERS}
    site.shell("echo JobSubmitPlugins=python >>/etc/slurm/local.conf", user="root")
    site.cluster.restart()
    assert {user: results(site, user) for user in USERS} == plain
    passed = [result for result in plain["alice"] if re.match(r"\S*: 0 ", result + " ")]
    assert 4 <= len(passed) < len(UPDATES), plain
