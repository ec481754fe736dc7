# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws command lines of sbatch, srun and salloc: options on the line, in the script and in the environment."""

from __future__ import annotations

import random

from slurmhooks.testing.options.names import NAMES, SHORT, short
from slurmhooks.testing.options.variables import VARIABLES
from tests.cluster.kit_pairs import Command
from tests.cluster.sbatch_scripts import FILES, LINES

OF_ENVIRONMENT = {
    "account": "ACCOUNT", "comment": None, "constraint": "CONSTRAINT", "exclusive": "EXCLUSIVE", "mem": "MEM_PER_NODE",
    "partition": "PARTITION", "qos": "QOS", "time": "TIMELIMIT", "wckey": "WCKEY", "reservation": "RESERVATION",
    "mem-per-cpu": "MEM_PER_CPU", "gpus": "GPUS", "gres": "GRES", "overcommit": "OVERCOMMIT", "no-kill": "NO_KILL",
    "signal": "SIGNAL", "spread-job": "SPREAD_JOB", "hint": "HINT", "profile": "PROFILE", "network": "NETWORK",
}  # fmt: skip
"""Variables of commands by option, without their prefix."""
GROUPS = (
    *("|-N1|-N2|-N1-2|-N0|-N2-4|-N1,2|-N1-4:2", "|-n1|-n2|-n3|-n4|-n8", "|||-c1|-c2", "|||-O"),
    *("||-B1|-B2:1|-B2:1:1|-B*:2|-B1-2:2:*", "||--sockets-per-node=1|--sockets-per-node=2", "|||--cores-per-socket=2"),
    *("||--threads-per-core=1|--threads-per-core=2", "||--ntasks-per-core=1|--ntasks-per-core=2"),
    *("||--ntasks-per-node=1|--ntasks-per-node=2|--ntasks-per-node=3", "||--ntasks-per-socket=1|--ntasks-per-socket=2"),
    "|||--hint=compute_bound|--hint=memory_bound|--hint=multithread|--hint=nomultithread|--hint=memory_bound,multithread",
    *("|||--mincpus=1|--mincpus=4", "|||-wn1|-wn[1-2]|-wn2,n1|-wn1,n1|-wn[1-3]"),
    "||||-mblock|-mcyclic,Pack|-mplane=2|-mplane=3|-marbitrary|-mblock:cyclic,NoPack|-mpack",
    *("|||-G1|-G2|-G4|-Ga100:2|-Ga100:1,v100:1", "||||--gpus-per-node=1|--gpus-per-node=2|--gpus-per-node=a100:1"),
    *("||||--gres=gpu:1|--gres=gpu:2,nic:1|--gres=nic:2|--gres=none", "||||--gpus-per-socket=1|--gpus-per-socket=2"),
    "||||--gpus-per-task=1|--gpus-per-task=2|--gpus-per-task=a100:1|--gpus-per-task=a100:1,v100:2",
    "|||||--tres-per-task=cpu=2|--tres-per-task=gres/gpu:1|--tres-per-task=gres:nic:1|--tres-per-task=cpu=1,gres/gpu=1",
    *("|||||--ntasks-per-gpu=1|--ntasks-per-gpu=2|--ntasks-per-tres=2", "|||||--cpus-per-gpu=1|--cpus-per-gpu=2"),
    *("|||||--mem-per-gpu=10", "|||||--mem=10", "|||||--mem-per-cpu=5"),
    *("|||||--gpu-bind=closest|--tres-bind=gres/gpu:none", "||||||--gpu-freq=high|--gpu-freq=memory=low"),
    *("|||||--segment=1|--segment=2", "|||||--resv-ports=2", "|||||--stepmgr", "||||||-Q", "||||||-v", "||||||-I"),
    *("|||||--exclusive|--exclusive=user", "|||||-s", "|||||-S1|--core-spec=2", "|||||--thread-spec=1"),
    *("|||||--mem-bind=map_mem:0,1|--mem-bind=local,v", "||||||--mem-bind=rank|--mem-bind=q|--mem-bind=mask_mem:0x3"),
    *("|||||-F./nodes.txt|-w./hosts.txt|--nodelist=hosts.txt|-F./nothing.txt", "||||||-x./hosts.txt|-xn2"),
    *("||||||--bb=x", "||||||--bbf=bb.txt", "||||||--deadline=2035-01-01", "||||||-b2034-01-01|--begin=2036-01-01"),
    "|||||--gres-flags=enforce-binding|--gres-flags=disable-binding|--gres-flags=multiple-tasks-per-sharing",
)
"""Options that interact, by topic: one of each is drawn, or none."""
OF_SRUN = (
    *["|--cpu-bind=cores|--cpu-bind=verbose|--cpu-bind=v,threads|--cpu-bind=map_cpu:0,1*2|--cpu-bind=none|--cpu_bind=q"]
    * 3,
    *("|||--overlap|--exact|--whole", "|||--whole|--exclusive", "|||--pty|--pty", "|||-oout.txt", "|||-r0|-r1"),
)
REPEATED = (
    *("-v|-vv|--verbose", "-Q|--quiet|-v", "--bell|--no-bell|--bell", "-S1|--thread-spec=2|--core-spec=3|-S0"),
    *("--gpu-bind=closest|--tres-bind=gres/gpu:none|--gpu-bind=none", "-k|--no-kill=off|--no-kill", "-H|--priority=9"),
    "--mem-bind=map_mem:0,1|--mem-bind=rank|--mem-bind=local,v|--mem-bind=q|--mem-bind=prefer|--mem-bind=mask_mem:3",
    "--exclusive|-s|--exclusive=user|--exclusive=mcs|--overlap|--exact|--whole",
    "-mblock|-mblock,Pack|-mplane=2|-mcyclic,NoPack|-mpack|-m*:cyclic|-mplane=3",
    *("--mem=10|--mem-per-cpu=5|--mem=20", "--mem-per-gpu=10|--mem=5|--gpus=1", "-G1|-Ga100:1|-Ga100:1,v100:2|-G2"),
    *("-N1|-N1-3|-N1,3|-N2|-N4|-N2-2", "-wn1|-w./hosts.txt|-F./nodes.txt|-wn[2-3]", "-xn1|-x./hosts.txt"),
    *(
        "--gres=gpu:1|--gres=nic:1|--gres=none|--gpus-per-node=1",
        "--mail-type=END|--mail-type=BEGIN,FAIL|--mail-type=NONE",
    ),
    "--gres-flags=enforce-binding|--gres-flags=disable-binding|--gres-flags=multiple-tasks-per-sharing",
    *("--signal=B:USR1|--signal=R:USR2@10|--signal=TERM|--signal=INT@5", "--requeue|--no-requeue|--requeue"),
    *(
        "--nice|--nice=5|--nice=0",
        "--switches=2@10|--switches=1|--switches=3@1:00",
        "--hint=nomultithread|--hint=multithread",
    ),
    "--cpu-freq=high|--cpu-freq=low-high:performance|--cpu-freq=performance|--cpu-freq=1000-2000:ondemand",
    "-B1:2|-B2|-B*:*:2|--sockets-per-node=3|--threads-per-core=1|--cores-per-socket=2|--ntasks-per-core=1",
    *(
        "--tres-per-task=cpu=2|--tres-per-task=gres/gpu:1|-c3|--gpus-per-task=2",
        "--ntasks-per-gpu=1|--ntasks-per-tres=1",
    ),
    *("--profile=task|--profile=none|--profile=energy,network", "--kill-on-invalid-dep=yes|--kill-on-invalid-dep=no"),
    *(
        "--export=NONE|--export=ALL|--export=SITE,B=1|--export=NIL",
        "-t5|-t0|--time=unlimited",
        "-Jx|-Jy",
        "-n2|-n3|-n4",
    ),
    *("--wait-all-nodes=0|--wait-all-nodes=1", "--ntasks-per-node=1|--ntasks-per-node=2", "-O|-c2|-c1", "-I|-I5"),
    *(
        "--kill-command=INT|--kill-command",
        "--oom-kill-step=0|--oom-kill-step",
        "--get-user-env",
        "--propagate|--propagate=STACK",
    ),
    *(
        "--cpu-bind=cores|--cpu-bind=verbose|--cpu_bind=q|--cpu-bind=map_cpu:0,1|--cpu-bind=none",
        "-K|-K0|-K1",
        "-W1|-W5",
    ),
    *(
        "--open-mode=append|--open-mode=truncate",
        "-oa.txt|-ob.txt|-onone",
        "-D/tmp|-D/var|--chdir=sub",
        "-A x|-A y".replace(" ", ""),
    ),
    *(
        "--segment=1|--segment=2",
        "--resv-ports|--resv-ports=2|--stepmgr",
        "--gpu-freq=high|--gpu-freq=low",
        "--bb=x|--bb=y",
    ),
    *("--delay-boot=5|--delay-boot=1", "-Lmatlab|-Lfluent:2", "--cluster-constraint=a", "--mincpus=2|--mincpus=4|-c3"),
)
"""Options that share a value, or that are given several times, by topic: several of each are drawn."""
OF_VARIABLES = 0.2
"""How often an option comes from a variable, if there is one."""
HOSTFILE = "SLURM_HOSTFILE"
HOSTFILES = {"hosts.txt": "# hosts\nn2\nn1*2 # twice\nn3\n"}
"""A list of nodes, with its name."""
PREFIXES = {"sbatch": "SBATCH", "srun": "SLURM", "salloc": "SALLOC"}
OF_SPANK = ("--kit-flag", "--kit-word=a", "--kit-words=7", "--maybe", "--maybe=b")


def sbatch(*words: str, script: str | None = None, stdin: str = "", **env: str) -> Command:
    """Return a command of sbatch, which names the script a.sh if it needs one."""
    files = {**FILES, **HOSTFILES, **({} if script is None else {"a.sh": script})}
    return Command(("sbatch", *words), env, files, stdin)


def drawn(number: int, seed: int) -> list[Command]:
    """Return random command lines: options on the line, in the script and in the environment, in several spellings."""
    chance = random.Random(seed)
    pool = [line.split() for line in LINES if not {*"@\"'#"} & {*line}]
    made = []
    for _ in range(number):
        program = chance.choice(("sbatch", "sbatch", "sbatch", "srun", "salloc"))
        lines: dict[str, list[str]] = {"line": [], "script": [], "env": []}
        env: dict[str, str] = {}
        own = [[chance.choice(OF_SPANK)] for _ in range(chance.randint(0, 2))]
        for words in [*chance.sample(pool, chance.randint(1, 4)), *own]:
            where = chance.choice(("line", "script")) if program == "sbatch" else "line"
            name, _, value = words[0].lstrip("-").partition("=")
            variable = OF_ENVIRONMENT.get(name) if words[0].startswith("--") and len(words) == 1 else None
            if variable is not None and value and chance.random() < 0.4:
                env[f"{PREFIXES[program]}_{variable}"] = value
                continue
            lines[where] += [spelt(word, chance) for word in words]
        script = f"#!/bin/sh\n#SBATCH {' '.join(lines['script'])}\ntrue\n"
        if program == "sbatch":
            made.append(sbatch(*lines["line"], "a.sh", script=script, **env))
        else:
            made.append(Command((program, *lines["line"], "true"), env))
    return made


def spelt(word: str, chance: random.Random) -> str:
    """Return an option in another spelling that means the same, as long as the abbreviation is unique."""
    name, equals, value = word.removeprefix("--").partition("=")
    if not word.startswith("--") or chance.random() < 0.7:
        return word
    every = {each for names in NAMES.values() for each in names} | {"kit-flag", "kit-word", "kit-words", "maybe"}
    shorter = [name[:end] for end in range(3, len(name)) if sum(each.startswith(name[:end]) for each in every) == 1]
    letter = next((short for short, long in SHORT.items() if long == name), None)
    if letter is not None and value and chance.random() < 0.5:
        return f"-{letter}{value}"
    return f"--{chance.choice(shorter)}{equals}{value}" if shorter else word


def interacting(number: int, seed: int) -> list[Command]:
    """Return random command lines with many options about nodes, tasks, CPUs and GRES, some of them from variables."""
    chance = random.Random(seed)
    made = []
    for _ in range(number):
        program = chance.choice(("sbatch", "srun", "salloc"))
        groups = chance.sample([*GROUPS, *(OF_SRUN if program == "srun" else [])], chance.randint(4, 14))
        words = list(dict.fromkeys(filter(None, (chance.choice(group.split("|")) for group in groups))))
        places: dict[str, list[str]] = {"line": [], "script": []}
        env: dict[str, str] = {}
        for word in words:
            short = not word.startswith("--")
            name = SHORT[word[1]] if short else word[2:].partition("=")[0]
            value = word[2:] if short else word.partition("=")[2]
            variables = [variable for variable, option in VARIABLES[program] if option == name.replace("_", "-")]
            if variables and value and chance.random() < OF_VARIABLES:
                env[chance.choice(variables)] = value
            else:
                places[chance.choice(("line", "script")) if program == "sbatch" else "line"].append(word)
        if chance.random() < OF_VARIABLES / 4:
            env[HOSTFILE] = chance.choice(("hosts.txt", "./nodes.txt", "nothing.txt"))
        if program == "sbatch":
            script = f"#!/bin/sh\n#SBATCH {' '.join(places['script'])}\ntrue\n"
            made.append(sbatch(*places["line"], "a.sh", script=script, **env))
        else:
            made.append(Command((program, *places["line"], "true"), env, {**FILES, **HOSTFILES}))
    return made


def repeated(number: int, seed: int) -> list[Command]:
    """Return random command lines that give options several times, or several options that share a value."""
    chance = random.Random(seed)
    made = []
    for _ in range(number):
        program = chance.choice(("sbatch", "srun", "salloc"))
        places: dict[str, list[str]] = {"line": [], "script": []}
        env: dict[str, str] = {}
        for topic in chance.sample(REPEATED, chance.randint(1, 5)):
            words = [word for word in topic.split("|") if name_of(word, program) in NAMES[program]]
            for word in chance.choices(words, k=chance.randint(1, 3)) if words else ():
                value = word[2:] if not word.startswith("--") else word.partition("=")[2]
                variables = [name for name, option in VARIABLES[program] if option == name_of(word, program)]
                if variables and value and chance.random() < OF_VARIABLES:
                    env[chance.choice(variables)] = value
                else:
                    places[chance.choice(("line", "script")) if program == "sbatch" else "line"].append(word)
        script = f"#!/bin/sh\n#SBATCH {' '.join(places['script'])}\ntrue\n"
        if program == "sbatch":
            made.append(sbatch(*places["line"], "a.sh", script=script, **env))
        else:
            made.append(Command((program, *places["line"], "true"), env, {**FILES, **HOSTFILES}))
    return made


def name_of(word: str, program: str) -> str:
    """Return the long name of the option that a word gives to a command."""
    if word.startswith("--"):
        return word[2:].partition("=")[0].replace("cpu_bind", "cpu-bind")
    return short(program, word[1]) or ""


PBS = """
-l nodes=2:ppn=4|-l nodes=1|-l nodes=n1:ppn=2+n2:ppn=2|-l nodes=2:ppn=2:gpus=1,walltime=1:00:00|-lnodes=4
-l walltime=0:30:00|-l walltime=2:00,mem=4gb|-l mem=500mb|-l mem=2GB,file=1gb|-lcput=10|-l pcput=5,nice=3
-l select=2:ncpus=4:mpiprocs=2|-l select=1:ncpus=8:mpiprocs=2:mem=4gb|-l select=2:ncpus=2|-l select=1:ncpus=2:ngpus=1
-l naccelerators=2|-l accelerator=true|-l proc=intel|-l vmem=4gb,pmem=1gb|-l arch=x86,host=n1|-l software=x
-N name|-N "two words"|-q debug|-A physics|-M me@x.org|-m abe|-m n|-m e|-V|-j oe|-k oe|-r n|-S /bin/bash|-z|-h
-o out.txt|-e err.txt|-v A=1,B=2|-v SITE|-t 1-5|-J 1-10:2|-p 5|-W depend=afterok:1|-W group_list=x|-d /tmp|-w /tmp
-a 2034-01-01|-P project|--array=1-3|--job_name x|--resource_list=nodes=2|--nonesuch=1|word|-l nodes=x
"""
BSUB = """
-J name|-q debug|-n 4|-n 2,4|-n 2,|-W 10|-W 1:30|-o out.txt|-e err.txt|-M 2000|-M 2000000|-M 2GB|-x|-m "n1 n2"|-m n1
-cwd /tmp|-c /tmp|--queue_name debug|-R "span[hosts=1]"|-P project|word
"""


def translated(number: int, seed: int) -> list[Command]:
    """Return random batch scripts with lines of PBS or LSF, some with options of sbatch, too."""
    chance = random.Random(seed)
    pool = [line.split() for line in LINES if not {*"@\"'#"} & {*line}]
    made = []
    for _ in range(number):
        lines = []
        for kind, text in (("PBS", PBS), ("BSUB", BSUB)):
            if kind == "PBS" or chance.random() < OF_VARIABLES:
                words = "|".join(text.strip().splitlines()).split("|")
                lines += [f"#{kind} {word}" for word in chance.sample(words, chance.randint(0, 4))]
        lines += [f"#SBATCH {' '.join(chance.choice(pool))}" for _ in range(chance.choice((0, 0, 1, 2)))]
        chance.shuffle(lines)
        lines += ["#SBATCH --ignore-pbs"] if chance.random() < OF_VARIABLES / 4 else []
        env = {"SBATCH_IGNORE_PBS": chance.choice(("", "1", "no"))} if chance.random() < OF_VARIABLES / 4 else {}
        own = [*chance.choice(pool), *(["--ignore-pbs"] if chance.random() < OF_VARIABLES / 4 else [])]
        script = "\n".join(["#!/bin/sh", *lines, "true", ""])
        made.append(sbatch(*(own if chance.random() < 0.4 else []), "a.sh", script=script, **env))
    return made
