# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks off`` and ``on``: handlers are switched off in what is in force, whatever the sources look like."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.cli.bundles import switches
from tests.cluster.turns import moved_from
from tests.unit.cli.deploying import handlers

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Site

pytestmark = pytest.mark.slow

TEXT = """
log = None

@hook.job_submit(order=1)
@hook.job_modify
def limits(job):
    pass

@hook.spank.init
@hook.spank.exit(
    order=2,
)
def launch(spank):
    pass

class Rules:
    pass

hook.spank.task_exit(lambda spank: None)
"""
RULE = '[hooks]\npaths = ["hooks.d/*.py"]\n[[rule]]\nrule = "require_time"\n'


def call(site: "Site", run: "Call", *words: object) -> Any:
    """Run a command that must succeed; return its report."""
    result = run(*words, "--sysconfdir", site.etc, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def enforced(site: "Site", run: "Call") -> list[str]:
    """Return the labels of the handlers that run."""
    return sorted(row["handler"] for row in call(site, run, "check")["handlers"] if row["mode"] != "off")


def test_off_and_on(site: "Site", run: "Call") -> None:
    """Handlers are switched off one after the other, or all of them, with broken sources; `on` brings all back."""
    hook_file = site.file(TEXT)
    call(site, run, "deploy")
    hook_file.write_text("def (")
    labels = ["a:limits", "a:limits", "a:launch", "a:launch", "a:<lambda>"]
    assert sorted(handlers(site)) == sorted(labels)
    call(site, run, "off", "a:limits")
    assert enforced(site, run) == sorted(labels[2:])
    call(site, run, "off", "a:launch")
    assert enforced(site, run) == ["a:<lambda>"]
    refused = run("off", "a:<lambda>", "--sysconfdir", site.etc)
    assert refused.exit_code == 1
    assert "a:<lambda> cannot be switched off alone: 'slurmhooks off --all'" in refused.output
    call(site, run, "off", "--all")
    assert handlers(site) == []
    assert "switched off" not in hook_file.read_text()
    call(site, run, "on")
    assert sorted(handlers(site)) == sorted(labels)
    refused = run("on", "--sysconfdir", site.etc)
    assert (refused.exit_code, refused.output) == (1, "error: nothing is switched off\n")


@pytest.mark.parametrize("labels", moved_from(1, [["a:limits"], ["a:limits", "a:launch"]]))
def test_back_after_on(site: "Site", run: "Call", labels: list[str]) -> None:
    """After handlers were off and on again, `rollback` goes back to what was in force before all that."""
    site.file("@hook.job_submit\ndef first(job): pass\n")
    call(site, run, "deploy")
    site.file(TEXT)
    second = call(site, run, "deploy")
    for label in labels:
        call(site, run, "off", label)
    assert call(site, run, "on")["bundle"] == second["bundle"]
    assert call(site, run, "rollback")["bundle"] == second["before"]
    assert handlers(site) == ["a:first"]


def test_back_after_on_of_a_set_deployed_twice(site: "Site", run: "Call") -> None:
    """`rollback` goes back to the set before the last deployment, not before an earlier one of the same files."""
    sources = ["@hook.job_submit\ndef first(job): pass\n", TEXT]
    for text in (*sources, sources[0]):
        site.file(text)
        last = call(site, run, "deploy")
    call(site, run, "off", "--all")
    assert call(site, run, "on")["bundle"] == last["bundle"]
    assert call(site, run, "rollback")["bundle"] == last["before"]


@pytest.mark.parametrize("undone", moved_from(1, [["off", "a:launch"], ["off", "--all"]]))
def test_on_after_back(site: "Site", run: "Call", undone: list[str]) -> None:
    """If `rollback` goes back to a set with handlers that are off, `on` brings them back; further back none are off."""
    site.file(TEXT)
    call(site, run, "deploy")
    before = enforced(site, run)
    call(site, run, "off", "a:limits")
    off = enforced(site, run)
    assert before != off
    call(site, run, *undone)
    call(site, run, "rollback")
    assert enforced(site, run) == off
    call(site, run, "on")
    assert enforced(site, run) == before
    assert "nothing is switched off" in run("on", "--sysconfdir", site.etc).output
    call(site, run, "off", "a:limits")
    call(site, run, "rollback")
    assert "nothing is switched off" in run("on", "--sysconfdir", site.etc).output


@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\r\r\n"])
def test_ends_of_lines_of_other_systems(end: bytes) -> None:
    """Python takes each of them for the end of a line, also two for one that was converted twice; so does `off`."""
    text = b"from slurmhooks import hook\n# rules\n\n@hook.spank.init\ndef launch(spank):\n    pass\n"
    left = switches._without_decorators(text.replace(b"\n", end), "launch")
    assert left == text.replace(b"@", b"# switched off: @").replace(b"\n", end)


def test_lines_keep_their_numbers(site: "Site", run: "Call") -> None:
    """The remaining handlers are at the lines that the source has, as messages name them."""
    site.file(TEXT)
    call(site, run, "deploy")
    before = {row["handler"]: row["where"].rpartition(":")[2] for row in call(site, run, "check")["handlers"]}
    call(site, run, "off", "a:launch")
    after = {row["handler"]: row["where"].rpartition(":")[2] for row in call(site, run, "check")["handlers"]}
    assert after == {label: number for label, number in before.items() if label != "a:launch"}


@pytest.mark.parametrize(
    "mode",
    moved_from(
        2,
        [
            """[rules.modes."rule:require_time"]\nmode = "observe"\n""",
            """[rules.modes."rule:require_time"]  # until May\nmode = "observe"\n""",
            """[rules.modes.'rule:require_time']\nmode = "observe"\n""",
            """[ rules . modes . "rule:require_time" ]\nmode = "observe"\nnote = \'\'\'\n[rules]\n\'\'\'\n""",
            """[rules.modes]\n"rule:require_time".mode = "observe"\n""",
            """[rules.modes]\n"rule:require_time" = {mode = "observe", note = "a\\u0022b"}\n""",
            """[rules.modes."r\\u0075le:require_time"]\r\nmode = "observe"\r\n""",
        ],
    ),
)
def test_a_rule_of_slurmhooks_toml(site: "Site", run: "Call", mode: str) -> None:
    """A ready-made rule gets the mode "off", whatever mode it had, and however the file says so."""
    (site.etc / "slurmhooks.toml").write_text(f"\ufeff{RULE}{mode}", newline="")
    call(site, run, "deploy")
    label = call(site, run, "check")["handlers"][0]["handler"]
    call(site, run, "off", label)
    assert {row["mode"] for row in call(site, run, "check")["handlers"]} == {"off"}
    call(site, run, "on")
    assert {row["mode"] for row in call(site, run, "check")["handlers"]} == {"observe"}


def test_lines_of_plugstack(site: "Site", run: "Call") -> None:
    """Without any handlers, lines of plugstack.conf that name files or a configuration load; no source is written."""
    site.file("@hook.spank.init\ndef launch(spank): pass\n")
    (site.etc / "slurmhooks.toml").write_text("")
    other = site.etc / "other.toml"
    other.write_text('[hooks]\npaths = ["hooks.d/*.py"]\n')
    names = ("config=other.toml", f"config={other}", "config=./other.toml", f"config=/{site.etc}/./other.toml")
    for line in ("hooks.d/*.py", *names):
        site.plugstack(f"required spank_python.so {line}")
        call(site, run, "deploy")
        assert handlers(site) == ["a:launch"]
        call(site, run, "off", "--all")
        assert handlers(site) == []
        assert other.read_text() == '[hooks]\npaths = ["hooks.d/*.py"]\n'
        call(site, run, "on")
        assert handlers(site) == ["a:launch"]


def test_functions_of_the_same_name(site: "Site", run: "Call") -> None:
    """Of functions that only their qualified names tell apart, one is switched off."""
    site.file(
        "def make():\n    @hook.spank.init\n    def check(spank): pass\n"
        "class Other:\n    def make():\n        if True:\n"
        "            @hook.spank.init\n            def check(spank): pass\n"
        "@hook.spank.exit\ndef check(spank): pass\nmake()\nOther.make()\n"
    )
    call(site, run, "deploy")
    labels = ["a:check", "a:Other.make.<locals>.check", "a:make.<locals>.check"]
    assert sorted(handlers(site)) == sorted(labels)
    while labels:
        call(site, run, "off", labels.pop())
        assert sorted(handlers(site)) == sorted(labels)


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ("hook.spank.exit(launch)\n", "a:launch of hook.spank.exit would still run"),
        (
            "if '# switched' + ' off' not in open(__file__).read():\n"
            "    @hook.spank.exit\n    def other(spank): pass\n",
            "a:other of hook.spank.exit would be off, too",
        ),
    ],
)
def test_what_cannot_be_switched_off_alone(site: "Site", run: "Call", rest: str, why: str) -> None:
    """A handler is not switched off if another one goes with it, or if it runs all the same; then nothing changes."""
    site.file(f"@hook.spank.init\ndef launch(spank): pass\n{rest}")
    call(site, run, "deploy")
    before = handlers(site)
    result = run("off", "a:launch", "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert f"a:launch cannot be switched off alone: 'slurmhooks off --all' switches off all: {why}" in result.output
    assert handlers(site) == before


@pytest.mark.parametrize("line", moved_from(1, ["", " hooks.d/*.py", " config=other.toml"]))
def test_a_required_handler(site: "Site", run: "Call", line: str) -> None:
    """A handler that configurations require, or give a mode, is not required once it is switched off."""
    text = '[hooks]\npaths = ["hooks.d/*.py"]\nrequire = ["a:mixed", "a:other"{}]\n'
    (site.etc / "slurmhooks.toml").write_text(
        text.format(', "a:limits"') + '[rules.modes."a:mixed"]\nmode = "enforce"\n'
    )
    (site.etc / "other.toml").write_text(text.format(""))
    site.file(
        "@hook.job_submit\ndef limits(job): pass\n"
        "@hook.spank.init\n@hook.job_submit\ndef mixed(): pass\n@hook.spank.exit\ndef other(spank): pass\n"
    )
    site.plugstack(f"required spank_python.so{line}")
    call(site, run, "deploy")
    call(site, run, "off", "a:mixed")
    assert sorted(handlers(site)) == ["a:limits", "a:other"]
    call(site, run, "off", "a:other")
    assert handlers(site) == ["a:limits"]
    call(site, run, "off", "a:limits")
    assert enforced(site, run) == []


def test_a_line_without_its_files(site: "Site", run: "Call") -> None:
    """Where somebody has edited plugstack.conf, handlers can be switched off, and rollback works; notes say so."""
    (site.etc / "slurmhooks.toml").write_text("")
    site.file("@hook.spank.init\ndef launch(spank): pass\n@hook.spank.exit\ndef leave(spank): pass\n")
    site.plugstack("required spank_python.so hooks.d/*.py")
    call(site, run, "deploy")
    site.plugstack("required spank_python.so hooks.d/*.py", "required spank_python.so config=other.toml")
    lacking = "plugstack.conf: config=other.toml: the set in force does not have it"
    for words in (["off", "a:launch"], ["rollback"], ["off", "--all"], ["on"]):
        assert lacking in "".join(call(site, run, *words)["notes"])
    assert lacking in "".join(site.found())
    assert sorted(handlers(site)) == ["a:launch", "a:leave"]


def test_what_is_refused(site: "Site", run: "Call") -> None:
    """A label that no handler has is refused, with those that exist; so is neither a label nor --all, or both."""
    site.file(TEXT)
    result = run("off", "--all", "--sysconfdir", site.etc)
    assert (result.exit_code, "nothing is in force that could be switched off" in result.output) == (1, True)
    call(site, run, "deploy")
    result = run("off", "a:none", "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert "no handler 'a:none' is in force; handlers: a:limits, a:launch, a:<lambda>" in result.output
    assert run("off", "--sysconfdir", site.etc).exit_code == 2
    assert run("off", "--all", "a:limits", "--sysconfdir", site.etc).exit_code == 2
    assert run("on", "--sysconfdir", site.etc).exit_code == 1


def test_a_folder_that_is_missing(site: "Site", run: "Call", monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that would write there say that the folder of slurm.conf is not where it should be."""
    site.file(TEXT)
    monkeypatch.setenv("SLURM_CONF", str(site.etc / "gone" / "slurm.conf"))
    for words in (("off", "--all"), ("deploy", site.etc)):
        result = run(*words)
        assert (result.exit_code, f"{site.etc / 'gone'} does not exist" in result.output) == (1, True), result.output
