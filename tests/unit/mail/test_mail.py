# SPDX-License-Identifier: GPL-2.0-or-later
"""Mails of MailProg: what handlers get, in which order, and what becomes of those that cannot be delivered."""

import os
import random
import resource
import subprocess
import sys
import time
from functools import partial
from typing import Any

import pytest

from slurmhooks.errors import Reject
from slurmhooks.handover import process
from slurmhooks.mail.delivery import MailDelivery
from slurmhooks.mail.model import EVENTS, Mail
from slurmhooks.workshop.testing.log_capture import CapturedLog
from tests.unit.mail.conftest import Chat, Site, Smtp

NOTE = "@hook.mail\ndef handle(mail, event):\n    note(mail.recipients, mail.subject)\n"
SEND = "@hook.mail\ndef handle(mail):\n    mail.send('127.0.0.1:{}', sender='slurm@x.org', domain='example.edu')\n"


def test_what_handlers_get(site: Site) -> None:
    """The attributes are what Slurm gives as arguments and variables, unchanged."""
    site.hooks(
        "@hook.mail\ndef handle(mail, record):\n"
        "    note(mail.event, mail.job_id, mail.array_job_id, mail.array_task_id, mail.user, mail.addresses,\n"
        "         mail.subject, mail.text, mail.environment['SLURM_JOB_NAME'], record)\n"
    )
    array: dict[str, Any] = {"ARRAY_JOB_ID": 5, "ARRAY_TASK_ID": 2, "JOB_NAME": "x\n$(id)=é"}
    site.mail("Slurm Array Task Job_id=5_2 (7) Name=x\n", "a@x.org, bob,", JOB_ID=7, JOB_MAIL_TYPE="Began", **array)
    site.mail("Slurm Array Summary Job_id=5_* (7)", JOB_ID=7, JOB_USER="al", JOB_MAIL_TYPE="Ended", **array)
    site.mail("s", JOB_ID="x", JOB_MAIL_TYPE="New event", JOB_NAME="")
    site.deliver()
    name = "x\n$(id)=é"
    assert site.notes() == [
        ["BEGIN", 7, 5, 2, "", ["a@x.org", "bob"], "Slurm Array Task Job_id=5_2 (7) Name=x\n",
         "Slurm Array Task Job_id=5_2 (7) Name=x\n", name, None],
        ["END", 7, 5, None, "al", ["alice"], "Slurm Array Summary Job_id=5_* (7)",
         "Slurm Array Summary Job_id=5_* (7)\n", name, None],
        ["New event", 0, None, None, "", ["alice"], "s", "s\n", "", None],
    ]  # fmt: skip


def test_the_program_and_its_process(site: Site) -> None:
    """The program hands over and ends; a process delivers, and ends when nothing waits."""
    site.hooks(NOTE)
    site.run("one")
    until = time.monotonic() + 60
    while site.notes() != [["alice", "one"]] or site.waiting():
        assert time.monotonic() < until, (site.spool / "log").read_text()
        time.sleep(0.02)


def test_of_two_programs_that_start_at_once_the_older_one_comes_first(site: Site) -> None:
    """Slurm starts those for the begin and the end of a short job at once, and the second may be faster."""
    site.hooks(NOTE)
    now = time.time_ns()
    for place, subject in ((1, "Ended"), (0, "Began")):
        site.mail(subject, began=now + place * 10**7)
    site.deliver()
    assert [note[1] for note in site.notes()] == ["Began", "Ended"]


def test_of_two_programs_that_start_in_the_same_hundredth_the_older_one_comes_first() -> None:
    """Also if it is the slower one; the names of files begin with these words."""
    code = (
        "import os, time\nfrom slurmhooks.handover.program import _began\n"
        "for _ in range(40):\n"
        "    for pause in (0.011, 0):\n"
        "        if not os.fork():\n"
        "            time.sleep(pause)\n"
        "            os.write(1, f'{os.getpid():010} {_began():020}\\n'.encode())\n"
        "            os._exit(0)\n"
        "    os.wait(), os.wait()\n"
    )
    lines = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.splitlines()
    began = [line.split()[1] for line in sorted(lines)]
    assert len(began) == 80
    assert began == sorted(began)


@pytest.mark.parametrize("seed", range(8))
def test_order_of_each_recipient(site: Site, seed: int) -> None:
    """Whichever attempts fail: the mails of a user to the same recipients come once each, in order."""
    draw = random.Random(seed)
    site.configure("backoff = 0.01\nbackoff_limit = 0.02\n")
    site.hooks(
        "import random\n@hook.mail\ndef handle(mail, event):\n"
        f"    if random.Random(f'{seed} {{mail.subject}} {{event.attempt}}').random() < 0.3:\n"
        "        raise OSError('away')\n    note(mail.user, mail.recipients, mail.subject)\n"
    )
    sent = [(draw.choice(["alice", "bob"]), draw.choice(["a", "b", "a,b"]), f"{number}") for number in range(20)]
    for user, to, subject in sent:
        site.mail(subject, to, JOB_USER=user)
    until = time.monotonic() + 60
    while site.waiting():
        assert time.monotonic() < until
        time.sleep(min(site.deliver(), 0.02))
    got = [tuple(map(str, note)) for note in site.notes()]
    assert sorted(got) == sorted(sent)
    for key in {mail[:2] for mail in sent}:
        assert [mail for mail in got if mail[:2] == key] == [mail for mail in sent if mail[:2] == key]


@pytest.mark.parametrize("to", ["bob", "BOB", "bob,alice", "alice,bob,carol"])
@pytest.mark.parametrize("digest", ["", 'digest = "1s"\n'])
def test_a_user_decides_nothing_about_the_mails_of_others(site: Site, to: str, digest: str) -> None:
    """A mail that always fails keeps no other user's mail to the same recipient, and is not collected with it."""
    site.configure(f"backoff = 3600\n{digest}")
    site.hooks(
        "@hook.mail\ndef handle(mail):\n    assert all('odd' not in each.subject for each in mail.collected)\n"
        "    note(mail.user, mail.recipients, len(mail.collected))\n"
    )
    site.mail("odd", to, JOB_USER="alice")
    site.mail("fine", "bob", JOB_USER="bob")
    time.sleep(1.1 if digest else 0)
    site.deliver()
    assert site.notes() == [["bob", "bob", 1]]
    assert site.waiting() == 1


def test_send(site: Site, smtp: Smtp) -> None:
    """A mail by SMTP; texts of users end no header, and no line of the dialogue."""
    site.hooks(SEND.format(smtp.port))
    site.mail("Name=x\nBcc: eve@example.edu\r\n\r\n.\r\n Ended é", "alice,bob@x.org")
    site.mail("s", "<eve@x.org> NOTIFY")
    site.deliver()
    ((to, text),) = smtp.received
    assert to == ["alice@example.edu", "bob@x.org"]
    head, _, body = text.partition("\n\n")
    assert "Bcc" not in [line.partition(":")[0] for line in head.splitlines()]
    assert "To: alice@example.edu, bob@x.org" in head
    assert body.startswith("Name=x Bcc: eve@example.edu . Ended")
    assert [reason.partition(":")[0] for reason in site.letters()] == ["'<eve@x.org> NOTIFY'"]


@pytest.mark.parametrize("hangs_up", [False, True])
def test_what_the_server_has_is_delivered(site: Site, smtp: Smtp, hangs_up: bool) -> None:
    """Whatever the server does after it has accepted a mail, the mail is not sent again."""
    smtp.hangs_up = hangs_up
    site.hooks(SEND.format(smtp.port))
    site.mail("once")
    site.deliver()
    assert (site.waiting(), len(smtp.received)) == (0, 1)


def test_nothing_is_lost_while_the_server_is_away(site: Site) -> None:
    """Mails wait, and are delivered in order once the server is there."""
    server = Smtp()
    server.stop()
    site.configure("backoff = 0.01\nbackoff_limit = 0.02\n")
    site.hooks(SEND.format(server.port))
    for number in range(3):
        site.mail(f"{number}")
    for _ in range(4):
        time.sleep(min(site.deliver(), 0.02))
    assert site.waiting() == 3
    again = Smtp(server.port)
    try:
        while site.waiting():
            time.sleep(min(site.deliver(), 0.02))
    finally:
        again.stop()
    assert [text.rpartition("\n\n")[2].strip() for _, text in again.received] == ["0", "1", "2"]


def test_a_refused_address_is_told_once(site: Site, smtp: Smtp) -> None:
    """Each of its mails is a dead letter, and the log has one line about it and one about the letters."""
    site.hooks(SEND.format(smtp.port))
    captured = CapturedLog()
    with captured.capturing():
        for number in range(4):
            site.mail(f"{number}", "gone")
            site.mail(f"{number}", "alice,gone@x.org")
            site.deliver()
    assert len(smtp.received) == 4, "those who can get it do"
    assert len(site.letters()) == 4
    assert sum("550 5.1.1" in line for line in captured.lines) == 2
    assert sum("dead letter" in line for line in captured.lines) == 1


@pytest.mark.parametrize(("word", "of"), [("MAIL", "slurm@x.org"), ("DATA", "the mail")])
def test_a_refused_sender_or_content(site: Site, smtp: Smtp, word: str, of: str) -> None:
    """It is as final as that of a recipient, so that later mails to the same user need not wait for days."""
    site.hooks(SEND.format(smtp.port))
    smtp.refusals[word] = "554 5.7.1 no"
    site.mail("spam")
    site.deliver()
    assert site.letters() == [f"{of} is refused: 554 5.7.1 no"]
    smtp.refusals[word] = "451 later"
    site.mail("later")
    site.deliver()
    assert (site.waiting(), smtp.received) == (1, [])


@pytest.mark.parametrize(
    "address", ['"', ".a:$_a", "b\\;[", "\t:b@a!\\", '\\~@["||', "(" * 20000, "a:" * 5000, "a" * 65]
)
def test_an_address_that_python_cannot_read(address: str) -> None:
    """Users may write anything: Python's email package fails with errors of its own, some after seconds."""
    with pytest.raises(Reject, match="no mail address"):
        Mail(subject="s", recipients=address).send("127.0.0.1:1", sender="slurm@x.org")


def test_what_is_told_once_stays_small(site: Site) -> None:
    """Each refusal reads the note and writes it again."""
    site.hooks("@hook.mail\ndef handle(mail):\n    raise Reject('no')\n")
    for number in range(4):
        site.mail("s", f"{number}{'x' * 100_000}")
    while site.waiting():
        site.deliver()
    assert (site.spool / "told.json").stat().st_size < 4000


def test_an_address_that_is_refused_for_now(site: Site, smtp: Smtp) -> None:
    """The mail waits, and that of another user does not wait for it."""
    site.hooks(SEND.format(smtp.port))
    site.configure("backoff = 60\n")
    site.mail("0", "busy")
    site.mail("1", "alice")
    site.deliver()
    assert (site.waiting(), [to for to, _ in smtp.received]) == (1, [["alice@example.edu"]])


def test_post(site: Site, chat: Chat) -> None:
    """A call of a service is tried again, unless the service refuses it for good."""
    site.hooks(f"@hook.mail\ndef handle(mail):\n    mail.post('{chat.url}/hook', {{'text': mail.subject}})\n")
    chat.statuses = [503, 429, 200, 404]
    site.mail("one")
    site.mail("two", "bob")
    while site.waiting():
        time.sleep(min(site.deliver(), 0.02))
    assert chat.received == [("/hook", {"text": "one"})] or chat.received == [("/hook", {"text": "two"})]
    assert site.letters() == ["404 Not Found"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_address_of_a_service(site: Site, chat: Chat, status: int) -> None:
    """A page at that address, such as one to log in, has not got the mail."""
    site.hooks(f"@hook.mail\ndef handle(mail):\n    mail.post('{chat.url}/hook', {{}})\n")
    chat.statuses = [status]
    site.mail("one")
    site.deliver()
    assert [reason[:3] for reason in site.letters()] == [str(status)]


def test_a_digest(site: Site) -> None:
    """Mails of a user to the same recipients are one once the first has waited; others are not collected with them."""
    site.configure('digest = "1s"\n')
    body = "    note(mail.recipients, mail.subject, mail.text, len(mail.collected))\n"
    site.hooks(f"@hook.mail\ndef handle(mail):\n{body}")
    for number in range(3):
        site.mail(f"mail {number}", JOB_ID=number // 2)
    site.mail("other", "bob")
    assert site.deliver() > 0
    assert site.notes() == []
    until = time.monotonic() + 60
    while site.waiting():
        assert time.monotonic() < until
        time.sleep(0.1)
        site.deliver()
    digest = ["alice", "Slurm: 3 events of 2 jobs", "mail 0\nmail 1\nmail 2\n", 3]
    assert sorted(site.notes(), key=str) == [digest, ["bob", "other", "other\n", 1]]


def test_a_digest_with_a_damaged_mail(site: Site) -> None:
    """A mail whose ids are no numbers is delivered, too, and keeps no other one from it."""
    site.configure('digest = "1s"\n')
    site.hooks("@hook.mail\ndef tell(mail): note(mail.subject, [each.job_id for each in mail.collected])\n")
    for job_id in ("7", "9" * 5000, "٣"):
        site.mail("mail", JOB_ID=job_id, JOB_USER="alice")
    time.sleep(1.1)
    site.deliver()
    assert site.notes() == [["Slurm: 3 events of 2 jobs", [7, 0, 0]]]


def test_a_digest_that_fails(site: Site) -> None:
    """No handler gets a mail of it twice, and none is lost: what one handler lacks, it gets in the next attempt."""
    site.configure('digest = "1s"\nbackoff = 0.01\n')
    site.hooks(
        "import os\n@hook.mail\ndef good(mail):\n    note('good', mail.text)\n"
        f"@hook.mail\ndef bad(mail):\n    if not os.path.exists('{site.folder}/there'):\n"
        f"        open('{site.folder}/there', 'w').close()\n        raise OSError('away')\n    note('bad', mail.text)\n"
    )
    site.mail("0")
    site.mail("1")
    time.sleep(1)
    while not site.notes():
        site.deliver()
    site.mail("2")
    until = time.monotonic() + 60
    while site.waiting():
        assert time.monotonic() < until
        time.sleep(0.05)
        site.deliver()
    assert sorted(site.notes()) == [["bad", "0\n1\n"], ["bad", "2\n"], ["good", "0\n1\n"], ["good", "2\n"]]


def test_a_digest_to_a_refused_address(site: Site, smtp: Smtp) -> None:
    """All of its mails are dead letters, and the log has its lines once."""
    site.configure('digest = "1s"\n')
    site.hooks(SEND.format(smtp.port))
    for number in range(3):
        site.mail(f"{number}", "gone")
    time.sleep(1)
    captured = CapturedLog()
    with captured.capturing():
        while site.waiting():
            site.deliver()
    assert len(site.letters()) == 3
    assert len([line for line in captured.lines if "error" in line]) == 2


def test_a_handler_that_closes_all_files_and_hangs(site: Site) -> None:
    """It is killed at the limit like any other."""
    site.hooks("import os, time\n@hook.mail\ndef handle(mail):\n    os.closerange(3, 500)\n    time.sleep(20)\n")
    site.mail("s")
    began = time.monotonic()
    done = process.in_child(partial(process.turn, site.spool, MailDelivery, None), "mail", 1.0, lambda: None)
    assert time.monotonic() < began + 15
    assert done.failure == "it did not end within 1 seconds"


def test_many_mails_need_few_open_files(site: Site) -> None:
    """As many mails wait as there are: each is a file of its own, which is not kept open."""
    site.hooks(NOTE)
    for number in range(120):
        site.mail(f"{number}", f"u{number}")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, limits[1]))
    try:
        site.deliver()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(site.notes()) == 120


@pytest.mark.parametrize("message", [b"", b"9\0a", b"1\0x", b"x\0-s\0a\0b", b"3\0-s\0a"])
def test_damaged_calls(message: bytes) -> None:
    """They cannot be read, which is a failed attempt."""
    with pytest.raises(ValueError, match=r"."):
        Mail.of(message)


@pytest.mark.parametrize("text", ["[]", "7", "null", '{"a": []}', '[["mail", "delivered", 1e999]]', "[" * 99_999, "{"])
def test_damaged_notes_keep_no_mail_waiting(site: Site, text: str) -> None:
    """What was told and counted is only a note: as after a full disk, it may be anything."""
    site.hooks("@hook.mail\ndef handle(mail):\n    raise Reject('no')\n")
    site.mail("s")
    for name in ("told.json", "counts.json"):
        (site.spool / name).write_text(text)
    site.deliver()
    assert site.letters() == ["no"]


def test_without_addresses() -> None:
    """A mail to nobody is refused."""
    with pytest.raises(Reject):
        Mail(subject="s", recipients=" , ").send(sender="slurm@x.org")


def test_events() -> None:
    """The words are those of --mail-type."""
    assert {"BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT", "TIME_LIMIT", "TIME_LIMIT_80"} < set(EVENTS.values())
