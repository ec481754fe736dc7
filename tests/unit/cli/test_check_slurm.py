# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings about a Slurm that never calls the hooks, and about users who cannot read them."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from slurmhooks.cli import build_record, configuration, slurm, whole_site
from slurmhooks.cli.checks import access
from tests.unit.cli.conftest import HEAD, INIT, SUBMIT, Call, Site

pytestmark = pytest.mark.slow


def test_job_submit_plugins_without_ours(site: Site) -> None:
    """If slurmctld would not call the handlers, the finding has the line that slurm.conf needs."""
    path = site.etc / "slurm.conf"
    wanted = f"{path}: Slurm never calls handler a:submit of hook.job_submit: it needs the line JobSubmitPlugins="
    for plugins, line in (("lua", "lua,python"), ("", "python"), ("lua,job_submit/python", None)):
        site.file(SUBMIT)
        site.conf(f"PluginDir={site.plugins}", f"JobSubmitPlugins={plugins}" if plugins else "")
        assert site.found() == ([] if line is None else [wanted + line])
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=lua")
    site.file("")
    assert site.found() == []  # there is nothing to call


def test_a_script_that_would_run_twice(site: Site) -> None:
    """Where slurmhooks runs a job_submit.lua, the line that slurm.conf needs has no lua, and a note says so."""
    (site.etc / "job_submit.lua").write_text(
        "function slurm_job_submit() return 0 end\nfunction slurm_job_modify() return 0 end\n"
    )
    (site.etc / "slurmhooks.toml").write_text('[hooks]\npaths = []\n[job_submit]\nlua = "job_submit.lua"\n')
    path = site.etc / "slurm.conf"
    cases = {"lua": "python", "all_partitions,lua": "all_partitions,python", "job_submit/lua": "python"}
    for plugins, left in cases.items():
        site.conf(f"PluginDir={site.plugins}", f"JobSubmitPlugins={plugins}")
        (found,) = site.found()
        assert found.endswith(f"it needs the line JobSubmitPlugins={left}")
    note = f"{path}: JobSubmitPlugins=lua,python: the plugin lua of Slurm runs job_submit.lua, too: leave lua out"
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=lua,python")
    assert (site.found(), note in site.check().output) == ([], True)
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python")
    assert (site.found(), note in site.check().output) == ([], False)


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("JobSubmitPlugins=python,job_submit/lua,logging", "lua"),
        ("JobSubmitPlugins=lua,job_submit/python,all_partitions,site", "all_partitions and site"),
        ("CliFilterPlugins=python,lua", "lua"),
        ("JobSubmitPlugins=lua,python,throttle,require_timelimit", ""),
        ("CliFilterPlugins=lua,python,user_defaults,syslog", ""),
        ("JobSubmitPlugins=lua", ""),
    ],
)
def test_plugins_after_ours(site: Site, line: str, after: str) -> None:
    """A plugin that changes requests after the handlers have passed is worth a note, whichever of Slurm's it is."""
    site.file("")
    site.conf(f"PluginDir={site.plugins}", line)
    note = f"{site.etc / 'slurm.conf'}: {line}: no handler sees what {after} changes: put python last"
    assert [line for line in site.check().output.splitlines() if "put python last" in line] == [f"note: {note}"] * bool(
        after
    )


def test_a_script_that_is_edited(site: Site) -> None:
    """The file that Slurm's plugin runs is the script of the set also while its text differs, before a deployment."""
    script = site.etc / "job_submit.lua"
    text = "function slurm_job_submit() return 0 end\nfunction slurm_job_modify() return 0 end\n"
    script.write_text(text)
    (site.etc / "slurmhooks.toml").write_text('[hooks]\npaths = []\n[job_submit]\nlua = "job_submit.lua"\n')
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python")
    site.deploy()
    script.write_text(f"{text}-- edited\n")
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=lua")
    (found,) = site.found()
    assert found.endswith("it needs the line JobSubmitPlugins=python")
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=lua,python")
    assert "leave lua out" in site.check().output


def test_another_script_of_slurms_plugin_stays(site: Site) -> None:
    """Slurm's job_submit.lua stays in the line unless its content is that of the set's script, and no note says else.

    `install` and `info` propose the line that `check` does.
    """
    own, policy = site.etc / "job_submit.lua", site.etc / "policy" / "job_submit.lua"
    policy.parent.mkdir()
    policy.write_text("function slurm_job_submit() return 0 end\nfunction slurm_job_modify() return 0 end\n")
    (site.etc / "slurmhooks.toml").write_text('[hooks]\npaths = []\n[job_submit]\nlua = "policy/job_submit.lua"\n')
    for content, line in (("return 1\n", "lua,python"), (policy.read_text(), "python"), (None, "lua,python")):
        own.unlink(missing_ok=True)
        if content is not None:
            own.write_text(content)
        site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=lua")
        (found,) = site.found()
        assert found.endswith(f"it needs the line JobSubmitPlugins={line}")
        proposed = [each.line for each in configuration.settings(site.etc, site.plugins)]
        assert f"JobSubmitPlugins={line}" in proposed
        site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=lua,python")
        assert (site.found(), "leave lua out" in site.check().output) == ([], line == "python")


@pytest.mark.parametrize(
    ("waits", "timeout", "most"),
    [("", 5, None), ("", 5.5, "5"), ("MessageTimeout=60", 30, None), ("MessageTimeout=3", 2, "1.5")],
)
def test_a_time_limit_that_clients_do_not_wait_for(site: Site, waits: str, timeout: float, most: str | None) -> None:
    """A request may take at most half of the time for which sbatch waits, also before the first handler."""
    path = site.file("")
    (site.etc / "slurmhooks.toml").write_text(f'[hooks]\npaths = ["{path}"]\n[job_submit]\ntimeout = {timeout}\n')
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", waits)
    found = site.found()
    assert len(found) == (most is not None)
    assert all(f"timeout = {timeout:g}" in finding and f"set at most {most}" in finding for finding in found)


def test_a_time_limit_of_a_plugin_that_is_not_used(site: Site) -> None:
    """A site with hooks for launches only may have any MessageTimeout: nothing waits for job_submit."""
    site.file("@hook.spank.init\ndef start(spank): pass\n")
    (site.etc / "plugstack.conf").write_text("required spank_python.so\n")
    site.conf(f"PluginDir={site.plugins}", "MessageTimeout=3")
    assert site.found() == []


def test_periodic_rules_without_the_plugin(site: Site) -> None:
    """Workers of job_submit run periodic handlers, so that slurm.conf must name that plugin for them, too."""
    site.file('@hook.every("5m")\ndef clean(jobs): pass\n')
    site.conf(f"PluginDir={site.plugins}")
    assert site.found() == [
        f"{site.etc}/slurm.conf: Slurm never calls handler a:clean of hook.every: it needs the line"
        " JobSubmitPlugins=python"
    ]
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python")
    assert site.found() == []


def test_handlers_of_jobs_that_end_need_no_job_submit(site: Site) -> None:
    """Hooks with similar names may belong to different plugins: only the plugin that calls a handler is required."""
    site.conf(f"PluginDir={site.plugins}")
    site.file("@hook.job_end\ndef done(event): pass\n")
    assert [finding for finding in site.found() if "JobSubmitPlugins" in finding or "job_submit" in finding] == []
    assert any("JobCompType=jobcomp/python" in finding for finding in site.found())


PROLOG = "@hook.spank.job_prolog\ndef prolog(spank): pass\n"


@pytest.mark.parametrize("name", ["", "hooks.d/other.py"])
def test_prologs_that_run_in_the_job(site: Site, name: str) -> None:
    """With PrologFlags=RunInJob, in any case, Slurm calls no prolog of SPANK, which other handlers do not need."""
    others = ("JobSubmitPlugins=python", f"PluginDir={site.plugins}")
    site.plugstack(f"required spank_python.so {name}")
    file = site.file(PROLOG, Path(name or "a.py").name)
    for flags in ("Alloc,RunInJob", "runinjob", "Contain", ""):
        site.conf(*others, f"PrologFlags={flags}")
        wanted = [
            f"{site.etc}/slurm.conf: with PrologFlags=RunInJob, Slurm never calls handler {file.stem}:prolog of"
            " hook.spank.job_prolog: remove this flag, or use task_post_fork and exit of the extern step instead"
        ]
        assert site.found() == (wanted if "job" in flags.lower() else [])
    site.conf(*others, "PrologFlags=RunInJob")
    site.file(INIT, file.name)
    assert site.found() == []


@pytest.mark.parametrize("text", [INIT, 'hook.spank.option("x", usage="")\n'])
def test_no_line_of_plugstack_conf(site: Site, text: str) -> None:
    """The line may be in an included file; without a line, Slurm calls no SPANK handler."""
    site.file(text)
    (site.etc / "plugstack.d").mkdir()
    site.plugstack("include plugstack.d/*.conf")
    found = site.found()
    assert len(found) == 1
    assert found[0].startswith(f"{site.etc / 'plugstack.conf'}: Slurm never calls ")
    assert found[0].endswith("it needs the line required spank_python.so")
    (site.etc / "plugstack.d" / "ours.conf").write_text("required spank_python.so\n")
    assert site.found() == []


def test_a_line_that_is_there_twice(site: Site) -> None:
    """Slurm would load the plugin twice and complain about its options to each user."""
    site.file(INIT)
    site.plugstack("required spank_python.so\nrequired spank_python.so")
    assert "plugstack.conf has a line for spank_python.so twice: remove one" in site.check().output
    site.plugstack("required spank_python.so\nrequired spank_python.so hooks.d/a.py")
    assert "twice" not in site.check().output


def test_handlers_that_only_the_other_file_names(site: Site) -> None:
    """If plugstack.conf names files, SPANK loads these; all other plugin points load those of slurmhooks.toml."""
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


def test_plugins_where_slurm_does_not_look(site: Site) -> None:
    """PluginDir must contain the folder of the plugins, and the folder must contain the plugin."""
    site.file(SUBMIT)
    elsewhere = site.etc / "plugins"
    elsewhere.mkdir()
    site.conf(f"PluginDir={elsewhere}", "JobSubmitPlugins=python")
    result = site.check("--plugin-dir", site.plugins)
    assert result.exit_code == 1
    assert (
        f"{site.etc}/slurm.conf: Slurm never calls handler a:submit of hook.job_submit: it needs the line"
        f" PluginDir={elsewhere}:{site.plugins}\n" in result.output
    )
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python")
    (site.plugins / "job_submit_python.so").unlink()
    assert site.found() == [
        f"{site.plugins}/job_submit_python.so: missing, so Slurm never calls handler a:submit of hook.job_submit:"
        " run 'slurmhooks install' again"
    ]


def test_a_scrun_lua_that_is_not_ours(site: Site) -> None:
    """scrun reads one script, which must be the one that calls the plugin in this folder."""
    site.file("@hook.scrun.stage_in\ndef stage(container): pass\n")
    script = site.etc / "scrun.lua"
    wanted = f"{script}: scrun never calls handler a:stage of hook.scrun.stage_in: "
    assert site.found() == [wanted + "No such file or directory; run 'slurmhooks install'"]
    script.write_text("-- mine")
    assert site.found() == [wanted + "it was not made by 'slurmhooks install', which says how both can run"]
    script.write_text("-- Made by 'slurmhooks install'\nloadlib('/old/scrun_python.so')")
    assert site.found()[0].startswith(wanted + "it loads another plugin")
    script.write_text(f"-- Made by 'slurmhooks install'\nloadlib('{site.plugins}/scrun_python.so')")
    assert site.found() == []


def test_a_build_without_scrun(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers for scrun are not a mistake on a machine without scrun; if it has scrun, the build is too old."""
    site.file("@hook.scrun.stage_in\ndef stage(container): pass\n")
    record = build_record.BuildRecord.load(site.plugins)
    assert record is not None
    replace(record, lua=None).save(site.plugins)
    (site.plugins / "scrun_python.so").unlink()
    monkeypatch.setattr(slurm, "find_program", lambda name: Path("/usr/bin/scrun") if name == "scrun" else None)
    assert site.found() == [
        f"{site.plugins}: scrun never calls handler a:stage of hook.scrun.stage_in: the plugins were built without"
        " scrun's Lua; run 'slurmhooks build' and 'slurmhooks install' again"
    ]
    monkeypatch.setattr(slurm, "find_program", lambda name: None)
    result = site.passed("check", "--plugin-dir", site.plugins)
    assert (
        "note: this machine has no scrun, so nothing calls handler a:stage of hook.scrun.stage_in here" in result.output
    )


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: only root can judge for others")
def test_scripts_of_scrun_that_others_can_write(site: Site) -> None:
    """scrun runs its Lua scripts as its caller, before slurmhooks could check them, so `slurmhooks check` does."""
    own, script = site.etc / "own.lua", site.etc / "scrun.lua"
    (site.etc / "slurmhooks.toml").write_text('[scrun]\nlua = "own.lua"\n')
    for path in (own, script):
        path.touch()
        assert site.found() == []
        path.chmod(0o666)
        (finding,) = site.found()
        assert finding.startswith(f"{path}: it is writable by everybody")
        assert finding.endswith(f": chmod o-w {path}")
        path.chmod(0o644)
    assert site.found() == []


def test_what_slurmctld_cannot_read(site: Site) -> None:
    """Run by root, check reports files that SlurmUser cannot read, with the command that helps."""
    path = site.file(SUBMIT)
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "SlurmUser=nobody")
    assert site.found() == []
    start = "SlurmUser nobody cannot {}, so slurmctld does not load the hooks: chmod o+{} {}"
    site.hooks.chmod(0o700)
    assert site.found() == [f"{path}: " + start.format(f"enter {site.hooks}", "x", site.hooks)]
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


def test_hooks_of_scrun_that_users_cannot_read(site: Site) -> None:
    """scrun runs as ordinary users, who must be able to read the hook files."""
    path = site.file("@hook.scrun.stage_in\ndef stage(container): pass\n")
    script = site.etc / "scrun.lua"
    script.write_text(f"-- Made by 'slurmhooks install'\nloadlib('{site.plugins}/scrun_python.so')")
    assert site.found() == []
    path.chmod(0o640)
    assert site.found() == [f"{path}: ordinary users cannot read it, so scrun fails for them: chmod o+r {path}"]


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: only root can give files away")
@pytest.mark.parametrize("what", ["file", "folder", "configuration"])
def test_what_slurm_user_could_have_written(site: Site, run: Call, tmp_path: Path, what: str) -> None:
    """slurmctld runs a file of SlurmUser as SlurmUser; a command of root does not, or SlurmUser could become root."""
    path = site.file(SUBMIT + f"import os\nos.makedirs({str(tmp_path / 'ran')!r}, exist_ok=True)\n")
    toml = site.etc / "slurmhooks.toml"
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "SlurmUser=nobody")
    os.chown({"file": path, "folder": site.hooks, "configuration": toml}[what], 65534, 65534)
    refused = toml if what == "configuration" else path
    wanted = f"{refused}: SlurmUser (user id 65534) could have written it, so root does not run it: run this command"
    assert [finding for finding in site.found() if "SlurmUser" in finding] == [f"{wanted} as SlurmUser"]
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    result = run("try", "job_submit", "--sysconfdir", site.etc, script)
    assert (result.exit_code, wanted in result.output) == (1, True)
    assert not (tmp_path / "ran").exists()
    os.chown({"file": path, "folder": site.hooks, "configuration": toml}[what], 0, 0)
    assert site.found() == []
    assert (tmp_path / "ran").exists()


def test_which_bits_count(open_folder: Path) -> None:
    """The bits of the owner, the group or others count, whichever applies first to a user; root needs none."""
    path = open_folder / "file"
    path.touch()
    if os.getuid() == 0:
        os.chown(path, 1234, 1234)
    owner, group = path.stat().st_uid, path.stat().st_gid
    for mode, uid, gids, remedy in (
        (0o077, owner + 1, {group + 1}, None),
        (0o070, owner + 1, {group}, None),
        (0o704, owner + 1, {group}, f"chmod g+r {path}"),
        (0o077, owner, {group}, f"chmod u+r {path}"),
        (0o400, owner, {group}, None),
        (0o740, owner + 1, {group + 1}, f"chmod o+r {path}"),
        (0o000, 0, set[int](), None),
    ):
        path.chmod(mode)
        found = access.obstacle(str(path), access.Reader("x", uid, frozenset(gids)))
        assert (found and found[2]) == remedy
    link = open_folder / "link"
    link.symlink_to(path)
    path.chmod(0o600)
    found = access.obstacle(str(link), access.USERS)
    assert found == (str(link), "read", f"chmod o+r {path}")


def test_a_manifest_that_users_cannot_read(site: Site) -> None:
    """Only root could read the file."""
    site.file(INIT)
    site.deploy()
    assert site.found() == []
    path = (site.etc / "slurmhooks.set").resolve() / ".manifest"
    path.chmod(0o600)
    assert site.found() == [
        f"{site.etc}/slurmhooks.set/.manifest: ordinary users cannot read it, so Python starts in all of their"
        f" processes: chmod o+r {path}"
    ]


def test_filters_of_commands(site: Site) -> None:
    """slurm.conf must name the plugin, the folder must contain it, and users must be able to read the hook files."""
    path = site.file("@hook.cli_filter.pre_submit\ndef limit(options): pass\n")
    assert site.found() == [
        f"{site.etc}/slurm.conf: Slurm never calls handler a:limit of hook.cli_filter.pre_submit: it needs the line"
        " CliFilterPlugins=python",
        f"{site.plugins}/cli_filter_python.so: missing, so Slurm never calls handler a:limit of"
        " hook.cli_filter.pre_submit: run 'slurmhooks install' again",
    ]
    site.conf(f"PluginDir={site.plugins}", "CliFilterPlugins=lua,python")
    (site.plugins / "cli_filter_python.so").touch()
    assert site.found() == []
    path.chmod(0o640)
    assert site.found() == [
        f"{path}: ordinary users cannot read it, so srun, sbatch and salloc fail for them: chmod o+r {path}"
    ]


def test_the_user_of_workers(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user of the configuration must exist, must be able to read the files, and needs SlurmUser=root."""
    path = open_folder / "hooks.py"
    path.touch(0o600)
    loaded = whole_site.Loaded()
    loaded.users = {"prep": "nobody", "site_factor": "somebody-else"}
    loaded.config_files = [str(path)]
    monkeypatch.setenv("SLURM_CONF", str(open_folder / "slurm.conf"))
    (open_folder / "slurm.conf").write_text("SlurmUser=root\n")
    findings, notes = access.problems(loaded, open_folder)
    assert findings == [f"{path}: user nobody cannot read it, so slurmctld does not load the hooks: chmod o+r {path}"]
    assert notes == ["site_factor.user: this machine has no user 'somebody-else'; slurmctld's must have it"]
    path.chmod(0o644)
    assert access.problems(loaded, open_folder)[0] == []
    (open_folder / "slurm.conf").write_text("SlurmUser=daemon\n")
    (finding,) = access.problems(loaded, open_folder)[0]
    assert finding.startswith("prep.user: SlurmUser is not root, so workers cannot run as 'nobody'")
