# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that have commands."""

from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from slurmhooks.handlers.similar import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


OF_RECORDS = ("priority", "controller_prolog", "controller_epilog", "job_start", "job_end")
FORMER = {
    "policies": "it is called 'rules' now",
    "compile": "'deploy' writes all that launches read, and 'install' fits it to a new build",
    "reload": "nothing but a deployed set is in force: call 'deploy'",
    "port": "call 'adopt --port FILE'",
    "rules list": "'rules explain' without a name lists all rules",
    "rules schema": "call 'schema slurmhooks.toml'",
    **{f"try {hook}": f"call 'try record {hook} FILE'" for hook in OF_RECORDS},
}
"""What to call instead of an earlier command, by its words."""


class Group(click.Group):
    """A group whose help does not shorten what its commands do, and which names those like an unknown one.

    Attributes:
        headings: the names of all commands, also of those that are not installed, by the heading under which help shows
            them; empty: without headings.
    """

    headings: "Mapping[str, Sequence[str]]" = MappingProxyType({})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that arguments name, and the rest of them."""
        name = args[0]
        if ctx.parent is None and name in ("help", "version"):  # as people type them: help COMMAND, version
            args = [*args[1:], "--help"] if name == "help" else ["--version"]
            name = args[0]
        if not ctx.resilient_parsing and not name.startswith("-") and self.get_command(ctx, name) is None:
            now = FORMER.get(name if ctx.parent is None else f"{ctx.info_name} {name}")
            other = f": {now}" if now else nearest(name, self.list_commands(ctx))
            ctx.fail(f"No such command {name!r}{other}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, under the headings of the group if it has some."""
        summaries = dict(self.summaries(ctx))
        if not self.headings:
            with formatter.section("Commands"):
                formatter.write_dl(list(summaries.items()))
        width = max(map(len, summaries)) if self.headings else 0
        for title, names in self.headings.items():
            if rows := [(f"{name:{width}}", summaries[name]) for name in names if name in summaries]:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def summaries(self, ctx: click.Context) -> "Iterator[tuple[str, str]]":
        """Yield the name of each command with the first sentence of its help."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            assert command is not None
            yield name, command.get_short_help_str(limit=1000)
