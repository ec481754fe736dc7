# SPDX-License-Identifier: GPL-2.0-or-later
"""Show the versions of Slurm, Python and the plugins, missing configuration, and the hooks in force."""

from dataclasses import dataclass
from pathlib import Path

import click

from slurmhooks import identity
from slurmhooks._version import __version__
from slurmhooks.cli import build_record, configuration, controllers, installed_plugins, output, parameters, slurm
from slurmhooks.cli.findings import Findings, shown
from slurmhooks.errors import LoadError
from slurmhooks.fields import LISTS
from slurmhooks.log import visible
from slurmhooks.site import sources as site

REMEDY = "slurmhooks build --fetch-source adds them"
PRIVATE = ", ".join(("record", *LISTS))


@dataclass(kw_only=True)
class InfoReport:
    """The output of `info`; with --json it is printed as it is.

    Attributes:
        sources: the hash of the sources of this command.
        built_for: the releases of Slurm that the plugins were compiled for, as Slurm finds them there.
    """

    slurmhooks: str
    sources: str
    package: Path
    programs: dict[str, str]
    scrun_lua: str | None
    plugin_dir: Path | None
    build: build_record.BuildRecord | None
    built_for: str
    settings: list[configuration.Setting]
    running: list[controllers.Running]
    notes: list[str]
    findings: list[str]


@click.command("info")
@click.option("--plugin-dir", type=click.Path(path_type=Path), help="Default: found by slurm.conf's PluginDir.")
@parameters.sysconfdir_option
@output.json_option(InfoReport)
def command(plugin_dir: Path | None, sysconfdir: Path) -> None:
    """Show the versions of Slurm, Python and the plugins, missing configuration, and the hooks in force."""
    report = collect(plugin_dir, sysconfdir)
    output.result(report, show)
    if report.findings:
        raise Findings(report.findings)


def collect(plugin_dir: Path | None, sysconfdir: Path) -> InfoReport:
    """Collect the report about this machine."""
    folder = plugin_dir or configuration.installed_in(sysconfdir) or configuration.find_plugin_dir(sysconfdir)
    build = build_record.BuildRecord.load(folder) if folder else None
    releases = build_record.releases(folder, build.files) if build and folder else {}
    if build and folder:
        findings = installed_plugins.misfits(build, folder)
    else:
        findings = [f"no plugins in {folder or 'the folders of PluginDir'}: {build_record.BUILD}"]
    parameters.use(sysconfdir)
    try:
        site.config_name()
    except LoadError as error:
        findings += error.findings
    running, notes = controllers.find_running(sysconfdir)
    findings += controllers.findings(running, build.sources if build else None)
    scrun = slurm.find_program("scrun")
    return InfoReport(
        slurmhooks=__version__,
        sources=identity.here(),
        package=Path(build_record.__file__).parent.parent,
        programs={str(program): str(version) for program, version in slurm.installed_versions()},
        scrun_lua=slurm.scrun_lua(scrun) if scrun else None,
        plugin_dir=folder,
        build=build,
        built_for=", ".join(sorted({str(each) for each in releases.values()})),
        settings=configuration.settings(sysconfdir, folder) if folder else [],
        running=running,
        notes=notes,
        findings=findings,
    )


def show(report: InfoReport) -> None:
    """Print the report as tables."""

    def fact(name: str, value: str) -> None:
        for number, line in enumerate(value.split("\n")):
            label = click.style(f"{name if number == 0 else '':15}", bold=True)
            click.echo(f"{label}{visible(line)}")

    fact("slurmhooks", f"{report.slurmhooks} ({report.sources}) in {report.package}")
    for program, version in report.programs.items():
        fact(Path(program).name, f"{version} ({program})")
    if not report.programs:
        fact("Slurm", "no programs found")
    fact("plugins in", str(report.plugin_dir or "-"))
    if report.build:
        build = report.build
        fact("built for", f"Slurm {report.built_for or build.slurm}, slurmhooks {build.slurmhooks} ({build.sources})")
        fact("embeds", f"Python {build.python.version} ({build.python.libpython})")
        fact("search path", "\n".join(build.python.paths))
        fact("job records", f"yes: {PRIVATE}" if build.tiers.private else f"no {PRIVATE}: {REMEDY}")
        fact("scrun", f"yes, Lua {build.lua}" if build.lua else "no")
    for number, setting in enumerate(report.settings):
        line = setting.line.replace("\n", "; ")
        state = "present" if setting.present else "missing"
        fact("" if number else "configuration", f"{state} {setting.file}: {line}")
    for line in controllers.lines(report.running):
        click.echo(visible(line))
    for note in report.notes:
        click.echo(shown(note))
