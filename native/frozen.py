#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write as C, for ``PyImport_FrozenModules``, the modules that every launch would import from files.

Usage: frozen.py OUTPUT BYTECODE, with the Python that the plugins embed; BYTECODE is slurmhooks/bytecode.py.
"""

import importlib.util
import marshal
import sys
from pathlib import Path

MODULES = ("encodings", "encodings.aliases", "encodings.utf_8")
"""CPython has the others of its start in itself."""
BYTECODE = "_slurmhooks_bytecode"
COLUMNS = 24


def sources() -> dict[str, tuple[str, bool]]:
    """Return the file of each module, and whether it is a package."""
    found = {BYTECODE: (sys.argv[2], False)}
    for name in MODULES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            sys.exit(f"{sys.executable} has no sources of {name}")
        found[name] = (spec.origin, spec.submodule_search_locations is not None)
    return found


def render() -> str:
    """Return the C source: one array a module, and the table."""
    arrays, rows = [], []
    for name, (path, is_package) in sources().items():
        code = marshal.dumps(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True))
        symbol = name.replace(".", "_")
        lines = [", ".join(map(str, code[at : at + COLUMNS])) for at in range(0, len(code), COLUMNS)]
        arrays.append(f"static const unsigned char {symbol}[] = {{\n    " + ",\n    ".join(lines) + ",\n};\n")
        members = f'.name = "{name}", .code = {symbol}, .size = sizeof({symbol}), .is_package = {int(is_package)}'
        rows.append(f"    {{{members}}},\n")
    table = "static const struct _frozen frozen_modules[] = {\n" + "".join(rows) + "    {.name = NULL},\n};\n"
    return "\n".join([*arrays, table])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render())
