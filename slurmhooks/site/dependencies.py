# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells what the handlers of a configuration depend on, once they are loaded: files, folders and modules."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from slurmhooks.files import home, paths
from slurmhooks.handlers import loader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from slurmhooks.config.model import Config
    from slurmhooks.handlers.loader import Source


def watched(path: Path, config: Config, sources: Iterable[Source] = ()) -> list[str]:
    """Return the files that the handlers depend on.

    Args:
        path: path of the configuration.
        config: its content.
        sources: its sources; the files of packages are known only after they are imported.
    """
    return list(dict.fromkeys([str(path), *loader.files_of(sources), *module_files(path, config)]))


def module_files(path: Path, config: Config) -> list[str]:
    """Return the files of the modules that a configuration names or its hook files have imported from its packages."""
    names = modules_of(path, config)
    return [file for file in (getattr(sys.modules[name], "__file__", None) for name in names) if file is not None]


def modules_of(path: Path, config: Config) -> list[str]:
    """Return the names of the imported modules that a configuration names or that come from its packages."""
    folders = tuple(f"{home.placed(name, str(path.parent))}/" for name in config.hooks.packages)
    inside = [
        name
        for name, module in list(sys.modules.items())
        if folders and (getattr(module, "__file__", None) or "").startswith(folders)
    ]
    return list(dict.fromkeys([*modules_below(config.hooks.modules), *inside]))


def folders(path: Path, config: Config) -> list[str]:
    """Return the folders in which the globs of a configuration look for files."""
    names: list[str] = []
    left = [pattern for pattern in patterns_of(path, config) if paths.has_magic(pattern)]
    while left:
        folder = os.path.dirname(left.pop())
        if paths.has_magic(folder):
            names += paths.matches(folder)
            left.append(folder)
        else:
            names.append(folder)
    return list(dict.fromkeys(names))


def patterns_of(path: Path, config: Config) -> list[str]:
    """Return the file names and globs of a configuration as absolute paths."""
    return [home.placed(pattern, str(path.parent)) for pattern in config.hooks.paths]


def modules_below(packages: Iterable[str]) -> list[str]:
    """Return the names of those packages, and of the modules inside them, that are imported."""
    packages = tuple(packages)
    return [
        name
        for name in list(sys.modules)
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    ]
