# SPDX-License-Identifier: GPL-2.0-or-later
"""The program ``slurmhooks``.

Each command is a module in one of PLACES. The first line of the module's docstring is the command's help in the list of
commands, and its attribute ``command`` is what runs. A trailing underscore is dropped: ``try_`` is the command ``try``.
The other modules here are shared by commands.
"""

import errno
import importlib
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slurmhooks._version import __version__
from slurmhooks.cli import output
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.cli.groups import Group
from slurmhooks.errors import ConfigError, LoadError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.shell_completion import CompletionItem

ENVIRONMENTAL = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOTDIR),
    *(errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE),
    *(errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.ENOTSUP),
}
"""Errors that the machine or a given path causes, such as a full disk; any other OSError is a bug in slurmhooks."""
SITE = "slurmhooks_site"
"""slurmhooks.handlers.definitions.PACKAGE: it is imported if this process has run a hook file."""
MOST_COLUMNS, LEAST_COLUMNS = 80, 50
"""As click's own."""

HEADINGS = {
    "First steps": ("demo", "build", "install", "info", "uninstall"),
    "Write and test hooks": ("check", "try", "rules", "schema"),
    "Put hooks in force": ("bundle", "deploy", "rollback", "off", "on", "exempt", "status"),
    "Find out what rules do": ("why", "report", "audit", "quota", "record", "import", "replay", "spool"),
    "Come from Lua": ("adopt",),
}
"""All commands, as help shows them."""
PACKAGE = Path(__file__).resolve().parents[1]
PLACES = {
    "slurmhooks.cli.commands": PACKAGE / "cli" / "commands",
    "slurmhooks.workshop.cli.commands": PACKAGE / "workshop" / "cli" / "commands",
}
"""The packages of commands, and their folders. That of the workshop may be missing, so nothing imports it by name."""
TRIES_CASES = "slurmhooks.workshop.cli.cases"
"""The module of the workshop that tries the cases of rules."""
WORKSHOP = "slurmhooks-workshop"
"""The package of Debian and of rpm that has the workshop."""


class Commands(Group):
    """The commands, each imported only when it is called."""

    headings = HEADINGS

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as a program; if it has run hook files, end at once, whatever threads and exit functions they left."""
        if isinstance(sys.stdout, io.TextIOWrapper):  # users choose names that the terminal's encoding may not have
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            return super().__call__(*args, **kwargs)
        except SystemExit as ended:
            if SITE in sys.modules and isinstance(ended.code, int):
                for stream in (sys.stdout, sys.stderr):
                    with suppress(OSError, ValueError, AttributeError):
                        stream.flush()
                os._exit(ended.code)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted(modules())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is no such command.

        Raises:
            Finding: it is one of the workshop's, which is not installed.
        """
        module = modules().get(cmd_name)
        if module is None:
            if cmd_name in missing() and not ctx.resilient_parsing:  # which is completion: it must not fail
                raise Finding(f"slurmhooks {cmd_name} is not installed: it is in the package {WORKSHOP}")
            return None
        command = importlib.import_module(module).command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; report an invalid configuration, a full disk and the like without a traceback."""
        try:
            return super().invoke(ctx)
        except Findings as error:
            output.failure(ctx, error.findings)
            raise
        except (ConfigError, LoadError) as error:
            output.failure(ctx, error.findings)
            raise Findings(error.findings) from error
        except OSError as error:
            if error.errno == errno.ENOENT and error.filename is None:  # from os.getcwd()
                text = "the current folder no longer exists: cd to another one"
            elif error.errno in ENVIRONMENTAL:
                # Of a new link, the first name is what it leads to.
                text = f"{error.filename2 or error.filename or 'a file'}: {error.strerror}"
            else:
                raise
            output.failure(ctx, [text])
            raise Finding(text) from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete the name of a command, or an option, without importing the commands."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=summary(name)) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, and where those are that this machine does not have."""
        super().format_commands(ctx, formatter)
        if names := missing():
            with formatter.section(f"In the package {WORKSHOP}, which is not installed"):
                formatter.write_text(", ".join(names))

    def summaries(self, ctx: click.Context) -> "Iterator[tuple[str, str]]":
        """Yield the name of each command with the first line of its module, without importing it."""
        for name in self.list_commands(ctx):
            yield name, summary(name)


def modules() -> dict[str, str]:
    """Return the dotted names of the modules of all installed commands, by the names of the commands."""
    return {
        name.rstrip("_"): f"{package}.{name}"
        for package, folder in PLACES.items()
        if folder.is_dir()
        for name in (entry.removesuffix(".py") for entry in os.listdir(folder))
        if name.isidentifier() and not name.startswith("__")
    }


def missing() -> list[str]:
    """Return the names of the commands that are not installed."""
    return sorted({name for names in HEADINGS.values() for name in names} - modules().keys())


def summary(command: str) -> str:
    """Return the first line of the docstring of a command's module."""
    import ast

    package, _, module = modules()[command].rpartition(".")
    base = PLACES[package] / module
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    return docstring.partition("\n")[0]


def width() -> int:
    """Return the columns of help texts as click computes them, which imports shutil for that."""
    columns = os.environ.get("COLUMNS", "")
    try:
        number = int(columns) if columns.isdecimal() and int(columns) else os.get_terminal_size(1).columns
    except OSError:
        number = 0
    return max(min(number or MOST_COLUMNS, MOST_COLUMNS) - 2, LEAST_COLUMNS)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "terminal_width": width()})
@click.version_option(__version__, "-V", "--version")
def main() -> None:
    """Python at the plugin points of Slurm: SPANK, cli_filter, job_submit, site_factor, prep, jobcomp, scrun.

    Exit codes: 0 fine, 1 a finding, 2 wrong use.
    """
