# SPDX-License-Identifier: GPL-2.0-or-later
"""`slurmhooks try job_submit` makes a request of a batch script and options of sbatch."""

import json
from pathlib import Path

import pytest

from slurmhooks.cli import build_record
from tests.unit.cli.conftest import Call
from tests.unit.workshop.cli.try_site import answer, write_site


def test_components_and_arguments(run: Call, tmp_path: Path) -> None:
    """Each component of a heterogeneous job is run; the script has its arguments, and one refusal is enough."""
    path, script = tmp_path / "hooks.py", tmp_path / "het.sh"
    path.write_text(
        "from slurmhooks import Reject, hook\n\n@hook.job_submit\ndef f(job):\n"
        "    job.comment = ' '.join(job.argv[1:])\n    if job.num_tasks == 3:\n        raise Reject('not three')\n"
    )
    script.write_text("#!/bin/sh\n#SBATCH -n 2\n#SBATCH hetjob\n#SBATCH -n 3\n")
    done = run.refused("try", "job_submit", script, "--hooks", path, "--", "--time=5", "--", "a", "--b")
    assert done.stdout.startswith("component 0:\naccepted\n")
    assert "component 1:\nrefused (ESLURM_ACCESS_DENIED): not three" in done.stdout
    found = json.loads(run("try", "job_submit", script, "--hooks", path, "--json", "--", "--", "a", "--b").stdout)
    assert [each["accepted"] for each in found] == [True, False]
    assert found[0]["changes"]["comment"]["after"] == "a --b"


def test_components_of_the_command_line(run: Call, tmp_path: Path, script: Path) -> None:
    """Options of components are separated by a colon."""
    path = tmp_path / "hooks.py"
    path.write_text(
        "from slurmhooks import hook\n\n@hook.job_submit\ndef f(job):\n    job.comment = f'{job.num_tasks}'\n"
    )
    done = run("try", "job_submit", script, "--hooks", path, "--json", "--", "-n2", ":", "-n4", "--", ":", "x")
    found = json.loads(done.stdout)
    assert [each["changes"]["comment"]["after"] for each in found] == ["2", "4"]
    done = run("try", "job_submit", "--hooks", path, "--json", "--", ":", "-n4", "--wrap=true")
    assert [each["changes"]["comment"]["after"] for each in json.loads(done.stdout)] == ["None", "4"]


def test_options_of_spank(run: Call, tmp_path: Path) -> None:
    """Options that hook files add are in the request, from the lines of plugstack.conf, too."""
    script = tmp_path / "own.sh"
    script.write_text("#!/bin/sh\n#SBATCH --gpu-mode=s\n")
    (tmp_path / "spank.py").write_text(
        "from slurmhooks import hook\nmode = hook.spank.option('gpu-mode', 'MODE', usage='')\n"
    )
    (tmp_path / "hooks.py").write_text(
        "from slurmhooks import hook\n\n@hook.job_submit\ndef f(job):\n"
        "    job.comment = job.spank_job_env['_SLURM_SPANK_OPTION_python_gpu_mode']\n"
    )
    (tmp_path / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.py"]\n')
    (tmp_path / "plugstack.conf").write_text("required spank_python.so spank.py\n")
    for where in (["--sysconfdir", tmp_path], ["--hooks", tmp_path / "hooks.py", "--hooks", tmp_path / "spank.py"]):
        done = run("try", "job_submit", script, *where, "--json", "--", "--gpu-mode=a")
        assert (answer(done)["changes"]["comment"]["after"], answer(done)["notes"]) == ("a", []), done.output


@pytest.mark.parametrize(("built", "fields"), [("24.11.5", False), ("26.05.5", True), (None, True)])
def test_the_release_is_that_of_the_installed_plugins(
    run: Call, tmp_path: Path, script: Path, built: str | None, fields: bool
) -> None:
    """Without --release, fields are those of the release that the installed plugins are for, or the newest."""
    plugins = tmp_path / "plugins"
    (plugins / "slurmhooks").mkdir(parents=True)
    if built:
        facts = build_record.PythonFacts(version="3.11.2", executable="", libpython="", paths=[])
        tiers = build_record.Tiers(private=True)
        build_record.BuildRecord(slurmhooks="1", slurm=built, python=facts, lua=None, tiers=tiers, files=[]).save(
            plugins
        )
    (tmp_path / "slurm.conf").write_text(f"PluginDir={plugins}\n")
    (tmp_path / "hooks.py").write_text(
        "from slurmhooks import hook\n\n@hook.job_submit\ndef f(job):\n    job.alloc_tls_cert\n"
    )
    (tmp_path / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.py"]\n')
    done = run("try", "job_submit", script, "--sysconfdir", tmp_path)
    assert (done.exit_code == 0) == fields, done.output
    run.passed("try", "job_submit", script, "--sysconfdir", tmp_path, "--release", "26.05")


def test_dos_line_breaks(run: Call, tmp_path: Path) -> None:
    """A script with DOS line breaks is refused, as by sbatch."""
    script = tmp_path / "dos.sh"
    script.write_bytes(b"#!/bin/sh\r\n#SBATCH -n2\r\n")
    done = run("try", "job_submit", script, "--sysconfdir", write_site(tmp_path))
    assert (done.exit_code, "Batch script contains DOS line breaks" in done.output) == (2, True), done.output


def test_a_command_line_of_sbatch(run: Call, tmp_path: Path) -> None:
    """Without a file, the words are those of sbatch; what the check of an option refuses is no submission."""
    path = tmp_path / "hooks.py"
    path.write_text(
        "from slurmhooks import Reject, hook, log\nword = hook.spank.option('word', 'W', usage='')\n"
        "@word.check\ndef check(value):\n    raise Reject('a bad word')\n"
        "@hook.job_submit\ndef f(job):\n    log.user(f'{job.name} {job.num_tasks} {list(job.argv)}')\n"
    )
    (tmp_path / "a.sh").write_text("#!/bin/sh\n")
    common = ("try", "job_submit", "--hooks", path, "--json", "--")
    done = run(*common, "-n", "2", "--wrap", "true")
    assert json.loads(done.stdout)["user_messages"] == ["wrap 2 []"]
    script = str(tmp_path / "a.sh")
    done = run(*common, "-n2", script, "one", "--two")
    assert json.loads(done.stdout)["user_messages"] == [f"a.sh 2 ['{script}', 'one', '--two']"]
    done = run(*common, "--word=x", script)
    assert (done.exit_code, json.loads(done.stdout)["text"]) == (1, "--word: a bad word")
    for words, text in ((("-n2",), "there is no script"), (("--wrap", "true", "x"), "--wrap excludes a script")):
        done = run(*common, *words)
        assert (done.exit_code, text in done.stdout + done.stderr) == (2, True)
