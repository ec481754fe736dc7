# SPDX-License-Identifier: GPL-2.0-or-later
"""Show what happened to a request: which rules ran, what they changed, and which one refused it and why."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.findings import Finding, word
from slurmhooks.files import slurm_conf
from slurmhooks.log import quoted, visible

if TYPE_CHECKING:
    from datetime import datetime

    from slurmhooks.cli.decisions import Decision, Job, Log, Step

JOB = r"(\d+)(?:[_+]\d+)?"
ID = r"[0-9a-f]{8}|[0-9a-f]{12}"
PATIENCE = 20.0
"""Seconds that scontrol and sacct may take."""


def _document() -> Any:
    from slurmhooks.cli.decisions import Decision

    return list[Decision]


@click.command("why")
@click.argument("what", metavar="[ID]", required=False)
@click.option("--user", help="Requests of this user.")
@click.option("--last", type=click.IntRange(1), help="Show at most this many requests, the newest ones.")
@click.option(
    "--since", callback=parameters.moment, metavar="TIME", help="No older requests, such as 2027-05-01 or 1d."
)
@click.option("--until", callback=parameters.moment, metavar="TIME", help="No newer requests.")
@click.option("--refused", is_flag=True, help="Only requests that were not accepted.")
@click.option(
    "--from", "hosts", multiple=True, metavar="HOST", help="Also ask this machine, by ssh: the other controller."
)
@output.json_option(_document)
@parameters.sysconfdir_option
def command(
    what: str | None,
    user: str | None,
    last: int | None,
    since: datetime | None,
    until: datetime | None,
    refused: bool,
    hosts: tuple[str, ...],
    sysconfdir: Path,
) -> None:
    """Show what happened to a request: which rules ran, what they changed, and which one refused it and why.

    ID is the id of a job, of a request, or of an error, which users are told after a bug. Run this command as root or
    SlurmUser on the machine of slurmctld: it reads the decision log. slurmctld assigns the job id only after the hooks
    have run, so the submission is found by time, user and name; if several fit, all are shown.

    Exit codes: 0 found, 1 not found, 2 wrong use.
    """
    if what is None and user is None and last is None and since is None and not refused:
        raise click.UsageError("name a job, an error or a request, or --user, --last, --since or --refused")
    if what is not None and (since is not None or until is not None or refused):
        raise click.UsageError("--since, --until and --refused are for lists: give no id with them")
    from slurmhooks.cli.decisions import Log, keys_of
    from slurmhooks.cli.log_lines import Window

    parameters.use(sysconfdir)
    folder = _folder()
    log = Log(folder)
    if not hosts:
        log.must_exist()
    notes: list[str] = []
    from slurmhooks.cli import progress

    with progress.waiting("reading the decision log"):
        if what is None:
            # JSON may write other characters in several ways.
            needle = user if user is not None and re.fullmatch(r"[\w.@+-]+", user, re.ASCII) else ""
            decisions = log.find(
                lambda each: (
                    not _is_run(each) and (user is None or each.user == user) and not (refused and _is_accepted(each))
                ),
                needle,
                window=Window.between(since, until),
                most=last or 10,
            )
        else:
            decisions = [each for each in _look_up(log, what, notes) if user is None or each.user == user]
            decisions = decisions[-last:] if last else decisions
    words = [f"--{name}={value.isoformat()}" for name, value in (("since", since), ("until", until)) if value]
    for host in hosts:
        decisions += _ask(host, what, user, last, [*words, *(["--refused"] if refused else [])])
    # Observations may be logged before or after the decision about the same request.
    decisions = sorted(decisions, key=lambda each: (each.time, each.id or "", each.event == "observed"))
    if output.wants_json():
        output.document([keys_of(each) for each in decisions])
    else:
        for decision in decisions:
            for line in lines(decision):
                click.echo(visible(line))
    for note in notes:
        click.echo(visible(note), err=True)
    if not decisions:
        about = f" about {what}" if what is not None else "" if user is None else f" about user {user}"
        text = f"the decision log in {folder} has nothing{about}{_asked_for(since, until, refused)}"
        begin = log.begin()
        text += "" if begin is None else f"; it begins at {_shown(begin)}"
        names = slurm_conf.controllers(str(sysconfdir / "slurm.conf"))
        others = [name for name in names if name not in (os.uname().nodename.partition(".")[0], *hosts)]
        more = f"; {', '.join(others)} may have it: add --from {others[0]}" if len(names) > 1 and others else ""
        raise Finding(text + more)


def _is_accepted(decision: Decision) -> bool:
    """Tell whether a request was accepted, or a line is about none: observations, periodic handlers, deliveries."""
    no_request = decision.hook in ("every", "job_start", "job_end")
    return decision.verdict is None or no_request or "accepted" in decision.verdict


def _is_run(decision: Decision) -> bool:
    """Tell whether a run of a periodic handler succeeded: such lines are many, and about nobody; actions follow."""
    return decision.hook == "every" and decision.verdict == "done"


def _asked_for(since: datetime | None, until: datetime | None, refused: bool) -> str:
    """Return in words which part of the log was looked at; empty for all of it."""
    words = [f"{word} {_shown(value)}" for word, value in (("since", since), ("until", until)) if value]
    return "".join(f" {word}" for word in (*words, *(["that was refused"] if refused else [])))


def _shown(time: datetime) -> str:
    return time.astimezone().isoformat(sep=" ", timespec="seconds")


def _named(code: object) -> object:
    """Return a code as administrators write it: scripts have -1 from slurm.ERROR."""
    return "SLURM_ERROR" if code == -1 else code


def _folder() -> Path:
    from slurmhooks.collector.folders import decisions_folder
    from slurmhooks.site import sources as site

    return Path(decisions_folder(site.shown_config().decisions.folder))


def _ask(host: str, what: str | None, user: str | None, last: int | None, more: list[str]) -> list[Decision]:
    import json

    from slurmhooks.cli import documents
    from slurmhooks.cli import hosts as machines
    from slurmhooks.cli.decisions import Decision

    words = [*([] if user is None else [f"--user={user}"]), *([] if last is None else [f"--last={last}"]), *more]
    text = machines.ask(host, "why", "--json", *words, *([] if what is None else [what]))
    try:
        return [documents.build(Decision, each) for each in json.loads(text or "[]")]
    except (ValueError, TypeError, RecursionError) as error:
        raise Finding(f"{host}: its answer cannot be read: {error}") from error


def _look_up(log: Log, what: str, notes: list[str]) -> list[Decision]:
    """Return the decisions about a job, an error or a request; add a note if something is uncertain.

    Raises:
        Finding: the id has none of these forms.
    """
    from slurmhooks.cli.decisions import submitted

    decisions = log.find(lambda each: what in _ids(each), what) if re.fullmatch(ID, what) else []
    job = re.fullmatch(JOB, what)
    if decisions or job is None:
        if job is None and not re.fullmatch(ID, what):
            raise Finding(f"{what}: not a job id, nor the 8 or 12 hexadecimal digits of an error or a request")
        return decisions
    job_id = int(job.group(1))
    decisions = log.of_job(job_id)
    facts = submitted(decisions) or _ask_slurm(what)
    if facts is None:
        notes.append(f"its submission cannot be found: neither the log nor scontrol nor sacct knows job {what}")
        return decisions
    submissions = log.submissions(facts)
    if len(submissions) > 1:
        notes.append(
            f"{len(submissions)} submissions fit job {what}: the same user sent jobs of this name in the same second;"
            " one of those that are shown is this job's"
        )
    elif not submissions:
        notes.append(
            f"the log does not have the submission of job {what}: it is older, was lost, or was left out by 'sample'"
        )
    return sorted([*submissions, *log.observed(submissions), *decisions], key=lambda decision: decision.time)


def _ids(decision: Decision) -> set[str | None]:
    return {decision.id, decision.error, *(step.error for step in decision.handlers)}


def _ask_slurm(job: str) -> Job | None:
    """Return what slurmctld knows about a job, or else accounting."""
    from slurmhooks.cli.decisions import accounted, described

    text = _run("scontrol", "--oneliner", "show", "job", job)
    facts = None if text is None else described(text)
    if facts is None:
        text = _run(
            "sacct", "--allocations", "--duplicates", "--noheader", "--parsable2", "--format=UID,Submit,JobName",
            f"--jobs={job}",
        )  # fmt: skip
        facts = None if text is None else accounted(text)
    return facts


def _run(name: str, *arguments: str) -> str | None:
    """Return what a program of Slurm prints; None if it fails."""
    import subprocess

    from slurmhooks.cli import slurm

    program = slurm.find_program(name)
    if program is None:
        return None
    environment = {**os.environ, "SLURM_TIME_FORMAT": "standard", "LC_ALL": "C"}
    try:
        process = subprocess.run(
            [program, *arguments], capture_output=True, text=True, errors="replace", timeout=PATIENCE, env=environment
        )
    except subprocess.TimeoutExpired:
        return None
    return process.stdout if process.returncode == 0 else None


def lines(decision: Decision) -> list[str]:
    """Return a decision in words. Only the first line is not indented; no line feed of a text is left."""
    time = decision.time.astimezone().isoformat(sep=" ", timespec="milliseconds")
    if decision.event == "dropped":
        why = "the log could not be written, or not fast enough"
        return [f"{time}: {decision.count} decisions were lost before this: {why}"]
    text_lines = [f"{time}: {_head(decision)}"]
    if decision.asks:
        text_lines.append(f"  asked for {', '.join(map(visible, decision.asks))}")
    text_lines.append(f"  {_verdict(decision)}")
    for step in decision.handlers:
        text_lines += _step(step)
    if decision.text:
        text_lines += _message("  text for the user: " if decision.event == "decision" else "  ", decision.text)
    return text_lines


def _message(start: str, text: str, end: str = "") -> list[str]:
    """Return a message, whose lines stay, each after the first with a mark that no line of this command begins with."""
    first, *rest = f"{text}{end}".expandtabs().split("\n")
    return [start + first, *(f"      | {line}" for line in rest)]


def _head(decision: Decision) -> str:
    who = word(decision.user) if decision.user else (None if decision.user_id is None else f"uid {decision.user_id}")
    parts = [decision.hook or ""]
    if decision.job_id is not None:
        parts.append(f"of job {decision.job_id}")
    if who is not None:
        parts.append(f"of {who}")
    if decision.by is not None and decision.by != decision.user_id:
        parts.append(f"by uid {decision.by}")
    about = [f"{name} {word(value)}" for name in ("name", "account", "partition") if (value := getattr(decision, name))]
    if about:
        parts.append(f"({', '.join(about)})")
    return " ".join(parts)


def _verdict(decision: Decision) -> str:
    text = decision.verdict or "observed after the answer"
    if decision.code is not None:
        text += f" with {_named(decision.code)}"
    if decision.error is not None:
        text += f", error {decision.error}"
    if decision.microseconds is not None:
        text += f" {'after' if decision.verdict else 'in'} {decision.microseconds} us"
    if decision.hooks:
        text += f", by hooks {decision.hooks} (generation {decision.generation})"
    return f"{text}; request {decision.id}" if decision.id else text


def _step(step: Step) -> list[str]:
    text = f"    {step.handler}"
    if step.mode and step.mode != "enforce":
        text += f" ({step.mode})"
    text += f": {step.outcome}"
    if step.exempt:
        text += f"; exempt {visible(step.exempt)}"
    if step.code is not None:
        text += f" with {_named(step.code)}"
    if step.exception:
        text += f", {step.exception} at {step.where}, error {step.error}: the traceback is in slurmctld's log"
    changes = [f"{name} from {_value(old)} to {_value(new)}" for name, (old, new) in step.changes.items()]
    changes += [f"{name} (not logged)" for name in step.hidden]
    verb = "changed" if step.mode in (None, "enforce") else "would change"
    end = f"; {verb} {', '.join(changes)}" if changes else ""
    return _message(f"{text}: ", step.text, end) if step.text and not step.exception else [text + end]


def _value(value: Any) -> str:
    return "unset" if value is None else str(value) if isinstance(value, int) else quoted(value)
