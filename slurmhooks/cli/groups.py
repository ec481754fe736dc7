# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that have commands."""

from typing import TYPE_CHECKING

import click

from slurmhooks.handlers.similar import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator


class Group(click.Group):
    """A group whose help does not shorten what its commands do, and which names those like an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that arguments name, and the rest of them."""
        name = args[0]
        if ctx.parent is None and name in ("help", "version"):  # as people type them: help COMMAND, version
            args = [*args[1:], "--help"] if name == "help" else ["--version"]
            name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}{nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries(ctx)))

    def summaries(self, ctx: click.Context) -> "Iterator[tuple[str, str]]":
        """Yield the name of each command with the first sentence of its help."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            assert command is not None
            yield name, command.get_short_help_str(limit=1000)
