# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script needs of a build is found in its text."""

from slurmhooks.lua import needs

SCRIPT = b"""
local function who(desc) return desc.default_account end
function slurm_job_submit(job_desc, part_list, submit_uid)
  local account = job_desc.account or who(job_desc)
  for name in pairs(part_list) do slurm.log_info(name) end
  return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  if job_rec.comment == "x" or slurm.jobs[5] then return slurm.ERROR end
  return slurm.SUCCESS
end
"""


def test_what_needs_sources() -> None:
    """Records, tables and facts of associations are named with their first line, also in functions that are called."""
    assert needs.sources(SCRIPT) == {"job_desc.default_account": 2, "part_list": 5, "job_rec": 9, "slurm.jobs": 9}


def test_other_names_of_the_same() -> None:
    """What a script uses by another name, or by a text as the key, is found, too."""
    script = b"""
local api, keys = slurm, {"account", "assoc_qos"}
local s = slurm
function slurm_job_submit(asked)
  local desc, all = asked, s.reservations
  for _, key in ipairs(keys) do slurm.log_info(tostring(desc[key])) end
  return desc.default_qos and slurm.SUCCESS
end
"""
    expected = {"job_desc.assoc_qos": 2, "slurm.reservations": 5, "job_desc.default_qos": 7}
    assert needs.sources(script) == expected
    assert needs.sources(b'local who = "slurm"\nlocal x = who.jobs') == {}
    assert needs.sources(b'local x = {"slurm", jobs = 1}; slurm.log_info("slurm", x["slurm"].jobs)') == {}
    assert needs.sources(b"local x = site.slurm.jobs") == {}
    assert needs.sources(b"local all = slurm.log_info\nlocal x = all.jobs") == {}


def test_a_script_without_needs() -> None:
    """Fields of the request itself need nothing."""
    assert needs.sources(b"function slurm_job_submit(job_desc) job_desc.comment = job_desc.account end") == {}
