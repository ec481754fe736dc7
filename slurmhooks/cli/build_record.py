# SPDX-License-Identifier: GPL-2.0-or-later
"""The C side: where its sources are, the tools that build it, what a build made."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from slurmhooks._version import __version__
from slurmhooks.cli import slurm
from slurmhooks.cli.findings import Finding

CORE = "slurmhooks/libslurmhooks_core.so"
"""Holds the interpreter and the modules of slurmhooks that launches import, below the PluginDir."""
TEMPLATE = "scrun.lua.in"
"""What `slurmhooks install` makes scrun.lua from; not a plugin."""


class PythonFacts(BaseModel):
    """The Python a build is for."""

    model_config = ConfigDict(frozen=True)

    version: str
    executable: str
    libpython: str
    paths: list[str]


class Tiers(BaseModel):
    """What a build can do beyond the public headers."""

    model_config = ConfigDict(frozen=True)

    private: bool


class BuildRecord(BaseModel):
    """The file build.json beside the core library; without a date, so that equal builds are equal."""

    model_config = ConfigDict(frozen=True)

    slurmhooks: str
    slurm: str
    python: PythonFacts
    lua: str | None
    tiers: Tiers
    files: list[str]

    @classmethod
    def path_in(cls, folder: Path) -> Path:
        """Return where the record is, in a build's output or in the plugin folder."""
        return folder / "slurmhooks" / "build.json"

    @classmethod
    def load(cls, folder: Path) -> "BuildRecord | None":
        """Read the record of a folder, None if there is none.

        Raises:
            Finding: there is one that cannot be understood.
        """
        path = cls.path_in(folder)
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise Finding(f"{path} is no record of a build: {str(error).splitlines()[0]}; build again") from error

    def save(self, folder: Path) -> None:
        """Write the record, unless it is there already as it should be."""
        path, text = self.path_in(folder), self.model_dump_json(indent=2) + "\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def other_version(record: BuildRecord) -> str | None:
    """Return a finding if a build holds another version of slurmhooks than this command."""
    if record.slurmhooks == __version__:
        return None
    return (
        f"the plugins hold slurmhooks {record.slurmhooks}, this command is {__version__}: "
        "run 'slurmhooks build' and 'slurmhooks install' again"
    )


def files_of(folder: Path) -> set[str]:
    """Return the files that a folder has from us, none if its record cannot be read: it is about to be replaced."""
    try:
        record = BuildRecord.load(folder)
    except Finding:
        return set()
    return set(record.files) if record else set()


def misfits(record: BuildRecord) -> list[str]:
    """Return why a build would not work on this machine, one line each."""
    found = [
        f"the plugins are built for Slurm {record.slurm}, {program} is {version}: slurmhooks build again"
        for program, version in slurm.installed_versions()
        if str(version) != record.slurm
    ]
    other = other_version(record)
    found += [] if other is None else [other]
    if not Path(record.python.libpython).exists():
        found.append(f"{record.python.libpython} is not there any more: slurmhooks build again")
    return found


def plugins_of(record: BuildRecord) -> list[str]:
    """Return those files of a build that belong in the plugin folder."""
    return [name for name in record.files if name != TEMPLATE]
