# SPDX-License-Identifier: GPL-2.0-or-later
"""What functions that Slurm calls leave behind: fakehost ends if one of them has changed errno."""

import subprocess
import textwrap

import pytest

from tests.native.hosting import Host

pytestmark = pytest.mark.slow

SPANK_CALLBACKS = (
    *("init", "init_post_opt", "local_user_init", "user_init", "task_init_privileged", "task_init"),
    *("task_post_fork", "task_exit", "exit", "slurmd_exit", "job_prolog", "job_epilog"),
)
START = """
    conf state_save_location $dir
    conf plugindir $plugins
    context remote
"""

CALLS = {
    "job_submit": {
        "init": "open js $plugins/job_submit_python.so",
        "slurmhooks_start_workers": "enter js slurmhooks_start_workers",
        "job_submit": "job_submit js account=a",
        "job_modify": "job_modify js account=a",
        "fini": "close js",
    },
    "jobcomp": {
        "init": "open js $plugins/jobcomp_python.so",
        "slurmhooks_start_workers": "enter js slurmhooks_start_workers",
        "jobcomp_p_set_location": "set_location js",
        "jobcomp_p_log_record": "job_end js",
        "jobcomp_p_record_job_end": "job_end js",
        "jobcomp_p_record_job_start": "job_start js",
        "jobcomp_p_get_jobs": "get_jobs js",
        "fini": "close js",
    },
    "prep": {
        "init": "open p $plugins/prep_python.so",
        "slurmhooks_start_workers": "enter p slurmhooks_start_workers",
        "prep_p_register_callbacks": "enter p prep_p_register_callbacks",
        "prep_p_required": "enter p prep_p_required",
        "prep_p_prolog": "enter p prep_p_prolog",
        "prep_p_epilog": "enter p prep_p_epilog",
        "prep_p_prolog_slurmctld": "enter p prep_p_prolog_slurmctld",
        "prep_p_epilog_slurmctld": "enter p prep_p_epilog_slurmctld",
        "fini": "close p",
    },
    "site_factor": {
        "init": "open p $plugins/site_factor_python.so",
        "slurmhooks_start_workers": "enter p slurmhooks_start_workers",
        "site_factor_p_set": "enter p site_factor_p_set",
        "site_factor_p_update": "enter p site_factor_p_update",
        "site_factor_p_reconfig": "enter p site_factor_p_reconfig",
        "fini": "close p",
    },
    "cli_filter": {
        "cli_filter_p_setup_defaults": "open p $plugins/cli_filter_python.so\nenter p cli_filter_p_setup_defaults",
        "cli_filter_p_pre_submit": "enter p cli_filter_p_pre_submit",
        "cli_filter_p_post_submit": "enter p cli_filter_p_post_submit",
    },
    "spank": {
        "slurm_spank_init": "open p $plugins/spank_python.so\ncall p init",
        **{f"slurm_spank_{name}": f"call p {name}" for name in SPANK_CALLBACKS[1:]},
    },
    "scrun": {
        "slurmhooks_scrun_script": "lua_function $plugins/scrun_python.so slurmhooks_scrun_script",
        "luaopen_scrun_python": "lua_function $plugins/scrun_python.so luaopen_scrun_python\n"
        "lua $lua\nstage_in bundle=$dir\nstage_out",
    },
}
"""How fakehost calls each function that a plugin exports, in order. A new function must be added here."""

HANDLERS = textwrap.dedent("""
    import errno, os, time

    greet = hook.spank.option("greet", arginfo="NAME", usage="who")

    def work():
        log.info("at work")
        time.sleep(0.02)  # whoever waits for the answer finds none at first
        try:
            os.stat("/nowhere")
        except OSError:
            pass

    def fail():
        work()
        raise Reject("no")

    answer = fail if FAILS else work

    @hook.job_submit
    def submit(job): answer()

    @hook.job_modify
    def modify(job): answer()

    @hook.job_end
    def end(event): work()

    @hook.controller_prolog
    def prolog(): answer()

    @hook.controller_epilog
    def epilog(): work()

    @hook.scrun.stage_in
    def stage_in(container): answer()

    @hook.scrun.stage_out
    def stage_out(container): answer()
""") + "".join(
    f"@hook.spank.{name}\ndef spank_{name}(spank): {'work' if name == 'init' else 'answer'}()\n"
    for name in SPANK_CALLBACKS
)

WITHOUT_HANDLERS = ("jobcomp", "site_factor", "cli_filter")
"""They need more of Slurm, or do not wait for handlers."""

SITES = {
    "passes": "FAILS = False\n" + HANDLERS,
    "refuses": "FAILS = True\n" + HANDLERS,
    "does not load": 'raise OSError(11, "broken")\n',
}


def exports(host: Host, plugin: str) -> list[str]:
    """Return the functions that a plugin exports."""
    path = host.plugins / f"{plugin}_python.so"
    command = ["nm", "-D", "--defined-only", str(path)]
    symbols = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [words[2] for words in map(str.split, symbols) if words[1] in "TW"]


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("plugin", CALLS)
def test_entry_points_leave_errno_as_it_was(host: Host, plugin: str, site: str) -> None:
    """No exported function changes errno, nor an option's callback; job_submit() and job_modify() set it to 0."""
    exported = exports(host, plugin)
    assert exported
    assert set(exported) <= set(CALLS[plugin]), "say in CALLS how Slurm calls these functions"
    if plugin == "scrun" and not host.build.has_lua:
        pytest.skip("no Lua")
    host.site(SITES[site])
    lines = "\n".join(line for name, line in CALLS[plugin].items() if name in exported)
    if plugin == "spank" and site != "does not load":
        lines += "\noption p greet me"
    run = host.run(START + lines)
    if site == "passes":
        assert run.said("at work") or plugin in WITHOUT_HANDLERS, run.lines()


@pytest.mark.parametrize("components", [1, 2])
def test_srun_is_not_asked_for_what_it_has_lost(host: Host, components: int) -> None:
    """After srun has read the options of several components, the job control environment is refused, not asked for."""
    host.site(
        """
        from slurmhooks import SpankError
        @hook.spank.init_post_opt
        def write(spank):
            spank.job_control_env["A"] = "1"
        @hook.spank.local_user_init
        def read(spank):
            try:
                log.info("read %s", spank.job_control_env.get("A"))
            except SpankError as error:
                log.info("refused %s", error.code)
        """
    )
    calls = "call sp init_post_opt\n" * components
    run = host.run(f"open sp $spank hooks.py\ncontext local\ncall sp init\n{calls}call sp local_user_init")
    assert ("read 1" if components == 1 else "refused ESPANK_NOT_AVAIL") in run
