# SPDX-License-Identifier: GPL-2.0-or-later
"""The imports of a real slurmstepd for a handler."""

from tests.cluster.conftest import Cluster
from tests.unit.test_imports import MAY_BE_IMPORTED, MAY_BE_IMPORTED_FOR_SCRIPTS, WITHOUT_A_MANIFEST

HOOKS = """\
import sys

from slurmhooks import hook


@hook.spank.task_init
def tell(spank):
    spank.env["IMPORTED"] = " ".join(sys.modules)
    spank.env["FROM_FILES"] = " ".join(
        name for name, module in sys.modules.items()
        if name.startswith("slurmhooks") and not name.startswith("slurmhooks_site")
        and getattr(module.__loader__, "__name__", "") != "FrozenImporter"
    )
    spank.env["OF_AST"] = " ".join(item.__name__ for item in object.__subclasses__() if item.__module__ == "ast")
"""
ONLY_FROM_FILES = {"__future__"}
"""What modules of slurmhooks import when they come from files; frozen ones do not need it."""
BESIDES = {
    "_slurmhooks_compile",  # a part of the core library
    "_slurmhooks_deadline",  # another
    "gc",  # slurmstepd calls gc.freeze() before it forks tasks
    "_cffi_backend",  # needed by the compiled view
    "_slurmhooks_spank.lib",
    "abc",  # for _collections_abc; up to 3.13 a bare interpreter has it
    "_abc",
}
BARE = "import sys; print(*sys.modules)"


SCRIPT = 'function slurm_spank_task_init(spank) spank:setenv("SCRIPT", spank:getenv("HOME"), 1) end'


def test_a_step_imports_no_more_than_it_must(cluster: Cluster) -> None:
    """With a manifest, a step imports only modules on the list of tests/unit beyond a bare interpreter, all frozen."""
    cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
    bare = cluster.root("/opt/slurmhooks/bin/python3", "-I", "-S", "-c", BARE, check=True).stdout.split()
    done = cluster.user("alice", "srun", "printenv", "IMPORTED", "FROM_FILES", "OF_AST")
    assert done.returncode == 0, done.stderr + cluster.log("slurmd")
    names, from_files, of_ast = done.stdout.split("\n")[:3]
    imported = set(names.split())
    assert "slurmhooks.site.manifest" in imported
    assert from_files == ""
    assert of_ast == ""  # compile() would create these classes
    assert imported - set(bare) - (MAY_BE_IMPORTED - ONLY_FROM_FILES - WITHOUT_A_MANIFEST) - BESIDES == set()


def test_a_step_imports_no_more_for_a_script(cluster: Cluster) -> None:
    """The same for a Lua script on a line of its own, which runs before the handler that records the imports."""
    before = cluster.root("cat", "/etc/slurm/plugstack.conf", check=True).stdout
    cluster.put(HOOKS, "/etc/slurm/hooks.d/hooks.py")
    cluster.root("mkdir", "-p", "/etc/slurm/lua.d", check=True)
    cluster.put(SCRIPT, "/etc/slurm/lua.d/script.lua")
    try:
        cluster.put(
            "required spank_python.so /etc/slurm/lua.d/*.lua\nrequired spank_python.so\n", "/etc/slurm/plugstack.conf"
        )
        bare = cluster.root("/opt/slurmhooks/bin/python3", "-I", "-S", "-c", BARE, check=True).stdout.split()
        done = cluster.user("alice", "srun", "printenv", "SCRIPT", "IMPORTED")
        assert done.returncode == 0, done.stderr + cluster.log("slurmd")
        home, *rows = done.stdout.splitlines()
        assert home == "/home/alice"
        imported = {name for name in rows[0].split() if not name.startswith(("_cython_", "lupa.lua"))}
        assert (
            imported - set(bare) - ((MAY_BE_IMPORTED | MAY_BE_IMPORTED_FOR_SCRIPTS) - ONLY_FROM_FILES) - BESIDES
            == set()
        )
    finally:
        cluster.put(before, "/etc/slurm/plugstack.conf")
        cluster.root("rm", "-r", "/etc/slurm/lua.d", check=True)
