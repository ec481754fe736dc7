# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from slurmhooks.cli import _native, _readers
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
        for name in ("job_submit_python.so", "spank_python.so", "scrun_python.so"):
            (self.plugins / name).write_text("all")
        letters = "".join(VARIANT_LETTERS.values())
        for number in range(1 << len(letters)):
            variant = "".join(letter for bit, letter in enumerate(letters) if number >> bit & 1)
            (self.plugins / "slurmhooks" / f"spank_python-{variant}.so").write_text(variant)
        self.conf(f"PluginDir={self.plugins}", "JobSubmitPlugins=python")
        self.plugstack("required spank_python.so")
        (self.etc / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.d/*.py"]\n')
        self._call = call

    def conf(self, *lines: str) -> None:
        """Have these lines in slurm.conf."""
        (self.etc / "slurm.conf").write_text("\n".join([*lines, ""]))

    def plugstack(self, *lines: str) -> None:
        """Have these lines in plugstack.conf."""
        (self.etc / "plugstack.conf").write_text("\n".join([*lines, ""]))

    def file(self, text: str, name: str = "a.py") -> Path:
        """Have a hook file."""
        path = self.hooks / name
        path.write_text(HEAD + text)
        return path

    def check(self, *options: object) -> Result:
        """Run check."""
        return self._call("check", "--sysconfdir", self.etc, *options)

    def found(self) -> list[str]:
        """Return the findings of check, and see that it ends with 1 if there are any."""
        result = self.check()
        found = [line.removeprefix("error: ") for line in result.output.splitlines() if line.startswith("error: ")]
        assert result.exit_code == bool(found), result.output
        return found

    def compile(self) -> Result:
        """Run compile, which must succeed."""
        result = self._call("compile", "--sysconfdir", self.etc)
        assert result.exit_code == 0, result.output
        return result


@pytest.fixture
def site(
    open_folder: Path, machine: Machine, build: Path, run: Call, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    """Give a site; what the verbs change of the process is put back."""
    monkeypatch.setenv("SLURM_CONF", os.devnull)
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    record = _native.BuildRecord.load(build)
    assert record is not None
    yield Site(open_folder, record, run)
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
    path = site.file("@hook.spank.task_init\ndef init(spank): pass\n")
    assert "ordinary users" not in site.check().output
    path.chmod(0o640)
    wrong = f"{path}: ordinary users cannot read it, so srun, sbatch and salloc fail for them: chmod o+r {path}"
    assert f"note: {wrong}" in site.check().output
    assert site.found() == []
    # An option is registered by srun itself.
    path.write_text(HEAD + 'hook.spank.option("x", usage="")\n')
    assert site.found() == [wrong]


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


SUBMIT = "@hook.job_submit\ndef submit(job): pass\n"
INIT = "@hook.spank.init\ndef init(spank): pass\n"


def test_job_submit_plugins_without_ours(site: Site) -> None:
    """slurmctld would not call the handlers: the finding has the line that slurm.conf needs."""
    path = site.etc / "slurm.conf"
    wanted = f"{path}: Slurm never calls handler a:submit of hook.job_submit: it needs the line JobSubmitPlugins="
    for plugins, line in (("lua", "lua,python"), ("", "python"), ("lua,job_submit/python", None)):
        site.file(SUBMIT)
        site.conf(f"PluginDir={site.plugins}", f"JobSubmitPlugins={plugins}" if plugins else "")
        assert site.found() == ([] if line is None else [wanted + line])
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=lua")
    site.file("")
    assert site.found() == []  # there is nothing to call


@pytest.mark.parametrize("text", [INIT, 'hook.spank.option("x", usage="")\n'])
def test_no_line_of_plugstack_conf(site: Site, text: str) -> None:
    """A line may stand in an included file; without one nothing of SPANK is called."""
    site.file(text)
    (site.etc / "plugstack.d").mkdir()
    site.plugstack("include plugstack.d/*.conf")
    found = site.found()
    assert len(found) == 1
    assert found[0].startswith(f"{site.etc / 'plugstack.conf'}: Slurm never calls ")
    assert found[0].endswith("it needs the line required spank_python.so")
    (site.etc / "plugstack.d" / "ours.conf").write_text("required spank_python.so\n")
    assert site.found() == []


def test_handlers_that_only_the_other_file_names(site: Site) -> None:
    """plugstack.conf decides what SPANK loads if it names files, slurmhooks.toml what the others load."""
    path = site.file(SUBMIT + INIT)
    other = site.etc / "other.py"
    other.write_text(HEAD + SUBMIT + INIT)
    site.plugstack("required spank_python.so other.py")
    assert site.found() == [
        f"{path}:4: Slurm never calls handler a:init of hook.spank.init: slurmhooks.toml names its file, and no"
        " line of plugstack.conf does",
        f"{other}:2: Slurm never calls handler other:submit of hook.job_submit: a line of plugstack.conf names its"
        " file, and slurmhooks.toml does not",
    ]


def test_plugins_where_slurm_does_not_look(site: Site, run: Call) -> None:
    """PluginDir must have the folder of the plugins, and the folder the plugin."""
    site.file(SUBMIT)
    elsewhere = site.etc / "plugins"
    elsewhere.mkdir()
    site.conf(f"PluginDir={elsewhere}", "JobSubmitPlugins=python")
    result = run("check", "--sysconfdir", site.etc, "--plugin-dir", site.plugins)
    assert result.exit_code == 1
    assert (
        f"{site.etc}/slurm.conf: Slurm never calls handler a:submit of hook.job_submit: it needs the line"
        f" PluginDir={elsewhere}:{site.plugins}\n" in result.output
    )
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python")
    (site.plugins / "job_submit_python.so").unlink()
    assert site.found() == [
        f"{site.plugins}/job_submit_python.so: not there, so Slurm never calls handler a:submit of hook.job_submit:"
        " run 'slurmhooks install' again"
    ]


def test_a_scrun_lua_that_is_not_ours(site: Site) -> None:
    """scrun reads one script; it must be the one that hands over to the plugin of this folder."""
    site.file("@hook.scrun.stage_in\ndef stage(container): pass\n")
    script = site.etc / "scrun.lua"
    wanted = f"{script}: scrun never calls handler a:stage of hook.scrun: "
    assert site.found() == [wanted + "No such file or directory; run 'slurmhooks install'"]
    script.write_text("-- mine")
    assert site.found() == [wanted + "it is not ours; 'slurmhooks install' says how both can run"]
    script.write_text("-- Made by 'slurmhooks install'\nloadlib('/old/scrun_python.so')")
    assert site.found()[0].startswith(wanted + "it loads another plugin")
    script.write_text(f"-- Made by 'slurmhooks install'\nloadlib('{site.plugins}/scrun_python.so')")
    assert site.found() == []


def test_what_slurmctld_cannot_read(site: Site) -> None:
    """As root, check sees what SlurmUser cannot: each folder on the way, the files, and the command that helps."""
    path = site.file(SUBMIT)
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "SlurmUser=nobody")
    assert site.found() == []
    start = "SlurmUser nobody cannot {}, so slurmctld does not load the hooks: chmod o+{} {}"
    site.hooks.chmod(0o700)
    assert set(site.found()) == {
        f"{path}: " + start.format(f"enter {site.hooks}", "x", site.hooks),
        f"{site.hooks}: " + start.format("list it", "rx", site.hooks),
    }
    site.hooks.chmod(0o711)
    assert site.found() == [f"{site.hooks}: " + start.format("list it", "rx", site.hooks)]
    site.hooks.chmod(0o755)
    path.chmod(0o600)
    toml = site.etc / "slurmhooks.toml"
    toml.chmod(0o600)
    assert set(site.found()) == {
        f"{path}: " + start.format("read it", "r", path),
        f"{toml}: " + start.format("read it", "r", toml),
    }
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "SlurmUser=root")
    assert site.found() == []


def test_which_bits_count(open_folder: Path) -> None:
    """The owner's, the group's or the others', whichever a user comes to first; root needs none."""
    path = open_folder / "file"
    path.touch()
    owner, group = path.stat().st_uid, path.stat().st_gid
    for mode, uid, gids, remedy in (
        (0o077, owner + 1, {group + 1}, None),
        (0o070, owner + 1, {group}, None),
        (0o704, owner + 1, {group}, f"chmod g+r {path}"),
        (0o740, owner + 1, {group + 1}, f"chmod o+r {path}"),
        (0o000, 0, set[int](), None),
    ):
        path.chmod(mode)
        found = _readers.obstacle(str(path), _readers.Reader("x", uid, frozenset(gids)))
        assert (found and found[2]) == remedy
    link = open_folder / "link"
    link.symlink_to(path)
    path.chmod(0o600)
    found = _readers.obstacle(str(link), _readers.USERS)
    assert found == (str(link), "read", f"chmod o+r {path}")


def test_a_manifest_that_users_cannot_read(site: Site) -> None:
    """It would be there for root alone."""
    site.file(INIT)
    site.compile()
    assert site.found() == []
    path = site.etc / "slurmhooks.manifest"
    path.chmod(0o600)
    assert site.found() == [
        f"{path}: ordinary users cannot read it, so Python starts in all of their processes: chmod o+r {path}"
    ]


def test_a_file_without_a_handler(site: Site) -> None:
    """A forgotten decorator is noted; a file with an option alone has something for Slurm."""
    path = site.file("def submit(job): pass\n")
    site.file('hook.spank.option("x", usage="")\n', "b.py")
    result = site.check()
    assert f"note: {path}: holds no handler: is a decorator @hook... missing?" in result.output
    assert result.output.count("holds no handler") == 1


def test_nothing_in_the_output_acts_on_a_terminal(site: Site) -> None:
    """Names of files may hold anything, and rich's marks mean nothing in them."""
    site.file(SUBMIT, "a[red]\x1b[2J\n.py")
    result = site.check()
    assert result.exit_code == 0, result.output
    assert r"hooks.d/a[red]\x1b[2J\n.py:2" in result.output
    site.file("1 / 0", "b\x1b[1m.py")
    result = site.check()
    assert r"hooks.d/b\x1b[1m.py:2: ZeroDivisionError" in result.output
    assert "\x1b" not in result.output


def test_hook_files_alone(tmp_path: Path, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Slurm and without plugins, for a site's CI: 0 fine, 1 a finding, 2 wrong use; owners do not matter."""
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir(mode=0o700)
    good, wrong = tmp_path / "one" / "good.py", tmp_path / "two" / "wrong.py"
    good.write_text(HEAD + SUBMIT)
    if os.getuid() == 0:
        os.chown(good, 1234, 1234)
    result = run("check", "--hooks", good.parent)
    assert result.exit_code == 0, result.output
    assert f"{good}:2" in result.output
    assert run("check", "--hooks", good, "--hooks", good.parent).exit_code == 0
    assert run("check", "--hooks", good.parent, "--hooks", wrong.parent).exit_code == 1
    wrong.write_text("1 / 0")
    result = run("check", "--hooks", good.parent, "--hooks", wrong.parent, "--json")
    assert result.exit_code == 1
    assert f"{wrong}:1: ZeroDivisionError" in result.output
    assert "2 handlers" not in result.output
    for arguments in (("--hooks", tmp_path / "none"), ("--hooks", good, "--sysconfdir", tmp_path), ("--no-such",)):
        assert run("check", *arguments).exit_code == 2


def test_json(site: Site) -> None:
    """A program reads the same as a person: handlers, options, notes, the manifest, and the findings."""
    site.file(SUBMIT + 'hook.spank.option("x", "X", usage="what")\n')
    report = json.loads(site.check("--json").stdout)
    assert [row["handler"] for row in report["handlers"]] == ["a:submit"]
    assert report["handlers"][0]["takes"] == ["job"]
    assert report["options"] == ["--x=X: what"]
    assert report["findings"] == []
    assert "none, so Python starts" in report["manifest"]
    site.conf(f"PluginDir={site.plugins}")
    result = site.check("--json")
    assert result.exit_code == 1
    assert "JobSubmitPlugins=python" in json.loads(result.stdout)["findings"][0]


def test_a_relative_folder(site: Site, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest written for a relative --sysconfdir holds for the daemons, which have an absolute one."""
    site.file(INIT)
    monkeypatch.chdir(site.etc.parent)
    assert run("compile", "--sysconfdir", "site").exit_code == 0
    assert f"{site.etc}/slurmhooks.manifest: up to date" in site.check().output
    assert f"{site.etc}/slurmhooks.manifest: up to date" in run("check", "--sysconfdir", "./site").output
