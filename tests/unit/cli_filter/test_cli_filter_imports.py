# SPDX-License-Identifier: GPL-2.0-or-later
"""The imports of a command with a handler, in an isolated interpreter as C starts it."""

from pathlib import Path

from slurmhooks.lua import finding
from tests.unit.test_imports import BOTH, MAY_BE_IMPORTED_FOR_SCRIPTS, isolated

MAY_BE_IMPORTED = BOTH | {
    "slurmhooks.entry.launch_handlers",
    "slurmhooks.cli_filter",
    "slurmhooks.entry.cli_filter",
    "slurmhooks.cli_filter.fields",
    "slurmhooks.cli_filter.model",
    "slurmhooks.handlers.view",
    "_collections_abc",  # options are a Mapping
    "_slurmhooks_cli_filter",
}
OF_SCRIPTS = {
    "slurmhooks.lua.cli_filter",
    "slurmhooks.lua.slurm_table",
    "_operator",  # handlers get several arguments
}

HOOKS = """
from slurmhooks import hook, log

@hook.cli_filter.setup_defaults
@hook.cli_filter.pre_submit
def filter(options):
    options.comment = options.command
    options.time_limit = 60
    options.environment["A"] = "1"
    log.info("ran")

@hook.cli_filter.post_submit
def after(job_id):
    log.info(f"job {job_id}")
"""
SCRIPT = """
function slurm_cli_setup_defaults(options) options.comment = options.type return slurm.SUCCESS end
function slurm_cli_pre_submit(options) slurm.log_info("ran") return slurm.SUCCESS end
function slurm_cli_post_submit(offset, job) slurm.log_info("job %d", job) return slurm.SUCCESS end
"""
COMMAND = """
import sys

before = set(sys.modules)


class Native:
    RELEASE = (24, 11)
    __file__ = "/plugins/slurmhooks/_slurmhooks_cli_filter.so"

    def __init__(self):
        self.values, self.env, self.logged = {}, {}, []

    def get(self, options, name): return self.values.get(name)
    def given(self, options): return [(name.decode(), text) for name, text in self.values.items()]
    def rehearse(self, options, writes, early): return True, "", [(writes[-1][0].decode(), "x")]
    def names(self, options): return ["time", "comment"]
    def spank(self): return {}
    def set_variable(self, name, value): self.env[name] = value
    text_at = bytes
    def log(self, level, text): self.logged.append(text.decode())

    def assign(self, options, name, value, early):
        self.values[name] = value.decode()
        return True


sys.modules["_slurmhooks_cli_filter"] = native = Native()
sys.modules["_slurmhooks_compile"] = native
sys.path.append(sys.argv[1])
from slurmhooks.entry import cli_filter as entry

answers = [entry.call(which, 1, 1 if which < 2 else 0, 0, 0, 7, 0xFFFFFFFE, MANIFEST) for which in (0, 1, 2)]
print(answers, native.values, native.env, native.logged)
print(*(set(sys.modules) - before))
"""


def launch(tmp_path: Path, *rows: str) -> tuple[str, set[str]]:
    """Call the three functions of sbatch with a manifest; return the messages and the imported modules."""
    manifest = "\n".join(["slurmhooks-manifest", "cli_filter", *rows, "end", ""])
    script = tmp_path / "command.py"
    script.write_text(COMMAND.replace("MANIFEST", repr(manifest.encode())))
    said, imported = isolated(script)
    return said, {name for name in imported if not name.startswith("_cython_")}


def test_a_command_whose_handlers_import_nothing(tmp_path: Path) -> None:
    """With a manifest, a command imports only what it needs: no TOML, no typing, no re."""
    path = tmp_path / "hooks.py"
    path.write_text(HOOKS)
    said, imported = launch(tmp_path, f"source {path}")
    assert said == (
        "[(0, None, 0), (0, None, 0), (0, None, 0)] {b'comment': 'sbatch', b'time': '60'} {b'A': b'1'}"
        " ['slurmhooks: ran', 'slurmhooks: ran', 'slurmhooks: job 7']"
    )
    assert imported - MAY_BE_IMPORTED == set()


def test_a_command_with_a_script(tmp_path: Path) -> None:
    """A Lua script imports lupa and the modules that use it, and no constants unless it reads one."""
    path = tmp_path / "cli_filter.lua"
    path.write_text(SCRIPT)
    words = " ".join(finding.find("5.4").words).replace("%", "%25")
    said, imported = launch(tmp_path, f"source {path}", f"lua {words}")
    assert said == ("[(0, None, 0), (0, None, 0), (0, None, 0)] {b'comment': 'sbatch'} {} ['lua: ran', 'lua: job 7']")
    assert imported - MAY_BE_IMPORTED - MAY_BE_IMPORTED_FOR_SCRIPTS - OF_SCRIPTS == set()
