# SPDX-License-Identifier: GPL-2.0-or-later
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from slurmhooks.cli import _native
from slurmhooks.loader import PACKAGE
from slurmhooks.manifest import MOST_ARGUMENTS, VARIANT_LETTERS
from tests.unit.cli.conftest import Machine

Call = Callable[..., Result]
HEAD = "from slurmhooks import hook\n"


class Site:
    """Slurm's configuration and plugins in folders of a test, and the two verbs."""

    def __init__(self, root: Path, record: _native.BuildRecord, call: Call) -> None:
        """Have a site without hook files, whose plugin offers all callbacks."""
        self.etc = root / "site"
        self.plugins = root / "plugins"
        self.hooks = self.etc / "hooks.d"
        self.hooks.mkdir(parents=True)
        (self.plugins / "slurmhooks").mkdir(parents=True)
        record.save(self.plugins)
        (self.plugins / "spank_python.so").write_text("all")
        letters = "".join(VARIANT_LETTERS.values())
        for number in range(1 << len(letters)):
            variant = "".join(letter for bit, letter in enumerate(letters) if number >> bit & 1)
            (self.plugins / "slurmhooks" / f"spank_python-{variant}.so").write_text(variant)
        (self.etc / "slurm.conf").write_text(f"PluginDir={self.plugins}\n")
        self.plugstack("required spank_python.so")
        (self.etc / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.d/*.py"]\n')
        self._call = call

    def plugstack(self, *lines: str) -> None:
        """Have these lines in plugstack.conf."""
        (self.etc / "plugstack.conf").write_text("\n".join([*lines, ""]))

    def file(self, text: str, name: str = "a.py") -> Path:
        """Have a hook file."""
        path = self.hooks / name
        path.write_text(HEAD + text)
        return path

    def check(self) -> Result:
        """Run check."""
        return self._call("check", "--sysconfdir", self.etc)

    def compile(self) -> Result:
        """Run compile, which must succeed."""
        result = self._call("compile", "--sysconfdir", self.etc)
        assert result.exit_code == 0, result.output
        return result


@pytest.fixture
def site(tmp_path: Path, machine: Machine, build: Path, run: Call, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Give a site; what the verbs change of the process is put back."""
    monkeypatch.setenv("SLURM_CONF", os.devnull)
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    record = _native.BuildRecord.load(build)
    assert record is not None
    yield Site(tmp_path, record, run)
    for name in [name for name in sys.modules if name.startswith(f"{PACKAGE}.")]:
        del sys.modules[name]


def test_no_handlers(site: Site) -> None:
    """A site without handlers is told so, and what it may have meant otherwise."""
    result = site.check()
    assert result.exit_code == 0, result.output
    assert "no handlers" in result.output
    assert f"note: {site.etc / 'slurmhooks.toml'}: no file fits {site.hooks}/*.py" in result.output


def test_no_configuration(site: Site) -> None:
    """A slurmhooks.toml that is not there is a note, once."""
    (site.etc / "slurmhooks.toml").unlink()
    result = site.check()
    assert result.exit_code == 0, result.output
    assert result.output.count("slurmhooks.toml: there is none, so it names no hook files") == 1


def test_a_glob_of_a_line_that_fits_nothing(site: Site) -> None:
    """It is named with its line."""
    site.plugstack("required spank_python.so lustre.d/*.py fast")
    pattern = site.etc / "lustre.d" / "*.py"
    assert f"note: plugstack.conf: lustre.d/*.py fast: no file fits {pattern}" in site.check().output


def test_errors_are_no_lack_of_handlers(site: Site) -> None:
    """Beside errors it says nothing of handlers that there are none."""
    site.file("1 / 0")
    result = site.check()
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.output
    assert "no handlers" not in result.output


def test_a_folder_that_cannot_be_listed(site: Site) -> None:
    """It may hold policy, so it is an error and no lack of handlers."""
    site.hooks.rename(site.etc / "before")
    site.hooks.symlink_to("not_mounted")
    result = site.check()
    assert result.exit_code == 1
    assert f"error: {site.hooks}: a symbolic link on the way leads nowhere; it may hold hook files" in result.output
    assert "no handlers" not in result.output


def test_a_forgotten_decorator(site: Site) -> None:
    """A file without handlers is noted once, though two lines of plugstack.conf load it, and is no error."""
    path = site.file("def limit(job): ...\n")
    result = site.check()
    assert result.exit_code == 0, result.output
    assert result.output.count(f"note: {path}: no handler and no option in it") == 1


def test_a_required_handler_is_missing(site: Site) -> None:
    """It is an error, as no request would be accepted."""
    site.file("@hook.job_submit\ndef f(): ...\n")
    (site.etc / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.d/*.py"]\nrequire = ["a:f", "a:g"]\n')
    result = site.check()
    assert result.exit_code == 1
    assert result.output.count("a:g: [hooks] require of slurmhooks.toml names this handler") == 1
    assert "a:f: [hooks]" not in result.output


@pytest.mark.parametrize("callback", VARIANT_LETTERS)
def test_a_callback_that_the_plugin_leaves_out(site: Site, callback: str) -> None:
    """After a handler is added whose callback costs, check says what to run, and after that it is content."""
    site.compile()
    path = site.file(f"@hook.spank.{callback}\ndef late(spank): pass\n")
    result = site.check()
    assert result.exit_code == 1
    restart = callback in ("job_prolog", "job_epilog")
    remedy = "run 'slurmhooks compile'" + (", then restart slurmd" if restart else "")
    finding = (
        f"{path}:2: Slurm would never call handler a:late: the installed spank_python.so leaves"
        f" slurm_spank_{callback}() out, for sites without such handlers; {remedy}\n"
    )
    assert finding in result.output
    assert ("restart slurmd" in site.compile().output) == restart
    assert site.check().exit_code == 0


def test_a_whole_plugin_leaves_nothing_out(site: Site) -> None:
    """The plugin as 'slurmhooks install' puts it offers all."""
    site.file("hook.spank.job_prolog(lambda spank: None)")
    assert site.check().exit_code == 0


def test_one_option_of_two_lines(site: Site) -> None:
    """Slurm would hand both values on under one name: the launch would fail, so check does."""
    site.file('hook.spank.option("a-b", "X", usage="")', "a.py")
    site.file('hook.spank.option("a_b", "X", usage="")', "b.py")
    site.plugstack("required spank_python.so hooks.d/a.py", "required spank_python.so hooks.d/b.py")
    result = site.check()
    assert result.exit_code == 1
    assert "option --a_b: another line of plugstack.conf, or this one a second time, has --a-b" in result.output


def test_init_failure_mode_of_an_old_release(site: Site) -> None:
    """Slurm 24.11 has no such choice: a note. What stands behind the GLOB is for handlers."""
    site.file("")
    site.plugstack(
        "required spank_python.so init_failure_mode=job",
        "optional spank_python.so hooks.d/a.py init_failure_mode=x",
    )
    for output in (site.check().output, site.compile().output):
        assert output.count("init_failure_mode=job is ignored: it takes Slurm 25.05 or later") == 1
        assert "init_failure_mode=x" not in output


def test_files_that_users_cannot_read(site: Site) -> None:
    """root can, so nothing else would tell before the first user's srun fails."""
    path = site.file("")
    assert "not readable by everybody" not in site.check().output
    path.chmod(0o640)
    result = site.check()
    assert f"note: {path}: not readable by everybody, so srun, sbatch and salloc fail" in result.output
    assert result.exit_code == 0


@pytest.mark.parametrize(("words", "told"), [(62, 0), (63, 1)])
def test_more_arguments_than_a_manifest_holds(site: Site, words: int, told: int) -> None:
    """The stub ignores a manifest with such a line, so both commands say why Python starts everywhere."""
    site.file("", "a.py")
    site.plugstack(f"required spank_python.so hooks.d/a.py {' '.join(['x'] * words)}")
    for output in (site.check().output, site.compile().output):
        assert output.count(f"a line has {words + 1} arguments, and the manifest holds") == told


def test_more_arguments_than_the_stub_reads() -> None:
    """The limit is that of the stub."""
    source = Path(__file__).parents[3] / "native" / "spank" / "manifest.c"
    assert f"#define MOST_WORDS {MOST_ARGUMENTS + 1}\n" in source.read_text()


def test_more_options_than_the_stub_tells_apart(site: Site) -> None:
    """The launch would fail, so check does."""
    site.file("for number in range(257):\n    hook.spank.option(f'o{number}', usage='')\n", "a.py")
    site.plugstack("required spank_python.so hooks.d/a.py")
    result = site.check()
    assert result.exit_code == 1
    assert "plugstack.conf: hooks.d/a.py: a line may have 256 options, not 257" in result.output


def test_manifest_states(site: Site) -> None:
    """The manifest is missing, up to date, still so with byte code and temporary files beside the hook files, stale."""
    path = site.file("hook.spank.task_init(lambda spank: None)")
    assert "slurmhooks.manifest: none" in site.check().output
    site.compile()
    assert "up to date" in site.check().output
    (site.hooks / ".a.py.swp").touch()
    (site.hooks / "a.py~").touch()
    assert "up to date" in site.check().output
    more = site.file("", "more.py")
    assert "stale" in site.check().output
    more.unlink()
    assert "up to date" in site.check().output
    path.write_text(path.read_text() + "\n")
    assert "stale" in site.check().output
