# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs for a script under slurmhooks, as far as it uses it; docs/lua.md has the whole list."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmhooks.workshop.adopt.script import Script

C_MODULES = {"posix", "cjson", "lpeg", "lfs", "socket", "ssl", "luasql", "cURL", "cqueues", "term", "rex_pcre"}
RECORDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("part_list", "whole", ("part_list",)),
    ("part_list", "part_list", ()),
    ("part_list", "part", ()),
    ("slurm.jobs", "slurm", ("jobs",)),
    ("slurm.reservations", "slurm", ("reservations",)),
    ("job_rec", "job_rec", ()),
)
"""Uses of records of slurmctld, which only builds with Slurm's sources have."""


def differences(script: Script) -> list[str]:
    """Return one sentence for each difference that concerns the script."""
    parts = {"job_submit": _of_job_submit, "cli_filter": _of_cli_filter, "spank": _of_spank}
    return [*parts[script.family](script), *_of_all(script)] if script.family in parts else []


def _lines(script: Script, of: str, *wanted: str) -> str:
    lines = sorted({use.line for use in script.uses if use.of == of and (not wanted or use.name in wanted)})
    if not lines:
        return ""
    shown = ", ".join(map(str, lines[:5])) + (", ..." if len(lines) > 5 else "")
    return f"line{'s' if len(lines) > 1 else ''} {shown}"


def _of_job_submit(script: Script) -> Iterator[str]:
    for name, line in sorted(script.keeps.items(), key=lambda item: item[1]):
        yield (
            f"{name} keeps what a call writes into it (line {line}): with [job_submit] workers above 1 each worker has"
            " its own copy, and each reload begins with an empty one"
        )
    records = [(name, _lines(script, of, *names)) for name, of, names in RECORDS]
    used = {name: where for name, where in reversed(records) if where}
    if used:
        shown = ", ".join(f"{name} ({where})" for name, where in used.items())
        yield f"{shown}: needs a build of slurmhooks with Slurm's exact sources; other builds refuse these requests"
    programs = _lines(script, "system", "os.execute", "io.popen")
    if programs:
        yield (
            f"programs ({programs}) run in a worker, which has a deadline; sudo and other setuid programs fail unless"
            " [job_submit] no_new_privs is false"
        )
    if relative := _lines(script, "relative"):
        yield (
            f"relative paths ({relative}) begin at / in a worker, and in slurmctld where it runs, mostly in the folder"
            " of its log: write full ones"
        )
    if _lines(script, "job_desc", "assoc_qos"):
        yield "assoc_qos is nil without accounting, where Slurm's own plugin may fail"
    for kind in ("to_yaml", "from_yaml"):
        if where := _lines(script, "slurm", kind):
            yield f"slurm.{kind} ({where}): to_yaml writes JSON, which is valid YAML; from_yaml needs PyYAML"
    if script.keeps_request:
        yield (
            f"job_desc is kept in a variable (line {script.keeps_request}): in a later call it raises an error, and"
            " has no defined value under job_submit/lua"
        )
    if any(isinstance(text, str) and "\\n" in text for text in script.constants):
        yield "line feeds in a message to the log begin a line with '|', and are dropped at its end"
    if any(isinstance(text, str) and ("\x1b" in text or "\\27" in text) for text in script.constants):
        yield "of terminal escapes in messages, only colours reach the user, until the end of the text"


def _of_cli_filter(script: Script) -> Iterator[str]:
    if where := _lines(script, "options", "spank_job_env"):
        yield f"options['spank_job_env'] ({where}) is empty: Slurm passes it only to its own plugins"


def _of_spank(script: Script) -> Iterator[str]:
    if where := _lines(script, "spank", "register_option"):
        yield (
            f"options ({where}) belong to the plugin python: their variables are"
            " SLURM_SPANK__SLURM_SPANK_OPTION_python_NAME instead of ..._lua_NAME; change all nodes together"
        )
    if where := _lines(script, "spank", "getopt"):
        yield f"spank:getopt ({where}) of a flag is true, where spank-lua reads uninitialized memory"
    if "slurm_spank_slurmd_init" in script.entries:
        yield "slurm_spank_slurmd_init runs when slurmd starts; Slurm has not called it for spank-lua since 20.02"
    if where := _lines(script, "item"):
        yield f"numbers of spank:get_item ({where}) are right also where spank-lua's are not, see docs/lua.md"


def _of_all(script: Script) -> Iterator[str]:
    modules = sorted({use.name for use in script.uses if use.of == "require" and use.name.split(".")[0] in C_MODULES})
    if modules:
        yield (
            f"the C modules {', '.join(modules)} load if the scripts run in the version of Lua that Slurm's own plugins"
            " use, which is the default"
        )
    if where := _lines(script, "system", "os.exit"):
        yield f"os.exit ({where}) ends the worker or the command, not slurmctld"
