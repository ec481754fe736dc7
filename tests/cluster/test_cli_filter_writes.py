# SPDX-License-Identifier: GPL-2.0-or-later
"""What handlers write to the options of real commands, and what remains of it if they fail."""

import itertools
import json
import shlex
from typing import Any

import pytest

from slurmhooks.cli_filter.command_options import NAMES
from tests.cluster.spank.site import Site
from tests.cluster.test_cli_filter import with_plugin
from tests.cluster.turns import moved

SPELLINGS = """
accel-bind=g accel-bind=vn
account=phys
acctg-freq=task=30 acctg-freq=energy=60,network=0
array=0-3%2 array=5,7
batch=intel
bb=capacity=1 bbf=/dev/null
bcast bcast=/tmp/x
bcast-exclude=NONE bcast-exclude=/a,/b
begin=now+1hour begin=2031-01-20T12:34:00 begin=16:00 begin=midnight
bell no-bell
cluster-constraint=!a,b
chdir=/tmp
clusters=h1
comment=x_y
compress compress=lz4 compress=none
constraint=a&b constraint=[a|b]
container=/tmp/bundle container-id=x
context=x
contiguous
core-spec=1 core-spec=0 thread-spec=2
cpu-bind=none cpu-bind=quiet,rank cpu-bind=map_cpu:0,1 hint=multithread hint=nomultithread ntasks-per-core=2 \
threads-per-core=2 extra-node-info=2:4:1 extra-node-info=* extra-node-info=2
cpu-freq=high cpu-freq=1000-2000:Performance cpu-freq=UserSpace
cpus-per-task=2 cpus-per-gpu=2
cores-per-socket=2
deadline=now+2days deadline=2031-01-20
disable-status
delay-boot=0 delay-boot=5 delay-boot=1-2
dependency=singleton dependency=afterok:1:2,afterany:3
distribution=block:cyclic:fcyclic distribution=plane=4 distribution=*:*,NoPack distribution=cyclic,Pack
epilog=/bin/true epilog=none
error=%j.err error=none
exact
exclude=n2 exclude=n[1-2]
exclusive exclusive=user exclusive=mcs oversubscribe
export-file=/dev/null
export=ALL export=NONE export=A=1,B
external-launcher
extra=a=b
get-user-env
gpu-bind=closest gpu-bind=verbose,single:2 tres-bind=gres/gpu:closest
gpu-freq=low gpu-freq=medium,memory=high,verbose
gpus=2 gpus=a100:2 gpus=0
gpus-per-node=1 gpus-per-node=0
gpus-per-task=1 gpus-per-socket=1 ntasks-per-gpu=2 ntasks-per-tres=2 tres-per-task=gres/gpu:1
gres=none gres=gpu:2 gres=gpu:a100:1,fs:3 gres=gpu
gres-flags=disable-binding gres-flags=enforce-binding
hold priority=TOP priority=5 priority=4294967293 priority=0
ignore-pbs
interactive
jobid=7
immediate immediate=0 immediate=30
input=none input=3 input=/dev/null
job-name=a_b
kill-command kill-command=9 kill-command=INT
kill-on-bad-exit kill-on-bad-exit=0 kill-on-bad-exit=1
kill-on-invalid-dep=yes kill-on-invalid-dep=no
label
licenses=a:2,b
mail-type=NONE mail-type=BEGIN,TIME_LIMIT_50 mail-type=ALL mail-type=ARRAY_TASKS
mail-user=alice
threads=3
mcs-label=m
mem=0 mem=2G mem=5K mem=1500 mem-per-cpu=0 mem-per-cpu=1G mem-per-gpu=0 mem-per-gpu=7 mem=1T
mem-bind=none mem-bind=v,local mem-bind=map_mem:0,1 mem-bind=mask_mem:0x1,0x2 mem-bind=prefer,local
mem-update=10@30
mincpus=2
mpi=none
msg-timeout=30
network=sn_single network=system
nice nice=0 nice=5 nice=2147483645
no-kill no-kill=off
no-allocate
no-shell
nodelist=n1 nodelist=n[1-2]
nodes=1 nodes=1-2 nodes=0 nodes=1,2 nodes=2-4:2 nodes=1k
ntasks=2
ntasks-per-node=2
ntasks-per-socket=2
oom-kill-step oom-kill-step=0 oom-kill-step=1
open-mode=append open-mode=truncate
output=%j.out output=none
overcommit
overlap
parsable
partition=debug,other
prefer=a
preserve-env
profile=none profile=task profile=all profile=energy,network
prolog=/bin/true
propagate propagate=NONE propagate=CORE,NOFILE propagate=ALL
pty
qos=normal
quiet
quit-on-interrupt
reboot
relative=1
requeue no-requeue
reservation=a,b
resv-ports resv-ports=2 resv-ports=0
segment=2
send-libs send-libs=no send-libs=yes
signal=10 signal=USR1@60 signal=R:INT@5 signal=B:10@30
sockets-per-node=2
spread-job use-min-nodes
stepmgr
switches=1 switches=2@10 switches=1@1-0
tasks-per-node=2
task-epilog=/bin/true
task-prolog=none
test-only
time=0 time=60 time=1-2 time=1:30 time=1:2:3 time=2-3:4:5 time=UNLIMITED time=INFINITE time=0:30
time-min=5 time-min=1-0 time-min=0
tmp=0 tmp=1G tmp=300K tmp=7
treewidth=off treewidth=3
unbuffered
verbose
wait=0 wait=5 wait
wait-all-nodes=1 wait-all-nodes=0
wckey=w
whole
x11 x11=first
"""
"""Spellings of the manual pages, those that exclude each other in one line; each command has some of the options."""

VALUES = (
    *("junk", "", "0", "7", "1G", "-1", "help", "list", "none", "NONE", "no", "yes", "off", "TOP", "1-2", "1,3", "7 "),
    *(" 7", "1024", "70000", "9" * 30, "a\nb", "%", "\udcff"),
)
"""Texts that every option is tried with."""
PROBE = """
import json, os
from slurmhooks import Reject, hook
from slurmhooks.cli_filter.fields import FIELDS

VALUES = __VALUES__
seen, wrong = {}, []

def state(options):
    texts = {name: options._native.get(options._address, name.encode()) for name in options}
    return {"texts": texts, "given": dict(options._native.given(options._address)), "seen": options.given}

def difference(before, after):
    return {what: {name: [old, after[what].get(name)] for name, old in before[what].items()
                   if after[what].get(name) != old} for what in before if before[what] != after[what]}

def read(options, what):
    values = {}
    for name in FIELDS:
        try:
            values[name] = repr(getattr(options, name))
        except Exception as error:
            wrong.append(f"{what}: options.{name} raised {error!r}")
    return values

@hook.cli_filter.pre_submit(order=1)
def reads(options):
    seen.update(state(options), fields=read(options, "as given"))
    for name in options:
        if options[name] != (None if name not in seen["given"] else seen["given"][name] or ""):
            wrong.append(f"options[{name!r}] is {options[name]!r}")

@hook.cli_filter.pre_submit(order=2, on_error="ignore")
def fails(options):
    all_values = options.environment.get("ALL_VALUES", "").split()
    for name in [*options.given, *all_values]:
        for value in VALUES if name in all_values else ("junk", "7"):
            before, savepoint = options.given, options.savepoint()
            try:
                options[name] = value
                result = options[name]
                if result is None:
                    wrong.append(f"--{name}={value!r} was accepted, and is not given")
                read(options, f"--{name}={value!r}")
            except ValueError:
                if options.given != before:
                    wrong.append(f"--{name}={value!r} was refused, but changed {before} to {options.given}")
            except KeyError:  # not an option of this release
                break
            except Exception as error:
                wrong.append(f"--{name}={value!r} raised {error!r}")
            options.rollback(savepoint)
        try:
            del options[name]
        except (KeyError, ValueError):
            pass
        else:
            if options[name] is not None:
                wrong.append(f"--{name} is reset, and still given")
    raise RuntimeError("a bug after the writes")

@hook.cli_filter.pre_submit(order=3)
def compares(options):
    if changed := difference({what: seen[what] for what in ("texts", "given", "seen")}, state(options)):
        wrong.append(f"not undone: {changed}")

@hook.cli_filter.pre_submit(order=4)
def writes(options):
    for name, value in (("time", "77"), ("mem", "0"), ("nodes", "1-2"), ("gpus", None), ("nice", "3")):
        options[name] = value
    expected = options.given
    options.commit()
    if expected != dict(options._native.given(options._address)):
        wrong.append(f"handlers saw {expected}, and Slurm got {options.given}")

@hook.cli_filter.pre_submit(order=5)
def ends(options):
    told = {"names": list(options), "wrong": wrong, **seen}
    line = "SAID " + json.dumps(told) + "\\n"
    while line:
        line = line[os.write(1, line.encode()):]
    raise Reject("the end")
""".replace("__VALUES__", ascii(VALUES))
UNDONE = """
from slurmhooks import hook

@hook.cli_filter.pre_submit(on_error="ignore")
def fails(options):
    for name in options.given:
        for value in ("junk", "1", "1G", "no", "list", None):
            try:
                options[name] = value
            except ValueError:
                pass
    raise RuntimeError("a bug after the writes")
"""
COMMANDS = {"sbatch": "--wrap true", "srun": "true", "salloc": "true"}
NOT_OF = {
    "sbatch": ("wait=0", "wait=5"),
    "srun": ("signal=B:10@30", "wait"),
    "salloc": ("container=/tmp/bundle", "signal=B:10@30"),
}
"""Spellings that only other commands accept."""
SINCE_23_11 = ("nodes=1,2", "nodes=2-4:2")


lent = pytest.fixture(scope="module")(with_plugin)


def probe(lent: Site, command: str, *options: str, **env: str) -> Any:
    """Run a command whose handlers read, write and undo, and end it; return what they saw."""
    line = f"{command} {shlex.join(options)} {COMMANDS[command]}"
    done = lent.shell(line, **env)
    told = [json.loads(text.partition("SAID ")[2]) for text in done.stdout.splitlines() if "SAID " in text]
    assert told, f"{line}\n{done.stdout}"
    return told[-1]


def rounds(lent: Site, command: str, names: list[str]) -> list[list[str]]:
    """Return command lines in which each spelling of an option of the command occurs."""
    absent = {*NOT_OF[command], *(() if lent.since >= (23, 11) else SINCE_23_11)}
    groups = [line.split() for line in SPELLINGS.strip().replace("\\\n", "").splitlines()]
    known = [[word for word in group if word.partition("=")[0] in names and word not in absent] for group in groups]
    return [[f"--{word}" for word in column if word] for column in itertools.zip_longest(*known)]


@pytest.mark.parametrize("command", ["sbatch", *moved("srun", "salloc")])
def test_no_option_is_lost(lent: Site, command: str) -> None:
    """However an option is spelt, handlers can read it; a refused or undone write changes nothing, and ends nothing."""
    lent.hooks(probe=PROBE)
    names = set(NAMES[command]) - (set() if command == "srun" else set(NAMES["srun"]))
    first = probe(lent, command, ALL_VALUES=" ".join(names))
    wrong = {"all values": first["wrong"]}
    for options in rounds(lent, command, first["names"]):
        wrong[" ".join(options)] = probe(lent, command, *options)["wrong"]
    assert not any(wrong.values()), json.dumps({name: lines for name, lines in wrong.items() if lines}, indent=1)


@pytest.mark.parametrize(
    "options",
    [
        "--mem=0 --tmp=0 --requeue --priority=TOP --no-kill=off --time=0 --nodes=1-2 --exclusive=user --nice=0",
        *moved(
            "--mem-per-cpu=0 --no-requeue --no-kill --hold --time=1-2 --nodes=2 --oversubscribe --signal=B:INT@30",
            "--mem-per-gpu=0 --exclusive --distribution=plane=4 --switches=2@10 --mail-type=ALL --gres=none "
            "--contiguous",
            "--mem=5K --extra-node-info=1:1 --dependency=singleton --begin=now+1hour --output=none --cpus-per-task=2",
        ),
    ],
    ids=("per_node", "per_cpu", "per_gpu", "shape"),
)
def test_a_job_is_the_same_after_an_undo(lent: Site, options: str) -> None:
    """A job of a command whose handler fails after it has written every option is the job of one without handlers."""
    jobs = []
    for hooks in ({}, {"undone": UNDONE}):
        lent.hooks(**hooks)
        done = lent.shell(f"sbatch --begin=2031-01-20 {options} --wrap true")
        assert ("fails failed (error " in done.stdout, "refuse" in done.stdout) == (bool(hooks), False), done.stdout
        assert "error: " not in done.stdout, done.stdout
        jobs.append(lent.job(int(done.stdout.split()[-1])))
        lent.root(f"scancel {jobs[-1]['JobId']}")  # the next one may depend on it
    differing = {name: [job.get(name) for job in jobs] for name in jobs[0] if jobs[0][name] != jobs[1].get(name)}
    for name in (
        "JobId",
        "Priority",
        "StdOut",
        "StdErr",
        *(name for name in jobs[0] if name.endswith(("Time", "Eval"))),
    ):
        differing.pop(name, None)
    assert not differing
