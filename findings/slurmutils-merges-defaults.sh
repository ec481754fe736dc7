#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# slurmutils reads slurm.conf into tables by name and writes it back. To Slurm, a line PartitionName=DEFAULT is for the
# lines below it, so a file may have several of them. slurmutils keeps only the last one, and writes it above all
# others: a load and a dump without any change give partitions other limits, and slurmctld reads the result without a
# word. It also refuses `Default=YES`, the spelling of slurm.conf(5).
# For: programs that edit slurm.conf with slurmutils, such as charms, and authors of the files that they edit.
# shellcheck source=lib/slurm.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib/slurm.bash"

pip_install slurmutils==1.3.2
root_of 24.11
limit() { inside scontrol show partition "$1" | sed -n 's/.*MaxTime=\([^ ]*\).*/\1/p'; } # PARTITION: its time limit
changed() { [[ $(limit short) != 00:30:00 ]]; }
partitions=$root/etc/slurm/partitions.conf
printf '%s\n' 'PartitionName=DEFAULT MaxTime=30' 'PartitionName=short Nodes=n1' \
    'PartitionName=DEFAULT MaxTime=600' 'PartitionName=long Nodes=n2' >"$partitions"
cluster_up 24.11 'Include partitions.conf'
expect "as written, the limit of short" 00:30:00 "$(limit short)"
expect "as written, the limit of long" 10:00:00 "$(limit long)"
"$work/venv/bin/python" - "$partitions" <<'PYTHON'
import sys
from slurmutils import SlurmConfigEditor

with SlurmConfigEditor().edit(sys.argv[1]):
    pass
PYTHON
expect "lines of DEFAULT after slurmutils" "partitionname=DEFAULT maxtime=600" "$(grep -i =default "$partitions")"
inside scontrol reconfigure
wait_for "the new limit" changed
expect "after slurmutils, the limit of short" 10:00:00 "$(limit short)"
expect "after slurmutils, the limit of long" 10:00:00 "$(limit long)"
expect "a partition with Default=YES" "'YES' is not of type 'boolean'" "$("$work/venv/bin/python" -c '
from slurmutils import SlurmConfigEditor
try:
    SlurmConfigEditor().loads("PartitionName=debug Nodes=n1 Default=YES")
except Exception as error:
    print(error)')"
finish
