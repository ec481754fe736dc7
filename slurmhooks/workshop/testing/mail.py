# SPDX-License-Identifier: GPL-2.0-or-later
"""Mails, and starts and ends of reservations, without Slurm and the spool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slurmhooks.handlers import dispatch
from slurmhooks.mail.model import EVENTS, Mail
from slurmhooks.workshop.testing.jobcomp import FakeEvent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from email.message import EmailMessage

    from slurmhooks.handlers.dispatch import Outcome
    from slurmhooks.handlers.registry import Registry

WORDS = {event: word for word, event in EVENTS.items()}


class FakeMail(Mail):
    """A ``mail`` that sends nothing.

    Attributes:
        sent: what handlers have sent: for ``mail.send`` server, sender, addresses, subject and text, for ``mail.post``
            URL and body.
    """

    sent: list[dict[str, Any]]

    def __init__(
        self,
        event: str = "END",
        *,
        job_id: int = 1,
        user: str = "alice",
        recipients: str | None = None,
        subject: str | None = None,
        environment: Mapping[str, str] = {},
    ) -> None:
        """Make a mail as Slurm would.

        Args:
            event: as in ``--mail-type``.
            job_id: of the job.
            user: of the job.
            recipients: by default the user.
            subject: by default as for a job named ``test``.
            environment: more variables of MailProg.
        """
        word = WORDS.get(event, event)
        given = {"SLURM_JOB_ID": f"{job_id}", "SLURM_JOB_USER": user, "SLURM_JOB_MAIL_TYPE": word, **environment}
        super().__init__(
            subject=f"Slurm Job_id={job_id} Name=test {word}" if subject is None else subject,
            recipients=user if recipients is None else recipients,
            environment=given,
        )
        object.__setattr__(self, "sent", [])

    def _transmit(self, server: str, sender: str, to: list[str], message: EmailMessage, **_: Any) -> None:
        """Note what would be sent."""
        content = {"subject": str(message["Subject"]), "text": message.get_content()}
        self.sent.append({"server": server, "sender": sender, "to": to, **content})

    def post(self, url: str, body: object, *, headers: Mapping[str, str] | None = None, timeout: float = 20.0) -> None:
        """Note what would be sent, in JSON."""
        self.sent.append({"url": url, "body": json.loads(json.dumps(body))})


def handle(registry: Registry, hook: str, given: Mapping[str, Any]) -> Outcome:
    """Run all handlers of a hook as one attempt of a delivery does; return the first failure."""
    arguments = {"event": given["event"] if given["event"] is not None else FakeEvent(hook)}
    if hook == "mail":
        arguments |= {"mail": given["mail"] if given["mail"] is not None else FakeMail(), "record": given["record"]}
    else:
        arguments["reservation"] = given["reservation"] or "maintenance"
    outcomes = [dispatch.run((each,), arguments) for each in registry.handlers(hook)]
    return next((outcome for outcome in outcomes if not outcome.passed), dispatch.PASSED)
