# SPDX-License-Identifier: GPL-2.0-or-later
"""slurmctld accepts nothing without the policy that was deployed."""

from collections.abc import Iterator

import pytest

from tests.cluster.conftest import Cluster
from tests.cluster.job_submit_site import DEFAULT_TOML, NOT_LOADED, TOML, Site, lend, prepare
from tests.cluster.turns import moved_from

pytestmark = [pytest.mark.one_release("26.05"), pytest.mark.stopped]

HANDLER = "@hook.job_submit\ndef limit(job): raise Reject('version {}')\n"


@pytest.fixture(scope="module")
def module_site(cluster: Cluster) -> Site:
    """The cluster, with no hooks, and without SPANK, because users' commands would fail before slurmctld is asked."""
    cluster.put("", "/etc/slurm/plugstack.conf")
    return prepare(cluster, "JobSubmitPlugins=python\n")


@pytest.fixture
def site(module_site: Site) -> Iterator[Site]:
    """Start each test without hooks and jobs."""
    yield from lend(module_site)


DAMAGES = {
    "a file is edited": "echo '# edited' >> $(find {folder} -name life.py)",
    "a file is gone": "rm $(find {folder} -name life.py)",
    "the set is gone": "rm -r {folder}",
    "the link is gone": "rm /etc/slurm/slurmhooks.set",
}
"""What happens to the set in force itself."""


@pytest.mark.parametrize("damage", moved_from(1, DAMAGES))
def test_nothing_is_accepted_without_policy(site: Site, damage: str) -> None:
    """slurmctld does not start with a damaged set, but refuses everything until sources are deployed."""
    site.hooks(HANDLER.format(1))
    assert "version 1" in site.refused()
    folder = site.shell("readlink -f /etc/slurm/slurmhooks.set", user="root").strip()
    site.shell(DAMAGES[damage].format(folder=folder), user="root")
    site.cluster.restart("slurmctld")
    assert NOT_LOADED in site.refused()
    site.hooks(HANDLER.format(2))
    assert "version 2" in site.refused()


def test_a_required_handler(site: Site) -> None:
    """A set without a handler that it requires is not deployed."""
    site.hooks(HANDLER.format(1))
    assert "version 1" in site.refused()
    site.cluster.put(f'{DEFAULT_TOML}require = ["limits:account"]\n', TOML)
    assert "limits:account: [hooks] require of slurmhooks.toml names this handler" in site.cluster.refusal()
    assert "version 1" in site.refused()
