# SPDX-License-Identifier: GPL-2.0-or-later
"""Environment, current folder and descriptors of srun's user or of a daemon do not change which code runs."""

import os
import shutil
import signal
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError
from slurmhooks.files import trusted
from tests.native.building import PLAIN
from tests.native.conftest import built
from tests.native.hosting import Host, Run
from tests.sets import put_in_force

pytestmark = pytest.mark.slow

SITE = """
import sys

greet = hook.spank.option("greet", "NAME", usage="who")

@hook.spank.init
def init(spank):
    import email, json, os, slurmhooks  # frozen and other modules
    flags = sys.flags
    log.info("isolated", flags=(flags.isolated, flags.ignore_environment, flags.no_user_site, flags.utf8_mode))
    with open("/proc/self/status") as status:
        log.info("signals", caught=[line.split()[1] for line in status if line.startswith("SigCgt")])
    log.info("prefix", prefix=sys.prefix, base=sys.base_prefix, executable=sys.executable)
    log.info("files", slurmhooks=slurmhooks.__file__, json=json.__file__, os=os.__file__, path=sys.path)
    log.info("text", value=spank.env["TEXT"], encoding=sys.getfilesystemencoding())

@hook.job_submit
def submit(job):
    import json, os
    flags = (sys.flags.isolated, sys.flags.ignore_environment, sys.flags.no_user_site, sys.flags.dev_mode)
    log.info("worker", flags=flags, optimize=sys.flags.optimize, prefix=sys.prefix, executable=sys.executable)
    log.info("worker", path=sys.path, json=json.__file__, folder=os.getcwd(), encoding=sys.getfilesystemencoding())
    with open("/proc/self/status") as status:
        masks = dict(line.split() for line in status if line.startswith("Sig"))
    log.info("worker", blocked=masks["SigBlk:"], ignored=masks["SigIgn:"])
    job.comment = job.account + "!"
"""

SCRIPT = """
    open sp $spank hooks.py
    context remote
    job env=TEXT=\\xc3\\xa4\\xff
    call sp init
    option sp greet Ada
    open js $job_submit
    job_submit js account=\\xc3\\xa4\\xff
    lua $lua
    stage_in bundle=/b
    fork
    call sp task_init
    end
    getenv LC_CTYPE
    """

EVIL = 'import os, sys\nos.write(2, b"EVIL\\n")\nos._exit(66)\n'


def evil_folder(folder: Path) -> Path:
    """Return a folder that breaks each Python that has it in its search path."""
    folder.mkdir()
    for name in ("slurmhooks", "sitecustomize", "usercustomize", "json", "traceback", "_slurmhooks_spank"):
        (folder / f"{name}.py").write_text(EVIL)
    (folder / "encodings").mkdir()
    (folder / "encodings" / "__init__.py").write_text(EVIL)
    return folder


Case = tuple[dict[str, str], Path | None, list[str]]


def python_path(folder: Path) -> Case:
    """PYTHONPATH names a folder with modules of the names that are imported first."""
    return {"PYTHONPATH": str(evil_folder(folder / "evil"))}, None, []


def python_home(folder: Path) -> Case:
    """PYTHONHOME does not exist."""
    return {"PYTHONHOME": "/nonexistent", "PYTHONPLATLIBDIR": "nowhere"}, None, []


def python_options(folder: Path) -> Case:
    """All other variables that change how Python works are set."""
    (folder / "startup.py").write_text(EVIL)
    return (
        {
            "PYTHONSTARTUP": str(folder / "startup.py"),
            "PYTHONINSPECT": "1",
            "PYTHONMALLOC": "debug",
            "PYTHONDEVMODE": "1",
            "PYTHONOPTIMIZE": "2",
            "PYTHONVERBOSE": "1",
            "PYTHONWARNINGS": "error",
            "PYTHONUTF8": "0",
            "PYTHONIOENCODING": "utf-16",
            "PYTHONCASEOK": "1",
            "PYTHONUSERBASE": str(folder),
            "PYTHONEXECUTABLE": "/bin/false",
            "PYTHONHASHSEED": "not a number",
            "PYTHONTRACEMALLOC": "not a number",
            "PYTHONBREAKPOINT": "evil",
            "PYTHONPYCACHEPREFIX": str(folder),
            "PYTHONFAULTHANDLER": "1",
            "PYTHONPROFILEIMPORTTIME": "1",
        },
        None,
        [],
    )


def library_path(folder: Path) -> Case:
    """LD_LIBRARY_PATH names a folder with a file that has the name of libpython but is not a library."""
    (folder / "lib").mkdir()
    name = sysconfig.get_config_var("INSTSONAME")
    (folder / "lib" / name).write_bytes(b"no library")
    return {"LD_LIBRARY_PATH": str(folder / "lib")}, None, []


def locale(folder: Path) -> Case:
    """The locale is not UTF-8, and LANG does not exist."""
    return {"LC_ALL": "C", "LANG": "xx_YY.ISO-8859-1"}, None, []


def folder_with_modules(folder: Path) -> Case:
    """The current folder has modules of the names that are imported first."""
    return {}, evil_folder(folder / "evil"), []


def removed_folder(folder: Path) -> Case:
    """The current folder has been removed."""
    gone = folder / "gone"
    return {}, None, ["sh", "-c", f'mkdir {gone} && cd {gone} && rmdir {gone} && exec "$0" "$@"']


def no_home(folder: Path) -> Case:
    """HOME and PATH are not set."""
    return {"HOME": "/root/nowhere", "XDG_CACHE_HOME": "/dev/null"}, None, ["env", "-u", "HOME", "-u", "PATH"]


def no_environment(folder: Path) -> Case:
    """The environment has only SLURM_CONF."""
    return {}, None, ["env", "-i", f"SLURM_CONF={folder / 'slurm.conf'}"]


def few_descriptors(folder: Path) -> Case:
    """Only few file descriptors are available."""
    return {}, None, ["sh", "-c", 'ulimit -n 18; exec "$0" "$@"']


def small_stack(folder: Path) -> Case:
    """The stack is small."""
    return {}, None, ["sh", "-c", 'ulimit -s 1024; exec "$0" "$@"']


def ignored_signals(folder: Path) -> Case:
    """SIGINT, SIGPIPE and SIGHUP are ignored, as under nohup or in a daemon."""
    return {}, None, ["sh", "-c", 'trap "" INT PIPE HUP; exec "$0" "$@"']


CASES: list[Callable[[Path], Case]] = [
    *(python_path, python_home, python_options, library_path, locale, folder_with_modules, removed_folder),
    *(no_home, no_environment, few_descriptors, small_stack, ignored_signals),
]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run of the script in a clean environment."""
    host = Host(built(PLAIN), tmp_path_factory.mktemp("clean"))
    host.site(SITE)
    return host.run(SCRIPT)


def test_a_clean_environment(clean: Run) -> None:
    """The interpreter is isolated and changes neither signal handlers nor locale of the process; all calls pass."""
    watched = (signal.SIGRTMAX - 3, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
    while_a_handler_runs = f"{sum(1 << number - 1 for number in watched):016x}"
    assert clean.said("signals") == [f"caught={[while_a_handler_runs]}"]
    assert clean.one("getenv")["value"] is None
    assert clean.said("isolated") == ["flags=(1, 1, 1, 1)"]
    assert clean.said("text") == [r"value='ä\xff' encoding='utf-8'"]
    assert clean.one("job_submit")["comment"] == "ä\udcff!"
    assert {result.rc for result in clean.results if "rc" in result.values} == {0}


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.__name__))
def test_a_hostile_environment(host: Host, clean: Run, tmp_path: Path, case: Callable[[Path], Case]) -> None:
    """Modules, their folders, texts and return codes are the same as in a clean environment."""
    host.site(SITE)
    env, cwd, wrapper = case(tmp_path)
    hostile = host.run(SCRIPT, env=env, cwd=cwd, wrapper=wrapper)
    assert hostile.lines() == clean.lines()
    assert [repr(result) for result in hostile.results] == [repr(result) for result in clean.results]


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_closed_descriptors(host: Host, tmp_path: Path, closed: str) -> None:
    """Hooks run in daemons that have closed descriptors 0, 1 and 2, which then belong to other files.

    Workers have their own standard output and error, which are logged.
    """
    host.site(
        """
        import sys

        @hook.job_submit
        def submit(job):
            print("for the log")
            print("for the log", file=sys.stderr)
            job.comment = "ran"

        @hook.spank.init
        def init(spank):
            print("for nobody", file=sys.stderr)
        """
    )
    output = tmp_path / "output"
    for script in (
        "open js $job_submit\njob_submit js",
        "open sp $spank hooks.py\ncontext remote\ncall sp init\nfork\ncall sp task_init\nend",
    ):
        wrapper = ["sh", "-c", f'exec "$0" -o {output} "$@"']
        host.run(f"close_fd {closed}\n{script}", wrapper=wrapper, quiet=False)
    run = host.read(0, output.read_bytes())
    assert run.one("job_submit")["comment"] == "ran"
    assert run.lines().count("| for the log") == 2
    assert [result.rc for result in run.of("call")] == [0, 0]


def test_moved_plugins(host: Host, tmp_path: Path) -> None:
    """Plugins find their other files in any folder, even through a symbolic link.

    SPANK's plugin also by a relative path.
    """
    host.site("hook.job_submit(lambda job: log.info('ran'))\nhook.spank.init(lambda spank: log.info('ran'))")
    plugins = host.use_copy_of_plugins()
    plugins.rename(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to("elsewhere")
    for folder in (tmp_path / "elsewhere", tmp_path / "link"):
        assert host.run(f"open js {folder}/job_submit_python.so\njob_submit js").said("ran") == [""]
    for relative in ("elsewhere", "./link"):
        run = host.run(f"open sp {relative}/spank_python.so hooks.py\ncontext remote\ncall sp init")
        assert run.said("ran") == [""]


def test_nothing_is_written(host: Host, tmp_path: Path) -> None:
    """Daemons that run as root write no byte code into the folders of a site."""
    # Python caches the byte code only of files that are old enough.
    os.utime(host.site("hook.job_submit(lambda job: None)\nhook.spank.init(lambda spank: None)"), (1e9, 1e9))
    host.use_copy_of_plugins()
    put_in_force(host.folder)
    before = sorted(path for path in tmp_path.rglob("*"))
    run = host.run("open js $job_submit\njob_submit js\nopen sp $spank hooks.py\ncontext remote\ncall sp init")
    assert [run.one("job_submit").rc, run.one("call").rc] == [0, 0]
    assert sorted(path for path in tmp_path.rglob("*")) == sorted([*before, tmp_path / "script"])


def test_standard_library_of_the_build(host: Host) -> None:
    """The search path is that of the build, without user site-packages and without the folder of the hook file."""
    host.site("import sys\nhook.spank.init(lambda spank: log.info('path', path=sys.path))")
    path = host.run("open sp $spank hooks.py\ncontext remote\ncall sp init").said("path")[0]
    assert str(host.folder) + "'" not in path
    assert "''" not in path
    assert shutil.which("python3") is None or sysconfig.get_path("stdlib") in path


def test_every_encoding(host: Host) -> None:
    """All encodings work, those that are frozen into the core library and those of the standard library."""
    host.site(
        """
        import encodings

        @hook.spank.init
        def init(spank):
            results = (b"\\x80".decode("cp1252"), "ü.de".encode("idna"), "a".encode("UTF8"), "é".encode("l1"))
            log.info("decoded", results=results, path=encodings.__path__)
        """
    )
    run = host.run("open sp $spank hooks.py\ncontext remote\ncall sp init")
    folder = f"{sysconfig.get_path('stdlib')}/encodings"
    assert run.said("decoded") == [f"results=('€', b'xn--tda.de', b'a', b'\\xe9') path=['{folder}']"]


def test_garbage_is_collected(host: Host) -> None:
    """Garbage is collected while handlers run, although not while Python starts."""
    host.site(
        """
        import gc

        class Ring:
            ends = 0

            def __init__(self):
                self.me = self

            def __del__(self):
                Ring.ends += 1

        @hook.spank.init
        def init(spank):
            rings = [Ring() for _ in range(20000)]
            del rings
            [[] for _ in range(20000)]
            log.info("garbage", enabled=gc.isenabled(), some=Ring.ends > 0)
        """
    )
    run = host.run("open sp $spank hooks.py\ncontext remote\ncall sp init")
    assert run.said("garbage") == ["enabled=True some=True"]


def test_without_slurm_conf(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SLURM_CONF, as in most of Slurm's programs, plugins use the folder that they were built for."""
    etc = host.build.sysconfdir
    etc.mkdir(exist_ok=True)
    put_in_force(etc)
    monkeypatch.setattr(trusted, "_owners", (0, os.getuid()))
    try:
        trusted.check(str(etc))
    except LoadError as error:
        pytest.skip(f"this checkout is in a folder that others can write to: {error.findings[0]}")
    (etc / "slurmhooks.toml").write_text('[hooks]\npaths = ["built_for.py"]\n')
    (etc / "built_for.py").write_text(
        "from slurmhooks import hook, log\n@hook.job_submit\ndef submit(job): job.comment = 'built for'\n"
        "@hook.scrun.stage_in\ndef stage_in(container): log.info('built for')\n"
    )
    script = "open js $job_submit\njob_submit js\nlua $lua\nstage_in bundle=/b"
    run = host.run(script, wrapper=["env", "-u", "SLURM_CONF"])
    assert [result["comment"] for result in run.of("job_submit")] == ["built for"]
    assert run.said("built for") == [""]
