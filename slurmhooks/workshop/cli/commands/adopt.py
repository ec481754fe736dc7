# SPDX-License-Identifier: GPL-2.0-or-later
"""Say what a Lua script of Slurm uses, what is dangerous in it, and whether it decides the same under slurmhooks."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from slurmhooks.cli import output, parameters, progress, slurm
from slurmhooks.cli.findings import Finding, shown
from slurmhooks.fields.rows import NEWEST, Release, release_of
from slurmhooks.files import slurm_conf
from slurmhooks.log import visible
from slurmhooks.lua import finding
from slurmhooks.lua.library import NoLuaError
from slurmhooks.recording.file import RecordingError, check_access
from slurmhooks.workshop.adopt import commands, differences, requests, setup, slurms_plugin, spelling, trial
from slurmhooks.workshop.adopt.answers import TrialRequest
from slurmhooks.workshop.adopt.parser import NoParserError
from slurmhooks.workshop.adopt.report import AdoptReport, Used
from slurmhooks.workshop.adopt.script import Script
from slurmhooks.workshop.adopt.values import Remark, Settings
from slurmhooks.workshop.recorded import Contents

TITLES = {
    "job_desc": "fields of the request (job_desc)",
    "environment": "the job's environment",
    "job_rec": "fields of jobs (job_rec, slurm.jobs)",
    "part": "fields of partitions",
    "reservation": "fields of reservations",
    "options": "options of the command",
    "slurm": "the table slurm",
    "SPANK": "the table SPANK",
    "spank": "the handle of SPANK",
    "item": "items of SPANK",
    "require": "modules",
    "system": "programs, files and the process",
}
COLORS = {"danger": "red", "warning": "yellow", "note": "blue"}
NO_OWN = (
    "this machine lacks Slurm's plugin or a build of slurmhooks for it; run the command again on the controller"
    " after 'slurmhooks build' and 'slurmhooks install'"
)
NO_TRIAL = "scripts of spank-lua run in Slurm's processes only: docs/lua.md says what differs"
NO_COMPARISON = "Slurm's own plugin works only in Slurm's commands: docs/lua.md says what is the same and what differs"
NO_LIBLUA = "  in lupa's Lua: this machine has no liblua of this version for Slurm"
DEFAULT_REQUESTS = 400
NAMES = re.compile(rb"slurm_(job|cli|spank|scrun)_|spank_options")
"""How the names begin of what Slurm calls or reads in its Lua scripts."""


@click.command("adopt")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--release", metavar="RELEASE", help="Release of Slurm, such as 24.11. Default: the one installed here.")
@click.option(
    "--lua",
    "version",
    type=click.Choice(list(finding.VERSIONS)),
    help="Version of Lua. Default: that of Slurm's plugins.",
)
@click.option(
    "--recording",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Try the script with the requests of a recording instead of generated ones.",
)
@click.option(
    "--requests", "count", type=click.IntRange(0), default=DEFAULT_REQUESTS, show_default=True,
    help="Maximum number of requests for each function; 0: do not run the script.",
)  # fmt: skip
@click.option(
    "--write",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the lines of slurmhooks.toml to a new file.",
)
@click.option(
    "--port",
    is_flag=True,
    help="Only print a skeleton of the hook file that replaces the script, and to standard error what the script uses,"
    " with the same in Python.",
)
@click.option("--uses", "show_uses", is_flag=True, help="List everything that the script uses, with lines.")
@parameters.sysconfdir_option
@output.json_option(AdoptReport)
def command(
    file: Path,
    release: str | None,
    version: str | None,
    recording: Path | None,
    count: int,
    write: Path | None,
    port: bool,
    show_uses: bool,
    sysconfdir: Path,
) -> None:
    """Say what a Lua script of Slurm uses, what is dangerous in it, and whether it decides the same under slurmhooks.

    FILE is a job_submit.lua, a cli_filter.lua or a script of spank-lua. A job_submit.lua is tried under slurmhooks with
    many requests, and in Slurm's own plugin, too, if this machine has it; a cli_filter.lua with many commands. In a
    trial, scripts start no programs and write no files.

    With --port, FILE may also be a scrun.lua, and does not run: the skeleton has its functions, each with a list of
    what it uses; you write their bodies.

    Exit codes: 0 fine, 1 something is dangerous or differs, or the script fails on a request, 2 wrong use.
    """
    content = _read(file)
    if not NAMES.search(content):  # before it asks for packages that read Lua
        raise _no_script(file)
    settings = Settings(_release(release), _version(version))
    try:
        script = Script(content, settings)
    except NoParserError as error:
        raise Finding(str(error)) from error
    except RecursionError as error:  # Lua itself allows about 200 levels
        raise Finding(f"{file}: its expressions or blocks are nested too deeply") from error
    if port and (script.entries or spelling.options(script)):
        for title, rows in spelling.tables(script):
            _show_python(title, rows)
        click.echo(shown(spelling.skeleton(script, file.name), ""), nl=False)
        _show_not_read(script.damaged, to_stderr=True)
        sys.exit(1 if script.damaged else 0)
    if port or script.family not in ("job_submit", "cli_filter", "spank"):
        raise _no_script(file)
    path = str(file.absolute())
    report = _report(script, path, _changes(script, path, str(sysconfdir), version))
    _try(report, script, path, recording, count)
    output.result(report, lambda report: _show(report, show_uses))
    if write is not None:
        _write(write, report.changes.toml)
    fails = report.tried is not None and report.tried.errors
    differs = report.compared is not None and report.compared.different
    if fails or differs or any(found.level == "danger" for found in report.found):
        sys.exit(1)


def _read(file: Path) -> bytes:
    """Return the content of a file or pipe, without waiting until somebody writes to a FIFO."""
    with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
        os.set_blocking(stream.fileno(), True)  # what a shell connects has a writer, which may be slow
        return stream.read()


def _show_python(title: str, rows: list[tuple[str, str, str]]) -> None:
    """Print a table of what the script uses, in which lines, and the Python equivalents."""
    if not rows:
        return
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    click.echo(title, err=True)
    for used, lines, python in rows:
        click.echo(shown(f"  {used:{widths[0]}}  {lines:{widths[1]}}  {python}".rstrip()), err=True)
    click.echo(err=True)


def _no_script(file: Path) -> Finding:
    return Finding(
        f"{file}: is not Lua, or defines no function that Slurm calls in job_submit.lua, cli_filter.lua or spank-lua,"
        " nor, with --port, in scrun.lua;"
        " docs/scripts.md says where other scripts belong, such as prologs, health checks and cron jobs"
    )


def _release(text: str | None) -> Release:
    if text is not None:
        try:
            return release_of(text)
        except ValueError as error:
            raise click.BadParameter(f"not a release of Slurm: {text}", param_hint="--release") from error
    installed = next(slurm.installed_versions(), None)
    return NEWEST if installed is None else installed[1][:2]


def _version(wanted: str | None) -> str:
    try:
        return finding.choose(wanted)
    except NoLuaError as error:
        raise Finding(str(error)) from error


def _try(report: AdoptReport, script: Script, path: str, recording: Path | None, count: int) -> None:
    """Try a script, and add what it does to the report."""
    if count == 0:
        report.why_not_tried = "--requests=0"
        return
    if script.family == "spank":
        report.why_not_tried = NO_TRIAL
        return
    uses = frozenset(use.name for use in script.uses if use.of == "job_desc")
    release, version = script.settings.release, script.settings.version
    are_commands = script.family == "cli_filter"
    of_requests = [] if are_commands else _requests(script, set(uses), recording, count)
    wanted: Sequence[TrialRequest | commands.Command] = _commands(script, count) if are_commands else of_requests
    try:
        with progress.bar("trying") as advance:
            report.liblua = finding.find(version).own
            report.tried = trial.run(path, release, version, wanted, uses, advance, script.family)
    except trial.TrialError as error:
        report.why_not_tried = str(error)
        return
    own = slurms_own(release)
    if own is None or are_commands:
        report.why_not_compared = NO_COMPARISON if are_commands else NO_OWN
        return
    try:
        report.compared = trial.compare(path, own, release, version, of_requests, uses)
    except trial.TrialError as error:
        report.why_not_compared = str(error)


def slurms_own(release: Release) -> trial.SlurmsOwn | None:
    """Return where Slurm's own plugin is; None if this machine lacks it, or has no build of slurmhooks."""
    library = slurm.library()
    if library is None:
        return None
    configured = (slurm_conf.own_value("PluginDir") or "").split(":")
    folders = [*map(Path, filter(None, configured)), *slurm.usual_plugin_dirs()]
    plugin = next(
        (folder / slurms_plugin.PLUGIN for folder in folders if (folder / slurms_plugin.PLUGIN).exists()), None
    )
    builds = [folder / "slurmhooks" for folder in folders if (folder / "slurmhooks" / slurms_plugin.LIBRARY).exists()]
    version = next(slurm.installed_versions(), None)
    if plugin is None or not builds or version is None or version[1][:2] != release:
        return None
    return trial.SlurmsOwn(str(builds[0]), str(plugin), str(library), str(version[1]))


def _commands(script: Script, count: int) -> list[commands.Command]:
    release = f"{script.settings.release[0]}.{script.settings.release[1]:02d}"
    used = {use.name for use in script.uses if use.of == "options" and use.name}
    return commands.generated(used, script.constants, release, count)


def _requests(script: Script, uses: set[str], recording: Path | None, count: int) -> list[TrialRequest]:
    release = f"{script.settings.release[0]}.{script.settings.release[1]:02d}"
    if recording is None:
        return [
            request
            for hook in ("job_submit", "job_modify")
            for request in requests.generated(uses, script.constants, release, hook, count)
        ]
    fd = os.open(recording, os.O_RDONLY | os.O_CLOEXEC)
    try:
        check_access(fd, str(recording))
        return list(requests.recorded(Contents(fd), release, count))
    except RecordingError as error:
        raise Finding(f"{recording}: {error}") from error
    finally:
        os.close(fd)


def _changes(script: Script, path: str, folder: str, version: str | None) -> setup.Setup:
    key = {"job_submit": "JobSubmitPlugins", "cli_filter": "CliFilterPlugins"}.get(script.family)
    current = slurm_conf.value(slurm_conf.file_in(folder), key) if key else None
    return setup.setup(script.family, path, folder, current, version)


def _report(script: Script, path: str, changes: setup.Setup) -> AdoptReport:
    uses: dict[str, list[Used]] = {}
    for kind in TITLES:
        by_name: dict[str, Used] = {}
        for use in script.uses:
            if use.of == kind:
                used = by_name.setdefault(use.name, Used(name=use.name, lines=[], written=False))
                used.written |= use.writes
                used.lines += [use.line] if use.line not in used.lines else []
        if by_name:
            uses[kind] = [by_name[name] for name in sorted(by_name)]
    release = script.settings.release
    return AdoptReport(
        file=path, family=script.family, release=f"{release[0]}.{release[1]:02d}", lua=script.settings.version,
        functions=script.entries, not_read=script.damaged, uses=uses,
        found=script.remarks,
        differences=differences.differences(script), changes=changes,
    )  # fmt: skip


def _show_not_read(lines: list[int], *, to_stderr: bool = False) -> None:
    if lines:
        click.echo(f"lines that are not valid Lua, and not read: {', '.join(map(str, lines))}", err=to_stderr)


def _show(report: AdoptReport, show_uses: bool) -> None:
    """Print the report for people."""
    functions = ", ".join(f"{name} (line {line})" for name, line in report.functions.items())
    click.echo(shown(f"{report.file}: {functions}"))
    click.echo(f"read for Slurm {report.release} with Lua {report.lua}")
    _show_not_read(report.not_read)
    click.echo()
    _show_uses(report, show_uses)
    _show_found(report.found)
    output.show("different under slurmhooks", report.differences)
    _show_trial(report)
    click.echo()
    changes = report.changes
    if changes.toml:
        output.show("add to slurmhooks.toml", [line for line in changes.toml.split("\n") if line])
    output.show(f"change in {changes.file}", [f"- {changes.before}", f"+ {changes.after}"])
    click.echo(shown(f"then: {changes.then}"))
    click.echo(shown(f"the way back: {changes.back}"))


def _show_uses(report: AdoptReport, show_all: bool) -> None:
    for kind, used in report.uses.items():
        title = TITLES[kind]
        if not show_all:
            shown_names = ", ".join((each.name or "[computed]") + ("=" if each.written else "") for each in used)
            click.echo(shown(f"{title}: {shown_names}"))
            continue
        rows = [
            f"{each.name or '[computed at run time]'}{' (written)' if each.written else ''}: "
            + ", ".join(map(str, each.lines))
            for each in used
        ]
        output.show(title, rows)
    if report.uses:
        click.echo()


def _show_found(found: Sequence[Remark]) -> None:
    counts = [
        f"{number} of level {level}" for level in COLORS if (number := sum(each.level == level for each in found))
    ]
    click.echo(f"dangerous or wrong today: {', '.join(counts) or 'nothing found'} (endless loops are not searched for)")
    for each in found:
        level = click.style(each.level, fg=COLORS[each.level], bold=each.level == "danger")
        click.echo(f"  line {each.line}: {level} [{each.kind}] {visible(each.what)}")
        click.echo(f"    {visible(each.why)}")
        if each.instead:
            click.echo(f"    instead: {visible(each.instead)}")
    click.echo()


def _show_trial(report: AdoptReport) -> None:
    tried, compared = report.tried, report.compared
    if tried is None:
        click.echo(shown(f"not tried: {report.why_not_tried}"))
        return
    click.echo(f"tried under slurmhooks with {tried.requests} requests: {tried.refused} refused")
    if not report.liblua:
        click.echo(NO_LIBLUA)
    for message, number in tried.errors.items():
        click.echo(shown(f"  it failed on {number} of them: {message}"))
    for reason, number in tried.not_tried.items():
        click.echo(shown(f"  {number} were not tried, because the script uses {reason}"))
    if compared is None:
        click.echo(shown(f"not compared: {report.why_not_compared}"))
        return
    summary = f"{compared.same} of {compared.requests} answers are the same in {compared.plugin}"
    color = "yellow" if compared.different else "green"
    click.echo(click.style(summary, fg=color, bold=True) + f", {compared.different} differ")
    for reason, number in compared.not_compared.items():
        click.echo(shown(f"  {number} not compared, because the script uses {reason}"))
    for example in compared.examples:
        click.echo(shown(f"  {example.request}: {example.difference}"))


def _write(path: Path, toml: str) -> None:
    """Write the lines to a new file.

    Raises:
        Finding: it exists.
    """
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(toml)
    except FileExistsError as error:
        raise Finding(f"{path} exists and is not changed: add the lines above to it") from error
    click.echo(shown(f"wrote {path}"), err=True)
