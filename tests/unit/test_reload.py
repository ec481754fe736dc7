# SPDX-License-Identifier: GPL-2.0-or-later
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slurmhooks import loader, paths, reload
from slurmhooks.errors import ConfigError, LoadError
from slurmhooks.hook_specs import HOOKS
from slurmhooks.log import log
from slurmhooks.registry import Handler, Registry
from slurmhooks.watch import Watch

Write = Callable[..., Path]
HANDLER = "from slurmhooks import hook\n\n@hook.job_submit\ndef {name}(job): ...\n"
_numbers = itertools.count()


class Clock:
    """Replaces the module time: files appear old, and sleeping takes no time.

    Attributes:
        age: seconds that are added to the age of files.
        waits: the seconds that were slept.
        while_waiting: a function that is called in the next sleep.
    """

    def __init__(self) -> None:
        self.age = 100.0
        self.waits: list[float] = []
        self.while_waiting: Callable[[], object] = list

    def time_ns(self) -> int:
        """Return the modification time of files, in nanoseconds."""
        return time.time_ns() + int(self.age * 1e9)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.waits.append(seconds)
        self.while_waiting()
        self.while_waiting = list
        self.age += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock; all files appear old unless a test changes their age."""
    made = Clock()
    monkeypatch.setattr(reload, "time", made)
    return made


class Site:
    """Does in this process what the supervisor and its generations do: loads changed files.

    Attributes:
        registry: what is in service.
        findings: why the files as they are now are not in service.
    """

    def __init__(self, path: Path, *arguments: Any, **keywords: Any) -> None:
        """Store the path of the configuration, and further arguments for slurmhooks.reload.load()."""
        self.registry = Registry((), ())
        self.findings: list[str] = []
        self._path = path
        self._arguments = arguments or (lambda registry: [],)
        self._keywords = keywords
        self._watch: Watch | None = None
        self._good: Watch | None = None

    def start(self) -> None:
        """Load the first set of handlers, as the first generation does."""
        self._load()

    def refresh(self) -> None:
        """Load a set of handlers if files have changed; if it does not load, the previous set stays in service."""
        assert self._watch is not None
        if not self._watch.changed():
            return
        before = self._good
        try:
            self._load()
        except (ConfigError, LoadError) as error:
            self.findings = error.findings
            return
        self.findings = []
        assert before is not None
        assert self._good is not None
        reload.report_change(before.handlers, self._good.handlers)

    def _load(self) -> None:
        watch = Watch(before=self._good)
        kept = dict(sys.modules)
        try:
            _, self.registry = reload.load(self._path, watch, *self._arguments, **self._keywords)
        finally:
            # Each generation is a separate process, and writes this to the supervisor.
            for name in set(sys.modules) - set(kept):
                del sys.modules[name]
            self._watch = Watch.of(json.loads(json.dumps(watch.plain())))
        self._good = self._watch


@pytest.fixture
def sites(tmp_path: Path) -> Callable[..., Site]:
    """Return a function that writes a configuration and loads it."""

    def start(config: str = '[hooks]\npaths = ["hooks.d/*.py"]\n', findings: list[str] | None = None) -> Site:
        (tmp_path / "slurmhooks.toml").write_text(config)
        site = Site(tmp_path / "slurmhooks.toml", lambda registry: list(findings or []))
        site.start()
        return site

    return start


def labels(site: Site) -> list[str]:
    """Return the handlers in service, after changed files have been loaded."""
    site.refresh()
    return [handler.label for handler in site.registry.handlers("job_submit")]


def test_nothing_changes_while_nothing_changes(write: Write, sites: Callable[..., Site]) -> None:
    """Without a change nothing is loaded."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    assert labels(site) == ["a:f"]
    before = site.registry
    for _ in range(3):
        site.refresh()
    assert site.registry is before


def test_changed_new_and_renamed_files(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """Changed, new and renamed files are loaded, and the log names the removed handlers."""
    path = write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("hooks.d/a.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:g"]
    assert said.lines == [
        (1, "slurmhooks: loaded changed hooks: 1 handlers"),
        (1, f"slurmhooks: {path}: no longer in force: job_submit handler a:f"),
    ]
    write("hooks.d/b.py", HANDLER.format(name="h"))
    assert labels(site) == ["a:g", "b:h"]
    path.rename(path.with_name("c.py"))
    assert labels(site) == ["b:h", "c:g"]
    write("hooks.d/c.py.new", HANDLER.format(name="k")).rename(path)
    assert labels(site) == ["a:k", "b:h", "c:g"]
    assert said.records == []


def test_only_hook_files_count(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """Other files in the folder, such as byte code or those of an editor, cause no load."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    before = site.registry
    for name in ("a.py~", ".a.py.swp", "__pycache__/a.cpython-313.pyc", "notes.txt"):
        beside = write(f"hooks.d/{name}", "")
        site.refresh()
        beside.unlink()
        site.refresh()
    assert site.registry is before
    assert said.lines == []
    write("hooks.d/b.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:f", "b:g"]


def test_folders_that_come(write: Write, sites: Callable[..., Site]) -> None:
    """A new folder that a glob matches is noticed."""
    write("of/a/hooks.py", HANDLER.format(name="f"))
    site = sites('[hooks]\npaths = ["of/*/hooks.py"]\n')
    assert labels(site) == ["hooks:f"]
    write("of/b/hooks.py", HANDLER.format(name="g"))
    assert labels(site) == ["hooks:f", "hooks:g"]
    write("of/b/hooks.py", HANDLER.format(name="h"))
    assert labels(site) == ["hooks:f", "hooks:h"]


def test_a_file_that_comes_while_others_load(write: Write, sites: Callable[..., Site], tmp_path: Path) -> None:
    """A file that appears while others are loaded is loaded afterwards."""
    late = tmp_path / "hooks.d" / "b.py"
    source = HANDLER.format(name="late")
    write("hooks.d/a.py", f"from pathlib import Path\nPath({str(late)!r}).write_text({source!r})\n")
    site = sites()
    assert labels(site) == ["b:late"]


def test_a_broken_change_leaves_the_last_good_ones(write: Write, sites: Callable[..., Site]) -> None:
    """The previous handlers stay in service until the file loads again."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("hooks.d/a.py", "1 / 0\n")
    assert labels(site) == ["a:f"]
    assert "ZeroDivisionError" in site.findings[0]
    assert labels(site) == ["a:f"]
    write("hooks.d/a.py", HANDLER.format(name="repaired"))
    assert labels(site) == ["a:repaired"]
    assert site.findings == []


def test_a_broken_configuration_too(write: Write, sites: Callable[..., Site]) -> None:
    """While the configuration is invalid, the previous handlers stay in service."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    write("slurmhooks.toml", "[nonsense]\n")
    assert labels(site) == ["a:f"]
    assert "nonsense: unknown key" in site.findings[0]
    write("slurmhooks.toml", '[hooks]\npaths = ["other.py"]\n')
    assert labels(site) == ["a:f"]
    assert "no such hook file" in site.findings[0]
    write("other.py", HANDLER.format(name="g"))
    assert labels(site) == ["other:g"]


def test_the_first_load_must_go_well(write: Write, sites: Callable[..., Site]) -> None:
    """Errors in the first load are raised."""
    write("hooks.d/a.py", "1 / 0\n")
    with pytest.raises(LoadError, match="ZeroDivisionError"):
        sites()
    with pytest.raises(ConfigError, match="unknown key"):
        sites("[nonsense]\n")


def test_what_the_process_cannot_serve_is_a_finding(write: Write, sites: Callable[..., Site]) -> None:
    """Findings of the check function are raised like errors in files."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    with pytest.raises(LoadError, match="not with this build"):
        sites(findings=["not with this build"])


def test_packages_are_imported_anew(
    write: Write, sites: Callable[..., Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change anywhere inside a listed package is noticed."""
    name = f"reloaded_package_{next(_numbers)}"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    write(f"lib/{name}/__init__.py", f"from {name}.inner import *\n")
    write(f"lib/{name}/inner.py", HANDLER.format(name="f"))
    site = sites(f'[hooks]\nmodules = ["{name}"]\n')
    assert labels(site) == [f"{name}:f"]
    write(f"lib/{name}/inner.py", HANDLER.format(name="longer"))
    assert labels(site) == [f"{name}:longer"]


def test_links_are_followed(write: Write, sites: Callable[..., Site], tmp_path: Path) -> None:
    """If a hook file is a link into another folder, a change there is noticed."""
    real = write("elsewhere/a.py", HANDLER.format(name="f"))
    (tmp_path / "hooks.d").mkdir()
    (tmp_path / "hooks.d" / "link.py").symlink_to(real)
    site = sites()
    assert labels(site) == ["a:f"]
    write("elsewhere/a.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:g"]


def test_a_change_while_files_load_is_seen(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """A file that is completed while it is being loaded is loaded again."""
    write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites()
    complete = HANDLER.format(name="complete")
    write("hooks.d/a.py", f"from pathlib import Path\nPath(__file__).write_text({complete!r})\n1 / 0\n")
    assert labels(site) == ["a:f"]
    assert labels(site) == ["a:complete"]


def test_the_level_of_the_log(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """A change of the level in the configuration takes effect."""
    write("slurmhooks.toml", "")
    site = sites()
    try:
        write("slurmhooks.toml", '[log]\nlevel = "error"\n')
        site.refresh()
        log.info("dropped")
    finally:
        log.limit("debug3")
    assert said.lines == []


# Policy stays.

GONE = "to remove this on purpose: touch "
EMPTY = "to remove this on purpose: leave a comment in the file, or touch "


def _delete(path: Path) -> str:
    path.unlink()
    return f"{path}: is gone, and with it job_submit handler a:f; {GONE}"


def _empty(path: Path) -> str:
    path.write_text("")
    return f"{path}: is empty, and with it job_submit handler a:f; {EMPTY}"


def _blank(path: Path) -> str:
    path.write_text("\n \n")
    return f"{path}: is empty, and with it job_submit handler a:f; {EMPTY}"


def _half(path: Path) -> str:
    path.write_text(path.read_text()[:-6])
    return f"{path}:4: SyntaxError"


def _zeros(path: Path) -> str:
    path.write_bytes(bytes(path.stat().st_size))
    return f"{path}: "  # a SyntaxError in later releases of Python, a ValueError in 3.11


def _folder(path: Path) -> str:
    path.unlink()
    path.mkdir()
    return f"{path}: a folder, not a file"


def _fifo(path: Path) -> str:
    path.unlink()
    os.mkfifo(path)
    return f"{path}: not a file"


def _dangling(path: Path) -> str:
    path.unlink()
    path.symlink_to("gone")
    return f"{path.with_name('gone')}: no such hook file"


def _loop(path: Path) -> str:
    path.unlink()
    path.symlink_to(path.name)
    return f"{path}: Too many levels of symbolic links"


def _folder_gone(path: Path) -> str:
    path.parent.rename(path.parent.with_name("renamed"))
    return f"{path}: is gone, and with it job_submit handler a:f; {GONE}"


def _folder_empty(path: Path) -> str:
    _folder_gone(path)
    path.parent.mkdir()
    return f"{path}: is gone, and with it job_submit handler a:f; {GONE}"


def _folder_file(path: Path) -> str:
    _folder_gone(path)
    path.parent.write_text("")
    return f"{path.parent}: Not a directory; it may hold hook files"


def _folder_dangling(path: Path) -> str:
    _folder_gone(path)
    path.parent.symlink_to("not_mounted")
    return f"{path.parent}: a symbolic link on the way leads nowhere; it may hold hook files"


def _folder_loop(path: Path) -> str:
    _folder_gone(path)
    path.parent.symlink_to(path.parent.name)
    return f"{path.parent}: Too many levels of symbolic links; it may hold hook files"


def _toml_gone(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.unlink()
    return f"{toml}: is gone; to remove all hooks on purpose, leave nothing but a comment in it"


def _toml_empty(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.write_text("\n")
    return f"{toml}: is empty; to remove all hooks on purpose, leave nothing but a comment in it"


def _toml_half(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.write_text(toml.read_text()[:-4])
    return f"{toml}: not TOML"


def _toml_fifo(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.unlink()
    os.mkfifo(toml)
    return f"{toml}: not a file"


def _toml_dangling(path: Path) -> str:
    toml = path.parent.with_name("slurmhooks.toml")
    toml.unlink()
    toml.symlink_to("gone")
    return f"{toml}: a symbolic link on the way leads nowhere"


def _all_gone(path: Path) -> str:
    folder = path.parent.parent
    folder.rename(folder.with_name("renamed"))
    return f"{folder / 'slurmhooks.toml'}: is gone"


ACCIDENTS = [
    _delete, _empty, _blank, _half, _zeros, _folder, _fifo, _dangling, _loop,
    _folder_gone, _folder_empty, _folder_file, _folder_dangling, _folder_loop,
    _toml_gone, _toml_empty, _toml_half, _toml_fifo, _toml_dangling, _all_gone,
]  # fmt: skip


@pytest.mark.parametrize("accident", ACCIDENTS)
@pytest.mark.parametrize("others", [True, False])
def test_handlers_are_never_lost_by_accident(tmp_path: Path, accident: Callable[[Path], str], others: bool) -> None:
    """After each accident the previous set stays in service, with a finding; a repair takes effect at once."""
    base = tmp_path / "slurm"
    path = base / "hooks.d" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text(HANDLER.format(name="f"))
    before = ["a:f"]
    if others:
        (path.parent / "b.py").write_text(HANDLER.format(name="g"))
        before.append("b:g")
    toml = base / "slurmhooks.toml"
    toml.write_text('[hooks]\npaths = ["hooks.d/*.py"]\n')
    site = Site(toml)
    site.start()
    registry = site.registry
    expected = accident(path)
    for _ in range(3):
        assert labels(site) == before
    assert site.registry is registry
    assert site.findings[0].startswith(expected)

    if not base.exists():
        base.with_name("renamed").rename(base)
    for left in (path, path.parent, toml):
        if left.is_symlink() or left.is_fifo():
            left.unlink()
        elif left == path and left.is_dir():
            left.rmdir()
        elif left == path.parent and left.is_file():
            left.unlink()
    path.parent.mkdir(exist_ok=True)
    path.write_text(HANDLER.format(name="repaired"))
    (path.parent / "b.py").write_text(HANDLER.format(name="g"))
    toml.write_text('[hooks]\npaths = ["hooks.d/*.py"]  # repaired\n')
    assert labels(site) == ["a:repaired", "b:g"]
    assert site.findings == []


def test_a_folder_without_handlers_in_force(sites: Callable[..., Site], write: Write, tmp_path: Path) -> None:
    """A missing folder is not an error if no handlers are in service; a dangling link always is."""
    site = sites()
    assert labels(site) == []
    (tmp_path / "hooks.d").symlink_to("not_mounted")
    with pytest.raises(LoadError, match="leads nowhere"):
        sites()
    (tmp_path / "slurmhooks.toml").rename(tmp_path / "hooks.toml")
    (tmp_path / "slurmhooks.toml").symlink_to("gone.toml")
    with pytest.raises(ConfigError, match="leads nowhere"):
        Site(tmp_path / "slurmhooks.toml").start()
    (tmp_path / "not_mounted").mkdir()
    (tmp_path / "slurmhooks.toml").unlink()
    Site(tmp_path / "slurmhooks.toml").start()


@pytest.mark.parametrize("way", ["comment", "handler", "deleted", "paths", "everything"])
def test_handlers_that_are_removed_on_purpose(
    write: Write, sites: Callable[..., Site], said: SimpleNamespace, clock: Clock, tmp_path: Path, way: str
) -> None:
    """An edit of a hook file or the configuration removes handlers once it is complete; the log names them."""
    path = write("hooks.d/a.py", HANDLER.format(name="f") + HANDLER.format(name="g"))
    write("other.py", HANDLER.format(name="h"))
    toml = tmp_path / "slurmhooks.toml"
    site = sites('[hooks]\npaths = ["hooks.d/*.py", "other.py"]\n')
    after = ["other:h"]
    if way == "comment":
        path.write_text("# nothing is limited any more\n")
    elif way == "handler":
        path.write_text(HANDLER.format(name="f"))
        after.insert(0, "a:f")
    elif way == "deleted":
        path.unlink()
        assert len(labels(site)) == 3
        toml.chmod(0o640)  # no edit
        assert len(labels(site)) == 3
        assert "is gone" in site.findings[0]
        toml.touch()
    elif way == "paths":
        toml.write_text('[hooks]\npaths = ["other.py"]\n')
    else:
        toml.write_text("# no hooks any more\n")
        after = []
    clock.age = 1
    assert labels(site) == after
    assert clock.waits == [reload.SETTLED]
    gone = "a:g" if way == "handler" else "job_submit handler a:f, job_submit handler a:g"
    assert any("no longer in force" in line and gone in line for _, line in said.lines)
    assert site.findings == []


def test_a_file_that_is_half_written_and_loads(write: Write, sites: Callable[..., Site], clock: Clock) -> None:
    """A file that is being written, and is valid without its second half, does not remove handlers."""
    whole = HANDLER.format(name="f") + HANDLER.format(name="g")
    path = write("hooks.d/a.py", whole)
    site = sites()
    clock.age = 0
    clock.while_waiting = lambda: path.write_text(whole + HANDLER.format(name="h"))
    path.write_text(HANDLER.format(name="f"))
    assert labels(site) == ["a:f", "a:g", "a:h"]
    assert clock.waits == [reload.SETTLED]


def test_a_file_from_the_future(write: Write, sites: Callable[..., Site], clock: Clock) -> None:
    """If the clock of a file server is ahead, handlers are removed after one wait."""
    path = write("hooks.d/a.py", HANDLER.format(name="f") + HANDLER.format(name="g"))
    site = sites()
    path.write_text(HANDLER.format(name="f"))
    os.utime(path, (time.time() + 1e6,) * 2)
    assert labels(site) == ["a:f"]
    assert clock.waits == [reload.SETTLED]


def test_a_link_that_is_set_to_another_release(write: Write, sites: Callable[..., Site], tmp_path: Path) -> None:
    """Setting a link to another version of a folder or file counts as an edit, whatever the names of the files are."""
    write("v1/a.py", HANDLER.format(name="f") + HANDLER.format(name="g"))
    write("v2/a.py", HANDLER.format(name="f"))
    write("v2/c.py", HANDLER.format(name="h"))
    link = tmp_path / "hooks.d"
    link.symlink_to("v1")
    (tmp_path / "one.py").symlink_to("v2/c.py")
    site = sites('[hooks]\npaths = ["hooks.d/*.py", "one.py"]\n')
    assert labels(site) == ["a:f", "a:g", "c:h"]
    (tmp_path / "next").symlink_to("v2")
    (tmp_path / "next").rename(link)
    assert labels(site) == ["a:f", "c:h"]
    write("v3/d.py", HANDLER.format(name="h"))
    (tmp_path / "next").symlink_to("v3/d.py")
    (tmp_path / "next").rename(tmp_path / "one.py")
    assert labels(site) == ["a:f", "c:h", "d:h"]


def test_a_deleted_copy_is_not_taken_for_its_namesake(write: Write, sites: Callable[..., Site]) -> None:
    """If two files have handlers with one name, the loss of one file is noticed."""
    path = write("hooks.d/a.py", HANDLER.format(name="f"))
    write("hooks.d/b.py", HANDLER.format(name="f"))
    site = sites()
    path.unlink()
    assert labels(site) == ["a:f", "b:f"]
    assert f"{path}: is gone, and with it job_submit handler a:f" in site.findings[0]


def test_a_file_that_has_lost_handlers_without_an_edit(
    write: Write, sites: Callable[..., Site], tmp_path: Path
) -> None:
    """If a file defines fewer handlers without an edit, because other data are missing, nothing is removed."""
    needed = write("needed", "")
    source = f"import os\nfrom slurmhooks import hook\nif os.path.exists({str(needed)!r}):\n"
    source += "    @hook.job_submit\n    def f(job): ...\n"
    path = write("hooks.d/a.py", source)
    site = sites()
    needed.unlink()
    write("hooks.d/b.py", HANDLER.format(name="g"))
    assert labels(site) == ["a:f"]
    assert site.findings[0].startswith(f"{path}: has not changed, but now lacks job_submit handler a:f; {GONE}")
    write("hooks.d/a.py", "# not any more\n")
    assert labels(site) == ["b:g"]


def test_a_fifo_that_comes_at_the_wrong_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A FIFO that replaces a file after its state was read does not block."""
    path = tmp_path / "a.py"
    path.write_text("")
    before = paths.state(str(path))
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(paths, "state", lambda path: before)

    def give_up(number: int, frame: object) -> None:
        raise AssertionError("it waits for the FIFO")

    old = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(10)
    try:
        assert not reload._is_blank(str(path))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def test_a_script_that_is_gone_or_empty(write: Write, tmp_path: Path) -> None:
    """The same applies to a script in another language that is missing or empty."""

    def scripts(config: object, path: Path) -> list[loader.Source]:
        def read(name: str) -> list[Handler]:
            return [replace(function)] if "function" in Path(name).read_text() else []

        return [loader.Source(path=str(script), read=read)]

    def replace(function: Callable[..., None]) -> Handler:
        return Handler(function, (), HOOKS["job_submit"], 50, False, (), "script:f", str(script), 1)

    def function() -> None: ...

    script = write("script.lua", "function")
    write("slurmhooks.toml", "# names the script")
    site = Site(tmp_path / "slurmhooks.toml", lambda registry: [], scripts)
    site.start()
    for spoil in (lambda: script.write_text(""), script.unlink):
        spoil()
        assert labels(site) == ["script:f"]
        assert str(script) in site.findings[0]


def test_handlers_of_other_processes(write: Write, tmp_path: Path) -> None:
    """Handlers of hooks that this process does not call can be removed in any way."""
    write("slurmhooks.toml", '[hooks]\npaths = ["*.py"]\n')
    path = write("a.py", HANDLER.format(name="f").replace("job_submit", "spank.exit").replace("job", ""))
    site = Site(tmp_path / "slurmhooks.toml", hooks=("job_submit",))
    site.start()
    assert len(site.registry.all_handlers()) == 1
    path.unlink()
    site.refresh()
    assert site.registry.all_handlers() == []


def test_a_package_whose_files_vanish(
    write: Write, sites: Callable[..., Site], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package whose files are missing does not remove handlers, and its repair is noticed."""
    name = f"vanishing_package_{next(_numbers)}"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    init = write(f"lib/{name}/__init__.py", HANDLER.format(name="f"))
    site = sites(f'[hooks]\nmodules = ["{name}"]\n')
    for spoil in (init.unlink, init.touch, lambda: init.write_text("1 / 0")):
        spoil()
        assert labels(site) == [f"{name}:f"]
        assert site.findings
    init.write_text("# nothing\n")
    assert labels(site) == []


def test_required_handlers(write: Write, sites: Callable[..., Site], clock: Clock) -> None:
    """A required handler must exist in the first load, and not even an edit of its file removes it later."""
    config = '[hooks]\npaths = ["hooks.d/*.py"]\nrequire = ["a:f"]\n'
    with pytest.raises(LoadError, match=r"a:f: .hooks. require of slurmhooks.toml names this handler"):
        sites(config)
    path = write("hooks.d/a.py", HANDLER.format(name="f"))
    site = sites(config)
    path.write_text("# nothing\n")
    assert labels(site) == ["a:f"]
    assert "require" in site.findings[0]
    write("slurmhooks.toml", '[hooks]\npaths = ["hooks.d/*.py"]\n')
    assert labels(site) == []


def test_notes_are_logged(write: Write, sites: Callable[..., Site], said: SimpleNamespace) -> None:
    """The log has a note for a file without handlers."""
    write("hooks.d/a.py", "def forgotten(job): ...\n")
    sites()
    assert any("note: " in line and "a.py: no handler and no option in it" in line for _, line in said.lines)


def test_a_link_that_is_set_while_handlers_are_removed(
    write: Write, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loaded files and packages come from one folder, even if the link was changed during the load."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    for name in ("one", "two", "three"):
        write(f"{name}/slurmhooks.toml", '[hooks]\npaths = ["*.py"]\npackages = ["packages"]\n')
        write(f"{name}/packages/shared_of_link/__init__.py", f"NAME = {name!r}\n")
        more = HANDLER.format(name="g") if name == "one" else ""
        write(
            f"{name}/a.py",
            f"from shared_of_link import NAME\nassert NAME == {name!r}\n{HANDLER.format(name='f')}{more}",
        )
    write("one/packages/only_in_one.py", "")

    def point_to(name: str) -> None:
        (tmp_path / "new").symlink_to(f"{name}/slurmhooks.toml")
        (tmp_path / "new").rename(tmp_path / "slurmhooks.toml")

    point_to("one")
    before = Watch()
    reload.load(tmp_path / "slurmhooks.toml", before, lambda registry: [])
    for name in [name for name in sys.modules if name == "shared_of_link"]:
        del sys.modules[name]
    sys.path[:] = [name for name in sys.path if not name.startswith(str(tmp_path))]
    point_to("two")
    clock.age = 0
    clock.while_waiting = lambda: point_to("three")
    reload.load(tmp_path / "slurmhooks.toml", Watch(before=before), lambda registry: [])
    assert clock.waits
    assert [name for name in sys.path if name.startswith(str(tmp_path))] == [str(tmp_path / "three" / "packages")]
    assert sys.modules["shared_of_link"].__file__ == str(tmp_path / "three/packages/shared_of_link/__init__.py")
