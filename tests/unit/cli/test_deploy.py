# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks bundle``, ``deploy`` and ``rollback`` on one machine."""

import errno
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slurmhooks.cli import controllers
from slurmhooks.cli.bundles import retention
from slurmhooks.cli.bundles.store import Store
from slurmhooks.files import durable
from slurmhooks.handover import process, program
from slurmhooks.power import delivery
from slurmhooks.worker import commands
from tests.unit.cli.deploying import HANDLER

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Machine, Site

pytestmark = pytest.mark.slow

INIT = "@hook.spank.init\ndef init(spank): pass\n"
PROLOG = "@hook.spank.job_prolog\ndef prolog(spank): pass\n"


def test_a_bundle_has_power_hooks(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of a power program runs the handlers of the bundle that is in force when it is delivered."""
    spool = site.etc.parent / "power"
    text = "@hook.power.suspend\ndef suspend(nodes):\n    with open({!r}, 'a') as file:\n"
    text += "        file.write('{} ' + nodes.hostlist)\n"
    monkeypatch.setenv("SLURM_CONF", str(site.etc / "slurm.conf"))
    monkeypatch.setattr(delivery.PowerDelivery, "_expand", lambda self, nodes: (nodes,))
    suspend = site.plugins / "slurmhooks/slurmhooks_power_suspend"
    suspend.touch()
    site.conf(f"PluginDir={site.plugins}", f"SuspendProgram={suspend}", "SuspendTime=600")
    spool.mkdir()
    for version in ("one", "two"):
        site.report("deploy", site.make(version, text.format(str(spool / "notes"), version)))
        program.keep(str(spool), "power.suspend", "c1")
        process.turn(spool, delivery.PowerDelivery, None, lambda _: None)
    assert (spool / "notes").read_text() == "one c1two c1"


def test_an_upgraded_package(site: "Site", monkeypatch: pytest.MonkeyPatch, open_folder: Path) -> None:
    """After an installed package with handlers was upgraded, deploying the same files again lets launches call them."""
    module = open_folder / "upgraded_handlers.py"
    monkeypatch.syspath_prepend(str(open_folder))
    (site.etc / "slurmhooks.toml").write_text('[hooks]\nmodules = ["upgraded_handlers"]\n')
    manifest = site.etc / "slurmhooks.set" / ".manifest"
    for text in (INIT, PROLOG):
        module.write_text(f"from slurmhooks import hook\n{text}")
        site.deploy()
        assert "call " + text.split(".")[2].split("\n")[0] + " " in manifest.read_text()


def test_plugins_of_another_slurm(site: "Site", machine: "Machine") -> None:
    """Plugins that do not fit this Slurm are said about a set that is in force already, as about a new one."""
    bundles = [site.make(str(version), HANDLER.format(version)) for version in (1, 2)]
    site.report("deploy", bundles[0])
    machine.program("slurmd", "echo slurm 24.11.6")
    for bundle in bundles:
        result = site.refused("deploy", bundle)
        assert "the plugins are built for Slurm 24.11.5, not for 24.11.6" in result.stderr
    assert site.handlers() == ["a:version_1"]


def test_there_and_back(site: "Site") -> None:
    """rollback returns to what was in force before, and to others by their ids."""
    first, second = site.make("one", HANDLER.format(1)), site.make("two", HANDLER.format(2))
    one = site.report("deploy", first)
    assert site.handlers() == ["a:version_1"]
    assert "up to date" in site.check().output
    two = site.report("deploy", second)
    assert (two["before"], two["notes"]) == (one["bundle"], [])  # no note about the folder of the check
    assert site.handlers() == ["a:version_2"]
    assert site.report("rollback")["bundle"] == one["bundle"]
    assert site.handlers() == ["a:version_1"]
    site.refused("rollback", says="nothing was in force before this set; kept: ")
    site.report("rollback", two["bundle"])
    assert site.handlers() == ["a:version_2"]
    assert site.report("deploy", second)["before"] == two["bundle"]


def test_what_check_refuses_changes_nothing(site: "Site") -> None:
    """A bundle that does not load, or that Slurm would not call, leaves files and links as they were."""
    site.report("deploy", site.make("good", HANDLER.format(1)))
    before = snapshot(site.etc)
    refused = {
        "syntax": ("def (", "SyntaxError"),
        "spank": ("@hook.cli_filter.setup_defaults\ndef f(options): pass\n", "CliFilterPlugins"),
        "exit": ("import os\nos._exit(0)\n", "a hook file ended the process that loaded it"),
    }
    for name, (text, words) in refused.items():
        result = site.refused("deploy", site.make(name, text))
        assert words in result.output, result.output
        assert ".new-" not in result.output
        assert snapshot(site.etc) == before


def snapshot(folder: Path) -> dict[str, object]:
    """Return links and contents below a folder."""
    return {
        str(path): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_lines_of_plugstack(site: "Site") -> None:
    """A bundle that was made for other lines of plugstack.conf is refused.

    A line may name files of the deployed bundle.
    """
    line = "required spank_python.so slurmhooks.d/current/hooks.d/*.py fast=1"
    bundle = site.make("lines", INIT, config="", **{"plugstack.conf": f"{line}  # ours\nrequired other.so\n"})
    refused = "has the lines of spank_python.so: spank_python.so; the set was made for: spank_python.so slurmhooks"
    site.refused("deploy", bundle, says=refused)
    site.plugstack(line)
    site.report("deploy", bundle)
    assert site.handlers() == ["a:init"]
    site.plugstack(line.replace("fast=1", "slow=1"))
    assert site.handlers() == ["a:init"]
    assert site.call("status").exit_code == 0
    site.plugstack("required spank_python.so other.d/*.py")
    assert site.handlers() == []
    assert any("other.d/*.py: the set in force does not have it" in text for text in site.found())


def test_empty_folders(site: "Site", open_folder: Path) -> None:
    """A site whose folders have no hook files yet can deploy, and so can a bundle whose patterns match no file."""
    line = "required spank_python.so slurmhooks.d/current/lines.d/*.py"
    site.plugstack(line)
    for name in ("late.d/in", "a.d"):
        (open_folder / "sources" / "empty" / name).mkdir(parents=True)
    bundle = site.make(
        "empty",
        HANDLER.format(1),
        config='[hooks]\npaths = ["hooks.d/*.py", "late.d/in/*.py", "a.d/*/b/*.py"]\n',
        **{"plugstack.conf": f"{line}\n"},
    )
    site.report("deploy", bundle)
    assert site.handlers() == ["a:version_1"]
    site.report("deploy", bundle)  # its files are unchanged


def test_what_the_plugin_does_not_call(site: "Site") -> None:
    """A set whose handler the installed plugin leaves out is refused, and so is a return to one."""
    prolog = site.report("deploy", site.make("prolog", PROLOG))["bundle"]
    site.report("deploy", site.make("none", INIT))
    site.lean()
    for words in (("deploy", site.make("another", f"{PROLOG}# another\n")), ("rollback",), ("rollback", prolog)):
        why = "Slurm would never call handler a:prolog", "run 'slurmhooks install' without --lean"
        site.refused(*words, says=why)
        assert site.handlers() == ["a:init"]


@pytest.mark.parametrize("when", ["prepare", "serve"])
def test_slurmctld_refuses(site: "Site", monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """slurmctld is asked before the switch; if it refuses after it all the same, the previous set is in force again."""
    before = site.report("deploy", site.make("good", HANDLER.format(1)))["bundle"]
    asked: list[tuple[str, str | None]] = []

    def answer(call: str, sysconfdir: Path) -> list[str]:
        asked.append((call, Store(sysconfdir).deployed))
        return ["the workers refuse"] if call == when and len(asked) < 3 else []

    monkeypatch.setattr(commands, "names", lambda folder: ["a socket"])
    monkeypatch.setattr(controllers, "serve", lambda folder: answer("serve", folder))
    monkeypatch.setattr(controllers, "prepare", lambda folder, _: answer("prepare", folder))
    site.refused("deploy", site.make("bad", HANDLER.format(2)), says="the workers refuse")
    assert asked[0] == ("prepare", before)
    if when == "serve":
        assert asked[1][1] not in (None, before)
    assert asked[2:] == ([] if when == "prepare" else [("serve", before)])
    assert site.handlers() == ["a:version_1"]


def test_what_is_kept(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets are kept as long as a job may run that has begun under them, and the last five in any case."""
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "PartitionName=p MaxTime=10-00:00:00")
    ids = [
        site.report("deploy", site.make(str(number), HANDLER.format(number)))["bundle"]
        for number in range(retention.KEPT + 2)
    ]
    assert set(ids) <= set(Store(site.etc).kept())
    today = retention.today()
    monkeypatch.setattr(retention, "today", lambda: today + timedelta(days=9))
    site.report("deploy", site.make("again", HANDLER.format(9)))
    assert set(ids) <= set(Store(site.etc).kept())
    site.report("rollback", ids[1])
    assert site.handlers() == ["a:version_1"]
    monkeypatch.setattr(retention, "today", lambda: today + timedelta(days=11))
    site.report("deploy", site.make("later", HANDLER.format(10)))
    assert Store(site.etc).kept()[:-2] == [*ids[-2:], Store(site.etc).events()[-3].bundle]
    site.refused("rollback", ids[0], says=f"there is no set {ids[0]}")


@pytest.mark.parametrize(
    ("lines", "days"),
    [
        (["PartitionName=a MaxTime=1:00:00"], 7),
        (["PartitionName=a MaxTime=14400"], 10),
        (["PartitionName=a MaxTime=8-12", "PartitionName=b"], 365),
        (["PartitionName=DEFAULT MaxTime=30-0", "PartitionName=a", "PartitionName=b MaxTime=5"], 30),
        (["PartitionName=a MaxTime=UNLIMITED"], 365),
        (["PartitionName=a MaxTime=99999999999999-0"], 365),
        ([], 365),
    ],
)
def test_how_long_a_job_may_take(site: "Site", lines: list[str], days: int) -> None:
    """The period is the longest MaxTime of the partitions, at least a week and at most a year."""
    site.conf(*lines)
    assert retention.period(str(site.etc / "slurm.conf")) == timedelta(days=days)


def test_whose_bundles_are_deployed(site: "Site") -> None:
    """Without a list of signers, a bundle that another user could have written is refused, as a hook file is."""
    bundle = site.make("good", HANDLER.format(1))
    bundle.chmod(0o666)
    site.refused("deploy", bundle, says=f"{bundle}: it is writable by everybody")
    assert not (site.etc / "slurmhooks.d").exists()


def test_files_that_were_changed(site: "Site", open_folder: Path) -> None:
    """rollback does not return to a bundle whose files somebody has edited; deploying it again repairs them."""
    first = site.report("deploy", site.make("one", HANDLER.format(1)))["bundle"]
    site.report("deploy", site.make("two", HANDLER.format(2)))
    (site.etc / "slurmhooks.d" / "sets" / first / "hooks.d" / "a.py").write_text("")
    site.refused("rollback", says=f"sets/{first}: its files were changed by hand")
    assert site.handlers() == ["a:version_2"]
    site.report("deploy", open_folder / "one.tar")
    assert site.handlers() == ["a:version_1"]
    (site.etc / "slurmhooks.d" / "sets" / first / "hooks.d" / "a.py").write_text("")
    assert "put another set in force" in site.call("deploy", open_folder / "one.tar").output


def test_what_rollback_refuses(site: "Site") -> None:
    """Without a deployment, or with an id that is not kept, rollback changes nothing."""
    site.refused("rollback", says="nothing was deployed on this machine")
    site.report("deploy", site.make("one", HANDLER.format(1)))
    site.refused("rollback", "0123456789abcdef", says="there is no set 0123456789abcdef")


def test_a_history_that_is_damaged(site: "Site") -> None:
    """Without a readable history the bundle in force stays, and the error says what to do."""
    site.report("deploy", site.make("one", HANDLER.format(1)))
    history = site.etc / "slurmhooks.d" / "events"
    for damaged in (b"[", b'["\xff"]', b"[" * 100_000):
        history.write_bytes(damaged)
        site.refused("rollback", says=f"{history}: damaged: ")
    assert site.handlers() == ["a:version_1"]
    history.unlink()
    site.report("deploy", site.make("two", HANDLER.format(2)))
    assert site.handlers() == ["a:version_2"]


def test_a_home_elsewhere(site: "Site", open_folder: Path) -> None:
    """With slurmhooks.home nothing beside slurm.conf changes: sets are in the home."""
    place = open_folder / "home"
    place.mkdir()
    (site.etc / "slurmhooks.toml").unlink(missing_ok=True)
    (site.etc / "slurmhooks.home").write_text(f"{place}\n")
    before = sorted(path.name for path in site.etc.iterdir())
    first = site.report("deploy", site.make("one", HANDLER.format(1)))["bundle"]
    assert site.report("deploy", site.make("two", HANDLER.format(2)))["before"] == first
    assert site.handlers() == ["a:version_2"]
    site.passed("rollback")
    assert site.handlers() == ["a:version_1"]
    assert sorted(path.name for path in site.etc.iterdir()) == before
    assert sorted(path.name for path in place.iterdir()) == ["slurmhooks.d", "slurmhooks.set"]


@pytest.mark.parametrize(
    ("name", "code", "remedy"),
    [
        ("begun", errno.EROFS, "name a folder that can be written"),
        ("slurmhooks.set", errno.EROFS, "name a folder that can be written"),
        ("begun", errno.EACCES, "run the command as root"),
    ],
)
def test_what_cannot_be_replaced(
    site: "Site", monkeypatch: pytest.MonkeyPatch, name: str, code: int, remedy: str
) -> None:
    """A folder that is read-only, or that this user may not write, changes nothing, and the error says what to do."""
    site.file(HANDLER.format(0))
    bundle = site.make("one", HANDLER.format(1))

    def refuse(call: str) -> None:
        real = getattr(durable, call)

        def refusing(path: Path, *arguments: object) -> None:
            if Path(path).name == name:
                raise OSError(code, os.strerror(code), str(path))
            real(path, *arguments)

        monkeypatch.setattr(durable, call, refusing)

    with monkeypatch.context() as context:
        monkeypatch = context
        context.setattr(os, "geteuid", lambda: 1000)
        refuse("write")
        refuse("link")
        result = site.call("deploy", bundle)
    assert result.exit_code == 1
    must = f"{os.strerror(code)}: 'deploy' and 'rollback' must write {site.etc}: {remedy}"
    assert must in result.output, result.output
    assert "nothing has changed" in result.output
    assert site.handlers() == ["a:version_0"]
    store = Store(site.etc)
    assert (store.unfinished, store.events(), store.deployed) == (None, [], None)


def test_an_exposed_folder(site: "Site") -> None:
    """An error about the folder of slurm.conf names that folder, not a list of signers that does not exist."""
    bundle = site.make("one", HANDLER.format(1))
    site.etc.chmod(0o777)
    result = site.refused("deploy", bundle, says=f"{site.etc}: it is writable by everybody")
    assert "allowed_signers" not in result.output


def test_two_commands_begin_at_once(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command may make the folders of the store at the same time."""
    real = Path.mkdir

    def late(path: Path, *words: Any, **options: Any) -> None:
        with suppress(FileExistsError):
            os.mkdir(path)
        real(path, *words, **options)

    monkeypatch.setattr(Path, "mkdir", late)
    with Store(site.etc).locked():
        pass


CASE = """
[[rule]]
rule = "default"
field = "account"
map = "m.csv"

[[rule]]
rule = "limit"
field = "nodes"
most = {}

[[rules.cases]]
options = "-p batch -N 4"
user = "alice"
outcome = "accepted"
changes = {{ account = "phys" }}
"""


def test_cases_and_map_files(site: "Site") -> None:
    """A set whose cases end in another way is not put in force; a set has the map files of its rules."""
    files = {"m.csv": "alice,phys\n"}
    report = site.report("deploy", site.make("good", HANDLER.format(1), CASE.format(4), **files))
    assert any("rules.cases: 1 of 1 are as expected" in note for note in report["notes"])
    assert (site.etc / "slurmhooks.set" / "m.csv").read_text() == files["m.csv"]
    before = site.handlers()
    for name, most, text in (("small", 3, files["m.csv"]), ("other", 4, "alice,bio\n")):
        bundle = site.make(name, HANDLER.format(1), CASE.format(most), **{"m.csv": text})
        site.refused("deploy", bundle, says="rules.cases, number 1 (sbatch -p batch -N 4 of alice): ")
        assert site.handlers() == before
