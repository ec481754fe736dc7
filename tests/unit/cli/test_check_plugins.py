# SPDX-License-Identifier: GPL-2.0-or-later
"""Findings about plugins of slurmctld that are not loaded, or have no job records."""

from dataclasses import replace

import pytest

from slurmhooks.cli import build_record
from tests.unit.cli.conftest import Site

RATE = "@hook.priority\ndef rate(record): return 1\n"
PROLOG = "@hook.controller_prolog\ndef starts(environment): pass\n"


@pytest.fixture
def lines(site: Site) -> list[str]:
    """Install all plugins, and return the lines of slurm.conf for job_submit."""
    for name in ("site_factor_python.so", "prep_python.so"):
        (site.plugins / name).touch()
    return [f"PluginDir={site.plugins}", "JobSubmitPlugins=python"]


@pytest.mark.parametrize(
    ("hooks", "more", "needed"),
    [
        (RATE, (), "PrioritySiteFactorPlugin=site_factor/python"),
        (RATE, ("PrioritySiteFactorPlugin=site_factor/none",), "PrioritySiteFactorPlugin=site_factor/python"),
        (RATE, ("PrioritySiteFactorPlugin=site_factor/python",), None),
        (RATE, ("PrioritySiteFactorPlugin=python", "PriorityType=priority/basic"), "PriorityType=priority/multifactor"),
        (PROLOG, (), "PrEpPlugins=prep/script,prep/python"),
        (PROLOG, ("PrEpPlugins=other",), "PrEpPlugins=other,prep/python"),
        (PROLOG, ("PrEpPlugins=script,python",), None),
        ("", (), None),
    ],
)
def test_a_line_that_slurm_conf_lacks(
    site: Site, lines: list[str], hooks: str, more: tuple[str, ...], needed: str | None
) -> None:
    """A plugin that slurmctld does not load never calls its handlers; the proposed line keeps its present plugins."""
    site.file(hooks)
    site.conf(*lines, *more)
    found = site.found()
    assert [line.rpartition("it needs the line ")[2] for line in found] == ([] if needed is None else [needed])


def test_a_plugin_that_is_not_installed(site: Site, lines: list[str]) -> None:
    """An older installation lacks the file."""
    site.file(PROLOG)
    site.conf(*lines, "PrEpPlugins=prep/python")
    (site.plugins / "prep_python.so").unlink()
    (finding,) = site.found()
    assert finding.startswith(f"{site.plugins}/prep_python.so: not there, so Slurm never calls handler a:starts of ")


def test_records_need_sources(site: Site, lines: list[str]) -> None:
    """With public headers, a handler may take the environment of a prolog, but not the record."""
    record = build_record.BuildRecord.load(site.plugins)
    assert record is not None
    replace(record, tiers=build_record.Tiers(private=False)).save(site.plugins)
    site.conf(*lines, "PrioritySiteFactorPlugin=site_factor/python", "PrEpPlugins=prep/python")
    site.file(RATE + PROLOG)
    (finding,) = site.found()
    assert ": handler a:rate takes record: this build has only Slurm's public headers" in finding
    site.file(PROLOG)
    (site.etc / "slurmhooks.toml").write_text('[[rule]]\nrule = "time_ceiling"\nlimit = "1:00:00"\n')
    finding = site.found()[0]
    assert finding.endswith('; or set updates = "refuse" or "ignore"')
    for rule, end in (("maintenance", "; or name start and end"), ("quota", "install the result")):
        (site.etc / "slurmhooks.toml").write_text(f'[[rule]]\nrule = "{rule}"\n{"jobs = 1" * (rule == "quota")}\n')
        assert site.found()[0].endswith(end)


def test_rules_about_jobs_with_public_headers(site: Site, lines: list[str]) -> None:
    """Without records, check says which fields users may not change; a rule that names none does not load."""
    record = build_record.BuildRecord.load(site.plugins)
    assert record is not None
    replace(record, tiers=build_record.Tiers(private=False)).save(site.plugins)
    site.conf(*lines)
    rule = "from slurmhooks import Reject, hook\n@hook.job\ndef rule(job):\n    "
    site.file(rule + "if job.time_limit and job.partition: raise Reject('no')\n")
    assert site.found() == []
    assert "handler a:rule cannot check updates in this build" in " ".join(site.check().output.split())
    assert "users may not change partition, time_limit of their jobs" in " ".join(site.check().output.split())
    site.file(rule + "pass\n")
    (finding,) = site.found()
    assert "handler a:rule needs the records of jobs at updates, because its code names no field" in finding


def test_a_lua_script_with_public_headers(site: Site, lines: list[str]) -> None:
    """check names what a script uses that the build lacks; a script that uses nothing of the kind is fine."""
    record = build_record.BuildRecord.load(site.plugins)
    assert record is not None
    script = site.etc / "job_submit.lua"
    functions = "function slurm_job_submit(job_desc, part_list)\n{}\nreturn 0 end\nfunction slurm_job_modify() end\n"
    (site.etc / "slurmhooks.toml").write_text('[hooks]\npaths = []\n[job_submit]\nlua = "job_submit.lua"\n')
    site.conf(*lines)
    for private, line, uses in (
        (False, "local a = job_desc.account", None),
        (False, "local a = job_desc.default_account", "job_desc.default_account"),
        (False, "local a = part_list.debug", "part_list"),
        (True, "local a = job_desc.default_account", None),
    ):
        replace(record, tiers=build_record.Tiers(private=private)).save(site.plugins)
        script.write_text(functions.format(line))
        found = site.found()
        assert len(found) == (uses is not None)
        assert all(finding.startswith(f"{script}:2: the script uses {uses}, and requests") for finding in found)
