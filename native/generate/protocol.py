# SPDX-License-Identifier: GPL-2.0-or-later
"""Write protocol.h: the numbers that C and Python share.

Usage: protocol.py OUTPUT
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).resolve()
# In a checkout, or in an installed package.
sys.path.insert(0, str(next(path for path in HERE.parents if (path / "slurmhooks" / "wire").is_dir())))

from slurmhooks.fields import TABLES  # noqa: E402
from slurmhooks.hooks.points import COMMANDS, ENDS, MOST_OPTIONS, MOST_WORDS, ORIGINS, POINTS  # noqa: E402
from slurmhooks.wire import protocol  # noqa: E402

ENUMERATIONS = {
    "spank": ("callback", "CALLBACK", "SLURMHOOKS_CALLBACKS"),
    "cli_filter": ("filter", "FILTER", "SLURMHOOKS_FILTERS"),
}
"""Points whose C code lists all hooks: the enumeration, the prefix of its members, and the macro for each hook."""

SHARED = {
    protocol.Type: "SLURMHOOKS",
    protocol.What: "WHAT",
    protocol.Fact: "FACT",
    protocol.Status: "STATUS",
    protocol.ChannelKind: "CHANNEL",
    protocol.Flag: "FLAG",
    protocol.Control: "CONTROL",
    protocol.Availability: "AVAILABILITY",
    protocol.Unserved: "UNSERVED",
    protocol.Result: "SLURMHOOKS",
    protocol.DeliveryItem: "DELIVERY",
    protocol.FactorsItem: "FACTORS",
    protocol.Fsync: "SLURMHOOKS_FSYNC",
}
"""The enumerations of slurmhooks/wire/protocol.py, with the prefix of their members in C."""
TAGS = ("TEXT_FOR_USER", "EXCLUDED_HANDLER", "MEMBERS", "VARIABLES", "WAIT", "PAGE_END", "TALLY")
SIZES = ("MAX_MESSAGE", "INLINE", "SHORT", "MAX_CONDITIONS", "MAX_CONTROL_MESSAGE", "STATUS_PAGE")


def main(output: Path) -> None:
    """Write the header."""
    lines = [
        "/* SPDX-License-Identifier: GPL-2.0-or-later */",
        "/* Written by native/generate/protocol.py from hooks/points.py, fields and wire/protocol.py. */",
        "#ifndef SLURMHOOKS_PROTOCOL_H",
        "#define SLURMHOOKS_PROTOCOL_H",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
    ]
    for point in (point for point in POINTS.values() if point.called):
        lines += ["", f"/* The hooks of {point.name}, as messages and calls of Python number them. */"]
        if point.name in ENUMERATIONS:
            name, prefix, macro = ENUMERATIONS[point.name]
            lines += [f"#define {macro}(X) {' '.join(f'X({word})' for word in point.functions)}"]
            lines += [enumeration(name, prefix, (*point.functions, "COUNT"))]
        else:
            lines += [enumeration(f"slurmhooks_{point.name}_hook", "HOOK", point.functions)]
    callbacks = {spec.short_name: spec for spec in POINTS["spank"].hooks}
    costly = " ".join(f"X({name})" for name, spec in callbacks.items() if spec.cost)
    lines += ["", "/* The callbacks that not every variant of the SPANK plugin exports. */"]
    lines += [f"#define SLURMHOOKS_COSTLY_CALLBACKS(X) {costly}"]
    tasks = " ".join(f"X({name})" for name, spec in callbacks.items() if spec.contexts == ("remote",))
    lines += ["", "/* The callbacks that slurmstepd calls while it starts and ends tasks. */"]
    lines += [f"#define SLURMHOOKS_TASK_CALLBACKS(X) {tasks}"]
    plugins = " ".join(f"X({point.name}, {point.member})" for point in POINTS.values() if point.member)
    lines += ["", "/* The plugins that have workers, and the members of slurm_conf_t that name them. */"]
    lines += [f"#define SLURMHOOKS_PLUGINS(X) {plugins}"]
    lines += [
        "",
        "/* The tables of structs, as messages number them. */",
        enumeration("slurmhooks_struct", "TABLE", TABLES),
    ]
    lines += ["", "/* The commands that call cli_filter. */", enumeration("slurmhooks_command", "COMMAND", COMMANDS)]
    lines += ["", "/* Where the value of an option comes from. */", enumeration("slurmhooks_origin", "FROM", ORIGINS)]
    lines += ["", "/* What is ended to stop a handler. */", enumeration("ends", "ENDS", ENDS)]
    lines += ["", "/* Limits of a line of plugstack.conf, and of a line of the manifest. */"]
    lines += [f"#define SLURMHOOKS_MOST_OPTIONS {MOST_OPTIONS}", f"#define SLURMHOOKS_MOST_WORDS {MOST_WORDS}"]
    for kind, prefix in SHARED.items():
        doc = (kind.__doc__ or "").partition("\n")[0]
        members = ", ".join(f"{prefix}_{member.name} = {member.value}" for member in kind)
        lines += ["", f"/* {doc} */", f"enum slurmhooks_{snake(kind.__name__)} {{ {members} }};"]
    lines += [""]
    lines += [f"#define SLURMHOOKS_{name} UINT32_C({getattr(protocol, name)})" for name in TAGS]
    lines += [f"#define SLURMHOOKS_{name} ((size_t){getattr(protocol, name)})" for name in SIZES]
    lines += [f"#define SLURMHOOKS_DEFERRED UINT64_C({protocol.DEFERRED})"]
    lines += [f'#define SLURMHOOKS_MAGIC "{protocol.MAGIC.decode()}"', "", "#endif"]
    output.write_text("\n".join(lines) + "\n")


def snake(name: str) -> str:
    """Return the name of a class as C writes names."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def enumeration(name: str, prefix: str, words: Iterable[str]) -> str:
    """Return an enumeration from 0 on."""
    return f"enum {name} {{ {', '.join(f'{prefix}_{word}' for word in words)} }};"


main(Path(sys.argv[1]))
