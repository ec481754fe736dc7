# SPDX-License-Identifier: GPL-2.0-or-later
"""Send mails to Mattermost: sbatch --mail-type=END --mail-user=mattermost:alice."""

from slurmhooks import hook
from slurmhooks.types import Mail

WEBHOOK = "https://mattermost.example.edu/hooks/KEY"


@hook.mail
def by_mattermost(mail: Mail) -> None:
    """Send the mail to the channel between the webhook and each user."""
    for each in mail.addresses:
        service, _, user = each.partition(":")
        if service == "mattermost":
            mail.post(WEBHOOK, {"channel": f"@{user}", "text": mail.text})
