# SPDX-License-Identifier: GPL-2.0-or-later
"""The hook files to measure, and the equivalent scripts for spank-lua."""

OPTIONS = """
for number in range(2):
    hook.spank.option(f"bench-{number}", "VALUE", usage="does nothing")
"""
QUIET = f"""from slurmhooks import hook
{OPTIONS}

@hook.spank.slurmd_exit
def never(spank):
    pass
"""
"""Options, but no handler in any process of a job."""

TASK = f"""from slurmhooks import hook
{OPTIONS}

@hook.spank.task_init
def task(spank):
    spank.env["BENCH"] = "1"
"""
"""Options, and one handler in each task."""

EARLY = """from slurmhooks import hook

@hook.spank.init(contexts=("local",))
def early(spank):
    spank.env["BENCH"] = "1"
"""
"""One handler in each srun, before it reads its options."""

OTHER = "from slurmhooks import hook\n@hook.job_submit\ndef other(job): ...\n"
"""A hook file that no launch needs."""

LUA_OPTIONS = """
spank_options = {
   { name = "bench-0", arginfo = "VALUE", usage = "does nothing", has_arg = 1, cb = "given" },
   { name = "bench-1", arginfo = "VALUE", usage = "does nothing", has_arg = 1, cb = "given" },
}
function given(value, text, remote) return SPANK.SUCCESS end
"""
QUIET_LUA = LUA_OPTIONS + "function slurm_spank_slurmd_exit(spank) return SPANK.SUCCESS end\n"
TASK_LUA = (
    LUA_OPTIONS + 'function slurm_spank_task_init(spank) spank:setenv("BENCH", "1", 1) return SPANK.SUCCESS end\n'
)
