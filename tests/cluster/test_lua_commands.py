# SPDX-License-Identifier: GPL-2.0-or-later
"""A cli_filter.lua under slurmhooks, held against Slurm's own cli_filter/lua in real commands."""

import os
import random
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.conftest import OF_SETS
from tests.cluster.spank.site import Site, site
from tests.lua_parts import COMMAND_PARTS, command_script

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.moved

SCRIPTS = int(os.environ.get("SLURMHOOKS_DRAWN_SCRIPTS", "8"))
PUBLIC = os.environ.get("SLURMHOOKS_CLI_FILTER_SCRIPTS")
"""A folder with further scripts to compare, such as those that sites have published."""
ENGINES = {"lua": "/etc/slurm-lua", "python": "/etc/slurm-python"}
"""The folder of slurm.conf for Slurm's own plugin, and for ours."""
AROUND = """
do
   local inner, names = slurm_cli_pre_submit, {%s}
   function slurm_cli_pre_submit(options, offset)
      local results = { pcall(inner, options, offset) }
      for _, name in ipairs(names) do slurm.log_info("OPTION %%s=%%s", name, tostring(options[name])) end
      if not results[1] then error(results[2], 0) end
      slurm.log_info("RESULT %%s %%s", type(results[2]), tostring(results[2]))
      return (table.unpack or unpack)(results, 2)
   end
end
"""
"""Shows the options after the script's function, whatever that did, and its result."""
OPTIONS = ("account", "time", "comment", "partition", "ntasks", "mem", "job-name", "nodes", "hold", "qos")
GIVEN = ("-t 5", "-t 1-00:00:00", "-n1", "-n8", "--comment='a b'", "-J mine", "--mem=64M", "-A physics", "-N1-2")
"""Options that a user gives."""
HOLD, NOWHERE = "sbatch -H", "-p nonesuch"
"""No job starts: sbatch's is held, and slurmctld refuses the others, after the script has seen them."""
POST = "slurm.log_info('POST %s %s', type(job_id), tostring(step_id)) slurm.log_info('%s', slurm.cli_retrieve(1))"
EXAMPLE = "find /usr/src/slurm*/etc /usr/share/doc/slurm* -name 'cli_filter.lua.example*' 2>/dev/null | head -1"


@pytest.fixture(scope="module")
def engines(cluster: "Cluster") -> Site:
    """A site with one folder of slurm.conf for each plugin."""
    lent = site(cluster)
    lent.plugstack()
    for plugin, folder in ENGINES.items():
        lent.root(
            f"mkdir -p {folder}; grep -hv -e ^include -e ^CliFilterPlugins /etc/slurm/slurm.conf"
            f" $(test -e /etc/slurm/local.conf && echo /etc/slurm/local.conf) >{folder}/slurm.conf;"
            f" echo CliFilterPlugins=cli_filter/{plugin} >>{folder}/slurm.conf"
        )
        cluster.put('[cli_filter]\nlua = "cli_filter.lua"\n', f"{folder}/slurmhooks.toml")
    return lent


def drawn_commands(chance: random.Random) -> list[str]:
    """Return commands of a user that call a script: accepted and refused ones."""
    given = [" ".join(chance.sample(GIVEN, chance.randint(0, 3))) for _ in range(4)]
    return [
        f"{HOLD} -o /dev/null {given[0]} --wrap true",
        f"{HOLD} -o /dev/null --comment=long {given[1]} --wrap true",
        f"srun {NOWHERE} {given[2]} sh -c 'a b' c",
        f"salloc {NOWHERE} {given[3]} true",
    ]


def output(lent: Site, script: str, words: list[str]) -> dict[str, list[list[str]]]:
    """Return what commands print with a script under each plugin, and their exit codes, without names that vary."""
    found = {}
    for plugin, folder in ENGINES.items():
        lent.cluster.put(script, f"{folder}/cli_filter.lua")
        if plugin == "python":
            lent.root(f"slurmhooks deploy --sysconfdir {folder}")
        text = "; ".join(f'{word}; echo "exit $?"; echo END' for word in words)
        done = lent.shell(f"cd; {text}", SLURM_CONF=f"{folder}/slurm.conf", ONLY="a/b")
        shown = OF_SETS.sub(folder, done.stdout).replace(folder, "FOLDER")
        said = re.sub(r"Submitted batch job \d+", "Submitted", shown)
        said = re.sub(r"(OPTION|lua: \d+) \d{2,}", r"\1 N", said)
        found[plugin] = [part.strip().splitlines() for part in said.split("END\n")[:-1]]
    lent.root("scancel -u alice")
    return found


def compare(lent: Site, script: str, words: list[str]) -> list[str]:
    """Return what commands print; fail if that differs under the plugins."""
    found = output(lent, script, words)
    assert len(found["lua"]) == len(words), found
    for word, theirs, ours in zip(words, found["lua"], found["python"], strict=True):
        assert ours == theirs, f"{word}\n{script}"
    return [line for part in found["lua"] for line in part]


def around(script: str) -> str:
    """Return a script that shows the options and results of another one, at its end."""
    return f"{script}\n{AROUND % ', '.join(f'{name!r}' for name in OPTIONS)}"


def test_drawn_scripts(engines: Site) -> None:
    """Results, options, messages and exit codes are those of Slurm's own plugin."""
    seed = int(os.environ.get("SLURMHOOKS_SEED", random.randrange(1 << 32)))
    print(f"SLURMHOOKS_SEED={seed}")  # noqa: T201 - to repeat a failure
    chance = random.Random(seed)
    said: list[str] = []
    for _ in range(SCRIPTS):
        defaults, submit = (chance.sample(COMMAND_PARTS, chance.randint(0, most)) for most in (2, 4))
        script = command_script(defaults, submit, POST)
        said += compare(engines, around(script), drawn_commands(chance))
    for command in ("sbatch", "srun", "salloc"):
        assert f"{command}: lua: OPTION account=nil" in said
    assert any("lua: POST number" in line for line in said)


def test_times(engines: Site) -> None:
    """Minutes of a time are those of Slurm, also where it overflows."""
    seed = int(os.environ.get("SLURMHOOKS_SEED", random.randrange(1 << 32)))
    print(f"SLURMHOOKS_SEED={seed}")  # noqa: T201 - to repeat a failure
    chance = random.Random(seed)
    numbers = [str(chance.randrange(10**digits)) for digits in (1, 2, 3, 5, 7, 9, 10, 12) for _ in range(4)]
    forms = ("{}", "{}:{}", "{}:{}:{}", "{}-{}", "{}-{}:{}", "{}-{}:{}:{}", "-{}", "{}x", "{}:")
    times = [form.format(*chance.choices(numbers, k=4)) for form in forms for _ in range(12)]
    times += ["", "-1", "infinite", "UNLIMITED", "2982616-04:14:00", "35791394", "35791395", "71582788"]
    shown = " ".join(f"slurm.log_info('%s: %s', {time!r}, tostring(slurm.time_str2mins({time!r})))" for time in times)
    script = command_script([], [f"{shown} return slurm.ERROR"])
    said = [line for line in compare(engines, script, ["sbatch --wrap true"]) if "lua: " in line]
    assert len(said) == len(times)


def test_published_scripts(engines: Site) -> None:
    """Slurm's own example, and further scripts if there are any, do the same under both plugins."""
    name = engines.root(EXAMPLE).strip()
    texts = {name: engines.root(f"zcat -f {shlex.quote(name)}")} if name else {}
    texts |= {} if PUBLIC is None else {str(path): path.read_text() for path in sorted(Path(PUBLIC).glob("*.lua"))}
    if not texts:
        pytest.skip(f"{engines.cluster.release} has no example of cli_filter.lua")
    for text in texts.values():
        words = [*drawn_commands(random.Random(1)), f"srun {NOWHERE} --pty -t 120 sh", f"sbatch -v {NOWHERE} /bin/sh"]
        compare(engines, text, words)
