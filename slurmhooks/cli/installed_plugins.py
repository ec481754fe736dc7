# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks whether the installed plugins fit this machine's Slurm, Python and slurmhooks."""

from pathlib import Path

from slurmhooks.cli import build_record, configuration, embedded_python
from slurmhooks.cli.build_record import AGAIN, BUILD


def misfits(build: build_record.BuildRecord, folder: Path) -> list[str]:
    """Return why the installed plugins do not work, one line each with the remedy."""
    return build_record.misfits(build, folder) + _unfit_files(build, folder) + _unfit_python(build)


def of_machine(sysconfdir: Path) -> list[str]:
    """Return why launches or daemons of this machine cannot load the plugins that its configuration names.

    Without a look at the Python that the plugins embed, which takes as long as the rest together.
    """
    folder = configuration.installed_in(sysconfdir)
    build = build_record.BuildRecord.load(folder) if folder is not None else None
    if folder is not None and build is not None:
        return build_record.misfits(build, folder) + _unfit_files(build, folder)
    settings = configuration.settings(sysconfdir, Path(configuration.UNKNOWN))
    named = [each for each in settings if each.present and each.why.startswith("hook.")]
    return [f"{each.file} has '{each.line}', and no folder of PluginDir has plugins: {BUILD}" for each in named]


def _unfit_files(build: build_record.BuildRecord, folder: Path) -> list[str]:
    missing = [name for name in build_record.plugins_of(build) if not (folder / name).exists()]
    return [f"{folder / name} is missing: slurmhooks install again" for name in missing]


def _unfit_python(build: build_record.BuildRecord) -> list[str]:
    python = embedded_python.inspect(build.python.executable)
    if isinstance(python, str):
        return [f"{python}: run 'slurmhooks build' with another --python, and 'slurmhooks install'"]
    findings = []
    if python.version != build.python.version:
        findings.append(
            f"the plugins were built with Python {build.python.version}, it is now {python.version}: {AGAIN}"
        )
    theirs, own = (python.slurmhooks, python.sources), (build.slurmhooks, build.sources)
    if theirs != own:
        words = [" ".join(f"{each[0] or 'none'} {f'({each[1]})' if each[1] else ''}".split()) for each in (own, theirs)]
        findings.append(f"the plugins are of slurmhooks {words[0]}, {python.executable} has {words[1]}: {AGAIN}")
    return findings
