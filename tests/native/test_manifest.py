# SPDX-License-Identifier: GPL-2.0-or-later
"""With a hook manifest Python starts only for callbacks with handlers, and all calls have the same results."""

import os
from collections.abc import Callable

import pytest

from slurmhooks import identity
from slurmhooks.site import manifest, manifest_writer
from tests.native import manifests
from tests.native.hosting import Host, Run
from tests.native.manifests import compile_manifest, launch
from tests.native.test_spank import CALLBACKS

SITE = """
# the file
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


def damage(host: Host, old: str, new: str) -> None:
    """Replace a text in the manifest, whose checksum is wrong then."""
    path = host.folder / manifest.FILE_NAME
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def replace_by_folder(host: Host) -> None:
    """Replace the manifest by a folder."""
    (host.folder / manifest.FILE_NAME).unlink()
    (host.folder / manifest.FILE_NAME).mkdir()


def change_group(host: Host) -> None:
    """Make the manifest writable for another group."""
    os.chown(host.folder / manifest.FILE_NAME, 0, 65534)
    (host.folder / manifest.FILE_NAME).chmod(0o664)


def replace_by_fifo(host: Host) -> None:
    """Replace the manifest by a FIFO, on which open() blocks."""
    (host.folder / manifest.FILE_NAME).unlink()
    os.mkfifo(host.folder / manifest.FILE_NAME)


def replace_by_loop(host: Host) -> None:
    """Replace the manifest by a link to itself, which not even root can open."""
    (host.folder / manifest.FILE_NAME).unlink()
    (host.folder / manifest.FILE_NAME).symlink_to(manifest.FILE_NAME)


CHANGES: dict[str, Callable[[Host], object]] = {
    "wrong": lambda host: manifests.edit(host.folder / manifest.FILE_NAME, "call ", "called "),
    "damaged": lambda host: damage(host, "# the file\n", "# the bill\n"),
    "cut": lambda host: damage(host, "\nend\n", "\n"),
    "garbage": lambda host: (host.folder / manifest.FILE_NAME).write_bytes(bytes(range(256)) * 10),
    "empty": lambda host: (host.folder / manifest.FILE_NAME).write_text(""),
    "another build": lambda host: damage(host, identity.here(), "0123456789abcdef"),
    "another release": lambda host: damage(host, f"{host.build.slurm:#x}", "0x10000"),
    "writable by all": lambda host: (host.folder / manifest.FILE_NAME).chmod(0o666),
    "writable by a group": lambda host: change_group(host),
    "of somebody": lambda host: os.chown(host.folder / manifest.FILE_NAME, 65534, 0),
    "a folder": replace_by_folder,
    "a pipe": replace_by_fifo,
    "unreadable": replace_by_loop,
    "too large": lambda host: os.truncate(host.folder / manifest.FILE_NAME, (16 << 20) + 1),
    "foreign": lambda host: damage(host, "slurmhooks-manifest 4 ", "slurmhooks-manifest 3 "),
    "another line": lambda host: manifests.edit(host.folder / manifest.FILE_NAME, "line hooks.py", "line other.py"),
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
    assert len([text for _, text in run.log if "run 'slurmhooks deploy'" in text]) == 1


def test_damage_anywhere(each_host: Host) -> None:
    """A manifest with a damaged byte, or that is cut off, is invalid, and crashes nothing."""
    each_host.site(SITE)
    compile_manifest(each_host)
    words = manifest_writer.header(each_host.build.slurm, identity.here())
    (each_host.folder / "long").write_bytes(manifest_writer.sealed(words, b"line" + b" word" * 200 + b"\nend\n"))
    result = each_host.run(f"damage_manifest $dir/{manifest.FILE_NAME}").one("damage_manifest")
    assert (result["whole"], result["cut"], result["changed"]) == (1, 0, 0)
    assert each_host.run("damage_manifest $dir/long").one("damage_manifest")["whole"] == 0


def test_a_start_that_fails(host: Host) -> None:
    """If Python cannot start, callbacks with a handler fail, and callbacks without a handler pass."""
    host.site("hook.spank.task_init(lambda spank: None)")
    plugins = host.use_copy_of_plugins()
    (plugins / "slurmhooks" / "libslurmhooks_core.so").unlink()
    compile_manifest(host)
    run = launch(host, "remote", "call sp init\ncall sp task_init\ncall sp task_exit\ncall sp exit")
    assert [result.rc for result in run.of("call")] == [0, -3000, 0, 0]


def test_options_in_another_order(host: Host) -> None:
    """If a manifest names options in another order than the hook files, each value still goes to its option."""
    host.site(SITE)
    path = compile_manifest(host)
    options = [row for row in path.read_text().splitlines(keepends=True) if row.startswith("option ")]
    manifests.edit(path, "".join(options), "".join(reversed(options)).replace(" flag ", " gone "))
    calls = "option sp plain word\noption sp gone\noption sp number 7"
    run = launch(host, "remote", f"call sp init\n{calls}\ncall sp user_init")
    assert run.said("values") == ["number=7 plain='word' flag=None"]
    assert "unknown option --gone: no hook file" in run


def test_a_launch_reads_all_at_its_first_callback(host: Host) -> None:
    """Python runs the hook files whose contents C has read, whatever has become of them and of the manifest."""
    host.site(SITE)
    path = compile_manifest(host)
    (host.folder / "empty").write_text("")
    host.site("hook.spank.user_init(lambda spank: log.info('another file'))")
    replaced = f"rename $dir/empty {path}"
    run = launch(host, "remote", f"call sp init\n{replaced}\noption sp number 3\ncall sp user_init")
    assert run.said("values") == ["number=3 plain=None flag=None"]
    assert run.said("another file") == []
