# SPDX-License-Identifier: GPL-2.0-or-later
"""The built plugins and libraries are protected against memory errors, as readelf shows."""

import json
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.native.building import PLAIN
from tests.native.conftest import built

LAZY = ("prep_python.so", "slurmhooks_own_lua.so", "slurmhooks_submission.so")
"""They are loaded before or without some functions that they refer to: the first by slurmd, too, the others before
Slurm's library."""
CORE = "libslurmhooks_core.so"
WITHOUT_CALLS = "site_factor_python.so"
"""Without Slurm's sources it calls no function of the C library; then there is nothing to check."""
SLURMS = {"plugin_name", "plugin_type", "plugin_version"}
CALLED = {
    "cli_filter_python.so": r"cli_filter_p_\w+",
    "scrun_python.so": r"luaopen_scrun_python|slurmhooks_scrun_script",
    "spank_python": r"slurm_spank_\w+|spank_plugin_version",
    "_slurmhooks_": r"PyInit__slurmhooks_(cli_filter|node|scrun|spank)",
    "slurmhooks_own_lua.so": (
        r"slurmhooks_own_lua_\w+|(job|part|resv)_list|last_(job|resv)_update|(slurm_)?(log_var|error|get_log_level)"
        r"|get_job_script|assoc_mgr_fill_in_\w+"
    ),
    "slurmhooks_submission.so": (
        r"slurm_(submit_batch_job|submit_batch_het_job|allocate_resources_blocking|allocate_het_job_blocking|job_will_run"
        r"|het_job_will_run)|slurmdb_get_first_(avail|het_job)_cluster|connect"
    ),
    CORE: "slurmhooks_core",
    # The plugin points of slurmctld.
    "job_submit": r"slurmhooks_start_workers|init|fini|job_submit|job_modify",
    "": r"slurmhooks_start_workers|init|fini|{point}_p_\w+",
}
"""The symbols that a library may export besides SLURMS, by the start of its name."""


@pytest.fixture(scope="module")
def libraries() -> list[Path]:
    """All shared objects that are installed."""
    plugins = built(PLAIN).plugins
    found = sorted([*plugins.glob("*.so"), *plugins.glob("slurmhooks/*.so")])
    assert len(found) >= 12, found
    return found


def read(library: Path, *options: str) -> str:
    """Return the output of readelf for a file."""
    command = ["readelf", "--wide", *options, str(library)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_tables_are_read_only(libraries: list[Path]) -> None:
    """After loading, nothing can overwrite the addresses of functions (full RELRO), except in the lazy library."""
    for library in libraries:
        dynamic = read(library, "--dynamic")
        assert "GNU_RELRO" in read(library, "--program-headers"), library
        assert ("BIND_NOW" in dynamic or "Flags: NOW" in dynamic) == (library.name not in LAZY), library


def test_memory_is_not_both_writable_and_executable(libraries: list[Path]) -> None:
    """No stack and no segment is executable and writable, and loading changes no code."""
    for library in libraries:
        headers = [row.split() for row in read(library, "--program-headers").splitlines()]
        # The flags, such as R E, are between the sizes and the alignment.
        flags = [(words[0], "".join(words[6:-1])) for words in headers if words[:1] in (["LOAD"], ["GNU_STACK"])]
        assert [each for kind, each in flags if kind == "GNU_STACK"] == ["RW"], library
        assert [each for _, each in flags if "W" in each and "E" in each] == [], library
        assert "TEXTREL" not in read(library, "--dynamic"), library


def test_search_paths(libraries: list[Path]) -> None:
    """Only the core library names a folder in which libraries are looked for: that of the Python it was built for."""
    for library in libraries:
        paths = re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", read(library, "--dynamic"))
        folders = [folder for path in paths for folder in path.split(":")]
        if library.name != CORE:
            assert folders == [], library
            continue
        libdir = Path(sysconfig.get_config_var("LIBDIR"))
        assert folders in ([str(libdir / (sysconfig.get_config_var("MULTIARCH") or ""))], [str(libdir)]), library


def test_exported_symbols(libraries: list[Path]) -> None:
    """A library exports what Slurm, Lua, Python or another plugin of slurmctld looks up, and nothing else."""
    for library in libraries:
        allowed = next(pattern for start, pattern in CALLED.items() if library.name.startswith(start))
        allowed = allowed.replace("{point}", library.name.removesuffix("_python.so"))
        rows = [row.split() for row in read(library, "--dyn-syms").splitlines()]
        exported = {row[7] for row in rows if len(row) > 7 and row[4] in ("GLOBAL", "WEAK") and row[6] != "UND"}
        assert exported, library
        assert {name for name in exported - SLURMS if not re.fullmatch(allowed, name)} == set(), library


def test_checks_of_the_compiler(libraries: list[Path]) -> None:
    """Every file is compiled with checks of the stack and of copies, and the libraries call them."""
    commands = json.loads((built(PLAIN).host.parent / "compile_commands.json").read_text())
    assert len(commands) > 50
    for command in commands:
        for flag in ("-fstack-protector-strong", "-D_FORTIFY_SOURCE=", "-O2"):
            assert flag in command["command"], command["file"]
    for library in libraries:
        symbols = read(library, "--dyn-syms")
        if library.name == WITHOUT_CALLS and not re.search(
            r" GLOBAL +DEFAULT +UND (?!__errno_location)\S+@GLIBC", symbols
        ):
            continue
        assert "__stack_chk_fail" in symbols, library
        assert re.search(r"__\w+_chk@", symbols), library
