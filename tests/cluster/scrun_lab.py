# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures and hooks of tests with scrun: a cluster without other hooks, its users, and ways to stage containers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.containers import HOOK, User
from tests.cluster.scenes import BUNDLE_MAKER, BUNDLE_PATH, HOOKS_D

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cluster.conftest import Cluster

PROJECT = Path(__file__).resolve().parents[2]


def prepare(cluster: Cluster) -> None:
    """Remove other hooks, and install what makes bundles; skip the test if the release has no scrun that works.

    tests/cluster/scenes.py has scrun and SPANK in one site.
    """
    if not cluster.has_scrun:
        pytest.skip(f"Slurm {cluster.release} has no scrun that works")
    cluster.root("sh", "-c", f"rm -rf {HOOKS_D}/*; mkdir -p -m 1777 /scratch", check=True)
    cluster.put(PROJECT / BUNDLE_MAKER, BUNDLE_PATH)


@pytest.fixture(scope="module")
def lab(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster with scrun, without other hooks."""
    prepare(cluster)
    yield cluster
    cluster.root("rm", "-f", HOOK)


@pytest.fixture
def alice(lab: Cluster) -> Iterator[User]:
    """The user of most tests, with a clean state."""
    yield from clean(User(lab, "alice"))


@pytest.fixture
def bob(lab: Cluster) -> Iterator[User]:
    """A second user."""
    yield from clean(User(lab, "bob"))


def clean(user: User) -> Iterator[User]:
    """Start and end each test without containers, jobs and files."""
    user.clean()
    yield user
    user.clean()


LONG = ("/bin/sh", "-c", "trap exit TERM; echo started; sleep 600 & wait")
"""A command that ends on SIGTERM; a plain sleep as process 1 of its container does not.

Wait for its output: scrun reports "running" earlier, and a step killed during the start ends a minute later.
"""
COPY = """
PLACE = "/tmp/staged-%s-%s"
def place(container):
    return PLACE % ({2001: "alice", 2002: "bob"}[container.user_id], container.id)
@hook.scrun.stage_in
def stage_in(container):
    trace(container, "in")
    with Staging(place(container)) as made:
        copy_tree(container.bundle, made)
        container.bundle = made
        container.root_path = made + "/rootfs"
    trace(container, "staged")
@hook.scrun.stage_out
def stage_out(container):
    trace(container, "out")
    if container.bundle != container.orig_bundle:
        remove_tree(container.bundle)
"""
SLOW = """
@hook.scrun.stage_in
def stage_in(container):
    trace(container, "in")
    with Staging("/tmp/staged-alice-slow-" + container.id):
        while not container.cancelled:
            time.sleep(0.05)
        trace(container, "told")
        raise StagingError("given up")
@hook.scrun.stage_out
def stage_out(container):
    trace(container, "out " + str(container.bundle == container.orig_bundle))
"""
