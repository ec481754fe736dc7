# SPDX-License-Identifier: GPL-2.0-or-later
"""The tutorial about a rule and last month's jobs, on a cluster with a real slurmdbd and on a machine without Slurm.

``python -m tests.cluster.test_last_month 24.11`` updates the outputs on the page.
"""

import sys
import tempfile
from pathlib import Path

import pytest

from tests.cluster import accounting
from tests.cluster.conftest import NAME, Cluster, running
from tests.cluster.tutorial import Command, Laptop, play, run, written

PAGE = Path(__file__).parents[2] / "docs" / "last-month.md"
MORE = "AccountingStoreFlags=job_script\nPartitionName=long Nodes=ALL State=DOWN Default=NO\n"
MONTH = """
cd
printf '#!/bin/sh\\n#SBATCH --time=2:00:00\\n#SBATCH --job-name=train\\ntrue\\n' > train.sh
printf '#!/bin/sh\\n#SBATCH --ntasks=4\\ntrue\\n' > render.sh
"""
OF_ALICE = """
sbatch -p long train.sh
sbatch -p long --time=30 --array=1-4 train.sh
sbatch -p long -J "after lunch" render.sh
sbatch -p long --time=10 --wrap "echo done"
"""
OF_BOB = """
sbatch -p long -t 5 render.sh one two
sbatch -p long render.sh
sbatch -p long -A maths train.sh
"""


def prepare(cluster: Cluster) -> None:
    """Give the cluster a database with a month of jobs."""
    accounting.start(cluster, *accounting.ACCOUNTS, plugins="", more=MORE)
    for user, commands in (("alice", OF_ALICE), ("bob", OF_BOB)):
        cluster.user(user, "sh", "-ec", MONTH + commands, check=True)
    jobs = "sacct --allusers --allocations --noheader --format=JobIDRaw | sort -u | wc -l"
    cluster.wait(lambda: int(cluster.root("sh", "-c", jobs).stdout) == 7)


@pytest.mark.one_release("24.11")
def test_the_tutorial(bare_cluster: Cluster, tmp_path: Path) -> None:
    """Each command prints what the page shows, on a cluster without slurmhooks, and on a laptop without Slurm.

    What the committee gets has nobody's name.
    """
    prepare(bare_cluster)
    page = PAGE.read_text()
    play(bare_cluster, page, Laptop(bare_cluster, tmp_path))
    _, _, anonymous = page.partition("--anonymous\n")
    assert "rules:require_time" in anonymous
    assert not [name for name in ("alice", "bob", "maths", "lunch", "render") if name in anonymous]


def main(release: str) -> None:
    """Write the page's outputs."""
    with running(release, f"{NAME}-bare", 1) as cluster, tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        prepare(cluster)
        laptop = Laptop(cluster, Path(folder))

        def outputs(user: str, command: str) -> str:
            return laptop.run(command) if user == "laptop" else run(cluster, Command(command, user))

        def install(path: str, text: str) -> None:
            (laptop.folder / path).write_text(text)

        PAGE.write_text(written(PAGE.read_text(), outputs, install))


if __name__ == "__main__":
    main(*sys.argv[1:])
