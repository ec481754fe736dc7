# SPDX-License-Identifier: GPL-2.0-or-later
"""contrib/examples/private_mounts.py on real clusters: mounts that only the steps of a job have."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, settle, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

EXAMPLE = Path(__file__).parents[2] / "contrib" / "examples" / "private_mounts.py"
BASE = "/scratch/private"


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Iterator[Site]:
    """A cluster with the example."""
    with site(cluster, PrologFlags="Contain") as prepared:
        prepared.hooks(private_mounts=EXAMPLE.read_text())
        prepared.plugstack("required spank_python.so")
        prepared.root(f"mkdir -p {BASE}; rm -rf /tmp/seen")
        cluster.restart()
        yield prepared


def test_private_mounts(lent: Site) -> None:
    """All steps of a job on a node share a /tmp that nobody else sees, and that is gone after the job."""
    settle(lent)
    script = "touch /tmp/seen /var/tmp/seen; srun ls /tmp /var/tmp; grep -c /private/ /proc/self/mountinfo"
    done = lent.shell(
        "salloc -Q -w n1 srun sh -c 'touch /tmp/seen; stat -c %U:%a /tmp' && salloc -Q -w n1 sh -c"
        " 'srun touch /tmp/seen; srun ls /tmp; srun ls /var/tmp'"
    )
    assert done.stdout.split() == ["alice:700", "seen"]
    out = lent.shell(f'cd ~ && sbatch -Q -W -w n1 -o batch.out --wrap "{script}"; cat batch.out').stdout
    assert out.split() == ["/tmp:", "seen", "/var/tmp:", "seen", "2"]
    lent.wait_until_idle()
    lent.cluster.wait(lambda: not lent.root(f"ls {BASE}").strip(), what="removed folders")
    assert lent.root("ls /tmp/seen /var/tmp/seen 2>&1 || true").count("No such file") == 2
    assert lent.root(f"grep -c {BASE} /proc/1/mountinfo || true").strip() == "0"
    assert lent.drained() == []


def test_shared_tmp(lent: Site) -> None:
    """With the option a job keeps the /tmp of the node, also in its extern step, which has no options."""
    settle(lent)
    done = lent.shell("srun -Q -w n1 --shared-tmp sh -c 'grep -c /private/ /proc/self/mountinfo; true'")
    assert done.stdout.split() == ["0"]
    lent.wait_until_idle()
    assert lent.drained() == []
