# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks off`` and ``on``: handlers are switched off in what is in force, whatever the sources look like."""

from typing import TYPE_CHECKING

import pytest

from slurmhooks.cli.bundles import switches
from tests.cluster.turns import moved_from

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


def enforced(site: "Site") -> list[str]:
    """Return the labels of the handlers that run."""
    return sorted(row["handler"] for row in site.report("check")["handlers"] if row["mode"] != "off")


def test_off_and_on(site: "Site") -> None:
    """Handlers are switched off one after the other, or all of them, with broken sources; `on` brings all back."""
    hook_file = site.file(TEXT)
    site.report("deploy")
    hook_file.write_text("def (")
    labels = ["a:limits", "a:limits", "a:launch", "a:launch", "a:<lambda>"]
    assert sorted(site.handlers()) == sorted(labels)
    site.report("off", "a:limits")
    assert enforced(site) == sorted(labels[2:])
    site.report("off", "a:launch")
    assert enforced(site) == ["a:<lambda>"]
    site.refused("off", "a:<lambda>", says="a:<lambda> cannot be switched off alone: 'slurmhooks off --all'")
    site.report("off", "--all")
    assert site.handlers() == []
    assert "switched off" not in hook_file.read_text()
    site.report("on")
    assert sorted(site.handlers()) == sorted(labels)
    refused = site.call("on")
    assert (refused.exit_code, refused.output) == (1, "error: nothing is switched off\n")


@pytest.mark.parametrize("labels", moved_from(1, [["a:limits"], ["a:limits", "a:launch"]]))
def test_back_after_on(site: "Site", labels: list[str]) -> None:
    """After handlers were off and on again, `rollback` goes back to what was in force before all that."""
    site.file("@hook.job_submit\ndef first(job): pass\n")
    site.report("deploy")
    site.file(TEXT)
    second = site.report("deploy")
    for label in labels:
        site.report("off", label)
    assert site.report("on")["bundle"] == second["bundle"]
    assert site.report("rollback")["bundle"] == second["before"]
    assert site.handlers() == ["a:first"]


def test_back_after_on_of_a_set_deployed_twice(site: "Site") -> None:
    """`rollback` goes back to the set before the last deployment, not before an earlier one of the same files."""
    sources = ["@hook.job_submit\ndef first(job): pass\n", TEXT]
    for text in (*sources, sources[0]):
        site.file(text)
        last = site.report("deploy")
    site.report("off", "--all")
    assert site.report("on")["bundle"] == last["bundle"]
    assert site.report("rollback")["bundle"] == last["before"]


@pytest.mark.parametrize("undone", moved_from(1, [["off", "a:launch"], ["off", "--all"]]))
def test_on_after_back(site: "Site", undone: list[str]) -> None:
    """If `rollback` goes back to a set with handlers that are off, `on` brings them back; further back none are off."""
    site.file(TEXT)
    site.report("deploy")
    before = enforced(site)
    site.report("off", "a:limits")
    off = enforced(site)
    assert before != off
    site.report(*undone)
    site.report("rollback")
    assert enforced(site) == off
    site.report("on")
    assert enforced(site) == before
    assert "nothing is switched off" in site.call("on").output
    site.report("off", "a:limits")
    site.report("rollback")
    assert "nothing is switched off" in site.call("on").output


@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\r\r\n"])
def test_ends_of_lines_of_other_systems(end: bytes) -> None:
    """Python takes each of them for the end of a line, also two for one that was converted twice; so does `off`."""
    text = b"from slurmhooks import hook\n# rules\n\n@hook.spank.init\ndef launch(spank):\n    pass\n"
    left = switches._without_decorators(text.replace(b"\n", end), "launch")
    assert left == text.replace(b"@", b"# switched off: @").replace(b"\n", end)


def test_lines_keep_their_numbers(site: "Site") -> None:
    """The remaining handlers are at the lines that the source has, as messages name them."""
    site.file(TEXT)
    site.report("deploy")
    before = {row["handler"]: row["where"].rpartition(":")[2] for row in site.report("check")["handlers"]}
    site.report("off", "a:launch")
    after = {row["handler"]: row["where"].rpartition(":")[2] for row in site.report("check")["handlers"]}
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
def test_a_rule_of_slurmhooks_toml(site: "Site", mode: str) -> None:
    """A ready-made rule gets the mode "off", whatever mode it had, and however the file says so."""
    (site.etc / "slurmhooks.toml").write_text(f"\ufeff{RULE}{mode}", newline="")
    site.report("deploy")
    label = site.report("check")["handlers"][0]["handler"]
    site.report("off", label)
    assert {row["mode"] for row in site.report("check")["handlers"]} == {"off"}
    site.report("on")
    assert {row["mode"] for row in site.report("check")["handlers"]} == {"observe"}


def test_lines_of_plugstack(site: "Site") -> None:
    """Without any handlers, lines of plugstack.conf that name files or a configuration load; no source is written."""
    site.file("@hook.spank.init\ndef launch(spank): pass\n")
    (site.etc / "slurmhooks.toml").write_text("")
    other = site.etc / "other.toml"
    other.write_text('[hooks]\npaths = ["hooks.d/*.py"]\n')
    names = ("config=other.toml", f"config={other}", "config=./other.toml", f"config=/{site.etc}/./other.toml")
    for line in ("hooks.d/*.py", *names):
        site.plugstack(f"required spank_python.so {line}")
        site.report("deploy")
        assert site.handlers() == ["a:launch"]
        site.report("off", "--all")
        assert site.handlers() == []
        assert other.read_text() == '[hooks]\npaths = ["hooks.d/*.py"]\n'
        site.report("on")
        assert site.handlers() == ["a:launch"]


def test_functions_of_the_same_name(site: "Site") -> None:
    """Of functions that only their qualified names tell apart, one is switched off."""
    site.file(
        "def make():\n    @hook.spank.init\n    def check(spank): pass\n"
        "class Other:\n    def make():\n        if True:\n"
        "            @hook.spank.init\n            def check(spank): pass\n"
        "@hook.spank.exit\ndef check(spank): pass\nmake()\nOther.make()\n"
    )
    site.report("deploy")
    labels = ["a:check", "a:Other.make.<locals>.check", "a:make.<locals>.check"]
    assert sorted(site.handlers()) == sorted(labels)
    while labels:
        site.report("off", labels.pop())
        assert sorted(site.handlers()) == sorted(labels)


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
def test_what_cannot_be_switched_off_alone(site: "Site", rest: str, why: str) -> None:
    """A handler is not switched off if another one goes with it, or if it runs all the same; then nothing changes."""
    site.file(f"@hook.spank.init\ndef launch(spank): pass\n{rest}")
    site.report("deploy")
    before = site.handlers()
    refused = f"a:launch cannot be switched off alone: 'slurmhooks off --all' switches off all: {why}"
    site.refused("off", "a:launch", says=refused)
    assert site.handlers() == before


@pytest.mark.parametrize("line", moved_from(1, ["", " hooks.d/*.py", " config=other.toml"]))
def test_a_required_handler(site: "Site", line: str) -> None:
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
    site.report("deploy")
    site.report("off", "a:mixed")
    assert sorted(site.handlers()) == ["a:limits", "a:other"]
    site.report("off", "a:other")
    assert site.handlers() == ["a:limits"]
    site.report("off", "a:limits")
    assert enforced(site) == []


def test_a_line_without_its_files(site: "Site") -> None:
    """Where somebody has edited plugstack.conf, handlers can be switched off, and rollback works; notes say so."""
    (site.etc / "slurmhooks.toml").write_text("")
    site.file("@hook.spank.init\ndef launch(spank): pass\n@hook.spank.exit\ndef leave(spank): pass\n")
    site.plugstack("required spank_python.so hooks.d/*.py")
    site.report("deploy")
    site.plugstack("required spank_python.so hooks.d/*.py", "required spank_python.so config=other.toml")
    lacking = "plugstack.conf: config=other.toml: the set in force does not have it"
    for words in (["off", "a:launch"], ["rollback"], ["off", "--all"], ["on"]):
        assert lacking in "".join(site.report(*words)["notes"])
    assert lacking in "".join(site.found())
    assert sorted(site.handlers()) == ["a:launch", "a:leave"]


def test_what_is_refused(site: "Site") -> None:
    """A label that no handler has is refused, with those that exist; so is neither a label nor --all, or both."""
    site.file(TEXT)
    site.refused("off", "--all", says="nothing is in force that could be switched off")
    site.report("deploy")
    site.refused("off", "a:none", says="no handler 'a:none' is in force; handlers: a:limits, a:launch, a:<lambda>")
    assert site.call("off").exit_code == 2
    assert site.call("off", "--all", "a:limits").exit_code == 2
    assert site.call("on").exit_code == 1


def test_a_folder_that_is_missing(site: "Site", run: "Call", monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that would write there say that the folder of slurm.conf is not where it should be."""
    site.file(TEXT)
    monkeypatch.setenv("SLURM_CONF", str(site.etc / "gone" / "slurm.conf"))
    for words in (("off", "--all"), ("deploy", site.etc)):
        run.refused(*words, says=f"{site.etc / 'gone'} does not exist")
