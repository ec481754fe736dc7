# SPDX-License-Identifier: GPL-2.0-or-later
"""What rules about memory, GPUs and sizes do; test_rules_catalogue.py shows it."""

from slurmhooks.fields.constants import JobFlag
from tests.unit.rules.cases import Case

LOWER = 'lowering = "accept"'
ONE_NODE = {"max_nodes": 1, "bitflags": JobFlag.USE_MIN_NODES}
ARRAY = {"array_job_id": 9, "array_task_cnt": 11, "partition": "b", "user_id": 1000}

MEMORY = {
    "require_memory": [
        Case("", {}, "how much memory"),
        Case("", {"min_mem_per_node": 1}),
        Case("", {"min_mem_per_node": 0}),
        Case("", {"min_mem_per_cpu": 1}),
        Case("", {"mem_per_tres": "gres/gpu:100", "tres_per_job": "gres/gpu:1"}),
        Case("", {}, uid=0),
        Case("", {"mem_per_tres": ""}, "how much memory", record={"mem_per_tres": "gres/gpu:100"}),
        Case("", {"num_tasks": 2}, record={"min_mem_per_node": 1, "bitflags": JobFlag.JOB_MEM_SET}),
        Case('partitions = ["a"]', {"partition": "a"}, "how much memory", record={"partition": "b"}),
    ],
    "default_memory": [
        Case('per_cpu = "1G"', {}, changes={"min_mem_per_cpu": 1024}),
        Case('per_node = "1G"', {}, changes={"min_mem_per_node": 1024}),
        Case('per_gpu = "1G"', {}),
        Case('per_gpu = "1G"', {"tres_per_job": "gres/gpu:2"}, changes={"mem_per_tres": "gres/gpu:1024"}),
        Case('per_cpu = "1G"', {"min_mem_per_node": 5}),
        Case('per_cpu = "1G"', {"min_mem_per_cpu": 0}),
    ],
    "memory_ceiling": [
        Case('per_node = "10G"', {"min_mem_per_node": 10240}),
        Case('per_node = "10G"', {"min_mem_per_node": 10241}, "at most 10G of memory per node in "),
        Case('per_node = "10G"', {}),
        Case('per_node = "10G"', {"min_mem_per_node": 0}, "would have all"),
        Case('per_node = "10G"\nwhole_nodes = "accept"', {"min_mem_per_node": 0}),
        Case('per_node = "10G"', {"min_mem_per_cpu": 5120, "min_cpus": 2}),
        Case('per_node = "10G"', {"min_mem_per_cpu": 5120, "min_cpus": 3}, "up to 15G: use --mem"),
        Case('per_node = "10G"', {"min_mem_per_cpu": 5120, "min_cpus": 3, "min_nodes": 2}),
        Case('per_cpu = "2G"', {"min_mem_per_cpu": 2048}),
        Case('per_cpu = "2G"', {"min_mem_per_cpu": 2049}, "at most 2G of memory per CPU in "),
        Case('per_cpu = "2G"', {"min_mem_per_node": 4096, "min_cpus": 2}, None, ONE_NODE),
        Case('per_cpu = "2G"', {"min_mem_per_node": 4096, "min_cpus": 2, "max_nodes": 1}),
        Case('per_cpu = "2G"', {"min_mem_per_node": 4097, "min_cpus": 2, "max_nodes": 1}, "up to 2049M: use"),
        Case(
            'per_cpu = "2G"',
            {"min_mem_per_node": 4096, "num_tasks": 4, "min_cpus": 4, "min_nodes": 2},
            "would have up to 4G: use --mem-per-cpu",
        ),
        Case('per_cpu = "2G"', {"min_mem_per_cpu": 0}, "would have all"),
        Case('per_node = "10G"', {"min_mem_per_node": 10241}, uid=0),
        Case('per_node = "10G"', {"min_mem_per_node": 10241}, "10G", record={"min_mem_per_cpu": 1}),
        Case('per_node = "10G"', {"min_mem_per_node": 10240}, record={"min_mem_per_cpu": 99999}),
        Case(
            'per_node = "10G"',
            {"min_cpus": 3},
            "15G",
            record={"min_mem_per_cpu": 5120, "min_cpus": 1, "bitflags": JobFlag.JOB_MEM_SET},
        ),
        Case('per_node = "10G"', {"min_cpus": 3}, record={"min_mem_per_cpu": 5120, "min_cpus": 1}),
    ],
}
GPUS = {
    "require_gpu": [
        *(
            Case(
                'partitions = ["a"]',
                {"partition": "a", **update},
                refused,
                record={"partition": "b", "num_tasks": 2, "ntasks_per_tres": 1, **record},
            )
            for update, record, refused in (
                ({}, {}, None),
                ({"tres_per_node": "gres/tape:1"}, {}, "ask for GPUs"),
                ({}, {"tres_per_node": "gres/tape:1"}, "ask for GPUs"),
            )
        ),
        Case("", {}, "add --gpus=1"),
        Case("", {"tres_per_node": "gres/gpu:0"}, "add --gpus=1"),
        *(Case("", {f"tres_per_{per}": "gres/gpu:a100:1"}) for per in ("job", "node", "socket", "task")),
        Case("", {"tres_per_node": "gres:gpu:2"}),
        Case("", {"tres_per_node": "gres/shard:2"}, "add --gpus=1"),
        Case(
            'partitions = ["gpu"]', {"partition": "gpu"}, "partition gpu must ask for GPUs", record={"partition": "cpu"}
        ),
        Case("", {"partition": "gpu"}, record={"tres_per_node": "gres/gpu:1"}),
        Case("", {}, uid=0),
    ],
    "gpu_ceiling": [
        Case("per_job = 4", {"tres_per_job": "gres/gpu:4"}),
        Case(
            "per_job = 4",
            {"tres_per_job": "gres/gpu:5"},
            "at most 4 GPUs in the default partition; the job would have 5",
        ),
        Case("per_job = 4", {"tres_per_node": "gres/gpu:2", "min_nodes": 3}, "would have 6"),
        Case("per_job = 4", {"tres_per_task": "gres/gpu:1", "num_tasks": 5}, "would have 5"),
        Case("per_job = 4", {"tres_per_socket": "gres/gpu:1", "sockets_per_node": 2}, "an unlimited amount"),
        Case("per_node = 2", {"tres_per_node": "gres/gpu:a:1,gres/gpu:b:2"}, "at most 2 GPUs per node in"),
        Case("per_node = 2", {"tres_per_job": "gres/gpu:4", "min_nodes": 2}, "up to 3: use --gpus-per-node"),
        Case("per_node = 2", {"tres_per_job": "gres/gpu:4", "tres_per_node": "gres/gpu:2", "min_nodes": 2}),
        Case("per_job = 0", {}),
        Case("per_job = 0", {"tres_per_job": "gres/gpu:1"}, "at most 0 GPUs"),
        Case("per_job = 4", {"tres_per_job": "gres/gpu:5"}, "would have 5", record={"tres_per_job": "gres/gpu:1"}),
        Case("per_job = 4", {"min_nodes": 3}, "would have 6", record={"tres_per_node": "gres/gpu:2"}),
    ],
    "require_gpu_type": [
        *(
            Case(
                'partitions = ["a"]', {"partition": "a", **update}, "name the type", record={"partition": "b", **record}
            )
            for update, record in (
                ({}, {"num_tasks": 2, "ntasks_per_tres": 1}),
                ({"tres_per_node": ""}, {"num_tasks": 2, "ntasks_per_tres": 1}),
                ({"tres_per_node": ""}, {"tres_per_node": "gres/gpu:1"}),
            )
        ),
        Case("", {}),
        Case("", {"tres_per_job": "gres/gpu:1"}, "name the type of GPU"),
        Case("", {"tres_per_job": "gres/gpu:a100:1"}),
        Case('types = ["a*"]', {"tres_per_job": "gres/gpu:a100:1"}),
        Case('types = ["a*"]', {"tres_per_job": "gres/gpu:h100:1"}, "(types: a*)"),
        Case("", {"tres_per_job": "gres/gpu:1"}, "name the type", record={}),
    ],
    "cpus_per_gpu": [
        Case(
            'most = 1\npartitions = ["a"]',
            {"partition": "a"},
            "at most 1",
            record={"partition": "b", "num_tasks": 2, "ntasks_per_tres": 2, "cpus_per_task": 2, "min_cpus": 4},
        ),
        Case("most = 8", {"tres_per_job": "gres/gpu:2", "min_cpus": 16}),
        Case(
            "most = 8",
            {"tres_per_job": "gres/gpu:2", "min_cpus": 17},
            "CPUs per GPU: at most 8; the job would have 17 (GPUs: 2)",
        ),
        Case("most = 8", {"min_cpus": 17}),
        Case("most = 8", {"tres_per_job": "gres/gpu:1", "num_tasks": 3, "cpus_per_task": 3}, "up to 9"),
        Case("most = 8", {"tres_per_job": "gres/gpu:2", "cpus_per_tres": "gres/gpu:9"}, "would have 18"),
        Case("most = 8", {"min_cpus": 9}, "would have 9", record={"tres_per_job": "gres/gpu:1"}),
    ],
    "memory_per_gpu": [
        Case('most = "10G"', {"tres_per_node": "gres/gpu:2", "min_mem_per_node": 20480}),
        Case(
            'most = "10G"',
            {"tres_per_node": "gres/gpu:2", "min_mem_per_node": 20481},
            "per GPU; the job would have 20481M",
        ),
        Case('most = "10G"', {"tres_per_node": "gres/gpu:2", "min_mem_per_node": 0}, "an unlimited amount"),
        Case('most = "10G"', {"tres_per_node": "gres/gpu:2", "mem_per_tres": "gres/gpu:10241"}, "20482M"),
        Case('most = "10G"', {"min_mem_per_node": 20481}),
        Case('most = "10G"', {"tres_per_node": "gres/gpu:2"}),
        Case('most = "10G"', {"min_mem_per_node": 10241}, "10241M", record={"tres_per_node": "gres/gpu:1"}),
    ],
}
SIZES = {
    "node_count": [
        Case("most = 2", {"min_nodes": 2, "max_nodes": 2}),
        Case("most = 2", {"min_nodes": 1, "max_nodes": 3}, "would have up to 3: use --nodes"),
        Case("most = 2", {}),
        Case("least = 2", {}, "at least 2 nodes in the default partition; the job would have 1"),
        Case("least = 2\nmost = 4", {"min_nodes": 5}, "2 to 4 nodes in the default partition; the job would have 5"),
        Case("most = 2", {"min_nodes": 3}, "would have 3", record={"min_nodes": 1}),
        Case("most = 2", {"min_nodes": 3}, uid=0),
    ],
    "task_count": [
        Case("most = 1", {"num_tasks": 1}),
        Case("most = 1", {"num_tasks": 2}, "at most 1 task in the default partition; the job would have 2"),
        Case("most = 4", {"ntasks_per_node": 2, "min_nodes": 3}, "would have 6"),
        Case("least = 2", {}, "at least 2 tasks in the default partition; the job would have 1"),
        Case("most = 1", {"num_tasks": 2}, "would have 2", record={"num_tasks": 1}),
    ],
    "cpu_count": [
        Case("most = 8", {"num_tasks": 2, "cpus_per_task": 4}),
        Case("most = 8", {"num_tasks": 3, "cpus_per_task": 3}, "would have up to 9: use --nodes"),
        Case("most = 8", {"pn_min_cpus": 5, "min_nodes": 2}, "would have 10"),
        Case("least = 8", {"min_cpus": 7}, "at least 8 CPUs in the default partition; the job would have 7"),
        Case("most = 8", {"min_cpus": 9}, "would have 9", record={"min_cpus": 1}),
    ],
    "array_size": [
        Case("most = 10", {}),
        Case("most = 10", {"array_inx": "1-10"}),
        Case("most = 10", {"array_inx": "0-10"}, "tasks in a job array: at most 10; the job would have 11"),
        Case("at_once = 5", {"array_inx": "1-5"}),
        Case("at_once = 5", {"array_inx": "1-6"}, changes={"array_inx": "1-6%5"}),
        Case("at_once = 5", {"array_inx": "1-9%3"}),
        Case("at_once = 5", {"array_inx": "1-9%7"}, changes={"array_inx": "1-9%5"}),
        Case("most = 10", {"array_inx": "x"}, "not an array specification"),
        Case('most = 10\npartitions = ["a"]', {"partition": "a"}, "the job would have 11", record=ARRAY),
        Case('most = 10\naccounts = ["a"]', {"account": "A"}, "the job would have 11", record=ARRAY),
        Case('most = 11\npartitions = ["a"]', {"partition": "a"}, record=ARRAY),
        Case('most = 10\npartitions = ["a"]', {"partition": "b"}, record=ARRAY),
        Case('most = 10\npartitions = ["a"]', {"time_limit": 5}, record=ARRAY),
        Case('at_once = 10\npartitions = ["a"]', {"partition": "a"}, record=ARRAY),
        Case('most = 10\npartitions = ["a"]\nupdates = "refuse"', {"partition": "b"}, "Partition", record=ARRAY),
        Case("most = 10", {"partition": "a"}, record=ARRAY),
    ],
}
