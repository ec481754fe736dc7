# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of each option of Slurm's commands, valid and invalid ones."""

from __future__ import annotations

import re

from slurmhooks.cli_filter.command_options import NAMES, SHORT
from tests.cluster.sbatch_scripts import LINES, ODD, RELATIVE
from tests.cluster.test_cli_filter_writes import SPELLINGS, VALUES

_TIMES = "1- 1-2 1-2: 1: 1:2: -5 1-2-3 1:60 1:2:3:4 1-2:3:4:5 Infinite 0-0:0:1 1.5 60s 1-24 1:-1 01:02 1-x +5 0x10"
_SIZES = "1K 1k 1023K 1024K 1M 1MB 1Mb 1GB 1P 1.5G 1X 1Gx G 0G 0K 2048M 18446744073709551615 1E +1"
_COUNTS = "a100:1 a100:1,v100:2 gpu:1 gres/gpu:1 a100 x:y:1 1k a100=1 1,2 :1 a100:"
_MOMENTS = """
    now+1day 12:00:00 2031-02-30 2031-13-01 2031-01-20T25:00 1/2/3 now+5weeks now-1week now+junk tomorrow+1hour nowx
    16:00pm 0:00am 13:00pm 010131 01.02.31 2031-1-2 uts1900000000 now+minutes 12:5
"""
SEEDS = {
    "begin": _MOMENTS,
    "core-spec": "32768 65534 65535 70000",
    "cpus-per-gpu": _COUNTS,
    "deadline": _MOMENTS,
    "delay-boot": _TIMES,
    "exclusive": "topo exclusive oversubscribe User",
    "get-user-env": "5L 5S L S 5X l 10s set",
    "gpus": _COUNTS,
    "gres": "gres/gpu:1 gres:gpu:1 gpu:a100:1 gpu=1 gpu:1, NONE none,gpu ,",
    "kill-on-invalid-dep": "y n YES true",
    "mail-type": """
        begin,END ALL,NONE NONE,ALL time_limit_50,END INVALID_DEPENDENCY BEGIN, BEGIN,,END , BEGIN,JUNK ALL,ARRAY_TASKS
    """,
    "mem": _SIZES,
    "mem-per-cpu": _SIZES,
    "mem-per-gpu": _SIZES,
    "nice": "-5 +5 0x10 5x 2147483646 -2147483646 1e3",
    "nodes": "1- -2 1--2 2-1 0-1 1k-2k 1K 1m 1:2 1-10:2 1,2,3 1-3,5 5,1-3 1-x 4-4 1-2-3 1,0 1,,2 1-4:0 1-3:2,7 1,99999",
    "ntasks": "1k 2M 0x2 1.5 2147483647",
    "open-mode": "a Truncate appendx w",
    "priority": "top 4294967294 4294967295 4294967296 5x 2147483648",
    "profile": "Energy all,none none,task taskx task,junk filesystem ALLx",
    "requeue": "expedite requeue EXPEDITE",
    "signal": """
        usr1 sigterm HUP@ HUP@x B: R:USR1 BR:USR1@5 RB:TERM @60 64 65 KILL@65536 TERM@0 X:USR1 SIGX B:B:INT WINCH CHLD
        RTMIN XCPU USR1@1:00 b:usr1 URG@-1
    """,
    "switches": "2@ 2@x 2@-1 2@0 2x @5",
    "thread-spec": "32768 65534 65535 70000",
    "time": _TIMES,
    "time-min": _TIMES,
    "tmp": _SIZES,
}
"""Words to try with one option, in addition to those that every option is tried with."""


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
