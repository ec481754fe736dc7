# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks install`` where plugins of slurmhooks are, and hooks in force."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from slurmhooks.cli import build_record

from .conftest import Call, Site

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("is_set", [False, True])
def test_an_upgrade_that_would_end_all_service(
    run: Call, site: Site, build: Path, tmp_path: Path, is_set: bool
) -> None:
    """If plugins of another release are there, and what is in force does not load with the new one, nothing changes.

    Each former word is named with the new one. What is named instead must load, and is in force afterwards.
    """
    words = ("install", "--from", build, "--plugin-dir", site.plugins, "--sysconfdir", site.etc)
    site.file("@hook.job_submit\ndef one(job): pass\n")
    toml = site.etc / "slurmhooks.toml"
    if is_set:
        assert site.call("deploy").exit_code == 0
        toml = Path(os.path.realpath(site.etc / "slurmhooks.set")) / "slurmhooks.toml"
        toml.chmod(0o644)
    right = toml.read_text()
    toml.write_text(f'{right}[job_submit]\nreload = true\n[[policies]]\npolicy = "x"\n[priority]\n')
    record = build_record.BuildRecord.load(site.plugins)
    assert record is not None
    replace(record, sources="0123456789abcdef").save(site.plugins)
    copy = tmp_path / "copy"
    shutil.copytree(site.hooks, copy / "hooks.d")
    (copy / "slurmhooks.toml").write_text("[job_end]\n")
    before = {path: path.read_bytes() for path in site.plugins.rglob("*") if path.is_file()}
    for options, former in (((), "policies"), ((), "priority"), (("--deploy", copy), "job_end")):
        result = run.refused(*words, *options, says=f": {former}: is called [")
        assert "reload" not in result.output
        assert f"'slurmhooks install --from {build}" in result.output
        assert before == {path: path.read_bytes() for path in site.plugins.rglob("*") if path.is_file()}
    right += "# changed\n"
    (copy / "slurmhooks.toml").write_text(right)
    run.passed(*words, "--deploy", copy)
    assert (site.etc / "slurmhooks.set" / "slurmhooks.toml").read_text() == right
    installed = build_record.BuildRecord.load(site.plugins)
    assert installed is not None
    assert installed.sources == record.sources
    assert run(*words).exit_code == 0


def test_only_an_upgrade_needs_what_loads(site: Site, build: Path) -> None:
    """Plugins of the same release are replaced, as after an upgrade of Slurm, whatever the state of the sources is."""
    site.deploy()
    site.file("def (")
    (site.plugins / "spank_python.so").unlink()
    site.passed("install", "--from", build, "--plugin-dir", site.plugins)
    assert (site.plugins / "spank_python.so").exists()
