# SPDX-License-Identifier: GPL-2.0-or-later
"""What a deployment has checked of slurmhooks.toml, which job_submit's workers read instead of the file."""

import grp
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks import identity
from slurmhooks.cli import build_record
from slurmhooks.cli.bundles import archive
from slurmhooks.site import checked
from slurmhooks.site.manifest import FILE_NAME
from tests.bench.rules import toml
from tests.cluster.turns import moved_from

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Site

pytestmark = pytest.mark.slow

LOAD = """
import json, sys
from slurmhooks.entry.job_submit import RULES
from slurmhooks.entry.scripts_and_rules import named_in
from slurmhooks.files.watch import Watch
from slurmhooks.log import log
from slurmhooks.site import reload, sources

lines = []
type(log).write = lambda self, level, text, args, fields: lines.append(text % args)
config, registry = reload.load(sources.config_path(), Watch(), lambda registry: [], named_in, ("job_submit",))
imported = [name for name in sys.modules if name.startswith(("pydantic", "slurmhooks.rules.ready."))]
from slurmhooks.testing import FakeJob, run

results = [run(registry, "job_submit", job=FakeJob(**fields), submit_uid=1000) for fields in json.loads(sys.argv[1])]
decisions = [repr(vars(each)) for each in results]
handlers = [[each.label, str(each.rollout), each.order, each.line] for each in registry.handlers("job_submit")]
print(json.dumps({"imported": imported, "handlers": handlers, "decisions": decisions, "lines": lines}))
"""
"""Does what a generation of job_submit does; prints what that has imported, logged and decided."""
REQUESTS = [
    {"time_limit": 10, "work_dir": "/home", "name": "x"},
    {"time_limit": 100000, "work_dir": "/root/x", "account": "closed"},
    {"name": "zz1", "min_nodes": 6000, "partition": "debug"},
    {"user_name": "alice", "account": "phys", "work_dir": "/"},
    {"user_name": "alice", "account": "closed"},
    {"user_name": "bob", "account": "closed"},
]
MORE = """
[rules.defaults]
default_partition = "debug"
except_users = ["root"]
[[rules.exemptions]]
rules = ["r8", "r[1-5]8"]
users = ["alice"]
until = 2099-01-31
[rules.modes."rule:r3"]
mode = "warn"
users = ["alice"]
[node]
timeout = 20
[[rule]]
rule = "default"
field = "qos"
by = "user"
map = "qos.csv"
any = [{ accounts = ["phys"], since = 2026-01-01, where = { name = ["x*", "z*"] } }, { min_nodes = 1 }]
cases = [{ to = "long", min_time = "1-0" }]
"""


@pytest.fixture
def load(site: "Site", monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Give a function that loads what is in force as a worker of some build does, by default of the installed one."""
    (site.etc / "slurmhooks.toml").write_text(toml(60) + MORE)
    (site.etc / "qos.csv").write_text("alice,high\n")
    monkeypatch.setenv("SLURM_CONF", str(site.etc / "slurm.conf"))

    def load(build: str | None = None) -> Any:
        options = ["-X", f"{identity.OPTION}={build or identity.here()}"]
        command = [sys.executable, *options, "-c", LOAD, json.dumps(REQUESTS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return load


def again(lines: list[str]) -> list[str]:
    """Return what was logged about a configuration that is checked again."""
    return [line for line in lines if "slurmhooks.toml is checked again" in line]


def test_workers_import_no_pydantic(site: "Site", load: Callable[..., Any]) -> None:
    """With 60 rules, modes, exemptions and health checks, a worker imports no pydantic, and only the rules in use.

    An exemption holds as it does in the file.
    """
    site.deploy()
    loaded = load()
    assert "slurmhooks.rules.ready.writes" in loaded["imported"]
    assert {"pydantic", "slurmhooks.rules.ready.budget"}.isdisjoint(loaded["imported"])
    assert (len(loaded["handlers"]), again(loaded["lines"])) == (61, [])
    assert ["'accepted': True" in each for each in loaded["decisions"][-2:]] == [True, False]


def damage(path: Path) -> None:
    """Change a byte of a file."""
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "other", "why"),
    moved_from(
        1,
        [
            (Path.unlink, None, "No such file or directory"),
            (damage, None, "is damaged, or was written by another build"),
            (Path.read_bytes, "0123456789abcdef", "is damaged, or was written by another build"),
            (lambda path: path.chmod(0o666), None, "is writable by everybody"),
        ],
    ),
    ids=["absent", "damaged", "stale", "exposed"],
)
def test_what_does_not_fit(
    site: "Site", load: Callable[..., Any], spoil: Callable[[Path], object], other: str | None, why: str
) -> None:
    """If it is absent, damaged, of another build or not trusted, the file is checked: all is the same, and logged.

    The next deployment of the same files writes it again.
    """
    site.deploy()
    path = site.etc / "slurmhooks.set" / checked.FILE_NAME
    before = load()
    spoil(path)
    after = load(other)
    assert "pydantic" in after["imported"]
    assert [why in line for line in again(after["lines"])] == [True]
    assert (after["handlers"], after["decisions"]) == (before["handlers"], before["decisions"])
    site.deploy()
    assert load()["imported"] == before["imported"]


def test_a_slurmctld_of_another_build(site: "Site", load: Callable[..., Any]) -> None:
    """What a command of another build has made, before the plugins are replaced, is nothing that they read.

    The modules of slurmctld's supervisor are those of the plugins: they would take values of other classes for theirs.
    """
    site.deploy()
    former = os.path.basename(os.path.realpath(site.etc / "slurmhooks.set"))
    record = build_record.BuildRecord.load(site.plugins)
    assert record is not None
    replace(record, sources="0123456789abcdef").save(site.plugins)
    for verb in (("exempt", "r1", "--user", "alice", "--until", "4h", "--reason", "x"), ("rollback", former)):
        assert site.call(*verb).exit_code == 0
        made = {name: (site.etc / "slurmhooks.set" / name).read_bytes() for name in (checked.FILE_NAME, FILE_NAME)}
        assert [name for name, content in made.items() if record.sources.encode() not in content] == [], verb
        assert "pydantic" in load("0123456789abcdef")["imported"]


@pytest.mark.parametrize("private", ["slurmhooks.toml", "qos.csv"])
def test_what_users_may_not_read(site: "Site", load: Callable[..., Any], private: str) -> None:
    """What is made from a file that users cannot read is as private as this."""
    (site.etc / private).chmod(0o640)
    site.plugstack()  # launches read slurmhooks.toml as their users
    site.deploy()
    folder = site.etc / "slurmhooks.set"
    found, wanted = (os.stat(folder / name) for name in (checked.FILE_NAME, private))
    assert (found.st_mode & 0o777, found.st_gid) == (wanted.st_mode & 0o777, wanted.st_gid) == (0o440, found.st_gid)
    assert "pydantic" not in load()["imported"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files to groups")
def test_private_files_of_several_groups(site: "Site", load: Callable[..., Any]) -> None:
    """Nobody may read all of them, so there is none, and the log names no command that would write it."""
    for name, group in (("slurmhooks.toml", "adm"), ("qos.csv", "disk")):
        os.chown(site.etc / name, 0, grp.getgrnam(group).gr_gid)
        (site.etc / name).chmod(0o640)
    site.plugstack()
    site.deploy()
    assert not (site.etc / "slurmhooks.set" / checked.FILE_NAME).exists()
    (line,) = again(load()["lines"])
    assert line.endswith("writes that file, unless private files of the set have several groups")


def test_an_archive_brings_none(site: "Site", open_folder: Path) -> None:
    """An archive with such a file is refused before anything is stored: workers would read it with more rights."""
    files = {"slurmhooks.toml": archive.File(b""), checked.FILE_NAME: archive.File(b"slurmhooks-checked 1")}
    (open_folder / "site.tar").write_bytes(archive.pack(files))
    site.refused("deploy", open_folder / "site.tar", says=".checked: not the name of a file of a set")
    assert list(site.etc.rglob(checked.FILE_NAME)) == []


def test_plain_files_need_none(site: "Site") -> None:
    """A file without rules, modes and health checks has none: processes read it without pydantic anyway."""
    site.file("@hook.job_submit\ndef submit(job): pass\n")
    site.deploy()
    assert not (site.etc / "slurmhooks.set" / checked.FILE_NAME).exists()
