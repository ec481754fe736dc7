# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of plugstack.conf: each with its own files, arguments and options; lines that cannot be loaded."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.noting import HEAD, NOTE
from tests.cluster.spank.site import Site, settle, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site; each test has its own hook files and lines."""
    return site(cluster)


LINE = """
name = hook.spank.option("OPTION", "X", usage="of one line")

@hook.spank.init
@hook.spank.task_init
def note_it(spank):
    note(line="LINE", callback=spank.callback, context=spank.context, args=list(spank.args), value=name.value)
"""


def line(name: str) -> str:
    """Return a hook file of one line of plugstack.conf."""
    return HEAD + NOTE + LINE.replace("OPTION", f"opt-{name}").replace("LINE", name)


def test_lines(lent: Site) -> None:
    """Each line of plugstack.conf has its own files, arguments and options, in the order of the lines."""
    settle(lent)
    lent.hooks(first=line("first"), second=line("second"))
    lent.root("rm -rf /etc/slurm/more; mkdir /etc/slurm/more")
    lent.cluster.put(line("third"), "/etc/slurm/more/third.py")
    lent.cluster.put('[hooks]\npaths = ["hooks.d/first.py"]\n', "/etc/slurm/other.toml")
    lent.plugstack(
        "required spank_python.so config=other.toml -- fast=1",
        "required spank_python.so hooks.d/sec*.py alpha b=c",
        "optional spank_python.so failonerror /etc/slurm/more/*.py",
    )
    toml = lent.root("cat /etc/slurm/slurmhooks.toml")
    lent.cluster.put("[hooks]\npaths = []\n", "/etc/slurm/slurmhooks.toml")  # no line uses it
    lent.forget_records()
    done = lent.shell("srun --opt-first=1 --opt-second=2 --opt-third=3 true")
    lent.cluster.put(toml, "/etc/slurm/slurmhooks.toml")
    assert done.returncode == 0, done.stdout
    records = [record for record in lent.records() if record["callback"] == "task_init"]
    args = [["fast=1"], ["alpha", "b=c"], []]
    assert [(record["line"], record["value"], record["args"]) for record in records] == [
        ("first", "1", args[0]),
        ("second", "2", args[1]),
        ("third", "3", args[2]),
    ]
    assert [record["line"] for record in lent.records() if record["context"] == "local"] == ["first", "second", "third"]


LATER = "/opt/spank/later"
FAILS_LATER = f"""
import os
from slurmhooks import hook

if os.path.exists("{LATER}"):
    raise OSError("a file server is gone")

@hook.spank.init
def start(spank):
    pass
"""
"""A hook file that does not load once a file exists, as a machine may change after a deployment."""


@pytest.mark.parametrize("kind", ["required", "optional"])
def test_a_line_that_cannot_be_loaded(lent: Site, kind: str) -> None:
    """Files that do not load any more fail closed on a required line; on an optional one, there is a message."""
    settle(lent)
    lent.hooks(wrong=FAILS_LATER)
    lent.plugstack(f"{kind} spank_python.so")
    assert lent.shell("srun echo RAN").stdout == "RAN\n"
    lent.root(f"touch {LATER}")
    try:
        done = lent.shell("srun echo RAN")
    finally:
        lent.root(f"rm {LATER}")
    fails = kind == "required"
    assert (done.returncode, "RAN\n" in done.stdout) == ((1, False) if fails else (0, True)), done.stdout
    assert re.search(r"slurmhooks: the hooks could not be loaded \(error [0-9a-f]{8}\); please tell", done.stdout)
    assert "Traceback" not in done.stdout
    lent.resume()


WRONG = {
    "syntax": ("def oops(:\n", "required spank_python.so hooks.d/*.py", "SyntaxError"),
    "argument": ("from slurmhooks import hook\n@hook.spank.init\ndef f(job): ...\n", "required spank_python.so", "job"),
    "missing": ("", "required spank_python.so hooks.d/no_such.py", "no_such.py"),
    "config": ("", "required spank_python.so config=broken.toml", "wrong: unknown"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_line_that_is_wrong(lent: Site, name: str) -> None:
    """What a line names is not deployed if it does not load."""
    text, row, words = WRONG[name]
    lent.hooks(wrong=text)
    lent.cluster.put("[hooks]\nwrong = 1\n", "/etc/slurm/broken.toml")
    lent.plugstack(row)
    assert words in lent.cluster.refusal()


@pytest.mark.parametrize(
    ("second", "rows"),
    [
        ("opt-same", ["required spank_python.so"]),
        ("opt-same", ["required spank_python.so hooks.d/one.py", "required spank_python.so hooks.d/two.py"]),
        ("opt_same", ["required spank_python.so hooks.d/one.py", "required spank_python.so hooks.d/two.py"]),
    ],
    ids=["files", "lines", "variable"],
)
def test_two_options_of_one_name(lent: Site, second: str, rows: list[str]) -> None:
    """Two options with the same name or variable are not deployed, in one file and across lines."""
    make = "from slurmhooks import hook\noption = hook.spank.option('{}', usage='x')\n".format
    lent.hooks(one=make("opt-same"), two=make(second))
    lent.plugstack(*rows)
    assert re.search(f"opt[-_]{second[4:]}", lent.cluster.refusal())
