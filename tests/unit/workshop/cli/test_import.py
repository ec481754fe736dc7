# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slurmhooks.cli import main
from slurmhooks.workshop.replay.fixture import replay
from tests.unit.workshop.accounting.outputs import output

SACCT = """\
#!/bin/sh
# Stands in for sacct: prints the columns, scripts and environments of two jobs.
echo "$@" >> "$LOG"
case "$*" in
*--version*) echo "slurm 24.11.5"; exit ;;
*--batch-script*|*--env-vars*) ;;
*--noheader*) printf '1 1\\n2_1 5\\n2_2 6\\n'; exit ;;
esac
for word in "$@"; do
    case "$word" in
    --delimiter=*) separator=${word#*=} ;;
    --format=*) format=${word#*=} ;;
    --batch-script) kind='Batch Script for %s' text='#!/bin/sh\\n#SBATCH -A physics\\n' ;;
    --env-vars) kind='Environment used for %s (must be batch to display)' text='HOME=/home/alice\\n' ;;
    esac
done
line=--------------------------------------------------------------------------------
if [ -n "$kind" ]; then
    for job in 1 2_1; do printf "$kind\\n%s\\n$text" "$job" "$line"; done
    exit
fi
[ -n "$FAILS" ] && { echo "sacct: error: no slurmdbd" >&2; exit 1; }
echo "$format" | sed "s/,/$separator/g"
sed "s/,/$separator/g" <<END
1,1,alice,1000,1790000000,COMPLETED,physics,long,normal,a.sh,,/home/alice,60,,,,sbatch -t 5 a.sh,1000
5,2_1,bob,1001,1790000001,RUNNING,maths,long,normal,b.sh,,/home/bob,60,,,,sbatch -a 1-2 b.sh,1001
END
"""
SCONTROL = "#!/bin/sh\necho 'AccountingStoreFlags    = job_comment,job_env,job_script'\n"


def call(*arguments: object) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["import", *map(str, arguments)])


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a sacct; returns its log."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("sacct", SACCT), ("scontrol", SCONTROL)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_with_sacct(cluster: Path, tmp_path: Path) -> None:
    """The command asks sacct for each day, and for scripts and environments that are kept; one task is for an array."""
    result = call(tmp_path / "file", "--since", "2026-10-01", "--until", "2026-10-03", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["jobs"], document["records"], document["slurm"]) == (2, 4, "24.11.5")
    assert (document["scripts"], document["environments"], document["known"]["account"]) == (2, 2, 2)
    assert [request.job.account for request in replay(tmp_path / "file")] == ["physics", "physics"]
    asked = cluster.read_text()
    assert "--allusers --allocations --duplicates --parsable2 --starttime=2026-10-02 --endtime=2026-10-03" in asked
    assert "--jobs=1,5 --batch-script" in asked
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_a_script_and_a_saved_output(cluster: Path, tmp_path: Path) -> None:
    """What the printed script prints elsewhere gives the same recording as a run here."""
    printed = call("--print", "--users", "alice,bob", "--since", "2026-10-01", "--until", "2026-10-02")
    assert printed.exit_code == 0
    (tmp_path / "ask.sh").write_text(printed.stdout)
    with (tmp_path / "saved").open("wb") as saved:
        subprocess.run(["sh", tmp_path / "ask.sh"], stdout=saved, check=True)
    assert "--user=alice,bob" in cluster.read_text()
    result = call("--from", tmp_path / "saved", tmp_path / "file")
    assert result.exit_code == 0, result.output
    assert "2 jobs of Slurm 24.11.5, from 2 records" in result.output
    assert "2 scripts and 2 environments are kept" in result.output
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", "-o", "all", "-e", "SC2312", tmp_path / "ask.sh"], check=True)


def test_without_scripts(cluster: Path, tmp_path: Path) -> None:
    """Scripts and environments are not asked for if they are not wanted."""
    result = call(tmp_path / "file", "--no-scripts")
    assert result.exit_code == 0
    assert "--batch-script" not in cluster.read_text()
    assert f"--starttime={date.today() - timedelta(days=29)}" in cluster.read_text()
    assert "no scripts: what #SBATCH lines may set is unknown" in result.output


def test_failures(cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1: sacct fails, or the recording exists; 2: wrong use, or the output is not whole. Then there is no recording."""
    file = tmp_path / "file"
    (tmp_path / "bad").write_bytes(output([{"JobID": "1"}])[:-6])
    (tmp_path / "good").write_bytes(output([{"JobID": "1"}]))
    assert (result := call("--from", tmp_path / "bad", file)).exit_code == 2
    assert "has no end" in result.output
    assert call("--from", tmp_path / "bad", file, "--users", "bob").exit_code == 2
    assert call("--from", tmp_path / "good").exit_code == 2
    assert call(file, "--since", "2026-10-01", "--until", "2026-10-01").exit_code == 2
    assert call(file, "--since", "yesterday").exit_code == 2
    assert call(file, "--assume", "everything").exit_code == 2
    monkeypatch.setenv("FAILS", "1")
    assert (result := call(file)).exit_code == 1
    assert "no slurmdbd" in result.output
    assert not file.exists()
    monkeypatch.setenv("PATH", "/nothing")
    assert (result := call(file)).exit_code == 1
    assert "import --print > ask.sh" in result.output
    file.write_text("mine")
    assert call("--from", tmp_path / "good", file).exit_code == 1
    assert file.read_text() == "mine"
