# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slurmhooks import identity
from slurmhooks._version import __version__
from slurmhooks.cli import build_record
from slurmhooks.cli.bundles.store import Store
from slurmhooks.site.variants import CALL, COSTLY_CALLBACKS
from tests.unit.cli.conftest import HEAD, INIT, SUBMIT, Call, Site


def test_no_handlers(site: Site) -> None:
    """A site without handlers gets a note about globs that match no file."""
    result = site.check()
    assert result.exit_code == 0, result.output
    assert "no handlers" in result.output
    assert f"note: {site.etc / 'slurmhooks.toml'}: no file matches {site.hooks}/*.py" in result.output


def test_nothing_was_deployed(site: Site) -> None:
    """Sources without a set are an error, because they are not in force; nothing at all is noted once."""
    site.file(SUBMIT)
    result = site.refused("check")
    never = f"{site.etc}/slurmhooks.toml: was never deployed, so no hooks are in force: 'slurmhooks deploy'"
    assert [line for line in result.output.splitlines() if line.startswith("error")] == [f"error: {never}"]
    (site.etc / "slurmhooks.toml").unlink()
    result = site.passed("check")
    assert result.output.count("nothing has been deployed on this machine") == 1


def test_a_glob_of_a_line_that_fits_nothing(site: Site) -> None:
    """A GLOB on a line of plugstack.conf that matches no file is noted."""
    site.plugstack("required spank_python.so lustre.d/*.py fast")
    pattern = site.etc / "lustre.d" / "*.py"
    pattern.parent.mkdir()
    assert f"note: plugstack.conf: no file matches {pattern}" in site.check().output


def test_a_folder_that_does_not_exist(site: Site) -> None:
    """A folder of hook files must exist; it may be empty."""
    site.hooks.rmdir()
    result = site.check()
    assert result.exit_code == 1
    assert f"error: {site.hooks}: does not exist; hook files are expected in it" in result.output
    site.hooks.mkdir()
    assert site.check().exit_code == 0


def test_errors_are_no_lack_of_handlers(site: Site) -> None:
    """If there are errors, check does not also say that there are no handlers."""
    site.file("1 / 0")
    result = site.check()
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.output
    assert "no handlers" not in result.output


def test_a_folder_that_cannot_be_listed(site: Site) -> None:
    """A folder that cannot be listed may contain a policy, so it is an error and does not count as empty."""
    site.hooks.rename(site.etc / "before")
    site.hooks.symlink_to("not_mounted")
    result = site.check()
    assert result.exit_code == 1
    assert f"error: {site.hooks}: a symbolic link on the way leads nowhere; it may hold hook files" in result.output
    assert "no handlers" not in result.output


def test_a_forgotten_decorator(site: Site) -> None:
    """A file without handlers is noted once, even if two lines of plugstack.conf load it, and is not an error."""
    path = site.file("def limit(job): ...\n")
    result = site.check()
    assert result.exit_code == 0, result.output
    assert result.output.count(f"note: {path}: no handler and no option in it") == 1


def test_deprecated_names(tmp_path: Path, run: Call) -> None:
    """A deprecated name that a hook file uses when it is loaded is a note with file and line, not an error."""
    path = tmp_path / "hooks.py"
    path.write_text(
        f"import warnings\n{HEAD}warnings.warn('hook.old goes with 2.0: use hook.new', DeprecationWarning)\n{SUBMIT}"
    )
    result = run.passed("check", "--hooks", path)
    assert f"note: {path}:3: DeprecationWarning: hook.old goes with 2.0: use hook.new" in result.stdout


def test_codes_that_slurm_does_not_have(site: Site, run: Call) -> None:
    """A misspelled literal code of a refusal is an error, whether check runs for Slurm or in a CI."""
    code = """
import slurmhooks
from slurmhooks import Reject
@hook.job_submit
def f():
    if 1:
        raise Reject("no", code="ESLURM_INVALID_ACOUNT")
def g():
    raise slurmhooks.Reject("no", code=99999999999)
    raise Reject("no", code="ESLURM_INVALID_ACCOUNT") from Reject("no", code=None)
"""
    path = site.file(code)
    first, second = site.found()
    assert first.partition(";")[0].endswith("Reject(code='ESLURM_INVALID_ACOUNT'): Slurm has no such code")
    assert "nearest: ESLURM_INVALID_ACCOUNT" in first
    assert second.endswith("Reject(code=99999999999): no code of Slurm is that large")
    assert {finding.partition(":")[0] for finding in (first, second)} == {str(path)}
    assert run("check", "--hooks", path).output.count("Slurm has no such code") == 1


def test_a_required_handler_is_missing(site: Site) -> None:
    """A missing required handler is an error, because no request would be accepted."""
    site.file("@hook.job_submit\ndef f(): ...\n")
    (site.etc / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.d/*.py"]\nrequire = ["a:f", "a:g"]\n')
    result = site.check()
    assert result.exit_code == 1
    assert result.output.count("a:g: [hooks] require of slurmhooks.toml names this handler") == 1
    assert "a:f: [hooks]" not in result.output


RULE_AND_SCRIPTS = """
[hooks]
paths = ["hooks.d/*.py"]
require = ["rule:longest", "job_submit.lua:slurm_job_submit", "cli_filter.lua:slurm_cli_pre_submit"]
[job_submit]
lua = "job_submit.lua"
[cli_filter]
lua = "cli_filter.lua"
[[rule]]
rule = "time_ceiling"
name = "longest"
limit = 30
"""


def test_a_required_rule_or_script(site: Site) -> None:
    """Only one plugin point loads it, and none of the others misses it; nothing is deployed without it."""
    site.file(f"{SUBMIT}@hook.spank.init\ndef start(spank): pass\n")
    (site.etc / "job_submit.lua").write_text(
        "function slurm_job_submit() return 0 end\nfunction slurm_job_modify() return 0 end\n"
    )
    names = ("setup_defaults", "pre_submit", "post_submit")
    (site.etc / "cli_filter.lua").write_text("".join(f"function slurm_cli_{name}() return 0 end\n" for name in names))
    (site.plugins / "cli_filter_python.so").touch()
    (site.etc / "plugstack.conf").write_text("required spank_python.so\n")
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "CliFilterPlugins=python")
    toml = site.etc / "slurmhooks.toml"
    toml.write_text(RULE_AND_SCRIPTS)
    assert site.found() == []
    for table in ('lua = "job_submit.lua"', 'lua = "cli_filter.lua"', 'name = "longest"'):
        toml.write_text(RULE_AND_SCRIPTS.replace(table, ""))
        (found,) = site.found()
        assert "[hooks] require of slurmhooks.toml names this handler" in found


@pytest.mark.parametrize("callback", COSTLY_CALLBACKS)
def test_a_callback_that_the_plugin_leaves_out(site: Site, callback: str) -> None:
    """A handler for a costly callback is a finding with the lean plugin."""
    site.lean()
    path = site.file(f"@hook.spank.{callback}\ndef late(spank): pass\n")
    result = site.check()
    assert result.exit_code == 1
    finding = (
        f"{path}:2: Slurm would never call handler a:late: the installed spank_python.so leaves"
        f" slurm_spank_{callback}() out, for sites without such handlers: {CALL}\n"
    )
    assert finding in result.output


def test_a_whole_plugin_leaves_nothing_out(site: Site) -> None:
    """The plugin that 'slurmhooks install' installs offers all callbacks."""
    site.file("hook.spank.job_prolog(lambda spank: None)")
    assert site.check().exit_code == 0


def test_one_option_of_two_lines(site: Site) -> None:
    """Slurm would pass both values on under one name, and the launch would fail, so check fails."""
    site.file('hook.spank.option("a-b", "X", usage="")', "a.py")
    site.file('hook.spank.option("a_b", "X", usage="")', "b.py")
    site.plugstack("required spank_python.so hooks.d/a.py", "required spank_python.so hooks.d/b.py")
    result = site.check()
    assert result.exit_code == 1
    assert "option --a_b: another line of plugstack.conf, or this one a second time, has --a-b" in result.output


def test_init_failure_mode_of_an_old_release(site: Site) -> None:
    """Slurm 24.11 has no such choice, so there is a note. Arguments after the GLOB are for handlers."""
    site.file("")
    site.plugstack(
        "required spank_python.so init_failure_mode=job",
        "optional spank_python.so hooks.d/a.py init_failure_mode=x",
    )
    for output in (site.check().output, site.deploy().output):
        assert output.count("init_failure_mode=job is ignored: it takes Slurm 25.05 or later") == 1
        assert "init_failure_mode=x" not in output


def test_files_that_users_cannot_read(site: Site) -> None:
    """root can read the file, so without this check nobody would notice before a user's srun fails."""
    path = site.file("@hook.spank.task_init\ndef init(spank): pass\n")
    assert "ordinary users" not in site.check().output
    path.chmod(0o640)
    wrong = f"{path}: ordinary users cannot read it, so srun, sbatch and salloc fail for them: chmod o+r {path}"
    assert f"note: {wrong}" in site.check().output
    assert site.found() == []
    # srun itself registers options, so users must be able to read the file.
    path.write_text(HEAD + 'hook.spank.option("x", usage="")\n')
    assert site.found() == [wrong]


@pytest.mark.parametrize(("words", "told"), [(62, 0), (63, 1)])
def test_more_arguments_than_a_manifest_holds(site: Site, words: int, told: int) -> None:
    """A line with too many arguments for a manifest is noted by check and deploy."""
    site.file("", "a.py")
    site.plugstack(f"required spank_python.so hooks.d/a.py {' '.join(['x'] * words)}")
    for output in (site.check().output, site.deploy().output):
        assert output.count(f"a line has {words + 1} arguments, and a manifest supports") == told


def test_more_options_than_the_stub_tells_apart(site: Site) -> None:
    """The launch would fail, so check fails."""
    site.file("for number in range(257):\n    hook.spank.option(f'o{number}', usage='')\n", "a.py")
    site.plugstack("required spank_python.so hooks.d/a.py")
    result = site.check()
    assert result.exit_code == 1
    assert "plugstack.conf: hooks.d/a.py: a line may have 256 options, not 257" in result.output


def test_manifest_states(site: Site) -> None:
    """The manifest of the set is up to date, or of another build."""
    path = site.file("hook.spank.task_init(lambda spank: None)")
    site.deploy()
    assert f"{site.etc}/slurmhooks.set/.manifest: up to date" in site.check().output
    path.write_text("def (")
    assert "up to date" in site.check().output
    manifest = site.etc / "slurmhooks.set" / ".manifest"
    manifest.write_text(manifest.read_text().replace(identity.here(), "0123456789abcdef"))
    assert "it was written for another build of slurmhooks" in site.check().output
    manifest.unlink()
    assert "there is none; 'slurmhooks install' writes it again" in site.check().output


LAZY = """
import sys
from importlib.machinery import PathFinder
from importlib.util import LazyLoader, module_from_spec

spec = PathFinder.find_spec("lazy_module", [{folder!r}])
spec.loader = LazyLoader(spec.loader)
sys.modules["lazy_module"] = module = module_from_spec(spec)
spec.loader.exec_module(module)

@hook.job_submit
def submit(job):
    module.judge(job)
"""


@pytest.mark.parametrize("packages", ["", 'packages = ["packages"]'])
def test_a_lazy_module(site: Site, tmp_path: Path, packages: str) -> None:
    """check does not import what a hook file would import only once it needs it, and which may fail here."""
    path = site.file(LAZY.format(folder=str(tmp_path)))
    (tmp_path / "lazy_module.py").write_text("raise ImportError('only on the controller')\n")
    (site.etc / "packages").mkdir()
    (site.etc / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["{path}"]\n{packages}\n')
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python")
    assert site.found() == []


def test_a_file_without_a_handler(site: Site) -> None:
    """A forgotten decorator is noted; a file that only defines an option gets no note."""
    path = site.file("def submit(job): pass\n")
    site.file('hook.spank.option("x", usage="")\n', "b.py")
    result = site.check()
    assert f"note: {path}: no handler and no option in it" in result.output
    assert result.output.count("no handler and no option") == 1


def test_nothing_in_the_output_acts_on_a_terminal(site: Site) -> None:
    """Names of files may contain anything, and rich does not interpret them."""
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
    result = run.passed("check", "--hooks", good.parent)
    assert f"{good}:2" in result.output
    assert run("check", "--hooks", good, "--hooks", good.parent).exit_code == 0
    assert run("check", "--hooks", good.parent, "--hooks", wrong.parent).exit_code == 1
    wrong.write_text("1 / 0")
    result = run.refused(
        "check", "--hooks", good.parent, "--hooks", wrong.parent, "--json", says=f"{wrong}:1: ZeroDivisionError"
    )
    assert "2 handlers" not in result.output
    for arguments in (("--hooks", tmp_path / "none"), ("--hooks", good, "--sysconfdir", tmp_path), ("--no-such",)):
        assert run("check", *arguments).exit_code == 2


def test_a_configuration_alone(tmp_path: Path, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with slurmhooks.toml is checked without Slurm: its ready-made rules and modes, and all it names."""
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    (tmp_path / "hooks.d").mkdir()
    (tmp_path / "hooks.d" / "a.py").write_text(HEAD + SUBMIT)
    toml = tmp_path / "slurmhooks.toml"
    good = '[hooks]\npaths = ["hooks.d/*.py"]\n[[rule]]\nrule = "require_account"\n'
    toml.write_text(good)
    if os.getuid() == 0:
        os.chown(toml, 1234, 1234)
    for path in (tmp_path, toml):
        result = run.passed("check", "--hooks", path)
        assert "rule:require_account" in result.output
        assert "a:submit" in result.output
    for wrong, finding in (
        ('[[rule]]\nrule = "no_such"\n', "no_such"),
        ('[rules.modes."a:none"]\nmode = "observe"\n', "a:none"),
        ('[hooks]\npaths = ["hooks.d/*.py"]\nrequire = ["job_end"]\n', "job_end"),
    ):
        toml.write_text(wrong if "[hooks]" in wrong else good + wrong)
        result = run.refused("check", "--hooks", tmp_path)
        assert finding in result.output
    assert "check it alone" in run("check", "--hooks", tmp_path, "--hooks", tmp_path / "hooks.d").output


def test_json(site: Site) -> None:
    """The JSON output has everything that people see."""
    site.file(SUBMIT + 'hook.spank.option("x", "X", usage="what")\n')
    report = json.loads(site.check("--json").stdout)
    assert [row["handler"] for row in report["handlers"]] == ["a:submit"]
    assert report["handlers"][0]["takes"] == ["job"]
    assert report["options"] == ["--x=X: what"]
    assert report["findings"] == []
    assert report["manifest"].endswith("'slurmhooks install' writes it again")
    site.conf(f"PluginDir={site.plugins}")
    result = site.check("--json")
    assert result.exit_code == 1
    assert "JobSubmitPlugins=python" in json.loads(result.stdout)["findings"][0]


def test_a_relative_folder(site: Site, run: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest written for a relative --sysconfdir is valid for the daemons, which use an absolute one."""
    site.file(INIT)
    monkeypatch.chdir(site.etc.parent)
    assert run("deploy", "--sysconfdir", "site").exit_code == 0
    assert f"{site.etc}/slurmhooks.set/.manifest: up to date" in site.check().output
    assert f"{site.etc}/slurmhooks.set/.manifest: up to date" in run("check", "--sysconfdir", "./site").output


def test_plugins_of_another_version(site: Site) -> None:
    """After an upgrade of the package alone, check says what to do, and nothing can be deployed."""
    path = build_record.BuildRecord.path_in(site.plugins)
    path.write_text(path.read_text().replace(f'"{__version__}"', '"0.0.9"'))
    for result in (site.check(), site.call("deploy")):
        assert result.exit_code == 1
        words = " ".join(result.output.split())
        assert f"plugins hold slurmhooks 0.0.9, this command is {__version__}: run 'slurmhooks build'" in words
    assert Store(site.etc).deployed is None


def test_it_loads_no_stand_ins() -> None:
    """The stand-ins of slurmhooks.testing, which parse C declarations, would make the command a third slower."""
    script = "import sys; from slurmhooks.cli.checks import report; report.of_files(()); print(*sys.modules)"
    imported = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "slurmhooks.handlers.refusals" in imported
    assert not [name for name in imported if name.startswith(("slurmhooks.testing", "pycparser"))]


def test_an_option_of_slurms_own(site: Site) -> None:
    """An option with the name of one of Slurm's own is noted, with the commands that ignore it."""
    path = site.file(
        "hook.spank.option('nodes', 'N', usage='')\n"
        "hook.spank.option('label', usage='', contexts=['allocator'])\n"
        "hook.spank.option('array', 'N', usage='')\n",
        "a.py",
    )
    notes = [line for line in site.check().output.splitlines() if "use another name" in line]
    assert [note.partition(": in some releases ")[0] for note in notes] == [
        f"note: {path}:2: option --nodes",
        f"note: {path}:4: option --array",
    ]
    assert "srun, sbatch, salloc, scrontab have" in notes[0]
    assert "releases sbatch have" in notes[1]


def test_a_folder_of_metrics_that_is_missing(site: Site) -> None:
    """A folder for metrics that this machine lacks is noted, because only slurmctld's log would say so."""
    (site.etc / "slurmhooks.toml").write_text(f'[metrics]\ntextfiles = "{site.etc}/prom"\n')
    assert f"metrics.textfiles: {site.etc}/prom is no folder here" in site.check().output
    (site.etc / "prom").mkdir()
    assert "metrics.textfiles" not in site.check().output
