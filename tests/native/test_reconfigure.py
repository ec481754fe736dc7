# SPDX-License-Identifier: GPL-2.0-or-later
"""A slurmctld that 'scontrol reconfigure' has started, in a stand-in: it replaces the old one only with all hooks."""

from collections.abc import Sequence

import pytest

from tests.native.hosting import Host, Run

pytestmark = pytest.mark.slow

PLUGINS = ("job_submit", "prep", "jobcomp")
"""Plugins that have workers in a build with public headers, in the order in which slurmctld initializes them."""
NAMES = {"job_submit": "lua,python", "prep": "prep/script,prep/python", "jobcomp": "jobcomp/python"}
MEMBERS = {"job_submit": "job_submit_plugins", "prep": "prep_plugins", "jobcomp": "job_comp_type"}

MEET = """
import os, sys, time

HERE, POINT = {folder!r}, sys.argv[-1].partition(":")[0].rpartition(".")[2]

def loading():
    return {{name for name in os.listdir(HERE) if name.startswith("loading.")}}

open(f"{{HERE}}/loading.{{POINT}}", "w").close()
end = time.monotonic() + 20
while len(loading()) < {count}:
    if time.monotonic() > end:
        raise TimeoutError(f"only {{loading()}} are loading")
    time.sleep(0.01)
"""
FAIL = """
import sys

if sys.argv[-1].partition(":")[0].rpartition(".")[2] == {plugin!r}:
    raise ValueError("does not load here")
"""


def reconfigured(host: Host, named: dict[str, str], plugins: Sequence[str] = PLUGINS) -> Run:
    """Initialize plugins as after 'scontrol reconfigure'. ``named``: what slurm.conf names."""
    lines = ["conf state_save_location $dir", "conf plugindir $plugins"]
    lines += [f"conf {MEMBERS[plugin]} {names}" for plugin, names in named.items()]
    lines += [f"open {plugin} $plugins/{plugin}_python.so" for plugin in plugins]
    return host.run("\n".join(lines), env={"SLURMCTLD_RECONF": "1"})


def test_hooks_of_all_plugins_load_at_the_same_time(host: Host) -> None:
    """Hook files that wait for those of the other plugins load: so slurmctld waits once, and not for each plugin."""
    host.site(MEET.format(folder=str(host.folder), count=len(PLUGINS)))
    run = reconfigured(host, NAMES)
    assert [result.rc for result in run.of("open")] == [0, 0, 0], run.lines()


def test_only_plugins_of_slurm_conf_start_workers(host: Host) -> None:
    """A plugin that slurm.conf does not name, or whose name only contains ours, starts nothing before its init()."""
    host.site(MEET.format(folder=str(host.folder), count=2))
    other = {"job_submit": "python", "prep": "prep/pythonic,prep/my_python", "jobcomp": "jobcomp/python"}
    run = reconfigured(host, other, ["job_submit"])
    assert run.one("open").rc == 0, run.lines()
    assert sorted(path.name for path in host.folder.glob("loading.*")) == ["loading.job_submit", "loading.jobcomp"]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_hooks_that_do_not_load_end_the_reconfiguration(host: Host, plugin: str) -> None:
    """init() of the plugin whose hooks do not load fails, and only it, wherever the workers were started."""
    host.site(FAIL.format(plugin=plugin))
    run = reconfigured(host, NAMES)
    assert {name: result.rc for name, result in zip(PLUGINS, run.of("open"), strict=True)} == {
        name: -1 if name == plugin else 0 for name in PLUGINS
    }
    assert [text for text in run.lines("ERROR") if "slurmctld is not reconfigured" in text]
