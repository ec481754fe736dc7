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
Line = tuple[Path, int, str]
"""A line with its file and number."""


def path_of(slurms: str, folder: Path) -> Path:
    """Return the plugstack.conf of a slurm.conf, which is in ``folder`` for the daemons."""
    return folder / (slurm_conf.value(slurms, "PlugStackConfig") or "plugstack.conf")


def of_plugin(path: Path, located: Callable[[Path], Path] = lambda path: path) -> list[str]:
    """Return the lines that load the plugin; ``located`` returns where a file is on this machine."""
    return [text for _, _, text in lines(located(path), located) if OURS.match(text)]


def arguments(line: str) -> tuple[str, ...]:
    """Return the arguments of a line."""
    return tuple(line.split("#")[0].split()[2:])


def lines(path: Path, located: Callable[[Path], Path] = lambda path: path, depth: int = 0) -> Iterator[Line]:
    """Yield the lines of a file, each include followed by those of the files that it names; none of a missing file.

    Raises:
        ConfigError: a file includes itself.
    """
    if depth > slurm_conf.MOST_NESTED:
        raise ConfigError([f"{path}: includes itself, or is included through more than {slurm_conf.MOST_NESTED} files"])
    try:
        text = path.read_text(errors="surrogateescape")
    except OSError:
        return
    for number, line in enumerate(text.split("\n"), 1):
        yield path, number, line
        for name in sorted(glob.glob(pattern)) if (pattern := included(path, line, located)) else ():
            yield from lines(Path(name), located, depth + 1)


def included(path: Path, line: str, located: Callable[[Path], Path] = lambda path: path) -> str:
    """Return the pattern of the files that a line includes, on this machine; empty if it is no include."""
    include = re.match(r"\s*include\s+(\S+)", line)
    if include is None:
        return ""
    name = Path(include.group(1))
    return str(located(name) if name.is_absolute() else path.parent / name)
