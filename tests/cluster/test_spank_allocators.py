# SPDX-License-Identifier: GPL-2.0-or-later
"""scrontab and scrun, which call handlers of the context allocator, as sbatch and salloc do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.containers import HOOK, TRIES, User, install
from tests.cluster.scenes import BUNDLE_MAKER, BUNDLE_PATH
from tests.cluster.scrun_lab import COPY, PROJECT
from tests.cluster.spank.noting import HEAD, NOTE
from tests.cluster.spank.site import Site, settle, site

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.one_release("24.11", "26.05")

FILE = "/etc/slurm/spank/level.py"
LEVEL = """
level = hook.spank.option("level", "N", usage="for a test", type=int)

@level.check
def check(value):
    if value > 3:
        raise Reject("at most 3")
    return value

def seen(spank):
    with open("/proc/self/comm") as file:
        program = file.read().strip().partition(":")[0]
    value = None if spank.callback == "init" else level.value
    note(program=program, pid=os.getpid(), callback=spank.callback, context=spank.context, level=value)

for name in ("init", "init_post_opt", "exit"):
    getattr(hook.spank, name)(contexts=["allocator"])(seen)
"""
VARIABLE = "SLURM_SPANK__SLURM_SPANK_OPTION_python_level"


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A cluster with an option, with a manifest."""
    prepared = site(cluster)
    prepared.root("mkdir -p -m 1777 /scratch; echo ScronParameters=enable >> /etc/slurm/local.conf")
    cluster.put(PROJECT / BUNDLE_MAKER, BUNDLE_PATH)
    cluster.put(HEAD + NOTE + LEVEL, FILE)
    prepared.hooks()
    prepared.plugstack(f"required spank_python.so {FILE}")
    cluster.restart()
    return prepared


@pytest.fixture
def alice(lent: Site) -> Iterator[User]:
    """A user without containers."""
    user = User(lent.cluster, "alice")
    user.clean()
    yield user
    user.clean()
    lent.root(f"rm -f {HOOK}")


def crontab(lent: Site, options: str) -> str:
    """Install and remove a crontab, and return what scrontab says."""
    settle(lent)
    lent.forget_records()
    said = lent.shell(f"printf '#SCRON -t 5 {options}\\n0 0 1 1 * true\\n' | scrontab -").stdout
    lent.shell("scrontab -r")
    return said


def test_scrontab(lent: Site) -> None:
    """scrontab calls init and exit, and a check refuses a value."""
    if lent.shell("command -v scrontab").returncode:
        pytest.skip("this package of Slurm has no scrontab")
    assert crontab(lent, "--level=2") == ""
    records = [(record["program"], record["callback"], record["level"]) for record in lent.records()]
    assert records == [("scrontab", "init", None), ("scrontab", "exit", 2)]
    assert "slurmhooks: --level: at most 3" in crontab(lent, "--level=9")
    assert "slurmhooks: --level takes a whole number, not 'x'" in crontab(lent, "--level=x")
    assert [record["callback"] for record in lent.records()] == ["init"]


def records_of_container(lent: Site, alice: User, name: str) -> list[dict[str, Any]]:
    """Return the records of a container and its anchor; none if slurmhooks had to end it, for a fault of 24.11.

    Its conmgr waits at the end for connections to be established, also for the listening socket that scrun has added as
    a connection (alloc.c:_setup_listener, watch.c:_handle_connection). It waits in a busy loop, whatever plugstack.conf
    names (with a plugin in C, 2 anchors of 15, and none of 20 in 26.05), until native/scrun/watchdog.c ends the
    process, which has done its work: it does not call exit.
    """
    lent.forget_records()
    code, output = alice.create(name, **{VARIABLE: "2"})
    assert code == 0, output
    (post,) = lent.wait_for_records(1, program="scrun", callback="init_post_opt")
    released = f"grep -q 'released successfully' ~/{name}.log"
    lent.cluster.wait(lambda: alice.sh(f"! ps -p {post['pid']} && {released}"), what="end of the anchor")
    records = lent.records()
    if any(record["callback"] == "exit" and record["pid"] == post["pid"] for record in records):
        return records
    assert lent.since < (26, 5), alice.sh(f"cat ~/{name}.log")
    return []


def test_scrun(lent: Site, alice: User) -> None:
    """`scrun create` calls init and exit, its anchor init_post_opt and exit; the anchor knows the value at its end."""
    if not lent.cluster.has_scrun:
        pytest.skip(f"Slurm {lent.cluster.release} has no scrun that works")
    install(lent.cluster, COPY)
    alice.bundle("/bin/true")
    records = next(filter(None, (records_of_container(lent, alice, f"demo{number}") for number in range(TRIES))), [])
    (init,) = [record for record in records if record["callback"] == "init" and record["program"] == "scrun"]
    (post,) = [record for record in records if record["callback"] == "init_post_opt" and record["program"] == "scrun"]
    ends = {record["pid"]: record["level"] for record in records if record["callback"] == "exit"}
    assert init["pid"] != post["pid"]
    assert ends == {init["pid"]: None, post["pid"]: 2}
    assert post["level"] in (None, 2)


def test_a_refusal_in_scrun(lent: Site, alice: User) -> None:
    """A container is not created if a handler of init refuses, and the user reads why."""
    if not lent.cluster.has_scrun:
        pytest.skip(f"Slurm {lent.cluster.release} has no scrun that works")
    lent.cluster.put(
        HEAD + '@hook.spank.init(contexts="allocator")\ndef no(spank):\n    raise Reject("no containers here")\n', FILE
    )
    install(lent.cluster, COPY)
    alice.bundle("/bin/true")
    code, output = alice.create("demo")
    assert (code, "no containers here" in output) == (1, True), output
    assert lent.root("squeue --noheader") == ""
