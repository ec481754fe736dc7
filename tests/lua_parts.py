# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of which tests draw Lua scripts: what scripts of sites do, and what goes wrong in them."""

COMMAND_PARTS = (
    "slurm.log_info('%s of %s', options['type'], tostring(options.account))",
    "slurm.log_debug('%d words, the first is %s', #options.argv, tostring(options.argv[1]))",
    "slurm.log(7, 'deep')",
    "slurm.log_error('%s')",
    "slurm.log_user('no such function')",
    "if options.account == nil then options.account = 'physics' end",
    "if options['time'] == nil then slurm.log_error('time') return slurm.ERROR end",
    "options['time'] = 5",
    "options.time = 'never'",
    "options['no-such-option'] = 'x'",
    "options.comment = nil",
    "options.comment = {}",
    "options[1] = 'x'",
    "options[{}] = 'x'",
    "local s = options.comment .. 'x'",
    "if options.partition == 'long' then return slurm.ESLURM_INVALID_PARTITION_NAME or 7 end",
    "if tonumber(options.ntasks or 1) > 3 then return '3' end",
    "for plugin in pairs(options.spank) do slurm.log_info('%s', plugin) end",
    "slurm.cli_store(1, options.account or 'none') slurm.log_info('%s', slurm.cli_retrieve(1))",
    "slurm.cli_store(2, nil)",
    "slurm.log_info('%s', slurm.json_cli_options(options))",
    "slurm.log_info('%s', tostring(slurm.json_cli_options(5)))",
    "slurm.log_info('%s', slurm.json_env())",
    "slurm.log_info('%s', tostring(slurm.cli_retrieve(1)))",
    "calls = (calls or 0) + 1 slurm.log_info('call %d', calls)",
    "slurm.log_info('%d', slurm.time_str2mins('1-00:00'))",
    "slurm.log_info('%s', os.date('%Y'))",
    "return",
    "return 'text'",
    "return true",
    "return slurm.SUCCESS, 'more'",
    "return 1.9",
    "return nil + 1",
    "error({})",
    "error('broken', 0)",
)
"""Statements of a cli_filter.lua."""

STEP_PARTS = (
    "SPANK.log_info('%s %s', spank.context, tostring(spank.slurm_version))",
    "SPANK.log_error('%d', #spank.args)",
    "SPANK.log_user('hello %s', spank.args[1])",
    "SPANK.log_debug('%s')",
    "SPANK._log_msg(1, {})",
    "SPANK.log_info('%s', spank:remote())",
    "spank.remote()",
    "local v, e = spank:getenv('A') SPANK.log_info('%s %s', tostring(v), tostring(e))",
    "local ok, e = spank:setenv('A', 'b', 1) SPANK.log_info('%s %s', tostring(ok), tostring(e))",
    "local ok, e = spank:setenv('A', 'c', 0) SPANK.log_info('%s %s', tostring(ok), tostring(e))",
    "spank:setenv('N', 5, true)",
    "spank:setenv('A', nil)",
    "spank:setenv(nil, 'x')",
    "spank:unsetenv('A')",
    "local ok, e = spank:job_control_setenv('C', 'x', 1) SPANK.log_info('%s %s', tostring(ok), tostring(e))",
    "local id, e = spank:get_item('S_JOB_UID') SPANK.log_info('%s %s', tostring(id), tostring(e))",
    "local id, e = spank:get_item('S_TASK_ID') SPANK.log_info('%s %s', tostring(id), tostring(e))",
    "local step = spank:get_item('S_JOB_STEPID') if step == -5 then SPANK.log_info('batch') end",
    "local argv, e = spank:get_item('S_JOB_ARGV') if argv then SPANK.log_info('%s', table.concat(argv, '|')) end",
    "local v, e = spank:getopt{ name = 'greet', usage = 'x', has_arg = 1 } SPANK.log_info('%s', tostring(v or e))",
    "spank:getopt{ name = 'greet' }",
    "spank:getopt(5)",
    "spank:register_option{ name = 'late', usage = 'x', has_arg = 0, cb = 'taken', val = 3 }",
    "spank:register_option{ name = 'wrong', usage = 'x', cb = 'nobody' }",
    "calls = (calls or 0) + 1 SPANK.log_info('call %d', calls)",
    "local s = 'x' .. nil",
    "error('broken', 0)",
    "return SPANK.FAILURE",
    "return SPANK.SUCCESS",
    "return 1",
    "return 'text'",
    "return",
)
"""Statements of a script of spank-lua."""

STEP_OPTIONS = """
spank_options = {
   { name = "greet", arginfo = "NAME", usage = "say hello", has_arg = 1, val = 1, cb = "taken" },
   { name = "maybe", arginfo = "N", usage = "perhaps", has_arg = 2, val = 2, cb = "taken" },
   { name = "quiet", usage = "nothing" },
}
function taken(val, optarg, remote)
   SPANK.log_info("%s %s %s", tostring(val), tostring(optarg), tostring(remote))
   if optarg == "bad" then return SPANK.FAILURE end
   if optarg == "bug" then error("bug") end
end
"""
"""The options of such a script, and their function."""


def command_script(defaults: list[str], submit: list[str], post: str = "") -> str:
    """Return a script whose functions have parts as their bodies."""
    bodies = ["\n".join(f"do {part} end" for part in parts) for parts in (defaults, submit)]
    return (
        f"function slurm_cli_setup_defaults(options)\n{bodies[0]}\nreturn 0 end\n"
        f"function slurm_cli_pre_submit(options, offset)\n{bodies[1]}\nreturn 0 end\n"
        f"function slurm_cli_post_submit(offset, job_id, step_id)\n{post}\nreturn 0 end\n"
    )
