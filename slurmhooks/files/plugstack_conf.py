# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of plugstack.conf and of the files that it includes. Most launches do not need them."""

import glob
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from slurmhooks.errors import ConfigError
from slurmhooks.files import slurm_conf

OURS = re.compile(r"^\s*(?:required|optional)\s+(?:\S*/)?spank_python(?:\.so)?(?:\s|$)")
"""A line that loads the plugin."""


def path_of(slurms: str, folder: Path) -> Path:
    """Return the plugstack.conf of a slurm.conf.

    Args:
        slurms: path of slurm.conf.
        folder: where it is for the daemons.
    """
    return folder / (slurm_conf.value(slurms, "PlugStackConfig") or "plugstack.conf")


def of_plugin(path: Path, located: Callable[[Path], Path] = lambda path: path) -> list[str]:
    """Return the lines that load the plugin.

    Args:
        path: of plugstack.conf.
        located: returns where a file is on this machine.
    """
    return [text for text in _lines(located(path), located) if OURS.match(text)]


def arguments(line: str) -> tuple[str, ...]:
    """Return the arguments of a line."""
    return tuple(line.split("#")[0].split()[2:])


def _lines(path: Path, located: Callable[[Path], Path], depth: int = 0) -> Iterator[str]:
    if depth > slurm_conf.MOST_NESTED:
        raise ConfigError([f"{path}: includes itself, or is included through more than {slurm_conf.MOST_NESTED} files"])
    try:
        text = path.read_text(errors="surrogateescape")
    except OSError:
        return
    for line in text.split("\n"):
        include = re.match(r"\s*include\s+(\S+)", line)
        if include:
            included = Path(include.group(1))
            pattern = located(included) if included.is_absolute() else path.parent / included
            for name in sorted(glob.glob(str(pattern))):
                yield from _lines(Path(name), located, depth + 1)
        else:
            yield line
