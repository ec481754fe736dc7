# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine simulated by a few files: headers, sources and programs of a Slurm release."""

import importlib
import json
import os
import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from pydantic import TypeAdapter

from slurmhooks import identity
from slurmhooks._version import __version__
from slurmhooks.cli import build_record, main, output, slurm
from slurmhooks.files import home
from slurmhooks.handlers.definitions import PACKAGE
from slurmhooks.site.variants import LEAN
from tests.cluster.lab.warm import IMPORTED
from tests.sets import put_in_force

from .fake_plugin import plugin

HEAD = "from slurmhooks import hook\n"
SUBMIT = "@hook.job_submit\ndef submit(job): pass\n"
CONFIG = '[hooks]\npaths = ["hooks.d/*.py"]\n'
INIT = "@hook.spank.init\ndef init(spank): pass\n"


adapter_of = cache(TypeAdapter)
"""Returns what checks documents of a class; it takes long to make."""


@pytest.fixture(autouse=True)
def children_repeat_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import what commands import late, and compute the hash of the sources once: they load hook files in children."""
    for module in IMPORTED:
        importlib.import_module(module)
    monkeypatch.setattr(identity, "here", cache(identity.here))


class Call:
    """The command."""

    def __call__(self, *arguments: object) -> Result:
        """Run it; a bug in it is one of the test."""
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def passed(self, *arguments: object) -> Result:
        """Run it; it must end with 0."""
        result = self(*arguments)
        assert result.exit_code == 0, result.output
        return result

    def refused(self, *arguments: object, says: str | tuple[str, ...] = ()) -> Result:
        """Run it; it must end with 1, and print these texts."""
        result = self(*arguments)
        assert result.exit_code == 1, result.output
        for text in (says,) if isinstance(says, str) else says:
            assert text in result.output, result.output
        return result


class Machine:
    """Files that stand in for an installed Slurm."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.include = root / "include"
        self.etc = root / "etc"
        for folder in (self.bin, self.include / "slurm", self.etc):
            folder.mkdir(parents=True)

    def program(self, name: str, script: str) -> Path:
        """Put a shell script on PATH."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def headers(self, version: str) -> None:
        """Install public headers of a release."""
        major, minor, micro = map(int, version.split("."))
        for name in slurm.PUBLIC_HEADERS:
            (self.include / "slurm" / name).write_text("")
        number = f"#define SLURM_VERSION_NUMBER 0x{major:02x}{minor:02x}{micro:02x}\n"
        (self.include / "slurm" / "slurm_version.h").write_text(number)

    def sources(self, version: str) -> Path:
        """Unpack sources of a release, with a configure that is quick."""
        tree = self.root / f"slurm-{version}"
        tree.mkdir()
        (tree / "META").write_text(f"##\n  Name: slurm\n  Version:\t{version}\n")
        (tree / "configure").write_text("#!/bin/sh\necho checking\necho run >>count\n: >config.h\n")
        (tree / "configure").chmod(0o755)
        return tree


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Give a machine whose programs come first on PATH, and hide the real machine's Slurm."""
    made = Machine(tmp_path / "machine")
    real = os.environ["PATH"].split(os.pathsep)
    folders = [folder for folder in real if not any(Path(folder, name).exists() for name in ("slurmctld", "scrun"))]
    monkeypatch.setenv("PATH", os.pathsep.join((str(made.bin), *folders)))
    monkeypatch.setattr(slurm, "PROGRAM_PATH", str(made.bin))
    monkeypatch.setattr(slurm, "DEFAULT_PLUGIN_DIRS", ())
    return made


@pytest.fixture
def run() -> Call:
    """Give the command."""
    return Call()


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Give the output of a build for Slurm 24.11.5, whose plugins have no code."""
    output = tmp_path / "build"
    (output / "slurmhooks").mkdir(parents=True)
    files = ["job_submit_python.so", "scrun.lua.in", "scrun_python.so", "slurmhooks/libcore.so", "spank_python.so"]
    for name in files:
        (output / name).write_text(f"content of {name}")
        if name in ("job_submit_python.so", "spank_python.so"):
            (output / name).write_bytes(plugin("24.11.5"))
    (output / "scrun.lua.in").write_text("-- Made by 'slurmhooks install'\nload('@PLUGIN_DIR@/scrun_python.so')\n")
    libpython = tmp_path / "libpython.so"
    libpython.write_text("")
    python = build_record.PythonFacts(version="3.11.2", executable="/no/python", libpython=str(libpython), paths=[])
    record = build_record.BuildRecord(
        slurmhooks=__version__,
        sources=identity.here(),
        slurm="24.11.5",
        python=python,
        lua="5.1",
        tiers=build_record.Tiers(private=True),
        files=files,
    )
    record.save(output)
    return output


class Site:
    """Slurm's configuration and plugins in folders of a test, and the two commands."""

    def __init__(self, root: Path, record: build_record.BuildRecord, call: Call) -> None:
        """Create a site without hook files, whose plugin offers all callbacks."""
        self.root = root
        self.etc = root / "site"
        self.plugins = root / "plugins"
        self.hooks = self.etc / "hooks.d"
        self.hooks.mkdir(parents=True)
        (self.plugins / "slurmhooks").mkdir(parents=True)
        record.save(self.plugins)
        (self.plugins / "slurmhooks" / "libcore.so").touch()
        for name in ("job_submit_python.so", "spank_python.so", "scrun_python.so"):
            (self.plugins / name).write_bytes(plugin("24.11.5"))
        (self.plugins / "slurmhooks" / f"spank_python-{LEAN}.so").write_bytes(plugin("24.11.5"))
        self.conf(f"PluginDir={self.plugins}", "JobSubmitPlugins=python")
        self.plugstack("required spank_python.so")
        (self.etc / "slurmhooks.toml").write_text(CONFIG)
        self.run = call

    def conf(self, *lines: str) -> None:
        """Write these lines to slurm.conf."""
        (self.etc / "slurm.conf").write_text("\n".join([*lines, ""]))

    def plugstack(self, *lines: str) -> None:
        """Write these lines to plugstack.conf."""
        (self.etc / "plugstack.conf").write_text("\n".join([*lines, ""]))

    def lean(self) -> None:
        """Let the plugin be the one that leaves callbacks out."""
        plugin = self.plugins / "spank_python.so"
        plugin.unlink()
        plugin.symlink_to(f"slurmhooks/spank_python-{LEAN}.so")

    def file(self, text: str, name: str = "a.py") -> Path:
        """Write a hook file."""
        path = self.hooks / name
        path.write_text(HEAD + text)
        return path

    def check(self, *options: object) -> Result:
        """Run check; put the files in force if nothing was deployed."""
        if not Path(home.of(str(self.etc)), home.HISTORY).exists():
            put_in_force(self.etc)
        return self.call("check", *options)

    def call(self, *words: object) -> Result:
        """Run a command for this site."""
        return self.run(*words, "--sysconfdir", self.etc)

    def passed(self, *words: object) -> Result:
        """Run a command that must end with 0."""
        return self.run.passed(*words, "--sysconfdir", self.etc)

    def refused(self, *words: object, says: str | tuple[str, ...] = ()) -> Result:
        """Run a command that must end with 1, and print these texts."""
        return self.run.refused(*words, "--sysconfdir", self.etc, says=says)

    def report(self, *words: object) -> Any:
        """Run a command that must end with 0; return what it prints with --json."""
        return json.loads(self.passed(*words, "--json").stdout)

    def make(self, name: str, text: str, config: str = CONFIG, **files: str) -> Path:
        """Make a bundle of a folder with one hook file; return its path."""
        folder = self.root / "sources" / name
        (folder / "hooks.d").mkdir(parents=True)
        (folder / "slurmhooks.toml").write_text(config)
        (folder / "hooks.d" / "a.py").write_text(HEAD + text)
        for path, content in files.items():
            (folder / path).write_text(content)
        bundle = self.root / f"{name}.tar"
        self.run.passed("bundle", folder, "--output", bundle)
        return bundle

    def handlers(self) -> list[str]:
        """Return the labels of the handlers that the daemons would load."""
        return [row["handler"] for row in json.loads(self.check("--json").stdout)["handlers"]]

    def found(self) -> list[str]:
        """Return the findings of check, after asserting that it ends with 1 if there are any."""
        result = self.check()
        found = [line.removeprefix("error: ") for line in result.output.splitlines() if line.startswith("error: ")]
        assert result.exit_code == bool(found), result.output
        return found

    def deploy(self) -> Result:
        """Deploy the files of the site, which must succeed."""
        return self.passed("deploy")


@pytest.fixture
def site(
    open_folder: Path, machine: Machine, build: Path, run: Call, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    """Give a site, and restore what the commands change in this process."""
    monkeypatch.setenv("SLURM_CONF", os.devnull)
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    record = build_record.BuildRecord.load(build)
    assert record is not None
    yield Site(open_folder, record, run)
    for name in [name for name in sys.modules if name.startswith(f"{PACKAGE}.")]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def documents_fit_their_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check each JSON document that a test prints against the command's schema, with all its keys."""
    real = output.document

    def checked(value: Any) -> None:
        params = click.get_current_context().command.params
        adapter = adapter_of(next(option.model for option in params if isinstance(option, output.JsonOption)))
        data = output.plain(value)
        made = adapter.validate_python(data)
        # Dataclasses do not know which of their values were set.
        dump = partial(adapter.dump_python, made, mode="json")
        dumped = [dump(exclude_unset=True), dump(exclude_defaults=True)]
        assert data in dumped
        real(value)

    monkeypatch.setattr(output, "document", checked)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A batch script."""
    path = tmp_path / "job.sh"
    path.write_text("#!/bin/sh\n#SBATCH --account=physics --greet=Ada\nhostname\n")
    return path
