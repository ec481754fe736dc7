# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading and writing options in handlers of cli_filter."""

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from slurmhooks.cli_filter.command_options import NAMES
from slurmhooks.cli_filter.fields import FIELDS
from slurmhooks.errors import SlurmhooksError, StaleHandleError
from slurmhooks.fields import JobFields
from slurmhooks.testing import FakeOptions, run
from slurmhooks.values import UNLIMITED
from slurmhooks.workshop.testing.cli_filter import FakeCliFilterModule
from slurmhooks.workshop.testing.options.printers import PRINTERS
from slurmhooks.workshop.testing.options.texts import ALONE, FLAGS, LOWEST
from slurmhooks.workshop.testing.options.variables import NAMELESS


def test_text_and_values() -> None:
    """An option is text by its name and a value by its property; None is not given."""
    options = FakeOptions(options={"time": "1-2", "mem": "4G", "nodes": "2-4", "ntasks": "8", "job-name": "x y"})
    assert (options["time"], options.time_limit) == ("1-02:00:00", 26 * 60)
    assert (options["mem"], options.min_mem_per_node) == ("4G", 4096)
    assert (options.min_nodes, options.max_nodes, options.num_tasks, options.name) == (2, 4, 8, "x y")
    assert (options["account"], options.account, options.time_min) == (None, None, None)
    assert FakeOptions(options={"time": "UNLIMITED"}).time_limit is UNLIMITED


def test_values_are_set_as_text() -> None:
    """A value assigned to a property goes through Slurm's parser; None resets the option."""
    options = FakeOptions()
    options.time_limit = 90
    options.min_mem_per_cpu = 1536
    options.num_tasks = 3
    options.account = "phys"
    options.nice = -5
    assert options.given == {
        "account": "phys", "mem-per-cpu": "1536", "nice": "-5", "ntasks": "3", "time": "01:30:00",
    }  # fmt: skip
    options.time_limit = UNLIMITED
    assert options["time"] == "UNLIMITED"
    options.time_limit = None
    del options["account"]
    assert set(options.given) == {"mem-per-cpu", "nice", "ntasks"}


def test_numbers_of_nodes() -> None:
    """The numbers of nodes are set separately; one changes the other only where it must."""
    options = FakeOptions()
    options.min_nodes = 3
    assert (options["nodes"], options.max_nodes) == ("3", 3)
    options.max_nodes = 5
    assert options["nodes"] == "3-5"
    options.max_nodes = 2
    assert options["nodes"] == "2"
    with pytest.raises(ValueError, match="min_nodes takes 1 to"):
        options.min_nodes = 0


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("time", "junk", ValueError, "sbatch refuses --time=junk"),
        ("ntasks", "many", ValueError, "--ntasks=many would end sbatch"),
        ("gres", "help", ValueError, "--gres=help would end sbatch"),
        ("mem", "0?", ValueError, "sbatch refuses --mem=0?"),
        ("tiem", "5", KeyError, "sbatch has no option --tiem; nearest: time"),
        ("label", "set", KeyError, "sbatch has no option --label"),
        ("help", "set", ValueError, "sbatch takes --help only from setup_defaults"),
        ("gpu-mode", "set", KeyError, r"--gpu-mode belongs to a SPANK plugin: options.spank\[\"python\"\]"),
        ("wrap", "true", ValueError, "sbatch takes --wrap only from setup_defaults, with early=True"),
        ("account", 5, TypeError, "--account takes a str, not 5"),
        ("account", "a\0b", ValueError, "--account must not hold a NUL byte"),
        (5, "x", TypeError, "options are named by their long names, not 5"),
    ],
)
def test_what_is_refused(name: str, value: str, error: type[Exception], text: str) -> None:
    """An invalid value raises an exception that says why, and changes nothing."""
    options = FakeOptions(options={"ntasks": "2", "mem": "0"}, spank={"python": {"gpu-mode": None}})
    with pytest.raises(error, match=text):
        options[name] = value
    assert options.given == {"ntasks": "2", "mem": "0?"}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("time_limit", "5", TypeError), ("time_limit", -1, ValueError), ("num_tasks", 2.5, TypeError),
     ("min_mem_per_node", 1 << 40, ValueError), ("account", 7, TypeError)],
)  # fmt: skip
def test_values_of_the_wrong_kind(name: str, value: object, error: type[Exception]) -> None:
    """The error of a property says which values it accepts."""
    with pytest.raises(error, match=f"{name} takes "):
        setattr(FakeOptions(), name, value)


@pytest.mark.parametrize(
    ("text", "shown", "mib"),
    [("0", "0?", 0), ("1500", "1500", 1500), ("1K", "1", 1), ("2048", "2G", 2048), ("3T", "3T", 3 << 20),
     (str(1 << 30), "1P", 1 << 30), (str(1 << 40), "1?", 1 << 40)],
)  # fmt: skip
def test_memory(text: str, shown: str, mib: int) -> None:
    """An amount of memory is read from every text that Slurm prints; zero has an unknown unit."""
    options = FakeOptions(options={"mem": text, "tmp": text})
    assert (options["mem"], options.min_mem_per_node, options.pn_min_tmp_disk) == (shown, mib, mib)


def test_a_field_without_a_text() -> None:
    """An option that is set without a text, as a refused write of a script leaves it, has no value."""
    options = FakeOptions()
    options._fake[0].values |= {"mem": "", "time": "", "nodes": "", "ntasks": "", "comment": ""}
    assert (options.min_mem_per_node, options.time_limit, options.max_nodes, options.num_tasks) == (None,) * 4
    assert (options["mem"], options.comment) == ("", "")
    options.max_nodes = 3
    assert options["nodes"] == "3"


def test_an_early_option() -> None:
    """Options that Slurm accepts only in the early call can be set there."""
    options = FakeOptions(early=True)
    options["wrap"] = "true"
    assert options.script == "#!/bin/sh\n# This script was created by sbatch --wrap.\n\ntrue\n"


def test_the_options_of_a_command() -> None:
    """The mapping has the long options of the command; a property of another command's option is None."""
    options = FakeOptions("salloc")
    assert set(options) == set(NAMES["salloc"])
    assert ("no-shell" in options, "wrap" in options) == (True, False)
    assert options.std_out is None
    with pytest.raises(KeyError, match="salloc has no option --wrap"):
        options["wrap"]
    with pytest.raises(AttributeError, match="options has no 'timelimit'; nearest: time_limit"):
        options.timelimit  # type: ignore[attr-defined]  # noqa: B018


def test_writes_are_undone() -> None:
    """With on_error="ignore", all writes of a handler with a bug are undone: options, resets and variables."""
    options = FakeOptions(options={"time": "5", "account": "a"}, environment={"A": "1"})
    before = options.savepoint()
    options.time_limit = 7
    options["account"] = None
    options.comment = "x"
    options.environment["A"] = "2"
    options.rollback(before)
    assert options.given == {"time": "00:05:00", "account": "a"}
    options["account"] = "b"
    options.rollback(before)
    assert options["account"] == "a"
    options.commit()
    assert dict(options.environment) == {"A": "1"}


def test_slurm_gets_only_what_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm's parser gets a write when all handlers have passed, and never for an undo, which it could refuse."""
    written: list[tuple[bytes, bytes]] = []
    options = FakeOptions(options={"mem": "0", "no-kill": "off", "priority": "TOP"})

    def assign(_: FakeCliFilterModule, options: int, name: bytes, value: bytes, early: bool) -> bool:
        written.append((name, value))
        return True

    monkeypatch.setattr(FakeCliFilterModule, "assign", assign)
    monkeypatch.setattr(
        FakeCliFilterModule, "rehearse", lambda self, options, writes, early: (True, "", [("mem", "1G"), ("time", "1")])
    )
    before = options.savepoint()
    options["mem"] = "1G"
    options.rollback(before)
    assert options["mem"] == "0?"
    options["time"] = "1"
    assert written == []
    options.commit()
    assert written == [(b"time", b"1")]


def test_slurm_changes_its_mind(monkeypatch: pytest.MonkeyPatch) -> None:
    """If Slurm refuses a write that it has accepted in the copy, the call fails."""
    options = FakeOptions()
    options["time"] = "1"
    monkeypatch.setattr(FakeCliFilterModule, "assign", lambda *_: False)
    with pytest.raises(SlurmhooksError, match="sbatch refuses --time=b'1', which it accepted before"):
        options.commit()


def test_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no process can be created, the error says for what, and nothing is written."""
    options = FakeOptions()

    def rehearse(*_: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(FakeCliFilterModule, "rehearse", rehearse)
    with pytest.raises(OSError, match="cannot create the process in which --time=1 is tried: Resource temporarily"):
        options["time"] = "1"
    assert options.given == {}


def test_slurms_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has Slurm's error messages, without other lines; or all lines if none is an error."""
    options = FakeOptions()
    for said, shown in (
        ("sbatch: debug: x\nsbatch: error: Invalid\nsbatch: error: y\n", ": Invalid; y"),
        *(("a\n\nb", ": a; b"), ("", "")),
    ):  # fmt: skip
        monkeypatch.setattr(FakeCliFilterModule, "rehearse", lambda *_, said=said: (False, said, []))
        with pytest.raises(ValueError, match=f"^sbatch refuses --mem=x{shown}$"):
            options["mem"] = "x"


def test_the_environment_waits() -> None:
    """Variables are set when all handlers have passed."""
    options = FakeOptions(environment={"A": "1"})
    options.environment["B"] = "2"
    del options.environment["A"]
    assert options._state()["environment"] == {"A": "1"}
    options.commit()
    assert options._state()["environment"] == {"B": "2"}


def test_spank_options() -> None:
    """SPANK options are listed by plugin and name; options that are not given are None."""
    options = FakeOptions(spank={"python": {"greet": "you", "flag": "set", "other": "unset", "last": None}})
    assert options.spank == {"python": {"greet": "you", "flag": "set", "other": None, "last": None}}
    assert json.loads(json.dumps(options.spank)) == options.spank
    whole: Any = options.spank
    for write in (lambda: whole.__setitem__("python", {}), lambda: whole.update(python={}), whole.clear):
        with pytest.raises(TypeError, match=r"options.spank itself is read-only"):
            write()
    plugin: Any = options.spank["python"]
    for write in (lambda: plugin.pop("greet"), plugin.clear, lambda: plugin.__delitem__("greet"), plugin.popitem):
        with pytest.raises(TypeError):
            write()


VARIABLE = "SLURM_SPANK__SLURM_SPANK_OPTION_python_gpu_mode"


def defaults(tmp_path: Path, body: str, hook: str = "setup_defaults", **environment: str) -> tuple[Any, FakeOptions]:
    """Run handlers; return the result, and the options."""
    options = FakeOptions(spank={"python": {"gpu-mode": None}, "other.so": {"x": None}}, environment=environment)
    path = tmp_path / "hooks.py"
    path.write_text(f"from slurmhooks import hook, log\n\n@hook.cli_filter.{hook}\ndef first(options):\n{body}")
    return run(path, f"cli_filter.{hook}", options=options), options


def test_a_default_of_a_spank_option(tmp_path: Path) -> None:
    """In setup_defaults an assignment gives a default, which can be read, replaced and removed."""
    read = '    log.info("%s", options.spank["python"]["gpu-mode"])\n'
    write = '    options.spank["python"]["gpu-mode"] = "one"\n'
    result, options = defaults(tmp_path, write + read)
    assert (result.accepted, result.log, dict(options.environment)) == (True, ["info: one"], {VARIABLE: "one"})
    again, options = defaults(tmp_path, write + write.replace("one", "two") + read)
    assert (again.log, dict(options.environment)) == (["info: two"], {VARIABLE: "two"})
    gone, options = defaults(tmp_path, write + write.replace('"one"', "None") + read)
    assert (gone.log, dict(options.environment)) == (["info: None"], {})
    result, options = defaults(tmp_path, '    options.spank["other.so"].update(x="")\n')
    assert dict(options.environment) == {"SLURM_SPANK__SLURM_SPANK_OPTION_other_so_x": ""}


@pytest.mark.parametrize("value", ['"default"', "None"])
def test_a_default_does_not_replace_what_the_user_set(tmp_path: Path, value: str) -> None:
    """A variable of the user, or of the job in which the command runs, takes precedence over a default."""
    body = (
        f'    options.spank["python"]["gpu-mode"] = {value}\n    log.info("%s", options.spank["python"]["gpu-mode"])\n'
    )
    result, options = defaults(tmp_path, body, **{VARIABLE: "mine"})
    assert (result.log, dict(options.environment)) == (["info: mine"], {VARIABLE: "mine"})


@pytest.mark.parametrize(
    ("hook", "write", "text"),
    [
        (
            "pre_submit",
            '["python"]["gpu-mode"] = "x"',
            "ValueError: --gpu-mode: Slurm has read it already: a handler of",
        ),
        ("setup_defaults", '["python"]["gpu-mod"] = "x"', "no such option: --gpu-mod; nearest: gpu-mode"),
        ("setup_defaults", '["python"]["gpu-mode"] = 5', "TypeError: --gpu-mode takes a str or None, not 5"),
        ("setup_defaults", '["python"]["gpu-mode"] = "a\\0b"', "ValueError"),
    ],
)
def test_a_default_is_never_lost_silently(tmp_path: Path, hook: str, write: str, text: str) -> None:
    """An assignment that cannot have an effect raises."""
    result, options = defaults(tmp_path, f"    options.spank{write}\n", hook)
    assert not result.accepted
    assert any(text in line for line in result.log), result
    assert dict(options.environment) == {}


def test_the_script_is_read_from_its_file(tmp_path: object) -> None:
    """The script is the first word after sbatch's options; an unreadable file has none, nor have other commands."""
    path = f"{tmp_path}/job.sh"
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    assert FakeOptions(argv=[path, "x"]).script == "#!/bin/sh\n"
    assert FakeOptions(argv=[f"{path}.gone"]).script is None
    assert FakeOptions("srun", argv=[path]).script is None
    assert FakeOptions().script is None


def test_after_the_call() -> None:
    """A view that outlives its call raises."""
    options = FakeOptions(environment={"A": "1"})
    options.close()
    for use in (
        lambda: options["time"], lambda: options.time_limit, lambda: options.given, lambda: options.argv,
        lambda: options.spank, lambda: options.script, lambda: list(options), lambda: options.environment["A"],
        lambda: options.__setitem__("time", "5"),
    ):  # fmt: skip
        with pytest.raises(StaleHandleError):
            use()
    assert repr(options) == "<Options of a call that is over>"


def test_properties_are_those_of_jobs() -> None:
    """A handler of job_submit finds the names that it knows, with values of the same kind."""
    assert [name for name in FIELDS if not hasattr(JobFields, name)] == []
    known = {*NAMELESS}.union(*map(set, NAMES.values()))
    assert {*(field.option for field in FIELDS.values()), *ALONE, *PRINTERS, *FLAGS, *LOWEST} <= known
