# SPDX-License-Identifier: GPL-2.0-or-later
"""Manual pages and completion, as packages install them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs import manpages
from docs.command_line import commands

SHARE = manpages.PROJECT / "contrib" / "share"
PAGES = manpages.pages()
COMMAND = Path(sys.executable).with_name("slurmhooks")


def needs(program: str) -> str:
    """Return a program's path, or skip the test loudly."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"NOT TESTED: {program} is not installed")
    return found


def complete(*command: str, **environment: str) -> str:
    """Return the output of a shell that has our command in its path."""
    path = f"{COMMAND.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, "PATH": path, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the pages."""
    path = tmp_path_factory.mktemp("man")
    manpages.main(path)
    return path


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_without_warnings(name: str, folder: Path) -> None:
    """groff gives no warning, and shows every option and key."""
    done = subprocess.run(
        [needs("groff"), "-man", "-ww", "-Tascii", "-P-cbou", str(folder / name)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "\nNAME\n" in done.stdout
    assert {"man1": "slurmhooks", "man5": "[job_submit]", "man7": "hook.spank.task_init"}[name[:4]] in done.stdout
    assert "`" not in done.stdout


def test_each_command_has_a_page() -> None:
    """The page of a command has its options and those of its own commands; that of slurmhooks lists all of them."""
    for name, command in commands():
        page = PAGES[f"man1/slurmhooks-{name.split()[0]}.1"].replace("\\-", "-")
        for option in command.params:
            assert all(spelled in page for spelled in option.opts if spelled.startswith("--")), (name, option.name)
        assert " " in name or f"\\fB{name}\\fR" in PAGES["man1/slurmhooks.1"]


def test_man_reads_them(folder: Path) -> None:
    """man(1) finds a page by its name, with a line for apropos, and gives no warning."""
    man, lexgrog = needs("man"), needs("lexgrog")
    done = subprocess.run(
        [man, "--warnings", "-M", str(folder), "5", "slurmhooks.toml"],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C", "MANPAGER": "cat"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    for name in PAGES:
        found = subprocess.run([lexgrog, str(folder / name)], capture_output=True, text=True)
        assert found.returncode == 0, found.stdout


@pytest.mark.slow
def test_bash() -> None:
    """bash completes verbs, options, and names of rules."""
    file = SHARE / "bash-completion" / "completions" / "slurmhooks"
    script = f"""
        source {file}
        complete -p slurmhooks >&2
        for words in 'ch' 'check --js' 'rules explain memory_c' 'try job_submit --rel'; do
            COMP_WORDS=(slurmhooks $words) COMPREPLY=()
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _slurmhooks_completion slurmhooks
            echo "${{COMPREPLY[@]}}"
        done
    """
    lines = complete("bash", "--norc", "-c", script).splitlines()
    assert lines == ["check", "--json", "memory_ceiling", "--release"]


def test_zsh() -> None:
    """zsh completes with the first TAB."""
    script = f"""
        zmodload zsh/zpty
        zpty shell {needs("zsh")} -f -i
        zpty -w shell "fpath=({SHARE}/zsh/site-functions \\$fpath)"
        zpty -w shell "autoload -Uz compinit; compinit -u -D; print RE''ADY"
        zpty -r -m shell ignored '*READY*'
        zpty -w -n shell $'slurmhooks che\\t--js\\t'
        zpty -r -m shell seen '*check *--json*' && print found
    """
    assert "found" in complete("zsh", "-f", "-c", script, TERM="dumb")


def test_fish() -> None:
    """fish finds the completion among those of packages."""
    lines = complete(needs("fish"), "--no-config", "-c", f"source {SHARE}/fish/vendor_completions.d/slurmhooks.fish;"
                     " complete --do-complete 'slurmhooks check --js'")  # fmt: skip
    assert [line.split("\t")[0] for line in lines.splitlines()] == ["--json"]


def test_the_names_of_commands_are_cheap() -> None:
    """Completing command names imports no command, because each TAB starts a new process."""
    code = "from slurmhooks.cli import main; main(prog_name='slurmhooks')"
    environment = {"COMP_WORDS": "slurmhooks ", "COMP_CWORD": "1", "_SLURMHOOKS_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert "plain,check" in done.stdout
    assert "slurmhooks.cli.commands.check" not in done.stderr
    assert "pydantic" not in done.stderr
