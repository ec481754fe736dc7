# SPDX-License-Identifier: GPL-2.0-or-later
"""Batch scripts with every option of sbatch: the contents of their #SBATCH lines."""

LINES = """
-A physics
--account=a --account=b
--acctg-freq=30
--acctg-freq=task=15,network=20
-a 0-15:4%2
-a 1,3,5-7
--batch=haswell
--bb=capacity=1GB
-b 2035-01-31T12:00:00
-b 2035-01-31T12:00
-b 2035-01-31
-b 01/20/35
-b 01/20/35-16:00
-b 013135
-D /tmp
--comment="two words"
--comment='single # quoted'
-C intel&gpu
--constraint=[rack1|rack2]
--contiguous
-S 2
--core-spec=0
--thread-spec=3
--cores-per-socket=2
--cores-per-socket=2-4
--sockets-per-node=2
--threads-per-core=2
--threads-per-core=1
-c 4
--cpus-per-task=4 -N 4
-c8 -N4
-n 4 -c 2
-c 2 --mincpus=8
-c 8 --mincpus=2
--deadline=2035-01-31T12:00:00
--delay-boot=5
--delay-boot=1:00
-d afterok:12345
-d singleton
-e err.txt
-e /tmp/%j.err
-o out-%A_%a.txt
-i input.txt
-i none
-x n7
-x n[7-9]
-x n9,n8,n7
--exclusive
--exclusive=user
--exclusive=mcs
-s
--oversubscribe
--extra=site=42
--gpu-freq=medium
--gpu-freq=high,memory=medium --gpus=1
-G 4
-G a100:2
--gpus=a100:2,v100:1
--gpus=1 --gpus=2
--gpus-per-node=2
--gpus-per-node=a100:1
--gpus-per-node=2 --gres=nic:1
--gpus-per-node=1 -N 2
--gpus-per-socket=2 --sockets-per-node=2
--gpus-per-task=1 -n 2
--gpus-per-task=a100:2 -n 3
--gres=gpu:2
--gres=gpu:a100:2
--gres=gpu:1 --gres=gpu:2
--gres=gpu:1,nic:3
--gres=none
-H
--hint=compute_bound
--hint=memory_bound
--hint=multithread
--hint=nomultithread
-J a#b
-J "my job"
-J -dash
-L matlab:2
--licenses=a,b:2
--mail-type=END,FAIL
--mail-type=ALL
--mail-type=NONE
--mail-type=begin
--mail-type=TIME_LIMIT_80,ARRAY_TASKS
--mail-user=alice@example.org
--mcs-label=red
--mem=100
--mem=2G
--mem=1500K
--mem=0
--mem=1T
--mem-per-cpu=100
--mem-per-cpu=1G
--mem-per-gpu=1G --gpus=1
--mincpus=4
--network=devname=x
--nice
--nice=5
--nice=-5
--no-kill
-k --no-kill=off
--no-requeue
--requeue
--requeue --no-requeue
-w n1
-w n[1-3]
-w n3,n1,n1
-w n[1-2] -N 4
-w n1 -n 2
-N 2
-N 1-4
-N 4 -n 2
-N 2-8 -n 4
-N 0
-N 1,4-8
-N 2,4,7
-N 1-15:4
-N 4:8
-N 2K
--nodes=3 --ntasks-per-node=2
-N 2-4 --ntasks-per-node=2
-n 1
-n 8
-n 0
-n 10 --ntasks-per-node=4
-n 10 --ntasks-per-node=4 -N 3
--ntasks-per-node=4
--ntasks-per-core=1
--ntasks-per-core=2
--ntasks-per-socket=2
--ntasks-per-gpu=2 -n 4
-N 2 --sockets-per-node=2 --cores-per-socket=2
--open-mode=append
--open-mode=truncate
--open-mode=a
-O
-O -N 3
-O -N 3 -c 2
-p debug
-p debug,other
--prefer=fast
--priority=100
--priority=TOP
--profile=task
--profile=all
--profile=task,network
--profile=none
--propagate
--propagate=STACK
-q high
--reservation=maint
--reservation=a,b
--reboot
--signal=USR1
--signal=USR1@120
--signal=B:TERM@30
--signal=R:10
--signal=RB:USR2@60
--signal=SIGHUP@5
--spread-job
--use-min-nodes
--switches=2
--switches=2@10
--switches=1@1:00:00
-t 5
-t 0
-t 5:30
-t 1:00:00
-t 1-0
-t 1-2:30
-t 1-2:30:31
-t unlimited
-t INFINITE
-t 0:30
--time-min=10 -t 20
--time-min=1:00:00 -t 2:00:00
--tmp=100
--tmp=2G
--tres-bind=gres/gpu:closest
--tres-per-task=cpu=2
--tres-per-task=cpu=2,gres/gpu=1 -n 2
--tres-per-task=gres/gpu:1 -n 2
--wait-all-nodes=1
--wait-all-nodes=0
--wckey=key
--export=ALL
--export=NONE
--export=NIL
--export=HOME,SITE=1
--export=ALL,SITE=1
--export-file=@FOLDER@/environment.txt
--get-user-env
--ignore-pbs
--parsable
-Q
-v
-W
--stepmgr
--oom-kill-step
--oom-kill-step=0
--segment=2 -N 4
--container=/tmp/bundle
--container-id=c1
--cluster-constraint=fast
--kill-on-invalid-dep=yes
--kill-on-invalid-dep=no
--bbf=@FOLDER@/bb.txt
-n4 # a comment
-n 4 -N 2 --mem=100 -t 10 -J all --exclusive --contiguous -o x -e y
--tim=5 --acc=abbreviated
-n=4
--consolidate-segments -N 4
--spread-segments -N 4
--tres-per-task=license/matlab:1 -n 2
--external
""".strip().splitlines()

ODD = r"""
--acctg-freq=Task=5,
-D .
--chdir=sub/../x
--gpus=
--gpus=1 --gpus=
--gpus=a100:1,
--gpus-per-socket= --gpus-per-node=
--hint=Compute_bound
--nice=1-2
--nice=abc
--nice=
--nice=2147483646
--no-kill=no
--no-kill=Set
--no-kill=
--no-kill=maybe
--switches=2@UNLIMITED
--export=all,SITE=1
--export="SITE='a,b',HOME"
--export='SITE="a,b","HOME",'
""".strip().splitlines()
"""Lines with values that sbatch reads in its own way, or refuses; the kit's cli_filter takes any text for some."""

SCRIPTS = {
    **{line: f"#!/bin/sh\n#SBATCH {line}\ntrue\n" for line in (*LINES, *ODD)},
    "several lines": "#!/bin/bash\n#SBATCH -n 2\n  # indented\n\n#SBATCH   --time=5\n#SLURM -A x\necho\n#SBATCH -n 9\n",
    "joined quotes": '#!/bin/sh\n#SBATCH --comment=a"b c"d\\ e\n',
    "quoted option": '#!/bin/sh\n#SBATCH "--comment=x y" -n 2\n',
    "single quotes in double": '#!/bin/sh\n#SBATCH --comment="it\'s" -n 3\n',
    "no options": "#!/bin/sh\ntrue\n",
    "SBATCH without blank": "#!/bin/sh\n#SBATCH-n 3\ntrue\n",
    "tabs": "#!/bin/sh\n#SBATCH\t-n\t3\t-N 1\n",
    "commented option": "#!/bin/sh\n##SBATCH -n 3\n# SBATCH -N 3\n",
    "hetjob": "#!/bin/sh\n#SBATCH -n 2\n#SBATCH hetjob\n#SBATCH -n 3 -t 7\ntrue\n",
    "packjob": "#!/bin/sh\n#SBATCH -n 2 -A x\n#SBATCH packjob\n#SBATCH -n 3\n#SBATCH hetjob\n#SBATCH -c 2\n",
}
"""The scripts by what is special in them."""

RELATIVE = (
    *("now", "now+1hour", "now+90", "now-5minutes", "16:00", "4:30pm", "12:05am", "tomorrow", "noon", "tomorrow-noon"),
    *("midnight", "today", "fika", "teatime", "elevenses", "01/31", "0131-16:00"),
)
"""Times for ``--begin`` whose value depends on the clock."""

FILES = {"nodes.txt": "n2,n1\n", "environment.txt": "A=1\0B=2\0", "bb.txt": "#BB x\n"}
"""Files that scripts name, in the folder @FOLDER@."""
