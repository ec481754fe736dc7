# SPDX-License-Identifier: GPL-2.0-or-later
"""`try every`: run periodic handlers on the tables of the running slurmctld, and show what they would do."""

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from slurmhooks.cli import output
from slurmhooks.cli.findings import shown
from slurmhooks.handlers.registry import Handler
from slurmhooks.slurmctld.action import Action
from slurmhooks.slurmctld.actions import Acting, ActingViews
from slurmhooks.slurmctld.every import plan, staged
from slurmhooks.slurmctld.taking import mode_of
from slurmhooks.workshop.cli.commands.try_.site_handlers import common, load
from slurmhooks.workshop.cli.slurmctld import connect


@dataclass(kw_only=True)
class Planned:
    """An action that a rule would take.

    Attributes:
        action: such as "cancel".
        target: the job, as users write it, or the name of the node.
        is_node: whether it is a node.
        text: the reason, the line, or the new values; empty if the action has none, or is one too many for its user.
        mode: "enforce", or what the rule would do instead: "warn", "observe" or "off".
        left: why it would not be taken, because of its values, or because there are too many for its user or node;
            None: it would be.
    """

    action: str
    target: str
    is_node: bool
    text: str
    mode: str
    left: str | None = None


@dataclass(kw_only=True)
class TriedRule:
    """What one rule would do now.

    Attributes:
        rule: its label.
        verdict: "done", "refused", "failed" or "too many actions"; its actions count only if it is "done".
        text: why, unless it is "done".
        actions: in order.
    """

    rule: str
    verdict: str
    text: str | None
    actions: list[Planned]


@click.command("every")
@common(list[TriedRule])
def command(sysconfdir: Path, files: tuple[Path, ...]) -> None:
    """Run all periodic handlers once on the tables of slurmctld, and show what they would do now.

    No action is taken. Run this command as root or SlurmUser on the machine of slurmctld.
    """
    registry = load(sysconfdir, files, scripts=True)
    handlers = registry.handlers("every")
    if not handlers:
        raise click.UsageError("there is no periodic handler: mark a function with @hook.every")
    slurmctld = connect(sysconfdir)
    views = ActingViews(slurmctld.tables)
    rules = [_try(handler, views, Acting(slurmctld.tables, slurmctld.query(), handler)) for handler in handlers]
    output.result(rules, _show)
    fine = all(rule.verdict == "done" and all(each.left is None for each in rule.actions) for rule in rules)
    sys.exit(0 if fine else 1)


def _try(handler: Handler, views: ActingViews, asking: Acting) -> TriedRule:
    outcome = staged(handler, views, asking)
    actions = list(asking.staged.values())
    planned = plan(handler, outcome, actions)
    left = {id(action): f"too many: {each.text}" for each in planned.left for action in each.actions}
    shown = [_planned(handler, action, views, asking, left.get(id(action))) for action in actions]
    return TriedRule(rule=handler.label, verdict=planned.verdict, text=planned.text, actions=shown)


def _planned(handler: Handler, action: Action, views: ActingViews, asking: Acting, left: str | None) -> Planned:
    return Planned(
        action=action.kind,
        target=action.target,
        is_node=action.job_id is None,
        text=action.line,
        mode=mode_of(handler, action, views.row(action, asking)),
        left=left or action.wrong or None,
    )


def _show(rules: list[TriedRule]) -> None:
    for rule in rules:
        color = "green" if rule.verdict == "done" else "red"
        why = f": {shown(rule.text)}" if rule.text else ""
        count = f"{len(rule.actions)} action{'s' if len(rule.actions) != 1 else ''}"
        click.echo(f"{click.style(rule.rule, bold=True)}: {click.style(rule.verdict, fg=color)}, {count}{why}")
        cells = [
            (
                each.mode,
                f"{each.action} {'node' if each.is_node else 'job'} {each.target}",
                f"{each.text or '-'}{f' (not taken: {each.left})' if each.left else ''}",
            )
            for each in rule.actions
        ]
        if cells:
            output.table(("mode", "action", "text"), cells)
