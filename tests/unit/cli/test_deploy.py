# SPDX-License-Identifier: GPL-2.0-or-later
"""``slurmhooks bundle``, ``deploy`` and ``rollback`` on one machine."""

import errno
import os
from collections.abc import Callable
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
from tests.unit.cli.deploying import HANDLER, deploy, handlers, make, rollback

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call, Machine, Site

pytestmark = pytest.mark.slow

INIT = "@hook.spank.init\ndef init(spank): pass\n"
PROLOG = "@hook.spank.job_prolog\ndef prolog(spank): pass\n"

__all__ = ["deploy", "make"]


def test_a_bundle_has_power_hooks(
    site: "Site", make: Callable[..., Path], deploy: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
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
        deploy(make(version, text.format(str(spool / "notes"), version)))
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


def test_plugins_of_another_slurm(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any], machine: "Machine"
) -> None:
    """Plugins that do not fit this Slurm are said about a set that is in force already, as about a new one."""
    bundles = [make(str(version), HANDLER.format(version)) for version in (1, 2)]
    deploy(bundles[0])
    machine.program("slurmd", "echo slurm 24.11.6")
    for bundle in bundles:
        result = run("deploy", bundle, "--sysconfdir", site.etc)
        assert result.exit_code == 1
        assert "the plugins are built for Slurm 24.11.5, not for 24.11.6" in result.stderr
    assert handlers(site) == ["a:version_1"]


def test_there_and_back(site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]) -> None:
    """rollback returns to what was in force before, and to others by their ids."""
    first, second = make("one", HANDLER.format(1)), make("two", HANDLER.format(2))
    one = deploy(first)
    assert handlers(site) == ["a:version_1"]
    assert "up to date" in site.check().output
    two = deploy(second)
    assert (two["before"], two["notes"]) == (one["bundle"], [])  # no note about the folder of the check
    assert handlers(site) == ["a:version_2"]
    assert rollback(site, run)["bundle"] == one["bundle"]
    assert handlers(site) == ["a:version_1"]
    result = run("rollback", "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert "nothing was in force before this set; kept: " in result.output
    rollback(site, run, two["bundle"])
    assert handlers(site) == ["a:version_2"]
    assert deploy(second)["before"] == two["bundle"]


def test_what_check_refuses_changes_nothing(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]
) -> None:
    """A bundle that does not load, or that Slurm would not call, leaves files and links as they were."""
    deploy(make("good", HANDLER.format(1)))
    before = snapshot(site.etc)
    refused = {
        "syntax": ("def (", "SyntaxError"),
        "spank": ("@hook.cli_filter.setup_defaults\ndef f(options): pass\n", "CliFilterPlugins"),
        "exit": ("import os\nos._exit(0)\n", "a hook file ended the process that loaded it"),
    }
    for name, (text, words) in refused.items():
        result = run("deploy", make(name, text), "--sysconfdir", site.etc)
        assert result.exit_code == 1, result.output
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


def test_lines_of_plugstack(site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]) -> None:
    """A bundle that was made for other lines of plugstack.conf is refused.

    A line may name files of the deployed bundle.
    """
    line = "required spank_python.so slurmhooks.d/current/hooks.d/*.py fast=1"
    bundle = make("lines", INIT, config="", **{"plugstack.conf": f"{line}  # ours\nrequired other.so\n"})
    result = run("deploy", bundle, "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert (
        "has the lines of spank_python.so: spank_python.so; the set was made for: spank_python.so slurmhooks.d/current/"
        in result.output
    )
    site.plugstack(line)
    deploy(bundle)
    assert handlers(site) == ["a:init"]
    site.plugstack(line.replace("fast=1", "slow=1"))
    assert handlers(site) == ["a:init"]
    assert run("status", "--sysconfdir", site.etc).exit_code == 0
    site.plugstack("required spank_python.so other.d/*.py")
    assert handlers(site) == []
    assert any("other.d/*.py: the set in force does not have it" in text for text in site.found())


def test_empty_folders(site: "Site", make: Callable[..., Path], deploy: Callable[..., Any], open_folder: Path) -> None:
    """A site whose folders have no hook files yet can deploy, and so can a bundle whose patterns match no file."""
    line = "required spank_python.so slurmhooks.d/current/lines.d/*.py"
    site.plugstack(line)
    for name in ("late.d/in", "a.d"):
        (open_folder / "sources" / "empty" / name).mkdir(parents=True)
    bundle = make(
        "empty",
        HANDLER.format(1),
        config='[hooks]\npaths = ["hooks.d/*.py", "late.d/in/*.py", "a.d/*/b/*.py"]\n',
        **{"plugstack.conf": f"{line}\n"},
    )
    deploy(bundle)
    assert handlers(site) == ["a:version_1"]
    deploy(bundle)  # its files are unchanged


def test_what_the_plugin_does_not_call(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]
) -> None:
    """A set whose handler the installed plugin leaves out is refused, and so is a return to one."""
    prolog = deploy(make("prolog", PROLOG))["bundle"]
    deploy(make("none", INIT))
    site.lean()
    for words in (("deploy", make("another", f"{PROLOG}# another\n")), ("rollback",), ("rollback", prolog)):
        result = run(*words, "--sysconfdir", site.etc)
        assert result.exit_code == 1
        assert "Slurm would never call handler a:prolog" in result.output
        assert "run 'slurmhooks install' without --lean" in result.output
        assert handlers(site) == ["a:init"]


@pytest.mark.parametrize("when", ["prepare", "serve"])
def test_slurmctld_refuses(
    site: "Site",
    run: "Call",
    make: Callable[..., Path],
    deploy: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:
    """slurmctld is asked before the switch; if it refuses after it all the same, the previous set is in force again."""
    before = deploy(make("good", HANDLER.format(1)))["bundle"]
    asked: list[tuple[str, str | None]] = []

    def answer(call: str, sysconfdir: Path) -> list[str]:
        asked.append((call, Store(sysconfdir).deployed))
        return ["the workers refuse"] if call == when and len(asked) < 3 else []

    monkeypatch.setattr(commands, "names", lambda folder: ["a socket"])
    monkeypatch.setattr(controllers, "serve", lambda folder: answer("serve", folder))
    monkeypatch.setattr(controllers, "prepare", lambda folder, _: answer("prepare", folder))
    result = run("deploy", make("bad", HANDLER.format(2)), "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert "the workers refuse" in result.output
    assert asked[0] == ("prepare", before)
    if when == "serve":
        assert asked[1][1] not in (None, before)
    assert asked[2:] == ([] if when == "prepare" else [("serve", before)])
    assert handlers(site) == ["a:version_1"]


def test_what_is_kept(
    site: "Site",
    run: "Call",
    make: Callable[..., Path],
    deploy: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sets are kept as long as a job may run that has begun under them, and the last five in any case."""
    site.conf(f"PluginDir={site.plugins}", "JobSubmitPlugins=python", "PartitionName=p MaxTime=10-00:00:00")
    ids = [deploy(make(str(number), HANDLER.format(number)))["bundle"] for number in range(retention.KEPT + 2)]
    assert set(ids) <= set(Store(site.etc).kept())
    today = retention.today()
    monkeypatch.setattr(retention, "today", lambda: today + timedelta(days=9))
    deploy(make("again", HANDLER.format(9)))
    assert set(ids) <= set(Store(site.etc).kept())
    rollback(site, run, ids[1])
    assert handlers(site) == ["a:version_1"]
    monkeypatch.setattr(retention, "today", lambda: today + timedelta(days=11))
    deploy(make("later", HANDLER.format(10)))
    assert Store(site.etc).kept()[:-2] == [*ids[-2:], Store(site.etc).events()[-3].bundle]
    result = run("rollback", ids[0], "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert f"there is no set {ids[0]}" in result.output


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


def test_whose_bundles_are_deployed(site: "Site", run: "Call", make: Callable[..., Path]) -> None:
    """Without a list of signers, a bundle that another user could have written is refused, as a hook file is."""
    bundle = make("good", HANDLER.format(1))
    bundle.chmod(0o666)
    result = run("deploy", bundle, "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert f"{bundle}: it is writable by everybody" in result.output
    assert not (site.etc / "slurmhooks.d").exists()


def test_files_that_were_changed(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any], open_folder: Path
) -> None:
    """rollback does not return to a bundle whose files somebody has edited; deploying it again repairs them."""
    first = deploy(make("one", HANDLER.format(1)))["bundle"]
    deploy(make("two", HANDLER.format(2)))
    (site.etc / "slurmhooks.d" / "sets" / first / "hooks.d" / "a.py").write_text("")
    result = run("rollback", "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert f"sets/{first}: its files were changed by hand" in result.output
    assert handlers(site) == ["a:version_2"]
    deploy(open_folder / "one.tar")
    assert handlers(site) == ["a:version_1"]
    (site.etc / "slurmhooks.d" / "sets" / first / "hooks.d" / "a.py").write_text("")
    assert "put another set in force" in run("deploy", open_folder / "one.tar", "--sysconfdir", site.etc).output


def test_what_rollback_refuses(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]
) -> None:
    """Without a deployment, or with an id that is not kept, rollback changes nothing."""
    result = run("rollback", "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert "nothing was deployed on this machine" in result.output
    deploy(make("one", HANDLER.format(1)))
    result = run("rollback", "0123456789abcdef", "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert "there is no set 0123456789abcdef" in result.output


def test_a_history_that_is_damaged(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]
) -> None:
    """Without a readable history the bundle in force stays, and the error says what to do."""
    deploy(make("one", HANDLER.format(1)))
    history = site.etc / "slurmhooks.d" / "events"
    for damaged in (b"[", b'["\xff"]', b"[" * 100_000):
        history.write_bytes(damaged)
        result = run("rollback", "--sysconfdir", site.etc)
        assert result.exit_code == 1
        assert f"{history}: damaged: " in result.output
    assert handlers(site) == ["a:version_1"]
    history.unlink()
    deploy(make("two", HANDLER.format(2)))
    assert handlers(site) == ["a:version_2"]


def test_a_home_elsewhere(
    site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any], open_folder: Path
) -> None:
    """With slurmhooks.home nothing beside slurm.conf changes: sets are in the home."""
    place = open_folder / "home"
    place.mkdir()
    (site.etc / "slurmhooks.toml").unlink(missing_ok=True)
    (site.etc / "slurmhooks.home").write_text(f"{place}\n")
    before = sorted(path.name for path in site.etc.iterdir())
    first = deploy(make("one", HANDLER.format(1)))["bundle"]
    assert deploy(make("two", HANDLER.format(2)))["before"] == first
    assert handlers(site) == ["a:version_2"]
    result = run("rollback", "--sysconfdir", site.etc)
    assert result.exit_code == 0, result.output
    assert handlers(site) == ["a:version_1"]
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
    site: "Site", run: "Call", make: Callable[..., Path], monkeypatch: pytest.MonkeyPatch,
    name: str, code: int, remedy: str,
) -> None:  # fmt: skip
    """A folder that is read-only, or that this user may not write, changes nothing, and the error says what to do."""
    site.file(HANDLER.format(0))
    bundle = make("one", HANDLER.format(1))

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
        result = run("deploy", bundle, "--sysconfdir", site.etc)
    assert result.exit_code == 1
    must = f"{os.strerror(code)}: 'deploy' and 'rollback' must write {site.etc}: {remedy}"
    assert must in result.output, result.output
    assert "nothing has changed" in result.output
    assert handlers(site) == ["a:version_0"]
    store = Store(site.etc)
    assert (store.unfinished, store.events(), store.deployed) == (None, [], None)


def test_an_exposed_folder(site: "Site", run: "Call", make: Callable[..., Path]) -> None:
    """An error about the folder of slurm.conf names that folder, not a list of signers that does not exist."""
    bundle = make("one", HANDLER.format(1))
    site.etc.chmod(0o777)
    result = run("deploy", bundle, "--sysconfdir", site.etc)
    assert result.exit_code == 1
    assert f"{site.etc}: it is writable by everybody" in result.output
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


def test_cases_and_map_files(site: "Site", run: "Call", make: Callable[..., Path], deploy: Callable[..., Any]) -> None:
    """A set whose cases end in another way is not put in force; a set has the map files of its rules."""
    files = {"m.csv": "alice,phys\n"}
    report = deploy(make("good", HANDLER.format(1), CASE.format(4), **files))
    assert any("rules.cases: 1 of 1 are as expected" in note for note in report["notes"])
    assert (site.etc / "slurmhooks.set" / "m.csv").read_text() == files["m.csv"]
    before = handlers(site)
    for name, most, text in (("small", 3, files["m.csv"]), ("other", 4, "alice,bio\n")):
        bundle = make(name, HANDLER.format(1), CASE.format(most), **{"m.csv": text})
        refused = run("deploy", bundle, "--sysconfdir", site.etc)
        assert refused.exit_code == 1
        assert "rules.cases, number 1 (sbatch -p batch -N 4 of alice): " in refused.output
        assert handlers(site) == before
