# SPDX-License-Identifier: GPL-2.0-or-later
"""Any list of mounts: a container that is staged sees and leaves what it would see and leave without staging."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.lab import errors
from tests.cluster.own_readers import seeded
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.one_release("24.11", "26.05")

NUMBERS = [*moved(20), pytest.param(300, marks=pytest.mark.soak)]
"""Of random containers; each runs twice, and takes a tenth of a second or two of processor time."""
PROGRAM = "/opt/mount_lists.py"
FOLDER = "/var/tmp/mount lists"


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("runtime", ["crun", "runc"])
def test_any_list_of_mounts(cluster: Cluster, runtime: str, number: int) -> None:
    """What containers see, and what the host and the image hold afterwards, is the same as without staging.

    The oracle is the runtime itself, which runs each container twice: from its bundle, and staged with copies of all
    sources of bind mounts.
    """
    if not cluster.has_scrun:
        pytest.skip(f"Slurm {cluster.release} has no scrun that works")
    if cluster.root("which", runtime).returncode:
        added = cluster.call("add", runtime, timeout=600)
        if added.returncode == errors.CANNOT_REACH:
            pytest.skip(f"{runtime} WAS NOT TESTED ON SLURM {cluster.release}: {added.stderr[-300:]}")
        assert added.returncode == 0, added.stdout + added.stderr
    cluster.put((Path(__file__).parent / "mount_lists.py").read_text(), PROGRAM)
    seed, _ = seeded()
    script = f"mkdir -p '{FOLDER}'; /opt/slurmhooks/bin/python {PROGRAM} {runtime} {seed} {number} '{FOLDER}'"
    done = cluster.root("sh", "-c", script, timeout=800)
    assert done.returncode == 0, done.stderr[-2000:]
    ran, *wrong = done.stdout.splitlines()
    assert not wrong, "\n".join(wrong)
    assert int(ran) > number // 4
