# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks whether the installed plugins fit this machine's Slurm, Python and slurmhooks."""

from pathlib import Path

from slurmhooks.cli import build_record, embedded_python
from slurmhooks.cli.build_record import AGAIN


def misfits(build: build_record.BuildRecord, folder: Path) -> list[str]:
    """Return why the installed plugins do not work, one line each with the remedy.

    Args:
        build: their record.
        folder: their folder.
    """
    return build_record.misfits(build, folder) + _unfit_files(build, folder) + _unfit_python(build)


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
