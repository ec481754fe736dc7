# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs scripts in fakehost, and reads what it prints."""

import os
import re
import shutil
import signal
import string
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.native.building import SANITIZED, Build
from tests.sets import put_in_force

HERE = Path(__file__).parent
TIME_LIMIT = 240.0
"""Seconds until a script counts as hanging. Scripts take a few seconds, unless the machine is overloaded."""

LEVELS = ("ERROR", "INFO", "VERBOSE", "DEBUG", "DEBUG2", "DEBUG3", "SPANK", "SYSLOG", "FATAL")
LISTS = (
    *("argv", "environment", "spank_job_env", "env", "control_env", "option", "arginfo", "usage", "has_arg"),
    *("calls", "contexts", "checked"),
)
WORD = re.compile(r' (\w+)=(?:"([^"]*)"|(\S+))')
OPEN_AT_END = re.compile(r"^ *(?:open|load) js (?![\s\S]*^ *close js$)", re.MULTILINE)
ERROR_ID = re.compile(r"error ([0-9a-f]{8})")

Value = int | str | None


class Result:
    """One line of results: a command and its values."""

    def __init__(self, line: str, sign: int) -> None:
        self._sign = sign
        self.command = line.split(" ", 1)[0]
        self.values: dict[str, Value] = {}
        self.lists: dict[str, list[Value]] = {name: [] for name in LISTS}
        for match in WORD.finditer(line):
            name, text, plain = match.groups()
            value = _unquote(text) if text is not None else _plain(plain)
            if name in LISTS:
                self.lists[name].append(value)
            else:
                self.values[name] = value

    def __repr__(self) -> str:
        """Return the command and all values."""
        return f"<{self.command} {self.values} { ({name: items for name, items in self.lists.items() if items}) }>"

    def __getitem__(self, name: str) -> Value:
        """Return a value: an int, a text, None for NULL, or one of the words NO_VAL and INFINITE."""
        return self.values[name]

    @property
    def rc(self) -> int:
        """The return code of the plugin."""
        rc = self.values["rc"]
        assert isinstance(rc, int)
        return rc

    @property
    def failed(self) -> bool:
        """Whether the return code of a SPANK call is a failure for Slurm."""
        return self.rc < 0 if self._sign < 0 else self.rc != 0


def _unquote(text: str) -> str:
    raw = re.sub(rb"\\x(..)", lambda match: bytes([int(match.group(1), 16)]), text.encode())
    return raw.decode("utf-8", "surrogateescape")


def _plain(word: str) -> Value:
    if word == "NULL":
        return None
    return int(word) if word.lstrip("-").isdigit() else word


@dataclass
class Run:
    """The output of a script."""

    returncode: int
    results: list[Result]
    log: list[tuple[str, str]]
    noise: list[str] = field(default_factory=list)
    """Lines that are neither results nor of the log: reports of sanitizers, prints of handlers."""

    def of(self, command: str) -> list[Result]:
        """Return the results of all commands of a name."""
        return [result for result in self.results if result.command == command]

    def one(self, command: str) -> Result:
        """Return the result of the only command of a name."""
        (result,) = self.of(command)
        return result

    def lines(self, *levels: str) -> list[str]:
        """Return the texts of the log, of all or of some levels."""
        return [text for level, text in self.log if not levels or level in levels]

    def said(self, start: str) -> list[str]:
        """Return what handlers have logged after a word: ``["x=1"]`` for "seen" after ``log.info("seen", x=1)``."""
        prefix = f"slurmhooks: {start}"
        return [text.removeprefix(prefix).strip() for _, text in self.log if text.startswith(prefix)]

    def __contains__(self, text: str) -> bool:
        """Tell whether a line of the log has a text."""
        return any(text in line for _, line in self.log)


class Host:
    """A folder with a site's files, in which fakehost runs scripts.

    In scripts, ``$job_submit``, ``$spank``, ``$lua`` and ``$dir`` are the paths of plugins, scrun.lua and the folder.

    Attributes:
        deploys: whether the files are put in force before a script runs.
    """

    def __init__(self, build: Build, folder: Path) -> None:
        """Write scrun.lua into the folder."""
        self.build = build
        # Before 25.05 slurmstepd treats only negative codes as failures.
        self.sign = -1 if build.slurm < 0x190500 else 1
        self.folder = folder
        self.plugins = build.plugins
        self.deploys = True
        self._write_scrun_lua()

    def _write_scrun_lua(self) -> None:
        template = self.build.plugins / "scrun.lua.in"
        if template.exists():
            text = template.read_text().replace("@PLUGIN_DIR@", str(self.plugins))
            (self.folder / "scrun.lua").write_text(text)

    def use_copy_of_plugins(self) -> Path:
        """Copy the plugins, and use the copy from now on; a test may damage it. Return its folder."""
        self.plugins = self.folder / "plugins"
        shutil.copytree(self.build.plugins, self.plugins)
        self._write_scrun_lua()
        return self.plugins

    def site(self, text: str, name: str = "hooks.py") -> Path:
        """Write a hook file, and a slurmhooks.toml that names it."""
        path = self.folder / name
        path.write_text("from slurmhooks import Reject, hook, log\n" + textwrap.dedent(text))
        self.config(f"[hooks]\npaths = [{name!r}]\n[job_submit]\ntimeout = 60.0\n")
        return path

    def config(self, text: str) -> Path:
        """Write slurmhooks.toml."""
        path = self.folder / "slurmhooks.toml"
        path.write_text(text)
        return path

    def script(self, text: str) -> Path:
        """Write a script to a file."""
        names = {
            "job_submit": self.plugins / "job_submit_python.so",
            "jobcomp": self.plugins / "jobcomp_python.so",
            "plugins": self.plugins,
            "spank": self.plugins / "spank_python.so",
            "lua": self.folder / "scrun.lua",
            "dir": self.folder,
        }
        text = textwrap.dedent(text)
        # Requests wait only until their deadline, and a busy machine may not start a worker in that time.
        text = re.sub(r"^( *open js .*)$", r"\1\nawait_worker", text, flags=re.MULTILINE)
        if OPEN_AT_END.search(text):
            text += "\nclose js\n"  # as slurmctld does when it ends; logs all that workers have written
        path = self.folder / "script"
        path.write_text(string.Template(text).substitute({k: str(v) for k, v in names.items()}))
        return path

    def run(
        self,
        text: str,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        wrapper: Sequence[str] = (),
        returncode: int | None = 0,
        quiet: bool = True,
        time_limit: float = TIME_LIMIT,
    ) -> Run:
        """Run a script.

        ``env`` are variables besides PATH and SLURM_CONF; ``wrapper`` is a program with arguments that runs the host.
        Any ``returncode`` is right if it is None. ``quiet``: noise is an error.
        """
        script = self.script(text)
        if self.deploys:
            put_in_force(self.folder)
        environment = {"PATH": os.defpath, "SLURM_CONF": str(self.folder / "slurm.conf"), **self.sanitizers()}
        process = subprocess.Popen(
            [*wrapper, str(self.build.host), "-f", str(script)],
            env=environment | dict(env or {}),
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=time_limit)
        except subprocess.TimeoutExpired:
            # Kill its children as well, one of which may hang.
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(
                f"hangs after:\n{out.decode(errors='replace')}{err.decode(errors='replace')}"
            ) from None
        return self.read(process.returncode, out + b"\n" + err, returncode, quiet)

    def read(self, code: int, raw: bytes, returncode: int | None = 0, quiet: bool = True) -> Run:
        """Read the output and the exit code of a host; for the others see run()."""
        run = Run(code, [], [])
        commands = tuple(_commands())
        for line in raw.decode("utf-8", "surrogateescape").split("\n"):
            first, _, rest = line.partition(" ")
            if first in LEVELS:
                run.log.append((first, rest))
            elif first in commands:
                run.results.append(Result(line, self.sign))
            elif line and "AddressSanitizer failed to allocate" not in line:  # a handler does that on purpose
                run.noise.append(line)
        everything = raw.decode("utf-8", "backslashreplace")
        assert returncode is None or code == returncode, f"the host ended with {code}:\n{everything}"
        assert not quiet or not run.noise, everything
        return run

    def sanitizers(self) -> dict[str, str]:
        """Return the variables that a sanitized host needs."""
        if self.build.flavour.options != SANITIZED.options:
            return {}
        return {
            # A handler that needs too much memory must get a MemoryError. And the sanitizer must not intercept
            # __tls_get_addr(): it assumes the format of glibc 2.19, and reads invalid memory.
            "ASAN_OPTIONS": "allocator_may_return_null=1:intercept_tls_get_addr=0",
            "LSAN_OPTIONS": f"suppressions={HERE / 'lsan.supp'}:print_suppressions=0",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        }


def _commands() -> list[str]:
    return [
        *("peek", "open", "load", "init", "fini", "close", "call", "option", "show", "job_submit", "job_modify"),
        *("lua", "stage_in", "stage_out", "fork", "clone", "repeat", "getenv", "balance", "mapped", "faults"),
        *(
            "job_end",
            "job_start",
            "set_location",
            "get_jobs",
            "enter",
            "lua_function",
            "damage_manifest",
            "read_manifest",
            "manifest_line",
            "apply",
            "damage_answer",
        ),
    ]
