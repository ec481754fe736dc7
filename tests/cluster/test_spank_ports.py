# SPDX-License-Identifier: GPL-2.0-or-later
"""The ports of SPANK plugins in contrib/examples, on real clusters, beside C plugins that do the same.

``python -m tests.cluster.test_spank_ports RELEASE`` plays docs/spank-ports.md on a running cluster and writes the
outputs into it.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cluster import tutorial
from tests.cluster.spank.site import Site, settle, site
from tests.cluster.turns import moved

if TYPE_CHECKING:
    from tests.cluster.conftest import Cluster

STAY = {"test_as_in_c", "test_a_script_is_kept_once", "test_a_node_file_is_removed", "test_the_page_names_spank_h"}

PROJECT = Path(__file__).parents[2]
EXAMPLES = PROJECT / "contrib" / "examples"
PAGE = PROJECT / "docs" / "spank-ports.md"
PLUGINS = Path(__file__).parent / "spank" / "plugins"
FOLDER = "/etc/slurm/spank"
PORTS = re.findall(rf"{FOLDER}/(\w+)\.py", PAGE.read_text())
FROM_C = (PROJECT / "docs" / "from-c.md").read_text()
C_PLUGINS = {path.stem: path.read_text() for path in PLUGINS.glob("*.c")} | {
    "greet": re.findall(r"^```c\n(.*?)^```", FROM_C, re.DOTALL | re.MULTILINE)[0]
}
NVIDIA_SMI = """#!/bin/bash
# Mode 0 is Default, 2 Prohibited, 3 Exclusive_Process; -i INDEX,...; only root may set a mode.
names=(Default x Prohibited Exclusive_Process)
IFS=,
case $1 in
-c) [ "$(id -u)" = 0 ] || exit 4; for index in $4; do echo "${names[$2]}" > "/var/lib/gpus/$index" || exit 1; done ;;
--query*) for index in $CUDA_VISIBLE_DEVICES; do cat "/var/lib/gpus/$index"; done ;;
esac
"""
SSH = """#!/bin/bash
# -S CONTROL NODE -M -f ... starts a process, -S CONTROL NODE -O exit ends it. Then pgrep finds it, or does not.
echo "$*" >> ~/ssh.log
case $* in
*"-O exit")
    kill "$(cat "$2")"
    while grep -q ^ssh "/proc/$(cat "$2")/cmdline"; do sleep 0.01; done
    rm "$2" ;;
*-L\\ 5000:*) echo "ssh: port 5000 is in use" >&2; exit 255 ;;
*)
    bash -c 'exec -a "ssh $*" sleep 1000' - "$@" &
    echo $! > "$2"
    until grep -q ^ssh "/proc/$!/cmdline"; do sleep 0.01; done ;;
esac
"""
PREPARE = """
cd /etc/slurm
mkdir -p /var/lib/gpus /var/lib/tmpdir /srv/tmpdir /srv/scripts
chown bob /srv/scripts
echo Exclusive_Process | tee /var/lib/gpus/0 /var/lib/gpus/1
echo 'NodeName=n1 Name=gpu File=/dev/null,/dev/zero' > gres.conf
echo GresTypes=gpu >> slurm.conf
sed -i '/^NodeName=n1/s/$/ Gres=gpu:2/' slurm.conf
"""


def files() -> dict[str, tuple[str, str]]:
    """Return the files of a cluster for the page: contents and modes by path."""
    stand_ins = {"/usr/bin/nvidia-smi": (NVIDIA_SMI, "755"), "/usr/bin/ssh": (SSH, "755")}
    return stand_ins | {f"{FOLDER}/{name}.py": ((EXAMPLES / f"{name}.py").read_text(), "644") for name in PORTS}


@pytest.fixture(scope="module")
def lent(cluster: "Cluster") -> Site:
    """A cluster with the files of the page and with the C plugins."""
    prepared = site(cluster)
    for path, (text, mode) in files().items():
        cluster.put(text, path, int(mode, 8))
    greet = next(step for step in tutorial.steps(FROM_C) if isinstance(step, tutorial.File))
    cluster.put(greet.text, f"{FOLDER}/{greet.path}")
    for name, text in C_PLUGINS.items():
        cluster.put(text, f"/opt/{name}.c")
        prepared.root(f"gcc -Wall -Werror -shared -fPIC -o /opt/{name}.so /opt/{name}.c")
    cluster.root("sh", "-ec", PREPARE, check=True)
    prepared.hooks()
    return prepared


@pytest.mark.moved
def test_the_page(lent: Site) -> None:
    """Each command prints what the page shows."""
    tutorial.play(lent.cluster, PAGE.read_text())
    lent.cluster.deploys = True
    lent.cluster.changed()


RENICE = (
    "srun nice",
    "srun --renice=7 nice",
    "srun --renice=-3 nice",
    "srun --renice=-20 nice",
    "srun --renice=20 nice",
    "SLURM_RENICE=8 srun nice",
    "SLURM_RENICE=-20 srun nice",
    "SLURM_RENICE=8 srun --renice=7 nice",
    "srun -n3 --renice=7 sh -c 'nice; sh -c nice'",
    "sbatch -W -o out --wrap 'nice; srun -Q nice; srun -Q --renice=9 nice; SLURM_RENICE=10 srun -Q nice'; cat out",
    "srun --renice=21 nice || echo refused",
    "srun --renice=-21 nice || echo refused",
    "srun --renice=x nice || echo refused",
    "srun --renice=1x nice || echo refused",
)
KEPT = "env | grep -Ev '^SLURM_.*(ID|TIME|PORT|MPI_TYPE)=' | sort"
"""Prints the environment without what differs from run to run; srun of 22.05 sets its MPI type early."""
PRESERVE = (
    f"salloc -Q -N2 -n3 srun -Q -N1 -n1 --preserve-slurm-env sh -c {KEPT!r}",
    f"salloc -Q -N2 srun -Q -N1 -n1 sh -c {KEPT!r}",
    f"SLURM_MINE=1 SLURM_PRIO_X=2 SLURM_UMASK=22 srun -w n1 --preserve-slurm-env sh -c {KEPT!r}",
    "srun -n2 --preserve-slurm-env printenv SLURM_PROCID || echo unset",
)
GREET = (
    "srun -n2 --greet=Ada printenv GREETING | sort",
    "srun printenv GREETING || echo unset",
    f"srun --greet={63 * 'x'} printenv GREETING",
    f"srun --greet={64 * 'x'} true || echo refused",
    "sbatch -W -o out --greet=Ada --wrap 'printenv GREETING; srun -Q printenv GREETING'; cat out",
)
SITUATIONS = {
    "renice": (RENICE, "min_prio=-5 default=2"),
    "oom_score_adj": (("srun cat /proc/self/oom_score_adj", "srun sh -c 'cat /proc/self/oom_score_adj'"), "{}=300"),
    "preserve_env": (PRESERVE, ""),
    "greet": (GREET, "word=hi"),
}


@pytest.mark.parametrize("name", ["greet", *moved(*sorted(C_PLUGINS.keys() - {"greet"}))])
def test_as_in_c(lent: Site, name: str) -> None:
    """Tasks get what they get with a C plugin, and what that refuses is refused; greet is that of the page."""
    settle(lent)
    commands, args = SITUATIONS[name]
    outputs = []
    for plugin in (f"/opt/{name}.so", f"spank_python.so {FOLDER}/{name}.py"):
        lent.plugstack(f"required {plugin} {args.format(name)}")
        # Messages differ, so standard error is left out.
        outputs.append([lent.shell(f"cd; ({command}) 2>/dev/null").stdout for command in commands])
    for command, in_c, in_python in zip(commands, *outputs, strict=True):
        assert re.sub("job [0-9]+", "job", in_python) == re.sub("job [0-9]+", "job", in_c), command
    assert all(outputs[0])


def use(lent: Site, name: str, args: str = "") -> None:
    """Use one example, with arguments of its line."""
    settle(lent)
    lent.plugstack(f"required spank_python.so {FOLDER}/{name}.py {args}")


def test_a_script_is_kept_once(lent: Site) -> None:
    """Steps of srun and salloc have no script; the copy is the user's script, byte for byte."""
    use(lent, "collect_script", "target=/srv/scripts")
    lent.root("rm -rf /srv/scripts/*")
    assert lent.shell("srun true; salloc -Q srun true").returncode == 0
    lent.cluster.put("#!/bin/sh\nsrun true\n\t# \u00e4", "/home/alice/job.sh", 0o755)
    number = lent.shell("cd; sbatch --parsable -W -o /dev/null job.sh").stdout.strip()
    assert lent.root("cd /srv/scripts/*; ls") == f"job{number}\n"
    assert lent.root(f"cmp /srv/scripts/*/job{number} /home/alice/job.sh") == ""


def test_a_node_file_is_removed(lent: Site) -> None:
    """The file of a batch script is complete, is the user's, and is gone after the job."""
    use(lent, "pbs_nodefile")
    script = "echo $PBS_NODEFILE; stat -c %U $PBS_NODEFILE; sort $PBS_NODEFILE"
    said = lent.shell(f"cd; sbatch -W -N2 --ntasks-per-node=3 -o out --wrap '{script}' && cat out").stdout
    _, path, *lines = said.splitlines()
    assert lines == ["alice", *["n1"] * 3, *["n2"] * 3]
    # A failure of user_init would drain the node of a batch script.
    said = lent.shell("cd; export TMPDIR=/missing; sbatch -W -o out --wrap 'echo runs $PBS_NODEFILE' && cat out").stdout
    assert "runs\n" in said
    assert lent.drained() == []
    lent.wait_until_idle()
    lent.cluster.wait(lambda: lent.root(f"ls {path} 2>/dev/null || true") == "", what="end of the file")


def test_a_mode_without_a_gpu(lent: Site) -> None:
    """The user reads what is missing, and the program does not run."""
    use(lent, "gpu_cmode")
    done = lent.shell("srun --gpu_cmode=shared echo it runs")
    assert done.returncode != 0
    assert "--gpu_cmode: the task has no GPU, or nvidia-smi failed: ask for a GPU with --gres=gpu:1" in done.stdout
    assert "it runs" not in done.stdout


def test_tunnels(lent: Site) -> None:
    """A tunnel leads to the first node of the job; it ends with srun, also if the program fails, and others stay."""
    use(lent, "tunnel")
    count = "pgrep -u alice -cf '^ssh -S'"
    said = lent.shell(
        f"cd; rm -f ssh.log; salloc -Q -N2 srun -Q -n1 -N1 --tunnel=2000:2001 sh -c"
        f' "srun --overlap -Q -n1 -N1 --tunnel=3000:3001,4000:4001 {count}; {count}; exit 7"; echo $?; {count}'
    ).stdout
    assert [line for line in said.splitlines() if line.isdigit()] == ["2", "1", "7", "0"], said
    started = [line.split(" -o ")[1] for line in lent.root("cat /home/alice/ssh.log").splitlines() if " -L " in line]
    assert [line.split(" ", 1)[1] for line in started] == [
        "-L 2000:localhost:2001",
        "-L 3000:localhost:3001 -L 4000:localhost:4001",
    ]
    assert {line.split()[2] for line in lent.root("cat /home/alice/ssh.log").splitlines()} == {"n1"}


def test_a_failing_tunnel(lent: Site) -> None:
    """If ssh fails, the user reads its message and the program does not run."""
    use(lent, "tunnel")
    done = lent.shell("srun --tunnel=5000:5001 echo it runs")
    assert done.returncode != 0
    assert "ssh: port 5000 is in use\n" in done.stdout
    assert "--tunnel: ssh to n1 failed; see its message above" in done.stdout
    assert "it runs" not in done.stdout
    lent.wait_until_idle()


AS_THE_USER = """
import signal
import subprocess
from slurmhooks import hook

def note(spank, **more):
    command = ["sh", "-c", "echo $(id -u) $(id -ru) $(id -g) $(id -rg) $(id -G)"]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **more).stdout
    with open("/opt/spank/records", "a") as file:
        file.write(text)

@hook.spank.user_init
def dropped(spank):
    note(spank, user=spank.job_uid, group=spank.job_gid)

@hook.spank.task_post_fork
@hook.spank.task_init_privileged
@hook.spank.exit(contexts="remote")
def root(spank):
    note(
        spank,
        user=spank.job_uid,
        group=spank.job_gid,
        extra_groups=spank.job_supplementary_gids,
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    )
"""


def test_programs_of_the_user(lent: Site) -> None:
    """The arguments of subprocess.run() on the page make a program the user's, also while the job ends."""
    settle(lent)
    lent.hooks(hooks=AS_THE_USER)
    lent.plugstack("required spank_python.so")
    lent.forget_records()
    ids = lent.shell("echo $(id -u) $(id -ru) $(id -g) $(id -rg) $(id -G)").stdout
    assert lent.shell("srun true").returncode == 0, lent.cluster.log("slurmd")
    lent.wait_until_idle()
    lent.cluster.wait(lambda: lent.root("cat /opt/spank/records") == 4 * ids, what=f"four times {ids}")


def test_the_page_names_spank_h(lent: Site) -> None:
    """The page about C plugins names each function, item, callback, context, code and macro of spank.h."""
    headers = "cat /usr/include/slurm/spank.h; grep -o 'ESPANK_[A-Z_]*' /usr/include/slurm/slurm_errno.h"
    text = re.sub(r"/\*.*?\*/", "", lent.root(headers), flags=re.DOTALL)
    names = set(re.findall(r"\b(?:slurm_|spank_|S_|ESPANK_|SPANK_|HAVE_S_)\w+", text))
    names |= set(re.findall(r"\bplugin_\w+", text))
    # The include guard, an include, and structs and enums that have typedefs.
    names -= {"SPANK_H", "slurm_errno", "spank_handle", "spank_item"}
    assert len(names) > 90
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", FROM_C)] == []


def main(release: str) -> None:
    """Prepare a running cluster, and write the page's outputs."""
    tool = Path(__file__).with_name("run")
    for path, (text, mode) in files().items():
        subprocess.run([tool, "put", f"--mode={mode}", release, "-", path], input=text, text=True, check=True)
    subprocess.run([tool, "exec", release, "--", "sh", "-ec", PREPARE], check=True)
    tutorial.main(release, str(PAGE))


if __name__ == "__main__":
    main(*sys.argv[1:])
