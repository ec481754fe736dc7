# SPDX-License-Identifier: GPL-2.0-or-later
"""Options of SPANK in requests of slurmctld."""

from __future__ import annotations

import enum
import random
from decimal import Decimal
from typing import Any

import pytest

from slurmhooks import Reject, hook
from slurmhooks.hooks.option import Option, UnfitError
from slurmhooks.hooks.requested import OMITTED
from slurmhooks.testing import FakeJob, FakeRecord

PREFIX = "_SLURM_SPANK_OPTION_python_"
INHERITED = f"SLURM_SPANK_{PREFIX}"
SCRIPT = "#!/bin/sh\ntrue\n"


class Mode(enum.Enum):
    """Choices of an option."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"


def options() -> dict[str, Option[Any]]:
    """Return an option of each kind."""
    word = hook.spank.option("a-word", "WORD", usage="a word")
    number = hook.spank.option("number", "N", usage="a number", type=int)
    flag = hook.spank.option("flag", usage="a flag")
    maybe = hook.spank.option("maybe", "WORD", usage="perhaps an argument", optional=True)
    mode = hook.spank.option("mode", "MODE", usage="a choice", type=Mode)
    made: tuple[Option[Any], ...] = (word, number, flag, maybe, mode)
    return {option.name: option for option in made}


def by_sbatch(option: Option[Any], text: str, batch: bool = True) -> FakeJob:
    """Return the request of sbatch, or of srun or salloc, with an option."""
    name = option.name.replace("-", "_")
    if not batch:
        return FakeJob(spank_job_env={PREFIX + name: text})
    environment = {"HOME": "/h", PREFIX + name: "" if text == OMITTED else text, INHERITED + name: text}
    return FakeJob(script=SCRIPT, environment=environment, spank_job_env={PREFIX + name: text})


VALUES = [
    ("a-word", "x y=z", "x y=z"), ("a-word", "", ""), ("number", "12", 12), ("flag", OMITTED, True),
    ("maybe", OMITTED, True), ("maybe", "", True), ("maybe", "x", "x"), ("mode", "shared", Mode.SHARED),
]  # fmt: skip


@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize(("name", "text", "value"), VALUES)
def test_a_request_has_the_value_of_its_option(name: str, text: str, value: object, batch: bool) -> None:
    """The value is converted as in the job itself; without the option it is None."""
    option = options()[name]
    assert option.of(by_sbatch(option, text, batch)) == value
    assert option.of(FakeJob(script=SCRIPT, environment={"HOME": "/h"})) is None
    assert option.of(FakeJob()) is None


@pytest.mark.parametrize(("name", "text", "value"), VALUES)
def test_a_set_option_is_as_from_sbatch(name: str, text: str, value: object) -> None:
    """Setting a value makes the request that sbatch would have sent, whatever it had before."""
    option = options()[name]
    if text == "" and option.optional:
        text = OMITTED
    wanted = by_sbatch(option, text)
    before = by_sbatch(option, "other")
    del before.environment[INHERITED + name.replace("-", "_")]
    for job in (FakeJob(script=SCRIPT, environment={"HOME": "/h"}), before):
        option.set(job, value)
        assert option.of(job) == value
        assert dict(job.environment) == dict(wanted.environment)
        assert dict(job.spank_job_env) == dict(wanted.spank_job_env)
        option.unset(job)
        assert option.of(job) is None
        assert dict(job.environment) == {"HOME": "/h"}
        assert dict(job.spank_job_env) == {}


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("number", "x", ValueError, "--number takes a whole number, not 'x'"),
        ("number", True, TypeError, "--number takes a str or None, not True"),
        ("a-word", 5, TypeError, "--a-word takes a str or None, not 5"),
        ("a-word", "a\0b", ValueError, "NUL"),
        ("flag", "x", TypeError, "--flag has no argument: it takes True or None, not 'x'"),
        ("flag", False, TypeError, "--flag has no argument: it takes True or None, not False"),
        ("maybe", "", ValueError, "--maybe: Slurm takes the argument '' as omitted"),
        ("maybe", "(null)", ValueError, "--maybe: Slurm takes the argument '(null)' as omitted"),
        ("mode", "none", ValueError, "--mode takes one of shared, exclusive, not 'none'"),
    ],
)
def test_a_wrong_value_is_not_set(name: str, value: Any, error: type[Exception], text: str) -> None:
    """A value that the option does not take raises, and the request stays as it was."""
    job = FakeJob(script=SCRIPT, environment={"HOME": "/h"})
    with pytest.raises(error, match=text.replace("(", r"\(").replace(")", r"\)")):
        options()[name].set(job, value)
    assert dict(job.environment) == {"HOME": "/h"}
    assert dict(job.spank_job_env) == {}


def test_checks_apply_in_slurmctld() -> None:
    """A check changes what is read, and refuses what is set; a bad value of a request refuses it with the option."""
    word = hook.spank.option("word", "WORD", usage="a word")

    @word.check
    def good(value: str) -> str:
        if value == "bad":
            raise Reject("'bad' is not allowed", code="ESLURM_INVALID_FEATURE")
        if value == "worse":
            raise ValueError("no")
        return value.upper()

    job = FakeJob(script=SCRIPT)
    word.set(job, "shout")
    assert word.of(job) == "SHOUT"
    assert job.spank_job_env[f"{PREFIX}word"] == "shout"
    with pytest.raises(Reject) as caught:
        word.set(job, "bad")
    assert (caught.value.text, caught.value.code) == ("--word: 'bad' is not allowed", "ESLURM_INVALID_FEATURE")
    with pytest.raises(ValueError, match="--word: no"):
        word.set(job, "worse")
    for text, message in (("bad", "--word: 'bad' is not allowed"), ("worse", "--word: no")):
        with pytest.raises(Reject) as caught:
            word.of(by_sbatch(word, text))
        assert caught.value.text == message


def test_parts_that_disagree_are_refused() -> None:
    """A request whose variables differ is refused: a check of one of them would not hold for the others."""
    word = options()["a-word"]
    for name in (f"{PREFIX}a_word", f"{INHERITED}a_word"):
        job = by_sbatch(word, "x")
        job.environment[name] = "y"
        with pytest.raises(Reject) as caught:
            word.of(job)
        assert caught.value.text.startswith("--a-word has different values in the environment of this job: 'x' for pro")
        word.set(job, "z")
        assert word.of(job) == "z"
    job = by_sbatch(word, "x")
    del job.environment[f"{PREFIX}a_word"]
    assert word.of(job) == "x"


def test_what_cannot_be_set_is_said() -> None:
    """The steps of srun and salloc, and updates, do not get options from slurmctld; an equal value changes nothing."""
    word = options()["a-word"]
    job = by_sbatch(word, "x", batch=False)
    word.set(job, "x")
    for value in ("y", None):
        with pytest.raises(ValueError, match=r"--a-word cannot be set: only batch jobs.*cli_filter\.setup_defaults"):
            word.set(job, value)
    assert word.of(job) == "x"
    update = FakeJob(script=SCRIPT)
    update._state.modify = True
    assert word.of(update) is None
    with pytest.raises(ValueError, match="--a-word cannot be set: an update of a job carries no environment"):
        word.set(update, "x")


@pytest.mark.parametrize("start", ["", "SPANK_"])
def test_a_record_has_the_value_too(start: str) -> None:
    """A job in slurmctld has its options; Slurm adds a prefix to their names once a prolog has run."""
    chosen = options()
    record = FakeRecord(spank_job_env=["A=b", f"{start}{PREFIX}number=7", f"{start}{PREFIX}flag={OMITTED}"])
    assert chosen["number"].of(record) == 7
    assert chosen["flag"].of(record) is True
    assert chosen["a-word"].of(record) is None
    assert chosen["a-word"].of(FakeRecord()) is None


def test_any_text_survives() -> None:
    """Whatever text is set, every part of the job sees the same text, and it is the one that was set."""
    word = options()["a-word"]
    random.seed(7)
    signs = "a\n\t\x1b='\"\\$% äß\udcff,;:()-"
    for _ in range(300):
        text = "".join(random.choices(signs, k=random.randrange(12)))
        job = FakeJob(script=SCRIPT, environment={"HOME": "/h"})
        word.set(job, text)
        assert word.of(job) == text
        assert {job.spank_job_env[f"{PREFIX}a_word"], job.environment[f"{INHERITED}a_word"]} == {text}


@pytest.mark.parametrize(
    ("type", "text", "words"),
    [
        (int, "x", "a whole number"), (int, "", "a whole number"), (int, "1" * 5000, "a whole number"),
        (float, "1,5", "a number"), (Decimal, "x", "a number"), (complex, "x", "a number"),
        (lambda text: int(text) * 2, "x", "a whole number"), (Mode, "x", "one of shared, exclusive"),
    ],
)  # fmt: skip
def test_users_read_a_sentence(type: Any, text: str, words: str) -> None:
    """Errors of Python's types are not shown to users, also if a function of the site calls the type."""
    option: Option[Any] = hook.spank.option("num", "N", usage="a value", type=type)
    with pytest.raises(UnfitError) as caught:
        option.convert(text)
    assert option.refusal(caught.value) == f"--num takes {words}, not {text!r}"
