# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that several commands have."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from slurmhooks.files import slurm_conf

if TYPE_CHECKING:
    from datetime import datetime

    from click import ParamType as ParamType
else:

    class ParamType(click.ParamType):
        """click's class, which has a type parameter only in recent releases: Debian 13 has click 8.1."""

        def __class_getitem__(cls, of: Any) -> type:
            """Ignore the type parameter."""
            return cls


CHOSEN = "the folder of $SLURM_CONF, or /etc/slurm"
"""Describes the default of --sysconfdir."""


class Words(ParamType[list[str]]):
    """Several words of a set, separated by commas."""

    name = "words"

    def __init__(self, *known: str) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Split the value; refuse unknown words."""
        if not isinstance(value, str):
            return list(value)
        words = [word for word in value.split(",") if word]
        wrong = [word for word in words if word not in self._known]
        if wrong:
            self.fail(f"{wrong[0]!r} is not one of {', '.join(self._known)}", param, ctx)
        return words


def absolute(context: click.Context, option: click.Parameter, value: Path) -> Path:
    """Return an absolute path, because processes with other working directories read the results."""
    return Path(os.path.abspath(value))


def configuration_folder(context: click.Context, option: click.Parameter, value: Path) -> Path:
    """Return an absolute path; refuse a folder that does not exist, unless it is the default."""
    assert option.name is not None
    folder = absolute(context, option, value)
    if context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
        try:
            os.stat(f"{folder}/.")
        except (FileNotFoundError, NotADirectoryError):
            raise click.BadParameter(f"{folder} is not a folder") from None
    return folder


def words_for(sysconfdir: Path) -> str:
    """Return what a command that is printed for the reader needs, to use a folder; empty if it is the default."""
    return "" if str(sysconfdir) == slurm_conf.directory() else f" --sysconfdir {shlex.quote(str(sysconfdir))}"


def use(sysconfdir: Path) -> None:
    """Let this process, and those that it starts, use the configuration in a folder: change SLURM_CONF."""
    os.environ["SLURM_CONF"] = os.path.abspath(slurm_conf.file_in(str(sysconfdir)))


sysconfdir_option = click.option(
    "--sysconfdir",
    type=click.Path(path_type=Path),
    # On a configless node slurmd sets SLURM_CONF for all tasks.
    default=slurm_conf.directory,
    show_default=CHOSEN,
    callback=configuration_folder,
    help="Where slurm.conf and slurmhooks.toml are.",
)


UNITS = {"h": "hours", "d": "days", "w": "weeks"}
"""Units of durations."""


def moment(
    context: click.Context, option: click.Parameter, value: str | None, *, ahead: bool = False
) -> "datetime | None":
    """Return a time such as 2027-05-01T08:00, or a duration such as 7d before now, or from now; a day ahead ends it."""
    if value is None:
        return None
    from datetime import date, datetime, time, timedelta  # most commands do not need it

    try:
        if value[-1:] in UNITS and value[:-1].isdecimal():
            span = timedelta(**{UNITS[value[-1]]: int(value[:-1])})
            return datetime.now().astimezone() + (span if ahead else -span)
        if ahead and len(value) == len("2027-05-01"):
            return datetime.combine(date.fromisoformat(value), time(23, 59, 59)).astimezone()
        return datetime.fromisoformat(value).astimezone()
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{value!r} is neither a time such as 2027-05-01 nor a duration such as 7d") from None
