# SPDX-License-Identifier: GPL-2.0-or-later
"""Record the requests of slurmctld with the questions of its handlers, for 'slurmhooks replay'."""

import json
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli import output, parameters, progress
from slurmhooks.cli.controllers import NOBODY
from slurmhooks.cli.findings import Finding, Findings
from slurmhooks.collector import recording_orders
from slurmhooks.config import keys
from slurmhooks.fields.secrets import SECRETS
from slurmhooks.files import slurm_conf
from slurmhooks.hooks import terms
from slurmhooks.hooks.points import LISTS
from slurmhooks.log import visible
from slurmhooks.worker import commands

PATIENCE = 10.0
"""Seconds to wait for the supervisor's answer, until the file is open, and until the last requests are written."""
LONGEST = 36500 * 86400
"""Maximum duration in seconds: the end of a longer one might have no date."""
SIZES = range(1 << 20, 1 << 63)
"""Valid sizes in bytes."""
TABLES = "partitions,qos,reservations,licenses"


@dataclass(kw_only=True)
class Recording:
    """The status of the running recording, or of the last one.

    Attributes:
        file: the file of the recording.
        until: when it ends, in seconds since the epoch.
        size: size at which it ends, in bytes.
        requests: number of requests in it.
        bytes: its present size.
        lost: number of requests that could not be written fast enough.
        ended: why it has ended; null while it is running.
    """

    file: str
    until: float
    size: int
    requests: int
    bytes: int
    lost: int
    ended: str | None


def seconds(context: click.Context, option: click.Parameter, value: str) -> float:
    """Return a duration such as 1d, 12h or 90m in seconds."""
    duration = terms.seconds(value)
    if not isinstance(duration, int) or not 0 < duration <= LONGEST:
        raise click.BadParameter(f"{value!r} is not a duration such as 1d, 12h or 90m")
    return float(duration)


def size(context: click.Context, option: click.Parameter, value: str) -> int:
    """Return a size such as 2GiB in bytes."""
    try:
        number = int(value) if value.isdecimal() else keys.size(value)
    except ValueError:
        number = None
    if not isinstance(number, int) or number not in SIZES:
        raise click.BadParameter(f"{value!r} is not a size such as 2GiB, of at least 1MiB")
    return number


@click.command("record")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--for",
    "duration",
    default="1d",
    show_default=True,
    callback=seconds,
    metavar="TIME",
    help="When to end: 30m, 12h, 7d.",
)
@click.option(
    "--max",
    "most",
    default="2GiB",
    show_default=True,
    callback=size,
    metavar="SIZE",
    help="End when the file has this size.",
)
@click.option(
    "--with",
    "kept",
    default="",
    type=parameters.Words(*SECRETS),
    metavar="SECRETS",
    help=f"Also record what may be secret: {', '.join(SECRETS)}.",
)
@click.option(
    "--tables",
    default=TABLES,
    show_default=True,
    type=parameters.Words(*LISTS),
    metavar="TABLES",
    help="Record all rows of these tables every ten minutes, for new rules that read more than present ones.",
)
@click.option("--stop", "action", flag_value=recording_orders.STOP, help="End the running recording.")
@click.option("--status", "action", flag_value=recording_orders.STATUS, help="Show the status of the recording.")
@output.json_option(Recording | None)
@parameters.sysconfdir_option
def command(
    file: Path | None,
    duration: float,
    most: int,
    kept: list[str],
    tables: list[str],
    action: str | None,
    sysconfdir: Path,
) -> None:
    """Record the requests of slurmctld in FILE, with the questions of its handlers and all answers.

    Run this command as root or SlurmUser on the machine of slurmctld. It returns once FILE exists; the recording
    continues until it reaches a limit, --stop, or the end of slurmctld. Only SlurmUser and root may read FILE, because
    it shows what users submit. By default, FILE is beside slurmctld's log.
    """
    parameters.use(sysconfdir)
    if action is None:
        wanted = {"file": str((file or default_file()).absolute()), "seconds": duration, "size": most}
        text = recording_orders.START + json.dumps({**wanted, "with": kept, "tables": tables})
    elif file is not None:
        raise click.UsageError("--stop and --status take no FILE: one recording runs at a time")
    else:
        text = action
    with progress.waiting("asking slurmctld"):
        answer = ask(text)
        until = time.monotonic() + PATIENCE
        while is_pending(action, answer) and time.monotonic() < until:
            time.sleep(0.1)
            answer = ask(recording_orders.STATUS)
    if action is None:
        check_begun(answer)
    recording = recording_of(answer)
    output.result(recording, show)


def is_pending(action: str | None, answer: dict[str, Any]) -> bool:
    """Tell whether the process that records has not begun or ended yet, as the command asks for."""
    return not answer["status"] if action is None else action == recording_orders.STOP and answer["runs"]


def check_begun(answer: dict[str, Any]) -> None:
    """Check that a new recording has a file.

    Raises:
        Finding: it has none, or no room for it.
    """
    if not answer["status"]:
        raise Finding(
            f"{answer['recording']['file']} could not be opened within {PATIENCE:g} s: does its file system answer? "
            "'slurmhooks record --stop' gives the recording up"
        )
    if not answer["status"]["bytes"]:
        raise Finding(answer["status"]["ended"])
    if answer["status"].get("ended") is not None:
        raise Finding(f"{answer['recording']['file']}: the recording has ended already: {answer['status']['ended']}")


def recording_of(answer: dict[str, Any]) -> Recording | None:
    """Return the status of a recording; None if nothing is recorded."""
    orders, status = answer["recording"], answer["status"]
    if not orders:
        return None
    return Recording(
        file=orders["file"],
        until=orders["until"],
        size=orders["size"],
        requests=status.get("requests", 0),
        bytes=status.get("bytes", 0),
        lost=status.get("lost") or 0,
        ended=status.get("ended"),
    )


def default_file() -> Path:
    """Return the default file of a recording, in a folder beside slurmctld's log."""
    log = slurm_conf.own_value("SlurmctldLogFile") or "/var/log/slurm/slurmctld.log"
    return Path(log).parent / "slurmhooks" / f"{datetime.now():%Y%m%d-%H%M%S}.recording"


def ask(text: str) -> dict[str, Any]:
    """Ask the supervisor of job_submit.

    Raises:
        Finding: no supervisor is running.
        Findings: the supervisor refuses the request.
    """
    answers = commands.ask(text, slurm_conf.directory(), slurm_conf.slurm_user(), PATIENCE)
    ours = [answer for answer in answers if "recording" in answer]
    if ours:
        return ours[0]
    findings = [finding for answer in answers for finding in answer.get("findings", [])]
    if findings:
        raise Findings(findings)
    raise Finding(NOBODY)


def show(recording: Recording | None) -> None:
    """Print the status of a recording."""
    from slurmhooks.rules.kinds import counted

    if recording is None:
        click.echo("nothing is recorded")
        return
    lost = f", {recording.lost} lost" if recording.lost else ""
    counts = f"{recording.file}: {counted(recording.requests, 'request')}, {recording.bytes} bytes{lost}"
    if recording.ended is not None:
        click.echo(visible(f"{counts}; ended: {recording.ended}"))
        return
    until = datetime.fromtimestamp(recording.until).isoformat(" ", "seconds")
    click.echo(visible(f"{counts} so far; until {until} or {keys.size_text(recording.size)}"))
