# SPDX-License-Identifier: GPL-2.0-or-later
"""Ready-made rules for job_submit and job_modify, which a site switches on in slurmhooks.toml.

base.py has what all rules share; the modules beside it have the rules, grouped by topic; source.py makes handlers from
the rules that a configuration names.
"""
