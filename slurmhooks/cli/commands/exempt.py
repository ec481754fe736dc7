# SPDX-License-Identifier: GPL-2.0-or-later
"""Exempt a user or a job from ready-made rules for a time, in what is in force, without its sources."""

import pwd
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from slurmhooks.cli import output, parameters
from slurmhooks.cli.bundles import activation, contents, history, overrides
from slurmhooks.cli.bundles.store import Store
from slurmhooks.cli.commands import deploy
from slurmhooks.cli.findings import Finding
from slurmhooks.files import trusted
from slurmhooks.site import sources as site


@click.command("exempt")
@click.argument("rules", metavar="RULE...", nargs=-1, required=True)
@click.option("--user", help="Jobs of this user.")
@click.option("--job", type=click.IntRange(1), help="Updates of this job.")
@click.option("--name", help="Only jobs with this name (--job-name).")
@click.option(
    "--until",
    callback=partial(parameters.moment, ahead=True),
    metavar="TIME",
    required=True,
    help="When it ends: the last day, a time such as 2027-05-01T08:00, or a duration from now such as 4h.",
)
@click.option("--reason", required=True, help="Why, for `status`, `why` and the decision log.")
@parameters.sysconfdir_option
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@output.json_option(deploy.Report)
def command(
    rules: tuple[str, ...],
    user: str | None,
    job: int | None,
    name: str | None,
    until: datetime,
    reason: str,
    sysconfdir: Path,
    plugin_dir: Path | None,
) -> None:
    """Exempt a user or a job from rules for a time, as root: put a set in force that is the present one with that.

    RULE is a rule's name, or its label as refusals show it, such as rule:require_time. A job must meet all of --user,
    --job and --name that are given. Sources are neither read nor changed: the next deployment ends the exemption unless
    they have it, too. So does `slurmhooks rollback`, at once.
    """
    who = {"users": user, "jobs": job, "names": name and overrides.literal(name)}
    if "" in (user, name):
        raise click.UsageError("--user and --name: must not be empty")
    if not (user or job):
        raise click.UsageError("say --user or --job: anybody can give a job a name")
    if until <= datetime.now(UTC):
        raise click.UsageError("--until: has passed")
    end = until.replace(microsecond=0)
    names = [rule.removeprefix("rule:") for rule in rules]
    if handler := next((name for name in names if ":" in name), None):
        raise Finding(f"{handler}: not a ready-made rule; 'slurmhooks off {handler}' switches the handler off for all")
    exemption = {
        "rules": names,
        "until": end,
        "reason": reason,
        **{key: [value] for key, value in who.items() if value},
    }
    trusted.guard()
    store = Store(sysconfdir)
    with store.locked():
        notes = activation.complete(store)
        before = store.deployed
        if before is None:
            raise Finding(f"{store.home}: nothing is in force from whose rules a job could be exempt")
        store.verify(before)
        files = contents.of_folder(store.place(before))
        whom = " ".join(f"{key} {value}" for key, value in (("user", user), ("job", job), ("name", name)) if value)
        # Everybody can read the history.
        is_private = files[site.FILE_NAME].is_private
        message = f"until {end}" if is_private else f"{whom}: {', '.join(names)} until {end}: {reason}"
        left = overrides.with_exemption(files, exemption)
        report = deploy.derived(store, before, files, left, history.EXEMPT, message, plugin_dir)
    report.notes[:0] = notes
    if user and not _exists(user):
        report.notes.append(f"this machine knows no user {user}")
    deploy.say(report, sysconfdir)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
