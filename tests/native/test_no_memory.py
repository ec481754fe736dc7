# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes with little memory: from too little to load a library up to plenty."""

import pytest

from tests.native.hosting import Host

MIB = 1 << 20
SIZES = [4, 6, 15, 20, 40, 68, 120, 256]
"""MiB of addresses. The host itself needs 4; below 8, libraries cannot be loaded; Python needs 40."""
EVERY = [*range(4, 100), *range(100, 300, 20)]
PLENTY = 256
SITE = """
@hook.spank.init
def init(spank):
    log.info("ran")

@hook.scrun.stage_in
def stage_in(container):
    log.info("ran")

@hook.job_submit
def submit(job):
    job.comment = "ran"
"""
SCRIPTS = {
    "srun": "context local\nopen sp $spank\ncall sp init",
    "slurmstepd": "context remote\nopen sp $spank\ncall sp init",
    "slurmd": "context slurmd\nopen sp $spank\ncall sp init",
    "scrun": "lua $lua\nstage_in bundle=/tmp",
}


def check(host: Host, process: str, size: int) -> None:
    """Run a handler in a process with this many MiB: it runs, or the call fails and the log says why."""
    run = host.run(SCRIPTS[process], wrapper=("prlimit", f"--as={size * MIB}"), quiet=False)
    result = run.results[-1]
    ran = bool(run.said("ran"))
    failed = result.rc != 0 if process == "scrun" else result.failed
    assert failed != ran, (size, run.results, run.log)
    assert ran or run.lines("ERROR", "SYSLOG"), (size, run.log)
    assert ran or size < PLENTY, (size, run.log)
    assert not run.noise, (size, run.noise)


@pytest.mark.parametrize("process", SCRIPTS)
def test_little_memory(host: Host, process: str) -> None:
    """The handler runs, or its callback fails and the log says why; the process continues."""
    host.site(SITE)
    for size in SIZES:
        check(host, process, size)


@pytest.mark.soak
@pytest.mark.parametrize("process", SCRIPTS)
def test_each_size(host: Host, process: str) -> None:
    """The same for each number of MiB up to 100."""
    host.site(SITE)
    for size in EVERY:
        check(host, process, size)


@pytest.mark.soak
@pytest.mark.parametrize("size", [4, 8, 12, 18, 24, 30, 38, 46, 64, 128, PLENTY])
def test_workers_with_little_memory(host: Host, size: int) -> None:
    """A request is answered, or refused with a line for the user; slurmctld starts and ends as usual."""
    host.site(SITE)
    config = host.folder / "slurmhooks.toml"
    config.write_text(f"{config.read_text()}\n[decisions]\nenabled = false\n")
    script = "open js $job_submit\njob_submit js account=a\nclose js"
    run = host.run(script, wrapper=("prlimit", f"--as={size * MIB}"), quiet=False)
    result = run.one("job_submit")
    assert (result.rc == 0) == (result["comment"] == "ran"), (run.results, run.log)
    assert result.rc == 0 or (result["err_msg"] and run.lines("ERROR")), (run.results, run.log)
    assert result.rc == 0 or size < PLENTY, run.log
