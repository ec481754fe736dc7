# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples of docs/mail.md against stand-ins of the services."""

from pathlib import Path

from tests.unit.mail.conftest import Chat, Site, Smtp

EXAMPLES = Path(__file__).parents[3] / "contrib/examples"


def test_each_service_gets_its_recipients(site: Site, smtp: Smtp, chat: Chat) -> None:
    """One mail for users of three services; a service that fails gets it again, and the others do not."""
    token = site.folder / "token"
    token.write_text("SECRET\n")
    for name in ("smtp", "mattermost", "telegram"):
        text = (EXAMPLES / f"mail_by_{name}.py").read_text()
        text = text.replace("smtp.example.edu", f"127.0.0.1:{smtp.port}")
        text = text.replace("https://mattermost.example.edu", chat.url).replace("https://api.telegram.org", chat.url)
        (site.folder / f"{name}.py").write_text(text.replace("/etc/slurm/telegram.token", str(token)))
    (site.folder / "slurmhooks.toml").write_text('[hooks]\npaths = ["*.py"]\n[mail]\nbackoff = 0.01\n')
    chat.statuses = [500]
    site.mail("Slurm Job_id=7 Name=x Ended", "mattermost:alice,telegram:4711,bob", JOB_ID=7)
    while site.waiting():
        site.deliver()
    assert sorted(chat.received, key=str) == [
        ("/botSECRET/sendMessage", {"chat_id": "4711", "text": "Slurm Job_id=7 Name=x Ended\n"}),
        ("/hooks/KEY", {"channel": "@alice", "text": "Slurm Job_id=7 Name=x Ended\n"}),
    ]
    assert [to for to, _ in smtp.received] == [["bob@example.edu"]]
