# SPDX-License-Identifier: GPL-2.0-or-later
"""What `slurmhooks try job_submit` asks the daemons: what slurmctld would choose for the submission."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from slurmhooks.cli import main
from tests.unit.cli.conftest import Call
from tests.unit.workshop.cli.try_site import answer

ASSOCIATIONS = """#!/bin/sh
case "$*" in
*"user=root account=physics"*) printf '|high\\nnight|low\\n' ;;
*"user=root account=maths"*) printf '|normal\\n' ;;
*) exit 1 ;;
esac
"""


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ("-A maths", "normal"),
        ("-A physics -p day", "high"),
        ("-A physics -p night", "low"),
        ("-A physics -p day,night", None),
        ("-A physics", None),
        ("-A nosuch", None),
        ("", "normal"),
        ("-q mine", "mine"),
    ],
)
def test_default_qos(
    run: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, seen: str | None
) -> None:
    """The default QOS is that of the association that the job would have; where it is not certain, a note says so."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (
        ("sacctmgr", ASSOCIATIONS),
        ("scontrol", "#!/bin/sh\necho 'UserName=root(0) DefAccount=maths DefWckey='\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    (tmp_path / "hooks.py").write_text(
        "from slurmhooks import hook, log\n\n@hook.job(admins=True)\ndef see(job):\n    log.info('qos %s', job.qos)\n"
    )
    (tmp_path / "job.sh").write_text("#!/bin/sh\n")
    result = run(
        *("try", "job_submit", tmp_path / "job.sh", "--hooks", tmp_path / "hooks.py", "--user", "root", "--json"),
        *("--", *options.split()),
    )
    found = answer(result)
    assert (found["log"], any("default qos" in note for note in found["notes"])) == (
        [f"info: qos {seen}"],
        seen is None,
    )


def test_a_configuration_is_no_hook_file(tmp_path: Path) -> None:
    """It would be read as Python; the message names the option for it."""
    (tmp_path / "slurmhooks.toml").touch()
    result = CliRunner().invoke(main, ["try", "job_submit", "--hooks", f"{tmp_path}/slurmhooks.toml", "-"])
    assert (result.exit_code, "--sysconfdir" in result.output) == (2, True)
