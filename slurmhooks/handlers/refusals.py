# SPDX-License-Identifier: GPL-2.0-or-later
"""Find calls of ``Reject`` with a literal error code that does not exist."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from slurmhooks.handlers import codes, dispatch
from slurmhooks.handlers.registry import Registry


def unknown_codes(registries: Iterable[Registry]) -> list[str]:
    """Return a finding for each ``Reject(code=...)`` in the files of handlers whose code Slurm does not have."""
    files: set[str] = set()
    for registry in registries:
        files.update(handler.path for handler in registry.all_handlers())
        files.update(module.__file__ for module in registry.modules.values() if module.__file__)
    return [finding for file in sorted(files) if file.endswith(".py") for finding in _in_file(file)]


def _in_file(file: str) -> Iterator[str]:
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return  # it was valid when it was loaded, so it is being changed now
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for node in sorted(calls, key=lambda node: node.lineno):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if name == "Reject":
            for keyword in node.keywords:
                code = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if keyword.arg == "code" and code is not None and (wrong := codes.fault(code)):
                    yield f"{file}:{node.lineno}: Reject(code={dispatch.plainly(code)}): {wrong}"
