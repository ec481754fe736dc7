# SPDX-License-Identifier: GPL-2.0-or-later
"""The Puppet class of contrib: its linter and the parser accept it, and Puppet makes catalogs of it."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from slurmhooks.cli.bundles import archive

MODULES = Path(__file__).parents[2] / "contrib" / "puppet"
MANIFEST = MODULES / "slurmhooks" / "manifests" / "init.pp"
CLASSES = {
    "only packages": "include slurmhooks",
    "a bundle": "class { 'slurmhooks': bundle => '/srv/policy.tar', packages => [] }",
    "a signed bundle": "class { 'slurmhooks': bundle => '/srv/policy.tar', allowed_signers => 'x', packages => [] }",
    "a folder": "class { 'slurmhooks': source => '/etc/slurm', packages => [] }",
}


def call(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command, or skip the test if it is not installed."""
    if shutil.which(command[0]) is None:
        pytest.skip("THE PUPPET CLASS WAS NOT CHECKED: install puppet-lint and puppet-agent")
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_puppet_lint() -> None:
    """puppet-lint finds nothing, except that commands are longer than its lines."""
    done = call("puppet-lint", "--fail-on-warnings", "--no-140chars-check", str(MANIFEST))
    assert (done.returncode, done.stdout) == (0, ""), done.stdout


@pytest.mark.soak
@pytest.mark.parametrize("case", CLASSES)
def test_catalogs(case: str, tmp_path: Path) -> None:
    """Puppet compiles a catalog of the class, whose resources depend on each other without a cycle."""
    folders = [f"--{name}={tmp_path / name}" for name in ("confdir", "vardir", "rundir", "logdir")]
    done = call("puppet", "apply", "--noop", *folders, f"--modulepath={MODULES}", "--execute", CLASSES[case])
    assert "Compiled catalog" in done.stdout, done.stdout + done.stderr
    assert "dependency cycle" not in done.stdout + done.stderr


def test_the_id_of_a_bundle() -> None:
    """The class computes the id of a bundle as the commands do."""
    data = archive.pack({"slurmhooks.toml": archive.File(b"")})
    assert archive.identity(data) == hashlib.sha256(data).hexdigest()[:16]
    assert "sha256sum" in MANIFEST.read_text()
    assert f"head -c {len(archive.identity(data))})" in MANIFEST.read_text()
