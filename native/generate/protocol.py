# SPDX-License-Identifier: GPL-2.0-or-later
"""Write protocol.h: the numbers by which C and Python name hooks.

Usage: protocol.py; prints the header.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve()
# In a checkout, or in an installed package.
sys.path.insert(0, str(next(path for path in HERE.parents if (path / "slurmhooks" / "wire").is_dir())))

from slurmhooks.hook_specs import COMMANDS, POINTS  # noqa: E402

ENUMERATIONS = {
    "spank": ("callback", "CALLBACK", "SLURMHOOKS_CALLBACKS"),
    "cli_filter": ("filter", "FILTER", "SLURMHOOKS_FILTERS"),
}
"""Points whose C code lists all hooks: the enumeration, the prefix of its members, and the macro for each hook."""


def main() -> None:
    """Print the header."""
    lines = [
        "/* SPDX-License-Identifier: GPL-2.0-or-later */",
        "/* Written by native/generate/protocol.py from slurmhooks/hook_specs.py. */",
        "#ifndef SLURMHOOKS_PROTOCOL_H",
        "#define SLURMHOOKS_PROTOCOL_H",
    ]
    for point in POINTS.values():
        lines += ["", f"/* The hooks of {point.name}, as messages and calls of Python number them. */"]
        if point.name in ENUMERATIONS:
            name, prefix, macro = ENUMERATIONS[point.name]
            lines += [f"#define {macro}(X) {' '.join(f'X({word})' for word in point.functions)}"]
            lines += [enumeration(name, prefix, (*point.functions, "COUNT"))]
        else:
            lines += [enumeration(f"slurmhooks_{point.name}_hook", "HOOK", point.functions)]
    lines += ["", "/* The commands that call cli_filter. */", enumeration("slurmhooks_command", "COMMAND", COMMANDS)]
    lines += ["", "#endif"]
    print("\n".join(lines))


def enumeration(name: str, prefix: str, words: Iterable[str]) -> str:
    """Return an enumeration from 0 on."""
    return f"enum {name} {{ {', '.join(f'{prefix}_{word}' for word in words)} }};"


main()
