# SPDX-License-Identifier: GPL-2.0-or-later
"""The start of the supervisor."""

import subprocess
import sys
from pathlib import Path

import pytest

from slurmhooks import identity
from tests.native.hosting import Host
from tests.sets import put_in_force

LOAD = """
import sys
from pathlib import Path
from types import SimpleNamespace
from slurmhooks.files import paths
from slurmhooks.files.watch import Watch
from slurmhooks.worker import interface
from slurmhooks.worker.__main__ import preload

name = sys.argv[1]
preload(name)
if "complete" in sys.argv:
    interface.complete(name, SimpleNamespace(kinds=["slurmhooks.rules.ready.times"]))
before = set(sys.modules)
interface.entry(name)(Watch(), lambda settings: None)
print(*{module.partition(".")[0] for module in set(sys.modules) - before})
"""


@pytest.mark.parametrize("point", ["job_submit", "prep", "jobcomp", "site_factor"])
def test_generations_import_only_the_sites_files(host: Host, tmp_path: Path, point: str) -> None:
    """A generation inherits slurmhooks' modules from the supervisor: a reload is quick and never mixes two versions."""
    (tmp_path / "slurm.conf").touch()
    (tmp_path / "policy.py").write_text("from slurmhooks import Reject, hook, log\n")
    (put_in_force(tmp_path) / "slurmhooks.toml").write_text('[hooks]\npaths = ["policy.py"]\n')
    options = ["-X", f"slurmhooks_sysconfdir={tmp_path}", "-X", f"slurmhooks_plugins={host.build.plugins}/slurmhooks"]
    command = [sys.executable, *options, "-c", LOAD, f"slurmhooks.entry.{point}:load"]
    imported = subprocess.check_output(command, text=True).split()
    assert "slurmhooks_site" in imported
    assert not {"slurmhooks", "pydantic", "structlog"} & set(imported)


def test_later_generations_have_everything(host: Host, tmp_path: Path) -> None:
    """Once it serves, a supervisor has also what only handlers with modes need, or those that read bounds."""
    (tmp_path / "slurm.conf").touch()
    (tmp_path / "policy.py").write_text(
        "from slurmhooks import hook\nimport slurmhooks.job_submit.bounds.computing\n"
        '@hook.job_submit(mode="warn")\ndef limit(job): pass\n'
    )
    (put_in_force(tmp_path) / "slurmhooks.toml").write_text('[hooks]\npaths = ["policy.py"]\n')
    options = [
        "-X",
        f"slurmhooks_build={identity.here()}",
        "-X",
        f"slurmhooks_sysconfdir={tmp_path}",
        "-X",
        f"slurmhooks_plugins={host.build.plugins}/slurmhooks",
    ]
    command = [sys.executable, *options, "-c", LOAD, "slurmhooks.entry.job_submit:load"]
    assert "slurmhooks" in subprocess.check_output(command, text=True).split()
    assert "slurmhooks" not in subprocess.check_output([*command, "complete"], text=True).split()
