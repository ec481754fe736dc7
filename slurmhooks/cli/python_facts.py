# SPDX-License-Identifier: GPL-2.0-or-later
"""Print facts about the Python that runs this file, as JSON.

This file runs as a script (``python -I``) in the Python to embed, which may be old and may lack slurmhooks.
"""

import importlib
import json
import os
import sys
import sysconfig


def config(name: str) -> str:
    """Return a variable of this Python's build; "" if it is unset."""
    return str(sysconfig.get_config_var(name) or "")


def libpython() -> "str | None":
    """Return the path of the shared libpython; None if there is none."""
    libdir = config("LIBDIR")
    folders = [os.path.join(libdir, config("MULTIARCH")), libdir, config("LIBPL"), os.path.join(sys.base_prefix, "lib")]
    for name in (config("INSTSONAME"), config("LDLIBRARY")):
        for folder in folders:
            path = os.path.join(folder, name)
            if ".so" in name and os.path.exists(path):
                return path
    return None


def version_of(module: str) -> "str | None":
    """Return the version of a module; None if it cannot be imported."""
    try:
        return str(importlib.import_module(module).__version__)
    except ImportError:
        return None


def sources() -> "str | None":
    """Return the hash of slurmhooks' sources; None if this Python has no slurmhooks, or one without that function."""
    try:
        return str(importlib.import_module("slurmhooks.identity").here())
    except ImportError:
        return None


def main() -> None:
    """Print the facts."""
    include = sysconfig.get_path("include")
    facts = {
        "version": ".".join(map(str, sys.version_info[:3])),
        "libpython": libpython(),
        "include": include,
        "has_headers": os.path.exists(os.path.join(include, "Python.h")),
        "paths": [path for path in sys.path if os.path.exists(path)],
        "cffi": version_of("cffi"),
        "cffi_backend": version_of("_cffi_backend"),
        "slurmhooks": version_of("slurmhooks._version"),
        "sources": sources(),
        "free_threaded": bool(config("Py_GIL_DISABLED")),
    }
    json.dump(facts, sys.stdout)


if __name__ == "__main__":
    main()
