# SPDX-License-Identifier: GPL-2.0-or-later
"""The example of a site's repository: its CI files run here, command by command, as the forges run them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.turns import moved_from

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "contrib" / "site-policy"
SIGNER = "policy@example.org"
CHANGES = {
    "slurmhooks check": ("site/hooks.d/limits.py", "import UNLIMITED", "import UNLIMITTED"),
    "pytest": ("site/hooks.d/limits.py", "job.time_limit > now", "job.time_limit < now"),
    "slurmhooks replay": ("site/slurmhooks.toml", '"30:00"', '"45:00"'),
}
"""For each command that may refuse a commit, a mistake that no command before it finds: file, old text, new text."""


def github() -> list[str]:
    """Return the commands of the workflow, in order."""
    workflow = yaml.safe_load((EXAMPLE / ".github" / "workflows" / "policy.yml").read_text())
    return [line for step in workflow["jobs"]["policy"]["steps"] for line in step.get("run", "").splitlines()]


def gitlab() -> tuple[list[str], dict[str, list[str]]]:
    """Return the commands of the pipeline: those before each job, and those of each job."""
    pipeline: dict[str, Any] = yaml.safe_load((EXAMPLE / ".gitlab-ci.yml").read_text())
    jobs = {name: job["script"] for name, job in pipeline.items() if name != "default"}
    return pipeline["default"]["before_script"], jobs


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the repository with the modes that git gives to files."""
    folder = tmp_path / "checkout"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A private key; the public one is beside it."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("THE EXAMPLE OF A POLICY WAS NOT SIGNED: install openssh-client")
    path = tmp_path / "key"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", SIGNER, "-f", str(path)]
    subprocess.run(command, check=True)
    return path


def play(commands: list[str], checkout: Path, key: Path, home: Path | None = None) -> tuple[str | None, str]:
    """Run commands until one fails; return that one, or None, and the output."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home or checkout.parent),
        "CI_PROJECT_DIR": str(checkout),
        "LANG": "C.UTF-8",
        "POLICY_KEY": key.read_text(),
        "PIP_NO_INDEX": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
    }
    said = ""
    for command in commands:
        done = subprocess.run(
            ["bash", "-e", "-c", command], cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )
        said += f"$ {command}\n{done.stdout}{done.stderr}"
        if done.returncode:
            return command, said
    return None, said


def test_both_forges_do_the_same() -> None:
    """The two files have the same commands in the same order, except that GitLab's jobs work in a copy."""
    before, jobs = gitlab()
    commands = [*before, *(line for script in jobs.values() for line in script)]
    assert [line for line in commands if not line.startswith("cp ")] == github()


@pytest.mark.moved
def test_a_commit_becomes_a_signed_bundle(checkout: Path, key: Path) -> None:
    """All commands pass, and the signature is that of the key; the key is gone."""
    failed, said = play(github(), checkout, key)
    assert failed is None, said
    assert "nothing differs" in said
    signers = checkout.parent / "signers"
    signers.write_text(f'{SIGNER} namespaces="slurmhooks" {key.with_name("key.pub").read_text()}')
    verify = ["ssh-keygen", "-Y", "verify", "-n", "slurmhooks", "-I", SIGNER, "-f", str(signers)]
    with open(checkout / "policy.tar", "rb") as bundle:
        done = subprocess.run([*verify, "-s", str(checkout / "policy.tar.sig")], stdin=bundle, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert not (checkout / "policy_key").exists()


@pytest.mark.moved
def test_a_checkout_that_everybody_can_write_to(checkout: Path, key: Path, tmp_path: Path) -> None:
    """GitLab's jobs pass where its runner makes such a checkout, and the artifacts are there afterwards."""
    for path in (checkout, *checkout.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    before, jobs = gitlab()
    for name, script in jobs.items():
        home = tmp_path / name
        home.mkdir()
        failed, said = play(["\n".join([*before, *script])], checkout, key, home)
        assert failed is None, said
    assert (checkout / "policy.tar").exists()
    assert (checkout / "policy.tar.sig").exists()


@pytest.mark.parametrize("command", moved_from(1, CHANGES))
def test_each_command_finds_something(command: str, checkout: Path, key: Path) -> None:
    """A mistake that the commands before it do not see ends at this command, so that there is no bundle."""
    name, old, new = CHANGES[command]
    text = (checkout / name).read_text()
    assert old in text
    (checkout / name).write_text(text.replace(old, new))
    failed, said = play(github(), checkout, key)
    assert failed is not None, said
    assert failed.startswith(command), said
    assert not (checkout / "policy.tar").exists()
