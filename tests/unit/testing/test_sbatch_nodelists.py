# SPDX-License-Identifier: GPL-2.0-or-later
"""Lists of nodes in files."""

from pathlib import Path
from typing import Any

import pytest

from slurmhooks.testing import sbatch
from slurmhooks.testing.options.values import SbatchError

TEXT = "# of the site\nn2\nn1*2 # twice\n\nn3\n"


@pytest.fixture
def submit(tmp_path: Path) -> Any:
    """Return a function that submits in a folder with the list."""
    (tmp_path / "hosts").write_text(TEXT)

    def submission(*words: str, release: str = "24.11", **environment: str) -> dict[str, Any]:
        fields = sbatch.submission(
            "a.sh", "#!/bin/sh\n", words, [], release=release, environment=environment, work_dir=str(tmp_path)
        )
        return {name: fields.get(name) for name in ("req_nodes", "exc_nodes", "num_tasks", "min_nodes", "max_nodes")}

    return submission


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        (["-w./hosts"], {}, ("n[1-3]", None, None, 3, None)),
        (["-x./hosts"], {}, (None, "n[2,1,1,3]", None, None, None)),
        (["-w./hosts", "-marbitrary"], {}, ("n[2,1,1,3]", None, 4, 3, None)),
        (["-w./hosts", "-marbitrary", "-n2"], {}, ("n[2,1]", None, 2, 2, None)),
        ([], {"SLURM_HOSTFILE": "hosts"}, ("n[2,1,1,3]", None, 4, 3, None)),
        (["-wn7"], {"SLURM_HOSTFILE": "hosts"}, ("n7", None, None, 1, None)),
    ],
)
def test_names(submit: Any, words: list[str], environment: dict[str, str], expected: tuple[Any, ...]) -> None:
    """A list with a slash is a file, of which an arbitrary distribution takes one name for each task."""
    assert tuple(submit(*words, **environment).values()) == expected


def test_arbitrary_environment(submit: Any, tmp_path: Path) -> None:
    """The job knows the list and that the distribution is arbitrary."""
    fields = sbatch.submission(
        "a.sh", "#!/bin/sh\n", [], [], environment={"SLURM_HOSTFILE": "./hosts"}, work_dir=str(tmp_path)
    )
    assert fields["environment"]["SLURM_ARBITRARY_NODELIST"] == "n[2,1,1,3]"
    assert fields["environment"]["SLURM_DISTRIBUTION"] == "arbitrary"


@pytest.mark.parametrize(
    "words",
    [["-w./nothing"], ["-F", "nothing"], ["-F", "hosts", "-w./nothing"], ["-w./hosts", "-marbitrary", "-n5"]],
)
def test_refused(submit: Any, words: list[str]) -> None:
    """A file that is missing, or has too few names, is refused; of two options, the last one counts."""
    with pytest.raises(SbatchError):
        submit(*words)


def test_old_release(submit: Any, tmp_path: Path) -> None:
    """Old releases read whole lines, and recent ones no repeated name in --nodefile."""
    (tmp_path / "line").write_text("n2,n1\n")
    assert submit("-w./line", "-marbitrary", "-n1")["req_nodes"] == "n2"
    assert submit("-w./line", "-marbitrary", "-n1", release="22.05")["req_nodes"] == "n1"
    (tmp_path / "twice").write_text("n1*2\n")
    assert submit("-Ftwice", release="22.05")["min_nodes"] == 1
    with pytest.raises(SbatchError):
        submit("-Ftwice")
