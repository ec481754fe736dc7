# SPDX-License-Identifier: GPL-2.0-or-later
"""A cli_filter.lua as handlers, without Slurm; cluster tests compare it with Slurm's own plugin."""

from collections.abc import Callable
from pathlib import Path

import pytest

from slurmhooks.errors import LoadError, Reject
from slurmhooks.handlers.registry import Handler, Registry
from slurmhooks.lua import cli_filter
from slurmhooks.testing import FakeOptions, Result, run

Run = Callable[..., Result]
CALLS = ("setup_defaults", "pre_submit", "post_submit")


def handlers(path: Path, body: str = "", more: str = "", post: str = "") -> list[Handler]:
    """Return the handlers of a script with a body for slurm_cli_pre_submit."""
    path.write_text(
        f"{more}\nfunction slurm_cli_setup_defaults(options) options.comment = 'default' return 0 end\n"
        f"function slurm_cli_pre_submit(options, offset)\n{body}\nend\n"
        f"function slurm_cli_post_submit(offset, job, step)\n{post}\nend\n"
    )
    source = cli_filter.source(str(path), None)
    assert source.read is not None
    return source.read(str(path))


@pytest.fixture
def lua(tmp_path: Path) -> Run:
    """Return a function that runs a body of slurm_cli_pre_submit."""

    def call(body: str, options: FakeOptions | None = None, *, hook: str = "pre_submit", post: str = "") -> Result:
        registry = Registry(handlers(tmp_path / "cli_filter.lua", body, post=post), ())
        return run(registry, f"cli_filter.{hook}", options=options or FakeOptions())

    return call


def test_options_are_read_and_set(lua: Run) -> None:
    """Options are read by name, as text; options that are not given are nil, and numbers become text."""
    body = """
    assert(options.time == "01:00:00" and options["job-name"] == "x" and options.account == nil)
    assert(options.type == "srun" and #options.argv == 2 and options.argv[1] == "a")
    assert(options.spank.python.greet == "you" and options.spank.python.flag == "set")
    assert(options.spank.python.no == nil)
    options.time = 5
    options.account = "phys"
    options.nonesuch = "x"
    assert(options.time == "00:05:00")
    """
    spank = {"python": {"greet": "you", "flag": "set", "no": None}}
    options = FakeOptions("srun", options={"time": "60", "job-name": "x"}, argv=["a", "b"], spank=spank)
    result = lua(body + "return slurm.SUCCESS", options)
    assert (result.log, result.accepted) == ([], True)
    assert {"time": "00:05:00", "account": "phys"}.items() <= result.changes.items()
    assert lua("", FakeOptions(), hook="setup_defaults").changes == {"comment": "default"}


@pytest.mark.parametrize(
    ("body", "accepted", "log"),
    [
        ("return slurm.SUCCESS", True, None),
        ("return slurm.ERROR", False, None),
        ("return '7'", False, None),
        ("return 'text'", True, "pre_submit/lua: {path}: non-numeric return code"),
        ("return", True, "pre_submit/lua: {path}: non-numeric return code"),
        ("error('broken')", True, "cli_filter.lua:4: broken"),
        ("options.time = nil", True, "cli_filter.lua:4: bad argument #-1 to '?' (string expected, got nil)"),
    ],
)
def test_results(lua: Run, tmp_path: Path, body: str, accepted: bool, log: str | None) -> None:
    """A number other than 0 refuses; after an error, or without a number, the request passes, and the log says so."""
    result = lua(body)
    assert result.accepted is accepted
    path = tmp_path / "cli_filter.lua"
    assert (log is None and result.log == []) or (log is not None and log.format(path=path) in "\n".join(result.log))


def test_json(lua: Run) -> None:
    """JSON of the given options, with SPANK options and arguments; or of the environment without Slurm's variables."""
    options = FakeOptions(
        options={"time": "60"}, argv=["a/b"], spank={"python": {"x": "1", "flag": "unset", "n": None}}
    )
    result = lua("slurm.log_info('%s', slurm.json_cli_options(options)) return 0", options)
    assert result.log == ['info: lua: {"time":"01:00:00","spank:x":"1","argv":["a\\/b"]}']
    result = lua("assert(not slurm.json_env():find('SLURM_')) slurm.log_info(slurm.json_env():sub(1, 1)) return 0")
    assert result.log == ["info: lua: {"]


def test_what_is_stored_is_there_after_the_submission(tmp_path: Path) -> None:
    """cli_store keeps texts by number for all calls of the command; globals also last that long."""
    made = handlers(
        tmp_path / "a.lua",
        "slurm.cli_store(3, 'kept') slurm.cli_store(50, 7) last = options return 0",
        post="assert(slurm.cli_retrieve(3) == 'kept' and slurm.cli_retrieve(50) == '7' and not slurm.cli_retrieve(4))"
        " assert(last.time == '01:00:00') slurm.log_info('%d %d %d', offset, job, step) return 0",
    )
    registry = Registry(made, ())
    assert run(registry, "cli_filter.pre_submit", options=FakeOptions(time_limit=60)).accepted
    result = run(registry, "cli_filter.post_submit", job_id=9, offset=1)
    assert result.log == ["info: lua: 1 9 4294967294"]


def test_constants(lua: Run) -> None:
    """The table slurm has the constants of the release, which are made when a script reads one."""
    body = "assert(slurm.NO_VAL == 4294967294 and slurm.NONESUCH == nil and slurm.SUCCESS == 0) return slurm.SUCCESS"
    assert lua(body).log == []


def test_scripts_that_do_not_load(tmp_path: Path) -> None:
    """A script with an error, or without one of its three functions, is refused with file and reason."""
    path = tmp_path / "cli_filter.lua"
    source = cli_filter.source(str(path), None)
    assert source.read is not None
    for text, reason in (
        ("if", f"{path}: .*near"),
        ("function slurm_cli_setup_defaults() end", f"{path}: missing required function slurm_cli_pre_submit"),
        (None, "cannot open"),
    ):
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        with pytest.raises(LoadError, match=reason):
            source.read(str(path))


def test_a_refusal_has_the_scripts_code(tmp_path: Path) -> None:
    """The only texts of a script for the user are those that it logs."""
    made = handlers(tmp_path / "a.lua", "return 5")
    with pytest.raises(Reject) as caught:
        made[CALLS.index("pre_submit")].function(FakeOptions(), 0)
    assert (caught.value.text, caught.value.code) == ("", 5)
