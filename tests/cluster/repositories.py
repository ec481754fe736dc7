# SPDX-License-Identifier: GPL-2.0-or-later
"""Public git repositories for soak tests, each at a pinned commit; none of their files is in this tree."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cluster import reporting
from tests.cluster.lab import places

REPOSITORIES = os.environ.get("SLURMHOOKS_REPOSITORIES")
"""A folder with git repositories, OWNER/NAME each, for machines that cannot reach the public ones."""


def git(repository: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Call git in a repository."""
    return subprocess.run(["git", "-C", repository, *words], capture_output=True, check=False)


def fetched(name: str, commit: str) -> str:
    """Return the folder of a GitHub repository that has a commit or tag; skip the test if there is none."""
    folder = REPOSITORIES or str(Path(places.cache(), "repositories"))
    repository = str(Path(folder, name))
    if not Path(repository).exists():
        subprocess.run(["git", "init", "-q", "--bare", repository], check=True)
    if git(repository, "rev-parse", "-q", "--verify", f"{commit}^{{commit}}").returncode:
        url = f"https://github.com/{name}"
        wanted = commit if len(commit) == 40 else f"refs/tags/{commit}:refs/tags/{commit}"
        if git(repository, "fetch", "-q", "--depth=1", url, wanted).returncode:
            pytest.skip(f"{reporting.SKIPPED} RAN: {url} cannot be reached, and has {commit}")
    return repository
