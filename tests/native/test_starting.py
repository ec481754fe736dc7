# SPDX-License-Identifier: GPL-2.0-or-later
"""With a damaged installation each entry point that needs Python fails closed."""

import importlib.util
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.wire.tables import FILE_NAME
from tests.native.hosting import Host
from tests.native.test_spank import CALLBACKS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CORE = Path("slurmhooks") / "libslurmhooks_core.so"


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text in a binary by another one of the same length."""
    assert len(old) == len(new)
    raw = path.read_bytes()
    assert old.encode() in raw
    path.write_bytes(raw.replace(old.encode(), new.encode()))


def no_core(host: Host) -> None:
    """Delete the core library, as after an unfinished removal."""
    (host.plugins / CORE).unlink()


def other_core(host: Host) -> None:
    """Replace the core library by one of another build."""
    shutil.copy(host.build.other_core, host.plugins / CORE)


def no_core_at_all(host: Host) -> None:
    """Replace the core library by another library."""
    shutil.copy(host.plugins / "spank_python.so", host.plugins / CORE)


def empty_core(host: Host) -> None:
    """Make the core library an empty file, as on a full disk."""
    (host.plugins / CORE).write_bytes(b"")


def no_libpython(host: Host) -> None:
    """Make the core library need a libpython that does not exist, as after an upgrade of the distribution."""
    library = sysconfig.get_config_var("INSTSONAME")
    replace(host.plugins / CORE, library, library.replace("python3", "python9"))


def no_standard_library(host: Host) -> None:
    """Make the core library use a standard library that does not exist."""
    folder = sysconfig.get_path("stdlib")
    replace(host.plugins / CORE, folder + "\0", folder[:-1] + "X\0")


def no_slurmhooks(host: Host) -> None:
    """Delete the compiled modules: Python starts, but cannot import the entry modules."""
    for path in (host.plugins / "slurmhooks").glob("_slurmhooks_*.so"):
        path.unlink()


DAMAGES: dict[Callable[[Host], None], str] = {
    no_core: "cannot open",
    other_core: "is from another build than this plugin",
    no_core_at_all: "is from another build than this plugin",
    empty_core: "cannot open",
    no_libpython: "cannot open",
    no_standard_library: "did not start",
    no_slurmhooks: "cannot open shared object file",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage.__name__))
def test_every_entry_point_fails_closed(host: Host, damage: Callable[[Host], None]) -> None:
    """All calls of SPANK, cli_filter and scrun return their failure codes, the log says why, and the process continues.

    The plugin for slurmctld works, as it does not need the core library.
    """
    host.site("hook.job_submit(lambda job: None)")
    host.use_copy_of_plugins()
    damage(host)
    calls = "".join(
        f"context {context}\n" + "".join(f"call sp {name}\n" for name in names) for context, names in CALLBACKS.items()
    )
    run = host.run(
        f"""
        open js $job_submit
        job_submit js account=a
        open sp $spank hooks.py
        {calls}
        open filter $plugins/cli_filter_python.so
        enter filter cli_filter_p_setup_defaults
        enter filter cli_filter_p_pre_submit
        lua $lua
        stage_in bundle=/b
        stage_out
        balance
        """,
        quiet=damage is not no_standard_library,  # CPython itself prints its search path
    )
    assert len(run.of("call")) == sum(map(len, CALLBACKS.values()))
    assert {result["callback"] for result in run.of("call")} == {name for names in CALLBACKS.values() for name in names}
    assert {result.rc for result in run.of("call")} == {-3000}
    assert [result.rc for name in ("enter", "stage_in", "stage_out") for result in run.of(name)] == [-1] * 4
    assert run.one("job_submit").rc == 0
    assert DAMAGES[damage] in run
    assert run.one("balance")["alive"] == 0


@pytest.mark.parametrize("frozen", [True, False])
def test_where_modules_come_from(host: Host, frozen: bool) -> None:
    """Modules that launches need are imported from the core library, or from files if that is impossible."""
    host.site(
        """
        import sys

        @hook.spank.exit
        def leave(spank):
            import encodings.latin_1
            import slurmhooks.testing
            loaders = {type(sys.modules[name].__loader__).__name__ for name in sys.modules if name in (
                "encodings", "slurmhooks", "slurmhooks.spank", "slurmhooks.entry.spank")}
            log.info("from", loaders=sorted(loaders), file=sys.modules["slurmhooks.entry.spank"].__file__)
            log.info("latin", file=encodings.latin_1.__file__)
            slurmhooks.spank.model.Spank.commit(None)
        """
    )
    host.use_copy_of_plugins()
    if not frozen:
        replace(host.plugins / CORE, "%s/encodings/__init__.py", "%s/encodings/__init__.pX")
    run = host.run("open sp $spank hooks.py\ncontext local\ncall sp exit")
    loader = "type" if frozen else "SourceFileLoader"
    assert run.said("from") == [f"loaders=['{loader}'] file='{ROOT}/slurmhooks/entry/spank.py'"]
    assert run.said("latin")[0].endswith("/encodings/latin_1.py'")
    # A traceback names the sources of frozen modules.
    assert f'File "{ROOT}/slurmhooks/spank/model.py", line ' in run


def test_no_folder_is_searched(host: Host) -> None:
    """A launch looks into no folder for modules: thousands of nodes may share the file systems."""
    host.site(
        """
        import sys

        @hook.spank.exit
        def leave(spank):
            log.info("searched", places=[path for path, finder in sys.path_importer_cache.items() if finder])
        """
    )
    run = host.run("open sp $spank hooks.py\ncontext local\ncall sp exit")
    assert run.said("searched") == ["places=[]"]


def test_cffi_elsewhere(host: Host) -> None:
    """If cffi's module is not where it was when the plugins were built, it is looked for on the search path."""
    host.site("hook.spank.exit(lambda spank: log.info('ran'))")
    host.use_copy_of_plugins()
    file = importlib.util.find_spec("_cffi_backend")
    assert file is not None
    assert file.origin is not None
    folder, _, name = file.origin.rpartition("/")
    replace(host.plugins / CORE, file.origin, f"{folder[:-1]}X/{name}")
    run = host.run("open sp $spank hooks.py\ncontext local\ncall sp exit")
    assert run.one("call").rc == 0
    assert run.said("ran") == [""]


NO_TABLES = {"removed": Path.unlink, "of another build": lambda path: path.write_text("slurm 1.0\n")}


@pytest.mark.parametrize("damage", NO_TABLES)
def test_workers_that_cannot_start(host: Host, damage: str) -> None:
    """Without tables of Slurm's structs slurmctld starts, requests are refused, and the log says what to run."""
    host.site("hook.job_submit(lambda job: None)")
    NO_TABLES[damage](host.use_copy_of_plugins() / "slurmhooks" / FILE_NAME)
    run = host.run("open js $job_submit\njob_submit js account=a\nbalance")
    assert [run.one("open").rc, run.one("job_submit").rc] == [0, -1]
    assert "please tell your administrators" in str(run.one("job_submit")["err_msg"])
    assert "'slurmhooks install'" in run
    assert run.one("balance")["alive"] == 0


def test_a_failed_start_is_told_once_and_stays(host: Host) -> None:
    """The first failed start logs Python's version and search path; later calls refer to it, and do not try again."""
    host.site("")
    host.use_copy_of_plugins()
    no_standard_library(host)
    run = host.run("open sp $spank hooks.py\ncontext slurmd\ncall sp init\ncall sp slurmd_exit", quiet=False)
    assert [result.rc for result in run.of("call")] == [-3000, -3000]
    version = ".".join(sysconfig.get_config_var("py_version").split(".")[:2])
    assert f"Python {version}" in run
    assert len([line for line in run.lines("ERROR") if "did not start:" in line]) == 1
    assert "search path: " in run
    assert "already failed to start in this process" in run


def test_a_repair_needs_no_restart(host: Host) -> None:
    """A core library that was missing is used once it exists, without a restart of slurmd."""
    host.site("hook.spank.slurmd_exit(lambda spank: log.info('ran'))")
    plugins = host.use_copy_of_plugins()
    (plugins / CORE).rename(plugins / "away")
    run = host.run(
        """
        open sp $spank hooks.py
        context slurmd
        call sp init
        rename $dir/plugins/away $dir/plugins/slurmhooks/libslurmhooks_core.so
        call sp slurmd_exit
        """
    )
    assert [result.rc for result in run.of("call")] == [-3000, 0]
    assert run.said("ran") == [""]


def test_the_core_needs_nothing_of_the_callers_path(host: Host) -> None:
    """The core library finds libpython by DT_RPATH, which LD_LIBRARY_PATH does not override; plugins do not need it."""
    core = host.plugins / CORE
    dynamic = subprocess.run(["readelf", "-d", core], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "(RPATH)" in dynamic
    assert "(RUNPATH)" not in dynamic
    stub = host.plugins / "spank_python.so"
    assert (
        "libpython" not in subprocess.run(["readelf", "-d", stub], stdout=subprocess.PIPE, text=True, check=True).stdout
    )


def test_how_hook_files_are_compiled(host: Host) -> None:
    """As by the built-in compile(), but without the classes of ast, which it would create first."""
    hooks = host.site("")
    hooks.write_bytes(
        b"# -*- coding: latin-1 -*-\n"
        b"import __future__\n"
        b"from slurmhooks import hook, log\n"
        b"@hook.spank.exit\n"
        b"def leave(spank):\n"
        b"    classes = [item.__name__ for item in object.__subclasses__() if item.__module__ == 'ast']\n"
        b"    inherits = leave.__code__.co_flags & __future__.annotations.compiler_flag\n"
        b"    log.info('seen', classes=classes, file=leave.__code__.co_filename, inherits=inherits, text='\xe9')\n"
    )
    run = host.run("open sp $spank hooks.py\ncontext local\ncall sp exit")
    assert run.said("seen") == [f"classes=[] file='{hooks}' inherits=0 text='é'"]
