# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks status``: which machine has which bundle in force."""

import json
import os
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from slurmhooks.cli import controllers, main
from slurmhooks.cli.bundles import nodes, packages
from slurmhooks.cli.bundles.store import Store

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Machine, Site

pytestmark = pytest.mark.slow


def status(site: "Site", *options: object) -> tuple[Any, int]:
    """Return the report and the exit code."""
    result = site.call("status", "--json", *options)
    return json.loads(result.stdout), result.exit_code


@pytest.fixture
def bundles(site: "Site", run: "Call", open_folder: Path) -> list[str]:
    """The ids of three bundles that were deployed to the site, the last one being in force."""
    ids = []
    for number in range(3):
        site.file(f"@hook.job_submit\ndef version_{number}(job): pass\n")
        (open_folder / "site.copy").mkdir(exist_ok=True)
        for name in ("slurmhooks.toml", "hooks.d/a.py"):
            copy = open_folder / "site.copy" / name
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes((site.etc / name).read_bytes())
        run("bundle", open_folder / "site.copy", "--output", open_folder / "b.tar")
        ids.append(json.loads(site.call("deploy", open_folder / "b.tar", "--json").stdout)["bundle"])
    return ids


def report_of(name: str, bundle: str, **values: object) -> str:
    """Return what another machine would report."""
    plain = {"name": name, "at": "2026-01-02T03:04:05Z", "bundle": bundle, "deployed": bundle, **values}
    return f"{nodes.MARK}{json.dumps(plain)}\n"


def test_who_is_behind(site: "Site", bundles: list[str], open_folder: Path) -> None:
    """Nodes with another bundle or with edited files are findings; of two reports of a node the later one counts."""
    folder = open_folder / "reports"
    folder.mkdir()
    (folder / "n1").write_text("hello\n" + report_of("n1", bundles[2]))
    (folder / "n2").write_text(report_of("n2", bundles[1]))
    (folder / "others").write_text(
        report_of("n3", "0123456789abcdef")
        + report_of("n4", bundles[0], at="2025-01-01T00:00:00Z")
        + report_of("n4", bundles[2])
        + report_of("n5", "0123456789abcdef", deployed=bundles[2])
    )
    report, code = status(site, "--from", folder)
    states = {row["where"]: row["state"] for row in report["rows"]}
    assert next(iter(states.values())) == "current"
    assert [states[name] for name in ("n1", "n2", "n3", "n4", "n5")] == [
        "current",
        f"behind: has {bundles[1]}",
        "has 0123456789abcdef instead",
        "current",
        f"files of {bundles[2]} were changed by hand",
    ]
    assert code == 1
    assert report["findings"][0] == f"n2: behind: has {bundles[1]}"
    assert (report["expected"], report["kept"][-1]) == (bundles[2], bundles[2])


def test_a_manifest_that_launches_do_not_use(site: "Site", bundles: list[str], open_folder: Path) -> None:
    """A manifest that is missing or of another build is reported, also of another machine; the code stays 0."""
    reports = open_folder / "n1"
    reports.write_text(report_of("n1", bundles[2], manifest="there is none"))
    report, code = status(site, "--from", reports)
    assert code == 0
    assert [text.partition(":")[0] for text in report["manifests"]] == ["n1"]
    (site.etc / "slurmhooks.set" / ".manifest").write_text("")
    result = site.call("status")
    assert "it was written for another build of slurmhooks or another release of Slurm" in result.output


def test_what_other_machines_report_is_escaped(site: "Site", bundles: list[str], open_folder: Path) -> None:
    """No report of a machine reaches the terminal with control characters, and a damaged one fills no screen."""
    hostile = "n\x1b[2J\u202e\x9bx\ny"
    reports = open_folder / "n1"
    reports.write_text(report_of(hostile, hostile, manifest=hostile, findings=[hostile], deployed=hostile))
    for text in (reports.read_text(), nodes.MARK + "[" * 100000):
        reports.write_text(text)
        # With --color, click removes nothing itself.
        result = CliRunner().invoke(main, ["status", "--sysconfdir", str(site.etc), "--from", str(reports)], color=True)
        assert result.exit_code == 1
        assert not re.search("\x1b\\[2J|\u202e|\x9b|^y", result.output, re.MULTILINE)
        assert len(result.output) < 5000


def test_files_that_were_never_deployed(site: "Site") -> None:
    """Without a set in force, status fails; sources are named, because an earlier release may have run them."""
    report, code = status(site)
    assert code == 1
    assert "slurmhooks.toml: was never deployed, so no hooks are in force" in report["findings"][0]
    assert report["rows"][0]["state"] == "not known"
    (site.etc / "slurmhooks.toml").unlink()
    report, code = status(site)
    assert code == 1
    assert "nothing has been deployed on this machine" in report["findings"][0]


@pytest.mark.parametrize("line", ["hooks.e/*.py", "config=hooks.d/b.toml", "missing_options=refused", "hooks.d/*.pz"])
@pytest.mark.parametrize("of_archive", [True, False])
def test_mistakes_in_plugstack_conf(site: "Site", run: "Call", open_folder: Path, line: str, of_archive: bool) -> None:
    """A line of plugstack.conf that names what the set in force lacks is found, also by a deployment of this set."""
    site.file("@hook.spank.init\ndef launch(spank): pass\n")
    assert run("bundle", site.etc, "--output", open_folder / "b.tar").exit_code == 0
    source = (open_folder / "b.tar",) if of_archive else ()
    assert site.call("deploy", *source).exit_code == 0
    assert status(site)[1] == 0
    site.plugstack(f"required spank_python.so {line}")
    report, code = status(site)
    assert code == 1
    assert any("plugstack.conf" in text for text in report["findings"])
    site.refused("deploy", *source, says="plugstack.conf")
    assert site.call("off", "--all").exit_code == 0


def test_sources_and_history(site: "Site", bundles: list[str]) -> None:
    """The history is shown, and whether the sources differ from what is in force."""
    report, code = status(site)
    assert [event["bundle"] for event in report["history"]][-3:] == bundles
    assert {event["verb"] for event in report["history"]} == {"deploy"}
    assert all(event["by"] and event["at"] for event in report["history"])
    assert (report["sources"], code) == (None, 0)
    site.file("# edited\n")
    result = site.passed("status")
    assert (
        f"{site.etc}: the sources differ from what is in force: 'slurmhooks deploy --dry-run' shows how"
        in result.output
    )
    assert site.call("deploy", "--message", "for the night").exit_code == 0
    assert "for the night" in site.call("status").output


def test_packages_that_a_set_imports(
    site: "Site", run: "Call", open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed packages are not in a set: what they were is noted, and each that has changed since is named.

    It says so until the set is deployed again, and not for what Python, slurmhooks and the set itself have.
    """
    installed = open_folder / "site-packages"
    monkeypatch.syspath_prepend(str(installed))

    def install(version: str, *, constant: str = "1") -> None:
        for name in ("site_alone", "site_with_version", "site_lazy"):
            (installed / name).mkdir(parents=True, exist_ok=True)
            (installed / name / "__init__.py").write_text(f"CONSTANT = {constant}\n")
        record = installed / "site_policy.dist-info"
        record.mkdir(exist_ok=True)
        (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: site-policy\nVersion: {version}\n")
        (record / "RECORD").write_text(f"site_with_version/__init__.py,sha256={constant},\n")

    install("1.0")
    (site.etc / "packages" / "own").mkdir(parents=True)
    (site.etc / "packages" / "own" / "__init__.py").write_text("import site_with_version\n")
    (site.etc / "slurmhooks.toml").write_text(
        '[hooks]\npaths = ["hooks.d/*.py"]\npackages = ["packages"]\nmodules = ["site_alone"]\n'
    )
    site.file("import json, own\n@hook.job_submit\ndef submit(job):\n    from site_lazy import CONSTANT\n")
    deploy = ("deploy", "--sysconfdir", site.etc)
    assert "in force" in run(*deploy).output
    host = status(site)[0]["rows"][0]["where"]
    assert status(site)[0]["packages"] == []
    install("1.1", constant="2")
    (installed / "site_lazy" / "__init__.py").unlink()
    (installed / "site_lazy").rmdir()
    report, code = status(site)
    assert code == 0
    assert [re.sub(r"\([0-9a-f]{8}\)", "(HASH)", text) for text in report["packages"]] == [
        f"{host}: package site_alone: was (HASH) at the deployment, is (HASH)",
        f"{host}: package site_lazy: was (HASH) at the deployment, is not installed",
        f"{host}: package site_with_version: was 1.0 (HASH) at the deployment, is 1.1 (HASH)",
    ]
    assert "package site_alone: was" in site.call("status").stdout
    with monkeypatch.context() as other:  # a machine that has the same slurmhooks.home
        other.setattr(os, "uname", lambda: SimpleNamespace(nodename="other"))
        assert status(site)[0]["packages"] == []
    assert "unchanged" in run(*deploy).stdout
    assert status(site)[0]["packages"] == []
    for damaged in ("", "[1]", "3", "{", "{}"):
        Path(site.etc, "slurmhooks.set").resolve().joinpath(".packages").write_text(damaged)
        (text,) = status(site)[0]["packages"]
        assert "/.packages: " in text


def test_many_packages_are_cut_in_a_report(site: "Site", bundles: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """srun mixes lines of several tasks that are longer than 1,024 bytes; the machine itself shows all packages."""
    texts = [f"package é{number}: was 1.0 (01234567) at the deployment, is 1.1 (12345678)" for number in range(30)]
    monkeypatch.setattr(packages, "changed", lambda place: texts)
    line = site.call("status", "--report").stdout
    assert len(line.encode()) <= 1024
    (report,) = nodes.of_text(line, "srun")
    assert 3 <= len(report.packages) < 15
    assert report.packages[:-1] == texts[: len(report.packages) - 1]
    assert report.packages[-1] == f"and {31 - len(report.packages)} more packages"
    assert len(status(site)[0]["packages"]) == 30
    del texts[3:]
    (report,) = nodes.of_text(site.call("status", "--report").stdout, "srun")
    assert report.packages == texts


def test_packages_that_cannot_be_read(site: "Site", open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip has left half done, a module in an archive and a file that no parser takes stop no deployment."""
    left, archive = open_folder / "left", open_folder / "modules.zip"
    for place in ("site-packages", "left"):
        (open_folder / place / f"site_policy-{len(place)}.dist-info").mkdir(parents=True)
    record = open_folder / "site-packages" / "site_policy-13.dist-info"
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: site-policy\nVersion: 13\n")
    (record / "RECORD").write_text("site_policy.py,,\n")
    (left / "site_policy.py").touch()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("site_zipped.py", "")
    for path in (record.parent, left, archive):
        monkeypatch.syspath_prepend(str(path))
    (site.etc / "packages").mkdir()
    (site.etc / "packages" / "never_imported.py").write_text("-" * 100_000 + "1\n")
    (site.etc / "slurmhooks.toml").write_text('[hooks]\npaths = ["hooks.d/*.py"]\npackages = ["packages"]\n')
    site.file("import site_policy, site_zipped\n@hook.job_submit\ndef submit(job): pass\n")
    assert "in force" in site.call("deploy").output
    known = json.loads(Path(site.etc, "slurmhooks.set").resolve().joinpath(".packages").read_text())["packages"]
    assert (known["site_policy"].split()[0], known["site_zipped"]) == ("?", "unknown")
    assert status(site)[0]["packages"] == []


def test_files_that_were_edited(site: "Site", bundles: list[str]) -> None:
    """Edited files of a bundle are also a finding on the machine itself."""
    (Store(site.etc).place(bundles[2]) / "hooks.d" / "a.py").write_text("# edited\n")
    report, code = status(site)
    assert code == 1
    assert f"files of {bundles[2]} were changed by hand" in report["findings"][0]


def test_nodes_are_asked_by_a_step(site: "Site", machine: "Machine", bundles: list[str]) -> None:
    """srun runs one task on each node that can run a job; a node that must answer but does not is a finding."""
    machine.program("sinfo", "echo n1; echo n2; echo n1")
    machine.program("scontrol", "echo n1; echo n3")
    answer = report_of("n1", bundles[2]) + report_of("n2", bundles[2])
    machine.program("srun", f"echo \"$@\" >{machine.root}/srun; cat <<'END'\na prolog says hello\n{answer}END")
    report, code = status(site, "--srun", "--srun-option=--partition=debug")
    assert (code, [row["where"] for row in report["rows"]][1:]) == (0, ["n1", "n2"])
    words = (machine.root / "srun").read_text()
    assert "--nodes=2 --ntasks=2 --ntasks-per-node=1 --nodelist=n1,n2" in words
    assert "--partition=debug" in words
    assert words.endswith(" status --report\n")
    report, code = status(site, "--srun", "--nodes", "n[1,3]")
    assert (code, report["findings"]) == (1, ["n3: no answer"])
    machine.program("srun", "echo srun: no permission >&2; exit 1")
    silent = "no node has answered: srun: no permission\n    --srun-option gives srun further options"
    site.refused("status", "--srun", says=silent)


def test_reports_that_cannot_be_read(site: "Site", open_folder: Path) -> None:
    """A file without a report, and a damaged report, are findings that name the file."""
    file = open_folder / "report"
    for text, words in (("", "no report of"), (f"{nodes.MARK}{{}}\n", "damaged report")):
        file.write_text(text)
        site.refused("status", "--from", file, says=f"{file}: {words}")


def test_names_that_are_not_utf8(site: "Site", open_folder: Path) -> None:
    """A report with the name of such a file can be printed, and read on another machine."""
    site.deploy()
    (site.etc / "plugstack.conf").write_bytes(b"required spank_python.so \xff.py\n")
    file = open_folder / "report"
    file.write_text(site.call("status", "--report").stdout)
    report, code = status(site, "--from", file)
    assert code == 1
    assert "plugstack.conf: \udcff.py: the set in force does not have it" in "".join(report["findings"])


def test_other_controllers(site: "Site", machine: "Machine", bundles: list[str]) -> None:
    """A controller that has not reported is named; --from asks it by ssh, and other files there are a finding."""
    here = nodes.this(site.etc).name
    hosts = (f"SlurmctldHost={here}(10.0.0.1)", "SlurmctldHost = ctl2", "# SlurmctldHost=ctl3")
    site.conf(f"PluginDir={site.plugins}", *hosts)
    report, code = status(site)
    assert (code, report["not_asked"]) == (0, ["ctl2"])
    assert (
        "ctl2: another controller of this cluster, not asked: slurmhooks status --from ctl2"
        in site.call("status").stdout
    )
    for bundle, expected in ((bundles[2], 0), (bundles[1], 1)):
        answer = report_of("ctl2", bundle).strip()
        machine.program("ssh", f"echo \"$@\" >{machine.root}/ssh; echo '{answer}'")
        report, code = status(site, "--from", "ctl2")
        assert (code, report["not_asked"]) == (expected, [])
    assert (machine.root / "ssh").read_text() == "-o BatchMode=yes ctl2 slurmhooks status --report\n"


@pytest.mark.parametrize(
    ("source", "program", "text"),
    [
        ("ctl2", "echo 'Permission denied (publickey).' >&2; exit 255", "ctl2: Permission denied (publickey)."),
        ("ctl2", "echo welcome", "ctl2: no report of"),
        ("/no/such/file", "true", "'/no/such/file' is neither a file nor the name of a machine"),
        ("-oProxyCommand=x", "true", "'-oProxyCommand=x' is neither a file nor the name of a machine"),
    ],
)
def test_machines_that_do_not_answer(site: "Site", machine: "Machine", source: str, program: str, text: str) -> None:
    """Status says which machine could not be asked, and why; a name is never an option of ssh."""
    machine.program("ssh", program)
    done = site.refused("status", "--from", source)
    assert text in done.output


def test_a_controller_without_slurmctld(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """Where slurm.conf wants a slurmctld with our plugins and none answers, status fails; elsewhere it does not."""
    site.file("@hook.job_submit\ndef f(job): pass\n")
    site.deploy()
    here = nodes.this(site.etc).name
    for host, plugins, code in ((here, "python", 1), (here, "lua", 0), ("other", "python", 0)):
        site.conf(f"PluginDir={site.plugins}", f"SlurmctldHost={host}(10.0.0.1)", f"JobSubmitPlugins={plugins}")
        report, found = status(site)
        assert found == code, report
        assert any("no slurmctld with our plugins has answered here" in text for text in report["findings"]) == code
    refused = "the hooks in force in slurmctld are unknown: only root and SlurmUser may do this"
    monkeypatch.setattr(controllers, "find_running", lambda sysconfdir: ([], [refused]))
    site.conf(f"PluginDir={site.plugins}", f"SlurmctldHost={here}", "JobSubmitPlugins=python")
    assert status(site)[0]["findings"] == [f"{here}: {refused}"]
    loaded = os.path.realpath(site.etc / "slurmhooks.set" / "slurmhooks.toml")
    running = controllers.Running("job_submit", 1, 1, [], [], fault=None, configuration=loaded)
    monkeypatch.setattr(controllers, "find_running", lambda sysconfdir: ([running], []))
    lines = (f"PluginDir={site.plugins}", f"SlurmctldHost={here}", "JobSubmitPlugins=python")
    site.conf(*lines)
    assert status(site)[1] == 0
    site.conf(*lines, "JobCompType=jobcomp/python")
    assert status(site)[1] == 0, "a standby loads it when it takes over"
    site.conf(*lines, "PrEpPlugins=prep/script,prep/python")
    report, code = status(site)
    assert code == 1
    assert "slurmctld, prep" in report["findings"][0]
    assert "has not loaded it: restart it" in report["findings"][0]


def test_plugins_that_do_not_fit(site: "Site", machine: "Machine") -> None:
    """Plugins for another Slurm than the machine's are a finding, and so are plugins that are named and not there."""
    site.file("@hook.job_submit\ndef f(job): pass\n")
    site.deploy()
    assert status(site)[1] == 0
    machine.program("slurmd", "echo slurm 24.11.6")
    report, code = status(site)
    assert code == 1
    assert "the plugins are built for Slurm 24.11.5, not for 24.11.6" in report["findings"][0]
    site.conf("JobSubmitPlugins=python")
    report, code = status(site)
    assert code == 1
    assert "has 'JobSubmitPlugins=python', and no folder of PluginDir has plugins" in report["findings"][0]


def test_a_node_that_was_asked_and_is_silent(site: "Site", machine: "Machine", bundles: list[str]) -> None:
    """A node that can run jobs and whose task reports nothing is a finding, also if nobody named it."""
    machine.program("sinfo", "echo n1; echo n2")
    machine.program("srun", f"echo '{report_of('n1', bundles[2]).strip()}'")
    report, code = status(site, "--srun")
    assert code == 1
    assert report["findings"] == ["n2: no answer"]


def test_a_link_into_a_shared_folder(site: "Site", bundles: list[str], open_folder: Path) -> None:
    """Where slurmhooks.set leads to that of a shared folder, `status` knows the set, and `deploy` names the folder."""
    shared = open_folder / "shared"
    shared.mkdir()
    (site.etc / "slurmhooks.d").rename(shared / "slurmhooks.d")
    (site.etc / "slurmhooks.set").rename(shared / "slurmhooks.set")
    (site.etc / "slurmhooks.set").symlink_to(shared / "slurmhooks.set")
    report, _ = status(site)
    assert report["expected"] == bundles[2]
    elsewhere = "slurmhooks.set: leads to what was deployed in another folder: run this with --sysconfdir"
    site.refused("deploy", says=elsewhere)
    assert (shared / "slurmhooks.d" / "sets" / bundles[0]).exists()
