# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the cffi view of one plugin point, from the headers of the Slurm release at hand.

Called by meson.build as ``bindings.py POINT OUTPUT -- COMPILER ARGS``. The compiler preprocesses the headers; which
struct members, functions and constants exist is read from the result, and cffi lets the compiler fill in every
offset. So a new release of Slurm is a rebuild.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from cffi import FFI

NATIVE = Path(__file__).resolve().parent

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
# Types that cffi does not know: the compiler tells their size.
PRELUDE = "".join(f"typedef int... {name};\n" for name in ("time_t", "uid_t", "gid_t", "pid_t"))

MEMBER = re.compile(r"^((?:struct\s+|enum\s+)?[A-Za-z_][\w ]*?)\s*(\**)\s*([A-Za-z_]\w*)$")


class Headers:
    """The preprocessed text of some headers, and what it declares."""

    def __init__(self, compiler: list[str], source: str) -> None:
        """Preprocess ``source`` with ``compiler``.

        Raises:
            SystemExit: the compiler refuses; its own message has been printed.
        """
        command = [*compiler, "-E", "-P", "-x", "c", "-"]
        done = subprocess.run(command, input=source, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"the headers do not compile: {' '.join(command)}")
        self.text = done.stdout
        done = subprocess.run([*command, "-dD"], input=source, stdout=subprocess.PIPE, text=True, check=True)
        self.macros = dict(re.findall(r"^#define (\w+) (.+)$", done.stdout, re.MULTILINE))
        """Macros without arguments, in the order of the headers, with what they stand for."""

    def has_function(self, name: str) -> bool:
        """Tell whether a function of that name is declared."""
        return re.search(rf"\b{name}\s*\(", self.text) is not None

    def enumerators(self, *prefixes: str) -> list[str]:
        """Return the names of enum constants that begin with one of the prefixes, in order."""
        names: dict[str, None] = {}
        for body in re.findall(r"\benum\b[^;{}()]*\{([^{}]*)\}", self.text):
            for item in body.split(","):
                name = item.split("=")[0].strip()
                if name.startswith(prefixes):
                    names[name] = None
        return list(names)

    def enum(self, tag: str) -> list[str]:
        """Return the names of the constants of ``enum tag``, in order; none if there is no such enum."""
        found = re.search(rf"\benum\s+{tag}\s*\{{([^{{}}]*)\}}", self.text)
        names = [item.split("=")[0].strip() for item in found.group(1).split(",")] if found else []
        return [name for name in names if name]

    def prefixed(self, *prefixes: str, without: str = "$^") -> list[str]:
        """Return the names of the macros that begin with one of the prefixes.

        Args:
            prefixes: beginnings of names.
            without: a regular expression; what it finds is left out.
        """
        return [name for name in self.macros if name.startswith(prefixes) and not re.search(without, name)]

    def bits(self, first: str) -> list[str]:
        """Return the names of macros that are rising single bits, one after the other, from ``first`` on.

        For flags whose names have nothing in common, such as those of a job.
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
        """Return the body of a struct, by its typedef or as ``struct tag``; None if there is none."""
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
        """Return the cffi name of a scalar type, following typedefs, or None."""
        name = re.sub(r"\b(const|volatile)\b\s*", "", name).strip()
        for _ in range(5):
            if name in SCALARS:
                return SCALARS[name]
            alias = re.search(rf"typedef\s+([\w ]+?)\s+{re.escape(name)}\s*;", self.text)
            if not alias:
                return None
            name = alias.group(1).strip()
        return None


def members(body: str) -> Iterator[tuple[str, str, str]]:
    """Yield (type, stars, name) of each plain member; arrays, function pointers and nested structs are left out."""
    for declaration in re.sub(r"\{[^{}]*\}", "{}", body).split(";"):
        match = MEMBER.match(" ".join(declaration.split()))
        if match:
            yield match.group(1), match.group(2), match.group(3)


def struct(headers: Headers, name: str, known: Iterable[str] = ()) -> str:
    """Return the cdef of a struct with all members that a field can be read from.

    Args:
        headers: where it is declared.
        name: its typedef, or ``struct tag``.
        known: other structs (spelled likewise) whose members may appear, by value or by pointer.
    """
    body = headers.struct(name)
    if body is None:
        sys.exit(f"the headers declare no {name}")
    lines = []
    for ctype, stars, member in members(body):
        scalar = headers.scalar(ctype)
        if ctype == "void" and stars == "*":
            lines.append(f"    void *{member};")
        elif scalar and len(stars) <= (2 if scalar == "char" else 0):
            lines.append(f"    {scalar} {stars}{member};")
        elif ctype in known and len(stars) <= 1:
            lines.append(f"    {ctype} {stars}{member};")
    content = "\n".join([*lines, "    ...;"])
    if name.startswith("struct "):
        return f"{name} {{\n{content}\n}};\n"
    return f"typedef struct {{\n{content}\n}} {name};\n"


LOG_CDEF = (
    "static void slurmhooks_log(int level, const char *text);\nstatic void slurmhooks_syslog(const char *text);\n"
)


def spank(compiler: list[str]) -> tuple[str, str]:
    """Return (cdef, source) of the SPANK view."""
    source = (
        "#include <stdlib.h>\n#include <sys/types.h>\n#include <unistd.h>\n#include <slurm/spank.h>\n"
        '#include "log_bridge.h"\n#include "spank/items.h"\n'
    )
    headers = Headers(compiler, "#include <slurm/spank.h>\n")
    functions = [
        "const char *spank_strerror(int err);",
        "int spank_symbol_supported(const char *symbol);",
        "int spank_option_register(struct spank_handle *spank, struct spank_option *opt);",
        "int spank_option_getopt(struct spank_handle *spank, struct spank_option *opt, char **optarg);",
        "int spank_getenv(struct spank_handle *spank, const char *var, char *buf, int len);",
        "int spank_setenv(struct spank_handle *spank, const char *var, const char *val, int overwrite);",
        "int spank_unsetenv(struct spank_handle *spank, const char *var);",
        "int spank_job_control_setenv(struct spank_handle *sp, const char *name, const char *value, int overwrite);",
        "int spank_job_control_getenv(struct spank_handle *sp, const char *name, char *buf, int len);",
        "int spank_job_control_unsetenv(struct spank_handle *sp, const char *name);",
        "int spank_prepend_task_argv(struct spank_handle *spank, int argc, const char *argv[]);",
    ]
    present = [line for line in functions if headers.has_function(re.findall(r"(\w+)\(", line)[0])]
    constants = headers.enumerators("ESPANK_", "S_")
    cdef = (
        "struct spank_handle;\n"
        "struct spank_option { char *name; char *arginfo; char *usage; int has_arg; int val;\n"
        "    int (*cb)(int val, const char *optarg, int remote); };\n"
        + "\n".join(present)
        + "\n"
        + "".join(f"#define {name} ...\n" for name in constants)
        + "char *getenv(const char *name);\nint setenv(const char *name, const char *value, int overwrite);\n"
        + "int unsetenv(const char *name);\nextern char **environ;\n"
        + "static int slurmhooks_get_item(struct spank_handle *spank, int item, void *first, void *second);\n"
        + "static int slurmhooks_convert(struct spank_handle *spank, int item, uint32_t from, void *to);\n"
        + LOG_CDEF
    )
    return cdef, source


def constant_groups(headers: Headers) -> dict[str, list[str]]:
    """Return the names of slurm.h's constants by the class of slurmhooks.job_submit.constants that they belong to."""
    return {
        "AllocHold": headers.prefixed("ALLOC_SID_"),
        "CpuBind": headers.enum("cpu_bind_type"),
        "CpuFreq": headers.prefixed("CPU_FREQ_", without="_MASK$|_FLAG$"),
        "JobFlag": headers.bits("KILL_INV_DEP"),
        "JobState": [name for name in headers.enum("job_states") if name != "JOB_END"],
        "JobStateFlag": headers.bits("JOB_LAUNCH_FAILED"),
        "MailType": headers.prefixed("MAIL_"),
        "MemBind": headers.enum("mem_bind_type"),
        "OpenMode": headers.prefixed("OPEN_MODE_"),
        "PartitionFlag": headers.prefixed("PART_FLAG_", without="_CLR$"),
        "PartitionState": headers.prefixed("PARTITION_", without="_ENFORCE_|_SUBMIT$|_SCHED$"),
        "PowerFlag": headers.prefixed("SLURM_POWER_FLAGS_"),
        "Profile": headers.prefixed("ACCT_GATHER_PROFILE_"),
        "ReservationFlag": headers.prefixed("RESERVE_FLAG_", "RESERVE_TRES_"),
        "Shared": [*headers.prefixed("JOB_SHARED_"), "SHARED_FORCE"],
        "StateReason": headers.enum("job_state_reason"),
        "TaskDist": headers.enum("task_dist_states"),
        "TaskDistFlag": ["SLURM_DIST_PACK_NODES", "SLURM_DIST_NO_PACK_NODES"],
        "WarnFlag": headers.bits("KILL_JOB_BATCH"),
        "X11Flag": headers.prefixed("X11_FORWARD_"),
        # Numbers that stand for themselves.
        "": ["CORE_SPEC_THREAD", "MEM_PER_CPU", "NICE_OFFSET"]
        + [f"{word}{width}" for word in ("INFINITE", "NO_VAL") for width in ("8", "16", "", "64")],
    }


def job_submit(compiler: list[str]) -> tuple[str, str]:
    """Return (cdef, source) of the public view of job_submit."""
    includes = "#include <slurm/slurm.h>\n#include <slurm/slurm_errno.h>\n#include <slurm/slurm_version.h>\n"
    functions = (
        "char *slurm_xstrdup(const char *text);\n"
        "void slurm_xfree(void **item);\n"
        "void *slurm_xcalloc(size_t count, size_t size, _Bool clear, _Bool try_, const char *file, int line,\n"
        "    const char *function);\n"
    )
    headers = Headers(compiler, includes)
    # Every constant that the header has for errors, whatever it is called.
    own = Headers(compiler, "#include <slurm/slurm_errno.h>\n")
    codes = dict.fromkeys(("SLURM_SUCCESS", "SLURM_ERROR", *own.enumerators("E", "S")))
    groups = {"ESLURM": list(codes)} | constant_groups(headers)
    nested = [name for name in ("slurm_step_id_t",) if headers.struct(name)]
    cdef = "".join(struct(headers, name) for name in nested) + struct(headers, "job_desc_msg_t", nested)
    cdef += functions + LOG_CDEF
    constants = dict.fromkeys(["SLURM_VERSION_NUMBER", *(name for names in groups.values() for name in names)])
    cdef += "".join(f"#define {name} ...\n" for name in constants)
    listed = {
        "constants": ";".join(f"{group}:{','.join(names)}" for group, names in groups.items()),
        "members": ",".join(name for _, _, name in members(headers.struct("job_desc_msg_t") or "")),
    }
    # The allocator's functions are exported, but not declared in the public headers.
    source = includes + '#include "log_bridge.h"\n' + functions
    for name, text in listed.items():
        cdef += f"static const char *const slurmhooks_{name};\n"
        source += f'static const char *const slurmhooks_{name} = "{text}";\n'
    return cdef, source


def slurmctld(compiler: list[str]) -> tuple[str, str]:
    """Return (cdef, source) of slurmctld's private structs; needs the sources of exactly the release."""
    includes = '#include "config.h"\n#include "slurm/slurm.h"\n#include "src/common/slurm_xlator.h"\n'
    includes += (
        '#include "src/common/assoc_mgr.h"\n#include "src/common/uid.h"\n#include "src/slurmctld/reservation.h"\n'
    )
    includes += '#include "src/slurmctld/slurmctld.h"\n'
    headers = Headers(compiler, includes)
    # Each may refer to those before it; a release declares some of them by typedef, others by tag.
    spellings: tuple[str, ...] = (
        "slurm_step_id_t",
        "slurmdb_qos_rec_t",
        "job_array_struct_t",
        "identity_t",
        "struct job_details",
    )
    spellings += ("job_details_t", "part_record_t", "job_record_t", "slurmctld_resv_t")
    present = [name for name in spellings if headers.struct(name)]
    cdef = "".join(struct(headers, name, present[:index]) for index, name in enumerate(present))
    cdef += (
        "static int slurmhooks_partitions(void **items, int size, uint32_t user_id, uint32_t submit_uid);\n"
        "static int slurmhooks_jobs(void **items, int size);\n"
        "static int slurmhooks_reservations(void **items, int size);\n"
        "static void *slurmhooks_find_partition(char *name, uint32_t user_id, uint32_t submit_uid);\n"
        "static void *slurmhooks_find_job(uint32_t job_id);\n"
        "static void *slurmhooks_find_reservation(char *name);\n"
        "static char *slurmhooks_job_script(void *job);\n"
        "static char *slurmhooks_user_name(void *identity, uint32_t user_id);\n"
        "static char *slurmhooks_default_account(uint32_t user_id);\n"
        "static char *slurmhooks_default_qos(uint32_t user_id, char *account, char *partition);\n"
        "static char *slurmhooks_assoc_comment(uint32_t user_id, char *account, char *partition);\n"
        "static char *slurmhooks_assoc_qos(uint32_t user_id, char *account, char *partition);\n"
        "static int64_t slurmhooks_qos_priority(char *name);\n"
        "static const char *slurmhooks_cluster_name(void);\n"
        "void free(void *memory);\n"
    )
    headers_of_ours = ("slurmctld_lists.h", "slurmctld_users.h")
    return cdef, includes + "".join(f'#include "job_submit/{name}"\n' for name in headers_of_ours)


POINTS: dict[str, Callable[[list[str]], tuple[str, str]]] = {
    "spank": spank,
    "job_submit": job_submit,
    "slurmctld": slurmctld,
}


def main() -> None:
    """Write the C source of one view."""
    point, output, separator, *compiler = sys.argv[1:]
    if separator != "--" or point not in POINTS:
        sys.exit("usage: bindings.py POINT OUTPUT -- COMPILER ARGS...")
    cdef, source = POINTS[point](compiler)
    ffi = FFI()
    ffi.cdef(PRELUDE + cdef)
    ffi.set_source(f"_slurmhooks_{point}", source)
    ffi.emit_c_code(output)


main()
