# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests of srun and salloc."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from slurmhooks.fields.constants import OpenMode
from slurmhooks.testing import FakeJob
from slurmhooks.workshop.testing import allocations
from slurmhooks.workshop.testing.options.values import SbatchError


def request(*words: str, component: int = 0, release: str = "26.05") -> dict[str, Any]:
    """Return the fields of a request."""
    return allocations.request(
        words[0], words[1:], [], release=release, component=component, environment={"SHELL": "/bin/sh"}
    )


def test_an_interactive_job() -> None:
    """A job of srun or salloc has the program as its arguments, and neither a script nor an environment."""
    for program, name in (("srun", "hostname"), ("salloc", "interactive")):
        fields = request(program, "-t5", "-n2", "/bin/hostname", "-f")
        assert (fields["argv"], fields["name"], fields["time_limit"]) == (["/bin/hostname", "-f"], name, 5)
        assert not {"script", "environment", "std_in"} & {*fields}
        assert FakeJob(**fields).interactive
        assert fields["submit_line"] == f"{program} -t5 -n2 /bin/hostname -f"


def test_the_program_of_salloc() -> None:
    """salloc runs a shell without a program, and nothing with --no-shell."""
    assert request("salloc")["argv"] == ["/bin/sh"]
    assert (request("salloc", "--no-shell")["argv"], request("salloc", "--no-shell")["name"]) == ([], "no-shell")


def test_components() -> None:
    """Each component has its own options; those of srun have their own programs, and the name of the first one."""
    second = request("srun", "-n1", "true", ":", "-n2", "false", component=1)
    assert (second["argv"], second["name"], second["num_tasks"]) == (["false"], "true", 2)
    assert (second["open_mode"], second["het_job_offset"]) == (OpenMode.OPEN_MODE_APPEND, 1)
    both = [request("salloc", "-n1", ":", "-n2", "true", component=number) for number in range(2)]
    assert [(fields["argv"], fields["num_tasks"]) for fields in both] == [(["/bin/sh"], 1), (["true"], 2)]


def test_components_inherit() -> None:
    """A component has what the one before gave, except resources, and nothing that a later one gives."""
    for program, own in (("salloc", []), ("srun", ["true"])):
        words = ["-n2", "--comment=x", *own, ":", "--nice=5", "true"]
        both = [request(program, *words, component=number) for number in range(2)]
        assert [(each.get("num_tasks"), each["comment"], each.get("nice")) for each in both] == [
            (2, "x", None),
            (None, "x", 5),
        ]


def test_a_program_that_is_sent() -> None:
    """With --bcast, srun looks for the program."""
    assert request("srun", "--bcast=/tmp/x", "sh", "-c", "true")["argv"] == [shutil.which("sh"), "-c", "true"]
    assert request("srun", "--bcast=/tmp/x", "no-such-program")["argv"] == ["no-such-program"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("srun --hint=nomultithread true", {"threads_per_core": 1}),
        ("srun --ntasks-per-node=2 -N2-4 true", {"num_tasks": 4}),
        ("salloc -N0 true", {"min_nodes": 0, "min_cpus": 0}),
        ("salloc -H --priority=100 true", {"priority": 0}),
        (
            "salloc --gpus-per-task=a100:1,v100:2 true",
            {"tres_per_task": "gres/gpu:v100=2,gres/gpu:a100=1", "tres_bind": "gres/gpu:per_task:3"},
        ),
    ],
)
def test_tasks(line: str, expected: dict[str, Any]) -> None:
    """srun and salloc compute tasks from the same options in their own ways."""
    job = FakeJob(**request(*line.split()))
    assert {name: getattr(job, name) for name in expected} == expected


@pytest.mark.parametrize("words", [("srun",), ("srun", "--nodes=x", "true")])
def test_wrong(words: tuple[str, ...]) -> None:
    """What the command refuses is refused."""
    with pytest.raises(SbatchError):
        request(*words)
