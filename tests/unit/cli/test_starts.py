# SPDX-License-Identifier: GPL-2.0-or-later
"""The imports of commands, which take most of the time of those that operators and scripts call often."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sets import put_in_force

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Site

pytestmark = pytest.mark.slow

SLOW = ("pydantic", "rich", "structlog", "cffi", "pycparser", "pkgutil", "hashlib", "subprocess", "importlib.metadata")
"""Each of them adds a large part of what `python3 -c pass` takes; pydantic adds several times as much."""
RUN = """
import sys
from slurmhooks.cli import main

try:
    main(sys.argv[1:])
except SystemExit as end:
    print(end.code, *sys.modules)
"""
EACH = """
import contextlib, io, sys
from slurmhooks.cli import main, modules

for name in sorted(modules(), key=lambda name: (name == "rules", name)):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main([name, "--help"])
    if "pydantic" in sys.modules:
        print(name)
"""
"""Prints the commands after whose help pydantic is imported; `rules` comes last, because it is."""
LOAD = """
import pathlib, sys
from slurmhooks.cli.whole_site import Loaded

loaded = Loaded()
loaded.load(pathlib.Path(sys.argv[1]))
print(loaded.findings, [handler.label for handler in loaded.registry.all_handlers()], *sys.modules, sep="\\n")
"""
"""Does what `check` and `deploy` do in a child; prints findings, handlers and the imported modules."""


def imported(*words: object) -> tuple[str, set[str]]:
    """Run a command; return its exit code, and the modules that it has imported."""
    command = [sys.executable, "-c", RUN, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, *names = done.stdout.splitlines()[-1].split()
    return code, set(names)


@pytest.mark.parametrize("words", ["--version", "--help", "check --help", "status --help", "why --help"])
def test_help(words: str) -> None:
    """The help of the commands that operators call most needs none of the slow modules."""
    code, names = imported(*words.split())
    assert code == "0"
    assert names.isdisjoint(SLOW)


def test_help_of_all() -> None:
    """The help of no command imports pydantic, except that of `rules`, whose rules are models."""
    done = subprocess.run([sys.executable, "-c", EACH], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rules"]


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_why(tmp_path: Path, more: tuple[str, ...]) -> None:
    """A look into the decision log imports no pydantic, neither for slurmhooks.toml nor for the lines of the log."""
    (tmp_path / "slurm.conf").write_text("ClusterName=c\n")
    (put_in_force(tmp_path) / "slurmhooks.toml").write_text(f'[decisions]\nfolder = "{tmp_path}"\n')
    line = '{"time": "2026-01-02T03:04:05+00:00", "event": "decision", "id": "0123456789ab", "hook": "job_submit"}\n'
    (tmp_path / "job_submit.jsonl").write_text(line)
    code, names = imported("why", "0123456789ab", "--sysconfdir", tmp_path, *more)
    assert code == "0"
    assert names.isdisjoint({"pydantic", "rich", "subprocess"})


RELOAD = """
import ast, sys
from slurmhooks.errors import LoadError
from slurmhooks.files.watch import Watch
from slurmhooks.site import reload, sources
try:
    reload.load(sources.config_path(), Watch(), lambda registry: [], hooks=ast.literal_eval(sys.argv[1]))
except LoadError:
    pass  # there is no handler for the mode
print("pydantic" in sys.modules)
"""
"""Loads what a plugin needs that calls some hooks; prints whether pydantic is imported."""


def test_loading_a_site(tmp_path: Path) -> None:
    """check and deploy load a slurmhooks.toml without rules, exemptions and health checks without pydantic."""
    (tmp_path / "slurm.conf").write_text("ClusterName=c\n")
    (tmp_path / "plugstack.conf").write_text("required spank_python.so\n")
    (tmp_path / "a.py").write_text("from slurmhooks import hook\n\n@hook.job_submit\ndef a(job): pass\n")
    (put_in_force(tmp_path) / "slurmhooks.toml").write_text('[hooks]\npaths = ["*.py"]\n[log]\nlevel = "debug"\n')
    done = subprocess.run([sys.executable, "-c", LOAD, str(tmp_path)], capture_output=True, text=True, check=True)
    findings, handlers, *names = done.stdout.splitlines()
    assert (findings, handlers) == ("[]", "['a:a']"), done.stdout[:500]
    assert "pydantic" not in names


def test_a_point_without_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only job_submit's workers read rules: the other plugins of slurmctld, and programs, need no pydantic for them."""
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    put_in_force(tmp_path)
    (tmp_path / "slurmhooks.toml").write_text(
        '[[rule]]\nrule = "time_ceiling"\nlimit = 60\n[rules.modes."a:b"]\nmode = "off"\n'
    )
    for hooks, expected in (("('priority',)", "False"), ("('job_submit',)", "True")):
        done = subprocess.run([sys.executable, "-c", RELOAD, hooks], capture_output=True, text=True, check=False)
        assert done.stdout == f"{expected}\n", done.stderr


def test_deploying(site: "Site") -> None:
    """A deployment of such a file, and its status, import neither pydantic nor what looks for installed packages."""
    site.file("@hook.job_submit\ndef submit(job): pass\n")
    for words in (["deploy"], ["deploy"], ["status"]):
        code, names = imported(*words, "--sysconfdir", site.etc)
        assert code == "0"
        assert names.isdisjoint({"pydantic", "importlib.metadata"})
