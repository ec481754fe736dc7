# SPDX-License-Identifier: GPL-2.0-or-later
"""The same hooks run in the same Python, whatever users' environments and directories contain."""

from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, site
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOKS = """
import json, os, sys
from slurmhooks import hook

@hook.spank.init
@hook.spank.init_post_opt
@hook.spank.user_init
@hook.spank.task_init_privileged
@hook.spank.task_init
@hook.spank.exit
def note(spank):
    import email.message, encodings.idna  # what a user's folder could shadow
    import slurmhooks
    fields = {
        "where": f"{spank.callback} {spank.context}",
        "python": [sys.version, sys.prefix, sys.flags.isolated, sys.flags.utf8_mode, sys.flags.optimize],
        "path": sys.path,
        "from": [slurmhooks.__file__, email.message.__file__, encodings.idna.__file__],
        "hostile": [name for name in sys.modules if "hostile" in name] + [k for k in vars(sys) if k == "hostile"],
        "encoding": [sys.getfilesystemencoding(), "\\u00e4\\u20ac"],
    }
    # An inherited umask or limit must not matter either: the file is there.
    descriptor = os.open("/opt/spank/records", os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, (json.dumps(fields) + "\\n").encode())
    os.close(descriptor)
"""
HOSTILE = "import sys\\nsys.hostile = True\\nraise SystemExit('hostile code ran')\\n"
PREPARE = f"""
mkdir -p ~/hostile/encodings ~/hostile/slurmhooks_d ~/hostile/lib ~/hostile/home ~/closed
cd ~/hostile
for name in slurmhooks os site sitecustomize usercustomize _slurmhooks_spank encodings/__init__ startup
do printf "{HOSTILE}" > $name.py; done
for name in libpython3.11.so.1.0 libpython3.13.so.1.0 libpython3.14.so.1.0 libslurmhooks_core.so
do echo 'not a library' > lib/$name; done
mkdir -p home/.local/lib/python3.11/site-packages
cp usercustomize.py home/.local/lib/python3.11/site-packages/
"""

HOSTILE_D = "/home/alice/hostile"
CASES = {
    "PYTHONPATH": ("cd", {"PYTHONPATH": HOSTILE_D}),
    "PYTHONHOME": ("cd", {"PYTHONHOME": HOSTILE_D}),
    "LD_LIBRARY_PATH": ("cd", {"LD_LIBRARY_PATH": f"{HOSTILE_D}/lib"}),
    "cwd": (f"cd {HOSTILE_D}", {}),
    "HOME": ("cd", {"HOME": f"{HOSTILE_D}/home"}),
    "broken-HOME": ("cd /", {"HOME": "/no/such/place"}),
    # Slurm's own commands refuse a deleted folder.
    "unreadable-cwd": ("cd /home/alice/closed && chmod 0 .", {}),
    "PYTHONSTARTUP": ("cd", {"PYTHONSTARTUP": f"{HOSTILE_D}/startup.py", "PYTHONINSPECT": "1"}),
    "switches": (
        "cd",
        {"PYTHONOPTIMIZE": "2", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONMALLOC": "debug", "PYTHONUTF8": "0"},
    ),
    "tracing": (
        "cd",
        {"PYTHONVERBOSE": "1", "PYTHONTRACEMALLOC": "5", "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"},
    ),
    "locale": ("cd", {"LC_ALL": "C", "LANG": "xx_YY.no-such", "LANGUAGE": "de"}),
    "umask": ("cd && umask 777", {}),
    "few-files": ("cd && ulimit -n 64", {}),
}
TOGETHER = {
    "all": (
        f"{CASES['cwd'][0]} && umask 777 && ulimit -n 64",
        {name: value for _, env in reversed(CASES.values()) for name, value in env.items()},
    ),
    "unreadable": (CASES["unreadable-cwd"][0], CASES["broken-HOME"][1]),
}
"""All traps together, on each release and with each command; each of them alone has no effect on one release."""
COMMANDS = {
    "srun": "srun -Q true",
    "salloc": "salloc -Q srun -Q true",
    "sbatch": "sbatch -Q --chdir=/ -o /dev/null --wrap 'srun -Q true'",
}

FILES = """
import os
from slurmhooks import hook

@hook.spank.task_post_fork
@hook.spank.task_exit
@hook.spank.exit
def create(spank):
    if spank.context == "remote":
        with open(f"/opt/spank/{spank.callback}.{spank.job_id}.created", "a"):
            pass
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site whose handlers record the Python that they run in, and a user with traps in every folder."""
    lent_site = site(cluster)
    lent_site.hooks(note=HOOKS)
    lent_site.plugstack("required spank_python.so")
    done = lent_site.shell(PREPARE)
    assert done.returncode == 0, done.stdout
    return lent_site


def told(lent: Site, command: str, before: str, env: dict[str, str]) -> tuple[int, str, dict[str, list[object]]]:
    """Run a command; return its exit code and output, and the records by place."""
    lent.wait_until_idle()
    lent.forget_records()
    done = lent.shell(f"{before}; {COMMANDS[command]}", **env)
    lent.wait_until_idle()
    lent.wait_for_records(where="exit remote")
    places: dict[str, list[object]] = {}
    for record in lent.records():
        places[record.pop("where")] = list(record.values())
    return done.returncode, done.stdout, places


@pytest.fixture(scope="module")
def plain(lent: Site) -> dict[str, dict[str, list[object]]]:
    """The records of the commands without traps."""
    return {command: told(lent, command, "cd", {})[2] for command in COMMANDS}


@pytest.mark.parametrize(
    ("command", "before", "env"),
    moved_from(
        5,
        [
            *(pytest.param("srun", *case, id=f"srun-{name}") for name, case in CASES.items()),
            *(
                pytest.param(command, *case, id=f"{command}-{name}")
                for command in COMMANDS
                for name, case in TOGETHER.items()
            ),
        ],
    ),
)
def test_hostile(
    lent: Site, plain: dict[str, dict[str, list[object]]], command: str, before: str, env: dict[str, str]
) -> None:
    """The command works without a message, and every handler in every process runs in the same Python as without it."""
    code, output, places = told(lent, command, before, env)
    lent.root("chmod 755 ~alice/closed")
    assert code == 0, output
    # srun itself complains about a folder that it cannot enter, and slurmstepd goes to /tmp.
    complaints = [row for row in output.splitlines() if "chdir" not in row and "getcwd" not in row and "cwd" not in row]
    assert complaints == []
    assert places == plain[command]
    assert any(place.startswith("task_init ") for place in places)


def test_no_user_chooses_the_umask_of_root(lent: Site) -> None:
    """Files that root's handlers create in slurmstepd have the permissions that slurmd's umask gives them."""
    lent.hooks(create=FILES)
    for manifest in (True, False):
        if not manifest:
            lent.without_manifest()
        lent.root("rm -f /opt/spank/*.created")
        for mask in ("000", "777"):
            done = lent.shell(f"cd /; umask {mask}; srun -Q sh -c umask")
            assert (done.returncode, done.stdout.strip()) == (0, f"0{mask}"), done.stdout
        lent.wait_until_idle()
        lent.cluster.wait(lambda: lent.root("ls /opt/spank/exit.*.created").count("\n") == 2, what="the last handlers")
        modes = lent.root("stat --format='%a %n' /opt/spank/*.created").splitlines()
        assert len(modes) == 6
        assert {line.split()[0] for line in modes} == {"644"}, modes
