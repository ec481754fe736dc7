# SPDX-License-Identifier: GPL-2.0-or-later
"""Send the mails of jobs by SMTP, as MailProg did; recipients with a colon are those of chat services."""

from slurmhooks import hook
from slurmhooks.types import Mail

SERVER = "smtp.example.edu"


@hook.mail
def by_smtp(mail: Mail) -> None:
    """Send the mail to those recipients that are addresses, or names of users."""
    to = [each for each in mail.addresses if ":" not in each]
    if to:
        mail.send(SERVER, to=to, sender="slurm@example.edu", domain="example.edu")
