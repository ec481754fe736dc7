# SPDX-License-Identifier: GPL-2.0-or-later
"""A real slurmdbd with a real database, for tests of accounts, QOS and associations."""

from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.cluster.lab.cluster import cluster_name
from tests.cluster.lab.releases import find

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

PACKAGES = ("slurmdbd", "mariadb-server-core")
"""Debian's packages; the second has only the server."""
MAKE_SECONDS = 900.0

ACCOUNTS = (
    "add qos high Priority=77",
    "add qos low Priority=3",
    "add account physics",
    "add account maths",
    "add user alice Account=physics DefaultAccount=physics QosLevel=normal,high,low DefaultQOS=high",
    "add user alice Account=maths QosLevel=low DefaultQOS=low",
    "add user alice Account=physics Partition=rich QosLevel=normal,low DefaultQOS=low",
    "add user bob Account=maths",
)
"""A site with two accounts, where the associations of one user differ by QOS and partition."""

CONF = """\
AuthType=auth/@AUTH@
DbdHost=ctl
DbdPort=@PORT@
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
"""

LOG = "/var/log/slurm/slurmdbd.log"
CLIENT, CLIENT_OF = "libmariadb3", "22.05"
"""slurmdbd's client library. That of Debian 13, 11.8.9, takes none of slurmdbd's queries: "allowed number of columns
(=0)"."""
START = f"""\
set -e
# In memory, and nobody asks who connects: it lives for one test, in a network of its own.
install -d -o mysql -g mysql /run/mysqld /dev/shm/mysql
install -d -o slurm -g slurm /run/slurmdbd
server="mariadbd --no-defaults --user=mysql --datadir=/dev/shm/mysql --innodb-buffer-pool-size=64M
    --innodb-log-file-size=16M --innodb-flush-log-at-trx-commit=0 --innodb-lock-wait-timeout=900"
# What mariadb-install-db does; it is here without what it needs of the client's package.
cd /usr/share/mariadb 2>/dev/null || cd /usr/share/mysql
{{ printf "create database mysql;\\nuse mysql;\\n"; cat *_system_tables.sql *_system_tables_data.sql; }} |
    $server --bootstrap >/var/log/slurm/mariadbd.log 2>&1
setsid $server --socket=/run/mysqld/mysqld.sock --skip-networking --skip-grant-tables \\
    </dev/null >>/var/log/slurm/mariadbd.log 2>&1 &
timeout 60 sh -c 'until [ -S /run/mysqld/mysqld.sock ]; do sleep 0.05; done'
slurmdbd
timeout 60 sh -c 'until grep -qE "slurmdbd version .* started|fatal:" {LOG}; do sleep 0.05; done'
"""
ANSWERS = "timeout 60 sh -c 'until sacctmgr -n list cluster >/dev/null 2>&1; do sleep 0.05; done'"


@cache
def _serve(cluster: "Cluster") -> None:
    """Start the release's slurmdbd."""
    release = find(cluster.release)
    # Releases that were built from a source tree have a slurmdbd.
    cluster.tool("add", *(PACKAGES[1:] if release.on else PACKAGES), timeout=MAKE_SECONDS)
    if find(CLIENT_OF).suite != release.suite:
        cluster.tool("add", "--of", CLIENT_OF, CLIENT, timeout=MAKE_SECONDS)
    conf = CONF.replace("@AUTH@", release.auth).replace("@PORT@", str(_port(cluster)))
    cluster.put(conf, "/etc/slurm/slurmdbd.conf", 0o600)
    cluster.root("sh", "-c", "chown slurm: /etc/slurm/slurmdbd.conf", check=True)
    cluster.root("sh", "-c", "id -u mysql >/dev/null 2>&1 || useradd --system mysql", check=True)
    cluster.root("sh", "-c", START, check=True, timeout=180)


def need_sources(cluster: "Cluster") -> None:
    """Skip a test that reads QOS and associations in slurmctld if Debian has no sources of the release."""
    if not cluster.has_sources:
        pytest.skip(f"NO ACCOUNTING OF {cluster.release} WAS TESTED: Debian has no sources of it")


def _port(cluster: "Cluster") -> int:
    return find(cluster.release).ctld_port + 50


LINES = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=ctl
AccountingStoragePort=@PORT@
AccountingStorageEnforce=@ENFORCE@
"""


def start(
    cluster: "Cluster",
    *commands: str,
    enforce: str = "associations,limits,qos",
    plugins: str = "python",
    more: str = "",
) -> None:
    """Start accounting in a cluster, with an empty database.

    The cluster must be fresh: its slurmctld must not have run without accounting under this name. In ``commands`` of
    sacctmgr, without ``-i``, ``CLUSTER`` stands for its name; ``more`` are lines for slurm.conf.
    """
    _serve(cluster)
    name = cluster_name(cluster.release)
    lines = LINES.replace("@PORT@", str(_port(cluster))).replace("@ENFORCE@", enforce)
    first = f"JobSubmitPlugins={plugins}\n" if plugins else ""
    cluster.put(f"{first}{lines}{more}", "/etc/slurm/local.conf")
    cluster.root("sh", "-c", ANSWERS, check=True)
    calls = [f"add cluster {name}", *(command.replace("CLUSTER", name) for command in commands)]
    script = "\n".join("sacctmgr -i " + command for command in calls)
    # The file contains a cluster id from the time before the database could assign one.
    script += "\nrm -f /var/lib/slurm/slurmctld/clustername"
    cluster.root("sh", "-ec", script, check=True)
    cluster.restart()
