# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws command lines whose options come from odd places: odd scripts, variables with odd values, components."""

from __future__ import annotations

import random

from slurmhooks.testing.options.names import NAMES
from slurmhooks.testing.options.variables import VARIABLES
from tests.cluster.drawn_commands import HOSTFILES, OF_SPANK, OF_SRUN, name_of, sbatch
from tests.cluster.kit_pairs import Command
from tests.cluster.sbatch_scripts import FILES, LINES

ODD_LINES = r"""
#SBATCH|#SBATCH |#sbatch -n 9|# SBATCH -n 9|##SBATCH -n 9| #SBATCH -n 9|#SBATCH-n 9|#SBATCH:-n 9|#SBATCH	-n	3
#SBATCH -n 2 -t 5 # words|#SBATCH -n 2#words|#SBATCH -n 2 \|#SBATCH -J "two words"|#SBATCH -J 'it is' -n 2
#SBATCH --comment="a 'b' c"|#SBATCH --comment='a "b" c'|#SBATCH -J "open|#SBATCH -J x"y z"w
#SBATCH --comment=""|#SBATCH --comment=|#SBATCH --comment ''|#SBATCH -J '' -n 2|#SBATCH "" -n 2|#SBATCH --comment="#no"
#SBATCH --|#SBATCH -n 2 -- -n 3|#SBATCH word -n 2|#SBATCH -n 2 word|#SBATCH --ntasks 3|#SBATCH --ntasks = 3
#SBATCH --ntasks= 3|#SBATCH -n=3|#SBATCH -n=|#SBATCH --tim=5|#SBATCH --time=5 --time=6|#SBATCH -t5 -t 7|#SBATCH -vvv
#SBATCH --wrap=true|#SBATCH --help|#SBATCH -h|#SBATCH --usage|#SBATCH --version|#SBATCH -V|#SBATCH --test-only
#SBATCH --parsable|#SBATCH -Q|#SBATCH -W|#SBATCH --wait|#SBATCH --export=NONE|#SBATCH --export=A=1,SITE|#SBATCH -J 'a;b'
#SBATCH -J $SITE|#SBATCH -o %x-%j.out|#SBATCH -J "a\nb"|#SBATCH -J naïve|#SBATCH --job-name=x # comment="y"
#SBATCH -a 1-3|#SBATCH --array=1,3%1|#SBATCH -d singleton|#SBATCH -d afterok:1
#SBATCH --dependency=afterany:1:2?afterok:3
#SBATCH --mail-type=END,FAIL --mail-user=a@b.c|#SBATCH --mail-type=none|#SBATCH --mail-type=END,|#SBATCH --mail-type=
#SBATCH -p debug,|#SBATCH -p "debug, other"|#SBATCH --mem=4GB|#SBATCH --mem=4gb|#SBATCH --mem 4G -c 2|#SBATCH --mem=1.5G
#SBATCH -t 1:30|#SBATCH -t 1-0|#SBATCH -t 90s|#SBATCH --time=01:00:00 -N 1|#SBATCH --time 0-00:30|#SBATCH -t INFINITE
#SBATCH -A a -A b|#SBATCH -N1 -n2 -c3|#SBATCH -N 1-2 --ntasks-per-node=2|#SBATCH --nodes=1 --exclusive
#SBATCH --exclusive=no
#SBATCH --get-user-env=10|#SBATCH --get-user-env=L|#SBATCH --uid=1000|#SBATCH --gid=1000|#SBATCH --no-requeue=1
#SBATCH -H|#SBATCH --hold=yes|#SBATCH --signal=B:USR1@60|#SBATCH -M cluster|#SBATCH --ignore-pbs|#SBATCH hetjob
#SBATCH packjob|#SBATCH hetjob -n 2|#SBATCH HETJOB|#SBATCH -n 2 hetjob|#SBATCH  hetjob|#SBATCH hetjob # words
#SBATCH hetjobs
"""
"""Lines of scripts, with options that are valid, are not, or are none."""
OTHER_LINES = (
    *("", "# comment", "  ", "\t", "#", ":", "true", "export A=1", "cat <<EOF", "EOF", "\f", "#!/bin/sh", "#BSUB -n 4"),
    *("#PBS -N pbs", "#PBS -l nodes=2:ppn=2", "#BSUB -J bsub", "# #SBATCH -n 9", "echo #SBATCH -n 9", "echo \\"),
)
"""Lines between them."""
SHEBANGS = ("#!/bin/sh", "#!/bin/bash -l", "#! /bin/sh", "#!/usr/bin/env python3", "#!", "#!/bin/sh #SBATCH -n 9")
VALUES = (
    *("", "0", "1", "2", "-1", "1.5", "1K", "abc", " 2", "2 ", "0x10", "99999999999", "1,2", "1-2", "*", "unlimited"),
    *("yes", "no", "none", "NONE", "+5", "1e3", "1:2", "a:1", "gpu:1", "all", "default", "(null)", "2G", "4gb", "true"),
    *("a b", "a,b", "naïve", "5:00", "now", "-", "user", "set", "off", "block", "cyclic", "n1", "n[1-2]", "../x", "?"),
)
"""Values of variables, most of them of another type than that of the option."""
GRES = ("", "0", "1", "2", "a:1", "a:1,b:2", "none")
"""Values of variables for GRES; others depend on slurm.conf."""
OWN = tuple(word for word in OF_SPANK if word != "--maybe")
"""Options of a SPANK plugin; sbatch reads one without its argument as another text in the next component."""
INHERITED_OTHERWISE = frozenset(
    [
        "-a",
        "-o",
        "-e",
        "-i",
        "--batch=haswell",
        "--stepmgr",
        "--open-mode=append",
        "--open-mode=truncate",
        "--open-mode=a",
        "--ntasks-per-gpu=2",
        "--export=NIL",
    ]
)
"""Options of which the next component has something else: the whole path of a file, or what the memory holds."""
UNSET = frozenset({"clusters", "container-id", "container-type", "jobid", "power", "slurmd-debug"})
"""Options that reach for other clusters or jobs, that Slurm loses or always refuses, or that only root may give."""


def odd_script(chance: random.Random) -> str:
    """Return a batch script with options in odd places."""
    pool = ODD_LINES.strip("\n").replace("\n", "|").split("|")
    lines = [chance.choice(SHEBANGS) if chance.random() < 0.3 else SHEBANGS[0]]
    for _ in range(chance.randint(1, 7)):
        kind = chance.random()
        if kind < 0.6:
            lines.append(chance.choice(pool))
        elif kind < 0.75:
            lines.append(f"#SBATCH {chance.choice(LINES)}".replace("@FOLDER@/", ""))
        else:
            lines.append(chance.choice(OTHER_LINES))
    end = chance.choice(("\n", "\n", "\n", "", "\r\n", "\n\n\n"))
    return "\n".join(lines) + end


def variables(program: str, chance: random.Random) -> dict[str, str]:
    """Return variables that give options to a command, with odd values."""
    pairs = [pair for pair in VARIABLES[program] if pair[1] not in UNSET]
    given = {}
    for name, option in chance.choices(pairs, k=chance.choice((0, 1, 1, 2, 3))):
        odd = ("1", "0:30") if option == "switch-wait" else VALUES
        given[name] = chance.choice(GRES if option.startswith("gpus") else ("gpu:1", "") if option == "gres" else odd)
    return given


def placed(number: int, seed: int) -> list[Command]:
    """Return random command lines with odd scripts, and variables of any value."""
    chance = random.Random(seed)
    pool = [line.split() for line in LINES if not {*"@\"'#"} & {*line}]
    made = []
    for _ in range(number):
        program = chance.choice(("sbatch", "sbatch", "sbatch", "srun", "salloc"))
        words = [word for each in chance.sample(pool, chance.choice((0, 0, 1, 2))) for word in each]
        env = variables(program, chance)
        if program != "sbatch":
            words += [word for word in [chance.choice(chance.choice(OF_SRUN).split("|"))] if word and program == "srun"]
            made.append(Command((program, *words, "true"), env, {**FILES, **HOSTFILES}))
        elif chance.random() < 0.15:
            made.append(sbatch(*words, stdin=odd_script(chance), **env))
        elif chance.random() < 0.15:
            made.append(sbatch(*words, "--wrap", chance.choice(("true", "", "echo $A", "a\nb", "#SBATCH -n 3")), **env))
        else:
            made.append(sbatch(*words, "a.sh", script=odd_script(chance), **env))
    return made


def components(number: int, seed: int) -> list[Command]:
    """Return random heterogeneous jobs: components on the command line, in the script, or in both, and variables."""
    chance = random.Random(seed)
    pool = [line.split() for line in LINES if not {*"@\"'#"} & {*line} and not INHERITED_OTHERWISE & {*line.split()}]
    made = []
    for _ in range(number):
        program = chance.choice(("sbatch", "sbatch", "sbatch", "srun", "salloc"))
        env = variables(program, chance) if chance.random() < 0.5 else {}
        words: list[str] = []
        known = [each for each in pool if name_of(each[0], program) in NAMES[program]]
        for part in range(chance.choice({"sbatch": (1, 2, 2, 3), "srun": (2, 3), "salloc": (2,)}[program])):
            words += [":"] * bool(part)
            words += [word for each in chance.sample(known, chance.choice((0, 1, 2))) for word in each]
            words += [chance.choice(OWN)] if chance.random() < 0.3 or program == "salloc" else []
            words += ["true"] * (program == "srun")
        if program == "sbatch":
            lines = ["#!/bin/sh"]
            for part in range(chance.choice((1, 2, 2, 3))):
                lines += [chance.choice(("#SBATCH hetjob", "#SBATCH packjob"))] * bool(part)
                lines += [f"#SBATCH {' '.join(each)}" for each in chance.sample(pool, chance.choice((0, 1, 2)))]
            made.append(sbatch(*words, "a.sh", script="\n".join([*lines, "true", ""]), **env))
        else:
            made.append(Command((program, *words, *(["true"] * (program == "salloc"))), env, {**FILES, **HOSTFILES}))
    # In 22.05, the variable SLURM_CPU_FREQ_REQ has what the memory of another component holds.
    return [command for command in made if "--cpu-freq" not in str(command)]
