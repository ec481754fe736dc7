# SPDX-License-Identifier: GPL-2.0-or-later
"""Releases of Slurm that Debian does not package, and the newest candidate, built from their sources.

Only with sources does a handler see records, and Debian's newest package has none. A build takes some ten minutes of
two processors, and stays.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.lab import releases, source
from tests.cluster.repositories import fetched, git

pytestmark = pytest.mark.soak

TREE = Path(__file__).parents[2]
TAGS = {
    "25.05.8": "slurm-25-05-8-1",
    "25.11.7": "slurm-25-11-7-1",
    "26.05.3": "slurm-26-05-3-1",
    "26.11.0-0rc1": "284c3b95f08a2dc2478499837b03355e1b9c5c75",
}
FILES = (
    *("burst_buffer", "cli_filter", "controller_points", "exempt", "first_light", "job_rules", "job_submit_fields"),
    *("kit_pairs_records", "lua_spank", "mail", "option_values", "programs", "quota", "recent_slurm", "record"),
    *("rules_fields", "sets", "spank_items"),
)
"""Files of tests that look at what differs between releases, or need records."""


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("release", TAGS)
def test_a_release_from_source(release: str, tmp_path: Path) -> None:
    """What depends on the release works as on those of Debian."""
    if release not in releases.known():
        repository = fetched("SchedMD/slurm", TAGS[release])
        archive = git(repository, "archive", "--prefix=slurm/", f"--output={tmp_path}/slurm.tar", TAGS[release])
        assert archive.returncode == 0, archive.stderr
        assert source.read_version(f"{tmp_path}/slurm.tar") == release
        build = [f"{TREE}/tests/cluster/run", "rootfs", "--source", f"{tmp_path}/slurm.tar", "--on", "24.11"]
        built = subprocess.run(build, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr[-4000:]
    # The prefix keeps its clusters apart from those of the tests that run meanwhile.
    prefix = f"{os.environ.get('SLURMHOOKS_TEST_PREFIX', '')}source"
    environment = {**os.environ, "SLURMHOOKS_TEST_RELEASES": release, "SLURMHOOKS_TEST_PREFIX": prefix}
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    files = [f"tests/cluster/test_{name}.py" for name in FILES]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not soak", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TREE, env=environment)
    assert done.returncode == 0, done.stdout[-8000:]
