# SPDX-License-Identifier: GPL-2.0-or-later
"""Print the JSON schema of what a command prints with --json, or of slurmhooks.toml."""

import json
import re
from typing import Any

import click

from slurmhooks.cli import output


@click.command("schema")
@click.argument("words", metavar="COMMAND [VERB]", nargs=-1, required=True)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Print the JSON schema of what a command prints with --json, such as 'slurmhooks schema try job_submit'.

    'slurmhooks schema slurmhooks.toml' prints that of the file, with all rules, for editors such as those that use
    Taplo.

    A command that fails before it has a result prints an object whose only key is findings, a list of texts, and exits
    with 1; 'slurmhooks schema failure' prints the schema of this object.
    """
    if words == ("slurmhooks.toml",):
        from slurmhooks.rules import catalogue

        click.echo(json.dumps(catalogue.schema(), indent=2))
        return
    target: click.Command | None = context.find_root().command
    for word in words:
        target = target.get_command(context, word) if isinstance(target, click.Group) else None
    schema = FAILURE if words == ("failure",) else schema_of(target)
    if schema is None:
        raise click.UsageError(f"{' '.join(words)} is not a command with --json")
    click.echo(json.dumps(schema, indent=2))


FAILURE = {
    "description": "The output of a command that fails before it has a result.",
    "type": "object",
    "properties": {"findings": {"type": "array", "items": {"type": "string"}, "description": "errors"}},
    "required": ["findings"],
}


def schema_of(target: click.Command | None) -> dict[str, Any] | None:
    """Return the schema of a command's document; None if it has none."""
    from pydantic import TypeAdapter

    for option in target.params if target is not None else ():
        if isinstance(option, output.JsonOption):
            schema = TypeAdapter(option.model).json_schema(mode="serialization")
            for part in (schema, *schema.get("$defs", {}).values()):
                _describe(part)
            return schema
    return None


def _describe(part: dict[str, Any]) -> None:
    """Create the descriptions of properties from the section Attributes of a docstring."""
    text, _, attributes = part.get("description", "").partition("\n\nAttributes:\n")
    if attributes:
        part["description"] = text
        for name, meaning in re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", attributes, re.MULTILINE):
            if name in part["properties"]:
                part["properties"][name]["description"] = " ".join(meaning.split())
