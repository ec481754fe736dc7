# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws command lines of sbatch, srun and salloc: options on the line, in the script and in the environment."""

from __future__ import annotations

import random

from slurmhooks.testing.option_names import NAMES, SHORT
from slurmhooks.testing.option_variables import VARIABLES
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
    *("|||||--mem-per-gpu=10", "|||||--mem=10|--mem-per-cpu=5", "|||||--gpu-bind=closest|--tres-bind=gres/gpu:none"),
    *(
        "|||||--segment=1|--segment=2",
        "|||||--resv-ports=2",
        "|||||--stepmgr",
        "||||||-Q",
        "||||||-v",
        "|||||--exclusive",
    ),
)
"""Options that interact, by topic: one of each is drawn, or none."""
OF_SRUN = (
    "|||--cpu-bind=cores|--cpu-bind=verbose|--cpu-bind=v,threads|--cpu-bind=map_cpu:0,1*2|--cpu-bind=none|--cpu_bind=q"
)
OF_VARIABLES = 0.2
"""How often an option comes from a variable, if there is one."""
PREFIXES = {"sbatch": "SBATCH", "srun": "SLURM", "salloc": "SALLOC"}
OF_SPANK = ("--kit-flag", "--kit-word=a", "--kit-words=7", "--maybe", "--maybe=b")


def sbatch(*words: str, script: str | None = None, stdin: str = "", **env: str) -> Command:
    """Return a command of sbatch, which names the script a.sh if it needs one."""
    files = {**FILES, **({} if script is None else {"a.sh": script})}
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
        groups = chance.sample([*GROUPS, *([OF_SRUN] * 3 if program == "srun" else [])], chance.randint(2, 8))
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
        if program == "sbatch":
            script = f"#!/bin/sh\n#SBATCH {' '.join(places['script'])}\ntrue\n"
            made.append(sbatch(*places["line"], "a.sh", script=script, **env))
        else:
            made.append(Command((program, *places["line"], "true"), env))
    return made
