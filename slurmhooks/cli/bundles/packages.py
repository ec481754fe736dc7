# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed packages that a set imports: no set has them, so what they are at its deployment is noted."""

import ast
import json
import os
import sys
import tomllib
from collections.abc import Collection
from contextlib import suppress
from hashlib import sha256
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from slurmhooks.files import durable, sums

if TYPE_CHECKING:
    from importlib.metadata import Distribution

FILE_NAME = ".packages"
"""A hidden file of the set: what each package was, by the name that it is imported by, on the host that has deployed
the set last. Other hosts may have the same file, see slurmhooks.home: nothing is known of their packages."""
SHOWN = 8
"""Digits of a hash."""
UNKNOWN = "unknown"
"""The state of a package that is in an archive, or so damaged that one of these is raised."""
DAMAGED = (OSError, ValueError, TypeError, AttributeError, LookupError, ImportError)


def note(place: Path) -> None:
    """Note what the packages are that the files of a set import."""
    noted = {"host": os.uname().nodename, "packages": _present(_imported(place))}
    durable.write(place / FILE_NAME, json.dumps(noted).encode(), 0o444)


def changed(place: Path) -> list[str]:
    """Return a text for each package that is no longer what it was when a set was deployed."""
    try:
        noted = json.loads((place / FILE_NAME).read_bytes())
        known = dict(noted["packages"]) if noted["host"] == os.uname().nodename else {}
        present = _present(known)
    except FileNotFoundError:
        return []  # deployed by an earlier release
    except (OSError, ValueError, TypeError, LookupError) as error:
        return [f"{place / FILE_NAME}: {error}"]
    return [
        f"package {name}: was {was} at the deployment, is {present[name]}"
        for name, was in known.items()
        if was != present[name]
    ]


def _imported(place: Path) -> set[str]:
    """Return the names of the packages that a set imports, without its own, Python's and slurmhooks."""
    found, own = set[str](), set[str]()
    for folder, names in sums.walk(str(place)):
        for path in (Path(folder, name) for name in names):
            own |= {path.stem, *path.relative_to(place).parts[:-1]}
            # What cannot be read is refused when the set is loaded, or is data of handlers.
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError, AttributeError, TypeError):
                if path.suffix == ".py":
                    found |= _of_python(path.read_bytes())
                elif path.suffix == ".toml":
                    found |= {*map(str, tomllib.loads(path.read_text()).get("hooks", {}).get("modules", ()))}
    tops = {name.partition(".")[0] for name in found} - sys.stdlib_module_names - {"slurmhooks"}
    return {name for name in tops if name not in own or PathFinder.find_spec(name) is not None}


def _of_python(text: bytes) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            names.add(node.module)
    return names


def _present(names: Collection[str]) -> dict[str, str]:
    """Return what packages are now: their versions, and a hash of RECORD, or of their own file if there is none."""
    if not names:
        return {}
    from importlib import metadata  # slow, and few sets need it

    def state(name: str) -> str:
        try:
            of_name = sorted(filter(None, set(named.get(name, ()))))
            return _state(name, list(map(metadata.distribution, of_name)))
        except DAMAGED:
            return UNKNOWN

    try:
        named = metadata.packages_distributions()
    except DAMAGED:
        return dict.fromkeys(names, UNKNOWN)
    return {name: state(name) for name in sorted(names)}


def _state(name: str, found: "list[Distribution]") -> str:
    content = "".join(each.read_text("RECORD") or "" for each in found).encode()
    spec = PathFinder.find_spec(name)
    if spec is None:
        return "not installed"
    if not content and spec.has_location and spec.origin is not None:
        content = Path(spec.origin).read_bytes()
    return " ".join([*(each.version or "?" for each in found), f"({sha256(content).hexdigest()[:SHOWN]})"])
