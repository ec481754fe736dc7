# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that handlers run, their signals, and files that handlers leave open."""

from tests.cluster.spank.site import Site
from tests.cluster.spank.steps import IN_STEP, remote, run, use


def test_subprocess(lent: Site) -> None:
    """A handler may run commands, in every callback, and gets their output and exit codes; user_init is still root."""
    use(
        lent,
        """
import signal, subprocess

@in_step
def each(spank):
    # proctrack/linuxproc counts what handlers start among the step's processes, and a job that ends ends them.
    # Ignored, not blocked: dash unblocks what it was started with.
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    done = subprocess.run(["sh", "-c", "id -u; exit 3"], capture_output=True, text=True)
    note(spank, shell=int(done.stdout), code=done.returncode, uid=os.getuid(), euid=os.geteuid(),
         command=int(subprocess.check_output(["id", "-u"])),
         popen=os.popen("echo popen").read(), system=os.waitstatus_to_exitcode(os.system("exit 4")))
    if before is not None:  # Slurm's own cannot be put back
        signal.signal(signal.SIGTERM, before)

@hook.spank.init_post_opt(contexts=["local"])
@hook.spank.exit(contexts=["local"])
def here(spank):
    each(spank)

@hook.spank.job_prolog
@hook.spank.job_epilog
def there(spank):
    each(spank)
""",
    )
    assert run(lent, "srun -Q echo done") == "done\n"
    remote(lent, IN_STEP)
    lent.wait_for_records(callback="job_epilog")
    for record in lent.records():
        assert (record["code"], record["popen"], record["system"]) == (3, "popen\n", 4), record
        # A shell returns to the real user, which is root in user_init.
        assert (record["command"], record["shell"]) == (record["euid"], record["uid"]), record
    users = {record["callback"]: (record["uid"], record["euid"]) for record in lent.records()}
    assert users["user_init"] == (0, 2001)
    assert users["task_init"] == (2001, 2001)
    assert {"job_prolog", "job_epilog"} <= users.keys()


def test_signals_of_programs(lent: Site) -> None:
    """programs.popen() starts a program that no signal is blocked in, and that terminate() ends, in every process."""
    use(
        lent,
        """
import subprocess
from slurmhooks import programs

def blocked(start):
    # Not by a shell: dash unblocks what it was started with.
    text = start(["grep", "SigBlk:", "/proc/self/status"], stdout=subprocess.PIPE, text=True).communicate()[0]
    mask = int(text.split()[1], 16)
    program = start(["sleep", "60"])
    program.terminate()
    try:
        return mask, program.wait(0.2 if mask else 20)
    except subprocess.TimeoutExpired:
        program.kill()
        return mask, program.wait()

def each(spank):
    note(spank, programs=blocked(programs.popen), plain=blocked(subprocess.Popen))

for name in ("init", "init_post_opt", "local_user_init", "job_prolog", "user_init", "task_init_privileged", "task_init",
             "task_post_fork", "exit", "job_epilog"):
    mark = getattr(hook.spank, name)
    if name in ("init", "init_post_opt", "exit"):
        mark = mark(contexts=["local", "allocator", "remote"])
    mark(each)
""",
    )
    assert run(lent, "srun -Q echo done; salloc -Q true; sbatch -Q -o /dev/null --wrap true") == "done\n"
    lent.wait_for_records(2, callback="job_epilog")
    lent.wait_until_idle()
    records = lent.records()
    assert {"local", "allocator", "remote", "job_script"} == {record["context"] for record in records}
    assert {tuple(record["programs"]) for record in records} == {(0, -15)}
    if lent.since < (26, 5):
        local = [record["plain"] for record in records if record["context"] == "local"]
        assert any(mask for mask, _ in local), "srun blocks no signals: popen() is not needed"


def test_open_files(lent: Site) -> None:
    """The user's program inherits only descriptors that handlers made inheritable on purpose."""
    use(
        lent,
        """
kept = []

@in_step
def each(spank):
    kept.append(open("/etc/hostname"))
    kept.append(os.pipe())
    kept.append(__import__("socket").socket())
    note(spank, kept=len(kept))

@hook.spank.task_init
def on_purpose(spank):
    descriptor = os.open("/etc/passwd", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
""",
    )
    output = run(lent, "srun -Q sh -c 'ls -l /proc/self/fd'")
    assert output.count("/etc/passwd") == 1
    assert "/etc/hostname" not in output
    # The program's pipes and sockets are its own input, output and error.
    assert sum("pipe:" in row or "socket:" in row for row in output.splitlines()) <= 3, output
