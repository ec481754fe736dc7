# SPDX-License-Identifier: GPL-2.0-or-later
"""The options common to the commands of `try`, and the handlers that they select."""

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from slurmhooks.cli import configuration, output, parameters
from slurmhooks.cli.build_record import BuildRecord
from slurmhooks.cli.findings import Finding, Findings, shown
from slurmhooks.cli.whole_site import guard_as_slurmctld, refused
from slurmhooks.entry.scripts_and_rules import of_files, scripts_of
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.files import home, plugstack, plugstack_conf
from slurmhooks.handlers.labels import labelled
from slurmhooks.handlers.refusals import unknown_codes
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks.option import Option
from slurmhooks.site import loading
from slurmhooks.site import sources as site
from slurmhooks.testing import Result
from slurmhooks.workshop.cli import file_copies
from slurmhooks.workshop.testing.exits import no_exit
from slurmhooks.workshop.testing.job_submit import RELEASE
from slurmhooks.workshop.testing.launch import Launch, LaunchLine

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def hook_files(context: click.Context, option: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the hook files that the user names."""
    for path in files:
        if path.suffix == ".toml":
            raise click.BadParameter(f"{path} is no hook file: --sysconfdir names the folder of a slurmhooks.toml")
    return files


def release_of(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return a release without its third part: micro releases have the same fields."""
    match = re.fullmatch(r"(\d\d\.\d\d)(\.\d+)?(-\w+)?", value) if value is not None else None
    if value is not None and match is None:
        raise click.BadParameter(f"{value} is not a release such as 24.11 or 24.11.5")
    return match and match[1]


release_option = click.option(
    "--release",
    callback=release_of,
    help="Release of Slurm, such as 24.11: decides which fields and options exist. Default: that of the plugins, or the"
    " newest.",
)


def _variables(context: click.Context, option: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if pair.find("=") < 1:
            raise click.UsageError(f"--env needs NAME=VALUE, not {pair!r}")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def env_option(meaning: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option ``--env``, whose value is a dictionary."""
    return click.option("--env", "environment", multiple=True, callback=_variables, metavar="NAME=VALUE", help=meaning)


def show_verdict(result: Result | Launch, place: str = "") -> None:
    """Print whether handlers accepted a request, and what they told the user."""
    verdict = output.verdict(result.accepted, "accepted", "refused")
    code = f" ({result.code})" if result.code is not None else ""
    click.echo(verdict if result.accepted else f"{verdict}{place}{code}: {shown(as_read(result) or '')}")
    output.show("to the user", result.user_messages)


def as_read(result: Result | Launch) -> str | None:
    """Return the text of a refusal as its user reads it, with the label of the handler."""
    return labelled(result.text, None if isinstance(result, Launch) else result.label)


def finish(report: Any, title: str, lines: Iterable[str] = (), log: Sequence[str] = ()) -> NoReturn:
    """Print the report of a call of a program: what it is, lines about it, whether it has passed, and the log."""
    if output.wants_json():
        output.document(report)
    else:
        for line in (f"{title}: {', '.join(report.handlers) or 'no handlers'}", *lines):
            click.echo(shown(line))
        click.echo(shown("passed" if report.passed else f"refused or failed: {report.text}"))
        output.show("log", log)
    sys.exit(0 if report.passed else 1)


def common(model: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options that select handlers and the output format, and run root's handlers where they harm nothing.

    Args:
        model: see :func:`slurmhooks.cli.output.json_option`.
    """
    options = (
        output.json_option(model),
        click.option("--hooks", "files", type=FILE, multiple=True, metavar="FILE", callback=hook_files,
                     help="Load this hook file instead of those of slurmhooks.toml; may be given several times."),
        parameters.sysconfdir_option,
        click.option("--really", is_flag=True,
                     help="As root: run the handlers on this machine itself, not on a discarded copy of its files."),
    )  # fmt: skip

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def called(*, really: bool, **arguments: Any) -> None:
            def contained() -> None:
                with output.apart(), no_exit():
                    function(**arguments)

            if really or os.geteuid() != 0:
                contained()
            else:
                file_copies.run(contained)

        command: Callable[..., None] = called
        for option in options:
            command = option(command)
        return command

    return add


def load(
    sysconfdir: Path, files: Sequence[Path], *, scripts: bool = False, of_scrun: bool = False, in_force: bool = False
) -> Registry:
    """Load handlers; changes SLURM_CONF in the environment of this process.

    ``files`` are loaded instead of those that slurmhooks.toml names. ``scripts``: also load the ready-made rules, the
    job_submit.lua and the cli_filter.lua that it names. ``of_scrun``: the command is about scrun, whose script runs in
    scrun only. ``in_force``: without files, load what was deployed, not its sources.

    Raises:
        Findings: hook files do not load, refuse with an error code that does not exist, or there is no slurmhooks.toml.
    """
    sys.dont_write_bytecode = True
    parameters.use(sysconfdir)
    registry = _load(files, scripts, of_scrun, in_force)
    if wrong := unknown_codes([registry]):
        raise Findings(wrong)
    return registry


def _load(files: Sequence[Path], scripts: bool, of_scrun: bool, in_force: bool) -> Registry:
    try:
        if files:
            return of_files(map(os.path.abspath, files)).load()
        path = site.config_path() if in_force else site.source_path()
        if not path.exists():
            raise Finding(f"{path} does not exist: give its folder with --sysconfdir, or hook files with --hooks")
        guard_as_slurmctld()
        named = loading.of_config(path, scripts_of if scripts else None)
        if left := refused(named):
            raise Findings(left)
        if of_scrun and named.config.scrun.lua is not None:
            _not_tried(home.placed(named.config.scrun.lua, str(named.path.parent)))
        registry = named.load()
        if scripts and (wrong := named.give_modes(registry)):
            raise Findings(wrong)
        return registry
    except (ConfigError, LoadError) as error:
        raise Findings(error.findings) from error


def release(sysconfdir: Path) -> str:
    """Return the release of Slurm that the installed plugins are built for; the newest one if there are none.

    Changes of its third number do not change fields.
    """
    folder = configuration.installed_in(sysconfdir)
    record = None if folder is None else BuildRecord.load(folder)
    return RELEASE if record is None else ".".join(record.slurm.split(".")[:2])


def spank_lines(sysconfdir: Path, files: Sequence[Path], words: Sequence[str], registry: Registry) -> list[LaunchLine]:
    """Return the lines of plugstack.conf that load the plugin, or one for ``registry``; call :func:`load` before.

    Raises:
        Findings: hook files do not load, or refuse with an error code that does not exist.
    """
    if files:
        return [LaunchLine(registry, words)]
    lines = []
    for text in configuration.spank_lines(sysconfdir):
        args = plugstack_conf.arguments(text)
        config, pattern, rest = plugstack.split(args)
        if wrong := plugstack.unknown(args):
            raise Findings(wrong)
        own = registry if config is None and pattern is None else _load_line(args)
        lines.append(LaunchLine(own, rest, text.split()[0].lower() == "optional"))
    return lines or [LaunchLine(registry)]


def _load_line(args: Sequence[str]) -> Registry:
    """Return the handlers of a line with hook files of its own; those of Lua scripts are left out."""
    try:
        named = loading.of_line(args, source=True)
        registry = named.load()
    except (ConfigError, LoadError) as error:
        raise Findings(error.findings) from error
    if wrong := unknown_codes([registry]):
        raise Findings(wrong)
    for script in named.scripts:
        _not_tried(script.path)
    return registry


def _not_tried(script: object) -> None:
    """Say that a Lua script of SPANK or scrun is left out."""
    output.note(f"{script} is not tried: Lua scripts of SPANK and scrun run, and add their options, in Slurm only")


def options_of(lines: Iterable[LaunchLine]) -> list[Option]:
    """Return the options that lines add to srun, sbatch and salloc."""
    return [option for line in lines for option in line.registry.options]
