# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading and writing options in handlers of cli_filter."""

import pytest

from slurmhooks.cli_filter.fields import FIELDS, NUMBERS
from slurmhooks.errors import StaleHandleError
from slurmhooks.slurmctld.fields import JobFields
from slurmhooks.testing import FakeOptions
from slurmhooks.testing.option_names import NAMES
from slurmhooks.values import UNLIMITED


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
        "account": "phys", "mem-per-cpu": "1536M", "nice": "-5", "ntasks": "3", "time": "01:30:00",
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
        ("ntasks", "many", ValueError, "--ntasks takes a number, not 'many'"),
        ("tiem", "5", KeyError, "sbatch has no option --tiem; nearest: time"),
        ("label", "set", KeyError, "sbatch has no option --label"),
        ("help", "set", ValueError, "--help ends sbatch: it cannot be set"),
        ("wrap", "true", ValueError, "sbatch takes --wrap only from setup_defaults, with early=True"),
        ("account", 5, TypeError, "--account takes a str, not 5"),
        ("account", "a\0b", ValueError, "--account must not hold a NUL byte"),
        (5, "x", TypeError, "options are named by their long names, not 5"),
    ],
)
def test_what_is_refused(name: str, value: str, error: type[Exception], text: str) -> None:
    """An invalid value raises an exception that says why, and changes nothing."""
    options = FakeOptions(options={"ntasks": "2"})
    with pytest.raises(error, match=text):
        options[name] = value
    assert options.given == {"ntasks": "2"}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [("time_limit", "5", TypeError), ("time_limit", -1, ValueError), ("num_tasks", 2.5, TypeError),
     ("min_mem_per_node", 1 << 40, ValueError), ("account", 7, TypeError)],
)  # fmt: skip
def test_values_of_the_wrong_kind(name: str, value: object, error: type[Exception]) -> None:
    """The error of a property says which values it accepts."""
    with pytest.raises(error, match=f"{name} takes "):
        setattr(FakeOptions(), name, value)


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
    options.commit()
    assert dict(options.environment) == {"A": "1"}


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
    assert {"ntasks", "cpus-per-task"} <= NUMBERS
    known = set().union(*map(set, NAMES.values()))
    assert {field.option for field in FIELDS.values()} | NUMBERS <= known
