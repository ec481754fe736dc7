# SPDX-License-Identifier: GPL-2.0-or-later
"""The options common to the commands of `try`, and the handlers that they select."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from slurmhooks import config, loader, site, slurm_conf, trusted
from slurmhooks.cli import loading, output, parameters
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.job_submit import sources as job_submit
from slurmhooks.refusals import unknown_codes
from slurmhooks.registry import Registry
from slurmhooks.rollout import assign

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def common(model: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options that select handlers and the output format.

    Args:
        model: see :func:`slurmhooks.cli.output.json_option`.
    """
    options = (
        output.json_option(model),
        click.option("--hooks", "files", type=FILE, multiple=True, metavar="FILE",
                     help="Load this hook file instead of those of slurmhooks.toml; may be given several times."),
        parameters.sysconfdir_option,
    )  # fmt: skip

    def add(function: Callable[..., None]) -> Callable[..., None]:
        for option in options:
            function = option(function)
        return function

    return add


def load(sysconfdir: Path, files: Sequence[Path], *, scripts: bool = False) -> Registry:
    """Load handlers; changes SLURM_CONF in the environment of this process.

    Args:
        sysconfdir: where slurmhooks.toml is.
        files: hook files to load instead of those that slurmhooks.toml names.
        scripts: also load the ready-made rules, the job_submit.lua and the cli_filter.lua that it names.

    Raises:
        Findings: hook files do not load, refuse with an error code that does not exist, or there is no slurmhooks.toml.
    """
    sys.dont_write_bytecode = True
    os.environ["SLURM_CONF"] = str(sysconfdir / "slurm.conf")
    registry = _load(sysconfdir, files, scripts)
    if wrong := unknown_codes([registry]):
        raise Findings(wrong)
    return registry


def _load(sysconfdir: Path, files: Sequence[Path], scripts: bool) -> Registry:
    try:
        if files:
            return loader.load([loader.Source(path=os.path.realpath(path)) for path in files])
        path = site.config_path()
        if not path.exists():
            raise Finding(f"{path} does not exist: give its folder with --sysconfdir, or hook files with --hooks")
        if os.getuid() == 0:
            trusted.guard(slurm_conf.slurm_user())
        link, path = path, site.located_path(path)
        read = site.read_config(path)
        sources = site.sources_of(path, read, link)
        sources = [*(_named_in(read, path) if scripts else ()), *sources]
        if os.getuid() == 0 and (refused := loading.not_roots([str(path), *loader.files_of(sources)])):
            raise Findings(refused)
        registry = loader.load(sources)
        if scripts and (wrong := assign(read.rollouts(), registry.all_handlers())):
            raise Findings(wrong)
        return registry
    except (ConfigError, LoadError) as error:
        raise Findings(error.findings) from error


def _named_in(read: config.Config, path: Path) -> list[loader.Source]:
    sources = job_submit.named_in(read, path)
    if read.cli_filter.lua is not None:
        from slurmhooks.lua import cli_filter

        sources.append(cli_filter.source(os.path.join(path.parent, read.cli_filter.lua), read.lua.version))
    return sources
