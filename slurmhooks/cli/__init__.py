# SPDX-License-Identifier: GPL-2.0-or-later
"""The command ``slurmhooks``.

A verb is one module of this package: its first docstring line is the help shown in the list, its ``command`` is what
runs. ``try_.py`` is the verb ``try``. Modules that begin with an underscore are shared helpers.
"""

import ast
import errno
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import click

from slurmhooks._version import __version__
from slurmhooks.cli._findings import Finding

# What a full disk or a missing right looks like.
SURROUNDINGS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR}


class Verbs(click.Group):
    """The verbs found in this package, each imported only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all verbs."""
        names = (module.name for module in pkgutil.iter_modules(__path__))
        return sorted(name.rstrip("_") for name in names if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one verb."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"{__name__}.{_module_path(cmd_name).stem}").command
        assert isinstance(command, click.Command)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb; a file that cannot be written, or a lost current folder, is a finding and no traceback."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno == errno.ENOENT and error.filename is None:  # os.getcwd()
                raise Finding("the current folder does not exist any more: cd to another one") from error
            if error.errno not in SURROUNDINGS:
                raise
            raise Finding(f"{error.filename or 'a file'}: {error.strerror}") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs from their docstrings, without running a line of them."""
        rows = [(name, _summary(_module_path(name))) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _module_path(verb: str) -> Path:
    for folder in __path__:
        for path in (Path(folder, f"{verb}.py"), Path(folder, f"{verb}_.py"), Path(folder, verb, "__init__.py")):
            if path.exists():
                return path if path.name != "__init__.py" else path.parent
    raise AssertionError(f"no module for the verb {verb}")


def _summary(path: Path) -> str:
    source = path / "__init__.py" if path.is_dir() else path
    docstring = ast.get_docstring(ast.parse(source.read_bytes())) or ""
    return docstring.partition("\n")[0]


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Python hooks for Slurm's SPANK, job_submit and scrun.

    Exit codes: 0 fine, 1 a finding, 2 wrong use.
    """
