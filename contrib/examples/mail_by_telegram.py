# SPDX-License-Identifier: GPL-2.0-or-later
"""Send mails by a bot of Telegram: sbatch --mail-type=END --mail-user=telegram:4711."""

from pathlib import Path

from slurmhooks import hook
from slurmhooks.types import Mail

API = "https://api.telegram.org"
TOKEN = Path("/etc/slurm/telegram.token")
"""Only SlurmUser may read it."""


@hook.mail
def by_telegram(mail: Mail) -> None:
    """Send the mail to each chat."""
    for each in mail.addresses:
        service, _, chat = each.partition(":")
        if service == "telegram":
            token = TOKEN.read_text().strip()
            mail.post(f"{API}/bot{token}/sendMessage", {"chat_id": chat, "text": mail.text})
