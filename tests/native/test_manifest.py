# SPDX-License-Identifier: GPL-2.0-or-later
"""With a hook manifest Python starts only for callbacks with handlers, and all calls have the same results."""

import os
from collections.abc import Callable

import pytest

from slurmhooks.site import manifest_writer
from tests.native.hosting import Host, Run
from tests.native.manifests import compile_manifest, launch
from tests.native.test_spank import CALLBACKS

SITE = """
number = hook.spank.option("number", "N", usage="a number", type=int)
plain = hook.spank.option("plain", "WORD", usage="any word", contexts=("local", "remote"))
flag = hook.spank.option("flag", usage="100% a flag")

@hook.spank.user_init
def user_init(spank):
    log.info("values", number=number.value, plain=plain.value, flag=flag.value)

@hook.spank.init_post_opt(contexts="allocator")
def post(spank):
    log.info("post")
"""


def has_python(run: Run) -> bool:
    """Tell whether the process has started Python."""
    return run.of("mapped")[-1]["found"] == 1


@pytest.mark.parametrize("context", CALLBACKS)
def test_no_handler_no_python(host: Host, context: str) -> None:
    """A process whose callbacks have no handlers does not load libpython, and each callback succeeds."""
    host.site(
        "hook.spank.task_exit(lambda spank: None)"
        if context != "remote"
        else "hook.spank.slurmd_exit(lambda spank: None)"
    )
    compile_manifest(host)
    run = launch(host, context, "\n".join(f"call sp {name}" for name in CALLBACKS[context]))
    assert {result.rc for result in run.of("call")} == {0}
    assert not has_python(run)


def test_options_without_python(each_host: Host) -> None:
    """Options are registered as without a manifest; an option without a check does not start Python in srun."""
    each_host.site(SITE)
    calls = "call sp init\nshow\noption sp plain word\noption sp flag"
    without = launch(each_host, "local", calls)
    compile_manifest(each_host)
    run = launch(each_host, "local", calls)
    assert run.one("show").lists == without.one("show").lists
    assert run.one("show").lists["option"] == ["number", "plain", "flag"]
    assert {result.rc for result in run.of("option")} == {0}
    assert has_python(without)
    assert not has_python(run)


def test_an_option_that_must_be_checked(host: Host) -> None:
    """An option with a type or a check starts Python in srun, which refuses a wrong value."""
    host.site(SITE)
    compile_manifest(host)
    run = launch(host, "local", "call sp init\noption sp number 5\noption sp number many")
    good, bad = run.of("option")
    assert (good.rc, bad.failed) == (0, True)
    assert "--number takes a whole number" in run


def test_values_reach_their_handlers(each_host: Host) -> None:
    """Python gets the options that were given before it started, in order: the last value counts."""
    each_host.site(SITE)
    compile_manifest(each_host)
    run = launch(
        each_host,
        "remote",
        "call sp init\noption sp plain one\noption sp plain two\noption sp flag\noption sp number 3\n"
        "call sp init_post_opt\ncall sp user_init",
    )
    assert run.said("values") == ["number=3 plain='two' flag=True"]
    assert {result.rc for result in run.of("call")} == {0}


@pytest.mark.parametrize("with_manifest", [True, False], ids=["manifest", "none"])
def test_each_value_is_kept(host: Host, with_manifest: bool) -> None:
    """A handler in srun sees every value of an option that was given more than once."""
    host.site(
        """
        number = hook.spank.option("number", "N", usage="a number", type=int)
        plain = hook.spank.option("plain", "WORD", usage="any word")
        hook.spank.init_post_opt(lambda spank: log.info("all", number=number.values, plain=plain.values))
        """
    )
    if with_manifest:
        compile_manifest(host)
    given = "call sp init\noption sp number 1\noption sp plain a\noption sp number 2\ncall sp init_post_opt"
    assert launch(host, "local", given).said("all") == ["number=(1, 2) plain=('a',)"]


@pytest.mark.parametrize("with_manifest", [True, False], ids=["manifest", "none"])
def test_a_remote_value_that_is_refused(host: Host, with_manifest: bool) -> None:
    """A wrong value that srun has not checked, such as one in the environment, fails the tasks."""
    host.site(SITE)
    if with_manifest:
        compile_manifest(host)
    run = launch(
        host,
        "remote",
        "call sp init\noption sp number many\ncall sp init_post_opt\nfork\ncall sp task_init_privileged\nend",
    )
    assert run.of("call")[-1].failed
    assert "--number takes a whole number" in run


def test_python_is_started_before_tasks_are_forked(host: Host) -> None:
    """Python starts before tasks are forked, once for all tasks of a node."""
    host.site(
        "import os\npid = os.getpid()\nhook.spank.task_init(lambda spank: log.info('loaded', here=pid == os.getpid()))"
    )
    compile_manifest(host)
    run = launch(host, "remote", "call sp init\ncall sp init_post_opt\nfork\ncall sp task_init\nend")
    assert run.said("loaded") == ["here=False"]


def edit(host: Host, old: str, new: str) -> None:
    """Replace a text in the manifest."""
    path = host.folder / "slurmhooks.manifest"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def replace_by_folder(host: Host) -> None:
    """Replace the manifest by a folder."""
    (host.folder / "slurmhooks.manifest").unlink()
    (host.folder / "slurmhooks.manifest").mkdir()


def change_group(host: Host) -> None:
    """Make the manifest writable for another group."""
    os.chown(host.folder / "slurmhooks.manifest", 0, 65534)
    (host.folder / "slurmhooks.manifest").chmod(0o664)


def replace_by_fifo(host: Host) -> None:
    """Replace the manifest by a FIFO, on which open() blocks."""
    (host.folder / "slurmhooks.manifest").unlink()
    os.mkfifo(host.folder / "slurmhooks.manifest")


def replace_by_loop(host: Host) -> None:
    """Replace the manifest by a link to itself, which not even root can open."""
    (host.folder / "slurmhooks.manifest").unlink()
    (host.folder / "slurmhooks.manifest").symlink_to("slurmhooks.manifest")


def replace_hook_file(host: Host) -> None:
    """Replace the hook file by another file with the same content, size and times."""
    path = host.folder / "hooks.py"
    times = [(place, place.stat()) for place in (path, host.folder)]
    path.rename(host.folder / "old.py")
    host.site(SITE)
    for place, status in times:
        os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, Callable[[Host], object]] = {
    "edited": lambda host: host.site(SITE + "# more\n"),
    "touched": lambda host: os.utime(host.folder / "hooks.py", (1, 1)),
    "replaced": replace_hook_file,
    "appeared": lambda host: (host.folder / "absent.py").write_text(""),
    "damaged": lambda host: edit(host, "call ", "called "),
    "cut": lambda host: edit(host, "\nend\n", "\n"),
    "garbage": lambda host: (host.folder / "slurmhooks.manifest").write_bytes(bytes(range(256)) * 10),
    "empty": lambda host: (host.folder / "slurmhooks.manifest").write_text(""),
    "another release": lambda host: edit(host, f"{host.build.slurm:#x}", "0x10000"),
    "writable by all": lambda host: (host.folder / "slurmhooks.manifest").chmod(0o666),
    "writable by a group": lambda host: change_group(host),
    "of somebody": lambda host: os.chown(host.folder / "slurmhooks.manifest", 65534, 0),
    "a folder": replace_by_folder,
    "a pipe": replace_by_fifo,
    "unreadable": replace_by_loop,
    "too large": lambda host: edit(host, "\nend\n", "\n" + "# more\n" * 200_000 + "end\n"),
    "foreign": lambda host: edit(host, "slurmhooks-manifest 2 ", "slurmhooks-manifest 1 "),
    "another line": lambda host: edit(host, "line hooks.py", "line other.py"),
}
"""Changes that make a manifest invalid."""
NEED_ROOT = ("writable by a group", "of somebody")


@pytest.mark.parametrize("change", CHANGES)
def test_a_manifest_that_does_not_hold(host: Host, change: str) -> None:
    """An invalid manifest counts as absent: Python starts, the results are the same, and the log says what to run."""
    if change in NEED_ROOT and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    host.site(SITE)
    compile_manifest(host)
    CHANGES[change](host)
    run = launch(host, "remote", "call sp init\noption sp number 3\ncall sp user_init")
    assert run.said("values") == ["number=3 plain=None flag=None"]
    assert {result.rc for result in run.of("call")} == {0}
    assert len([text for _, text in run.log if "run 'slurmhooks compile'" in text]) == 1


def test_damage_anywhere(each_host: Host) -> None:
    """No damage of a manifest crashes its reader, and a manifest that is cut off is invalid."""
    each_host.site(SITE)
    path = compile_manifest(each_host)
    # A valid copy that watches no files.
    rows = [row for row in path.read_text().splitlines() if not row.startswith(("file ", "absent "))]
    (each_host.folder / "copy").write_text("\n".join([*rows, ""]))
    (each_host.folder / "long").write_text("\n".join([rows[0], "line" + " word" * 200, "end", ""]))
    result = each_host.run("damage_manifest $dir/copy").one("damage_manifest")
    assert each_host.run("damage_manifest $dir/long").one("damage_manifest")["whole"] == 0
    assert result["whole"] == 1
    assert result["cut"] == 1  # without the end of the last line it is still complete


def test_a_start_that_fails(host: Host) -> None:
    """If Python cannot start, callbacks with a handler fail, and callbacks without a handler pass."""
    host.site("hook.spank.task_init(lambda spank: None)")
    plugins = host.use_copy_of_plugins()
    (plugins / "slurmhooks" / "libslurmhooks_core.so").unlink()
    compile_manifest(host)
    run = launch(host, "remote", "call sp init\ncall sp task_init\ncall sp task_exit\ncall sp exit")
    assert [result.rc for result in run.of("call")] == [0, -3000, 0, 0]


def replace_folder(host: Host) -> None:
    """Replace a folder by another one with hook files of the same names."""
    folder = host.folder / "hooks.d"
    folder.rename(host.folder / "old.d")
    folder.mkdir()
    (folder / "site_a.py").touch()


BESIDE: dict[str, tuple[bool, Callable[[Host], object]]] = {
    "nothing": (True, lambda host: None),
    "its time alone": (True, lambda host: os.utime(host.folder / "hooks.d", (1, 1))),
    "byte code": (True, lambda host: (host.folder / "hooks.d" / "__pycache__").mkdir()),
    "a temporary file": (True, lambda host: (host.folder / "hooks.d" / ".site_b.py.swp").touch()),
    "a copy": (True, lambda host: (host.folder / "hooks.d" / "site_a.py~").touch()),
    "another start": (True, lambda host: (host.folder / "hooks.d" / "b.py").touch()),
    "too short a name": (True, lambda host: (host.folder / "hooks.d" / "site.py").touch()),
    "one that fits": (False, lambda host: (host.folder / "hooks.d" / "site_b.py").touch()),
    "one fewer": (False, lambda host: (host.folder / "hooks.d" / "site_a.py").unlink()),
    "another folder": (False, replace_folder),
}
"""Changes in a folder of hook files, and whether the manifest is still valid afterwards."""


@pytest.mark.parametrize("change", BESIDE)
def test_what_happens_beside_hook_files(each_host: Host, change: str) -> None:
    """A manifest becomes invalid if its GLOB matches other files, but not because of files of editors or Python.

    'slurmhooks status' agrees with C.
    """
    each_host.site("hook.spank.task_exit(lambda spank: None)")
    folder = each_host.folder / "hooks.d"
    folder.mkdir()
    (folder / "site_a.py").touch()
    path = compile_manifest(each_host, folder / "site_*.py")
    holds, happen = BESIDE[change]
    happen(each_host)
    assert (manifest_writer.outdated(str(path)) is None) == holds
    run = launch(each_host, "local", "call sp init")
    assert run.one("call").rc == 0
    assert has_python(run) != holds
    assert ("run 'slurmhooks compile'" in run) != holds


def test_a_folder_that_is_gone(host: Host) -> None:
    """A launch fails if the folder of its hook files is gone, although it was there when the manifest was written."""
    host.site(SITE)
    folder = host.folder / "hooks.d"
    folder.mkdir()
    compile_manifest(host, folder / "*.py", args=("hooks.d/*.py",))
    calls = "open sp $spank hooks.d/*.py\ncontext remote\ncall sp init"
    assert host.run(calls).one("call").rc == 0
    folder.rmdir()
    run = host.run(calls)
    assert run.one("call").failed
    assert f"{folder}: does not exist; hook files are expected in it" in run


def test_a_manifest_of_other_hook_files(host: Host) -> None:
    """If hook files change after C has read the manifest, each value still goes to its option."""
    host.site(SITE)
    path = compile_manifest(host)
    rows = path.read_text().splitlines()
    places = [place for place, row in enumerate(rows) if row.startswith("option ")]
    options = [rows[place] for place in places]
    for place, row in zip(places, reversed(options), strict=True):
        rows[place] = row
    path.write_text("\n".join([*rows, ""]).replace(" flag ", " gone "))
    calls = "option sp plain word\noption sp gone\noption sp number 7"
    run = launch(host, "remote", f"call sp init\n{calls}\ncall sp user_init")
    assert run.said("values") == ["number=7 plain='word' flag=None"]
    assert "unknown option --gone: no hook file" in run


def test_python_has_the_manifest_of_c(host: Host) -> None:
    """Python loads what the manifest named when C read it, whatever replaces the manifest before Python starts."""
    host.site(SITE)
    host.site("hook.spank.user_init(lambda spank: log.info('another file'))", name="other.py")
    path = compile_manifest(host)
    (host.folder / "later").write_text(path.read_text().replace("hooks.py\ncall", "other.py\ncall"))
    replaced = f"rename $dir/later {path}"
    run = launch(host, "remote", f"call sp init\n{replaced}\noption sp number 3\ncall sp user_init")
    assert run.said("values") == ["number=3 plain=None flag=None"]
    assert run.said("another file") == []
