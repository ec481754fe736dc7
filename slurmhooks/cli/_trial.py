# SPDX-License-Identifier: GPL-2.0-or-later
"""What `try` needs whatever it tries: the site's handlers, and what they say."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from slurmhooks import config, loader, site, slurm_conf, trusted
from slurmhooks.cli import _load
from slurmhooks.cli._findings import Finding, Findings, shown
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.log import LEVELS, PREFIX, log, visible
from slurmhooks.registry import Registry

WIDTH = 200


def load(sysconfdir: Path, files: Sequence[Path], *, scripts: bool = False) -> Registry:
    """Load handlers.

    Args:
        sysconfdir: where slurmhooks.toml is.
        files: hook files to load instead of what it names.
        scripts: also a job_submit.lua that it names.

    Raises:
        Findings: they do not load, or there is nothing to load.
    """
    sys.dont_write_bytecode = True
    os.environ["SLURM_CONF"] = str(sysconfdir / "slurm.conf")
    try:
        if files:
            return loader.load([loader.Source(path=os.path.realpath(path)) for path in files])
        path = site.config_path()
        if not path.exists():
            raise Finding(f"{path} does not exist: name its folder with --sysconfdir, or hook files with --hooks")
        if os.getuid() == 0:
            trusted.guard(slurm_conf.slurm_user())
        read, sources = site.of_config(path)
        sources = [*(_lua(read, path) if scripts else ()), *sources]
        if os.getuid() == 0 and (left := _load.not_roots([str(path), *loader.names(sources)])):
            raise Findings(left)
        return loader.load(sources)
    except (ConfigError, LoadError) as error:
        raise Findings(error.findings) from error


def _lua(read: config.Config, path: Path) -> list[loader.Source]:
    if read.job_submit.lua is None:
        return []
    from slurmhooks.lua import job_submit

    return job_submit.sources(read, path)


class Heard:
    """What handlers say.

    Attributes:
        messages: to the user.
        log: lines for Slurm's log, each as ``level: text``.
    """

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.log: list[str] = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep what is said meanwhile."""
        before = log._sink, log._user, log._record
        log.attach(lambda level, text: self.log.append(f"{LEVELS[level]}: {text.removeprefix(PREFIX)}"),
                   self.messages.append)  # fmt: skip
        try:
            yield
        finally:
            log._sink, log._user, log._record = before


def show(title: str, lines: Sequence[str]) -> None:
    """Print lines under a title, nothing if there are none."""
    import click

    if lines:
        click.echo(f"{title}:")
        for line in lines:
            for part in shown(line).split("\n"):
                click.echo(f"  {part}")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text(visible(cell)) for cell in row))
    Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH).print(made)


def plain(value: Any) -> Any:
    """Return what JSON can hold of a field's value."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value)
