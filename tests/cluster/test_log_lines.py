# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts of several lines in the logs of real daemons, and for users."""

import re
from typing import TYPE_CHECKING

import pytest

from tests.cluster.spank.site import Site, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

HOOKS = r"""
from slurmhooks import hook, log

@hook.job_submit
def submit(job):
    log.info("controller\nsecond %s\n", job.comment)
    log.user("from the controller\nsecond line\n")

@hook.spank.user_init
def on_the_node(spank):
    log.info("node\nsecond %s\n", "a\nb")
    log.user("from the node\nsecond line\n")

@hook.spank.init_post_opt(contexts="local")
def in_srun(spank):
    log.user("from srun\nsecond line\n")
"""
LUA = r"""
function slurm_spank_user_init(spank)
   SPANK.log_info("from Lua\nsecond %s\n", "a\nb")
   return SPANK.SUCCESS
end
"""


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A site whose hook file and Lua script log texts of several lines everywhere."""
    made = site(cluster)
    made.hooks(lines=HOOKS)
    made.cluster.put(LUA, "/opt/lines.lua")
    made.plugstack("required spank_python.so", "required spank_python.so /opt/lines.lua")
    made.cluster.deploy()
    return made


def messages(log: str, word: str) -> list[str]:
    """Return the message of a record that has a word, and that of the record after it, without times and names."""
    lines = [re.sub(r"^\[[^]]*\] (\[[^]]*\] )?", "", line) for line in log.splitlines()]
    place = next(number for number, line in enumerate(lines) if word in line)
    return lines[place : place + 2]


def test_lines(lent: Site) -> None:
    """The first line is a record, further lines are marked records, and a line feed of a user is escaped."""
    done = lent.shell("cd; srun --comment=\"$(printf 'x\\ny')\" true")
    assert done.returncode == 0, done.stdout
    for text in ("from the controller", "from srun"):
        first, second = messages(done.stdout, text)
        assert first.endswith(text)
        assert second == first.replace(text, "second line")
    assert re.search(r"from the node\n.*\| second line\n", done.stdout), done.stdout
    assert messages(lent.cluster.log("slurmctld"), "slurmhooks: controller") == [
        "slurmhooks: controller", r"slurmhooks: | second x\ny",
    ]  # fmt: skip
    node = lent.cluster.log("n1")
    assert messages(node, "slurmhooks: node") == ["slurmhooks: node", r"slurmhooks: | second a\nb"]
    assert messages(node, "from Lua") == ["from Lua", r"| second a\nb"]
    assert messages(node, "from the node") == ["from the node", "| second line"]
