# SPDX-License-Identifier: GPL-2.0-or-later
"""Which handlers this machine has, in force or recorded in the manifest.

How hook files get into a process: ``sources`` finds the files that slurmhooks.toml or a line of plugstack.conf names;
``loading`` takes these, or what the ``manifest`` names instead; slurmhooks.handlers.loader runs them. Callers of
``loading`` are slurmhooks.entry.spank for a line, slurmhooks.entry.launch_handlers for cli_filter and scrun, ``reload``
for the workers of slurmctld, where one set replaces another, and slurmhooks.cli.whole_site, which loads all of them to
check and compile. slurmhooks.entry.scripts_and_rules adds Lua scripts and ready-made rules.
"""
