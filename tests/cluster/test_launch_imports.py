# SPDX-License-Identifier: GPL-2.0-or-later
"""What a real slurmstepd imports for a handler."""

from tests.cluster.conftest import Cluster
from tests.unit.test_imports import MAY_BE_IMPORTED

HOOKS = """\
import sys

from slurmhooks import hook


@hook.spank.task_init
def tell(spank):
    spank.env["IMPORTED"] = " ".join(sys.modules)
"""
BESIDES = {
    "_cffi_backend",  # what the compiled view runs on
    "_slurmhooks_spank.lib",
    "abc",  # for _collections_abc; up to 3.13 the bare interpreter has it
    "_abc",
}
BARE = "import sys; print(*sys.modules)"


def test_a_step_imports_no_more_than_it_must(cluster: Cluster) -> None:
    """With a manifest, all that a step imports beyond the bare interpreter is on the list of tests/unit."""
    cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
    cluster.root("slurmhooks", "compile", check=True)
    bare = cluster.root("/opt/slurmhooks/bin/python3", "-I", "-S", "-c", BARE, check=True).stdout.split()
    done = cluster.user("alice", "srun", "printenv", "IMPORTED")
    assert done.returncode == 0, done.stderr + cluster.log("slurmd")
    imported = set(done.stdout.split())
    assert "slurmhooks.manifest" in imported
    assert imported - set(bare) - MAY_BE_IMPORTED - BESIDES == set()
