# SPDX-License-Identifier: GPL-2.0-or-later
"""The long options of Slurm's commands, from 22.05 to the candidate of 26.11; test_cli_filter.py compares them.

Plugins ask Slurm for the options of the running command; `check`, stand-ins and the documentation use these names.
"""

_BY_COMMANDS = {
    "salloc sbatch srun scrontab": """
        account acctg-freq autocomplete chdir comment consolidate-segments constraint container container-id
        container-type context contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline
        delay-boot dependency distribution exclude exclusive extra extra-node-info gpu-bind gpu-freq gpus
        gpus-per-node gpus-per-socket gpus-per-task gres gres-flags help hint job-name licenses mail-type mail-user
        mcs-label mem mem-bind mem-per-cpu mem-per-gpu mem-update mincpus network nice no-kill nodefile nodelist
        nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres oom-kill-step
        overcommit oversubscribe partition priority profile qos quiet reboot reservation resources resv-ports
        runtime segment signal sockets-per-node spread-job spread-segments stepmgr switches tasks-per-node thread-spec
        threads-per-core time time-min tmp tres-bind tres-per-task usage use-min-nodes verbose version wckey
    """,
    "salloc sbatch srun": """
        bb bbf begin cluster cluster-constraint clusters gid hold power prefer uid
    """,
    "sbatch srun scrontab": """
        error export input open-mode output
    """,
    "salloc sbatch": """
        get-user-env wait-all-nodes
    """,
    "salloc srun": """
        immediate x11
    """,
    "sbatch srun": """
        parsable propagate test-only wait
    """,
    "srun": """
        accel-bind async bcast bcast-exclude compress cpu-bind cpu_bind debugger-test disable-status epilog exact
        external-launcher het-group ignore-signals interactive jobid kill-on-bad-exit label mpi msg-timeout
        multi-prog no-allocate overlap pack-group preserve-env prolog pty quit-on-interrupt relative send-libs
        slurmd-debug task-epilog task-prolog threads treewidth unbuffered wait-for-children whole
    """,
    "sbatch": """
        array batch export-file external ignore-pbs kill-on-invalid-dep no-requeue requeue wrap
    """,
    "salloc": """
        bell kill-command no-bell no-shell
    """,
}

NAMES = {
    command: tuple(
        sorted(
            name for commands, names in _BY_COMMANDS.items() if command in commands.split() for name in names.split()
        )
    )
    for command in ("salloc", "sbatch", "srun", "scrontab")
}
"""The options of each command, in alphabetical order."""

_FLAGS = """
    async bell consolidate-segments contiguous debugger-test disable-status exact external help hold ignore-pbs
    interactive label multi-prog no-allocate no-bell no-requeue no-shell overcommit oversubscribe parsable preserve-env
    quiet quit-on-interrupt reboot spread-job spread-segments stepmgr test-only unbuffered usage use-min-nodes
    verbose version wait-for-children whole
"""
FLAGS = frozenset(_FLAGS.split())
"""Options without an argument; also ``wait`` of sbatch."""
_OPTIONAL = """
    bcast compress exclusive external-launcher get-user-env immediate kill-command kill-on-bad-exit nice no-kill
    oom-kill-step overlap propagate pty requeue resv-ports send-libs x11
"""
OPTIONAL = frozenset(_OPTIONAL.split())
"""Options whose argument may be omitted."""
ALIASES = {"cpu_bind": "cpu-bind", "tasks-per-node": "ntasks-per-node"}
"""Other long names."""
SAME = {**ALIASES, "cluster": "clusters"}
"""Names that an abbreviation may mean at the same time; Slurm keeps their texts apart."""
_OF_COMPONENT = """
    bb consolidate-segments constraint contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task
    distribution exclusive extra-node-info gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres
    gres-flags hint licenses mail-type mail-user mem-bind mem-per-cpu mem-per-gpu mincpus network nodefile nodelist
    nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres overcommit
    oversubscribe partition resources resv-ports segment sockets-per-node spread-job spread-segments switches
    thread-spec threads-per-core tmp tres-bind tres-per-task use-min-nodes
"""
OF_COMPONENT = frozenset(_OF_COMPONENT.split())
"""The options that a component of a heterogeneous job does not inherit: reset_each_pass of slurm_opt.c."""
SHORT = {
    "A": "account", "B": "extra-node-info", "C": "constraint", "D": "chdir", "E": "preserve-env", "F": "nodefile",
    "G": "gpus", "H": "hold", "I": "immediate", "J": "job-name", "L": "licenses", "M": "clusters", "N": "nodes",
    "O": "overcommit", "Q": "quiet", "S": "core-spec", "T": "threads", "V": "version", "W": "wait",
    "X": "disable-status", "Z": "no-allocate", "a": "array", "b": "begin", "c": "cpus-per-task", "d": "dependency",
    "e": "error", "h": "help", "i": "input", "k": "no-kill", "l": "label", "m": "distribution", "n": "ntasks",
    "o": "output", "p": "partition", "q": "qos", "r": "relative", "s": "oversubscribe", "t": "time", "u": "unbuffered",
    "v": "verbose", "w": "nodelist", "x": "exclude",
}  # fmt: skip
"""Long names by letter, of all commands that have the option."""
_KILL = {"salloc": "kill-command", "srun": "kill-on-bad-exit"}


def short(command: str, letter: str) -> str | None:
    """Return the long name of a command's short option; None if it has none."""
    name = _KILL.get(command) if letter == "K" else SHORT.get(letter)
    return name if name in NAMES[command] else None
