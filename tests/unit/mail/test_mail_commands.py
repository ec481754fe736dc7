# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands about mails, and about starts and ends of reservations."""

import json
import re
import time

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from slurmhooks.handover import process, program
from slurmhooks.reservation.process import ReservationDelivery
from slurmhooks.testing import FakeMail, FakeRecord, run
from slurmhooks.workshop.testing.tables import tables_of
from tests.unit.mail.conftest import Site

SEND = "@hook.mail\ndef handle(mail, record):\n    mail.send('smtp.x.org', sender='a@x.org', subject=mail.event)\n"


def test_try_mail_sends_nothing(site: Site) -> None:
    """`try mail` shows what handlers would send."""
    site.hooks(SEND)
    command = ["try", "mail", "TIME_LIMIT_80", "--mail-user", "a,b", "--hooks", str(site.folder / "hooks.py"), "--json"]
    done = CliRunner().invoke(main, [*command, "--really"])
    assert done.exit_code == 0, done.output
    (sent,) = json.loads(done.stdout)["sent"]
    assert (sent["to"], sent["subject"]) == (["a", "b"], "TIME_LIMIT_80")


@pytest.mark.parametrize(
    ("call", "right"),
    [
        ("mail.send('smtp', sender='a@x.org', domain='x.org')", True),
        ("mail.send('smtp', domain='x.org')", False),
        ("mail.send('smtp', sender='a@x.org', sendr='a')", False),
        ("mail.send('smtp', sender='a@x.org', to=['\"b\"@x.org'])", False),
        ("mail.post('http://x', {'text': mail.text}, headers={'A': 'b'})", True),
        ("mail.post('http://x', {mail})", False),
        ("mail.post('http://x', 'a', header={})", False),
    ],
)
def test_the_kit_refuses_what_a_delivery_refuses(site: Site, call: str, right: bool) -> None:
    """A call that could never send anything is a bug or a refusal in the kit, too; a right one shows what is sent."""
    site.hooks(f"@hook.mail\ndef handle(mail):\n    {call}\n")
    mail = FakeMail("END", user="alice")
    assert run(site.folder / "hooks.py", "mail", mail=mail).accepted is right
    assert len(mail.sent) == right
    if "send" in call and right:
        assert (mail.sent[0]["sender"], mail.sent[0]["to"]) == ("a@x.org", ["alice@x.org"])


def test_try_mail_shows_a_bug(site: Site) -> None:
    """The traceback that users are told the id of, and what handlers log, is in the output."""
    site.hooks("from slurmhooks import log\n@hook.mail\ndef handle(mail):\n    log.info('about %d', 7)\n    1 / 0\n")
    command = ["try", "mail", "--job", "7", "--hooks", str(site.folder / "hooks.py"), "--really"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 1, done.output
    said = re.search(r"error ([0-9a-f]{8})", done.stdout)
    assert said is not None
    assert f"error {said[1]}: ZeroDivisionError" in done.stdout
    assert "info: about 7" in done.stdout
    assert "ZeroDivisionError" in "".join(json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)["log"])


def test_the_kit(site: Site) -> None:
    """`run` calls the handlers of a mail, with or without a record, and of a reservation."""
    site.hooks(
        "@hook.mail\ndef handle(mail, record):\n    if record is not None and record.account == 'x':\n"
        "        raise Reject('no mail')\n    mail.post('http://x', mail.text)\n"
        "@hook.reservation.end\ndef end(reservation, event):\n    raise Reject(f'{reservation} {event.name}')\n"
    )
    mail = FakeMail("FAIL", job_id=7)
    path = site.folder / "hooks.py"
    assert run(path, "mail", mail=mail).accepted
    assert mail.sent == [{"url": "http://x", "body": "Slurm Job_id=7 Name=test Failed\n"}]
    assert run(path, "mail", record=FakeRecord(account="x")).text == "no mail"
    assert run(path, "reservation.end", reservation="r1").text == "r1 reservation.end"


def test_the_spool_is_shown(site: Site) -> None:
    """`spool --mail` has the recipients and the subject of what waits, and of dead letters."""
    site.hooks(
        "@hook.mail\ndef handle(mail):\n    if mail.job_id == 7:\n        raise Reject('no')\n    raise OSError\n"
    )
    site.configure("backoff = 60\n")
    command = ["spool", "--sysconfdir", str(site.folder), "--mail"]
    assert "the first mail program" in CliRunner().invoke(main, command).output
    site.mail("Slurm Job_id=7 Ended", "bob", JOB_ID=7)
    site.mail("Slurm Job_id=8 Ended", "eve", JOB_ID=8)
    site.deliver()
    shown = CliRunner().invoke(main, command)
    assert shown.exit_code == 1
    assert "Slurm Job_id=7 Ended bob" in shown.stdout
    assert "Slurm Job_id=8 Ended eve" in shown.stdout
    assert "slurmhooks spool --mail retry" in shown.stdout


def test_a_delivery_that_the_command_starts(site: Site) -> None:
    """It knows the plugins as one that a program starts, so that handlers get the record of a job."""
    (site.folder / "slurmhooks").mkdir()
    (site.folder / "slurmhooks/build.json").touch()
    (site.folder / "slurmhooks/slurmhooks.table").write_text(tables_of("24.11").text)
    with (site.folder / "slurm.conf").open("a") as conf:
        conf.write(f"PluginDir={site.folder}\n")
    site.hooks(
        "import sys\n@hook.mail\ndef handle(mail, event):\n    if event.attempt == 1:\n        raise OSError\n"
        "    note(sys._xoptions['slurmhooks_plugins'])\n"
    )
    site.configure("backoff = 600\n")
    site.mail("one")
    site.deliver()
    done = CliRunner().invoke(main, ["spool", "retry", "--sysconfdir", str(site.folder), "--mail"])
    assert done.exit_code == 0, done.output
    until = time.monotonic() + 60
    while not site.notes():
        assert time.monotonic() < until, (site.spool / "log").read_text()
        time.sleep(0.05)
    assert site.notes() == [[f"{site.folder}/slurmhooks"]]


def test_reservations(site: Site) -> None:
    """Start and end of a reservation are delivered in order."""
    site.hooks(
        "@hook.reservation.start\ndef start(reservation, event):\n    note(event.name, reservation)\n"
        "@hook.reservation.end\ndef end(reservation, event):\n    note(event.name, reservation)\n"
    )
    spool = site.folder / "state/slurmhooks/reservation"
    program.keep(str(spool), "reservation.start", "r 1")
    program.keep(str(spool), "reservation.end", "r 1")
    while list(spool.glob("*.spool")):
        process.turn(spool, ReservationDelivery, None, lambda _: None)
    assert sorted(site.notes()) == [["reservation.end", "r 1"], ["reservation.start", "r 1"]]


@pytest.mark.parametrize("arguments", [[], ["mail"], ["mail", "-s", "x", "y", "z"], ["nothing", "x"]])
def test_wrong_calls(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A program that is called otherwise keeps nothing."""
    assert program.main(arguments) == 2
    assert "usage" in capsys.readouterr().err
