# SPDX-License-Identifier: GPL-2.0-or-later
"""Containers under a real scrun that are given up while they are staged, are refused, or fail."""

from __future__ import annotations

import re

import pytest

from tests.cluster.containers import User, install
from tests.cluster.scrun_lab import COPY, SLOW, alice, lab
from tests.cluster.turns import moved

pytestmark = pytest.mark.one_release("24.11", "26.05")

ERROR_ID = re.compile(r"\(error ([0-9a-f]{8})\); please tell your administrators")
__all__ = ["alice", "lab"]  # fixtures


@pytest.mark.parametrize("how", ["scancel", *moved("kill", "delete")])
def test_given_up_while_staging(alice: User, how: str) -> None:
    """If the job ends, stage_in is notified, stage_out runs after it, create returns, and nothing is left."""
    install(alice.cluster, SLOW)
    alice.bundle("/bin/true")
    alice.create_in_background("demo")
    alice.wait_trace("demo in")
    ways = {
        "scancel": "scancel -u alice",
        "kill": f"{alice.scrun} kill demo KILL",
        "delete": f"{alice.scrun} delete --force demo",
    }
    alice.sh(ways[how], check=False)
    alice.wait_trace("demo out True")
    assert alice.trace() == ["demo in", "demo told", "demo out True"]
    assert alice.exit_code("demo") != 124
    alice.wait_job_over()
    alice.expect_nothing_left()


@pytest.mark.moved
def test_a_handler_that_never_looks(alice: User) -> None:
    """A cancelled container is not started, even if its handlers ran to the end."""
    install(
        alice.cluster,
        """
        @hook.scrun.stage_in
        def stage_in(container):
            trace(container, "in")
            while not os.path.exists("/tmp/staged-alice-go"):
                time.sleep(0.05)
            container.root_path = "/tmp/staged-alice-somewhere"
            trace(container, "done")
        @hook.scrun.stage_out
        def stage_out(container):
            trace(container, "out " + str(container.root_path == container.orig_root_path))
        """,
    )
    alice.bundle("/bin/sh", "-c", "echo never")
    alice.create_in_background("demo")
    alice.wait_trace("demo in")
    alice.sh("scancel -u alice; sleep 3; touch /tmp/staged-alice-go")
    alice.wait_trace("demo out True")
    assert alice.trace() == ["demo in", "demo done", "demo out True"]
    assert alice.exit_code("demo") != 124
    assert "never" not in alice.output("demo").replace("never returns", "")
    alice.sh("rm /tmp/staged-alice-go")
    alice.expect_nothing_left()


@pytest.mark.moved
def test_job_times_out_while_staging(alice: User) -> None:
    """At the end of the job's time limit the container is staged out like at any other end."""
    install(alice.cluster, SLOW)
    alice.bundle("/bin/true")
    alice.create_in_background("demo", SCRUN_TIMELIMIT="1", seconds=200)
    alice.wait_trace("demo in")
    # A minute is the smallest limit that scrun accepts. Slurm checks every half minute for jobs that exceed their
    # limit.
    alice.sh("scontrol update JobId=$(squeue --noheader --format=%i --user=alice) EndTime=now")
    alice.wait(lambda: "demo out True" in alice.trace(), "end of the job's time", 180)
    assert alice.trace() == ["demo in", "demo told", "demo out True"]
    alice.exit_code("demo")
    alice.expect_nothing_left()


def test_interrupted_create(alice: User) -> None:
    """SIGINT ends `scrun create` while the anchor stages in; deleting the container then ends everything."""
    install(alice.cluster, SLOW)
    alice.bundle("/bin/true")
    alice.create_in_background("demo")
    alice.wait_trace("demo in")
    alice.sh("kill -INT $(pgrep -u alice -x -f 'scrun --root=.* create .*')")
    assert alice.exit_code("demo") not in (0, 124)
    alice.sh(f"{alice.scrun} delete --force demo", check=False)
    alice.wait_trace("demo out True")
    alice.wait_job_over()
    alice.expect_nothing_left()


REFUSE = """
@hook.scrun.stage_in
def stage_in(container):
    with Staging("/tmp/staged-alice-refused"):
        raise Reject("no containers today\\nplease come back tomorrow")
@hook.scrun.stage_out
def stage_out(container):
    trace(container, "out " + str(container.bundle == container.orig_bundle))
"""


def test_stage_in_refuses(alice: User) -> None:
    """After a refusal the user reads the handler's text, the container does not run, and the job ends."""
    install(alice.cluster, REFUSE)
    alice.bundle("/bin/sh", "-c", "echo never")
    code, _ = alice.create("demo")
    alice.wait_output("demo", "please come back tomorrow")
    output = alice.output("demo")
    assert "no containers today" in output
    assert "please come back tomorrow" in output
    assert "Traceback" not in output
    # Before 26.05, which suspends that connection, anchor.c:stop_anchor sends a valid pid: `create` ends with 0, or
    # with 1 if the anchor ends before that.
    assert code == 1 or alice.cluster.version < (26, 5)
    alice.wait_job_over()
    assert "never" not in alice.output("demo")
    assert alice.trace() == ["demo out True"]
    assert alice.status("demo") in ("stopped", "unknown")
    alice.expect_nothing_left()


def test_stage_in_has_a_bug(alice: User) -> None:
    """The user sees one line with an id, the log has the traceback under it, and the container does not run."""
    install(
        alice.cluster,
        """
        @hook.scrun.stage_in
        def stage_in(container):
            container.root_path = "/tmp/nothing"
            raise RuntimeError("disk on fire")
        @hook.scrun.stage_out
        def stage_out(container):
            trace(container, "out " + str(container.root_path == container.orig_root_path))
        """,
    )
    alice.bundle("/bin/sh", "-c", "echo never")
    # `create` may return before stage_in (anchor.c:_on_startup_con, if the job existed very early).
    code, _ = alice.create("demo", options="-v")
    alice.wait_output("demo", "please tell your administrators")
    output = alice.output("demo")
    match = ERROR_ID.search(output)
    assert match, output
    assert code != 124
    assert f"error {match.group(1)}: Traceback" in output
    assert "RuntimeError: disk on fire" in output
    alice.create("quiet")
    alice.wait_output("quiet", "please tell your administrators")
    output = alice.output("quiet")
    assert ERROR_ID.search(output), output
    assert "disk on fire" not in output
    alice.wait_trace("quiet out True")
    alice.expect_nothing_left()


@pytest.mark.moved
def test_a_lenient_handler_has_a_bug(alice: User) -> None:
    """With on_error="ignore" the container runs, without the handler's writes."""
    install(
        alice.cluster,
        COPY.replace("@hook.scrun.stage_in", "@hook.scrun.stage_in(order=10)")
        + """
@hook.scrun.stage_in(on_error="ignore")
def broken(container):
    container.bundle = "/tmp/nowhere"
    raise RuntimeError("no")
""",
    )
    alice.bundle("/bin/sh", "-c", "echo inside")
    code, output = alice.create("demo")
    assert code == 0
    assert ERROR_ID.search(output), output
    alice.wait_trace("demo out")
    alice.wait_output("demo", "inside")
    alice.expect_nothing_left()


@pytest.mark.parametrize(
    "failure", ['raise RuntimeError("disk on fire")', *moved('raise Reject("the archive is full")')]
)
def test_stage_out_fails(alice: User, failure: str) -> None:
    """A failure of stage_out is logged, the staged data remains, and the log names it."""
    install(alice.cluster, COPY.replace("        remove_tree(container.bundle)", f"        {failure}"))
    alice.bundle("/bin/sh", "-c", "echo result > /etc/result")
    code, output = alice.create("demo")
    assert code == 0, output
    alice.wait_job_over()
    alice.wait_output("demo", "was not staged out")
    output = alice.output("demo")
    assert "the data in '/tmp/staged-alice-demo' was not staged out" in output
    assert "the archive is full" in output or ERROR_ID.search(output)
    assert alice.sh("cat /tmp/staged-alice-demo/rootfs/etc/result") == "result\n"
    alice.sh("rm -rf /tmp/staged-alice-demo")
    alice.expect_nothing_left()


@pytest.mark.moved
def test_read_only_bundle(alice: User) -> None:
    """A bundle that its user cannot write is staged like any other; writing into it fails with its name."""
    install(alice.cluster, COPY)
    alice.bundle("/bin/sh", "-c", "echo inside")
    alice.sh("chmod -R a-w bundle")
    code, output = alice.create("demo")
    assert code == 0, output
    alice.wait_trace("demo out")
    alice.wait_output("demo", "inside")
    alice.expect_nothing_left()
    install(
        alice.cluster,
        """
        @hook.scrun.stage_in
        def stage_in(container):
            container.config.hostname = "new"
            container.save_config()
        """,
    )
    code, output = alice.create("second")
    assert "/home/alice/bundle/config.json: cannot be written: Permission denied" in output
    assert code != 124
    alice.expect_nothing_left()


@pytest.mark.moved
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("rm bundle/config.json", "unable to load"),
        ("echo '{' > bundle/config.json", "unable to parse|Invalid"),
    ],
)
def test_no_configuration(alice: User, change: str, said: str) -> None:
    """scrun itself refuses a bundle if config.json is missing or is not JSON; no job is created."""
    install(alice.cluster, COPY)
    alice.bundle("/bin/true")
    alice.sh(change)
    before = alice.sh("scontrol --oneliner show jobs | wc -l")
    code, output = alice.create("demo")
    assert code not in (0, 124)
    assert re.search(said, output), output
    assert alice.trace() == []
    assert alice.sh("scontrol --oneliner show jobs | wc -l") == before


@pytest.mark.moved
def test_wrong_configuration(alice: User) -> None:
    """container.config reports errors that scrun ignores, with file and place."""
    install(alice.cluster, "@hook.scrun.stage_in\ndef stage_in(container):\n    container.config\n")
    alice.bundle("/bin/true")
    alice.sh("""sed -i 's/"mounts": \\[/"mounts": [7,/' bundle/config.json""")
    code, output = alice.create("demo")
    assert "/home/alice/bundle/config.json: /mounts/0: should be an object" in output
    assert code != 124
    alice.expect_nothing_left()


def test_disk_full(alice: User) -> None:
    """If a file does not fit, the user reads its name, and its partial copy is removed."""
    install(alice.cluster, COPY.replace('PLACE = "/tmp/staged-%s-%s"', 'PLACE = "/scratch/%s-full/%s"'))
    alice.cluster.root(
        "sh",
        "-c",
        "mkdir -p /scratch/alice-full; mount -t tmpfs -o size=8m,mode=1777 none /scratch/alice-full",
        check=True,
    )
    try:
        alice.bundle("/bin/true")
        alice.sh("head -c 30000000 /dev/zero | tr '\\0' x > 'bundle/rootfs/etc/a big file'")
        code, output = alice.create("demo")
        assert re.search(r"'/scratch/alice-full/demo/rootfs/etc/a big file': No space left on device", output), output
        assert code != 124
        assert alice.sh("ls -A /scratch/alice-full") == ""
        alice.wait_job_over()
    finally:
        alice.cluster.root("umount", "-l", "/scratch/alice-full")
        alice.cluster.root("rmdir", "/scratch/alice-full")
    alice.expect_nothing_left()
