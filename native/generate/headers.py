# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the structs, members, functions and constants that C headers declare, in the output of the preprocessor."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

SCALARS = {
    "char": "char",
    "bool": "_Bool",
    "_Bool": "_Bool",
    "double": "double",
    "int": "int",
    "long": "long",
    "unsigned int": "unsigned int",
    **{name: name for name in ("int8_t", "int16_t", "int32_t", "int64_t")},
    **{name: name for name in ("uint8_t", "uint16_t", "uint32_t", "uint64_t")},
    **{name: name for name in ("time_t", "uid_t", "gid_t", "pid_t")},
}
MEMBER = re.compile(r"^((?:struct\s+|enum\s+)?[A-Za-z_][\w ]*?)\s*(\**)\s*([A-Za-z_]\w*)$")


class Headers:
    """The declarations of a set of headers."""

    def __init__(self, compiler: list[str], source: str) -> None:
        """Preprocess headers.

        Raises:
            SystemExit: the compiler fails, and has printed its own message.
        """
        command = [*compiler, "-E", "-P", "-x", "c", "-"]
        process = subprocess.run(command, input=source, stdout=subprocess.PIPE, text=True, check=False)
        if process.returncode:
            sys.exit(f"the headers do not compile: {' '.join(command)}")
        self.text = process.stdout
        process = subprocess.run([*command, "-dD"], input=source, stdout=subprocess.PIPE, text=True, check=True)
        self.macros = dict(re.findall(r"^#define (\w+) (.+)$", process.stdout, re.MULTILINE))
        """The macros without arguments and their values, in the order of the headers."""

    def has_function(self, name: str) -> bool:
        """Tell whether the headers declare a function."""
        return re.search(rf"\b{name}\s*\(", self.text) is not None

    def enumerators(self, *prefixes: str) -> list[str]:
        """Return the names of all enum constants that begin with one of the prefixes, in the order of the headers."""
        names: dict[str, None] = {}
        for body in re.findall(r"\benum\b[^;{}()]*\{([^{}]*)\}", self.text):
            for item in body.split(","):
                name = item.split("=")[0].strip()
                if name.startswith(prefixes):
                    names[name] = None
        return list(names)

    def enum(self, tag: str) -> list[str]:
        """Return the names of the constants of ``enum tag``, in order; empty if there is no such enum."""
        body = re.search(rf"\benum\s+{tag}\s*\{{([^{{}}]*)\}}", self.text)
        names = [item.split("=")[0].strip() for item in body.group(1).split(",")] if body else []
        return [name for name in names if name]

    def prefixed(self, *prefixes: str, without: str = "$^") -> list[str]:
        """Return the names of the macros that begin with one of the prefixes.

        Args:
            prefixes: beginnings of names.
            without: a regular expression; names in which it matches are left out.
        """
        return [name for name in self.macros if name.startswith(prefixes) and not re.search(without, name)]

    def bits(self, first: str) -> list[str]:
        """Return the names of consecutive macros whose values are rising ``SLURM_BIT(n)``, beginning with ``first``.

        For flags whose names have no common prefix, such as those of a job.
        """
        names: list[str] = []
        last = -1
        for name, value in self.macros.items():
            if name != first and not names:
                continue
            bit = re.fullmatch(r"SLURM_BIT\((\d+)\)", value)
            if not bit or int(bit.group(1)) <= last:
                break
            last = int(bit.group(1))
            names.append(name)
        return names

    def struct(self, name: str) -> str | None:
        """Return the body of a struct, named by its typedef or ``struct tag``; None if it is not declared."""
        tag = name.removeprefix("struct ")
        if tag == name:
            end = re.search(rf"\}}\s*{name}\s*;", self.text)
            if end:
                return self._body_before(end.start())
            alias = re.search(rf"typedef\s+struct\s+(\w+)\s+{name}\s*;", self.text)
            if not alias:
                return None
            tag = alias.group(1)
        start = re.search(rf"\bstruct\s+{tag}\s*\{{", self.text)
        return self._body_after(start.end()) if start else None

    def _body_before(self, end: int) -> str:
        depth = 1
        position = end
        while depth:
            position -= 1
            depth += {"}": 1, "{": -1}.get(self.text[position], 0)
        return self.text[position + 1 : end]

    def _body_after(self, start: int) -> str:
        depth = 1
        position = start
        while depth:
            depth += {"{": 1, "}": -1}.get(self.text[position], 0)
            position += 1
        return self.text[start : position - 1]

    def scalar(self, name: str) -> str | None:
        """Follow typedefs to a scalar type of C, and return its name; None if the type is not a scalar."""
        name = re.sub(r"\b(const|volatile)\b\s*", "", name).strip()
        for _ in range(5):
            if name in SCALARS:
                return SCALARS[name]
            if re.search(rf"typedef\s+enum\b[^;{{}}]*\{{[^{{}}]*\}}\s*{re.escape(name)}\s*;", self.text):
                return "unsigned int"
            alias = re.search(rf"typedef\s+([\w ]+?)\s+{re.escape(name)}\s*;", self.text)
            if not alias:
                return None
            name = alias.group(1).strip()
        return None


def members(body: str) -> Iterator[tuple[str, str, str]]:
    """Yield type, stars and name of each member of a struct; leave out arrays, function pointers and nested structs."""
    for declaration in re.sub(r"\{[^{}]*\}", "{}", body).split(";"):
        match = MEMBER.match(" ".join(declaration.split()))
        if match:
            yield match.group(1), match.group(2), match.group(3)


def constant_groups(headers: Headers) -> dict[str, list[str]]:
    """Return the names of constants in slurm.h, by the class of slurmhooks.fields.constants that has them."""
    return {
        "AllocHold": headers.prefixed("ALLOC_SID_"),
        "CpuBind": headers.enum("cpu_bind_type"),
        "CpuFreq": headers.prefixed("CPU_FREQ_", without="_MASK$|_FLAG$"),
        "JobFlag": headers.bits("KILL_INV_DEP"),
        "JobState": [name for name in headers.enum("job_states") if name != "JOB_END"],
        "JobStateFlag": headers.bits("JOB_LAUNCH_FAILED"),
        "MailType": headers.prefixed("MAIL_"),
        "MemBind": headers.enum("mem_bind_type"),
        "NodeState": [name for name in headers.enum("node_states") if name != "NODE_STATE_END"],
        "NodeStateFlag": [
            *headers.prefixed("NODE_STATE_", without="_BASE$|_FLAGS$"),
            *headers.prefixed("NODE_RESUME"),
        ],
        "OpenMode": headers.prefixed("OPEN_MODE_"),
        "PartitionFlag": headers.prefixed("PART_FLAG_", without="_CLR$"),
        "PartitionState": headers.prefixed("PARTITION_", without="_ENFORCE_|_SUBMIT$|_SCHED$"),
        "PreemptMode": headers.prefixed("PREEMPT_MODE_"),
        "PowerFlag": headers.prefixed("SLURM_POWER_FLAGS_"),
        "Profile": headers.prefixed("ACCT_GATHER_PROFILE_"),
        "QosFlag": [
            name
            for name in (*headers.prefixed("QOS_FLAG_"), *headers.enumerators("QOS_FLAG_"))
            if not re.search("_(BASE|NOTSET|ADD|REMOVE|NONE)$", name)
        ],
        "ReservationFlag": headers.prefixed("RESERVE_FLAG_", "RESERVE_TRES_"),
        "Shared": [*headers.prefixed("JOB_SHARED_"), "SHARED_FORCE"],
        "StateReason": headers.enum("job_state_reason"),
        "TaskDist": headers.enum("task_dist_states"),
        "TaskDistFlag": ["SLURM_DIST_PACK_NODES", "SLURM_DIST_NO_PACK_NODES"],
        "WarnFlag": headers.bits("KILL_JOB_BATCH"),
        "X11Flag": headers.prefixed("X11_FORWARD_"),
    }
