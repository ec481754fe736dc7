# SPDX-License-Identifier: GPL-2.0-or-later
"""The record of a build: which Slurm and Python the plugins are for, and which files belong to them."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from slurmhooks import identity
from slurmhooks._version import __version__
from slurmhooks.cli import documents, output, plugin_files, slurm
from slurmhooks.cli.findings import Finding
from slurmhooks.hooks.points import HANDED_OVER, HOOKS, POINTS

CORE = "slurmhooks/libslurmhooks_core.so"
"""The core library, relative to the PluginDir: the interpreter, and the modules that launches import."""
TEMPLATE = "scrun.lua.in"
"""The template of scrun.lua, which is no plugin."""
PACKAGED = Path("/usr/libexec/slurmhooks/build-plugins")
"""What builds and installs the plugins where slurmhooks is a package of Debian or an RPM."""
IS_PACKAGED = Path(__file__).is_relative_to("/usr/lib") and PACKAGED.exists()
BUILD = f"run {PACKAGED}" if IS_PACKAGED else "run 'slurmhooks build' and 'slurmhooks install'"
"""What helps if there is no build."""
AGAIN = BUILD if IS_PACKAGED else f"{BUILD} again"
"""What helps if a build does not fit the machine."""

HEALTH_PROGRAM = "slurmhooks/slurmhooks_health"
"""The program for HealthCheckProgram, relative to the PluginDir; each process of Slurm looks at all entries of this."""
HANDING_OVER = {
    spec.name: f"slurmhooks/slurmhooks_{spec.name.replace('.', '_')}"
    for point in HANDED_OVER
    for spec in POINTS[point].hooks
}
"""The programs for MailProg, ResumeProgram and the like, relative to the PluginDir, by hook."""
BURST_BUFFER = "slurmhooks/slurmhooks_burst_buffer"
"""What the burst_buffer.lua of a set runs, relative to the PluginDir."""
PROGRAMS = {"HealthCheckProgram": HEALTH_PROGRAM} | {HOOKS[hook].function: name for hook, name in HANDING_OVER.items()}
"""All of them, by their keys in slurm.conf."""


def is_program(named: str | None, program: Path) -> bool:
    """Tell whether slurm.conf names a program, perhaps by its name in earlier releases, which is a link to it."""
    return named is not None and Path(named).resolve() == program.resolve()


@dataclass(frozen=True, kw_only=True)
class PythonFacts:
    """The Python that a build embeds."""

    version: str
    executable: str
    libpython: str
    paths: list[str]


@dataclass(frozen=True, kw_only=True)
class Tiers:
    """What a build supports beyond the public headers.

    Attributes:
        private: job records, partitions and reservations.
    """

    private: bool


@dataclass(frozen=True, kw_only=True)
class BuildRecord:
    """The file build.json beside the core library.

    It has no date, so that the same build twice gives the same file.

    Attributes:
        slurmhooks: version of slurmhooks.
        sources: the hash of its sources, see slurmhooks.identity; "" in records of earlier releases.
        slurm: release of Slurm, which `build` has read in the plugins.
        python: the Python to embed.
        lua: version of the Lua that scrun is linked to; None if the build has no plugin for scrun.
        tiers: what the build supports.
        files: all files, relative to the output folder.
    """

    slurmhooks: str
    slurm: str
    python: PythonFacts
    lua: str | None
    tiers: Tiers
    files: list[str]
    sources: str = field(default="", kw_only=True)

    @classmethod
    def path_in(cls, folder: Path) -> Path:
        """Return the path of the record in a build's output folder or in the PluginDir."""
        return folder / "slurmhooks" / "build.json"

    @classmethod
    def load(cls, folder: Path) -> "BuildRecord | None":
        """Read the record in a folder; None if there is no record.

        Raises:
            Finding: the record is damaged.
        """
        path = cls.path_in(folder)
        try:
            return documents.build(cls, json.loads(path.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise Finding(f"{path} is not a valid build record: {str(error).splitlines()[0]}; {AGAIN}") from error

    def save(self, folder: Path) -> None:
        """Write the record, unless the file has this content already."""
        path, text = self.path_in(folder), f"{output.as_json(self, 2)}\n"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def other_version(record: BuildRecord) -> str | None:
    """Return a finding if a build is from another slurmhooks than this command; otherwise None."""
    if record.slurmhooks != __version__:
        return f"the plugins hold slurmhooks {record.slurmhooks}, this command is {__version__}: {AGAIN}"
    if record.sources != (sources := identity.here()):
        return (
            f"the plugins hold another build of slurmhooks {__version__} ({record.sources or 'an older one'}) than this"
            f" command ({sources}): {AGAIN}"
        )
    return None


def releases(folder: Path, files: list[str]) -> dict[str, slurm.Version | None]:
    """Return the release of Slurm that each plugin was compiled for, as Slurm finds it there; None: it names none.

    Files that are not there, or that Slurm does not ask for a release, are left out.
    """
    return {
        name: plugin_files.release_of(folder / name)
        for name in files
        if Path(name).name.partition("-")[0].removesuffix(".so") in _PLUGINS and (folder / name).is_file()
    }


_PLUGINS = {f"{point.name}_python" for point in POINTS.values()} - {"scrun_python"}


def files_of(folder: Path) -> set[str]:
    """Return the files of the build in a folder; none if its record is damaged: the next build replaces it."""
    try:
        record = BuildRecord.load(folder)
    except Finding:
        return set()
    return set(record.files) if record else set()


def misfits(record: BuildRecord, folder: Path) -> list[str]:
    """Return why a build does not work on this machine, one line each.

    What counts is for which Slurm the plugins in the folder were compiled, not what the record says.
    """
    programs: dict[str, list[str]] = {}
    for program, version in slurm.installed_versions():
        programs.setdefault(str(version), []).append(str(program))
    plugins: dict[str, list[str]] = {}
    for name, release in releases(folder, record.files).items():
        plugins.setdefault(str(release or "an unknown release"), []).append(name)
    findings = [
        f"{folder}: {', '.join(names)}: built for Slurm {release}, and the record of the build says {record.slurm}:"
        f" {AGAIN}"
        for release, names in plugins.items()
        if release != record.slurm
    ]
    findings += [
        f"the plugins are built for Slurm {release}, not for {version} ({', '.join(names)}): {AGAIN}"
        for version, names in programs.items()
        for release in plugins or [record.slurm]
        if version != release
    ]
    other = other_version(record)
    findings += [] if other is None else [other]
    needed = (record.python.libpython, *record.python.paths)
    return findings + [f"{path} no longer exists: {AGAIN}" for path in needed if not Path(path).exists()]


def plugins_of(record: BuildRecord) -> list[str]:
    """Return those files of a build that belong in the PluginDir."""
    return [name for name in record.files if name != TEMPLATE]
