# SPDX-License-Identifier: GPL-2.0-or-later
"""Values and functions for handlers under a real scrun, and the ported example of the manual."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.containers import PRELUDE, User, install
from tests.cluster.scrun_lab import alice, bob, lab
from tests.cluster.turns import moved

pytestmark = pytest.mark.one_release("24.11", "26.05")
STAY = {"test_what_a_handler_sees", "test_odd_names", "test_commands"}

PROJECT = Path(__file__).resolve().parents[2]
EXAMPLE = "contrib/scrun/staging.py"
__all__ = ["alice", "bob", "lab"]  # fixtures

TELL = """
import re
def tell(container, name, **more):
    known = {key: getattr(container, key) for key in container.TEXTS + container.NUMBERS}
    known.update(more, job_env=dict(container.job_env.items()))
    with open("/tmp/staged-alice-" + name + ".json", "w") as file:
        json.dump(known, file)
def of_step(output):
    # srun says, too, that a step had to wait.
    return re.sub(r"^srun: ([Jj]ob|Step) .*\\n", "", output, flags=re.MULTILINE)
def long(run, where):
    # On a busy machine scrun itself (26.05) sometimes loses the end of what a step prints.
    for _ in range(5 if where == "remote" else 1):
        result = run("head -c 300000 /dev/zero | tr '\\\\0' x")
        if len(of_step(result.output)) == 300000:
            break
    return result
def commands(container, where):
    run = getattr(container, where + "_command")
    results = [
        run("echo out; echo err >&2; exit 3"),
        run(["printf", "%s", "two words\\n'\\"$HOME-"]),
        run("printf 'a\\\\377b'"),
        long(run, where),
        run("echo $SLURM_JOB_ID; echo $SCRUN_CONTAINER_ID"),
    ]
    texts = [of_step(result.output) for result in results]
    return [
        (result.status, text if len(text) < 999 else len(text)) for result, text in zip(results, texts, strict=True)
    ]
"""


def told(user: User, name: str) -> dict[str, Any]:
    """Return the record of a handler about its container."""
    path = f"/tmp/staged-alice-{name}.json"
    user.wait(lambda: user.sh(f"cat {path}", check=False).endswith("}"), f"report {name}")
    record: dict[str, Any] = json.loads(user.sh(f"cat {path}; rm {path}"))
    return record


def test_what_a_handler_sees(alice: User) -> None:
    """Handlers of both calls have every argument that Lua gets, assigned paths, and the job's environment."""
    install(
        alice.cluster,
        TELL
        + """
@hook.scrun.stage_in(order=10)
def first(container):
    tell(container, "in", old=container.set_bundle_path("/tmp/staged-alice-b"), root=container.config.root.path)
    copy_tree(container.orig_bundle, container.bundle)
    container.set_root_path(container.bundle + "/rootfs")
    container.job_env["ADDED"] = "two words"
@hook.scrun.stage_in(order=20)
def second(container):
    tell(container, "second")
    global kept
    kept = container
@hook.scrun.stage_out
def stage_out(container):
    try:
        kept.id
    except Exception as error:
        tell(container, "out", stale=type(error).__name__)
    remove_tree(container.bundle)
""",
    )
    bundle = alice.bundle("/bin/true")
    code, output = alice.create("demo")
    assert code == 0, output
    first, second, out = (told(alice, name) for name in ("in", "second", "out"))
    for seen in (first, second, out):
        assert (seen["id"], seen["user_id"], seen["group_id"]) == ("demo", 2001, 2001)
        assert seen["orig_bundle"] == bundle
        assert seen["config_file"] == f"{bundle}/config.json"
        assert seen["spool_dir"].rstrip("/") == f"{alice.root}/demo"
        assert seen["job_id"] == first["job_id"] > 0
        assert seen["job_env"]["SCRUN_CONTAINER_ID"] == "demo"
        assert seen["job_env"]["SLURM_JOB_ID"] == str(first["job_id"])
    assert (first["old"], first["root"], first["root_path"]) == (bundle, "rootfs", None)
    assert (second["bundle"], second["root_path"]) == ("/tmp/staged-alice-b", "/tmp/staged-alice-b/rootfs")
    assert second["job_env"]["ADDED"] == out["job_env"]["ADDED"] == "two words"
    assert (out["bundle"], out["root_path"]) == ("/tmp/staged-alice-b", "/tmp/staged-alice-b/rootfs")
    assert out["orig_root_path"] == f"{bundle}/rootfs"
    assert out["stale"] == "StaleHandleError"
    alice.expect_nothing_left()


def test_handlers_of_a_package(alice: User) -> None:
    """Handlers of an installed package stage containers."""
    cluster = alice.cluster
    [place] = cluster.root("sh", "-c", "ls -d /opt/slurmhooks/lib/python3.*/site-packages", check=True).stdout.split()
    toml = "/etc/slurm/slurmhooks.toml"
    before = cluster.root("cat", toml, check=True).stdout
    try:
        cluster.put(
            PRELUDE + TELL + "@hook.scrun.stage_in\ndef stage_in(container):\n    tell(container, 'in')\n",
            f"{place}/scrunhooks/__init__.py",
        )
        cluster.put('[hooks]\nmodules = ["scrunhooks"]\n', toml)
        alice.bundle("/bin/true")
        code, output = alice.create("demo")
        assert code == 0, output
        assert told(alice, "in")["id"] == "demo"
        alice.expect_nothing_left()
    finally:
        cluster.put(before, toml)
        cluster.root("rm", "-rf", f"{place}/scrunhooks")


def test_commands(alice: User) -> None:
    """Commands run on scrun's machine and on the job's nodes, with their status and complete output."""
    install(
        alice.cluster,
        TELL
        + """
@hook.scrun.stage_in
def stage_in(container):
    here, there = commands(container, "allocator"), commands(container, "remote")
    nul = container.allocator_command("printf 'a\\\\0b'").output
    killed = container.allocator_command("kill -9 $$").status
    tell(container, "in", here=here, there=there, nul=nul, killed=killed)
@hook.scrun.stage_out
def stage_out(container):
    tell(container, "out", statuses=[container.allocator_command("exit 3").status for _ in range(30)])
""",
    )
    alice.bundle("/bin/true")
    code, output = alice.create("demo")
    assert code == 0, output
    seen = told(alice, "in")
    job = str(seen["job_id"])
    for results in (seen["here"], seen["there"]):
        assert results[0][0] == 3
        assert sorted(results[0][1].splitlines())[:2] == ["err", "out"] or "out" in results[0][1]
        assert results[1] == [0, "two words\n'\"$HOME-"]
        assert results[2] == [0, "a\udcffb"]
        assert results[3] == [0, 300_000]
        assert results[4] == [0, f"{job}\ndemo\n"]
    assert seen["nul"] == "a\0b"
    assert seen["killed"] == 137
    # scrun's own allocator_command loses the status here, because scrun reaps the child.
    assert told(alice, "out")["statuses"] == [3] * 30
    alice.expect_nothing_left()


LEVELS = ("error", "info", "verbose", "debug", "debug2", "debug3")


@pytest.mark.parametrize(("option", "shown"), [("-v", 3), *moved(("", 2), ("-vv", 4), ("-vvvvv", 6))])
def test_log_levels(alice: User, option: str, shown: int) -> None:
    """Each level reaches scrun's log if the log's level allows it, users' messages always, each line as a record."""
    lines = "\n    ".join(f'log.{level}("at %s", "{level}", n=1)' for level in LEVELS)
    install(
        alice.cluster,
        "@hook.scrun.stage_in\ndef stage_in(container):\n    "
        + lines
        + '\n    log.user("for you\\nand more \\udcff")\n',
    )
    alice.bundle("/bin/true")
    code, output = alice.create("demo", options=option)
    assert code == 0, output
    # `create` may return before stage_in (anchor.c:_on_startup_con, if the job existed very early).
    alice.wait_output("demo", "and more")
    output = alice.output("demo")
    assert [level for level in LEVELS if f"slurmhooks: at {level} n=1" in output] == list(LEVELS[:shown])
    assert "for you\n" in output
    alice.expect_nothing_left()


ODD = "bundle -rf 'it' \"is\" $HOME\nend"


def test_odd_names(alice: User) -> None:
    """A bundle with blanks, quotes, a newline and a leading dash in its path is staged in and out like any other."""
    alice.cluster.put(PROJECT / EXAMPLE, "/etc/slurm/hooks.d/life.py")
    bundle = alice.bundle("/bin/sh", "-c", "cat '/etc/-n a'; echo new > '/etc/b\nc'", path=ODD)
    alice.sh(f"echo odd > {shlex.quote(bundle)}/rootfs/etc/'-n a'")
    code, output = alice.create("demo", shlex.quote(bundle))
    assert code == 0, output
    alice.wait_output("demo", "staged out")
    assert "odd\n" in alice.output("demo")
    alice.wait_job_over()
    assert alice.sh(f"cat {shlex.quote(bundle)}/rootfs/etc/b*") == "new\n"
    alice.expect_nothing_left()


def test_the_manuals_example(alice: User) -> None:
    """contrib's hooks stage a real bundle in and out as an ordinary user, and leave nothing behind."""
    alice.cluster.put(PROJECT / EXAMPLE, "/etc/slurm/hooks.d/life.py")
    command = (
        "cat /etc/name; echo job $SLURM_JOB_ID; id -u; cat /data/in; echo made > /data/out;"
        " echo new > '/etc/new file'; rm /etc/old; cat /ro/x; echo no > /ro/x"
    )
    alice.bundle("/bin/sh", "-c", command)
    alice.sh("echo of alice > bundle/rootfs/etc/name; touch bundle/rootfs/etc/old; mkdir -p bundle-data bundle-ro")
    alice.sh(
        "printf x > \"$(printf 'bundle/rootfs/etc/-rf \\n \\047 \\377')\"; ln -s /etc/passwd bundle/rootfs/etc/link"
    )
    alice.sh("echo input > bundle-data/in; echo read only > bundle-ro/x")
    change = """
import json
path = "/home/alice/bundle/config.json"
c = json.load(open(path))
c["mounts"][1]["options"].append("uid=0")
c["mounts"] += [
    {"destination": "/data", "type": "bind", "source": "/home/alice/bundle-data", "options": ["rbind", "rw"]},
    {"destination": "/ro", "type": "bind", "source": "/home/alice/bundle-ro", "options": ["rbind", "ro"]},
]
c["hooks"] = {"prestart": [{"path": "/bin/false"}]}
c["process"]["rlimits"] = [{"type": "RLIMIT_NOFILE", "soft": 10000000, "hard": 10000000}]
c["process"]["user"]["additionalGids"] = [5]
c["linux"].pop("uidMappings"), c["linux"].pop("gidMappings")
c["linux"]["namespaces"] = [n for n in c["linux"]["namespaces"] if n["type"] != "user"]
c["x-site"] = {"kept": [1.5, None]}
json.dump(c, open(path, "w"))
"""
    alice.cluster.user("alice", "python3", "-c", change, check=True)
    before = alice.sh("cat bundle/config.json")
    code, output = alice.create("demo")
    assert code == 0, output
    alice.wait_output("demo", "staged out")
    output = alice.output("demo")
    assert "of alice\n" in output
    assert re.search(r"job \d+\n0\ninput\n", output), output
    assert "read only\n" in output
    alice.delete("demo")
    alice.wait_job_over()
    assert alice.sh("cat 'bundle/rootfs/etc/new file'") == "new\n"
    assert alice.sh("ls bundle/rootfs/etc/old", check=False).startswith("ls: cannot access")
    assert alice.sh("cat bundle-data/out bundle-data/in") == "made\ninput\n"
    assert alice.sh("cat bundle-ro/x") == "read only\n"
    assert alice.sh("readlink bundle/rootfs/etc/link") == "/etc/passwd\n"
    assert alice.sh("cat bundle/rootfs/etc/-rf*") == "x"
    # Slurm itself makes a mount point for its spool folder in /var.
    assert set(alice.sh("ls bundle/rootfs").split()) - {"var"} == {"bin", "dev", "etc", "proc", "sys", "tmp"}
    assert alice.sh("cat bundle/config.json") == before
    alice.wait(lambda: not alice.sh("ls -A /run/user/2001/slurm/scrun"), "empty scratch folder")
    alice.expect_nothing_left()
