# SPDX-License-Identifier: GPL-2.0-or-later
"""Paths of everything that is kept, and locks on them."""

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator

from .errors import NotUpError, UsageError
from .namespace import Keeper, alive

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
PROJECT = os.path.dirname(os.path.dirname(HERE))


def cache() -> str:
    """Return the directory for everything that is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(os.path.abspath(base), "slurmhooks")


def rootfs(release: str) -> str:
    """Return the pristine root file system of `release`."""
    return os.path.join(cache(), "rootfs", release)


def cluster_name() -> str:
    """Return the name of this set of clusters.

    Raises:
        UsageError: SLURMHOOKS_CLUSTER cannot be a file name.
    """
    name = os.environ.get("SLURMHOOKS_CLUSTER") or "default"
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise UsageError(f"SLURMHOOKS_CLUSTER={name!r}: use letters, digits, '-' and '_' only")
    return name


def clusters() -> str:
    """Return the directory with one directory for each set of clusters."""
    return os.path.join(cache(), "clusters")


def cluster(release: str) -> str:
    """Return the directory of this set's cluster of `release`."""
    return os.path.join(clusters(), cluster_name(), release)


def read_keeper(directory: str) -> Keeper | None:
    """Return the running keeper of the cluster in `directory`, or None."""
    try:
        with open(os.path.join(directory, "keeper"), encoding="ascii") as file:
            pid, _, started = file.read().strip().partition(" ")
        keeper = Keeper(int(pid), started)
    except (OSError, ValueError):
        return None
    return keeper if alive(keeper) else None


def write_keeper(directory: str, keeper: Keeper) -> None:
    """Note which keeper the directory has."""
    path = os.path.join(directory, "keeper")
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(f"{keeper.pid} {keeper.started}")
    os.rename(path + ".new", path)


def need_keeper(release: str) -> Keeper:
    """Return the running keeper.

    Raises:
        NotUpError: the cluster is not up.
    """
    keeper = read_keeper(cluster(release))
    if keeper is None:
        raise NotUpError(f"cluster {cluster_name()}/{release} is not up: run 'tests/cluster/run up {release}' first")
    return keeper


@contextlib.contextmanager
def locked(directory: str, what: str) -> Iterator[None]:
    """Hold an exclusive lock on `directory`, and create it if it is missing."""
    os.makedirs(directory, exist_ok=True)
    with open(directory + ".lock", "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{what}: waiting for another run that works on it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def say(text: str) -> None:
    """Print progress to standard error; standard output has the result of the verb."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
