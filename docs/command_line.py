# SPDX-License-Identifier: GPL-2.0-or-later
"""The generated page about the command line, and what other pages need of it."""

import inspect
from collections.abc import Iterator

import click

from docs.markdown import code, page
from slurmhooks import cli
from slurmhooks.rules.describe import table


def commands(group: click.Group = cli.main, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield all verbs with the words that call them, such as ``try scrun``; each verb comes before its own verbs."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{prefix}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")


def command_line_page() -> str:
    """Return the page of all verbs and their options."""
    parts = []
    for name, command in commands():
        parts.append(f"## slurmhooks {name}\n\n{inspect.cleandoc(command.help or '')}\n")
        parts.append(f"```text\nslurmhooks {name} {usage(command)}\n```\n")
        lines = [_option(option) for option in command.params if isinstance(option, click.Option)]
        parts.append(table(("option", "meaning", "default"), lines) if lines else "It has no options.\n")
    return page(
        "# The command slurmhooks\n",
        inspect.cleandoc(cli.main.help or "") + "\n",
        "Every verb has `--help`, and the command has `--version`.\n",
        *parts,
    )


def usage(command: click.Command) -> str:
    """Return the part of the usage line after a command's name: whether it has options, its arguments, its verbs."""
    words = ["[OPTION...]"]
    for argument in command.params:
        if isinstance(argument, click.Argument):
            word = argument.metavar or argument.human_readable_name.upper() + "..." * (argument.nargs == -1)
            words.append(word if argument.required or word.startswith("[") else f"[{word}]")
    if isinstance(command, click.Group):
        words.append("[VERB ...]" if command.invoke_without_command else "VERB ...")
    return " ".join(words)


def _option(option: click.Option) -> list[str]:
    spelled = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if isinstance(option.type, click.Choice) and option.metavar is None:
        spelled += f" {code(map(str, option.type.choices))}"
    elif not option.is_flag and not option.count:
        spelled += f" `{option.metavar or option.type.name.partition(' ')[0].upper()}`"
    default = ""
    if isinstance(option.show_default, str):
        default = option.show_default
    elif option.show_default:
        default = f"`{option.default}`"
    return [spelled, (option.help or "") + (" Required." if option.required else ""), default]
