# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports of SPANK plugins, tested as a site would test them: without Slurm, root, GPUs and ssh."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slurmhooks import log
from slurmhooks.testing import FakeSpank, Launch, launch, run
from tests.project.docs_pages import EXAMPLES, PAGES

pytestmark = pytest.mark.slow

MINE = {"job_id": 7, "job_uid": os.getuid(), "job_gid": os.getgid()}


def played(name: str, *args: str, **more: Any) -> Launch:
    """Launch a step of this user with an example and arguments of its line."""
    return launch(EXAMPLES / f"{name}.py", args=args, items=MINE, **more)


def test_lines_of_the_page() -> None:
    """The page says how long each example is, and each example on it has a heading."""
    rows = re.findall(r"^\| \[`(\w+)\.py`\]\(#([\w-]+)\) .* \| (\d+) \|$", PAGES["spank-ports"], re.MULTILINE)
    assert len(rows) >= 8
    for name, anchor, lines in rows:
        assert int(lines) == len((EXAMPLES / f"{name}.py").read_text().splitlines()), name
        assert f"## {anchor}\n" in PAGES["spank-ports"]


@pytest.mark.parametrize(
    ("asked", "variable", "wanted"),
    [
        (None, None, "2"),
        ("7", None, "7"),
        (None, "8", "8"),
        ("7", "8", "7"),
        ("0", "8", "0"),
        ("20", None, "20"),
        ("-5", None, "-5"),
        ("-6", None, "-5"),
        (None, "-20", "-5"),
    ],
)
def test_renice(asked: str | None, variable: str | None, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option counts more than the variable, and that more than the site's default; the limit holds for all."""
    monkeypatch.setattr(os, "setpriority", lambda which, who, value: log.info("%s %s %s", which, who, value))
    options: dict[str, str | bool] = {} if asked is None else {"renice": asked}
    env = {} if variable is None else {"SLURM_RENICE": variable}
    done = played("renice", "min_prio=-5", "default=2", options=options, env=env, tasks=2)
    assert done.log == [f"info: {os.PRIO_PROCESS} 0 {wanted}"] * 2
    limited = int(asked or variable or 2) < -5
    text = f"nice value {asked or variable} is not permitted here: your tasks get -5"
    assert done.user_messages == [text] * limited


@pytest.mark.parametrize("text", ["21", "-21", "1.5", "x", "--1", " 1"])
def test_renice_refuses(text: str) -> None:
    """A value that is no priority is refused before the submission, also in the variable."""
    for more in ({"options": {"renice": text}}, {"env": {"SLURM_RENICE": text}}):
        done = played("renice", **more)
        assert done.failed == "local init_post_opt"
        assert done.text is not None
        assert done.text.endswith(f"{text!r} is not a nice value from -20 to 20")


def test_oom_score_adj() -> None:
    """Each task gets the score; without the argument nothing happens, and a wrong one fails the task."""
    assert played("oom_score_adj").log == []
    own = Path("/proc/self/oom_score_adj").read_text().strip()  # lower ones need root
    assert played("oom_score_adj", f"oom_score_adj={own}").log == [f"info: oom_score_adj of task 0 is {own}"]
    assert played("oom_score_adj", "oom_score_adj=high").failed == "remote task_init_privileged"


def test_preserve_env() -> None:
    """With the option, tasks have srun's SLURM_* variables and no others, but srun's own limits are left out."""
    env = {"SLURM_NNODES": "9", "SLURM_UMASK": "0", "MPIRUN_RANK": "1", "A": "a"}
    done = played("preserve_env", options={"preserve-slurm-env": True}, env=env)
    assert done.tasks[0].env["SLURM_NNODES"] == "9"
    assert {name for name in done.tasks[0].env if name.startswith(("SLURM_", "MPIRUN_", "SAVED_"))} == {"SLURM_NNODES"}
    assert done.tasks[0].env["A"] == "a"
    without = played("preserve_env", env=env)
    assert without.tasks[0].changes == {}


@pytest.mark.skipif(os.getuid() != 0, reason="slurmstepd is root, and the example goes back to it")
def test_collect_script(tmp_path: Path) -> None:
    """The script is kept under the job's id; steps have no script, and a missing file system is an error."""
    script, target = tmp_path / "slurm_script", tmp_path / "kept"
    script.write_bytes(b"#!/bin/sh\n\xff")
    target.mkdir()
    line = (f"target={target}",)
    batch = {**MINE, "job_stepid": 0xFFFFFFFB, "job_argv": [str(script)]}
    step = FakeSpank("remote", args=line, items=batch)
    file = EXAMPLES / "collect_script.py"
    assert run(file, "spank.init", spank=step).accepted
    [kept] = target.glob("*/*")
    assert (kept.name, kept.read_bytes()) == ("job7", script.read_bytes())
    assert kept.parent.stat().st_mode & 0o7777 == 0o750
    assert run(file, "spank.init", spank=FakeSpank("remote", args=line, items={**batch, "job_stepid": 0})).accepted
    assert len(list(target.glob("*/*"))) == 1
    target.rename(tmp_path / "gone")
    assert not run(file, "spank.init", spank=FakeSpank("remote", args=line, items=batch)).accepted
    assert not target.exists()


@pytest.mark.parametrize(
    ("nodes", "cpus", "wanted"),
    [
        ("a", "1", ["a"]),
        ("a b c", "2(x2),1", ["a", "a", "b", "b", "c"]),
        ("a b c", "1,2(x2)", ["a", "b", "b", "c", "c"]),
    ],
)
def test_pbs_nodefile(
    nodes: str, cpus: str, wanted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each node is named once for each CPU, all tasks of a node have the same file, and it is gone afterwards."""
    calls = tmp_path / "calls"

    def scontrol(command: list[str], **more: Any) -> str:
        calls.write_text(" ".join(command))
        assert (more["user"], more["group"]) == (os.getuid(), os.getgid())
        return nodes.replace(" ", "\n")

    monkeypatch.setattr(subprocess, "check_output", scontrol)
    env = {"SLURM_JOB_NODELIST": "LIST", "SLURM_JOB_CPUS_PER_NODE": cpus, "TMPDIR": str(tmp_path)}
    made = run(EXAMPLES / "pbs_nodefile.py", "spank.user_init", spank=FakeSpank("remote", env=env, items=MINE))
    assert made.accepted, made
    assert calls.read_text() == "scontrol show hostnames LIST"
    [file] = tmp_path.glob("nodes-7-*")
    assert file.read_text().split() == wanted


def test_pbs_nodefile_of_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tasks on a node have the same file, and it is gone after the step."""
    monkeypatch.setattr(subprocess, "check_output", lambda command, **more: "a\n")
    done = played("pbs_nodefile", tasks=2, env={"TMPDIR": str(tmp_path)})
    assert done.accepted, done
    [file] = {task.env["PBS_NODEFILE"] for task in done.tasks}
    assert Path(file).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_job_tmpdir(tmp_path: Path) -> None:
    """The options decide where the folder is and whether it stays; an argument of the line limits what stays."""
    line = [f"local_prefix={tmp_path}/local-", f"shared_prefix={tmp_path}/shared-"]

    def folders(*args: str, **options: str | bool) -> tuple[str, list[str]]:
        named = {name.replace("_", "-"): value for name, value in options.items()}
        done = played("job_tmpdir", *line, *args, options=named)
        assert done.accepted, done
        left = list(tmp_path.iterdir())
        for path in left:
            path.rmdir()
        return Path(done.tasks[0].env["TMPDIR"]).name, [path.name for path in left]

    assert folders() == ("local-7", [])
    assert folders(no_rm_tmpdir=True) == ("local-7", ["local-7"])
    assert folders("no_rm_shared_only", no_rm_tmpdir=True) == ("local-7", [])
    assert folders(use_shared_tmpdir=True) == ("shared-7", [])
    assert folders("no_rm_shared_only", use_shared_tmpdir=True, no_rm_tmpdir=True) == ("shared-7", ["shared-7"])
    name, left = folders(use_shared_tmpdir="per-node", no_rm_tmpdir=True)
    assert name.startswith("shared-7.")
    assert left == [name]
    assert played("job_tmpdir", line[0]).failed == "job_script job_prolog"  # also without the option
    refused = played("job_tmpdir", *line, options={"use-shared-tmpdir": "per-job"})
    assert refused.text == "--use-shared-tmpdir: 'per-job' is not per-node"


def test_job_tmpdir_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that another user left is not given away."""
    (tmp_path / "7").mkdir()
    given: list[str] = []
    monkeypatch.setattr(os, "chown", lambda path, *ids: given.append(path))
    line = (f"local_prefix={tmp_path}/", "shared_prefix=/missing/")
    other = FakeSpank("job_script", args=line, items={**MINE, "job_uid": os.getuid() + 1})
    owner = (tmp_path / "7").stat().st_uid
    done = run(EXAMPLES / "job_tmpdir.py", "spank.job_prolog", spank=other)
    assert (done.accepted, given) == ((True, [f"{tmp_path}/7"]) if owner == 0 else (False, []))


SMI = """#!/bin/sh
echo "$2 $4" >> "$(dirname "$0")/calls"
test "$4" != 9
"""


def test_gpu_cmode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task sets the mode of its GPUs and resets it; without the option nothing runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smi").write_text(SMI)
    (tmp_path / "smi").chmod(0o755)
    file = tmp_path / "gpu_cmode.py"
    file.write_text((EXAMPLES / "gpu_cmode.py").read_text().replace("/usr/bin/nvidia-smi", f"{tmp_path}/smi"))
    for devices, mode, calls in (
        ("0,1", "shared", "0 0,1\n3 0,1\n"),
        ("0", "prohibited", "2 0\n3 0\n"),
        ("0", "exclusive", "3 0\n3 0\n"),
        ("MIG-1/2/3", "shared", ""),
        ("0", None, ""),
    ):
        (tmp_path / "calls").write_text("")
        done = launch(file, options={"gpu_cmode": mode} if mode else {}, env={"CUDA_VISIBLE_DEVICES": devices})
        assert done.accepted, done
        assert (tmp_path / "calls").read_text() == calls, devices
        assert done.user_messages == ["--gpu_cmode has no effect on parts of a GPU (MIG)"] * ("MIG" in devices)
    for devices in ("", "9"):
        refused = launch(file, options={"gpu_cmode": "shared"}, env={"CUDA_VISIBLE_DEVICES": devices})
        assert refused.failed == "remote task_init_privileged"
        assert "ask for a GPU with --gres=gpu:1" in (refused.text or "")
    assert launch(file, options={"gpu_cmode": "turbo"}).failed == "local init_post_opt"


SSH = """#!/bin/sh
echo "$*" >> calls
grep SigBlk /proc/self/status >> masks
test "$FAIL" = "" || case $* in *-L*) echo "ssh: no" >&2; exit 255;; esac
"""


def test_tunnel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ssh starts with the job's first node and all ports, without blocked signals, and ends with srun."""
    for name, text in (
        ("ssh", SSH),
        ("squeue", "#!/bin/sh\necho n[3-4]\n"),
        ("scontrol", "#!/bin/sh\necho n3; echo n4\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT])
    try:
        assert played("tunnel", options={"tunnel": "2000:2001,3000:3001"}).accepted
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    start, stop = (tmp_path / "calls").read_text().splitlines()
    ports = "-L 2000:localhost:2001 -L 3000:localhost:3001"
    assert start.split(" ", 2)[2] == f"n3 -M -f -N -o ExitOnForwardFailure=yes {ports}"
    assert stop == f"{' '.join(start.split()[:3])} -O exit"
    assert {int(line.split()[1], 16) & 0x4002 for line in (tmp_path / "masks").read_text().splitlines()} == {0}
    monkeypatch.setenv("FAIL", "yes")
    failed = played("tunnel", options={"tunnel": "2000:2001"})
    assert (failed.failed, failed.text) == (
        "local local_user_init",
        "--tunnel: ssh to n3 failed; see its message above",
    )
    assert len((tmp_path / "calls").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "text", ["80:8080", "8080:80", "2000", "2000:x", "1:2:3", "2000:2001,", "2000:70000", "-2000:3000"]
)
def test_tunnel_refuses(text: str) -> None:
    """What is no pair of unprivileged ports is refused before the submission; so nothing of it can be an option."""
    assert played("tunnel", options={"tunnel": text}).failed == "local init_post_opt"
