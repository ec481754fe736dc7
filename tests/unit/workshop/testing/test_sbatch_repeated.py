# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that are given several times, or by variables."""

from typing import Any

import pytest

from slurmhooks.testing import FakeOptions
from slurmhooks.workshop.testing import allocations, sbatch
from slurmhooks.workshop.testing.options.command_lines import read
from slurmhooks.workshop.testing.options.values import SbatchError


def fields_of(line: str, program: str = "sbatch", **variables: str) -> dict[str, Any]:
    """Return the fields of a command line."""
    words = line.split()
    if program == "sbatch":
        return sbatch.submission("a.sh", "#!/bin/sh\n", words, [], environment=variables)
    return allocations.request(program, [*words, "true"], [], release="26.05", environment=variables)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--signal=B:USR1 --signal=TERM@5", {"warn_flags": 1, "warn_signal": 15, "warn_time": 5}),
        ("--mail-type=END --mail-type=NONE", {"mail_type": 0}),
        ("-S1 --thread-spec=2", {"core_spec": None, "thread_spec": 2}),
        ("-wn1 -wn2", {"req_nodes": "n2"}),
    ],
)
def test_fields(line: str, expected: dict[str, Any]) -> None:
    """The last option counts, and keeps nothing of an earlier one that would be wrong."""
    fields = fields_of(line)
    assert {name: fields.get(name) for name in expected} == expected


def test_texts() -> None:
    """Handlers of cli_filter see what the last option says."""
    given = [(each.name, each.text) for each in read("sbatch", ["--time=5", "--mail-type=END", "-t7", "-Jx"], ()).given]
    assert FakeOptions("sbatch", options=given).given == {"job-name": "x", "mail-type": "END", "time": "00:07:00"}


def test_variables_of_switches() -> None:
    """Two variables have the parts of --switches."""
    fields = fields_of("", SBATCH_REQ_SWITCH="3", SBATCH_WAIT4SWITCH="1:00")
    assert (fields["req_switch"], fields["wait4switch"]) == (3, 60)
    with pytest.raises(SbatchError):
        fields_of("", SBATCH_REQ_SWITCH="3@1:00")


@pytest.mark.parametrize(
    ("line", "variables", "expected"),
    [
        ("-S1", {"SLURM_THREAD_SPEC": "2"}, {"core_spec": 1, "thread_spec": None}),
        ("-n1", {"SLURM_NTASKS": "3", "SLURM_NPROCS": "4"}, {"num_tasks": 1}),
        ("", {"SLURM_NTASKS": "3", "SLURM_NPROCS": "4"}, {"num_tasks": 3}),
        ("-I", {}, {"immediate": 1}),
        ("-I5", {}, {"immediate": 0}),
    ],
)
def test_variables(line: str, variables: dict[str, str], expected: dict[str, Any]) -> None:
    """Written options win over variables."""
    fields = fields_of(line, program="srun", **variables)
    assert {name: fields.get(name) for name in expected} == expected


@pytest.mark.parametrize("option", ["-r1", "--parsable"])
def test_options_of_steps(option: str) -> None:
    """srun requests no allocation with an option for steps."""
    with pytest.raises(SbatchError, match="within a job"):
        fields_of(option, program="srun")
