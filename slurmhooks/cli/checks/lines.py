# SPDX-License-Identifier: GPL-2.0-or-later
"""Find lines of plugstack.conf, options and handlers that Slurm or the installed build does not serve as they look."""

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from slurmhooks.cli import build_record, manifests
from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.files import plugstack, plugstack_conf
from slurmhooks.files.paths import has_magic
from slurmhooks.handlers import loader
from slurmhooks.handlers.job_rule import JobRule
from slurmhooks.handlers.registry import Registry
from slurmhooks.hooks.option import Option
from slurmhooks.hooks.points import POINTS
from slurmhooks.job_submit import judging
from slurmhooks.lua import needs
from slurmhooks.site import variants
from slurmhooks.site.manifest_writer import MOST_ARGUMENTS, ManifestLine
from slurmhooks.slurmctld import NEEDS_SOURCES, PRIVATE_ARGUMENTS

KEYWORDS = ("required", "optional", "include")
COMMANDS = {"local": ("srun",), "allocator": ("sbatch", "salloc", "scrontab")}
"""The commands whose options are known, by context."""
WITHOUT = {"record": '; or set updates = "refuse" or "ignore"', "reservations": "; or name start and end"}
"""How a ready-made rule does without an argument that a build lacks."""


def never_called(lines: list[ManifestLine], plugin: Path) -> list[str]:
    """Return a finding for each handler of a callback that the installed variant of the plugin does not export."""
    present = variants.exported(manifests.variant_of(plugin))
    missing = [name for name in variants.COSTLY_CALLBACKS if name not in present]
    return [finding for line in lines for finding in variants.never_called(line.registry, missing)]


def ignored_modes(lines: list[ManifestLine], record: build_record.BuildRecord) -> list[str]:
    """Return a note for each ``init_failure_mode=`` that this release of Slurm does not support."""
    if tuple(map(int, record.slurm.split(".")[:2])) >= (25, 5):
        return []
    return [
        f"plugstack.conf: {word} is ignored: it takes Slurm 25.05 or later"
        for line in lines
        for word in line.args[: len(line.args) - len(line.rest)]
        if word.startswith(plugstack.MODE)
    ]


def too_long(lines: list[ManifestLine]) -> list[str]:
    """Return a note for each line with more arguments than the plugin reads from a manifest."""
    return [
        f"plugstack.conf: a line has {len(line.args)} arguments, and a manifest supports at most"
        f" {MOST_ARGUMENTS}: Python starts in every process; pass values to handlers in a file instead"
        for line in lines
        if len(line.args) > MOST_ARGUMENTS
    ]


def kept_from_users(registry: Registry, record: build_record.BuildRecord | None) -> list[str]:
    """Return a note for each handler of hook.job: what users may not change, because the build has no records."""
    if record is None or record.tiers.private:
        return []
    return [
        f"{handler.where}: handler {handler.label} cannot check updates in this build, which has only Slurm's public"
        f" headers: users may not change {', '.join(names)} of their jobs"
        for handler in registry.handlers("job_modify")
        if isinstance(handler, JobRule) and (names := judging.shown(handler))
    ]


def _of_scripts(paths: Iterable[str]) -> Iterator[str]:
    """Yield a finding for each thing that Lua scripts use and a build with only public headers lacks."""
    for path in sorted(paths):
        for what, line in needs.sources(Path(path).read_bytes()).items():
            yield f"{path}:{line}: the script uses {what}, and requests for which it does are refused: {NEEDS_SOURCES}"


def needs_sources(registry: Registry, record: build_record.BuildRecord | None) -> list[str]:
    """Return a finding for each handler with arguments that the installed build does not support."""
    if record is None or record.tiers.private:
        return []
    scripts = {handler.path for handler in registry.handlers("job_submit") if handler.path.endswith(loader.LUA)}
    handlers = [
        f"{handler.where}: handler {handler.label} takes {private}: {NEEDS_SOURCES}"
        + (WITHOUT.get(private, "") if handler.label.startswith("rule:") else "")
        for handler in registry.all_handlers()
        # A Lua script takes all arguments, whatever it uses.
        if (private := ", ".join(sorted(PRIVATE_ARGUMENTS.intersection(handler.names))))
        and not handler.path.endswith(loader.LUA)
        and POINTS[handler.spec.point].called  # others get what slurmctld still knows, or nothing of it
    ]
    return [*judging.unserved(registry.all_handlers()), *_of_scripts(scripts), *handlers]


def notes(path: Path) -> Iterator[str]:
    """Yield a note for each such line of a file, and of those that it includes."""
    for file, number, text in plugstack_conf.lines(path):
        for note in _of_line(file, text):
            yield f"{file}:{number}: {note}"


def _of_line(file: Path, text: str) -> Iterator[str]:
    words = text.split("#")[0].split()
    if not words:
        return
    if words[0] not in KEYWORDS:
        alike = next((f"; write {each}" for each in KEYWORDS if each == words[0].lower()), "")
        yield f"Slurm ignores this line: it begins with {words[0]!r}, not with required, optional or include{alike}"
        return
    if len(words) < 2:
        yield f"Slurm ignores this line: nothing follows {words[0]}"
        return
    pattern = plugstack_conf.included(file, text)
    if pattern and not has_magic(pattern) and not Path(pattern).exists():
        yield f"{pattern} does not exist: Slurm includes nothing, and does not say so"
    if not plugstack_conf.OURS.match(text):
        return
    if quoted := [word for word in words[2:] if '"' in word or "'" in word]:
        yield f"Slurm keeps quotes, and blanks in them separate arguments: the line has {', '.join(quoted)}"
    if cut := re.match(r"[^#]*?(\S+)(#\S*)", text):
        yield f"Slurm reads nothing from {cut[2]} on: the argument is {cut[1]}; a comment needs a blank before its #"


def taken(options: Collection[Option]) -> list[str]:
    """Return a note for each option that has the name of one of Slurm's own: the command keeps its own."""
    notes = []
    for option in options:
        commands = [
            command
            for context, commands in COMMANDS.items()
            for command in commands
            if context in option.contexts and option.name in NAMES[command]
        ]
        if commands:
            notes.append(
                f"{option.where}: option --{option.name}: in some releases {', '.join(commands)} have an option of this"
                " name, and ignore this one with an error for each user: use another name"
            )
    return notes
