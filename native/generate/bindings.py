# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the C source of the cffi module for SPANK.

Usage: bindings.py OUTPUT -- COMPILER ARGS. With these ARGS the compiler finds the headers of the Slurm release to build
for. The module has the functions and constants that these headers declare, so that a new release of Slurm needs only a
rebuild.
"""

from __future__ import annotations

import re
import sys

from cffi import FFI
from headers import Headers

# Types that cffi does not know; the compiler determines their size.
PRELUDE = "".join(f"typedef int... {name};\n" for name in ("time_t", "uid_t", "gid_t", "pid_t"))

LOG_CDEF = (
    "static void slurmhooks_log(int level, const char *text);\nstatic void slurmhooks_syslog(const char *text);\n"
)


def spank(compiler: list[str]) -> tuple[str, str]:
    """Return the declarations for cffi, and the C source that includes the headers."""
    source = (
        "#include <stdlib.h>\n#include <sys/types.h>\n#include <unistd.h>\n#include <slurm/spank.h>\n"
        '#include "log.h"\n#include "spank/items.h"\n'
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


def main() -> None:
    """Write the C source of the module."""
    output, separator, *compiler = sys.argv[1:]
    if separator != "--":
        sys.exit("usage: bindings.py OUTPUT -- COMPILER ARGS...")
    cdef, source = spank(compiler)
    ffi = FFI()
    ffi.cdef(PRELUDE + cdef)
    ffi.set_source("_slurmhooks_spank", source)
    ffi.emit_c_code(output)


main()
