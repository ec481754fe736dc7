# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of plugstack.conf: each with its own files, arguments and options; lines that cannot be loaded."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.noting import HEAD, NOTE
from tests.cluster.spank.site import PLUGSTACK, Site, settle, site

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


@pytest.mark.parametrize("mode", ["python", "manifest"])
def test_lines(lent: Site, mode: str) -> None:
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
    if mode == "manifest":
        lent.compile()
    lent.forget_records()
    done = lent.shell("srun --opt-first=1 --opt-second=2 --opt-third=3 true")
    assert done.returncode == 0, done.stdout
    records = [record for record in lent.records() if record["callback"] == "task_init"]
    args = [["fast=1"], ["alpha", "b=c"], []]
    assert [(record["line"], record["value"], record["args"]) for record in records] == [
        ("first", "1", args[0]),
        ("second", "2", args[1]),
        ("third", "3", args[2]),
    ]
    assert [record["line"] for record in lent.records() if record["context"] == "local"] == ["first", "second", "third"]


WRONG = {
    "syntax": ("def oops(:\n", "required spank_python.so hooks.d/*.py"),
    "argument": ("from slurmhooks import hook\n@hook.spank.init\ndef f(job): ...\n", "required spank_python.so"),
    "missing": ("", "required spank_python.so hooks.d/no_such.py"),
    "config": ("", "required spank_python.so config=broken.toml"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("required", [True, False])
def test_a_line_that_cannot_be_loaded(lent: Site, name: str, required: bool) -> None:
    """Files that cannot be loaded fail closed on a required line and are ignored on an optional one, with a message."""
    text, row = WRONG[name]
    settle(lent)
    lent.hooks(wrong=text)
    lent.cluster.put("[hooks]\nwrong = 1\n", "/etc/slurm/broken.toml")
    lent.plugstack(row if required else row.replace("required", "optional"))
    done = lent.shell("srun echo RAN")
    assert (done.returncode, "RAN\n" in done.stdout) == ((1, False) if required else (0, True)), done.stdout
    assert re.search(r"slurmhooks: the hooks could not be loaded \(error [0-9a-f]{8}\); please tell", done.stdout)
    assert "Traceback" not in done.stdout
    lent.plugstack()
    lent.resume()


@pytest.mark.parametrize(
    ("second", "rows"),
    [
        ("opt-same", ["required spank_python.so"]),
        ("opt-same", ["required spank_python.so hooks.d/one.py", "required spank_python.so hooks.d/two.py"]),
        ("opt_same", ["required spank_python.so hooks.d/one.py", "required spank_python.so hooks.d/two.py"]),
        ("opt-other", ["required spank_python.so", "required spank_python.so"]),
    ],
    ids=["files", "lines", "variable", "line-twice"],
)
def test_two_options_of_one_name(lent: Site, second: str, rows: list[str]) -> None:
    """Two options with the same name or variable are refused, in one file and across lines."""
    make = "from slurmhooks import hook\noption = hook.spank.option('{}', usage='x')\n".format
    settle(lent)
    lent.hooks(one=make("opt-same"), two=make(second))
    lent.plugstack(*rows)
    done = lent.shell("srun true")
    assert done.returncode == 1, done.stdout
    assert "init() failed" in done.stdout
    lent.root(f": > {PLUGSTACK}")
