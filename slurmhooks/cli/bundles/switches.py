# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a set without some handlers of the set in force, for a night without sources."""

import ast
import os
import re
from collections.abc import Mapping
from dataclasses import replace

from slurmhooks.cli.bundles import contents
from slurmhooks.cli.bundles.archive import File
from slurmhooks.cli.checks.report import Row
from slurmhooks.cli.findings import Finding
from slurmhooks.site import sources as site

OFF = "# switched off: "
"""Begins the lines of a hook file that do not count any more; their numbers stay, so that tracebacks name them."""
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

    Handlers of hooks with modes get the mode "off"; the decorators of others become comments.

    Args:
        files: the files of the set in force.
        rows: its handlers.
        label: of the handler.
        folder: of the set in force.

    Raises:
        Finding: there is no such handler, or it cannot be switched off alone.
    """
    found = [row for row in rows if row.handler == label]
    if not found:
        labels = ", ".join(dict.fromkeys(row.handler for row in rows)) or "none"
        raise Finding(f"no handler {label!r} is in force; handlers: {labels}")
    left = dict(files)
    if any(row.mode for row in found):
        toml = left[site.FILE_NAME]
        left[site.FILE_NAME] = replace(toml, content=_with_mode_off(toml.content, label))
    for where in dict.fromkeys(row.where for row in found if not row.mode):
        path = where.rpartition(":")[0]
        name = path.removeprefix(f"{folder}/")
        text = _without_decorators(left[name].content, label.partition(":")[2]) if name in left else None
        if text is not None:
            left[name] = replace(left[name], content=text)
        elif left.get(name) == files.get(name):
            raise Finding(f"{where}: {label} cannot be switched off alone: 'slurmhooks off --all' switches off all")
    return left


def _with_mode_off(content: bytes, label: str) -> bytes:
    """Return a slurmhooks.toml in which a handler has the mode "off"; what it says about the handler is a comment."""
    lines = []
    inside = False
    for line in content.decode("utf-8", "surrogateescape").splitlines():
        if line.lstrip().startswith("["):
            inside = line.strip() == f'[policy."{label}"]'
        lines.append(f"{OFF}{line}" if inside else line)
    text = "\n".join([*lines, f'[policy."{label}"]', 'mode = "off"', ""])
    return text.encode("utf-8", "surrogateescape")


def _without_decorators(content: bytes, name: str) -> bytes | None:
    """Return a hook file in which a function is no handler; None if no decorator in it makes it one."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None
    lines = content.split(b"\n")
    changed = False
    for node in _functions(tree, name.split(".")):
        for decorator in node.decorator_list:
            if ROOT.match(ast.unparse(decorator)):
                for number in range(decorator.lineno - 1, decorator.end_lineno or decorator.lineno):
                    lines[number] = OFF.encode() + lines[number]
                changed = True
    return b"\n".join(lines) if changed else None


def _functions(tree: ast.AST, names: list[str]) -> list[ast.FunctionDef]:
    """Return the functions with a qualified name, such as the last of several with the same name."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == names[-1]:
            found.append(node)
    return found
