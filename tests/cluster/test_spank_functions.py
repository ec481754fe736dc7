# SPDX-License-Identifier: GPL-2.0-or-later
"""Actions of handlers: environments, the task's command, the log, codes of refusals, calls of Slurm."""

import re

from tests.cluster.spank.noting import HEAD, NOTE
from tests.cluster.spank.site import Site, settle

STAY = {
    "test_ask_slurm",
    "test_codes_of_refusals",
    "test_environment_is_of_the_step",
    "test_job_control_environment",
    "test_nothing_is_written_by_a_refusal",
}


def use(lent: Site, text: str) -> None:
    """Install one hook file, and remove records."""
    settle(lent)
    lent.hooks(hooks=HEAD + NOTE + text)
    lent.plugstack("required spank_python.so")
    lent.forget_records()


def test_environment_of_a_job(lent: Site) -> None:
    """Every callback before the program starts can set, change and delete the program's variables."""
    use(
        lent,
        """
for callback in ("init", "init_post_opt", "local_user_init", "user_init", "task_init_privileged", "task_init"):
    def handler(spank):
        spank.env[f"SET_{spank.callback}_{spank.context}"] = "yes"
        spank.env.pop(f"DROP_{spank.callback}", None)
        spank.env["TRAIL"] = spank.env.get("TRAIL", "") + spank.callback[0]
    getattr(hook.spank, callback)(handler)
""",
    )
    env = {f"DROP_{name}": "1" for name in ("init", "user_init", "task_init", "other")}
    done = lent.shell("srun env", **env)
    assert done.returncode == 0, done.stdout
    variables = {row for row in done.stdout.splitlines() if re.match("SET_|DROP_|TRAIL=", row)}
    assert variables == {
        "SET_init_local=yes",
        "SET_init_post_opt_local=yes",
        "SET_local_user_init_local=yes",
        "SET_init_remote=yes",
        "SET_init_post_opt_remote=yes",
        "SET_user_init_remote=yes",
        "SET_task_init_privileged_remote=yes",
        "SET_task_init_remote=yes",
        "DROP_other=1",
        "TRAIL=iiliiutt",
    }


def test_any_value(lent: Site) -> None:
    """Values of any length and bytes are passed both ways; values that no process can have are refused at once."""
    use(
        lent,
        """
LENGTHS = (0, 4094, 4095, 4096, 4097, 16384, 131000)

@hook.spank.init_post_opt(contexts=["remote"])
def lengths(spank):
    for length in LENGTHS:
        spank.env[f"LONG_{length}"] = "x" * length
    spank.env["BYTES"] = "gr\\u00f6\\u00dfe \\udcff\\udc80 = % \\t"

@hook.spank.task_init
def back(spank):
    names = set(spank.env)
    note(
        lengths=[len(spank.env[f"LONG_{length}"]) for length in LENGTHS],
        same=[spank.env["BYTES"] == "gr\\u00f6\\u00dfe \\udcff\\udc80 = % \\t", spank.env["GIVEN"] == "\\udce4"],
        listed=["LONG_16384" in names, "GIVEN" in names, dict(spank.env)["HOME"], "NO_SUCH" in spank.env],
    )
    for value in ("x" * 131072, "a\\0b"):
        try:
            spank.env["TOO"] = value
        except ValueError as error:
            note(refused=str(error))
    for length in LENGTHS[2:]:
        del spank.env[f"LONG_{length}"]
""",
    )
    done = lent.shell(
        "export GIVEN=$(printf '\\344'); srun sh -c"
        ' \'printf %s "$BYTES" | od -An -tx1 | tr -d " \\n"; echo;'
        " env | grep -c ^LONG; echo ${#LONG_4094} ${TOO-unset}'"
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.split("\n")[:3] == ["6772c3b6c39f6520ff80203d20252009", "2", "4094 unset"]
    first, *refused = lent.records()
    assert first["lengths"] == [0, 4094, 4095, 4096, 4097, 16384, 131000]
    assert first["same"] == [True, True]
    assert first["listed"] == [True, True, "/home/alice", False]
    assert ["the limit is 131071" in refused[0]["refused"], "NUL" in refused[1]["refused"]] == [True, True]


def test_environment_is_of_the_step(lent: Site) -> None:
    """Writes of a task's handler apply only to that task; writes of the step's handlers apply to all."""
    use(
        lent,
        """
@hook.spank.user_init
def step(spank):
    spank.env["ALL"] = "all"

@hook.spank.task_init
def task(spank):
    spank.env["MINE"] = str(spank.task_global_id)
    if spank.task_global_id == 1:
        spank.env["ONLY"] = "one"
""",
    )
    done = lent.shell("srun -n3 sh -c 'echo $ALL $MINE $SLURM_PROCID ${ONLY-no}' | sort")
    assert done.stdout == "all 0 0 no\nall 1 1 one\nall 2 2 no\n"


def test_nothing_is_written_by_a_refusal(lent: Site) -> None:
    """If a later handler refuses, earlier writes are not applied; if it ignores its own bug, they are."""
    use(
        lent,
        """
@hook.spank.init_post_opt(contexts=["local"], order=1)
def first(spank):
    spank.env["FIRST"] = "1"

@hook.spank.init_post_opt(contexts=["local"], order=2, on_error="ignore")
def buggy(spank):
    spank.env["SECOND"] = "2"
    1 / 0

@hook.spank.exit(contexts=["local"])
def end(spank):
    note(first=spank.env.get("FIRST"), second=spank.env.get("SECOND"))
""",
    )
    done = lent.shell("srun sh -c 'echo $FIRST ${SECOND-unset}'")
    assert done.returncode == 0
    assert "1 unset\n" in done.stdout
    assert re.search(r"handler hooks:buggy failed \(error [0-9a-f]{8}\)", done.stdout)
    assert lent.records() == [{"first": "1", "second": None}]


def test_job_control_environment(lent: Site) -> None:
    """Prolog and epilog have the job control environment as SPANK_*, of any length; handlers read it by name."""
    use(
        lent,
        """
@hook.spank.init_post_opt(contexts=["local", "allocator"])
def hand_on(spank):
    spank.job_control_env["GREETING"] = "hello"
    spank.job_control_env["LONG"] = "x" * 10000
    spank.job_control_env["GONE"] = "x"

@hook.spank.init_post_opt(contexts=["local", "allocator"], order=60)
def again(spank):
    del spank.job_control_env["GONE"]
    spank.job_control_env["GREETING"] += " world"
    note(place=spank.context, long=len(spank.job_control_env["LONG"]), gone="GONE" in spank.job_control_env)

@hook.spank.job_prolog
@hook.spank.job_epilog
def use_it(spank):
    control = spank.job_control_env
    note(place=spank.callback, greeting=control.get("GREETING"), raw=spank.env.get("SPANK_GREETING"),
         long=len(control["LONG"]), gone="GONE" in control, names=sorted(control))

@hook.spank.init(contexts=["local"])
@hook.spank.local_user_init
@hook.spank.exit
@hook.spank.job_prolog
def too_late(spank):
    try:
        spank.job_control_env["LATE"] = "1"
    except SpankError as error:
        note(place="refused", where=[spank.callback, spank.context], code=error.code, text=str(error))
""",
    )
    for command in ("srun true", "salloc -Q srun true", "sbatch -o /dev/null --wrap 'srun true'"):
        lent.wait_until_idle()
        lent.forget_records()
        done = lent.shell(command)
        assert done.returncode == 0, done.stdout
        lent.wait_for_records(place="job_epilog")
        records = lent.records()
        context = "local" if command.startswith("srun") else "allocator"
        assert {"place": context, "long": 10000, "gone": False} in records
        for place in ("job_prolog", "job_epilog"):
            matching = [record for record in records if record["place"] == place]
            assert matching, command
            assert matching[0]["greeting"] == matching[0]["raw"] == "hello world"
            assert (matching[0]["long"], matching[0]["gone"]) == (10000, False)
            assert {"GREETING", "LONG"} <= set(matching[0]["names"])
        refused = {tuple(record["where"]): record for record in records if record["place"] == "refused"}
        assert ("init", "local") in refused
        assert ("job_prolog", "job_script") in refused
        assert all("srun forgets what init writes" in record["text"] for record in refused.values())


def test_prepend_task_argv(lent: Site) -> None:
    """A handler can put words before the task's command; before 23.11 it gets an error that Slurm cannot."""
    use(
        lent,
        """
@hook.spank.task_init_privileged
def inner(spank):
    spank.prepend_task_argv(["env", "INNER=1"])

@hook.spank.task_init
def outer(spank):
    spank.prepend_task_argv(["env", "OUTER=a b"])
    spank.prepend_task_argv(["env", "FIRST=1"])

@hook.spank.user_init
def elsewhere(spank):
    try:
        spank.prepend_task_argv(["env"])
    except SpankError as error:
        note(code=error.code, text=str(error))
""",
    )
    done = lent.shell("srun sh -c 'echo $INNER $OUTER $FIRST'")
    if lent.since < (23, 11):
        assert done.returncode != 0
        log = lent.cluster.log("slurmd")
        assert "spank_prepend_task_argv: not available" in log
        assert "it works in Slurm 23.11 and later (ESPANK_NOT_AVAIL)" in log
    else:
        assert done.stdout == "1 a b 1\n"
        assert lent.records()[0]["code"] == "ESPANK_NOT_TASK"
        assert "it works in task_init_privileged and task_init" in lent.records()[0]["text"]


def test_log_levels(lent: Site) -> None:
    """Each level arrives where Slurm's own messages of that level do; log.user arrives without 'error:'."""
    levels = ("error", "info", "verbose", "debug", "debug2", "debug3")
    use(
        lent,
        f"""
LEVELS = {levels!r}

@hook.spank.init_post_opt(contexts=["remote"])
@hook.spank.local_user_init
@hook.spank.job_prolog
def say(spank):
    for level in LEVELS:
        getattr(log, level)("%s in %s", level.upper(), spank.context, number=1)
    log.user("for you in %s,\\nin two lines", spank.context)
""",
    )
    quiet = lent.shell("srun true").stdout.splitlines()
    assert "srun: error: slurmhooks: ERROR in local number=1" in quiet
    assert "for you in local," in quiet
    assert "in two lines" in quiet
    assert "srun: slurmhooks: INFO in local number=1" in quiet
    assert not [row for row in quiet if re.search("VERBOSE|DEBUG", row)]
    loud = lent.shell("srun -vvvvv true").stdout
    for level in levels:
        assert f"slurmhooks: {level.upper()} in local number=1" in loud
    log = lent.cluster.log("slurmd")
    for context in ("remote", "job_script"):
        for level in ("ERROR", "INFO", "VERBOSE", "DEBUG"):
            assert f"slurmhooks: {level} in {context} number=1" in log
        # SlurmdDebug is debug here.
        assert f"DEBUG2 in {context}" not in log
        assert f"for you in {context}," in log


def test_codes_of_refusals(lent: Site) -> None:
    """From 25.05 on, ESPANK_JOB_FAILURE in init fails the job and keeps the node in service; other codes drain it."""
    use(
        lent,
        """
@hook.spank.init(contexts=["remote"])
@hook.spank.init_post_opt(contexts=["remote"])
def refuse(spank):
    where, _, code = spank.env.get("CODE", "").partition(":")
    if where == spank.callback:
        raise Reject("no", code=code or None)
""",
    )
    for code, drains in (("ESPANK_JOB_FAILURE", lent.since < (25, 5)), ("ESPANK_NODE_FAILURE", True), ("", True)):
        jobs = [
            lent.shell(f"sbatch --parsable --no-requeue -w {node} -o /dev/null --wrap true", CODE=f"{where}:{code}")
            for node, where in (("n1", "init"), ("n2", "init_post_opt"))
        ]
        states = {lent.wait_for_job(int(done.stdout)) for done in jobs}
        if drains:
            lent.cluster.wait(lambda: set(lent.drained()) == {"n1", "n2"}, what=f"drained nodes after {code}")
            lent.resume()
        else:
            lent.wait_until_idle()
            assert lent.drained() == []
        # 22.05 drains the node, but counts the job as completed.
        assert states == {"COMPLETED" if lent.since < (23, 2) else "FAILED"}, code
    log = lent.cluster.log("slurmd")
    supported = lent.since >= (25, 5)
    assert ("Reject(code='ESPANK_JOB_FAILURE'): this release of Slurm has no such code" in log) != supported
    if supported:
        assert "Spank plugin failure, job failed" in lent.cluster.log("slurmctld")


def test_restart_count(lent: Site) -> None:
    """A requeued job has its restart count in the batch step and in other steps, as soon as Slurm provides it."""
    use(
        lent,
        """
def count(spank):
    note(callback=spank.callback, step=spank.step_name, restarts=spank.slurm_restart_count)

for callback in ("init", "user_init", "task_init", "exit"):
    getattr(hook.spank, callback)(contexts=["remote"])(count)
""",
    )
    script = 'srun -Q true; test -n "$SLURM_RESTART_COUNT" || sleep 60'
    job = int(lent.shell(f"sbatch --parsable --requeue -o /dev/null --wrap '{script}'").stdout)
    lent.wait_for_records(step="0", callback="exit", restarts=0)
    lent.root(f"scontrol requeue {job}")

    def requeued() -> bool:
        completing = lent.root("squeue --noheader --states=completing")
        return not completing and (lent.job(job)["JobState"], lent.job(job)["Restarts"]) == ("PENDING", "1")

    lent.cluster.wait(requeued, what="requeued job")
    # Slurm would wait two minutes; within the same second slurmd of 22.05 would confuse it with the killed one.
    lent.root(f"scontrol update jobid={job} starttime=now+2")
    lent.cluster.wait(lambda: lent.job(job)["JobState"] == "COMPLETED", what="end of the second run")
    lent.wait_for_records(2, step="0", callback="exit")
    seen = [(record["step"], record["callback"], record["restarts"]) for record in lent.records()]
    batch = [(callback, restarts) for step, callback, restarts in seen if step == "batch"]
    assert [row for row in batch if row[0] != "exit"] == [
        ("init", None), ("user_init", None), ("task_init", 0), ("init", None), ("user_init", None), ("task_init", 1)
    ]  # fmt: skip
    assert [restarts for step, _, restarts in seen if step == "0"] == [0] * 4 + [1] * 4


ASK = """
import ctypes, subprocess

@hook.spank.task_init
def ask_command(spank):
    name = f"{spank.job_array_id}_{spank.job_array_task_id}"
    command = ["scontrol", "--oneliner", "show", "job", name]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = dict(word.split("=", 1) for word in text.split() if "=" in word)
    note(how="scontrol", user=found["UserId"], comment=found.get("Comment"), state=found["JobState"],
         array=[spank.job_array_id, spank.job_array_task_id], shown=found.get("ArrayTaskId"))

@hook.spank.task_init
def ask_library(spank):
    # slurmstepd holds Slurm's library already. Not in user_init: Slurm holds a lock there that its calls want too.
    slurm = ctypes.CDLL(None)
    message = ctypes.c_void_p()
    slurm.slurm_load_partitions.argtypes = [ctypes.c_long, ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint16]
    code = slurm.slurm_load_partitions(0, ctypes.byref(message), 0)
    note(how="library", code=code, answered=bool(message))
"""


def test_ask_slurm(lent: Site) -> None:
    """A handler may query Slurm about its job, with a command or the library, in a job array too."""
    use(lent, ASK)
    done = lent.shell("sbatch --parsable --no-requeue --array=2,5 --comment=asked -o /dev/null --wrap true")
    job = int(done.stdout)
    lent.cluster.wait(lambda: len([r for r in lent.records() if r["how"] == "library"]) == 2, what="two tasks")
    records = lent.records()
    answers = sorted((record for record in records if record["how"] == "scontrol"), key=lambda record: record["shown"])
    assert [record["array"] for record in answers] == [[job, 2], [job, 5]]
    assert [record["shown"] for record in answers] == ["2", "5"]
    assert {record["user"] for record in answers} == {"alice(2001)"}
    assert {record["comment"] for record in answers} == {"asked"}
    assert {(record["code"], record["answered"]) for record in records if record["how"] == "library"} == {(0, True)}


def test_slurmd(lent: Site) -> None:
    """A refusal in slurmd's own init prevents slurmd from starting; without it, slurmd starts."""
    use(
        lent,
        """
@hook.spank.init(contexts=["slurmd"])
def refuse(spank):
    if os.path.exists("/opt/spank/refuse"):
        raise Reject("slurmd must not start here")
""",
    )
    start = "slurmd -N n1 -C > /dev/null; timeout 60 slurmd -D -N n1 2>&1; echo rc=$?"
    lent.root("touch /opt/spank/refuse")
    said = lent.root(start)
    lent.root("rm /opt/spank/refuse")
    assert "rc=1" in said, said
    assert "slurmd must not start here" in said + lent.cluster.log("slurmd")
