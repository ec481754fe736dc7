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
        if scalar and len(stars) <= (2 if scalar == "char" else 0):
            lines.append(f"    {scalar} {stars}{member};")
        elif ctype in known and len(stars) <= 1:
            lines.append(f"    {ctype} {stars}{member};")
    content = "\n".join([*lines, "    ...;"])
    if name.startswith("struct "):
        return f"{name} {{\n{content}\n}};\n"
    return f"typedef struct {{\n{content}\n}} {name};\n"


LOG_CDEF = "static void slurmhooks_log(int level, const char *text);\nstatic void slurmhooks_syslog(const char *text);\n"


def spank(compiler: list[str]) -> tuple[str, str]:
    """Return (cdef, source) of the SPANK view."""
    source = '#include <stdlib.h>\n#include <sys/types.h>\n#include <unistd.h>\n#include <slurm/spank.h>\n#include "log_bridge.h"\n#include "spank/items.h"\n'
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


def job_submit(compiler: list[str]) -> tuple[str, str]:
    """Return (cdef, source) of the public view of job_submit."""
    includes = "#include <slurm/slurm.h>\n#include <slurm/slurm_errno.h>\n"
    functions = (
        "char *slurm_xstrdup(const char *text);\n"
        "void slurm_xfree(void **item);\n"
        "void *slurm_xcalloc(size_t count, size_t size, _Bool clear, _Bool try_, const char *file, int line,\n"
        "    const char *function);\n"
    )
    headers = Headers(compiler, includes)
    codes = [name for name in headers.enumerators("ESLURM_", "SLURM_") if name not in ("SLURM_SUCCESS", "SLURM_ERROR")]
    nested = [name for name in ("slurm_step_id_t",) if headers.struct(name)]
    cdef = "".join(struct(headers, name) for name in nested) + struct(headers, "job_desc_msg_t", nested) + functions
    cdef += "".join(f"#define {name} ...\n" for name in ("SLURM_SUCCESS", "SLURM_ERROR", *codes)) + LOG_CDEF
    # The allocator's functions are exported, but not declared in the public headers.
    source = includes + '#include "log_bridge.h"\n' + functions
    return cdef, source


def slurmctld(compiler: list[str]) -> tuple[str, str]:
    """Return (cdef, source) of slurmctld's private structs; needs the sources of exactly the release."""
    includes = '#include "config.h"\n#include "slurm/slurm.h"\n#include "src/common/slurm_xlator.h"\n'
    includes += '#include "src/slurmctld/slurmctld.h"\n'
    headers = Headers(compiler, includes)
    spellings = ("slurm_step_id_t", "struct job_details", "job_details_t", "part_record_t", "job_record_t")
    present = [name for name in (*spellings, "slurmctld_resv_t") if headers.struct(name)]
    # Each may refer to those before it.
    cdef = "".join(struct(headers, name, present[:index]) for index, name in enumerate(present))
    cdef += (
        "static int slurmhooks_partitions(void **items, int size, uint32_t user_id, uint32_t submit_uid);\n"
        "static int slurmhooks_jobs(void **items, int size);\n"
        "static int slurmhooks_reservations(void **items, int size);\n"
        "static void *slurmhooks_find_partition(char *name, uint32_t user_id, uint32_t submit_uid);\n"
        "static void *slurmhooks_find_job(uint32_t job_id);\n"
    )
    return cdef, includes + '#include "job_submit/slurmctld_lists.h"\n'


def scrun(compiler: list[str]) -> tuple[str, str]:
    """Return (cdef, source) of the scrun view."""
    del compiler
    header = (NATIVE / "scrun" / "container.h").read_text()
    source = '#include <stdint.h>\n#include <stdlib.h>\n#include "scrun/container.h"\n#include "log_bridge.h"\n'
    return header + "void free(void *);\n" + LOG_CDEF, source


POINTS: dict[str, Callable[[list[str]], tuple[str, str]]] = {
    "spank": spank,
    "job_submit": job_submit,
    "slurmctld": slurmctld,
    "scrun": scrun,
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
