# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a set without some handlers of the set in force, for a night without sources."""

import ast
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from slurmhooks.cli.bundles import contents, toml_text
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.checks.report import Row
from slurmhooks.cli.findings import Finding
from slurmhooks.files import plugstack
from slurmhooks.site import sources as site

OFF = "# switched off: "
"""Begins the lines of a hook file that do not count any more; their numbers stay, so that tracebacks name them."""
ALONE = "cannot be switched off alone: 'slurmhooks off --all' switches off all"
ROOT = re.compile(r"(\w+\.)?hook\b")


def without_all(files: Mapping[str, File]) -> dict[str, File]:
    """Return the files of a set that has no handlers, for the same lines of plugstack.conf."""
    kept = {site.FILE_NAME: File(b"# all handlers are switched off\n")}
    for name, file in files.items():
        if name == contents.PLUGSTACK:
            kept[name] = file
            for config in re.findall(rb"^config=(\S+)", file.content, re.MULTILINE):
                kept[contents.name_of(os.fsdecode(config))] = File(b"")
    return kept


def without(files: Mapping[str, File], rows: list[Row], label: str, folder: str) -> dict[str, File]:
    """Return the files of a set without a handler.

    Handlers of hooks with modes get the mode "off"; the decorators of others become comments, and configurations no
    longer name them.

    Raises:
        Finding: there is no such handler, or it cannot be switched off alone.
    """
    found = [row for row in rows if row.handler == label]
    if not found:
        labels = ", ".join(dict.fromkeys(row.handler for row in rows)) or "none"
        raise Finding(f"no handler {label!r} is in force; handlers: {labels}")
    has_modes = all(row.mode for row in found)
    left = dict(files)
    for where in dict.fromkeys(row.where for row in found if not has_modes):
        path = where.rpartition(":")[0]
        name = path.removeprefix(f"{folder}/")
        text = _without_decorators(left[name].content, label.partition(":")[2]) if name in left else None
        if text is not None:
            left[name] = replace(left[name], content=text)
        elif left.get(name) == files.get(name):
            raise Finding(f"{where}: {label} {ALONE}")
    for name in _configurations(files):
        tables = tomllib.loads(left[name].content.removeprefix(site.BYTE_ORDER_MARK).decode())
        changed = _forget(tables, label)
        if has_modes and name == site.FILE_NAME:
            tables.setdefault("rules", {}).setdefault("modes", {})[label] = {"mode": "off"}
            changed = True
        if changed:
            written = f"# written by 'slurmhooks off'\n{toml_text.render(tables)}"
            left[name] = replace(left[name], content=written.encode())
    return left


def refuse_others(before: list[Row], after: list[Row], labels: tuple[str, ...]) -> None:
    """Refuse a set whose handlers are not those before without the ones that were to be switched off.

    Raises:
        Finding: it has others.
    """
    wanted = Counter((row.hook, row.handler) for row in before if row.mode != "off" and row.handler not in labels)
    present = Counter((row.hook, row.handler) for row in after if row.mode != "off")
    for (hook, handler), effect in (
        *((each, "would be off, too") for each in wanted - present),
        *((each, "would still run") for each in present - wanted),
    ):
        raise Finding(f"{', '.join(labels)} {ALONE}: {handler} of {hook} {effect}")


def _configurations(files: Mapping[str, File]) -> list[str]:
    """Return the names of slurmhooks.toml and of configurations that lines of plugstack.conf name."""
    names = [site.FILE_NAME]
    for line in os.fsdecode(files.get(contents.PLUGSTACK, File(b"")).content).splitlines():
        config = plugstack.split(line.split())[0]
        names += [contents.name_of(config)] if config is not None else []
    return [name for name in dict.fromkeys(names) if name in files]


def _forget(tables: dict[str, Any], label: str) -> bool:
    """Remove what a configuration says about a handler; tell whether it has said anything."""
    modes, hooks = tables.get("rules", {}).get("modes", {}), tables.get("hooks", {})
    required = hooks.get("require", ())
    if label in required:
        hooks["require"] = [each for each in required if each != label]
    return modes.pop(label, None) is not None or label in required


def _without_decorators(content: bytes, name: str) -> bytes | None:
    """Return a hook file in which a function is no handler; None if no decorator in it makes it one."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None
    lines = content.splitlines(keepends=True)
    changed = False
    for node in _functions(tree, name.split(".")):
        for decorator in node.decorator_list:
            if ROOT.match(ast.unparse(decorator)):
                for number in range(decorator.lineno - 1, decorator.end_lineno or decorator.lineno):
                    lines[number] = OFF.encode() + lines[number]
                changed = True
    return b"".join(lines) if changed else None


def _functions(scope: ast.AST, names: list[str]) -> Iterator[ast.FunctionDef]:
    """Yield the functions with a qualified name: the same name may be defined in two branches."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _functions(node, names)
        elif node.name != names[0]:
            continue
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, names[1:]) if names[1:] else ()
        elif names[1:2] == ["<locals>"]:
            yield from _functions(node, names[2:])
        elif isinstance(node, ast.FunctionDef) and not names[1:]:
            yield node
