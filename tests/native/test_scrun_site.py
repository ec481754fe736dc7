# SPDX-License-Identifier: GPL-2.0-or-later
"""The site's own scrun.lua, which runs after the handlers, in a real Lua state."""

import re
import tomllib

import pytest

from tests.native.hosting import Host
from tests.native.manifests import compile_scrun, deployed

SITE = """
local loaded = 0
function slurm_scrun_stage_in(id, bundle, spool_dir, config_file, job_id, user_id, group_id, job_env)
   slurm.log_info("site in %s %s %s %s %d %d %d %s %s", id, bundle, spool_dir, config_file, job_id, user_id, group_id,
      tostring(job_env[0]), tostring(job_env[2]))
   if id == "refused" then return slurm.ERROR end
   if id == "broken" then error("no such thing") end
   if id == "silent" then return end
   slurm.log_info("site moved %s", slurm.set_bundle_path("/of/site"))
   return slurm.SUCCESS
end
function slurm_scrun_stage_out(id, bundle, orig_bundle, root_path, orig_root_path, spool_dir, config_file, job_id, ...)
   local user_id, group_id = ...
   slurm.log_info("site out %s %s %s %s %s %s %s %d %d %d", id, bundle, orig_bundle, tostring(root_path),
      orig_root_path, spool_dir, config_file, job_id, user_id, group_id)
   return id == "refused" and slurm.ERROR or slurm.SUCCESS
end
slurm.log_info("site loaded")
"""


pytestmark = pytest.mark.usefixtures("needs_lua")


def own(host: Host, script: str = SITE, hooks: str = "") -> None:
    """Write the site's own script, and a hook file."""
    if hooks:
        host.site(hooks)
    (host.folder / "site.lua").write_text(script)
    text = '[scrun]\nlua = "site.lua"\n'
    host.config(text + ('[hooks]\npaths = ["hooks.py"]\n' if hooks else ""))


def test_arguments_and_results(each_host: Host) -> None:
    """The script gets the arguments of scrun, and scrun gets what it returns or raises."""
    own(each_host)
    run = each_host.run(
        """
        lua $lua
        stage_in id=box bundle=/b env=A=1 env=B=2 env=C=3
        stage_out id=box
        stage_in id=refused bundle=/b
        stage_out id=refused
        stage_in id=silent bundle=/b
        stage_in id=broken bundle=/b
        """
    )
    assert run.one("lua")["why"] is None
    box, refused, silent, broken = run.of("stage_in")
    assert (box.rc, box["bundle"]) == (0, "/of/site")
    assert (refused.rc, silent.rc, broken.rc) == (-1, 0, -1)
    assert [out.rc for out in run.of("stage_out")] == [0, -1]
    texts = [text for _, text in run.log]
    assert texts[:2] == [texts[0], "site loaded"]
    assert "Python starts in every scrun; run 'slurmhooks deploy'" in texts[0]
    assert "site in box /b /spool /spool/config.json 4711 2001 2002 A=1 C=3" in texts
    assert "site moved /orig/bundle" in texts
    where = "/orig/bundle nil /orig/root /spool /spool/config.json 4711 2001 2002"
    assert f"site out box /of/site {where}" in texts
    assert any(re.search(r"site\.lua:7: no such thing$", text) for text in texts)


def test_handlers_come_first(host: Host) -> None:
    """Handlers run before the script, which gets the bundle that they set, and does not run if one refuses."""
    own(
        host,
        hooks="""
        @hook.scrun.stage_in
        def move(container):
            log.info("python in", bundle=container.bundle)
            container.bundle = "/of/python"
            if container.id == "no":
                raise Reject("not this one")

        @hook.scrun.stage_out
        def out(container):
            log.info("python out", bundle=container.bundle)
            raise Reject("cannot")
        """,
    )
    run = host.run("lua $lua\nstage_in id=no bundle=/b\nstage_in id=silent bundle=/b\nstage_out id=silent")
    no, yes = run.of("stage_in")
    assert (no.rc, no["bundle"], yes.rc, yes["bundle"]) == (-1, "/b", 0, "/of/python")
    assert not any(text.startswith("site in no") for _, text in run.log)
    assert any(text.startswith("site in silent /of/python /spool") for _, text in run.log)
    # The script stages out even if a handler refuses, and scrun gets the failure.
    assert any(text.startswith("site out silent /of/python") for _, text in run.log)
    assert run.one("stage_out").rc == -1


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("x = = 1\n", r"site\.lua:1: unexpected symbol"),
        ("error('not today')\n", r"site\.lua:1: not today"),
        ("function slurm_scrun_stage_in() end\n", "site.lua: missing required function slurm_scrun_stage_out"),
        (f"{SITE}\nreturn 5\n", "site.lua: returned 5 on load"),
        ("-- Made by 'slurmhooks install': of ours\n", "must name the site's own script"),
    ],
)
def test_a_bad_script_ends_scrun_at_the_start(host: Host, script: str, why: str) -> None:
    """A bad script ends scrun when it reads scrun.lua, before it asks for a job."""
    own(host, script)
    assert re.search(why, str(host.run("lua $lua").one("lua")["why"]))


def test_libraries_beside_the_script(host: Host) -> None:
    """The script requires those of its own set, also in folders; what is wrong in one is said."""
    folder = host.folder / "lua"
    (folder / "more").mkdir(parents=True)
    text = "local limits, more = require('limits'), require('more.limits')\nslurm.log_info(limits .. more)\n"
    (folder / "site.lua").write_text(text + SITE)
    host.config('[scrun]\nlua = "lua/site.lua"\n')
    (folder / "limits.lua").write_text("return 'one'\n")
    (folder / "more" / "limits.lua").write_text("return 'two'\n")
    run = host.run("lua $lua")
    assert run.one("lua")["why"] is None
    assert "onetwo" in run
    (folder / "limits.lua").write_text("return = 1\n")
    assert "lua/limits.lua:1: unexpected symbol" in str(host.run("lua $lua").one("lua")["why"])


@pytest.mark.parametrize("with_manifest", [True, False], ids=["manifest", "none"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        '[scrun]\nlua = "site.lua"\n',
        'scrun = {lua = "site.lua"}\n',
        '# [scrun]\n# lua = "other.lua"\n[job_submit]\nlua = "job_submit.lua"\n[scrun]\n',
    ],
)
def test_which_script_runs(host: Host, text: str, with_manifest: bool) -> None:
    """The script that slurmhooks.toml names runs; with a manifest Python is not started to find it."""
    own(host)
    host.config(text)
    named = tomllib.loads(text).get("scrun", {}).get("lua")
    if with_manifest:
        compile_scrun(host, named)
    run = host.run("lua $lua\nmapped libpython")
    assert run.one("lua")["why"] is None
    assert ("site loaded" in run) == (named is not None)
    assert run.one("mapped")["found"] == (not with_manifest)


def test_staging_with_a_manifest(host: Host) -> None:
    """The handlers that a manifest records run; an invalid manifest counts as absent."""
    own(host, hooks="hook.scrun.stage_in(lambda container: log.info('first'))")
    compile_scrun(host, "site.lua")
    host.run("lua $lua\nstage_in id=silent bundle=/b")
    run = host.run("lua $lua\nstage_in id=silent bundle=/b\nstage_out id=silent")
    assert run.said("first") == [""]
    assert [run.one(name).rc for name in ("stage_in", "stage_out")] == [0, 0]
    host.site("hook.scrun.stage_in(lambda container: log.info('the second one'))")
    deployed(host.folder).unlink()
    run = host.run("lua $lua\nstage_in id=silent bundle=/b")
    assert run.said("first") == []
    assert run.said("the second one") == [""]
    assert "site loaded" not in run


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[scrun]\nlua = ""\n', "slurmhooks.toml: scrun.lua: must be a text that is not empty"),
        ("[scrun\n", "slurmhooks.toml: not TOML"),
        ('[scrum]\nlua = "site.lua"\n', "slurmhooks.toml: scrum: unknown key"),
    ],
)
def test_a_wrong_configuration_ends_scrun_at_the_start(host: Host, text: str, why: str) -> None:
    """A wrong configuration is an error, since scrun must not run without the site's script."""
    own(host)
    host.config(text)
    assert why in str(host.run("lua $lua").one("lua")["why"])


def test_an_unreadable_configuration_ends_scrun_at_the_start(host: Host) -> None:
    """A configuration that cannot be read is an error, since it may name a script."""
    own(host)
    (host.folder / "slurmhooks.toml").unlink()
    (host.folder / "slurmhooks.toml").mkdir()
    assert re.search(r"slurmhooks\.toml: not a file", str(host.run("lua $lua").one("lua")["why"]))
