# SPDX-License-Identifier: GPL-2.0-or-later
"""The argument ``mail`` of handlers of MailProg, which run as SlurmUser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slurmhooks.errors import Reject
from slurmhooks.handover.calls import read
from slurmhooks.log import log, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from email.message import EmailMessage

EVENTS = {
    "Began": "BEGIN",
    "Ended": "END",
    "Failed": "FAIL",
    "Requeued": "REQUEUE",
    "Invalid dependency": "INVALID_DEPEND",
    "StageOut/Teardown": "STAGE_OUT",
    "Reached time limit": "TIME_LIMIT",
    "Reached 90% of time limit": "TIME_LIMIT_90",
    "Reached 80% of time limit": "TIME_LIMIT_80",
    "Reached 50% of time limit": "TIME_LIMIT_50",
}
"""The words of --mail-type by those of SLURM_JOB_MAIL_TYPE (mail_type_str() in slurmctld's agent.c)."""
SUMMARY = "Slurm Array Summary "
"""Begins the subject of a mail about a whole array."""
LONGEST = 900
"""Bytes of a subject."""
ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}(@[\w.-]{1,255})?", re.ASCII)
"""A mail address without quotes and comments, of which Python's email package reads some wrongly, or not at all."""
NUMBER = re.compile(r"\d{1,10}", re.ASCII)
"""An id of a job. Others count as none, so that one damaged mail does not end the digest that has it."""
LATER = frozenset((408, 425, 429))
"""Statuses of HTTP below 500 after which the same call may succeed."""
PERMANENT = 500
"""The first status of a refusal that another attempt does not change, in SMTP; in HTTP, of the server's own faults."""


@dataclass(frozen=True, kw_only=True)
class Mail:
    """``mail``: a mail that Slurm sends to a user about a job.

    Attributes:
        subject: as Slurm made it, such as ``Slurm Job_id=7 Name=x Ended, ...``; of a digest, how many mails it has.
        recipients: as the user wrote them with ``--mail-user``, or the name of the user.
        environment: what Slurm puts into the environment of MailProg, which depends on the release.
        collected: of a digest, its mails, oldest first; otherwise the mail itself. What else a digest has is that of
            the last one.
    """

    subject: str
    recipients: str
    environment: Mapping[str, str] = field(default_factory=dict)
    collected: tuple[Mail, ...] = ()
    _tell: Callable[[str], None] = field(default=lambda text: log.error("%s", text), repr=False, compare=False)

    def __post_init__(self) -> None:
        """Let a mail that is no digest collect itself."""
        if not self.collected:
            object.__setattr__(self, "collected", (self,))

    @classmethod
    def of(cls, message: bytes) -> Mail:
        """Return the mail of a call.

        Raises:
            ValueError: it is damaged, or not as Slurm calls MailProg.
        """
        arguments, environment = read(message)
        _, subject, recipients = arguments
        return cls(subject=subject, recipients=recipients, environment=environment)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The recipients one by one."""
        return addresses(self.recipients)

    @property
    def text(self) -> str:
        """The subjects of all mails that this one has collected, a line each."""
        return "".join(f"{one_line(mail.subject, LONGEST)}\n" for mail in self.collected)

    @property
    def event(self) -> str:
        """What has happened, by the words of ``--mail-type``: BEGIN, END, FAIL, TIME_LIMIT_80 and so on."""
        word = self.environment.get("SLURM_JOB_MAIL_TYPE", "")
        return EVENTS.get(word, word)

    @property
    def job_id(self) -> int:
        """The id of the job, which is that of the task for a task of an array; 0 if Slurm does not say."""
        return self._number("SLURM_JOB_ID") or 0

    @property
    def array_job_id(self) -> int | None:
        """The id of the array; None: the job is in none."""
        return self._number("SLURM_ARRAY_JOB_ID")

    @property
    def array_task_id(self) -> int | None:
        """The task of the array; None: the job is in no array, or the mail is about all of its tasks."""
        return None if self.collected[-1].subject.startswith(SUMMARY) else self._number("SLURM_ARRAY_TASK_ID")

    @property
    def user(self) -> str:
        """The name of the job's user."""
        return self.environment.get("SLURM_JOB_USER", "")

    def _number(self, name: str) -> int | None:
        text = self.environment.get(name, "")
        return int(text) if NUMBER.fullmatch(text) else None

    def send(
        self,
        server: str = "localhost",
        *,
        sender: str,
        to: Iterable[str] | None = None,
        domain: str = "",
        subject: str | None = None,
        text: str | None = None,
        starttls: bool = False,
        login: tuple[str, str] | None = None,
        timeout: float = 20.0,
    ) -> None:
        """Send the mail by SMTP. If the server accepts some of the recipients, the log names those that do not get it.

        Args:
            server: its name, or ``NAME:PORT``.
            sender: the address that it comes from.
            to: those of its recipients who get it; by default all.
            domain: of recipients that are names without ``@``; empty: the server knows them.
            subject: by default that of the mail.
            text: by default that of the mail.
            starttls: encrypt the connection, and verify the server's certificate.
            login: user and password.
            timeout: seconds for each answer of the server.

        Raises:
            Reject: the server refuses all recipients, the sender or the content for good.
            OSError: the server is away, or refuses for now; the mail is delivered again later.
        """
        from email.message import EmailMessage
        from email.utils import formatdate

        given = self.addresses if to is None else to
        to = [f"{each}@{domain}" if domain and "@" not in each else each for each in given]
        if not to or not all(map(ADDRESS.fullmatch, to)):
            raise Reject(f"{self.recipients!r}: no mail address")
        message = EmailMessage()
        message["Subject"] = one_line(self.subject if subject is None else subject, LONGEST)
        message["From"], message["Date"] = sender, formatdate(localtime=True)
        message["Auto-Submitted"] = "auto-generated"
        message.add_header("To", ", ".join(to))
        message.set_content((self.text if text is None else text).encode("utf-8", "backslashreplace").decode())
        self._transmit(server, sender, to, message, starttls=starttls, login=login, timeout=timeout)

    def _transmit(
        self, server: str, sender: str, to: list[str], message: EmailMessage, *, starttls: bool,
        login: tuple[str, str] | None, timeout: float,
    ) -> None:  # fmt: skip
        """Give a message to the server; see send()."""
        import smtplib
        import ssl

        connection = smtplib.SMTP(server, timeout=timeout)
        with closing(connection):
            if starttls:
                connection.starttls(context=ssl.create_default_context())
            if login is not None:
                connection.login(*login)
            try:
                refused = connection.send_message(message, sender, to)
            except smtplib.SMTPRecipientsRefused as error:
                if any(status < PERMANENT for status, _ in error.recipients.values()):
                    raise
                raise Reject(_refusal(error.recipients)) from None
            except smtplib.SMTPResponseException as error:
                if error.smtp_code < PERMANENT:
                    raise
                sender_is = isinstance(error, smtplib.SMTPSenderRefused)
                answer = error.smtp_error if isinstance(error.smtp_error, bytes) else error.smtp_error.encode()
                raise Reject(_refusal({sender if sender_is else "the mail": (error.smtp_code, answer)})) from None
            with suppress(OSError):  # the server has the mail, whatever it answers now
                connection.quit()
        if refused:
            self._tell(_refusal(refused))

    def post(self, url: str, body: object, *, headers: Mapping[str, str] | None = None, timeout: float = 20.0) -> None:
        """Make an HTTP call, such as that of a chat service.

        Args:
            url: of the service.
            body: sent as JSON.
            headers: more headers of the request.
            timeout: seconds for the connection, and for the answer.

        Raises:
            Reject: the service refuses the call for good, or names another address: its status is from 300 to 499.
            OSError: the service is away or fails, or allows no more calls now; the mail is delivered again later.
        """
        from urllib.error import HTTPError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        given = {"Content-Type": "application/json", **(headers or {})}
        followed = HTTPRedirectHandler()
        # What urllib sends to the other address is no call: it leaves the body out.
        followed.redirect_request = lambda *_: None  # type: ignore[method-assign]
        try:
            with build_opener(followed).open(Request(url, json.dumps(body).encode(), given), timeout=timeout):
                pass
        except HTTPError as error:
            with error:
                if error.code >= PERMANENT or error.code in LATER:
                    raise
                raise Reject(f"{error.code} {error.reason}") from None


def addresses(recipients: str) -> tuple[str, ...]:
    """Return recipients one by one, as ``--mail-user`` separates them."""
    return tuple(each for each in map(str.strip, recipients.split(",")) if each)


def digest(mails: tuple[Mail, ...], tell: Callable[[str], None]) -> Mail:
    """Return one mail with the subjects of all, oldest first; a single one as it is. ``tell`` logs a refusal."""
    last = mails[-1]
    jobs = len({mail.array_job_id or mail.job_id for mail in mails})
    subject = f"Slurm: {len(mails)} events of {jobs} job{'s' * (jobs > 1)}" if len(mails) > 1 else last.subject
    collected = mails if len(mails) > 1 else ()
    return Mail(
        subject=subject, recipients=last.recipients, environment=last.environment, collected=collected, _tell=tell
    )


def _refusal(recipients: Mapping[str, tuple[int, bytes]]) -> str:
    return "; ".join(
        f"{address} is refused: {status} {one_line(text.decode('utf-8', 'replace'), 200)}"
        for address, (status, text) in sorted(recipients.items())
    )
