# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the tables of Slurm's structs: as C with offsets, and as text for slurmhooks.wire.tables.

Usage: tables.py TIER SOURCE TEXT -- COMPILER ARGS, where TIER is ``public`` or ``source``, and the compiler finds the
headers of the Slurm release to build for. A table has the members that rows of slurmhooks/fields read, as
far as these headers declare them. The compiler determines their offsets, and checks their sizes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from headers import Headers, constant_groups, members

HERE = Path(__file__).resolve()
# In a checkout, or in an installed package.
sys.path.insert(0, str(next(path for path in HERE.parents if (path / "slurmhooks" / "wire").is_dir())))

from slurmhooks.fields import COUNTERS, TABLES  # noqa: E402
from slurmhooks.fields.rows import Computed, Strings, rows  # noqa: E402
from slurmhooks.wire.tables import WIDTHS, Member, Table, Tables  # noqa: E402

PUBLIC = (
    "#include <slurm/slurm.h>\n#include <slurm/slurm_errno.h>\n#include <slurm/slurm_version.h>\n"
    "#include <slurm/slurmdb.h>\n"
)
SOURCE = (
    '#include "config.h"\n#include "slurm/slurm.h"\n#include "slurm/slurm_errno.h"\n'
    '#include "src/common/slurm_xlator.h"\n#include "src/common/assoc_mgr.h"\n'
    '#include "src/slurmctld/reservation.h"\n#include "src/slurmctld/slurmctld.h"\n#include "slurmctld/rows.h"\n'
)
STRUCTS = {
    "job": "job_desc_msg_t",
    "record": "job_record_t",
    "partition": "part_record_t",
    "reservation": "slurmctld_resv_t",
    "node": "struct slurmhooks_node",
    "license": "slurm_license_info_t",
    "qos": "struct slurmhooks_qos",
    "association": "struct slurmhooks_association",
}
COPY = "record"
"""The member of a struct in native/slurmctld/rows.h that is a copy of Slurm's struct, whose members the table has."""
KINDS = {
    **dict.fromkeys(("bool", "_Bool", "uint8_t"), "u8"),
    "uint16_t": "u16",
    **dict.fromkeys(("uint32_t", "uid_t", "gid_t", "pid_t", "unsigned int"), "u32"),
    **dict.fromkeys(("uint64_t", "double"), "u64"),
    "time_t": "time",
}


@dataclass(frozen=True)
class Place:
    """A member of a table, and its location in C.

    Attributes:
        member: the member in the table.
        pointers: the paths of the pointers to the nested struct that has the member, each from the one before; empty if
            the table's struct has it.
        path: its path from there.
        count: the path of its counter, if it is an array; else empty.
    """

    member: Member
    pointers: tuple[str, ...]
    path: str
    count: str


class Struct:
    """A struct in the headers."""

    def __init__(self, headers: Headers, name: str) -> None:
        """Find its members.

        Raises:
            SystemExit: the headers do not declare the struct.
        """
        body = headers.struct(name)
        if body is None:
            sys.exit(f"the headers do not declare {name}")
        self.name = name
        self._headers = headers
        self._members = {member: (ctype, stars) for ctype, stars, member in members(body)}
        copy = self.nested(COPY)
        self._copy = None if copy is None or copy[1] else copy[0]

    def kind(self, member: str) -> str | None:
        """Return the kind of a member; None if it does not exist or its type is not supported."""
        ctype, stars = self._members.get(member, ("", ""))
        if ctype.startswith("enum ") and not stars:
            return "u32"
        scalar = self._headers.scalar(ctype)
        if scalar == "char":
            return {"*": "text", "**": "texts"}.get(stars)
        return None if stars else KINDS.get(scalar or "")

    def nested(self, member: str) -> tuple[Struct, bool] | None:
        """Return the struct of a member, and whether the member is a pointer to it; None if it is of another type."""
        ctype, stars = self._members.get(member, ("", ""))
        if len(stars) > 1 or not ctype or self._headers.struct(ctype) is None:
            return None
        return Struct(self._headers, ctype), bool(stars)

    def find(self, path: str, writable: bool, count: str) -> Place | None:
        """Return a member by its path, or None.

        Args:
            path: names, separated by dots.
            writable: whether answers may write it.
            count: the path of its counter, if it is an array; else empty.
        """
        place = self._find_own(path, writable, count)
        if place is not None or self._copy is None:
            return place
        place = self._copy.find(path, writable, count)
        if place is None:
            return None
        return _within(COPY, place)

    def _find_own(self, path: str, writable: bool, count: str) -> Place | None:
        first, dot, rest = path.partition(".")
        if not dot:
            kind = self.kind(path)
            return None if kind is None else Place(Member(path, kind, writable), (), path, count)
        inner = self.nested(first)
        place = None if inner is None else inner[0].find(rest, writable, count.partition(".")[2])
        if inner is None or place is None:
            return None
        place = replace(place, member=Member(path, place.member.kind, writable))
        return replace(place, pointers=(first, *place.pointers)) if inner[1] else _within(first, place)


def _within(struct: str, place: Place) -> Place:
    """Return the place of a member whose struct is itself a member of another one."""
    if place.pointers:
        return replace(place, pointers=(f"{struct}.{place.pointers[0]}", *place.pointers[1:]))
    return replace(place, path=f"{struct}.{place.path}", count=place.count and f"{struct}.{place.count}")


def members_of(headers: Headers, name: str) -> list[Place]:
    """Return the members of a table."""
    struct = Struct(headers, STRUCTS[name])
    wanted: dict[str, tuple[bool, str]] = {}
    for row in rows(TABLES[name]).values():
        if isinstance(row, Computed):
            continue
        path = next((path for path in row.members if struct.find(path, False, "")), None)
        if path is not None:
            count = row.count if isinstance(row, Strings) else ""
            wanted[path] = (wanted.get(path, (False, ""))[0] or row.writable, count)
    if name == "job":
        wanted |= {array: (True, count) for array, count in COUNTERS.items()}
    elif name == "record":
        wanted["user_name"] = (False, "")
    places = [place for path, options in wanted.items() if (place := struct.find(path, *options))]
    pointers: dict[tuple[str, ...], str] = {}
    for place in places:
        outer = place.member.name
        for depth in range(len(place.pointers), 0, -1):
            outer = outer.rpartition(".")[0]
            pointers[place.pointers[:depth]] = outer
    return [Place(Member(name, "pointer"), path[:-1], path[-1], "") for path, name in sorted(pointers.items())] + places


def constants(compiler: list[str], headers: Headers) -> dict[str, dict[str, int]]:
    """Return the values of constants and error codes by group. A compiled program prints them."""
    own = Headers(compiler, "#include <slurm/slurm_errno.h>\n")
    codes = dict.fromkeys(("SLURM_SUCCESS", "SLURM_ERROR", *own.enumerators("E", "S")))
    groups = {"ESLURM": list(codes)} | constant_groups(headers)
    names = dict.fromkeys(name for group in groups.values() for name in group)
    lines = "".join(f'    printf("{name} %lld\\n", (long long)({name}));\n' for name in names)
    source = f"#include <stdio.h>\n{PUBLIC}int main(void)\n{{\n{lines}    return 0;\n}}\n"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "constants"
        subprocess.run([*compiler, "-w", "-x", "c", "-", "-o", str(program)], input=source, text=True, check=True)
        output = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, check=True).stdout
    values = {name: int(value) for name, value in (line.split() for line in output.splitlines())}
    unsigned = {name: value % (1 << 64) for name, value in values.items()}
    return {
        group: {name: (values if group == "ESLURM" else unsigned)[name] for name in listed}
        for group, listed in groups.items()
    }


def initializer(struct: str, place: Place) -> str:
    """Return the C initializer of a member."""
    member = place.member
    kind = f"SLURMHOOKS_{member.kind.upper()}"
    size = WIDTHS[member.kind] // 8 or 8 if member.kind in WIDTHS else 8
    flag = "true" if member.writable else "false"
    base, via = struct, ["SLURMHOOKS_DIRECT"] * 2
    for number, pointer in enumerate(place.pointers):
        via[number] = f"offsetof({base}, {pointer})"
        base = f"SLURMHOOKS_POINTEE({base}, {pointer})"
    count = f"SLURMHOOKS_PLACE({base}, {place.count}, 4)" if place.count else "0"
    offset = f"SLURMHOOKS_PLACE({base}, {place.path}, {size})"
    return f'    {{"{member.name}", {kind}, {flag}, {{{via[0]}, {via[1]}}}, {offset}, {count}}},\n'


def main() -> None:
    """Write both files."""
    tier, source, text, separator, *compiler = sys.argv[1:]
    if separator != "--" or tier not in ("public", "source"):
        sys.exit("usage: tables.py public|source SOURCE TEXT -- COMPILER ARGS...")
    includes = PUBLIC if tier == "public" else SOURCE
    headers = Headers(compiler, includes)
    number = int(re.sub(r"[uUlL]*$", "", headers.macros["SLURM_VERSION_NUMBER"]), 0)
    release = f"{number >> 16 & 0xFF}.{number >> 8 & 0xFF:02d}.{number & 0xFF}"
    places = {name: members_of(headers, name) for name in TABLES if tier == "source" or name == "job"}
    tables = Tables(
        release,
        tier,
        tuple(Table(name, tuple(item.member for item in items)) for name, items in places.items()),
        constants(compiler, headers),
    )
    lines = ["/* SPDX-License-Identifier: GPL-2.0-or-later */\n", "/* Written by native/generate/tables.py. */\n"]
    lines += [includes, '\n#include "wire/wire.h"\n']
    for name, items in places.items():
        lines.append(f"\nstatic const struct slurmhooks_member {name}_members[] = {{\n")
        lines += [initializer(STRUCTS[name], item) for item in items]
        lines.append("};\n")
    lines.append("\nconst struct slurmhooks_tables slurmhooks_tables = {\n")
    lines.append(f"    0x{tables.identity:016x}ULL,\n    {len(places)},\n    {{\n")
    lines += [f'        {{"{name}", {len(items)}, {name}_members}},\n' for name, items in places.items()]
    lines.append("    },\n};\n")
    text_lines = "\n".join(f'    "{line}\\n"' for line in tables.text.splitlines())
    lines.append(f"\nconst char slurmhooks_tables_text[] =\n{text_lines};\n")
    Path(source).write_text("".join(lines))
    Path(text).write_text(tables.text)


main()
