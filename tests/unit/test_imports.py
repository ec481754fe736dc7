# SPDX-License-Identifier: GPL-2.0-or-later
"""The imports of processes that live for one launch: each srun and slurmstepd pays for every module."""

import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.lua import finding
from tests.sets import put_in_force

ROOT = Path(__file__).parents[2]

MAY_BE_IMPORTED = {
    "slurmhooks",
    "slurmhooks.entry",
    "slurmhooks.files",
    "slurmhooks.files.home",
    "slurmhooks.handlers",
    "slurmhooks.hooks",
    "slurmhooks.site",
    "slurmhooks.handlers.codes",  # 0.1 ms; with similar and trace what reports a bug, which must not import anything
    "slurmhooks.handlers.similar",
    "slurmhooks.handlers.trace",
    "slurmhooks.hooks.decorator",
    "slurmhooks.handlers.deadline",
    "slurmhooks.handlers.definitions",
    "slurmhooks.handlers.dispatch",
    "slurmhooks.errors",
    "slurmhooks.hooks.hook",
    "slurmhooks.hooks.points",
    "slurmhooks.handlers.loader",
    "slurmhooks.log",
    "slurmhooks.hooks.option",
    "slurmhooks.files.paths",
    "slurmhooks.files.plugstack",
    "slurmhooks.handlers.registry",
    "slurmhooks.spank",
    "slurmhooks.spank.calls",
    "slurmhooks.entry.spank",
    "slurmhooks.spank.environments",
    "slurmhooks.spank.fields",
    "slurmhooks.spank.line",
    "slurmhooks.spank.model",
    "slurmhooks.spank.options",
    "slurmhooks.files.trusted",
    "slurmhooks.values",
    "slurmhooks.handlers.view",
    "slurmhooks.site.loading",
    "slurmhooks.site.manifest",  # for a line in the manifest; otherwise slurmhooks.site
    "slurmhooks.site.sources",
    "slurmhooks.files.slurm_conf",
    "_slurmhooks_compile",  # of the core library
    "_slurmhooks_spank",  # the compiled view
    "slurmhooks_site",  # the site's files
    "slurmhooks_site.hooks",
    "__future__",  # 0.1 ms, for annotations that nobody evaluates
    "_collections_abc",  # 0.6 ms; environments are MutableMappings from this module
    "_stat",
}
"""Anything else must be worth a comment here: structlog costs 60-90 ms, pydantic 16-30, glob 5, typing and re 2-10."""

WITHOUT_A_MANIFEST = {
    "slurmhooks.files.home",
    "slurmhooks.files.paths",
    "slurmhooks.files.slurm_conf",
    "slurmhooks.site.sources",
}
"""What finds the hook files that a manifest names, and slurmhooks.toml."""

HOOKS = """
from slurmhooks import Reject, hook, log

greet = hook.spank.option("greet", "NAME", usage="who to greet")

@greet.check
def a_name(value):
    if value == "nobody":
        raise Reject("greet somebody")
    return value

@hook.spank.task_init(order=1)
def say_hello(spank):
    spank.env["HELLO"] = f"{greet.value} {spank.job_id} {spank.env['PATH']} {spank.args}"
    log.info("ran", context=spank.context)

@hook.spank.exit
def done(spank):
    if "HELLO" not in spank.env:
        raise Reject("never")
"""

LAUNCH = """
import sys

before = set(sys.modules)


class Native:
    '''The compiled view: what stands for an address is the object itself.'''

    NULL = None
    ESPANK_ERROR, ESPANK_BAD_ARG, ESPANK_ENV_NOEXIST, ESPANK_NOSPACE, S_JOB_ID = 3000, 3001, 3004, 3005, 2
    S_SLURM_VERSION = 20

    def __init__(self):
        self.ffi = self.lib = self
        self.logged, self.env = [], {b"PATH": b"/bin"}

    def cast(self, kind, value):
        return value

    def string(self, value):
        return bytes(value)

    def new(self, kind, value=None):
        return bytearray(value) if kind == "char[]" and isinstance(value, int) else [None]

    def spank_option_register(self, handle, option):
        return 0

    def slurmhooks_log(self, level, text):
        self.logged.append(text.decode())

    def slurmhooks_syslog(self, text):
        raise AssertionError(text)

    def slurmhooks_get_item(self, handle, item, first, second):
        first[0] = 7
        return 0

    def spank_getenv(self, handle, name, buffer, size):
        if name not in self.env:
            return self.ESPANK_ENV_NOEXIST
        buffer[:] = self.env[name]
        return 0

    def spank_setenv(self, handle, name, value, overwrite):
        self.env[name] = value
        return 0

    def spank_unsetenv(self, handle, name):
        return 0


sys.modules["_slurmhooks_spank"] = native = Native()
sys.path.append(sys.argv[1])
from slurmhooks.entry import spank as entry

args = [arg.encode() for arg in sys.argv[3:]]
known = open(sys.argv[0].rpartition("/")[0] + "/slurmhooks.manifest", "rb").read() if sys.argv[2] == "known" else 0
answers = [entry.option(len(args), args, known, 0, 0, b"alice", 1)]
for name in ("task_init", "exit"):
    answers.append(entry.callback(entry.CALLBACKS.index(name), object(), 2, len(args), args, known, 0, 0, 0, 0))
print(answers, native.env.get(b"HELLO", b"").decode(), native.logged)
print(*(set(sys.modules) - before))
"""

SCRIPT = """
spank_options = {{ name = "word", arginfo = "W", usage = "u", has_arg = 1, cb = "given" }}
function given(value, text) word = text end

function slurm_spank_task_init(spank)
   assert(spank.context == "remote" and spank.args[1] == "quota=5")
   spank:setenv("HELLO", "was there: " .. tostring(spank:getenv("PATH")), 1)
   SPANK.log_info("ran")
end

function slurm_spank_exit(spank) SPANK.log_info("%s", word) end
"""

MAY_BE_IMPORTED_FOR_SCRIPTS = {
    name
    for name in MAY_BE_IMPORTED
    # Not imported for scripts: the view of handlers in Python, and the modules that it needs.
    if not name.startswith("slurmhooks.spank.") or name in ("slurmhooks.entry.spank", "slurmhooks.spank.line")
    if name not in ("slurmhooks.handlers.view", "_collections_abc", "slurmhooks_site", "slurmhooks_site.hooks")
} | {
    "slurmhooks.lua",
    "slurmhooks.lua.conversions",
    "slurmhooks.lua.library",
    "slurmhooks.lua.runtime",
    "_ctypes",
    "slurmhooks.lua.spank",
    "slurmhooks.lua.spank_handle",
    # lupa's compiled module alone, without its package, which would look for a Lua.
    "lupa.lua54",
    "cython_runtime",
    "zlib",
}
"""functools, collections and os, which take together as long as all of these, are not among them."""

RUN_SCRIPT = """
sys.modules["_slurmhooks_spank"] = native = Native()
sys.path += [sys.argv[1], LIBRARIES]
from slurmhooks.entry import spank as entry

args = [arg.encode() for arg in sys.argv[2:]]
answers = [entry.callback(entry.CALLBACKS.index("task_init"), object(), 2, len(args), args, KNOWN, 0, 0, 0, 0)]
imported = set(sys.modules) - before
answers.append(entry.option(len(args), args, KNOWN, 0, b"word", b"said", 1))
answers.append(entry.callback(entry.CALLBACKS.index("exit"), object(), 2, len(args), args, KNOWN, 0, 0, 0, 0))
print(answers, native.env, native.logged)
print(*imported)
"""


BOTH = {name for name in MAY_BE_IMPORTED if "spank" not in name} - {
    "slurmhooks.handlers.view",  # for container.job_env alone
    "_collections_abc",
}


def isolated(script: Path, *arguments: str) -> tuple[str, set[str]]:
    """Run a script beside slurm.conf in an isolated interpreter; return its first line, and the words of its second."""
    # As native/embed/interpreter.c starts it: isolated, without site.
    command = [sys.executable, "-I", "-S", str(script), str(ROOT), *arguments]
    put_in_force(script.parent)
    env = {"SLURM_CONF": str(script.parent / "slurm.conf")}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    said, imported = done.stdout.splitlines()
    return said, set(imported.split())


def launch(tmp_path: Path, *arguments: str) -> set[str]:
    """Run handlers as slurmstepd does, in an isolated interpreter; return the modules that were imported.

    ``tmp_path`` holds slurm.conf. The arguments are "known" or "new", then those on the line of plugstack.conf.
    """
    script = tmp_path / "launch.py"
    script.write_text(LAUNCH)
    said, imported = isolated(script, *arguments)
    assert said == (
        "[(0, None, 0), (0, None, 0), (0, None, 0)] alice 7 /bin ('quota=5',) [\"slurmhooks: ran context='remote'\"]"
    )
    return imported


def run_scripts(tmp_path: Path, write: Callable[..., Path], *, known: bool) -> tuple[str, set[str]]:
    """Run the scripts in lua.d as slurmstepd does; return what was said, and the modules that one callback imported."""
    manifest = (tmp_path / "slurmhooks.manifest").read_bytes() if known else 0
    run = RUN_SCRIPT.replace("KNOWN", repr(manifest)).replace("LIBRARIES", repr(sysconfig.get_path("platlib")))
    script = write("launch.py", LAUNCH.partition("sys.modules[")[0] + run)
    return isolated(script, "lua.d/*.lua", "quota=5")


@pytest.mark.parametrize("pattern", ["hooks.d/hooks.py", "hooks.d/*.py"])
def test_a_line_with_a_glob(tmp_path: Path, write: Callable[..., Path], pattern: str) -> None:
    """A launch with a GLOB in plugstack.conf imports only the listed modules."""
    write("hooks.d/hooks.py", HOOKS)
    imported = launch(tmp_path, "new", pattern, "quota=5")
    assert imported - MAY_BE_IMPORTED == set()


def test_a_line_that_the_manifest_knows(tmp_path: Path, write: Callable[..., Path]) -> None:
    """A launch with a manifest does not read the configuration, which would import pydantic."""
    path = write("hooks.d/hooks.py", HOOKS)
    rows = ["slurmhooks-manifest 2 0x180b05", "line hooks.d/*.py quota=5", f"source {path}", "end", ""]
    write("slurmhooks.manifest", "\n".join(rows))
    imported = launch(tmp_path, "known", "hooks.d/*.py", "quota=5")
    assert imported - (MAY_BE_IMPORTED - WITHOUT_A_MANIFEST) == set()
    assert "slurmhooks.site.manifest" in imported


def test_a_line_of_scripts_that_the_manifest_knows(tmp_path: Path, write: Callable[..., Path]) -> None:
    """A launch with Lua scripts imports only the listed modules, and reads their options when one is given."""
    path = write("lua.d/site.lua", SCRIPT)
    words = " ".join(finding.find("5.4").words).replace("%", "%25")
    rows = ["slurmhooks-manifest 2 0x180b05", "line lua.d/*.lua quota=5", f"source {path}", f"lua {words}"]
    rows += ["call task_init 4", "call exit 14", "option 1 14 1 word W u", "end", ""]
    write("slurmhooks.manifest", "\n".join(rows))
    said, imported = run_scripts(tmp_path, write, known=True)
    answers, _, rest = said.partition("] ")
    assert answers == "[(0, None, 0), (0, None, 0), (0, None, 0)", said
    assert "b'HELLO': b'was there: /bin'" in rest
    assert "'ran'" in rest
    assert rest.endswith("'said']")
    names = {name for name in imported if not name.startswith("_cython_")}
    assert names - MAY_BE_IMPORTED_FOR_SCRIPTS == set()


def test_importing_the_package_imports_next_to_nothing(tmp_path: Path) -> None:
    """Importing slurmhooks imports only the listed modules, in any process."""
    script = "import sys; before = set(sys.modules); sys.path.append(sys.argv[1]); import slurmhooks;" + (
        "print(*(set(sys.modules) - before))"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(ROOT)]
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {name for name in imported if not name.startswith("slurmhooks")} <= {"__future__"}


EVERYTHING = """
[job_submit]
workers = 4
memory_limit = "512MiB"
lua = "job_submit.lua"
[jobcomp]
next = "filetxt"
[site_factor]
timeout = 2
[prep]
on_unavailable = "accept"
[scrun]
lua = "scrun.site.lua"
[cli_filter]
lua = "cli_filter.lua"
[lua]
version = "5.4"
[log]
limit = 5000
[decisions]
include = ["script"]
[metrics]
textfiles = "/var/lib"
[rules]
refusals = "all"
"""


@pytest.mark.parametrize("more", ["", EVERYTHING], ids=["sources alone", "all tables"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "a byte order mark"])
def test_a_line_without_a_glob(tmp_path: Path, write: Callable[..., Path], more: str, mark: str) -> None:
    """Without a manifest, a launch imports no pydantic to read slurmhooks.toml, unless only the model reads it."""
    write("hooks.d/hooks.py", HOOKS.replace(" {spank.args}", " ('quota=5',)"))
    write("slurmhooks.toml", f'{mark}[hooks]\npaths = ["hooks.d/*.py"]\n{more}')
    imported = launch(tmp_path, "new")
    assert "slurmhooks.config.model" not in imported
    assert not any(name.startswith("pydantic") for name in imported)


@pytest.mark.parametrize("more", ["", EVERYTHING], ids=["no configuration", "all tables"])
def test_a_line_of_scripts_without_a_manifest(tmp_path: Path, write: Callable[..., Path], more: str) -> None:
    """Without a manifest, a launch with Lua scripts imports no pydantic, also to learn their Lua."""
    write("lua.d/site.lua", SCRIPT)
    if more:
        write("slurmhooks.toml", more)
    said, imported = run_scripts(tmp_path, write, known=False)
    assert "'ran'" in said
    assert "slurmhooks.config.model" not in imported
    assert not any(name.startswith("pydantic") for name in imported)
