# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs calls of all plugin points under valgrind."""

import shutil
from pathlib import Path

from tests.native.building import Build
from tests.native.hosting import Host, Run
from tests.native.manifests import compile_manifest

HERE = Path(__file__).parent
CORE = Path("slurmhooks", "libslurmhooks_core.so")
COMMAND = [
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
    "--num-callers=30",
    # Reports name functions of libraries that were unloaded.
    "--keep-debuginfo=yes",
    f"--suppressions={HERE / 'valgrind.supp'}",
]
SITE = """
greet = hook.spank.option("greet", "NAME", usage="who")

@hook.job_submit
def submit(job):
    job.comment = f"was {job.comment}"
    job.environment["NEW"] = "1"
    del job.environment["OLD"]
    job.argv = [*job.argv, "more"]
    log.user("hello")
    if job.account == "refuse":
        raise Reject("no")
    if job.account == "fail":
        raise RuntimeError

@hook.spank.task_init
def task_init(spank):
    spank.env["HELLO"] = greet.value or "nobody"
    log.info("items", argv=spank.job_argv, ncpus=spank.job_ncpus, task=spank.task_global_id)

@hook.spank.user_init
@hook.spank.task_post_fork
@hook.spank.task_exit
def each(spank):
    log.info("each", callback=spank.callback, item=spank.job_id, value=greet.value)

@hook.scrun.stage_in
def stage_in(container):
    container.bundle = "/new"
    container.allocator_command("true")
"""
SCRIPT = """
    job argv=prog env=A=1
    context remote
    open known $spank hooks.py known
    call known init
    option known greet Ada
    call known init_post_opt
    call known user_init
    call known task_init_privileged
    call known task_init
    call known task_post_fork
    call known task_exit
    call known exit
    close known
    open sp $spank hooks.py
    call sp init
    option sp greet Ada
    fork
    call sp task_init
    end
    call sp task_init
    close sp
    open js $job_submit
    threads 2
    job_submit js script=x argv=run environment=OLD=1 comment=old
    job_submit js script=x account=refuse environment=OLD=1
    job_submit js script=x account=fail environment=OLD=1
    end
    close js
    lua $lua
    stage_in bundle=/b env=A=1
    balance
    """
TIME_LIMIT = 300.0


def run(build: Build, folder: Path) -> Run:
    """Run the script; without valgrind if the build has sanitizers. An AssertionError has the report."""
    host = Host(build, folder)
    is_sanitized = any(option.startswith("-Db_sanitize") for option in build.flavour.options)
    if not is_sanitized:
        shutil.copy(build.malloc_core, host.use_copy_of_plugins() / CORE)
    host.site(SITE)
    compile_manifest(host, args=("hooks.py", "known"))
    return host.run(SCRIPT, wrapper=[] if is_sanitized else COMMAND, time_limit=TIME_LIMIT)
