# SPDX-License-Identifier: GPL-2.0-or-later
"""Public job_submit.lua scripts: where they are, which requests are compared, and where rules differ on purpose."""

from dataclasses import dataclass, field

SCRIPT = "/etc/slurm/job_submit.lua"
CONF = """\
GresTypes=gpu
Licenses=common:10,watts:5000,quantum:5,lscratcha:20,lscratchb:20
PartitionName=debug Nodes=ALL Default=YES MaxTime=2-0 State=UP
PartitionName=batch Nodes=ALL MaxTime=7-0 State=UP
PartitionName=gpu Nodes=ALL MaxTime=2-0 State=UP
PartitionName=gpus Nodes=ALL MaxTime=2-0 State=UP
PartitionName=cpu Nodes=ALL MaxTime=2-0 State=UP
PartitionName=long Nodes=ALL MaxTime=30-0 State=UP
PartitionName=express Nodes=ALL MaxTime=60 State=UP
PartitionName=normal Nodes=ALL MaxTime=1-0 State=UP
PartitionName=interactive Nodes=ALL MaxTime=8:00:00 State=UP
PartitionName=green Nodes=ALL MaxTime=2-0 State=UP
PartitionName=quantum Nodes=ALL MaxTime=2-0 State=UP
PartitionName=bigmem Nodes=ALL MaxTime=2-0 State=UP
PartitionName=sample Nodes=ALL MaxTime=2-0 State=UP
PartitionName=standard Nodes=ALL MaxTime=4-0 State=UP
PartitionName=highmem Nodes=ALL MaxTime=4-0 State=UP
PartitionName=serial Nodes=ALL MaxTime=4-0 State=UP
PartitionName=maintenance Nodes=ALL MaxTime=4-0 State=UP
PartitionName=with-sharp Nodes=ALL MaxTime=4-0 State=UP
PartitionName=cpu24 Nodes=ALL MaxTime=4-0 State=UP
PartitionName=cpu24_big Nodes=ALL MaxTime=2:00:00 State=UP
PartitionName=cpu32_4096 Nodes=ALL MaxTime=4-0 State=UP
PartitionName=cpu40 Nodes=ALL MaxTime=4-0 State=UP
PartitionName=gpus3090 Nodes=ALL MaxTime=4-0 State=UP
PartitionName=a100 Nodes=ALL MaxTime=4-0 State=UP
PartitionName=regular Nodes=ALL DefaultTime=60 MaxTime=10-0 State=UP
PartitionName=himem Nodes=ALL DefaultTime=60 MaxTime=10-0 State=UP
SchedulerType=sched/builtin
SchedulerParameters=defer
SlurmctldDebug=info
SlurmctldParameters=conmgr_threads=4
"""
"""Lines of slurm.conf with everything that the scripts name; the last four because no job is to start."""
HARDWARE = "CPUs=64 RealMemory=900000 Gres=gpu:tesla:8 Feature=rome,milan,mig=on,mig=off,gsp=on,gsp=off"
ACCOUNTS = (
    *(
        f"add qos {name}"
        for name in (
            *("qos1", "qos2", "qos3", "qos4", "qos5", "short", "long", "standard", "reservation"),
            *("interactive", "short__ct", "long__ct"),
            *("regular", "regularlong", "himem", "himemlong"),
            *("batch_small_short", "batch_small_long", "batch_big_short", "debug_small_short"),
        )
    ),
    "add account physics",
    "add account sample",
    "add account admin",
    "add user alice Account=physics DefaultAccount=physics",
    "add user alice Account=sample,admin",
)
"""Calls of sacctmgr."""

PLACES = ("", "", "-p debug", "-p batch", "-p gpu", "-p long", "-p debug,gpu", "-p long,batch")
TIMES = ("", "", "-t 10", "-t 60", "-t 61", "-t 4:00:00", "-t 4:01:00", "-t 2-0", "-t 7-0", "-t 6-23:59:00")
GPUS = ("", "", "", "--gpus=2", "--gres=gpu:1", "--gpus-per-node=tesla:2", "--gpus-per-task=1 -n2", "--gpus=0")
MEMORY = ("", "--mem=1G", "--mem=0", "--mem-per-cpu=500M", "--mem-per-cpu=2G", "--mem=40G", "--mem=200G")
SIZES = ("", "", "-n1", "-n4", "-N2 -n8", "-N1 -c4", "-N1-2", "-n2 --ntasks-per-node=1")
NAMES = ("", "", "-J run", "-J MAINT", "-J bash")
ACCOUNT = ("", "-A physics", "-A sample")
UPDATES = (
    *("TimeLimit=5", "TimeLimit=1-0", "Partition=batch", "Partition=gpu", "Partition=long", "JobName=MAINT"),
    *("JobName=other", "MinMemoryNode=0", "MinMemoryNode=100", "MinMemoryCPU=0", "Comment=mine", "QOS=short"),
    *("NumNodes=2", "Account=sample", "Licenses=common:2", "Features=rome"),
)
"""Changes by scontrol."""
CALLED = """echo "$*" >>/var/tmp/called\n"""
"""Stands for a program that a script runs: the words of each call are compared."""
WITHOUT_METATABLES = {r"setmetatable \(job_\w+, +job_re\w_meta\)": "", r"_build_part_table \(part_list\)": "part_list"}
"""What scripts for old releases of Slurm call, and what is in its place for the tables that slurmctld passes now."""


@dataclass(frozen=True)
class PublicScript:
    """A script of a public repository.

    Attributes:
        name: that of the files of its rules, and of a hook file, in this folder.
        repository: at GitHub.
        commit: at which it is compared.
        files: paths in the repository, and where they are in the cluster.
        options: lists of options, of which a request draws one each.
        updates: changes of which an update draws one.
        interactive: whether some of the requests are interactive ones.
        renamed: what is replaced in the script, by regular expressions: names of the site, or of a template.
        beside: files of the site that the script reads, as they are in the cluster.
        differs: reasons for which rules decide otherwise, each with a pattern of the requests and differences.
        alike: the part of the submissions that must be the same.
        tells: whether it is compared if users read anything.
        since: the first release that writes what the script reads.
    """

    name: str
    repository: str
    commit: str
    files: dict[str, str]
    options: tuple[tuple[str, ...], ...]
    updates: tuple[str, ...] = UPDATES
    interactive: bool = False
    renamed: dict[str, str] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)
    alike: float = 0.5
    tells: bool = False
    since: tuple[int, int] = (22, 5)


SCRIPTS = (
    PublicScript(
        name="account_required",
        repository="NVIDIA/slurm-lua-jobsubmit-framework",
        commit="db4faa9adac4eaa5847130e5ed0fbf6aa6e0c5de",
        files={
            "job_submit.lua": SCRIPT,
            "lua_job_submit_d/available/require_account.lua": "/etc/slurm/lua_job_submit_d/require_account.lua",
        },
        options=(ACCOUNT, PLACES, TIMES),
        interactive=True,
    ),
    PublicScript(
        name="far_begin",
        repository="GreenScheduler/slurm-docker-cluster",
        commit="cb48c353709c1c7c83ecc10bfcd3b0fcacb5ea2c",
        files={"job_submit.lua": SCRIPT},
        renamed={"lowcarbon": "green"},
        options=(
            ("", "-p green", "-p green", "-p debug,green"),
            ("", "--begin=now+1hour"),
            ("", "--comment=x"),
        ),
    ),
    PublicScript(
        name="gpus_to_partition",
        repository="sol-eng/aws-parallelcluster-rsw",
        commit="298140b7002f5771b527fc20a86d6899aaf2e7b1",
        files={"scripts/job_submit.lua": SCRIPT},
        options=(GPUS, PLACES, SIZES),
        interactive=True,
        alike=0.1,
    ),
    PublicScript(
        name="interactive_memory_gpus",
        repository="skunkworksdev/job_state_predictor",
        commit="3566165de9903cda11764819b607ac1f2577c1e2",
        files={"job_submit.lua": SCRIPT},
        options=(GPUS, PLACES, TIMES, MEMORY, MEMORY, NAMES),
        interactive=True,
        renamed={r"table\.unpack": "(table.unpack or unpack)"},
        differs={
            "takes each update for one of an interactive job without a time limit": r"\| .*the script refuses",
            "takes no GPUs for GPUs": "--gpus=0",
        },
    ),
    PublicScript(
        name="long_is_long",
        repository="Alkhatraz/HPC",
        commit="312323cf0ba18d6acac05c9632d9f10bab7820c2",
        files={"lua/job_submit.lua": SCRIPT},
        options=(PLACES, TIMES, NAMES),
        interactive=True,
    ),
    PublicScript(
        name="gpu_required",
        repository="NVIDIA/slurm-lua-jobsubmit-framework",
        commit="db4faa9adac4eaa5847130e5ed0fbf6aa6e0c5de",
        files={
            "job_submit.lua": SCRIPT,
            "lua_job_submit_d/available/require_gpu.lua": "/etc/slurm/lua_job_submit_d/require_gpu.lua",
        },
        options=(GPUS, (*PLACES, "-p cpu", "-p cpu,debug"), SIZES),
        interactive=True,
        differs={"an exempt partition in a list exempts the job": "-p debug,gpu.*the script accepts"},
    ),
    PublicScript(
        name="batch_in_interactive",
        repository="NVIDIA/slurm-lua-jobsubmit-framework",
        commit="db4faa9adac4eaa5847130e5ed0fbf6aa6e0c5de",
        files={
            "job_submit.lua": SCRIPT,
            "lua_job_submit_d/available/restrict_interactive.lua": "/etc/slurm/lua_job_submit_d/restrict.lua",
        },
        beside={"/etc/slurm/interactive_partitions": "interactive = -\nexpress = 10\n"},
        options=(("", "-p interactive", "-p express", "-p batch,express", "-p debug"), ("", "-t 5", "-t 10", "-t 11")),
        updates=("TimeLimit=5", "TimeLimit=20", "Partition=interactive", "Partition=express", "Comment=x"),
        interactive=True,
        differs={
            "takes interactive jobs for batch jobs": "salloc .*the script refuses",
            "looks at the time limit before the update": r"\| TimeLimit=20.*the script accepts",
        },
    ),
    PublicScript(
        name="comments",
        repository="NVIDIA/slurm-lua-jobsubmit-framework",
        commit="db4faa9adac4eaa5847130e5ed0fbf6aa6e0c5de",
        files={
            "job_submit.lua": SCRIPT,
            "lua_job_submit_d/available/enrich_comments.lua": "/etc/slurm/lua_job_submit_d/enrich.lua",
        },
        options=(("", "--switches=1", "--switches=2@10", "--dependency=singleton", "--network=sn_all"), PLACES),
    ),
    PublicScript(
        name="least_memory",
        repository="hpcugent/slurm-prepilogue",
        commit="5ea91e6b6c13df19d58ac12dcac370c9d2924c0d",
        files={"files/job_submit.lua": SCRIPT},
        beside={"/etc/slurm/submit_filter_conf.lua": 'slurm_gpu_only_partitions["gpu"] = 1\n'},
        options=(GPUS, PLACES, (*MEMORY, "--mem=999M", "--mem=1000M", "--mem=10M"), SIZES),
        interactive=True,
        differs={
            "takes all memory for none": "--mem=0.*the script refuses",
            "does not know lists of partitions": "-p debug,gpu.*the script accepts",
        },
    ),
    PublicScript(
        name="license_of_partition",
        repository="qrmi-community/slurm_poller_daemon_example",
        commit="0c65176bc88fe349178f6688a8aa9cddd9967daf",
        files={"plugins/job_submit.lua": SCRIPT},
        renamed={r"\w+@slurmdb": "quantum"},
        options=(
            ("", "-p quantum", "-p quantum", "-p debug"),
            ("", "-L common", "-L quantum:1", "-L common,quantum"),
            TIMES,
        ),
        interactive=True,
    ),
    PublicScript(
        name="qos_by_size",
        repository="Maxime91860/slurm_config",
        commit="bdc4f96e96dcfe3619e0716f8dbe4e33c73ad4ec",
        files={"job_submit.lua": SCRIPT},
        options=(
            (*TIMES, "-t 14-0", "-t 14-1", "-t 84-0", "-t 85-0"),
            (*MEMORY, "--mem=16G", "--mem=17G", "--mem=32G", "--mem=64G", "--mem=65G", "--mem=122G"),
            SIZES,
        ),
        interactive=True,
        differs={
            "takes all memory for none": "--mem=0.*QOS: the script",
            "replaces memory for each CPU by the default": "--mem-per-cpu",
        },
    ),
    PublicScript(
        name="default_partition",
        repository="ULHPC/puppet-slurm",
        commit="1297b8cc2e3a13a2fb6b32c4d4b7fd2050b7ca75",
        files={"templates/job_submit.lua.erb": SCRIPT},
        renamed={"<%=.*?%>": "cluster"},
        options=(PLACES, TIMES, SIZES),
        interactive=True,
    ),
    PublicScript(
        name="cpus_and_memory_of_gpus",
        repository="itgrape/2046",
        commit="47cf97258244fe389ecfb6b052e0eba16f626fdd",
        files={"control/custom_script/job_submit.lua": SCRIPT},
        options=(
            (*GPUS, "--cpus-per-gpu=2 --gpus=1", "--mem-per-gpu=1G --gpus=1"),
            ("", "-w n1", "-x n2", ""),
            ("", "--mem=1G", "--mem-per-cpu=1G"),
            ("", "-c2", "-c4", "-n2 -c1"),
        ),
        interactive=True,
        differs={"sees only GPUs by --gpus": "--gres=gpu|--gpus-per"},
        since=(23, 11),  # gres/gpu, and the CPUs of a task as TRES
    ),
    PublicScript(
        name="accounts_and_licenses",
        repository="unlhcc/slurm-job_submit",
        commit="ee89d8216e3099f43058ff6ac77ef94c7ac176cd",
        files={"job_submit.lua": SCRIPT, "job_submit_utils.lua": "/etc/slurm/job_submit_utils.lua"},
        options=(
            GPUS,
            PLACES,
            ACCOUNT,
            ("", "-L common", "-L common:2", "-L quantum"),
            ("", "-D /common/x", "-D /tmp"),
        ),
        interactive=True,
        differs={"does not know gres/gpu, as Slurm writes it since 23.11": "--gpus|--gres"},
        alike=0.4,
    ),
    PublicScript(
        name="watts",
        repository="Noft1337/Slurm-Headnode-Helm-Chart",
        commit="132a5ff55ca81cc9f561ca89a6089250bf143c49",
        files={"config/job_submit.lua": SCRIPT},
        options=(GPUS, ("", "-c1", "-c4"), ("", "-L common"), SIZES),
        interactive=True,
    ),
    PublicScript(
        name="example",
        repository="willzhang05/general",
        commit="7483d238a1f0b486ecd28569cd0d99f7900a36fa",
        files={"example.lua": SCRIPT},
        renamed={r"\*\*\*TEST_\w+\*\*\*": "sample"},
        options=(PLACES, ACCOUNT, ("", "--comment=x")),
        interactive=True,
    ),
    PublicScript(
        name="update_comment",
        repository="willzhang05/general",
        commit="7483d238a1f0b486ecd28569cd0d99f7900a36fa",
        files={"job_submit.lua": SCRIPT},
        renamed={r"\*\*\*TEST_\w+\*\*\*": "sample"},
        options=(PLACES, ACCOUNT, ("", "--comment=x")),
        interactive=True,
    ),
    PublicScript(
        name="licenses",
        repository="SchedMD/slurm",
        commit="284c3b95f08a2dc2478499837b03355e1b9c5c75",
        files={"contribs/lua/job_submit.license.lua": SCRIPT},
        options=(("", "-L lscratcha", "-L lscratcha:1", "-L lscratcha:2", "-L lscratcha:12", "-L lscratchb:3,common"),),
        updates=("Licenses=lscratcha:1", "Licenses=lscratchb:4", "Licenses=common", "Comment=x", "Licenses="),
        interactive=True,
        differs={"reads the first digit of a number": "lscratcha:12"},
    ),
    PublicScript(
        name="whole_nodes",
        repository="EPCCed/Flexible-Slurm-Configuration-for-Large-Scale-HPC",
        commit="02e53e3e320a3c3c5b411d79c33e024fafbf8da9",
        files={"job_submit.lua": SCRIPT},
        renamed={"shortqos": "brief"},
        options=(
            ("", "-p standard", "-p standard", "-p highmem", "-p gpu", "-p serial", "-p maintenance", "-p batch"),
            ("", "--qos=standard", "--qos=standard", "--qos=short", "--qos=long", "--qos=reservation"),
            ("", "", "", "--reservation=brief", "--reservation=course"),
            ("", "", "", "--mem=1G", "--mem-per-cpu=500M"),
            ("", "", "-N2", "-n4", "-N2 --exclusive", "--exclusive"),
            ("", "", "--gres=gpu:1", "--gres=gpu:2", "--gres=gpu:tesla:1", "--gpus=2"),
            ("", "-t 10", "-t 1-0", "-t 1-00:01:00", "-t 2-0"),
            ("", "", "", "", "-w n1", "-x n2"),
        ),
        interactive=True,
        differs={
            "knows only GPUs by --gres": "-p gpu .*--gpus=2",
            "counts the GPUs of one node": "-p gpu .*(-N2|--exclusive).*NumTasks",
        },
        alike=0.4,
    ),
    PublicScript(
        name="checked_sizes",
        repository="OleHolmNielsen/Slurm_tools",
        commit="05c7ebc854fa80f16b6b06f8f30d4077a3ac0a53",
        files={"plugins/job_submit.lua": SCRIPT},
        renamed={r"\bxeon": "cpu", r"\bsm3090": "gpus"},
        options=(
            (
                "",
                "-p cpu24",
                "-p cpu24",
                "-p cpu24_big",
                "-p cpu32_4096",
                "-p cpu40",
                "-p gpus3090",
                "-p a100",
                "-p batch",
            ),
            ("", "-n1", "-n24", "-n40", "-N2 -n48", "-N2 -n80", "-N1 --ntasks-per-node=24", "-n20 -c2", "-N2"),
            ("", "", "--mem=0", "--mem=1G", "--mem=700G", "--mem-per-cpu=1G", "--mem-per-cpu=22G"),
            ("", "", "--gres=gpu:1", "--gpus=1"),
            ("", "-t 10", "-t 5:00:00"),
            ("", "", "-J MAINT"),
        ),
        interactive=True,
        differs={"knows only GPUs by --gres": "--gpus=1.*the script refuses"},
        since=(23, 2),  # its error codes
    ),
    PublicScript(
        name="features_of_gpus",
        repository="NVIDIA/slurm-lua-jobsubmit-framework",
        commit="db4faa9adac4eaa5847130e5ed0fbf6aa6e0c5de",
        files={
            "job_submit.lua": SCRIPT,
            "lua_job_submit_d/available/gpu_features.lua": "/etc/slurm/lua_job_submit_d/features.lua",
        },
        options=(
            ("", "--network=sharp", "--network=sn_all"),
            ("", "-p interactive", "-p debug", "-p interactive,with-sharp", "-p interactive,debug"),
            ("", "-C rome", "-C mig=on", "-C gsp=on", "-C mig=on,gsp=off", "-C rome,mig=off"),
            ("", "-N1", "-N2", "-N1-2", "-N17"),
            ("", "-A admin"),
        ),
        interactive=True,
    ),
    PublicScript(
        name="one_switch",
        repository="Azure/cyclecloud-slurm",
        commit="049346f6b1cee4db11fd6a6166a58e32f5d006f5",
        files={"azure-slurm-install/templates/job_submit.lua": SCRIPT},
        options=(
            ("", "--switches=2", "--switches=1@10"),
            ("", "--network=sn_single", "--network=sn_all"),
            PLACES,
            SIZES,
        ),
        interactive=True,
    ),
    PublicScript(
        name="interactive_qos",
        repository="th-nuernberg/clustermgmt",
        commit="bb39456001ad52ff6ec7f19346eca6c3868db93b",
        files={"roles/slurm/templates/job_submit.lua.j2": SCRIPT},
        options=(("", "--qos=interactive", "--qos=interactive", "--qos=short"), PLACES, TIMES),
        interactive=True,
    ),
    PublicScript(
        name="express_and_output",
        repository="birc-aeh/au-slurm-package",
        commit="b945b6e0eeb456020e447a974e6e4ccf6171ae5c",
        files={"config/job_submit.lua": SCRIPT},
        renamed=WITHOUT_METATABLES,
        differs={"keeps the first name of a job in that of its output": r"\| JobName=.*StdOut"},
        options=(
            ("", "-p express", "-p express", "-p debug", "-p express,debug"),
            ("", "-o /dev/null", "-e /dev/null", "-o out-%j.o -e err-%j.e"),
            NAMES,
            ("", "-t 10"),
        ),
    ),
    PublicScript(
        name="least_big_memory",
        repository="schelcj/slurm-utils",
        commit="f56545cd546ab82dbdd3c48aaeb40b1adcd351db",
        files={"plugins/job_submit.lua": SCRIPT},
        renamed={**WITHOUT_METATABLES, "biostat-bigmem": "bigmem"},
        options=(
            ("", "-p bigmem", "-p bigmem", "-p debug", "-p debug,bigmem"),
            (*MEMORY, "--mem=29999M", "--mem=30000M", "--mem=100G"),
            SIZES,
        ),
        interactive=True,
        differs={
            "takes all memory for none": "--mem=0.*the script refuses",
            "does not know lists of partitions": "-p debug,bigmem.*the script accepts",
        },
    ),
    PublicScript(
        name="sizes_named",
        repository="Lyreplus/BudgetFlow",
        commit="dfa1ed7b6e71aeb61f3ee6ec5791582bf8d0a78d",
        files={"lua/job_submit.lua": SCRIPT},
        renamed={r"python3 \.\./budgetflow/prolog\.py": "true"},
        options=(
            ("", "-N1", "-N1", "-N1"),
            ("", "-n1", "-n2", "-n4"),
            ("", "-c1", "-c3", "-c4", "-c8"),
            ("", "--gres=gpu:0", "--gres=gpu:1", "--gres=gpu:2", "--gres=gpu:tesla:1"),
        ),
        interactive=True,
    ),
    PublicScript(
        name="cpus_of_gpus",
        repository="xihn/lua-slurm-gpu-cpu-ratio",
        commit="2d79f56fcab613fccd86b5664e5d7303e86135c2",
        files={"src/job_submit.lua": SCRIPT},
        # Slurm has no field of this name, and writes gres/gpu since 23.11.
        renamed={"min_cpu": "min_cpus", r'"\^gpu:': '"^gres/gpu:', "es1": "gpu", "v100 ": "tesla"},
        options=(
            ("-p gpu", "-p gpu", "-p gpu", "-p debug", ""),
            ("", "--gres=gpu:1", "--gres=gpu:2", "--gres=gpu:tesla:1", "--gres=gpu:tesla:2"),
            ("", "-n2", "-n4", "-n4", "-n8", "-n2 -c2"),
        ),
        interactive=True,
        since=(23, 11),  # gres/gpu
    ),
    PublicScript(
        name="license_and_host_qos",
        repository="hpc/hpc-collab",
        commit="4c4a933b05d1828e348cfbfb88f39a7a582a1e3d",
        files={"clusters/vc/common/etc/slurm/job_submit.lua": SCRIPT},
        renamed={
            r'require "luarocks\.loader"': "nil",
            r'require "posix\.unistd"': "{ access = function() end }",
            "homevagrant@slurmdb": "common",
        },
        options=(
            ("", "-L common", "-L common:2", "-L quantum", "-L quantum:2,common"),
            ("", "--qos=short", "--qos=long", "--qos=short__ct"),
            PLACES,
        ),
        updates=("Licenses=common", "Licenses=common:2", "Licenses=quantum", "Comment=x", "TimeLimit=5"),
        interactive=True,
    ),
    PublicScript(
        name="groups_of_nodes",
        repository="GoogleCloudPlatform/slurm-gcp",
        commit="13fd92b615c030b9ba62e4a87d610bcc7af72b75",
        files={"etc/job_submit.lua.tpl": SCRIPT},
        renamed={'SCRIPTS_DIR .. "/util.py -p "': '"sh /etc/slurm/machines.sh "'},
        beside={"/etc/slurm/machines.sh": "case $1 in gpu) echo VMCOUNT:2;; *) echo VMCOUNT:0;; esac\n"},
        options=(
            ("", "-p gpu", "-p gpu", "-p gpu", "-p debug", "-p debug,gpu"),
            ("", "-N1", "-N1", "-N2", "-N1-2", "-n2", "-n2 -N1"),
            ("", "--switches=2"),
        ),
        interactive=True,
    ),
    PublicScript(
        name="smallest_partition",
        repository="NathanRVance/clic",
        commit="e28f7f2686f5ac6689b384474e3fdfa4d207f6ec",
        files={"files/job_submit.lua": SCRIPT},
        renamed={
            r"--\s+START CLIC STUFF": "parts = { normal = { cpus = 4, mem = 2000, disk = 100 },"
            " bigmem = { cpus = 64, mem = 900000, disk = 10000 } }"
        },
        options=(PLACES, ("", "--mincpus=2", "--mincpus=8"), MEMORY, ("", "", "--tmp=50", "--tmp=5000")),
        interactive=True,
    ),
    PublicScript(
        name="gpus_of_default_account",
        repository="HCEMM/ansible-puli",
        commit="3eea424ad924429f58c02ae41daaf5d508338d15",
        files={"roles/slurm/files/job_submit.lua": SCRIPT},
        renamed={r"slurm\.ESLURM_INVALID_GRES": "2072"},  # Slurm 22.05 has no such name
        options=((*GPUS, "--gres=gpu:2"), (*PLACES, "-p gpu", "-p gpu"), ACCOUNT, SIZES),
        interactive=True,
        differs={"does not know lists of partitions": "-p debug,gpu.*the script accepts"},
    ),
    PublicScript(
        name="gpus_of_partition",
        repository="ryanchard/hpc-bridge",
        commit="560d58c6829f165b3352345e33ffe543ed906550",
        files={"agentic/fakecluster/profiles/site/job_submit.lua": SCRIPT},
        options=((*GPUS, "--gres=gpu:2"), (*PLACES, "-p gpu", "-p gpu"), SIZES),
        interactive=True,
        differs={
            "does not know lists of partitions": "-p debug,gpu.*the script accepts",
            "takes no GPUs for GPUs": "--gpus=0.*the script accepts",
        },
    ),
    PublicScript(
        name="moved_with_comment",
        repository="tcutts/slurm-docker-cluster",
        commit="0f91fe76613075783e6a5efecdbe6819f5f050bd",
        files={"plugins/job_submit.lua": SCRIPT},
        renamed={'"core"': '"debug"', r'"short"(.*)\{\}': r'"express"\1{"alice"}'},
        options=((*PLACES, "-p express", "-p express"), ("", "", "--comment=x"), TIMES),
        interactive=True,
        differs={"does not know lists of partitions": "-p debug,gpu"},
    ),
    PublicScript(
        name="writable_logs",
        repository="uhh-pd-ml/hummel-slurm-ci",
        commit="46f9849b60c66eeebb186aa740ce85d30b80cb32",
        files={"config/job_submit.lua": SCRIPT},
        options=(
            ("", "", "", "", "--mem=1G", "--mem=0", "--mem-per-cpu=500M"),
            (*SIZES, "-N2 --exclusive", "--exclusive"),
            ("-D /tmp", "-D /tmp", "-D /tmp", "", "-D /home", "-D /usw/x"),
            ("", "", "-o x.out", "-o /home/alice/x.out", "-o /tmp/x.out", "-o logs/x.out", "-o /usw/x.out"),
        ),
        interactive=True,
    ),
    PublicScript(
        name="interactive_partition",
        repository="KasperSkytte/slurmjobpacker",
        commit="13e0d91d7995efdb9f0c2cf594d45e798079083f",
        files={"lua/job_submit.lua": SCRIPT},
        renamed={'GPU_PARTITION = ""': 'GPU_PARTITION = "gpu"'},
        options=(GPUS, (*PLACES, "-p interactive", "-p interactive", "-p interactive,debug"), TIMES),
        interactive=True,
    ),
    PublicScript(
        name="security_context",
        repository="ComputeCanada/puppet-magic_castle",
        commit="7d84d4bbfd62fffc2b42e2de0a1c153893bec0d5",
        files={"site/profile/templates/slurm/job_submit.lua.epp": SCRIPT},
        renamed={r"<%= \$selinux_context %>": "user_u:user_r:user_t:s0", "<%.*?%>": ""},
        options=(PLACES, TIMES, SIZES),
        interactive=True,
    ),
    PublicScript(
        name="qos_of_partition",
        repository="rug-cit-hpc/league-of-robots",
        commit="a01002a52c36ee5e80b0b4377395b7a867012adb",
        files={"roles/slurm/files/job_submit.lua": SCRIPT},
        options=(
            ("", "-p regular", "-p himem", "-p regular,himem"),
            ("", "-t 10", "-t 3-0", "-t 3-00:01:00", "-t 7-0"),
            ("", "--qos=short", "--qos=regular"),
            SIZES,
        ),
        interactive=True,
        differs={"refuses lists of partitions": "-p regular,himem.*the script refuses"},
    ),
    PublicScript(
        name="allowed_lists",
        repository="herronej/palisade_siege_agentic_security",
        commit="900a2c4fa597ac0230b818ad85c80a1dbdf1b687",
        files={"tools/artifacts/job_submit.lua": SCRIPT},
        renamed={
            "stf218": "physics",
            r'\["msr_thermo"\]': '["sample"]',
            '"sbatch"': '"srun"',
            "max_nodes = 64": "max_nodes = 1",
            "high = true": "short = true",
            "msr_thermo_dedicated": "brief",
            "/lustre/orion/proj-shared/msr_thermo": "/tmp/project",
            "/lustre/orion/scratch/msr_thermo": "/var/tmp",
        },
        options=(
            (*("-A physics",) * 9, "-A sample", "-A admin", ""),
            (*("", "-p batch", "-p debug") * 3, "-p gpu"),
            (*("", "--qos=normal", "--qos=short") * 3, "--qos=long"),
            (*("", "", "--reservation=brief") * 3, "--reservation=course"),
            (*("", "-t 10", "-t 120") * 3, "-t 121"),
            (*("", "-N1") * 4, "-N2", "-N1-2"),
            (*("-D /var/tmp", "-D /tmp/project") * 5, "-D /tmp", ""),
            (*("", "-o x.out", "-o /var/tmp/x.out") * 3, "-o /tmp/x.out", "-e /etc/x"),
            (*("", "--wrap=true") * 5, "--wrap=srun", "--wrap='curl example.org | sh'", "--wrap='base64 -d x | sh'"),
        ),
        updates=("TimeLimit=5", "Comment=mine", "JobName=other"),
        differs={
            "takes the least number of nodes for the number": "-N1-2.*the script accepts",
            "ends its list of paths at the first that is missing": "(-D /tmp |-e /etc|^(?!.*-D )).*the script accepts",
        },
        alike=0.4,
    ),
    PublicScript(
        name="partition_of_gpu_type",
        repository="12kimih/deepops",
        commit="5db2a73825f76d330879783b4b90fc6cc2a47e9d",
        files={"roles/slurm/templates/etc/slurm/job_submit.lua": SCRIPT},
        renamed={
            r"\{\{ slurm_job_submit_cpu.*?\}\}": "batch",
            r"\{\{ slurm_default_gpu_type.*?\}\}": "",
            r"\{\{ slurm_default_gpu_part.*?\}\}": "gpus",
            r"\{\{ gtype \}\}": "tesla",
            r"\{\{ part \}\}": "a100",
            "\\{%.*?%\\}": "",
        },
        options=((*GPUS, "--gres=gpu:tesla:1", "--gpus=tesla:2"), PLACES[:3], SIZES, TIMES),
        interactive=True,
        differs={"ends its list of requests for GPUs at the first that is missing": "--gpus=|--gpus-per-task"},
    ),
    PublicScript(
        name="modes_by_comment",
        repository="AMD-HPC/rocBudAI",
        commit="e694eb91acb7ea3202fafe78af67554c3d7d0e53",
        files={"deploy/comment-gating/job_submit.lua": SCRIPT},
        renamed={"PPAC_MI300A_SPX": "gpu"},
        options=(
            (
                *("", "--comment=cpx", "--comment=TPX", "--comment=cpx2", "--comment=ollama", "--comment='a OLLAMA'"),
                *("--comment='x,Ollama,y'", "--comment=ollamas"),
            ),
            ("", "--exclusive", "--exclusive"),
            (*PLACES, "-p gpu", "-p gpu"),
        ),
        interactive=True,
        differs={"takes one partition of a list for all": "-p debug,gpu.*the script accepts"},
    ),
    PublicScript(
        name="qos_by_name",
        repository="edf-hpc/slurm-llnl-misc-plugins",
        commit="f65ecb689c15ed5b49260e00abf8deab08cf9236",
        files={"job_submit/job_submit.lua": SCRIPT},
        renamed={"/etc/slurm-llnl": "/etc/slurm"},
        beside={
            "/etc/slurm/qos.conf": "batch_small_short|60|8|\nbatch_small_long|1440|8|\n"
            "batch_big_short|60|64|\ndebug_small_short|60|8|\n"
        },
        options=(
            ("", "-p debug", "-p batch", "-p batch", "-p gpu"),
            ("", "", "--qos=batch_small_short", "--qos=debug_small_short", "--qos=batch_big_short"),
            ("", "-t 10", "-t 60", "-t 61", "-t 1-0", "-t 2-0"),
            ("", "-n1", "-n8", "-n9", "-n64"),
        ),
        interactive=True,
    ),
    PublicScript(
        name="memory_of_cpu",
        repository="cluslab/metastack",
        commit="6daf7c05c9a5877b50915ada86879424c167f1b3",
        files={"etc/job_submit.lua": SCRIPT},
        renamed={"/public/slurm_share/etc/": "/etc/slurm/"},
        beside={
            "/etc/slurm/disableAccounts": "sample\n",
            "/etc/slurm/luaconfig/passPart": "bigmem\n",
            "/etc/slurm/luaconfig/partDefMemPerCpuConf": "batch 2000 64\n",
        },
        options=(
            (*PLACES, "-p bigmem", "-p bigmem,batch"),
            ACCOUNT,
            ("", "--mem=1G", "--mem=4G", "--mem=4340M", "--mem-per-cpu=1085M", "--mem-per-cpu=1086M", "--mem=0"),
            ("", "-n1", "-n4", "-N2 -n8", "-N1 -c4"),
            ("", "", "--exclusive"),
        ),
        interactive=True,
        differs={
            "takes the mean of several nodes, of which one may have a single task": "-N2 -n8.*the script accepts",
            "lets tasks spread over nodes that have less for each": "-n4.*NumNodes: the script .*, the rules 1-1",
            "gives exempt partitions in a list the common limit": "-p bigmem,batch.*the script refuses",
        },
    ),
    PublicScript(
        name="gpu_qos_notice",
        repository="jm-rcc/slurm-job-submit",
        commit="44a3df4cccce3de121a296bd26b89ee46c669f23",
        files={"checks.lua": SCRIPT},
        renamed={'gpu_partition = "gpu"': 'gpu_partition = "short"'},
        tells=True,
        differs={"sees no GPUs of tasks": "--gpus-per-task.*told: the script True"},
        since=(23, 11),  # gres/gpu
        options=(GPUS, PLACES, ("", "--qos=short", "--qos=long")),
        interactive=True,
    ),
    PublicScript(
        name="sandbox",
        repository="katosh/agent_sandbox",
        commit="1621bea942d782c445f3ad8f82e5ac3fd85419d2",
        files={"admin/job_submit.lua": SCRIPT},
        beside={"/etc/slurm/.sandbox-bypass-token": "open\n"},
        options=(
            ("", "--export=NONE", "--export=_SANDBOX_BYPASS=open", "--export=_SANDBOX_BYPASS=other"),
            ("", "-D /tmp"),
            ("", "--wrap='true; false'", "--wrap='echo %s'"),
        ),
        interactive=True,
    ),
    PublicScript(
        name="stripes",
        repository="fpusch/slurm",
        commit="5990f2e1468c0119d6326aeaf8dbc3fca5ab6bc7",
        files={"docker/slurm/job_submit.lua": SCRIPT},
        renamed={'"lfs setstripe ': '"sh /etc/slurm/called.sh '},
        beside={"/etc/slurm/called.sh": CALLED},
        options=(("", "-J pwd", "-J hostname", "-J other"), ("", "-D /tmp"), ("", "--wrap='#JS_AUTO_PFL --disable=1'")),
    ),
    PublicScript(
        name="users_of_accounting",
        repository="scicore-unibas-ch/ansible-role-slurm",
        commit="74dc3717d63bd8c1d8ae229ed2682867bd855eec",
        files={"templates/job_submit.lua.j2": SCRIPT},
        renamed={'"sacctmgr ': '"sh /etc/slurm/called.sh '},
        beside={"/etc/slurm/called.sh": CALLED},
        options=(PLACES, TIMES),
        interactive=True,
    ),
)
