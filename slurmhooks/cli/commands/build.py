# SPDX-License-Identifier: GPL-2.0-or-later
"""Compile the plugins for this machine's Slurm."""

import json
import os
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click

from slurmhooks import identity
from slurmhooks._version import __version__
from slurmhooks.cli import (
    build_record,
    configuration,
    embedded_python,
    installed_plugins,
    parameters,
    slurm,
    slurm_sources,
    toolchain,
)
from slurmhooks.cli.findings import Findings
from slurmhooks.cli.progress import note, run_logged, step

CONFIGURE = ("--sysconfdir=/etc/slurm", "--disable-debug", "--enable-multiple-slurmd", "--without-munge")
LUA_VERSIONS = ("5.1", "5.2", "5.3", "5.4")
FOLDER = click.Path(path_type=Path, file_okay=False, resolve_path=True)


@dataclass(frozen=True)
class Plan:
    """The inputs of a build, checked.

    Without ``source``, there are only the public headers; without ``lua``, the plugin for scrun is not built.
    """

    slurm: slurm.Version
    include: Path
    source: Path | None
    python: embedded_python.Python
    lua: str | None


@click.command("build")
@click.option(
    "--output", type=FOLDER, required=True, help="Folder for the plugins; its folder .work has the log of the build."
)
@click.option(
    "--slurm-source",
    type=click.Path(path_type=Path, resolve_path=True),
    metavar="PATH",
    help="Slurm's sources, of exactly the installed version: a folder, an archive, a .src.rpm or a .dsc.",
)
@click.option("--fetch-source", is_flag=True, help="Download these sources from where the installed Slurm is from.")
@click.option(
    "--slurm-include",
    type=FOLDER,
    default="/usr/include",
    show_default=True,
    help="Folder that contains slurm/slurm.h.",
)
@click.option(
    "--python",
    "executable",
    default=sys.executable,
    show_default="the Python of this command",
    help="The Python to embed.",
)
@click.option(
    "--lua",
    type=click.Choice(["auto", *LUA_VERSIONS, "none"]),
    default="auto",
    show_default=True,
    help="Version of scrun's Lua; auto: that of the installed scrun.",
)
@click.option(
    "--sysconfdir",
    type=click.Path(path_type=Path),
    default="/etc/slurm",
    show_default=True,
    callback=parameters.absolute,
    help="Where slurm.conf will be.",
)
@click.option("--if-needed", is_flag=True, help="Do nothing if the installed plugins fit Slurm, Python and slurmhooks.")
@click.option("--verbose", is_flag=True, help="Show the output of the compiler and the build tool.")
def command(
    output: Path,
    slurm_source: Path | None,
    fetch_source: bool,
    slurm_include: Path,
    executable: str,
    lua: str,
    sysconfdir: Path,
    if_needed: bool,
    verbose: bool,
) -> None:
    """Compile the plugins for this machine's Slurm.

    The public headers are enough for SPANK, cli_filter, scrun and nearly all fields of job. Handlers that take record
    or a table, such as partitions or nodes, need --slurm-source.
    """
    if slurm_source and fetch_source:
        raise click.UsageError("--slurm-source and --fetch-source exclude each other")
    if if_needed and _have_fitting(sysconfdir):
        note("the installed plugins fit")
        return
    native = toolchain.native_sources()
    with tempfile.TemporaryDirectory(prefix="slurmhooks-sources-") as scratch:
        version = slurm.header_version(slurm_include)
        if fetch_source and version:
            slurm_source = slurm_sources.fetched(slurm_include, version, Path(scratch))
        if slurm_source:
            slurm_source = slurm_sources.unpacked(slurm_source, Path(scratch, "tree"))
        make(examine(slurm_source, slurm_include, executable, lua), native, output, sysconfdir, verbose)


def make(plan: Plan, native: Path, output: Path, sysconfdir: Path, verbose: bool) -> None:
    """Compile the plugins into a folder, with a record of what they are for.

    Raises:
        Findings: that has failed.
    """
    work = output / ".work"
    # What is compiled depends on more than files with times tell: Slurm's headers of another release are older than the
    # objects of the last build, and Python, Lua or the compiler may be others at the same path. So nothing is kept.
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    log = work / "build.log"
    log.write_text("")

    config = configured_headers(plan, work, log, verbose) if plan.source else None
    options = meson_options(plan, config, sysconfdir)
    files = compile_and_install(native, options, output, log, verbose)
    remove_leftovers(output, files)
    verify(plan, output, files)
    assert plan.python.libpython is not None
    record = build_record.BuildRecord(
        slurmhooks=__version__,
        sources=identity.here(),
        slurm=str(plan.slurm),
        python=build_record.PythonFacts(
            version=plan.python.version,
            executable=plan.python.executable,
            libpython=plan.python.libpython,
            paths=plan.python.paths,
        ),
        lua=plan.lua,
        tiers=build_record.Tiers(private=plan.source is not None),
        files=files,
    )
    record.save(output)
    scope = (
        "with job records and tables"
        if plan.source
        else "public headers only: no record, tables, hook.every, hook.priority"
    )
    note(f"Slurm {plan.slurm} ({scope}), Python {plan.python.version}, Lua {plan.lua or '-'}: {output}")
    if not plan.source:
        command = shlex.join(slurm_sources.fetch_command(plan.include, plan.slurm))
        note(f"For all handlers, build again with --fetch-source, which runs '{command}', or with --slurm-source FILE")
    note(f"Next: slurmhooks install --from {shlex.quote(str(output))}{parameters.words_for(sysconfdir)}")


def _have_fitting(sysconfdir: Path) -> bool:
    folder = configuration.installed_in(sysconfdir)
    try:
        record = build_record.BuildRecord.load(folder) if folder else None
    except Findings:  # a damaged record
        return False
    return record is not None and folder is not None and not installed_plugins.misfits(record, folder)


def examine(source: Path | None, include: Path, executable: str, lua: str) -> Plan:
    """Check everything that a build needs.

    ``lua`` is a version, "auto" or "none".

    Raises:
        Findings: everything that is missing or does not fit.
    """
    findings: list[str] = []
    version = _examine_headers(include, findings)
    if source and version:
        _examine_source(source, version, findings)
    python = embedded_python.inspect(embedded_python.resolve(executable))
    if isinstance(python, str):
        findings.append(f"{python}; name another with --python")
    else:
        findings += embedded_python.shortcomings(python, __version__, identity.here())
    findings += toolchain.missing_tools()
    lua_version = _examine_lua(lua, findings)
    if findings:
        raise Findings(findings)
    assert version is not None
    assert not isinstance(python, str)
    return Plan(version, include, source, python, lua_version)


def _examine_headers(include: Path, findings: list[str]) -> slurm.Version | None:
    missing = slurm.missing_headers(include)
    version = slurm.header_version(include)
    if missing or version is None:
        names = ", ".join(f"slurm/{name}" for name in missing) or "the version in slurm/slurm_version.h"
        findings.append(
            f"{include} lacks {names}: install Slurm's public headers (libslurm-dev on Debian, slurm-devel as RPM), "
            "or name their folder with --slurm-include"
        )
        return None
    programs = list(slurm.installed_versions())
    for program, release in programs:
        if release != version:
            findings.append(
                f"{program} is Slurm {release}, the headers in {include} are of {version}: Slurm refuses a plugin "
                f"of another release, install the headers of {release}"
            )
    if not programs:
        note(f"no Slurm programs on this machine: the plugins will be for {version}, the release of the headers")
    return version


def _examine_source(source: Path, version: slurm.Version, findings: list[str]) -> None:
    release = slurm.source_version(source)
    if release is None:
        findings.append(f"{source} has no META file with a version: name the top folder of Slurm's sources")
    elif release != version:
        findings.append(
            f"{source} is Slurm {release}, installed is {version}: job records differ even between micro releases, "
            f"name the sources of {version}, as from --fetch-source, or leave out --slurm-source"
        )
    elif (source / "config.h").exists():
        configured = slurm.header_version(source)
        if configured != version:
            findings.append(
                f"{source} was configured as Slurm {configured or 'of unknown version'}, its META says {version}: "
                "run make distclean in it, or name a fresh copy"
            )
    elif not (source / "configure").is_file():
        findings.append(f"{source} has no configure script: name the unpacked release archive of Slurm {version}")


def _examine_lua(lua: str, findings: list[str]) -> str | None:
    if lua == "none":
        return None
    if lua == "auto":
        scrun = slurm.find_program("scrun")
        if scrun is None:
            note("scrun is not installed: building without its plugin")
            return None
        linked = slurm.scrun_lua(scrun)
        if linked is None:
            note(f"{scrun} is built without Lua: building without its plugin")
            return None
        lua = linked
    if not toolchain.has_lua_headers(lua):
        findings.append(toolchain.lua_remedy(lua))
    return lua


def configured_headers(plan: Plan, work: Path, log: Path, verbose: bool) -> Path:
    """Return a folder with the config.h of the sources; run their configure script if there is no such file."""
    assert plan.source is not None
    if (plan.source / "config.h").exists():
        return plan.source
    folder = work / f"slurm-{plan.slurm}"
    folder.mkdir()
    with step(f"Configuring the headers of Slurm {plan.slurm}", "about 20 s"):
        run_logged(
            ["sh", str(plan.source / "configure"), *CONFIGURE],
            log,
            cwd=folder,
            verbose=verbose,
            failure=f"Slurm's own configure failed in {folder}",
        )
    return folder


def meson_options(plan: Plan, config: Path | None, sysconfdir: Path) -> dict[str, str]:
    """Return the options of native/meson.options."""
    return {
        "python": plan.python.executable,
        "python_paths": os.pathsep.join(plan.python.paths),
        "slurm_include": str(plan.include),
        "slurm_source": str(plan.source or ""),
        "slurm_build": str(config or ""),
        "slurm_library": str(slurm.library() or ""),
        "sysconfdir_slurm": str(sysconfdir),
        "lua": plan.lua or "none",
    }


def compile_and_install(native: Path, options: dict[str, str], output: Path, log: Path, verbose: bool) -> list[str]:
    """Build native/ and copy the result to the output folder; return the files, relative to that folder."""
    tree = output / ".work" / "meson"
    meson = toolchain.meson_command()
    assert meson is not None
    env = os.environ | {"PATH": toolchain.tool_path(), "PYTHONDONTWRITEBYTECODE": "1"}
    arguments = [f"-D{name}={value}" for name, value in options.items()]
    with step("Setting up the build"):
        run_logged(
            [*meson, "setup", str(tree), str(native), f"--prefix={output}", *arguments],
            log,
            env=env,
            verbose=verbose,
            failure="meson could not set up the build",
        )
    with step("Compiling"):
        compile_command = [*meson, "compile", "-C", str(tree)]
        run_logged(compile_command, log, env=env, verbose=verbose, failure="compiling failed")
        install = [*meson, "install", "-C", str(tree), "--no-rebuild"]
        run_logged(install, log, env=env, verbose=verbose, failure=f"copying to {output} failed")
    installed = json.loads((tree / "meson-info" / "intro-installed.json").read_text())
    return sorted(str(Path(path).relative_to(output)) for path in installed.values())


def verify(plan: Plan, output: Path, files: list[str]) -> None:
    """Check that the plugins are for the Slurm that was asked for.

    Raises:
        Findings: one line for each plugin that is not.
    """
    findings = [
        f"{output / name} was compiled for Slurm {release or 'of unknown version'}, not for {plan.slurm}: the compiler"
        f" has found other headers than those in {plan.include}"
        for name, release in build_record.releases(output, files).items()
        if release != plan.slurm
    ]
    if findings:
        raise Findings(findings)


def remove_leftovers(output: Path, files: list[str]) -> None:
    """Remove files of an earlier build that this build does not contain."""
    for name in build_record.files_of(output) - set(files):
        (output / name).unlink(missing_ok=True)
