# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that are given several times, that share a value, or that exclude each other."""

from typing import Any

import pytest

from slurmhooks.fields.constants import MemBind
from slurmhooks.testing import FakeOptions, allocations, sbatch
from slurmhooks.testing.options.command_lines import read
from slurmhooks.testing.options.values import SbatchError

MAPPED = int(MemBind["MEM_BIND_MAP"]) | int(MemBind["MEM_BIND_VERBOSE"])
RANKED = int(MemBind["MEM_BIND_RANK"]) | int(MemBind["MEM_BIND_VERBOSE"])


def fields_of(line: str, release: str = "24.11", program: str = "sbatch", **variables: str) -> dict[str, Any]:
    """Return the fields of a command line."""
    words = line.split()
    if program == "sbatch":
        return sbatch.submission("a.sh", "#!/bin/sh\n", words, [], release=release, environment=variables)
    return allocations.request(program, [*words, "true"], [], release=release, environment=variables)


def texts_of(line: str, release: str = "24.11", program: str = "sbatch") -> dict[str, str | None]:
    """Return the texts that handlers of cli_filter see for a command line."""
    given = [(each.name, each.text) for each in read(program, line.split(), ()).given]
    return FakeOptions(program, options=given, release=release).given


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--signal=B:USR1 --signal=TERM@5", {"warn_flags": 1, "warn_signal": 15, "warn_time": 5}),
        ("--mem-bind=map_mem:0,1 --mem-bind=v", {"mem_bind_type": MAPPED, "mem_bind": None}),
        ("--mem-bind=v,map_mem:0 --mem-bind=rank", {"mem_bind_type": RANKED, "mem_bind": None}),
        ("-mblock,Pack -mcyclic", {"task_dist": 1, "task_dist_flags": 0}),
        ("--cpu-freq=low-high:performance --cpu-freq=ondemand", {"cpu_freq_min": None, "cpu_freq_max": None}),
        ("--mail-type=END --mail-type=NONE", {"mail_type": 2}),
        ("-S1 --mem=1", {"core_spec": 1, "thread_spec": None}),
        ("-F/nothing -wn1", {"req_nodes": "n1"}),
    ],
)
def test_fields(line: str, expected: dict[str, Any]) -> None:
    """Each option keeps of an earlier one what Slurm keeps."""
    fields = fields_of(line)
    assert {name: fields.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "program", "expected"),
    [
        ("--signal=B:USR1 --signal=TERM@5", "sbatch", {"signal": "B:TERM@5"}),
        ("--mem-bind=map_mem:0,1 --mem-bind=v", "sbatch", {"mem-bind": "verbose,map_mem"}),
        ("--mail-type=END --mail-type=NONE", "sbatch", {"mail-type": "END"}),
        ("--switches=2@10 --switches=1", "sbatch", {"switches": "1@00:10:00"}),
        ("-Q -Q", "salloc", {"quiet": "2"}),
        ("-vv --verbose", "salloc", {"verbose": "3"}),
        ("--bell --no-bell", "salloc", {"bell": "bell-never", "no-bell": "bell-never"}),
        ("-S1 --thread-spec=2", "sbatch", {"core-spec": "unset", "thread-spec": "2"}),
        ("-wn1 -F/nothing", "sbatch", {"nodelist": None, "nodefile": "/nothing"}),
        ("--tres-bind=gres/gpu:none --gpu-bind=closest", "sbatch",
         {"tres-bind": "gres/gpu:closest", "gpu-bind": "closest"}),
        ("--kill-on-invalid-dep=yes --kill-on-invalid-dep=no", "sbatch", {"kill-on-invalid-dep": "yes"}),
        ("--gres-flags=multiple-tasks-per-sharing,enforce-binding --gres-flags=disable-binding", "sbatch",
         {"gres-flags": "disable-binding,multiple-tasks-per-sharing"}),
        ("--mem-per-cpu=5 --mem=10", "srun", {"mem-per-cpu": None, "mem": "10"}),
        ("--overlap --exclusive", "srun", {"overlap": "unset", "exclusive": "exclusive"}),
    ],
)  # fmt: skip
def test_texts(line: str, program: str, expected: dict[str, str | None]) -> None:
    """Handlers of cli_filter see what an option has left of others."""
    assert texts_of(line, program=program) == expected


def test_mail_types_of_the_last_release() -> None:
    """There, only the last option counts."""
    assert fields_of("--mail-type=END --mail-type=NONE", "26.05")["mail_type"] == 0
    assert texts_of("--mail-type=END --mail-type=BEGIN", "26.05") == {"mail-type": "BEGIN"}


def test_variables_of_switches() -> None:
    """Two variables have the parts of --switches."""
    fields = fields_of("", SBATCH_REQ_SWITCH="3", SBATCH_WAIT4SWITCH="1:00")
    assert (fields["req_switch"], fields["wait4switch"]) == (3, 60)
    with pytest.raises(SbatchError):
        fields_of("", SBATCH_REQ_SWITCH="3@1:00")


@pytest.mark.parametrize(
    ("line", "program", "variables"),
    [
        ("-r1", "srun", {}),
        ("--parsable", "srun", {}),
        ("--exclusive --overlap", "srun", {}),
        ("--exclusive --whole", "srun", {}),
        ("--whole", "srun", {"SLURM_EXACT": "1"}),
        ("--pty -oa.txt", "srun", {}),
        ("--pty", "srun", {"SLURM_STDOUTMODE": "a.txt"}),
        ("", "srun", {"SLURM_MEM_PER_NODE": "10", "SLURM_MEM_PER_CPU": "5"}),
        ("", "sbatch", {"SBATCH_CORE_SPEC": "1", "SBATCH_THREAD_SPEC": "1"}),
        ("-S1 --thread-spec=1", "salloc", {}),
        ("--tres-per-task=gres/gpu:1 --gpus-per-task=1 -n1", "sbatch", {}),
        ("--tres-per-task=mem=5", "sbatch", {}),
        ("--tres-per-task=cpu=0", "sbatch", {}),
        ("--tres-per-task=cpu=2 --cpus-per-gpu=1 -G1", "sbatch", {}),
        ("", "srun", {"SLURM_CPUS_PER_TASK": "2", "SLURM_TRES_PER_TASK": "cpu=3"}),
    ],
)
def test_excluding(line: str, program: str, variables: dict[str, str]) -> None:
    """Slurm refuses these options together."""
    with pytest.raises(SbatchError):
        fields_of(line, program=program, **variables)


@pytest.mark.parametrize(
    ("line", "variables", "expected"),
    [
        ("-S1", {"SLURM_THREAD_SPEC": "2"}, {"core_spec": 1, "thread_spec": None}),
        ("--tres-per-task=cpu=2", {"SLURM_CPUS_PER_GPU": "1"}, {"cpus_per_tres": None, "cpus_per_task": 2}),
        ("--cpus-per-gpu=1 -G1", {"SLURM_TRES_PER_TASK": "cpu=2"}, {"cpus_per_task": None, "tres_per_task": None}),
        ("-c2", {"SLURM_TRES_PER_TASK": "cpu=3,license/x"}, {"cpus_per_task": 2, "tres_per_task": "cpu=2,license/x"}),
        ("--tres-per-task=cpu=3", {"SLURM_CPUS_PER_TASK": "2"}, {"cpus_per_task": 3, "tres_per_task": "cpu=3"}),
        ("-n1", {"SLURM_GPUS_PER_TASK": "2", "SLURM_TRES_PER_TASK": "cpu=1"},
         {"tres_per_task": "gres/gpu=2,cpu=1", "tres_bind": "gres/gpu:per_task:2"}),
        ("-n1 --gpus-per-task=1", {"SLURM_TRES_PER_TASK": "gres/gpu=2"}, {"tres_per_task": "gres/gpu=1"}),
        ("--hint=nomultithread", {"SLURM_CPU_BIND": "v,threads"}, {"cpu_bind": "verbose"}),
        ("-I", {}, {"immediate": 1}),
        ("-I5", {}, {"immediate": 0}),
    ],
)  # fmt: skip
def test_variables(line: str, variables: dict[str, str], expected: dict[str, Any]) -> None:
    """Written options win over variables."""
    fields = fields_of(line, program="srun", **variables)
    assert {name: fields.get(name) for name in expected} == expected
