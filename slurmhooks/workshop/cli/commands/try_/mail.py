# SPDX-License-Identifier: GPL-2.0-or-later
"""`try mail`: run the handlers of MailProg here, and show what they would send."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from slurmhooks.testing import FakeMail, run
from slurmhooks.workshop.cli.commands.try_ import site_handlers
from slurmhooks.workshop.testing.mail import WORDS


@dataclass(kw_only=True)
class MailReport:
    """What a mail would do.

    Attributes:
        handlers: the handlers, in order.
        passed: all handlers passed.
        text: the refusal, or the line about a bug; null if all passed.
        sent: what would be sent by `mail.send` and `mail.post`.
        log: what handlers log.
    """

    handlers: list[str]
    passed: bool
    text: str | None
    sent: list[dict[str, Any]]
    log: list[str]


@click.command("mail")
@click.argument("event", type=click.Choice(tuple(WORDS)), default="END")
@click.option("--job", "job_id", type=int, default=1, help="Id of the job.")
@click.option("--user", default="alice", help="The user of the job.")
@click.option("--mail-user", "recipients", help="As in sbatch; by default the user.")
@site_handlers.common(MailReport)
def command(
    event: str, job_id: int, user: str, recipients: str | None, sysconfdir: Path, files: tuple[Path, ...]
) -> None:
    """Run the handlers of a mail about EVENT, such as END or TIME_LIMIT_80.

    The handlers really run, with your permissions; what they send by `mail.send` and `mail.post` is only shown.
    """
    registry = site_handlers.load(sysconfdir, files)
    mail = FakeMail(event, job_id=job_id, user=user, recipients=recipients)
    result = run(registry, "mail", mail=mail)
    labels = [handler.label for handler in registry.handlers("mail")]
    report = MailReport(handlers=labels, passed=result.accepted, text=result.text, sent=mail.sent, log=result.log)
    sent = (
        f"  {name}: {', '.join(value) if name == 'to' else str(value).rstrip()}"
        for each in mail.sent
        for name, value in each.items()
    )
    site_handlers.finish(report, "mail", sent, result.log)
