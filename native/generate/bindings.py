# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the cffi view of one plugin point, from the headers of the Slurm release at hand.

Called by meson.build as ``bindings.py POINT OUTPUT -- COMPILER ARGS``. The compiler preprocesses the headers; which
struct members, functions and constants exist is read from the result, and cffi lets the compiler fill in every
offset. So a new release of Slurm is a rebuild.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable

from cffi import FFI
from headers import Headers, constant_groups, members

# Types that cffi does not know: the compiler tells their size.
PRELUDE = "".join(f"typedef int... {name};\n" for name in ("time_t", "uid_t", "gid_t", "pid_t"))


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
