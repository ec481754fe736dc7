# SPDX-License-Identifier: GPL-2.0-or-later
"""The view ``container``, commands, and the stand-in for the anchor process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.errors import StaleHandleError
from slurmhooks.handlers import loader
from slurmhooks.log import log
from slurmhooks.scrun import BundleError, CancelledError, Container, cancel
from slurmhooks.scrun.model import shell_text
from slurmhooks.workshop.testing.anchor import FakeAnchor

PROJECT = Path(__file__).resolve().parents[3]
CONFIG = {"ociVersion": "1.0.2", "process": {"cwd": "/", "args": ["sh"]}, "root": {"path": "rootfs"}}


class Scrun:
    """Records calls in place of scrun."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, bytes]] = []

    def ask(self, function: str, argument: bytes) -> tuple[int, bytes]:
        """Answer as remote_command might."""
        self.asked.append((function, argument))
        return 3, b"said \xff\x00 this"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle with one file."""
    made = tmp_path / "a bundle"
    (made / "rootfs" / "etc").mkdir(parents=True)
    (made / "rootfs" / "etc" / "file").write_text("original")
    (made / "config.json").write_text(json.dumps(CONFIG))
    return made


@pytest.fixture
def scrun() -> Scrun:
    """A scrun that records calls."""
    return Scrun()


@pytest.fixture
def container(bundle: Path, scrun: Scrun) -> Container:
    """The view of a container in stage_in."""
    values: dict[str, Any] = {
        "id": "demo",
        "bundle": str(bundle),
        "orig_bundle": str(bundle),
        "root_path": None,
        "orig_root_path": None,
        "spool_dir": "/run/spool",
        "config_file": str(bundle / "config.json"),
        "job_id": 5,
        "user_id": 2001,
        "group_id": 2002,
    }
    return Container(values, {"SLURM_JOB_ID": "5", "ODD": "\udcff"}, scrun.ask)


@pytest.fixture
def cancelled() -> Iterator[Callable[[], None]]:
    """Cancel the staging."""
    state: list[int] = []
    cancel.attach(lambda: bool(state))
    yield lambda: state.append(1)
    cancel.attach(None)


def test_reading(container: Container) -> None:
    """Every value can be read by its name; the error for another name shows the nearest."""
    assert (container.id, container.job_id, container.user_id, container.group_id) == ("demo", 5, 2001, 2002)
    assert container.root_path is None
    assert container.job_env["SLURM_JOB_ID"] == "5"
    with pytest.raises(AttributeError, match="no 'rootpath'; nearest: root_path"):
        container.rootpath  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("name", ["id", "job_id", "config", "job_env", "cancelled", "config_file"])
def test_read_only(container: Container, name: str) -> None:
    """Only the two paths can be assigned."""
    with pytest.raises(AttributeError, match="read-only"):
        setattr(container, name, "/x")


def test_the_environment_is_updated_in_place(container: Container) -> None:
    """``|=`` writes to the job's environment; Python then assigns the same object, which is accepted."""
    container.job_env |= {"NEW": "1"}  # type: ignore[misc]
    container.job_env |= {}  # type: ignore[misc]
    assert container.job_env["NEW"] == "1"


@pytest.mark.parametrize(
    ("value", "error"), [("relative", ValueError), ("/a\0b", ValueError), (b"/a", TypeError), (None, TypeError)]
)
def test_wrong_paths(container: Container, scrun: Scrun, value: Any, error: type[Exception]) -> None:
    """A path that scrun cannot use is refused, and nothing is staged."""
    with pytest.raises(error, match="bundle"):
        container.bundle = value
    container.commit()
    assert scrun.asked == []


def test_writes_wait_for_the_commit(container: Container, scrun: Scrun) -> None:
    """scrun gets paths when all handlers have passed; handlers see them at once."""
    old = container.set_bundle_path("/new/b \udcff")
    assert container.set_root_path("/new/r") == os.path.join(container.orig_bundle, "rootfs")
    assert old == container.orig_bundle
    assert (container.bundle, container.root_path) == ("/new/b \udcff", "/new/r")
    assert scrun.asked == []
    container.commit()
    assert scrun.asked == [("set_bundle_path", b"/new/b \xff"), ("set_root_path", b"/new/r")]


def test_rollback(container: Container, scrun: Scrun) -> None:
    """Writes of a lenient handler with a bug are dropped."""
    container.job_env["A"] = "1"
    point = container.savepoint()
    container.bundle = "/new"
    container.job_env["A"] = "2"
    container.rollback(point)
    container.commit()
    assert scrun.asked == []
    assert container.job_env["A"] == "1"


def test_stale(container: Container) -> None:
    """After the call, every use of the view raises StaleHandleError."""
    environment = container.job_env
    container.close()
    uses: list[Callable[[], object]] = [
        lambda: container.id,
        lambda: container.config,
        lambda: container.job_env,
        lambda: environment["A"],
        lambda: container.allocator_command("true"),
        lambda: container.remote_command("true"),
        lambda: setattr(container, "bundle", "/x"),
        container.save_config,
    ]
    for use in uses:
        with pytest.raises(StaleHandleError):
            use()


def test_nothing_is_applied_of_a_cancelled_staging(
    container: Container, scrun: Scrun, cancelled: Callable[[], None]
) -> None:
    """A cancelled container is not started, even if no handler checks."""
    container.bundle = "/new"
    assert not container.cancelled
    cancelled()
    assert container.cancelled
    with pytest.raises(CancelledError):
        container.commit()
    assert scrun.asked == []


def test_config_follows_the_bundle(container: Container, bundle: Path, tmp_path: Path) -> None:
    """The configuration is read from the original bundle and saved to the assigned one."""
    container.config.hostname = "new"
    place = tmp_path / "place"
    place.mkdir()
    container.bundle = str(place)
    container.save_config()
    assert json.loads((place / "config.json").read_text()) == {**CONFIG, "hostname": "new"}
    assert json.loads((bundle / "config.json").read_text()) == CONFIG
    container.save_config(str(tmp_path / "other.json"))
    assert (tmp_path / "other.json").exists()


def test_config_errors(container: Container, bundle: Path) -> None:
    """A missing, malformed or invalid file is reported in one line with its name."""
    path = bundle / "config.json"
    path.write_text("{")
    with pytest.raises(BundleError, match=r"a bundle/config\.json: not JSON"):
        container.config  # noqa: B018
    path.unlink()
    with pytest.raises(BundleError, match="No such file"):
        container.config  # noqa: B018


def test_no_pydantic_without_config() -> None:
    """The model is imported only if a handler uses the configuration."""
    code = (
        "import sys, slurmhooks.scrun.model, slurmhooks.scrun.trees, slurmhooks.scrun.commands\n"
        "bad = [name for name in ('pydantic', 'typing_extensions', 'asyncio', 'logging') if name in sys.modules]\n"
        "sys.exit(repr(bad) if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_remote_command_is_scruns(container: Container, scrun: Scrun) -> None:
    """A list is quoted, a str is passed as it is; the output is decoded, NUL bytes included."""
    result = container.remote_command(["echo", "two words", "$HOME"])
    assert (result.status, result.output) == (3, "said \udcff\0 this")
    container.remote_command("echo $HOME")
    assert scrun.asked == [("remote_command", b"echo 'two words' '$HOME'"), ("remote_command", b"echo $HOME")]


@pytest.mark.parametrize(
    ("command", "text"),
    [("a | b", b"a | b"), (["a b", "c"], b"'a b' c"), (("ls", Path("/x y")), b"ls '/x y'"), (["\udcff"], b"'\xff'")],
)
def test_commands_for_the_shell(command: Any, text: bytes) -> None:
    """A str stays as it is, words are quoted, and a path is a word."""
    assert shell_text(command) == text


@pytest.mark.parametrize(
    ("command", "error", "message"),
    [
        (5, TypeError, "a str or a list of str, not 5"),
        (b"ls", TypeError, "a str or a list of str, not b'ls'"),
        (["ls", 5], TypeError, "command takes a str, not 5"),
        ([], ValueError, "at least one word"),
        (["a\0"], ValueError, "NUL byte"),
        ("a\0", ValueError, "NUL byte"),
    ],
)
def test_what_is_no_command(command: Any, error: type[Exception], message: str) -> None:
    """A value that is not a command is refused, and nothing runs."""
    with pytest.raises(error, match=message):
        shell_text(command)


@pytest.mark.parametrize(
    ("command", "status", "output"),
    [
        ("echo out; echo err >&2; exit 3", 3, "out\nerr\n"),
        ("printf 'a\\0b\\377'", 0, "a\0b\udcff"),
        ("kill -9 $$", 137, ""),
        ("exec sleep 0", 0, ""),
        ("cat; echo $SLURM_JOB_ID; echo ${HOME-unset}", 0, "5\nunset\n"),
        ("echo >&3; echo $?", 0, None),
        (["printf", "%s", "-n\n'\"$x\udcff"], 0, "-n\n'\"$x\udcff"),
        ("no-such-command", 127, None),
        ("if", 2, None),
        ("", 0, ""),
    ],
)
def test_allocator_command(container: Container, command: str | list[str], status: int, output: str | None) -> None:
    """Status and output of both streams, byte for byte, with the job's environment and no input."""
    result = container.allocator_command(command)
    assert result.status == status
    if output is not None:
        assert result.output == output


def test_allocator_command_long_output(container: Container) -> None:
    """Output of any length is read to its end."""
    assert len(container.allocator_command("head -c 5000000 /dev/zero").output) == 5_000_000


def test_allocator_command_sees_what_handlers_set(container: Container) -> None:
    """A variable that a handler wrote is in the command's environment."""
    container.job_env["NEW"] = "two words"
    assert container.allocator_command('echo "$NEW$ODD"').output == "two words\udcff\n"


def test_allocator_command_when_somebody_else_reaps(container: Container) -> None:
    """The status arrives although scrun's handler of SIGCHLD reaps the child."""
    import threading

    stop = threading.Event()

    def reap() -> None:
        while not stop.is_set():
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                time.sleep(0.0001)

    thread = threading.Thread(target=reap)
    thread.start()
    try:
        statuses = {container.allocator_command("exit 3").status for _ in range(50)}
    finally:
        stop.set()
        thread.join()
    assert statuses == {3}


def test_allocator_command_is_ended(container: Container, cancelled: Callable[[], None], tmp_path: Path) -> None:
    """A command of a cancelled container is killed, with its children."""
    cancelled()
    start = time.monotonic()
    with pytest.raises(CancelledError):
        container.allocator_command(f"sleep 60 & echo $! > {tmp_path}/pid; trap '' TERM; sleep 60")
    assert time.monotonic() - start < 20


def test_no_descriptors_are_left(container: Container) -> None:
    """Commands leave no pipes open."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        container.allocator_command("true")
    assert len(os.listdir("/proc/self/fd")) == before


HOOKS = """
from slurmhooks import Reject, hook, log
from slurmhooks.scrun import copy_tree
@hook.scrun.stage_in
def stage_in(container):
    if "refuse" in container.id:
        raise Reject("not this one")
    container.config.hostname = "tried"
    place = container.spool_dir + "/place"
    copy_tree(container.bundle, place)
    container.bundle = place
    container.root_path = place + "/rootfs"
    container.save_config()
    log.info(container.remote_command("echo $SCRUN_CONTAINER_ID").output.strip())
@hook.scrun.stage_out
def stage_out(container):
    assert container.bundle != container.orig_bundle and container.job_env
    copy_tree(container.root_path, container.orig_root_path, update=True)
"""


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of the log."""
    found: list[str] = []
    monkeypatch.setattr(log, "_sink", lambda level, text: found.append(text))
    monkeypatch.setattr(log, "_user", found.append)
    return found


def load(tmp_path: Path, text: str) -> Any:
    """Load a hook file."""
    (tmp_path / "hooks.py").write_text(text)
    return loader.load([loader.Source(path=str(tmp_path / "hooks.py"))])


@pytest.mark.parametrize("in_place", [False, True])
def test_trial(tmp_path: Path, bundle: Path, lines: list[str], in_place: bool) -> None:
    """Handlers run on a copy of a bundle, or on the bundle itself if requested."""
    with FakeAnchor(load(tmp_path, HOOKS), bundle, in_place=in_place) as trial:
        assert trial.stage_in().passed
        assert '+  "hostname": "tried"' in trial.config_diff()
        assert trial.root_path is not None
        Path(trial.root_path, "etc", "file").write_text("changed")
        assert trial.stage_out().passed
        left = trial.bundle
    assert not os.path.exists(left)
    assert (bundle / "rootfs" / "etc" / "file").read_text() == ("changed" if in_place else "original")
    assert any("a bundle" in line for line in lines)


def test_trial_of_a_refusal(tmp_path: Path, bundle: Path) -> None:
    """A refusal is the outcome, with its text."""
    with FakeAnchor(load(tmp_path, HOOKS), bundle, container_id="refuse me") as trial:
        outcome = trial.stage_in()
    assert not outcome.passed
    assert outcome.text == "not this one"


def test_trial_of_a_broken_bundle(tmp_path: Path, bundle: Path) -> None:
    """A bundle that scrun would refuse is refused before handlers run, and no copy remains."""
    (bundle / "config.json").write_text("[]")
    with pytest.raises(BundleError, match="JSON object"):
        FakeAnchor(load(tmp_path, HOOKS), bundle)


def test_the_ported_example_as_a_trial(tmp_path: Path, bundle: Path, lines: list[str]) -> None:
    """The example in contrib works, and leaves only changes of the container."""
    text = (PROJECT / "contrib/scrun/staging.py").read_text()
    scratch = tmp_path / "scratch"
    text = text.replace('SCRATCH = "/run/user/{uid}/slurm/scrun"', f"SCRATCH = {str(scratch)!r}")
    (bundle / "rootfs" / "proc").mkdir()
    (bundle / "rootfs" / "etc" / "gone").write_text("x")
    with FakeAnchor(load(tmp_path, text), bundle, in_place=True, container_id="demo") as trial:
        outcome = trial.stage_in()
        assert outcome.passed, outcome.text
        root = Path(trial.root_path or "")
        assert root == scratch / "demo" / "rootfs"
        (root / "etc" / "new").write_text("new")
        (root / "etc" / "gone").unlink()
        assert json.loads((scratch / "demo" / "config.json").read_text())["root"]["path"] == str(root)
        assert trial.stage_out().passed
    assert sorted(os.listdir(bundle / "rootfs" / "etc")) == ["file", "new"]
    assert sorted(os.listdir(bundle / "rootfs")) == ["etc", "proc"]
    assert os.listdir(scratch) == []
    assert json.loads((bundle / "config.json").read_text()) == CONFIG
