# SPDX-License-Identifier: GPL-2.0-or-later
from typing import Any

import pytest

import slurmhooks
from slurmhooks.errors import (
    ConfigError,
    HandlerError,
    LoadError,
    Reject,
    SlurmhooksError,
    SpankError,
    StaleHandleError,
)


def test_reject_is_not_an_error_of_slurmhooks() -> None:
    """A site may catch SlurmhooksError without swallowing its own refusals."""
    assert not issubclass(Reject, SlurmhooksError)


@pytest.mark.parametrize("error", [StaleHandleError, HandlerError, SpankError, ConfigError, LoadError])
def test_one_base(error: type[Exception]) -> None:
    """Every error that slurmhooks raises has one base."""
    assert issubclass(error, SlurmhooksError)


@pytest.mark.parametrize("code", [None, "ESLURM_INVALID_ACCOUNT", 2045])
def test_reject_keeps_text_and_code(code: str | int | None) -> None:
    """Reject holds what the user reads and the code, a name or a number."""
    reject = Reject("no", code=code)
    assert (reject.text, reject.code, str(reject)) == ("no", code, "no")


def test_reject_without_text() -> None:
    """Reject needs neither text nor code: the code's own text is all that the user reads then."""
    assert (Reject().text, Reject().code) == ("", None)


@pytest.mark.parametrize(("text", "shown"), [(None, ""), (ValueError("no such project"), "no such project"), (7, "7")])
def test_reject_text_of_another_type(text: Any, shown: str) -> None:
    """What another exception says may be handed on; the user reads a text in any case."""
    assert Reject(text).text == shown


def test_a_reject_of_a_site_with_its_own_constructor() -> None:
    """A subclass that forgets the base's constructor refuses nevertheless."""

    class Mine(Reject):
        def __init__(self) -> None:
            self.other = 1

    assert (Mine().text, Mine().code) == ("", None)


def test_reject_takes_the_code_by_name_only() -> None:
    """A second positional argument is refused: nobody remembers which comes first."""
    with pytest.raises(TypeError):
        Reject("no", "ESLURM_INVALID_ACCOUNT")  # type: ignore[call-arg]


def test_spank_error_names_code_and_item() -> None:
    """A SpankError says which item failed, why, and with which code."""
    error = SpankError("ESPANK_NOT_TASK", "S_TASK_ID", "works in tasks")
    assert (error.code, error.item) == ("ESPANK_NOT_TASK", "S_TASK_ID")
    assert str(error) == "S_TASK_ID: works in tasks (ESPANK_NOT_TASK)"


@pytest.mark.parametrize("error", [ConfigError, LoadError])
def test_findings_are_all_told(error: type[ConfigError | LoadError]) -> None:
    """An error with several findings prints one a line, and keeps them as a list."""
    raised = error(("a: wrong", "b: wrong"))
    assert raised.findings == ["a: wrong", "b: wrong"]
    assert str(raised) == "a: wrong\nb: wrong"


def test_public_names() -> None:
    """The package offers what a hook file imports, and each name exists."""
    assert set(slurmhooks.__all__) >= {"UNLIMITED", "Reject", "SpankError", "StaleHandleError", "hook", "log"}
    for name in slurmhooks.__all__:
        assert hasattr(slurmhooks, name)
