# SPDX-License-Identifier: GPL-2.0-or-later
import pytest

from slurmhooks.outcome import Outcome


def test_an_outcome_must_say_whether_it_passed() -> None:
    """There is no default: one that is forgotten would fail open or closed by chance."""
    with pytest.raises(TypeError):
        Outcome()  # type: ignore[call-arg]


def test_all_but_passed_may_be_left_out() -> None:
    """A pass has no code, no text and no error id."""
    outcome = Outcome(passed=True)
    assert (outcome.passed, outcome.code, outcome.text, outcome.error_id) == (True, None, None, None)


def test_a_refusal_keeps_what_it_is_given() -> None:
    """Code, text and error id are kept as they are."""
    outcome = Outcome(passed=False, code="ESLURM_X", text="no", error_id="ab12")
    assert (outcome.passed, outcome.code, outcome.text, outcome.error_id) == (False, "ESLURM_X", "no", "ab12")


def test_an_outcome_has_no_other_attribute() -> None:
    """A misspelt attribute is an error, not a silent no-op."""
    with pytest.raises(AttributeError):
        Outcome(passed=True).accepted = True  # type: ignore[attr-defined]
