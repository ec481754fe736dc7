# SPDX-License-Identifier: GPL-2.0-or-later
"""Modes and shares of handlers, before anything runs."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from slurmhooks.config import model as config
from slurmhooks.errors import LoadError
from slurmhooks.handlers import loader
from slurmhooks.handlers.registry import Registry, missing
from slurmhooks.handlers.rollouts import assign
from slurmhooks.hooks.rollout import MODES, Rollout, share_of


@dataclass
class Subject:
    """The user, accounts and partitions of a request."""

    user_id: int | None = 1000
    user_name: str | None = "anna"
    accounts: list[str] = field(default_factory=lambda: ["physics"])
    partitions: list[str] = field(default_factory=lambda: ["gpu", "long"])


def loaded(folder: Path, text: str) -> Registry:
    """Load a hook file."""
    (folder / "limits.py").write_text("from slurmhooks import hook\n" + text)
    return loader.load([loader.Source(path=str(folder / "limits.py"))])


@pytest.mark.parametrize(
    ("conditions", "inside"),
    [
        ({}, True),
        ({"users": "anna"}, True),
        ({"users": [1000]}, True),
        ({"users": ["1000"]}, False),
        ({"users": ["bert", 1001]}, False),
        ({"accounts": ["physics", "chemistry"]}, True),
        ({"accounts": "chemistry"}, False),
        ({"accounts": "PHYSICS"}, True),
        ({"partitions": ["long"]}, True),
        ({"partitions": ["short"]}, False),
        ({"users": "anna", "partitions": "short"}, False),
        ({"users": "anna", "partitions": "gpu", "accounts": "physics", "percent": 100}, True),
        ({"percent": 0}, False),
    ],
)
def test_a_request_meets_all_that_is_given(conditions: dict[str, object], inside: bool) -> None:
    """The mode is for requests that meet every condition; the others have the other mode."""
    rollout = Rollout(mode="warn", otherwise="off", **conditions)  # type: ignore[arg-type]
    assert rollout.faults() == []
    assert rollout.mode_for("limits:check", Subject()) == ("warn" if inside else "off")


@pytest.mark.parametrize("key", ["partitions", "accounts"])
def test_nobody_chooses_the_milder_mode(key: str) -> None:
    """If only some partitions or accounts of a request are in the share, the stricter of the two modes counts."""
    for index, strict in enumerate(MODES):
        for mild in MODES[index + 1 :]:
            for mode, otherwise in ((strict, mild), (mild, strict)):
                rollout = Rollout(mode=mode, otherwise=otherwise, **{key: ["inside"]})  # type: ignore[arg-type]
                for names, expected in (
                    (["inside"], mode),
                    (["outside"], otherwise),
                    ([], otherwise),
                    (["inside", "outside"], strict),
                    (["outside", "inside"], strict),
                ):
                    assert rollout.mode_for("limits:check", Subject(**{key: names})) == expected  # type: ignore[arg-type]


def test_what_is_unknown_meets_no_condition() -> None:
    """Where neither user nor account nor partition is known, a request is outside of every share.

    Of an update, unknown accounts or partitions may be inside, so the stricter mode counts.
    """
    nobody = Subject(None, None, [], [])
    for conditions in ({"percent": 99.9}, {"users": "anna"}, {"accounts": "physics"}, {"partitions": "gpu"}):
        assert Rollout(**conditions).mode_for("limits:check", nobody) == "observe"
    for mode, otherwise in (("warn", "off"), ("off", "warn")):
        for key in ("accounts", "partitions"):
            rollout = Rollout(mode=mode, otherwise=otherwise, **{key: "gpu"})  # type: ignore[arg-type]
            for names, expected in ((None, "warn"), (["a"], otherwise)):
                assert rollout.mode_for("limits:check", Subject(**{key: names})) == expected  # type: ignore[arg-type]


def test_a_percentage_is_stable() -> None:
    """A user in the share stays in it when the percentage grows; the share has about that size; handlers differ."""
    users = range(1000, 6000)
    inside = {
        percent: {user for user in users if Rollout(percent=percent).mode_for("a:b", Subject(user)) == "enforce"}
        for percent in (1, 10, 20, 50, 100)
    }
    assert inside[1] < inside[10] < inside[20] < inside[50] < inside[100] == set(users)
    assert 400 < len(inside[10]) < 600
    assert {user for user in users if share_of("a:other", user) < 10} != inside[10]
    # The share is the same in every release, Python and process, as promised to users.
    assert share_of("limits:require_account", 1000) == pytest.approx(89.609, abs=0.001)


def test_decorator_and_configuration(tmp_path: Path) -> None:
    """The configuration replaces everything that the decorator says."""
    text = "@hook.job_submit(mode='observe', percent=5, note='soon')\ndef check(job): pass\n"
    (handler,) = loaded(tmp_path, text).all_handlers()
    assert str(handler.rollout) == "observe for 5 % of users; observe for others"
    (tmp_path / "slurmhooks.toml").write_text(
        '[rules.modes."limits:check"]\nmode = "enforce"\n'
        'users = ["anna", 1000]\naccounts = ["physics"]\notherwise = "warn"'
    )
    rollouts = config.read(tmp_path / "slurmhooks.toml").rollouts()
    assert assign(rollouts, [handler]) == []
    assert str(handler.rollout) == "enforce for users anna, 1000 and accounts physics; warn for others"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("mode='watch'", "mode takes 'enforce', 'warn', 'observe', 'off', not 'watch'"),
        ("otherwise=None", "otherwise takes 'enforce', 'warn', 'observe', 'off', not None"),
        ("percent=101", "percent takes a number from 0 to 100, not 101"),
        ("percent='10'", "percent takes a number from 0 to 100, not '10'"),
        ("users=[]", "users takes user names or user ids, at least one; not ()"),
        ("accounts=[1]", "accounts takes names of accounts, at least one; not (1,)"),
        ("partitions=7", "partitions takes names of partitions, at least one; not 7"),
        ("note=1", "note takes a text, not 1"),
    ],
)
def test_wrong_values_are_found_at_load(arguments: str, fault: str, tmp_path: Path) -> None:
    """A wrong value is a finding with file, line and handler."""
    with pytest.raises(LoadError) as caught:
        loaded(tmp_path, f"@hook.job_submit({arguments})\ndef check(job): pass\n")
    assert caught.value.findings == [f"{tmp_path}/limits.py:2: handler limits:check of hook.job_submit: {fault}"]


def test_hooks_without_modes_refuse_them(tmp_path: Path) -> None:
    """Only hooks that decide about requests have modes."""
    with pytest.raises(
        LoadError, match=r"hook\.job_end: mode and share are for handlers of job_submit, job_modify, job and every"
    ):
        loaded(tmp_path, "@hook.job_end(mode='observe')\ndef check(record): pass\n")
    with pytest.raises(LoadError, match=r"has no argument 'modes'; it has: order, .*, mode, percent"):
        loaded(tmp_path, "@hook.job_submit(modes='observe')\ndef check(job): pass\n")


def test_labels_without_a_handler_are_findings(tmp_path: Path) -> None:
    """A label that names no handler, or a handler without modes, does not load: a table without effect misleads."""
    text = "@hook.job_submit\ndef check(job): pass\n@hook.job_end\ndef ends(record): pass\n"
    handlers = loaded(tmp_path, text).all_handlers()
    assert assign({"limits:gone": Rollout(), "limits:ends": Rollout(), "limits:check": Rollout()}, handlers) == [
        '[rules.modes."limits:gone"] of slurmhooks.toml: no hook file, package or script has this handler; those with'
        " modes: limits:check",
        '[rules.modes."limits:ends"] of slurmhooks.toml: hook.job_end has no modes',
    ]


def test_labels_of_the_first_release(tmp_path: Path) -> None:
    """What names a ready-made rule by its former label is a finding with the label that it has now."""
    handlers = loaded(tmp_path, "@hook.job_submit\ndef check(job): pass\n").all_handlers()
    (finding,) = assign({"policies:check": Rollout()}, handlers)
    assert "; it is called rule:check now" in finding
    assert missing(["policies:check"], handlers)[0].count("rule:check") == 1


def test_a_label_of_two_files_is_a_finding(tmp_path: Path) -> None:
    """A table never changes handlers of two files, nor does one file meet what is required of the other."""
    text = "from slurmhooks import hook\n\n@hook.job_submit\n@hook.job_modify\ndef check(job): pass\n"
    paths = [tmp_path / folder / "limits.py" for folder in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(text)
    sources = [loader.Source(path=str(path)) for path in paths]
    alone, both = loader.load(sources[:1]), loader.load(sources)
    assert assign({"limits:check": Rollout(mode="off")}, alone.all_handlers()) == []
    (finding,) = assign({"limits:check": Rollout(mode="off")}, both.all_handlers())
    assert finding.startswith(
        f'[rules.modes."limits:check"] of slurmhooks.toml: {paths[0]} and {paths[1]} both have this handler'
    )
    assert {handler.rollout for handler in both.all_handlers()} == {None}
    loader.load(sources[:1], ["limits:check"])
    with pytest.raises(LoadError, match=f"limits:check: .*require.*{paths[0]} and {paths[1]} both have this handler"):
        loader.load(sources, ["limits:check"])
    assert {handler.label for handler in both.all_handlers()} == {"limits:check"}


def test_a_function_of_two_hooks_has_one_label(tmp_path: Path) -> None:
    """A function that is the handler of two hooks is no ambiguity, and a table changes both."""
    registry = loaded(tmp_path, "@hook.job_submit\n@hook.job_modify\ndef check(job): pass\n")
    assert assign({"limits:check": Rollout(mode="off")}, registry.all_handlers()) == []
    assert [handler.rollout and handler.rollout.mode for handler in registry.all_handlers()] == ["off", "off"]


@pytest.mark.parametrize(
    ("mode", "whole"),
    [
        ('mode = "enforce"', True),
        ('mode = "enforce"\npercent = 50\notherwise = "enforce"', True),
        ('mode = "off"', False),
        ('mode = "warn"', False),
        ('mode = "observe"', False),
        ("percent = 0", False),
        ('users = ["nobody-has-this-name"]\notherwise = "off"', False),
        ('mode = "off"\npercent = 0\notherwise = "enforce"', False),
    ],
)
def test_required_handlers_are_enforced(tmp_path: Path, mode: str, whole: bool) -> None:
    """A handler that the configuration requires must be enforced for all requests."""
    (handler,) = loaded(tmp_path, "@hook.job_submit\ndef check(job): pass\n").all_handlers()
    (tmp_path / "slurmhooks.toml").write_text(f'[rules.modes."limits:check"]\n{mode}\n')
    findings = assign(config.read(tmp_path / "slurmhooks.toml").rollouts(), [handler], ["limits:check"])
    assert (findings == []) == whole
    assert all("names limits:check, whose mode is" in text for text in findings)


def test_a_decorator_does_not_switch_off_what_is_required(tmp_path: Path) -> None:
    """The mode in the decorator counts as well."""
    (handler,) = loaded(tmp_path, "@hook.job_submit(mode='observe')\ndef check(job): pass\n").all_handlers()
    assert "whose mode is observe" in assign({}, [handler], ["limits:check"])[0]
    assert assign({"limits:check": Rollout()}, [handler], ["limits:check"]) == []
