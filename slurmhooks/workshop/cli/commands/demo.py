# SPDX-License-Identifier: GPL-2.0-or-later
"""Demonstrate hooks: on a real Slurm in a checkout, otherwise without Slurm."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import click

from slurmhooks.cli.findings import Finding, Findings

WORKSHOP = Path(__file__).resolve().parents[2]
CHECKOUT = WORKSHOP.parents[1]
LAB = CHECKOUT / "tests" / "cluster" / "demo"
HOOKS = (WORKSHOP / "_demo" / "first_light.py", CHECKOUT / "contrib" / "first_light" / "hooks.py")
"""The hook file of the demonstration, in an installed package and in a checkout."""

SCRIPT = "#!/bin/sh\n#SBATCH --ntasks=2 --mem=1G\nsrun hostname\n"
RECORD = {"job_id": 7, "user_id": 1000, "account": "physics", "time_limit": 60}
CONFIG = {"ociVersion": "1.0.2", "process": {"cwd": "/", "args": ["/bin/sh"]}, "root": {"path": "rootfs"}}


@click.command("demo")
@click.argument("release", required=False)
@click.option("--without-slurm", is_flag=True, help="Use no real Slurm, also in a checkout.")
def command(release: str | None, without_slurm: bool) -> None:
    """Demonstrate hooks: on a real Slurm in a checkout, otherwise without Slurm.

    In a checkout of the sources, as root, this command does the same as `make demo`: it starts a private Slurm of
    RELEASE (22.05, 24.11 or 26.05) and submits jobs. Elsewhere the same hook file runs without Slurm, as with
    `slurmhooks try`.
    """
    lab = LAB.exists() and os.geteuid() == 0
    if release is not None and (without_slurm or not lab):
        raise Finding("a real Slurm needs a checkout of slurmhooks and root: run 'make demo' there")
    if lab and not without_slurm:
        sys.exit(subprocess.run([str(LAB), *([release] if release else [])], check=False).returncode)
    with tempfile.TemporaryDirectory(prefix="slurmhooks-demo-") as folder, chdir(folder):
        findings = list(play())
    if findings:
        raise Findings(findings)
    click.echo("\nHooks and checks were real, only Slurm was missing. Next: slurmhooks try --help, and")
    click.echo("'slurmhooks build' on a machine with Slurm.")


def play() -> Iterator[str]:
    """Play all scenes in the current folder; yield a finding for each that fails."""
    files()
    hooks = ["--hooks", "first_light.py"]
    yield from scene(
        "A handler of hook.job refuses a job without an account, in its own words.",
        ["try", "job_submit", "job.sh", "--uid", "1000", *hooks],
        1,
    )
    yield from scene(
        "With an account the job is accepted: the handler sets time limit and comment, and informs the user.",
        ["try", "job_submit", "job.sh", "--uid", "1000", *hooks, "--", "--account=physics"],
        0,
    )
    yield from scene(
        "The same handler sees updates: users cannot extend a job past the limit.",
        ["try", "job_submit", "update.json", "--modify", "record.json", "--uid", "1000", *hooks],
        1,
    )
    yield from options()
    yield from scene(
        "scrun's staging functions give a container a bundle of its own, and take it away again.",
        ["try", "scrun", "stage-out", "--bundle", "bundle", "--id", f"demo{os.getpid()}", *hooks],
        0,
    )


def files() -> None:
    """Write the files that the scenes need."""
    source = next((path for path in HOOKS if path.exists()), None)
    if source is None:
        raise Finding(f"{HOOKS[0]} is missing: install slurmhooks again")
    shutil.copy(source, "first_light.py")
    Path("job.sh").write_text(SCRIPT)
    Path("update.json").write_text(json.dumps({"time_limit": 120}))
    Path("record.json").write_text(json.dumps(RECORD))
    Path("bundle", "rootfs", "etc").mkdir(parents=True)
    Path("bundle", "config.json").write_text(json.dumps(CONFIG))
    show("first_light.py", source.read_text())
    show("job.sh", SCRIPT)


def show(name: str, text: str) -> None:
    """Print a file."""
    click.echo(click.style(f"{name}:", bold=True))
    for line in text.rstrip("\n").split("\n"):
        click.echo(f"    {line}")


def scene(says: str, arguments: list[str], expected: int) -> Iterator[str]:
    """Run slurmhooks with arguments; yield a finding if its exit code is not the expected one."""
    main: Any = click.get_current_context().find_root().command
    click.echo(f"\n{click.style(says, bold=True)}")
    click.echo(f"$ slurmhooks {' '.join(arguments)}")
    try:
        # The handlers of the demonstration harm nothing, also as root.
        really = {"try": {"job_submit": {"really": True}, "scrun": {"really": True}}}
        main.main(arguments, prog_name="slurmhooks", standalone_mode=False, default_map=really)
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    if code != expected:
        yield f"slurmhooks {' '.join(arguments)}: exit code {code}"


def options() -> Iterator[str]:
    """Give the option of SPANK an invalid value, then a valid one."""
    from slurmhooks.testing import FakeSpank, run

    title = "srun, sbatch and salloc have a new option, which is checked before anything is sent."
    click.echo(f"\n{click.style(title, bold=True)}")
    click.echo("$ srun --greet=42 ...")
    refused = run("first_light.py", "spank.init_post_opt", spank=FakeSpank(context="local"), options={"greet": "42"})
    click.echo(refused.text)
    click.echo("$ srun --greet=Ada ...")
    spank = FakeSpank(items={"task_global_id": 0, "job_id": 7})
    passed = run("first_light.py", "spank.task_init", spank=spank, options={"greet": "Ada"})
    click.echo(f"the task's environment: {passed.changes.get('env')}")
    if refused.accepted or not passed.accepted:
        yield "the option --greet was not checked"
