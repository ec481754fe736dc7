# SPDX-License-Identifier: GPL-2.0-or-later
"""The guarantees of `tests/cluster/run` for people and tests."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster.lab import places

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

RUN = Path(__file__).parent / "run"
pytestmark = [pytest.mark.one_release("24.11"), pytest.mark.moved]
Factory = Callable[[str, str], "Cluster"]


@pytest.fixture
def lab(bare_cluster: "Cluster") -> "Cluster":
    """The bare cluster, brought up again if the previous test took it down."""
    bare_cluster.tool("up")
    return bare_cluster


def keeper(cluster: "Cluster") -> int:
    """Return the host's process id of the cluster's pid 1."""
    title = f"slurmhooks cluster {cluster.name}/{cluster.release}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if command[0] == title:
                return int(entry.name)
    raise AssertionError(f"no process is called {title!r}")


def members(namespace: str) -> list[str]:
    """Return the host's process ids in a pid namespace, without zombies, which the host's init reaps."""
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if os.readlink(entry / "ns" / "pid") == namespace and state != "Z":
                    pids.append(entry.name)
            except OSError:
                continue
    return pids


def test_streams_and_exit_code_are_the_commands_own(lab: "Cluster") -> None:
    """Input, output, errors and the exit code pass through unchanged and separately."""
    done = lab.root("sh", "-c", "cat; echo problem >&2; exit 42", input="caf\u00e9\n\ntwo")
    assert (done.returncode, done.stdout, done.stderr) == (42, "caf\u00e9\n\ntwo", "problem\n")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["sh", "-c", "kill -9 $$"], 128 + signal.SIGKILL),
        (["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM),
        (["no-such-command"], 127),
        (["/etc"], 126),
    ],
    ids=["SIGKILL", "SIGTERM", "absent", "directory"],
)
def test_an_end_that_is_no_exit_is_told_as_a_shell_tells_it(lab: "Cluster", command: list[str], code: int) -> None:
    """Death by signal N is 128+N; 127 and 126 mean that the command could not be started."""
    assert lab.user("alice", *command).returncode == code


def test_arguments_arrive_as_they_were_given(lab: "Cluster") -> None:
    """No shell is involved, and options after the command's name belong to the command."""
    words = ["a b", "$HOME", "--env", "K=V", "--", "-x", "", "'\"", "*"]
    done = lab.root("printf", "[%s]", *words)
    assert done.stdout == "".join(f"[{word}]" for word in words)


def test_the_environment_is_clean(lab: "Cluster", monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment has only the variables of --env besides the standard ones; cwd is the user's home."""
    monkeypatch.setenv("SLURM_JOB_ID", "999")
    done = lab.user("bob", "sh", "-c", "pwd; id -un; env", env={"GREETING": "a=b c"})
    lines = done.stdout.splitlines()
    assert lines[:2] == ["/home/bob", "bob"]
    assert {"HOME=/home/bob", "USER=bob", "LANG=C.UTF-8", "GREETING=a=b c"} <= set(lines)
    assert not [line for line in lines if line.startswith("SLURM")]


def test_a_user_namespace_can_be_made_inside(lab: "Cluster") -> None:
    """An ordinary user can make a user namespace, like a rootless container runtime: the root is not a chroot."""
    done = lab.user("alice", "unshare", "-Ur", "id", "-u")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


CPUS = sorted(os.sched_getaffinity(0))
KEEP = f"""
    mount -t tmpfs none /mnt && mount --make-private /mnt && : > /mnt/held
    for cpu in {" ".join(map(str, CPUS))}; do
        taskset -c $cpu unshare --mount=/mnt/held true && umount /mnt/held || echo CPU $cpu
    done
    umount /mnt
"""
"""Mounts a namespace from each CPU on a file, like job_container/tmpfs for each job."""


def test_a_mount_namespace_can_be_kept_whichever_cpu_makes_it(lab: "Cluster") -> None:
    """So a job may start on any CPU."""
    done = lab.root("sh", "-c", KEEP)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("cpu", CPUS)
def test_new_mounts_can_keep_any_wherever_they_are_made(cpu: int) -> None:
    """The tool may also run on any CPU."""
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("NOT TESTED: this user may make no mount namespaces here")
    made = (
        "import os, sys; from lab import namespace; everywhere = os.sched_getaffinity(0);"
        "os.sched_setaffinity(0, {int(sys.argv[1])}); os.sched_setaffinity(0, everywhere);"
        "namespace.new_mounts(); namespace.mount('none', '/', '', namespace.MS_REC | namespace.MS_PRIVATE);"
        "os.execvp('sh', ['sh', '-c', sys.argv[2]])"
    )
    command = [sys.executable, "-c", made, str(cpu), KEEP]
    done = subprocess.run(command, cwd=RUN.parent, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_wrong_use_is_2(lab: "Cluster") -> None:
    """A call without a meaning ends with 2 and one line."""
    for verb, arguments in (("exec", []), ("as", ["nobody-here", "true"]), ("put", ["-", "relative"])):
        done = lab.call(verb, *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), verb
    done = subprocess.run([sys.executable, str(RUN), "up", "1.0"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "22.05, 24.11, 26.05" in done.stderr


def test_up_can_leave_the_daemons_to_restart(lab: "Cluster") -> None:
    """With --stopped no daemon of Slurm runs until the first restart, and files can be written before."""
    running = ("pgrep", "-x", "slurmctld|slurmd|slurmctld-wlm|slurmd-wlm")
    lab.tool("down")
    lab.tool("up", "--stopped")
    assert lab.root(*running).returncode == 1
    lab.restart()
    assert len(lab.root(*running).stdout.split()) == 2
    assert lab.user("alice", "srun", "true").returncode == 0


def test_up_is_idempotent(lab: "Cluster") -> None:
    """A second up leaves the running cluster alone."""
    before = keeper(lab)
    lab.root("touch", "/run/marker", check=True)
    lab.tool("up")
    lab.tool("up", "--nodes", "1")
    assert keeper(lab) == before
    assert lab.root("test", "-e", "/run/marker").returncode == 0


def test_up_does_not_hold_the_callers_pipes(lab: "Cluster") -> None:
    """A caller that reads the output of up or restart to its end does not wait for a daemon."""
    lab.tool("down")
    env = {**os.environ, "SLURMHOOKS_CLUSTER": lab.name}
    for verb in ("up", "restart"):
        command = [sys.executable, str(RUN), verb, lab.release]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        assert done.returncode == 0, done.stdout


def test_no_process_outlives_down(lab: "Cluster") -> None:
    """Down ends daemons, jobs and users' remaining processes, and leaves nothing mounted."""
    lab.user("alice", "sbatch", "-o", "/dev/null", "--wrap", "sleep 1000", check=True)
    lab.user("bob", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 </dev/null &", check=True)
    lab.wait(lambda: "RUNNING" in lab.root("squeue", "-h", "-o", "%T").stdout, what="running job")
    namespace = os.readlink(f"/proc/{keeper(lab)}/ns/pid")
    assert len(members(namespace)) >= 5
    lab.tool("down")
    assert members(namespace) == []
    assert places.cache() not in Path("/proc/self/mounts").read_text()
    assert lab.tool("down") == "", "a second down is fine"


def test_a_command_in_a_cluster_that_is_down_is_125(lab: "Cluster") -> None:
    """The exit code differs from those of commands, and the line says what to do."""
    lab.tool("down")
    for done in (lab.root("true"), lab.user("alice", "true"), lab.call("restart")):
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (125, "", 1)
        assert f"run up {lab.release}" in done.stderr


def test_a_killed_run_takes_its_command_with_it(lab: "Cluster") -> None:
    """A command ends when the `run exec` that started it is killed."""
    env = {**os.environ, "SLURMHOOKS_CLUSTER": lab.name}
    process = subprocess.Popen([sys.executable, str(RUN), "exec", lab.release, "sleep", "4242"], env=env)
    try:
        lab.wait(lambda: lab.root("pgrep", "-fx", "sleep 4242").returncode == 0, what="sleep inside")
    finally:
        process.kill()
        process.wait()
    lab.wait(lambda: lab.root("pgrep", "-fx", "sleep 4242").returncode == 1, what="end of sleep inside")


@pytest.mark.parametrize("state", ["up", "down"])
def test_files_go_in_and_come_out(lab: "Cluster", tmp_path: Path, state: str) -> None:
    """Put and get keep bytes and mode, create directories, and work whether the cluster is up or down."""
    if state == "down":
        lab.tool("down")
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(bytes(range(256)) * 300)
    source.chmod(0o750)
    lab.put(source, f"/opt/new-{state}/deep/file")
    lab.tool("get", f"/opt/new-{state}/deep/file", str(target))
    assert target.read_bytes() == source.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    lab.tool("up")
    assert lab.root("stat", "-c", "%U %a", f"/opt/new-{state}/deep/file").stdout == "root 750\n"


def test_a_file_that_is_absent_is_an_error(lab: "Cluster", tmp_path: Path) -> None:
    """Get of a missing file fails, names the path and creates no file."""
    done = lab.call("get", "/no/such/file", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "/no/such/file" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_links_inside_do_not_lead_outside(lab: "Cluster", tmp_path: Path) -> None:
    """An absolute link in the cluster leads to the cluster's file, not to the host's."""
    lab.put("inside\n", "/srv/target")
    lab.root("ln", "-sfn", "/srv", "/opt/link", check=True)
    assert lab.tool("get", "/opt/link/target", "-") == "inside\n"
    lab.put("changed\n", "/opt/link/target")
    assert lab.root("cat", "/srv/target").stdout == "changed\n"
    assert not Path("/srv/target").exists()


def test_files_stay_over_down_and_jobs_do_not(lab: "Cluster") -> None:
    """Down and up keep files and local.conf, rewrite slurm.conf and remove jobs; --fresh removes everything."""
    original = lab.root("cat", "/etc/slurm/slurm.conf").stdout
    local = lab.root("cat", "/etc/slurm/local.conf").stdout
    lab.put(local + "MaxArraySize=77\n", "/etc/slurm/local.conf")
    lab.put("spoilt", "/etc/slurm/slurm.conf")
    lab.put("kept", "/opt/kept")
    lab.tool("down")
    lab.tool("up")
    assert lab.root("cat", "/etc/slurm/slurm.conf").stdout == original
    assert lab.root("cat", "/opt/kept").stdout == "kept"
    assert "MaxArraySize            = 77\n" in lab.root("scontrol", "show", "config").stdout
    assert lab.root("squeue", "-h").stdout == ""
    lab.tool("up", "--fresh")
    assert lab.root("test", "-e", "/opt/kept").returncode == 1
    assert lab.root("cat", "/etc/slurm/local.conf").stdout == local


def test_restart_keeps_jobs(lab: "Cluster") -> None:
    """After restart, new daemons still have the old jobs."""
    job = lab.user(
        "alice", "sbatch", "--parsable", "-H", "-o", "/dev/null", "--wrap", "true", check=True
    ).stdout.strip()
    before = lab.root("cat", "/run/slurmctld.pid").stdout
    lab.restart()
    assert lab.root("cat", "/run/slurmctld.pid").stdout != before
    assert lab.root("squeue", "-h", "-o", "%i").stdout.split() == [job]
    lab.root("scancel", job, check=True)


def test_restart_of_some_daemons_leaves_the_others_alone(lab: "Cluster") -> None:
    """Only what is named is restarted; an unknown name restarts nothing."""
    pids = ("/run/slurmctld.pid", "/run/slurmd-n1.pid")
    before = [lab.root("cat", path).stdout for path in pids]
    lab.restart("n1")
    after = [lab.root("cat", path).stdout for path in pids]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False]
    refused = lab.call("restart", "n1", "n7")
    assert refused.returncode == 1
    assert "n7: no such daemon runs" in refused.stderr
    assert [lab.root("cat", path).stdout for path in pids] == after


def test_a_slurmctld_that_dies_is_told_with_its_reason(lab: "Cluster") -> None:
    """Restart fails with slurmctld's own message; up starts the missing daemons after the cause is removed."""
    local = lab.root("cat", "/etc/slurm/local.conf").stdout
    lab.put(local + "JobSubmitPlugins=no_such_plugin\n", "/etc/slurm/local.conf")
    try:
        done = lab.call("restart")
    finally:
        lab.put(local, "/etc/slurm/local.conf")
    assert done.returncode == 1
    assert "fatal:" in done.stderr
    assert "no_such_plugin" in done.stderr
    lab.tool("up")
    assert lab.user("alice", "srun", "true").returncode == 0


def test_log_prints_each_daemons_log(lab: "Cluster") -> None:
    """Log prints the log of slurmctld, of all slurmd and of one node, whether the cluster is up or down."""
    assert "slurmctld version" in lab.log("slurmctld")
    lab.tool("down")
    assert lab.log("slurmd") == lab.log("n1") != ""
    assert lab.call("log", "n9").returncode == 1


def test_two_calls_of_up_at_a_time_agree(lab: "Cluster") -> None:
    """The second caller waits for the first one, and finds the cluster up."""
    lab.tool("down")
    env = {**os.environ, "SLURMHOOKS_CLUSTER": lab.name}
    calls = [subprocess.Popen([sys.executable, str(RUN), "up", lab.release], env=env) for _ in range(2)]
    assert [call.wait(60) for call in calls] == [0, 0]
    assert lab.user("alice", "srun", "true").returncode == 0


def test_an_up_that_is_interrupted_leaves_nothing_running(lab: "Cluster") -> None:
    """A signal while daemons start ends all of them; the next up is clean."""
    lab.tool("down")
    env = {**os.environ, "SLURMHOOKS_CLUSTER": lab.name}
    process = subprocess.Popen([sys.executable, str(RUN), "up", lab.release], env=env, stderr=subprocess.PIPE)

    def keeper_runs() -> bool:
        return "up" in lab.tool("status") or process.poll() is not None

    lab.wait(keeper_runs, what="start of the keeper")
    process.terminate()
    process.communicate(timeout=60)
    # The command may have been faster than the signal: 0, or -15 while Python shuts down.
    assert process.returncode in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
    assert ("down" if process.returncode > 0 else "idle") in lab.tool("status")
    lab.tool("up")


def test_install_of_an_unchanged_tree_does_nothing(cluster: "Cluster") -> None:
    """A second install neither builds nor restarts."""
    before = cluster.root("cat", "/run/slurmctld.pid").stdout
    done = cluster.call("install")
    assert (done.returncode, done.stderr) == (0, "")
    assert cluster.root("cat", "/run/slurmctld.pid").stdout == before


def test_clusters_of_two_releases_and_names_run_side_by_side(cluster_factory: Factory) -> None:
    """Each has its own jobs and users' processes; ending one leaves the others alone."""
    clusters = [cluster_factory(*pair) for pair in (("24.11", "selftest"), ("26.05", "selftest"), ("24.11", "side"))]
    for number, each in enumerate(clusters):
        each.user("alice", "sbatch", "-H", "-o", "/dev/null", "-J", f"job{number}", "--wrap", "true", check=True)
    clusters[0].tool("down")
    for number, each in enumerate(clusters[1:], 1):
        assert each.root("squeue", "-h", "-o", "%j").stdout.split() == [f"job{number}"]
    assert clusters[0].root("true").returncode == 125
