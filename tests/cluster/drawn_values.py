# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws values of each option of Slurm's commands: valid ones, and changes of these."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from slurmhooks.testing.options.names import NAMES, SHORT
from tests.cluster.sbatch_scripts import LINES, ODD, RELATIVE
from tests.cluster.test_cli_filter_writes import SPELLINGS, VALUES

if TYPE_CHECKING:
    import random

_TIMES = "1- 1-2 1-2: 1: 1:2: -5 1-2-3 1:60 1:2:3:4 1-2:3:4:5 Infinite 0-0:0:1 1.5 60s 1-24 1:-1 01:02 1-x +5 0x10"
_SIZES = "1K 1k 1023K 1024K 1M 1MB 1Mb 1GB 1P 1.5G 1X 1Gx G 0G 0K 2048M 18446744073709551615 1E +1"
_COUNTS = "a100:1 a100:1,v100:2 gpu:1 gres/gpu:1 a100 x:y:1 1k a100=1 1,2 :1 a100:"
_LAYOUT = "2:2 2:2:2 * *:2 2:* 2:*:1 2:2:2:2 2:0 2x 1-2 2- 2-4:2 2:2-4 : 2: :2 1-2:1-2:1"
_MOMENTS = """
    now+1day 12:00:00 2031-02-30 2031-13-01 2031-01-20T25:00 1/2/3 now+5weeks now-1week now+junk tomorrow+1hour nowx
    16:00pm 0:00am 13:00pm 010131 01.02.31 2031-1-2 uts1900000000 now+minutes 12:5
"""
SEEDS = {
    "accel-bind": "g n v gn gvn x G gg gx",
    "acctg-freq": "30 task=30 energy=60,network=0 filesystem=5 x task=x task 30,task=5 Task=5, gpu=3",
    "begin": _MOMENTS,
    "compress": "LZ4 zlib lz4x",
    "core-spec": "32768 65534 65535 70000",
    "cpu-freq": """
        medium highm1 him1 2000-1000 1000-low 1000:Performance OnDemand conservative PowerSave SchedUtil low:performance
        junk:performance low:junk low-high:ondemand low-high:userspace 1000: 4294967295 performance-high
    """,
    "cpus-per-gpu": _COUNTS,
    "deadline": _MOMENTS,
    "delay-boot": _TIMES,
    "distribution": """
        cyclic:block:cyclic plane plane=x plane=0 plane=-1 arbitrary
        block:* *:block *:*:* fcyclic block:block:block:block
        block,pack block,nopack block,Pack,NoPack block,x BLOCK:Cyclic hostfile pack block: cyclic::block ,pack block,
    """,
    "exclusive": "topo exclusive oversubscribe User",
    "extra-node-info": _LAYOUT,
    "get-user-env": "5L 5S L S 5X l 10s set",
    "gpu-bind": """
        single:0 single single:x map_gpu:0,1 map_gpu: map_gpu:x mask_gpu:0x1 mask_gpu:f per_task:2 closest,v Closest
        verbose mask:0x3 none,v closest+gres/gpu:none map_gpu:0*2
    """,
    "gpu-freq": "highm1 1000 memory=low verbose low,verbose memory= memory=x high,high , low;gpu:high",
    "gpus": _COUNTS,
    "gres": "gres/gpu:1 gres:gpu:1 gpu:a100:1 gpu=1 gpu:1, NONE none,gpu ,",
    "gres-flags": """
        Enforce-Binding disable-binding,enforce-binding allow-task-sharing enforce junk,enforce-binding ,
        multiple-tasks-per-sharing
    """,
    "jobid": "7.0 7_1 7+1 +7",
    "kill-command": "TERM INT SIGINT int 64",
    "kill-on-invalid-dep": "y n YES true",
    "mail-type": """
        begin,END ALL,NONE NONE,ALL time_limit_50,END INVALID_DEPENDENCY BEGIN, BEGIN,,END , BEGIN,JUNK ALL,ARRAY_TASKS
    """,
    "mem": _SIZES,
    "mem-bind": """
        no q quiet v verbose rank local,rank Rank,None map_mem: map_mem:0*2 mask_mem:f sort nosort p prefer,local v,
        mapmem=3 none,map_mem:1
    """,
    "mem-per-cpu": _SIZES,
    "mem-per-gpu": _SIZES,
    "mem-update": "10@30 10 10@ @30 10@x 1@0 10@1:00",
    "nice": "-5 +5 0x10 5x 2147483646 -2147483646 1e3",
    "nodes": "1- -2 1--2 2-1 0-1 1k-2k 1K 1m 1:2 1-10:2 1,2,3 1-3,5 5,1-3 1-x 4-4 1-2-3 1,0 1,,2 1-4:0 1-3:2,7 1,99999",
    "ntasks": "1k 2M 0x2 1.5 2147483647",
    "oom-kill-step": "2 01 1x 00",
    "open-mode": "a Truncate appendx w",
    "priority": "top 4294967294 4294967295 4294967296 5x 2147483648",
    "profile": "Energy all,none none,task taskx task,junk filesystem ALLx",
    "requeue": "expedite requeue EXPEDITE",
    "segment": "65534 65535 65536 2x",
    "send-libs": "YES y n",
    "signal": """
        usr1 sigterm HUP@ HUP@x B: R:USR1 BR:USR1@5 RB:TERM @60 64 65 KILL@65536 TERM@0 X:USR1 SIGX B:B:INT WINCH CHLD
        RTMIN XCPU USR1@1:00 b:usr1 URG@-1
    """,
    "switches": "2@ 2@x 2@-1 2@0 2x @5",
    "thread-spec": "32768 65534 65535 70000",
    "time": _TIMES,
    "time-min": _TIMES,
    "tmp": _SIZES,
    "treewidth": "OFF 65535 65533",
    "wait-all-nodes": "01 65536",
    "x11": "FIRST last batch",
}
"""Words to try with one option, in addition to those that every option is tried with."""
CHARACTERS = "0123456789,:-@=x "
NUMBERS = (0, 1, 2, 7, 59, 60, 100, 65535, 65536, 2147483647, 4294967295)


def values_by_option() -> dict[str, list[str]]:
    """Return the values by the option that they are for."""
    pool = {name: [*VALUES, *SEEDS.get(name, "").split()] for name in sorted(set().union(*NAMES.values()))}
    for name in ("begin", "deadline"):
        pool[name] += [text for text in RELATIVE if "now" not in text]
    spelt = SPELLINGS.replace("\\\n", "").split() + [word for line in (*LINES, *ODD) for word in line.split()]
    for word in spelt:
        name, equals, value = word.removeprefix("--").partition("=")
        if equals and name in pool:
            pool[name].append(value.strip("'\""))
    for line in LINES:
        if (match := re.fullmatch(r"-(\w) (\S+)", line)) and match[1] in SHORT:
            pool[SHORT[match[1]]].append(match[2])
    return {name: list(dict.fromkeys(values)) for name, values in pool.items()}


def changed(value: str, pool: list[str], chance: random.Random) -> str:
    """Return a value with one change."""
    place = chance.randrange(len(value) + 1)
    return chance.choice(
        (
            value.upper(),
            value.title(),
            value[:place],
            value[:place] + chance.choice(CHARACTERS) + value[place:],
            value[:place] + chance.choice(CHARACTERS) + value[place + 1 :],
            value[:place] + value[place + 1 :],
            f"{value},{chance.choice(pool)}",
            f"{value}:{chance.choice(pool)}",
            re.sub(r"\d+", lambda _: str(chance.choice(NUMBERS)), value, count=1),
        )
    )


def draw(number: int, chance: random.Random) -> dict[str, list[str]]:
    """Return values by option: all of those by hand, and so many changed ones."""
    return {
        name: list(dict.fromkeys([*pool, *(changed(chance.choice(pool), pool, chance) for _ in range(number))]))
        for name, pool in values_by_option().items()
    }
