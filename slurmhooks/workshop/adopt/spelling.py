# SPDX-License-Identifier: GPL-2.0-or-later
"""Translates what a Lua script uses to its equivalents in hook files, for people who port a script."""

from __future__ import annotations

import json
import keyword
import re
from typing import TYPE_CHECKING

from slurmhooks.cli_filter.fields import FIELDS as OPTION_FIELDS
from slurmhooks.fields.rows import NEWEST
from slurmhooks.hooks.points import HOOKS
from slurmhooks.lua import job_fields
from slurmhooks.lua.source import ENTRIES
from slurmhooks.spank.fields import ITEMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from slurmhooks.workshop.adopt.script import Script
    from slurmhooks.workshop.adopt.values import Use

Row = tuple[str, str, str]
VIEWS = {"job_desc": "job", "job_rec": "record", "part": "partition", "reservation": "reservation"}

SLURM = {
    "SUCCESS": "nothing: a handler that passes returns nothing",
    "ERROR": 'raise Reject("text for the user")',
    "FAILURE": 'raise Reject("text for the user")',
    "log_user": "log.user(...)",
    "user_msg": "log.user(...)",
    "error": "log.error(...)",
    "log": "log.info(...) and so on, by level",
    "log_debug4": "log.debug3(...)",
    "time_str2mins": "strings.time_str2mins(...); from slurmhooks.job_submit import strings",
    "get_qos_priority": "slurmctld.qos_priority(...); from slurmhooks.job_submit import slurmctld",
    "CLUSTER_NAME": "slurmctld.cluster_name(); from slurmhooks.job_submit import slurmctld",
    "jobs": "the argument jobs: jobs[123]",
    "reservations": "the argument reservations: reservations[name]",
    "NO_VAL": "None",
    "NO_VAL8": "None",
    "NO_VAL16": "None",
    "NO_VAL64": "None",
    "INFINITE": "UNLIMITED; from slurmhooks import UNLIMITED",
    "INFINITE64": "UNLIMITED; from slurmhooks import UNLIMITED",
    "NICE_OFFSET": "nothing: job.nice is plain, 0 is neither higher nor lower",
    "MEM_PER_CPU": "nothing: job.min_mem_per_cpu and job.min_mem_per_node are apart",
    "MAIL_JOB_TIME890": "constants.MAIL_JOB_TIME90; from slurmhooks.job_submit import constants",
    "from_json": "json.loads(...)",
    "to_json": "json.dumps(...)",
    "from_yaml": "a YAML package of your choice",
    "to_yaml": "a YAML package of your choice",
    "json_cli_options": "options.given, a mapping",
    "json_env": "options.environment, a mapping",
    "cli_store": "a variable of the hook file: post_submit runs in the same process",
    "cli_retrieve": "a variable of the hook file",
    "set_bundle_path": "container.bundle = ...",
    "set_root_path": "container.root_path = ...",
    "allocator_command": "container.allocator_command(...), with .status and .output",
    "remote_command": "container.remote_command(...), with .status and .output",
}
OPTIONS = {field.option: f"options.{name}" for name, field in reversed(OPTION_FIELDS.items())}
"""The properties of ``options`` by option; if an option has two, the first one."""
FIELDS = {
    "nice": "job.nice, without NICE_OFFSET: 0 is no adjustment",
    "argv": "job.argv, a list",
    "environment": "job.environment, a mapping",
    "spank_job_env": "job.spank_job_env, a mapping of names to values",
}
METHODS = {
    "context": "spank.context",
    "args": "spank.args",
    "slurm_version": "spank.slurm_version",
    "remote": 'spank.context == "remote"',
    "getenv": "spank.env.get(name)",
    "setenv": "spank.env[name] = value; without overwriting, spank.env.setdefault(name, value)",
    "unsetenv": "spank.env.pop(name, None)",
    "job_control_getenv": "spank.job_control_env.get(name)",
    "job_control_setenv": "spank.job_control_env[name] = value",
    "job_control_unsetenv": "spank.job_control_env.pop(name, None)",
    "getopt": "the option's .value",
    "register_option": 'option = hook.spank.option("name", "ARG", usage="..."), at the top of the file',
    "get_item": "an attribute of spank, named as the item without S_: spank.job_id",
}
TITLES = {
    "job_desc": "Fields of the request (job_desc)",
    "job_rec": "Fields of jobs (job_rec, slurm.jobs)",
    "part": "Fields of partitions (part_list)",
    "reservation": "Fields of reservations",
    "environment": "The job's environment",
    "slurm": "The table slurm",
    "options": "Options of the command",
    "SPANK": "The table SPANK",
    "spank": "The handle of SPANK",
    "system": "Programs, files and the process",
    "require": "Modules",
}


def tables(script: Script) -> list[tuple[str, list[Row]]]:
    """Return tables of what a script uses: a title, and rows of name, lines and Python."""
    result = [("Functions that Slurm calls", _functions(script))]
    for kind, title in TITLES.items():
        rows: dict[str, list[Use]] = {}
        for use in script.uses:
            if use.of == kind:
                rows.setdefault(use.name, []).append(use)
        result.append((title, [_row(kind, name, uses) for name, uses in sorted(rows.items())]))
    option_rows = [(name, "", f'hook.spank.option("{name}", ...)') for name in options(script)]
    result.append(("Options", option_rows))
    return [(title, title_rows) for title, title_rows in result if title_rows]


def _functions(script: Script) -> list[Row]:
    rows = []
    for name, line in script.entries.items():
        hook = hook_of(name)
        python = f"@hook.{hook}" if hook else "nothing: Slurm has not called it since 20.02"
        rows.append((name, f"line {line}", python))
    return rows


def hook_of(name: str) -> str | None:
    """Return the hook for a function of a script; None if Slurm no longer calls it."""
    short = name.removeprefix("slurm_")
    for start, point in (("spank_", "spank"), ("scrun_", "scrun"), ("cli_", "cli_filter")):
        if short.startswith(start):
            short = f"{point}.{short.removeprefix(start)}"
    return short if short in HOOKS else None


def _row(kind: str, name: str, uses: list[Use]) -> Row:
    lines = ", ".join(str(line) for line in dict.fromkeys(use.line for use in uses))
    lines = f"line{'s' if ',' in lines else ''} {lines}"
    written = any(use.writes for use in uses)
    shown = f"{name or '[computed at run time]'}{' (written)' if written else ''}"
    return shown, lines, _python(kind, name, written)


def _python(kind: str, name: str, written: bool) -> str:
    """Return the equivalent in Python."""
    if not name:
        return "look at the script: it computes the name when it runs"
    if kind == "options":
        special = {"type": "options.command", "argv": "options.argv, from 0", "spank": "options.spank"}
        return special.get(name) or OPTIONS.get(name) or f'options["{name}"]'
    if kind in VIEWS:
        return _field(kind, name, written)
    if kind == "environment":
        return f'job.environment["{name}"] = ...' if written else f'job.environment.get("{name}")'
    if kind == "slurm":
        return _slurm(name)
    if kind == "SPANK":
        return SLURM.get(name) or (f"log.{name.removeprefix('log_')}(...)" if name.startswith("log_") else "nothing")
    if kind == "spank":
        return METHODS.get(name, "not known to spank-lua")
    if kind == "require":
        return "json" if name in ("json", "cjson", "dkjson") else "os" if name == "posix" else "a module of Python"
    return {
        "io.popen": "subprocess.run(..., timeout=...): Slurm waits for it",
        "os.execute": "subprocess.run(..., timeout=...): Slurm waits for it",
        "io.open": "open(...)",
        "os.getenv": "os.environ.get(...)",
        "os.exit": "never: it ends the process of Slurm that runs the script",
        "dofile": "from slurmhooks_site import ..., or a package named in [hooks] modules",
    }.get(name, "a module of Python")


def _field(kind: str, name: str, written: bool) -> str:
    view = VIEWS[kind]
    fields = job_fields.names(kind, NEWEST)
    if kind == "job_desc" and name in FIELDS:
        return FIELDS[name]
    if name in fields or (kind == "job_rec" and name in job_fields.ARRAYS):
        ignored = written and name not in job_fields.writable(NEWEST)
        return f"{view}.{name}" + (", which Lua cannot write: it was ignored" if ignored else "")
    old = next((release for release in ((22, 5), (23, 11)) if name in job_fields.names(kind, release)), None)
    if old is not None:
        return f"{view}.{name}, until 23.11"
    return "no such field: it reads as nil" + (", and was not written" if written else "")


def _slurm(name: str) -> str:
    if name in SLURM:
        return SLURM[name]
    if name.startswith("log_"):
        return f"log.{name.removeprefix('log_')}(...)"
    if name.startswith(("ESLURM", "SLURM_", "ESPANK")):
        return f'raise Reject("text for the user", code="{name}")'
    return f"constants.{name}; from slurmhooks.job_submit import constants"


def options(script: Script) -> list[str]:
    """Return the names of the options that a spank-lua script registers, as far as its source shows them."""
    return list(script.option_tables)


def _option(name: str, table: Mapping[str, str | None]) -> str:
    """Return the line of a hook file that defines an option of a script."""
    has_arg = table.get("has_arg", "0")
    words = [_quoted(name)]
    if has_arg not in ("0", "false", "nil"):
        words.append(_quoted("_".join((table.get("arginfo") or "ARG").split())))
    words.append(f"usage={_quoted(table.get('usage') or '...')}")
    if has_arg == "2":
        words.append("optional=True")
    note = "  # the script computes has_arg" if has_arg is None else ""
    return f"{_identifier(name)} = hook.spank.option({', '.join(words)}){note}"


def _quoted(text: str) -> str:
    """Return a string of Lua's source as one of Python."""
    plain = re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text, flags=re.DOTALL)
    return json.dumps(plain, ensure_ascii=False)


def items(script: Script) -> list[str]:
    """Return the SPANK items that a script uses."""
    known = {item.item for item in ITEMS}
    return [name for name in script.constants if name in known]


def skeleton(script: Script, name: str) -> str:
    """Return a hook file with empty functions for those of a script, and comments on what each of them uses."""
    lines = [f'"""Ported from {name}: the comments say what the script used, and where."""', ""]
    imports = ["Reject", "hook", "log"]
    if any(use.of == "slurm" and use.name.startswith("INFINITE") for use in script.uses):
        imports.insert(0, "UNLIMITED")
    lines += [f"from slurmhooks import {', '.join(sorted(imports))}", ""]
    lines += [_option(option, table) for option, table in script.option_tables.items()]
    for entry, line in script.entries.items():
        hook = hook_of(entry)
        if hook is None:
            continue
        lines += ["", f"@hook.{hook}", f"def {_identifier(_short(entry))}({', '.join(_arguments(script, entry))}):"]
        lines += [f'    """Line {line} of {name}."""']
        lines += [f"    # {note}" for note in _notes(script, entry)]
        used = sorted({use.line for use in script.uses_in(entry)})
        lines += [f"    # line {number}: {script.lines[number - 1].strip()}" for number in used]
        lines += ["    ...", ""]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).rstrip() + "\n"


def _short(entry: str) -> str:
    return entry.removeprefix("slurm_").removeprefix("spank_").removeprefix("scrun_")


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text) or "option"
    return f"{name}_" if keyword.iskeyword(name) or name[0].isdigit() else name


def _arguments(script: Script, entry: str) -> list[str]:
    """Return the arguments that the handler needs, in the order of the hook."""
    hook = hook_of(entry)
    assert hook is not None
    if hook.startswith("spank."):
        return ["spank"]
    if hook.startswith("scrun."):
        return ["container"]
    if hook.startswith("cli_filter."):
        return [name for name in HOOKS[hook].arguments if name in ("options", "offset", "job_id", "step_id")]
    used = script.takes(entry) | {use.name for use in script.uses_in(entry) if use.of == "slurm"}
    wanted = {
        "job": True,
        "record": "job_rec" in used,
        "submit_uid": "uid" in used,
        "modify_uid": "uid" in used,
        "partitions": "part_list" in used,
        "reservations": "reservations" in used,
        "jobs": "jobs" in used,
    }
    return [argument for argument in HOOKS[hook].arguments if wanted.get(argument)]


def _notes(script: Script, entry: str) -> Iterable[str]:
    """Yield a line for each thing that a function, or a function that it calls, uses."""
    seen = set()
    for use in script.uses_in(entry):
        if use.of not in TITLES or not use.name or (use.of == "slurm" and use.name == "SUCCESS"):
            continue
        note = f"{use.name}: {_python(use.of, use.name, use.writes)}"
        if note not in seen:
            seen.add(note)
            yield note
    if entry in ENTRIES and entry.startswith("slurm_spank_"):
        for item in items(script):
            yield f"{item}: spank.{item.removeprefix('S_').lower()}"
