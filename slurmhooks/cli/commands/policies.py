# SPDX-License-Identifier: GPL-2.0-or-later
"""List and explain ready-made rules and exemptions from them; print their JSON schema, or a page for users."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.findings import Finding, Findings, shown
from slurmhooks.cli.groups import Group
from slurmhooks.config.model import Config
from slurmhooks.errors import ConfigError
from slurmhooks.handlers.similar import nearest
from slurmhooks.policies import describe, published, rules
from slurmhooks.policies.base import Rule
from slurmhooks.policies.exemptions import WHO, Exemption
from slurmhooks.site import sources as site


@click.group("policies", cls=Group)
def command() -> None:
    """List and explain ready-made rules and exemptions from them; print their JSON schema, or a page for users."""


@command.command("list")
@output.json_option(dict[str, str])
def list_() -> None:
    """List all rules that slurmhooks.toml may switch on."""
    summaries = {name: kind.documentation().partition("\n")[0] for name, kind in rules.RULES.items()}
    output.result(summaries, lambda rows: output.table(("rule", "what it does"), list(rows.items())))


def complete(context: click.Context, argument: click.Parameter, start: str) -> list[str]:
    """Return completions of the name of a rule, for the shell."""
    return [name for name in ("all", "exemptions", *rules.RULES) if name.startswith(start)]


@command.command("explain")
@click.argument("rule", shell_complete=complete)
def explain(rule: str) -> None:
    """Describe a rule: what it does, its keys, its message, an example.

    The keys that all rules have, such as users and message, are explained by RULE "all", those of
    [[policy_exemptions]] by "exemptions".
    """
    if rule == "all":
        output.page(describe.table(describe.TITLES, describe.common_keys()))
        return
    if rule == "exemptions":
        output.page(describe.table(describe.TITLES, describe.keys_of(Exemption)))
        return
    if rule not in rules.RULES:
        likely = nearest(rule, rules.RULES) or "; 'slurmhooks policies list' lists all"
        raise click.UsageError(f"there is no rule {rule!r}{likely}")
    output.page(describe.explained(rules.RULES[rule]))


@command.command("schema")
def schema() -> None:
    """Print the JSON schema of slurmhooks.toml, with all rules, for editors such as those that use Taplo."""
    click.echo(json.dumps(rules.schema(), indent=2))


@command.command("guide")
@click.option("--names", is_flag=True, help="With --json, include the accounts, groups and users that rules are for.")
@output.json_option(published.Guide)
@parameters.sysconfdir_option
def guide(names: bool, sysconfdir: Path) -> None:
    """Print a Markdown page for users: what the rules of slurmhooks.toml do, in their order.

    With --json, print a document for tools that a site can publish: it does not name people and projects, nor the
    programs, services and patterns by which rules decide.
    """
    if names and not output.wants_json():
        raise click.UsageError("--names needs --json")
    read, switched_on = _of_site(sysconfdir)
    if output.wants_json():
        output.document(published.guide(switched_on, read, names=names))
    else:
        click.echo(shown(describe.guide(switched_on, read), ""), nl=False)


@dataclass(kw_only=True)
class Row:
    """An exemption, as `exemptions --json` prints it.

    Attributes:
        rules: the labels of the rules from which jobs are exempt.
        who: whose jobs, by the keys of slurmhooks.toml.
        until: the last day.
        is_over: whether that has passed.
        reason: why.
    """

    rules: list[str]
    who: dict[str, list[str]]
    until: date
    is_over: bool
    reason: str | None


@command.command("exemptions")
@output.json_option(list[Row])
@parameters.sysconfdir_option
def list_exemptions(sysconfdir: Path) -> None:
    """List the exemptions from rules in slurmhooks.toml, those that end first at the top."""
    _, switched_on = _of_site(sysconfdir)
    given = dict.fromkeys(each for rule in switched_on for each in rule.exemptions)
    output.result(
        [
            Row(
                rules=[rule.label for rule in switched_on if each.is_for(rule.title)],
                who={key: list(getattr(each, key)) for key in WHO if getattr(each, key)},
                until=each.until,
                is_over=each.is_over,
                reason=each.reason,
            )
            for each in sorted(given, key=lambda each: each.until)
        ],
        show_exemptions,
    )


def show_exemptions(rows: list[Row]) -> None:
    """Print a table."""
    cells = [
        (
            f"{row.until}{' (over)' if row.is_over else ''}",
            "; ".join(f"{key} {', '.join(names)}" for key, names in row.who.items()),
            ", ".join(row.rules),
            row.reason or "-",
        )
        for row in rows
    ]
    if cells:
        output.table(("until", "who", "rules", "reason"), cells)
    else:
        click.echo("there are no exemptions")


def _of_site(sysconfdir: Path) -> tuple[Config, list[Rule]]:
    """Return the configuration of the site and its rules.

    Raises:
        Finding: there is no configuration.
        Findings: it is invalid.
    """
    parameters.use(sysconfdir)
    path = site.config_path()
    if not path.exists():
        raise Finding(f"{path} does not exist: give its folder with --sysconfdir")
    try:
        read = site.read_config(str(path))
        return read, rules.of_config(path, read)
    except ConfigError as error:
        raise Findings(error.findings) from error
