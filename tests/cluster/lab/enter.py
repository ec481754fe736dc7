# SPDX-License-Identifier: GPL-2.0-or-later
"""Read the command line of `exec` and `as`, with few imports, because tests call them hundreds of times."""

from collections.abc import Sequence
from typing import NamedTuple

from . import commands, places, user_namespace
from .errors import UsageError
from .releases import find

USAGE = {
    "exec": "usage: run exec [--env K=V]... [--cwd DIR] RELEASE [--] CMD...",
    "as": "usage: run as [--env K=V]... [--cwd DIR] RELEASE USER [--] CMD...",
}


class Command(NamedTuple):
    """What `exec` and `as` are to run, and where."""

    release: str
    user: str
    words: list[str]
    env: dict[str, str]
    directory: str | None


def read(verb: str, arguments: Sequence[str]) -> Command:
    """Read a command line. Only options before the command are read; those after it belong to the command.

    Raises:
        UsageError: it is wrong.
    """
    env: dict[str, str] = {}
    directory: str | None = None
    wanted = 1 if verb == "exec" else 2
    names: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest[0]
        if word == "--":
            rest.pop(0)
            break
        option, equals, value = word.partition("=")
        if option in ("--env", "--cwd"):
            rest.pop(0)
            if not equals:
                value = rest.pop(0) if rest else ""
            if option == "--cwd":
                directory = value
            else:
                key, separator, content = value.partition("=")
                if not separator or not key:
                    raise UsageError(f"--env needs NAME=VALUE, not {value!r}. {USAGE[verb]}")
                env[key] = content
        elif word.startswith("-") and len(names) < wanted:
            raise UsageError(f"no option {word!r}. {USAGE[verb]}")
        elif len(names) < wanted:
            names.append(rest.pop(0))
        else:
            break
    if len(names) < wanted or not rest:
        raise UsageError(USAGE[verb])
    return Command(names[0], names[1] if verb == "as" else "root", rest, env, directory)


def main(verb: str, arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    command = read(verb, arguments)
    keeper = places.need_keeper(find(command.release).name)
    user_namespace.become_root()
    return commands.execute(keeper.pid, command.user, command.words, command.env, command.directory)
