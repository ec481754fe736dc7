# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds files that an administrator sees beside a link, while slurmhooks looks for them beside the link's target."""

from __future__ import annotations

import posix

from slurmhooks.errors import LoadError
from slurmhooks.files import home, paths, slurm_conf
from slurmhooks.files.trusted import MOST_LINKS
from slurmhooks.log import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def findings(link: str, path: str, names: Iterable[str]) -> list[str]:
    """Return a finding for each name that leads to other files beside a link than beside the file that it leads to.

    Args:
        link: the configuration as it was named, which may be a link.
        path: the file that it is; names in it are relative to this.
        names: file names, globs and folders in the configuration.
    """
    base = path.rpartition("/")[0]
    if link == path or is_in_store(path):
        # Files beside the link are sources, or what was there before the first deployment.
        return []
    texts = []
    names = [name for name in names if not name.startswith("/")]
    for folder in _folders(link):
        for name in names:
            here = _matches(f"{base}/{name}")
            other = {real: seen for real, seen in _matches(f"{folder}/{name}").items() if real not in here}
            if other:
                first = visible(next(iter(other.values())))
                texts.append(
                    visible(
                        f"{link}: {name} is relative to the file that this is a link to, so it means {base}/{name},"
                        f" and not {first}: write {folder}/{name}, or move what is there"
                    )
                )
    # Kubernetes may have replaced the volume since the link was resolved: what is beside it now is another version.
    return texts if paths.real(link) == path else []


def is_in_store(path: str) -> bool:
    """Tell whether a file, or a folder, belongs to something that has been deployed."""
    store, bundles, _ = path.partition("/slurmhooks.d/bundles/")  # of an earlier release
    return home.is_in_set(path) or bool(store and bundles)


def _folders(link: str) -> list[str]:
    """Return the folders of a link, and of the links that it leads to."""
    folders: list[str] = []
    while len(folders) < MOST_LINKS:
        folder = link.rpartition("/")[0]
        try:
            target = posix.readlink(link)
        except OSError:
            break
        folders.append(folder)
        link = target if target.startswith("/") else f"{folder}/{target}"
    return list(dict.fromkeys(folders))


def _matches(pattern: str) -> dict[str, str]:
    """Return the existing files that a pattern matches: their real paths, and their names."""
    try:
        names = paths.matches(pattern)
    except LoadError:  # reported by the loader, if it is where hooks are looked for
        return {}
    return {paths.real(name): name for name in names if isinstance(paths.state(name), tuple)}


def of_configuration(path: str) -> str | None:
    """Return a finding if a missing configuration is beside the file that slurm.conf is a link to.

    Args:
        path: of the configuration, which does not exist.
    """
    conf = slurm_conf.environment("SLURM_CONF") or f"{slurm_conf.directory()}/slurm.conf"
    real = paths.real(conf)
    other = f"{real.rpartition('/')[0]}/{path.rpartition('/')[2]}"
    if real == conf or not isinstance(paths.state(other), tuple):
        return None
    return visible(
        f"{path}: does not exist, but {other} does: it belongs beside {conf}, not beside the file that this is a link"
        f" to: ln -s {other} {path}"
    )
