# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of PBS and LSF in batch scripts."""

import pytest

from slurmhooks.testing import sbatch
from slurmhooks.testing.options.command_lines import texts
from slurmhooks.testing.options.values import SbatchError


def options(*lines: str, release: str = "24.11", foreign_lines: bool = True) -> dict[str, str | None]:
    """Return the options of a script with lines."""
    text = "\n".join(["#!/bin/sh", *lines, "true\n"])
    return texts(sbatch.options_in(text, [], [], release, foreign_lines=foreign_lines)[0], plugin=False)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "-N name -A physics -q debug -h",
            {"job-name": "name", "account": "physics", "partition": "debug", "hold": None},
        ),
        ("-l nodes=2:ppn=4,walltime=1:00:00", {"nodes": "2", "ntasks": "8", "time": "1:00:00"}),
        ("-l nodes=n1:ppn=2+n2:ppn=2", {"ntasks": "4", "nodelist": "n[1-2]"}),
        ("-l nodes=1:gpus=2 -l mem=4gb,file=1GB", {"gpus-per-node": "2", "nodes": "1", "mem": "4g", "tmp": "1G"}),
        (
            "-l select=1:ncpus=8:mpiprocs=2",
            {"nodes": "1", "mincpus": "8", "ntasks-per-node": "2", "cpus-per-task": "4"},
        ),
        ("-l select=2:ncpus=2", {"nodes": "2", "mincpus": "2"}),
        ("-l vmem=4gb,pmem=1gb,arch=x -V -j oe -k oe -r n -S /bin/sh", {}),
        ("-l naccelerators=2", {"gres": "gpu:2"}),
        ("-m abe -M me@x.org -v A=1 -v B", {"mail-type": "BEGIN,END,FAIL", "mail-user": "me@x.org", "export": "A=1,B"}),
        ("-m n -W depend=afterok:1 -t 1-5", {"mail-type": "NONE", "dependency": "afterok:1", "array": "1-5"}),
        ("--job_name=x --resource_list nodes=2", {"job-name": "x", "nodes": "2"}),
    ],
)
def test_pbs(line: str, expected: dict[str, str | None]) -> None:
    """#PBS lines give options of sbatch."""
    assert options(f"#PBS {line}") == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-J name -q debug -n 2,4 -W 1:30", {"job-name": "name", "partition": "debug", "ntasks": "4", "time": "1:30"}),
        ("-M 2000 -x -m 'n1 n2'", {"mem-per-cpu": "2000K", "exclusive": None, "nodelist": "n1,n2"}),
        ("-cwd /tmp --memory_limit 2GB", {"chdir": "/tmp", "mem-per-cpu": "2GB"}),
    ],
)
def test_bsub(line: str, expected: dict[str, str | None]) -> None:
    """#BSUB lines give options of sbatch; #PBS lines then do not count."""
    assert options(f"#BSUB {line}", "#PBS -N other") == expected


@pytest.mark.parametrize("line", ["PBS -P project", "PBS word", "BSUB -R x", "BSUB -n 2,", "BSUB word", "PBS -N 'open"])
def test_refused(line: str) -> None:
    """What sbatch does not know there, it refuses."""
    with pytest.raises(SbatchError):
        options(f"#{line}")


def test_which_lines_count() -> None:
    """Lines count among the first 100 that are no comments, after #SBATCH lines, unless they are ignored."""
    assert options("#PBS -q pbs", "#SBATCH -p slurm") == {"partition": "pbs"}
    assert options(*["true"] * 99, "#PBS -q pbs") == {"partition": "pbs"}
    assert options(*["true"] * 101, "#PBS -q pbs") == {}
    assert options("#PBS -q pbs", "#BSUB -q lsf", foreign_lines=False) == {}
    assert options("#BSUB -R x", "#SBATCH --ignore-pbs") == {"ignore-pbs": None}
    line = sbatch.submission("a.sh", "#!/bin/sh\n#PBS -N pbs\n", [], [], environment={"SBATCH_IGNORE_PBS": "1"})
    assert line["name"] == "a.sh"
    line = sbatch.submission("a.sh", "#!/bin/sh\n#PBS -N pbs\n", ["-n2"], [], environment={"SBATCH_IGNORE_PBS": "no"})
    assert line["name"] == "pbs"


def test_working_folder() -> None:
    """Only recent releases know -d and -w."""
    assert options("#PBS -d /tmp") == options("#PBS -w /tmp") == {"chdir": "/tmp"}
    with pytest.raises(SbatchError):
        options("#PBS -d /tmp", release="22.05")
