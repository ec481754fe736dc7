# SPDX-License-Identifier: GPL-2.0-or-later
"""List and explain ready-made rules and exemptions from them, and print a page about them for users."""

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.findings import Finding, Findings, shown
from slurmhooks.cli.groups import Group
from slurmhooks.config.model import Config
from slurmhooks.errors import ConfigError
from slurmhooks.handlers.similar import nearest
from slurmhooks.rules import catalogue, describe, published
from slurmhooks.rules.base import Rule
from slurmhooks.rules.exemptions import WHO, Exemption
from slurmhooks.rules.lines import LINES
from slurmhooks.site import sources as site


@click.group("rules", cls=Group)
def command() -> None:
    """List and explain ready-made rules and exemptions from them, and print a page about them for users."""


def complete(context: click.Context, argument: click.Parameter, start: str) -> list[str]:
    """Return completions of the name of a rule, for the shell."""
    return [name for name in ("all", "exemptions", *catalogue.RULES) if name.startswith(start)]


@command.command("explain")
@click.argument("rule", required=False, shell_complete=complete)
@output.json_option(dict[str, str])
def explain(rule: str | None) -> None:
    """List all rules that slurmhooks.toml may switch on, or describe RULE: its keys, its message, an example.

    The keys that all rules have, such as users and message, are explained by RULE "all", those of
    [[rules.exemptions]] by "exemptions".
    """
    if rule is None:
        summaries = {name: kind.documentation().partition("\n")[0] for name, kind in catalogue.RULES.items()}
        output.result(summaries, lambda rows: output.table(("rule", "what it does"), list(rows.items())))
        return
    if output.wants_json():
        raise click.UsageError("--json is for the list of all rules; 'schema slurmhooks.toml' has their keys")
    if rule == "all":
        output.page(describe.table(describe.TITLES, describe.common_keys()))
        return
    if rule == "exemptions":
        output.page(describe.table(describe.TITLES, describe.keys_of(Exemption)))
        return
    if rule in LINES:
        output.page(f"{rule} is an older name: write {LINES[rule].shown()}\n")
        rule = LINES[rule].keys["rule"]
    if rule not in catalogue.RULES:
        likely = nearest(rule, catalogue.RULES) or "; 'slurmhooks rules explain' lists all"
        raise click.UsageError(f"there is no rule {rule!r}{likely}")
    output.page(describe.explained(catalogue.RULES[rule]))


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
        until: the last day, or the end as a time.
        is_over: whether that has passed.
        reason: why.
    """

    rules: list[str]
    who: dict[str, list[str | int]]
    until: date | datetime
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
            for each in sorted(given, key=lambda each: each.end)
        ],
        show_exemptions,
    )


def show_exemptions(rows: list[Row]) -> None:
    """Print a table."""
    cells = [
        (
            f"{row.until}{' (over)' if row.is_over else ''}",
            "; ".join(f"{key} {', '.join(map(str, names))}" for key, names in row.who.items()),
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
    path = site.shown_path()
    if not path.exists():
        raise Finding(f"{path} does not exist: give its folder with --sysconfdir")
    try:
        _, read = site.located_config(path)
        return read, catalogue.of_config(path, read)
    except ConfigError as error:
        raise Findings(error.findings) from error
